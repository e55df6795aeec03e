// ard_rbf.c: the squared exponential, kappa(s) = exp(-s/2), the paper's kernel. Its slope is -1/2 of itself.
#include "kernel/kernel.h"
#include "linalg/expv.h"
#include "linalg/simd.h"

#include <math.h>
#include <string.h>

GP_INLINE double value(double s, double a0sq)
{
    const double x = -0.25 * (s + fabs(s)); // -s/2, or 0 for a negative s; NaN stays. No comparison to vectorise
    return a0sq * gp_exp_nonpositive(x);
}

// Whole vectors, the last one of a row filled up: that costs less than its few numbers one by one.
GP_VARIANTS(ard_rbf_rows, (gp_mat K, double a0sq), (K, a0sq))
{
    for (size_t i = 0; i < K.rows; i++) {
        double *k = K.p + i * K.ld, last[GP_LANES] = {0};
        size_t j = 0;
        for (; j + GP_LANES <= K.cols; j += GP_LANES)
            for (size_t l = 0; l < GP_LANES; l++) k[j + l] = value(k[j + l], a0sq);
        for (; j + GP_LANES / 2 <= K.cols; j += GP_LANES / 2)
            for (size_t l = 0; l < GP_LANES / 2; l++) k[j + l] = value(k[j + l], a0sq);
        if (j == K.cols) continue;
        memcpy(last, k + j, (K.cols - j) * sizeof *k);
        for (size_t l = 0; l < GP_LANES; l++) last[l] = value(last[l], a0sq);
        memcpy(k + j, last, (K.cols - j) * sizeof *k);
    }
}

static void ard_rbf_eval(gp_mat K, double a0sq, double *slope)
{
    if (K.ld == K.cols) // one long row
        ard_rbf_rows((gp_mat){K.p, 1, K.rows * K.cols, K.rows * K.cols}, a0sq);
    else
        ard_rbf_rows(K, a0sq);
    for (size_t i = 0; slope && i < K.rows; i++)
        for (size_t j = 0; j < K.cols; j++) slope[i * K.ld + j] = -0.5 * K.p[i * K.ld + j];
}

const gp_kernel gp_kernel_ard_rbf = {
    .name = "ard-rbf",
    .summary = "squared exponential, one length-scale per input: very smooth functions",
    .slope_ratio = -0.5,
    .eval = ard_rbf_eval,
};
