// exact.h: the exact Gaussian process for small n: evidence with gradient, and prediction. The yardstick of the bound.
// docs/math.md 7. Covariance of the targets: sum of components + trend + sigma^2 / w_i on the diagonal. n^3 time and 3
// n^2 numbers.
#pragma once
#include "base/status.h"
#include "feature/features.h"
#include "model/explanation.h"
#include "model/pass.h"
#include "model/predict.h"

enum { GP_EXACT_MAX_ROWS = 20000 }; // 3 n^2 doubles are 10 GB there

typedef struct gp_exact_spec {
    size_t d, n_components;
    const gp_kernel *const *kernels; // [n_components]
    gp_trend trend;
} gp_exact_spec;

// Hyper-parameters: ln sigma | per component: ln a0, ln eta (d) | ln s_c, ln s_l (those the trend has).
size_t gp_exact_n_hyper(const gp_exact_spec *spec);

typedef struct gp_exact gp_exact;
advgp_status gp_exact_new(const gp_exact_spec *spec, gp_batch rows, gp_exact **out,
                          advgp_error *err); // copies the rows
void gp_exact_free(gp_exact *exact);

// Negative log evidence at hyper; grad (n_hyper entries) may be NULL. *jitter, if not NULL, is the relative jitter that
// was needed.
advgp_status gp_exact_evidence(gp_exact *exact, const double *hyper, double *nlml, double *grad, double *jitter,
                               advgp_error *err);

// Makes the model ready to predict at hyper without its targets, from the weights alpha = K^-1 y that an earlier one
// had (n entries, below) and the jitter it needed: what a model file holds.
advgp_status gp_exact_restore(gp_exact *exact, const double *hyper, double jitter, const double *alpha,
                              advgp_error *err);
const double *gp_exact_weights(const gp_exact *exact); // [n rows of positive weight], of the last success

// Mean, latent variance and variance of an observation of weight 1, at the hyper of the last successful
// gp_exact_evidence.
advgp_status gp_exact_predict(const gp_exact *exact, gp_cmat X, double *mean, double *var_f, double *var_y,
                              advgp_error *err);

// For each of the n training rows of positive weight: target - mean and the variance of an observation of weight 1,
// both by the other rows alone (n^3 / 3 flops, n^2 numbers).
advgp_status gp_exact_left_out(const gp_exact *exact, size_t n, double *deviation, double *variance, advgp_error *err);

// One block of it, for whoever has memory and has checked: X is B x d, finite; k and scratch are n x B; var may be
// NULL.
void gp_exact_block(const gp_exact *exact, gp_cmat X, gp_mat k, gp_mat scratch, double *mean, double *var);

// A row taken apart (explanation.h): every training row is an inducing input. x: [d], finite; k: n x 1.
void gp_exact_explain(const gp_exact *exact, const double *x, gp_mat k, gp_explanation *out);

// All that predictions of an exact model with one kernel need. Arrays are borrowed.
typedef struct gp_exact_fit {
    const gp_kernel *kernel;
    gp_trend trend;
    gp_cmat X;                   // n x d, the training rows
    const double *w;             // [n], their weights, all positive; NULL: ones
    const double *hyper, *alpha; // [n_hyper], [n]
    double jitter;               // relative, the rung that held
} gp_exact_fit;
size_t gp_exact_fit_n_hyper(size_t d, gp_trend trend);
// Copies them; one factorisation, n^3 / 3 flops.
advgp_status gp_exact_predictor_new(const gp_exact_fit *fit, gp_predictor **out, advgp_error *err);
