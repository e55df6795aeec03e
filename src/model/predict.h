// predict.h: mean and both variances at new inputs, in blocks. docs/math.md 6. A predictor is made once from theta and
// never changes, so any number of threads may share it; each brings a workspace, and predicting allocates nothing.
#pragma once
#include "base/status.h"
#include "feature/features.h"

typedef struct gp_predictor gp_predictor;
typedef struct gp_predict_work gp_predict_work;

// spec as for gp_features_new; theta is copied.
advgp_status gp_predictor_new(const gp_feature_spec *spec, const double *theta, gp_predictor **out, advgp_error *err);
void gp_predictor_free(gp_predictor *predictor);
const gp_features *gp_predictor_features(const gp_predictor *predictor); // as set by theta

// block_rows 0 chooses.
advgp_status gp_predict_work_new(const gp_predictor *predictor, size_t block_rows, gp_predict_work **out,
                                 advgp_error *err);
void gp_predict_work_free(gp_predict_work *work);

// For every row of X (n x d): mean[n], the variance of the latent function var_f[n], and of a new observation var_y[n]
// = var_f + sigma^2. var_f and var_y may both be NULL: the mean alone costs a fraction. var_f >= phi^T Sigma phi >= 0
// always: a sum of squares and a clamped residual, never a difference.
advgp_status gp_predict(const gp_predictor *predictor, gp_predict_work *work, gp_cmat X, double *mean, double *var_f,
                        double *var_y, advgp_error *err);

// Features phi (n x M) and residuals (n, or NULL) of the rows of X, for whoever needs them as such.
advgp_status gp_predict_features(const gp_predictor *predictor, gp_predict_work *work, gp_cmat X, gp_mat phi,
                                 double *residual, advgp_error *err);
