// polish.c: the collapsed bound and its gradient: statistics, the optimal q(w) for them, and the bound's gradient
// there, which is that of the collapsed bound since q(w) is at its optimum. Two passes over the rows an evaluation.
#include "train/polish.h"
#include "optim/lbfgs.h"

#include <string.h>

typedef struct polishing {
    gp_learner *learner;
    gp_batch rows;
    int (*stop)(void *ctx);
    void *stop_ctx;
} polishing;

static advgp_status collapsed(void *ctx, const double *x, size_t n, double *value, double *gradient, advgp_error *err)
{
    polishing *p = ctx;
    gp_learner *l = p->learner;
    double sum_g;
    if (p->stop && p->stop(p->stop_ctx)) return gp_fail(err, ADVGP_ESTOPPED, "stopped");
    memcpy(l->theta, x, n * sizeof *x);
    advgp_status st = gp_pass_run(l->pass, l->theta, GP_PASS_STATS, p->rows, NULL, NULL, err);
    if (st == ADVGP_OK)
        st = gp_qw_optimal(l->qw, gp_pass_stats(l->pass), l->theta[0], l->theta + l->layout.n_rest,
                           l->theta + l->layout.U, value, err);
    if (st == ADVGP_OK) st = gp_pass_run(l->pass, l->theta, GP_PASS_GRADIENT, p->rows, &sum_g, l->grad, err);
    if (st != ADVGP_OK) return st;
    *value /= l->n_rows;
    for (size_t i = 0; i < n; i++) gradient[i] = l->grad[i] / l->n_rows;
    return ADVGP_OK;
}

advgp_status gp_polish(gp_learner *l, gp_batch rows, size_t iterations, int (*stop)(void *ctx), void *stop_ctx,
                       advgp_error *err)
{
    polishing p = {.learner = l, .rows = rows, .stop = stop, .stop_ctx = stop_ctx};
    const gp_lbfgs_options o = {.max_iterations = iterations, .gradient_tol = 1e-6, .value_tol = 1e-8};
    const size_t n = l->layout.n_rest;
    double *x = l->kept; // free between steps
    memcpy(x, l->theta, l->layout.size * sizeof *x);
    advgp_status st = gp_lbfgs(collapsed, &p, n, x, &o, NULL, err);
    if (st == ADVGP_ESTOPPED || st == ADVGP_ENUMERIC) st = ADVGP_OK; // what there is was good enough to come here
    if (st != ADVGP_OK) return st;
    memcpy(l->theta, x, n * sizeof *x);
    st = gp_pass_run(l->pass, l->theta, GP_PASS_STATS, rows, NULL, NULL, err);
    if (st != ADVGP_OK) return st;
    return gp_qw_optimal(l->qw, gp_pass_stats(l->pass), l->theta[0], l->theta + l->layout.n_rest,
                         l->theta + l->layout.U, NULL, err);
}
