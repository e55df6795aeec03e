// training.h: a sparse training under way, for the methods that share it: facts, plan, trials, steps, finish,
// assessment. They differ in the steps. Each act has a file of its own; recipe.c calls them in their order.
#pragma once
#include "learn/checkpoint.h"
#include "learn/evaluator.h"
#include "learn/learner.h"
#include "learn/map_choice.h"
#include "model/cells.h"
#include "recipe/facts.h"
#include "recipe/table.h"
#include "run/run.h"

#include <stdatomic.h>

// What the act under way is measured by: versions of a server, or a count that threads raise.
typedef struct gp_act {
    const gp_server *server; // NULL: the count
    size_t first, last;      // version, or count, at its beginning and end
    atomic_size_t *count;    // NULL, too: nobody knows
    double rows_a_version;
    bool counts_rows;
} gp_act;

typedef struct gp_training {
    gp_facts facts;
    const gp_shards *shards;
    const gp_schema *schema;
    const gp_train_options *options;
    const gp_host *host; // may be NULL
    gp_train_result *result;
    gp_notes *notes;                      // may be NULL
    const struct gp_conductor *conductor; // decides what no seed decides (conductor.h)
    gp_reader reader;
    double *inducing;
    size_t m; // after distinct rows were counted; at first as many as may pay
    size_t components;
    size_t n_train;
    size_t workers, batch, steps; // batch: rows of a push
    size_t threads;               // of this process, for what is no step
    size_t every;                 // versions between two evaluations
    double wall_start, cpu_start;
    double run_start;  // wall clock when the steps began, after pilots
    size_t first_step; // taken before, where the run was resumed
    gp_learner *learner;
    gp_run *run;
    size_t part; // of a log that is replayed
    gp_evaluator *evaluator;
    double *evaluated;     // theta whose evaluation was under way at a checkpoint
    gp_train_eval asked;   // what was known when the evaluator was asked
    gp_worker_view *views; // [n_views]: places for workers
    size_t n_views;
    gp_run_state state;
    size_t next_eval;
    double last_save;
    gp_cells *cells;   // NULL: none
    double line_mnlp;  // of linear regression on held-out rows, which the run must beat; NaN: it need not
    double last_words; // until when an interrupted run waits for what workers of other processes sum for its finish
    bool undecided;    // someone asked to stop while pilots ran
    gp_act act;
    atomic_size_t *rows_passed; // by threads of this process, in all runs
    atomic_size_t *cells_done;
} gp_training;

// Moves learner->theta from its start to the end of the steps, and says in the result why they ended, how many versions
// and how many rows there were. A replay that comes to the end of a part of its log (conductor.h) leaves at once.
typedef advgp_status (*gp_training_steps)(gp_training *training, advgp_error *err);

// From the checks to the end of the finish: what was learned is in training->learner. *finish_rows: that the finish
// took. On failure, too, fini is due.
advgp_status gp_training_fit(gp_training *training, const gp_train_request *request, gp_training_steps steps,
                             gp_train_result *result, size_t *finish_rows, advgp_error *err);
void gp_training_fini(gp_training *training);
// As gp_train (train.h), with these steps.
advgp_status gp_training_run(const gp_train_request *request, gp_training_steps steps, gp_model **model,
                             gp_train_result *result, advgp_error *err);

// ---- training.c: what the acts share --------------------------------------------------------------------------------

// Tells the host what begins, and by what it is measured.
void gp_training_phase(gp_training *training, const char *what, gp_act act);
bool gp_training_stop_asked(const gp_training *training);
int gp_training_stop(void *training); // the same as a hook of a collection
gp_map_choice gp_training_map(const gp_train_options *options);
bool gp_training_mostly_noise(double ln_sigma); // it is more than half of the standardised target
double gp_training_rows_a_version(const gp_training *training);
bool gp_training_sees_all(const gp_training *training);         // every step sees all rows
bool gp_training_held_out_decides(const gp_training *training); // enough rows are held out to rank and to stop by
bool gp_training_wants_cells(const gp_training *training);      // unless it is stopped, or held-out rows disagree
gp_run_options gp_training_run_options(const gp_training *training, const gp_learner *learner);
// With the first m of the inducing inputs.
advgp_status gp_training_new_learner(const gp_training *training, size_t m, size_t components, gp_learner **out,
                                     advgp_error *err);
// Exact statistics of the training rows at the learner's theta, over all of them or max_rows; then noise, q(w) and
// bound. stop, which may be NULL, is asked now and then with the training.
advgp_status gp_training_posterior(gp_training *training, gp_run *run, gp_learner *learner, size_t max_rows,
                                   int (*stop)(void *training), double *neg_elbo, advgp_error *err);

// ---- the acts, in their order ---------------------------------------------------------------------------------------

// prepare.c: the facts; and after the plan what it needs: threads, memory, inducing points.
advgp_status gp_training_measure(gp_training *training, advgp_error *err);
advgp_status gp_training_prepare(gp_training *training, advgp_error *err);
// shape.c: one component or a sum, by a trial; and whether more inducing points than usual pay.
advgp_status gp_training_choose_shape(gp_training *training, gp_run_shape *out, advgp_error *err);
const char *gp_training_why_no_trial(const gp_training *training); // of the shape; NULL: there is one
// begin.c: a fresh learner with as many components as pilots choose or a checkpoint holds; then the run. And the run
// alone, with what a checkpoint (may be NULL) knows of it.
advgp_status gp_training_begin(gp_training *training, advgp_error *err);
advgp_status gp_training_begin_run(gp_training *training, const char *checkpoint, advgp_error *err);
void gp_training_end_run(gp_training *training);
// steps.c: versions of the parameter server: the steps of advgp and svigp.
advgp_status gp_training_versions(gp_training *training, advgp_error *err);
// line.c: line_mnlp, before the steps.
advgp_status gp_training_look_at_line(gp_training *training, advgp_error *err);
// No better than the line, after enough versions to tell?
bool gp_training_is_line(const gp_training *training);
advgp_status gp_training_note_line(gp_training *training, advgp_error *err);
// finish.c: polish and finish pass. *rows: that it took.
advgp_status gp_training_finish(gp_training *training, size_t *rows, advgp_error *err);
// fit_cells.c: local processes in cells of the input space, if held-out rows agree: then the learner's q(w) and noise
// are those of the joint posterior.
advgp_status gp_training_fit_cells(gp_training *training, advgp_error *err);
// What was learned and how good it is, into the new model.
advgp_status gp_training_fill_model(gp_training *training, gp_model *model, size_t finish_rows, advgp_error *err);

// ---- evaluation.c: held-out rows decide -----------------------------------------------------------------------------

// Asks for the score of theta as version `version`. The figures of the clock are of now.
void gp_training_ask_score(gp_training *training, const double *theta, size_t version);
// Waits for the score that was asked for, tells the host, keeps the best. *stopped: is it enough?
advgp_status gp_training_take_score(gp_training *training, gp_stop_reason *stopped, advgp_error *err);
// Both, of the present version.
advgp_status gp_training_evaluate(gp_training *training, gp_stop_reason *stopped, advgp_error *err);
// Both, of a theta that no server has.
advgp_status gp_training_evaluate_theta(gp_training *training, const double *theta, size_t version,
                                        double neg_elbo_per_row, gp_stop_reason *stopped, advgp_error *err);
// Has the run come to its end by what a checkpoint keeps?
gp_stop_reason gp_training_is_over(const gp_training *training);
double gp_training_rows_seen(const gp_training *training);
// Where the time of the steps went: run_start is when they began, cpu_began what the process had used by then.
void gp_training_end_steps(gp_training *training, double cpu_began);

// ---- state.c: the whole state, to go on from ------------------------------------------------------------------------

// A hash of what a checkpoint must share with the run that goes on from it, beyond its counts.
advgp_status gp_training_identify(gp_training *training, advgp_error *err);
advgp_status gp_training_write_state(gp_training *training, const char *path, uint64_t *id, advgp_error *err);
// To the checkpoint of the options, if there is one. A state that cannot be written, on a full disk say, costs no run
// its steps: it is told, and tried again in time.
void gp_training_save(gp_training *training);
