// score.c: RMSE and mean negative log probability in the target's own units.
#include "score/score.h"
#include "base/alloc.h"
#include "base/constants.h"

#include <math.h>

// Of the target and, under a logarithm, its offset.
static double lognormal_mean(const gp_schema *schema, double mean, double var)
{
    const double sd = schema->y_scale * sqrt(var);
    return exp(schema->y_mean + schema->y_scale * mean + sd * sd / 2);
}

double gp_predicted_mean(const gp_schema *schema, double mean, double var_y)
{
    return gp_schema_cut(schema, schema->log_target ? lognormal_mean(schema, mean, var_y) - schema->log_offset
                                                    : schema->y_mean + schema->y_scale * mean);
}

double gp_predicted_sd(const gp_schema *schema, double mean, double var)
{
    const double sd = schema->y_scale * sqrt(var);
    return schema->log_target ? lognormal_mean(schema, mean, var) * sqrt(expm1(sd * sd)) : sd;
}

// About the size of the targets, and a power of two, so that nothing is rounded: a model of logarithms may answer for
// targets of 1e-200, whose squares are 0.
double gp_target_unit(const gp_schema *schema)
{
    const double size = schema->log_target ? exp(schema->y_mean) : schema->y_scale;
    return size > 0 && isfinite(size) ? ldexp(1, ilogb(size)) : 1;
}

void gp_score_add_answer(gp_score *score, const gp_schema *schema, double w, double target, double answer)
{
    const double off = target - answer;
    if (score->unit == 0) score->unit = gp_target_unit(schema);
    score->n += w;
    score->squares += w * (off / score->unit) * (off / score->unit);
}

// The scale, and for a logarithm its derivative 1/target, enter once.
double gp_gaussian_nlp(const gp_schema *schema, double y, double mean, double var_y)
{
    return GP_HALF_LN_2PI + 0.5 * log(var_y) + 0.5 * (y - mean) * (y - mean) / var_y + log(schema->y_scale) +
           (schema->log_target ? log(gp_schema_target(schema, y) + schema->log_offset) : 0);
}

void gp_score_add(gp_score *score, const gp_schema *schema, double w, double y, double mean, double var_y)
{
    const double target = gp_schema_target(schema, y);
    gp_score_add_answer(score, schema, w, target, gp_predicted_mean(schema, mean, var_y));
    score->nlp += w * gp_gaussian_nlp(schema, y, mean, var_y);
}

double gp_score_rmse(const gp_score *score)
{
    return score->n > 0 ? score->unit * sqrt(score->squares / score->n) : NAN;
}

double gp_score_mnlp(const gp_score *score)
{
    return score->n > 0 ? score->nlp / score->n : NAN;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

typedef struct predicting {
    const gp_predictor *predictor;
    gp_predict_work *work;
    double *mean, *var;
    gp_predicted_row each;
    void *ctx;
} predicting;

static advgp_status predict_block(void *ctx, gp_batch rows, advgp_error *err)
{
    predicting *p = ctx;
    advgp_status st = gp_predict(p->predictor, p->work, rows.X, p->mean, NULL, p->var, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows.X.rows; i++)
        p->each(p->ctx, rows.w ? rows.w[i] : 1, rows.X.p + i * rows.X.ld, rows.y[i], p->mean[i], p->var[i]);
    return st;
}

advgp_status gp_predict_rows(const gp_predictor *predictor, gp_reader *reader, gp_part part, size_t max_rows,
                             gp_predicted_row each, void *ctx, advgp_error *err)
{
    predicting p = {.predictor = predictor, .each = each, .ctx = ctx};
    advgp_status st = gp_predict_work_new(predictor, 0, &p.work, err);
    p.mean = gp_alloc(2 * reader->capacity, sizeof(double));
    p.var = p.mean ? p.mean + reader->capacity : NULL;
    if (st == ADVGP_OK && !p.mean) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = gp_reader_visit(reader, part, max_rows, predict_block, &p, err);
    gp_free(p.mean);
    gp_predict_work_free(p.work);
    return st;
}

typedef struct scoring {
    const gp_schema *schema;
    gp_score *score;
} scoring;

static void score_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)x;
    const scoring *s = ctx;
    gp_score_add(s->score, s->schema, w, y, mean, var_y);
}

advgp_status gp_score_rows(const gp_predictor *predictor, gp_reader *reader, gp_part part, size_t max_rows,
                           const gp_schema *schema, gp_score *score, advgp_error *err)
{
    scoring s = {.schema = schema, .score = score};
    *score = (gp_score){0};
    return gp_predict_rows(predictor, reader, part, max_rows, score_row, &s, err);
}
