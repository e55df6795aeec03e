// answer_columns.h: the columns of a prediction: mean and standard deviations, intervals, quantiles, probabilities and
// drawn values, as the options of predict ask for them. All of a row come from one distribution (score/distribution.h),
// so they agree with each other.
#pragma once
#include "options/option.h"
#include "score/distribution.h"
#include "store/modelfile.h"

enum { GP_ANSWER_NAME = 48 };

typedef enum gp_answer_kind {
    GP_ANSWER_MEAN,
    GP_ANSWER_SD_F,
    GP_ANSWER_SD_Y,
    GP_ANSWER_LO, // of the interval at level `at`
    GP_ANSWER_HI,
    GP_ANSWER_QUANTILE,
    GP_ANSWER_EXCEEDS, // P(y > at)
    GP_ANSWER_DRAW,    // number `at` of the row
} gp_answer_kind;

typedef struct gp_answer_column {
    char name[GP_ANSWER_NAME];
    gp_answer_kind kind;
    double at;
} gp_answer_column;

typedef struct gp_answer_columns {
    gp_answer_column *list;
    size_t n;
    bool mean_only;
    uint64_t seed; // of draws
    const gp_calibration *scores;
    const gp_schema *schema;
} gp_answer_columns;

// From interval, quantiles, exceeds, draws, mean-only and seed. The model is borrowed. On failure, too, fini is due.
advgp_status gp_answer_columns_init(gp_answer_columns *columns, const gp_options *options, const gp_model *model,
                                    advgp_error *err);
void gp_answer_columns_fini(gp_answer_columns *columns);
const gp_answer_column *gp_answer_columns_find(const gp_answer_columns *columns, const char *name); // NULL: not there

// The first interval or quantile for which the calibration has too few rows, so that it is Gaussian; NULL: none.
const gp_answer_column *gp_answer_columns_beyond(const gp_answer_columns *columns);

// The values of a row, one a column, in the target's own units; `row` is its number in the table, which draws depend
// on. Variances are not looked at where the mean alone is asked for and the target is no logarithm. A value beyond
// double precision is NaN; false: there is one.
bool gp_answer_row(const gp_answer_columns *columns, size_t row, double mean, double var_f, double var_y,
                   double *values);
