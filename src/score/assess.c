// assess.c: a model and its baselines answer for the same rows.
#include "score/assess.h"
#include "base/alloc.h"
#include "score/calibrate.h"
#include "score/doubt.h"
#include "score/left_out.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

const double gp_levels[GP_LEVELS] = {0.5, 0.8, 0.9, 0.95, 0.99};
const double gp_judged_level = 0.9;

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
    *t = (gp_tally){.schema = model->schema, .line = line, .stride = 1};
    gp_scores_init(&t->scores, model);
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
    if ((t->n - 1) % t->stride) return;
    if (t->n_kept == KEPT_MAX) {
        for (size_t i = 0; i < KEPT_MAX / 2; i++) t->kept[i] = t->kept[2 * i];
        t->n_kept = KEPT_MAX / 2;
        t->stride *= 2;
    }
    t->kept[t->n_kept++] = row;
}

static gp_row_figures judge(gp_tally *t, double w, double y, double mean, double sd)
{
    const gp_distribution d = {.scores = &t->scores, .schema = t->schema, .mean = mean, .sd = sd};
    const double target = gp_schema_target(t->schema, y), e = (y - mean) / sd;
    gp_row_figures f = {.error = target - gp_predicted_mean(t->schema, mean, sd * sd),
                        .crps = gp_distribution_crps(&d, target)};
    for (size_t l = 0; l < GP_LEVELS; l++) {
        double ends[2];
        gp_distribution_score_ends(&d, gp_levels[l], ends);
        const bool inside = ends[0] <= e && e <= ends[1];
        gp_distribution_interval(&d, gp_levels[l], ends);
        t->inside[l] += w * inside;
        t->inside_gaussian[l] += w * (fabs(e) <= t->gaussian[l]);
        t->width[l] += w * (ends[1] - ends[0]);
        if (gp_levels[l] == gp_judged_level)
            f.inside = inside, f.width = ends[1] - ends[0], f.winkler = gp_winkler(ends, gp_judged_level, target);
    }
    t->crps += w * f.crps;
    t->winkler += w * f.winkler;
    t->nlp_calibrated -= w * gp_distribution_log_density(&d, target);
    return f;
}

gp_row_figures gp_tally_add(gp_tally *t, double w, const double *x, double y, double mean, double var_y)
{
    const double target = gp_schema_target(t->schema, y);
    if (!t->n++) t->y_first = target;
    gp_score_add(&t->model, t->schema, w, y, mean, var_y);
    const double off = (target - t->y_first) / t->model.unit;
    t->y += w * off;
    t->yy += w * off * off;
    t->ww += w * w;
    // The mean of a logarithm gives the lognormal mean; its variance is 1, as the target is standardised.
    gp_score_add(&t->mean, t->schema, w, y, 0, 1);
    if (t->line) {
        const double line = t->left_out ? t->line->left_out[t->n - 1] : gp_linear_predict(t->line, x);
        gp_score_add_answer(&t->linear, t->schema, w, target, gp_linear_answer(t->line, t->schema, line));
    }
    const gp_row_figures f = judge(t, w, y, mean, sqrt(var_y));
    keep(t, (gp_tally_row){.prediction = target - f.error,
                           .error = f.error,
                           .sd = gp_predicted_sd(t->schema, mean, var_y),
                           .w = w,
                           .width = f.width,
                           .inside = f.inside});
    return f;
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
    const bool few = t->n && t->n < GP_DOUBT_ROWS;
    const double n = t->model.n, unit = t->model.unit, mean = few ? t->y_first + unit * t->y / n : 0;
    out->rmse_se = out->r2_se = NAN;
    for (size_t l = 0; l < GP_LEVELS; l++)
        out->coverage_se[l] = few ? gp_doubt_share(out->coverage[l], n * n / t->ww) : NAN;
    gp_doubt_row *rows = few ? gp_alloc(t->n, sizeof *rows) : NULL;
    if (!rows) return; // without memory nobody is told how sure a figure is
    for (size_t i = 0; i < t->n; i++) {
        const gp_tally_row *r = &t->kept[i];
        rows[i] = (gp_doubt_row){.w = r->w, .error = r->error / unit, .off = (r->prediction + r->error - mean) / unit};
    }
    out->rmse_se = unit * gp_doubt_rmse(rows, t->n);
    out->r2_se = gp_doubt_r2(rows, t->n);
    gp_free(rows);
}

void gp_tally_end(gp_tally *t, gp_assessment *out)
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
    out->crps = n > 0 ? t->crps / n : NAN;
    out->winkler = n > 0 ? t->winkler / n : NAN;
    out->mnlp_calibrated = n > 0 ? t->nlp_calibrated / n : NAN;
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
