// stage.h: rows on their way into a Parquet file. They are kept by DuckDB, in memory and, beyond half a gigabyte or a
// quarter of what there is, in a temporary file: Parquet has columns, and which types these need may be known only when
// the last row is there.
#pragma once
#include "base/status.h"

#include <stddef.h>

typedef struct gp_stage gp_stage;
typedef struct gp_stage_rows gp_stage_rows; // some rows, before they are added
typedef enum gp_stage_type { GP_STAGE_NUMBER, GP_STAGE_BOOLEAN, GP_STAGE_TEXT } gp_stage_type;

advgp_status gp_stage_open(const gp_stage_type *types, size_t n, gp_stage **out, advgp_error *err);

// Threads may each fill rows of their own, of a stage that is open: the cells of a row, from the first column to the
// last, then its end.
advgp_status gp_stage_rows_new(const gp_stage *s, gp_stage_rows **out, advgp_error *err);
void gp_stage_rows_free(gp_stage_rows *r); // NULL is fine
void gp_stage_number(gp_stage_rows *r, double value);
void gp_stage_boolean(gp_stage_rows *r, int value);
void gp_stage_text(gp_stage_rows *r, const char *p, size_t n);
void gp_stage_missing(gp_stage_rows *r); // in a column of any type
void gp_stage_end_row(gp_stage_rows *r);
// Adds the rows behind those that are there, and empties them; tells whether all of their cells went well.
advgp_status gp_stage_add(gp_stage *s, gp_stage_rows *r, advgp_error *err);

// Writes the file, under these names and cast to these types of SQL. The caller sees to it that it appears whole.
advgp_status gp_stage_export(gp_stage *s, const char *const *names, const char *const *types, const char *path,
                             advgp_error *err);
void gp_stage_free(gp_stage *s); // NULL is fine
