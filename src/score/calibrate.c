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

enum { ROWS_MAX = 200000 }; // enough for any level of the table

static void add_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)x;
    if (w != 0) gp_scored_rows_add(ctx, y, mean, sqrt(var_y));
}

advgp_status gp_calibrate_groups(gp_model *model, gp_reader *reader, gp_scored_rows left_out, advgp_error *err)
{
    const size_t n = gp_shards_rows(reader->shards, GP_CALIBRATE);
    gp_predictor *predictor = NULL;
    gp_scored_rows unseen;
    advgp_status st = gp_scored_rows_init(&unseen, n < ROWS_MAX ? n : ROWS_MAX, err);
    if (st == ADVGP_OK) st = gp_model_predictor(model, &predictor, err);
    if (st == ADVGP_OK) st = gp_predict_rows(predictor, reader, GP_CALIBRATE, ROWS_MAX, add_row, &unseen, err);
    gp_free(model->groups);
    model->groups = NULL;
    if (st == ADVGP_OK) st = gp_score_groups_new(left_out, unseen, &model->groups, err);
    gp_predictor_free(predictor);
    gp_scored_rows_fini(&unseen);
    return st;
}

advgp_status gp_calibrate(gp_model *model, gp_reader *reader, advgp_error *err)
{
    const bool held_out = gp_shards_rows(reader->shards, GP_CALIBRATE) >= GP_CALIBRATION_ROWS_MIN;
    const gp_part part = held_out ? GP_CALIBRATE : GP_TRAIN;
    const size_t n = gp_shards_rows(reader->shards, part), most = ROWS_MAX;
    gp_predictor *predictor = NULL;
    sink s = {.scores = gp_alloc(n < most ? n : most, sizeof(double))};
    advgp_status st = s.scores ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory to calibrate");
    if (st == ADVGP_OK && (held_out || !model->unseen.n)) st = gp_model_predictor(model, &predictor, err);
    if (st == ADVGP_OK)
        st = held_out ? gp_predict_rows(predictor, reader, part, most, add_score, &s, err)
                      : gp_unseen_rows(model, predictor, reader, most, add_score, &s, err);
    if (st == ADVGP_OK) st = gp_model_calibrate(model, s.scores, s.n, err);
    gp_free(s.scores);
    gp_predictor_free(predictor);
    return st;
}
