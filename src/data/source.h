// source.h: a table of named, typed columns that arrives in chunks, wherever it comes from. The table of functions
// below is the contract; memory_source.c (a caller's arrays), packed_source.c, synthetic.c and files/duckdb.c (files
// and SQL) keep it, and source_test.c asks it of each.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gp_column_type {
    GP_NUMBER,
    GP_BOOLEAN, // 0 or 1
    GP_TIME,    // dates and timestamps, as seconds since 2000-01-01 00:00
    GP_TEXT,
} gp_column_type;

typedef struct gp_column {
    char *name;
    gp_column_type type;
    bool exact; // a number column that comes as text too
} gp_column;

typedef struct gp_text {
    const char *p; // UTF-8, not NUL-terminated; NULL where missing
    size_t n;
} gp_text;

// One column of a chunk: numbers for every type but text. A missing value is NaN; an infinity may appear and counts as
// missing. A number column may have its numbers as text beside them (gp_file_options.exact).
typedef struct gp_values {
    const double *number;
    const gp_text *text;
} gp_values;

typedef struct gp_chunk {
    size_t n_rows;            // at least 1
    size_t first_row;         // number of its first row in the source, from 0
    const gp_values *columns; // n_columns of the source; both pointers NULL where the column is not wanted
} gp_chunk;

typedef struct gp_source gp_source;

// One thread at a time. After open, and after rewind, next gives the rows from the first; two passes give the same rows
// in the same order. After a failure only rewind and free are allowed.
typedef struct gp_source_ops {
    const char *name;
    // *chunk is the next one, or NULL after the last. It belongs to the source and lives until the following call.
    advgp_status (*next)(gp_source *source, const gp_chunk **chunk, advgp_error *err);
    advgp_status (*rewind)(gp_source *source, advgp_error *err);
    void (*free)(gp_source *source);
} gp_source_ops;

bool gp_same_name(const char *one, const char *other); // but for blanks around them

enum { GP_NO_COLUMN = -1 };
struct gp_source {
    const gp_source_ops *ops;
    gp_column *columns;
    size_t n_columns;
    bool *wanted; // n_columns, all true at first. A caller may clear some before a pass: the column is then not read.
    char *label;  // how messages call it: the file, or "3 files in DIR"
    bool unnamed; // there is no header line: columns are called c1, c2, ...
    bool headed;  // the names are those of a header line of text
    long wordy;   // after EDATA of next: a column of words among numbers, which can be read as text; or GP_NO_COLUMN
};

extern const gp_source_ops gp_source_memory, gp_source_packed, gp_source_synthetic;

advgp_status gp_source_next(gp_source *source, const gp_chunk **chunk, advgp_error *err);
advgp_status gp_source_rewind(gp_source *source, advgp_error *err);
void gp_source_free(gp_source *source); // NULL is fine

// Blanks around a name do not count, where no other column has the name as it stands.
long gp_source_find(const gp_source *source, const char *name); // index, or GP_NO_COLUMN
// The same, where absence is the user's slip: EDATA that names the column, its nearest neighbour or the columns there
// are.
advgp_status gp_source_require(const gp_source *source, const char *name, const char *role, size_t *index,
                               advgp_error *err);

// For the implementations: fills the common part for n columns (names copied), all wanted; undone by gp_source_fini.
advgp_status gp_source_init(gp_source *source, const gp_source_ops *ops, const char *label, const char *const *names,
                            const gp_column_type *types, size_t n, advgp_error *err);
void gp_source_fini(gp_source *source);
const char *gp_column_type_name(gp_column_type type);

// ---- memory: a caller's arrays --------------------------------------------------------------------------------------
typedef struct gp_array {
    const char *name;
    const double *number;    // n_rows values `stride` apart (in doubles), or NULL
    size_t stride;           // 1 for a plain array; the row length for a column of a row-major matrix
    const char *const *text; // n_rows strings, NULL where missing; used where number is NULL
} gp_array;
// The arrays are borrowed until free. chunk_rows bounds a chunk (0: a sensible one).
advgp_status gp_source_memory_open(const gp_array *arrays, size_t n_arrays, size_t n_rows, size_t chunk_rows,
                                   gp_source **out, advgp_error *err);

// ---- synthetic: a smooth function of d inputs with noise, for benchmarks --------------------------------------------
// Columns x1..xd and y; a pure function of (seed, row), so any number of rows costs no memory.
advgp_status gp_source_synthetic_open(size_t n_rows, size_t d, uint64_t seed, gp_source **out, advgp_error *err);
