// collapsed.c: two collections an evaluation; L-BFGS or ADADELTA above it.
#include "learn/collapsed.h"
#include "base/alloc.h"
#include "optim/lbfgs.h"
#include "ps/statistics.h"

#include <math.h>
#include <string.h>

struct gp_collapsed {
    gp_collapsed_options o;
    size_t n;                       // parameters before mu
    double *x, *gradient, *scratch; // [n], [n], [3 n]
    size_t iterations;
    bool ended; // by `iteration`
};

void gp_collapsed_free(gp_collapsed *b)
{
    if (!b) return;
    gp_free(b->x);
    gp_free(b->gradient);
    gp_free(b->scratch);
    gp_free(b);
}

advgp_status gp_collapsed_new(const gp_collapsed_options *o, gp_collapsed **out, advgp_error *err)
{
    *out = NULL;
    if (o->run->o.schedule.rule != &gp_rule_natural)
        return gp_fail(err, ADVGP_EINVAL, "the collapsed bound needs workers that push statistics");
    gp_collapsed *b = gp_alloc(1, sizeof *b);
    if (!b) return gp_no_memory(err);
    b->o = *o;
    b->n = o->learner->layout.n_rest;
    b->x = gp_alloc(b->n, sizeof(double));
    b->gradient = gp_alloc(b->n, sizeof(double));
    b->scratch = gp_alloc(3 * b->n, sizeof(double));
    if (!b->x || !b->gradient || !b->scratch) {
        gp_collapsed_free(b);
        return gp_no_memory(err);
    }
    *out = b;
    return ADVGP_OK;
}

static advgp_status collect(gp_collapsed *b, unsigned flags, const double **sum, advgp_error *err)
{
    return gp_run_collect(b->o.run, b->o.learner->theta, flags, 0, sum, b->o.stop, b->o.stop_ctx, err);
}

advgp_status gp_collapsed_value(gp_collapsed *b, const double *x, double *value, double *gradient, advgp_error *err)
{
    gp_learner *l = b->o.learner;
    const gp_theta_layout layout = l->layout;
    const double *sum = NULL;
    memmove(l->theta, x, b->n * sizeof *x);
    advgp_status st = collect(b, GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS, &sum, err);
    if (st != ADVGP_OK) return st;
    gp_statistics_unpack(sum, &l->stats);
    st = gp_qw_optimal(l->qw, &l->stats, l->theta[0], l->theta + layout.n_rest, l->theta + layout.U, value, err);
    if (st == ADVGP_OK) st = collect(b, GP_FLAG_ALL_ROWS, &sum, err);
    if (st != ADVGP_OK) return st;
    sum += gp_statistics_size(layout.M);
    *value /= b->o.n_rows;
    for (size_t i = 0; i < b->n; i++) gradient[i] = sum[i] / b->o.n_rows;
    return ADVGP_OK;
}

static advgp_status told(gp_collapsed *b, double value, advgp_error *err)
{
    b->ended = b->o.iteration && b->o.iteration(b->o.ctx, ++b->iterations, b->o.learner->theta, value) != 0;
    return b->ended ? gp_fail(err, ADVGP_ESTOPPED, "ended by its caller") : ADVGP_OK;
}

// The parameters found, with the q(w) that belongs to them.
static advgp_status keep_found(gp_collapsed *b, advgp_error *err)
{
    gp_learner *l = b->o.learner;
    const gp_theta_layout layout = l->layout;
    const double *sum = NULL;
    memcpy(l->theta, b->x, b->n * sizeof(double));
    advgp_status st = gp_run_collect(b->o.run, l->theta, GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS, 0, &sum, NULL, NULL,
                                     err);
    if (st != ADVGP_OK) return st;
    gp_statistics_unpack(sum, &l->stats);
    return gp_qw_optimal(l->qw, &l->stats, l->theta[0], l->theta + layout.n_rest, l->theta + layout.U, NULL, err);
}

// ---- L-BFGS ---------------------------------------------------------------------------------------------------------

static advgp_status objective(void *ctx, const double *x, size_t n, double *value, double *gradient, advgp_error *err)
{
    (void)n;
    gp_collapsed *b = ctx;
    const advgp_status st = gp_collapsed_value(b, x, value, gradient, err);
    return st == ADVGP_OK ? told(b, *value, err) : st; // an evaluation is what costs, so it counts as an iteration
}

advgp_status gp_collapsed_lbfgs(gp_collapsed *b, size_t iterations, gp_stop_reason *stopped, advgp_error *err)
{
    const gp_lbfgs_options o = {.max_iterations = iterations, .gradient_tol = 1e-6, .value_tol = 1e-8};
    gp_lbfgs_result result = {0};
    memcpy(b->x, b->o.learner->theta, b->n * sizeof(double));
    advgp_status st = gp_lbfgs(objective, b, b->n, b->x, &o, &result, err);
    if (st == ADVGP_ESTOPPED && b->ended) st = ADVGP_OK;
    if (st == ADVGP_OK && stopped) *stopped = result.stopped;
    if (st == ADVGP_OK) return keep_found(b, err);
    memcpy(b->o.learner->theta, b->x, b->n * sizeof(double)); // the best found, not the last tried
    return st;
}

// ---- ADADELTA -------------------------------------------------------------------------------------------------------

advgp_status gp_collapsed_adadelta(gp_collapsed *b, size_t iterations, gp_stop_reason *stopped, advgp_error *err)
{
    gp_adadelta state = {.decay = gp_adadelta_decay,
                         .epsilon = gp_adadelta_epsilon,
                         .damping = 1,
                         .acc_g = b->scratch,
                         .acc_u = b->scratch + b->n};
    const gp_theta_layout layout = b->o.learner->layout;
    const gp_range rest = {0, b->n};
    double *last = b->scratch + 2 * b->n; // where the gradient is of
    memset(b->scratch, 0, 3 * b->n * sizeof(double));
    memcpy(b->x, b->o.learner->theta, b->n * sizeof(double));
    if (stopped) *stopped = GP_STOPPED_ITERATION_LIMIT;
    for (size_t i = 0; i < iterations; i++) {
        double value;
        advgp_status st = gp_collapsed_value(b, b->x, &value, b->gradient, err);
        if (st == ADVGP_ENUMERIC && i > 0 &&
            state.damping < 1e6) { // too far: a shorter step from where it was possible
            state.damping *= 2;
            memcpy(b->x, last, b->n * sizeof(double));
        } else {
            if (st == ADVGP_OK) st = told(b, value, err);
            if (st == ADVGP_ESTOPPED && b->ended) break;
            if (st != ADVGP_OK) return st;
            for (size_t k = 0; k < b->n; k++) b->gradient[k] *= b->o.n_rows; // as the paper's server sees it
            memcpy(last, b->x, b->n * sizeof(double));
        }
        gp_step_adadelta(layout, rest, &state, b->gradient, b->x, NULL);
    }
    memcpy(b->x, last, b->n * sizeof(double)); // the last one was never looked at
    return keep_found(b, err);
}
