// file_columns.c: names and types of the columns of files, how several files agree on them, and how a query reads each.
#include "files/file_columns.h"

#include "base/alloc.h"
#include "data/strings.h"

#include <string.h>

void gp_file_columns_fini(gp_file_columns *list)
{
    for (size_t i = 0; i < list->n; i++) {
        gp_free(list->names[i]);
        gp_free(list->types[i]);
    }
    gp_free(list->names);
    gp_free(list->types);
    *list = (gp_file_columns){0};
}

bool gp_file_type_is_whole(const char *type)
{
    static const char *const names[] = {"TINYINT",  "SMALLINT",  "INTEGER",  "BIGINT", "HUGEINT",
                                        "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(type, names[i]) == 0) return true;
    return strncmp(type, "DECIMAL", 7) == 0 && strstr(type, ",0)");
}

bool gp_file_type_is_numeric(const char *type)
{
    return gp_file_type_is_whole(type) || strcmp(type, "DOUBLE") == 0 || strcmp(type, "FLOAT") == 0 ||
           strncmp(type, "DECIMAL", 7) == 0 || strcmp(type, "UHUGEINT") == 0;
}

bool gp_file_type_is_date(const char *type)
{
    return strcmp(type, "DATE") == 0 || strncmp(type, "TIMESTAMP", 9) == 0;
}

static long find_name(const gp_file_columns *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->names[i], name) == 0) return (long)i;
    return -1;
}

static advgp_status replace_type(gp_file_columns *list, size_t i, const char *type, advgp_error *err)
{
    char *copy = gp_copy_text(type);
    if (!copy) return gp_no_memory(err);
    gp_free(list->types[i]);
    list->types[i] = copy;
    return ADVGP_OK;
}

advgp_status gp_file_columns_merge(gp_file_columns *all, const gp_file_columns *more, const char *first,
                                   const char *shown, advgp_error *err)
{
    for (size_t i = 0; i < more->n; i++)
        if (find_name(all, more->names[i]) < 0)
            return gp_fail(err, ADVGP_EDATA,
                           "%s has a column '%s' that %s has not; files of one table must agree in columns", shown,
                           more->names[i], first);
    for (size_t i = 0; i < all->n; i++) {
        long k = find_name(more, all->names[i]);
        if (k < 0)
            return gp_fail(err, ADVGP_EDATA,
                           "%s has no column '%s', which %s has; files of one table must agree in columns", shown,
                           all->names[i], first);
        const char *a = all->types[i], *b = more->types[k];
        if (strcmp(a, b) == 0) continue;
        advgp_status st = replace_type(
            all, i, gp_file_type_is_numeric(a) && gp_file_type_is_numeric(b) ? "DOUBLE" : "VARCHAR", err);
        if (st != ADVGP_OK) return st;
    }
    return ADVGP_OK;
}

gp_column_type gp_file_type_classify(const char *type, const char **cast)
{
    if (strcmp(type, "BOOLEAN") == 0) return *cast = "CAST(%s AS DOUBLE)", GP_BOOLEAN;
    if (gp_file_type_is_numeric(type)) return *cast = "CAST(%s AS DOUBLE)", GP_NUMBER;
    if (strcmp(type, "DATE") == 0 || strcmp(type, "TIMESTAMP WITH TIME ZONE") == 0)
        return *cast = "epoch(%s) - 946684800", GP_TIME;
    if (strncmp(type, "TIMESTAMP", 9) == 0) return *cast = "epoch(CAST(%s AS TIMESTAMP)) - 946684800", GP_TIME;
    if (strcmp(type, "TIME") == 0 || strcmp(type, "INTERVAL") == 0) return *cast = "epoch(%s)", GP_NUMBER;
    return *cast = "CAST(%s AS VARCHAR)", GP_TEXT;
}

char *gp_file_cast(const char *format, const char *name)
{
    gp_buffer quoted = {0}, cast = {0};
    gp_buffer_quoted(&quoted, name, '"');
    const char *gap = strstr(format, "%s");
    gp_buffer_bytes(&cast, format, (size_t)(gap - format));
    if (quoted.p) gp_buffer_bytes(&cast, quoted.p, quoted.n);
    gp_buffer_add(&cast, "%s", gap + 2);
    bool failed = quoted.failed || cast.failed;
    gp_buffer_fini(&quoted);
    if (failed) gp_buffer_fini(&cast);
    return cast.p;
}
