// record.c: a run as JSON.
#include "api/record.h"
#include "answer/evaluate.h"
#include "base/whole.h"
#include "data/encoding.h"
#include "data/split.h"
#include "linalg/blas.h"
#include "load/request.h"
#include "method/method.h"
#include "options/option_json.h"
#include "shards/packed.h"
#include "store/form.h"
#include "store/runlog.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- how it was begun -----------------------------------------------------------------------------------------------

json_t *gp_record_cpu(void)
{
    json_t *list = json_array();
#if defined(__x86_64__)
    __builtin_cpu_init(); // its argument must be a literal, so there is no loop over names
    if (__builtin_cpu_supports("sse4.2")) json_array_append_new(list, json_string("sse4.2"));
    if (__builtin_cpu_supports("avx")) json_array_append_new(list, json_string("avx"));
    if (__builtin_cpu_supports("avx2")) json_array_append_new(list, json_string("avx2"));
    if (__builtin_cpu_supports("fma")) json_array_append_new(list, json_string("fma"));
    if (__builtin_cpu_supports("avx512f")) json_array_append_new(list, json_string("avx512f"));
#endif
    return list;
}

static void add_read(json_t *files, const char *path)
{
    char manifest[4096];
    json_array_append_new(files, gp_json_file(path));
    if (!gp_packed_is(path)) return;
    snprintf(manifest, sizeof manifest, "%s/manifest.json", path); // has the hash of every shard's head
    json_array_append_new(files, gp_json_file(manifest));
}

// Files that are read beside the operands, and what tells a packed operand from another.
static json_t *read_files(const gp_options *o)
{
    json_t *files = json_array();
    gp_split split;
    for (size_t i = 0; i < o->n_operands; i++)
        if (gp_packed_is(o->operands[i])) add_read(files, o->operands[i]);
    const char *validation = gp_options_text(o, "validation"), *test = gp_options_text(o, "test");
    if (validation && gp_split_parse(validation, 0, &split, NULL) == ADVGP_OK && split.kind == GP_SPLIT_FILE)
        add_read(files, validation);
    if (test) add_read(files, test);
    if (gp_request_start(o)) add_read(files, gp_request_start(o));
    return files;
}

// Names of the options that someone gave: the others may have another default one day, or no meaning for the method.
static json_t *given_options(const gp_options *o)
{
    json_t *names = json_array();
    for (size_t i = 0; i < o->n_values; i++)
        if (o->values[i].origin != GP_FROM_DEFAULT && !(o->values[i].option->facets & GP_OF_COMMAND_LINE))
            json_array_append_new(names, json_string(o->values[i].option->name));
    return names;
}

json_t *gp_record_manifest(const gp_options *o, const char *command)
{
    json_t *files = json_array();
    const bool trains = !strcmp(command, "train");
    const char *precision = trains && !gp_request_is_mixed(o) ? "double" : gp_options_text(o, "precision");
    for (size_t i = 0; i < o->n_operands; i++) json_array_append_new(files, gp_json_file(o->operands[i]));
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "command", command, "version", advgp_version(),
                     "blas", gp_blas_name(), "cpu", gp_record_cpu(), "precision", precision, "inputs", files, "read",
                     read_files(o), "options", gp_options_json(o), "given", given_options(o));
}

static void set_end(json_t *column, const char *key, const gp_input *input, double end)
{
    gp_buffer text = {0};
    if (!isfinite(end)) return;
    input->encoding->show(input, end * input->encoding->unit, &text);
    if (text.p) json_object_set_new(column, key, gp_json_text(text.p));
    gp_buffer_fini(&text);
}

json_t *gp_record_columns(const gp_schema *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->n_inputs; i++) {
        const gp_input *input = &s->inputs[i];
        json_t *column = json_pack("{s:o, s:s, s:I}", "name", gp_json_text(input->name), "read",
                                   input->encoding->described, "encoded", (json_int_t)input->n_encoded);
        if (column && input->categories.n)
            json_object_set_new(column, "categories", json_integer((json_int_t)input->categories.n));
        if (column && !input->categories.n)
            set_end(column, "from", input, input->range.lo), set_end(column, "to", input, input->range.hi);
        json_array_append_new(list, column);
    }
    return list;
}

gp_plan gp_record_planned(const gp_train_options *options, const gp_loaded *data)
{
    const gp_facts facts = gp_facts_measure(data->shards, options);
    gp_plan plan = gp_plan_make(&facts, options);
    gp_plan_take_encodings(&plan, &data->encodings);
    return plan;
}

json_t *gp_record_plan(const gp_options *o, const gp_train_options *t, const gp_loaded *data)
{
    const gp_schema *s = data->schema;
    const gp_method *method = gp_method_resolve(gp_request_method(o), t, gp_shards_rows(data->shards, GP_TRAIN));
    const gp_plan plan = gp_record_planned(t, data);
    const bool kernel_open = t->kernel_open && method == &gp_method_exact;
    const size_t held_out = gp_shards_rows(data->shards, GP_STOP) + gp_shards_rows(data->shards, GP_CALIBRATE);
    json_t *inputs = json_array(), *settings = json_object();
    for (size_t j = 0; j < s->d; j++)
        json_array_append_new(inputs, json_pack("{s:o, s:o, s:o}", "name", gp_json_text(s->x_names[j]), "mean",
                                                gp_json_real(s->x_mean[j]), "scale", gp_json_real(s->x_scale[j])));
    const struct {
        const char *name;
        json_t *value;
    } said[] = {{"inducing", json_integer((json_int_t)t->m)},
                {"components", t->components ? json_integer((json_int_t)t->components) : json_string("auto")},
                {"kernel", json_string(kernel_open ? "by evidence" : t->kernel->name)},
                {"map", json_string(gp_options_text(o, "map"))},
                {"trend", json_string(gp_trend_name(t->trend))},
                {"start", gp_json_text(gp_options_text(o, "start"))}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (gp_method_takes(method, said[i].name)) json_object_set(settings, said[i].name, said[i].value);
        json_decref(said[i].value);
    }
    return json_pack("{s:b, s:I, s:I, s:{s:o, s:b, s:o, s:o}, s:I, s:o, s:s, s:o, s:o, s:o, s:o}", "dry_run", 1,
                     "training_rows", (json_int_t)gp_shards_rows(data->shards, GP_TRAIN), "held_out_rows",
                     (json_int_t)held_out, "target", "name", gp_json_text(s->target), "logarithm", s->log_target,
                     "mean", gp_json_real(s->y_mean), "scale", gp_json_real(s->y_scale), "columns",
                     (json_int_t)s->n_inputs, "inputs", inputs, "method", method->name, "settings", settings, "model",
                     gp_json_text(gp_options_text(o, "output")), "read", gp_record_columns(s), "plan",
                     gp_plan_json(&plan));
}

// ---- how it went ----------------------------------------------------------------------------------------------------

json_t *gp_record_text(const char *text)
{
    char said[1024];
    snprintf(said, sizeof said, "%s", text);
    gp_options_named(said, true);
    return gp_json_text(said);
}

json_t *gp_record_delay(size_t max_delay)
{
    return max_delay == GP_DELAY_ANY ? json_string("inf") : json_integer((json_int_t)max_delay);
}

json_t *gp_record_id(uint64_t id)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, id);
    return json_string(text);
}

static json_t *workers_json(const gp_train_eval *e)
{
    json_t *list = json_array();
    for (size_t k = 0; list && k < e->n_workers; k++)
        json_array_append_new(list, json_pack("{s:b, s:f, s:f, s:f}", "live", e->workers[k].live, "rows_per_second",
                                              e->workers[k].rows_per_second, "age", e->workers[k].age, "waited",
                                              e->workers[k].waited));
    return list;
}

json_t *gp_record_eval(const gp_train_eval *e)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:I, s:n, s:o, s:o, s:o, s:o}", "time", e->wall, "step_seconds",
                     e->run_seconds, "cpu", e->cpu, "rows", e->rows, "version", (json_int_t)e->version, "neg_elbo",
                     "neg_elbo_per_row", gp_json_real(e->neg_elbo_per_row), "rmse", gp_json_real(e->rmse), "mnlp",
                     gp_json_real(e->mnlp), "workers", workers_json(e));
}

// ---- how it ended ---------------------------------------------------------------------------------------------------

const char *gp_record_scored(const gp_train_result *r)
{
    return gp_scored_name(r->assessment.scored);
}

json_t *gp_record_result(const char *path, const gp_model *model, const gp_train_result *t,
                         const gp_training_cost *cost)
{
    const bool has_kernel = model->form->n_kernels(model) > 0;
    const gp_server_counts *c = &t->counts;
    json_t *o = json_pack(
        "{s:s, s:s, s:o, s:I, s:o, s:s, s:f, s:f, s:f, s:f, s:I, s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
        "model", path, "method", model->method, "kernel",
        has_kernel ? json_string(model->form->kernel(model, 0).kernel) : json_null(), "rows",
        (json_int_t)gp_index(t->n_train, SIZE_MAX), "neg_elbo", gp_json_real(t->neg_elbo), "stopped",
        gp_stop_reason_words(t->stopped), "wall_seconds", t->wall, "cpu_seconds", t->cpu, "read_seconds",
        cost->read_seconds, "read_cpu_seconds", cost->read_cpu_seconds, "peak_rss_bytes",
        (json_int_t)gp_index(cost->peak, SIZE_MAX), "held_out", !gp_scored_of_training(t->assessment.scored),
        "scored_on", gp_record_scored(t), "scored_rows", (json_int_t)t->assessment.n_scored, "workers_joined",
        (json_int_t)c->joined, "workers_lost", (json_int_t)c->lost, "duplicates", (json_int_t)c->duplicates, "dropped",
        (json_int_t)c->dropped, "refused", (json_int_t)c->refused, "rolled_back", (json_int_t)c->rolled_back, "cells",
        (json_int_t)t->cells);
    gp_assessment_add(&t->assessment, o);
    if (o) json_object_set_new(o, "plan", gp_plan_json(&t->plan));
    return o;
}
