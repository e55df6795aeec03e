// conductor_live.c: a training as it happens: the clock and people decide.
#include "base/clock.h"
#include "base/whole.h"
#include "cluster/cluster.h"
#include "recipe/conductor.h"

#include <math.h>

// ---- the beginning --------------------------------------------------------------------------------------------------

static void shape(const gp_training *t, gp_run_shape *out)
{
    out->components = t->options->components;
}

static size_t threads(const gp_training *t)
{
    return t->options->cluster ? 0 : t->threads;
}

static size_t places(const gp_training *t)
{
    return t->options->cluster ? gp_cluster_workers_max(t->options->cluster) : t->workers;
}

static advgp_status new_run(const gp_training *t, gp_run_options *options, gp_run **out, advgp_error *err)
{
    (void)t;
    return gp_cluster_run_new(options, out, err);
}

// ---- steps ----------------------------------------------------------------------------------------------------------

static advgp_status allow(gp_training *t, size_t version, advgp_error *err)
{
    return gp_server_allow(t->run->server, version, err);
}

static bool evaluates(const gp_training *t)
{
    return !t->state.evaluating || gp_evaluator_is_done(t->evaluator); // else: when it has told of the version before
}

static bool time_is_up(const gp_training *t)
{
    const gp_train_options *o = t->options;
    return (o->seconds > 0 && gp_clock_wall() - t->wall_start >= o->seconds) ||
           (o->cpu_seconds > 0 && gp_clock_cpu() - t->cpu_start >= o->cpu_seconds);
}

static bool ends(const gp_training *t, gp_stop_reason reason)
{
    (void)t, (void)reason;
    return true;
}

// Someone asked to stop. The checkpoint comes first: an undisturbed run would not evaluate here, and must not learn of
// it. Then what there is is evaluated like any other.
static advgp_status interrupted(gp_training *t, gp_stop_reason *stopped, advgp_error *err)
{
    gp_stop_reason ignored;
    advgp_status st = ADVGP_OK;
    gp_training_save(t);
    if (t->state.evaluating) st = gp_training_take_score(t, &ignored, err);
    if (st == ADVGP_OK) st = gp_training_evaluate(t, &ignored, err);
    *stopped = GP_STOPPED_INTERRUPTED;
    t->result->interrupted = true;
    return st;
}

static advgp_status between_turns(gp_training *t, gp_stop_reason *stopped, advgp_error *err)
{
    const double pause = t->options->checkpoint_seconds;
    if (gp_training_stop_asked(t)) return interrupted(t, stopped, err);
    if (pause > 0 && gp_clock_wall() - t->last_save >= pause) gp_training_save(t);
    return ADVGP_OK;
}

// ---- finish ---------------------------------------------------------------------------------------------------------

enum { FINISH_ROWS_MIN = 100000 };
static const double interrupted_finish_seconds = 10;

static advgp_status to_collections(gp_training *t, advgp_error *err)
{
    (void)t, (void)err;
    return ADVGP_OK;
}

static advgp_status accept_stop(const gp_training *t, advgp_error *err)
{
    (void)t, (void)err;
    return ADVGP_OK;
}

// Who stops a run often stops all of it: nobody waits for workers that were told to go as well, nor long for others.
static int is_left_alone(void *ctx)
{
    const gp_training *t = ctx;
    return t->options->cluster && (!gp_server_live(t->run->server) || gp_clock_wall() > t->last_words);
}

// By threads of this process, for a lead whose workers have left: what is asked to stop must end all the same.
static advgp_status finish_here(gp_training *t, size_t max_rows, advgp_error *err)
{
    gp_run *run = NULL;
    gp_run_options o = gp_training_run_options(t, t->learner);
    o.cluster = NULL;
    o.schedule.workers = 1;
    advgp_status st = gp_cluster_run_new(&o, &run, err);
    if (st == ADVGP_OK) st = gp_server_allow(run->server, 0, err);
    if (st == ADVGP_OK) st = gp_run_start(run, err);
    if (st == ADVGP_OK) st = gp_training_posterior(t, run, t->learner, max_rows, NULL, &t->result->neg_elbo, err);
    gp_run_free(run);
    return st;
}

// Over `few` rows, or the fewest where the workers have left.
static advgp_status finish_soon(gp_training *t, size_t few, size_t fewest, size_t *rows, advgp_error *err)
{
    advgp_status st = ADVGP_ECLUSTER;
    *rows = few < t->n_train ? few : t->n_train;
    t->result->interrupted = true;
    t->last_words = gp_clock_wall() + 2 * interrupted_finish_seconds;
    if (!t->options->cluster || gp_server_live(t->run->server) > 0)
        st = gp_training_posterior(t, t->run, t->learner, few, is_left_alone, &t->result->neg_elbo, err);
    if (st != ADVGP_ECLUSTER && st != ADVGP_ESTOPPED) return st;
    *rows = fewest;
    return finish_here(t, fewest, err);
}

// An interrupted run must end soon: its finish takes as many rows as the steps did in ten seconds, and says so in the
// record. So does one that is interrupted here.
static advgp_status finish(gp_training *t, size_t *rows, advgp_error *err)
{
    const double speed = t->result->rows / fmax(gp_clock_wall() - t->wall_start, 1e-3);
    const double fewest = fmin((double)t->n_train, FINISH_ROWS_MIN); // a second or two, whatever the pilots took
    const size_t few = gp_index(fmax(fewest, speed * interrupted_finish_seconds), SIZE_MAX);
    const bool before = t->result->interrupted; // during the steps: nobody asks again
    if (!before || (few >= t->n_train && !t->options->cluster)) {
        *rows = t->n_train;
        const advgp_status st = gp_training_posterior(t, t->run, t->learner, 0, before ? NULL : gp_training_stop,
                                                      &t->result->neg_elbo, err);
        if (st != ADVGP_ESTOPPED) return st;
    }
    return finish_soon(t, few, gp_index(fewest, t->n_train), rows, err);
}

static bool fits_cells(const gp_training *t)
{
    (void)t;
    return true;
}

// ---- parts ----------------------------------------------------------------------------------------------------------

static bool at_checkpoint(const gp_training *t)
{
    (void)t;
    return false; // it is resumed by another training
}

const gp_conductor gp_conductor_live = {.shape = shape,
                                        .threads = threads,
                                        .places = places,
                                        .new_run = new_run,
                                        .allow = allow,
                                        .evaluates = evaluates,
                                        .time_is_up = time_is_up,
                                        .ends = ends,
                                        .between_turns = between_turns,
                                        .to_collections = to_collections,
                                        .stop = gp_training_stop,
                                        .accept_stop = accept_stop,
                                        .finish = finish,
                                        .fits_cells = fits_cells,
                                        .at_checkpoint = at_checkpoint};
