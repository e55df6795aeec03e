// page.c: a report from its head to its foot.
#include "options/option.h"
#include "report/html.h"
#include "report/page_parts.h"
#include "report/report.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *id, *title, *brief;
    advgp_status (*write)(const gp_report *report, gp_buffer *out, advgp_error *err);
} sections[] = {
    {"good", "Is the model good?", "Good?", gp_section_quality},
    {"inputs", "What went in?", "Data", gp_section_inputs},
    {"intervals", "Can I trust its intervals?", "Intervals", gp_section_intervals},
    {"columns", "What matters?", "What matters", gp_section_columns},
    {"errors", "Where is it wrong?", "Errors", gp_section_errors},
    {"course", "How did it get there?", "Training", gp_section_course},
    {"repeat", "How to repeat it", "Repeat", gp_section_repeat},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

void gp_section_needs_rows(gp_buffer *out, const char *what)
{
    char text[512];
    snprintf(text, sizeof text, "%s needs rows whose target is known: name a file of them with {data}.", what);
    gp_options_named(text, true);
    gp_buffer_add(out, "<p class=\"note\">");
    gp_html_text(out, text);
    gp_buffer_add(out, "</p>\n");
}

json_t *gp_section_ramp(const char *title, double lo, double hi)
{
    return json_pack("{s:s, s:s, s:o, s:{s:s, s:[o, o], s:s}, s:{s:s, s:i, s:i, s:s}}", "field", "value", "type",
                     "quantitative", "title", gp_chart_text(title), "scale", "type", "quantize", "domain",
                     gp_json_real(lo), gp_json_real(hi), "range", "ramp", "legend", "type", "gradient",
                     "gradientLength", 280, "gradientThickness", 10, "format",
                     fmax(fabs(lo), fabs(hi)) < 1e4 ? ".3~r" : ".3~s");
}

static void write_head(const gp_report *r, gp_buffer *out)
{
    const gp_schema *s = r->model->schema;
    gp_buffer_add(out,
                  "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"generator\" content=\"advgp %s\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
                  advgp_version(), gp_page_policy());
    gp_html_text(out, s->target);
    gp_buffer_add(out, " \u2013 a report by advgp</title>\n<style>");
    gp_buffer_bytes(out, gp_page_style().p, gp_page_style().n);
    gp_buffer_add(out, "</style>\n</head>\n<body>\n<header>\n<h1>A model of ");
    gp_html_text(out, s->target);
    gp_buffer_add(out, "</h1>\n<p class=\"under\">%s on %s rows and %s column%s", r->model->method,
                  gp_count_of(s->n_rows).p, gp_count_of(s->n_inputs).p, s->n_inputs == 1 ? "" : "s");
    if (r->path) {
        const char *slash = strrchr(r->path, '/');
        gp_buffer_add(out, ", ");
        gp_html_text(out, slash ? slash + 1 : r->path);
    }
    gp_buffer_add(out, "</p>\n<nav aria-label=\"Sections\"><ol>");
    for (size_t i = 0; i < SECTIONS; i++)
        gp_buffer_add(out, "<li><a href=\"#%s\">%s</a></li>", sections[i].id, sections[i].brief);
    gp_buffer_add(out, "</ol></nav>\n</header>\n<main>\n");
}

static void write_foot(gp_buffer *out)
{
    char day[16] = "";
    const time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts)) (void)strftime(day, sizeof day, "%Y-%m-%d", &parts);
    gp_buffer_add(out,
                  "</main>\n<footer>\n<p>Written by advgp %s on %s. Nothing on this page was fetched, and nothing "
                  "leaves it.</p>\n",
                  advgp_version(), day);
    if (gp_page_has_vega()) {
        gp_buffer_add(out, "<details><summary>Charts by Vega and Vega-Lite: their licence</summary><pre>");
        gp_html_bytes(out, gp_page_licence().p, gp_page_licence().n);
        gp_buffer_add(out, "</pre></details>\n");
    } else {
        gp_buffer_add(out, "<p>This advgp was built without Vega: tables stand in place of charts.</p>\n");
    }
    gp_buffer_add(out, "</footer>\n");
    if (gp_page_has_vega()) {
        gp_buffer_add(out, "<script type=\"application/json\" id=\"charts\">");
        gp_buffer_bytes(out, gp_page_charts().p, gp_page_charts().n);
        gp_buffer_add(out, "</script>\n<script>");
        gp_buffer_bytes(out, gp_page_vega().p, gp_page_vega().n);
        gp_buffer_add(out, "</script>\n<script>");
        gp_buffer_bytes(out, gp_page_script().p, gp_page_script().n);
        gp_buffer_add(out, "</script>\n");
    }
    gp_buffer_add(out, "</body>\n</html>\n");
}

advgp_status gp_report_page(const gp_report *r, gp_buffer *out, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    write_head(r, out);
    for (size_t i = 0; st == ADVGP_OK && i < SECTIONS; i++) {
        gp_buffer_add(out, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n",
                      sections[i].id, sections[i].id, sections[i].id, sections[i].title);
        st = sections[i].write(r, out, err);
        gp_buffer_add(out, "</section>\n");
    }
    write_foot(out);
    return st == ADVGP_OK && out->failed ? gp_no_memory(err) : st;
}
