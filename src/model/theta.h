// theta.h: the one vector that holds a model's parameters, in the order of every message and file (docs/math.md 2):
//     ln sigma | components: ln a0, ln eta, Z, rho | ln s_c, ln s_l | mu (M) | U (upper triangle, row by row)
// "Rest" is everything before mu; q(w) = N(mu, U^T U) is mu and U.
#pragma once
#include "feature/features.h"

typedef struct gp_theta_layout {
    size_t n_rest; // entries before mu; also the index of mu
    size_t M;      // features
    size_t U;      // index of U_00
    size_t size;   // of the whole vector
} gp_theta_layout;

gp_theta_layout gp_theta_layout_of(const gp_features *f);

// Index of U_ij, i <= j, counted from U_00.
static inline size_t gp_packed_index(size_t M, size_t i, size_t j)
{
    return i * M - i * (i + 1) / 2 + j; // rows before i hold M, M-1, ..
}

void gp_upper_unpack(size_t M, const double *packed, gp_mat U); // zeros below the diagonal
void gp_upper_pack(gp_cmat U, double *packed);

// The start of q(w): mu = 0, U = I.
void gp_theta_start_q(gp_theta_layout layout, double *theta);

// The slope of the trend along input k, standardised: s_l mu_k; 0 without a linear trend.
double gp_theta_slope(gp_theta_layout layout, const gp_feature_spec *spec, const double *theta, size_t k);

// h = KL(q(w) || N(0, I)) and, if grad is not NULL, adds its gradient to the q part of grad (full length).
double gp_theta_kl(gp_theta_layout layout, const double *theta, double *grad);
