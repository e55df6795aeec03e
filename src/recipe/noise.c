// noise.c: residuals of training rows, a scale for them, a factor for the scores, and the choice.
#include "recipe/noise.h"
#include "base/alloc.h"
#include "base/memory.h"
#include "base/whole.h"
#include "recipe/plan.h"
#include "recipe/scale_fit.h"
#include "score/calibrate.h"
#include "score/left_out.h"
#include "store/form.h"
#include "store/runlog.h"

#include <math.h>

// Rows are a random sample of the training rows, bounded so that they fit beside the model; few tell nothing.
enum { NUMBERS_MAX = 1 << 23 };
static const double memory_share = 0.05; // that the rows may take of all the memory

typedef struct sample {
    gp_scale_rows scale;
    gp_scored_rows rows;     // mean, sd and score without the row itself
    gp_predictor *predictor; // while rows are added
} sample;

// ---- rows -----------------------------------------------------------------------------------------------------------

static void add_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    sample *s = ctx;
    gp_scale_rows *to = &s->scale;
    const size_t i = to->n++;
    const double var_f = fmax(var_y - gp_predictor_noise(s->predictor), 0);
    gp_scale_inputs(s->predictor, x, mean, var_f, to->X + i * to->d);
    gp_scored_rows_add(&s->rows, y, mean, sqrt(var_y));
    to->u[i] = fabs(s->rows.score[i]);
    to->w[i] = w;
}

// As many as there is room for, without the model's scale.
static advgp_status ask_rows(sample *s, const gp_model *model, gp_reader *reader, advgp_error *err)
{
    s->scale.n = s->rows.n = 0;
    advgp_status st = model->form->predictor(model, &s->predictor, err);
    if (st == ADVGP_OK) st = gp_unseen_rows(model, s->predictor, reader, s->rows.capacity, add_row, s, err);
    gp_predictor_free(s->predictor);
    return st;
}

static advgp_status sample_rows(sample *s, const gp_model *model, gp_reader *reader, advgp_error *err)
{
    const size_t d = model->spec.d + GP_SCALE_INPUTS, rows = gp_shards_rows(reader->shards, GP_TRAIN);
    const double bytes = (2 * (double)d + 14) * sizeof(double); // of a row, here and in the shards of its training
    const double room = fmin((double)NUMBERS_MAX / (double)d, memory_share * gp_memory_bytes() / bytes);
    const size_t n = gp_index(fmin(fmax(room, GP_NOISE_ROWS_MIN), GP_NOISE_ROWS_MAX), rows);
    advgp_status st = gp_scale_rows_init(&s->scale, n, d, err);
    if (st == ADVGP_OK) st = gp_scored_rows_init(&s->rows, n, err);
    return st == ADVGP_OK ? ask_rows(s, model, reader, err) : st;
}

static void sample_fini(sample *s)
{
    gp_scored_rows_fini(&s->rows);
    gp_scale_rows_fini(&s->scale);
}

// Scores and deviations with these factors.
static void apply(sample *s, const double *ln_g)
{
    for (size_t i = 0; i < s->rows.n; i++) s->rows.sd[i] *= exp(ln_g[i]), s->rows.score[i] *= exp(-ln_g[i]);
}

// ---- the fit --------------------------------------------------------------------------------------------------------

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
static advgp_status set_shift(gp_model *model, gp_reader *reader, bool held_out, gp_scale_rows *rows, advgp_error *err)
{
    squares s = {0};
    gp_predictor *predictor = NULL;
    advgp_status st = held_out ? gp_model_predictor(model, &predictor, err) : ADVGP_OK;
    if (st == ADVGP_OK && held_out)
        st = gp_predict_rows(predictor, reader, GP_CALIBRATE, GP_NOISE_ROWS_MAX, add_square, &s, err);
    for (size_t i = 0; !held_out && i < rows->n; i++)
        add_square(&s, rows->w[i], NULL, rows->u[i], 0, exp(2 * rows->ln_g_unseen[i]));
    gp_predictor_free(predictor);
    const double shift = st == ADVGP_OK && s.sum > 0 ? 0.5 * log(s.sum / s.n) : 0;
    model->noise->schema->y_mean += shift;
    model->noise_range[0] += shift, model->noise_range[1] += shift;
    for (size_t i = 0; i < rows->n; i++) rows->ln_g[i] += shift, rows->ln_g_unseen[i] += shift;
    return st;
}

static advgp_status fit(gp_model *model, gp_reader *reader, const gp_train_options *options, size_t workers,
                        bool held_out, sample *s, advgp_error *err)
{
    const gp_scale_fitting how = {model, options, workers, reader->shards->weighted};
    advgp_status st = sample_rows(s, model, reader, err);
    if (st == ADVGP_OK && s->scale.n >= GP_NOISE_ROWS_MIN)
        st = gp_scale_fit(&how, &s->scale, &model->noise, model->noise_range, err);
    if (st == ADVGP_OK && model->noise && !held_out) st = gp_scale_cross_fit(&how, &s->scale, err);
    return st == ADVGP_OK && model->noise ? set_shift(model, reader, held_out, &s->scale, err) : st;
}

// ---- the choice -----------------------------------------------------------------------------------------------------

typedef struct judging {
    const gp_calibration *scores;
    const gp_schema *schema;
    gp_paired *crps;
} judging;

static void judge_row(const judging *j, double w, double y, double mean, double sd)
{
    const gp_distribution d = {.scores = j->scores, .schema = j->schema, .mean = mean, .sd = sd};
    gp_paired_add(j->crps, w, gp_distribution_crps(&d, gp_schema_target(j->schema, y)));
}

// Calibrated on one half of the held-out rows and judged on the other.
static advgp_status judge_held_out(gp_model *model, gp_reader *reader, const gp_held_out *h, gp_paired *crps,
                                   advgp_error *err)
{
    judging j = {.scores = &model->calibration, .schema = model->schema, .crps = crps};
    const gp_scored_rows *rows = &h->rows;
    const advgp_status st = gp_calibrate(model, reader, h, GP_HELD_OUT_HALF, err);
    const size_t end = rows->n - h->half < GP_JUDGING_ROWS ? rows->n : h->half + GP_JUDGING_ROWS;
    for (size_t i = h->half; st == ADVGP_OK && i < end; i++)
        judge_row(&j, h->w[i], rows->mean[i] + rows->sd[i] * rows->score[i], rows->mean[i], rows->sd[i]);
    return st;
}

// Where held-out rows are few: calibrated and judged on training rows, by mean and scale that have not seen them.
static advgp_status judge_unseen(gp_model *model, const sample *s, gp_paired *crps, advgp_error *err)
{
    judging j = {.scores = &model->calibration, .schema = model->schema, .crps = crps};
    const gp_scored_rows *rows = &s->rows;
    double *sorted = s->scale.sorted;
    for (size_t i = 0; i < rows->n; i++)
        sorted[i] = rows->score[i] * (model->noise ? exp(-s->scale.ln_g_unseen[i]) : 1);
    advgp_status st = gp_calibration_fit(&model->calibration, sorted, rows->n, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows->n; i++) {
        const double sd = rows->sd[i] * (model->noise ? exp(s->scale.ln_g_unseen[i]) : 1);
        judge_row(&j, s->scale.w[i], rows->mean[i] + rows->sd[i] * rows->score[i], rows->mean[i], sd);
    }
    return st;
}

static advgp_status judge(gp_model *model, gp_reader *reader, bool held_out, const sample *s, gp_paired *crps,
                          advgp_error *err)
{
    gp_held_out h;
    if (!held_out) return judge_unseen(model, s, crps, err);
    advgp_status st = gp_held_out_ask(model, reader, &h, err);
    if (st == ADVGP_OK) st = judge_held_out(model, reader, &h, crps, err);
    gp_held_out_fini(&h);
    return st;
}

// The CRPS of rows must fall by more than chance would have it.
static advgp_status choose(gp_model *model, gp_reader *reader, bool held_out, const sample *s, gp_plan *plan,
                           advgp_error *err)
{
    gp_model *noise = model->noise;
    gp_paired crps;
    advgp_status st = gp_paired_init(&crps, held_out ? GP_JUDGING_ROWS : s->rows.n, err);
    model->noise = NULL;
    if (st == ADVGP_OK) st = judge(model, reader, held_out, s, &crps, err);
    gp_paired_turn(&crps);
    model->noise = noise;
    if (st == ADVGP_OK) st = judge(model, reader, held_out, s, &crps, err);
    const gp_verdict verdict = gp_judge(GP_TRIAL_NOISE, &crps, NULL);
    if (st == ADVGP_OK)
        gp_plan_choose(&plan->noise, verdict.taken ? "varying" : "constant", GP_ORIGIN_TRIAL, &verdict,
                       gp_trial_what(GP_TRIAL_NOISE));
    if (st != ADVGP_OK || !verdict.taken) {
        gp_model_free(noise);
        model->noise = NULL;
    }
    json_object_set_new(model->record, "crps_constant_noise", gp_json_real(gp_paired_first(&crps)));
    json_object_set_new(model->record, "crps_varying_noise", gp_json_real(gp_paired_second(&crps)));
    json_object_set_new(model->record, "varying_noise_gain", gp_json_real(verdict.errors));
    gp_paired_fini(&crps);
    return st;
}

// Residuals by groups (score/groups.h) where the rows are enough to tell them, unless the CRPS of validation rows is
// clearly better with those of all rows; and the groups as all held-out rows calibrate them.
static advgp_status choose_groups(gp_model *model, gp_reader *reader, sample *s, gp_plan *plan,
                                  gp_score_groups **of_all, advgp_error *err)
{
    gp_paired crps;
    gp_held_out h;
    gp_score_groups *groups = NULL;
    if (s->rows.n < GP_GROUPS_ROWS_MIN) return ADVGP_OK;
    if (model->noise) apply(s, s->scale.ln_g);
    advgp_status st = gp_held_out_ask(model, reader, &h, err);
    if (st != ADVGP_OK) return st;
    st = gp_paired_init(&crps, GP_JUDGING_ROWS, err);
    if (st == ADVGP_OK) st = gp_calibrate_groups(s->rows, &h, GP_HELD_OUT_HALF, &model->calibration.groups, err);
    if (st == ADVGP_OK) st = judge_held_out(model, reader, &h, &crps, err);
    gp_paired_turn(&crps);
    groups = model->calibration.groups, model->calibration.groups = NULL;
    if (st == ADVGP_OK) st = judge_held_out(model, reader, &h, &crps, err);
    const gp_verdict verdict = gp_judge(GP_TRIAL_GROUPS, &crps, NULL);
    const bool grouped = st == ADVGP_OK && groups && (!verdict.taken || gp_trial_is_off(GP_TRIAL_GROUPS));
    if (st == ADVGP_OK)
        gp_plan_choose(&plan->residuals, grouped ? "by group" : "of all rows", GP_ORIGIN_TRIAL, &verdict,
                       gp_trial_what(GP_TRIAL_GROUPS));
    if (grouped) st = gp_calibrate_groups(s->rows, &h, GP_HELD_OUT_ALL, of_all, err);
    gp_held_out_fini(&h);
    if (st == ADVGP_OK && grouped)
        model->calibration.groups = groups;
    else
        gp_free(groups);
    json_object_set_new(model->record, "crps_scores_by_group", gp_json_real(gp_paired_first(&crps)));
    json_object_set_new(model->record, "crps_scores_alike", gp_json_real(gp_paired_second(&crps)));
    gp_paired_fini(&crps);
    return st;
}

// What the model says of rows that neither mean nor scale has seen, for calibration and figures: of one noise it is the
// same that they would ask for, if these are all rows.
static void pass_on(sample *s, const gp_shards *shards, gp_model *model)
{
    gp_unseen *to = &model->unseen;
    if (!model->noise && (to->n || s->rows.capacity < gp_shards_rows(shards, GP_TRAIN))) return;
    if (model->noise) apply(s, s->scale.ln_g_unseen);
    gp_free(to->mean);
    *to = (gp_unseen){.n = s->rows.n, .mean = s->rows.mean, .sd = s->rows.sd, .refitted = to->refitted};
    s->rows = (gp_scored_rows){0};
}

// An auto without the memory for it, or with numbers that are none, is constant; the mean stands without it.
static advgp_status go_without(gp_model *model, gp_notes *notes, const char *why, advgp_error *err)
{
    gp_model_free(model->noise);
    model->noise = NULL;
    gp_calibration_group(&model->calibration, NULL);
    json_object_set_new(model->record, "noise_not_fitted", json_string(why));
    return gp_notes_add(notes, err, 1, "the noise is the same for all rows: %s", why);
}

advgp_status gp_noise_fit(gp_model *model, gp_reader *reader, const gp_train_options *o, gp_train_result *result,
                          gp_notes *notes, gp_score_groups **of_all, advgp_error *err)
{
    *of_all = NULL;
    const gp_shards *rows = reader->shards;
    const bool held_out = gp_shards_rows(rows, GP_STOP) >= GP_JUDGING_ROWS_MIN &&
                          gp_shards_rows(rows, GP_CALIBRATE) >= GP_CALIBRATION_ROWS_MIN;
    if (!o || o->noise == GP_NOISE_CONSTANT || (o->noise == GP_NOISE_AUTO && gp_trial_is_off(GP_TRIAL_NOISE)) ||
        model->form == &gp_form_linear)
        return ADVGP_OK;
    // Somebody waits for the model so far. By what the record says, as a replay has it.
    const bool interrupted = result->interrupted || result->stopped == GP_STOPPED_INTERRUPTED;
    if (o->noise == GP_NOISE_AUTO && interrupted) return ADVGP_OK;
    advgp_error why = {0};
    sample s = {0};
    advgp_status st = fit(model, reader, o, result->workers, held_out, &s, &why);
    if (st == ADVGP_OK && !model->noise && o->noise == GP_NOISE_VARYING) {
        st = go_without(model, notes, "rows are too few, or what is left of them hardly differs", &why);
    } else if (st == ADVGP_OK && model->noise && o->noise == GP_NOISE_AUTO) {
        st = choose(model, reader, held_out, &s, &result->plan, &why);
    }
    if (st == ADVGP_OK && held_out) st = choose_groups(model, reader, &s, &result->plan, of_all, &why);
    if (st == ADVGP_OK && !held_out) pass_on(&s, rows, model);
    sample_fini(&s);
    if (o->noise == GP_NOISE_AUTO && (st == ADVGP_ENOMEM || st == ADVGP_ENUMERIC)) {
        const advgp_error because = why;
        st = go_without(model, notes, because.text, &why);
    }
    if (st != ADVGP_OK && err) *err = why;
    json_object_set_new(model->record, "noise", json_string(model->noise ? "varying" : "constant"));
    return st;
}
