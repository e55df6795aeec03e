// method_distgp.c: DistGP (Gal et al. 2014): the collapsed bound over all rows, by synchronous map and reduce over the
// workers, minimised by gradient descent with ADADELTA or by L-BFGS.
#include "base/clock.h"
#include "learn/collapsed.h"
#include "method/method.h"
#include "recipe/conductor.h"

#include <stdio.h>
#include <string.h>

// Every iteration is evaluated, so that patience counts iterations; gradient descent has long flat stretches.
enum { ITERATIONS_GD = 500, ITERATIONS_LBFGS = 200, PATIENCE = 50 };

// ---- steps ----------------------------------------------------------------------------------------------------------

typedef struct descent {
    gp_training *training;
    gp_stop_reason stopped; // by patience or time
    advgp_status status;    // of the last evaluation
    advgp_error error;
} descent;

// An iteration is a version: it is evaluated at once. The best is kept.
static int after_iteration(void *ctx, size_t iteration, const double *theta, double neg_elbo_per_row)
{
    descent *d = ctx;
    gp_training *t = d->training;
    d->status = gp_training_evaluate_theta(t, theta, iteration, neg_elbo_per_row, &d->stopped, &d->error);
    if (d->status != ADVGP_OK) return 1;
    if (!d->stopped && t->conductor->time_is_up(t)) d->stopped = GP_STOPPED_TIME;
    return d->stopped != GP_NOT_STOPPED;
}

static advgp_status minimise(gp_training *t, bool lbfgs, advgp_error *err)
{
    const double rows = 2 * (double)t->n_train; // of one iteration
    descent d = {.training = t};
    const gp_collapsed_options o = {.run = t->run,
                                    .learner = t->learner,
                                    .n_rows = gp_shards_weight(t->shards, GP_TRAIN),
                                    .stop = t->conductor->stop,
                                    .stop_ctx = t,
                                    .iteration = after_iteration,
                                    .ctx = &d};
    gp_learner *l = t->learner;
    gp_collapsed *bound = NULL;
    gp_stop_reason stopped = GP_NOT_STOPPED;
    t->run_start = gp_clock_wall();
    const double cpu = gp_clock_cpu();
    advgp_status st = gp_run_start(t->run, err);
    if (st == ADVGP_OK) st = t->conductor->to_collections(t, err);
    if (st == ADVGP_OK) st = gp_collapsed_new(&o, &bound, err);
    if (st == ADVGP_OK)
        st = lbfgs ? gp_collapsed_lbfgs(bound, t->steps, &stopped, err)
                   : gp_collapsed_adadelta(bound, t->steps, &stopped, err);
    gp_collapsed_free(bound);
    if (st == ADVGP_OK && d.status != ADVGP_OK) {
        if (err) *err = d.error;
        return d.status;
    }
    const bool interrupted = st == ADVGP_ESTOPPED;
    if (interrupted) st = t->conductor->accept_stop(t, err);
    if (st != ADVGP_OK) return st;
    t->result->interrupted = interrupted;
    t->result->stopped = interrupted ? GP_STOPPED_INTERRUPTED : d.stopped ? d.stopped : stopped;
    t->result->versions = t->state.evaluated_version;
    t->result->rows = rows * (double)t->state.evaluated_version;
    gp_training_end_steps(t, cpu);
    memcpy(l->theta, l->best, l->layout.size * sizeof(double));
    return ADVGP_OK;
}

static advgp_status descend(gp_training *t, advgp_error *err)
{
    return minimise(t, false, err);
}

static advgp_status descend_lbfgs(gp_training *t, advgp_error *err)
{
    return minimise(t, true, err);
}

// ---- the methods ----------------------------------------------------------------------------------------------------

static advgp_status distgp(const gp_method *method, gp_training_steps steps, size_t iterations,
                           const gp_train_request *request, gp_model **model, gp_train_result *result, advgp_error *err)
{
    gp_train_request changed = *request;
    gp_train_options o = *request->options;
    changed.options = &o;
    o.cells = 0;
    o.schedule = gp_schedule_synchronous(o.schedule); // natural: its pushes hold both the statistics and the gradient
    o.schedule.batch = gp_shards_rows(request->shards, GP_TRAIN);
    o.checkpoint = o.resume = NULL;
    if (!o.components) o.components = 1;
    if (!o.patience) o.patience = PATIENCE;
    if (!(o.epochs > 0)) o.epochs = (double)iterations; // an iteration sees every row
    const advgp_status st = gp_training_run(&changed, steps, model, result, err);
    if (st == ADVGP_OK) snprintf((*model)->method, sizeof(*model)->method, "%s", method->name);
    return st;
}

static advgp_status gd_train(const gp_train_request *request, gp_model **model, gp_train_result *result,
                             advgp_error *err)
{
    return distgp(&gp_method_distgp_gd, descend, ITERATIONS_GD, request, model, result, err);
}

static advgp_status lbfgs_train(const gp_train_request *request, gp_model **model, gp_train_result *result,
                                advgp_error *err)
{
    return distgp(&gp_method_distgp_lbfgs, descend_lbfgs, ITERATIONS_LBFGS, request, model, result, err);
}

static const char *const honoured[] = {"inducing", "components", "kernel",    "map",        "rank",   "groups",
                                       "trend",    "noise",      "start",     "start-rows", "epochs", "time",
                                       "patience", "workers",    "transport", NULL};

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
