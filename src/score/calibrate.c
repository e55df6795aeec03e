// calibrate.c: scores (y_i - mean_i) / sd_i of rows the model has not seen, for the table of the model.
#include "score/calibrate.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "score/distribution.h"

#include <math.h>

typedef struct walk {
    const gp_model *model;
    gp_predictor *predictor;
    gp_predict_work *work;
    double *mean, *var;
    double *residual; // [capacity], leave-one-out only
    double *noise;    // the same
    double *scores;   // sink
    size_t n;
} walk;

static advgp_status walk_init(walk *w, const gp_model *model, size_t capacity, advgp_error *err)
{
    *w = (walk){.model = model};
    advgp_status st = gp_model_predictor(model, &w->predictor, err);
    if (st == ADVGP_OK) st = gp_predict_work_new(w->predictor, 0, &w->work, err);
    if (st != ADVGP_OK) return st;
    w->mean = gp_alloc(capacity, sizeof(double));
    w->var = gp_alloc(capacity, sizeof(double));
    w->residual = gp_alloc(capacity, sizeof(double));
    w->noise = gp_alloc(capacity, sizeof(double));
    if (!w->mean || !w->var || !w->residual || !w->noise) return gp_fail(err, ADVGP_ENOMEM, "no memory to calibrate");
    return ADVGP_OK;
}

static void walk_fini(walk *w)
{
    gp_free(w->mean);
    gp_free(w->var);
    gp_free(w->residual);
    gp_free(w->noise);
    gp_predict_work_free(w->work);
    gp_predictor_free(w->predictor);
}

static advgp_status held_out_scores(void *ctx, gp_batch rows, advgp_error *err)
{
    walk *w = ctx;
    advgp_status st = gp_predict(w->predictor, w->work, rows.X, w->mean, NULL, w->var, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows.X.rows; i++)
        if (!rows.w || rows.w[i] != 0) w->scores[w->n++] = (rows.y[i] - w->mean[i]) / sqrt(w->var[i]);
    return st;
}

// A row's leverage h = beta w phi^T Sigma phi at the optimal q(w): without the row its mean is off by (y - mean)/(1 -
// h), and the variance of its weight-space part is sigma^2 h/(1 - h) / w. Least squares and the exact process, whose
// whole var_f the rows have narrowed, obey the same two formulas.
static advgp_status left_out_scores(void *ctx, gp_batch rows, advgp_error *err)
{
    walk *w = ctx;
    const double noise = gp_predictor_noise(w->predictor);
    advgp_status st = gp_predict_parts(w->predictor, w->work, rows.X, w->mean, w->var, w->residual, err);
    if (st == ADVGP_OK) st = gp_predict_noise(w->predictor, w->work, rows.X, w->noise, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows.X.rows; i++) {
        const double weight = rows.w ? rows.w[i] : 1;
        if (weight == 0) continue;
        const double h = fmin(weight * w->var[i] / noise, 1 - 1e-6);
        const double var = w->noise[i] + w->var[i] / (1 - h) + w->residual[i];
        w->scores[w->n++] = (rows.y[i] - w->mean[i]) / (1 - h) / sqrt(var);
    }
    return st;
}

advgp_status gp_calibrate(gp_model *model, gp_reader *reader, advgp_error *err)
{
    const bool held_out = gp_shards_rows(reader->shards, GP_CALIBRATE) >= GP_CALIBRATION_ROWS_MIN;
    const gp_part part = held_out ? GP_CALIBRATE : GP_TRAIN;
    const size_t n = gp_shards_rows(reader->shards, part), most = 200000; // enough for any level of the table
    walk w;
    advgp_status st = walk_init(&w, model, reader->capacity, err);
    w.scores = gp_alloc(n < most ? n : most, sizeof(double));
    if (st == ADVGP_OK && !w.scores) st = gp_fail(err, ADVGP_ENOMEM, "no memory to calibrate");
    if (st == ADVGP_OK) st = gp_reader_visit(reader, part, most, held_out ? held_out_scores : left_out_scores, &w, err);
    if (st == ADVGP_OK) st = gp_model_calibrate(model, w.scores, w.n, err);
    gp_free(w.scores);
    walk_fini(&w);
    return st;
}
