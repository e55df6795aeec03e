// effect.c: see effect.h.
#include "report/effect.h"
#include "base/alloc.h"
#include "base/sort.h"
#include "data/encode_row.h"
#include "data/encoding.h"
#include "report/decode.h"
#include "score/score.h"
#include "store/form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CATEGORIES_ASKED = 400, INDUCING_SHOWN = 400, SURFACE_ROWS = 50 };
static const double BAND = 1.6448536269514722; // 90 % of a normal variable lie within

// ---- typical rows ---------------------------------------------------------------------------------------------------

// Inducing inputs of the first component, or training rows: n x d, or NULL.
static const double *rows_of(const gp_model *model, size_t *n)
{
    if (model->x_train) {
        *n = model->exact.X.rows;
        return model->x_train;
    }
    const bool weights = model->form == &gp_form_weights && model->spec.n_components;
    *n = weights ? model->components[0].shape.m : 0;
    return weights ? model->theta + 2 + model->spec.d : NULL; // behind ln sigma, ln a0 and ln eta
}

double *gp_typical_of_model(const gp_model *model, size_t most, gp_typical *out)
{
    const size_t d = model->schema->d;
    size_t n_all;
    const double *all = rows_of(model, &n_all);
    const size_t n = !all ? 1 : n_all < most ? n_all : most;
    double *x = gp_alloc(n, d * sizeof *x); // standardised, so that the average row is zero
    *out = (gp_typical){.x = x,
                        .n = n,
                        .what = !all             ? "the average row"
                                : model->x_train ? "training rows"
                                                 : "inducing inputs"};
    for (size_t i = 0; all && x && i < n; i++) memcpy(x + i * d, all + i * n_all / n * d, d * sizeof *x);
    return x;
}

// ---- asking ---------------------------------------------------------------------------------------------------------

typedef struct question {
    const gp_model *model;
    const gp_predictor *predictor;
    gp_predict_work *work;
    gp_typical rows;
    double *X, *mean, *var_f, *var_y; // rows.n each
    double *values, *inverse;         // an input each; a column each
    double *encoded;                  // d
} question;

static void question_fini(question *q)
{
    gp_predict_work_free(q->work);
    gp_free(q->X);
    gp_free(q->mean);
    gp_free(q->var_f);
    gp_free(q->var_y);
    gp_free(q->values);
    gp_free(q->inverse);
    gp_free(q->encoded);
}

static advgp_status question_init(question *q, const gp_model *model, const gp_predictor *predictor, gp_typical rows,
                                  advgp_error *err)
{
    const gp_schema *s = model->schema;
    *q = (question){.model = model, .predictor = predictor, .rows = rows};
    q->X = gp_alloc(rows.n, s->d * sizeof *q->X);
    q->mean = gp_alloc(rows.n, sizeof *q->mean);
    q->var_f = gp_alloc(rows.n, sizeof *q->var_f);
    q->var_y = gp_alloc(rows.n, sizeof *q->var_y);
    q->values = gp_alloc(s->n_inputs, sizeof *q->values);
    q->inverse = gp_alloc(s->d, sizeof *q->inverse);
    q->encoded = gp_alloc(s->d, sizeof *q->encoded);
    if (!q->X || !q->mean || !q->var_f || !q->var_y || !q->values || !q->inverse || !q->encoded)
        return gp_no_memory(err);
    for (size_t k = 0; k < s->d; k++) q->inverse[k] = 1 / s->x_scale[k];
    memcpy(q->X, rows.x, rows.n * s->d * sizeof *q->X);
    return gp_predict_work_new(predictor, 0, &q->work, err);
}

// The input of all rows takes this value.
static void put(question *q, size_t input, double value)
{
    const gp_schema *s = q->model->schema;
    const gp_input *in = &s->inputs[input];
    for (size_t i = 0; i < s->n_inputs; i++) q->values[i] = NAN;
    q->values[input] = value;
    gp_encode_row(s, q->inverse, q->values, q->encoded, NULL);
    for (size_t i = 0; i < q->rows.n; i++) {
        memcpy(q->X + i * s->d + in->first, q->encoded + in->first, in->n_encoded * sizeof *q->X);
        gp_schema_follow_directions(s, q->X + i * s->d);
    }
}

static advgp_status ask(question *q, bool band, gp_effect_point *out, advgp_error *err)
{
    const gp_schema *s = q->model->schema;
    const gp_cmat X = gp_cmat_of(q->X, q->rows.n, s->d);
    const bool variances = band || s->log_target; // the mean of a lognormal variable needs them
    const advgp_status st = gp_predict(q->predictor, q->work, X, q->mean, variances ? q->var_f : NULL,
                                       variances ? q->var_y : NULL, err);
    if (st != ADVGP_OK) return st;
    out->mean = out->lo = out->hi = 0;
    for (size_t i = 0; i < q->rows.n; i++) {
        const double mean = q->mean[i], off = band ? BAND * sqrt(q->var_f[i]) : 0;
        out->mean += gp_predicted_mean(s, mean, variances ? q->var_y[i] : 0) / (double)q->rows.n;
        // Of a logarithm the band is that of the median, moved to the mean.
        const double middle = gp_schema_target(s, mean);
        out->lo += (gp_schema_target(s, mean - off) - middle) / (double)q->rows.n;
        out->hi += (gp_schema_target(s, mean + off) - middle) / (double)q->rows.n;
    }
    out->lo += out->mean, out->hi += out->mean;
    return ADVGP_OK;
}

// ---- values to ask about --------------------------------------------------------------------------------------------

// The 1st and 99th hundredth of an input in the rows; two standard deviations about the mean where they do not differ.
static advgp_status ends_of(const question *q, size_t input, double ends[2], advgp_error *err)
{
    const gp_schema *s = q->model->schema;
    const gp_input *in = &s->inputs[input];
    size_t n = 0;
    double *all = gp_alloc(q->rows.n, sizeof *all);
    if (!all) return gp_no_memory(err);
    for (size_t i = 0; i < q->rows.n; i++) {
        const double value = gp_decode(s, in, q->rows.x + i * s->d);
        if (isfinite(value)) all[n++] = value;
    }
    gp_sort(all, n);
    ends[0] = n ? all[n / 100] : NAN, ends[1] = n ? all[n - 1 - n / 100] : NAN;
    gp_free(all);
    if (ends[0] < ends[1]) return ADVGP_OK;
    const double unit = in->encoding->unit;
    ends[0] = gp_schema_shown(s, in->first, -2) * unit, ends[1] = gp_schema_shown(s, in->first, 2) * unit;
    const gp_limits range = {in->range.lo * unit, in->range.hi * unit};
    ends[0] = gp_limits_clip(range, ends[0]), ends[1] = gp_limits_clip(range, ends[1]);
    return ADVGP_OK;
}

// From end to end in n values, n - 1 steps. Times move by whole days or weeks where that is possible, so that their
// weekdays and hours stay and the line shows the course of years.
static size_t spread(const gp_input *in, const double ends[2], size_t n, double *values)
{
    static const double units[] = {7 * 86400.0, 86400.0};
    double step = (ends[1] - ends[0]) / (double)(n - 1);
    for (size_t u = 0; in->encoding->kind == ADVGP_KIND_TIME && u < 2; u++)
        if (step >= units[u]) {
            step = ceil(step / units[u]) * units[u];
            break;
        }
    size_t used = 0;
    for (; used < n && ends[0] + (double)used * step <= ends[1] + 1e-9 * fabs(step); used++)
        values[used] = ends[0] + (double)used * step;
    return used;
}

static int by_answer(const void *a, const void *b)
{
    const double x = ((const gp_effect_point *)a)->mean, y = ((const gp_effect_point *)b)->mean;
    return (x > y) - (x < y);
}

// ---- effects --------------------------------------------------------------------------------------------------------

static advgp_status levels_effect(question *q, gp_effect *out, advgp_error *err)
{
    const gp_input *in = &q->model->schema->inputs[out->input];
    out->n_all = in->encoding->kind == ADVGP_KIND_BOOLEAN ? 2 : in->categories.n;
    const size_t asked = out->n_all < CATEGORIES_ASKED ? out->n_all : CATEGORIES_ASKED;
    gp_effect_point *all = gp_alloc(asked, sizeof *all);
    advgp_status st = all ? ADVGP_OK : gp_no_memory(err);
    for (size_t i = 0; st == ADVGP_OK && i < asked; i++) {
        const size_t category = i * out->n_all / asked;
        all[i].value = (double)category;
        put(q, out->input, all[i].value);
        st = ask(q, true, &all[i], err);
    }
    if (st == ADVGP_OK) {
        qsort(all, asked, sizeof *all, by_answer);
        out->n = asked < GP_EFFECT_LEVELS ? asked : GP_EFFECT_LEVELS;
        for (size_t i = 0; i < out->n; i++) // the most of them on top, as a chart has it
            out->points[i] = all[i < (out->n + 1) / 2 ? asked - 1 - i : out->n - 1 - i];
    }
    gp_free(all);
    return st;
}

advgp_status gp_effect_of(const gp_model *model, const gp_predictor *predictor, gp_typical rows, size_t input,
                          gp_effect *out, advgp_error *err)
{
    question q;
    *out = (gp_effect){.input = input};
    advgp_status st = question_init(&q, model, predictor, rows, err);
    if (st == ADVGP_OK && gp_input_is_discrete(&model->schema->inputs[input])) {
        st = levels_effect(&q, out, err);
    } else if (st == ADVGP_OK) {
        double ends[2], values[GP_EFFECT_STEPS];
        st = ends_of(&q, input, ends, err);
        if (st == ADVGP_OK && ends[0] < ends[1])
            out->n = spread(&model->schema->inputs[input], ends, GP_EFFECT_STEPS, values);
        for (size_t i = 0; st == ADVGP_OK && i < out->n; i++) {
            out->points[i].value = values[i];
            put(&q, input, values[i]);
            st = ask(&q, true, &out->points[i], err);
        }
    }
    question_fini(&q);
    return st;
}

// ---- surface --------------------------------------------------------------------------------------------------------

static advgp_status axis_of(question *q, size_t input, gp_axis *out, advgp_error *err)
{
    const gp_input *in = &q->model->schema->inputs[input];
    *out = (gp_axis){.input = input};
    if (!gp_input_is_discrete(in)) {
        double ends[2];
        const advgp_status st = ends_of(q, input, ends, err);
        if (st != ADVGP_OK || !(ends[0] < ends[1])) return st;
        out->n = GP_SURFACE_STEPS;
        out->step = (ends[1] - ends[0]) / GP_SURFACE_STEPS;
        for (size_t i = 0; i < out->n; i++) out->value[i] = ends[0] + ((double)i + 0.5) * out->step;
        return ADVGP_OK;
    }
    gp_effect effect = {.input = input};
    const advgp_status st = levels_effect(q, &effect, err);
    out->n = effect.n < GP_SURFACE_STEPS ? effect.n : GP_SURFACE_STEPS;
    for (size_t i = 0; i < out->n; i++) out->value[i] = effect.points[i].value;
    return st;
}

static advgp_status place_inducing(const gp_model *model, gp_surface *out, advgp_error *err)
{
    const gp_schema *s = model->schema;
    size_t n_all;
    const double *all = rows_of(model, &n_all);
    if (!all) return ADVGP_OK;
    const size_t n = n_all < INDUCING_SHOWN ? n_all : INDUCING_SHOWN;
    out->inducing = gp_alloc(n, 2 * sizeof *out->inducing);
    if (!out->inducing) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        double at[2];
        bool inside = true;
        for (size_t a = 0; a < 2; a++) {
            const gp_axis *axis = &out->axis[a];
            at[a] = gp_decode(s, &s->inputs[axis->input], all + i * n_all / n * s->d);
            inside &= axis->step > 0
                          ? at[a] > axis->value[0] - axis->step / 2 && at[a] < axis->value[axis->n - 1] + axis->step / 2
                          : isfinite(at[a]);
        }
        if (inside) memcpy(out->inducing + 2 * out->n_inducing++, at, sizeof at);
    }
    return ADVGP_OK;
}

advgp_status gp_surface_of(const gp_model *model, const gp_predictor *predictor, gp_typical rows,
                           const size_t inputs[2], gp_surface *out, advgp_error *err)
{
    question q;
    *out = (gp_surface){0};
    advgp_status st = question_init(&q, model, predictor, rows, err);
    for (size_t a = 0; st == ADVGP_OK && a < 2; a++) st = axis_of(&q, inputs[a], &out->axis[a], err);
    if (st == ADVGP_OK) { // what the axes have asked about is put back; an average of fewer rows will do
        memcpy(q.X, rows.x, rows.n * model->schema->d * sizeof *q.X);
        q.rows.n = rows.n < SURFACE_ROWS ? rows.n : SURFACE_ROWS;
    }
    for (size_t i = 0; st == ADVGP_OK && i < out->axis[0].n; i++) {
        put(&q, inputs[0], out->axis[0].value[i]);
        for (size_t k = 0; st == ADVGP_OK && k < out->axis[1].n; k++) {
            gp_effect_point point = {0};
            put(&q, inputs[1], out->axis[1].value[k]);
            st = ask(&q, false, &point, err);
            out->mean[i * out->axis[1].n + k] = point.mean;
        }
    }
    if (st == ADVGP_OK) st = place_inducing(model, out, err);
    question_fini(&q);
    return st;
}
