// calibrate.c: scores (y_i - mean_i) / sd_i of rows the model has not seen, for the table of the model.
#include "score/calibrate.h"
#include "base/alloc.h"
#include "score/distribution.h"
#include "score/left_out.h"

#include <math.h>

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

enum { ROWS_MAX = 25000 }; // of a part: beyond the outermost level of the table are 25 of them

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void add_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)x;
    if (w != 0) gp_scored_rows_add(ctx, y, mean, sqrt(var_y));
}

// Rows of part CALIBRATE, and where nothing is judged any more those of STOP as well.
static advgp_status visit_held_out(const gp_predictor *predictor, gp_reader *reader, gp_calibrators rows,
                                   gp_predicted_row each, void *ctx, advgp_error *err)
{
    advgp_status st = gp_predict_rows(predictor, reader, GP_CALIBRATE, ROWS_MAX, each, ctx, err);
    if (st == ADVGP_OK && rows == GP_HELD_OUT_ALL)
        st = gp_predict_rows(predictor, reader, GP_STOP, ROWS_MAX, each, ctx, err);
    return st;
}

static size_t count_held_out(const gp_shards *shards, gp_calibrators rows)
{
    const size_t half = gp_shards_rows(shards, GP_CALIBRATE), other = gp_shards_rows(shards, GP_STOP);
    return least(half, ROWS_MAX) + (rows == GP_HELD_OUT_ALL ? least(other, ROWS_MAX) : 0);
}

advgp_status gp_calibrate_groups(const gp_model *model, gp_reader *reader, gp_scored_rows left_out, gp_calibrators rows,
                                 gp_score_groups **out, advgp_error *err)
{
    gp_predictor *predictor = NULL;
    gp_scored_rows unseen;
    *out = NULL;
    advgp_status st = gp_scored_rows_init(&unseen, count_held_out(reader->shards, rows), err);
    if (st == ADVGP_OK) st = gp_model_predictor(model, &predictor, err);
    if (st == ADVGP_OK) st = visit_held_out(predictor, reader, rows, add_row, &unseen, err);
    if (st == ADVGP_OK) st = gp_score_groups_new(left_out, unseen, out, err);
    gp_predictor_free(predictor);
    gp_scored_rows_fini(&unseen);
    return st;
}

advgp_status gp_calibrate(gp_model *model, gp_reader *reader, gp_calibrators rows, advgp_error *err)
{
    const bool held_out = gp_shards_rows(reader->shards, GP_CALIBRATE) >= GP_CALIBRATION_ROWS_MIN;
    const size_t n = held_out ? count_held_out(reader->shards, rows)
                              : least(gp_shards_rows(reader->shards, GP_TRAIN), ROWS_MAX);
    gp_predictor *predictor = NULL;
    sink s = {.scores = gp_alloc(n, sizeof(double))};
    advgp_status st = s.scores ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory to calibrate");
    if (st == ADVGP_OK && (held_out || !model->unseen.n)) st = gp_model_predictor(model, &predictor, err);
    if (st == ADVGP_OK)
        st = held_out ? visit_held_out(predictor, reader, rows, add_score, &s, err)
                      : gp_unseen_rows(model, predictor, reader, n, add_score, &s, err);
    if (st == ADVGP_OK) st = gp_model_calibrate(model, s.scores, s.n, err);
    gp_free(s.scores);
    gp_predictor_free(predictor);
    return st;
}
