// duckdb_query.c: queries as trees and as texts again, by DuckDB's own parser; how deep JSON goes.
#include "files/duckdb_query.h"

#include "base/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_DEPTH_MAX = 100 };

// One function of one text, which is bound, not pasted.
static advgp_status ask(gp_duckdb *d, const char *sql, const char *text, char **out, advgp_error *err)
{
    duckdb_prepared_statement prepared = NULL;
    duckdb_result result = {0};
    *out = NULL;
    const bool ok = duckdb_prepare(d->connection, sql, &prepared) == DuckDBSuccess &&
                    duckdb_bind_varchar(prepared, 1, text) == DuckDBSuccess &&
                    duckdb_execute_prepared(prepared, &result) == DuckDBSuccess && duckdb_row_count(&result) == 1;
    const char *why = prepared ? duckdb_prepare_error(prepared) : NULL;
    if (!why) why = duckdb_result_error(&result);
    char *answer = ok ? duckdb_value_varchar(&result, 0, 0) : NULL;
    advgp_status st = ADVGP_OK;
    if (!answer)
        st = gp_fail(err, ADVGP_EINVAL, "{sql}: the query cannot be read: %.200s", why ? why : "no reason given");
    else if (!(*out = gp_copy_text(answer)))
        st = gp_no_memory(err);
    duckdb_free(answer);
    duckdb_destroy_result(&result);
    duckdb_destroy_prepare(&prepared);
    return st;
}

// DuckDB gives what stands nowhere in the text, such as a query in FROM, the place 2^64 - 1, which is no number of
// jansson's: 0 does as well. In a text of the query the quotation mark would have a backslash.
static void mend_places(char *json)
{
    static const char place[] = "query_location\":18446744073709551615";
    static const char mended[] = "query_location\":0                   ";
    static_assert(sizeof place == sizeof mended, "written over in place");
    for (char *p = strstr(json, place); p; p = strstr(p, place)) memcpy(p, mended, sizeof mended - 1);
}

advgp_status gp_duckdb_query_read(gp_duckdb *d, const char *sql, gp_query *out, advgp_error *err)
{
    char *json = NULL;
    *out = (gp_query){0};
    if (strlen(sql) > GP_QUERY_BYTES_MAX)
        return gp_fail(err, ADVGP_EINVAL, "{sql}: a query of more than %d bytes", GP_QUERY_BYTES_MAX);
    advgp_status st = ask(d, "SELECT json_serialize_sql($1::VARCHAR)", sql, &json, err);
    if (st == ADVGP_OK) mend_places(json);
    if (st == ADVGP_OK) st = gp_query_init(json, out, err);
    gp_free(json);
    return st;
}

advgp_status gp_duckdb_query_text(gp_duckdb *d, const gp_query *query, char **out, advgp_error *err)
{
    *out = NULL;
    if (!query->exact)
        return gp_fail(err, ADVGP_EINVAL, "{sql}: the query has a number that is too large to rewrite it");
    char *json = json_dumps(query->tree, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!json) return gp_no_memory(err);
    const advgp_status st = ask(d, "SELECT json_deserialize_sql($1::JSON)", json, out, err);
    free(json);
    return st;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static bool is_too_deep(const char *p, size_t n)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted && p[i] == '\\')
            i++;
        else if (p[i] == '"')
            quoted = !quoted;
        else if (!quoted && (p[i] == '[' || p[i] == '{') && ++depth > JSON_DEPTH_MAX)
            return true;
        else if (!quoted && depth && (p[i] == ']' || p[i] == '}'))
            depth--;
    }
    return false;
}

static advgp_status check_chunk(duckdb_data_chunk chunk, size_t *row, const char *shown, advgp_error *err)
{
    const idx_t n = duckdb_data_chunk_get_size(chunk);
    duckdb_vector vector = duckdb_data_chunk_get_vector(chunk, 0);
    duckdb_string_t *texts = duckdb_vector_get_data(vector);
    uint64_t *valid = duckdb_vector_get_validity(vector);
    for (idx_t i = 0; i < n; i++, (*row)++) {
        const bool there = !valid || (valid[i / 64] >> (i % 64) & 1);
        if (there && is_too_deep(duckdb_string_t_data(&texts[i]), duckdb_string_t_length(texts[i])))
            return gp_fail(err, ADVGP_EDATA, "%s, row %zu: a value nested more than %d levels deep is not of a table",
                           shown, *row + 1, JSON_DEPTH_MAX);
    }
    return ADVGP_OK;
}

advgp_status gp_duckdb_json_depth(gp_duckdb *d, const gp_inputs *inputs, const gp_input_file *file, advgp_error *err)
{
    gp_buffer sql = {0};
    gp_sql_json_texts(&sql, file);
    duckdb_prepared_statement prepared = NULL;
    duckdb_pending_result pending = NULL;
    duckdb_result result = {0};
    const char *refused = NULL;
    size_t row = 0;
    advgp_status st = sql.failed ? gp_no_memory(err) : ADVGP_OK;
    if (st != ADVGP_OK) goto done;
    if (duckdb_prepare(d->connection, sql.p, &prepared) != DuckDBSuccess)
        refused = duckdb_prepare_error(prepared);
    else if (duckdb_pending_prepared_streaming(prepared, &pending) != DuckDBSuccess)
        refused = duckdb_pending_error(pending);
    else if (duckdb_execute_pending(pending, &result) != DuckDBSuccess)
        refused = duckdb_result_error(&result);
    for (bool more = !refused; more && st == ADVGP_OK;) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
        more = chunk && duckdb_data_chunk_get_size(chunk) > 0;
        if (more) st = check_chunk(chunk, &row, file->shown, err);
        if (!more) refused = duckdb_result_error(&result);
        duckdb_destroy_data_chunk(&chunk);
    }
    if (st == ADVGP_OK && refused) st = gp_file_error(inputs, false, refused, err);
done:
    duckdb_destroy_result(&result);
    duckdb_destroy_pending(&pending);
    duckdb_destroy_prepare(&prepared);
    gp_buffer_fini(&sql);
    return st;
}
