// modelfile.h: a trained model, in memory and as a safetensors file (docs/model-format.md). Everything that a
// prediction needs is in it: schema and scales, parameters, calibration; and what later arithmetic needs: the additive
// statistics.
#pragma once
#include "base/status.h"
#include "data/schema.h"
#include "model/pass.h"
#include "model/predict.h"

#include <jansson.h>

enum { GP_CALIBRATION_LEVELS = 1001, GP_GOLDEN_ROWS = 8 };

typedef struct gp_model {
    gp_feature_spec spec; // its components are owned by the model
    gp_theta_layout layout;
    double *theta; // [layout.size]
    gp_schema *schema;
    char *sql; // the query of --sql, applied at predict too; NULL if none
    // Additive statistics over all training rows, in the features of theta. A and b are owned.
    gp_stats stats;
    // calibration[i] is the factor s for which mean +- s sd_y covers a fraction i/1000 of new rows (split conformal,
    // MATH.md 6); where the calibration rows are too few for a level, the Gaussian factor. NULL: not calibrated, all
    // Gaussian.
    double *calibration;  // [GP_CALIBRATION_LEVELS]
    size_t n_calibration; // rows behind it
    double baseline_mean,
        baseline_linear; // RMSE on the held-out rows (on the training rows if none), in the target's own units
    json_t *record;      // training record: when, how long, why it stopped, held-out figures; an object, never NULL
    json_t *options;     // the options of the run, an object, never NULL
} gp_model;

// A model of this shape with room for everything; schema is taken (on success only), sql copied. theta starts at 0.
advgp_status gp_model_new(const gp_feature_spec *spec, gp_schema *schema_take, const char *sql, gp_model **out,
                          advgp_error *err);
void gp_model_free(gp_model *model);

// Writes the file (beside, then renamed). The golden rows are made here: 8 synthetic encoded rows and their
// predictions.
advgp_status gp_model_save(const gp_model *model, const char *path, advgp_error *err);

// Reads as hostile, checks the checksum, rebuilds the predictor and recomputes the golden rows: EFILE if anything is
// wrong, with the file's name, what was expected and what to do (a newer format version says so).
advgp_status gp_model_load(const char *path, gp_model **out, advgp_error *err);

// The factor s of the interval at level p in (0, 1): calibrated (linear between levels), or Gaussian.
double gp_model_interval(const gp_model *model, double p);
double gp_gaussian_interval(double p); // the s for which a normal variable lies within +- s with probability p
