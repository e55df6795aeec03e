// local_fit.c: one cell. By the evidence: an exact process of the cell's rows has a handful of parameters, so a few
// iterations find them, and rows that explain the others best are its inducing inputs. By the bound, with q(w) at its
// optimum: inducing inputs are learned too.
#include "cells/local_fit.h"
#include "base/alloc.h"
#include "cells/inducing.h"
#include "cells/rows_bound.h"
#include "linalg/interrupt.h"
#include "model/exact.h"
#include "optim/lbfgs.h"

#include <math.h>
#include <string.h>

static advgp_status bound(void *ctx, const double *x, size_t n, double *value, double *gradient, advgp_error *err)
{
    (void)n;
    if (gp_interrupted()) return gp_interrupt_status(ADVGP_OK, "the fit of a cell", err);
    return gp_rows_bound_value(ctx, x, value, gradient, err);
}

advgp_status gp_local_fit(gp_cells *cells, size_t cell, gp_batch rows, size_t iterations, advgp_error *err)
{
    const gp_lbfgs_options o = {.max_iterations = iterations, .gradient_tol = 1e-6, .value_tol = 1e-5};
    gp_features *f = NULL;
    gp_rows_bound b = {0};
    gp_lbfgs_result result = {0};
    advgp_status st = gp_cells_features(cells, cell, &f, err);
    if (st == ADVGP_OK) st = gp_rows_bound_init(&b, f, rows, err);
    if (st == ADVGP_OK && iterations)
        st = gp_lbfgs(bound, &b, b.layout.n_rest, cells->theta + cells->theta_at[cell], &o, &result, err);
    gp_rows_bound_fini(&b);
    return st == ADVGP_ENUMERIC ? ADVGP_OK : st;
}

// ---- by the evidence ------------------------------------------------------------------------------------------------

// Parameters beyond are as good as infinite, and noise below this share of the amplitude is none: rounding would rule.
static const double farthest = 25, least_noise = 1e-4;

typedef struct evidence_fit {
    gp_exact *exact;
    double n_rows;
} evidence_fit;

advgp_status gp_local_check(const double *x, size_t n, advgp_error *err)
{
    if (gp_interrupted()) return gp_interrupt_status(ADVGP_OK, "the fit of a cell", err);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= farthest)) return gp_fail(err, ADVGP_ENUMERIC, "a parameter of a cell is extreme");
    if (x[0] < x[1] + log(least_noise)) return gp_fail(err, ADVGP_ENUMERIC, "a cell without noise");
    return ADVGP_OK;
}

static advgp_status evidence(void *ctx, const double *x, size_t n, double *value, double *gradient, advgp_error *err)
{
    const evidence_fit *e = ctx;
    advgp_status st = gp_local_check(x, n, err);
    if (st == ADVGP_OK) st = gp_exact_evidence(e->exact, x, value, gradient, NULL, err);
    if (st != ADVGP_OK) return st;
    *value /= e->n_rows;
    for (size_t i = 0; i < n; i++) gradient[i] /= e->n_rows;
    return ADVGP_OK;
}

// m rows that explain the others best under the length-scales of theta.
static advgp_status choose_inducing(const gp_kernel *kernel, gp_cmat X, size_t m, uint64_t seed, double *theta,
                                    advgp_error *err)
{
    const size_t d = X.cols;
    double *scaled = gp_alloc(X.rows * d, sizeof *scaled), *Z = theta + 2 + d;
    size_t *rows = gp_alloc(m, sizeof *rows);
    advgp_status st = scaled && rows ? ADVGP_OK : gp_no_memory(err);
    for (size_t i = 0; st == ADVGP_OK && i < X.rows; i++)
        for (size_t k = 0; k < d; k++) scaled[i * d + k] = exp(0.5 * theta[2 + k]) * X.p[i * X.ld + k];
    if (st == ADVGP_OK) st = gp_inducing_greedy(gp_cmat_of(scaled, X.rows, d), m, kernel, 1, seed, rows, err);
    for (size_t j = 0; st == ADVGP_OK && j < m; j++) memcpy(Z + j * d, X.p + rows[j] * X.ld, d * sizeof *Z);
    gp_free(scaled);
    gp_free(rows);
    return st;
}

advgp_status gp_local_fit_evidence(gp_cells *cells, size_t cell, gp_batch rows, const gp_local_evidence *o,
                                   advgp_error *err)
{
    const size_t d = rows.X.cols, n = rows.X.rows < o->rows ? rows.X.rows : o->rows;
    const gp_exact_spec spec = {.d = d, .n_components = 1, .kernels = &cells->shape.kernel};
    const gp_lbfgs_options lbfgs = {.max_iterations = o->iterations, .gradient_tol = 1e-4, .value_tol = 1e-3};
    double *theta = cells->theta + cells->theta_at[cell];
    evidence_fit e = {.n_rows = (double)n};
    gp_lbfgs_result result = {0};
    advgp_status st = gp_exact_new(&spec, gp_batch_part(rows, 0, n), &e.exact, err);
    if (st == ADVGP_OK) st = gp_lbfgs(evidence, &e, 2 + d, theta, &lbfgs, &result, err);
    gp_exact_free(e.exact);
    if (st == ADVGP_ENUMERIC || st == ADVGP_EDATA) st = ADVGP_OK; // the best so far; or no row has a weight
    return st == ADVGP_OK ? choose_inducing(cells->shape.kernel, rows.X, cells->m[cell], o->seed, theta, err) : st;
}
