// sample.h: a bounded random sample of the rows of a stream (Vitter's algorithm R), for what a pass cannot sum up, such
// as quantiles. Which rows are in it depends on the seed and their numbers alone, not on how they come in chunks. The
// sample knows slots and weights; whoever has a column keeps its values by slot.
#pragma once
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gp_pick {
    size_t k, slot; // row k of the present chunk goes to the slot, and whatever was there goes
} gp_pick;

typedef struct gp_sample {
    size_t capacity; // slots
    size_t n;        // of them in use: all rows, as long as they fit
    uint64_t seed;
    double *w;      // capacity: weights of the rows
    gp_pick *picks; // of the present chunk, in the order in which they are to be done
    size_t n_picks, picks_capacity;
} gp_sample;

// n_columns share the memory that a sample may take: many columns have fewer rows.
advgp_status gp_sample_init(gp_sample *sample, size_t n_columns, uint64_t seed, advgp_error *err);
void gp_sample_fini(gp_sample *sample);
// Rows `before`, before + 1, ... of the stream, n of them with weights w.
advgp_status gp_sample_chunk(gp_sample *sample, size_t before, size_t n, const double *w, advgp_error *err);
