// kernel_table.c: the list of kernels. One line each.
#include "kernel/kernel.h"

#include <string.h>

const gp_kernel *const gp_kernels[] = {
    &gp_kernel_ard_rbf,
    &gp_kernel_matern32,
    &gp_kernel_matern52,
    NULL,
};

const gp_kernel *gp_kernel_named(const char *name)
{
    for (const gp_kernel *const *k = gp_kernels; *k; k++)
        if (name && !strcmp((*k)->name, name)) return *k;
    return NULL;
}
