// rvm.c: phi = diag(alpha)^1/2 k_m(x), alpha_i = sigmoid(rho_i) / sum_j k(z_i, z_j): a relevance vector machine inside
// the bound. diag(alpha) K_mm has row sums below 1, hence diag(alpha) <= K_mm^-1 for every rho. No factor, no jitter.
// docs/math.md 2.
#include "feature/map.h"
#include "linalg/dense.h"

#include <math.h>

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); // the form that cannot overflow on either side
}

static double row_sum(gp_cmat K, size_t i)
{
    double sum = 0;
    for (size_t j = 0; j < K.cols; j++) sum += K.p[i * K.ld + j];
    return sum;
}

static advgp_status rvm_features(const gp_map_shape *shape, size_t *M, advgp_error *err)
{
    (void)err;
    *M = shape->m;
    return ADVGP_OK;
}

static size_t rvm_scratch(const gp_map_shape *shape)
{
    return shape->m; // row sums of K_mm
}

static advgp_status rvm_make(const gp_map_shape *shape, gp_cmat K, double a0sq, const double *rho, gp_rung *rung,
                             gp_mat T, double *scratch, advgp_error *err)
{
    (void)a0sq, (void)err;
    rung->jitter = 0; // none is used
    gp_mat_zero(T);
    for (size_t i = 0; i < shape->m; i++) {
        scratch[i] = row_sum(K, i);
        T.p[i * T.ld + i] = sqrt(sigmoid(rho[i]) / scratch[i]);
    }
    return ADVGP_OK;
}

// T_ii = alpha_i^1/2: dT_ii = T_ii/2 (dln sigmoid(rho_i) - dln sum_j K_ij), dln sigmoid = (1 - sigmoid) drho. D_ii is
// T_ii dF/dT_ii.
static void rvm_pull(const gp_map_shape *shape, gp_cmat T, gp_mat D, const double *rho, gp_mat G, double *g_rho,
                     double *scratch)
{
    (void)T;
    const size_t m = shape->m;
    for (size_t i = 0; i < m; i++) {
        const double half = 0.5 * D.p[i * D.ld + i];
        const double share = half / scratch[i];
        for (size_t j = 0; j < m; j++) G.p[i * G.ld + j] = -share;
        g_rho[i] = half * sigmoid(-rho[i]); // 1 - sigmoid(rho), without cancellation
    }
}

const gp_map gp_map_rvm = {
    .name = "rvm",
    .summary = "the kernel columns themselves, each with a learned weight: no factorisation, weaker approximation",
    .lower = true, // diagonal, in fact
    .has_rho = true,
    .features = rvm_features,
    .scratch = rvm_scratch,
    .make = rvm_make,
    .pull = rvm_pull,
};
