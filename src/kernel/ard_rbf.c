// ard_rbf.c: the squared exponential, kappa(s) = exp(-s/2), the paper's kernel. Its slope is -1/2 of itself.
#include "kernel/kernel.h"
#include "linalg/expv.h"
#include "linalg/simd.h"

GP_CLONES static void ard_rbf_row(size_t n, double a0sq, double *k)
{
    for (size_t j = 0; j < n; j++) k[j] = a0sq * gp_exp_nonpositive(k[j] > 0 ? -0.5 * k[j] : 0 * k[j]);
}

static void ard_rbf_eval(gp_mat K, double a0sq, double *slope)
{
    for (size_t i = 0; i < K.rows; i++) {
        double *k = K.p + i * K.ld;
        ard_rbf_row(K.cols, a0sq, k);
        if (slope)
            for (size_t j = 0; j < K.cols; j++) slope[i * K.ld + j] = -0.5 * k[j];
    }
}

const gp_kernel gp_kernel_ard_rbf = {
    .name = "ard-rbf",
    .summary = "squared exponential, one length-scale per input: very smooth functions",
    .slope_ratio = -0.5,
    .eval = ard_rbf_eval,
};
