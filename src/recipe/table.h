// table.h: the numbers of a default training, in one place: size classes, the parts of a model, the trials and what one
// of them must gain. plan.c reads the classes, judge.c the trials; docs/recipe.md explains the rows, and tests/docs.sh
// compares the two. A number stays only if it gains on several tables (bench/recipe).
#pragma once
#include <stddef.h>

// ---- size classes ---------------------------------------------------------------------------------------------------

// From how many training rows on. A step sees about a fortieth of the rows. Local processes learn what the global one
// leaves, so fewer epochs are enough before them.
typedef struct gp_size_class {
    size_t rows_from;
    size_t batch;           // rows of a step, of all workers together; 0: all rows
    double epochs;          // passes over the rows, without cells
    size_t steps_min;       // without cells
    double epochs_cells;    // with cells
    size_t steps_min_cells; // with cells
    size_t inducing;        // where nobody says how many, with cells and more signal than noise
} gp_size_class;

static const gp_size_class gp_size_classes[] = {
    // rows from  batch  epochs  steps  epochs, cells  steps, cells  inducing
    {0, 0, 5, 400, 1.5, 400, 200},         {1025, 512, 5, 1000, 1.5, 400, 200},  {10000, 512, 5, 600, 1.5, 400, 200},
    {20481, 1024, 5, 600, 1.5, 400, 200},  {40961, 2048, 5, 600, 1.5, 400, 200}, {81921, 4096, 5, 600, 1.5, 400, 400},
    {163841, 8192, 5, 400, 1.5, 400, 400},
};
enum { GP_SIZE_CLASSES = sizeof gp_size_classes / sizeof *gp_size_classes };

enum {
    GP_INDUCING = 200,          // inducing points of all components together
    GP_STEPS_MAX = 3000,        // more gain nothing on any table
    GP_STEPS_INDUCING = 400000, // steps times inducing points: larger batches need fewer steps
    GP_BATCH_WORKER_MAX = 4096, // rows of one worker's push
    GP_BATCH_INDUCING = 2,      // rows of a step for each inducing point: with fewer its algebra, M^3, outweighs them
    GP_MIXED_ROWS_MIN = 4096,   // of a push: fewer gain no time in single precision
    GP_THREAD_ROWS_MIN = 1024,  // of the table for each thread, and of a step for each worker, which repeats the
    GP_PUSH_ROWS_MIN = 1024,    // algebra of the step
    GP_WHOLE_ROWS_MAX = 1024,   // a table of so few rows is seen whole by every step, and polished by L-BFGS
    GP_POLISH_ITERATIONS = 100,
    GP_EVALUATIONS = 40,       // on validation rows in a run
    GP_EVALUATION_ROWS = 8192, // of each: they take time from the workers
    GP_PATIENCE = 20, // half of them without a gain end the steps: while these are large, the noise of q(w) hides gains
};
_Static_assert((int)GP_WHOLE_ROWS_MAX + 1 == 1025,
               "the second size class begins where the first, which is seen whole, ends");

// ---- which method ---------------------------------------------------------------------------------------------------

enum { GP_EXACT_ROWS_MAX = 3000 }; // training rows of the exact process: a few seconds, and hundreds of megabytes

// ---- cells: local processes beside the global one -------------------------------------------------------------------

// A cell for some 300 training rows; where most of the target is noise so few tell nothing.
typedef struct gp_cell_class {
    size_t rows, cells_max; // training rows for each cell; most cells
} gp_cell_class;
static const gp_cell_class gp_cells_signal = {300, 256}, gp_cells_noise = {2000, 640};
enum {
    GP_CELLS_ROWS_MIN = 5000, // of the table: fewer leave nothing for local processes
    GP_CELL_LEAST_ROWS = 100, // of a cell
    GP_CELL_FEW_ROWS = 1000,  // below it, on average, a cell is fitted by its evidence, above by the bound
    // By the evidence: two inducing points for three rows, and where each cell begins is what eight say together.
    GP_CELL_EVIDENCE_ROWS = 400,
    GP_CELL_FEW_INDUCING = 200,
    GP_CELLS_FEW_INDUCING = 24000, // of all cells
    GP_CELLS_POOLED = 8,
    GP_POOLED_ITERATIONS = 40,
    GP_POOLED_ROUGH_ITERATIONS = 12, // of the other kernel, which begins where the first ended
    GP_CELL_ITERATIONS = 4,
    GP_CELL_COLUMNS = 3, // a further iteration for so many columns
    // By the bound:
    GP_CELL_INDUCING = 100,
    GP_CELL_BOUND_ITERATIONS = 40,
    GP_CELL_FIT_ROWS = 2000,
};

// ---- the noise of a row ---------------------------------------------------------------------------------------------

enum {
    GP_NOISE_ROWS_MIN = 100, // training rows whose residuals tell a scale
    GP_NOISE_ROWS_MAX = 100000,
    GP_SCALE_INDUCING = 50,
    GP_SCALE_STEPS = 300,
    GP_SCALE_BATCH = 2048,
};

// ---- trials ---------------------------------------------------------------------------------------------------------

// Short fits that are thrown away (small_fit.h). Fewer rows take one table for another.
enum {
    GP_PILOT_ROWS = 8000, // of the sample by which encodings are tried
    GP_PILOT_ROWS_MIN = 300,
    GP_PILOT_INDUCING = 64,
    GP_PILOT_STEPS = 200,
    GP_PILOT_BATCH = 1024,
    GP_PILOT_PARTS = 3,         // a third of the rows judges a fit of the others
    GP_PILOT_ONE_PART = 3000,   // rows from which one third is enough; of fewer every third judges in turn
    GP_PILOT_STEPS_FEW = 100,   // then
    GP_PILOT_BATCH_FEW = 512,   // then
    GP_SHAPE_INDUCING_MIN = 40, // fewer are not divided among components
    GP_SHAPE_INDUCING = 100,
    GP_SHAPE_ROWS = 40960,
    GP_SHAPE_COMPONENTS = 4, // of a sum
};

// One judge (judge.h) for every yes or no: the mean CRPS of rows that no fit has seen must fall by `least` of itself
// and by gp_clear_errors standard errors of the paired difference. An encoding is refused where squared errors
// rise by more than their standard error and by more than gp_squares_share.
static const double gp_clear_errors = 1.5, gp_squares_share = 0.04, gp_least_gain = 0.002;
enum { GP_JUDGING_ROWS = 20000, GP_JUDGING_ROWS_MIN = 100 }; // validation rows; fewer decide nothing

//  X(NAME, word, least gain, what is tried)
#define GP_TRIALS(X)                                                                                              \
    X(RANKS, "ranks", 0.05, "ranks of columns with long tails")             /* 5 %: pilots of a sample flatter */ \
    X(DIRECTIONS, "directions", 0.02, "sums of columns beside the columns") /* 2 %: the same */                   \
    X(LOGARITHM, "logarithm", 0.05, "the logarithm of the target")          /* 5 %: the same */                   \
    X(COMPONENTS, "components", gp_least_gain, "one component instead of a sum of four")                          \
    X(CELLS, "cells", gp_least_gain, "the global process alone, without cells")                                   \
    X(NOISE, "noise", gp_least_gain, "a noise that varies from row to row")                                       \
    X(GROUPS, "groups", gp_least_gain, "residuals of all rows, instead of those of rows that are alike")

// By evidence, which needs no unseen rows: the kernel of the exact process and that of cells.
