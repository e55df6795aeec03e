// section_worst.c: the rows with the largest errors, and why the first of them were predicted as they were.
#include "report/decode.h"
#include "report/html.h"
#include "report/report.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS_OF_WORST = 6 };

// ---- why ------------------------------------------------------------------------------------------------------------

// "component 2, ard-rbf with 50 inducing inputs"
static void name_part(const json_t *part, gp_buffer *out)
{
    static const char *const names[][2] = {{"target_mean", "mean of the target in training"},
                                           {"constant", "constant of the trend"},
                                           {"line", "line of the trend"},
                                           {"component", "component"},
                                           {"cell", "cell"},
                                           {"cell_trend", "trend of cell"}};
    const char *kind = gp_json_text_of(part, "kind");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(kind, names[i][0])) kind = names[i][1];
    gp_buffer_add(out, "%s", kind);
    const double number = gp_json_real_of(part, "number");
    if (isfinite(number)) gp_buffer_add(out, " %.0f", number);
    if (json_object_get(part, "kernel"))
        gp_buffer_add(out, ", %s, %.0f inducing inputs", gp_json_text_of(part, "kernel"),
                      gp_json_real_of(part, "inducing"));
}

static void write_parts(const json_t *why, const char *caption, gp_buffer *out)
{
    const json_t *parts = json_object_get(why, "parts");
    gp_html_table(out, caption, "part|#adds");
    for (size_t i = 0; i < json_array_size(parts); i++) {
        gp_buffer name = {0};
        name_part(json_array_get(parts, i), &name);
        gp_html_row(out, NULL);
        gp_html_head(out, name.p);
        gp_html_cell_number(out, gp_json_real_of(json_array_get(parts, i), "value"));
        gp_html_row_end(out);
        gp_buffer_fini(&name);
    }
    gp_html_row(out, "ours");
    gp_html_head(out, strcmp(gp_json_text_of(why, "parts_are_of"), "logarithm") == 0 ? "together: the logarithm"
                                                                                     : "together");
    gp_html_cell_number(out, gp_json_real_of(why, "sum"));
    gp_html_row_end(out);
    gp_html_table_end(out);
}

static void write_remarks(const json_t *why, gp_buffer *out)
{
    static const char *const words[][2] = {{"outside", "is outside of its range in training"},
                                           {"cut", "is beyond the end where outliers are cut"},
                                           {"missing", "is missing"},
                                           {"unseen", "has a value that training has not seen"}};
    const json_t *remarks = json_object_get(why, "remarks");
    for (size_t i = 0; i < json_array_size(remarks); i++) {
        const json_t *remark = json_array_get(remarks, i);
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            if (strcmp(gp_json_text_of(remark, "what"), words[k][0]) != 0) continue;
            gp_buffer_add(out, " ");
            gp_html_text(out, gp_json_text_of(remark, "column"));
            gp_buffer_add(out, " %s.", words[k][1]);
        }
    }
}

static void write_distance(const json_t *why, gp_buffer *out)
{
    const double left = gp_json_real_of(why, "prior_left"), factor = gp_json_real_of(why, "sd_factor");
    const json_t *nearest = json_array_get(json_object_get(why, "near"), 0);
    gp_buffer_add(out, "<p class=\"note\">");
    if (isfinite(left))
        gp_buffer_add(out, "%s: %s of the kernels\u2019 prior variance is left there.",
                      left < 0.1   ? "The training rows tell much about this place"
                      : left < 0.5 ? "The training rows tell something about this place"
                                   : "The training rows tell little about this place",
                      gp_percent_of(left).p);
    if (nearest)
        gp_buffer_add(out, " The nearest %s is %s length-scales away, with a prior correlation of %s.",
                      strcmp(gp_json_text_of(nearest, "kind"), "training_row") == 0 ? "training row" : "inducing input",
                      gp_number_of(gp_json_real_of(nearest, "distance")).p,
                      gp_number_of(gp_json_real_of(nearest, "correlation")).p);
    if (isfinite(factor))
        gp_buffer_add(out, " Its standard deviation is %s times what it would be if all rows were equally noisy.",
                      gp_number_of(factor).p);
    write_remarks(why, out);
    gp_buffer_add(out, "</p>\n");
}

static void write_why(const gp_report *r, bool numbered, gp_buffer *out)
{
    const gp_findings *f = r->findings;
    gp_buffer_add(out, "<h3>Why they were predicted so</h3>\n<p class=\"note\">The mean is a sum, and each part of the "
                       "model adds a number of its own.</p>\n");
    for (size_t i = 0; i < json_array_size(r->explanations) && i < f->n_worst; i++) {
        const json_t *why = json_array_get(r->explanations, i);
        char caption[64];
        snprintf(caption, sizeof caption, "%s %zu: what adds up", numbered ? "Row" : "Rank",
                 numbered ? f->worst[i].number + 1 : i + 1);
        gp_buffer_add(out, "<details><summary>%.*s: predicted %s, observed %s</summary>\n", (int)strcspn(caption, ":"),
                      caption, gp_number_of(f->worst[i].mean).p, gp_number_of(f->worst[i].y).p);
        write_parts(why, caption, out);
        write_distance(why, out);
        gp_buffer_add(out, "</details>\n");
    }
}

// ---- the rows -------------------------------------------------------------------------------------------------------

void gp_section_worst(const gp_report *r, gp_buffer *out)
{
    const gp_findings *f = r->findings;
    const gp_schema *s = r->model->schema;
    const size_t n = s->n_inputs < COLUMNS_OF_WORST ? s->n_inputs : COLUMNS_OF_WORST;
    const bool numbered = f->n_worst && f->worst[0].number != GP_NO_ROW;
    gp_buffer columns = {0};
    gp_buffer_add(&columns, "%s#observed|#predicted|#error|#in sd|90 %% interval", numbered ? "row|" : "rank|");
    for (size_t i = 0; i < n; i++) {
        gp_buffer_add(&columns, "|");
        for (const char *p = s->inputs[r->relevance->input_order[i]].name; *p; p++)
            gp_buffer_bytes(&columns, *p == '|' || *p == '#' ? "/" : p, 1);
    }
    gp_buffer_add(out, "<h3>The %zu rows with the largest errors</h3>\n", f->n_worst);
    gp_buffer_add(out, "<div class=\"worst\">\n"); // as wide as the page, whatever its columns are called
    gp_html_table(out, n < s->n_inputs ? "With their values of the most relevant columns" : "With their values",
                  columns.p ? columns.p : "");
    for (size_t i = 0; i < f->n_worst; i++) {
        const gp_seen_row *row = &f->worst[i];
        char name[24];
        snprintf(name, sizeof name, "%zu", numbered ? row->number + 1 : i + 1);
        gp_html_row(out, NULL);
        gp_html_head(out, name);
        gp_html_cell_number(out, row->y);
        gp_html_cell_number(out, row->mean);
        gp_html_cell_number(out, row->y - row->mean);
        gp_html_cell_number(out, round(10 * row->score) / 10);
        gp_buffer_add(out, "<td class=\"interval\">%s to %s</td>", gp_number_of(row->lo).p, gp_number_of(row->hi).p);
        for (size_t k = 0; k < n; k++) {
            const gp_input *in = &s->inputs[r->relevance->input_order[k]];
            gp_buffer value = {0};
            gp_decode_text(in, gp_decode(s, in, f->worst_x + i * s->d), &value);
            gp_html_cell(out, value.p);
            gp_buffer_fini(&value);
        }
        gp_html_row_end(out);
    }
    gp_html_table_end(out);
    gp_buffer_add(out, "</div>\n");
    gp_buffer_fini(&columns);
    if (numbered) gp_buffer_add(out, "<p class=\"note\">Rows are counted from 1, without a header line.</p>\n");
    if (json_array_size(r->explanations)) write_why(r, numbered, out);
}
