// cells_sums.h: sums over all training rows of the features of some cells with themselves, with the global ones and
// with the target. Rows are read in their order, and a cell's are summed by one thread at a time: the sums depend
// neither on the threads nor on which cells are summed together.
#pragma once
#include "model/arrow.h"
#include "shards/shards.h"

typedef struct gp_cells_sums {
    const gp_shards *shards;
    const gp_features *global;    // set
    const gp_cell_finder *finder; // of all cells
    gp_cells *cells;              // that are summed, with features kept: `first` and those after it
    size_t first;
    gp_arrow *arrow; // of these: sums are added to what is there, rows to cells->rows
    bool finite;     // local processes are their features and nothing else: what these leave is no one's
    // The rows of the cells; or those for which they are the second nearest, as far as the posterior of the cells can
    // be trusted about them, which then has been found with this noise and mean of the global part:
    gp_nearness nearness;
    double ln_sigma;
    const double *mu;
    size_t threads;
    int (*stop)(void *ctx); // may be NULL; non-zero: ESTOPPED
    void *stop_ctx;
} gp_cells_sums;
advgp_status gp_cells_sums_run(const gp_cells_sums *sums, advgp_error *err);
