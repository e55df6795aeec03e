// section_course.c: how did the model get there? Bound, error and likelihood against time, several runs over each
// other, and what the workers did.
#include "base/alloc.h"
#include "base/sort.h"
#include "report/html.h"
#include "report/report.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>

typedef struct metric {
    const char *id, *name, *title, *words;
    double (*of)(const gp_course_point *point);
    size_t window; // points that a shown value is the mean of
} metric;

static double bound(const gp_course_point *p)
{
    return p->bound;
}

static double rmse(const gp_course_point *p)
{
    return p->rmse;
}

static double mnlp(const gp_course_point *p)
{
    return p->mnlp;
}

static const metric metrics[] = {
    {"elbo", "\u2212ELBO a row", "Bound", "Each value the mean of up to eight batches; smaller is better.", bound, 8},
    {"rmse", "held-out RMSE", "Error", "On rows held out; smaller is better.", rmse, 1},
    {"mnlp", "held-out MNLP", "Likelihood", "On rows held out; smaller is better.", mnlp, 1},
};

// The bound of one batch says more of the batch than of the model: a mean over the last ones shows the way.
static double value_at(const metric *m, const gp_course *c, size_t k)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = k + 1; i-- > 0 && n < m->window && isfinite(m->of(&c->points[i])); n++) sum += m->of(&c->points[i]);
    return n ? sum / (double)n : NAN;
}

// The first steps of a run are far off, and would hide all later ones: the axis ends where nine tenths of the points
// do, and a little beyond.
static json_t *domain_of(const double *values, size_t n)
{
    if (n < 8) return NULL;
    const double lo = values[0], hi = values[n * 9 / 10];
    if (!(hi > lo) || values[n - 1] <= hi + 0.6 * (hi - lo)) return NULL;
    return json_pack("[o, o]", gp_json_real(lo - 0.05 * (hi - lo)), gp_json_real(hi + 0.4 * (hi - lo)));
}

// What stands beside a point: its run, where it is, and the rows that had been seen, if they are told.
static json_t *tooltip_of(const char *ytitle, bool rows)
{
    json_t *list = json_pack("[{s:s}, {s:s, s:s, s:s}, {s:s, s:s, s:s}]", "field", "run", "field", "x", "title",
                             "seconds", "format", ".4~g", "field", "y", "title", ytitle, "format", ".5~g");
    if (rows)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s}", "field", "rows", "title", "rows seen", "format", ".4~s"));
    return list;
}

// Nothing where no run has two points of it.
static void write_metric(const gp_courses *courses, const metric *m, gp_buffer *out)
{
    json_t *x = json_array(), *y = json_array(), *run = json_array(), *rows = json_array();
    size_t n = 0, room = 0, runs = 0;
    for (size_t i = 0; i < courses->n; i++) room += courses->list[i].n;
    double *values = gp_alloc(room + 1, sizeof *values), first = NAN, last = NAN;
    for (size_t i = 0; values && i < courses->n; i++) {
        const gp_course *c = &courses->list[i];
        const size_t before = n;
        for (size_t k = 0; k < c->n; k++) {
            const double value = value_at(m, c, k), at = c->points[k].seconds;
            if (!isfinite(value) || !isfinite(at)) continue;
            json_array_append_new(x, gp_json_real(at));
            json_array_append_new(y, gp_json_real(value));
            json_array_append_new(run, gp_chart_text(c->name));
            json_array_append_new(rows, gp_json_real(c->points[k].rows));
            if (n == before && !runs) first = value;
            if (!runs) last = value;
            values[n++] = value;
        }
        runs += n > before;
    }
    if (n < 2) {
        gp_free(values);
        json_decref(x), json_decref(y), json_decref(run), json_decref(rows);
        return;
    }
    gp_sort(values, n);
    char id[32], title[64], label[256];
    snprintf(id, sizeof id, "fig-%s-time", m->id);
    snprintf(title, sizeof title, "%s against time", m->title);
    snprintf(label, sizeof label, "%s against seconds%s: from %s at first to %s in the end.", m->name,
             runs > 1 ? " of several runs, the first of them" : "", gp_number_of(first).p, gp_number_of(last).p);
    gp_html_figure_take(
        out,
        (gp_figure){.id = id,
                    .chart = "course",
                    .title = title,
                    .words = m->words,
                    .label = label,
                    .data = json_pack("{s:{s:o, s:o, s:o, s:o}}", "main", "x", x, "y", y, "run", run, "rows", rows),
                    .parameters = json_pack("{s:s, s:s, s:b, s:o*, s:o, s:b, s:o}", "xtitle", "seconds", "ytitle",
                                            m->name, "zero", 0, "domain", domain_of(values, n), "legend",
                                            runs > 1 ? json_pack("{s:i}", "columns", 2) : json_null(), "point", n < 60,
                                            "tooltip", tooltip_of(m->name, true))});
    gp_free(values);
    gp_html_table(out, title, "run|#seconds|#rows seen|#value");
    for (size_t i = 0; i < courses->n; i++) {
        const gp_course *c = &courses->list[i];
        const size_t step = c->n > 12 ? c->n / 12 : 1; // enough to see the way; a log has all
        for (size_t k = 0; k < c->n; k += k + step < c->n || k == c->n - 1 ? step : c->n - 1 - k) {
            if (!isfinite(value_at(m, c, k))) continue;
            gp_html_row(out, NULL);
            gp_html_head(out, c->name);
            gp_html_cell_number(out, c->points[k].seconds);
            gp_html_cell_number(out, c->points[k].rows);
            gp_html_cell_number(out, value_at(m, c, k));
            gp_html_row_end(out);
        }
    }
    gp_html_table_end(out);
    gp_html_figure_end(out);
}

// ---- workers --------------------------------------------------------------------------------------------------------

static double age(const gp_course_worker *w)
{
    return w->age;
}

static double waited(const gp_course_worker *w)
{
    return w->waited;
}

static void write_worker_chart(const gp_course *c, const char *id, const char *title, const char *words,
                               const char *axis, double (*of)(const gp_course_worker *worker), gp_buffer *out)
{
    json_t *x = json_array(), *y = json_array(), *run = json_array();
    double most = 0;
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->points[i].n_workers; k++) {
            json_array_append_new(x, gp_json_real(c->points[i].seconds));
            json_array_append_new(y, gp_json_real(of(&c->points[i].workers[k])));
            json_array_append_new(run, json_sprintf("worker %zu", k));
            most = fmax(most, of(&c->points[i].workers[k]));
        }
    char label[256];
    snprintf(label, sizeof label, "%s, of each worker against time; at most %s.", words, gp_number_of(most).p);
    gp_html_figure_take(out,
                        (gp_figure){.id = id,
                                    .chart = "course",
                                    .title = title,
                                    .label = label,
                                    .data = json_pack("{s:{s:o, s:o, s:o}}", "main", "x", x, "y", y, "run", run),
                                    .parameters = json_pack("{s:s, s:s, s:b, s:{s:i}, s:b, s:o}", "xtitle", "seconds",
                                                            "ytitle", axis, "zero", 1, "legend", "columns", 4, "point",
                                                            0, "tooltip", tooltip_of(axis, false))});
    const gp_course_point *last = &c->points[c->n - 1];
    char caption[96];
    snprintf(caption, sizeof caption, "%s: workers at the end", title);
    gp_html_table(out, caption, "worker|#rows a second|#age of its newest push, in versions|#waited");
    for (size_t k = 0; k < last->n_workers; k++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", k);
        gp_html_row(out, NULL);
        gp_html_head(out, name);
        gp_html_cell_number(out, last->workers[k].rows_per_second);
        gp_html_cell_number(out, last->workers[k].age);
        gp_html_cell_percent(out, last->workers[k].waited);
        gp_html_row_end(out);
    }
    gp_html_table_end(out);
    gp_html_figure_end(out);
}

static void write_workers(const gp_courses *courses, gp_buffer *out)
{
    for (size_t i = 0; i < courses->n; i++) { // of the first run that has several
        const gp_course *c = &courses->list[i];
        if (c->n < 2 || c->points[c->n - 1].n_workers < 2) continue;
        gp_buffer_add(out, "<h3>Workers of ");
        gp_html_text(out, c->name);
        gp_buffer_add(out, "</h3>\n<div class=\"pair\">\n");
        write_worker_chart(c, "fig-age", "How old their work was", "Versions since the newest push was computed",
                           "versions", age, out);
        write_worker_chart(c, "fig-waited", "How long they waited",
                           "Share of the steps\u2019 time that was spent waiting", "share of the time", waited, out);
        gp_buffer_add(out, "</div>\n");
        return;
    }
}

// ---- results --------------------------------------------------------------------------------------------------------

static void write_record(const gp_report *r, gp_buffer *out)
{
    const json_t *record = r->model->record;
    const char *stopped = json_string_value(json_object_get(record, "stopped"));
    const double versions = gp_json_real_of(record, "versions"), wall = gp_json_real_of(record, "wall_seconds");
    gp_buffer_add(out, "<p>");
    if (isfinite(versions) && versions > 0)
        gp_buffer_add(out, "In %s step%s%s%s s", gp_number_of(versions).p, versions == 1 ? "" : "s",
                      isfinite(wall) ? " and " : "", isfinite(wall) ? gp_number_of(wall).p : "");
    else
        gp_buffer_add(out, "In one pass over the rows%s%s%s", isfinite(wall) ? ", " : "",
                      isfinite(wall) ? gp_number_of(wall).p : "", isfinite(wall) ? " s" : "");
    if (stopped) {
        gp_buffer_add(out, "; stopped: ");
        gp_html_text(out, stopped);
    }
    gp_buffer_add(out, ".");
    if (isfinite(gp_json_real_of(record, "neg_elbo")))
        gp_buffer_add(out, " The negative evidence lower bound is %s in the end, of the standardised target.",
                      gp_number_of(gp_json_real_of(record, "neg_elbo")).p);
    gp_buffer_add(out, "</p>\n");
}

static void write_runs(const gp_courses *courses, gp_buffer *out)
{
    gp_html_table(out, "The runs", "run|#wall seconds|#CPU seconds|#\u2212ELBO|#RMSE|#MNLP|#CRPS");
    for (size_t i = 0; i < courses->n; i++) {
        const json_t *done = courses->list[i].done;
        static const char *const keys[] = {"wall_seconds", "cpu_seconds", "neg_elbo", "rmse", "mnlp", "crps"};
        gp_html_row(out, NULL);
        gp_html_head(out, courses->list[i].name);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            gp_html_cell_number(out, gp_json_real_of(done, keys[k]));
        gp_html_row_end(out);
    }
    gp_html_table_end(out);
}

// What was chosen, where it came from and why (recipe/plan.h), as the record of the model has it.
static void write_plan(const gp_report *r, gp_buffer *out)
{
    static const char *const cells[] = {"value", "origin", "why"};
    const json_t *plan = json_object_get(r->model->record, "plan");
    if (!json_array_size(plan)) return;
    gp_buffer_add(out, "<details><summary>What was chosen, and why</summary>\n");
    gp_html_table(out, "Plan of the training", "choice|value|by|why");
    for (size_t i = 0; i < json_array_size(plan); i++) {
        const json_t *choice = json_array_get(plan, i);
        gp_html_row(out, NULL);
        gp_html_head(out, json_string_value(json_object_get(choice, "choice")));
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            gp_html_cell(out, json_string_value(json_object_get(choice, cells[k])));
        gp_html_row_end(out);
    }
    gp_html_table_end(out);
    gp_buffer_add(out, "</details>\n");
}

advgp_status gp_section_course(const gp_report *r, gp_buffer *out, advgp_error *err)
{
    (void)err;
    size_t points = 0;
    for (size_t i = 0; i < r->courses->n; i++) points += r->courses->list[i].n;
    write_record(r, out);
    write_plan(r, out);
    if (r->courses->n > 1) write_runs(r->courses, out);
    if (points < 2) {
        gp_buffer_add(out, r->courses->n ? "<p class=\"note\">It took no steps that could be drawn.</p>\n"
                                         : "<p class=\"note\">The way there is in the log of the training: name it "
                                           "behind the model.</p>\n");
        return ADVGP_OK;
    }
    gp_buffer_add(out, "<div class=\"pair\">\n");
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) write_metric(r->courses, &metrics[i], out);
    gp_buffer_add(out, "</div>\n");
    write_workers(r->courses, out);
    return ADVGP_OK;
}
