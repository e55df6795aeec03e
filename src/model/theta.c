// theta.c: the q(w) part of the parameter vector: packing of U, the start, and the divergence from the prior.
#include "model/theta.h"

#include <math.h>
#include <string.h>

gp_theta_layout gp_theta_layout_of(const gp_features *f)
{
    const size_t M = f->M;
    return (gp_theta_layout){
        .n_rest = f->n_params, .M = M, .U = f->n_params + M, .size = f->n_params + M + M * (M + 1) / 2};
}

void gp_upper_unpack(size_t M, const double *packed, gp_mat U)
{
    for (size_t i = 0; i < M; i++) {
        memset(U.p + i * U.ld, 0, i * sizeof(double));
        memcpy(U.p + i * U.ld + i, packed, (M - i) * sizeof(double));
        packed += M - i;
    }
}

void gp_upper_pack(gp_cmat U, double *packed)
{
    const size_t M = U.rows;
    for (size_t i = 0; i < M; i++) {
        memcpy(packed, U.p + i * U.ld + i, (M - i) * sizeof(double));
        packed += M - i;
    }
}

void gp_theta_start_q(gp_theta_layout layout, double *theta)
{
    memset(theta + layout.n_rest, 0, (layout.size - layout.n_rest) * sizeof(double));
    for (size_t i = 0; i < layout.M; i++) theta[layout.U + gp_packed_index(layout.M, i, i)] = 1;
}

double gp_theta_slope(gp_theta_layout l, const gp_feature_spec *spec, const double *theta, size_t k)
{
    if (spec->trend != GP_TREND_LINEAR) return 0;
    return exp(theta[l.n_rest - 1]) * theta[l.n_rest + l.M - spec->d + k];
}

double gp_theta_kl(gp_theta_layout layout, const double *theta, double *grad)
{
    const size_t M = layout.M, n = layout.size - layout.n_rest; // mu and U together: both add their squares
    const double *q = theta + layout.n_rest;
    double squares = 0, log_det = 0;
    for (size_t i = 0; i < n; i++) squares += q[i] * q[i];
    if (grad)
        for (size_t i = 0; i < n; i++) grad[layout.n_rest + i] += q[i];
    for (size_t i = 0; i < M; i++) {
        const size_t diagonal = layout.U + gp_packed_index(M, i, i);
        log_det += log(fabs(theta[diagonal]));
        if (grad) grad[diagonal] -= 1 / theta[diagonal];
    }
    return -log_det + 0.5 * (squares - (double)M);
}
