// tableout.h: a table written row by row: CSV, JSON lines or Parquet by the ending of its name. It appears whole or not
// at all; "-" is CSV on standard output.
//
// Parquet has no rows: these are staged (data/stage.h), a large table in a temporary file ($TMPDIR, else /tmp). So it
// needs room there, and little more memory than others.
#pragma once
#include "base/status.h"
#include "data/source.h"

typedef struct gp_tableout gp_tableout;

// EINVAL for an ending that is none of ours (a device or pipe gets CSV). Names are copied. exact (may be NULL) marks
// the number columns that gp_tableout_digits fills.
advgp_status gp_tableout_open(const char *path, const char *const *names, const gp_column_type *types,
                              const bool *exact, size_t n, gp_tableout **out, advgp_error *err);

// Only whether the name is good for a table: asked before any work.
advgp_status gp_tableout_check(const char *path, advgp_error *err);

// The cells of a row, from the first column to the last, then its end.
void gp_tableout_number(gp_tableout *t, double value); // as many digits as it needs; missing if not finite
// A number of which the digits are known too: kept as they are where it is whole. In Parquet the column is one of whole
// numbers if all of it is; 38 digits are the most.
void gp_tableout_digits(gp_tableout *t, const char *p, size_t n, double value);
void gp_tableout_boolean(gp_tableout *t, double value);         // true or false; missing if NaN
void gp_tableout_time(gp_tableout *t, double seconds);          // since 2000-01-01: 2026-05-01 or 2026-05-01 12:30:00
void gp_tableout_text(gp_tableout *t, const char *p, size_t n); // NULL: missing
advgp_status gp_tableout_end_row(gp_tableout *t, advgp_error *err);

// Both free the table. A commit that fails has left nothing behind.
advgp_status gp_tableout_commit(gp_tableout *t, advgp_error *err);
void gp_tableout_abandon(gp_tableout *t); // NULL is fine
