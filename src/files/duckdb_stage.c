// duckdb_stage.c: the rows of stage.h as a table of DuckDB's, filled by its appender.
#include "files/stage.h"

#include "base/alloc.h"
#include "base/memory.h"
#include "data/strings.h"
#include "files/duckdb_connect.h"

#include <math.h>
#include <string.h>

enum { MEMORY_BYTES = 1 << 29, GROUP_VALUES = 1 << 22, GROUP_ROWS_MIN = 4096, GROUP_ROWS_MAX = 122880 };

struct gp_stage {
    gp_duckdb duckdb;
    duckdb_appender appender;
    size_t n_columns;
    bool failed; // since the last end of a row
};

void gp_stage_free(gp_stage *s)
{
    if (!s) return;
    duckdb_appender_destroy(&s->appender);
    gp_duckdb_disconnect(&s->duckdb);
    gp_free(s);
}

// DuckDB speaks of memory in several ways; in all of them less of it is needed where nothing is staged.
static advgp_status explain(const char *message, const char *what, advgp_error *err)
{
    char shown[200];
    const bool memory = message && (strstr(message, "alloc") || strstr(message, "Out of Memory"));
    gp_show_text(shown, sizeof shown, message ? message : "", message ? strcspn(message, "\n") : 0);
    return memory ? gp_fail(err, ADVGP_ENOMEM, "no memory for a Parquet file: %s; write a .csv file", shown)
                  : gp_fail(err, ADVGP_EIO, "%s%s", what, shown);
}

static advgp_status run(gp_stage *s, const gp_buffer *sql, advgp_error *err)
{
    duckdb_result result = {0};
    if (sql->failed) return gp_fail(err, ADVGP_ENOMEM, "no memory for a query");
    advgp_status st = ADVGP_OK;
    if (duckdb_query(s->duckdb.connection, sql->p, &result) != DuckDBSuccess)
        st = explain(duckdb_result_error(&result), "", err);
    duckdb_destroy_result(&result);
    return st;
}

advgp_status gp_stage_open(const gp_stage_type *types, size_t n, gp_stage **out, advgp_error *err)
{
    static const char *const sql_types[] = {
        [GP_STAGE_NUMBER] = "DOUBLE", [GP_STAGE_BOOLEAN] = "BOOLEAN", [GP_STAGE_TEXT] = "VARCHAR"};
    *out = NULL;
    gp_stage *s = gp_alloc(1, sizeof *s);
    if (!s) return gp_fail(err, ADVGP_ENOMEM, "no memory for a table");
    s->n_columns = n;
    gp_buffer sql = {0};
    gp_buffer_add(&sql, "CREATE TABLE staged (");
    for (size_t i = 0; i < n; i++) gp_buffer_add(&sql, "%sc%zu %s", i ? ", " : "", i, sql_types[types[i]]);
    gp_buffer_add(&sql, ")");
    advgp_status st = gp_duckdb_connect((size_t)fmin(MEMORY_BYTES, 0.25 * gp_memory_bytes()), 0, NULL, false,
                                        &s->duckdb, err);
    if (st == ADVGP_OK) st = run(s, &sql, err);
    if (st == ADVGP_OK && duckdb_appender_create(s->duckdb.connection, NULL, "staged", &s->appender) != DuckDBSuccess)
        st = gp_fail(err, ADVGP_ENOMEM, "DuckDB takes no rows");
    gp_buffer_fini(&sql);
    if (st == ADVGP_OK)
        *out = s;
    else
        gp_stage_free(s);
    return st;
}

void gp_stage_number(gp_stage *s, double value)
{
    s->failed |= duckdb_append_double(s->appender, value) != DuckDBSuccess;
}

void gp_stage_boolean(gp_stage *s, int value)
{
    s->failed |= duckdb_append_bool(s->appender, value != 0) != DuckDBSuccess;
}

void gp_stage_text(gp_stage *s, const char *p, size_t n)
{
    s->failed |= duckdb_append_varchar_length(s->appender, p, n) != DuckDBSuccess;
}

void gp_stage_missing(gp_stage *s)
{
    s->failed |= duckdb_append_null(s->appender) != DuckDBSuccess;
}

static advgp_status appender_error(gp_stage *s, advgp_error *err)
{
    return explain(duckdb_appender_error(s->appender), "cannot keep the rows (TMPDIR names where they go): ", err);
}

advgp_status gp_stage_end_row(gp_stage *s, advgp_error *err)
{
    s->failed |= duckdb_appender_end_row(s->appender) != DuckDBSuccess;
    return s->failed ? appender_error(s, err) : ADVGP_OK;
}

advgp_status gp_stage_export(gp_stage *s, const char *const *names, const char *const *types, const char *path,
                             advgp_error *err)
{
    if (duckdb_appender_close(s->appender) != DuckDBSuccess) return appender_error(s, err);
    gp_buffer sql = {0};
    gp_buffer_add(&sql, "COPY (SELECT ");
    for (size_t i = 0; i < s->n_columns; i++) {
        gp_buffer_add(&sql, "%sCAST(c%zu AS %s) AS ", i ? ", " : "", i, types[i]);
        gp_buffer_quoted(&sql, names[i], '"');
    }
    gp_buffer_add(&sql, " FROM staged) TO ");
    gp_buffer_quoted(&sql, path, '\'');
    // A group of rows is held in memory while it is written: a wide table has smaller ones.
    const size_t fit = GROUP_VALUES / (s->n_columns ? s->n_columns : 1), rows = fit < GROUP_ROWS_MIN   ? GROUP_ROWS_MIN
                                                                                : fit > GROUP_ROWS_MAX ? GROUP_ROWS_MAX
                                                                                                       : fit;
    gp_buffer_add(&sql, " (FORMAT parquet, ROW_GROUP_SIZE %zu, USE_TMP_FILE false)", rows);
    gp_buffer only = {0};
    gp_buffer_quoted(&only, path, '\'');
    advgp_status st = only.failed ? gp_fail(err, ADVGP_ENOMEM, "no memory for a query")
                                  : gp_duckdb_lock(&s->duckdb, only.p, err);
    if (st == ADVGP_OK) st = run(s, &sql, err);
    gp_buffer_fini(&only);
    gp_buffer_fini(&sql);
    return st;
}
