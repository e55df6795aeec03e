// explanation.c: the list of terms and neighbours, and what all predictors over features share.
#include "model/explanation.h"
#include "linalg/dense.h"

#include <math.h>
#include <string.h>

enum { TERMS_BESIDE = 4 }; // constant, line, cell and its trend; the others are components

// ---- the lists ------------------------------------------------------------------------------------------------------

static gp_explanation *plan(size_t d, size_t n_components, size_t max_near, gp_arena *arena)
{
    gp_explanation *self = gp_arena_bytes(arena, 1, sizeof *self);
    const gp_explanation cut = {
        .terms = gp_arena_bytes(arena, n_components + TERMS_BESIDE, sizeof(gp_term)),
        .line = gp_arena_doubles(arena, d),
        .near = gp_arena_bytes(arena, max_near, sizeof(gp_neighbour)),
        .max_near = max_near,
    };
    if (self) *self = cut;
    return self;
}

advgp_status gp_explanation_new(const gp_predictor *p, size_t max_near, gp_explanation **out, advgp_error *err)
{
    const gp_features *f = gp_predictor_features(p);
    const size_t n_components = f ? f->n_components : 1; // an exact process has one kernel
    gp_arena arena = {0};
    *out = NULL;
    (void)plan(p->d, n_components, max_near, &arena);
    if (!gp_arena_take(&arena)) return gp_no_memory(err);
    *out = plan(p->d, n_components, max_near, &arena);
    return ADVGP_OK;
}

void gp_explanation_free(gp_explanation *explanation)
{
    gp_free(explanation);
}

void gp_explanation_term(gp_explanation *e, gp_term_kind kind, size_t number, double mean)
{
    e->terms[e->n_terms++] = (gp_term){.kind = kind, .number = number, .mean = mean};
}

void gp_explanation_near(gp_explanation *e, gp_neighbour neighbour)
{
    if (e->n_near == e->max_near && !(e->max_near && neighbour.distance < e->near[e->n_near - 1].distance)) return;
    size_t at = e->n_near < e->max_near ? e->n_near++ : e->n_near - 1;
    for (; at && neighbour.distance < e->near[at - 1].distance; at--) e->near[at] = e->near[at - 1];
    e->near[at] = neighbour;
}

// ---- features -------------------------------------------------------------------------------------------------------

void gp_explain_inducing(gp_explained_kernel kernel, const double *x, const double *k, double a0sq, gp_explanation *e)
{
    e->prior += a0sq;
    for (size_t j = 0; j < kernel.m; j++) {
        const double *z = kernel.Z + j * kernel.d;
        double square = 0;
        for (size_t i = 0; i < kernel.d; i++) square += kernel.eta[i] * (x[i] - z[i]) * (x[i] - z[i]);
        gp_explanation_near(e, (gp_neighbour){.local = kernel.local,
                                              .of = kernel.of,
                                              .number = j,
                                              .distance = sqrt(square),
                                              .correlation = k[j] / a0sq,
                                              .z = z});
    }
}

// The columns behind those of kernels are 1 and, in a line, x: a has the slopes.
static double explain_trend(const gp_features *f, const double *a, const double *x, double *line)
{
    double sum = 0;
    for (size_t i = 0; f->trend == GP_TREND_LINEAR && i < f->d; i++) {
        const double of_input = a[f->n_kernel_cols + 1 + i] * x[i];
        if (line) line[i] = of_input;
        sum += of_input;
    }
    return sum;
}

void gp_explain_features(const gp_features *f, const double *a, const double *x, const double *k, long cell,
                         gp_explanation *e)
{
    const bool local = cell != GP_GLOBAL;
    const double constant = f->trend != GP_TREND_NONE ? a[f->n_kernel_cols] : 0;
    const double line = explain_trend(f, a, x, local ? NULL : e->line);
    if (local && f->trend != GP_TREND_NONE) gp_explanation_term(e, GP_TERM_CELL_TREND, (size_t)cell, constant + line);
    if (!local && f->trend != GP_TREND_NONE) gp_explanation_term(e, GP_TERM_CONSTANT, 0, constant);
    if (!local && f->trend == GP_TREND_LINEAR) gp_explanation_term(e, GP_TERM_LINE, 0, line);
    for (size_t b = 0; b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        const size_t of = local ? (size_t)cell : b;
        gp_explanation_term(e, local ? GP_TERM_CELL : GP_TERM_COMPONENT, of, gp_dot(c->m, k + c->col, a + c->col));
        gp_explain_inducing(
            (gp_explained_kernel){.local = local, .of = of, .m = c->m, .d = f->d, .Z = c->Z.p, .eta = c->eta}, x,
            k + c->col, c->a0sq, e);
    }
}

// ---- a row ----------------------------------------------------------------------------------------------------------

advgp_status gp_explain(const gp_predictor *p, gp_predict_work *work, const double *x, gp_explanation *out,
                        advgp_error *err)
{
    const advgp_status st = gp_predict_check(p, work, gp_cmat_of(x, 1, p->d), err);
    if (st != ADVGP_OK) return st;
    out->n_terms = out->n_near = 0;
    out->prior = 0;
    memset(out->line, 0, p->d * sizeof *out->line);
    p->ops->explain(p, x, work->views, out);
    for (size_t i = 0; i < out->n_terms; i++)
        if (!isfinite(out->terms[i].mean))
            return gp_fail(err, ADVGP_ENUMERIC, "explain: the row has inputs too large for double precision");
    return ADVGP_OK;
}
