// exact_predictor.c: the exact process as a predictor: an oracle that was restored, asked in blocks. All of its
// variance is what the rows have left, so there is no residual.
#include "model/exact.h"

#include <math.h>
#include <string.h>

typedef struct exact_predictor {
    gp_predictor base;
    gp_exact *exact;
    size_t n;
} exact_predictor;

enum { COLUMNS, SCRATCH }; // the views of a block

static void plan(const gp_predictor *self, size_t B, gp_arena *arena, gp_mat views[GP_PREDICT_VIEWS])
{
    const size_t n = ((const exact_predictor *)self)->n;
    views[COLUMNS] = gp_mat_of(gp_arena_doubles(arena, n * B), n, B);
    views[SCRATCH] = gp_mat_of(gp_arena_doubles(arena, n * B), n, B);
}

static void block(const gp_predictor *self, gp_cmat X, const gp_mat views[GP_PREDICT_VIEWS], double *mean,
                  double *spread, double *residual)
{
    const exact_predictor *p = (const exact_predictor *)self;
    gp_exact_block(p->exact, X, gp_mat_of(views[COLUMNS].p, p->n, X.rows), gp_mat_of(views[SCRATCH].p, p->n, X.rows),
                   mean, spread);
    if (residual) memset(residual, 0, X.rows * sizeof *residual);
}

static void explain(const gp_predictor *self, const double *x, const gp_mat views[GP_PREDICT_VIEWS],
                    gp_explanation *out)
{
    const exact_predictor *p = (const exact_predictor *)self;
    gp_exact_explain(p->exact, x, gp_mat_of(views[COLUMNS].p, p->n, 1), out);
}

static advgp_status left_out(const gp_predictor *self, size_t n, double *deviation, double *variance, advgp_error *err)
{
    return gp_exact_left_out(((const exact_predictor *)self)->exact, n, deviation, variance, err);
}

static void exact_free(gp_predictor *self)
{
    gp_exact_free(((exact_predictor *)self)->exact);
    gp_free(self);
}

static const gp_predictor_ops exact_ops = {
    .plan = plan, .block = block, .explain = explain, .left_out = left_out, .free = exact_free};

size_t gp_exact_fit_n_hyper(size_t d, gp_trend trend)
{
    return gp_exact_n_hyper(&(gp_exact_spec){.d = d, .n_components = 1, .trend = trend});
}

advgp_status gp_exact_predictor_new(const gp_exact_fit *fit, gp_predictor **out, advgp_error *err)
{
    *out = NULL;
    for (size_t i = 0; fit->w && i < fit->X.rows; i++) // rows of weight 0 would be dropped, and the weights shift
        if (!(fit->w[i] > 0)) return gp_fail(err, ADVGP_EDATA, "exact: row %zu has the weight %g", i, fit->w[i]);
    const gp_exact_spec spec = {.d = fit->X.cols, .n_components = 1, .kernels = &fit->kernel, .trend = fit->trend};
    exact_predictor *p = gp_alloc(1, sizeof *p);
    if (!p) return gp_no_memory(err);
    p->base = (gp_predictor){.ops = &exact_ops, .d = fit->X.cols, .noise = exp(2 * fit->hyper[0])};
    p->n = fit->X.rows;
    // Targets are not needed any more; the weights stand in their place and pass the same checks.
    advgp_status st = gp_exact_new(&spec, (gp_batch){.X = fit->X, .y = fit->alpha, .w = fit->w}, &p->exact, err);
    if (st == ADVGP_OK) st = gp_exact_restore(p->exact, fit->hyper, fit->jitter, fit->alpha, err);
    if (st == ADVGP_OK)
        *out = &p->base;
    else
        gp_predictor_free(&p->base);
    return st;
}
