// lengths.h: which encoded columns share a length-scale. Rows tell only so many apart: the columns that one text column
// was encoded to have one, and where the rows are few for the columns, those that say least about the target share one.
#pragma once
#include "base/status.h"
#include "data/schema.h"
#include "model/pass.h"

typedef struct gp_lengths {
    size_t n;   // length-scales
    size_t *of; // [d]: that of each encoded column, below n
} gp_lengths;

enum { GP_LENGTHS_MIN = 4, GP_ROWS_PER_LENGTH = 20 };

// As many as max(GP_LENGTHS_MIN, rows / GP_ROWS_PER_LENGTH), the last of them for all that is left over.
advgp_status gp_lengths_new(const gp_schema *schema, gp_batch rows, gp_lengths *out, advgp_error *err);
void gp_lengths_fini(gp_lengths *lengths);
