// reference.h: one step of advgp, written from the definitions and from nothing else: scalar loops in long double, Phi
// formed row by row, no BLAS, no LAPACK, no code of src/. The fast code is checked against it at any size; it is far
// too slow for anything more. docs/math.md 1, 2; 9.
#pragma once
#include <stddef.h>

typedef enum ref_kernel { REF_ARD_RBF, REF_MATERN32, REF_MATERN52 } ref_kernel;
typedef enum ref_map { REF_CHOLESKY, REF_EIGEN, REF_RVM } ref_map; // nystrom is an ensemble of one group

enum { REF_MAX_COMPONENTS = 4, REF_MAX_GROUPS = 4 };

typedef struct ref_component {
    ref_kernel kernel;
    ref_map map;
    size_t m;
    size_t n_groups, group_m[REF_MAX_GROUPS], group_rank[REF_MAX_GROUPS]; // REF_EIGEN only
} ref_component;

typedef struct ref_model {
    size_t d, n_components;
    ref_component c[REF_MAX_COMPONENTS];
    int trend;     // 0 none, 1 constant, 2 linear
    double jitter; // relative
} ref_model;

// theta is laid out as in docs/math.md 2.
size_t ref_n_features(const ref_model *model);
size_t ref_n_rest(const ref_model *model); // entries before mu
size_t ref_size(const ref_model *model);

typedef struct ref_rows {
    size_t n;
    const double *X, *y, *w; // n x d row major, n, n or NULL
} ref_rows;

// Features (n x M) and residuals (n, not clamped) of rows.X; either may be NULL.
void ref_features(const ref_model *model, const double *theta, ref_rows rows, double *phi, double *residual);

// Value of sum_i w_i g_i, and its gradient in all of theta if grad is not NULL.
double ref_sum_g(const ref_model *model, const double *theta, ref_rows rows, double *grad);

// Phi^T W Phi (M x M), Phi^T W y, sum w (k_ii - |phi|^2).
void ref_stats(const ref_model *model, const double *theta, ref_rows rows, double *A, double *b, double *residual);

// Optimal q(w): mu, packed U; returns the collapsed bound.
double ref_optimal(const ref_model *model, const double *theta, ref_rows rows, double *mu, double *U);

// One natural-gradient step from the q(w) of theta: mu, packed U.
void ref_natural(const ref_model *model, const double *theta, ref_rows rows, double scale, double rate, double *mu,
                 double *U);

// The ln sigma that minimises the bound at the q(w) of theta.
double ref_noise(const ref_model *model, const double *theta, ref_rows rows);

// KL divergence h of q(w) from the prior.
double ref_kl(const ref_model *model, const double *theta);

// One ADADELTA step with proximal operator on theta in place; acc_g, acc_u have the size of theta.
void ref_adadelta(const ref_model *model, double decay, double epsilon, double damping, const double *gradient,
                  double *theta, double *acc_g, double *acc_u);

void ref_predict(const ref_model *model, const double *theta, ref_rows rows, double *mean, double *var_f,
                 double *var_y);
