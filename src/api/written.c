// written.c: from options to the question of place.h.
#include "api/written.h"
#include "base/alloc.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

// Verbs that only print have no `force`.
static bool is_forced(const gp_options *o)
{
    for (size_t i = 0; i < o->n_values; i++)
        if (strcmp(o->values[i].option->name, "force") == 0) return o->values[i].flag;
    return false;
}

// Adds the paths that an option names, those of a list as FILE or NAME=FILE; how many.
static size_t add_paths(const gp_option_value *value, const char **paths)
{
    if (value->option->kind != GP_OPTION_LIST) return paths[0] = value->text, value->text != NULL;
    const bool named = value->option->check != NULL; // NAME=FILE
    for (size_t i = 0; i < value->n_items; i++) paths[i] = named ? strchr(value->items[i], '=') + 1 : value->items[i];
    return value->n_items;
}

advgp_status gp_check_written(const gp_options *o, const char *option, const char *path, gp_written kind,
                              advgp_error *err)
{
    char shown[32];
    const unsigned read = kind == GP_WRITTEN_MODEL ? GP_OF_READS : GP_OF_READS | GP_OF_START;
    size_t n_items = 0;
    for (size_t i = 0; i < o->n_values; i++) n_items += o->values[i].n_items;
    const char **paths = gp_alloc(o->n_operands + o->n_values + n_items, sizeof *paths);
    if (!paths) return gp_no_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < o->n_operands; i++) paths[n++] = o->operands[i];
    for (size_t i = 0; i < o->n_values; i++)
        if (o->values[i].option->facets & read) n += add_paths(&o->values[i], paths + n);
    snprintf(shown, sizeof shown, "{%s}", option);
    const advgp_status st = gp_place_check(path, shown, kind, is_forced(o), (gp_reads){.paths = paths, .n = n}, err);
    gp_free(paths);
    return st;
}

advgp_status gp_check_printed(const gp_options *o, advgp_error *err)
{
    return gp_check_written(o, "output", "-", GP_WRITTEN_TABLE, err);
}
