// weight_predictor.c: mean = K~ a, a = L~ mu. The variance in its parts: |U phi|^2 + max(0, residual), phi = K~ L~, two
// triangular products and nothing that could come out negative: the plain way. The variance alone: where Sigma <= I, as
// at every optimum, I - Sigma = F^T F, and k(x, x) - |R k~|^2 with R = F L~^T is one triangular product. k(x, x) has
// the trend's prior variance in it. That is a difference: where little is left of k(x, x), the plain way is asked.
#include "linalg/dense.h"
#include "linalg/factor.h"
#include "linalg/interrupt.h"
#include "linalg/tile.h"
#include "model/explanation.h"
#include "model/predict.h"
#include "model/theta.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct weight_predictor {
    gp_predictor base;
    gp_features *f;
    double *a;       // [n_cols]
    gp_mat U;        // M x M
    double *R;       // packed (tile.h)
    bool R_is_upper; // every map is lower triangular
    bool in_one;     // R exists: Sigma <= I
} weight_predictor;

enum { X1, COLUMNS, PHI, V }; // the views of a block

// Rounding in the difference is some 1e-14 of k(x, x): above this share of it at least eight digits are right.
static const double least_share = 1e-6;

static const weight_predictor *of(const gp_predictor *p)
{
    return (const weight_predictor *)p;
}

// ---- prediction -------------------------------------------------------------------------------------------

static void plan_block(const gp_predictor *self, size_t B, gp_arena *arena, gp_mat views[GP_PREDICT_VIEWS])
{
    const gp_features *f = of(self)->f;
    views[X1] = gp_mat_of(gp_arena_doubles(arena, B * (f->d + 2)), B, f->d + 2);
    const size_t row = gp_features_row(f);
    views[COLUMNS] = (gp_mat){gp_arena_doubles(arena, B * row), B, f->n_cols, row};
    views[PHI] = gp_mat_of(gp_arena_doubles(arena, B * f->M), B, f->M);
    views[V] = gp_mat_of(gp_arena_doubles(arena, B * f->M), B, f->M);
}

static gp_mat columns(const gp_features *f, gp_cmat X, const gp_mat views[GP_PREDICT_VIEWS])
{
    const size_t d = f->d, B = X.rows;
    const gp_mat x1 = gp_mat_part(views[X1], 0, 0, B, d + 2);
    for (size_t i = 0; i < B; i++) {
        x1.p[i * x1.ld] = 1;
        memcpy(x1.p + i * x1.ld + 1, X.p + i * X.ld, d * sizeof(double));
    }
    const gp_mat K = gp_mat_part(views[COLUMNS], 0, 0, B, f->n_cols);
    gp_features_columns(f, x1, K, NULL);
    return K;
}

// The plain way, from the columns of some rows.
static void parts(const weight_predictor *p, gp_cmat K, const gp_mat views[GP_PREDICT_VIEWS], double *spread,
                  double *residual)
{
    const size_t M = p->f->M, B = K.rows;
    const gp_mat phi = gp_mat_part(views[PHI], 0, 0, B, M), v = gp_mat_part(views[V], 0, 0, B, M);
    gp_features_right(p->f, K, phi);
    gp_mat_copy(gp_ro(phi), v);
    gp_trmm_right(GP_UPPER, GP_TRANSPOSED, gp_ro(p->U), v); // rows are (U phi)^T
    for (size_t i = 0; i < B; i++) {
        spread[i] = gp_dot(M, v.p + i * M, v.p + i * M);
        residual[i] = gp_features_residual(p->f, phi.p + i * M);
    }
}

// Few rows at a time: from distances to the mean they stay in the first cache.
static gp_mat columns_and_mean(const weight_predictor *p, gp_cmat X, size_t first, const gp_mat views[GP_PREDICT_VIEWS],
                               double *mean)
{
    const size_t n = X.rows - first < GP_TILE_ROWS ? X.rows - first : GP_TILE_ROWS;
    const gp_mat K = columns(p->f, gp_cmat_part(X, first, 0, n, X.cols), views);
    gp_tile_dots(gp_ro(K), p->a, mean + first);
    return K;
}

static void block(const gp_predictor *self, gp_cmat X, const gp_mat views[GP_PREDICT_VIEWS], double *mean,
                  double *spread, double *residual)
{
    const weight_predictor *p = of(self);
    for (size_t i = 0; !spread && i < X.rows; i += GP_TILE_ROWS) (void)columns_and_mean(p, X, i, views, mean);
    if (!spread) return;
    const gp_mat K = columns(p->f, X, views);
    gp_tile_dots(gp_ro(K), p->a, mean);
    parts(p, gp_ro(K), views, spread, residual);
}

static double prior(const gp_features *f, const double *x)
{
    return f->a0sq_sum + f->s_c * f->s_c + (f->s_l > 0 ? f->s_l * f->s_l * gp_dot(f->d, x, x) : 0);
}

static bool in_one(const gp_predictor *self, gp_cmat X, const gp_mat views[GP_PREDICT_VIEWS], double *mean, double *var)
{
    const weight_predictor *p = of(self);
    if (!p->in_one) return false;
    for (size_t first = 0; first < X.rows; first += GP_TILE_ROWS) {
        const gp_mat K = columns_and_mean(p, X, first, views, mean);
        double known[GP_TILE_ROWS]; // |R k~|^2: by how much the rows have narrowed the prior
        gp_tile_squares(p->f->M, p->R_is_upper, p->R, gp_ro(K), known);
        for (size_t i = 0; i < K.rows; i++) {
            const double before = prior(p->f, X.p + (first + i) * X.ld), after = before - known[i];
            var[first + i] = after;
            if (after >= least_share * before || isnan(after)) continue;
            double spread, residual;
            parts(p, gp_cmat_part(gp_ro(K), i, 0, 1, K.cols), views, &spread, &residual);
            var[first + i] = spread + residual;
        }
    }
    return true;
}

static void explain(const gp_predictor *self, const double *x, const gp_mat views[GP_PREDICT_VIEWS],
                    gp_explanation *out)
{
    const weight_predictor *p = of(self);
    const gp_mat K = columns(p->f, gp_cmat_of(x, 1, p->f->d), views);
    gp_explain_features(p->f, p->a, x, K.p, GP_GLOBAL, out);
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

static const gp_predictor_ops weight_ops = {.plan = plan_block,
                                            .block = block,
                                            .in_one = in_one,
                                            .features = features,
                                            .explain = explain,
                                            .free = weight_free};

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

static bool maps_are_lower(const gp_features *f)
{
    bool lower = true;
    for (size_t b = 0; b < f->n_components; b++) lower = lower && f->components[b].map->lower;
    return lower;
}

// F^T, lower triangular, with F^T F = I - Sigma. Directions that no row has seen have Sigma = 1, and rounding may make
// it more: a diagonal of that size is added, which takes as little from the variance. False where Sigma is larger
// still.
static bool factor_known(const weight_predictor *p, gp_mat FT)
{
    const size_t M = p->f->M;
    gp_mat_copy(gp_ro(p->U), FT);
    gp_trmm_left(GP_UPPER, GP_TRANSPOSED, gp_ro(p->U), FT); // Sigma
    for (size_t i = 0; i < M * M; i++) FT.p[i] = -FT.p[i];
    for (size_t i = 0; i < M; i++) FT.p[i * M + i] += 1 + 4 * (double)M * DBL_EPSILON;
    return gp_cholesky(FT);
}

static advgp_status make_R(weight_predictor *p, advgp_error *err)
{
    const size_t M = p->f->M, n = p->f->n_cols;
    double *room = gp_alloc(M * (M + n), sizeof *room);
    if (!room) return gp_no_memory(err);
    const gp_mat FT = gp_mat_of(room, M, M), RT = gp_mat_of(room + M * M, n, M);
    p->in_one = factor_known(p, FT);
    if (p->in_one) {
        gp_features_left(p->f, gp_ro(FT), RT);
        gp_tile_pack(gp_ro(RT), p->R_is_upper, p->R);
    }
    gp_free(room);
    return gp_interrupt_status(ADVGP_OK, "a predictor", err);
}

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
    return make_R(p, err);
}

static weight_predictor *plan(gp_features *f, gp_arena *arena)
{
    weight_predictor *self = gp_arena_bytes(arena, 1, sizeof *self);
    const weight_predictor cut = {
        .base = {.ops = &weight_ops, .d = f->d},
        .f = f,
        .a = gp_arena_doubles(arena, f->n_cols),
        .U = gp_mat_of(gp_arena_doubles(arena, f->M * f->M), f->M, f->M),
        .R = gp_arena_doubles(arena, gp_tile_packed(f->M, f->n_cols, maps_are_lower(f))),
        .R_is_upper = maps_are_lower(f),
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
        st = gp_no_memory(err);
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
