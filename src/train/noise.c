// noise.c: residuals of training rows, a short training on their logarithms, a scale for the scores, and the choice.
#include "train/noise.h"
#include "base/alloc.h"
#include "base/memory.h"
#include "base/sort.h"
#include "linalg/dense.h"
#include "model/qw.h"
#include "score/calibrate.h"
#include "store/form.h"
#include "store/runlog.h"
#include "train/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Small beside the model of the mean: a scale needs less detail. Rows are a random sample of the training rows, bounded
// so that they fit beside the model.
enum { INDUCING = 50, STEPS = 300, BATCH = 2048, WORKERS_MAX = 4, SHARPENED = 3 };
enum { ROWS_MAX = 100000, NUMBERS_MAX = 1 << 23, ROWS_MIN = 100 };
enum { HELD_OUT_MIN = 100, JUDGED_ROWS = 20000 }; // of each half: fewer cannot tell
static const double memory_share = 0.05;          // that the rows may take of all the memory
static const double floor_quantile = 0.05;        // c of ln(|r| + c): keeps residuals of nearly 0 from ruling the fit

// Rows with what the mean leaves of them.
typedef struct sample {
    size_t n, capacity, d;
    double *X, *r, *z, *w; // [n x d]; residual without the row itself; its logarithm, standardised; weight
    double *var_f, *noise; // of the latent function without the row; s^2 as the model has it now
    gp_predictor *predictor;
    gp_predict_work *work;
    double *mean, *spread, *residual; // [capacity of the reader]
    bool left_out;                    // the rows were trained on
    double centre, scale;             // of z
} sample;

// ---- rows -----------------------------------------------------------------------------------------------------------

static advgp_status sample_init(sample *s, const gp_model *model, const gp_reader *reader, size_t n, bool left_out,
                                advgp_error *err)
{
    const size_t d = model->spec.d, B = reader->capacity;
    *s = (sample){.capacity = n, .d = d, .left_out = left_out};
    s->X = gp_alloc(n, d * sizeof *s->X);
    s->r = gp_alloc(n, sizeof *s->r);
    s->z = gp_alloc(n, sizeof *s->z);
    s->w = gp_alloc(n, sizeof *s->w);
    s->var_f = gp_alloc(n, sizeof *s->var_f);
    s->noise = gp_alloc(n, sizeof *s->noise);
    s->mean = gp_alloc(B, sizeof *s->mean);
    s->spread = gp_alloc(B, sizeof *s->spread);
    s->residual = gp_alloc(B, sizeof *s->residual);
    if (!s->X || !s->r || !s->z || !s->w || !s->var_f || !s->noise || !s->mean || !s->spread || !s->residual)
        return gp_fail(err, ADVGP_ENOMEM, "no memory for the residuals of %zu rows", n);
    advgp_status st = gp_model_predictor(model, &s->predictor, err);
    if (st == ADVGP_OK) st = gp_predict_work_new(s->predictor, 0, &s->work, err);
    return st;
}

static void sample_fini(sample *s)
{
    gp_free(s->X);
    gp_free(s->r);
    gp_free(s->z);
    gp_free(s->w);
    gp_free(s->var_f);
    gp_free(s->noise);
    gp_free(s->mean);
    gp_free(s->spread);
    gp_free(s->residual);
    gp_predict_work_free(s->work);
    gp_predictor_free(s->predictor);
}

// A row that was trained on has drawn the mean to itself: calibrate.c has the two formulas of leaving it out.
static advgp_status add_rows(void *ctx, gp_batch rows, advgp_error *err)
{
    sample *s = ctx;
    const double noise = gp_predictor_noise(s->predictor);
    advgp_status st = gp_predict_parts(s->predictor, s->work, rows.X, s->mean, s->spread, s->residual, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows.X.rows && s->n < s->capacity; i++) {
        const double w = rows.w ? rows.w[i] : 1;
        if (w == 0) continue;
        const double h = s->left_out ? fmin(w * s->spread[i] / noise, 1 - 1e-6) : 0;
        memcpy(s->X + s->n * s->d, rows.X.p + i * rows.X.ld, s->d * sizeof *s->X);
        s->r[s->n] = (rows.y[i] - s->mean[i]) / (1 - h);
        s->var_f[s->n] = s->spread[i] / (1 - h) + s->residual[i];
        s->w[s->n++] = w;
    }
    return st;
}

static advgp_status sample_rows(sample *s, const gp_model *model, gp_reader *reader, gp_part part, advgp_error *err)
{
    const size_t d = model->spec.d, rows = gp_shards_rows(reader->shards, part);
    const double bytes = (2 * (double)d + 10) * sizeof(double); // of a row, here and in the shards of its training
    const double room = fmin((double)NUMBERS_MAX / (double)d, memory_share * gp_memory_bytes() / bytes);
    const size_t n = (size_t)fmin(fmin((double)rows, ROWS_MAX), fmax(room, ROWS_MIN));
    advgp_status st = sample_init(s, model, reader, n, part == GP_TRAIN, err);
    if (st == ADVGP_OK) st = gp_reader_visit(reader, part, n, add_rows, s, err);
    if (st == ADVGP_OK) st = gp_predict_noise(s->predictor, s->work, gp_cmat_of(s->X, s->n, s->d), s->noise, err);
    return st;
}

// ---- the logarithm of residuals -------------------------------------------------------------------------------------

// z = ln s + ln(|r| / s + c), with s as it is known by now (NULL: 1) and c a small quantile of |r| / s. *c is 0 where
// there are no residuals.
static advgp_status take_logarithms(sample *s, const double *ln_s, double *c, advgp_error *err)
{
    double *sorted = gp_alloc(s->n, sizeof *sorted), sum = 0;
    if (!sorted) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu residuals", s->n);
    for (size_t i = 0; i < s->n; i++) {
        sorted[i] = fabs(s->r[i]) * (ln_s ? exp(-ln_s[i]) : 1);
        sum += sorted[i];
    }
    gp_sort(sorted, s->n);
    *c = fmax(sorted[(size_t)(floor_quantile * (double)s->n)], 1e-3 * sum / (double)s->n);
    for (size_t i = 0; *c > 0 && i < s->n; i++)
        s->z[i] = ln_s ? ln_s[i] + log(fabs(s->r[i]) * exp(-ln_s[i]) + *c) : log(fabs(s->r[i]) + *c);
    gp_free(sorted);
    return ADVGP_OK;
}

// False where they hardly differ, so that there is nothing to fit.
static bool standardise(sample *s)
{
    double n = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < s->n; i++) n += s->w[i], sum += s->w[i] * s->z[i];
    s->centre = sum / n;
    for (size_t i = 0; i < s->n; i++) squares += s->w[i] * (s->z[i] - s->centre) * (s->z[i] - s->centre);
    s->scale = sqrt(squares / n);
    for (size_t i = 0; s->scale > 1e-6 && i < s->n; i++) s->z[i] = (s->z[i] - s->centre) / s->scale;
    return s->scale > 1e-6;
}

static advgp_status shards_of(const sample *s, bool weighted, uint64_t seed, gp_shards **out, advgp_error *err)
{
    gp_memory_builder *builder = NULL;
    unsigned char *parts = gp_alloc(s->n, 1); // zero: GP_TRAIN
    *out = NULL;
    if (!parts) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu rows", s->n);
    advgp_status st = gp_memory_builder_new(s->d, gp_shards_suggest(s->n), weighted, true, seed, &builder, err);
    const gp_rows rows = {.n = s->n, .d = s->d, .X = s->X, .y = s->z, .w = s->w, .part = parts};
    if (st == ADVGP_OK) st = gp_memory_builder_add(builder, &rows, err);
    if (st == ADVGP_OK)
        *out = gp_memory_shards_take(builder);
    else
        gp_memory_builder_free(builder);
    gp_free(parts);
    return st;
}

// ---- the model of it ------------------------------------------------------------------------------------------------

// A short training, in this process whatever the model's was, synchronous, so that the same rows give the same bits.
static advgp_status train_scale(const gp_model *model, const gp_shards *shards, const gp_train_options *options,
                                size_t workers, gp_model **out, advgp_error *err)
{
    const gp_train_options o = {.m = INDUCING,
                                .components = 1,
                                .kernel = options->kernel,
                                .map = &gp_map_cholesky,
                                .trend = GP_TREND_LINEAR,
                                .steps = STEPS,
                                .batch = BATCH,
                                .seed = options->seed,
                                .workers = workers < 1             ? 1
                                           : workers < WORKERS_MAX ? workers
                                                                   : WORKERS_MAX,
                                .quorum = -1,
                                .noise = GP_NOISE_CONSTANT};
    const gp_train_request request = {.shards = shards, .schema = model->schema, .options = &o};
    gp_train_result result;
    gp_training t;
    size_t rows = 0;
    advgp_status st = gp_training_fit(&t, &request, gp_training_versions, &result, &rows, err);
    if (st == ADVGP_OK) st = gp_model_new_noise(&t.learner->spec, out, err);
    if (st == ADVGP_OK) gp_learner_copy(t.learner, *out);
    gp_training_fini(&t);
    return st;
}

// ln s at the rows of the sample, before it is held within a range.
static advgp_status scale_at(const gp_model *noise, const sample *s, double *ln_s, advgp_error *err)
{
    gp_predictor *ln_scale = NULL;
    gp_predict_work *work = NULL;
    advgp_status st = gp_model_predictor(noise, &ln_scale, err);
    if (st == ADVGP_OK) st = gp_predict_work_new(ln_scale, 0, &work, err);
    if (st == ADVGP_OK) st = gp_predict(ln_scale, work, gp_cmat_of(s->X, s->n, s->d), ln_s, NULL, NULL, err);
    for (size_t i = 0; st == ADVGP_OK && i < s->n; i++)
        ln_s[i] = noise->schema->y_mean + noise->schema->y_scale * ln_s[i];
    gp_predict_work_free(work);
    gp_predictor_free(ln_scale);
    return st;
}

// The optimal q(w) for the logarithms as they are now, hyper-parameters as they were found.
static advgp_status refit(gp_model *noise, const sample *s, advgp_error *err)
{
    gp_features *f = NULL;
    gp_pass *pass = NULL;
    gp_qw *qw = NULL;
    const size_t M = noise->layout.M;
    const gp_batch rows = {.X = gp_cmat_of(s->X, s->n, s->d), .y = s->z, .w = s->w};
    advgp_status st = gp_features_new(&noise->spec, &f, err);
    if (st == ADVGP_OK) st = gp_pass_new(f, 0, &pass, err);
    if (st == ADVGP_OK) st = gp_qw_new(M, &qw, err);
    if (st == ADVGP_OK) st = gp_pass_run(pass, noise->theta, GP_PASS_STATS, rows, NULL, NULL, err);
    if (st == ADVGP_OK) {
        const gp_stats *sums = gp_pass_stats(pass);
        gp_mat_copy(gp_ro(sums->A), noise->stats.A);
        memcpy(noise->stats.b, sums->b, M * sizeof *sums->b);
        noise->stats.yy = sums->yy, noise->stats.n = sums->n, noise->stats.residual = sums->residual;
        st = gp_qw_optimal(qw, sums, noise->theta[0], noise->theta + noise->layout.n_rest,
                           noise->theta + noise->layout.U, NULL, err);
    }
    gp_qw_free(qw);
    gp_pass_free(pass);
    gp_features_free(f);
    return st;
}

// With one c for all rows ln(|r| + c) hardly falls where s is small, and s comes out too flat: c must be in proportion
// to s, which is known better each time. Then the range: beyond the rows seen the trend would go on and on.
static advgp_status sharpen(gp_model *model, sample *s, advgp_error *err)
{
    gp_model *noise = model->noise;
    double *ln_s = gp_alloc(s->n, sizeof *ln_s), c = 0;
    advgp_status st = ln_s ? scale_at(noise, s, ln_s, err) : gp_fail(err, ADVGP_ENOMEM, "no memory for %zu rows", s->n);
    for (size_t turn = 0; st == ADVGP_OK && turn < SHARPENED; turn++) {
        st = take_logarithms(s, ln_s, &c, err);
        if (st != ADVGP_OK || !(c > 0) || !standardise(s)) break;
        noise->schema->y_mean = s->centre, noise->schema->y_scale = s->scale;
        st = refit(noise, s, err);
        if (st == ADVGP_OK) st = scale_at(noise, s, ln_s, err);
    }
    model->noise_range[0] = INFINITY, model->noise_range[1] = -INFINITY;
    for (size_t i = 0; st == ADVGP_OK && i < s->n; i++) {
        model->noise_range[0] = fmin(model->noise_range[0], ln_s[i]);
        model->noise_range[1] = fmax(model->noise_range[1], ln_s[i]);
    }
    gp_free(ln_s);
    return st;
}

// Mean of squared scores with s^2 times exp(2 shift).
static double mean_square(const sample *s, double shift)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < s->n; i++) {
        sum += s->w[i] * s->r[i] * s->r[i] / (s->var_f[i] + exp(2 * shift) * s->noise[i]);
        n += s->w[i];
    }
    return sum / n;
}

// E ln|r| is not ln of the standard deviation: s is shifted until scores have unit mean square. It falls with the
// shift.
static advgp_status set_shift(gp_model *model, gp_reader *reader, gp_part part, advgp_error *err)
{
    sample s;
    advgp_status st = sample_rows(&s, model, reader, part, err);
    double low = -8, high = 8;
    for (int i = 0; st == ADVGP_OK && i < 60; i++) {
        const double middle = 0.5 * (low + high);
        if (mean_square(&s, middle) > 1)
            low = middle;
        else
            high = middle;
    }
    sample_fini(&s);
    const double shift = 0.5 * (low + high);
    model->noise->schema->y_mean += shift;
    model->noise_range[0] += shift, model->noise_range[1] += shift;
    return st;
}

static advgp_status fit(gp_model *model, gp_reader *reader, const gp_train_options *options, size_t workers,
                        gp_part scaled_on, advgp_error *err)
{
    sample s;
    gp_shards *shards = NULL;
    double c = 0;
    advgp_status st = sample_rows(&s, model, reader, GP_TRAIN, err);
    if (st == ADVGP_OK && s.n >= ROWS_MIN) st = take_logarithms(&s, NULL, &c, err);
    if (st == ADVGP_OK && c > 0 && standardise(&s)) {
        st = shards_of(&s, reader->shards->weighted, options->seed, &shards, err);
        if (st == ADVGP_OK) st = train_scale(model, shards, options, workers, &model->noise, err);
        if (st == ADVGP_OK) model->noise->schema->y_mean = s.centre, model->noise->schema->y_scale = s.scale;
        if (st == ADVGP_OK) st = sharpen(model, &s, err);
    }
    gp_shards_free(shards);
    sample_fini(&s);
    return st == ADVGP_OK && model->noise ? set_shift(model, reader, scaled_on, err) : st;
}

// ---- the choice -----------------------------------------------------------------------------------------------------

typedef struct judging {
    const gp_scores *scores;
    const gp_schema *schema;
    double crps, n;
} judging;

static void judge_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)x;
    judging *j = ctx;
    const gp_distribution d = {.scores = j->scores, .schema = j->schema, .mean = mean, .sd = sqrt(var_y)};
    j->crps += w * gp_distribution_crps(&d, gp_schema_target(j->schema, y));
    j->n += w;
}

// Calibrated on one half of the held-out rows, judged on the other.
static advgp_status held_out_crps(gp_model *model, gp_reader *reader, double *crps, advgp_error *err)
{
    gp_scores scores;
    gp_predictor *predictor = NULL;
    judging j = {.scores = &scores, .schema = model->schema};
    advgp_status st = gp_calibrate(model, reader, err);
    if (st == ADVGP_OK) st = gp_model_predictor(model, &predictor, err);
    gp_scores_init(&scores, model);
    if (st == ADVGP_OK) st = gp_predict_rows(predictor, reader, GP_STOP, JUDGED_ROWS, judge_row, &j, err);
    gp_predictor_free(predictor);
    *crps = j.crps / j.n;
    return st;
}

static advgp_status choose(gp_model *model, gp_reader *reader, advgp_error *err)
{
    double constant = NAN, varying = NAN;
    gp_model *noise = model->noise;
    advgp_status st = held_out_crps(model, reader, &varying, err);
    model->noise = NULL;
    if (st == ADVGP_OK) st = held_out_crps(model, reader, &constant, err);
    if (st == ADVGP_OK && varying < constant)
        model->noise = noise;
    else
        gp_model_free(noise);
    json_object_set_new(model->record, "crps_constant_noise", gp_json_real(constant));
    json_object_set_new(model->record, "crps_varying_noise", gp_json_real(varying));
    return st;
}

advgp_status gp_noise_fit(gp_model *model, gp_reader *reader, const gp_train_options *o, const gp_train_result *result,
                          advgp_error *err)
{
    const gp_shards *rows = reader->shards;
    const bool judged = gp_shards_rows(rows, GP_STOP) >= HELD_OUT_MIN &&
                        gp_shards_rows(rows, GP_CALIBRATE) >= GP_CALIBRATION_ROWS_MIN;
    if (!o || o->noise == GP_NOISE_CONSTANT || model->form == &gp_form_linear) return ADVGP_OK;
    if (o->noise == GP_NOISE_AUTO && !judged) return ADVGP_OK;
    advgp_error why = {0};
    advgp_status st = fit(model, reader, o, result->workers, judged ? GP_CALIBRATE : GP_TRAIN, &why);
    if (st == ADVGP_OK && model->noise && o->noise == GP_NOISE_AUTO) st = choose(model, reader, &why);
    if (o->noise == GP_NOISE_AUTO && (st == ADVGP_ENOMEM || st == ADVGP_ENUMERIC)) { // the mean stands without it
        gp_model_free(model->noise);
        model->noise = NULL;
        json_object_set_new(model->record, "noise_not_fitted", json_string(why.text));
        st = ADVGP_OK;
    }
    if (st != ADVGP_OK && err) *err = why;
    json_object_set_new(model->record, "noise", json_string(model->noise ? "varying" : "constant"));
    return st;
}
