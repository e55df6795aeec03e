// usable.h: which rows of a chunk count: those with a target, a positive weight and, where rows with gaps are dropped,
// no gap. The first pass and every later one ask here, so a row's number among the usable ones is the same in all of
// them.
#pragma once
#include "data/coerce.h"
#include "data/schema.h"
#include "data/source.h"
#include "data/split.h"

typedef struct gp_roles {
    long target, weights, group; // columns of the source, or GP_NO_COLUMN
    const size_t *gaps;          // columns in which a gap drops the row
    size_t n_gaps;
    bool log_target;
    double log_offset; // as in gp_schema
    bool keep_all;     // prediction: every row counts; a missing target is NaN, weights are not asked
} gp_roles;

typedef struct gp_usable {
    size_t n;           // usable rows of the chunk
    size_t *rows;       // n: their places in the chunk
    double *y, *w;      // n: target (its logarithm, if so) and weight
    double *group_hash; // n: for a GROUP split
    size_t before;      // usable rows of the chunks before
    size_t capacity;
    size_t n_read, n_no_target, n_no_weight, n_gaps; // counts over all chunks
    gp_coerced target, weights, group;               // buffers
} gp_usable;                                         // {0} at first

void gp_usable_fini(gp_usable *u);
void gp_usable_rewind(gp_usable *u); // before a new pass
// EDATA on a negative or missing weight, and on a target <= 0 under a logarithm.
advgp_status gp_usable_chunk(gp_usable *u, const gp_source *source, const gp_roles *roles, const gp_split *split,
                             const gp_chunk *chunk, advgp_error *err);
