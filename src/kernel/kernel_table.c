// kernel_table.c: the list of kernels.
#include "kernel/kernel.h"

#include <string.h>

const gp_kernel *const gp_kernels[] = {
#define X(name) &gp_kernel_##name,
    GP_KERNEL_LIST(X)
#undef X
        NULL,
};

const gp_kernel *gp_kernel_named(const char *name)
{
    for (const gp_kernel *const *k = gp_kernels; *k; k++)
        if (name && !strcmp((*k)->name, name)) return *k;
    return NULL;
}
