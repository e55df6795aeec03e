// assess.c: a model and its baselines answer for the same rows.
#include "score/assess.h"
#include "base/alloc.h"
#include "score/calibrate.h"
#include "score/left_out.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

bool gp_scored_of_training(gp_scored scored)
{
    return scored == GP_SCORED_LEFT_OUT || scored == GP_SCORED_REFITTED;
}

// ---- sums -----------------------------------------------------------------------------------------------------------

enum { KEPT_MAX = 65536, TENTH_ROWS_MIN = 10 };

typedef struct gp_tally_row {
    double key, prediction, error, sd, w, width;
    bool inside;
} gp_tally_row;

advgp_status gp_tally_init(gp_tally *t, const gp_model *model, const gp_linear *line, advgp_error *err)
{
    *t = (gp_tally){.schema = model->schema, .scores = &model->calibration, .line = line, .stride = 1};
    for (size_t l = 0; l < GP_LEVELS; l++) t->gaussian[l] = gp_gaussian_interval(gp_levels[l]);
    t->kept = gp_alloc(KEPT_MAX, sizeof *t->kept);
    return t->kept ? ADVGP_OK : gp_no_memory(err);
}

void gp_tally_fini(gp_tally *t)
{
    gp_free(t->kept);
    t->kept = NULL;
}

// Where there is no more room, every second row goes, and of those that follow as many fewer stay.
static void keep(gp_tally *t, gp_tally_row row)
{
    if ((t->sums.rows - 1) % t->stride) return;
    if (t->n_kept == KEPT_MAX) {
        for (size_t i = 0; i < KEPT_MAX / 2; i++) t->kept[i] = t->kept[2 * i];
        t->n_kept = KEPT_MAX / 2;
        t->stride *= 2;
    }
    t->kept[t->n_kept++] = row;
}

const gp_judged *gp_tally_add(gp_tally *t, double w, const double *x, double y, double mean, double var_y)
{
    const double target = gp_schema_target(t->schema, y), unit = gp_target_unit(t->schema);
    if (!t->sums.rows) t->y_first = target;
    t->row = (gp_judged){.w = w,
                         .y = y,
                         .mean = mean,
                         .var_y = var_y,
                         .target = target,
                         .error = target - gp_predicted_mean(t->schema, mean, var_y),
                         .unit = unit,
                         .off = (target - t->y_first) / unit,
                         .calibrated = {t->scores, t->schema, mean, sqrt(var_y)},
                         .gaussian = t->gaussian};
    gp_judge_row(&t->row);
    gp_sums_add(&t->sums, &t->row);
    // The mean of a logarithm gives the lognormal mean; its variance is 1, as the target is standardised.
    gp_score_add(&t->mean, t->schema, w, y, 0, 1);
    if (t->line) {
        const double line = t->left_out ? t->line->left_out[t->sums.rows - 1] : gp_linear_predict(t->line, x);
        gp_score_add_answer(&t->linear, t->schema, w, target, gp_linear_answer(t->line, t->schema, line));
    }
    keep(t, (gp_tally_row){.prediction = target - t->row.error,
                           .error = t->row.error,
                           .sd = gp_predicted_sd(t->schema, mean, var_y),
                           .w = w,
                           .width = t->row.ends[GP_JUDGED][1] - t->row.ends[GP_JUDGED][0],
                           .inside = gp_is_inside(&t->row, GP_JUDGED)});
    return &t->row;
}

static int by_key(const void *a, const void *b)
{
    const double x = ((const gp_tally_row *)a)->key, y = ((const gp_tally_row *)b)->key;
    return (x > y) - (x < y);
}

// Rows are sorted by key.
static void cut_tenths(const gp_tally *t, gp_tenth *out)
{
    qsort(t->kept, t->n_kept, sizeof *t->kept, by_key);
    for (size_t k = 0; k < GP_TENTHS; k++) {
        const size_t from = t->n_kept * k / GP_TENTHS, to = t->n_kept * (k + 1) / GP_TENTHS;
        double n = 0, inside = 0, width = 0;
        for (size_t i = from; i < to; i++) {
            const gp_tally_row *row = &t->kept[i];
            n += row->w, inside += row->w * row->inside, width += row->w * row->width;
        }
        out[k] = (gp_tenth){.from = t->kept[from].key,
                            .to = t->kept[to - 1].key,
                            .rows = to - from,
                            .coverage = n > 0 ? inside / n : NAN,
                            .width = n > 0 ? width / n : NAN};
    }
}

// Of few rows all are kept. In units of the score, in which squares can be taken.
static void doubt(const gp_tally *t, gp_assessment *out)
{
    static_assert((int)GP_DOUBT_ROWS <= (int)KEPT_MAX, "few rows are all kept");
    const gp_sums *s = &t->sums;
    const bool few = s->rows && s->rows < GP_DOUBT_ROWS;
    const double mean = few ? t->y_first + s->unit * s->off / s->n : 0;
    gp_doubt_row *rows = few ? gp_alloc(s->rows, sizeof *rows) : NULL; // without memory nobody is told
    for (size_t i = 0; rows && i < s->rows; i++) {
        const gp_tally_row *r = &t->kept[i];
        rows[i] = (gp_doubt_row){
            .w = r->w, .error = r->error / s->unit, .off = (r->prediction + r->error - mean) / s->unit};
    }
    gp_doubts d = {.rows = rows, .n = s->rows, .unit = s->unit, .worth = s->n * s->n / s->squares};
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++)
        for (size_t i = m->at; i < m->at + m->n; i++) {
            d.value = out->values[i];
            out->errors[i] = rows && m->error ? m->error(&d) : NAN;
        }
    gp_free(rows);
}

void gp_tally_end(gp_tally *t, gp_assessment *out)
{
    out->n_scored = t->sums.rows;
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++)
        for (size_t l = 0; l < m->n; l++) out->values[m->at + l] = gp_sums_figure(&t->sums, m, l);
    out->baseline_mean = gp_score_rmse(&t->mean), out->baseline_linear = gp_score_rmse(&t->linear);
    doubt(t, out);
    out->n_tenths = t->n_kept >= (size_t)TENTH_ROWS_MIN * GP_TENTHS ? GP_TENTHS : 0;
    if (!out->n_tenths) return;
    for (size_t i = 0; i < t->n_kept; i++) t->kept[i].key = t->kept[i].prediction;
    cut_tenths(t, out->by_prediction);
    for (size_t i = 0; i < t->n_kept; i++) t->kept[i].key = t->kept[i].sd;
    cut_tenths(t, out->by_sd);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static void add_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)gp_tally_add(ctx, w, x, y, mean, var_y);
}

// Every figure is of these rows, all of them. The predictor is made when it is needed: that of an exact process takes
// its time.
static advgp_status score_all(gp_assessor *a, gp_reader *reader, bool left_out, gp_assessment *out, advgp_error *err)
{
    gp_tally tally;
    advgp_status st = gp_tally_init(&tally, a->model, &a->fit, err);
    tally.left_out = left_out;
    if (st == ADVGP_OK && !a->predictor && !(left_out && a->model->unseen.n))
        st = gp_model_predictor(a->model, &a->predictor, err);
    if (st == ADVGP_OK)
        st = left_out ? gp_unseen_rows(a->model, a->predictor, reader, 0, add_row, &tally, err)
                      : gp_predict_rows(a->predictor, reader, GP_STOP, 0, add_row, &tally, err);
    if (st == ADVGP_OK) gp_tally_end(&tally, out);
    gp_tally_fini(&tally);
    return st;
}

advgp_status gp_assess(gp_assessor *a, gp_reader *reader, gp_assessment *out, advgp_error *err)
{
    const bool left_out = gp_shards_rows(reader->shards, GP_STOP) == 0;
    out->scored = !left_out ? GP_SCORED_HELD_OUT : a->model->unseen.refitted ? GP_SCORED_REFITTED : GP_SCORED_LEFT_OUT;
    return score_all(a, reader, left_out, out, err);
}

advgp_status gp_assess_test(gp_assessor *a, const gp_shards *test, size_t capacity, gp_assessment *out,
                            advgp_error *err)
{
    gp_reader reader = {0};
    advgp_status st = gp_reader_new(test, capacity, &reader, err);
    if (st == ADVGP_OK) st = score_all(a, &reader, false, out, err);
    gp_reader_fini(&reader);
    out->scored = GP_SCORED_TEST;
    return st;
}

// ---- the assessor ---------------------------------------------------------------------------------------------------

enum { PASS_COSTS = 100000 }; // rows from which another pass over them is felt

// The statistics of the finish pass, which all workers have summed, hold the line of the same rows where the trend is
// linear. Of few rows the rows are asked: a line of minimum norm is theirs where columns depend on each other.
static advgp_status fit_line(gp_reader *reader, const gp_model *model, gp_linear *out, advgp_error *err)
{
    const bool left_out = gp_shards_rows(reader->shards, GP_STOP) == 0;
    const double n = gp_shards_weight(reader->shards, GP_TRAIN);
    bool found = false;
    if (!left_out && !model->x_train && gp_shards_rows(reader->shards, GP_TRAIN) >= PASS_COSTS &&
        fabs(model->stats.n - n) <= 1e-9 * n) {
        const advgp_status st = gp_linear_of_model(model, out, &found, err);
        if (st != ADVGP_OK || found) return st;
        gp_linear_fini(out);
    }
    return gp_linear_line(reader, left_out, out, err);
}

advgp_status gp_assessor_init(gp_assessor *a, gp_model *model, gp_reader *reader, advgp_error *err)
{
    *a = (gp_assessor){.model = model};
    advgp_status st = fit_line(reader, model, &a->fit, err);
    if (st == ADVGP_OK) st = gp_linear_fit_back(&a->fit, model->schema, reader, err);
    if (st == ADVGP_OK && a->fit.back.known)
        json_object_set_new(model->record, "linear_back", gp_line_back_json(&a->fit.back));
    return st;
}

void gp_assessor_fini(gp_assessor *a)
{
    gp_linear_fini(&a->fit);
    gp_predictor_free(a->predictor);
}
