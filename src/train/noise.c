// noise.c: residuals of training rows, a short training on their logarithms, a factor for the scores, and the choice.
#include "train/noise.h"
#include "base/alloc.h"
#include "base/memory.h"
#include "base/sort.h"
#include "linalg/dense.h"
#include "model/qw.h"
#include "score/calibrate.h"
#include "score/left_out.h"
#include "store/form.h"
#include "store/runlog.h"
#include "train/reweigh.h"
#include "train/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Small beside the model of the mean: a scale needs less detail. Rows are a random sample of the training rows, bounded
// so that they fit beside the model.
enum { INDUCING = 50, ROWS_EACH = 10, STEPS = 300, BATCH = 2048, WORKERS_MAX = 4, SHARPENED = 3 };
enum { BATCH_MIN = 512, BATCH_NUMBERS = 1 << 18 }; // of wide tables a batch has fewer rows: its time goes with both
enum { ROWS_MAX = 100000, NUMBERS_MAX = 1 << 23, ROWS_MIN = 100 };
enum { HELD_OUT_MIN = 100, JUDGED_ROWS = 20000 }; // of each half: fewer cannot tell
enum { LEFT_OUT_MIN = 200 };                      // where none are held out: of 100 rows intervals came out too narrow
// The hyper-parameters of a scale have seen the rows that it is judged by, where none are held out: it must gain more.
static const double left_out_margin = 0.01;
static const double memory_share = 0.05; // that the rows may take of all the memory

// Rows with what the mean leaves of them.
typedef struct sample {
    size_t n, d;             // d: inputs of the scale
    double *X;               // [n x d]
    gp_scored_rows rows;     // mean, sd and score without the row itself
    double *u, *z, *w;       // |score|; its logarithm, standardised; weight
    bool weighed;            // w is known: the rows come once more, with the weights of the mean
    double *ln_g, *sorted;   // as it is known by now, 0 at first; scratch
    gp_predictor *predictor; // while rows are added
    double centre, scale;    // of z
} sample;

// ---- rows -----------------------------------------------------------------------------------------------------------

static void add_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    sample *s = ctx;
    const double var_f = fmax(var_y - gp_predictor_noise(s->predictor), 0);
    gp_scale_inputs(s->predictor, x, mean, var_f, s->X + s->n * s->d);
    gp_scored_rows_add(&s->rows, y, mean, sqrt(var_y));
    s->u[s->n] = fabs(s->rows.score[s->n]);
    if (!s->weighed) s->w[s->n] = w;
    s->n++;
}

// As many as there is room for, without the model's scale.
static advgp_status ask_rows(sample *s, const gp_model *model, gp_reader *reader, advgp_error *err)
{
    s->n = s->rows.n = 0;
    advgp_status st = model->form->predictor(model, &s->predictor, err);
    if (st == ADVGP_OK) st = gp_left_out_rows(s->predictor, reader, s->rows.capacity, add_row, s, err);
    gp_predictor_free(s->predictor);
    return st;
}

static advgp_status sample_rows(sample *s, const gp_model *model, gp_reader *reader, advgp_error *err)
{
    const size_t d = model->spec.d + GP_SCALE_INPUTS, rows = gp_shards_rows(reader->shards, GP_TRAIN);
    const double bytes = (2 * (double)d + 13) * sizeof(double); // of a row, here and in the shards of its training
    const double room = fmin((double)NUMBERS_MAX / (double)d, memory_share * gp_memory_bytes() / bytes);
    const size_t n = (size_t)fmin(fmin((double)rows, ROWS_MAX), fmax(room, ROWS_MIN));
    *s = (sample){.d = d, .X = gp_alloc(n, (d + 5) * sizeof *s->X)};
    if (!s->X) return gp_fail(err, ADVGP_ENOMEM, "no memory for the residuals of %zu rows", n);
    s->u = s->X + n * d, s->z = s->u + n, s->w = s->z + n, s->ln_g = s->w + n, s->sorted = s->ln_g + n;
    const advgp_status st = gp_scored_rows_init(&s->rows, n, err);
    return st == ADVGP_OK ? ask_rows(s, model, reader, err) : st;
}

static void sample_fini(sample *s)
{
    gp_scored_rows_fini(&s->rows);
    gp_free(s->X);
}

static gp_cmat inputs_of(const sample *s)
{
    return gp_cmat_of(s->X, s->n, s->d);
}

// ---- the logarithm of residuals -------------------------------------------------------------------------------------

// z = ln g + psi (score/left_out.h), standardised. False where they hardly differ, so that there is nothing to fit.
static bool take_logarithms(sample *s)
{
    double n = 0, sum = 0, squares = 0;
    if (!gp_scale_logarithms(s->n, s->u, s->ln_g, s->sorted, s->z)) return false;
    for (size_t i = 0; i < s->n; i++) {
        s->z[i] += s->ln_g[i];
        n += s->w[i], sum += s->w[i] * s->z[i];
    }
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
    const size_t few = gp_shards_rows(shards, GP_TRAIN) / ROWS_EACH; // parameters that so many rows can tell
    const size_t wide = BATCH_NUMBERS / shards->d, fits = wide > BATCH_MIN ? wide : BATCH_MIN;
    const size_t batch = fits < BATCH ? fits : BATCH;
    const gp_train_options o = {.m = few < INDUCING ? few : INDUCING,
                                .components = 1,
                                .kernel = options->kernel,
                                .map = &gp_map_cholesky,
                                .trend = model->spec.d + GP_SCALE_INPUTS <= few ? GP_TREND_LINEAR : GP_TREND_CONSTANT,
                                .steps = STEPS,
                                .batch = batch,
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

// ln g at the rows of the sample, before it is held within a range.
static advgp_status scale_at(const gp_model *noise, sample *s, advgp_error *err)
{
    gp_predictor *ln_scale = NULL;
    gp_predict_work *work = NULL;
    advgp_status st = gp_model_predictor(noise, &ln_scale, err);
    if (st == ADVGP_OK) st = gp_predict_work_new(ln_scale, 0, &work, err);
    if (st == ADVGP_OK) st = gp_predict(ln_scale, work, inputs_of(s), s->ln_g, NULL, NULL, err);
    for (size_t i = 0; st == ADVGP_OK && i < s->n; i++)
        s->ln_g[i] = noise->schema->y_mean + noise->schema->y_scale * s->ln_g[i];
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
    const gp_batch rows = {.X = inputs_of(s), .y = s->z, .w = s->w};
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

// The first fit is to u itself, with one c for all rows, and too flat; as g comes to be known, c is in proportion to
// it. Then the range: beyond the rows seen the trend would go on and on.
static advgp_status sharpen(gp_model *model, sample *s, advgp_error *err)
{
    gp_model *noise = model->noise;
    advgp_status st = scale_at(noise, s, err);
    for (size_t turn = 0; st == ADVGP_OK && turn < SHARPENED && take_logarithms(s); turn++) {
        st = refit(noise, s, err);
        noise->schema->y_mean = s->centre, noise->schema->y_scale = s->scale;
        if (st == ADVGP_OK) st = scale_at(noise, s, err);
    }
    model->noise_range[0] = INFINITY, model->noise_range[1] = -INFINITY;
    for (size_t i = 0; st == ADVGP_OK && i < s->n; i++) {
        model->noise_range[0] = fmin(model->noise_range[0], s->ln_g[i]);
        model->noise_range[1] = fmax(model->noise_range[1], s->ln_g[i]);
    }
    return st;
}

typedef struct squares {
    double sum, n;
} squares;

static void add_square(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)x;
    squares *s = ctx;
    s->sum += w * (y - mean) * (y - mean) / var_y;
    s->n += w;
}

// E ln u is not ln of a standard deviation: g is multiplied by what gives scores unit mean square.
static advgp_status set_shift(gp_model *model, gp_reader *reader, bool held_out, sample *rows, advgp_error *err)
{
    squares s = {0};
    gp_predictor *predictor = NULL;
    advgp_status st = gp_model_predictor(model, &predictor, err);
    if (st == ADVGP_OK)
        st = held_out ? gp_predict_rows(predictor, reader, GP_CALIBRATE, ROWS_MAX, add_square, &s, err)
                      : gp_left_out_rows(predictor, reader, ROWS_MAX, add_square, &s, err);
    gp_predictor_free(predictor);
    const double shift = st == ADVGP_OK && s.sum > 0 ? 0.5 * log(s.sum / s.n) : 0;
    model->noise->schema->y_mean += shift;
    model->noise_range[0] += shift, model->noise_range[1] += shift;
    for (size_t i = 0; i < rows->n; i++) rows->ln_g[i] += shift;
    return st;
}

static advgp_status fit(gp_model *model, gp_reader *reader, const gp_train_options *options, size_t workers,
                        bool held_out, sample *s, advgp_error *err)
{
    gp_shards *shards = NULL;
    advgp_status st = sample_rows(s, model, reader, err);
    if (st == ADVGP_OK && s->n >= ROWS_MIN && take_logarithms(s)) {
        st = shards_of(s, reader->shards->weighted, options->seed, &shards, err);
        if (st == ADVGP_OK) st = train_scale(model, shards, options, workers, &model->noise, err);
        if (st == ADVGP_OK) model->noise->schema->y_mean = s->centre, model->noise->schema->y_scale = s->scale;
        if (st == ADVGP_OK) st = sharpen(model, s, err);
    }
    gp_shards_free(shards);
    return st == ADVGP_OK && model->noise ? set_shift(model, reader, held_out, s, err) : st;
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

// Calibrated on one half of the held-out rows and judged on the other.
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

typedef struct left_out {
    gp_scored_rows rows;
    double *w, *scores; // [capacity] each
} left_out;

static void note_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)x;
    left_out *l = ctx;
    l->w[l->rows.n] = w;
    gp_scored_rows_add(&l->rows, y, mean, sqrt(var_y));
}

// Where held-out rows are few: calibrated and judged on training rows, each left out in turn, once for both: an exact
// process takes its time to leave out rows.
static advgp_status left_out_crps(gp_model *model, gp_reader *reader, double *crps, advgp_error *err)
{
    const size_t all = gp_shards_rows(reader->shards, GP_TRAIN), n = all < JUDGED_ROWS ? all : JUDGED_ROWS;
    left_out l = {.w = gp_alloc(2 * n, sizeof(double))};
    gp_scores scores;
    gp_predictor *predictor = NULL;
    judging j = {.scores = &scores, .schema = model->schema};
    l.scores = l.w + n;
    advgp_status st = l.w ? gp_scored_rows_init(&l.rows, n, err)
                          : gp_fail(err, ADVGP_ENOMEM, "no memory to leave out rows");
    if (st == ADVGP_OK) st = gp_model_predictor(model, &predictor, err);
    if (st == ADVGP_OK) st = gp_left_out_rows(predictor, reader, n, note_row, &l, err);
    for (size_t i = 0; i < l.rows.n; i++) l.scores[i] = l.rows.score[i];
    if (st == ADVGP_OK) st = gp_model_calibrate(model, l.scores, l.rows.n, err);
    gp_scores_init(&scores, model);
    for (size_t i = 0; st == ADVGP_OK && i < l.rows.n; i++) {
        const double mean = l.rows.mean[i], sd = l.rows.sd[i];
        judge_row(&j, l.w[i], NULL, mean + sd * l.rows.score[i], mean, sd * sd);
    }
    gp_predictor_free(predictor);
    gp_scored_rows_fini(&l.rows);
    gp_free(l.w);
    *crps = j.crps / j.n;
    return st;
}

static advgp_status new_rows_crps(gp_model *model, gp_reader *reader, bool held_out, double *crps, advgp_error *err)
{
    return held_out ? held_out_crps(model, reader, crps, err) : left_out_crps(model, reader, crps, err);
}

static advgp_status choose(gp_model *model, gp_reader *reader, bool held_out, advgp_error *err)
{
    double constant = NAN, varying = NAN;
    gp_model *noise = model->noise;
    advgp_status st = new_rows_crps(model, reader, held_out, &varying, err);
    model->noise = NULL;
    if (st == ADVGP_OK) st = new_rows_crps(model, reader, held_out, &constant, err);
    if (st == ADVGP_OK && varying < (held_out ? 1 : 1 - left_out_margin) * constant)
        model->noise = noise;
    else
        gp_model_free(noise);
    json_object_set_new(model->record, "crps_constant_noise", gp_json_real(constant));
    json_object_set_new(model->record, "crps_varying_noise", gp_json_real(varying));
    return st;
}

// The mean weighted by what the scale says, if held-out rows agree (reweigh.h); then its errors are others, and the
// scale is solved for them anew, hyper-parameters as they were found.
static advgp_status weigh_mean(gp_model *model, gp_reader *reader, size_t workers, sample *s, advgp_error *err)
{
    gp_reweighed weighed;
    gp_reader rows = {0};
    const bool all = s->n == gp_shards_rows(reader->shards, GP_TRAIN);
    advgp_status st = gp_reweigh(model, reader, workers ? workers : 1, all ? s->ln_g : NULL, &weighed, err);
    if (st == ADVGP_OK && weighed.shards) {
        s->weighed = true;
        st = gp_reader_new(weighed.shards, reader->capacity, &rows, err);
        if (st == ADVGP_OK) st = ask_rows(s, model, &rows, err);
        if (st == ADVGP_OK) st = sharpen(model, s, err);
        if (st == ADVGP_OK) st = set_shift(model, reader, true, s, err);
    }
    json_object_set_new(model->record, "weighted_mean_gain", gp_json_real(weighed.gain));
    json_object_set_new(model->record, "weighted_mean", json_boolean(weighed.shards != NULL));
    gp_reader_fini(&rows);
    gp_shards_free(weighed.shards);
    return st;
}

// Scores by groups (score/groups.h) where the rows are enough to tell them, if the CRPS of held-out rows falls.
static advgp_status choose_groups(gp_model *model, gp_reader *reader, sample *s, advgp_error *err)
{
    double alike = NAN, grouped = NAN;
    if (s->n < GP_GROUPS_ROWS_MIN) return ADVGP_OK;
    for (size_t i = 0; model->noise && i < s->n; i++)
        s->rows.sd[i] *= exp(s->ln_g[i]), s->rows.score[i] *= exp(-s->ln_g[i]);
    advgp_status st = new_rows_crps(model, reader, true, &alike, err);
    if (st == ADVGP_OK) st = gp_calibrate_groups(model, reader, s->rows, err);
    if (st == ADVGP_OK) st = new_rows_crps(model, reader, true, &grouped, err);
    if (st != ADVGP_OK || !(grouped < alike)) {
        gp_free(model->groups);
        model->groups = NULL;
    }
    json_object_set_new(model->record, "crps_scores_alike", gp_json_real(alike));
    json_object_set_new(model->record, "crps_scores_by_group", gp_json_real(grouped));
    return st;
}

// An auto without the memory for it, or with numbers that are none, is constant; the mean stands without it.
static advgp_status go_without(gp_model *model, gp_notes *notes, const char *why, advgp_error *err)
{
    gp_model_free(model->noise);
    gp_free(model->groups);
    model->noise = NULL, model->groups = NULL;
    json_object_set_new(model->record, "noise_not_fitted", json_string(why));
    return gp_notes_add(notes, err, 1, "the noise is the same for all rows: %s", why);
}

advgp_status gp_noise_fit(gp_model *model, gp_reader *reader, const gp_train_options *o, const gp_train_result *result,
                          gp_notes *notes, advgp_error *err)
{
    const gp_shards *rows = reader->shards;
    const bool held_out = gp_shards_rows(rows, GP_STOP) >= HELD_OUT_MIN &&
                          gp_shards_rows(rows, GP_CALIBRATE) >= GP_CALIBRATION_ROWS_MIN;
    if (!o || o->noise == GP_NOISE_CONSTANT || model->form == &gp_form_linear) return ADVGP_OK;
    if (o->noise == GP_NOISE_AUTO && result->interrupted) return ADVGP_OK; // somebody waits for the model so far
    if (o->noise == GP_NOISE_AUTO && !held_out && gp_shards_rows(rows, GP_TRAIN) < LEFT_OUT_MIN) return ADVGP_OK;
    advgp_error why = {0};
    sample s = {0};
    advgp_status st = fit(model, reader, o, result->workers, held_out, &s, &why);
    if (st == ADVGP_OK && !model->noise && o->noise == GP_NOISE_VARYING) {
        st = go_without(model, notes, "rows are too few, or what is left of them hardly differs", &why);
    } else if (st == ADVGP_OK && model->noise && o->noise == GP_NOISE_AUTO) {
        st = choose(model, reader, held_out, &why);
    }
    if (st == ADVGP_OK && held_out && model->noise) st = weigh_mean(model, reader, result->workers, &s, &why);
    if (st == ADVGP_OK && held_out) st = choose_groups(model, reader, &s, &why);
    sample_fini(&s);
    if (o->noise == GP_NOISE_AUTO && (st == ADVGP_ENOMEM || st == ADVGP_ENUMERIC)) {
        const advgp_error because = why;
        st = go_without(model, notes, because.text, &why);
    }
    if (st != ADVGP_OK && err) *err = why;
    json_object_set_new(model->record, "noise", json_string(model->noise ? "varying" : "constant"));
    return st;
}
