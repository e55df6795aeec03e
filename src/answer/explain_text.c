// explain_text.c: the object of an explained prediction as a page.
#include "answer/explain.h"
#include "base/width.h"
#include "store/runlog.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { VALUE = 12, LINE_COLUMNS = 3, NAME_LEAST = 12, NAME_MOST = 28, CELL = 12 };

static json_int_t integer_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

// A sentence as long as it is, and printable: names in it come from files.
__attribute__((format(printf, 4, 5))) static void add_words(gp_buffer *out, size_t indent, size_t columns,
                                                            const char *format, ...)
{
    char text[1024];
    gp_buffer shown = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gp_buffer_printable(&shown, text, strlen(text), false);
    gp_buffer_wrapped(out, shown.p ? shown.p : "", indent, columns);
    gp_buffer_add(out, "\n");
    gp_buffer_fini(&shown);
}

static void add_head(const json_t *row, size_t columns, gp_buffer *out)
{
    const json_t *ends = json_object_get(row, "interval_90");
    const double mean = gp_json_real_of(row, "mean"), observed = gp_json_real_of(row, "observed");
    char known[96] = "";
    if (isfinite(observed))
        snprintf(known, sizeof known, "; observed %.6g, %.4g %s", observed, fabs(observed - mean),
                 observed < mean ? "below" : "above");
    add_words(out, 2, columns, "row %lld: mean %.6g, sd %.4g, of that the function's %.4g; 90 %% from %.6g to %.6g%s",
              (long long)integer_of(row, "row"), mean, gp_json_real_of(row, "sd_y"), gp_json_real_of(row, "sd_f"),
              json_number_value(json_array_get(ends, 0)), json_number_value(json_array_get(ends, 1)), known);
}

// ---- parts ----------------------------------------------------------------------------------------------------------

// The largest first, the rest in one.
static void describe_line(const json_t *part, char *text, size_t n)
{
    json_t *all = json_object_get(part, "columns"), *value;
    const char *key, *named[LINE_COLUMNS] = {0};
    double largest[LINE_COLUMNS] = {0}, rest = gp_json_real_of(part, "value");
    size_t shown = 0, at;
    json_object_foreach(all, key, value)
    {
        const double v = json_number_value(value);
        for (at = shown < LINE_COLUMNS ? shown++ : LINE_COLUMNS; at && fabs(v) > fabs(largest[at - 1]); at--)
            if (at < LINE_COLUMNS) largest[at] = largest[at - 1], named[at] = named[at - 1];
        if (at < LINE_COLUMNS) largest[at] = v, named[at] = key;
    }
    size_t used = (size_t)snprintf(text, n, "trend, its line:");
    for (size_t i = 0; i < shown && used < n; i++) {
        used += (size_t)snprintf(text + used, n - used, "%s %.60s %+.4g", i ? "," : "", named[i], largest[i]);
        rest -= largest[i];
    }
    const size_t others = json_object_size(all) - shown;
    if (others && used < n)
        snprintf(text + used, n - used, ", %zu other%s %+.4g", others, others == 1 ? "" : "s", rest);
}

static void describe_part(const json_t *part, bool logarithm, char *text, size_t n)
{
    const char *kind = gp_json_text_of(part, "kind");
    const long long number = integer_of(part, "number"), inducing = integer_of(part, "inducing");
    if (strcmp(kind, "target_mean") == 0)
        snprintf(text, n, "mean of the target%s in training", logarithm ? "'s logarithm" : "");
    else if (strcmp(kind, "constant") == 0)
        snprintf(text, n, "trend, its constant");
    else if (strcmp(kind, "line") == 0)
        describe_line(part, text, n);
    else if (strcmp(kind, "cell_trend") == 0)
        snprintf(text, n, "trend of cell %lld", number);
    else
        snprintf(text, n, "%s %lld: %s, %lld inducing inputs", kind, number, gp_json_text_of(part, "kernel"), inducing);
}

static void add_parts(const json_t *row, size_t columns, gp_buffer *out)
{
    const bool logarithm = strcmp(gp_json_text_of(row, "parts_are_of"), "logarithm") == 0;
    const json_t *part;
    gp_buffer_add(out, "\n  what adds up to the %s\n", logarithm ? "logarithm of the target" : "mean");
    for (size_t i = 0; (part = json_array_get(json_object_get(row, "parts"), i)); i++) {
        char text[512];
        describe_part(part, logarithm, text, sizeof text);
        gp_buffer_add(out, i ? "  %+*.6g  " : "  %*.6g  ", VALUE, gp_json_real_of(part, "value"));
        add_words(out, VALUE + 4, columns, "%s", text);
    }
    gp_buffer_add(out, "  %*.6g  together\n", VALUE, gp_json_real_of(row, "sum"));
    if (logarithm) {
        gp_buffer_add(out, "  %*.6g  ", VALUE, gp_json_real_of(row, "median"));
        add_words(out, VALUE + 4, columns, "the target then, as often above as below; its mean is %.6g",
                  gp_json_real_of(row, "mean"));
    }
    if (json_is_true(json_object_get(row, "cut")) && !logarithm)
        gp_buffer_add(out, "  %*.6g  cut at the bound of the target\n", VALUE, gp_json_real_of(row, "mean"));
}

// ---- how far --------------------------------------------------------------------------------------------------------

static void add_remark(const json_t *remark, size_t columns, gp_buffer *out)
{
    const char *what = gp_json_text_of(remark, "what"), *name = gp_json_text_of(remark, "column");
    const json_t *range = json_object_get(remark, "range");
    gp_buffer_add(out, "    ");
    if (strcmp(what, "outside") == 0)
        add_words(out, 6, columns, "column '%.60s' is %.6g, outside of %.6g to %.6g in training", name,
                  gp_json_real_of(remark, "value"), json_number_value(json_array_get(range, 0)),
                  json_number_value(json_array_get(range, 1)));
    else if (strcmp(what, "cut") == 0)
        add_words(out, 6, columns, "column '%.60s' is taken as %.6g, an end beyond which are outliers", name,
                  gp_json_real_of(remark, "value"));
    else if (strcmp(what, "missing") == 0)
        add_words(out, 6, columns, "column '%.60s' is missing", name);
    else
        add_words(out, 6, columns, "column '%.60s' is missing or holds a category not seen in training", name);
}

static void add_distance(const json_t *row, size_t columns, gp_buffer *out)
{
    const json_t *nearest = json_array_get(json_object_get(row, "near"), 0), *remark;
    const double left = gp_json_real_of(row, "prior_left"), factor = gp_json_real_of(row, "sd_factor");
    gp_buffer_add(out, "\n  how far it is from the training data\n");
    if (isfinite(left)) {
        gp_buffer_add(out, "    ");
        add_words(out, 6, columns, "%.3g %% of the kernels' prior variance is left (0: all is known, 100: nothing)",
                  fmin(100 * left, 100)); // the trend may add to it
    }
    if (nearest) {
        gp_buffer_add(out, "    ");
        add_words(out, 6, columns, "the nearest %s is %.3g length-scales away, correlation %.3g",
                  strcmp(gp_json_text_of(nearest, "kind"), "training_row") == 0 ? "training row" : "inducing input",
                  gp_json_real_of(nearest, "distance"), gp_json_real_of(nearest, "correlation"));
    }
    if (isfinite(factor)) {
        gp_buffer_add(out, "    ");
        add_words(out, 6, columns, "its sd is %.3g times what it were if all rows were as noisy", factor);
    }
    for (size_t i = 0; (remark = json_array_get(json_object_get(row, "remarks"), i)); i++)
        add_remark(remark, columns, out);
}

// ---- neighbours -----------------------------------------------------------------------------------------------------

// A name and one number for the row and each neighbour; of_row NaN: it has none.
static void add_cells(gp_buffer *out, const char *name, size_t width, double of_row, const json_t *near, size_t n,
                      const char *key, const char *input)
{
    char text[32];
    gp_buffer_add(out, "    ");
    gp_buffer_cell(out, name, width, GP_LEFT);
    snprintf(text, sizeof text, "%.5g", of_row);
    gp_buffer_cell(out, isfinite(of_row) ? text : "", CELL, GP_RIGHT);
    for (size_t i = 0; i < n; i++) {
        const json_t *neighbour = json_array_get(near, i);
        const json_t *from = input ? json_object_get(neighbour, key) : neighbour;
        snprintf(text, sizeof text, "%.5g", gp_json_real_of(from, input ? input : key));
        gp_buffer_cell(out, text, CELL, GP_RIGHT);
    }
    gp_buffer_add(out, "\n");
}

static void add_near(const json_t *row, size_t inputs, size_t columns, gp_buffer *out)
{
    const json_t *near = json_object_get(row, "near");
    json_t *own = json_object_get(row, "inputs"), *value;
    const char *name;
    size_t i = 0, n = json_array_size(near), fit = 1;
    const size_t room = columns && columns < 4 + NAME_LEAST + 2 * CELL ? 4 + NAME_LEAST + 2 * CELL : columns;
    if (room) fit = (room - 4 - NAME_LEAST) / CELL - 1; // beside the row itself
    if (room && n > fit) n = fit;
    const size_t left = room ? room - 4 - (n + 1) * CELL : NAME_MOST;
    const size_t width = left < NAME_MOST ? left : NAME_MOST;
    gp_buffer_add(out, "\n    ");
    gp_buffer_cell(out, "inputs of", width, GP_LEFT);
    gp_buffer_cell(out, "row", CELL, GP_RIGHT);
    for (size_t k = 0; k < n; k++) {
        const json_t *neighbour = json_array_get(near, k);
        char head[48];
        if (strcmp(gp_json_text_of(neighbour, "kind"), "training_row") == 0)
            snprintf(head, sizeof head, "trained");
        else
            snprintf(head, sizeof head, "%s %lld",
                     strcmp(gp_json_text_of(neighbour, "kind"), "cell") ? "comp." : "cell",
                     (long long)integer_of(neighbour, "of"));
        gp_buffer_cell(out, head, CELL, GP_RIGHT);
    }
    gp_buffer_add(out, "\n");
    if (n) add_cells(out, "length-scales away", width, NAN, near, n, "distance", NULL);
    if (n) add_cells(out, "correlation", width, NAN, near, n, "correlation", NULL);
    json_object_foreach(own, name, value)
    {
        if (i++ < inputs) add_cells(out, name, width, json_number_value(value), near, n, "inputs", name);
    }
}

void gp_explanation_text(const json_t *row, size_t inputs, size_t columns, gp_buffer *out)
{
    add_head(row, columns, out);
    add_parts(row, columns, out);
    add_distance(row, columns, out);
    add_near(row, inputs, columns, out);
}
