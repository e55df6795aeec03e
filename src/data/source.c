// source.c: what every source shares: its columns, and finding one by name.
#include "data/source.h"

#include "base/alloc.h"
#include "data/strings.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

advgp_status gp_source_next(gp_source *source, const gp_chunk **chunk, advgp_error *err)
{
    return source->ops->next(source, chunk, err);
}

advgp_status gp_source_rewind(gp_source *source, advgp_error *err)
{
    return source->ops->rewind(source, err);
}

void gp_source_free(gp_source *source)
{
    if (source) source->ops->free(source);
}

const char *gp_column_type_name(gp_column_type type)
{
    static const char *const names[] = {"number", "boolean", "time", "text"};
    assert((unsigned)type < sizeof names / sizeof *names);
    return names[type];
}

advgp_status gp_source_init(gp_source *source, const gp_source_ops *ops, const char *label, const char *const *names,
                            const gp_column_type *types, size_t n, advgp_error *err)
{
    source->ops = ops;
    source->wordy = GP_NO_COLUMN;
    source->label = gp_copy_text(label);
    source->columns = gp_alloc(n, sizeof *source->columns);
    source->wanted = gp_alloc(n, sizeof *source->wanted);
    if (!source->label || !source->columns || !source->wanted) goto no_memory;
    for (size_t i = 0; i < n; i++) {
        source->columns[i] = (gp_column){.name = gp_copy_text(names[i]), .type = types[i]};
        source->wanted[i] = true;
        source->n_columns = i + 1;
        if (!source->columns[i].name) goto no_memory;
    }
    return ADVGP_OK;
no_memory:
    gp_source_fini(source);
    return gp_no_memory(err);
}

void gp_source_fini(gp_source *source)
{
    for (size_t i = 0; source->columns && i < source->n_columns; i++) gp_free(source->columns[i].name);
    gp_free(source->columns);
    gp_free(source->wanted);
    gp_free(source->label);
    source->columns = NULL;
    source->wanted = NULL;
    source->label = NULL;
    source->n_columns = 0;
}

static gp_text trimmed(const char *name)
{
    while (isspace((unsigned char)*name)) name++;
    size_t n = strlen(name);
    while (n && isspace((unsigned char)name[n - 1])) n--;
    return (gp_text){.p = name, .n = n};
}

bool gp_same_name(const char *one, const char *other)
{
    const gp_text a = trimmed(one), b = trimmed(other);
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

// The name as it stands comes first: a table may have both.
long gp_source_find(const gp_source *source, const char *name)
{
    for (size_t i = 0; i < source->n_columns; i++)
        if (strcmp(source->columns[i].name, name) == 0) return (long)i;
    for (size_t i = 0; i < source->n_columns; i++)
        if (gp_same_name(source->columns[i].name, name)) return (long)i;
    return GP_NO_COLUMN;
}

// Why a CSV file may lack a column: what was taken for its header is none, or is not cut where it should be.
static const char *hint_of(const gp_source *source)
{
    if (!source->headed) return "";
    return source->n_columns > 1 ? " (is the first line a header? {header} no where it is a row)"
                                 : " (a single column: {delimiter} says what stands between values; several blanks, as "
                                   "in aligned columns, are none: tr -s ' ' makes one of them)";
}

static advgp_status fail_without(const gp_source *source, const char *name, const char *role, advgp_error *err)
{
    const char **names = gp_alloc(source->n_columns, sizeof *names);
    for (size_t i = 0; names && i < source->n_columns; i++) names[i] = source->columns[i].name;
    const char *near = names ? gp_nearest_name(name, names, source->n_columns) : NULL;
    gp_buffer list = {0};
    for (size_t i = 0; i < source->n_columns && i < 8; i++)
        gp_buffer_add(&list, "%s%s", i ? ", " : "", source->columns[i].name);
    if (source->n_columns > 8) gp_buffer_add(&list, ", ... (%zu in all)", source->n_columns);
    const char *all = list.p ? list.p : "unknown";
    advgp_status st =
        source->unnamed ? gp_fail(err, ADVGP_EDATA,
                                  "%s has no column '%s' (%s): its first line is a row of numbers, so that its columns "
                                  "are called %s; use these names, or put a header line before it",
                                  source->label, name, role, all)
        : near ? gp_fail(err, ADVGP_EDATA, "%s has no column '%s' (%s); did you mean '%s'?", source->label, name, role,
                         near)
               : gp_fail(err, ADVGP_EDATA, "%s has no column '%s' (%s); its columns are %s%s", source->label, name,
                         role, all, hint_of(source));
    gp_buffer_fini(&list);
    gp_free(names);
    return st;
}

advgp_status gp_source_require(const gp_source *source, const char *name, const char *role, size_t *index,
                               advgp_error *err)
{
    long found = gp_source_find(source, name);
    if (found == GP_NO_COLUMN) return fail_without(source, name, role, err);
    *index = (size_t)found;
    return ADVGP_OK;
}
