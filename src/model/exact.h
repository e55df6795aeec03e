// exact.h: the exact Gaussian process for small n: evidence with gradient, and prediction. The yardstick of the bound.
// docs/math.md 7. Covariance of the targets: sum of components + trend + sigma^2 / w_i on the diagonal. n^3 time and 3
// n^2 numbers.
#pragma once
#include "base/status.h"
#include "feature/features.h"
#include "model/pass.h"

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

// Mean, latent variance and variance of an observation of weight 1, at the hyper of the last successful
// gp_exact_evidence.
advgp_status gp_exact_predict(const gp_exact *exact, gp_cmat X, double *mean, double *var_f, double *var_y,
                              advgp_error *err);
