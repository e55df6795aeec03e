// matern52.c: Matern 5/2, kappa(s) = (1 + t + t^2/3) exp(-t), t = sqrt(5 s). docs/math.md 1.
#include "kernel/kernel.h"
#include "linalg/expv.h"
#include "linalg/simd.h"

#include <math.h>
#include <string.h>

// t, but no further than where exp(-t) has become 0: an infinite distance gives 0, not infinity times 0.
GP_INLINE double root(double s)
{
    const double tt = 5 * s;
    const double t = sqrt(0.5 * (tt + fabs(tt))); // 0 for a negative s
    return t > 1000 ? 1000 : t;
}

GP_INLINE void values(size_t n, double a0sq, double *k, double *slope)
{
    for (size_t j = 0; j < n; j++) {
        const double t = root(k[j]);
        const double e = a0sq * gp_exp_nonpositive(-t);
        k[j] = (1 + t + t * t / 3) * e;
        if (slope) slope[j] = -5.0 / 6 * (1 + t) * e;
    }
}

// Whole vectors, the last one filled up: that costs less than its few numbers one by one.
GP_VARIANTS(matern52_row, (size_t n, double a0sq, double *restrict k, double *restrict slope), (n, a0sq, k, slope))
{
    size_t j = 0;
    for (; j + GP_LANES <= n; j += GP_LANES) values(GP_LANES, a0sq, k + j, slope + j);
    for (; j + GP_LANES / 2 <= n; j += GP_LANES / 2) values(GP_LANES / 2, a0sq, k + j, slope + j);
    if (j == n) return;
    double last[GP_LANES] = {0}, last_slope[GP_LANES];
    memcpy(last, k + j, (n - j) * sizeof *k);
    values(GP_LANES, a0sq, last, last_slope);
    memcpy(k + j, last, (n - j) * sizeof *k);
    memcpy(slope + j, last_slope, (n - j) * sizeof *k);
}

GP_VARIANTS(matern52_row_value, (size_t n, double a0sq, double *k), (n, a0sq, k))
{
    size_t j = 0;
    for (; j + GP_LANES <= n; j += GP_LANES) values(GP_LANES, a0sq, k + j, NULL);
    for (; j + GP_LANES / 2 <= n; j += GP_LANES / 2) values(GP_LANES / 2, a0sq, k + j, NULL);
    if (j == n) return;
    double last[GP_LANES] = {0};
    memcpy(last, k + j, (n - j) * sizeof *k);
    values(GP_LANES, a0sq, last, NULL);
    memcpy(k + j, last, (n - j) * sizeof *k);
}

static void matern52_eval(gp_mat K, double a0sq, double *slope)
{
    for (size_t i = 0; i < K.rows; i++)
        if (slope)
            matern52_row(K.cols, a0sq, K.p + i * K.ld, slope + i * K.ld);
        else
            matern52_row_value(K.cols, a0sq, K.p + i * K.ld);
}

const gp_kernel gp_kernel_matern52 = {
    .name = "matern52",
    .summary = "Matern 5/2: functions with two derivatives, between matern32 and ard-rbf",
    .eval = matern52_eval,
};
