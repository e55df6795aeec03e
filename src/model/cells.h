// cells.h: local processes beside a global one. The space of inputs is cut into cells, a row belongs to the nearest
// centre, and in each cell a process of its own adds to the global one: k(x, x') = k_g(x, x') + [same cell] k_c(x, x').
// A row has the global features and those of its cell, whatever the number of cells. docs/math.md 10.
#pragma once
#include "feature/features.h"
#include "model/predict.h"

typedef struct gp_cells_shape {
    size_t n, d, M_g; // cells, inputs, features of the global part
    const gp_kernel *kernel;
    gp_trend trend;  // of every cell
    const size_t *m; // [n]: inducing inputs of each cell
} gp_cells_shape;

// Everything about the cells that a model keeps: where they are, their features, and their share of the posterior
// (arrow.h). Arrays of all cells lie one after the other; the *_at say where a cell begins.
typedef struct gp_cells {
    gp_cells_shape shape;
    size_t n_theta, n_mu, n_U, n_W, n_z;        // of all cells; n_z: inducing inputs
    size_t *m, *theta_at, *mu_at, *U_at, *W_at; // [n + 1]
    double *scale;                              // [d]: the weight of an input in a distance
    double *centres;                            // n x d, standardised inputs
    double *rows;                               // [n]: training rows, for people
    double *jitter;                             // [n]: the rung that K_mm needed (factor.h); 0: not known yet
    double *theta;                              // a cell: ln sigma of its own fit, then as in theta.h up to mu
    double *mu;                                 // a cell: [M_c]
    double *U; // a cell: M_c (M_c + 1) / 2, packed upper triangle: the precision of the cell alone is U^-1 U^-T
    double *W; // a cell: M_c x M_g, U times the precision that cell and global part share
    gp_features **kept; // [n]: features of all cells, if gp_cells_keep made them; else NULL
} gp_cells;

advgp_status gp_cells_new(const gp_cells_shape *shape, gp_cells **out, advgp_error *err);
gp_cells gp_cells_sizes(const gp_cells_shape *shape); // the sizes (n_*) alone, without memory
void gp_cells_free(gp_cells *cells);
size_t gp_cells_M(const gp_cells *cells, size_t cell);    // its features
size_t gp_cells_trend_features(gp_trend trend, size_t d); // 0, 1 or 1 + d
// New features of a cell, set by its theta.
advgp_status gp_cells_features(const gp_cells *cells, size_t cell, gp_features **out, advgp_error *err);
// Those of all cells, kept until the cells are freed: theta stays as it is from now on. Predictors that come and go, as
// during a training, take them instead of making their own.
advgp_status gp_cells_keep(gp_cells *cells, advgp_error *err);

// ---- which cell -----------------------------------------------------------------------------------------------------

// The nearest centre: scale^2-weighted squared distances, without the square of x, which all share. One loop over
// centres for each input, so that the answer for a row does not depend on the rows beside it.
typedef struct gp_cell_finder {
    size_t n, d;
    double *weights; // d x n: -2 scale^2 centre
    double *norms;   // [n]: |scale centre|^2
} gp_cell_finder;
advgp_status gp_cell_finder_new(size_t n, size_t d, const double *scale, const double *centres, gp_cell_finder **out,
                                advgp_error *err);
void gp_cell_finder_free(gp_cell_finder *finder);
// distances: scratch of n.
size_t gp_cell_of(const gp_cell_finder *finder, const double *x, double *distances);
// Rows of X in the order of their cells, and in a cell in their own: order[X.rows] are places in X, those of cell c are
// order[first[c]] .. order[first[c + 1] - 1]; first has n + 1. which[X.rows] and distances[n] are scratch. Its cell is
// the nearest, or the one after that: across the nearest border (there must be two).
typedef enum gp_nearness { GP_NEAREST, GP_SECOND_NEAREST } gp_nearness;
void gp_cell_sort(const gp_cell_finder *finder, gp_nearness nearness, gp_cmat X, size_t *which, size_t *order,
                  size_t *first, double *distances);

// ---- prediction -----------------------------------------------------------------------------------------------------

// Global part as for gp_predictor_new, its q(w) being that of the joint posterior; cells are borrowed for the
// predictor's life.
advgp_status gp_cells_predictor_new(const gp_feature_spec *spec, const double *theta, const gp_cells *cells,
                                    gp_predictor **out, advgp_error *err);
