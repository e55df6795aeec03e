// tableout.c: rows into a file.
#include "answer/tableout.h"

#include "base/alloc.h"
#include "data/strings.h"
#include "store/atomicfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct gp_tableout {
    gp_table_format format;
    char *path;
    char **names;
    gp_column_type *types;
    gp_digit_kind *digits;
    size_t n_columns;
    gp_tablerows head;   // names, on their way to the file: with the first rows, so that a failure before prints none
    gp_atomicfile *file; // NULL: standard output
    gp_stage *stage;     // GP_TABLE_PARQUET: rows on their way
};

// ---- opening --------------------------------------------------------------------------------------------------------

static bool ends_with(const char *text, const char *tail)
{
    const size_t n = strlen(text), k = strlen(tail);
    return n > k && strcmp(text + n - k, tail) == 0;
}

static advgp_status find_format(const char *path, gp_table_format *out, advgp_error *err)
{
    struct stat about;
    *out = ends_with(path, ".parquet")                               ? GP_TABLE_PARQUET
           : ends_with(path, ".jsonl") || ends_with(path, ".ndjson") ? GP_TABLE_JSON_LINES
                                                                     : GP_TABLE_CSV;
    const bool exists = stat(path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode))
        return gp_fail(err, ADVGP_EIO, "cannot write %.300s: it is a folder; name a file in it", path);
    const bool special = exists && !S_ISREG(about.st_mode);
    if (*out != GP_TABLE_CSV || special || strcmp(path, "-") == 0 || ends_with(path, ".csv")) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "the output '%.300s' ends with none of .csv, .parquet and .jsonl", path);
}

advgp_status gp_tableout_check(const char *path, advgp_error *err)
{
    gp_table_format kind;
    return find_format(path, &kind, err);
}

static advgp_status open_stage(gp_tableout *t, const bool *exact, advgp_error *err)
{
    gp_stage_type *types = gp_alloc(t->n_columns, sizeof *types);
    if (!types) return gp_no_memory(err);
    for (size_t i = 0; i < t->n_columns; i++)
        types[i] = t->types[i] == GP_BOOLEAN                          ? GP_STAGE_BOOLEAN
                   : t->types[i] == GP_NUMBER && !(exact && exact[i]) ? GP_STAGE_NUMBER
                                                                      : GP_STAGE_TEXT;
    const advgp_status st = gp_stage_open(types, t->n_columns, &t->stage, err);
    gp_free(types);
    return st;
}

static advgp_status copy_columns(gp_tableout *t, const char *path, const char *const *names,
                                 const gp_column_type *types, size_t n, advgp_error *err)
{
    t->path = gp_copy_text(path);
    t->names = gp_alloc(n, sizeof *t->names);
    t->types = gp_alloc(n, sizeof *t->types);
    t->digits = gp_alloc(n, sizeof *t->digits);
    bool ok = t->path && t->names && t->types && t->digits;
    for (size_t i = 0; ok && i < n; i++) {
        t->types[i] = types[i];
        t->names[i] = gp_copy_text(names[i]);
        t->n_columns = i + 1;
        ok = t->names[i] != NULL;
    }
    return ok ? ADVGP_OK : gp_no_memory(err);
}

static advgp_status write_text(gp_tableout *t, gp_buffer *text, advgp_error *err)
{
    if (text->failed) return gp_no_memory(err);
    const size_t n = text->n;
    text->n = 0;
    if (!n) return ADVGP_OK;
    if (t->file) return gp_atomicfile_write(t->file, text->p, n, err);
    if (fwrite(text->p, 1, n, stdout) == n) return ADVGP_OK;
    return gp_fail(err, ADVGP_EIO, "cannot write to standard output: %s", strerror(errno));
}

static advgp_status open_sink(gp_tableout *t, const bool *exact, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    if (t->path && strcmp(t->path, "-") != 0) st = gp_atomicfile_open(t->path, &t->file, err);
    if (st == ADVGP_OK && t->format == GP_TABLE_PARQUET) st = open_stage(t, exact, err);
    if (st == ADVGP_OK) st = gp_tableout_rows(t, &t->head, err);
    if (st == ADVGP_OK && t->format == GP_TABLE_CSV) gp_tablerows_names(&t->head);
    return st;
}

advgp_status gp_tableout_open(const char *path, const char *const *names, const gp_column_type *types,
                              const bool *exact, size_t n, gp_tableout **out, advgp_error *err)
{
    *out = NULL;
    gp_table_format kind;
    advgp_status st = find_format(path, &kind, err);
    if (st != ADVGP_OK) return st;
    gp_tableout *t = gp_alloc(1, sizeof *t);
    if (!t) return gp_no_memory(err);
    t->format = kind;
    st = copy_columns(t, path, names, types, n, err);
    if (st == ADVGP_OK) st = open_sink(t, exact, err);
    if (st == ADVGP_OK)
        *out = t;
    else
        gp_tableout_abandon(t);
    return st;
}

// ---- rows and the end -----------------------------------------------------------------------------------------------

advgp_status gp_tableout_rows(const gp_tableout *t, gp_tablerows *rows, advgp_error *err)
{
    return gp_tablerows_init(rows, t->format, (const char *const *)t->names, t->n_columns, t->stage, err);
}

advgp_status gp_tableout_add(gp_tableout *t, gp_tablerows *rows, advgp_error *err)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (rows->digits[i] > t->digits[i]) t->digits[i] = rows->digits[i];
    if (t->stage) return gp_stage_add(t->stage, rows->staged, err);
    const advgp_status st = write_text(t, &t->head.text, err);
    return st == ADVGP_OK ? write_text(t, &rows->text, err) : st;
}

// Types are told, not guessed: a text of digits stays a text.
static advgp_status export_parquet(gp_tableout *t, advgp_error *err)
{
    static const char *const sql_types[] = {
        [GP_NUMBER] = "DOUBLE", [GP_BOOLEAN] = "BOOLEAN", [GP_TIME] = "TIMESTAMP", [GP_TEXT] = "VARCHAR"};
    static const char *const digit_types[] = {
        [GP_DIGITS_LONG] = "BIGINT", [GP_DIGITS_WIDE] = "DECIMAL(38, 0)", [GP_DIGITS_MIXED] = "DOUBLE"};
    const char **types = gp_alloc(t->n_columns, sizeof *types);
    if (!types) return gp_no_memory(err);
    for (size_t i = 0; i < t->n_columns; i++)
        types[i] = t->digits[i] ? digit_types[t->digits[i]] : sql_types[t->types[i]];
    advgp_status st = gp_stage_export(t->stage, (const char *const *)t->names, types, gp_atomicfile_temporary(t->file),
                                      err);
    gp_free(types);
    return st == ADVGP_EIO ? gp_wrap(err, st, "cannot write %.200s", t->path) : st;
}

advgp_status gp_tableout_commit(gp_tableout *t, advgp_error *err)
{
    advgp_status st = t->stage ? export_parquet(t, err) : write_text(t, &t->head.text, err);
    if (st == ADVGP_OK && t->file) {
        st = gp_atomicfile_commit(t->file, err);
        t->file = NULL;
    } else if (st == ADVGP_OK && fflush(stdout) != 0) {
        st = gp_fail(err, ADVGP_EIO, "cannot write to standard output: %s", strerror(errno));
    }
    gp_tableout_abandon(t);
    return st;
}

void gp_tableout_abandon(gp_tableout *t)
{
    if (!t) return;
    gp_atomicfile_abandon(t->file);
    gp_tablerows_fini(&t->head);
    gp_stage_free(t->stage);
    for (size_t i = 0; i < t->n_columns; i++) gp_free(t->names[i]);
    gp_free(t->names);
    gp_free(t->types);
    gp_free(t->digits);
    gp_free(t->path);
    gp_free(t);
}
