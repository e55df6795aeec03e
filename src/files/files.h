// files.h: a source of rows from what people have: files, folders, globs, standard input, and SQL over them. DuckDB
// reads and writes all of it, and is known to duckdb*.c alone.
#pragma once
#include "data/notes.h"
#include "data/source.h"

extern const gp_source_ops gp_source_duckdb;
extern const gp_source_ops *const gp_source_family[]; // every kind of source, for tests and people; ends with NULL

enum { GP_SPOOL_LIMIT_GB = 64 };
typedef struct gp_file_options {
    const char *const *paths; // files, folders, globs, "-" for stdin
    size_t n_paths;
    const char *sql;          // over the paths, each a table named by its stem, a single one also "data"; NULL: all of
                              // them are one table
    const char *const *exact; // number columns to be read as text too, since a double keeps 15 digits
    size_t n_exact;
    size_t memory_bytes;    // DuckDB's own limit; 0: 1 GiB
    size_t threads;         // 0: 1
    const char *temporary;  // where stdin and DuckDB spill; NULL: $TMPDIR, else /tmp
    double limit_bytes;     // of the temporary copy of stdin or a pipe; 0: GP_SPOOL_LIMIT_GB
    int (*stop)(void *ctx); // may be NULL: opening ends with ESTOPPED once it says so
    void *stop_ctx;
} gp_file_options;
// notes (may be NULL) gets what was decided about encodings.
advgp_status gp_source_files_open(const gp_file_options *options, gp_notes *notes, gp_source **out, advgp_error *err);
// Writes the same table to a file: Parquet, CSV or JSON lines by its ending (.parquet, .csv, .jsonl, with .gz for the
// last two). Written beside and renamed: a failure leaves nothing and an existing file untouched.
advgp_status gp_files_export(const gp_file_options *options, const char *path, advgp_error *err);
const char *gp_files_reader(void); // "DuckDB v1.4.4"
