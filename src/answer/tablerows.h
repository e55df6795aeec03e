// tablerows.h: some rows of a table that is written, as its file wants them: text for CSV and JSON lines, staged cells
// for Parquet. Threads may each fill rows of their own; the table (tableout.h) takes them in order.
#pragma once
#include "base/text.h"
#include "data/source.h"
#include "files/stage.h"

typedef enum gp_table_format { GP_TABLE_CSV, GP_TABLE_JSON_LINES, GP_TABLE_PARQUET } gp_table_format;
// What gp_tablerows_digits has written into a column so far.
typedef enum gp_digit_kind { GP_NO_DIGITS, GP_DIGITS_LONG, GP_DIGITS_WIDE, GP_DIGITS_MIXED } gp_digit_kind;

typedef struct gp_tablerows {
    gp_table_format format;
    const char *const *names; // n_columns, borrowed
    size_t n_columns, column; // the column that comes next
    gp_digit_kind *digits;    // n_columns
    gp_buffer text;
    gp_stage_rows *staged; // GP_TABLE_PARQUET
} gp_tablerows;

// stage is NULL but for Parquet.
advgp_status gp_tablerows_init(gp_tablerows *r, gp_table_format format, const char *const *names, size_t n_columns,
                               const gp_stage *stage, advgp_error *err);
void gp_tablerows_fini(gp_tablerows *r); // also after a failure, and of {0}

// The cells of a row, from the first column to the last, then its end. Memory that fails is told when the rows are
// added to their table.
void gp_tablerows_number(gp_tablerows *r, double value); // as many digits as it needs; missing if not finite
// A number of which the digits are known too: kept as they are where it is whole. In Parquet the column is one of whole
// numbers if all of it is; 38 digits are the most.
void gp_tablerows_digits(gp_tablerows *r, const char *p, size_t n, double value);
void gp_tablerows_boolean(gp_tablerows *r, double value);         // true or false; missing if NaN
void gp_tablerows_time(gp_tablerows *r, double seconds);          // since 2000-01-01: 2026-05-01 or with 12:30:00
void gp_tablerows_text(gp_tablerows *r, const char *p, size_t n); // NULL: missing
void gp_tablerows_end(gp_tablerows *r);
void gp_tablerows_names(gp_tablerows *r); // the first line of a CSV file
