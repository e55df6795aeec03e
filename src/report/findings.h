// findings.h: what rows with a known target say about a model: the figures of an assessment, and what a page shows
// beyond them: where the observed values fell in their distributions, the baselines' distributions beside, the rows
// with the largest errors, and a sample of rows to draw.
#pragma once
#include "base/rng.h"
#include "score/assess.h"

enum {
    GP_PIT_BINS = 20,
    GP_WORST_ROWS = 20,
    GP_SAMPLED_ROWS = 20000, // kept for pictures and cells
    GP_TYPICAL_ROWS = 100,   // kept with all of their inputs
};
#define GP_NO_ROW ((size_t)-1)

// A row as a page shows it, in the target's own units; the interval is at gp_judged_level.
typedef struct gp_seen_row {
    size_t number; // in its table, from 0; GP_NO_ROW: nobody knows
    double w, y, mean, sd, lo, hi;
    double score; // how far y is from what was expected, in standard deviations
    double at[2]; // the values of two inputs (decode.h)
} gp_seen_row;

// A simple predictor beside the model, as a Gaussian distribution.
typedef struct gp_beside {
    double crps, inside;      // weighted sums, then means
    double gain, gain_square; // of squared errors, its own less the model's: sum and sum of squares, over rows
} gp_beside;

typedef struct gp_findings {
    gp_assessment all;
    size_t drawn[2];         // inputs whose values the sample has; GP_NO_ROW: no such
    double weight;           // of all rows
    double pit[GP_PIT_BINS]; // share of the rows by where the observed value fell in its calibrated distribution
    gp_beside mean, linear;
    bool has_linear;
    gp_seen_row worst[GP_WORST_ROWS]; // the largest error first
    double *worst_x;                  // [GP_WORST_ROWS x d]
    size_t n_worst;
    gp_seen_row *sample; // of all rows, by chance, in an order of chance
    size_t n_sample;
    double *typical; // [n_typical x d]: encoded rows of the same table, by chance
    size_t n_typical;
    // While rows are added.
    gp_tally tally;
    gp_calibration gaussian; // without rows
    gp_rng rng;
} gp_findings;

// model and line (which may be NULL: no such baseline) are borrowed until the end; left_out as in gp_tally. On failure,
// too, fini is due.
advgp_status gp_findings_init(gp_findings *f, const gp_model *model, const gp_linear *line, bool left_out,
                              const size_t drawn[2], uint64_t seed, advgp_error *err);
// All of it as gp_tally_add has it.
void gp_findings_add(gp_findings *f, size_t number, double w, const double *x, double y, double mean, double var_y);
void gp_findings_end(gp_findings *f, gp_scored scored);
void gp_findings_fini(gp_findings *f);
