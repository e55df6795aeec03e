// explain.c: one prediction as an object: parts, distance from the training data, neighbours.
#include "answer/explain.h"
#include "base/alloc.h"
#include "data/encoding.h"
#include "model/explain.h"
#include "report/decode.h"
#include "score/distribution.h"
#include "score/relevance.h"
#include "score/score.h"
#include "store/form.h"
#include "store/runlog.h"

#include <math.h>

static const double level = 0.9; // of the interval

struct gp_explainer {
    const gp_model *model;
    const gp_predictor *predictor;
    gp_predictor *own; // where nobody gave one
    gp_predict_work *work;
    gp_explanation *explanation;
    double *relevance; // [d]
    size_t *order;     // [d]: encoded columns by relevance
};

static advgp_status fill(gp_explainer *e, size_t near, advgp_error *err)
{
    const size_t d = e->model->schema->d;
    advgp_status st = ADVGP_OK;
    if (!e->predictor) st = gp_model_predictor(e->model, &e->own, err);
    if (st != ADVGP_OK) return st;
    if (e->own) e->predictor = e->own;
    e->relevance = gp_alloc(d, sizeof *e->relevance);
    e->order = gp_alloc(d, sizeof *e->order);
    if (!e->relevance || !e->order) return gp_no_memory(err);
    gp_relevance(e->model, e->relevance, e->order);
    st = gp_predict_work_new(e->predictor, 1, &e->work, err);
    return st == ADVGP_OK ? gp_explanation_new(e->predictor, near, &e->explanation, err) : st;
}

advgp_status gp_explainer_new(const gp_model *model, const gp_predictor *predictor, size_t near, gp_explainer **out,
                              advgp_error *err)
{
    *out = NULL;
    gp_explainer *e = gp_alloc(1, sizeof *e);
    if (!e) return gp_no_memory(err);
    e->model = model, e->predictor = predictor;
    const advgp_status st = fill(e, near, err);
    if (st == ADVGP_OK)
        *out = e;
    else
        gp_explainer_free(e);
    return st;
}

void gp_explainer_free(gp_explainer *e)
{
    if (!e) return;
    gp_explanation_free(e->explanation);
    gp_predict_work_free(e->work);
    gp_predictor_free(e->own);
    gp_free(e->relevance);
    gp_free(e->order);
    gp_free(e);
}

// ---- what adds up ---------------------------------------------------------------------------------------------------

// What a plain column adds to the line: by itself, and as a part of directions.
static double line_of(const gp_explainer *e, const double *x, size_t j)
{
    const gp_schema *s = e->model->schema;
    const size_t plain = gp_schema_plain(s);
    double sum = e->explanation->line[j];
    for (size_t i = 0; i < s->n_directions; i++)
        sum += e->model->form->slope(e->model, plain + i) * s->directions[i * plain + j] * x[j];
    return sum;
}

// What each column of the table adds to the line: its encoded columns together.
static json_t *line_json(const gp_explainer *e, const double *x)
{
    const gp_schema *s = e->model->schema;
    json_t *o = json_object();
    for (size_t i = 0; i < s->n_inputs; i++) {
        double sum = 0;
        for (size_t j = 0; j < s->inputs[i].n_encoded; j++) sum += line_of(e, x, s->inputs[i].first + j);
        json_object_set_new(o, s->inputs[i].name, gp_json_real(sum * s->y_scale));
    }
    return o;
}

static json_t *term_json(const gp_explainer *e, const double *x, const gp_term *t)
{
    static const char *const kinds[] = {[GP_TERM_CONSTANT] = "constant",
                                        [GP_TERM_LINE] = "line",
                                        [GP_TERM_COMPONENT] = "component",
                                        [GP_TERM_CELL] = "cell",
                                        [GP_TERM_CELL_TREND] = "cell_trend"};
    const gp_model *m = e->model;
    json_t *o = json_pack("{s:s, s:o}", "kind", kinds[t->kind], "value", gp_json_real(t->mean * m->schema->y_scale));
    if (t->kind == GP_TERM_COMPONENT || t->kind == GP_TERM_CELL || t->kind == GP_TERM_CELL_TREND)
        json_object_set_new(o, "number", json_integer((json_int_t)t->number + 1));
    if (t->kind == GP_TERM_LINE) json_object_set_new(o, "columns", line_json(e, x));
    if (t->kind == GP_TERM_CELL) {
        json_object_set_new(o, "kernel", json_string(m->cells->shape.kernel->name));
        json_object_set_new(o, "inducing", json_integer((json_int_t)m->cells->m[t->number]));
    }
    if (t->kind == GP_TERM_COMPONENT) {
        const gp_kernel_view c = m->form->kernel(m, t->number);
        json_object_set_new(o, "kernel", json_string(c.kernel));
        json_object_set_new(o, "inducing", json_integer((json_int_t)c.m));
    }
    return o;
}

// With the mean of the target first, and their sum: the prediction before bounds, or its logarithm.
static json_t *parts_json(const gp_explainer *e, const double *x, double *sum)
{
    const gp_schema *s = e->model->schema;
    json_t *list = json_array();
    json_array_append_new(list, json_pack("{s:s, s:o}", "kind", "target_mean", "value", gp_json_real(s->y_mean)));
    *sum = s->y_mean;
    for (size_t i = 0; i < e->explanation->n_terms; i++) {
        json_array_append_new(list, term_json(e, x, &e->explanation->terms[i]));
        *sum += e->explanation->terms[i].mean * s->y_scale;
    }
    return list;
}

// ---- how far from the training data ---------------------------------------------------------------------------------

static void add_remark(json_t *list, const gp_input *in, gp_remark remark)
{
    json_t *o = json_pack("{s:s, s:s}", "column", in->name, "what", remark.what);
    if (isfinite(remark.value)) json_object_set_new(o, "value", json_real(remark.value));
    if (gp_limits_any(remark.range))
        json_object_set_new(o, "range",
                            json_pack("[o, o]", gp_json_real(remark.range.lo), gp_json_real(remark.range.hi)));
    json_array_append_new(list, o);
}

static json_t *remarks_json(const gp_explainer *e, const double *x)
{
    const gp_schema *s = e->model->schema;
    json_t *list = json_array();
    for (size_t i = 0; i < s->n_inputs; i++) {
        const gp_input *in = &s->inputs[i];
        gp_remark remark = {"missing", NAN, gp_no_limits()};
        if (gp_input_is_missing(s, in, x) || (in->encoding->remark && in->encoding->remark(s, in, x, &remark)))
            add_remark(list, in, remark);
    }
    return list;
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

// Encoded columns in their own units, the most relevant first.
static json_t *inputs_json(const gp_explainer *e, const double *x)
{
    const gp_schema *s = e->model->schema;
    json_t *o = json_object();
    for (size_t i = 0; i < s->d; i++)
        json_object_set_new(o, s->x_names[e->order[i]], gp_json_real(gp_schema_shown(s, e->order[i], x[e->order[i]])));
    return o;
}

static json_t *near_json(const gp_explainer *e)
{
    json_t *list = json_array();
    for (size_t i = 0; i < e->explanation->n_near; i++) {
        const gp_neighbour *n = &e->explanation->near[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "kind",
                                              n->local                           ? "cell"
                                              : e->model->form == &gp_form_exact ? "training_row"
                                                                                 : "component",
                                              "of", (json_int_t)n->of + 1, "number", (json_int_t)n->number + 1,
                                              "distance", gp_json_real(n->distance), "correlation",
                                              gp_json_real(n->correlation), "inputs", inputs_json(e, n->z)));
    }
    return list;
}

// ---- a row ----------------------------------------------------------------------------------------------------------

static json_t *row_json(const gp_explainer *e, const double *x, double y, const double answer[3], double plain_var)
{
    const gp_schema *s = e->model->schema;
    const double mean = answer[0], var_f = answer[1], var_y = answer[2];
    const bool kernels = e->model->form->n_kernels(e->model) > 0;
    const gp_distribution distribution = {
        .scores = &e->model->calibration, .schema = s, .mean = mean, .sd = sqrt(var_y)};
    double ends[2], sum;
    gp_distribution_interval(&distribution, level, ends);
    json_t *parts = parts_json(e, x, &sum);
    const double before = s->log_target ? gp_schema_target(s, mean) : sum, cut = gp_schema_cut(s, before);
    const double noise = gp_predictor_noise(e->predictor);
    return json_pack(
        "{s:o, s:o, s:o, s:[o, o], s:o, s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "mean",
        gp_json_real(gp_predicted_mean(s, mean, var_y)), "sd_f", gp_json_real(gp_predicted_sd(s, mean, var_f)), "sd_y",
        gp_json_real(gp_predicted_sd(s, mean, var_y)), "interval_90", gp_json_real(ends[0]), gp_json_real(ends[1]),
        "observed", gp_json_real(isfinite(y) ? gp_schema_target(s, y) : NAN), "parts_are_of",
        s->log_target ? "logarithm" : "target", "parts", parts, "sum", gp_json_real(sum), "cut", cut != before,
        "median", gp_json_real(cut), "prior_left", gp_json_real(kernels ? plain_var / e->explanation->prior : NAN),
        "sd_factor", gp_json_real(e->model->noise ? sqrt(var_y / (plain_var + noise)) : NAN), "remarks",
        remarks_json(e, x), "inputs", inputs_json(e, x), "near", near_json(e));
}

advgp_status gp_explainer_row(gp_explainer *e, const double *x, double y, json_t **out, advgp_error *err)
{
    const gp_cmat X = gp_cmat_of(x, 1, e->model->schema->d);
    double answer[3], mean, spread, residual;
    *out = NULL;
    advgp_status st = gp_predict(e->predictor, e->work, X, &answer[0], &answer[1], &answer[2], err);
    if (st == ADVGP_OK) st = gp_predict_parts(e->predictor, e->work, X, &mean, &spread, &residual, err);
    if (st == ADVGP_OK) st = gp_explain(e->predictor, e->work, x, e->explanation, err);
    if (st != ADVGP_OK) return st;
    *out = row_json(e, x, y, answer, spread + residual);
    return *out ? ADVGP_OK : gp_no_memory(err);
}
