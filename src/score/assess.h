// assess.h: how good a model is on rows whose target is known, for every method and for `evaluate` the same: intervals
// that cover what they say, errors, and two baselines beside them.
#pragma once
#include "score/linear_fit.h"
#include "score/metric.h"
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

enum { GP_TENTHS = 10 };
typedef struct gp_tenth { // of the rows, in the order of what they are cut by
    double from, to;      // of it
    size_t rows;
    double coverage, width;
} gp_tenth;

typedef struct gp_assessment {
    gp_scored scored;
    size_t n_scored;
    union { // the values by name, and as the table of metrics walks them
        struct {
            GP_METRICS(GP_METRIC_ONE, GP_METRIC_EACH)
        };
        double values[GP_N_FIGURES];
    };
    union { // their standard errors (doubt.h): NaN of GP_DOUBT_ROWS rows and more, or where nobody knows
        gp_figures se;
        double errors[GP_N_FIGURES];
    };
    double baseline_mean, baseline_linear; // RMSE; NaN where there is no such baseline
    // The interval at gp_judged_level by tenth of the prediction and of its standard deviation; n_tenths 0: too few
    // rows.
    size_t n_tenths;
    gp_tenth by_prediction[GP_TENTHS], by_sd[GP_TENTHS];
} gp_assessment;

// The sums of an assessment: rows are added one by one, standardised, as score.h has them.
typedef struct gp_tally {
    const gp_schema *schema;
    const gp_linear *line; // may be NULL: no such baseline
    bool left_out;         // rows are those of training, each left out
    gp_sums sums;
    gp_score mean, linear;
    const gp_calibration *scores; // of the model
    double gaussian[GP_LEVELS];   // ends of intervals, in standard deviations
    double y_first;               // target of the first row
    gp_judged row;                // the last one
    struct gp_tally_row *kept;    // every stride-th row, for the tenths: of many rows a sample
    size_t n_kept, stride;
} gp_tally;
// model and line are borrowed. On failure, too, fini is due.
advgp_status gp_tally_init(gp_tally *tally, const gp_model *model, const gp_linear *line, advgp_error *err);
const gp_judged *gp_tally_add(gp_tally *tally, double w, const double *x, double y, double mean, double var_y);
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
