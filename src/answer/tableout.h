// tableout.h: a table written row by row: CSV, JSON lines or Parquet by the ending of its name. It appears whole or not
// at all; "-" is CSV on standard output.
//
// Parquet has no rows: these are staged (files/stage.h), a large table in a temporary file ($TMPDIR, else /tmp). So it
// needs room there, and little more memory than others.
#pragma once
#include "answer/tablerows.h"

typedef struct gp_tableout gp_tableout;

// EINVAL for an ending that is none of ours (a device or pipe gets CSV). Names are copied. exact (may be NULL) marks
// the number columns that gp_tablerows_digits fills.
advgp_status gp_tableout_open(const char *path, const char *const *names, const gp_column_type *types,
                              const bool *exact, size_t n, gp_tableout **out, advgp_error *err);

// Only whether the name is good for a table: asked before any work.
advgp_status gp_tableout_check(const char *path, advgp_error *err);

// Rows to be filled for this table, which must outlive them; undone by gp_tablerows_fini.
advgp_status gp_tableout_rows(const gp_tableout *t, gp_tablerows *rows, advgp_error *err);
// Adds them behind those that are there, and empties them. One thread at a time.
advgp_status gp_tableout_add(gp_tableout *t, gp_tablerows *rows, advgp_error *err);

// Both free the table. A commit that fails has left nothing behind.
advgp_status gp_tableout_commit(gp_tableout *t, advgp_error *err);
void gp_tableout_abandon(gp_tableout *t); // NULL is fine
