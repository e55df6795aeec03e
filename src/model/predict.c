// predict.c: mean = K~ a, a = L~ mu; variance = |U phi|^2 + max(0, residual), phi = K~ L~. Both products with
// triangular matrices, so the sum of squares costs no more than the difference of docs/math.md 6 and cannot come out
// negative.
#include "model/predict.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "model/theta.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_BLOCK_ROWS = 256 };

struct gp_predictor {
    gp_features *f;
    double noise; // sigma^2
    double *a;    // [n_cols]
    gp_mat U;     // M x M
};

struct gp_predict_work {
    size_t block_rows;
    gp_mat X1, Xsq, K, Phi, V;
};

// ---- predictor --------------------------------------------------------------------------------------------

static advgp_status fill(gp_predictor *p, const double *theta, advgp_error *err)
{
    const gp_theta_layout layout = gp_theta_layout_of(p->f);
    p->noise = exp(2 * theta[0]);
    if (!(isfinite(p->noise) && p->noise > 0))
        return gp_fail(err, ADVGP_ENUMERIC, "the noise is out of range: ln sigma = %g", theta[0]);
    if (!gp_all_finite(layout.size, theta)) return gp_fail(err, ADVGP_ENUMERIC, "a parameter is not finite");
    advgp_status st = gp_features_set(p->f, theta, err);
    if (st != ADVGP_OK) return st;
    gp_upper_unpack(layout.M, theta + layout.U, p->U);
    gp_features_left(p->f, gp_cmat_of(theta + layout.n_rest, layout.M, 1), gp_mat_of(p->a, p->f->n_cols, 1));
    return ADVGP_OK;
}

static gp_predictor *plan(gp_features *f, gp_carve *carve)
{
    gp_predictor *self = gp_carve_bytes(carve, 1, sizeof *self);
    const gp_predictor cut = {
        .f = f,
        .a = gp_carve_doubles(carve, f->n_cols),
        .U = gp_mat_of(gp_carve_doubles(carve, f->M * f->M), f->M, f->M),
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
    gp_carve carve = {0};
    (void)plan(f, &carve);
    if (!gp_carve_take(&carve)) {
        st = gp_fail(err, ADVGP_ENOMEM, "predictor: no memory for %zu features", f->M);
        gp_features_free(f);
        return st;
    }
    gp_predictor *p = plan(f, &carve);
    st = fill(p, theta, err);
    if (st == ADVGP_OK)
        *out = p;
    else
        gp_predictor_free(p);
    return st;
}

void gp_predictor_free(gp_predictor *predictor)
{
    if (predictor) gp_features_free(predictor->f);
    gp_free(predictor);
}

const gp_features *gp_predictor_features(const gp_predictor *predictor)
{
    return predictor ? predictor->f : NULL;
}

// ---- workspace --------------------------------------------------------------------------------------------

static gp_predict_work *plan_work(const gp_features *f, size_t B, gp_carve *carve)
{
    gp_predict_work *work = gp_carve_bytes(carve, 1, sizeof *work);
    const gp_predict_work cut = {
        .block_rows = B,
        .X1 = gp_mat_of(gp_carve_doubles(carve, B * (f->d + 2)), B, f->d + 2),
        .Xsq = gp_mat_of(gp_carve_doubles(carve, B * f->d), B, f->d),
        .K = gp_mat_of(gp_carve_doubles(carve, B * f->n_cols), B, f->n_cols),
        .Phi = gp_mat_of(gp_carve_doubles(carve, B * f->M), B, f->M),
        .V = gp_mat_of(gp_carve_doubles(carve, B * f->M), B, f->M),
    };
    if (work) *work = cut;
    return work;
}

advgp_status gp_predict_work_new(const gp_predictor *predictor, size_t block_rows, gp_predict_work **out,
                                 advgp_error *err)
{
    if (!out || !predictor) return gp_fail(err, ADVGP_EINVAL, "predict: no predictor, or nowhere to put the workspace");
    *out = NULL;
    const size_t B = block_rows ? block_rows : DEFAULT_BLOCK_ROWS;
    gp_carve carve = {0};
    (void)plan_work(predictor->f, B, &carve);
    if (!gp_carve_take(&carve)) return gp_fail(err, ADVGP_ENOMEM, "predict: no memory for blocks of %zu rows", B);
    *out = plan_work(predictor->f, B, &carve);
    return ADVGP_OK;
}

void gp_predict_work_free(gp_predict_work *work)
{
    gp_free(work);
}

// ---- prediction -------------------------------------------------------------------------------------------

static advgp_status check(const gp_predictor *p, const gp_predict_work *work, gp_cmat X, advgp_error *err)
{
    if (!p || !work) return gp_fail(err, ADVGP_EINVAL, "predict: no predictor or no workspace given");
    if (!X.rows) return ADVGP_OK;
    if (!X.p) return gp_fail(err, ADVGP_EINVAL, "predict: no inputs given");
    if (X.cols != p->f->d)
        return gp_fail(err, ADVGP_EINVAL, "predict: rows have %zu inputs, the model %zu", X.cols, p->f->d);
    for (size_t i = 0; i < X.rows; i++)
        if (!gp_all_finite(X.cols, X.p + i * X.ld))
            return gp_fail(err, ADVGP_EDATA, "predict: row %zu has an input that is not finite", i);
    return ADVGP_OK;
}

// Columns of rows first .. first + B - 1 into work->K.
static gp_mat columns(const gp_predictor *p, gp_predict_work *work, gp_cmat X, size_t first, size_t B)
{
    const size_t d = p->f->d;
    for (size_t i = 0; i < B; i++) {
        const double *x = X.p + (first + i) * X.ld;
        double *x1 = work->X1.p + i * work->X1.ld, *xsq = work->Xsq.p + i * work->Xsq.ld;
        x1[0] = 1;
        for (size_t k = 0; k < d; k++) x1[1 + k] = x[k], xsq[k] = x[k] * x[k];
    }
    gp_mat K = gp_mat_part(work->K, 0, 0, B, p->f->n_cols);
    gp_features_columns(p->f, gp_mat_part(work->X1, 0, 0, B, d + 2), gp_cmat_part(gp_ro(work->Xsq), 0, 0, B, d), K,
                        NULL);
    return K;
}

static void variances(const gp_predictor *p, gp_predict_work *work, gp_cmat K, double *var_f, double *var_y)
{
    const size_t M = p->f->M, B = K.rows;
    gp_mat Phi = gp_mat_part(work->Phi, 0, 0, B, M), V = gp_mat_part(work->V, 0, 0, B, M);
    gp_features_right(p->f, K, Phi);
    gp_mat_copy(gp_ro(Phi), V);
    gp_trmm_right(GP_UPPER, GP_TRANSPOSED, gp_ro(p->U), V); // rows are (U phi)^T
    for (size_t i = 0; i < B; i++) {
        const double *v = V.p + i * M;
        const double var = gp_dot(M, v, v) + gp_features_residual(p->f, Phi.p + i * M);
        if (var_f) var_f[i] = var;
        if (var_y) var_y[i] = var + p->noise;
    }
}

// Inputs far beyond the data can overflow on the way; a NaN must not pass for a prediction.
static advgp_status check_block(size_t first, size_t B, const double *mean, const double *var_f, const double *var_y,
                                advgp_error *err)
{
    for (size_t i = first; i < first + B; i++)
        if (!isfinite(mean[i]) || (var_f && !isfinite(var_f[i])) || (var_y && !isfinite(var_y[i])))
            return gp_fail(err, ADVGP_ENUMERIC, "predict: row %zu has inputs too large for double precision", i);
    return ADVGP_OK;
}

advgp_status gp_predict(const gp_predictor *predictor, gp_predict_work *work, gp_cmat X, double *mean, double *var_f,
                        double *var_y, advgp_error *err)
{
    advgp_status st = check(predictor, work, X, err);
    if (st != ADVGP_OK) return st;
    if (X.rows && !mean) return gp_fail(err, ADVGP_EINVAL, "predict: nowhere to put the mean");
    for (size_t first = 0; first < X.rows; first += work->block_rows) {
        const size_t B = X.rows - first < work->block_rows ? X.rows - first : work->block_rows;
        const gp_mat K = columns(predictor, work, X, first, B);
        gp_gemv(GP_AS_IS, 1, gp_ro(K), predictor->a, 0, mean + first);
        if (var_f || var_y)
            variances(predictor, work, gp_ro(K), var_f ? var_f + first : NULL, var_y ? var_y + first : NULL);
        st = check_block(first, B, mean, var_f, var_y, err);
        if (st != ADVGP_OK) return st;
    }
    return ADVGP_OK;
}

advgp_status gp_predict_features(const gp_predictor *predictor, gp_predict_work *work, gp_cmat X, gp_mat phi,
                                 double *residual, advgp_error *err)
{
    advgp_status st = check(predictor, work, X, err);
    if (st != ADVGP_OK) return st;
    if (X.rows && (!phi.p || phi.rows != X.rows || phi.cols != predictor->f->M))
        return gp_fail(err, ADVGP_EINVAL, "predict: features need a matrix of %zu x %zu", X.rows, predictor->f->M);
    for (size_t first = 0; first < X.rows; first += work->block_rows) {
        const size_t B = X.rows - first < work->block_rows ? X.rows - first : work->block_rows;
        const gp_mat K = columns(predictor, work, X, first, B);
        gp_features_right(predictor->f, gp_ro(K), gp_mat_part(phi, first, 0, B, phi.cols));
        for (size_t i = 0; residual && i < B; i++)
            residual[first + i] = gp_features_residual(predictor->f, phi.p + (first + i) * phi.ld);
    }
    return ADVGP_OK;
}
