// memory.c: the least of what machine, control group and limits say.
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

// The number in a file of the kernel's; infinite where there is none ("max").
static double number_in(const char *path)
{
    char line[64];
    FILE *f = fopen(path, "r");
    const double number = f && fgets(line, sizeof line, f) ? strtod(line, NULL) : 0;
    if (f) fclose(f);
    return number > 0 ? number : INFINITY;
}

static double limit_of(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? (double)limit.rlim_cur : INFINITY;
}

double gp_memory_bytes(void)
{
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    bytes = fmin(bytes, number_in("/sys/fs/cgroup/memory.max"));
    bytes = fmin(bytes, number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    return fmin(bytes, fmin(limit_of(RLIMIT_DATA), limit_of(RLIMIT_AS)));
}

advgp_status gp_memory_check(double bytes, const char *what, const char *way_out, advgp_error *err)
{
    if (bytes <= gp_memory_bytes()) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "%s takes about %.2g GB of memory, and there are %.2g: %s", what, bytes / 1e9,
                   gp_memory_bytes() / 1e9, way_out);
}
