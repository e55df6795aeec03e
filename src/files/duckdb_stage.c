// duckdb_stage.c: the rows of stage.h as a table of DuckDB's, to which its appender adds them by vectors, not by cells.
#include "files/stage.h"

#include "base/alloc.h"
#include "base/memory.h"
#include "base/whole.h"
#include "data/strings.h"
#include "files/duckdb_connect.h"

#include <math.h>
#include <string.h>

enum { MEMORY_BYTES = 1 << 29, GROUP_VALUES = 1 << 22, GROUP_ROWS_MIN = 4096, GROUP_ROWS_MAX = 122880 };

struct gp_stage {
    gp_duckdb duckdb;
    duckdb_appender appender;
    gp_stage_type *types;
    size_t n_columns;
};

struct gp_stage_rows {
    const gp_stage *of;
    duckdb_data_chunk *chunks; // of vector_rows rows each; the last is being filled
    size_t n_chunks, room, vector_rows;
    size_t row, column; // in the last chunk
    duckdb_vector *vectors;
    void **data; // of the vectors
    bool failed; // no memory
};

void gp_stage_free(gp_stage *s)
{
    if (!s) return;
    duckdb_appender_destroy(&s->appender);
    gp_duckdb_disconnect(&s->duckdb);
    gp_free(s->types);
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
    if (sql->failed) return gp_no_memory(err);
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
    if (!s) return gp_no_memory(err);
    s->n_columns = n;
    s->types = gp_alloc(n, sizeof *types);
    if (s->types) memcpy(s->types, types, n * sizeof *types);
    gp_buffer sql = {0};
    gp_buffer_add(&sql, "CREATE TABLE staged (");
    for (size_t i = 0; i < n; i++) gp_buffer_add(&sql, "%sc%zu %s", i ? ", " : "", i, sql_types[types[i]]);
    gp_buffer_add(&sql, ")");
    advgp_status st = s->types ? ADVGP_OK : gp_no_memory(err);
    if (st == ADVGP_OK)
        st = gp_duckdb_connect(gp_index(0.25 * gp_memory_bytes(), MEMORY_BYTES), 0, NULL, false, &s->duckdb, err);
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

// ---- rows -----------------------------------------------------------------------------------------------------------

advgp_status gp_stage_rows_new(const gp_stage *s, gp_stage_rows **out, advgp_error *err)
{
    gp_stage_rows *r = gp_alloc(1, sizeof *r);
    *out = NULL;
    if (r) {
        *r = (gp_stage_rows){.of = s, .vector_rows = duckdb_vector_size()};
        r->vectors = gp_alloc(s->n_columns, sizeof *r->vectors);
        r->data = gp_alloc(s->n_columns, sizeof *r->data);
        if (r->vectors && r->data) *out = r;
    }
    if (*out) return ADVGP_OK;
    gp_stage_rows_free(r);
    return gp_no_memory(err);
}

void gp_stage_rows_free(gp_stage_rows *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->room; i++) duckdb_destroy_data_chunk(&r->chunks[i]);
    gp_free(r->chunks);
    gp_free(r->vectors);
    gp_free(r->data);
    gp_free(r);
}

static duckdb_data_chunk new_chunk(const gp_stage *s)
{
    static const duckdb_type kinds[] = {[GP_STAGE_NUMBER] = DUCKDB_TYPE_DOUBLE,
                                        [GP_STAGE_BOOLEAN] = DUCKDB_TYPE_BOOLEAN,
                                        [GP_STAGE_TEXT] = DUCKDB_TYPE_VARCHAR};
    duckdb_logical_type *types = gp_alloc(s->n_columns, sizeof *types);
    if (!types) return NULL;
    for (size_t i = 0; i < s->n_columns; i++) types[i] = duckdb_create_logical_type(kinds[s->types[i]]);
    duckdb_data_chunk chunk = duckdb_create_data_chunk(types, s->n_columns);
    for (size_t i = 0; i < s->n_columns; i++) duckdb_destroy_logical_type(&types[i]);
    gp_free(types);
    return chunk;
}

static bool make_room(gp_stage_rows *r) // false: no memory
{
    if (r->n_chunks < r->room) return true;
    const size_t room = r->room ? 2 * r->room : 1;
    duckdb_data_chunk *chunks = gp_alloc(room, sizeof *chunks);
    if (!chunks) return false;
    if (r->room) memcpy(chunks, r->chunks, r->room * sizeof *chunks);
    gp_free(r->chunks);
    r->chunks = chunks;
    for (; r->room < room; r->room++)
        if (!(r->chunks[r->room] = new_chunk(r->of))) return false;
    return true;
}

// An empty chunk, for the rows that come next.
static bool begin_chunk(gp_stage_rows *r)
{
    if (r->failed || !make_room(r)) {
        r->failed = true;
        return false;
    }
    duckdb_data_chunk chunk = r->chunks[r->n_chunks++];
    duckdb_data_chunk_reset(chunk);
    for (size_t i = 0; i < r->of->n_columns; i++) {
        r->vectors[i] = duckdb_data_chunk_get_vector(chunk, i);
        r->data[i] = duckdb_vector_get_data(r->vectors[i]);
    }
    r->row = 0;
    return true;
}

// The column of a cell, or n_columns where nothing can be kept.
static size_t next_cell(gp_stage_rows *r)
{
    const bool first = r->column == 0 && (!r->n_chunks || r->row == r->vector_rows);
    if ((first && !begin_chunk(r)) || r->failed) return r->of->n_columns;
    return r->column++;
}

void gp_stage_number(gp_stage_rows *r, double value)
{
    const size_t i = next_cell(r);
    if (i < r->of->n_columns) ((double *)r->data[i])[r->row] = value;
}

void gp_stage_boolean(gp_stage_rows *r, int value)
{
    const size_t i = next_cell(r);
    if (i < r->of->n_columns) ((bool *)r->data[i])[r->row] = value != 0;
}

void gp_stage_text(gp_stage_rows *r, const char *p, size_t n)
{
    const size_t i = next_cell(r);
    if (i < r->of->n_columns) duckdb_vector_assign_string_element_len(r->vectors[i], r->row, p, n);
}

void gp_stage_missing(gp_stage_rows *r)
{
    const size_t i = next_cell(r);
    if (i == r->of->n_columns) return;
    duckdb_vector_ensure_validity_writable(r->vectors[i]);
    duckdb_validity_set_row_invalid(duckdb_vector_get_validity(r->vectors[i]), r->row);
}

void gp_stage_end_row(gp_stage_rows *r)
{
    r->column = 0;
    r->row += !r->failed;
}

static advgp_status appender_error(gp_stage *s, advgp_error *err)
{
    return explain(duckdb_appender_error(s->appender), "cannot keep the rows (TMPDIR names where they go): ", err);
}

advgp_status gp_stage_add(gp_stage *s, gp_stage_rows *r, advgp_error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && !r->failed && i < r->n_chunks; i++) {
        duckdb_data_chunk_set_size(r->chunks[i], i + 1 < r->n_chunks ? r->vector_rows : r->row);
        ok = duckdb_append_data_chunk(s->appender, r->chunks[i]) == DuckDBSuccess;
    }
    r->n_chunks = 0;
    if (r->failed) return explain("cannot allocate rows", "", err);
    return ok ? ADVGP_OK : appender_error(s, err);
}

// ---- the file -------------------------------------------------------------------------------------------------------

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
    advgp_status st = only.failed ? gp_no_memory(err) : gp_duckdb_lock(&s->duckdb, only.p, err);
    if (st == ADVGP_OK) st = run(s, &sql, err);
    gp_buffer_fini(&only);
    gp_buffer_fini(&sql);
    return st;
}
