// kernel.h: stationary covariances k(x, z) = a0^2 kappa(s), s = r^2 = sum_k eta_k (x_k - z_k)^2. docs/math.md 1.
// A new kernel is one file with one table, and one line of the list below; kernel_test.c then asks of it
// what it asks of all. Amplitude and length-scales live in feature/component.c, not here.
#pragma once
#include "linalg/mat.h"

typedef struct gp_kernel {
    const char *name;    // what users type: --kernel matern32
    const char *summary; // one line of help

    // If not 0: kappa'(s) = slope_ratio * kappa(s) for every s, and nobody needs an array of slopes.
    double slope_ratio;

    // In place: K holds squared distances s on entry and a0sq * kappa(s) on return; a negative s, which is rounding of
    // an expanded square, counts as 0. slope, if not NULL, has the layout of K (same ld) and becomes a0sq * kappa'(s).
    // Promises kappa(0) = 1, kappa >= 0 (the rvm map needs it), kappa' finite at 0 and never positive. Cannot fail; NaN
    // in, NaN out. Rows are independent: the result of one does not depend on how many there are.
    void (*eval)(gp_mat K, double a0sq, double *slope);
} gp_kernel;

// One line a kernel: the order users see, the default first.
#define GP_KERNEL_LIST(X) \
    X(ard_rbf)            \
    X(matern32)           \
    X(matern52)

#define X(name) extern const gp_kernel gp_kernel_##name;
GP_KERNEL_LIST(X)
#undef X

extern const gp_kernel *const gp_kernels[];         // ends with NULL; in the order of the list
const gp_kernel *gp_kernel_named(const char *name); // NULL if there is none
