// arrow.h: the joint posterior of a global part and many cells from additive statistics. Cells never meet each other,
// so the precision is an arrow: eliminating the cells first fills nothing in, and leaves the statistics of a global
// model, for which qw.h has the rest. docs/math.md 10.
#pragma once
#include "model/cells.h"
#include "model/qw.h"

// Sums over the rows of one cell, l its features, g the global ones, both in the order of the rows' coming.
typedef struct gp_arrow_sums {
    gp_mat A;        // M_c x M_c: sum of w l l^T, upper triangle
    gp_mat G;        // M_c x M_g: sum of w l g^T
    double *b;       // [M_c]: sum of w l y
    double residual; // sum of w (k_c(x, x) - |l|^2)
} gp_arrow_sums;

// Workspace for the statistics of these cells (only the shape counts) and a global part of M_g features.
typedef struct gp_arrow gp_arrow;
advgp_status gp_arrow_new(const gp_cells *cells, gp_arrow **out, advgp_error *err);
void gp_arrow_free(gp_arrow *arrow);
gp_arrow_sums *gp_arrow_cell(gp_arrow *arrow, size_t cell); // owned, all zero at first
double gp_arrow_bytes(const gp_cells_shape *shape);         // that a workspace takes

// The collapsed bound of all rows at this noise. global: A_gg, b_g, yy, n and residual over all rows.
advgp_status gp_arrow_bound(gp_arrow *arrow, const gp_stats *global, double ln_sigma, double *neg_elbo,
                            advgp_error *err);
// The ln sigma near the given one that minimises it.
advgp_status gp_arrow_best_noise(gp_arrow *arrow, const gp_stats *global, double *ln_sigma, advgp_error *err);
// The posterior: mu and packed U of the global part; then, from its mu, mu, U and W of every cell. Between the two a
// cell may be given rows beyond its border: what the global part says is then theirs as well.
advgp_status gp_arrow_global(gp_arrow *arrow, const gp_stats *global, double ln_sigma, double *mu, double *U,
                             double *neg_elbo, advgp_error *err);
advgp_status gp_arrow_cells(gp_arrow *arrow, double ln_sigma, const double *mu, gp_cells *cells, advgp_error *err);
