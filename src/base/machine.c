// machine.c: asked of the kernel.
#define _GNU_SOURCE // sched_getaffinity
#include "base/machine.h"

#include <sched.h>

size_t gp_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    const int n = CPU_COUNT(&set);
    return n > 0 ? (size_t)n : 1;
}
