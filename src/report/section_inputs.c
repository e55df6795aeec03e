// section_inputs.c: what went in? Rows, columns and their kinds, and every sentence that was said about them.
#include "data/encoding.h"
#include "options/option.h"
#include "report/decode.h"
#include "report/html.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LISTED = 200, OPEN = 40, NOTES_LISTED = 100, LEFT_OUT_LISTED = 12, CATEGORIES_LISTED = 8 };

static void fact(gp_buffer *out, const char *name, const char *text)
{
    gp_buffer_add(out, "<dt>%s</dt><dd>", name);
    gp_html_text(out, text);
    gp_buffer_add(out, "</dd>\n");
}

static void write_facts(const gp_report *r, gp_buffer *out)
{
    const gp_schema *s = r->model->schema;
    static const char *const missing[] = {[GP_MISSING_IMPUTE] = "replaced by the column\u2019s mean, and marked",
                                          [GP_MISSING_DROP] = "their rows were dropped",
                                          [GP_MISSING_ERROR] = "none were allowed"};
    gp_buffer text = {0};
    gp_buffer_add(&text, "%s: mean %s, standard deviation %s%s", s->target, gp_number_of(s->y_mean).p,
                  gp_number_of(s->y_scale).p, s->log_target ? ", both of its logarithm" : "");
    gp_buffer_add(out, "<dl class=\"facts\">\n");
    fact(out, "Target", text.p);
    gp_buffer_fini(&text);
    if (s->bounded && gp_limits_any(s->bounds)) {
        gp_buffer_add(&text, "answers are cut at %s and %s", gp_number_of(s->bounds.lo).p,
                      gp_number_of(s->bounds.hi).p);
        fact(out, "Bounds", text.p);
        gp_buffer_fini(&text);
    }
    if (s->weights) {
        gp_buffer_add(&text, "%s, as %s", s->weights, gp_weights_are_name(s->weights_are));
        fact(out, "Weights", text.p);
        gp_buffer_fini(&text);
    }
    gp_buffer_add(&text, "%s from %s column%s", gp_count_of(s->d).p, gp_count_of(s->n_inputs).p,
                  s->n_inputs == 1 ? "" : "s");
    fact(out, "Numbers a row", text.p);
    gp_buffer_fini(&text);
    fact(out, "Missing inputs", missing[s->missing]);
    if (r->model->sql) fact(out, "Query", r->model->sql);
    gp_buffer_add(out, "</dl>\n");
}

static void write_sentence(const char *sentence, gp_buffer *out)
{
    char said[1024];
    snprintf(said, sizeof said, "%s", sentence);
    gp_options_named(said, true);
    gp_buffer_add(out, "<li>");
    gp_html_text(out, said);
    gp_buffer_add(out, "</li>\n");
}

static void write_notes(const gp_report *r, gp_buffer *out)
{
    const size_t trained = json_array_size(r->training_notes), read = r->notes ? r->notes->n : 0;
    if (trained) {
        gp_buffer_add(out, "<h3>Said about the training rows</h3>\n<ul class=\"notes\">\n");
        for (size_t i = 0; i < trained && i < NOTES_LISTED; i++)
            write_sentence(json_string_value(json_array_get(r->training_notes, i)), out);
        gp_buffer_add(out, "</ul>\n");
    }
    if (read) {
        gp_buffer_add(out, "<h3>Said about the rows behind this page</h3>\n<ul class=\"notes\">\n");
        for (size_t i = 0; i < read && i < NOTES_LISTED; i++) write_sentence(r->notes->items[i].text, out);
        gp_buffer_add(out, "</ul>\n");
    }
    const size_t more = (trained > NOTES_LISTED ? trained - NOTES_LISTED : 0) +
                        (read > NOTES_LISTED ? read - NOTES_LISTED : 0);
    if (more) gp_buffer_add(out, "<p class=\"note\">And %s sentences more like these.</p>\n", gp_count_of(more).p);
    if (!trained && !read) gp_buffer_add(out, "<p class=\"note\">Nothing had to be said about them.</p>\n");
}

void gp_section_left_out(const gp_report *r, gp_buffer *out)
{
    size_t left = 0;
    for (size_t i = 0; i < json_array_size(r->training_notes); i++) {
        const char *sentence = json_string_value(json_array_get(r->training_notes, i));
        if (!sentence || !strstr(sentence, "left out")) continue;
        if (!left++) gp_buffer_add(out, "<ul class=\"notes\">\n");
        if (left <= LEFT_OUT_LISTED) write_sentence(sentence, out);
    }
    if (left) gp_buffer_add(out, "</ul>\n");
    gp_buffer_add(out, "<p class=\"note\">");
    if (left > LEFT_OUT_LISTED) gp_buffer_add(out, "And %s more are left out. ", gp_count_of(left - LEFT_OUT_LISTED).p);
    gp_buffer_add(out, "The model uses %s column%s: <a href=\"#inputs\">how each was read</a>.</p>\n",
                  gp_count_of(r->model->schema->n_inputs).p, r->model->schema->n_inputs == 1 ? "" : "s");
}

// "number, by its ranks": what the model makes of a column.
static void read_as(const gp_input *in, gp_buffer *text)
{
    gp_buffer_add(text, "%s", in->encoding->described);
    if (in->warp.n) gp_buffer_add(text, ", by its ranks");
}

static void describe(const gp_input *in, gp_buffer *text)
{
    const double unit = in->encoding->unit;
    if (in->categories.n) {
        gp_buffer_add(text, "%s values: ", gp_count_of(in->categories.n).p);
        for (size_t k = 0; k < in->categories.n && k < CATEGORIES_LISTED; k++) {
            if (k) gp_buffer_add(text, ", ");
            gp_buffer_bytes(text, in->categories.items[k].text, in->categories.items[k].n);
        }
        if (in->categories.n > CATEGORIES_LISTED) gp_buffer_add(text, ", \u2026");
    } else if (gp_limits_any(in->range)) {
        gp_decode_text(in, in->range.lo * unit, text);
        gp_buffer_add(text, " to ");
        gp_decode_text(in, in->range.hi * unit, text);
    }
    if (isfinite(in->clip.lo)) gp_buffer_add(text, "; below %.6g as %.6g", in->clip.lo, in->clip.lo);
    if (isfinite(in->clip.hi)) gp_buffer_add(text, "; above %.6g as %.6g", in->clip.hi, in->clip.hi);
}

static void write_columns(const gp_report *r, gp_buffer *out)
{
    const gp_schema *s = r->model->schema;
    const size_t n = s->n_inputs < LISTED ? s->n_inputs : LISTED;
    gp_buffer_add(out, "<details%s><summary>How each column was read</summary>\n", s->n_inputs <= OPEN ? " open" : "");
    gp_html_table(out, "Columns of the table that the model uses", "column|read as|#numbers|values|missing");
    for (size_t i = 0; i < n; i++) {
        const gp_input *in = &s->inputs[i];
        gp_buffer text = {0}, kind = {0};
        describe(in, &text);
        read_as(in, &kind);
        gp_html_row(out, NULL);
        gp_html_head(out, in->name);
        gp_html_cell(out, kind.p);
        gp_html_cell_count(out, in->n_encoded);
        gp_html_cell(out, text.p);
        gp_html_cell(out, in->indicator ? "some, marked" : "none");
        gp_html_row_end(out);
        gp_buffer_fini(&kind);
        gp_buffer_fini(&text);
    }
    gp_html_table_end(out);
    if (n < s->n_inputs) gp_buffer_add(out, "<p class=\"note\">And %s more.</p>\n", gp_count_of(s->n_inputs - n).p);
    gp_buffer_add(out, "</details>\n");
}

advgp_status gp_section_inputs(const gp_report *r, gp_buffer *out, advgp_error *err)
{
    (void)err;
    const gp_schema *s = r->model->schema;
    size_t categories = 0, times = 0, marked = 0;
    for (size_t i = 0; i < s->n_inputs; i++) {
        categories += s->inputs[i].categories.n > 0;
        times += s->inputs[i].encoding->kind == ADVGP_KIND_TIME;
        marked += s->inputs[i].indicator;
    }
    gp_buffer_add(out,
                  "<p>%s rows of %s column%s: %s of numbers, %s of categories, %s of dates; %s had missing values.",
                  gp_count_of(s->n_rows).p, gp_count_of(s->n_inputs).p, s->n_inputs == 1 ? "" : "s",
                  gp_count_of(s->n_inputs - categories - times).p, gp_count_of(categories).p, gp_count_of(times).p,
                  marked ? gp_count_of(marked).p : "none");
    const json_t *rows = json_object_get(r->model->record, "rows");
    if (json_is_integer(rows) && json_integer_value(rows) < (json_int_t)s->n_rows)
        gp_buffer_add(out, " The model was fitted to %s of the rows; the others were held out.",
                      gp_count_of((size_t)json_integer_value(rows)).p);
    gp_buffer_add(out, "</p>\n");
    write_facts(r, out);
    write_columns(r, out);
    write_notes(r, out);
    return ADVGP_OK;
}
