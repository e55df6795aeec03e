// train.c: the course of a training: settle, pilots, run, finish, calibrate. Each act is a function below, in that
// order.
#include "train/train.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/memory.h"
#include "cluster/cluster.h"
#include "run/replay.h"
#include "train/account.h"
#include "train/collapsed.h"
#include "train/course.h"
#include "train/inducing.h"
#include "train/map_choice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

// By measurement (bench/accuracy): a step sees about a fortieth of the rows, within bounds (8,192 rows of each worker),
// and a run has a thousand steps or six epochs, whichever is more, up to 3,000 steps. A table that one step can see
// whole has no noise between steps and needs fewer.
enum { BATCH_MIN = 512, BATCH_MAX = 8192, BATCH_WHOLE = 1024, READ_ROWS = 4096 };
enum { WORKER_ROWS_MIN = 1024 }; // fewer are not worth a thread
enum { POLISH_ITERATIONS = 100, STEPS_WHOLE = 400, STEPS_MIN = 1000, STEPS_MAX = 3000 };
const double gp_train_start_length = 0.7;
static const double adam_rate = 0.1;
// Pilots: long enough to rank one component against four on every set tried; on small tables longer, since few held-out
// rows tell less. A sum gains more from the rest of the run than one component does, so it may be a little behind.
enum { PILOT_STEPS_WHOLE = 150, PILOT_STEPS_SMALL = 400, PILOT_STEPS = 200, PILOT_SMALL_ROWS = 50000 };
enum { PILOT_BATCH_MAX = 4096, PILOT_SCORE_ROWS = 20000, PILOT_M_MIN = 40, PILOT_SUM = 4 };
static const double pilot_handicap = 1.01;
enum { FINISH_ROWS_MIN = 100000 };
enum { EVALUATIONS = 40, EVAL_ROWS = 20000, DEFAULT_PATIENCE = 10 };
static const double interrupted_finish_seconds = 10;
static const char interrupted_word[] = "interrupted"; // why a run stopped, in its log
static const char late_word[] = "time is up";

// Fewer held-out rows than this decide nothing: the bound ranks pilots, the schedule ends the run.
enum { HELD_OUT_DECIDES = 100 };
static bool held_out_decides(const gp_course *t)
{
    return gp_shards_rows(t->shards, GP_STOP) >= HELD_OUT_DECIDES;
}

static void say(const gp_course *t, const char *what)
{
    if (t->events->phase) t->events->phase(t->events->ctx, what);
}

static bool stop_asked(const gp_course *t)
{
    return t->events->stop && t->events->stop(t->events->ctx);
}

static gp_map_choice map_of(const gp_train_options *o)
{
    return (gp_map_choice){.map = o->map, .rank = o->rank, .groups = o->groups};
}

static const gp_rule_ops *rule_of(const gp_course *t)
{
    return t->options->rule ? t->options->rule : &gp_rule_natural;
}

static double quorum_of(const gp_course *t)
{
    return t->options->quorum >= 0 ? t->options->quorum : rule_of(t)->quorum;
}

// Rows that a version sees: of all workers, or with a delay of as many as must have pushed.
static double rows_a_version(const gp_course *t)
{
    const double pushes = t->options->max_delay ? fmax(1, ceil(quorum_of(t) * (double)t->workers)) : (double)t->workers;
    return fmin(pushes * (double)t->batch, (double)t->n_train);
}

static bool whole(const gp_course *t)
{
    return t->workers * t->batch >= t->n_train;
}

// ---- settle ---------------------------------------------------------------------------------------------------------

// OpenBLAS takes 128 MB of address space for every thread that calls it, touched or not, and where a limit refuses them
// it tries again for ever. So no more threads are started than the limit leaves room for: the workers and the judge.
static advgp_status fit_threads(gp_course *t, gp_notes *notes, advgp_error *err)
{
    const double a_thread = 144e6, threads = floor(gp_memory_address_room() / a_thread);
    if (threads >= (double)t->workers + 1) return ADVGP_OK;
    if (threads < 2)
        return gp_fail(
            err, ADVGP_EINVAL,
            "the limit of this process (ulimit -d, ulimit -v) leaves no room for a worker and a judge, which "
            "take %.0f MB of address space each: raise it by %.0f MB",
            a_thread / 1e6, (2 * a_thread - fmax(0, gp_memory_address_room())) / 1e6);
    const size_t fit = (size_t)threads - 1;
    const advgp_status st = gp_notes_add(notes, err, fit,
                                         "workers reduced from %zu to %zu: the limit of this process "
                                         "(ulimit -d, ulimit -v) leaves no room for more threads",
                                         t->workers, fit);
    t->workers = fit;
    return st;
}

static advgp_status settle(gp_course *t, gp_notes *notes, advgp_error *err)
{
    const gp_train_options *o = t->options;
    t->n_train = gp_shards_rows(t->shards, GP_TRAIN);
    if (!t->n_train) return gp_fail(err, ADVGP_EDATA, "there are no training rows");
    t->workers = o->cluster ? gp_cluster_workers(o->cluster) : o->workers ? o->workers : 1;
    if (o->resume && !o->workers_asked) { // the schedule is that of its own number, whoever comes now
        size_t components;
        const advgp_status st = gp_checkpoint_shape(o->resume, &components, &t->workers, err);
        if (st != ADVGP_OK) return st;
    }
    // Few rows are not worth a thread each, unless somebody wants it so; a worker without a shard has nothing to do.
    if (!o->workers_asked && !o->cluster && t->workers > t->n_train / WORKER_ROWS_MIN)
        t->workers = t->n_train / WORKER_ROWS_MIN;
    if (t->workers > t->shards->n_train) t->workers = t->shards->n_train;
    if (t->workers < 1) t->workers = 1;
    if (o->workers_asked && t->workers < o->workers) {
        const advgp_status noted = gp_notes_add(notes, err, t->workers,
                                                "workers reduced from %zu to %zu: there are no more shards", o->workers,
                                                t->workers);
        if (noted != ADVGP_OK) return noted;
    }
    advgp_status room = o->cluster ? ADVGP_OK : fit_threads(t, notes, err);
    if (room != ADVGP_OK) return room;
    size_t batch = t->n_train <= BATCH_WHOLE ? t->n_train : BATCH_MIN;
    while (batch < BATCH_MAX * t->workers && 40 * batch < t->n_train) batch *= 2;
    if (o->batch) batch = o->batch;
    if (batch > t->n_train) batch = t->n_train;
    t->batch = (batch + t->workers - 1) / t->workers;
    const double per_epoch = (double)t->n_train / rows_a_version(t);
    const double least = whole(t) ? STEPS_WHOLE : STEPS_MIN;
    const double steps = o->epochs > 0 ? o->epochs * per_epoch : fmin(STEPS_MAX, fmax(least, 6 * per_epoch));
    t->steps = o->steps ? o->steps : (size_t)fmax(1, ceil(steps));
    advgp_status st;
    if (o->theta) {
        t->m = o->m;
        t->inducing = gp_alloc(t->m, t->shards->d * sizeof *t->inducing); // theta has its own
        st = t->inducing ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for %zu inducing inputs", t->m);
    } else if (o->inducing) {
        t->m = o->m;
        t->inducing = gp_alloc(t->m, t->shards->d * sizeof *t->inducing);
        st = t->inducing ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for %zu inducing inputs", t->m);
        if (t->inducing) memcpy(t->inducing, o->inducing, t->m * t->shards->d * sizeof *t->inducing);
    } else {
        st = gp_inducing_choose(t->shards, o->m, o->start_rows, o->start, o->kernel, gp_train_start_length,
                                &t->inducing, &t->m, err);
    }
    if (st == ADVGP_OK && t->m < o->m)
        st = gp_notes_add(notes, err, t->m, "inducing inputs reduced from %zu to %zu: there are no more distinct rows",
                          o->m, t->m);
    t->n_views = o->cluster                            ? gp_cluster_workers_max(o->cluster)
                 : o->replay && o->replay->workers_max ? o->replay->workers_max
                                                       : t->workers;
    t->views = gp_alloc(t->n_views, sizeof *t->views);
    if (st == ADVGP_OK && !t->views) st = gp_fail(err, ADVGP_ENOMEM, "no memory for %zu workers", t->n_views);
    if (st == ADVGP_OK) st = gp_reader_new(t->shards, READ_ROWS, &t->reader, err);
    return st;
}

static advgp_status new_learner(const gp_course *t, size_t components, gp_learner **out, advgp_error *err)
{
    const gp_train_options *o = t->options;
    const gp_learner_options lo = {
        .d = t->shards->d,
        .m = t->m,
        .components = components < t->m ? components : t->m,
        .kernel = o->kernel,
        .map = o->map,
        .rank = o->rank,
        .groups = o->groups,
        .trend = o->trend,
        .length_scale = gp_train_start_length,
        .seed = o->seed,
        .inducing = gp_cmat_of(t->inducing, t->m, t->shards->d),
    };
    const advgp_status st = gp_learner_new(&lo, out, err);
    if (st == ADVGP_OK && o->theta) memcpy((*out)->theta, o->theta, (*out)->layout.size * sizeof(double));
    return st;
}

// ---- a run of the server --------------------------------------------------------------------------------------------

static gp_run_options run_options(const gp_course *t, const gp_learner *l)
{
    const gp_train_options *o = t->options;
    return (gp_run_options){.spec = &l->spec,
                            .theta = l->theta,
                            .shards = t->shards,
                            .rule = rule_of(t),
                            .natural_rate = o->step > 0 ? o->step : 0.2,
                            .adam_rate = adam_rate,
                            .workers = t->workers,
                            .cluster = o->cluster,
                            .batch = t->batch,
                            .max_delay = o->max_delay,
                            .quorum = quorum_of(t),
                            .filter = o->filter,
                            .on_loss = o->on_loss,
                            .steps = t->steps,
                            .seed = o->seed};
}

static int asked_to_stop(void *ctx)
{
    return stop_asked(ctx);
}

// Exact statistics of the training rows at theta, over all of them or max_rows; then noise, q(w) and bound.
// stop, which may be NULL, is asked now and then with t.
static advgp_status finish_with(gp_course *t, gp_run *run, gp_learner *l, size_t max_rows, int (*stop)(void *ctx),
                                double *neg_elbo, advgp_error *err)
{
    const double *sum = NULL;
    const advgp_status st = gp_run_collect(run, l->theta, GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS, max_rows, &sum, stop,
                                           t, err);
    return st == ADVGP_OK ? gp_learner_finish(l, sum, neg_elbo, err) : st;
}

// The same by threads of this process, for a lead whose workers have left: what is asked to stop must end all the same.
static advgp_status finish_here(gp_course *t, gp_learner *l, size_t max_rows, double *neg_elbo, advgp_error *err)
{
    gp_run *run = NULL;
    gp_run_options o = run_options(t, l);
    o.cluster = NULL;
    o.workers = 1;
    advgp_status st = gp_cluster_run_new(&o, &run, err);
    if (st == ADVGP_OK) st = gp_server_allow(run->server, 0, err);
    if (st == ADVGP_OK) st = gp_run_start(run, err);
    if (st == ADVGP_OK) st = finish_with(t, run, l, max_rows, NULL, neg_elbo, err);
    gp_run_free(run);
    return st;
}

// ---- pilots ---------------------------------------------------------------------------------------------------------

// Held-out RMSE after a short run with its finish; where too few rows are held out the bound, which needs none. Pilots
// are synchronous and by the natural rule: they are to rank shapes, quickly.
static advgp_status pilot(gp_course *t, size_t components, double *score, advgp_error *err)
{
    gp_learner *l = NULL;
    gp_run *run = NULL;
    gp_score held_out;
    advgp_status st = new_learner(t, components, &l, err);
    *score = INFINITY;
    if (st != ADVGP_OK) return st;
    gp_run_options o = run_options(t, l);
    const size_t batch_max = PILOT_BATCH_MAX / t->workers;
    o.rule = &gp_rule_natural;
    o.max_delay = 0, o.filter = 0;
    if (o.batch > batch_max) o.batch = batch_max;
    o.steps = whole(t) ? PILOT_STEPS_WHOLE : t->n_train < PILOT_SMALL_ROWS ? PILOT_STEPS_SMALL : PILOT_STEPS;
    st = gp_cluster_run_new(&o, &run, err);
    if (st == ADVGP_OK) st = gp_server_allow(run->server, o.steps, err);
    if (st == ADVGP_OK) st = gp_run_start(run, err);
    while (st == ADVGP_OK && gp_server_version(run->server) < o.steps && !stop_asked(t))
        st = run->ops->turn(run, 0.2, err);
    if (st == ADVGP_OK && !stop_asked(t)) {
        memcpy(l->theta, gp_server_theta(run->server), l->layout.size * sizeof(double));
        st = finish_with(t, run, l, 40 * o.batch * o.workers, asked_to_stop, score, err);
        if (st == ADVGP_ESTOPPED) st = ADVGP_OK; // there will be no comparison
    }
    if (st == ADVGP_OK && !stop_asked(t) && held_out_decides(t)) {
        st = gp_score_part(&l->spec, l->theta, &t->reader, GP_STOP, PILOT_SCORE_ROWS, t->schema, &held_out, err);
        *score = gp_score_rmse(&held_out);
    }
    gp_run_free(run);
    gp_learner_free(l);
    return st;
}

static advgp_status choose_components(gp_course *t, size_t *components, advgp_error *err)
{
    *components = t->options->components;
    if (*components) return ADVGP_OK;
    *components = 1;
    if (t->m < PILOT_M_MIN || gp_map_choice_check(map_of(t->options), t->m, PILOT_SUM, NULL) != ADVGP_OK)
        return ADVGP_OK;
    double one, sum;
    say(t, "pilot: one component");
    advgp_status st = pilot(t, 1, &one, err);
    if (st == ADVGP_OK && !stop_asked(t)) {
        say(t, "pilot: a sum of four components");
        st = pilot(t, PILOT_SUM, &sum, err);
        if (st == ADVGP_OK && sum < (held_out_decides(t) ? pilot_handicap * one : one)) *components = PILOT_SUM;
    }
    t->undecided = stop_asked(t); // the comparison is void; what there is becomes a model, and resuming begins again
    return st;
}

// ---- run ------------------------------------------------------------------------------------------------------------

static double rows_seen(const gp_course *t)
{
    double rows = (double)t->first_step * rows_a_version(t) + (double)t->run->rows_elsewhere;
    for (size_t k = 0; k < gp_run_members(t->run); k++)
        rows += (double)gp_server_member(t->run->server, (uint32_t)k).rows;
    return rows;
}

static void look_at_workers(gp_course *t, double seconds)
{
    const double version = (double)gp_server_version(t->run->server);
    for (size_t k = 0; k < t->n_views; k++) {
        const gp_member m = gp_server_member(t->run->server, (uint32_t)k);
        t->views[k] = (gp_worker_view){.live = m.live,
                                       .joined = m.heard > 0,
                                       .rows_per_second = (double)m.rows / seconds,
                                       .age = m.pushes ? version - (double)m.version : 0,
                                       .waited = m.waited};
    }
}

// Asks the judge for the present version. The figures of the clock are of now.
static void ask_judge(gp_course *t, const double *theta, size_t version)
{
    const double now = gp_clock_wall(), run = fmax(now - t->run_start, 1e-9), n = (double)t->n_train;
    const double rows = rows_seen(t), a_version = rows_a_version(t);
    const double rows_here = rows - (double)t->first_step * a_version;
    const double kl = gp_theta_kl(t->learner->layout, theta, NULL) / gp_shards_weight(t->shards, GP_TRAIN);
    t->asked = (gp_train_eval){
        .wall = now - t->wall_start,
        .cpu = gp_clock_cpu() - t->cpu_start,
        .rows = rows,
        .epoch = rows / n,
        .epochs = (double)t->steps * a_version / n,
        .version = version,
        .neg_elbo_per_row = gp_server_value(t->run->server) + kl,
        .run_seconds = run,
        .rows_per_second = rows_here / run,
        .seconds_left = version < t->steps
                            ? run / fmax((double)version - (double)t->first_step, 1) * (double)(t->steps - version)
                            : 0,
    };
    t->state.judging = true;
    t->state.judged_version = version;
    gp_judge_ask(t->judge, theta);
}

// Has the run come to its end by what a checkpoint keeps? Then why.
static const char *is_over(const gp_course *t)
{
    const size_t patience = t->options->patience ? t->options->patience : DEFAULT_PATIENCE;
    if (t->state.since_best >= patience) return "no gain on held-out rows";
    return !t->state.judging && t->state.judged_version >= t->steps ? "the schedule ended" : NULL;
}

// The verdict on what was asked last: is it the best so far, and is it time to stop? Then why.
static advgp_status take_verdict(gp_course *t, const char **stopped, advgp_error *err)
{
    gp_learner *l = t->learner;
    gp_score score;
    const advgp_status st = gp_judge_take(t->judge, &score, err);
    if (st != ADVGP_OK) return st;
    gp_train_eval e = t->asked;
    e.rmse = gp_score_rmse(&score), e.mnlp = gp_score_mnlp(&score);
    e.run_seconds = fmax(gp_clock_wall() - t->run_start, 1e-9); // what the workers are seen over
    look_at_workers(t, e.run_seconds);
    e.workers = t->views, e.n_workers = t->n_views;
    t->state.judging = false;
    if (t->events->eval) t->events->eval(t->events->ctx, &e);
    if (!held_out_decides(t) || e.mnlp < t->state.best) {
        t->state.best = e.mnlp, t->state.since_best = 0;
        memcpy(l->best, gp_judge_theta(t->judge), l->layout.size * sizeof(double));
    } else {
        t->state.since_best++;
    }
    *stopped = is_over(t);
    return ADVGP_OK;
}

bool gp_course_time_is_up(const gp_course *t)
{
    const gp_train_options *o = t->options;
    if (o->replay) // the clock of the log, not this one
        return o->replay->stopped && !strcmp(o->replay->stopped, late_word) &&
               t->state.judged_version == o->replay->judged;
    return (o->seconds > 0 && gp_clock_wall() - t->wall_start >= o->seconds) ||
           (o->cpu_seconds > 0 && gp_clock_cpu() - t->cpu_start >= o->cpu_seconds);
}

bool gp_course_stop_asked(const gp_course *t)
{
    return stop_asked(t);
}

advgp_status gp_course_replay_stopped(advgp_error *err)
{
    return gp_fail(err, ADVGP_ESTOPPED, "the replay was interrupted: there is no model of it");
}

advgp_status gp_course_judge(gp_course *t, const double *theta, size_t version, double neg_elbo_per_row,
                             const char **stopped, advgp_error *err)
{
    ask_judge(t, theta, version);
    t->asked.neg_elbo_per_row = neg_elbo_per_row;
    return take_verdict(t, stopped, err);
}

static advgp_status judge_now(gp_course *t, const char **stopped, advgp_error *err)
{
    ask_judge(t, gp_server_theta(t->run->server), (size_t)gp_server_version(t->run->server));
    return take_verdict(t, stopped, err);
}

// The part of a log that is replayed, if it ends in a checkpoint; else NULL.
static const gp_replay_part *part_of(const gp_course *t)
{
    const gp_replay_feed *feed = t->options->replay;
    return feed && t->part < feed->n_parts ? &feed->parts[t->part] : NULL;
}

// Someone may have interrupted the logged run while it waited for the very verdict that would have ended it: then it
// went on to judge what it had.
static bool is_logged_end(const gp_course *t, const char *stopped)
{
    const char *logged = t->run->ops->replay && !part_of(t) ? t->options->replay->stopped : NULL;
    return !logged || !strcmp(logged, stopped);
}

// Did the checkpoint at the end of the part come before the evaluation of this version? Workers waited for the verdict
// on the one before.
static bool ends_before_evaluation(const gp_course *t)
{
    const gp_replay_part *part = part_of(t);
    return part && part->version == t->next_eval && part->judged < t->next_eval;
}

// At an evaluation version the verdict on the one before takes effect, and this one goes to the judge. Workers do not
// wait for that, unless they are a whole interval ahead of the judge.
static advgp_status at_evaluation(gp_course *t, const char **stopped, advgp_error *err)
{
    const size_t version = t->next_eval;
    advgp_status st = ADVGP_OK;
    if (t->state.judging) {
        if (!t->run->ops->replay && !gp_judge_is_done(t->judge)) return ADVGP_OK; // look again when it is
        st = take_verdict(t, stopped, err);
        if (*stopped && !is_logged_end(t, *stopped)) *stopped = NULL;
    }
    if (st != ADVGP_OK || *stopped) return st;
    if (!t->run->ops->replay && gp_course_time_is_up(t)) {
        st = judge_now(t, stopped, err);
        if (!*stopped) *stopped = late_word;
        return st;
    }
    if (version >= t->steps) return judge_now(t, stopped, err);
    ask_judge(t, gp_server_theta(t->run->server), version);
    t->next_eval = version + t->every < t->steps ? version + t->every : t->steps;
    return t->run->ops->replay ? ADVGP_OK : gp_server_allow(t->run->server, t->next_eval, err);
}

// The whole state. What the server has to say is sent first: with a filter, the copies of the workers are those of
// answers that were given, and a replay must know which.
static advgp_status write_state(gp_course *t, const char *path, uint64_t *id, advgp_error *err)
{
    const gp_learner *l = t->learner;
    const size_t bytes = l->layout.size * sizeof(double);
    const gp_run_parts parts = {t->run->server, t->run->rule, l->best, t->judged};
    advgp_status st = t->run->ops->say ? t->run->ops->say(t->run, err) : ADVGP_OK;
    if (st != ADVGP_OK) return st;
    if (t->state.judging)
        memcpy(t->judged, gp_judge_theta(t->judge), bytes);
    else
        memset(t->judged, 0, bytes); // the same state, the same bytes
    return gp_checkpoint_save(path, &parts, &t->state, id, err);
}

// A state that cannot be written, on a full disk say, costs no run its steps: it is told, and tried again in time.
static void save(gp_course *t)
{
    gp_train_result *r = t->result;
    advgp_error why = {0};
    uint64_t id = 0;
    t->last_save = gp_clock_wall();
    if (!t->options->checkpoint) return;
    const advgp_status st = write_state(t, t->options->checkpoint, &id, &why);
    memcpy(r->unsaved, why.text, sizeof r->unsaved);
    if (t->events->checkpoint)
        t->events->checkpoint(t->events->ctx, t->options->checkpoint, (size_t)gp_server_version(t->run->server), id,
                              st == ADVGP_OK ? NULL : r->unsaved);
}

// Someone asked to stop. The checkpoint comes first: an undisturbed run would not evaluate here, and must not learn of
// it. Then what there is is judged like any other.
static advgp_status interrupted(gp_course *t, const char **stopped, advgp_error *err)
{
    const char *ignored;
    advgp_status st = ADVGP_OK;
    save(t);
    if (t->state.judging) st = take_verdict(t, &ignored, err);
    if (st == ADVGP_OK) st = judge_now(t, &ignored, err);
    *stopped = interrupted_word;
    t->result->interrupted = true;
    return st;
}

// The log knows of no more steps: time was up, or someone had asked. Then what there is was judged.
static advgp_status replayed(gp_course *t, const char **stopped, advgp_error *err)
{
    const char *ignored;
    advgp_status st = ADVGP_OK;
    if (t->state.judging) st = take_verdict(t, &ignored, err);
    if (st == ADVGP_OK && t->state.judged_version != gp_server_version(t->run->server))
        st = judge_now(t, &ignored, err);
    *stopped = t->options->replay->stopped ? t->options->replay->stopped : "the log ended";
    return st;
}

void gp_course_end_steps(gp_course *t, double cpu_began)
{
    gp_train_result *r = t->result;
    double waited = 0;
    for (size_t k = 0; k < gp_run_members(t->run); k++) waited += gp_server_member(t->run->server, (uint32_t)k).waited;
    r->step_seconds = gp_clock_wall() - t->run_start;
    r->step_cpu = gp_clock_cpu() - cpu_began;
    r->workers = t->workers;
    r->waiting_share = waited / fmax(r->step_seconds * (double)t->workers, 1e-9);
}

// Versions until the schedule ends, patience runs out, time is up or someone asks; then theta is the best that was
// seen. Evaluations come at fixed versions, so that a resumed run makes the same decisions.
advgp_status gp_course_versions(gp_course *t, advgp_error *err)
{
    gp_learner *l = t->learner;
    gp_server *server = t->run->server;
    const double pause = t->options->checkpoint_seconds;
    const char *stopped = is_over(t);
    const size_t first = (size_t)gp_server_version(server);
    t->run_start = t->last_save = gp_clock_wall();
    const double cpu = gp_clock_cpu();
    t->first_step = first;
    // After the one that was judged last, not after the version: a checkpoint may be of an evaluation version that
    // still waits for the verdict on the one before.
    t->next_eval = t->state.judged_version + t->every - t->state.judged_version % t->every;
    if (t->next_eval > t->steps) t->next_eval = t->steps;
    advgp_status st = ADVGP_OK;
    if (t->state.judging) { // again what a checkpoint had under judgement
        const size_t version = t->state.judged_version;
        ask_judge(t, t->judged, version);
    }
    if (!t->run->ops->replay) {
        if (!stopped) st = gp_server_allow(server, t->next_eval, err);
        if (st == ADVGP_OK) st = gp_run_start(t->run, err);
    }
    while (st == ADVGP_OK && !stopped) {
        if (gp_server_version(server) == t->next_eval && !ends_before_evaluation(t))
            st = at_evaluation(t, &stopped, err);
        if (st != ADVGP_OK || stopped) break;
        if (t->run->ops->replay && gp_run_replay_is_over(t->run))
            st = replayed(t, &stopped, err);
        else if (stop_asked(t))
            st = t->run->ops->replay ? gp_course_replay_stopped(err) : interrupted(t, &stopped, err);
        else if (pause > 0 && gp_clock_wall() - t->last_save >= pause)
            save(t);
        if (st == ADVGP_OK && !stopped) st = t->run->ops->turn(t->run, 0.2, err);
    }
    if (st == ADVGP_ECLUSTER) save(t); // too few workers are left: another time, with others
    if (st != ADVGP_OK) return st;
    if (!t->result->interrupted && pause > 0 && gp_clock_wall() - t->run_start >= pause)
        save(t); // the finish may take long, too
    memcpy(l->theta, l->best, l->layout.size * sizeof(double));
    t->result->stopped = stopped;
    t->result->versions = (size_t)gp_server_version(server);
    t->result->rows = rows_seen(t);
    gp_course_end_steps(t, cpu);
    return st;
}

// What a checkpoint must share with the run that goes on from it, beyond its counts.
static advgp_status identify(gp_course *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    char *schema = gp_schema_to_json(t->schema), settings[240];
    if (!schema) return gp_fail(err, ADVGP_ENOMEM, "no memory for the schema");
    snprintf(settings, sizeof settings, "%.40s %.40s %zu %zu %d %a %zu %.20s %zu %a %a", o->kernel->name, o->map->name,
             o->rank, o->groups, (int)o->trend, o->step, o->patience, rule_of(t)->name, o->max_delay, quorum_of(t),
             o->filter);
    t->state.data = XXH3_64bits(schema, strlen(schema));
    t->state.settings = XXH3_64bits(settings, strlen(settings));
    gp_free(schema);
    return ADVGP_OK;
}

static void on_judged(void *ctx)
{
    gp_run *run = ctx;
    if (run->ops->wake) run->ops->wake(run);
}

static advgp_status new_run(gp_course *t, advgp_error *err)
{
    const gp_learner *l = t->learner;
    gp_run_options o = run_options(t, l);
    o.delays = t->options->delays, o.n_delays = t->options->n_delays;
    o.split = true;
    if (t->options->replay) o.workers_max = t->options->replay->workers_max;
    o.event = t->events->ps, o.event_ctx = t->events->ctx;
    advgp_status st = t->options->replay ? gp_run_replay_new(&o, t->options->replay, t->part, &t->run, err)
                                         : gp_cluster_run_new(&o, &t->run, err);
    if (st != ADVGP_OK) return st;
    const gp_judge_options judge = {.spec = &l->spec,
                                    .shards = t->shards,
                                    .schema = t->schema,
                                    .max_rows = EVAL_ROWS,
                                    .size = l->layout.size,
                                    .done = on_judged,
                                    .ctx = t->run};
    t->judged = gp_alloc(l->layout.size, sizeof(double));
    if (!t->judged) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu parameters", l->layout.size);
    return gp_judge_new(&judge, &t->judge, err);
}

// The run, and what a checkpoint (may be NULL) knows of it.
static advgp_status begin_run(gp_course *t, const char *checkpoint, advgp_error *err)
{
    t->state = (gp_run_state){.best = INFINITY,
                              .undecided = t->undecided,
                              .components = t->components,
                              .batch = t->batch,
                              .steps = t->steps,
                              .workers = t->workers,
                              .seed = t->options->seed,
                              .n_rows = t->n_train};
    uint64_t id = 0;
    advgp_status st = identify(t, err);
    if (st == ADVGP_OK) st = new_run(t, err);
    if (st == ADVGP_OK && checkpoint) {
        const gp_run_parts parts = {t->run->server, t->run->rule, t->learner->best, t->judged};
        st = gp_checkpoint_load(checkpoint, &parts, &t->state, &id, err);
    }
    if (st != ADVGP_OK) return st;
    const gp_train_plan plan = {.m = t->m,
                                .components = t->learner->spec.n_components,
                                .workers = t->workers,
                                .workers_max = gp_run_members(t->run),
                                .batch = t->batch,
                                .steps = t->steps,
                                .eval_every = t->every,
                                .max_delay = t->options->max_delay,
                                .quorum = quorum_of(t),
                                .version = (size_t)gp_server_version(t->run->server),
                                .checkpoint = id,
                                .judged = t->state.judged_version,
                                .judging = t->state.judging};
    if (t->events->begin) t->events->begin(t->events->ctx, &plan);
    return ADVGP_OK;
}

// A fresh learner with the number of components the pilots choose, or the one a checkpoint holds; then the run.
static advgp_status begin(gp_course *t, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    const double start = gp_clock_wall();
    size_t workers;
    if (t->options->resume) st = gp_checkpoint_shape(t->options->resume, &t->components, &workers, err);
    if (st == ADVGP_OK && t->components && t->options->components && t->components != t->options->components)
        return gp_fail(err, ADVGP_EINVAL, "%s is of a run with %zu components, this one has %zu: use the same options",
                       t->options->resume, t->components, t->options->components);
    if (t->options->replay)
        t->components = t->options->components ? t->options->components : t->options->replay->components;
    if (st == ADVGP_OK && !t->components) st = choose_components(t, &t->components, err);
    t->result->pilot_seconds = gp_clock_wall() - start;
    if (st == ADVGP_OK) st = new_learner(t, t->components, &t->learner, err);
    const size_t evaluations = t->options->evaluations ? t->options->evaluations : EVALUATIONS;
    t->every = t->steps > evaluations ? t->steps / evaluations : 1;
    return st == ADVGP_OK ? begin_run(t, t->options->resume, err) : st;
}

// ---- finish ---------------------------------------------------------------------------------------------------------

static advgp_status polish(gp_course *t, advgp_error *err)
{
    const gp_collapsed_options o = {.run = t->run,
                                    .learner = t->learner,
                                    .n_rows = gp_shards_weight(t->shards, GP_TRAIN),
                                    .stop = t->run->ops->replay ? NULL : asked_to_stop, // there the log says when
                                    .stop_ctx = t};
    gp_collapsed *bound = NULL;
    advgp_status st = gp_collapsed_new(&o, &bound, err);
    advgp_error why = {0};
    if (st == ADVGP_OK) {
        st = gp_collapsed_lbfgs(bound, POLISH_ITERATIONS, NULL, &why);
        if (st == ADVGP_ENUMERIC) // the best so far stays, and was good enough to come here
            st = gp_notes_add(t->notes, err, 1, "the last refinement of the parameters (L-BFGS) ended early: %s",
                              why.text);
        else if (st == ADVGP_ESTOPPED)
            st = ADVGP_OK;
        else if (st != ADVGP_OK && err)
            *err = why;
    }
    gp_collapsed_free(bound);
    return st;
}

// Who stops a run often stops all of it: nobody waits for workers that were told to go as well, nor long for others.
static int is_left_alone(void *ctx)
{
    const gp_course *t = ctx;
    return t->options->cluster && (!gp_server_live(t->run->server) || gp_clock_wall() > t->last_words);
}

// An interrupted run must end soon: its finish takes as many rows as the steps did in ten seconds, and says so in the
// record. So does one that is interrupted here.
static advgp_status finish(gp_course *t, size_t *rows, advgp_error *err)
{
    const double speed = t->result->rows / fmax(gp_clock_wall() - t->wall_start, 1e-3), start = gp_clock_wall();
    const double least = fmin((double)t->n_train, FINISH_ROWS_MIN); // a second or two, whatever the pilots took
    const size_t few = (size_t)fmax(least, speed * interrupted_finish_seconds);
    // The schedule or patience may have ended the steps.
    advgp_status st = t->run->ops->replay ? gp_run_replay_to_end(t->run, err) : ADVGP_OK;
    if (st != ADVGP_OK) return st;
    st = ADVGP_ESTOPPED;
    // By what the record says, not by the clock: a replay must come to the same decision.
    const bool was_interrupted = t->result->interrupted || !strcmp(t->result->stopped, interrupted_word);
    const bool late = !strcmp(t->result->stopped, late_word);
    const bool small = whole(t) && t->n_train <= BATCH_WHOLE && rule_of(t) == &gp_rule_natural;
    if (small && !(t->options->epochs > 0) && !late && !was_interrupted) { // who counts epochs gets no more
        // Every step saw all rows, so there is no noise between them: L-BFGS ends where the steps only come near, and
        // on few rows that decides how close a sparse model comes to the exact process.
        st = polish(t, err);
        if (st != ADVGP_OK) return st;
        st = ADVGP_ESTOPPED;
        if (gp_run_replay_part_ended(t->run)) return st;
    }
    say(t, "finish: exact posterior over the training rows");
    if (t->run->ops->replay) {
        while (st == ADVGP_ESTOPPED) { // over the rows that the log says, as often as it was begun
            if (stop_asked(t)) return gp_course_replay_stopped(err);
            const uint64_t logged = gp_run_replay_rows(t->run);
            *rows = logged ? (size_t)logged : t->n_train;
            st = finish_with(t, t->run, t->learner, (size_t)logged, NULL, &t->result->neg_elbo, err);
            if (gp_run_replay_part_ended(t->run)) return st;
        }
    } else if (!t->result->interrupted || (few >= t->n_train && !t->options->cluster)) {
        *rows = t->n_train;
        st = finish_with(t, t->run, t->learner, 0, t->result->interrupted ? NULL : asked_to_stop, &t->result->neg_elbo,
                         err);
        if (st == ADVGP_ECLUSTER) save(t); // workers were lost: the steps need not be made again
    }
    if (st == ADVGP_ESTOPPED) {
        if (!t->result->interrupted && !t->run->ops->replay) save(t); // here, not before: no checkpoint has the steps
        t->result->interrupted = true;
        *rows = few < t->n_train ? few : t->n_train;
        st = ADVGP_ECLUSTER;
        t->last_words = gp_clock_wall() + 2 * interrupted_finish_seconds;
        if (!t->options->cluster || gp_server_live(t->run->server) > 0)
            st = finish_with(t, t->run, t->learner, few, is_left_alone, &t->result->neg_elbo, err);
        if (st == ADVGP_ECLUSTER || st == ADVGP_ESTOPPED) {
            *rows = (size_t)least;
            st = finish_here(t, t->learner, *rows, &t->result->neg_elbo, err);
        }
    }
    t->result->finish_seconds = gp_clock_wall() - start;
    t->result->counts = gp_server_count(t->run->server);
    t->result->jitter = fmax(gp_qw_jitter(t->learner->qw), t->run->rule->jitter);
    if (st == ADVGP_OK && t->result->jitter > 0)
        st = gp_notes_add(t->notes, err, 1,
                          "the precision of q(w) was not positive in double precision and was raised by %g of its mean "
                          "diagonal on the way: the noise may be too small for these rows",
                          t->result->jitter);
    return st;
}

static advgp_status fill_model(gp_course *t, gp_model *model, size_t finish_rows, advgp_error *err)
{
    const gp_learner *l = t->learner;
    const size_t M = l->layout.M;
    const double start = gp_clock_wall();
    const gp_stats *stats = &l->stats;
    memcpy(model->theta, l->theta, l->layout.size * sizeof(double));
    memcpy(model->stats.A.p, stats->A.p, M * M * sizeof(double));
    memcpy(model->stats.b, stats->b, M * sizeof(double));
    model->stats.yy = stats->yy, model->stats.n = stats->n, model->stats.residual = stats->residual;

    advgp_status st = gp_account(model, &t->reader, t->options->test, (gp_stopwatch){t->wall_start, t->cpu_start},
                                 t->result, err);
    if (st != ADVGP_OK) return st;
    t->result->last_seconds = gp_clock_wall() - start;
    json_t *record = json_pack("{s:I, s:I, s:I}", "finish_rows", (json_int_t)finish_rows, "batch",
                               (json_int_t)t->batch * (json_int_t)t->workers, "workers", (json_int_t)t->workers);
    if (record && t->result->jitter > 0) json_object_set_new(record, "posterior_jitter", json_real(t->result->jitter));
    if (record && t->result->counts.rolled_back)
        json_object_set_new(record, "rolled_back", json_integer((json_int_t)t->result->counts.rolled_back));
    if (!record || json_object_update(model->record, record) < 0)
        st = gp_fail(err, ADVGP_ENOMEM, "no memory for the training record");
    json_decref(record);
    return st;
}

// ---- the next part of a log -----------------------------------------------------------------------------------------

// The replay is where the run that is replayed wrote the checkpoint that it was resumed from: so does this one, and
// goes on from it as that one did.
static advgp_status next_part(gp_course *t, advgp_error *err)
{
    const gp_replay_feed *feed = t->options->replay;
    const gp_replay_part *part = part_of(t);
    const char *ignored;
    uint64_t id = 0;
    advgp_status st = ADVGP_OK;
    // Where time was up, what there was had been judged at once.
    if (t->state.judging && !part->judging) st = take_verdict(t, &ignored, err);
    if (st == ADVGP_OK) st = write_state(t, feed->checkpoint, &id, err);
    if (st == ADVGP_OK && id != part->checkpoint)
        st = gp_notes_add(t->notes, err, 1,
                          "the replay is not in the state that the log tells of where the run was resumed, at version "
                          "%llu",
                          (unsigned long long)part->version);
    if (st != ADVGP_OK) return st;
    gp_judge_free(t->judge); // first: its last word wakes the run
    gp_run_free(t->run);
    gp_free(t->judged);
    t->judge = NULL, t->run = NULL, t->judged = NULL;
    t->part++;
    return begin_run(t, feed->checkpoint, err);
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static advgp_status check(const gp_shards *shards, const gp_schema *schema, const gp_train_options *o, advgp_error *err)
{
    if (!shards || !schema || !o) return gp_fail(err, ADVGP_EINVAL, "train: no rows, schema or options given");
    if (!o->kernel || !o->map || !o->m)
        return gp_fail(err, ADVGP_EINVAL, "train: a kernel, a map and at least one inducing input are needed");
    advgp_status st = gp_map_choice_check(map_of(o), o->m, o->components, err);
    if (st != ADVGP_OK) return st;
    if (!(o->step >= 0 && o->step <= 1)) return gp_fail(err, ADVGP_EINVAL, "train: step %g is not in 0 .. 1", o->step);
    if (o->theta && !o->components)
        return gp_fail(err, ADVGP_EINVAL, "train: parameters to start from need a number of components");
    return ADVGP_OK;
}

advgp_status gp_course_train(const gp_shards *shards, gp_schema *schema_take, const char *sql,
                             const gp_train_options *options, gp_course_steps steps, const gp_train_events *events,
                             gp_notes *notes, gp_model **model, gp_train_result *result, advgp_error *err)
{
    static const gp_train_events silent = {0};
    gp_train_result unused;
    advgp_status st = check(shards, schema_take, options, err);
    if (st != ADVGP_OK) return st;
    gp_course t = {.shards = shards,
                   .schema = schema_take,
                   .options = options,
                   .events = events ? events : &silent,
                   .result = result ? result : &unused,
                   .notes = notes,
                   .wall_start = gp_clock_wall(),
                   .cpu_start = gp_clock_cpu()};
    *t.result = (gp_train_result){0};
    *model = NULL;
    size_t finish_rows = 0;
    st = settle(&t, notes, err);
    if (st == ADVGP_OK) st = begin(&t, err);
    while (st == ADVGP_OK) {
        st = steps(&t, err);
        if (st == ADVGP_OK) st = finish(&t, &finish_rows, err);
        if (st != ADVGP_ESTOPPED || !gp_run_replay_part_ended(t.run)) break;
        st = next_part(&t, err);
    }
    if (st == ADVGP_OK) st = gp_model_new(&t.learner->spec, schema_take, sql, model, err);
    if (st == ADVGP_OK) {
        st = fill_model(&t, *model, finish_rows, err);
        if (st != ADVGP_OK) {
            (*model)->schema = NULL; // still the caller's
            gp_model_free(*model);
            *model = NULL;
        }
    }
    gp_judge_free(t.judge); // first: its last word wakes the run
    gp_run_free(t.run);
    gp_learner_free(t.learner);
    gp_free(t.judged);
    gp_free(t.views);
    gp_reader_fini(&t.reader);
    gp_free(t.inducing);
    return st;
}

advgp_status gp_train(const gp_shards *shards, gp_schema *schema_take, const char *sql, const gp_train_options *options,
                      const gp_train_events *events, gp_notes *notes, gp_model **model, gp_train_result *result,
                      advgp_error *err)
{
    return gp_course_train(shards, schema_take, sql, options, gp_course_versions, events, notes, model, result, err);
}
