// assess.h: how good a model is on rows whose target is known, for every method and for `evaluate` the same: intervals
// that cover what they say, errors, and two baselines beside them.
#pragma once
#include "score/linear_fit.h"
#include "score/score.h"
#include "store/modelfile.h"

// Which rows the figures are of.
typedef enum gp_scored { GP_SCORED_HELD_OUT, GP_SCORED_TRAINING, GP_SCORED_TEST } gp_scored;

enum { GP_LEVELS = 5 };
extern const double gp_levels[GP_LEVELS]; // 0.5, 0.8, 0.9, 0.95, 0.99

typedef struct gp_assessment {
    gp_scored scored;
    size_t n_scored;
    double rmse, mae, mnlp, r2;                               // r2 is not finite where the target is constant
    double baseline_mean, baseline_linear;                    // RMSE; NaN where there is no such baseline
    double coverage[GP_LEVELS], coverage_gaussian[GP_LEVELS]; // at gp_levels
    double width[GP_LEVELS];                                  // of calibrated intervals, on average
} gp_assessment;

// The sums of an assessment: rows are added one by one, standardised, as score.h has them.
typedef struct gp_tally {
    const gp_schema *schema;
    const gp_linear *line; // may be NULL: no such baseline
    size_t n;
    gp_score model, mean, linear;
    double y_first, y, yy;                             // the target about its first value, in units of the score
    double calibrated[GP_LEVELS], gaussian[GP_LEVELS]; // half intervals, in standard deviations
    double inside[GP_LEVELS], inside_gaussian[GP_LEVELS], width[GP_LEVELS];
} gp_tally;
void gp_tally_init(gp_tally *tally, const gp_model *model, const gp_linear *line); // both are borrowed
void gp_tally_add(gp_tally *tally, double w, const double *x, double y, double mean, double var_y);
void gp_tally_end(const gp_tally *tally, gp_assessment *out); // all but `scored`

// What answers: the model and its baselines. All of it is borrowed but predictor and fit.
typedef struct gp_assessor {
    const gp_model *model;
    gp_predictor *predictor;
    gp_linear fit;
} gp_assessor;

// For a model whose parameters are final: calibrates it (calibrate.h), and fits linear regression to the same training
// rows. On failure, too, fini is due.
advgp_status gp_assessor_init(gp_assessor *assessor, gp_model *model, gp_reader *reader, advgp_error *err);
void gp_assessor_fini(gp_assessor *assessor);

// On the held-out half that calibration does not see; on the training rows where none are held out.
advgp_status gp_assess(const gp_assessor *assessor, gp_reader *reader, gp_assessment *out, advgp_error *err);
// On the rows of another table, all of them GP_STOP. capacity: of the reader to make for it.
advgp_status gp_assess_test(const gp_assessor *assessor, const gp_shards *test, size_t capacity, gp_assessment *out,
                            advgp_error *err);
