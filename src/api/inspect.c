// inspect.c: the numbers of a model in the units of its table, as JSON and as text.
#include "api/inspect.h"
#include "answer/cell_place.h"
#include "base/alloc.h"
#include "base/sort.h"
#include "base/width.h"
#include "data/encoding.h"
#include "recipe/plan.h"
#include "score/metric.h"
#include "score/relevance.h"
#include "store/form.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPONENTS_SHOWN = 6 };

typedef struct view {
    gp_inspect_page page;
    const char *path;
    const gp_model *model;
    size_t n_kernels;
    double *slope, *relevance; // [d]
    size_t *order;             // [d]: columns by relevance
    double *of_cells;          // [cells]: scratch
} view;

// ---- what the numbers mean ------------------------------------------------------------------------------------------

static gp_kernel_view kernel_of(const view *v, size_t b)
{
    return v->model->form->kernel(v->model, b);
}

// In the column's own units: how far it must move for the component to forget.
static double length_scale(const view *v, size_t b, size_t k)
{
    return v->model->schema->x_scale[k] * exp(-0.5 * kernel_of(v, b).ln_eta[k]);
}

static void fill(view *v)
{
    const gp_schema *s = v->model->schema;
    v->n_kernels = v->model->form->n_kernels(v->model);
    gp_relevance(v->model, v->relevance, v->order);
    for (size_t k = 0; k < s->d; k++) v->slope[k] = v->model->form->slope(v->model, k) * s->y_scale / s->x_scale[k];
}

static double noise(const view *v)
{
    return exp(v->model->theta[0]) * v->model->schema->y_scale;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static json_t *limits_json(gp_limits limits) // an open end is null
{
    return json_pack("[o, o]", gp_json_real(limits.lo), gp_json_real(limits.hi));
}

static json_t *ranks_json(const gp_warp *warp) // values, and the share of the rows below each
{
    json_t *x = json_array(), *u = json_array();
    for (size_t i = 0; i < warp->n; i++) {
        json_array_append_new(x, gp_json_real(warp->x[i]));
        json_array_append_new(u, gp_json_real(warp->u[i]));
    }
    return json_pack("[o, o]", x, u);
}

static json_t *inputs_json(const gp_schema *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->n_inputs; i++) {
        const gp_input *in = &s->inputs[i];
        json_t *o = json_pack("{s:s, s:s, s:s, s:b, s:I}", "name", in->name, "type", gp_column_type_name(in->type),
                              "encoding", in->encoding->name, "indicator", in->indicator, "columns",
                              (json_int_t)in->n_encoded);
        json_t *words = json_array();
        for (size_t k = 0; k < in->categories.n; k++)
            json_array_append_new(words, json_stringn(in->categories.items[k].text, in->categories.items[k].n));
        if (in->categories.n) json_object_set(o, "categories", words);
        json_decref(words);
        if (gp_limits_any(in->range)) json_object_set_new(o, "range", limits_json(in->range));
        if (gp_limits_any(in->clip)) json_object_set_new(o, "limits", limits_json(in->clip));
        if (in->warp.n) json_object_set_new(o, "ranks", ranks_json(&in->warp));
        json_array_append_new(list, o);
    }
    return list;
}

// Weights are of standardised columns; those that weigh nothing are left out.
static json_t *directions_json(const gp_schema *s)
{
    const size_t plain = gp_schema_plain(s);
    json_t *list = json_array();
    for (size_t i = 0; i < s->n_directions; i++) {
        json_t *weights = json_object();
        for (size_t j = 0; j < plain; j++) {
            const double w = s->directions[i * plain + j];
            if (w != 0) json_object_set_new(weights, s->x_names[j], gp_json_real(w));
        }
        json_array_append_new(list, json_pack("{s:s, s:o}", "name", s->x_names[plain + i], "weights", weights));
    }
    return list;
}

static json_t *columns_json(const view *v)
{
    const gp_schema *s = v->model->schema;
    json_t *list = json_array();
    for (size_t i = 0; i < s->d; i++) {
        const size_t k = v->order[i];
        json_t *lengths = json_array();
        for (size_t b = 0; b < v->n_kernels; b++) json_array_append_new(lengths, gp_json_real(length_scale(v, b, k)));
        json_array_append_new(list,
                              json_pack("{s:s, s:f, s:f, s:o, s:o, s:o}", "name", s->x_names[k], "mean", s->x_mean[k],
                                        "scale", s->x_scale[k], "relevance", gp_json_real(v->relevance[k]), "slope",
                                        gp_json_real(v->slope[k]), "length_scales", lengths));
    }
    return list;
}

static json_t *components_json(const view *v)
{
    json_t *list = json_array();
    for (size_t b = 0; b < v->n_kernels; b++) {
        const gp_kernel_view c = kernel_of(v, b);
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:I, s:I, s:o, s:f}", "kernel", c.kernel, "map", c.map, "inducing",
                                        (json_int_t)c.m, "features", (json_int_t)c.M, "amplitude",
                                        gp_json_real(sqrt(c.a0sq) * v->model->schema->y_scale), "jitter", c.jitter));
    }
    return list;
}

// What people ask of cells: how many, how large, how far they see, where they are.
typedef struct extent {
    double least, median, most;
} extent;

static extent extent_of(double *values, size_t n)
{
    gp_sort(values, n);
    return (extent){.least = values[0], .median = values[n / 2], .most = values[n - 1]};
}

static json_t *extent_json(extent e)
{
    return json_pack("{s:o, s:o, s:o}", "least", gp_json_real(e.least), "median", gp_json_real(e.median), "most",
                     gp_json_real(e.most));
}

// In the column's own units.
static double cell_length(const view *v, size_t i, size_t k)
{
    const gp_cells *c = v->model->cells;
    return v->model->schema->x_scale[k] * exp(-0.5 * c->theta[c->theta_at[i] + 2 + k]);
}

static double cell_amplitude(const view *v, size_t i)
{
    const gp_cells *c = v->model->cells;
    return exp(c->theta[c->theta_at[i] + 1]) * v->model->schema->y_scale;
}

static extent cells_lengths(const view *v, size_t k)
{
    const size_t n = v->model->cells->shape.n;
    for (size_t i = 0; i < n; i++) v->of_cells[i] = cell_length(v, i, k);
    return extent_of(v->of_cells, n);
}

static extent cells_rows(const view *v)
{
    const gp_cells *c = v->model->cells;
    memcpy(v->of_cells, c->rows, c->shape.n * sizeof *v->of_cells);
    return extent_of(v->of_cells, c->shape.n);
}

static extent cells_amplitudes(const view *v)
{
    const size_t n = v->model->cells->shape.n;
    for (size_t i = 0; i < n; i++) v->of_cells[i] = cell_amplitude(v, i);
    return extent_of(v->of_cells, n);
}

static json_t *cell_json(const view *v, size_t i)
{
    const gp_cells *c = v->model->cells;
    json_t *centre = json_object(), *lengths = json_object();
    for (size_t k = 0; k < c->shape.d; k++) {
        const char *name = v->model->schema->x_names[k];
        json_object_set_new(centre, name, gp_json_real(gp_cell_centre(v->model, i, k)));
        json_object_set_new(lengths, name, gp_json_real(cell_length(v, i, k)));
    }
    return json_pack("{s:I, s:I, s:f, s:o, s:o, s:o, s:o}", "cell", (json_int_t)i + 1, "inducing", (json_int_t)c->m[i],
                     "rows", c->rows[i], "amplitude", gp_json_real(cell_amplitude(v, i)), "around",
                     gp_cell_place_json(v->model, i), "centre", centre, "length_scales", lengths);
}

static json_t *cells_json(const view *v)
{
    const gp_cells *c = v->model->cells;
    if (!c) return json_null();
    json_t *list = json_array(), *lengths = json_object();
    for (size_t i = 0; i < c->shape.n; i++) json_array_append_new(list, cell_json(v, i));
    for (size_t k = 0; k < c->shape.d; k++)
        json_object_set_new(lengths, v->model->schema->x_names[k], extent_json(cells_lengths(v, k)));
    return json_pack("{s:I, s:s, s:I, s:o, s:o, s:o, s:o}", "cells", (json_int_t)c->shape.n, "kernel",
                     c->shape.kernel->name, "inducing", (json_int_t)c->n_z, "rows", extent_json(cells_rows(v)),
                     "amplitude", extent_json(cells_amplitudes(v)), "length_scales", lengths, "list", list);
}

static json_t *calibration_json(const gp_model *m)
{
    json_t *factors = json_object(), *gaussian = json_object();
    const gp_calibration *c = &m->calibration;
    for (size_t l = 0; l < GP_LEVELS; l++) {
        char level[16];
        snprintf(level, sizeof level, "%g", gp_levels[l]);
        double ends[2];
        gp_scores_interval(c, gp_scores_of_all(c), gp_levels[l], ends);
        json_object_set_new(factors, level, json_pack("[o, o]", gp_json_real(ends[0]), gp_json_real(ends[1])));
        json_object_set_new(gaussian, level, gp_json_real(gp_gaussian_interval(gp_levels[l])));
    }
    return json_pack("{s:I, s:i, s:o, s:o}", "rows", (json_int_t)c->rows, "groups", c->groups ? GP_GROUPS : 1,
                     "factors", factors, "gaussian", gaussian);
}

static json_t *view_json(const view *v)
{
    const gp_model *m = v->model;
    const gp_schema *s = m->schema;
    return json_pack(
        "{s:o, s:i, s:s, s:s, s:s, s:b, s:s?, s:s?, s:I, s:f, s:s, s:s?, s:{s:f, s:f}, s:o, s:o, s:o, s:o, s:o, "
        "s:s, s:o, s:{s:f, s:f, "
        "s:f}, s:o, s:{s:o, s:o}, s:O, s:O}",
        "model", v->path ? gp_json_text(v->path) : json_null(), "format", m->format, "writer", m->writer, "method",
        m->method, "target", s->target, "log_target", s->log_target, "weights", s->weights, "weights_are",
        s->weights ? gp_weights_are_name(s->weights_are) : NULL, "rows", (json_int_t)s->n_rows, "weight", s->n_weight,
        "missing", gp_missing_name(s->missing), "sql", m->sql, "target_scale", "mean", s->y_mean, "scale", s->y_scale,
        "inputs", inputs_json(s), "directions", directions_json(s), "columns", columns_json(v), "components",
        components_json(v), "cells", cells_json(v), "trend", gp_trend_name(m->spec.trend), "noise",
        gp_json_real(noise(v)), "statistics", "n", m->stats.n, "yy", m->stats.yy, "residual", m->stats.residual,
        "calibration", calibration_json(m), "baseline", "mean", gp_json_real(m->baseline_mean), "linear",
        gp_json_real(m->baseline_linear), "record", m->record, "options", m->options);
}

// ---- text -----------------------------------------------------------------------------------------------------------

// A name from the file, on one line whatever it holds, and padded to a width.
static void add_name(gp_buffer *out, const char *name, size_t width)
{
    const size_t before = out->n;
    gp_buffer_printable(out, name, strlen(name), false);
    if (out->failed) return;
    for (size_t used = gp_text_width(out->p + before, out->n - before); used < width; used++)
        gp_buffer_bytes(out, " ", 1);
}

static void add_head(const view *v, gp_buffer *out)
{
    const gp_model *m = v->model;
    const gp_schema *s = m->schema;
    gp_buffer_add(out, "%s%sa model of '", v->path ? v->path : "", v->path ? ": " : "");
    add_name(out, s->target, 0);
    gp_buffer_add(out, "'%s by %s, written by advgp ", s->log_target ? " (its logarithm)" : "", m->method);
    add_name(out, m->writer, 0);
    gp_buffer_add(out, "\n%zu rows", s->n_rows);
    if (s->weights) {
        gp_buffer_add(out, ", weighted by '");
        add_name(out, s->weights, 0);
        gp_buffer_add(out, "' (%s)", gp_weights_are_name(s->weights_are));
    }
    gp_buffer_add(out, ", missing inputs: %s\n", gp_missing_name(s->missing));
    gp_buffer_add(out, "target: mean %.6g, scale %.6g; noise %.6g", s->y_mean, s->y_scale, noise(v));
    if (m->noise) gp_buffer_add(out, ", times %.3g to %.3g by row", exp(m->noise_range[0]), exp(m->noise_range[1]));
    gp_buffer_add(out, "%s\n", s->log_target ? " (all of the logarithm)" : "");
    if (s->log_offset > 0) gp_buffer_add(out, "%.6g is added to the target before its logarithm\n", s->log_offset);
    if (s->bounded && isfinite(s->bounds.lo)) gp_buffer_add(out, "answers are cut at %.6g from below\n", s->bounds.lo);
    if (s->bounded && isfinite(s->bounds.hi)) gp_buffer_add(out, "answers are cut at %.6g from above\n", s->bounds.hi);
    if (!m->sql) return;
    gp_buffer_add(out, "query: ");
    add_name(out, m->sql, 0);
    gp_buffer_add(out, "\n");
}

static size_t shown_of(const view *v, size_t n)
{
    return n < v->page.shown ? n : v->page.shown;
}

// Inputs by the relevance of their most relevant encoded column, where not all are shown; else as the table has them.
static void add_inputs(const view *v, gp_buffer *out)
{
    const gp_schema *s = v->model->schema;
    const size_t shown = shown_of(v, s->n_inputs);
    gp_buffer_add(out, "\ninputs:\n");
    size_t told = 0;
    for (size_t i = 0; i < s->n_inputs && told < shown; i++) {
        const gp_input *in = &s->inputs[i];
        bool relevant = shown == s->n_inputs;
        for (size_t k = 0; !relevant && k < shown_of(v, s->d); k++)
            relevant = v->order[k] >= in->first && v->order[k] < in->first + in->n_encoded;
        if (!relevant) continue;
        told++;
        gp_buffer_add(out, "  ");
        add_name(out, in->name, 28);
        gp_buffer_add(out, " %-8s %s", gp_column_type_name(in->type), in->encoding->name);
        if (in->categories.n) gp_buffer_add(out, ", %zu categories", in->categories.n);
        if (in->encoding->kind == ADVGP_KIND_NUMBER && gp_limits_any(in->range))
            gp_buffer_add(out, ", from %.6g to %.6g", in->range.lo, in->range.hi);
        if (isfinite(in->clip.lo)) gp_buffer_add(out, ", taken as %.6g below that", in->clip.lo);
        if (isfinite(in->clip.hi)) gp_buffer_add(out, ", taken as %.6g above that", in->clip.hi);
        if (in->warp.n) gp_buffer_add(out, ", by its ranks (median %.6g)", gp_warp_back(&in->warp, 0.5));
        gp_buffer_add(out, "%s\n", in->indicator ? ", and whether it is missing" : "");
    }
    if (told < s->n_inputs) gp_buffer_add(out, "  and %zu less relevant ones\n", s->n_inputs - told);
}

// The column whose weight comes behind that of `before`, by size; plain: the first, and the answer where none is left.
static size_t next_weight(const double *weights, size_t plain, size_t before)
{
    const double limit = before == plain ? INFINITY : fabs(weights[before]);
    size_t best = plain;
    for (size_t j = 0; j < plain; j++) {
        const double w = fabs(weights[j]);
        if (w > limit || (w == limit && j <= before && before < plain)) continue;
        if (best == plain || w > fabs(weights[best])) best = j;
    }
    return best;
}

// "1: 0.71 arr_minute - 0.69 dep_minute - 0.12 airtime": from the heaviest on, down to a tenth of it.
static void add_directions(const view *v, gp_buffer *out)
{
    enum { INDENT = 5 };
    static const double least = 0.1;
    const gp_schema *s = v->model->schema;
    const size_t plain = gp_schema_plain(s);
    if (s->n_directions) gp_buffer_add(out, "\ndirections, sums of standardised columns:\n");
    for (size_t i = 0; i < s->n_directions; i++) {
        const double *weights = s->directions + i * plain;
        const size_t first = next_weight(weights, plain, plain);
        gp_buffer text = {0};
        for (size_t j = first; j < plain && fabs(weights[j]) >= least * fabs(weights[first]);
             j = next_weight(weights, plain, j)) {
            const char *sign = weights[j] < 0 ? j == first ? "-" : " - " : j == first ? "" : " + ";
            gp_buffer_add(&text, "%s%.3g ", sign, fabs(weights[j]));
            add_name(&text, s->x_names[j], 0);
        }
        gp_buffer_add(out, "  %zu: ", i + 1);
        gp_buffer_wrapped(out, text.p ? text.p : "", INDENT, v->page.columns);
        gp_buffer_add(out, "\n");
        out->failed |= text.failed;
        gp_buffer_fini(&text);
    }
}

static void add_components(const view *v, gp_buffer *out)
{
    const gp_trend trend = v->model->spec.trend;
    if (v->n_kernels)
        gp_buffer_add(out, "\ncomponents, and a %s trend:\n", gp_trend_name(trend));
    else
        gp_buffer_add(out, "\nno kernel: %s\n", trend == GP_TREND_LINEAR ? "a line" : "a constant");
    const size_t shown = shown_of(v, v->n_kernels);
    for (size_t b = 0; b < shown; b++) {
        const gp_kernel_view c = kernel_of(v, b);
        gp_buffer_add(out, "  %zu: %s, %s, %zu inducing inputs, %zu features, amplitude %.4g, jitter %g\n", b + 1,
                      c.kernel, c.map, c.m, c.M, sqrt(c.a0sq) * v->model->schema->y_scale, c.jitter);
    }
    if (shown < v->n_kernels) gp_buffer_add(out, "  and %zu more\n", v->n_kernels - shown);
}

enum { NONE = -1 };

// From the largest local process to the smallest, one after the other: the cell behind `before`, or the first.
static long next_cell(const view *v, long before)
{
    long best = NONE;
    for (long i = 0; i < (long)v->model->cells->shape.n; i++) {
        const double a = cell_amplitude(v, (size_t)i);
        const double limit = before == NONE ? INFINITY : cell_amplitude(v, (size_t)before);
        if (a > limit || (a == limit && i <= before)) continue;
        if (best == NONE || a > cell_amplitude(v, (size_t)best)) best = i;
    }
    return best;
}

static void add_cells(const view *v, gp_buffer *out)
{
    const gp_cells *c = v->model->cells;
    if (!c) return;
    const extent rows = cells_rows(v), amplitudes = cells_amplitudes(v);
    const size_t shown = c->shape.n < v->page.cells ? c->shape.n : v->page.cells;
    gp_buffer_add(out,
                  "\n%zu cells beside them: %s, %zu inducing inputs in all, %.0f to %.0f training rows each (median "
                  "%.0f)\n",
                  c->shape.n, c->shape.kernel->name, c->n_z, rows.least, rows.most, rows.median);
    gp_buffer_add(out, "  amplitudes from %.4g to %.4g, median %.4g%s\n", amplitudes.least, amplitudes.most,
                  amplitudes.median, shown ? "; the largest:" : "");
    long i = NONE;
    for (size_t n = 0; n < shown && (i = next_cell(v, i)) != NONE; n++) {
        gp_buffer_add(out, "  %8.4g in cell %ld, %.0f rows\n", cell_amplitude(v, (size_t)i), i + 1, c->rows[i]);
        gp_cell_place_text(v->model, (size_t)i, v->page.columns, out);
    }
    if (shown && shown < c->shape.n) gp_buffer_add(out, "  and %zu smaller ones\n", c->shape.n - shown);
}

enum { COLUMN_NAME = 28, COLUMN_NAME_LEAST = 12, LENGTH = 10, OF_CELLS = 12, OF_CELLS_ALL = 32 };

// What a line of the table has room for: length-scales of so many components, and the name.
typedef struct columns_layout {
    size_t name, lengths;
    bool moments; // mean, scale and slope
    bool extents; // of the length-scales of cells; else their median alone
} columns_layout;

static columns_layout layout_of(const view *v)
{
    const size_t wanted = v->n_kernels < COMPONENTS_SHOWN ? v->n_kernels : COMPONENTS_SHOWN;
    const size_t cells = v->model->cells ? OF_CELLS : 0, room = v->page.columns;
    columns_layout l = {.name = COLUMN_NAME, .lengths = wanted, .moments = true, .extents = true};
    if (!room) return l;
    const size_t relevance = 13, moments = 33; // with the blanks before them
    l.moments = relevance + COLUMN_NAME_LEAST + moments + cells + (wanted ? LENGTH : 0) + 1 <= room;
    const size_t fixed = relevance + (l.moments ? moments : 0) + cells + 1;
    while (l.lengths > 1 && fixed + COLUMN_NAME_LEAST + l.lengths * LENGTH > room) l.lengths--;
    const size_t used = fixed + l.lengths * LENGTH;
    l.name = used + COLUMN_NAME <= room         ? COLUMN_NAME
             : used + COLUMN_NAME_LEAST <= room ? room - used
                                                : COLUMN_NAME_LEAST;
    l.extents = used + l.name + OF_CELLS_ALL - OF_CELLS <= room;
    return l;
}

static void add_columns(const view *v, gp_buffer *out)
{
    const gp_schema *s = v->model->schema;
    const columns_layout l = layout_of(v);
    const size_t shown = shown_of(v, s->d);
    gp_buffer_add(out, "\nby relevance, and the length-scale of each component%s%s:\n  ",
                  l.lengths < v->n_kernels ? " (the first ones)" : "",
                  !v->model->cells ? ""
                  : l.extents      ? "; | least, median and most of the cells"
                                   : "; | median of the cells");
    gp_buffer_cell(out, "column", l.name, GP_LEFT);
    gp_buffer_add(out, " %9s", "relevance");
    if (l.moments) gp_buffer_add(out, " %10s %10s %10s", "mean", "scale", "slope");
    for (size_t b = 0; b < l.lengths; b++) gp_buffer_add(out, "%s %8s%zu", b ? "" : " ", "length ", b + 1);
    gp_buffer_add(out, "\n");
    for (size_t i = 0; i < shown; i++) {
        const size_t k = v->order[i];
        gp_buffer_add(out, "  ");
        if (v->page.columns)
            gp_buffer_cell(out, s->x_names[k], l.name, GP_LEFT);
        else
            add_name(out, s->x_names[k], l.name);
        gp_buffer_add(out, " %9.3g", v->relevance[k]);
        if (l.moments) gp_buffer_add(out, " %10.4g %10.4g %10.3g", s->x_mean[k], s->x_scale[k], v->slope[k]);
        for (size_t b = 0; b < l.lengths; b++) gp_buffer_add(out, "%s %9.3g", b ? "" : " ", length_scale(v, b, k));
        const extent e = v->model->cells ? cells_lengths(v, k) : (extent){0};
        if (v->model->cells && l.extents)
            gp_buffer_add(out, " | %9.3g %9.3g %9.3g", e.least, e.median, e.most);
        else if (v->model->cells)
            gp_buffer_add(out, " | %9.3g", e.median);
        gp_buffer_add(out, "\n");
    }
    if (shown < s->d) gp_buffer_add(out, "  and %zu less relevant ones\n", s->d - shown);
}

static void add_tail(const view *v, gp_buffer *out)
{
    const gp_model *m = v->model;
    const gp_calibration *c = &m->calibration;
    if (c->rows)
        gp_buffer_add(out, "\nintervals, calibrated on %zu rows: ends in sd_y about the mean (Gaussian)\n ", c->rows);
    else
        gp_buffer_add(out, "\nintervals, not calibrated: ends in sd_y about the mean (Gaussian)\n ");
    for (size_t l = 0; l < GP_LEVELS; l++) {
        double ends[2];
        gp_scores_interval(c, gp_scores_of_all(c), gp_levels[l], ends);
        gp_buffer_add(out, "%s %g %%: %+.3f %+.3f (%.3f)", l && v->page.columns ? "\n " : "", 100 * gp_levels[l],
                      ends[0], ends[1], gp_gaussian_interval(gp_levels[l]));
    }
    gp_buffer_add(out, "\n");
    if (c->groups)
        gp_buffer_add(out, "  on average: each of %d groups of rows, by prediction and sd_y, has its own\n", GP_GROUPS);
    if (isfinite(m->baseline_mean)) gp_buffer_add(out, "RMSE of the mean in training: %.5g\n", m->baseline_mean);
    if (isfinite(m->baseline_linear))
        gp_buffer_add(out, "RMSE of linear regression in training: %.5g\n", m->baseline_linear);
}

static void add_record(const view *v, gp_buffer *out)
{
    enum { NAME = 20, BRIEF_COLUMNS = 100 };
    const char *key;
    json_t *value;
    gp_buffer said = {0};
    if (json_object_size(v->model->record)) gp_buffer_add(out, "\ntraining record:\n");
    json_object_foreach(v->model->record, key, value)
    {
        if (json_is_object(value) || json_is_array(value)) continue; // for --json, and for report
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        gp_buffer_add(&said, v->page.brief ? said.n ? ", " : "" : "  ");
        add_name(&said, key, v->page.brief ? 0 : NAME);
        gp_buffer_add(&said, v->page.brief ? " %s" : " %s\n", text ? text : "");
        free(text);
    }
    if (v->page.brief) {
        gp_buffer_add(out, "  ");
        gp_buffer_wrapped(out, said.p ? said.p : "", 2, BRIEF_COLUMNS);
        gp_buffer_add(out, "\n");
    } else if (said.p) {
        gp_buffer_bytes(out, said.p, said.n);
    }
    out->failed |= said.failed;
    gp_buffer_fini(&said);
    const json_t *plan = json_object_get(v->model->record, "plan");
    if (plan && !v->page.brief) {
        gp_buffer_add(out, "\nplan of the training, where each choice came from and why:\n");
        gp_plan_json_text(plan, out);
    }
}

// ---- both -----------------------------------------------------------------------------------------------------------

static void view_fini(view *v)
{
    gp_free(v->slope);
    gp_free(v->relevance);
    gp_free(v->order);
    gp_free(v->of_cells);
}

static advgp_status view_init(view *v, const gp_model *model, const char *path, advgp_error *err)
{
    const size_t d = model->spec.d;
    *v = (view){.path = path, .model = model};
    v->slope = gp_alloc(d, sizeof *v->slope);
    v->relevance = gp_alloc(d, sizeof *v->relevance);
    v->order = gp_alloc(d, sizeof *v->order);
    v->of_cells = gp_alloc(model->cells ? model->cells->shape.n : 0, sizeof *v->of_cells);
    if (!v->slope || !v->relevance || !v->order || !v->of_cells) {
        view_fini(v);
        return gp_no_memory(err);
    }
    fill(v);
    return ADVGP_OK;
}

advgp_status gp_inspect_json(const gp_model *model, const char *path, json_t **out, advgp_error *err)
{
    view v;
    *out = NULL;
    const advgp_status st = view_init(&v, model, path, err);
    if (st != ADVGP_OK) return st;
    *out = view_json(&v);
    view_fini(&v);
    return *out ? ADVGP_OK : gp_no_memory(err);
}

advgp_status gp_inspect_text(const gp_model *model, const char *path, gp_inspect_page page, gp_buffer *out,
                             advgp_error *err)
{
    view v;
    const advgp_status st = view_init(&v, model, path, err);
    if (st != ADVGP_OK) return st;
    v.page = page;
    add_head(&v, out);
    add_inputs(&v, out);
    add_directions(&v, out);
    add_components(&v, out);
    add_cells(&v, out);
    add_columns(&v, out);
    add_tail(&v, out);
    add_record(&v, out);
    view_fini(&v);
    return ADVGP_OK;
}
