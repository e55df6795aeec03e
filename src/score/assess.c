// assess.c: a model and its baselines answer for the same rows.
#include "score/assess.h"
#include "score/calibrate.h"

#include <math.h>

const double gp_levels[GP_LEVELS] = {0.5, 0.8, 0.9, 0.95, 0.99};

// ---- sums -----------------------------------------------------------------------------------------------------------

void gp_tally_init(gp_tally *t, const gp_model *model, const gp_linear *line)
{
    *t = (gp_tally){.schema = model->schema, .line = line};
    for (size_t l = 0; l < GP_LEVELS; l++) {
        t->calibrated[l] = gp_model_interval(model, gp_levels[l]);
        t->gaussian[l] = gp_gaussian_interval(gp_levels[l]);
    }
}

// Of the interval of so many standard deviations, in the target's own units.
static double width_of(const gp_schema *s, double mean, double deviations)
{
    const double half = s->y_scale * deviations, centre = s->y_mean + s->y_scale * mean;
    return s->log_target ? exp(centre + half) - exp(centre - half) : 2 * half;
}

void gp_tally_add(gp_tally *t, double w, const double *x, double y, double mean, double var_y)
{
    const double sd = sqrt(var_y), away = fabs(y - mean) / sd, target = gp_schema_target(t->schema, y);
    if (!t->n++) t->y_first = target;
    gp_score_add(&t->model, t->schema, w, y, mean, var_y);
    const double off = (target - t->y_first) / t->model.unit;
    t->y += w * off;
    t->yy += w * off * off;
    // Both baselines answer as a model does: of a logarithm they give the lognormal mean, each with the variance of its
    // own errors (the mean's is 1, as the target is standardised).
    gp_score_add(&t->mean, t->schema, w, y, 0, 1);
    if (t->line) gp_score_add(&t->linear, t->schema, w, y, gp_linear_predict(t->line, x), t->line->variance);
    for (size_t l = 0; l < GP_LEVELS; l++) {
        t->inside[l] += w * (away <= t->calibrated[l]);
        t->inside_gaussian[l] += w * (away <= t->gaussian[l]);
        t->width[l] += w * width_of(t->schema, mean, t->calibrated[l] * sd);
    }
}

void gp_tally_end(const gp_tally *t, gp_assessment *out)
{
    const double n = t->model.n;
    out->n_scored = t->n;
    out->rmse = gp_score_rmse(&t->model), out->mae = gp_score_mae(&t->model), out->mnlp = gp_score_mnlp(&t->model);
    out->r2 = 1 - t->model.squares / (t->yy - t->y * t->y / n);
    out->baseline_mean = gp_score_rmse(&t->mean), out->baseline_linear = gp_score_rmse(&t->linear);
    for (size_t l = 0; l < GP_LEVELS; l++) {
        out->coverage[l] = n > 0 ? t->inside[l] / n : NAN;
        out->coverage_gaussian[l] = n > 0 ? t->inside_gaussian[l] / n : NAN;
        out->width[l] = n > 0 ? t->width[l] / n : NAN;
    }
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static void add_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    gp_tally_add(ctx, w, x, y, mean, var_y);
}

// Every figure is of these rows, all of them.
static advgp_status score_all(const gp_assessor *a, gp_reader *reader, gp_part part, gp_assessment *out,
                              advgp_error *err)
{
    gp_tally tally;
    gp_tally_init(&tally, a->model, &a->fit);
    const advgp_status st = gp_predict_rows(a->predictor, reader, part, 0, add_row, &tally, err);
    gp_tally_end(&tally, out);
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
