// blas.c: what blas.h promises, by the functions with which OpenBLAS itself takes and returns its buffers.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "linalg/blas.h"
#include "base/status.h"

#include <cblas.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// BUFFER_SIZE of OpenBLAS on x86-64 and ARM64, and what a thread wants beside it: its stack, a first block of its heap.
static const size_t buffer_bytes = (size_t)128 << 20, thread_bytes = (size_t)12 << 20;
enum { BUFFERS_MAX = 1024, BUFFERS_LEAST = 16 };

// OpenBLAS's own, exported by every build but in no header. Were they missing, the first caller's buffer would still
// come from a product, and the others' would be asked for without being taken.
extern void *blas_memory_alloc(int) __attribute__((weak));
extern void blas_memory_free(void *) __attribute__((weak));

// OpenBLAS asks this when it is loaded, for the variable OPENBLAS_NUM_THREADS: one, whatever the variable. Our threads
// are workers and share the cores; those of OpenBLAS would each map a buffer as they start, needed or not, and the
// process could not even end where that is refused.
int openblas_num_threads_env(void);
__attribute__((visibility("default"))) int openblas_num_threads_env(void)
{
    return 1;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *mapped[BUFFERS_MAX]; // buffers that OpenBLAS has, as far as we have met them
static size_t n_mapped;

static bool there_is_room(size_t bytes)
{
    void *probe = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED) return false;
    (void)munmap(probe, bytes);
    return true;
}

static bool is_known(const void *buffer)
{
    for (size_t i = 0; i < n_mapped; i++)
        if (mapped[i] == buffer) return true;
    return false;
}

// One product of a size that OpenBLAS does not do on the stack.
static void multiply_once(void)
{
    enum { N = 64 };
    static double A[N * N], B[N * N], C[N * N];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, A, N, B, N, 0, C, N);
}

// Takes buffers until one is new, and gives them back: a free one comes before a new one.
static void map_one_more(void)
{
    void *taken[BUFFERS_MAX];
    size_t n = 0;
    for (bool known = true; known && n < BUFFERS_MAX;) {
        taken[n] = blas_memory_alloc(0);
        known = is_known(taken[n++]);
    }
    mapped[n_mapped] = taken[n - 1];
    while (n) blas_memory_free(taken[--n]);
}

// Places for buffers: two for each thread that OpenBLAS was built for. It adds some when more are taken at once, with a
// warning, so no more are reserved; of so many threads some always wait for a core.
static size_t places(void)
{
    const char *built = strstr(openblas_get_config(), "MAX_THREADS=");
    const long threads = built ? strtol(built + strlen("MAX_THREADS="), NULL, 10) : 0;
    if (threads < BUFFERS_LEAST / 2) return BUFFERS_LEAST;
    return threads < BUFFERS_MAX / 2 ? 2 * (size_t)threads : BUFFERS_MAX;
}

size_t gp_blas_reserve_some(size_t callers)
{
    pthread_mutex_lock(&lock);
    openblas_set_num_threads(1);
    const size_t most = places(), wanted = callers < most ? callers : most;
    for (; n_mapped < wanted; n_mapped++) {
        if (!there_is_room(buffer_bytes + (n_mapped + 1) * thread_bytes)) break;
        if (blas_memory_alloc && blas_memory_free)
            map_one_more();
        else
            multiply_once();
    }
    const size_t n = n_mapped;
    pthread_mutex_unlock(&lock);
    return n < wanted ? n : callers;
}

bool gp_blas_has_room(size_t callers)
{
    pthread_mutex_lock(&lock);
    const size_t missing = n_mapped < callers ? callers - n_mapped : 0;
    const bool room = !missing || there_is_room(missing * buffer_bytes + callers * thread_bytes);
    pthread_mutex_unlock(&lock);
    return room;
}

advgp_status gp_blas_reserve(size_t callers, advgp_error *err)
{
    const size_t n = gp_blas_reserve_some(callers);
    if (n == callers) return ADVGP_OK;
    return gp_fail(err, ADVGP_ENOMEM,
                   "no address space to compute in: a thread takes %.0f MB of it, and there is room for %zu of %zu "
                   "threads; raise the limit of this process (ulimit -v, ulimit -d) by %.0f MB",
                   (double)(buffer_bytes + thread_bytes) / 1e6, n, callers,
                   (double)((callers - n) * buffer_bytes + callers * thread_bytes) / 1e6);
}

static size_t guests;
static int threads_before;

void gp_blas_enter(void)
{
    pthread_mutex_lock(&lock);
    if (!guests++) threads_before = openblas_get_num_threads();
    openblas_set_num_threads(1);
    pthread_mutex_unlock(&lock);
}

void gp_blas_leave(void)
{
    pthread_mutex_lock(&lock);
    if (!--guests) openblas_set_num_threads(threads_before);
    pthread_mutex_unlock(&lock);
}

const char *gp_blas_name(void)
{
    return openblas_get_config();
}
