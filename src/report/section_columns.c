// section_columns.c: what matters? Columns by relevance, the effect of the first ones, and the first two together.
#include "base/alloc.h"
#include "base/whole.h"
#include "report/axis_json.h"
#include "report/decode.h"
#include "report/html.h"
#include "report/report.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>

enum { SHOWN = 20, LISTED = 60, EFFECTS = 6 };

static const gp_input *input_at(const gp_report *r, size_t rank)
{
    return &r->model->schema->inputs[r->relevance->input_order[rank]];
}

static double total_square(const gp_input_relevance *v)
{
    double sum = 0;
    for (size_t i = 0; i < v->n_inputs; i++) sum += v->input[i] * v->input[i];
    return sum;
}

// ---- relevance ------------------------------------------------------------------------------------------------------

static void write_answer(const gp_report *r, gp_buffer *out)
{
    const gp_input_relevance *v = r->relevance;
    const double total = total_square(v);
    if (!(total > 0)) {
        gp_buffer_add(out, "<p>Nothing: the model answers the same for every row.</p>\n");
        return;
    }
    size_t n = v->n_inputs < 3 ? v->n_inputs : 3;
    while (n > 1 && v->input[v->input_order[n - 1]] <= 0) n--;
    gp_buffer_add(out, "<p>");
    for (size_t i = 0; i < n; i++) {
        gp_buffer_add(out, i == 0 ? "Most of all <strong>" : i + 1 < n ? ", then <strong>" : " and <strong>");
        gp_html_text(out, input_at(r, i)->name);
        gp_buffer_add(out, "</strong>");
    }
    gp_buffer_add(out, ".");
    if (v->n_inputs > 3) {
        double first = 0;
        for (size_t i = 0; i < n; i++) first += v->input[v->input_order[i]] * v->input[v->input_order[i]];
        gp_buffer_add(out, " Together they have %s of the squared relevance of all %s columns.",
                      gp_percent_of(first / total).p, gp_count_of(v->n_inputs).p);
    }
    gp_buffer_add(out,
                  "</p>\n<p class=\"note\">Relevance says how steep the fitted function is along a column: how many "
                  "of the target\u2019s standard deviations the prediction typically moves when the column moves by "
                  "one of its own. It does not say that changing the column would change the target, and of two "
                  "columns that tell the same the model may use either.</p>\n");
}

static void write_relevance(const gp_report *r, gp_buffer *out)
{
    const gp_input_relevance *v = r->relevance;
    const size_t shown = v->n_inputs < SHOWN ? v->n_inputs : SHOWN,
                 listed = v->n_inputs < LISTED ? v->n_inputs : LISTED;
    const double total = total_square(v);
    json_t *name = json_array(), *relevance = json_array();
    for (size_t i = 0; i < shown; i++) {
        json_array_append_new(name, gp_chart_text(input_at(r, i)->name));
        json_array_append_new(relevance, gp_json_real(v->input[v->input_order[i]]));
    }
    gp_buffer label = {0};
    gp_buffer_add(&label, "Bars of the relevance of %zu column%s%s; the longest is %s with %s.", shown,
                  shown == 1 ? "" : "s", shown < v->n_inputs ? ", the most relevant" : "", input_at(r, 0)->name,
                  gp_number_of(v->input[v->input_order[0]]).p);
    gp_html_figure_take(out,
                        (gp_figure){.id = "fig-relevance",
                                    .chart = "relevance",
                                    .title = "Columns by relevance",
                                    .words = shown < v->n_inputs
                                                 ? "The most relevant of them; the levels of a category and the "
                                                   "parts of a date count together."
                                                 : "The levels of a category and the parts of a date count together.",
                                    .label = label.p ? label.p : "",
                                    .data = json_pack("{s:{s:o, s:o}}", "main", "name", name, "relevance", relevance)});
    gp_buffer_fini(&label);
    gp_html_table(out, "Columns by relevance", "column|kind|#relevance|#share of the squares");
    for (size_t i = 0; i < listed; i++) {
        const double value = v->input[v->input_order[i]];
        gp_html_row(out, NULL);
        gp_html_head(out, input_at(r, i)->name);
        gp_html_cell(out, gp_column_type_name(input_at(r, i)->type));
        gp_html_cell_number(out, value);
        gp_html_cell_percent(out, total > 0 ? value * value / total : NAN);
        gp_html_row_end(out);
    }
    gp_html_table_end(out);
    if (listed < v->n_inputs)
        gp_buffer_add(out, "<p class=\"note\">And %s more, each less relevant.</p>\n",
                      gp_count_of(v->n_inputs - listed).p);
    gp_html_figure_end(out);
}

// ---- effects --------------------------------------------------------------------------------------------------------

static void write_effect(const gp_report *r, const gp_effect *e, size_t rank, const double domain[2], gp_buffer *out)
{
    const gp_schema *s = r->model->schema;
    const gp_input *in = &s->inputs[e->input];
    const bool levels = gp_input_is_discrete(in);
    json_t *x = json_array(), *y = json_array(), *lo = json_array(), *hi = json_array();
    size_t least = 0, most = 0;
    for (size_t i = 0; i < e->n; i++) {
        json_array_append_new(x, gp_axis_value(in, e->points[i].value));
        json_array_append_new(y, gp_json_real(e->points[i].mean));
        json_array_append_new(lo, gp_json_real(e->points[i].lo));
        json_array_append_new(hi, gp_json_real(e->points[i].hi));
        if (e->points[i].mean < e->points[least].mean) least = i;
        if (e->points[i].mean > e->points[most].mean) most = i;
    }
    char id[32], words[192] = "";
    snprintf(id, sizeof id, "fig-effect-%zu", rank + 1);
    gp_buffer label = {0};
    gp_buffer_add(&label, "Average prediction as %s changes: least, %s, at ", in->name,
                  gp_number_of(e->points[least].mean).p);
    gp_decode_text(in, e->points[least].value, &label);
    gp_buffer_add(&label, ", most, %s, at ", gp_number_of(e->points[most].mean).p);
    gp_decode_text(in, e->points[most].value, &label);
    gp_buffer_add(&label, ".");
    if (e->n_all > e->n)
        snprintf(words, sizeof words, "The %zu of %s values with the largest and the smallest predictions.", e->n,
                 gp_count_of(e->n_all).p);
    else
        snprintf(words, sizeof words, "From %s to %s.", gp_number_of(e->points[least].mean).p,
                 gp_number_of(e->points[most].mean).p);
    gp_html_figure_take(
        out, (gp_figure){.id = id,
                         .chart = levels ? "levels" : "effect",
                         .title = in->name,
                         .words = words,
                         .label = label.p ? label.p : "",
                         .data = json_pack("{s:{s:o, s:o, s:o, s:o}}", "main", "x", x, "y", y, "lo", lo, "hi", hi),
                         .parameters = json_pack("{s:o, s:o, s:s, s:o*, s:o*, s:o*, s:[o, o]}", "name",
                                                 levels ? json_string("") : gp_chart_text(in->name), "target",
                                                 gp_chart_text(s->target), "type", gp_axis_type(in), "scale",
                                                 gp_axis_scale(in), "xformat", gp_axis_input_format(in), "yformat",
                                                 gp_axis_format(domain[0], domain[1]), "domain",
                                                 gp_json_real(domain[0]), gp_json_real(domain[1]))});
    gp_buffer_fini(&label);
    gp_buffer caption = {0};
    gp_buffer_add(&caption, "Average prediction as %s changes", in->name);
    gp_html_table(out, caption.p ? caption.p : "", "value|#prediction|#from|#to");
    gp_buffer_fini(&caption);
    const size_t step = levels || e->n < 12 ? 1 : (e->n - 1) / 10 + !e->n; // a line needs fewer in a table
    for (size_t i = 0; i < e->n; i += step) {
        gp_buffer value = {0};
        gp_decode_text(in, e->points[i].value, &value);
        gp_html_row(out, NULL);
        gp_html_head(out, value.p);
        gp_html_cell_number(out, e->points[i].mean);
        gp_html_cell_number(out, e->points[i].lo);
        gp_html_cell_number(out, e->points[i].hi);
        gp_html_row_end(out);
        gp_buffer_fini(&value);
    }
    gp_html_table_end(out);
    gp_html_figure_end(out);
}

static advgp_status write_effects(const gp_report *r, const gp_predictor *predictor, gp_typical rows, gp_buffer *out,
                                  advgp_error *err)
{
    const gp_input_relevance *v = r->relevance;
    gp_effect effects[EFFECTS];
    size_t n = 0;
    double domain[2] = {INFINITY, -INFINITY}; // the same for all, so that they can be compared
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < v->n_inputs && n < EFFECTS; i++) {
        if (!(v->input[v->input_order[i]] > 0)) break;
        st = gp_effect_of(r->model, predictor, rows, v->input_order[i], &effects[n], err);
        if (st != ADVGP_OK || effects[n].n < 2) continue;
        for (size_t k = 0; k < effects[n].n; k++) {
            domain[0] = fmin(domain[0], effects[n].points[k].lo);
            domain[1] = fmax(domain[1], effects[n].points[k].hi);
        }
        n++;
    }
    if (st != ADVGP_OK || !n) return st;
    gp_buffer_add(out,
                  "<h3>How the prediction moves with a column</h3>\n<p class=\"note\">The prediction as one column "
                  "changes, averaged over %zu %s in which the others stay as they are. The band holds the average "
                  "function with 90\u00a0%%; single observations scatter more. A column that goes with others leaves "
                  "the data when it moves alone.</p>\n<div class=\"trio\">\n",
                  rows.n, rows.what);
    for (size_t i = 0; i < n; i++) write_effect(r, &effects[i], i, domain, out);
    gp_buffer_add(out, "</div>\n");
    return ADVGP_OK;
}

// ---- two together ---------------------------------------------------------------------------------------------------

enum { CELLS = GP_SURFACE_STEPS * GP_SURFACE_STEPS };

static size_t step_of(const gp_axis *axis, double value)
{
    if (axis->step > 0) {
        const double at = floor((value - axis->value[0]) / axis->step + 0.5);
        return at >= 0 && at < (double)axis->n ? gp_index(at, axis->n - 1) : SIZE_MAX;
    }
    for (size_t i = 0; i < axis->n; i++)
        if (axis->value[i] == value) return i;
    return SIZE_MAX;
}

// Where rows are: in a cell or beside it. Elsewhere a model says something, too, and nobody should look at it. All of
// it where there are no rows to ask.
static void mark_known(const gp_report *r, const gp_surface *s, bool known[CELLS])
{
    const gp_findings *f = r->findings;
    for (size_t i = 0; i < CELLS; i++) known[i] = !f;
    for (size_t n = 0; f && n < f->n_sample; n++) {
        const size_t i = step_of(&s->axis[0], f->sample[n].at[0]), k = step_of(&s->axis[1], f->sample[n].at[1]);
        if (i == SIZE_MAX || k == SIZE_MAX) continue;
        const size_t around[2] = {s->axis[0].step > 0, s->axis[1].step > 0};
        for (size_t a = i - (i ? around[0] : 0); a <= i + around[0] && a < s->axis[0].n; a++)
            for (size_t b = k - (k ? around[1] : 0); b <= k + around[1] && b < s->axis[1].n; b++)
                known[a * s->axis[1].n + b] = true;
    }
}

// Names that have room beside each other on a phone.
static bool are_short(const gp_input *in, const gp_axis *axis)
{
    size_t letters = 0;
    for (size_t i = 0; i < axis->n; i++) {
        gp_buffer name = {0};
        gp_decode_text(in, axis->value[i], &name);
        letters += name.n + 2;
        gp_buffer_fini(&name);
    }
    return letters < 40;
}

// Of categories in their order.
static json_t *scale_of(const gp_input *in, const gp_axis *axis)
{
    if (axis->step > 0) return gp_axis_scale(in);
    json_t *list = json_array();
    for (size_t i = 0; i < axis->n; i++) json_array_append_new(list, gp_axis_value(in, axis->value[i]));
    return json_pack("{s:o}", "domain", list);
}

static void write_surface(const gp_report *r, const gp_surface *s, gp_buffer *out)
{
    const gp_input *in[2] = {&r->model->schema->inputs[s->axis[0].input], &r->model->schema->inputs[s->axis[1].input]};
    json_t *x = json_array(), *y = json_array(), *x2 = json_array(), *y2 = json_array(), *value = json_array(),
           *px = json_array(), *py = json_array();
    const bool steps[2] = {s->axis[0].step > 0, s->axis[1].step > 0};
    double lo = INFINITY, hi = -INFINITY;
    bool known[CELLS];
    mark_known(r, s, known);
    for (size_t i = 0; i < s->axis[0].n; i++)
        for (size_t k = 0; k < s->axis[1].n; k++) {
            if (!known[i * s->axis[1].n + k]) continue;
            const double mean = s->mean[i * s->axis[1].n + k], half[2] = {s->axis[0].step / 2, s->axis[1].step / 2};
            json_array_append_new(x, gp_axis_value(in[0], s->axis[0].value[i] - half[0]));
            json_array_append_new(y, gp_axis_value(in[1], s->axis[1].value[k] - half[1]));
            if (steps[0]) json_array_append_new(x2, gp_axis_value(in[0], s->axis[0].value[i] + half[0]));
            if (steps[1]) json_array_append_new(y2, gp_axis_value(in[1], s->axis[1].value[k] + half[1]));
            json_array_append_new(value, gp_json_real(mean));
            lo = fmin(lo, mean), hi = fmax(hi, mean);
        }
    for (size_t i = 0; i < s->n_inducing; i++) {
        json_array_append_new(px, gp_axis_value(in[0], s->inducing[2 * i]));
        json_array_append_new(py, gp_axis_value(in[1], s->inducing[2 * i + 1]));
    }
    json_t *data = json_pack("{s:{s:o, s:o, s:o}, s:{s:o, s:o}}", "main", "x", x, "y", y, "value", value, "points", "x",
                             px, "y", py);
    if (steps[0]) json_object_set(json_object_get(data, "main"), "x2", x2);
    if (steps[1]) json_object_set(json_object_get(data, "main"), "y2", y2);
    json_decref(x2);
    json_decref(y2);
    json_t *fill = gp_section_ramp(r->model->schema->target, lo, hi), *stroke = json_deep_copy(fill);
    json_object_set_new(stroke, "legend", json_null());
    gp_buffer label = {0}, words = {0};
    gp_buffer_add(&label, "Average prediction over %s and %s, from %s to %s.", in[0]->name, in[1]->name,
                  gp_number_of(lo).p, gp_number_of(hi).p);
    gp_buffer_add(&words, "The average prediction%s%s", r->findings ? ", empty where no rows are" : "",
                  !s->n_inducing      ? "."
                  : r->model->x_train ? "; points: the training rows."
                                      : "; points: the inducing inputs, at which the model keeps what it knows.");
    gp_html_figure_take(
        out, (gp_figure){
                 .id = "fig-surface",
                 .chart = "surface",
                 .title = "The two most relevant columns together",
                 .words = words.p ? words.p : "",
                 .label = label.p ? label.p : "",
                 .data = data,
                 .parameters = json_pack(
                     "{s:o, s:o, s:s, s:s, s:o, s:o, s:o*, s:o*, s:o*, s:o*, s:o, s:o, s:i, s:i, s:b, s:o}", "xname",
                     gp_chart_text(in[0]->name), "yname", gp_chart_text(in[1]->name), "xtype", gp_axis_type(in[0]),
                     "ytype", gp_axis_type(in[1]), "xscale", scale_of(in[0], &s->axis[0]), "yscale",
                     scale_of(in[1], &s->axis[1]), "xformat", gp_axis_input_format(in[0]), "yformat",
                     gp_axis_input_format(in[1]), "x2", steps[0] ? json_pack("{s:s}", "field", "x2") : NULL, "y2",
                     steps[1] ? json_pack("{s:s}", "field", "y2") : NULL, "fill", fill, "stroke", stroke, "height", 320,
                     "xangle", steps[0] || are_short(in[0], &s->axis[0]) ? 0 : -40, "xoverlap", steps[0], "tooltip",
                     json_pack("[{s:s, s:o}, {s:s, s:o}, {s:s, s:o, s:s}]", "field", "x", "title",
                               gp_chart_text(in[0]->name), "field", "y", "title", gp_chart_text(in[1]->name), "field",
                               "value", "title", gp_chart_text(r->model->schema->target), "format", ".4~g"))});
    gp_buffer_fini(&words);
    // A table of every fourth step is one that can be read.
    const size_t jump[2] = {steps[0] ? 4 : 1, steps[1] ? 4 : 1};
    gp_buffer columns = {0};
    for (const char *p = in[0]->name; *p; p++) gp_buffer_bytes(&columns, *p == '|' || *p == '#' ? "/" : p, 1);
    for (size_t k = 0; k < s->axis[1].n; k += jump[1]) {
        gp_buffer name = {0};
        gp_decode_text(in[1], s->axis[1].value[k], &name);
        gp_buffer_add(&columns, "|#");
        for (const char *p = name.p; p && *p; p++) gp_buffer_bytes(&columns, *p == '|' ? "/" : p, 1);
        gp_buffer_fini(&name);
    }
    gp_html_table(out, label.p ? label.p : "", columns.p ? columns.p : "");
    for (size_t i = 0; i < s->axis[0].n; i += jump[0]) {
        gp_buffer name = {0};
        gp_decode_text(in[0], s->axis[0].value[i], &name);
        gp_html_row(out, NULL);
        gp_html_head(out, name.p);
        for (size_t k = 0; k < s->axis[1].n; k += jump[1])
            gp_html_cell_number(out, known[i * s->axis[1].n + k] ? s->mean[i * s->axis[1].n + k] : NAN);
        gp_html_row_end(out);
        gp_buffer_fini(&name);
    }
    gp_html_table_end(out);
    gp_html_figure_end(out);
    gp_buffer_fini(&columns);
    gp_buffer_fini(&label);
}

advgp_status gp_section_columns(const gp_report *r, gp_buffer *out, advgp_error *err)
{
    const gp_input_relevance *v = r->relevance;
    gp_predictor *predictor = NULL;
    gp_typical rows = {0};
    double *own = NULL;
    write_answer(r, out);
    if (!v->n_inputs || !(total_square(v) > 0)) return ADVGP_OK;
    write_relevance(r, out);
    if (r->findings && r->findings->n_typical)
        rows = (gp_typical){.x = r->findings->typical, .n = r->findings->n_typical, .what = "of the rows"};
    else if (!(own = gp_typical_of_model(r->model, GP_TYPICAL_ROWS, &rows)))
        return gp_no_memory(err);
    advgp_status st = gp_model_predictor(r->model, &predictor, err);
    if (st == ADVGP_OK) st = write_effects(r, predictor, rows, out, err);
    size_t two[2];
    gp_input_relevance_two(v, r->model->schema, two);
    if (st == ADVGP_OK && two[1] != GP_NO_ROW) {
        gp_surface *surface = gp_alloc(1, sizeof *surface);
        st = surface ? gp_surface_of(r->model, predictor, rows, two, surface, err) : gp_no_memory(err);
        if (st == ADVGP_OK && surface->axis[0].n > 1 && surface->axis[1].n > 1) write_surface(r, surface, out);
        if (surface) gp_free(surface->inducing);
        gp_free(surface);
    }
    gp_predictor_free(predictor);
    gp_free(own);
    return st;
}
