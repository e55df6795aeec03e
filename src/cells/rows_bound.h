// rows_bound.h: the collapsed bound of rows in memory, with q(w) at its optimum, and its gradient there. For the fit of
// a cell and of a scale; of all training rows, over the workers of a run, it is collapsed.h's.
#pragma once
#include "model/pass.h"
#include "model/qw.h"
#include "model/theta.h"

typedef struct gp_rows_bound {
    gp_batch rows; // borrowed
    bool kept;     // columns and features of all rows stay in memory between value and gradient
    gp_features *f;
    gp_pass *pass;
    gp_qw *qw;
    gp_theta_layout layout;
    double *theta, *gradient; // [layout.size]
    double n_rows;            // the sum of weights
} gp_rows_bound;

// Takes f, whatever comes of it. On failure, too, fini is due.
advgp_status gp_rows_bound_init(gp_rows_bound *bound, gp_features *f, gp_batch rows, advgp_error *err);
void gp_rows_bound_fini(gp_rows_bound *bound);
// Both a row, at x, the layout's n_rest parameters before mu.
advgp_status gp_rows_bound_value(gp_rows_bound *bound, const double *x, double *value, double *gradient,
                                 advgp_error *err);
