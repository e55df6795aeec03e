// scale_search.c: the bound of a scale and its gradient, without the part of the inducing inputs.
#include "train/scale_search.h"
#include "base/alloc.h"
#include "model/qw.h"
#include "optim/lbfgs.h"

#include <math.h>
#include <string.h>

static const double farthest = 25; // |ln|: beyond it lies overflow, not a scale

typedef struct search {
    gp_batch rows;
    gp_features *f;
    gp_pass *pass;
    gp_qw *qw;
    gp_theta_layout layout;
    double *theta, *gradient; // [layout.size]
    double n_rows;
} search;

static advgp_status bound(void *ctx, const double *x, size_t n, double *value, double *gradient, advgp_error *err)
{
    search *s = ctx;
    const gp_component *c = &s->f->components[0];
    const size_t Z = c->param + 1 + s->f->d;
    for (size_t i = 0; i < n; i++)
        if ((i < Z || i >= Z + c->m * s->f->d) && !(fabs(x[i]) <= farthest))
            return gp_fail(err, ADVGP_ENUMERIC, "a parameter of the scale is extreme");
    memcpy(s->theta, x, n * sizeof *x);
    advgp_status st = gp_pass_run(s->pass, s->theta, GP_PASS_KEEP, s->rows, NULL, NULL, err);
    if (st == ADVGP_OK)
        st = gp_qw_optimal(s->qw, gp_pass_stats(s->pass), s->theta[0], s->theta + s->layout.n_rest,
                           s->theta + s->layout.U, value, err);
    if (st == ADVGP_OK) st = gp_pass_kept_gradient(s->pass, s->theta, s->gradient, err);
    if (st != ADVGP_OK) return st;
    *value /= s->n_rows;
    for (size_t i = 0; i < n; i++) gradient[i] = s->gradient[i] / s->n_rows;
    memset(gradient + Z, 0, c->m * s->f->d * sizeof *gradient); // where there is no slope L-BFGS does not go
    return ADVGP_OK;
}

advgp_status gp_scale_search(gp_model *noise, gp_batch rows, size_t iterations, advgp_error *err)
{
    search s = {.rows = rows, .layout = noise->layout};
    const gp_lbfgs_options o = {.max_iterations = iterations, .gradient_tol = 1e-5, .value_tol = 1e-4};
    gp_lbfgs_result result = {0};
    for (size_t i = 0; i < rows.X.rows; i++) s.n_rows += rows.w ? rows.w[i] : 1;
    advgp_status st = gp_features_new(&noise->spec, &s.f, err);
    if (st == ADVGP_OK) st = gp_pass_new(s.f, rows.X.rows, &s.pass, err);
    if (st == ADVGP_OK) st = gp_qw_new(s.layout.M, &s.qw, err);
    if (st == ADVGP_OK) {
        s.theta = gp_alloc(2 * s.layout.size, sizeof(double));
        s.gradient = s.theta ? s.theta + s.layout.size : NULL;
        st = s.theta ? gp_lbfgs(bound, &s, s.layout.n_rest, noise->theta, &o, &result, err)
                     : gp_fail(err, ADVGP_ENOMEM, "no memory for %zu parameters of a scale", s.layout.size);
    }
    gp_free(s.theta);
    gp_qw_free(s.qw);
    gp_pass_free(s.pass);
    gp_features_free(s.f);
    return st;
}
