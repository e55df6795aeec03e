// account.c: calibration, held-out figures, baselines beside them, and the record of the training.
#include "train/account.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "score/calibrate.h"
#include "score/linear_fit.h"

#include <math.h>

const double gp_train_levels[5] = {0.5, 0.8, 0.9, 0.95, 0.99};

gp_stopwatch gp_stopwatch_start(void)
{
    return (gp_stopwatch){.wall = gp_clock_wall(), .cpu = gp_clock_cpu()};
}

// ---- scores ---------------------------------------------------------------------------------------------------------

typedef struct scoring {
    const gp_predictor *predictor;
    gp_predict_work *work;
    double *mean, *var;
    const gp_schema *schema;
    gp_score *score;
} scoring;

static advgp_status score_block(void *ctx, gp_batch rows, advgp_error *err)
{
    scoring *s = ctx;
    advgp_status st = gp_predict(s->predictor, s->work, rows.X, s->mean, NULL, s->var, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows.X.rows; i++)
        gp_score_add(s->score, s->schema, rows.w ? rows.w[i] : 1, rows.y[i], s->mean[i], s->var[i]);
    return st;
}

advgp_status gp_score_rows(const gp_predictor *predictor, gp_reader *reader, gp_part part, size_t max_rows,
                           const gp_schema *schema, gp_score *score, advgp_error *err)
{
    scoring s = {.predictor = predictor, .schema = schema, .score = score};
    *score = (gp_score){0};
    advgp_status st = gp_predict_work_new(predictor, 0, &s.work, err);
    s.mean = gp_alloc(2 * reader->capacity, sizeof(double));
    s.var = s.mean ? s.mean + reader->capacity : NULL;
    if (st == ADVGP_OK && !s.mean) st = gp_fail(err, ADVGP_ENOMEM, "no memory to score %zu rows", reader->capacity);
    if (st == ADVGP_OK) st = gp_reader_visit(reader, part, max_rows, score_block, &s, err);
    gp_free(s.mean);
    gp_predict_work_free(s.work);
    return st;
}

// ---- baselines ------------------------------------------------------------------------------------------------------

typedef struct baseline_scores {
    const gp_linear *fit;
    const gp_schema *schema;
    gp_score linear, mean;
} baseline_scores;

// Both baselines answer as a model does: of a logarithm they give the lognormal mean, each with the variance of its own
// errors (the mean's is 1, as the target is standardised).
static advgp_status score_baselines(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    baseline_scores *s = ctx;
    for (size_t i = 0; i < rows.X.rows; i++) {
        const double w = rows.w ? rows.w[i] : 1;
        const double p = gp_linear_predict(s->fit, rows.X.p + i * rows.X.ld);
        gp_score_add(&s->linear, s->schema, w, rows.y[i], p, s->fit->variance);
        gp_score_add(&s->mean, s->schema, w, rows.y[i], 0, 1);
    }
    return ADVGP_OK;
}

// ---- one table ------------------------------------------------------------------------------------------------------

// Every figure of a result that is of rows, all of them of these.
static advgp_status score_all(const gp_model *model, const gp_predictor *predictor, const gp_linear *fit,
                              gp_reader *reader, gp_part part, gp_train_result *r, advgp_error *err)
{
    gp_score score = {0};
    baseline_scores s = {.fit = fit, .schema = model->schema};
    advgp_status st = gp_score_rows(predictor, reader, part, 0, model->schema, &score, err);
    if (st == ADVGP_OK)
        st = gp_coverage(model, reader, part, 5, gp_train_levels, r->coverage, r->coverage_gaussian, err);
    if (st == ADVGP_OK) st = gp_reader_visit(reader, part, 0, score_baselines, &s, err);
    r->n_scored = gp_shards_rows(reader->shards, part);
    r->rmse = gp_score_rmse(&score), r->mnlp = gp_score_mnlp(&score);
    r->baseline_mean = gp_score_rmse(&s.mean), r->baseline_linear = gp_score_rmse(&s.linear);
    return st;
}

static advgp_status score_test(const gp_model *model, const gp_predictor *predictor, const gp_linear *fit,
                               const gp_shards *test, size_t capacity, gp_train_result *r, advgp_error *err)
{
    gp_reader reader = {0};
    advgp_status st = gp_reader_new(test, capacity, &reader, err);
    if (st == ADVGP_OK) st = score_all(model, predictor, fit, &reader, GP_STOP, r, err);
    gp_reader_fini(&reader);
    r->scored = GP_SCORED_TEST;
    return st == ADVGP_OK ? st : gp_wrap(err, st, "--test");
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static json_t *real_or_null(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static advgp_status write_record(gp_model *model, const gp_train_result *r, advgp_error *err)
{
    json_t *record = json_pack("{s:o, s:o, s:o, s:s, s:I, s:I, s:b, s:f, s:f}", "rmse", real_or_null(r->rmse), "mnlp",
                               real_or_null(r->mnlp), "neg_elbo", real_or_null(r->neg_elbo), "stopped",
                               gp_stop_reason_words(r->stopped), "rows", (json_int_t)r->n_train, "versions",
                               (json_int_t)r->versions, "held_out", r->scored == GP_SCORED_HELD_OUT, "wall_seconds",
                               r->wall, "cpu_seconds", r->cpu);
    const bool written = record && json_object_update(model->record, record) == 0;
    json_decref(record);
    return written ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for the training record");
}

advgp_status gp_account(gp_model *model, gp_reader *reader, const gp_shards *test, gp_stopwatch began,
                        gp_train_result *r, advgp_error *err)
{
    const gp_part part = gp_shards_rows(reader->shards, GP_STOP) ? GP_STOP : GP_TRAIN;
    gp_predictor *predictor = NULL;
    gp_linear fit = {0};
    r->scored = part == GP_STOP ? GP_SCORED_HELD_OUT : GP_SCORED_TRAINING;
    r->n_train = (double)gp_shards_rows(reader->shards, GP_TRAIN);
    advgp_status st = gp_calibrate(model, reader, err);
    if (st == ADVGP_OK) st = gp_model_predictor(model, &predictor, err);
    if (st == ADVGP_OK) st = gp_linear_fit(reader, true, NULL, NULL, &fit, err);
    if (st == ADVGP_OK) st = score_all(model, predictor, &fit, reader, part, r, err);
    model->baseline_mean = r->baseline_mean, model->baseline_linear = r->baseline_linear;
    r->wall = gp_clock_wall() - began.wall, r->cpu = gp_clock_cpu() - began.cpu;
    if (st == ADVGP_OK) st = write_record(model, r, err); // of rows that every training has, with --test or without
    if (st == ADVGP_OK && test) st = score_test(model, predictor, &fit, test, reader->capacity, r, err);
    gp_linear_fini(&fit);
    gp_predictor_free(predictor);
    return st;
}
