// scale_search.c: the bound of a scale and its gradient, without the part of the inducing inputs.
#include "learn/scale_search.h"
#include "cells/rows_bound.h"
#include "optim/lbfgs.h"

#include <math.h>
#include <string.h>

static const double farthest = 25; // |ln|: beyond it lies overflow, not a scale

static advgp_status bound(void *ctx, const double *x, size_t n, double *value, double *gradient, advgp_error *err)
{
    gp_rows_bound *b = ctx;
    const gp_component *c = &b->f->components[0];
    const size_t Z = c->param + 1 + b->f->d;
    for (size_t i = 0; i < n; i++)
        if ((i < Z || i >= Z + c->m * b->f->d) && !(fabs(x[i]) <= farthest))
            return gp_fail(err, ADVGP_ENUMERIC, "a parameter of the scale is extreme");
    const advgp_status st = gp_rows_bound_value(b, x, value, gradient, err);
    if (st == ADVGP_OK)
        memset(gradient + Z, 0, c->m * b->f->d * sizeof *gradient); // where there is no slope L-BFGS does not go
    return st;
}

advgp_status gp_scale_search(gp_model *noise, gp_batch rows, size_t iterations, advgp_error *err)
{
    const gp_lbfgs_options o = {.max_iterations = iterations, .gradient_tol = 1e-5, .value_tol = 1e-4};
    gp_features *f = NULL;
    gp_rows_bound b = {0};
    gp_lbfgs_result result = {0};
    advgp_status st = gp_features_new(&noise->spec, &f, err);
    if (st == ADVGP_OK) st = gp_rows_bound_init(&b, f, rows, err);
    if (st == ADVGP_OK) st = gp_lbfgs(bound, &b, b.layout.n_rest, noise->theta, &o, &result, err);
    gp_rows_bound_fini(&b);
    return st;
}
