// duckdb.c: CSV, Parquet, JSON lines and SQL as a source. Each column is cast by
// the query to DOUBLE or VARCHAR, so that two kinds of vectors are read here and DuckDB's vectorised casts do the rest.
#include "base/alloc.h"
#include "data/coerce.h"
#include "data/encoding.h"
#include "data/notes.h"
#include "data/strings.h"
#include "files/duckdb_query.h"
#include "files/file_columns.h"
#include "files/files.h"
#include "files/inputs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

typedef struct file_source {
    gp_source base;
    gp_inputs inputs;
    gp_notes *notes; // borrowed; a file found to be Latin-1 in its middle adds one
    gp_duckdb duckdb;
    char *query;   // "SELECT * FROM ..." without projection
    char **casts;  // how the query reads each column
    char **exact;  // names of columns to be read as text too
    bool *as_text; // n_exact: the query reads them as text, which becomes a number only here
    size_t n_exact;
    char **texts_named; // columns to be read as text
    size_t n_texts_named;
    bool dirty;               // words among the numbers of a later row are missing values
    bool *stumbled;           // n_columns: a value is none of its kind for DuckDB, but it is for us: read as text
    char *sql;                // the user's, or NULL
    bool stored, in_order;    // as in gp_file_options
    char **unknown, **needed; // the same
    size_t n_unknown, n_needed;
    char *written;                // a file that may be written, or NULL
    size_t first;                 // the table that the query names first, in inputs; n_tables: none
    size_t memory_bytes, threads; // as in gp_file_options
    char *temporary;
    int (*stop)(void *ctx); // the same
    void *stop_ctx;
    bool user_sql, running;
    duckdb_prepared_statement prepared;
    duckdb_pending_result pending;
    duckdb_result result;
    duckdb_data_chunk vectors;
    size_t row;
    size_t offset; // rows of the present vectors that were given in an earlier try
    gp_chunk chunk;
    gp_values *values;
    double **numbers; // a vector each; used where a column has missing values
    gp_text **texts;
    size_t vector_rows;
} file_source;

// ---- small queries --------------------------------------------------------------------------------------------------
static advgp_status run(file_source *s, const char *sql, advgp_error *err)
{
    duckdb_result result;
    advgp_status st = ADVGP_OK;
    if (duckdb_query(s->duckdb.connection, sql, &result) != DuckDBSuccess)
        st = gp_file_error(&s->inputs, s->user_sql, duckdb_result_error(&result), err);
    duckdb_destroy_result(&result);
    return st;
}

static char *cell_copy(duckdb_result *result, idx_t column, idx_t row)
{
    char *text = duckdb_value_varchar(result, column, row);
    char *copy = gp_copy_text(text ? text : "");
    duckdb_free(text);
    return copy;
}

// DuckDB wants all lines of a file to end alike; where they do not, it reads them after all if it is told so.
static advgp_status mark_mixed_ends(file_source *s, const char *message, bool *again, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    if (!strstr(message, "strict_mode=false")) return st;
    for (size_t i = 0; st == ADVGP_OK && i < s->inputs.n_files; i++) {
        gp_input_file *file = &s->inputs.files[i];
        if (!gp_file_mixes_ends(file)) continue;
        file->mixed_ends = *again = true;
        st = gp_notes_add(s->notes, err, 1, "lines of %s end in two ways, with CR LF and with LF", file->shown);
    }
    return st;
}

// A query about files that may turn out not to be UTF-8: those are then read as Latin-1 and the query is built again.
// DuckDB's message may speak of something else, when a query leaves columns out, so the files are asked too.
static advgp_status mark_latin1(file_source *s, const char *message, bool *again, advgp_error *err)
{
    gp_input_file *file = message ? gp_file_not_utf8(&s->inputs, message) : NULL;
    for (size_t i = 0; message && !file && i < s->inputs.n_files; i++)
        if (gp_file_turns_latin1(&s->inputs.files[i])) file = &s->inputs.files[i];
    *again = file != NULL;
    if (!file) return message ? mark_mixed_ends(s, message, again, err) : ADVGP_OK;
    file->latin1 = true;
    return gp_notes_add(s->notes, err, 1, "%s is not UTF-8 and is read as Latin-1", file->shown);
}

static advgp_status describe_once(file_source *s, const char *select, gp_file_columns *out, bool *again,
                                  advgp_error *err)
{
    gp_buffer sql = {0};
    gp_buffer_add(&sql, "DESCRIBE %s", select);
    *again = false;
    if (sql.failed) {
        gp_buffer_fini(&sql);
        return gp_no_memory(err);
    }
    duckdb_result result;
    advgp_status st = ADVGP_OK;
    if (duckdb_query(s->duckdb.connection, sql.p, &result) != DuckDBSuccess) {
        const char *message = duckdb_result_error(&result);
        st = mark_latin1(s, message, again, err);
        if (st == ADVGP_OK && !*again) st = gp_file_error(&s->inputs, s->user_sql, message, err);
    } else {
        size_t n = duckdb_row_count(&result);
        out->names = gp_alloc(n, sizeof *out->names);
        out->types = gp_alloc(n, sizeof *out->types);
        bool ok = out->names && out->types;
        for (size_t i = 0; ok && i < n; i++) {
            out->names[i] = cell_copy(&result, 0, i);
            out->types[i] = cell_copy(&result, 1, i);
            out->n = i + 1;
            ok = out->names[i] && out->types[i];
        }
        if (!ok) {
            gp_file_columns_fini(out);
            st = gp_no_memory(err);
        }
    }
    duckdb_destroy_result(&result);
    gp_buffer_fini(&sql);
    return st;
}

// ---- looking at the files -------------------------------------------------------------------------------------------
// A compressed CSV file shows its first lines only to DuckDB.
static advgp_status sniff_compressed(file_source *s, gp_input_file *file, advgp_error *err)
{
    gp_buffer sql = {0}, head = {0};
    gp_sql_head(&sql, file);
    duckdb_result result = {0};
    advgp_status st = ADVGP_OK;
    if (sql.failed)
        st = gp_no_memory(err);
    else if (duckdb_query(s->duckdb.connection, sql.p, &result) != DuckDBSuccess)
        st = gp_fail(err, ADVGP_EDATA, "%s is damaged, or no text table compressed by %s", file->shown,
                     file->compression);
    for (idx_t i = 0; st == ADVGP_OK && i < duckdb_row_count(&result); i++) {
        char *line = duckdb_value_varchar(&result, 0, i);
        gp_buffer_add(&head, "%s\n", line ? line : "");
        duckdb_free(line);
    }
    if (st == ADVGP_OK && head.failed) st = gp_no_memory(err);
    if (st == ADVGP_OK && head.n == 0)
        st = gp_fail(err, ADVGP_EDATA, "%s is empty; a header line and rows are expected", file->shown);
    if (st == ADVGP_OK) st = gp_sniff_csv(file, (const unsigned char *)head.p, head.n, s->notes, err);
    duckdb_destroy_result(&result);
    gp_buffer_fini(&sql);
    gp_buffer_fini(&head);
    return st;
}

// Where DuckDB's sniffer gives up on a CSV file, reading it with the header's width finds the line that is to blame.
static advgp_status diagnose(file_source *s, const gp_input_file *file, advgp_status st, advgp_error *err)
{
    if (st != ADVGP_EDATA || file->kind != GP_FILE_CSV) return st;
    gp_buffer sql = {0};
    gp_sql_diagnose(&sql, file);
    duckdb_result result;
    if (!sql.failed) {
        if (duckdb_query(s->duckdb.connection, sql.p, &result) != DuckDBSuccess)
            st = gp_file_error(&s->inputs, false, duckdb_result_error(&result), err);
        duckdb_destroy_result(&result);
    }
    gp_buffer_fini(&sql);
    return st;
}

// DuckDB renames the second of two columns with one name and tells nobody; the schema inside the file has the names as
// they are: a tree in depth-first order, with the root first and the columns as its children.
static advgp_status refuse_twins(file_source *s, const gp_input_file *file, advgp_error *err)
{
    gp_buffer sql = {0};
    gp_sql_parquet_names(&sql, file);
    duckdb_result result = {0};
    advgp_status st = ADVGP_OK;
    if (sql.failed)
        st = gp_no_memory(err);
    else if (duckdb_query(s->duckdb.connection, sql.p, &result) != DuckDBSuccess)
        st = gp_file_error(&s->inputs, false, duckdb_result_error(&result), err);
    const size_t n = st == ADVGP_OK ? duckdb_row_count(&result) : 0;
    char **seen = gp_alloc(n, sizeof *seen);
    size_t n_seen = 0;
    if (!seen && st == ADVGP_OK) st = gp_no_memory(err);
    int64_t below = 0; // nodes still to come inside the present column
    for (idx_t i = 1; st == ADVGP_OK && i < n; i++) {
        const int64_t children = duckdb_value_int64(&result, 1, i);
        const bool column = below == 0;
        below += children - !column;
        if (!column) continue;
        char *name = cell_copy(&result, 0, i);
        for (size_t k = 0; st == ADVGP_OK && name && k < n_seen; k++)
            if (strcasecmp(seen[k], name) == 0)
                st = gp_refuse_twins(file->shown, k + 1, seen[k], n_seen + 1, name, "write it again with one renamed",
                                     err);
        if (name) seen[n_seen++] = name;
        if (!name) st = gp_no_memory(err);
    }
    for (size_t k = 0; k < n_seen; k++) gp_free(seen[k]);
    gp_free(seen);
    duckdb_destroy_result(&result);
    gp_buffer_fini(&sql);
    return st;
}

static advgp_status describe_file(file_source *s, gp_input_file *file, gp_file_columns *out, advgp_error *err)
{
    if (file->kind == GP_FILE_PARQUET) {
        advgp_status st = refuse_twins(s, file, err);
        if (st != ADVGP_OK) return st;
    }
    if (file->kind == GP_FILE_JSON) {
        advgp_status st = gp_duckdb_json_depth(&s->duckdb, &s->inputs, file, err);
        if (st != ADVGP_OK) return st;
    }
    if (file->kind == GP_FILE_CSV && !file->delimiter) {
        advgp_status st = sniff_compressed(s, file, err);
        if (st != ADVGP_OK) return st;
    }
    bool again = true;
    advgp_status st = ADVGP_OK;
    while (st == ADVGP_OK && again) { // at most twice: the second time it is Latin-1
        gp_buffer sql = {0};
        gp_sql_read(&sql, file, 1, (gp_forced_types){0});
        st = sql.failed ? gp_no_memory(err) : describe_once(s, sql.p, out, &again, err);
        gp_buffer_fini(&sql);
    }
    return st == ADVGP_OK ? st : diagnose(s, file, st, err);
}

// Where the name stands in the list of exact columns; n_exact if it does not.
static size_t find_exact(const file_source *s, const char *name)
{
    size_t i = 0;
    while (i < s->n_exact && !gp_same_name(s->exact[i], name)) i++;
    return i;
}

// Is the column to be read as text? A user's query expects what the files show.
static bool is_text(const file_source *s, const char *name)
{
    if (s->sql) return false;
    for (size_t i = 0; i < s->n_texts_named; i++)
        if (gp_same_name(s->texts_named[i], name)) return true;
    const long i = s->stumbled ? gp_source_find(&s->base, name) : GP_NO_COLUMN;
    return i != GP_NO_COLUMN && s->stumbled[i];
}

// Does a folder on the way to the file give the column? Its type is not for us to say.
static bool is_of_folder(const gp_input_file *file, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = file->hive ? file->path : NULL; p && (p = strstr(p, name)); p++)
        if (p[n] == '=' && (p == file->path || p[-1] == '/')) return true;
    return false;
}

// "SELECT * FROM ..." for files of one table, after looking at each of them; `all` gets their columns.
static advgp_status table_query(file_source *s, size_t first, size_t n, gp_buffer *sql, gp_file_columns *all,
                                advgp_error *err)
{
    gp_input_file *files = s->inputs.files + first;
    advgp_status st = describe_file(s, &files[0], all, err);
    for (size_t i = 1; st == ADVGP_OK && i < n; i++) {
        gp_file_columns more = {0};
        st = describe_file(s, &files[i], &more, err);
        if (st == ADVGP_OK) st = gp_file_columns_merge(all, &more, files[0].shown, files[i].shown, err);
        gp_file_columns_fini(&more);
    }
    const char **names = st == ADVGP_OK ? gp_alloc(all->n, sizeof *names) : NULL;
    const char **types = st == ADVGP_OK ? gp_alloc(all->n, sizeof *types) : NULL;
    if (st == ADVGP_OK && (!names || !types)) st = gp_no_memory(err);
    gp_forced_types forced = {.names = names, .types = types};
    for (size_t i = 0; st == ADVGP_OK && i < all->n; i++) {
        const bool text = strcmp(all->types[i], "VARCHAR") == 0 || is_text(s, all->names[i]) ||
                          (files[0].dates == GP_DATES_TEXT && gp_file_type_is_date(all->types[i]));
        const bool number = !text && gp_file_type_is_numeric(all->types[i]);
        if ((!number && !text) || is_of_folder(&files[0], all->names[i])) continue;
        // A user's query expects numbers, and a decimal comma is known to the CSV reader alone.
        const size_t k = number && !s->sql && !files[0].decimal_comma ? find_exact(s, all->names[i]) : s->n_exact;
        if (k < s->n_exact) s->as_text[k] = true;
        names[forced.n] = all->names[i];
        types[forced.n++] = number && k == s->n_exact ? "DOUBLE" : "VARCHAR";
    }
    if (st == ADVGP_OK) gp_sql_read(sql, files, n, forced);
    if (st == ADVGP_OK && sql->failed) st = gp_no_memory(err);
    gp_free(names);
    gp_free(types);
    return st;
}

// ---- a user's query -------------------------------------------------------------------------------------------------
typedef struct table_view {
    gp_buffer select, more; // more: columns that the files do not have
    gp_file_columns columns;
} table_view;

static bool has_column(const table_view *v, const char *name)
{
    for (size_t i = 0; i < v->columns.n; i++)
        if (strcasecmp(v->columns.names[i], name) == 0) return true;
    return false;
}

static size_t find_table(const file_source *s, const char *name)
{
    size_t i = 0;
    while (i < s->inputs.n_tables && strcasecmp(s->inputs.tables[i].name, name) != 0) i++;
    return i;
}

// Which table lacks the column; n_tables: none.
static size_t lacking(const file_source *s, const gp_query *query, const table_view *views, const char *column,
                      const char *qualifier)
{
    const size_t none = s->inputs.n_tables;
    if (qualifier) {
        const char *table = gp_query_table_of(query, qualifier);
        const size_t i = table ? find_table(s, table) : none;
        return i < none && !has_column(&views[i], column) ? i : none;
    }
    for (size_t i = 0; i < none; i++)
        if (has_column(&views[i], column)) return none;
    return s->first;
}

static bool is_needed(const file_source *s, const char *name)
{
    for (size_t i = 0; i < s->n_needed; i++)
        if (strcasecmp(s->needed[i], name) == 0) return true;
    return false;
}

// What is to be predicted is not known yet: columns for it alone are NULL where the files do not have them.
static advgp_status supply(file_source *s, gp_query *query, table_view *views, bool *changed, advgp_error *err)
{
    json_t *columns = gp_query_only_for(query, (const char *const *)s->unknown, s->n_unknown);
    if (!columns) return gp_no_memory(err);
    advgp_status st = ADVGP_OK;
    const char *name;
    json_t *qualifier;
    json_object_foreach(columns, name, qualifier)
    {
        const size_t i = lacking(s, query, views, name, json_string_value(qualifier));
        if (i == s->inputs.n_tables || is_needed(s, name)) continue;
        gp_buffer_add(&views[i].more, ", NULL AS ");
        gp_buffer_quoted(&views[i].more, name, '"');
        const size_t n = gp_query_forget(query, name);
        if (n && st == ADVGP_OK && !s->query) // not again when a pass is started over
            st = gp_notes_add(s->notes, err, n, "%s has no column '%s': conditions of the query on it are left out",
                              s->inputs.files[s->inputs.tables[i].first].shown, name);
        *changed |= n > 0;
    }
    json_decref(columns);
    return st;
}

static advgp_status make_view(file_source *s, const char *name, const table_view *v, advgp_error *err)
{
    gp_buffer sql = {0};
    gp_buffer_add(&sql, "CREATE OR REPLACE VIEW ");
    gp_buffer_quoted(&sql, name, '"');
    gp_buffer_add(&sql, v->more.n ? " AS SELECT *%s FROM (%s)" : " AS %s%s", v->more.n ? v->more.p : "", v->select.p);
    const bool ok = !sql.failed && !v->select.failed && !v->more.failed;
    const advgp_status st = ok ? run(s, sql.p, err) : gp_no_memory(err);
    gp_buffer_fini(&sql);
    return st;
}

static advgp_status make_views(file_source *s, gp_query *query, bool *changed, advgp_error *err)
{
    const size_t n = s->inputs.n_tables;
    table_view *views = gp_alloc(n, sizeof *views);
    if (!views) return gp_no_memory(err);
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) {
        const gp_input_table *table = &s->inputs.tables[i];
        st = table_query(s, table->first, table->n_files, &views[i].select, &views[i].columns, err);
    }
    if (st == ADVGP_OK && s->n_unknown) st = supply(s, query, views, changed, err);
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) st = make_view(s, s->inputs.tables[i].name, &views[i], err);
    if (st == ADVGP_OK && n == 1 && find_table(s, "data") == n) st = make_view(s, "data", &views[0], err);
    for (size_t i = 0; i < n; i++) {
        gp_buffer_fini(&views[i].select);
        gp_buffer_fini(&views[i].more);
        gp_file_columns_fini(&views[i].columns);
    }
    gp_free(views);
    return st;
}

static advgp_status user_query(file_source *s, gp_buffer *out, advgp_error *err)
{
    gp_query query = {0};
    char *rewritten = NULL;
    bool changed = false;
    advgp_status st = gp_duckdb_query_read(&s->duckdb, s->sql, &query, err);
    if (st == ADVGP_OK) st = gp_query_bind(&query, &s->inputs, s->stored, s->notes, err);
    if (st == ADVGP_OK) s->first = query.n_tables ? find_table(s, query.tables[0]) : s->inputs.n_tables;
    if (st == ADVGP_OK && s->first == s->inputs.n_tables && query.n_tables) s->first = 0; // the single one, as "data"
    if (st == ADVGP_OK) st = make_views(s, &query, &changed, err);
    if (st == ADVGP_OK && changed) st = gp_duckdb_query_text(&s->duckdb, &query, &rewritten, err);
    const char *text = rewritten ? rewritten : s->sql;
    size_t n = strlen(text);
    while (n && strchr("; \n\t\r", text[n - 1])) n--;
    gp_buffer_add(out, "SELECT * FROM (%.*s\n)", (int)n, text); // the line end closes a comment
    gp_free(rewritten);
    gp_query_fini(&query);
    return st;
}

// Writes s->query; again after a file's encoding was corrected.
static advgp_status build_query(file_source *s, advgp_error *err)
{
    gp_buffer query = {0};
    gp_file_columns columns = {0};
    advgp_status st = s->sql ? user_query(s, &query, err) : table_query(s, 0, s->inputs.n_files, &query, &columns, err);
    if (st == ADVGP_OK && query.failed) st = gp_no_memory(err);
    if (st == ADVGP_OK) {
        gp_free(s->query);
        s->query = query.p;
    } else {
        gp_buffer_fini(&query);
    }
    gp_file_columns_fini(&columns);
    return st;
}

// A database that opens the inputs, what is to be written, and nothing else. A path is opened by its literal, which is
// not its own name where that holds *, ? or [.
static advgp_status connect_locked(file_source *s, advgp_error *err)
{
    gp_buffer paths = {0};
    for (size_t i = 0; i < s->inputs.n_files; i++) {
        if (paths.n) gp_buffer_add(&paths, ", ");
        gp_buffer_quoted(&paths, s->inputs.files[i].path, '\'');
        gp_buffer_add(&paths, ", ");
        gp_sql_path(&paths, s->inputs.files[i].path);
    }
    if (s->written) {
        if (paths.n) gp_buffer_add(&paths, ", ");
        gp_buffer_quoted(&paths, s->written, '\'');
    }
    advgp_status st = paths.failed ? gp_no_memory(err) : ADVGP_OK;
    if (st == ADVGP_OK) st = gp_duckdb_connect(s->memory_bytes, s->threads, s->temporary, s->in_order, &s->duckdb, err);
    if (st == ADVGP_OK) st = gp_duckdb_lock(&s->duckdb, paths.p ? paths.p : "", err);
    gp_buffer_fini(&paths);
    return st;
}

// ---- a pass ---------------------------------------------------------------------------------------------------------
static void end_pass(file_source *s)
{
    duckdb_destroy_data_chunk(&s->vectors);
    if (s->running) duckdb_destroy_result(&s->result);
    duckdb_destroy_pending(&s->pending);
    duckdb_destroy_prepare(&s->prepared);
    s->running = false;
    s->row = 0;
}

static void add_projection(const file_source *s, gp_buffer *sql)
{
    gp_buffer_add(sql, "SELECT ");
    size_t n = 0;
    for (size_t i = 0; i < s->base.n_columns; i++)
        if (s->base.wanted[i]) {
            gp_buffer_add(sql, "%s%s", n++ ? ", " : "", s->casts[i]);
            if (!s->base.columns[i].exact) continue;
            gp_buffer_add(sql, ", CAST(");
            gp_buffer_quoted(sql, s->base.columns[i].name, '"');
            gp_buffer_add(sql, " AS VARCHAR)");
        }
    gp_buffer_add(sql, "%s FROM (%s)", n ? "" : "0::DOUBLE", s->query);
}

// Joins, sorts and sums come before the first row, and may take hours: by tasks, between which someone may ask to stop.
static advgp_status to_first_rows(file_source *s, advgp_error *err)
{
    for (;;) {
        const duckdb_pending_state state = duckdb_pending_execute_task(s->pending);
        if (state == DUCKDB_PENDING_RESULT_READY || state == DUCKDB_PENDING_ERROR) return ADVGP_OK;
        if (s->stop && s->stop(s->stop_ctx))
            return gp_fail(err, ADVGP_ESTOPPED, "stopped while reading %s", s->base.label);
        if (state == DUCKDB_PENDING_NO_TASKS_AVAILABLE) // others are at work
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}

// *refused is DuckDB's message, where it does not want to; it lives until the pass ends.
static advgp_status start_pass(file_source *s, const char **refused, advgp_error *err)
{
    gp_buffer sql = {0};
    add_projection(s, &sql);
    advgp_status st = sql.failed ? gp_no_memory(err) : ADVGP_OK;
    // random() in a user's SQL must give the same rows twice
    if (st == ADVGP_OK) st = run(s, "SELECT setseed(0.5)", err);
    *refused = NULL;
    if (st == ADVGP_OK && duckdb_prepare(s->duckdb.connection, sql.p, &s->prepared) != DuckDBSuccess)
        *refused = duckdb_prepare_error(s->prepared);
    else if (st == ADVGP_OK && duckdb_pending_prepared_streaming(s->prepared, &s->pending) != DuckDBSuccess)
        *refused = duckdb_pending_error(s->pending);
    else if (st == ADVGP_OK && (st = to_first_rows(s, err)) == ADVGP_OK) {
        s->running = true;
        if (duckdb_execute_pending(s->pending, &s->result) != DuckDBSuccess) *refused = duckdb_result_error(&s->result);
    }
    gp_buffer_fini(&sql);
    return st;
}

// One value of a column that DuckDB takes for numbers, truths or dates, as people may write it.
static bool read_value(gp_text text, gp_column_type type, double *value)
{
    static const char *const words[][2] = {{"false", "true"}, {"f", "t"}, {"no", "yes"}, {"n", "y"}, {"0", "1"}};
    if (gp_is_missing_word(text)) return *value = NAN, true;
    if (type == GP_TIME) return gp_writing_read(text, GP_WRITING_YMD, NULL, value);
    if (type == GP_NUMBER) return gp_parse_number(text, value) || gp_writing_read(text, GP_WRITING_CLOCK, NULL, value);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int truth = 0; truth < 2; truth++)
            if (text.n == strlen(words[i][truth]) && strncasecmp(text.p, words[i][truth], text.n) == 0)
                return *value = truth, true;
    return false;
}

// DuckDB settles what a column holds by some first rows, and stumbles where a later one has $1,200 or 12:00+02:00.
static advgp_status mark_stumbled(file_source *s, const char *message, bool *again, advgp_error *err)
{
    char name[GP_PIECE_BYTES], value[GP_PIECE_BYTES];
    double ignored;
    if (s->sql || !s->stumbled || !gp_file_stumbled(message, name, value)) return ADVGP_OK;
    const long i = gp_source_find(&s->base, name);
    if (i == GP_NO_COLUMN || s->stumbled[i] || s->base.columns[i].type == GP_TEXT) return ADVGP_OK;
    const bool word = !read_value((gp_text){.p = value, .n = strlen(value)}, s->base.columns[i].type, &ignored);
    if (word && !s->dirty) s->base.wordy = i;
    if (word && !s->dirty) return ADVGP_OK;
    char *cast = gp_file_cast("CAST(%s AS VARCHAR)", name);
    gp_text *texts = s->texts[i] ? s->texts[i] : gp_alloc(s->vector_rows, sizeof *texts);
    s->texts[i] = texts;
    if (!cast || !texts) {
        gp_free(cast);
        return gp_no_memory(err);
    }
    gp_free(s->casts[i]);
    s->casts[i] = cast;
    s->stumbled[i] = *again = true;
    return ADVGP_OK;
}

// A byte that is no UTF-8 in the middle of a CSV file starts the pass again as Latin-1, and a value that is written
// otherwise than those before with its column as text; in a new database, since some errors leave the old one unusable.
// Any other message is the end.
static advgp_status start_over(file_source *s, const char *message, advgp_error *err)
{
    bool again;
    const size_t row = s->row;
    advgp_status st = mark_latin1(s, message, &again, err);
    if (st == ADVGP_OK && !again) st = mark_stumbled(s, message, &again, err);
    if (st == ADVGP_OK && !again) st = gp_file_error(&s->inputs, s->user_sql, message, err);
    if (st != ADVGP_OK) return st;
    end_pass(s);
    s->row = row;
    gp_duckdb_disconnect(&s->duckdb);
    st = connect_locked(s, err);
    return st == ADVGP_OK ? build_query(s, err) : st;
}

// The next vectors, or none at the end; started over, behind the rows already given.
static advgp_status fetch(file_source *s, advgp_error *err)
{
    size_t skip = 0, n = 0;
    do {
        advgp_status st = ADVGP_OK;
        const char *refused = NULL;
        if (!s->running) st = start_pass(s, &refused, err);
        if (st != ADVGP_OK) return st;
        if (!refused) {
            duckdb_destroy_data_chunk(&s->vectors);
            s->vectors = duckdb_fetch_chunk(s->result);
            n = s->vectors ? duckdb_data_chunk_get_size(s->vectors) : 0;
            s->offset = n < skip ? n : skip;
            skip -= s->offset;
            if (n == 0) refused = duckdb_result_error(&s->result);
            if (n == 0 && !refused) return ADVGP_OK;
        }
        if (refused) {
            skip = s->row;
            st = start_over(s, refused, err);
            if (st != ADVGP_OK) return st;
            n = s->offset = 0;
        }
    } while (n == s->offset);
    return ADVGP_OK;
}

static const double *read_numbers(duckdb_vector vector, size_t n, double *copy)
{
    const double *data = duckdb_vector_get_data(vector);
    uint64_t *valid = duckdb_vector_get_validity(vector);
    if (!valid) return data;
    for (size_t i = 0; i < n; i++) copy[i] = valid[i / 64] >> (i % 64) & 1 ? data[i] : NAN;
    return copy;
}

static const gp_text *read_texts(duckdb_vector vector, size_t n, gp_text *texts)
{
    duckdb_string_t *data = duckdb_vector_get_data(vector);
    uint64_t *valid = duckdb_vector_get_validity(vector);
    for (size_t i = 0; i < n; i++) {
        bool there = !valid || (valid[i / 64] >> (i % 64) & 1);
        texts[i] = there ? (gp_text){.p = duckdb_string_t_data(&data[i]), .n = duckdb_string_t_length(data[i])}
                         : (gp_text){0};
    }
    return texts;
}

// Once a column: its encoder counts them among the missing ones.
static advgp_status note_word(const file_source *s, const gp_column *c, const char *shown, size_t row, advgp_error *err)
{
    static const char many[] = "hold texts among numbers, taken as missing";
    for (size_t i = 0; s->notes && i < s->notes->n; i++)
        if (s->notes->items[i].many == many && strcmp(s->notes->items[i].column, c->name) == 0) return ADVGP_OK;
    return gp_notes_add_column(s->notes, err, 1, c->name, many,
                               "column '%s' holds '%s' in row %zu, which is no number as in other rows: such values "
                               "are taken as missing",
                               c->name, shown, row);
}

static advgp_status read_stumbled(file_source *s, size_t column, const gp_text *texts, size_t n, advgp_error *err)
{
    static const char *const kinds[] = {[GP_NUMBER] = "number", [GP_BOOLEAN] = "yes or no", [GP_TIME] = "date"};
    const gp_column *c = &s->base.columns[column];
    for (size_t i = 0; i < n; i++) {
        char shown[GP_PIECE_BYTES];
        s->numbers[column][i] = NAN;
        if (!texts[i].p || read_value(texts[i], c->type, &s->numbers[column][i])) continue;
        s->numbers[column][i] = NAN;
        const size_t row = s->row + i - s->offset + 1;
        gp_show_text(shown, sizeof shown, texts[i].p, texts[i].n);
        if (s->dirty) {
            const advgp_status st = note_word(s, c, shown, row, err);
            if (st != ADVGP_OK) return st;
            continue;
        }
        s->base.wordy = (long)column;
        return gp_fail(err, ADVGP_EDATA,
                       "%s, row %zu: column '%s' holds '%s', which is no %s as in other rows; correct it, leave it "
                       "empty or name it with {na} if it is missing, read all as text ({encode} '%s=onehot'), or "
                       "leave the column out ({exclude} '%s')",
                       s->base.label, row, c->name, shown, kinds[c->type], c->name, c->name);
    }
    return ADVGP_OK;
}

static advgp_status file_next(gp_source *source, const gp_chunk **chunk, advgp_error *err)
{
    file_source *s = (file_source *)source;
    *chunk = NULL;
    advgp_status st = fetch(s, err);
    const size_t n = st == ADVGP_OK && s->vectors ? duckdb_data_chunk_get_size(s->vectors) : 0;
    if (n == 0) return st;
    idx_t column = 0;
    for (size_t i = 0; i < source->n_columns; i++) {
        s->values[i] = (gp_values){0};
        if (!source->wanted[i]) continue;
        duckdb_vector vector = duckdb_data_chunk_get_vector(s->vectors, column++);
        if (s->stumbled[i]) {
            st = read_stumbled(s, i, read_texts(vector, n, s->texts[i]), n, err);
            if (st != ADVGP_OK) return st;
            s->values[i].number = s->numbers[i] + s->offset;
        } else if (source->columns[i].type == GP_TEXT)
            s->values[i].text = read_texts(vector, n, s->texts[i]) + s->offset;
        else
            s->values[i].number = read_numbers(vector, n, s->numbers[i]) + s->offset;
        if (!s->base.columns[i].exact) continue;
        vector = duckdb_data_chunk_get_vector(s->vectors, column++);
        s->values[i].text = read_texts(vector, n, s->texts[i]) + s->offset;
    }
    s->chunk = (gp_chunk){.n_rows = n - s->offset, .first_row = s->row, .columns = s->values};
    s->row += n - s->offset;
    *chunk = &s->chunk;
    return ADVGP_OK;
}

static advgp_status file_rewind(gp_source *source, advgp_error *err)
{
    (void)err;
    end_pass((file_source *)source);
    return ADVGP_OK;
}

static bool copy_list(const char *const *list, size_t n, char ***out, size_t *n_out) // false: no memory
{
    *out = gp_alloc(n, sizeof **out);
    for (*n_out = 0; *out && *n_out < n; ++*n_out)
        if (!((*out)[*n_out] = gp_copy_text(list[*n_out]))) return false;
    return *out != NULL;
}

static void free_list(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++) gp_free(list[i]);
    gp_free(list);
}

static void file_free(gp_source *source)
{
    file_source *s = (file_source *)source;
    end_pass(s);
    for (size_t i = 0; i < source->n_columns; i++) {
        if (s->casts) gp_free(s->casts[i]);
        if (s->numbers) gp_free(s->numbers[i]);
        if (s->texts) gp_free(s->texts[i]);
    }
    free_list(s->exact, s->n_exact);
    free_list(s->texts_named, s->n_texts_named);
    free_list(s->unknown, s->n_unknown);
    free_list(s->needed, s->n_needed);
    gp_free(s->written);
    gp_free(s->as_text);
    gp_free(s->stumbled);
    gp_free(s->casts);
    gp_free(s->numbers);
    gp_free(s->texts);
    gp_free(s->values);
    gp_free(s->query);
    gp_free(s->sql);
    gp_free(s->temporary);
    gp_duckdb_disconnect(&s->duckdb);
    gp_inputs_fini(&s->inputs);
    gp_source_fini(source);
    gp_free(s);
}

const gp_source_ops gp_source_duckdb = {.name = "duckdb", .next = file_next, .rewind = file_rewind, .free = file_free};

static advgp_status make_label(const file_source *s, gp_buffer *label, advgp_error *err)
{
    if (s->user_sql)
        gp_buffer_add(label, "the result of {sql}");
    else if (s->inputs.n_files == 1)
        gp_buffer_add(label, "%s", s->inputs.files[0].shown);
    else
        gp_buffer_add(label, "%s and %zu more", s->inputs.files[0].shown, s->inputs.n_files - 1);
    return label->failed ? gp_no_memory(err) : ADVGP_OK;
}

// What a column is, where the query reads it as text for the sake of its digits.
static const char *type_of(const file_source *s, const gp_file_columns *list, size_t i)
{
    const size_t k = find_exact(s, list->names[i]);
    return k < s->n_exact && s->as_text[k] && strcmp(list->types[i], "VARCHAR") == 0 ? "HUGEINT" : list->types[i];
}

static advgp_status init_columns(file_source *s, advgp_error *err)
{
    gp_file_columns list = {0};
    gp_buffer label = {0};
    bool again;
    advgp_status st = describe_once(s, s->query, &list, &again, err);
    size_t n = list.n;
    gp_column_type *types = gp_alloc(n, sizeof *types);
    s->casts = gp_alloc(n, sizeof *s->casts);
    s->values = gp_alloc(n, sizeof *s->values);
    s->numbers = gp_alloc(n, sizeof *s->numbers);
    s->texts = gp_alloc(n, sizeof *s->texts);
    s->stumbled = gp_alloc(n, sizeof *s->stumbled);
    bool ok = types && s->casts && s->values && s->numbers && s->texts && s->stumbled;
    if (st == ADVGP_OK) st = make_label(s, &label, err);
    for (size_t i = 0; st == ADVGP_OK && ok && i < n; i++) {
        const char *cast = NULL;
        types[i] = gp_file_type_classify(type_of(s, &list, i), &cast);
    }
    if (st == ADVGP_OK && ok)
        st = gp_source_init(&s->base, &gp_source_duckdb, label.p, (const char *const *)list.names, types, n, err);
    s->base.unnamed = !s->user_sql && s->inputs.n_files && s->inputs.files[0].no_header;
    s->base.headed = !s->user_sql && s->inputs.n_files && s->inputs.files[0].kind == GP_FILE_CSV;
    for (size_t i = 0; st == ADVGP_OK && ok && i < n; i++) { // after init, so that free knows how many there are
        const char *cast = NULL, *type = type_of(s, &list, i);
        const bool text = gp_file_type_classify(type, &cast) == GP_TEXT;
        const bool both = !text && find_exact(s, list.names[i]) < s->n_exact && gp_file_type_is_whole(type);
        s->base.columns[i].exact = both;
        s->casts[i] = gp_file_cast(cast, list.names[i]);
        if (text || both) s->texts[i] = gp_alloc(s->vector_rows, sizeof(gp_text));
        if (!text) s->numbers[i] = gp_alloc(s->vector_rows, sizeof(double));
        ok = s->casts[i] && (s->texts[i] || !(text || both)) && (s->numbers[i] || text);
    }
    if (st == ADVGP_OK && !ok) st = gp_no_memory(err);
    gp_free(types);
    gp_buffer_fini(&label);
    gp_file_columns_fini(&list);
    return st;
}

static bool keep_text(file_source *s, const char *name, size_t n)
{
    char *copy = s->texts_named[s->n_texts_named] = gp_text_copy(name, n);
    s->n_texts_named += copy != NULL;
    return copy != NULL;
}

// The columns that options want as text, by name.
static bool keep_texts(file_source *s, const gp_file_options *options)
{
    const gp_schema *like = options->like;
    const size_t n_like = like ? like->n_inputs : 0;
    const size_t room = options->n_encode + options->n_date_formats + options->n_texts + n_like + 1;
    s->texts_named = gp_alloc(room, sizeof *s->texts_named);
    if (!s->texts_named) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < options->n_texts; i++) ok = keep_text(s, options->texts[i], strlen(options->texts[i]));
    for (size_t i = 0; ok && i < options->n_date_formats; i++) {
        const char *spec = options->date_formats[i], *equals = strchr(spec, '='), *percent = strchr(spec, '%');
        if (equals && percent && equals < percent) ok = keep_text(s, spec, (size_t)(equals - spec));
    }
    for (size_t i = 0; ok && i < options->n_encode; i++) {
        const char *spec = options->encode[i], *equals = strrchr(spec, '=');
        const gp_encoding *how = equals ? gp_encoding_named(equals + 1, GP_TEXT) : NULL;
        if (!how || !how->texts) continue;
        ok = keep_text(s, spec, (size_t)(equals - spec));
    }
    for (size_t i = 0; ok && i <= n_like && like; i++) { // the target is the last
        const gp_input *in = i < n_like ? &like->inputs[i] : NULL;
        const bool coded = in && in->type == GP_TEXT && in->categories.n;
        const gp_writing as = in ? in->written : like->target_written;
        if (!coded && as != GP_WRITING_COMMA && as != GP_WRITING_FORMAT) continue;
        const char *name = in ? in->name : like->target;
        ok = keep_text(s, name, strlen(name));
    }
    return ok;
}

static advgp_status keep_options(file_source *s, const gp_file_options *options, advgp_error *err)
{
    s->memory_bytes = options->memory_bytes;
    s->threads = options->threads;
    s->stop = options->stop, s->stop_ctx = options->stop_ctx;
    s->sql = options->sql ? gp_copy_text(options->sql) : NULL;
    s->temporary = options->temporary ? gp_copy_text(options->temporary) : NULL;
    s->as_text = gp_alloc(options->n_exact, sizeof *s->as_text);
    s->dirty = options->like && options->like->dirty;
    s->stored = options->stored, s->in_order = options->in_order;
    bool ok = (s->sql || !options->sql) && (s->temporary || !options->temporary) && s->as_text;
    ok = ok && keep_texts(s, options);
    ok = ok && copy_list(options->exact, options->n_exact, &s->exact, &s->n_exact);
    ok = ok && copy_list(options->unknown, options->n_unknown, &s->unknown, &s->n_unknown);
    ok = ok && copy_list(options->needed, options->n_needed, &s->needed, &s->n_needed);
    return ok ? ADVGP_OK : gp_no_memory(err);
}

static advgp_status open_files(const gp_file_options *options, const char *written, gp_notes *notes, gp_source **out,
                               advgp_error *err)
{
    *out = NULL;
    file_source *s = gp_alloc(1, sizeof *s);
    if (!s) return gp_no_memory(err);
    s->base.ops = &gp_source_duckdb;
    s->notes = notes;
    s->user_sql = options->sql != NULL;
    s->vector_rows = duckdb_vector_size();
    advgp_status st = keep_options(s, options, err);
    if (st == ADVGP_OK && written && !(s->written = gp_copy_text(written))) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = gp_inputs_open(options, notes, &s->inputs, err);
    if (st == ADVGP_OK) st = connect_locked(s, err);
    if (st == ADVGP_OK) st = build_query(s, err);
    if (st == ADVGP_OK) st = init_columns(s, err);
    if (st == ADVGP_OK)
        *out = &s->base;
    else
        file_free(&s->base);
    return st;
}

advgp_status gp_source_files_open(const gp_file_options *options, gp_notes *notes, gp_source **out, advgp_error *err)
{
    return open_files(options, NULL, notes, out, err);
}

advgp_status gp_files_first_table(gp_source *source, size_t *n_rows, const char **shown, advgp_error *err)
{
    file_source *s = (file_source *)source;
    if (source->ops != &gp_source_duckdb || !s->sql || s->first >= s->inputs.n_tables)
        return gp_fail(err, ADVGP_EINVAL, "the source has no query over a table");
    const gp_input_table *table = &s->inputs.tables[s->first];
    gp_buffer sql = {0};
    gp_buffer_add(&sql, "SELECT count(*) FROM ");
    gp_buffer_quoted(&sql, table->name, '"');
    duckdb_result result = {0};
    advgp_status st = ADVGP_OK;
    end_pass(s);
    if (sql.failed)
        st = gp_no_memory(err);
    else if (duckdb_query(s->duckdb.connection, sql.p, &result) != DuckDBSuccess)
        st = gp_file_error(&s->inputs, true, duckdb_result_error(&result), err);
    *n_rows = st == ADVGP_OK ? (size_t)duckdb_value_int64(&result, 0, 0) : 0;
    *shown = s->inputs.files[table->first].shown;
    duckdb_destroy_result(&result);
    gp_buffer_fini(&sql);
    return st;
}

const char *gp_files_reader(void)
{
    static char name[64];
    snprintf(name, sizeof name, "DuckDB %s", duckdb_library_version());
    return name;
}
