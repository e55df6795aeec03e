// train.h: from encoded rows to a model: starting points, the choice of components by a short trial, steps by a
// parameter server and its workers, early stopping on held-out rows, the finish pass, calibration, and the baselines
// beside it. docs/math.md 4 - 6.
//
// Every decision is a function of the seed and the version, never of the clock, except `seconds` and `stop`, which end
// a run early. With max_delay 0 a run repeats bit for bit for the same seed and number of workers.
#pragma once
#include "base/host.h"
#include "base/status.h"
#include "cells/inducing.h"
#include "data/notes.h"
#include "optim/stop_reason.h"
#include "ps/server.h"
#include "recipe/planned.h"
#include "score/assess.h"
#include "shards/shards.h"
#include "store/modelfile.h"

typedef enum gp_noise_choice { GP_NOISE_AUTO, GP_NOISE_CONSTANT, GP_NOISE_VARYING } gp_noise_choice;
enum { GP_CELLS_MAX = 10000 }; // that may be asked for
#define GP_CELLS_AUTO ((size_t)-1)

typedef struct gp_train_options {
    const char *method; // as it was asked for, for the plan; NULL: advgp
    size_t m;           // inducing inputs in all components together
    bool m_open;        // nobody asked for so many: where they pay there are more (plan.c)
    size_t components;  // 0: pilots choose
    size_t cells;       // local processes beside the global one (fit_cells.c); 0: none; GP_CELLS_AUTO: as many as pay
    const gp_kernel *kernel;
    bool kernel_open; // nobody named it: where the evidence of kernels can be had (method exact), the best is taken
    bool cells_kernel_open; // the same of cells
    bool course_asked;      // an option was given that only the course of advgp has, so method auto is advgp
    const gp_map *map;
    size_t rank, groups; // of the map (map_choice.h); 0: full, and by itself
    gp_trend trend;
    gp_noise_choice noise; // one for all rows, or one that depends on the row (noise.h)
    gp_start start;
    size_t start_rows;      // that are looked at for it; 0: 20,000
    const double *inducing; // [m x d]: where inducing inputs begin, instead of `start`; NULL: chosen
    // A whole parameter vector of this m, components, kernel, map and trend to start from (warmstart.h), instead of
    // `start` and pilots; NULL: none.
    const double *theta;
    gp_schedule schedule; // as asked for. Small tables and small steps use fewer workers, unless someone asked
    bool workers_asked;   // someone named that number: a note tells when they are fewer. Else a run that is resumed
                          // goes on with its own
    double epochs;        // passes over the rows; 0: by the number of rows
    bool unpolished;      // no L-BFGS after the steps, however few the rows
    double seconds;       // wall clock; 0: no limit
    double cpu_seconds;   // of this process, since the start; 0: no limit
    size_t evaluations;   // on held-out rows in a run; 0: 40
    size_t patience;      // evaluations without gain before it stops; 0: 20
    struct gp_cluster *cluster; // workers in processes of their own (cluster.h), which knows how many; NULL: threads
    const double *delays;       // [n_delays]: seconds worker k sleeps before every push
    size_t n_delays;
    const char *checkpoint;    // of the whole state: on the way, after the steps, when interrupted; NULL: none
    double checkpoint_seconds; // between two on the way; 0: none there
    const char *resume;        // checkpoint to go on from; NULL: from the start
    const struct gp_replay_feed *replay; // a log to compute again instead of running workers (replay.h); NULL: none
    const gp_shards *test; // rows (all GP_STOP) that the figures of the result are of; NULL: held-out ones
} gp_train_options;

// One worker, as seen since the steps began.
typedef struct gp_worker_view {
    bool live, joined; // joined: it has been there
    double rows_per_second;
    double age;    // versions since its newest push was computed
    double waited; // seconds it has waited for parameters
} gp_worker_view;

// Held-out figures, in the target's own units; neg_elbo is an estimate from the last batch, per row, of the
// standardised target.
typedef struct gp_train_eval {
    double wall, cpu;                     // seconds since the start
    double rows;                          // seen so far, with repetition
    double epoch, epochs;                 // epochs 0: no schedule says how many
    size_t version;                       // steps taken
    double neg_elbo_per_row, rmse, mnlp;  // rmse and mnlp are NaN without held-out rows
    double run_seconds;                   // since the steps began
    double rows_per_second, seconds_left; // of the steps alone, at the present speed
    const gp_worker_view *workers;        // valid during the call
    size_t n_workers;
} gp_train_eval;

// How far the act that `phase` named last has come.
typedef struct gp_train_progress {
    double share; // of it; NaN: nobody knows
    double rows;  // that it has seen so far, with repetition; 0: it does not count them
} gp_train_progress;

// What is decided before the first step.
typedef struct gp_train_plan {
    size_t m, components, workers_max, eval_every;
    gp_schedule schedule;
    size_t version; // to go on from
    // The id of the checkpoint that it goes on from; 0: none. The version evaluated last by then, or still under way.
    uint64_t checkpoint;
    size_t evaluated;
    bool evaluating;
} gp_train_plan;

typedef struct gp_train_result {
    gp_plan plan; // what was chosen, where it comes from and why (plan.h)
    gp_stop_reason stopped;
    bool interrupted;  // by the host
    char unsaved[512]; // why the last checkpoint could not be written; empty: it was, or none was asked for
    size_t versions;
    double rows;     // training rows seen, with repetition
    double n_train;  // training rows
    double neg_elbo; // exact, over all training rows, of the standardised target
    // On the held-out half that stops training; on the training rows if none are held out; on those of options.test.
    gp_assessment assessment;
    double wall, cpu;
    // Where the time went: seconds of each act, and the share of the workers' time that was spent waiting.
    double step_cpu; // seconds of CPU
    double pilot_seconds, step_seconds, finish_seconds, last_seconds;
    double cells_seconds;
    size_t cells;            // in the model
    size_t workers, threads; // that stepped; of this process, for what is no step
    double waiting_share;
    double jitter; // the largest that the precision of q(w) needed (qw.h), of steps and finish; 0: none
    gp_server_counts counts;
} gp_train_result;

// Length-scale of every kernel at the start, and of the choice of inducing inputs, with d encoded columns. Distances
// between rows grow as the root of d: a length that does not grow with them starts a wide table with every kernel value
// at 0, from where no gradient leads away.
double gp_train_start_length(size_t d);

// What is asked of a method. All of it is borrowed, but the schema, which is the model's on success.
typedef struct gp_train_request {
    const gp_shards *shards;
    gp_schema *schema;
    const char *sql; // that made the rows; may be NULL
    const gp_train_options *options;
    const gp_plan *encodings; // what trials chose before the rows were encoded; may be NULL
    const gp_host *host;      // may be NULL
    gp_notes *notes;          // may be NULL
} gp_train_request;

// *model is NULL after a failure; result may be NULL.
advgp_status gp_train(const gp_train_request *request, gp_model **model, gp_train_result *result, advgp_error *err);
