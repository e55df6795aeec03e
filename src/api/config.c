// config.c: asked of every room that knows a part of it.
#include "api/config.h"
#include "api/record.h"
#include "base/machine.h"
#include "base/memory.h"
#include "feature/map.h"
#include "files/files.h"
#include "kernel/kernel.h"
#include "linalg/blas.h"
#include "linalg/blas_core.h"
#include "linalg/simd.h"
#include "transport/transport.h"

#include <stdint.h>
#include <stdio.h>

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
        const char *version = t->version ? t->version() : NULL; // NULL of one whose library is not on this machine
        const bool is_here = t->available && (version || !t->version);
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:b, s:s?, s:s?}", "name", t->name, "summary", t->summary,
                                        "available", is_here, "version", version, "how", is_here ? NULL : t->how));
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
        gp_buffer_add(out, " (not here: %s)", how);
    else if (version)
        gp_buffer_add(out, " (%s)", version);
}

// "SkylakeX (corrected: OpenBLAS had chosen Prescott)"
static void add_core(gp_buffer *out, const json_t *core)
{
    const char *was = json_string_value(json_object_get(core, "corrected_from"));
    const char *better = json_string_value(json_object_get(core, "better"));
    gp_buffer_add(out, "%s", json_string_value(json_object_get(core, "name")));
    if (json_is_true(json_object_get(core, "by_user"))) gp_buffer_add(out, " (by " GP_CORE_VARIABLE ")");
    if (was && !better) gp_buffer_add(out, " (corrected: OpenBLAS had chosen %s)", was);
    if (better) gp_buffer_add(out, " (below this CPU, which can " GP_CORE_VARIABLE "=%s)", better);
}

static void add_value(gp_buffer *out, const char *key, const json_t *value)
{
    gp_buffer_add(out, "%-12s ", key);
    if (json_is_string(value)) gp_buffer_add(out, "%s", json_string_value(value));
    if (json_is_integer(value)) gp_buffer_add(out, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value)) gp_buffer_add(out, "%.1f GB", json_real_value(value) / 1e9);
    if (json_is_object(value)) add_core(out, value);
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

static json_t *core_json(void)
{
    const gp_blas_core core = gp_blas_core_now();
    return json_pack("{s:s, s:s?, s:s?, s:b}", "name", core.name, "corrected_from", core.was, "better", core.better,
                     "by_user", core.by_user);
}

json_t *gp_config_json(void)
{
    char compiler[80];
#ifdef __clang__
    snprintf(compiler, sizeof compiler, "clang %s", __clang_version__);
#else
    snprintf(compiler, sizeof compiler, "gcc %s", __VERSION__);
#endif
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:o, s:s, s:I, s:f, s:o, s:o, s:o, s:o}", "version",
                     advgp_version(), "compiler", compiler, "blas", gp_blas_name(), "core", core_json(), "tables",
                     gp_files_reader(), "json", "Jansson " JANSSON_VERSION, "cpu", gp_record_cpu(), "loops",
                     gp_simd_name(gp_simd_now), "threads", (json_int_t)gp_cores(), "memory", gp_memory_bytes(),
                     "kernels", kernels_json(), "maps", maps_json(), "sources", sources_json(), "transports",
                     transports_json());
}

void gp_config_text(const json_t *o, gp_buffer *out)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)o, key, value) add_value(out, key, value);
}
