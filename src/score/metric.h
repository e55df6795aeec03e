// metric.h: what a model is judged by. A metric is a word in the list below and a row of metric.c: sums over rows,
// text, JSON, report and `evaluate --by` walk the table.
#pragma once
#include "score/distribution.h"
#include "score/doubt.h"

enum { GP_LEVELS = 5, GP_JUDGED = 2 };
extern const double gp_levels[GP_LEVELS]; // 0.5, 0.8, 0.9, 0.95, 0.99
extern const double gp_judged_level;      // 0.9, that at GP_JUDGED: what the figures of one interval are of

// In the order in which people read them: ONE has one figure, EACH has one at each of gp_levels.
#define GP_METRICS(ONE, EACH) \
    EACH(coverage)            \
    EACH(coverage_gaussian)   \
    ONE(rmse)                 \
    ONE(mae)                  \
    ONE(r2)                   \
    ONE(mnlp)                 \
    ONE(mnlp_calibrated)      \
    ONE(crps)                 \
    EACH(width)               \
    ONE(winkler)

#define GP_METRIC_ONE(metric)  double metric;
#define GP_METRIC_EACH(metric) double metric[GP_LEVELS];

#define X(metric) GP_METRIC_##metric,
enum { GP_METRICS(X, X) GP_N_METRICS };
#undef X

// A number of each figure: its value, its standard error, what a row adds to it, or a sum of that.
typedef struct gp_figures {
    GP_METRICS(GP_METRIC_ONE, GP_METRIC_EACH)
} gp_figures;
enum { GP_N_FIGURES = sizeof(gp_figures) / sizeof(double) };

// One row with what a model says of it.
typedef struct gp_judged {
    double w, y, mean, var_y;   // weight; the others are of the standardised target, as in score.h
    double target, error;       // in the target's own units; the error is that of the predicted mean
    double unit, off;           // gp_target_unit, and in it how far the target is from that of the first row
    gp_distribution calibrated; // what intervals and CRPS are of
    const double *gaussian;     // [GP_LEVELS]: ends of Gaussian intervals, in standard deviations
    double score_ends[GP_LEVELS][2], ends[GP_LEVELS][2]; // of calibrated intervals: as scores, and of the target
    size_t level;                                        // of the figure that is asked for
    double adds[GP_N_FIGURES];
} gp_judged;
void gp_judge_row(gp_judged *row); // ends and what it adds, from the lines before
bool gp_is_inside(const gp_judged *row, size_t level);

// The sums over rows that all figures come from. Start from {0}.
typedef struct gp_sums {
    size_t rows;
    double n, squares;       // of the weights
    double off, off_squares; // as in gp_judged, weighted
    double unit;
    double of[GP_N_FIGURES];
} gp_sums;
void gp_sums_add(gp_sums *sums, const gp_judged *row);

// Behind the standard errors of figures. Errors and distances from the mean are in units of gp_target_unit.
typedef struct gp_doubts {
    const gp_doubt_row *rows;
    size_t n;
    double unit;
    double worth; // how many rows of equal weights tell as much
    double value; // of the figure
} gp_doubts;

typedef enum gp_metric_unit { GP_UNIT_NONE, GP_UNIT_TARGET, GP_UNIT_NATS, GP_UNIT_SHARE } gp_metric_unit;

typedef struct gp_metric {
    const char *name;  // in JSON; its standard error is NAME_se
    const char *label; // for people; may be that of the row before, if `of` tells the two apart
    const char *of;    // what it is of, where that is not plain; or NULL
    const char *title; // the label in full, where it is short; or NULL
    const char *means; // what a page says below it; NULL: it has no tile there
    gp_metric_unit unit;
    int decimals;                 // in the line that a training ends with; 0: five digits
    bool ends_training, by_group; // is in that line; in tables of groups, at gp_judged_level
    size_t at, n;                 // which figures are its own: all[at], and n of them, 1 or GP_LEVELS

    double (*add)(const gp_judged *row);              // what a row adds to its sum, with its weight
    double (*value)(const gp_sums *sums, double sum); // of its own sum and the others; NULL: its mean
    double (*error)(const gp_doubts *doubts);         // its standard error; NULL: nobody knows
} gp_metric;
extern const gp_metric gp_metrics[GP_N_METRICS];

double gp_sums_figure(const gp_sums *sums, const gp_metric *metric, size_t level); // NaN without rows
double gp_sums_judged(const gp_sums *sums, const gp_metric *metric);               // that at GP_JUDGED, or the only one
