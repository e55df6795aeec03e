// method_distgp.c: DistGP (Gal et al. 2014): the collapsed bound over all rows, by synchronous map and reduce over the
// workers, minimised by gradient descent with ADADELTA or by L-BFGS.
#include "base/clock.h"
#include "method/method.h"
#include "run/replay.h"
#include "train/collapsed.h"
#include "train/course.h"

#include <stdio.h>
#include <string.h>

// Every iteration is judged, so that patience counts iterations; gradient descent has long flat stretches.
enum { ITERATIONS_GD = 500, ITERATIONS_LBFGS = 200, PATIENCE = 50 };

// ---- steps ----------------------------------------------------------------------------------------------------------

typedef struct descent {
    gp_course *course;
    gp_stop_reason stopped; // by patience or time
    advgp_status status;    // of the last judgement
    advgp_error error;
    double rows; // of one iteration
} descent;

static int asked_to_stop(void *ctx)
{
    return gp_course_stop_asked(ctx);
}

// An iteration is a version: it is judged at once. The best that was judged is kept.
static int after_iteration(void *ctx, size_t iteration, const double *theta, double neg_elbo_per_row)
{
    descent *d = ctx;
    gp_course *c = d->course;
    d->status = gp_course_judge(c, theta, iteration, neg_elbo_per_row, &d->stopped, &d->error);
    if (d->status != ADVGP_OK) return 1;
    if (!d->stopped && gp_course_time_is_up(c)) d->stopped = GP_STOPPED_TIME;
    return d->stopped != GP_NOT_STOPPED;
}

static advgp_status minimise(gp_course *c, bool lbfgs, advgp_error *err)
{
    descent d = {.course = c, .rows = 2 * (double)c->n_train};
    const gp_collapsed_options o = {.run = c->run,
                                    .learner = c->learner,
                                    .n_rows = gp_shards_weight(c->shards, GP_TRAIN),
                                    .stop = c->run->ops->replay ? NULL : asked_to_stop, // there the log says when
                                    .stop_ctx = c,
                                    .iteration = after_iteration,
                                    .ctx = &d};
    gp_learner *l = c->learner;
    gp_collapsed *bound = NULL;
    gp_stop_reason stopped = GP_NOT_STOPPED;
    c->run_start = gp_clock_wall();
    const double cpu = gp_clock_cpu();
    advgp_status st = c->run->ops->replay ? gp_run_replay_to_end(c->run, err) : gp_run_start(c->run, err);
    if (st == ADVGP_OK) st = gp_collapsed_new(&o, &bound, err);
    if (st == ADVGP_OK)
        st = lbfgs ? gp_collapsed_lbfgs(bound, c->steps, &stopped, err)
                   : gp_collapsed_adadelta(bound, c->steps, &stopped, err);
    gp_collapsed_free(bound);
    if (st == ADVGP_OK && d.status != ADVGP_OK) {
        if (err) *err = d.error;
        return d.status;
    }
    const bool interrupted = st == ADVGP_ESTOPPED;
    if (interrupted && c->run->ops->replay && gp_course_stop_asked(c)) return gp_course_replay_stopped(err);
    if (st != ADVGP_OK && !interrupted) return st;
    c->result->interrupted = interrupted;
    c->result->stopped = interrupted ? GP_STOPPED_INTERRUPTED : d.stopped ? d.stopped : stopped;
    c->result->versions = c->state.judged_version;
    c->result->rows = d.rows * (double)c->state.judged_version;
    gp_course_end_steps(c, cpu);
    memcpy(l->theta, l->best, l->layout.size * sizeof(double));
    return ADVGP_OK;
}

static advgp_status descend(gp_course *c, advgp_error *err)
{
    return minimise(c, false, err);
}

static advgp_status descend_lbfgs(gp_course *c, advgp_error *err)
{
    return minimise(c, true, err);
}

// ---- the methods ----------------------------------------------------------------------------------------------------

static advgp_status distgp(const gp_method *method, gp_course_steps steps, size_t iterations, const gp_shards *shards,
                           gp_schema *schema_take, const char *sql, const gp_train_options *options,
                           const gp_train_events *events, gp_notes *notes, gp_model **model, gp_train_result *result,
                           advgp_error *err)
{
    gp_train_options o = *options;
    o.rule = &gp_rule_natural; // whose pushes hold both the statistics and the gradient
    o.max_delay = 0;
    o.filter = 0;
    o.batch = gp_shards_rows(shards, GP_TRAIN);
    o.checkpoint = o.resume = NULL;
    if (!o.components) o.components = 1;
    if (!o.patience) o.patience = PATIENCE;
    if (!(o.epochs > 0)) o.epochs = (double)iterations; // an iteration sees every row
    const advgp_status st = gp_course_train(shards, schema_take, sql, &o, steps, events, notes, model, result, err);
    if (st == ADVGP_OK) snprintf((*model)->method, sizeof(*model)->method, "%s", method->name);
    return st;
}

static advgp_status gd_train(const gp_shards *shards, gp_schema *schema_take, const char *sql,
                             const gp_train_options *options, const gp_train_events *events, gp_notes *notes,
                             gp_model **model, gp_train_result *result, advgp_error *err)
{
    return distgp(&gp_method_distgp_gd, descend, ITERATIONS_GD, shards, schema_take, sql, options, events, notes, model,
                  result, err);
}

static advgp_status lbfgs_train(const gp_shards *shards, gp_schema *schema_take, const char *sql,
                                const gp_train_options *options, const gp_train_events *events, gp_notes *notes,
                                gp_model **model, gp_train_result *result, advgp_error *err)
{
    return distgp(&gp_method_distgp_lbfgs, descend_lbfgs, ITERATIONS_LBFGS, shards, schema_take, sql, options, events,
                  notes, model, result, err);
}

static const char *const honoured[] = {"inducing", "components", "kernel", "map",  "rank",     "groups",  "trend",
                                       "start",    "start-rows", "epochs", "time", "patience", "workers", NULL};

const gp_method gp_method_distgp_gd = {
    .name = "distgp-gd",
    .summary = "collapsed bound over all rows, map and reduce over the workers, ADADELTA",
    .options = honoured,
    .train = gd_train};

const gp_method gp_method_distgp_lbfgs = {
    .name = "distgp-lbfgs",
    .summary = "collapsed bound over all rows, map and reduce over the workers, L-BFGS",
    .options = honoured,
    .train = lbfgs_train};
