// html.h: text, numbers and JSON as a page may have them, and the few elements that its sections are made of. Whatever
// comes from a file (names, values, options, sentences about them) goes through gp_html_text or gp_html_json, which
// leave it no way to be anything but text.
#pragma once
#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

void gp_html_bytes(gp_buffer *out, const char *p, size_t n); // escaped; what is no UTF-8 becomes question marks
void gp_html_text(gp_buffer *out, const char *text);         // the same of a string; NULL is nothing
// The value for a <script type="application/json">: no <, > or & in it, nor line separators. It stays the caller's.
void gp_html_json(gp_buffer *out, const json_t *value);

// A name or value for a chart: as gp_html_text shows it. Charts make expressions of names, in which a line separator
// or a backslash would end a string: a blank and a slash stand for them.
json_t *gp_chart_text(const char *text);

// A number for people, with about four digits: 0.08214, 12.35, 18,452; a dash where it is not finite. Four digits
// stand without a comma, since a year may be among them: 1920.
void gp_html_number(gp_buffer *out, double value);
void gp_html_count(gp_buffer *out, size_t n);       // 1,234,567
void gp_html_percent(gp_buffer *out, double share); // 0.897 is 89.7 %
typedef struct gp_number_text {
    char p[48];
} gp_number_text;
gp_number_text gp_number_of(double value); // the same without escaping, which it does not need
gp_number_text gp_count_of(size_t n);
gp_number_text gp_percent_of(double share);

// ---- tables ---------------------------------------------------------------------------------------------------------

// columns: names with | between them, a # before one of numbers: "column|#relevance|#share".
void gp_html_table(gp_buffer *out, const char *caption, const char *columns);
void gp_html_table_end(gp_buffer *out);
void gp_html_row(gp_buffer *out, const char *style); // style: a class, or NULL
void gp_html_row_end(gp_buffer *out);
void gp_html_head(gp_buffer *out, const char *text); // the first cell, which names the row
void gp_html_cell(gp_buffer *out, const char *text);
void gp_html_cell_number(gp_buffer *out, double value);
void gp_html_cell_count(gp_buffer *out, size_t n);
void gp_html_cell_percent(gp_buffer *out, double share);

// ---- figures --------------------------------------------------------------------------------------------------------

// A chart with its numbers as a table beneath, which is open where nothing draws. Between begin and end the caller
// writes that table. `chart` is a member of page/charts.json; `label` says in one sentence what the chart shows.
typedef struct gp_figure {
    const char *id, *chart, *title, *label;
    const char *words;  // beneath the title; NULL: the label
    json_t *data;       // taken: {"main": {"x": [...], "y": [...]}, ...}
    json_t *parameters; // taken: what the chart's $names stand for; may be NULL
} gp_figure;
void gp_html_figure_take(gp_buffer *out, gp_figure figure);
void gp_html_figure_end(gp_buffer *out);
