// predict.h: mean and both variances at new inputs, in blocks, for any kind of model. docs/math.md 6. A predictor is
// made once and never changes, so any number of threads may share it; each brings a workspace, and predicting allocates
// nothing.
//
// A new kind of model is one file that makes a predictor (weight_predictor.c, exact_predictor.c); whoever predicts,
// scores or calibrates knows gp_predictor alone.
#pragma once
#include "base/alloc.h"
#include "base/status.h"
#include "feature/features.h"

typedef struct gp_predictor gp_predictor;
typedef struct gp_predict_work gp_predict_work;

// ---- making one -----------------------------------------------------------------------------------------------------

// Weight space: q(w) of theta over the features of spec (as for gp_features_new); theta is copied.
advgp_status gp_predictor_new(const gp_feature_spec *spec, const double *theta, gp_predictor **out, advgp_error *err);
void gp_predictor_free(gp_predictor *predictor); // of any kind; NULL is fine
// As set by theta, of the global part where there are cells; NULL: not in weight space.
const gp_features *gp_predictor_features(const gp_predictor *predictor);

// block_rows 0 chooses.
advgp_status gp_predict_work_new(const gp_predictor *predictor, size_t block_rows, gp_predict_work **out,
                                 advgp_error *err);
void gp_predict_work_free(gp_predict_work *work);

// ---- asking it ------------------------------------------------------------------------------------------------------

// For every row of X (n x d): mean[n], the variance of the latent function var_f[n], and of a new observation var_y[n]
// = var_f + sigma^2, both times g(x)^2 where the noise varies. var_f and var_y may both be NULL: the mean alone costs a
// fraction. Variances are never negative.
advgp_status gp_predict(const gp_predictor *predictor, gp_predict_work *work, gp_cmat X, double *mean, double *var_f,
                        double *var_y, advgp_error *err);

// The same of rows from anywhere: one that double precision cannot compute gets NaN, and the others their answers. An
// input that is not finite is held to the largest number there is, in X. *lost: how many rows have none.
advgp_status gp_predict_each(const gp_predictor *predictor, gp_predict_work *work, gp_mat X, double *mean,
                             double *var_f, double *var_y, size_t *lost, advgp_error *err);

// The same with var_f in its two parts, by the plain way, which equals the quick one but for rounding: spread[n], which
// the training rows have narrowed (phi^T Sigma phi), and residual[n], in which they have no say (what the kernels have
// beyond the features; 0 for an exact model).
advgp_status gp_predict_parts(const gp_predictor *predictor, gp_predict_work *work, gp_cmat X, double *mean,
                              double *spread, double *residual, advgp_error *err);
double gp_predictor_noise(const gp_predictor *predictor); // sigma^2, with which the mean was fitted

// A factor g(x) for both standard deviations of a row, sd_f and sd_y: ln g = centre + slope times the mean of another
// predictor, held within range. Its inputs are those of the row and what this predictor says of it, mean and ln sd_f.
// One that has the inputs of the row alone, as in model files before these, gives ln s, and var_y = var_f + s^2.
// docs/math.md 6.
typedef struct gp_scale {
    double centre, slope, range[2];
} gp_scale;
void gp_predictor_vary(gp_predictor *predictor, gp_predictor *ln_scale_take, gp_scale scale);

enum { GP_SCALE_INPUTS = 2 }; // beyond those of the row
// All of them for a row x, into d + GP_SCALE_INPUTS numbers at out.
void gp_scale_inputs(const gp_predictor *predictor, const double *x, double mean, double var_f, double *out);

// Features phi (n x M) and residuals (n, or NULL) of the rows of X, for whoever needs them as such; EINVAL where the
// predictor is not in weight space.
advgp_status gp_predict_features(const gp_predictor *predictor, gp_predict_work *work, gp_cmat X, gp_mat phi,
                                 double *residual, advgp_error *err);

// ---- being one ------------------------------------------------------------------------------------------------------

enum { GP_PREDICT_VIEWS = 8 };

struct gp_explanation; // explain.h

typedef struct gp_predictor_ops {
    // The arrays that a block of B rows needs, cut from arena into views (alloc.h: called twice).
    void (*plan)(const gp_predictor *self, size_t B, gp_arena *arena, gp_mat views[GP_PREDICT_VIEWS]);
    // One block of at most B finite rows. spread and residual are both NULL, or both asked for; neither may come out
    // negative. Cannot fail: what overflows becomes a number that is not finite.
    void (*block)(const gp_predictor *self, gp_cmat X, const gp_mat views[GP_PREDICT_VIEWS], double *mean,
                  double *spread, double *residual);
    const gp_features *(*features)(const gp_predictor *self); // gp_predictor_features; NULL: it has none
    // May be NULL: mean and var_f = spread + residual of such a block, by a quicker way; false where this model has
    // none.
    bool (*in_one)(const gp_predictor *self, gp_cmat X, const gp_mat views[GP_PREDICT_VIEWS], double *mean,
                   double *var_f);
    // One finite row taken apart, into an explanation without terms and neighbours (explain.h).
    void (*explain)(const gp_predictor *self, const double *x, const gp_mat views[GP_PREDICT_VIEWS],
                    struct gp_explanation *out);
    // May be NULL: the leverage of a row tells (score/left_out.h). For a predictor that keeps its training rows: how
    // far each of their targets is from what the others say of it, and the variance of that, in the order of training.
    // EINVAL where they are not n rows.
    advgp_status (*left_out)(const gp_predictor *self, size_t n, double *deviation, double *variance, advgp_error *err);
    void (*free)(gp_predictor *self);
} gp_predictor_ops;

struct gp_predictor { // the first member of every kind
    const gp_predictor_ops *ops;
    size_t d;               // inputs
    double noise;           // sigma^2
    gp_predictor *ln_scale; // NULL: the noise is constant
    gp_scale scale;
    size_t block_rows; // that suit it best; 0: any
};

struct gp_predict_work {
    size_t block_rows;
    gp_mat views[GP_PREDICT_VIEWS];
    double *spread, *residual; // [block_rows]
    gp_mat scale_views[GP_PREDICT_VIEWS];
    double *scale;       // [block_rows]
    gp_mat scale_inputs; // [block_rows x inputs of ln_scale]
};

// Checks what every caller promises: both given, rows of d finite inputs.
advgp_status gp_predict_check(const gp_predictor *predictor, const gp_predict_work *work, gp_cmat X, advgp_error *err);
