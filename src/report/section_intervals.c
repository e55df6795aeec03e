// section_intervals.c: can the intervals be trusted? Coverage against level and by tenth, the PIT histogram, widths.
#include "report/html.h"
#include "report/report.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>

// What chance alone does to a share of n rows: two standard errors.
static double two_errors(double share, size_t n)
{
    return n ? 2 * sqrt(share * (1 - share) / (double)n) : NAN;
}

// What so many rows inside of a 90 % interval may fall to by chance, a little less than promised being no fault.
static double least_of(size_t rows)
{
    return gp_judged_level - 0.02 - 1.25 * two_errors(gp_judged_level, rows);
}

// What the least and the largest share of tenths say: no more than they can.
static void write_scatter(const gp_tenth *least, const gp_tenth *most, gp_buffer *out)
{
    const double near = 0.05;
    if (least->coverage < least_of(least->rows))
        gp_buffer_add(out, ": some of these intervals promise too much.");
    else if (least->coverage >= gp_judged_level - near && most->coverage <= gp_judged_level + near)
        gp_buffer_add(out, ", about what was promised.");
    else if (most->coverage > gp_judged_level + fmax(near, 1.25 * two_errors(gp_judged_level, most->rows)))
        gp_buffer_add(out, ": some of these intervals are wider than they need to be.");
    else
        gp_buffer_add(out, ", which is no further apart than chance puts shares of %s rows.",
                      gp_count_of(least->rows).p);
}

static void write_answer(const gp_assessment *a, gp_buffer *out)
{
    const double off = a->coverage[GP_JUDGED] - gp_judged_level;
    const double room = fmax(0.015, 1.25 * two_errors(gp_judged_level, a->n_scored));
    const bool good = fabs(off) <= room;
    bool everywhere = true;
    for (size_t k = 0; k < a->n_tenths; k++)
        everywhere &= a->by_prediction[k].coverage >= least_of(a->by_prediction[k].rows) &&
                      a->by_sd[k].coverage >= least_of(a->by_sd[k].rows);
    gp_buffer_add(out, "<p>%s Of the intervals that should hold 90\u00a0%% of the observed values, %s did.",
                  good      ? everywhere ? "Yes." : "On the whole, though not everywhere."
                  : off < 0 ? "They are too narrow."
                            : "They are wider than they need to be.",
                  gp_percent_of(a->coverage[GP_JUDGED]).p);
    if (a->n_tenths) {
        size_t least = 0, most = 0;
        for (size_t k = 1; k < a->n_tenths; k++) {
            if (a->by_prediction[k].coverage < a->by_prediction[least].coverage) least = k;
            if (a->by_prediction[k].coverage > a->by_prediction[most].coverage) most = k;
        }
        gp_buffer_add(out, " In a tenth of the rows, by the size of the prediction, it is between %s and %s",
                      gp_percent_of(a->by_prediction[least].coverage).p,
                      gp_percent_of(a->by_prediction[most].coverage).p);
        write_scatter(&a->by_prediction[least], &a->by_prediction[most], out);
    }
    if (gp_scored_of_training(a->scored))
        gp_buffer_add(out,
                      " The same rows, each left out in turn, have set the intervals: on the whole they are right by "
                      "construction, tenths put them to the test.");
    gp_buffer_add(out, "</p>\n");
}

// ---- coverage against level -----------------------------------------------------------------------------------------

static void add_level(json_t *level, json_t *share, json_t *kind, double at, double value, const char *what)
{
    json_array_append_new(level, gp_json_real(at));
    json_array_append_new(share, gp_json_real(value));
    json_array_append_new(kind, json_string(what));
}

static void write_coverage(const gp_assessment *a, gp_buffer *out)
{
    json_t *level = json_array(), *share = json_array(), *kind = json_array();
    for (size_t l = 0; l < GP_LEVELS; l++) add_level(level, share, kind, gp_levels[l], a->coverage[l], "calibrated");
    for (size_t l = 0; l < GP_LEVELS; l++)
        if (isfinite(a->coverage_gaussian[l]))
            add_level(level, share, kind, gp_levels[l], a->coverage_gaussian[l], "Gaussian");
    char label[256];
    snprintf(label, sizeof label,
             "Share of rows inside their interval against the interval\u2019s level: %.1f\u00a0%% at 50\u00a0%%, "
             "%.1f\u00a0%% at 90\u00a0%%, %.1f\u00a0%% at 99\u00a0%%.",
             100 * a->coverage[0], 100 * a->coverage[GP_JUDGED], 100 * a->coverage[4]);
    gp_html_figure_take(
        out, (gp_figure){.id = "fig-coverage",
                         .chart = "coverage",
                         .title = "Rows inside, against what was promised",
                         .words = "On the dashed line an interval holds just what it says; above it is too wide, below "
                                  "too narrow. Gaussian: as the model alone would have them.",
                         .label = label,
                         .data = json_pack("{s:{s:o, s:o, s:o}, s:{s:[i, i], s:[i, i]}}", "main", "level", level,
                                           "share", share, "kind", kind, "diagonal", "level", 0, 1, "share", 0, 1)});
    gp_html_table(out, "Coverage and width by level", "level|#inside, calibrated|#inside, Gaussian|#mean width");
    for (size_t l = 0; l < GP_LEVELS; l++) {
        char name[16];
        snprintf(name, sizeof name, "%g\u00a0%%", 100 * gp_levels[l]);
        gp_html_row(out, NULL);
        gp_html_head(out, name);
        gp_html_cell_percent(out, a->coverage[l]);
        gp_html_cell_percent(out, a->coverage_gaussian[l]);
        gp_html_cell_number(out, a->width[l]);
        gp_html_row_end(out);
    }
    gp_html_table_end(out);
    gp_html_figure_end(out);
}

// ---- PIT ------------------------------------------------------------------------------------------------------------

static void write_pit(const gp_findings *f, gp_buffer *out)
{
    json_t *from = json_array(), *to = json_array(), *density = json_array();
    double ends = 0, least = INFINITY, most = 0;
    for (size_t i = 0; i < GP_PIT_BINS; i++) {
        const double value = f->pit[i] * GP_PIT_BINS;
        json_array_append_new(from, json_real((double)i / GP_PIT_BINS));
        json_array_append_new(to, json_real((double)(i + 1) / GP_PIT_BINS));
        json_array_append_new(density, gp_json_real(value));
        least = fmin(least, value), most = fmax(most, value);
    }
    ends = f->pit[0] + f->pit[GP_PIT_BINS - 1];
    char label[320];
    snprintf(label, sizeof label,
             "Histogram of where observed values fell in their predicted distributions: between %.2f and %.2f times as "
             "many rows as expected; %.1f\u00a0%% lie in the outer tenth.",
             least, most, 100 * ends);
    gp_html_figure_take(
        out, (gp_figure){.id = "fig-pit",
                         .chart = "pit",
                         .title = "Where observed values fell (PIT)",
                         .words = "0: far below what was predicted, 1: far above. Flat is right; high ends "
                                  "mean intervals that are too narrow, a hill in the middle too wide.",
                         .label = label,
                         .data = json_pack("{s:{s:o, s:o, s:o}}", "main", "from", from, "to", to, "density", density)});
    gp_html_table(out, "Share of the rows by place in the predicted distribution", "from|#to|#rows|#of expected");
    for (size_t i = 0; i < GP_PIT_BINS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%.2f", (double)i / GP_PIT_BINS);
        gp_html_row(out, NULL);
        gp_html_head(out, name);
        gp_html_cell_number(out, (double)(i + 1) / GP_PIT_BINS);
        gp_html_cell_percent(out, f->pit[i]);
        gp_html_cell_number(out, f->pit[i] * GP_PIT_BINS);
        gp_html_row_end(out);
    }
    gp_html_table_end(out);
    gp_html_figure_end(out);
}

// ---- tenths ---------------------------------------------------------------------------------------------------------

static void write_tenths(const gp_tenth *tenths, bool widths, const char *id, const char *by, gp_buffer *out)
{
    json_t *tenth = json_array(), *coverage = json_array(), *lo = json_array(), *hi = json_array(),
           *width = json_array(), *range = json_array(), *rows = json_array();
    double least = 0.8, narrow = INFINITY, wide = 0, low = 1, high = 0;
    for (size_t k = 0; k < GP_TENTHS; k++) {
        const gp_tenth *t = &tenths[k];
        const double room = two_errors(gp_judged_level, t->rows);
        json_array_append_new(tenth, json_integer((json_int_t)k + 1));
        json_array_append_new(coverage, gp_json_real(t->coverage));
        json_array_append_new(lo, gp_json_real(fmax(t->coverage - room, 0)));
        json_array_append_new(hi, gp_json_real(fmin(t->coverage + room, 1)));
        json_array_append_new(width, gp_json_real(t->width));
        json_array_append_new(range, json_sprintf("%s to %s", gp_number_of(t->from).p, gp_number_of(t->to).p));
        json_array_append_new(rows, json_integer((json_int_t)t->rows));
        least = fmin(least, t->coverage - room - 0.01);
        narrow = fmin(narrow, t->width), wide = fmax(wide, t->width);
        low = fmin(low, t->coverage), high = fmax(high, t->coverage);
    }
    char label[320], axis[64], title[96];
    snprintf(axis, sizeof axis, "tenth of the rows, by %s", by);
    if (widths)
        snprintf(label, sizeof label, "Mean width of the 90\u00a0%% interval by tenth of %s: from %s to %s.", by,
                 gp_number_of(narrow).p, gp_number_of(wide).p);
    else
        snprintf(label, sizeof label,
                 "Share of rows inside the 90\u00a0%% interval by tenth of %s: from %.1f\u00a0%% to %.1f\u00a0%%.", by,
                 100 * low, 100 * high);
    snprintf(title, sizeof title, widths ? "Width by tenth of %s" : "Inside by tenth of %s", by);
    gp_html_figure_take(
        out,
        (gp_figure){.id = id,
                    .chart = widths ? "widths" : "tenths",
                    .title = title,
                    .words = widths ? "Where the model is surer, intervals are narrower."
                                    : "A tenth of the rows each, from the smallest to the largest. Bars: what "
                                      "chance does to so many rows.",
                    .label = label,
                    .data = json_pack("{s:{s:o, s:o, s:o, s:o, s:o, s:o, s:o}}", "main", "tenth", tenth, "coverage",
                                      coverage, "lo", lo, "hi", hi, "width", width, "range", range, "rows", rows),
                    .parameters = json_pack("{s:s, s:s, s:[f, i]}", "title", axis, "range", by, "domain",
                                            floor(20 * fmax(least, 0)) / 20, 1)});
    gp_html_table(out, title, "tenth|#from|#to|#rows|#inside 90 %|#mean width");
    for (size_t k = 0; k < GP_TENTHS; k++) {
        char name[8];
        snprintf(name, sizeof name, "%zu", k + 1);
        gp_html_row(out, NULL);
        gp_html_head(out, name);
        gp_html_cell_number(out, tenths[k].from);
        gp_html_cell_number(out, tenths[k].to);
        gp_html_cell_count(out, tenths[k].rows);
        gp_html_cell_percent(out, tenths[k].coverage);
        gp_html_cell_number(out, tenths[k].width);
        gp_html_row_end(out);
    }
    gp_html_table_end(out);
    gp_html_figure_end(out);
}

static void write_calibration(const gp_model *m, gp_buffer *out)
{
    const json_t *fitted = json_object_get(m->record,
                                           "rows"); // where few are held out, these have done it (calibrate.h)
    const bool left_out = (size_t)json_integer_value(fitted) == m->calibration.rows;
    if (m->calibration.rows)
        gp_buffer_add(out, "<p class=\"note\">The intervals were calibrated on %s rows%s",
                      gp_count_of(m->calibration.rows).p,
                      !json_is_integer(fitted) ? ""
                      : left_out               ? ", each left out of the fit in turn"
                                               : " that the fit had not seen");
    else
        gp_buffer_add(out, "<p class=\"note\">The model is not calibrated: its intervals are Gaussian");
    gp_buffer_add(out, m->noise ? ", and the noise depends on the row.</p>\n" : "; one noise serves all rows.</p>\n");
}

advgp_status gp_section_intervals(const gp_report *r, gp_buffer *out, advgp_error *err)
{
    (void)err;
    const gp_assessment *a = r->assessment;
    if (!a || !isfinite(a->coverage[GP_JUDGED])) {
        gp_section_needs_rows(out, "How many observed values lie inside their intervals");
        write_calibration(r->model, out);
        return ADVGP_OK;
    }
    write_answer(a, out);
    gp_buffer_add(out, "<div class=\"pair\">\n");
    write_coverage(a, out);
    if (r->findings) write_pit(r->findings, out);
    if (a->n_tenths) {
        write_tenths(a->by_prediction, false, "fig-by-prediction", "the prediction", out);
        write_tenths(a->by_sd, false, "fig-by-sd", "its uncertainty", out);
        write_tenths(a->by_prediction, true, "fig-width-prediction", "the prediction", out);
        write_tenths(a->by_sd, true, "fig-width-sd", "its uncertainty", out);
    }
    gp_buffer_add(out, "</div>\n");
    if (!a->n_tenths) gp_buffer_add(out, "<p class=\"note\">For tenths of the rows there are too few of them.</p>\n");
    if (!r->findings) gp_section_needs_rows(out, "The histogram of where observed values fell");
    write_calibration(r->model, out);
    return ADVGP_OK;
}
