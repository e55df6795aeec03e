// calibrate.c: scores (y_i - mean_i) / sd_i of rows the model has not seen, for the table of the model.
#include "score/calibrate.h"
#include "base/alloc.h"
#include "base/least.h"
#include "score/left_out.h"

#include <math.h>

enum { ROWS_MAX = 25000 };       // of a part: beyond the outermost level of the table are 25 of them
enum { LEFT_OUT_ROWS = 200000 }; // of the training rows

// ---- held-out rows --------------------------------------------------------------------------------------------------

static void add_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)x;
    gp_held_out *h = ctx;
    if (w == 0) return;
    h->w[h->rows.n] = w;
    gp_scored_rows_add(&h->rows, y, mean, sqrt(var_y));
}

advgp_status gp_held_out_ask(const gp_model *model, gp_reader *reader, gp_held_out *h, advgp_error *err)
{
    const size_t half = gp_shards_rows(reader->shards, GP_CALIBRATE), other = gp_shards_rows(reader->shards, GP_STOP);
    const size_t n = gp_least(half, ROWS_MAX) + gp_least(other, ROWS_MAX);
    gp_predictor *predictor = NULL;
    *h = (gp_held_out){0};
    if (half < GP_CALIBRATION_ROWS_MIN) return ADVGP_OK;
    advgp_status st = gp_scored_rows_init(&h->rows, n, err);
    h->w = gp_alloc(n, sizeof *h->w);
    if (st == ADVGP_OK && !h->w) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = gp_model_predictor(model, &predictor, err);
    if (st == ADVGP_OK) st = gp_predict_rows(predictor, reader, GP_CALIBRATE, ROWS_MAX, add_row, h, err);
    h->half = h->rows.n;
    if (st == ADVGP_OK) st = gp_predict_rows(predictor, reader, GP_STOP, ROWS_MAX, add_row, h, err);
    gp_predictor_free(predictor);
    if (st != ADVGP_OK) gp_held_out_fini(h);
    return st;
}

void gp_held_out_fini(gp_held_out *h)
{
    gp_scored_rows_fini(&h->rows);
    gp_free(h->w);
    *h = (gp_held_out){0};
}

static gp_scored_rows calibrators(const gp_held_out *h, gp_calibrators which)
{
    gp_scored_rows rows = h->rows;
    if (which == GP_HELD_OUT_HALF) rows.n = h->half;
    return rows;
}

advgp_status gp_calibrate_groups(gp_scored_rows left_out, const gp_held_out *held_out, gp_calibrators which,
                                 gp_score_groups **out, advgp_error *err)
{
    return gp_score_groups_new(left_out, calibrators(held_out, which), out, err);
}

// ---- one table of scores --------------------------------------------------------------------------------------------

typedef struct sink {
    double *scores;
    size_t n;
} sink;

static void add_score(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)x;
    sink *s = ctx;
    if (w != 0) s->scores[s->n++] = (y - mean) / sqrt(var_y);
}

static advgp_status ask_left_out(const gp_model *model, gp_reader *reader, sink *s, advgp_error *err)
{
    gp_predictor *predictor = NULL;
    advgp_status st = model->unseen.n ? ADVGP_OK : gp_model_predictor(model, &predictor, err);
    if (st == ADVGP_OK) st = gp_unseen_rows(model, predictor, reader, LEFT_OUT_ROWS, add_score, s, err);
    gp_predictor_free(predictor);
    return st;
}

advgp_status gp_calibrate(gp_model *model, gp_reader *reader, const gp_held_out *held_out, gp_calibrators which,
                          advgp_error *err)
{
    const gp_scored_rows rows = calibrators(held_out, which);
    if (rows.n) return gp_calibration_fit(&model->calibration, rows.score, rows.n, err);
    const size_t n = gp_least(gp_shards_rows(reader->shards, GP_TRAIN), LEFT_OUT_ROWS);
    sink s = {.scores = gp_alloc(n, sizeof(double))};
    advgp_status st = s.scores ? ask_left_out(model, reader, &s, err) : gp_no_memory(err);
    if (st == ADVGP_OK) st = gp_calibration_fit(&model->calibration, s.scores, s.n, err);
    gp_free(s.scores);
    return st;
}
