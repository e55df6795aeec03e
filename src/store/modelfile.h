// modelfile.h: a trained model, in memory and as a safetensors file (docs/model-format.md). Everything that a
// prediction needs is in it: schema and scales, parameters, calibration; and what later arithmetic needs: the additive
// statistics. What kind of parameters is its form (form.h); callers ask for a predictor and need not know.
#pragma once
#include "base/status.h"
#include "data/schema.h"
#include "model/calibration.h"
#include "model/cells.h"
#include "model/exact.h"
#include "model/pass.h"
#include "model/predict.h"
#include "model/theta.h"

#include <jansson.h>

enum {
    GP_MODEL_FORMAT = 2, // the version that is written; 1 is read, and what it does not know is absent
    GP_GOLDEN_ROWS = 8,
    GP_MODEL_COMPONENTS_MAX = 1024,
    GP_MODEL_INDUCING_MAX = 20000, // in all components; a file that claims more is refused before memory is taken
    GP_MODEL_CELLS_MAX = 65536,
    GP_MODEL_CELL_INDUCING_MAX = 1000, // of each cell
    GP_MODEL_EXACT_ROWS_MAX = 5000,    // of an exact model: n^3 / 3 flops at every load, 3 n^2 numbers of memory
};

// What fits without a training row say of it, mean and sd_y, standardised, for the first n of positive weight in the
// order of their shards. The mean has not seen it in closed form, or, where hyper-parameters were found anew, neither
// have they; a noise that varies has not seen it. One block at mean.
typedef struct gp_unseen {
    size_t n;
    double *mean, *sd;
    bool refitted;
} gp_unseen;

typedef struct gp_model {
    const struct gp_model_form *form;
    // theta is ln sigma and what follows. Form `weights`: the whole vector of theta.h; `linear`: the same with a trend
    // of scale 1 and no components; `exact`: the hyper-parameters of exact.h.
    double *theta;                 // [layout.size]
    gp_theta_layout layout;        // exact: M = 0
    gp_feature_spec spec;          // its arrays are those below; exact: d and trend count
    gp_component_spec *components; // owned, with their groups
    double *rungs;                 // [components]: the jitter that each needed, once the model was loaded; before, 0
    gp_cells *cells;               // form `weights`: local parts, owned; theta then has the joint posterior; NULL: none
    double *maps;                  // the T that were loaded, as spec.maps has them; NULL: none
    gp_exact_fit exact;            // form `exact`; its arrays are theta and the next three
    double *x_train, *w_train, *alpha;
    gp_schema *schema;
    char *sql;       // the query of --sql, applied at predict too; NULL if none
    char method[32]; // what fitted it: "advgp", unless somebody writes another name here
    char writer[32]; // version of the advgp that wrote the file
    int format;      // of the file that it was loaded from; else the one that is written
    // Additive statistics over all training rows, in the features of theta: A and b are owned, all zero at first. An
    // exact model has yy and n.
    gp_stats stats;
    gp_calibration calibration; // in files of format 1 its factors alone
    // Noise that depends on the row: a second model, of the logarithm of the factor of both standard deviations. Its
    // schema has no columns, y_mean and y_scale alone: ln g = y_mean + y_scale * mean, held within noise_range, of the
    // inputs of gp_scale_inputs. NULL: constant. docs/math.md 6.
    struct gp_model *noise; // of the form `weights`
    double noise_range[2];
    gp_unseen unseen; // of a model that was just fitted, not in files; n 0: nobody has asked
    double baseline_mean,
        baseline_linear; // RMSE on the held-out rows (on the training rows if none), in the target's own units; NaN:
                         // not known
    json_t *record;      // training record: when, how long, why it stopped, held-out figures; an object, never NULL
    json_t *options;     // the options of the run, an object, never NULL
    bool unproven;       // loaded to be looked at (GP_SEEN): its golden rows were not computed, and it cannot predict
} gp_model;

// A model of this shape with room for everything; schema is taken (on success only), sql copied. theta and statistics
// start at 0, record and options as empty objects. EINVAL where spec and schema differ in their inputs.
advgp_status gp_model_new(const gp_feature_spec *spec, gp_schema *schema_take, const char *sql, gp_model **out,
                          advgp_error *err);
// Least squares: coefficients of 1, and with a linear trend of every input, are the mu of theta, their covariance is
// U^T U; the trend's scales are 1.
advgp_status gp_model_new_linear(size_t d, gp_trend trend, gp_schema *schema_take, const char *sql, gp_model **out,
                                 advgp_error *err);
// An exact process of n training rows with room for hyper-parameters (theta), x_train, alpha and, if weighted, w_train.
advgp_status gp_model_new_exact(const gp_kernel *kernel, gp_trend trend, size_t n, bool weighted,
                                gp_schema *schema_take, const char *sql, gp_model **out, advgp_error *err);
void gp_model_free(gp_model *model); // NULL is fine

// What must hold of the numbers of a model beside being finite: calibrations rise, tails and scales are scales,
// statistics are of data. `bad` is what it fails with.
advgp_status gp_model_check(const gp_model *model, advgp_status bad, advgp_error *err);

// Writes the file (beside, then renamed). The golden rows are made here: 8 synthetic encoded rows and their
// predictions. What a reader would refuse is refused here: a parameter that is not finite, or what gp_model_check finds
// wrong, is ENUMERIC, and nothing is written.
advgp_status gp_model_save(const gp_model *model, const char *path, advgp_error *err);
// The same for its owner alone, 0600: where nobody chose the place (rescue.h), and an exact model holds rows.
advgp_status gp_model_save_private(const gp_model *model, const char *path, advgp_error *err);

// Reads as hostile, checks the checksums, rebuilds the predictor and recomputes the golden rows: EFILE if anything is
// wrong, with the file's name, what was expected and what to do (a newer format version says so). EFILE too where a
// small file would take more than a quarter of the memory or 10 s of arithmetic: said before either is taken.
advgp_status gp_model_load(const char *path, gp_model **out, advgp_error *err);
advgp_status gp_model_load_memory(const void *bytes, size_t n, gp_model **out, advgp_error *err); // a file's bytes

typedef enum gp_trust {
    GP_BOUNDED, // as gp_model_load
    GP_TRUSTED, // whatever it takes
    GP_SEEN     // to look at, not to predict: what is beyond the bounds is loaded `unproven`
} gp_trust;
advgp_status gp_model_load_as(const char *path, gp_trust trust, gp_model **out, advgp_error *err);

// A scale model of this shape for model->noise, with room for everything, not yet the model's.
advgp_status gp_model_new_noise(const gp_feature_spec *spec, gp_model **out, advgp_error *err);

// A predictor for standardised inputs, whatever the form, with noise that varies where the model has it.
advgp_status gp_model_predictor(const gp_model *model, gp_predictor **out, advgp_error *err);
