// machine.c: asked of the kernel.
#define _GNU_SOURCE // sched_getaffinity
#include "base/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

size_t gp_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    const int n = CPU_COUNT(&set);
    return n > 0 ? (size_t)n : 1;
}

uint64_t gp_random_u64(void)
{
    uint64_t n = 0;
    if (getrandom(&n, sizeof n, 0) == (ssize_t)sizeof n) return n;
    struct timespec t; // before the kernel had any
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)getpid() << 32 ^ (uint64_t)t.tv_sec;
}

int gp_open(const char *path, int flags, unsigned mode)
{
    enum { TRIES = 600 }; // of 10 ms
    const struct timespec pause = {.tv_nsec = 10000000};
    int fd = open(path, flags, mode);
    for (int i = 0; i < TRIES && fd < 0 && (errno == EMFILE || errno == ENFILE); i++) {
        (void)nanosleep(&pause, NULL);
        fd = open(path, flags, mode);
    }
    return fd;
}
