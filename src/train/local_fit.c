// local_fit.c: one cell: the bound with q(w) at its optimum, and its gradient, by one pass over the rows, which are
// kept meanwhile; a cell of very many rows is looked at twice.
#include "train/local_fit.h"
#include "base/alloc.h"
#include "linalg/interrupt.h"
#include "model/qw.h"
#include "optim/lbfgs.h"

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
