// pooled_fit.c: L-BFGS on the sum; the cells are tasks, added up in their order.
#include "cells/pooled_fit.h"
#include "base/alloc.h"
#include "cells/local_fit.h"
#include "model/exact.h"
#include "optim/lbfgs.h"
#include "run/crew.h"

#include <math.h>
#include <string.h>

typedef struct pool {
    const gp_pooled_options *o;
    const gp_pooled_cell *cells;
    size_t n, n_hyper;
    double n_rows;
    gp_exact **exact;         // [n]
    const double *x;          // [n_hyper]: where evidences are asked for
    double *hyper, *gradient; // n x n_hyper: a cell's own
    double *value;            // [n]
} pool;

static advgp_status one_evidence(void *ctx, size_t i, advgp_error *err)
{
    const pool *p = ctx;
    double *hyper = p->hyper + i * p->n_hyper;
    memcpy(hyper, p->x, p->n_hyper * sizeof *hyper);
    hyper[0] += p->cells[i].ln_spread, hyper[1] += p->cells[i].ln_spread;
    return gp_exact_evidence(p->exact[i], hyper, &p->value[i], p->gradient + i * p->n_hyper, NULL, err);
}

static advgp_status evidence(void *ctx, const double *x, size_t n, double *value, double *gradient, advgp_error *err)
{
    pool *p = ctx;
    p->x = x;
    advgp_status st = gp_local_check(x, n, err);
    if (st == ADVGP_OK) st = gp_crew_do(p->o->threads, p->n, one_evidence, p, p->o->stop, p->o->stop_ctx, err);
    if (st != ADVGP_OK) return st;
    *value = 0;
    memset(gradient, 0, n * sizeof *gradient);
    for (size_t i = 0; i < p->n; i++) {
        *value += p->value[i] / p->n_rows;
        for (size_t k = 0; k < n; k++) gradient[k] += p->gradient[i * n + k] / p->n_rows;
    }
    return ADVGP_OK;
}

static advgp_status prepare(pool *p, advgp_error *err)
{
    const gp_exact_spec spec = {.d = p->n_hyper - 2, .n_components = 1, .kernels = &p->o->kernel};
    advgp_status st = ADVGP_OK;
    p->exact = gp_alloc(p->n, sizeof(gp_exact *));
    p->hyper = gp_alloc(p->n * (2 * p->n_hyper + 1), sizeof *p->hyper);
    if (!p->exact || !p->hyper) return gp_no_memory(err);
    p->gradient = p->hyper + p->n * p->n_hyper;
    p->value = p->gradient + p->n * p->n_hyper;
    for (size_t i = 0; st == ADVGP_OK && i < p->n; i++) {
        st = gp_exact_new(&spec, p->cells[i].rows, &p->exact[i], err);
        p->n_rows += (double)p->cells[i].rows.X.rows;
    }
    return st;
}

advgp_status gp_pooled_fit(const gp_pooled_options *o, size_t n, const gp_pooled_cell *cells, double *start,
                           double *nlml, advgp_error *err)
{
    const gp_lbfgs_options lbfgs = {.max_iterations = o->iterations, .gradient_tol = 1e-4, .value_tol = 1e-4};
    pool p = {.o = o, .cells = cells, .n = n, .n_hyper = 2 + cells[0].rows.X.cols};
    gp_lbfgs_result result = {.value = INFINITY};
    advgp_status st = prepare(&p, err);
    if (st == ADVGP_OK) st = gp_lbfgs(evidence, &p, p.n_hyper, start, &lbfgs, &result, err);
    *nlml = result.value;
    for (size_t i = 0; p.exact && i < n; i++) gp_exact_free(p.exact[i]);
    gp_free(p.exact);
    gp_free(p.hyper);
    return st == ADVGP_ENUMERIC || st == ADVGP_EDATA ? ADVGP_OK : st; // the best so far; or no row has a weight
}
