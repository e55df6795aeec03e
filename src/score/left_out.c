// left_out.c: leave-one-out by leverage, or as the predictor itself knows it.
#include "score/left_out.h"
#include "base/alloc.h"

#include <math.h>

typedef struct leaving {
    const gp_predictor *predictor;
    gp_predict_work *work;
    double *mean, *var, *residual, *scale; // [capacity]
    double *deviation, *variance;          // [n]: by the predictor itself; NULL: by leverage
    size_t done;                           // rows of positive weight so far
    gp_predicted_row each;
    void *ctx;
} leaving;

// A row's leverage h = beta w phi^T Sigma phi at the optimal q(w): without the row its mean is off by (y - mean)/(1 -
// h), and the variance of its weight-space part is sigma^2 h/(1 - h) / w. Least squares obeys the same two formulas.
static advgp_status by_leverage(void *ctx, gp_batch rows, advgp_error *err)
{
    leaving *l = ctx;
    const double noise = gp_predictor_noise(l->predictor);
    advgp_status st = gp_predict_parts(l->predictor, l->work, rows.X, l->mean, l->var, l->residual, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows.X.rows; i++) {
        const double h = fmin((rows.w ? rows.w[i] : 1) * l->var[i] / noise, 1 - 1e-6);
        l->mean[i] = rows.y[i] - (rows.y[i] - l->mean[i]) / (1 - h);
        l->var[i] = l->var[i] / (1 - h) + l->residual[i];
    }
    if (st == ADVGP_OK) st = gp_predict_scale(l->predictor, l->work, rows.X, l->mean, l->var, l->scale, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows.X.rows; i++) {
        const double weight = rows.w ? rows.w[i] : 1;
        if (weight == 0) continue;
        l->each(l->ctx, weight, rows.X.p + i * rows.X.ld, rows.y[i], l->mean[i], (l->var[i] + noise) * l->scale[i]);
    }
    return st;
}

static advgp_status by_itself(void *ctx, gp_batch rows, advgp_error *err)
{
    leaving *l = ctx;
    const double noise = gp_predictor_noise(l->predictor);
    for (size_t i = 0; i < rows.X.rows; i++) {
        if (rows.w && rows.w[i] == 0) continue;
        l->mean[i] = rows.y[i] - l->deviation[l->done];
        l->residual[i] = l->variance[l->done++];
        l->var[i] = fmax(l->residual[i] - noise, 0);
    }
    const advgp_status st = gp_predict_scale(l->predictor, l->work, rows.X, l->mean, l->var, l->scale, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows.X.rows; i++) {
        const double weight = rows.w ? rows.w[i] : 1;
        if (weight == 0) continue;
        l->each(l->ctx, weight, rows.X.p + i * rows.X.ld, rows.y[i], l->mean[i], l->residual[i] * l->scale[i]);
    }
    return st;
}

static advgp_status count_rows(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    size_t *n = ctx;
    for (size_t i = 0; i < rows.X.rows; i++) *n += !rows.w || rows.w[i] != 0;
    return ADVGP_OK;
}

static advgp_status ask_itself(leaving *l, gp_reader *reader, advgp_error *err)
{
    size_t n = 0;
    advgp_status st = gp_reader_visit(reader, GP_TRAIN, 0, count_rows, &n, err);
    if (st != ADVGP_OK) return st;
    l->deviation = gp_alloc(2 * n, sizeof(double));
    if (!l->deviation) return gp_fail(err, ADVGP_ENOMEM, "no memory to leave out each of %zu rows", n);
    l->variance = l->deviation + n;
    return l->predictor->ops->left_out(l->predictor, n, l->deviation, l->variance, err);
}

advgp_status gp_left_out_rows(const gp_predictor *predictor, gp_reader *reader, size_t max_rows, gp_predicted_row each,
                              void *ctx, advgp_error *err)
{
    leaving l = {.predictor = predictor, .each = each, .ctx = ctx};
    const bool itself = predictor->ops->left_out != NULL;
    advgp_status st = gp_predict_work_new(predictor, 0, &l.work, err);
    if (st == ADVGP_OK && itself) st = ask_itself(&l, reader, err);
    l.mean = gp_alloc(4 * reader->capacity, sizeof(double));
    if (st == ADVGP_OK && !l.mean)
        st = gp_fail(err, ADVGP_ENOMEM, "no memory to leave out rows of %zu", reader->capacity);
    if (l.mean) l.var = l.mean + reader->capacity, l.residual = l.var + reader->capacity;
    if (l.mean) l.scale = l.residual + reader->capacity;
    if (st == ADVGP_OK) st = gp_reader_visit(reader, GP_TRAIN, max_rows, itself ? by_itself : by_leverage, &l, err);
    gp_free(l.mean);
    gp_free(l.deviation);
    gp_predict_work_free(l.work);
    return st;
}
