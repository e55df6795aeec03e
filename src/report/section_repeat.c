// section_repeat.c: how to repeat it: the command, the options, versions, seeds and fingerprints of files.
#include "options/option.h"
#include "report/html.h"
#include "report/report.h"
#include "store/runlog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A word of a command line as a shell takes it.
static void quote(gp_buffer *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        gp_buffer_add(out, "%s", word);
        return;
    }
    gp_buffer_add(out, "'");
    for (; *word; word++) gp_buffer_add(out, *word == '\'' ? "'\\''" : "%c", *word);
    gp_buffer_add(out, "'");
}

static void write_value(const json_t *value, gp_buffer *out)
{
    gp_buffer text = {0};
    if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            const char *item = json_string_value(json_array_get(value, i));
            if (i) gp_buffer_add(&text, ",");
            for (; item && *item; item++) gp_buffer_add(&text, *item == ',' ? "\\%c" : "%c", *item);
        }
    } else if (json_is_string(value)) {
        gp_buffer_add(&text, "%s", json_string_value(value));
    } else if (json_is_integer(value)) {
        gp_buffer_add(&text, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        gp_buffer_add(&text, "%.15g", json_real_value(value));
    }
    quote(out, text.p ? text.p : "");
    gp_buffer_fini(&text);
}

static void write_command(const gp_report *r, gp_buffer *out)
{
    const json_t *options = r->model->options;
    gp_buffer line = {0};
    gp_buffer_add(&line, "advgp train");
    for (size_t i = 0; i < json_array_size(r->inputs); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(r->inputs, i), "name"));
        gp_buffer_add(&line, " ");
        quote(&line, name ? name : "-");
    }
    if (!json_array_size(r->inputs)) gp_buffer_add(&line, " DATA");
    for (size_t i = 0; i < json_array_size(r->given); i++) {
        const char *key = json_string_value(json_array_get(r->given, i));
        const json_t *value = key ? json_object_get(options, key) : NULL;
        if (!value || gp_option_facets(key) & GP_OF_ONCE || json_is_false(value)) continue;
        gp_buffer_add(&line, " --%s", key);
        if (json_is_true(value)) continue;
        gp_buffer_add(&line, " ");
        write_value(value, &line);
    }
    if (!r->given) {
        gp_buffer_add(&line, " --%s ", "target");
        quote(&line, r->model->schema->target);
    }
    gp_buffer_add(out, "<pre><code>");
    gp_html_text(out, line.p);
    gp_buffer_add(out, "</code></pre>\n");
    gp_buffer_fini(&line);
}

static void fact(gp_buffer *out, const char *name, const char *text)
{
    if (!text) return;
    gp_buffer_add(out, "<dt>%s</dt><dd>", name);
    gp_html_text(out, text);
    gp_buffer_add(out, "</dd>\n");
}

static void write_facts(const gp_report *r, gp_buffer *out)
{
    const gp_model *m = r->model;
    const json_t *seed = json_object_get(m->options, "seed");
    char text[64];
    gp_buffer_add(out, "<dl class=\"facts\">\n");
    gp_buffer_add(out, "<dt>Model written by</dt><dd>advgp ");
    gp_html_text(out, m->writer);
    gp_buffer_add(out, ", format %d, method ", m->format);
    gp_html_text(out, m->method);
    gp_buffer_add(out, "</dd>\n");
    if (json_is_integer(seed)) {
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(seed));
        fact(out, "Seed", text);
    }
    fact(out, "Linear algebra", json_string_value(json_object_get(r->manifest, "blas")));
    const json_t *cpu = json_object_get(r->manifest, "cpu");
    if (json_array_size(cpu)) {
        gp_buffer features = {0};
        for (size_t i = 0; i < json_array_size(cpu); i++)
            gp_buffer_add(&features, "%s%s", i ? ", " : "", json_string_value(json_array_get(cpu, i)));
        fact(out, "CPU", features.p);
        gp_buffer_fini(&features);
    }
    for (size_t i = 0; i < r->courses->n; i++) {
        const char *bits = json_string_value(json_object_get(r->courses->list[i].done, "bits"));
        if (bits) fact(out, "Bits of the model", bits);
        if (bits) break;
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)r->seed);
    if (r->findings) fact(out, "Seed of the samples drawn here", text);
    gp_buffer_add(out, "</dl>\n");
}

static void write_file(const json_t *file, const char *what, gp_buffer *out)
{
    const char *name = json_string_value(json_object_get(file, "name"));
    const char *hash = json_string_value(json_object_get(file, "xxh3_of_ends"));
    const json_t *bytes = json_object_get(file, "bytes");
    gp_html_row(out, NULL);
    gp_html_head(out, name);
    gp_html_cell(out, what);
    if (json_is_integer(bytes))
        gp_html_cell_count(out, (size_t)json_integer_value(bytes));
    else
        gp_html_cell(out, "\u2013");
    gp_html_cell(out, hash ? hash : "\u2013");
    gp_html_row_end(out);
}

static void write_files(const gp_report *r, gp_buffer *out)
{
    gp_html_table(out, "Fingerprints", "file|what|#bytes|XXH3 of its ends");
    for (size_t i = 0; i < json_array_size(r->inputs); i++)
        write_file(json_array_get(r->inputs, i), "training rows", out);
    if (r->path) {
        json_t *model = gp_json_file(r->path);
        write_file(model, "model", out);
        json_decref(model);
    }
    gp_html_table_end(out);
}

static void write_options(const gp_report *r, gp_buffer *out)
{
    const char *key;
    json_t *value;
    gp_buffer_add(out, "<details><summary>All options</summary>\n");
    gp_html_table(out, "Options of the training", "option|value");
    json_object_foreach(r->model->options, key, value)
    {
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        gp_html_row(out, NULL);
        gp_html_head(out, key);
        gp_html_cell(out, json_is_string(value) ? json_string_value(value) : text);
        gp_html_row_end(out);
        free(text);
    }
    gp_html_table_end(out);
    gp_buffer_add(out, "</details>\n");
}

advgp_status gp_section_repeat(const gp_report *r, gp_buffer *out, advgp_error *err)
{
    (void)err;
    gp_buffer_add(out, "<p>%s</p>\n",
                  r->given ? "This command gives the model again; on the same CPU and linear algebra, with the same "
                             "number of workers and without a delay, bit for bit."
                           : "The model does not say which of its options were given; these are all of them, and the "
                             "command begins so.");
    write_command(r, out);
    write_facts(r, out);
    if (json_array_size(r->inputs) || r->path) write_files(r, out);
    if (json_object_size(r->model->options)) write_options(r, out);
    return ADVGP_OK;
}
