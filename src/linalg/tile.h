// tile.h: products with few rows or columns at a time, which stay in the first cache and in registers: what BLAS, built
// for large ones, does slowly. Six rows by eight columns are one tile. A row's result never depends on the other rows.
#pragma once
#include "linalg/mat.h"

#include <stdbool.h>

enum { GP_TILE_ROWS = 6, GP_TILE_COLS = 8, GP_TILE_HALF = GP_TILE_COLS / 2 };

static inline size_t gp_tile_width(size_t cols) // rounded up to halves of tiles
{
    return (cols + GP_TILE_HALF - 1) / GP_TILE_HALF * GP_TILE_HALF;
}

// C = A B, for an A of few columns, the first of which is 1 and counts as such, as does the last row of B (squared
// distances, expanded, are such a product): there are at least two. B's ld is a multiple of GP_TILE_HALF: what stands
// there beyond its last column is read, and may be any number.
void gp_tile_product(gp_cmat A, gp_cmat B, gp_mat C);

// out[i] = a_i^T x for the rows a_i of A.
void gp_tile_dots(gp_cmat A, const double *x, double *out);

// out[i] = |T a_i|^2 for the rows a_i of A, T (M x n) as gp_tile_pack has laid it out from its transpose (n x M): upper
// triangular, if so said, and then its lower part is not read. packed has gp_tile_packed(M, n, upper) doubles.
size_t gp_tile_packed(size_t M, size_t n, bool upper);
void gp_tile_pack(gp_cmat TT, bool upper, double *packed);
void gp_tile_squares(size_t M, bool upper, const double *packed, gp_cmat A, double *out);
