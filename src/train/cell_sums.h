// cell_sums.h: the pass over all training rows that the joint posterior of cells needs: every row sorted into its cell,
// the sums of its features with themselves, with the global ones and with the target.
#pragma once
#include "data/shards.h"
#include "model/arrow.h"

typedef struct gp_cell_sums_options {
    const gp_shards *shards;
    const gp_features *global; // set
    size_t threads;
    bool finite;            // local processes are their features and nothing else: what these leave is no one's
    int (*stop)(void *ctx); // may be NULL; non-zero: ESTOPPED
    void *stop_ctx;
} gp_cell_sums_options;

// New sums of all training rows in the features of the cells, whose jitter and rows are noted on the way. Rows are read
// once, in their order, and a cell's are summed by one thread at a time: the sums do not depend on the threads.
advgp_status gp_cell_sums(const gp_cell_sums_options *options, gp_cells *cells, gp_arrow **out, advgp_error *err);
