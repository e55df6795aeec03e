// conductor_replay.c: a training again from its log: what the clock and people decided then is in it.
#include "recipe/conductor.h"
#include "run/replay.h"

static const gp_replay_feed *feed_of(const gp_training *t)
{
    return t->options->replay;
}

// The part of the log that is replayed, if it ends in a checkpoint; else NULL.
static const gp_replay_part *part_of(const gp_training *t)
{
    return t->part < feed_of(t)->n_parts ? &feed_of(t)->parts[t->part] : NULL;
}

// Someone asked the replay itself to stop.
static advgp_status give_up(advgp_error *err)
{
    return gp_fail(err, ADVGP_ESTOPPED, "the replay was interrupted: there is no model of it");
}

// ---- the beginning --------------------------------------------------------------------------------------------------

static void shape(const gp_training *t, gp_run_shape *out)
{
    out->components = t->options->components ? t->options->components : feed_of(t)->components;
    out->inducing = feed_of(t)->inducing;
}

static size_t threads(const gp_training *t)
{
    (void)t;
    return 0; // workers are lines of the log
}

static size_t places(const gp_training *t)
{
    return feed_of(t)->workers_max ? feed_of(t)->workers_max : t->workers;
}

static advgp_status new_run(const gp_training *t, gp_run_options *options, gp_run **out, advgp_error *err)
{
    options->workers_max = feed_of(t)->workers_max;
    return gp_run_replay_new(options, feed_of(t), t->part, out, err);
}

// ---- steps ----------------------------------------------------------------------------------------------------------

static advgp_status allow(gp_training *t, size_t version, advgp_error *err)
{
    (void)t, (void)version, (void)err;
    return ADVGP_OK; // versions are made when the log says so
}

// Not where the checkpoint at the end of the part came before the evaluation of this version: workers waited for the
// score of the one before.
static bool evaluates(const gp_training *t)
{
    const gp_replay_part *part = part_of(t);
    return !part || part->version != t->next_eval || part->evaluated >= t->next_eval;
}

static bool time_is_up(const gp_training *t) // by the clock of then
{
    return feed_of(t)->stopped == GP_STOPPED_TIME && t->state.evaluated_version == feed_of(t)->evaluated;
}

// Someone may have interrupted the logged run while it waited for the very score that would have ended it: then it went
// on to evaluate what it had.
static bool ends(const gp_training *t, gp_stop_reason reason)
{
    const gp_stop_reason logged = part_of(t) ? GP_NOT_STOPPED : feed_of(t)->stopped;
    return !logged || logged == reason;
}

// The log knows of no more steps: time was up, or someone had asked. Then what there is was evaluated.
static advgp_status log_is_over(gp_training *t, gp_stop_reason *stopped, advgp_error *err)
{
    gp_stop_reason ignored;
    advgp_status st = ADVGP_OK;
    if (t->state.evaluating) st = gp_training_take_score(t, &ignored, err);
    if (st == ADVGP_OK && t->state.evaluated_version != gp_server_version(t->run->server))
        st = gp_training_evaluate(t, &ignored, err);
    *stopped = feed_of(t)->stopped ? feed_of(t)->stopped : GP_STOPPED_LOG_ENDED;
    return st;
}

static advgp_status between_turns(gp_training *t, gp_stop_reason *stopped, advgp_error *err)
{
    if (gp_run_replay_is_over(t->run)) return log_is_over(t, stopped, err);
    return gp_training_stop_asked(t) ? give_up(err) : ADVGP_OK;
}

// ---- collections ----------------------------------------------------------------------------------------------------

static advgp_status to_collections(gp_training *t, advgp_error *err)
{
    return gp_run_replay_to_end(t->run, err); // the schedule or patience may have ended the steps
}

static advgp_status accept_stop(const gp_training *t, advgp_error *err)
{
    return gp_training_stop_asked(t) ? give_up(err) : ADVGP_OK;
}

// Over the rows that the log says, as often as it was begun.
static advgp_status finish(gp_training *t, size_t *rows, advgp_error *err)
{
    for (;;) {
        if (gp_training_stop_asked(t)) return give_up(err);
        const size_t logged = (size_t)gp_run_replay_rows(t->run);
        *rows = logged ? logged : t->n_train;
        const advgp_status st = gp_training_posterior(t, t->run, t->learner, logged, NULL, &t->result->neg_elbo, err);
        if (st != ADVGP_ESTOPPED) return st;
        if (gp_run_replay_part_ended(t->run)) return ADVGP_OK;
    }
}

// Where the model has none, validation rows were better off without them, or someone stopped the run while they were
// fitted.
static bool fits_cells(const gp_training *t)
{
    return feed_of(t)->cells > 0;
}

// ---- parts ----------------------------------------------------------------------------------------------------------

static bool at_checkpoint(const gp_training *t)
{
    return gp_run_replay_part_ended(t->run);
}

// The replay is where the run that is replayed wrote the checkpoint that it was resumed from: so does this one, and
// goes on from it as that one did.
static advgp_status next_part(gp_training *t, advgp_error *err)
{
    const gp_replay_part *part = part_of(t);
    gp_stop_reason ignored;
    uint64_t id = 0;
    advgp_status st = ADVGP_OK;
    // Where time was up, what there was had been evaluated at once.
    if (t->state.evaluating && !part->evaluating) st = gp_training_take_score(t, &ignored, err);
    if (st == ADVGP_OK) st = gp_training_write_state(t, feed_of(t)->checkpoint, &id, err);
    if (st == ADVGP_OK && id != part->checkpoint)
        st = gp_notes_add(t->notes, err, 1,
                          "the replay is not in the state that the log tells of where the run was resumed, at version "
                          "%llu",
                          (unsigned long long)part->version);
    if (st != ADVGP_OK) return st;
    gp_training_end_run(t);
    t->part++;
    return gp_training_begin_run(t, feed_of(t)->checkpoint, err);
}

const gp_conductor gp_conductor_replay = {.shape = shape,
                                          .threads = threads,
                                          .places = places,
                                          .new_run = new_run,
                                          .allow = allow,
                                          .evaluates = evaluates,
                                          .time_is_up = time_is_up,
                                          .ends = ends,
                                          .between_turns = between_turns,
                                          .to_collections = to_collections,
                                          .accept_stop = accept_stop,
                                          .finish = finish,
                                          .fits_cells = fits_cells,
                                          .at_checkpoint = at_checkpoint,
                                          .next_part = next_part};
