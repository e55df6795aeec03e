// predict.c: what all predictors share: the workspace, the walk in blocks, and the checks before and after.
#include "model/predict.h"
#include "linalg/dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

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
    cut.scale = gp_arena_doubles(arena, B);
    if (p->ln_scale) p->ln_scale->ops->plan(p->ln_scale, B, arena, cut.scale_views);
    const size_t inputs = p->ln_scale ? p->ln_scale->d : 0;
    cut.scale_inputs = gp_mat_of(gp_arena_doubles(arena, B * inputs), B, inputs);
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
    if (!gp_arena_take(&arena)) return gp_no_memory(err);
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

// Of what double precision cannot compute there is no number: how many of the block's rows are such.
static size_t lose_rows(size_t first, size_t B, double *mean, const double *spread, double *var_f, double *var_y)
{
    size_t n = 0;
    for (size_t i = first; i < first + B; i++) {
        if (isfinite(mean[i]) && (!spread || isfinite(spread[i - first])) && (!var_y || isfinite(var_y[i]))) continue;
        mean[i] = NAN;
        if (var_f) var_f[i] = NAN;
        if (var_y) var_y[i] = NAN;
        n++;
    }
    return n;
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

// A variance far below the noise means nothing, and has rounding errors that its logarithm would enlarge.
void gp_scale_inputs(const gp_predictor *p, const double *x, double mean, double var_f, double *out)
{
    memcpy(out, x, p->d * sizeof *x);
    out[p->d] = mean;
    out[p->d + 1] = 0.5 * log(var_f + 0.01 * p->noise + 1e-8);
}

static bool scales_both(const gp_predictor *p)
{
    return p->ln_scale && p->ln_scale->d > p->d;
}

// Of one block. A NaN stays one, for the check to find.
static void scale_block(const gp_predictor *p, gp_predict_work *work, gp_cmat X, const double *mean,
                        const double *var_f, double *scale)
{
    for (size_t i = 0; !p->ln_scale && i < X.rows; i++) scale[i] = 1;
    if (!p->ln_scale) return;
    const gp_mat more = work->scale_inputs;
    for (size_t i = 0; scales_both(p) && i < X.rows; i++)
        gp_scale_inputs(p, X.p + i * X.ld, mean[i], var_f[i], more.p + i * more.ld);
    const gp_cmat inputs = scales_both(p) ? gp_cmat_part(gp_ro(more), 0, 0, X.rows, more.cols) : X;
    p->ln_scale->ops->block(p->ln_scale, inputs, work->scale_views, scale, NULL, NULL);
    const double low = p->scale.range[0], high = p->scale.range[1];
    for (size_t i = 0; i < X.rows; i++) {
        const double ln_g = p->scale.centre + p->scale.slope * scale[i];
        scale[i] = exp(2 * (ln_g < low ? low : ln_g > high ? high : ln_g));
        if (!scales_both(p)) scale[i] = (var_f[i] + scale[i]) / (var_f[i] + p->noise);
    }
}

// lost: NULL where a row that cannot be computed is a failure.
static advgp_status predict_rows(const gp_predictor *p, gp_predict_work *work, gp_cmat X, double *mean, double *var_f,
                                 double *var_y, size_t *lost, advgp_error *err)
{
    advgp_status st = gp_predict_check(p, work, X, err);
    if (st != ADVGP_OK) return st;
    if (X.rows && !mean) return gp_fail(err, ADVGP_EINVAL, "predict: nowhere to put the mean");
    const bool with_variance = var_f || var_y;
    for (size_t first = 0; first < X.rows; first += work->block_rows) {
        const size_t B = rows_left(work, X, first);
        predict_block(p, work, gp_cmat_part(X, first, 0, B, X.cols), mean + first, with_variance);
        if (with_variance)
            scale_block(p, work, gp_cmat_part(X, first, 0, B, X.cols), mean + first, work->spread, work->scale);
        for (size_t i = 0; with_variance && i < B; i++) { // before the check: whoever names the row looks for it here
            if (var_f) var_f[first + i] = work->spread[i] * (scales_both(p) ? work->scale[i] : 1);
            if (var_y) var_y[first + i] = (work->spread[i] + p->noise) * work->scale[i];
        }
        if (lost)
            *lost += lose_rows(first, B, mean, with_variance ? work->spread : NULL, var_f, var_y);
        else
            st = check_block(first, B, mean, with_variance ? work->spread : NULL, NULL, err);
        if (st != ADVGP_OK) return st;
    }
    return ADVGP_OK;
}

advgp_status gp_predict(const gp_predictor *p, gp_predict_work *work, gp_cmat X, double *mean, double *var_f,
                        double *var_y, advgp_error *err)
{
    return predict_rows(p, work, X, mean, var_f, var_y, NULL, err);
}

advgp_status gp_predict_each(const gp_predictor *p, gp_predict_work *work, gp_mat X, double *mean, double *var_f,
                             double *var_y, size_t *lost, advgp_error *err)
{
    *lost = 0;
    for (size_t i = 0; X.p && i < X.rows; i++)
        for (size_t j = 0; j < X.cols; j++) {
            double *x = &X.p[i * X.ld + j];
            if (!isfinite(*x)) *x = *x < 0 ? -DBL_MAX : DBL_MAX;
        }
    return predict_rows(p, work, gp_ro(X), mean, var_f, var_y, lost, err);
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
