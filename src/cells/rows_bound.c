// rows_bound.c: one pass over the rows where they are kept meanwhile; very many are looked at twice.
#include "cells/rows_bound.h"
#include "base/alloc.h"

#include <string.h>

enum { KEPT_ROWS_MAX = 4096 }; // their columns and features take 10 MB at m = 100

advgp_status gp_rows_bound_init(gp_rows_bound *b, gp_features *f, gp_batch rows, advgp_error *err)
{
    *b = (gp_rows_bound){.rows = rows, .kept = rows.X.rows <= KEPT_ROWS_MAX, .f = f, .layout = gp_theta_layout_of(f)};
    for (size_t i = 0; i < rows.X.rows; i++) b->n_rows += rows.w ? rows.w[i] : 1;
    advgp_status st = gp_pass_new(f, b->kept ? rows.X.rows : 0, &b->pass, err);
    if (st == ADVGP_OK) st = gp_qw_new(f->M, &b->qw, err);
    if (st != ADVGP_OK) return st;
    b->theta = gp_alloc(2 * b->layout.size, sizeof(double));
    if (!b->theta) return gp_no_memory(err);
    b->gradient = b->theta + b->layout.size;
    gp_theta_start_q(b->layout, b->theta);
    return ADVGP_OK;
}

void gp_rows_bound_fini(gp_rows_bound *b)
{
    gp_free(b->theta);
    gp_qw_free(b->qw);
    gp_pass_free(b->pass);
    gp_features_free(b->f);
}

advgp_status gp_rows_bound_value(gp_rows_bound *b, const double *x, double *value, double *gradient, advgp_error *err)
{
    const size_t n = b->layout.n_rest;
    memcpy(b->theta, x, n * sizeof *x);
    advgp_status st = gp_pass_run(b->pass, b->theta, b->kept ? GP_PASS_KEEP : GP_PASS_STATS, b->rows, NULL, NULL, err);
    if (st == ADVGP_OK)
        st = gp_qw_optimal(b->qw, gp_pass_stats(b->pass), b->theta[0], b->theta + n, b->theta + b->layout.U, value,
                           err);
    if (st != ADVGP_OK) return st;
    st = b->kept ? gp_pass_kept_gradient(b->pass, b->theta, b->gradient, err)
                 : gp_pass_run(b->pass, b->theta, GP_PASS_REST, b->rows, NULL, b->gradient, err);
    if (st != ADVGP_OK) return st;
    *value /= b->n_rows;
    for (size_t i = 0; i < n; i++) gradient[i] = b->gradient[i] / b->n_rows;
    return ADVGP_OK;
}
