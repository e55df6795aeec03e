// assess.h: how good a model is on rows whose target is known, for every method and for `evaluate` the same: intervals
// that cover what they say, errors, and two baselines beside them.
#pragma once
#include "score/distribution.h"
#include "score/linear_fit.h"
#include "score/score.h"
#include "store/modelfile.h"

// Which rows the figures are of.
typedef enum gp_scored {
    GP_SCORED_HELD_OUT,
    GP_SCORED_LEFT_OUT, // training rows, each left out in closed form
    GP_SCORED_REFITTED, // training rows, each by a fit without it, hyper-parameters and all
    GP_SCORED_TEST
} gp_scored;
bool gp_scored_of_training(gp_scored scored); // no other rows were there

enum { GP_LEVELS = 5 };
extern const double gp_levels[GP_LEVELS]; // 0.5, 0.8, 0.9, 0.95, 0.99

extern const double gp_judged_level; // 0.9: what the figures of one interval are of

enum { GP_TENTHS = 10 };
typedef struct gp_tenth { // of the rows, in the order of what they are cut by
    double from, to;      // of it
    size_t rows;
    double coverage, width;
} gp_tenth;

typedef struct gp_assessment {
    gp_scored scored;
    size_t n_scored;
    double rmse, mae, mnlp, r2;                               // r2 is not finite where the target is constant
    double baseline_mean, baseline_linear;                    // RMSE; NaN where there is no such baseline
    double coverage[GP_LEVELS], coverage_gaussian[GP_LEVELS]; // at gp_levels
    double width[GP_LEVELS];                                  // of calibrated intervals, on average
    // Standard errors of rmse, r2 and coverage (doubt.h); NaN of GP_DOUBT_ROWS rows and more, or where nobody knows.
    double rmse_se, r2_se, coverage_se[GP_LEVELS];
    // Of the calibrated distribution: CRPS, Winkler's score of the interval at gp_judged_level, likelihood.
    double crps, winkler, mnlp_calibrated;
    // That interval by tenth of the prediction and of its standard deviation; n_tenths 0: too few rows.
    size_t n_tenths;
    gp_tenth by_prediction[GP_TENTHS], by_sd[GP_TENTHS];
} gp_assessment;

// What the calibrated distribution says about one row, in the target's own units; the interval is at gp_judged_level.
typedef struct gp_row_figures {
    double error, crps, winkler, width;
    bool inside;
} gp_row_figures;

// The sums of an assessment: rows are added one by one, standardised, as score.h has them.
typedef struct gp_tally {
    const gp_schema *schema;
    const gp_linear *line; // may be NULL: no such baseline
    bool left_out;         // rows are those of training, each left out
    size_t n;
    gp_score model, mean, linear;
    double y_first, y, yy; // the target about its first value, in units of the score
    double ww;             // squares of weights
    gp_scores scores;
    double gaussian[GP_LEVELS]; // ends of intervals, in standard deviations
    double inside[GP_LEVELS], inside_gaussian[GP_LEVELS], width[GP_LEVELS];
    double crps, winkler, nlp_calibrated;
    struct gp_tally_row *kept; // every stride-th row, for the tenths: of many rows a sample
    size_t n_kept, stride;
} gp_tally;
// model and line are borrowed. On failure, too, fini is due.
advgp_status gp_tally_init(gp_tally *tally, const gp_model *model, const gp_linear *line, advgp_error *err);
gp_row_figures gp_tally_add(gp_tally *tally, double w, const double *x, double y, double mean, double var_y);
void gp_tally_end(gp_tally *tally, gp_assessment *out); // all but `scored`
void gp_tally_fini(gp_tally *tally);

// What answers: the model and its baselines. All of it is borrowed but predictor and fit.
typedef struct gp_assessor {
    const gp_model *model;
    gp_predictor *predictor; // from the first time it is asked for
    gp_linear fit;
} gp_assessor;

// For a model whose parameters are final: calibrates it (calibrate.h), and fits linear regression to the same training
// rows. On failure, too, fini is due.
advgp_status gp_assessor_init(gp_assessor *assessor, gp_model *model, gp_reader *reader, advgp_error *err);
void gp_assessor_fini(gp_assessor *assessor);

// On the held-out half that calibration does not see; where none are held out on the training rows, each left out in
// turn (gp_unseen_rows in left_out.h): so is the linear baseline then.
advgp_status gp_assess(gp_assessor *assessor, gp_reader *reader, gp_assessment *out, advgp_error *err);
// On the rows of another table, all of them GP_STOP. capacity: of the reader to make for it.
advgp_status gp_assess_test(gp_assessor *assessor, const gp_shards *test, size_t capacity, gp_assessment *out,
                            advgp_error *err);
