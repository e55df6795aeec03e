// written.c: from options to the question of place.h.
#include "api/written.h"
#include "base/alloc.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

static bool is_read(const gp_option_value *value, gp_written kind)
{
    static const char *const names[] = {"test", "validation", "config", "start"};
    const size_t n = sizeof names / sizeof *names - (kind == GP_WRITTEN_MODEL);
    for (size_t i = 0; i < n; i++)
        if (value->text && strcmp(value->option->name, names[i]) == 0) return true;
    return false;
}

// Verbs that only print have no `force`.
static bool is_forced(const gp_options *o)
{
    for (size_t i = 0; i < o->n_values; i++)
        if (strcmp(o->values[i].option->name, "force") == 0) return o->values[i].flag;
    return false;
}

static bool is_table(const gp_option_value *value)
{
    return strcmp(value->option->name, "table") == 0;
}

static bool is_data(const gp_option_value *value)
{
    return strcmp(value->option->name, "data") == 0;
}

advgp_status gp_check_written(const gp_options *o, const char *option, const char *path, gp_written kind,
                              advgp_error *err)
{
    char shown[32];
    size_t n_tables = 0; // of --table NAME=FILE and --data
    for (size_t i = 0; i < o->n_values; i++)
        if (is_table(&o->values[i]) || is_data(&o->values[i])) n_tables += o->values[i].n_items;
    const char **paths = gp_alloc(o->n_operands + o->n_values + n_tables, sizeof *paths);
    if (!paths) return gp_no_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < o->n_operands; i++) paths[n++] = o->operands[i];
    for (size_t i = 0; i < o->n_values; i++)
        if (is_read(&o->values[i], kind)) paths[n++] = o->values[i].text;
    for (size_t i = 0; i < o->n_values; i++)
        for (size_t k = 0; is_table(&o->values[i]) && k < o->values[i].n_items; k++)
            paths[n++] = strchr(o->values[i].items[k], '=') + 1;
    for (size_t i = 0; i < o->n_values; i++)
        for (size_t k = 0; is_data(&o->values[i]) && k < o->values[i].n_items; k++) paths[n++] = o->values[i].items[k];
    snprintf(shown, sizeof shown, "{%s}", option);
    const advgp_status st = gp_place_check(path, shown, kind, is_forced(o), (gp_reads){.paths = paths, .n = n}, err);
    gp_free(paths);
    return st;
}

advgp_status gp_check_printed(const gp_options *o, advgp_error *err)
{
    return gp_check_written(o, "output", "-", GP_WRITTEN_TABLE, err);
}
