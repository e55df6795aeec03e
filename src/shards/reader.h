// reader.h: rows of shards in the order training wants them: the next batch of a step, all rows of a part.
#pragma once
#include "model/pass.h"
#include "shards/shards.h"

typedef struct gp_reader {
    const gp_shards *shards;
    size_t capacity;   // rows that fit
    double *X, *y, *w; // [capacity x d], [capacity], [capacity]
} gp_reader;

advgp_status gp_reader_new(const gp_shards *shards, size_t capacity, gp_reader *out, advgp_error *err);
void gp_reader_fini(gp_reader *reader);

// Some training shards; their rows seen as one endless ring.
typedef struct gp_ring {
    const uint32_t *shards; // NULL: all of them, in order
    size_t n_shards;
} gp_ring;
size_t gp_ring_rows(const gp_shards *shards, gp_ring ring);
double gp_ring_weight(const gp_shards *shards, gp_ring ring);

// Rows `first` .. of a ring, n of them (at most capacity, and no row twice). Shards are shuffled inside, so any stretch
// is a random sample.
advgp_status gp_reader_ring(gp_reader *reader, gp_ring ring, size_t first, size_t n, gp_batch *batch, advgp_error *err);

// Calls visit for all rows of a part in order, capacity rows at a time, the last time what is left. At most max_rows
// (0: all).
typedef advgp_status (*gp_visit)(void *ctx, gp_batch rows, advgp_error *err);
advgp_status gp_reader_visit(gp_reader *reader, gp_part part, size_t max_rows, gp_visit visit, void *ctx,
                             advgp_error *err);
