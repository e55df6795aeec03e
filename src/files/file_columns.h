// file_columns.h: names and types of the columns of files as DuckDB describes them, in plain text; no database here.
#pragma once
#include "base/status.h"
#include "data/source.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gp_file_columns {
    char **names, **types; // "x", "BIGINT"
    size_t n;
} gp_file_columns; // {0} is empty

void gp_file_columns_fini(gp_file_columns *list);
// Merges the columns of one more file into those of the first: the same names in any order; numbers of any kind are
// numbers, and what differs otherwise is text. EDATA names the file (shown) and the column that differs from the first
// file's.
advgp_status gp_file_columns_merge(gp_file_columns *all, const gp_file_columns *more, const char *first,
                                   const char *shown, advgp_error *err);

bool gp_file_type_is_numeric(const char *type);
bool gp_file_type_is_date(const char *type);
bool gp_file_type_is_whole(const char *type);
// What a column is to advgp, and the expression with one %s that casts it to DOUBLE or VARCHAR.
gp_column_type gp_file_type_classify(const char *type, const char **cast);
char *gp_file_cast(const char *format, const char *name); // the expression for that column; NULL without memory
