// duckdb.c: CSV, Parquet, JSON lines and SQL as a source. Each column is cast by
// the query to DOUBLE or VARCHAR, so that two kinds of vectors are read here and DuckDB's vectorised casts do the rest.
#include "base/alloc.h"
#include "data/notes.h"
#include "data/strings.h"
#include "files/duckdb_connect.h"
#include "files/file_columns.h"
#include "files/files.h"
#include "files/inputs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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
    char *sql;                    // the user's, or NULL
    size_t memory_bytes, threads; // as in gp_file_options
    char *temporary;
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

// A query about files that may turn out not to be UTF-8: those are then read as Latin-1 and the query is built again.
// DuckDB's message may speak of something else, when a query leaves columns out, so the files are asked too.
static advgp_status mark_latin1(file_source *s, const char *message, bool *again, advgp_error *err)
{
    gp_input_file *file = message ? gp_file_not_utf8(&s->inputs, message) : NULL;
    for (size_t i = 0; message && !file && i < s->inputs.n_files; i++)
        if (gp_file_turns_latin1(&s->inputs.files[i])) file = &s->inputs.files[i];
    *again = file != NULL;
    if (!file) return ADVGP_OK;
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
        return gp_fail(err, ADVGP_ENOMEM, "no memory for a query");
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
            st = gp_fail(err, ADVGP_ENOMEM, "no memory for the list of columns");
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
        st = gp_fail(err, ADVGP_ENOMEM, "no memory for a query");
    else if (duckdb_query(s->duckdb.connection, sql.p, &result) != DuckDBSuccess)
        st = gp_fail(err, ADVGP_EDATA, "%s is damaged, or no text table compressed by %s", file->shown,
                     file->compression);
    for (idx_t i = 0; st == ADVGP_OK && i < duckdb_row_count(&result); i++) {
        char *line = duckdb_value_varchar(&result, 0, i);
        gp_buffer_add(&head, "%s\n", line ? line : "");
        duckdb_free(line);
    }
    if (st == ADVGP_OK && head.failed)
        st = gp_fail(err, ADVGP_ENOMEM, "no memory for the first lines of %s", file->shown);
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
        st = gp_fail(err, ADVGP_ENOMEM, "no memory for a query");
    else if (duckdb_query(s->duckdb.connection, sql.p, &result) != DuckDBSuccess)
        st = gp_file_error(&s->inputs, false, duckdb_result_error(&result), err);
    const size_t n = st == ADVGP_OK ? duckdb_row_count(&result) : 0;
    char **seen = gp_alloc(n, sizeof *seen);
    size_t n_seen = 0;
    if (!seen && st == ADVGP_OK) st = gp_fail(err, ADVGP_ENOMEM, "no memory for the list of columns");
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
        if (!name) st = gp_fail(err, ADVGP_ENOMEM, "no memory for the list of columns");
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
    if (file->kind == GP_FILE_CSV && !file->delimiter) {
        advgp_status st = sniff_compressed(s, file, err);
        if (st != ADVGP_OK) return st;
    }
    bool again = true;
    advgp_status st = ADVGP_OK;
    while (st == ADVGP_OK && again) { // at most twice: the second time it is Latin-1
        gp_buffer sql = {0};
        gp_sql_read(&sql, file, 1, (gp_forced_types){0});
        st = sql.failed ? gp_fail(err, ADVGP_ENOMEM, "no memory for a query")
                        : describe_once(s, sql.p, out, &again, err);
        gp_buffer_fini(&sql);
    }
    return st == ADVGP_OK ? st : diagnose(s, file, st, err);
}

// Where the name stands in the list of exact columns; n_exact if it does not.
static size_t find_exact(const file_source *s, const char *name)
{
    size_t i = 0;
    while (i < s->n_exact && strcmp(s->exact[i], name) != 0) i++;
    return i;
}

// "SELECT * FROM ..." for files of one table, after looking at each of them.
static advgp_status table_query(file_source *s, size_t first, size_t n, gp_buffer *sql, advgp_error *err)
{
    gp_input_file *files = s->inputs.files + first;
    gp_file_columns all = {0};
    advgp_status st = describe_file(s, &files[0], &all, err);
    for (size_t i = 1; st == ADVGP_OK && i < n; i++) {
        gp_file_columns more = {0};
        st = describe_file(s, &files[i], &more, err);
        if (st == ADVGP_OK) st = gp_file_columns_merge(&all, &more, files[0].shown, files[i].shown, err);
        gp_file_columns_fini(&more);
    }
    const char **names = st == ADVGP_OK ? gp_alloc(all.n, sizeof *names) : NULL;
    const char **types = st == ADVGP_OK ? gp_alloc(all.n, sizeof *types) : NULL;
    if (st == ADVGP_OK && (!names || !types)) st = gp_fail(err, ADVGP_ENOMEM, "no memory for the list of columns");
    gp_forced_types forced = {.names = names, .types = types};
    for (size_t i = 0; st == ADVGP_OK && i < all.n; i++) {
        bool text = strcmp(all.types[i], "VARCHAR") == 0, number = gp_file_type_is_numeric(all.types[i]);
        if (!number && !text) continue;
        // A user's query expects numbers, and a decimal comma is known to the CSV reader alone.
        const size_t k = number && !s->sql && !files[0].decimal_comma ? find_exact(s, all.names[i]) : s->n_exact;
        if (k < s->n_exact) s->as_text[k] = true;
        names[forced.n] = all.names[i];
        types[forced.n++] = number && k == s->n_exact ? "DOUBLE" : "VARCHAR";
    }
    if (st == ADVGP_OK) gp_sql_read(sql, files, n, forced);
    gp_free(names);
    gp_free(types);
    gp_file_columns_fini(&all);
    return st;
}

static advgp_status make_view(file_source *s, const gp_input_table *table, bool also_data, advgp_error *err)
{
    gp_buffer select = {0}, sql = {0};
    advgp_status st = table_query(s, table->first, table->n_files, &select, err);
    if (st == ADVGP_OK) {
        gp_buffer_add(&sql, "CREATE OR REPLACE VIEW ");
        gp_buffer_quoted(&sql, table->name, '"');
        gp_buffer_add(&sql, " AS %s", select.p ? select.p : "");
        if (also_data && strcmp(table->name, "data") != 0)
            gp_buffer_add(&sql, "; CREATE OR REPLACE VIEW data AS %s", select.p ? select.p : "");
        st = sql.failed || select.failed ? gp_fail(err, ADVGP_ENOMEM, "no memory for a query") : run(s, sql.p, err);
    }
    gp_buffer_fini(&select);
    gp_buffer_fini(&sql);
    return st;
}

// Writes s->query; again after a file's encoding was corrected.
static advgp_status build_query(file_source *s, advgp_error *err)
{
    const char *user_sql = s->sql;
    gp_buffer query = {0};
    advgp_status st = ADVGP_OK;
    if (user_sql) {
        for (size_t i = 0; st == ADVGP_OK && i < s->inputs.n_tables; i++)
            st = make_view(s, &s->inputs.tables[i], s->inputs.n_tables == 1, err);
        size_t n = strlen(user_sql);
        while (n && strchr("; \n\t\r", user_sql[n - 1])) n--;
        gp_buffer_add(&query, "SELECT * FROM (%.*s\n)", (int)n, user_sql); // the line end closes a comment
    } else {
        st = table_query(s, 0, s->inputs.n_files, &query, err);
    }
    if (st == ADVGP_OK && query.failed) st = gp_fail(err, ADVGP_ENOMEM, "no memory for a query");
    if (st == ADVGP_OK) {
        gp_free(s->query);
        s->query = query.p;
    } else {
        gp_buffer_fini(&query);
    }
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

// *refused is DuckDB's message, where it does not want to; it lives until the pass ends.
static advgp_status start_pass(file_source *s, const char **refused, advgp_error *err)
{
    gp_buffer sql = {0};
    add_projection(s, &sql);
    advgp_status st = sql.failed ? gp_fail(err, ADVGP_ENOMEM, "no memory for a query") : ADVGP_OK;
    // random() in a user's SQL must give the same rows twice
    if (st == ADVGP_OK) st = run(s, "SELECT setseed(0.5)", err);
    *refused = NULL;
    if (st == ADVGP_OK && duckdb_prepare(s->duckdb.connection, sql.p, &s->prepared) != DuckDBSuccess)
        *refused = duckdb_prepare_error(s->prepared);
    else if (st == ADVGP_OK && duckdb_pending_prepared_streaming(s->prepared, &s->pending) != DuckDBSuccess)
        *refused = duckdb_pending_error(s->pending);
    else if (st == ADVGP_OK) {
        s->running = true;
        if (duckdb_execute_pending(s->pending, &s->result) != DuckDBSuccess) *refused = duckdb_result_error(&s->result);
    }
    gp_buffer_fini(&sql);
    return st;
}

// A byte that is no UTF-8 in the middle of a CSV file starts the pass again as Latin-1, in a new database, since some
// errors leave the old one unusable. Any other message is the end.
static advgp_status start_over(file_source *s, const char *message, advgp_error *err)
{
    bool again;
    const size_t row = s->row;
    advgp_status st = mark_latin1(s, message, &again, err);
    if (st == ADVGP_OK && !again) st = gp_file_error(&s->inputs, s->user_sql, message, err);
    if (st != ADVGP_OK) return st;
    end_pass(s);
    s->row = row;
    gp_duckdb_disconnect(&s->duckdb);
    st = gp_duckdb_connect(s->memory_bytes, s->threads, s->temporary, &s->duckdb, err);
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
        if (source->columns[i].type == GP_TEXT)
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

static void file_free(gp_source *source)
{
    file_source *s = (file_source *)source;
    end_pass(s);
    for (size_t i = 0; i < source->n_columns; i++) {
        if (s->casts) gp_free(s->casts[i]);
        if (s->numbers) gp_free(s->numbers[i]);
        if (s->texts) gp_free(s->texts[i]);
    }
    for (size_t i = 0; i < s->n_exact; i++) gp_free(s->exact[i]);
    gp_free(s->exact);
    gp_free(s->as_text);
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
        gp_buffer_add(label, "the result of --sql");
    else if (s->inputs.n_files == 1)
        gp_buffer_add(label, "%s", s->inputs.files[0].shown);
    else
        gp_buffer_add(label, "%s and %zu more", s->inputs.files[0].shown, s->inputs.n_files - 1);
    return label->failed ? gp_fail(err, ADVGP_ENOMEM, "no memory for a name") : ADVGP_OK;
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
    bool ok = types && s->casts && s->values && s->numbers && s->texts;
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
    if (st == ADVGP_OK && !ok) st = gp_fail(err, ADVGP_ENOMEM, "no memory for %zu columns", n);
    gp_free(types);
    gp_buffer_fini(&label);
    gp_file_columns_fini(&list);
    return st;
}

static advgp_status keep_options(file_source *s, const gp_file_options *options, advgp_error *err)
{
    s->memory_bytes = options->memory_bytes;
    s->threads = options->threads;
    s->sql = options->sql ? gp_copy_text(options->sql) : NULL;
    s->temporary = options->temporary ? gp_copy_text(options->temporary) : NULL;
    s->exact = gp_alloc(options->n_exact, sizeof *s->exact);
    s->as_text = gp_alloc(options->n_exact, sizeof *s->as_text);
    bool ok = (s->sql || !options->sql) && (s->temporary || !options->temporary) && s->exact && s->as_text;
    for (size_t i = 0; ok && i < options->n_exact; i++) {
        s->exact[i] = gp_copy_text(options->exact[i]);
        s->n_exact = i + 1;
        ok = s->exact[i] != NULL;
    }
    return ok ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for a source");
}

advgp_status gp_source_files_open(const gp_file_options *options, gp_notes *notes, gp_source **out, advgp_error *err)
{
    *out = NULL;
    file_source *s = gp_alloc(1, sizeof *s);
    if (!s) return gp_fail(err, ADVGP_ENOMEM, "no memory for a source");
    s->base.ops = &gp_source_duckdb;
    s->notes = notes;
    s->user_sql = options->sql != NULL;
    s->vector_rows = duckdb_vector_size();
    advgp_status st = keep_options(s, options, err);
    if (st == ADVGP_OK) st = gp_inputs_open(options, notes, &s->inputs, err);
    if (st == ADVGP_OK) st = gp_duckdb_connect(s->memory_bytes, s->threads, s->temporary, &s->duckdb, err);
    if (st == ADVGP_OK) st = build_query(s, err);
    if (st == ADVGP_OK) st = init_columns(s, err);
    if (st == ADVGP_OK)
        *out = &s->base;
    else
        file_free(&s->base);
    return st;
}

static const char *export_format(const char *path)
{
    if (strstr(path, ".parquet")) return "FORMAT parquet";
    if (strstr(path, ".json") || strstr(path, ".ndjson")) return "FORMAT json";
    return "FORMAT csv, HEADER true";
}

advgp_status gp_files_export(const gp_file_options *options, const char *path, advgp_error *err)
{
    gp_source *source = NULL;
    advgp_status st = gp_source_files_open(options, NULL, &source, err);
    if (st != ADVGP_OK) return st;
    gp_buffer beside = {0}, sql = {0};
    size_t n = strlen(path);
    gp_buffer_add(&beside, "%s.tmp-%ld", path, (long)getpid());
    gp_buffer_add(&sql, "COPY (%s) TO ", ((file_source *)source)->query);
    if (beside.p) gp_buffer_quoted(&sql, beside.p, '\'');
    gp_buffer_add(&sql, " (%s%s)", export_format(path),
                  n > 3 && strcmp(path + n - 3, ".gz") == 0 ? ", COMPRESSION gzip" : "");
    if (sql.failed || beside.failed) st = gp_fail(err, ADVGP_ENOMEM, "no memory for a query");
    if (st == ADVGP_OK) st = run((file_source *)source, sql.p, err);
    if (st == ADVGP_OK && rename(beside.p, path) != 0)
        st = gp_fail(err, ADVGP_EIO, "cannot write %s: %s", path, strerror(errno));
    if (st != ADVGP_OK && beside.p) unlink(beside.p);
    gp_buffer_fini(&beside);
    gp_buffer_fini(&sql);
    gp_source_free(source);
    return st;
}

const char *gp_files_reader(void)
{
    static char name[64];
    snprintf(name, sizeof name, "DuckDB %s", duckdb_library_version());
    return name;
}
