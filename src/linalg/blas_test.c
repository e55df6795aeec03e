// blas_test.c: where address space is short, OpenBLAS has what it was reserved, and a sentence tells the rest.
#include "fixture.h"
#include "linalg/blas.h"

#include <cblas.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 400, MEGABYTE = 1 << 20 };

// The process may map so much more than it has; returns the limit there was.
static struct rlimit leave_room(size_t megabytes)
{
    struct rlimit before, less;
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%zu", &pages), 1);
    fclose(f);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    less = before;
    less.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)megabytes * MEGABYTE;
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    return before;
}

typedef struct task {
    pthread_t thread;
    pthread_barrier_t *together;
    double *A, *B, *C;
} task;

static void *multiply(void *arg)
{
    task *t = arg;
    pthread_barrier_wait(t->together);
    gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_cmat_of(t->A, N, N), gp_cmat_of(t->B, N, N), 0, gp_mat_of(t->C, N, N));
    return NULL;
}

// The order matters: what OpenBLAS has mapped it keeps.
static void what_is_not_there_is_said_and_what_was_reserved_is_there(void **state)
{
    (void)state;
    enum { FIT = 3, WANTED = 6 };
    alarm((unsigned)hang_limit()); // a map that is tried for ever ends the test
    advgp_error err = {0};
    assert_int_equal(gp_blas_reserve(1, &err), ADVGP_OK);
    task tasks[FIT];
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, FIT + 1);
    for (int i = 0; i < FIT; i++)
        tasks[i] = (task){.together = &together, .A = doubles(N * N), .B = doubles(N * N), .C = doubles(N * N)};

    struct rlimit before = leave_room(64);
    assert_int_equal(gp_blas_reserve(2, &err), ADVGP_ENOMEM);
    CHECK(strstr(err.text, "ulimit -v") && strstr(err.text, "1 of 2 threads"), "the sentence", "%s", err.text);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);

    before = leave_room((FIT - 1) * 128 + 64);
    const size_t fit = gp_blas_reserve_some(WANTED);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(fit, FIT);
    assert_int_equal(gp_blas_reserve(FIT, &err), ADVGP_OK);

    for (int i = 0; i < FIT; i++) assert_int_equal(pthread_create(&tasks[i].thread, NULL, multiply, &tasks[i]), 0);
    before = leave_room(1); // nothing more can be mapped, and three products at once come to their end
    pthread_barrier_wait(&together);
    for (int i = 0; i < FIT; i++) pthread_join(tasks[i].thread, NULL);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    for (int i = 0; i < FIT; i++) free(tasks[i].A), free(tasks[i].B), free(tasks[i].C);
    pthread_barrier_destroy(&together);
}

// More threads than OpenBLAS has places for are no reason to map hundreds of buffers, nor to refuse.
static void more_callers_than_places_are_let_in(void **state)
{
    (void)state;
    assert_int_equal(gp_blas_reserve_some(4000), 4000);
}

static void blas_has_no_threads_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(openblas_get_num_threads(), 1);
    assert_true(strlen(gp_blas_name()) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blas_has_no_threads_of_its_own),
        cmocka_unit_test(what_is_not_there_is_said_and_what_was_reserved_is_there),
        cmocka_unit_test(more_callers_than_places_are_let_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
