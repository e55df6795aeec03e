// section_errors.c: where is the model wrong? Predicted against observed, residuals, errors by the values of the two
// most relevant columns, and the rows with the largest errors.
#include "base/alloc.h"
#include "base/sort.h"
#include "base/whole.h"
#include "data/encoding.h"
#include "report/axis_json.h"
#include "report/decode.h"
#include "report/html.h"
#include "report/report.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWN = 1500, CELLS = 6, CELL_ROWS_MIN = 5, RESIDUAL_BINS = 30 };

static const double *sorted_of(const gp_findings *f, double (*value)(const gp_seen_row *row), double *room)
{
    for (size_t i = 0; i < f->n_sample; i++) room[i] = value(&f->sample[i]);
    gp_sort(room, f->n_sample);
    return room;
}

static double observed(const gp_seen_row *row)
{
    return row->y;
}

static double predicted(const gp_seen_row *row)
{
    return row->mean;
}

static double residual(const gp_seen_row *row)
{
    return row->y - row->mean;
}

static double distance(const gp_seen_row *row)
{
    return fabs(residual(row));
}

// The bulk of n sorted values: all but a thousandth at both ends, and a little room.
static void bulk(const double *sorted, size_t n, double ends[2])
{
    ends[0] = sorted[n / 1000], ends[1] = sorted[n - 1 - n / 1000];
    const double room = ends[1] > ends[0] ? 0.04 * (ends[1] - ends[0]) : fmax(fabs(ends[0]), 1) * 0.01;
    ends[0] -= room, ends[1] += room;
}

static json_t *pair(const double ends[2])
{
    return json_pack("[o, o]", gp_json_real(ends[0]), gp_json_real(ends[1]));
}

// ---- scatter --------------------------------------------------------------------------------------------------------

// Rows by tenth of the prediction: what a cloud of points would show, as a table.
static int by_prediction(const void *a, const void *b)
{
    const double x = ((const gp_seen_row *)a)->mean, y = ((const gp_seen_row *)b)->mean;
    return (x > y) - (x < y);
}

static void write_groups(const gp_findings *f, const char *caption, gp_seen_row *room, gp_buffer *out)
{
    const size_t groups = f->n_sample < 10 ? f->n_sample : 10;
    memcpy(room, f->sample, f->n_sample * sizeof *room);
    qsort(room, f->n_sample, sizeof *room, by_prediction);
    gp_html_table(out, caption, "predicted from|#to|#rows|#mean predicted|#mean observed|#RMSE");
    for (size_t g = 0; g < groups; g++) {
        const size_t from = f->n_sample * g / groups, to = f->n_sample * (g + 1) / groups;
        double n = 0, mean = 0, y = 0, squares = 0;
        for (size_t i = from; i < to; i++) {
            const gp_seen_row *row = &room[i];
            n += row->w, mean += row->w * row->mean, y += row->w * row->y;
            squares += row->w * (row->y - row->mean) * (row->y - row->mean);
        }
        gp_html_row(out, NULL);
        gp_html_head(out, gp_number_of(room[from].mean).p);
        gp_html_cell_number(out, room[to - 1].mean);
        gp_html_cell_count(out, to - from);
        gp_html_cell_number(out, mean / n);
        gp_html_cell_number(out, y / n);
        gp_html_cell_number(out, sqrt(squares / n));
        gp_html_row_end(out);
    }
    gp_html_table_end(out);
}

static void write_scatter(const gp_report *r, bool residuals, const double across[2], const double up[2],
                          gp_seen_row *room, gp_buffer *out)
{
    const gp_findings *f = r->findings;
    const size_t n = f->n_sample < DRAWN ? f->n_sample : DRAWN;
    const char *target = r->model->schema->target;
    json_t *x = json_array(), *y = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(x, gp_json_real(f->sample[i].mean));
        json_array_append_new(y, gp_json_real(residuals ? residual(&f->sample[i]) : f->sample[i].y));
    }
    const double line[2] = {residuals ? 0 : across[0], residuals ? 0 : across[1]};
    char label[384], of[160] = "";
    if (n < r->n_rows)
        snprintf(of, sizeof of, " (%s of %s rows, by chance)", gp_count_of(n).p, gp_count_of(r->n_rows).p);
    if (residuals)
        snprintf(label, sizeof label,
                 "Observed less predicted value, against the predicted one%s: mean absolute error %s.", of,
                 gp_number_of(f->all.mae).p);
    else
        snprintf(label, sizeof label, "Observed against predicted value%s: R\u00b2 is %s.", of,
                 gp_number_of(f->all.r2).p);
    gp_buffer xtitle = {0}, ytitle = {0};
    gp_buffer_add(&xtitle, "predicted %s", target);
    gp_buffer_add(&ytitle, residuals ? "observed \u2212 predicted" : "observed %s", target);
    gp_html_figure_take(
        out, (gp_figure){.id = residuals ? "fig-residuals" : "fig-scatter",
                         .chart = "scatter",
                         .title = residuals ? "Residuals" : "Observed against predicted",
                         .label = label,
                         .data = json_pack("{s:{s:o, s:o}, s:{s:o, s:o}}", "main", "x", x, "y", y, "line", "x",
                                           pair(across), "y", pair(line)),
                         .parameters = json_pack("{s:o, s:o, s:o, s:o, s:o*, s:o*}", "xtitle",
                                                 gp_chart_text(xtitle.p ? xtitle.p : ""), "ytitle",
                                                 gp_chart_text(ytitle.p ? ytitle.p : ""), "xdomain", pair(across),
                                                 "ydomain", pair(up), "xformat", gp_axis_format(across[0], across[1]),
                                                 "yformat", gp_axis_format(up[0], up[1]))});
    gp_buffer_fini(&xtitle);
    gp_buffer_fini(&ytitle);
    write_groups(f, residuals ? "Errors by prediction" : "Observed and predicted values, by prediction", room, out);
    gp_html_figure_end(out);
}

static void write_histogram(const gp_findings *f, const double *sorted, gp_buffer *out)
{
    const size_t last = f->n_sample - 1; // a hundredth at both ends is gathered in the outermost bars
    double share[RESIDUAL_BINS] = {0};
    const double ends[2] = {sorted[last / 100], sorted[last - last / 100]};
    // Steps of 1, 2 or 5 times a power of ten, one of which begins at 0.
    const double wanted = fmax((ends[1] - ends[0]) / (RESIDUAL_BINS - 4), 1e-300), ten = pow(10, floor(log10(wanted)));
    const double step = wanted <= 2 * ten ? 2 * ten : wanted <= 5 * ten ? 5 * ten : 10 * ten;
    const double from = floor(ends[0] / step) * step;
    size_t n = 0;
    for (size_t i = 0; i < f->n_sample; i++) {
        const double at = floor((sorted[i] - from) / step);
        const size_t bin = gp_index(at, RESIDUAL_BINS - 1);
        share[bin] += 1 / (double)f->n_sample;
        if (bin + 1 > n) n = bin + 1;
    }
    json_t *lo = json_array(), *hi = json_array(), *shares = json_array(), *ticks = json_array();
    const double apart = step * fmax(ceil((double)n / 7), 1); // about seven labels, 0 among them
    for (double at = ceil(from / apart) * apart;
         at <= from + (double)n * step && json_array_size(ticks) < RESIDUAL_BINS; at += apart)
        json_array_append_new(ticks, gp_json_real(round(at / step) * step));
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(lo, gp_json_real(from + (double)i * step));
        json_array_append_new(hi, gp_json_real(from + (double)(i + 1) * step));
        json_array_append_new(shares, gp_json_real(share[i]));
    }
    char label[256];
    snprintf(label, sizeof label,
             "Histogram of observed less predicted values: half of them lie between %s and %s. The outermost bars hold "
             "all that lie beyond.",
             gp_number_of(sorted[f->n_sample / 4]).p, gp_number_of(sorted[3 * f->n_sample / 4]).p);
    gp_html_figure_take(
        out, (gp_figure){.id = "fig-residual-histogram",
                         .chart = "histogram",
                         .title = "How large the errors are",
                         .label = label,
                         .data = json_pack("{s:{s:o, s:o, s:o}}", "main", "from", lo, "to", hi, "share", shares),
                         .parameters = json_pack("{s:s, s:o, s:o}", "title", "observed \u2212 predicted", "step",
                                                 gp_json_real(step), "ticks", ticks)});
    gp_html_table(out, "Shares of the rows by error", "quantile|#observed \u2212 predicted");
    static const double at[] = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        char name[16];
        snprintf(name, sizeof name, "%g\u00a0%%", 100 * at[i]);
        gp_html_row(out, NULL);
        gp_html_head(out, name);
        gp_html_cell_number(out, sorted[gp_index(at[i] * (double)last, last)]);
        gp_html_row_end(out);
    }
    gp_html_table_end(out);
    gp_html_figure_end(out);
}

// ---- cells ----------------------------------------------------------------------------------------------------------

// One side of the cells: values cut at quantiles, or the commonest categories.
typedef struct side {
    const gp_input *input;
    bool discrete;
    size_t n;
    double edge[CELLS + 1]; // of values
    double category[CELLS]; // of categories
    bool whole;             // all values are integers
    int digits;             // enough for neighbouring edges to differ
} side;

static bool are_whole(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] != round(values[i]) || fabs(values[i]) > 1e9) return false;
    return true;
}

// As few digits as tell every edge from the next, and four at least.
static int digits_of(const double *edge, size_t n)
{
    int digits = 4;
    for (size_t k = 0; k < n; k++)
        for (char a[40], b[40]; digits < 12; digits++) {
            snprintf(a, sizeof a, "%.*g", digits, edge[k]);
            snprintf(b, sizeof b, "%.*g", digits, edge[k + 1]);
            if (strcmp(a, b) != 0) break;
        }
    return digits;
}

static side side_of(const gp_schema *s, const gp_findings *f, size_t which, double *room)
{
    side out = {.input = &s->inputs[f->drawn[which]]};
    size_t n = 0;
    out.discrete = gp_input_is_discrete(out.input);
    for (size_t i = 0; i < f->n_sample; i++)
        if (isfinite(f->sample[i].at[which])) room[n++] = f->sample[i].at[which];
    gp_sort(room, n);
    if (!n) return out;
    if (!out.discrete) {
        out.edge[0] = room[0];
        for (size_t k = 1; k <= CELLS; k++) { // a value that many rows share closes a cell by itself
            const double at = room[k == CELLS ? n - 1 : n * k / CELLS];
            if (at > out.edge[out.n]) out.edge[++out.n] = at;
        }
        out.whole = are_whole(room, n);
        out.digits = digits_of(out.edge, out.n);
        return out;
    }
    size_t rows[CELLS] = {0};
    for (size_t i = 0, k; i < n; i = k) { // runs of equal values; the longest stay, in their order
        for (k = i; k < n && room[k] == room[i]; k++) continue;
        if (out.n < CELLS) {
            out.category[out.n] = room[i], rows[out.n++] = k - i;
            continue;
        }
        size_t least = 0;
        for (size_t c = 1; c < CELLS; c++)
            if (rows[c] < rows[least]) least = c;
        if (k - i > rows[least]) out.category[least] = room[i], rows[least] = k - i;
    }
    return out;
}

static size_t cell_of(const side *s, double value)
{
    for (size_t k = 0; k < s->n; k++)
        if (s->discrete ? value == s->category[k] : value <= s->edge[k + 1])
            return value >= s->edge[0] || s->discrete ? k : CELLS;
    return CELLS; // missing, or a rarer category
}

static json_t *name_of_cell(const side *s, size_t k)
{
    gp_buffer text = {0};
    if (s->discrete) {
        gp_decode_text(s->input, s->category[k], &text);
    } else if (s->input->encoding->kind == ADVGP_KIND_TIME) {
        gp_buffer_add(&text, "from ");
        gp_decode_text(s->input, s->edge[k], &text);
    } else {
        // Of integers a cell begins behind the end of the one before.
        const double from = s->edge[k] + (s->whole && k), to = s->edge[k + 1];
        gp_buffer_add(&text, "%.*g", s->whole ? 10 : s->digits, from);
        if (to > from) gp_buffer_add(&text, " to %.*g", s->whole ? 10 : s->digits, to);
    }
    json_t *name = gp_chart_text(text.p ? text.p : "");
    gp_buffer_fini(&text);
    return name;
}

static json_t *names_of(const side *s, bool largest_first)
{
    json_t *list = json_array();
    for (size_t k = 0; k < s->n; k++) json_array_append_new(list, name_of_cell(s, largest_first ? s->n - 1 - k : k));
    return list;
}

static void write_cells(const gp_report *r, double *room, gp_buffer *out)
{
    const gp_findings *f = r->findings;
    const gp_schema *s = r->model->schema;
    const side a = side_of(s, f, 0, room), b = side_of(s, f, 1, room);
    struct {
        double n, squares, sum;
        size_t rows;
    } cells[CELLS][CELLS] = {0};
    for (size_t i = 0; i < f->n_sample; i++) {
        const gp_seen_row *row = &f->sample[i];
        const size_t x = cell_of(&a, row->at[0]), y = cell_of(&b, row->at[1]);
        if (x == CELLS || y == CELLS) continue;
        cells[x][y].n += row->w, cells[x][y].rows++;
        cells[x][y].squares += row->w * residual(row) * residual(row);
        cells[x][y].sum += row->w * residual(row);
    }
    json_t *xs = json_array(), *ys = json_array(), *value = json_array(), *bias = json_array(), *rows = json_array();
    double lo = INFINITY, hi = 0;
    json_t *worst = NULL;
    size_t shown = 0;
    for (size_t x = 0; x < a.n; x++)
        for (size_t y = b.n; y-- > 0;) { // the largest on top
            if (cells[x][y].rows < CELL_ROWS_MIN) continue;
            const double rmse = sqrt(cells[x][y].squares / cells[x][y].n);
            json_array_append_new(xs, name_of_cell(&a, x));
            json_array_append_new(ys, name_of_cell(&b, y));
            json_array_append_new(value, gp_json_real(rmse));
            json_array_append_new(bias, gp_json_real(cells[x][y].sum / cells[x][y].n));
            json_array_append_new(rows, json_integer((json_int_t)cells[x][y].rows));
            if (rmse > hi) {
                json_decref(worst);
                worst = json_pack("[o, o]", name_of_cell(&a, x), name_of_cell(&b, y));
            }
            lo = fmin(lo, rmse), hi = fmax(hi, rmse), shown++;
        }
    if (shown < 2) {
        json_decref(xs), json_decref(ys), json_decref(value), json_decref(bias), json_decref(rows), json_decref(worst);
        return;
    }
    gp_buffer label = {0};
    gp_buffer_add(&label, "Typical error by %s and %s: from %s to %s, the most where %s is %s and %s is %s.",
                  a.input->name, b.input->name, gp_number_of(lo).p, gp_number_of(hi).p, a.input->name,
                  json_string_value(json_array_get(worst, 0)), b.input->name,
                  json_string_value(json_array_get(worst, 1)));
    json_decref(worst);
    json_t *names = json_incref(xs), *others = json_incref(ys), *errors = json_incref(value), *off = json_incref(bias),
           *counts = json_incref(rows);
    json_t *fill = gp_section_ramp("RMSE", lo, hi), *stroke = json_deep_copy(fill);
    json_object_set_new(stroke, "legend", json_null());
    gp_html_figure_take(
        out, (gp_figure){
                 .id = "fig-cells",
                 .chart = "surface",
                 .title = "Errors by the two most relevant columns",
                 .label = label.p ? label.p : "",
                 .data = json_pack("{s:{s:o, s:o, s:o, s:o, s:o}, s:{s:[], s:[]}}", "main", "x", xs, "y", ys, "value",
                                   value, "bias", bias, "rows", rows, "points", "x", "y"),
                 .parameters = json_pack(
                     "{s:o, s:o, s:s, s:s, s:{s:o}, s:{s:o}, s:o, s:o, s:i, s:i, s:b, s:o}", "xname",
                     gp_chart_text(a.input->name), "yname", gp_chart_text(b.input->name), "xtype", "nominal", "ytype",
                     "nominal", "xscale", "domain", names_of(&a, false), "yscale", "domain", names_of(&b, true), "fill",
                     fill, "stroke", stroke, "height", 240, "xangle", -30, "xoverlap", 0, "tooltip",
                     json_pack("[{s:s, s:o}, {s:s, s:o}, {s:s, s:s, s:s}, {s:s, s:s, s:s}, {s:s}]", "field", "x",
                               "title", gp_chart_text(a.input->name), "field", "y", "title",
                               gp_chart_text(b.input->name), "field", "value", "title", "RMSE", "format", ".4~g",
                               "field", "bias", "title", "mean error", "format", ".4~g", "field", "rows"))});
    gp_buffer columns = {0};
    for (const char *p = a.input->name; *p; p++) gp_buffer_bytes(&columns, *p == '|' ? "/" : p, 1);
    gp_buffer_add(&columns, "|");
    for (const char *p = b.input->name; *p; p++) gp_buffer_bytes(&columns, *p == '|' || *p == '#' ? "/" : p, 1);
    gp_buffer_add(&columns, "|#rows|#RMSE|#mean error");
    gp_html_table(out, "Errors by cell", columns.p ? columns.p : "");
    for (size_t i = 0; i < shown; i++) {
        gp_html_row(out, NULL);
        gp_html_head(out, json_string_value(json_array_get(names, i)));
        gp_html_cell(out, json_string_value(json_array_get(others, i)));
        gp_html_cell_count(out, (size_t)json_integer_value(json_array_get(counts, i)));
        gp_html_cell_number(out, json_number_value(json_array_get(errors, i)));
        gp_html_cell_number(out, json_number_value(json_array_get(off, i)));
        gp_html_row_end(out);
    }
    gp_html_table_end(out);
    gp_html_figure_end(out);
    json_decref(names), json_decref(others), json_decref(errors), json_decref(off), json_decref(counts);
    gp_buffer_fini(&columns);
    gp_buffer_fini(&label);
}

advgp_status gp_section_errors(const gp_report *r, gp_buffer *out, advgp_error *err)
{
    const gp_findings *f = r->findings;
    if (!f || !f->n_sample) {
        gp_section_needs_rows(out, "A picture of errors");
        return ADVGP_OK;
    }
    double *room = gp_alloc(f->n_sample, sizeof *room), across[2], up[2], off[2];
    gp_seen_row *rows = gp_alloc(f->n_sample, sizeof *rows);
    if (!room || !rows) {
        gp_free(room);
        gp_free(rows);
        return gp_no_memory(err);
    }
    size_t outside = 0;
    for (size_t i = 0; i < f->n_sample; i++) outside += fabs(f->sample[i].score) > 4;
    const double middle = sorted_of(f, distance, room)[f->n_sample / 2];
    bulk(sorted_of(f, predicted, room), f->n_sample, across);
    bulk(sorted_of(f, observed, room), f->n_sample, up);
    bulk(sorted_of(f, residual, room), f->n_sample, off);
    gp_buffer_add(out, "<p>Half of the predictions are within %s of the observed value", gp_number_of(middle).p);
    if (outside)
        gp_buffer_add(out, "; %s of %s rows lie more than four standard deviations off, and are worth a look.</p>\n",
                      gp_count_of(outside).p, gp_count_of(f->n_sample).p);
    else
        gp_buffer_add(out, ", and no row lies more than four standard deviations off.</p>\n");
    gp_buffer_add(out, "<div class=\"pair\">\n");
    write_scatter(r, false, across, up, rows, out);
    write_scatter(r, true, across, off, rows, out);
    write_histogram(f, room, out);
    if (f->drawn[0] != GP_NO_ROW && f->drawn[1] != GP_NO_ROW) {
        double *values = gp_alloc(f->n_sample, sizeof *values);
        if (values)
            write_cells(r, values, out);
        else
            out->failed = true;
        gp_free(values);
    }
    gp_buffer_add(out, "</div>\n");
    gp_section_worst(r, out);
    gp_free(room);
    gp_free(rows);
    return ADVGP_OK;
}
