// predict.c: what all predictors share: the workspace, the walk in blocks, and the checks before and after.
#include "model/predict.h"
#include "linalg/dense.h"

#include <math.h>

enum { DEFAULT_BLOCK_ROWS = 256 };

void gp_predictor_free(gp_predictor *predictor)
{
    if (!predictor) return;
    gp_predictor_free(predictor->ln_scale);
    predictor->ops->free(predictor);
}

const gp_features *gp_predictor_features(const gp_predictor *predictor)
{
    return predictor && predictor->ops->features ? predictor->ops->features(predictor) : NULL;
}

double gp_predictor_noise(const gp_predictor *predictor)
{
    return predictor->noise;
}

void gp_predictor_vary(gp_predictor *predictor, gp_predictor *ln_scale_take, gp_scale scale)
{
    gp_predictor_free(predictor->ln_scale);
    predictor->ln_scale = ln_scale_take;
    predictor->scale = scale;
}

// ---- workspace --------------------------------------------------------------------------------------------

static gp_predict_work *plan_work(const gp_predictor *p, size_t B, gp_arena *arena)
{
    gp_predict_work *work = gp_arena_bytes(arena, 1, sizeof *work);
    gp_predict_work cut = {.block_rows = B};
    p->ops->plan(p, B, arena, cut.views);
    cut.spread = gp_arena_doubles(arena, B);
    cut.residual = gp_arena_doubles(arena, B);
    cut.noise = gp_arena_doubles(arena, B);
    if (p->ln_scale) p->ln_scale->ops->plan(p->ln_scale, B, arena, cut.scale_views);
    if (work) *work = cut;
    return work;
}

advgp_status gp_predict_work_new(const gp_predictor *predictor, size_t block_rows, gp_predict_work **out,
                                 advgp_error *err)
{
    if (!out || !predictor) return gp_fail(err, ADVGP_EINVAL, "predict: no predictor, or nowhere to put the workspace");
    *out = NULL;
    const size_t suits = predictor->block_rows ? predictor->block_rows : DEFAULT_BLOCK_ROWS;
    const size_t B = block_rows ? block_rows : suits;
    gp_arena arena = {0};
    (void)plan_work(predictor, B, &arena);
    if (!gp_arena_take(&arena)) return gp_fail(err, ADVGP_ENOMEM, "predict: no memory for blocks of %zu rows", B);
    *out = plan_work(predictor, B, &arena);
    return ADVGP_OK;
}

void gp_predict_work_free(gp_predict_work *work)
{
    gp_free(work);
}

// ---- prediction -------------------------------------------------------------------------------------------

advgp_status gp_predict_check(const gp_predictor *p, const gp_predict_work *work, gp_cmat X, advgp_error *err)
{
    if (!p || !work) return gp_fail(err, ADVGP_EINVAL, "predict: no predictor or no workspace given");
    if (!X.rows) return ADVGP_OK;
    if (!X.p) return gp_fail(err, ADVGP_EINVAL, "predict: no inputs given");
    if (X.cols != p->d) return gp_fail(err, ADVGP_EINVAL, "predict: rows have %zu inputs, the model %zu", X.cols, p->d);
    if (X.ld == X.cols && gp_all_finite(X.rows * X.cols, X.p)) return ADVGP_OK;
    for (size_t i = 0; i < X.rows; i++)
        if (!gp_all_finite(X.cols, X.p + i * X.ld))
            return gp_fail(err, ADVGP_EDATA, "predict: row %zu has an input that is not finite", i);
    return ADVGP_OK;
}

// Inputs far beyond the data can overflow on the way; a NaN must not pass for a prediction.
static advgp_status check_block(size_t first, size_t B, const double *mean, const double *spread,
                                const double *residual, advgp_error *err)
{
    for (size_t i = 0; i < B; i++)
        if (!isfinite(mean[first + i]) || (spread && !isfinite(spread[i])) || (residual && !isfinite(residual[i])))
            return gp_fail(err, ADVGP_ENUMERIC, "predict: row %zu has inputs too large for double precision",
                           first + i);
    return ADVGP_OK;
}

static size_t rows_left(const gp_predict_work *work, gp_cmat X, size_t first)
{
    return X.rows - first < work->block_rows ? X.rows - first : work->block_rows;
}

// The variance, where asked for, into work->spread.
static void predict_block(const gp_predictor *p, gp_predict_work *work, gp_cmat X, double *mean, bool with_variance)
{
    if (with_variance && p->ops->in_one && p->ops->in_one(p, X, work->views, mean, work->spread)) return;
    p->ops->block(p, X, work->views, mean, with_variance ? work->spread : NULL, with_variance ? work->residual : NULL);
    for (size_t i = 0; with_variance && i < X.rows; i++) work->spread[i] += work->residual[i];
}

// The variance of the noise of one block. A NaN stays one, for the check to find.
static void noise_of(const gp_predictor *p, gp_predict_work *work, gp_cmat X, double *noise)
{
    if (!p->ln_scale) {
        for (size_t i = 0; i < X.rows; i++) noise[i] = p->noise;
        return;
    }
    p->ln_scale->ops->block(p->ln_scale, X, work->scale_views, noise, NULL, NULL);
    for (size_t i = 0; i < X.rows; i++) {
        const double ln_s = p->scale.centre + p->scale.slope * noise[i];
        const double held = ln_s < p->scale.range[0]   ? p->scale.range[0]
                            : ln_s > p->scale.range[1] ? p->scale.range[1]
                                                       : ln_s;
        noise[i] = exp(2 * held);
    }
}

advgp_status gp_predict(const gp_predictor *p, gp_predict_work *work, gp_cmat X, double *mean, double *var_f,
                        double *var_y, advgp_error *err)
{
    advgp_status st = gp_predict_check(p, work, X, err);
    if (st != ADVGP_OK) return st;
    if (X.rows && !mean) return gp_fail(err, ADVGP_EINVAL, "predict: nowhere to put the mean");
    const bool with_variance = var_f || var_y;
    for (size_t first = 0; first < X.rows; first += work->block_rows) {
        const size_t B = rows_left(work, X, first);
        predict_block(p, work, gp_cmat_part(X, first, 0, B, X.cols), mean + first, with_variance);
        if (var_y) noise_of(p, work, gp_cmat_part(X, first, 0, B, X.cols), work->noise);
        for (size_t i = 0; with_variance && i < B; i++) { // before the check: whoever names the row looks for it here
            if (var_f) var_f[first + i] = work->spread[i];
            if (var_y) var_y[first + i] = work->spread[i] + work->noise[i];
        }
        st = check_block(first, B, mean, with_variance ? work->spread : NULL, NULL, err);
        if (st != ADVGP_OK) return st;
    }
    return ADVGP_OK;
}

advgp_status gp_predict_parts(const gp_predictor *p, gp_predict_work *work, gp_cmat X, double *mean, double *spread,
                              double *residual, advgp_error *err)
{
    advgp_status st = gp_predict_check(p, work, X, err);
    if (st != ADVGP_OK) return st;
    if (X.rows && (!mean || !spread || !residual))
        return gp_fail(err, ADVGP_EINVAL, "predict: nowhere to put the mean or a part of the variance");
    for (size_t first = 0; first < X.rows; first += work->block_rows) {
        const size_t B = rows_left(work, X, first);
        p->ops->block(p, gp_cmat_part(X, first, 0, B, X.cols), work->views, mean + first, spread + first,
                      residual + first);
        st = check_block(first, B, mean, spread + first, residual + first, err);
        if (st != ADVGP_OK) return st;
    }
    return ADVGP_OK;
}

advgp_status gp_predict_noise(const gp_predictor *p, gp_predict_work *work, gp_cmat X, double *noise, advgp_error *err)
{
    advgp_status st = gp_predict_check(p, work, X, err);
    if (st != ADVGP_OK) return st;
    for (size_t first = 0; first < X.rows; first += work->block_rows) {
        const size_t B = rows_left(work, X, first);
        noise_of(p, work, gp_cmat_part(X, first, 0, B, X.cols), noise + first);
        st = check_block(first, B, noise, NULL, NULL, err);
        if (st != ADVGP_OK) return st;
    }
    return ADVGP_OK;
}
