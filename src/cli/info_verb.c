// info_verb.c: advgp info: what this program is made of and what it found on this machine.
#include "api/record.h"
#include "cli/cli.h"
#include "feature/map.h"
#include "files/files.h"
#include "kernel/kernel.h"
#include "linalg/blas.h"
#include "linalg/simd.h"
#include "transport/transport.h"

#include <stdio.h>
#include <string.h>

static json_t *kernels_json(void)
{
    json_t *list = json_array();
    for (size_t i = 0; gp_kernels[i]; i++) json_array_append_new(list, json_string(gp_kernels[i]->name));
    return list;
}

static json_t *maps_json(void)
{
    json_t *list = json_array();
    for (size_t i = 0; gp_maps[i]; i++) json_array_append_new(list, json_string(gp_maps[i]->name));
    return list;
}

static json_t *sources_json(void)
{
    json_t *list = json_array();
    for (size_t i = 0; gp_source_family[i]; i++) json_array_append_new(list, json_string(gp_source_family[i]->name));
    return list;
}

static json_t *transports_json(void)
{
    json_t *list = json_array();
    for (const gp_transport *const *at = gp_transports; *at; at++) {
        const gp_transport *t = *at;
        if (t->simulated) continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s?, s:s?}", "name", t->name, "summary", t->summary,
                                              "available", t->available, "version", t->version ? t->version() : NULL,
                                              "how", t->how));
    }
    return list;
}

// "inproc, zmq (ZeroMQ 4.3.4)", or how to get what is not there
static void add_transport(gp_buffer *out, const json_t *t)
{
    const char *version = json_string_value(json_object_get(t, "version"));
    const char *how = json_string_value(json_object_get(t, "how"));
    gp_buffer_add(out, "%s", json_string_value(json_object_get(t, "name")));
    if (!json_is_true(json_object_get(t, "available")))
        gp_buffer_add(out, " (not in this build: %s)", how);
    else if (version)
        gp_buffer_add(out, " (%s)", version);
}

static void add_value(gp_buffer *out, const char *key, const json_t *value)
{
    gp_buffer_add(out, "%-12s ", key);
    if (json_is_string(value)) gp_buffer_add(out, "%s", json_string_value(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        if (i) gp_buffer_add(out, ", ");
        if (json_is_string(item))
            gp_buffer_add(out, "%s", json_string_value(item));
        else
            add_transport(out, item);
    }
    gp_buffer_add(out, "\n");
}

advgp_status gp_cli_info(const gp_options *options, advgp_error *err)
{
    char compiler[80];
#ifdef __clang__
    snprintf(compiler, sizeof compiler, "clang %s", __clang_version__);
#else
    snprintf(compiler, sizeof compiler, "gcc %s", __VERSION__);
#endif
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "version", advgp_version(),
                          "compiler", compiler, "blas", gp_blas_name(), "tables", gp_files_reader(), "json",
                          "Jansson " JANSSON_VERSION, "cpu", gp_record_cpu(), "loops", gp_simd_name(gp_simd_now),
                          "kernels", kernels_json(), "maps", maps_json(), "sources", sources_json(), "transports",
                          transports_json());
    if (gp_options_flag(options, "json")) return gp_cli_print_json_take(o, err);
    gp_buffer text = {.failed = !o};
    const char *key;
    json_t *value;
    json_object_foreach(o, key, value) add_value(&text, key, value);
    json_decref(o);
    return gp_cli_print_take(&text, err);
}
