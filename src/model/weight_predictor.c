// weight_predictor.c: mean = K~ a, a = L~ mu; variance = |U phi|^2 + max(0, residual), phi = K~ L~. Both products with
// triangular matrices, so the sum of squares costs no more than the difference of docs/math.md 6 and cannot come out
// negative.
#include "linalg/dense.h"
#include "model/predict.h"
#include "model/theta.h"

#include <math.h>

typedef struct weight_predictor {
    gp_predictor base;
    gp_features *f;
    double *a; // [n_cols]
    gp_mat U;  // M x M
} weight_predictor;

enum { X1, XSQ, COLUMNS, PHI, V }; // the views of a block

static const weight_predictor *of(const gp_predictor *p)
{
    return (const weight_predictor *)p;
}

// ---- prediction -------------------------------------------------------------------------------------------

static void plan_block(const gp_predictor *self, size_t B, gp_arena *arena, gp_mat views[GP_PREDICT_VIEWS])
{
    const gp_features *f = of(self)->f;
    views[X1] = gp_mat_of(gp_arena_doubles(arena, B * (f->d + 2)), B, f->d + 2);
    views[XSQ] = gp_mat_of(gp_arena_doubles(arena, B * f->d), B, f->d);
    views[COLUMNS] = gp_mat_of(gp_arena_doubles(arena, B * f->n_cols), B, f->n_cols);
    views[PHI] = gp_mat_of(gp_arena_doubles(arena, B * f->M), B, f->M);
    views[V] = gp_mat_of(gp_arena_doubles(arena, B * f->M), B, f->M);
}

static gp_mat columns(const gp_features *f, gp_cmat X, const gp_mat views[GP_PREDICT_VIEWS])
{
    const size_t d = f->d, B = X.rows;
    const gp_mat x1 = gp_mat_part(views[X1], 0, 0, B, d + 2), xsq = gp_mat_part(views[XSQ], 0, 0, B, d);
    for (size_t i = 0; i < B; i++) {
        const double *x = X.p + i * X.ld;
        x1.p[i * x1.ld] = 1;
        for (size_t k = 0; k < d; k++) x1.p[i * x1.ld + 1 + k] = x[k], xsq.p[i * xsq.ld + k] = x[k] * x[k];
    }
    const gp_mat K = gp_mat_part(views[COLUMNS], 0, 0, B, f->n_cols);
    gp_features_columns(f, x1, gp_ro(xsq), K, NULL);
    return K;
}

static void block(const gp_predictor *self, gp_cmat X, const gp_mat views[GP_PREDICT_VIEWS], double *mean,
                  double *spread, double *residual)
{
    const weight_predictor *p = of(self);
    const size_t M = p->f->M, B = X.rows;
    const gp_mat K = columns(p->f, X, views);
    gp_gemv(GP_AS_IS, 1, gp_ro(K), p->a, 0, mean);
    if (!spread) return;
    const gp_mat phi = gp_mat_part(views[PHI], 0, 0, B, M), v = gp_mat_part(views[V], 0, 0, B, M);
    gp_features_right(p->f, gp_ro(K), phi);
    gp_mat_copy(gp_ro(phi), v);
    gp_trmm_right(GP_UPPER, GP_TRANSPOSED, gp_ro(p->U), v); // rows are (U phi)^T
    for (size_t i = 0; i < B; i++) {
        spread[i] = gp_dot(M, v.p + i * M, v.p + i * M);
        residual[i] = gp_features_residual(p->f, phi.p + i * M);
    }
}

static void weight_free(gp_predictor *self)
{
    gp_features_free(((weight_predictor *)self)->f);
    gp_free(self);
}

static const gp_features *features(const gp_predictor *self)
{
    return of(self)->f;
}

static const gp_predictor_ops weight_ops = {
    .plan = plan_block, .block = block, .features = features, .free = weight_free};

advgp_status gp_predict_features(const gp_predictor *self, gp_predict_work *work, gp_cmat X, gp_mat phi,
                                 double *residual, advgp_error *err)
{
    advgp_status st = gp_predict_check(self, work, X, err);
    if (st != ADVGP_OK) return st;
    const gp_features *f = gp_predictor_features(self);
    if (!f || self->ops != &weight_ops) return gp_fail(err, ADVGP_EINVAL, "predict: this model has no features");
    if (X.rows && (!phi.p || phi.rows != X.rows || phi.cols != f->M))
        return gp_fail(err, ADVGP_EINVAL, "predict: features need a matrix of %zu x %zu", X.rows, f->M);
    for (size_t first = 0; first < X.rows; first += work->block_rows) {
        const size_t B = X.rows - first < work->block_rows ? X.rows - first : work->block_rows;
        const gp_mat K = columns(f, gp_cmat_part(X, first, 0, B, X.cols), work->views);
        gp_features_right(f, gp_ro(K), gp_mat_part(phi, first, 0, B, phi.cols));
        for (size_t i = 0; residual && i < B; i++)
            residual[first + i] = gp_features_residual(f, phi.p + (first + i) * phi.ld);
    }
    return ADVGP_OK;
}

// ---- construction -----------------------------------------------------------------------------------------

static advgp_status fill(weight_predictor *p, const double *theta, advgp_error *err)
{
    const gp_theta_layout layout = gp_theta_layout_of(p->f);
    p->base.noise = exp(2 * theta[0]);
    if (!(isfinite(p->base.noise) && p->base.noise > 0))
        return gp_fail(err, ADVGP_ENUMERIC, "the noise is out of range: ln sigma = %g", theta[0]);
    if (!gp_all_finite(layout.size, theta)) return gp_fail(err, ADVGP_ENUMERIC, "a parameter is not finite");
    advgp_status st = gp_features_set(p->f, theta, err);
    if (st != ADVGP_OK) return st;
    gp_upper_unpack(layout.M, theta + layout.U, p->U);
    gp_features_left(p->f, gp_cmat_of(theta + layout.n_rest, layout.M, 1), gp_mat_of(p->a, p->f->n_cols, 1));
    return ADVGP_OK;
}

static weight_predictor *plan(gp_features *f, gp_arena *arena)
{
    weight_predictor *self = gp_arena_bytes(arena, 1, sizeof *self);
    const weight_predictor cut = {
        .base = {.ops = &weight_ops, .d = f->d},
        .f = f,
        .a = gp_arena_doubles(arena, f->n_cols),
        .U = gp_mat_of(gp_arena_doubles(arena, f->M * f->M), f->M, f->M),
    };
    if (self) *self = cut;
    return self;
}

advgp_status gp_predictor_new(const gp_feature_spec *spec, const double *theta, gp_predictor **out, advgp_error *err)
{
    if (!out || !theta) return gp_fail(err, ADVGP_EINVAL, "predictor: no parameters, or nowhere to put the result");
    *out = NULL;
    gp_features *f = NULL;
    advgp_status st = gp_features_new(spec, &f, err);
    if (st != ADVGP_OK) return st;
    gp_arena arena = {0};
    (void)plan(f, &arena);
    if (!gp_arena_take(&arena)) {
        st = gp_fail(err, ADVGP_ENOMEM, "predictor: no memory for %zu features", f->M);
        gp_features_free(f);
        return st;
    }
    weight_predictor *p = plan(f, &arena);
    st = fill(p, theta, err);
    if (st == ADVGP_OK)
        *out = &p->base;
    else
        gp_predictor_free(&p->base);
    return st;
}
