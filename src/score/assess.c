// assess.c: a model and its baselines answer for the same rows.
#include "score/assess.h"
#include "score/calibrate.h"

const double gp_levels[GP_LEVELS] = {0.5, 0.8, 0.9, 0.95, 0.99};

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

// ---- rows -----------------------------------------------------------------------------------------------------------

// Every figure is of these rows, all of them.
static advgp_status score_all(const gp_assessor *a, gp_reader *reader, gp_part part, gp_assessment *out,
                              advgp_error *err)
{
    const gp_schema *schema = a->model->schema;
    gp_score score = {0};
    baseline_scores s = {.fit = &a->fit, .schema = schema};
    advgp_status st = gp_score_rows(a->predictor, reader, part, 0, schema, &score, err);
    if (st == ADVGP_OK)
        st = gp_coverage(a->model, reader, part, GP_LEVELS, gp_levels, out->coverage, out->coverage_gaussian, err);
    if (st == ADVGP_OK) st = gp_reader_visit(reader, part, 0, score_baselines, &s, err);
    out->n_scored = gp_shards_rows(reader->shards, part);
    out->rmse = gp_score_rmse(&score), out->mnlp = gp_score_mnlp(&score);
    out->baseline_mean = gp_score_rmse(&s.mean), out->baseline_linear = gp_score_rmse(&s.linear);
    return st;
}

advgp_status gp_assess(const gp_assessor *a, gp_reader *reader, gp_assessment *out, advgp_error *err)
{
    const gp_part part = gp_shards_rows(reader->shards, GP_STOP) ? GP_STOP : GP_TRAIN;
    out->scored = part == GP_STOP ? GP_SCORED_HELD_OUT : GP_SCORED_TRAINING;
    return score_all(a, reader, part, out, err);
}

advgp_status gp_assess_test(const gp_assessor *a, const gp_shards *test, size_t capacity, gp_assessment *out,
                            advgp_error *err)
{
    gp_reader reader = {0};
    advgp_status st = gp_reader_new(test, capacity, &reader, err);
    if (st == ADVGP_OK) st = score_all(a, &reader, GP_STOP, out, err);
    gp_reader_fini(&reader);
    out->scored = GP_SCORED_TEST;
    return st;
}

// ---- the assessor ---------------------------------------------------------------------------------------------------

advgp_status gp_assessor_init(gp_assessor *a, gp_model *model, gp_reader *reader, advgp_error *err)
{
    *a = (gp_assessor){.model = model};
    advgp_status st = gp_calibrate(model, reader, err);
    if (st == ADVGP_OK) st = gp_model_predictor(model, &a->predictor, err);
    if (st == ADVGP_OK) st = gp_linear_line(reader, &a->fit, err);
    return st;
}

void gp_assessor_fini(gp_assessor *a)
{
    gp_linear_fini(&a->fit);
    gp_predictor_free(a->predictor);
}
