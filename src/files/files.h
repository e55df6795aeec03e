// files.h: a source of rows from what people have: files, folders, globs, standard input, and SQL over them. DuckDB
// reads and writes all of it, and is known to duckdb*.c alone.
#pragma once
#include "data/notes.h"
#include "data/schema.h"
#include "data/source.h"

extern const gp_source_ops gp_source_duckdb;
extern const gp_source_ops *const gp_source_family[]; // every kind of source, for tests and people; ends with NULL

enum { GP_SPOOL_LIMIT_GB = 64 };
typedef enum gp_file_dates { // what looks like a date in CSV and JSON lines
    GP_DATES_TEXT,           // stays text, which data/writing.h reads, as of every other source
    GP_DATES_LOOSE,          // is one of the reader's own, also of years of two digits: models of before counted on it
    GP_DATES_GUESSED,        // and the reader guesses how dates are written: models of format 1, and SQL
} gp_file_dates;
typedef enum gp_header { GP_HEADER_AUTO, GP_HEADER_YES, GP_HEADER_NO } gp_header;
typedef struct gp_file_options {
    const char *const *paths; // files, folders, globs, "-" for stdin
    size_t n_paths;
    const char *sql; // NULL: all paths are one table. Else one SELECT over them (query.h), each named by its stem, a
                     // single one also "data"
    const char *const *names; // the names of these tables where they are not the stems: one a path, NULL: the stem
    // The query came with a model and its files may have other names: a path is the table of its name, and what is left
    // of both goes together in order, tables in the order in which the query names them first.
    bool stored;
    // Results of a stored query that may be unknown, such as the target: columns that only they need and that no file
    // has are NULL, and conditions on them in WHERE are left out.
    const char *const *unknown;
    size_t n_unknown;
    const char *const *needed; // results that must be there: no column of such a name is made
    size_t n_needed;
    bool in_order; // rows in the order of the first table, as far as the query does not sort: joins are done as written
    const char *const *exact; // number columns to be read as text too, since a double keeps 15 digits
    size_t n_exact;
    // Columns of CSV files that are read as text, whatever their values look like: a file that has "yes" and "no" of
    // training's "yes", "no" and "maybe" is no file of booleans.
    const gp_schema *like;     // NULL: none. What was text in training, and numbers written with a comma
    const char *const *encode; // "COLUMN=onehot" and "COLUMN=target"
    size_t n_encode;
    const char *const *date_formats; // "COLUMN=FORMAT": such a column is read as it stands
    size_t n_date_formats;
    const char *const *texts; // further columns, by their names
    size_t n_texts;
    // Of CSV files, where they do not speak for themselves.
    gp_header header;
    char delimiter;        // 0: what the first lines show
    const char *const *na; // texts that mean a missing value, beside the usual ones
    size_t n_na;
    gp_file_dates dates;
    size_t memory_bytes;    // DuckDB's own limit; 0: 1 GiB
    size_t threads;         // 0: 1
    const char *temporary;  // where stdin and DuckDB spill; NULL: $TMPDIR, else /tmp
    double limit_bytes;     // of the temporary copy of stdin or a pipe; 0: GP_SPOOL_LIMIT_GB
    int (*stop)(void *ctx); // may be NULL: opening, and a query before its first row, end with ESTOPPED once it says so
    void *stop_ctx;
} gp_file_options;
// notes (may be NULL) gets what was decided about encodings.
advgp_status gp_source_files_open(const gp_file_options *options, gp_notes *notes, gp_source **out, advgp_error *err);
// How many rows the table has that the query names first, and how messages call it; EINVAL where there is none. Between
// passes.
advgp_status gp_files_first_table(gp_source *source, size_t *n_rows, const char **shown, advgp_error *err);
const char *gp_files_reader(void); // "DuckDB v1.4.4"
