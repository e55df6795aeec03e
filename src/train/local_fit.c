// local_fit.c: one cell. By the evidence: an exact process of the cell's rows has a handful of parameters, so a few
// iterations find them, and rows that explain the others best are its inducing inputs. By the bound, with q(w) at its
// optimum: inducing inputs are learned too; one pass over the rows, which are kept meanwhile; a cell of very many rows
// is looked at twice.
#include "train/local_fit.h"
#include "base/alloc.h"
#include "linalg/interrupt.h"
#include "model/exact.h"
#include "model/qw.h"
#include "optim/lbfgs.h"
#include "train/inducing.h"

#include <math.h>
#include <string.h>

enum { KEPT_ROWS_MAX = 4096 }; // their columns and features take 10 MB at m = 100

typedef struct local_fit {
    gp_batch rows;
    bool kept;
    gp_features *f;
    gp_pass *pass;
    gp_qw *qw;
    gp_theta_layout layout;
    double *theta, *gradient; // [layout.size]
    double n_rows;
} local_fit;

static advgp_status bound(void *ctx, const double *x, size_t n, double *value, double *gradient, advgp_error *err)
{
    local_fit *l = ctx;
    if (gp_interrupted()) return gp_interrupt_status(ADVGP_OK, "the fit of a cell", err);
    memcpy(l->theta, x, n * sizeof *x);
    advgp_status st = gp_pass_run(l->pass, l->theta, l->kept ? GP_PASS_KEEP : GP_PASS_STATS, l->rows, NULL, NULL, err);
    if (st == ADVGP_OK)
        st = gp_qw_optimal(l->qw, gp_pass_stats(l->pass), l->theta[0], l->theta + l->layout.n_rest,
                           l->theta + l->layout.U, value, err);
    if (st != ADVGP_OK) return st;
    st = l->kept ? gp_pass_kept_gradient(l->pass, l->theta, l->gradient, err)
                 : gp_pass_run(l->pass, l->theta, GP_PASS_REST, l->rows, NULL, l->gradient, err);
    if (st != ADVGP_OK) return st;
    *value /= l->n_rows;
    for (size_t i = 0; i < n; i++) gradient[i] = l->gradient[i] / l->n_rows;
    return ADVGP_OK;
}

static advgp_status prepare(local_fit *l, const gp_cells *cells, size_t cell, advgp_error *err)
{
    advgp_status st = gp_cells_features(cells, cell, &l->f, err);
    l->kept = l->rows.X.rows <= KEPT_ROWS_MAX;
    if (st == ADVGP_OK) st = gp_pass_new(l->f, l->kept ? l->rows.X.rows : 0, &l->pass, err);
    if (st == ADVGP_OK) st = gp_qw_new(l->f->M, &l->qw, err);
    if (st != ADVGP_OK) return st;
    l->layout = gp_theta_layout_of(l->f);
    l->theta = gp_alloc(2 * l->layout.size, sizeof(double));
    if (!l->theta) return gp_fail(err, ADVGP_ENOMEM, "no memory for the fit of a cell");
    l->gradient = l->theta + l->layout.size;
    gp_theta_start_q(l->layout, l->theta);
    return ADVGP_OK;
}

advgp_status gp_local_fit(gp_cells *cells, size_t cell, gp_batch rows, size_t iterations, advgp_error *err)
{
    local_fit l = {.rows = rows};
    const gp_lbfgs_options o = {.max_iterations = iterations, .gradient_tol = 1e-6, .value_tol = 1e-5};
    gp_lbfgs_result result = {0};
    for (size_t i = 0; i < rows.X.rows; i++) l.n_rows += rows.w ? rows.w[i] : 1;
    advgp_status st = prepare(&l, cells, cell, err);
    if (st == ADVGP_OK && iterations)
        st = gp_lbfgs(bound, &l, l.layout.n_rest, cells->theta + cells->theta_at[cell], &o, &result, err);
    gp_free(l.theta);
    gp_qw_free(l.qw);
    gp_pass_free(l.pass);
    gp_features_free(l.f);
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
    advgp_status st = scaled && rows ? ADVGP_OK
                                     : gp_fail(err, ADVGP_ENOMEM, "no memory for a cell of %zu rows", X.rows);
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
