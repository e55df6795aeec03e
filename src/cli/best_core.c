// best_core.c: the program once more, where OpenBLAS was loaded with a core below what the CPU can.
#include "cli/cli.h"
#include "linalg/blas_core.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

// Before anything was opened or begun: what this process has (its number, its standard input, MPI's variables) stays.
// The second time `was` is there, whatever OpenBLAS made of it, so there is no third. By its path and not by
// /proc/self/exe, or it would be called "exe" in every list of processes.
void gp_cli_best_core(char **argv)
{
    char self[PATH_MAX];
    const gp_blas_core core = gp_blas_core_now();
    if (!core.better || core.by_user || getenv(GP_CORE_WAS_VARIABLE)) return;
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return;
    self[n] = 0;
    if (setenv(GP_CORE_WAS_VARIABLE, core.name, 1) != 0 || setenv(GP_CORE_VARIABLE, core.better, 1) != 0) return;
    (void)execv(self, argv);
    unsetenv(GP_CORE_VARIABLE), unsetenv(GP_CORE_WAS_VARIABLE); // it cannot: slower, and right all the same
}
