// predict_rows.c: advgp_predict_*: rows whose columns are known by place. No lock, no memory: a block of rows at a time
// goes through the workspace.
#include "base/alloc.h"
#include "data/encode_row.h"
#include "data/encoding.h"
#include "lib/handles.h"
#include "linalg/blas.h"
#include "score/score.h"

#include <math.h>
#include <stdatomic.h>

enum { BLOCK_ROWS = 64 };

struct advgp_workspace {
    const advgp_model *model;
    gp_predict_work *work;
    double *values; // n_inputs: a row in our own units of time
    double *X;      // BLOCK_ROWS x d
    double mean[BLOCK_ROWS], var_f[BLOCK_ROWS], var_y[BLOCK_ROWS];
};

static atomic_size_t n_workspaces; // each may be in BLAS at the same time

advgp_status advgp_workspace_new(const advgp_model *model, advgp_workspace **out, advgp_error *err)
{
    if (!library_has(out, "place for the result", err)) return ADVGP_EINVAL;
    *out = NULL;
    if (!library_has(model, "model", err)) return ADVGP_EINVAL;
    const gp_schema *s = model->model->schema;
    advgp_workspace *w = gp_alloc(1, sizeof *w);
    if (!w) return gp_no_memory(err);
    gp_blas_enter();
    const size_t there = atomic_fetch_add(&n_workspaces, 1) + 1;
    w->model = model;
    w->values = gp_alloc(s->n_inputs, sizeof *w->values);
    w->X = gp_alloc(BLOCK_ROWS, s->d * sizeof *w->X);
    advgp_status st = w->values && w->X ? gp_blas_reserve(there, err) : gp_no_memory(err);
    if (st == ADVGP_OK) st = gp_predict_work_new(model->predictor, BLOCK_ROWS, &w->work, err);
    if (st == ADVGP_OK)
        *out = w;
    else
        advgp_workspace_free(w);
    return library_said(st, err);
}

void advgp_workspace_free(advgp_workspace *w)
{
    if (!w) return;
    gp_predict_work_free(w->work);
    gp_free(w->values);
    gp_free(w->X);
    gp_free(w);
    atomic_fetch_sub(&n_workspaces, 1);
    gp_blas_leave();
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

// What a block of rows is turned into; first: its first row.
typedef struct wanted {
    bool variance;
    void (*take)(const struct wanted *t, const advgp_workspace *w, size_t first, size_t n);
    double *mean, *sd_f, *sd_y, *lo, *hi, *values;
    const double *levels;
    size_t n_levels;
    double level;
} wanted;

static advgp_status encode(advgp_workspace *w, const double *row, size_t number, double *x, advgp_error *err)
{
    const gp_schema *s = w->model->model->schema;
    size_t missing;
    for (size_t i = 0; i < s->n_inputs; i++)
        w->values[i] = s->inputs[i].encoding->kind == ADVGP_KIND_TIME ? row[i] - seconds_to_2000 : row[i];
    gp_encode_row(s, w->model->inverse_scale, w->values, x, &missing);
    if (missing == s->n_inputs || s->missing != GP_MISSING_ERROR) return ADVGP_OK;
    return gp_fail(err, ADVGP_EDATA, "row %zu: column '%s' is missing, which the model was trained not to allow",
                   number + 1, s->inputs[missing].name);
}

static advgp_status predict(const advgp_model *model, advgp_workspace *w, const double *rows, size_t n_rows,
                            size_t stride, const wanted *t, advgp_error *err)
{
    if (!library_has(model, "model", err) || !library_has(w, "workspace", err)) return ADVGP_EINVAL;
    if (n_rows && !library_has(rows, "row", err)) return ADVGP_EINVAL;
    const gp_schema *s = model->model->schema;
    if (w->model != model) return gp_fail(err, ADVGP_EINVAL, "the workspace was made for another model");
    if (!stride) stride = s->n_inputs;
    if (stride < s->n_inputs)
        return gp_fail(err, ADVGP_EINVAL, "rows are %zu numbers apart, and the model has %zu inputs", stride,
                       s->n_inputs);
    const bool variance = t->variance || s->log_target; // a lognormal mean needs it
    advgp_status st = ADVGP_OK;
    size_t lost;
    for (size_t first = 0; st == ADVGP_OK && first < n_rows; first += BLOCK_ROWS) {
        const size_t n = n_rows - first < BLOCK_ROWS ? n_rows - first : BLOCK_ROWS;
        for (size_t i = 0; st == ADVGP_OK && i < n; i++)
            st = encode(w, rows + (first + i) * stride, first + i, w->X + i * s->d, err);
        if (st == ADVGP_OK)
            st = gp_predict_each(model->predictor, w->work, gp_mat_of(w->X, n, s->d), w->mean,
                                 variance ? w->var_f : NULL, variance ? w->var_y : NULL, &lost, err);
        if (st == ADVGP_OK) t->take(t, w, first, n);
    }
    return library_said(st, err);
}

// A number beyond double precision is none; one of a row that has no mean neither, though a bound may have made it one.
static double told(const advgp_workspace *w, size_t i, double value)
{
    return isfinite(w->mean[i]) && isfinite(value) ? value : NAN;
}

static double mean_of(const advgp_workspace *w, size_t i)
{
    return told(w, i, gp_predicted_mean(w->model->model->schema, w->mean[i], w->var_y[i]));
}

static gp_distribution distribution_of(const advgp_workspace *w, size_t i)
{
    return (gp_distribution){.scores = &w->model->model->calibration,
                             .schema = w->model->model->schema,
                             .mean = w->mean[i],
                             .sd = sqrt(w->var_y[i])};
}

// ---- answers --------------------------------------------------------------------------------------------------------

static void take_sd(const wanted *t, const advgp_workspace *w, size_t first, size_t n)
{
    const gp_schema *s = w->model->model->schema;
    for (size_t i = 0; i < n; i++) {
        if (t->mean) t->mean[first + i] = mean_of(w, i);
        if (t->sd_f) t->sd_f[first + i] = told(w, i, gp_predicted_sd(s, w->mean[i], w->var_f[i]));
        if (t->sd_y) t->sd_y[first + i] = told(w, i, gp_predicted_sd(s, w->mean[i], w->var_y[i]));
    }
}

advgp_status advgp_predict_mean(const advgp_model *model, advgp_workspace *workspace, const double *rows, size_t n_rows,
                                size_t stride, double *mean, advgp_error *err)
{
    const wanted t = {.take = take_sd, .mean = mean};
    return predict(model, workspace, rows, n_rows, stride, &t, err);
}

advgp_status advgp_predict_sd(const advgp_model *model, advgp_workspace *workspace, const double *rows, size_t n_rows,
                              size_t stride, double *mean, double *sd_f, double *sd_y, advgp_error *err)
{
    const wanted t = {.variance = true, .take = take_sd, .mean = mean, .sd_f = sd_f, .sd_y = sd_y};
    return predict(model, workspace, rows, n_rows, stride, &t, err);
}

static void take_interval(const wanted *t, const advgp_workspace *w, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const gp_distribution d = distribution_of(w, i);
        double ends[2];
        gp_distribution_interval(&d, t->level, ends);
        if (t->mean) t->mean[first + i] = mean_of(w, i);
        t->lo[first + i] = told(w, i, ends[0]), t->hi[first + i] = told(w, i, ends[1]);
    }
}

static advgp_status check_level(double level, advgp_error *err)
{
    if (gp_level_is_good(level)) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "the level %.17g of an interval: must be a number from 0.001 to 0.999", level);
}

static advgp_status check_quantile(double u, advgp_error *err)
{
    if (gp_quantile_is_good(u)) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "the quantile %.17g: must be a number from 0.0001 to 0.9999", u);
}

advgp_status advgp_predict_interval(const advgp_model *model, advgp_workspace *workspace, const double *rows,
                                    size_t n_rows, size_t stride, double level, double *mean, double *lo, double *hi,
                                    advgp_error *err)
{
    const wanted t = {.variance = true, .take = take_interval, .level = level, .mean = mean, .lo = lo, .hi = hi};
    if (n_rows && (!library_has(lo, "place for lower ends", err) || !library_has(hi, "place for upper ends", err)))
        return ADVGP_EINVAL;
    const advgp_status st = check_level(level, err);
    return st == ADVGP_OK ? predict(model, workspace, rows, n_rows, stride, &t, err) : st;
}

static void take_quantiles(const wanted *t, const advgp_workspace *w, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const gp_distribution d = distribution_of(w, i);
        for (size_t l = 0; l < t->n_levels; l++)
            t->values[(first + i) * t->n_levels + l] = told(w, i, gp_distribution_quantile(&d, t->levels[l]));
    }
}

advgp_status advgp_predict_quantiles(const advgp_model *model, advgp_workspace *workspace, const double *rows,
                                     size_t n_rows, size_t stride, const double *levels, size_t n_levels,
                                     double *values, advgp_error *err)
{
    const wanted t = {
        .variance = true, .take = take_quantiles, .levels = levels, .n_levels = n_levels, .values = values};
    if (n_rows && n_levels &&
        (!library_has(levels, "quantile", err) || !library_has(values, "place for quantiles", err)))
        return ADVGP_EINVAL;
    advgp_status st = ADVGP_OK;
    for (size_t l = 0; st == ADVGP_OK && l < n_levels; l++) st = check_quantile(levels[l], err);
    return st == ADVGP_OK ? predict(model, workspace, rows, n_rows, stride, &t, err) : st;
}

static void take_exceeds(const wanted *t, const advgp_workspace *w, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const gp_distribution d = distribution_of(w, i);
        t->values[first + i] = told(w, i, gp_distribution_exceeds(&d, t->level));
    }
}

advgp_status advgp_predict_exceeds(const advgp_model *model, advgp_workspace *workspace, const double *rows,
                                   size_t n_rows, size_t stride, double threshold, double *probability,
                                   advgp_error *err)
{
    const wanted t = {.variance = true, .take = take_exceeds, .level = threshold, .values = probability};
    if (n_rows && !library_has(probability, "place for probabilities", err)) return ADVGP_EINVAL;
    return predict(model, workspace, rows, n_rows, stride, &t, err);
}
