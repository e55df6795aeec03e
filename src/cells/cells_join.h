// cells_join.h: the joint posterior of the global part and the cells: a pass over all training rows sorts every row
// into its cell and sums its features with themselves, with the global ones and with the target; then the arrow
// (arrow.h). A second pass gives every row to the cell across its nearest border as well: the global part has counted
// it once, but what a cell says near its border is then known from both sides.
#pragma once
#include "cluster/cluster.h"
#include "model/arrow.h"
#include "model/theta.h"
#include "shards/shards.h"

// A cell of so many rows needs none from beyond its borders: another pass over all of them gains too little.
enum { GP_MANY_CELL_ROWS = 4000 };

typedef struct gp_cells_join_options {
    const gp_shards *shards;
    const gp_features *global; // set, of this spec by this theta:
    const gp_feature_spec *spec;
    const double *theta;
    const gp_stats *stats; // of the global part over the same rows
    size_t threads;
    gp_cluster *cluster;    // whose workers sum as well; NULL: there is none
    bool finite;            // local processes are their features and nothing else: what these leave is no one's
    int (*stop)(void *ctx); // may be NULL; non-zero: ESTOPPED
    void *stop_ctx;
} gp_cells_join_options;

// theta: noise (found near the one that it holds) and q(w) of the global part; cells: their features kept, jitter,
// posterior and rows. The sums do not depend on who adds them up (cells_sums.h).
advgp_status gp_cells_join(const gp_cells_join_options *options, gp_cells *cells, gp_theta_layout layout, double *theta,
                           double *neg_elbo, advgp_error *err);
