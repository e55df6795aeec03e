// strips.h: the two large products of a pass over rows, for blocks of some hundred rows: A^T A, and (A W) o S with its
// sums, which is never stored. A matrix is packed into strips of three vectors, row after row; a strip stays in the
// cache while the rows go by. BLAS packs both sides of every product anew and is slow where they are small.
#pragma once
#include "linalg/mat.h"

enum { GP_STRIP_LANES = 8 }; // doubles of the widest vector

// Doubles in a vector of this CPU: 4 or 8; 0 where it has too few registers for a tile, and BLAS is the better choice.
size_t gp_strip_lanes(void);

// cols, rounded up to whole vectors.
size_t gp_strip_width(size_t lanes, size_t cols);

// A in strips: A.rows * gp_strip_width(lanes, A.cols) doubles, with zeros beyond its last column.
void gp_strip_pack(size_t lanes, gp_cmat A, double *packed);

// upper(C) += A^T A. C has gp_strip_width(lanes, cols) rows and columns; some of its lower part is written.
void gp_strip_gram(size_t lanes, size_t rows, size_t cols, const double *packed, gp_mat C);

// H = (A W) o S over some rows: XH += X^T H, and the sums of the rows of H. S and XH are read and written up to
// gp_strip_width(lanes, S.cols) columns: what stands beyond the last one has to be finite.
typedef struct gp_strip_slopes {
    gp_cmat A;        // rows x inner
    const double *W;  // inner x cols, packed
    gp_cmat S, X;     // rows x cols, rows x k
    gp_mat XH;        // k x cols
    double *row_sums; // [rows * GP_STRIP_LANES]: to be added up row by row
} gp_strip_slopes;
void gp_strip_add_slopes(size_t lanes, const gp_strip_slopes *s);

// ---- in single precision: twice as many numbers in a vector, so lanes are 2 * gp_strip_lanes() ----------------------
enum { GP_STRIP_LANES32 = 2 * GP_STRIP_LANES };

// Into the part of out that has the size of A; what is smaller than 1e-30 becomes 0, and what is beyond a float,
// infinite.
void gp_narrow(gp_cmat A, gp_mat32 out);
void gp_strip_pack32(size_t lanes, gp_cmat A, float *packed); // as gp_strip_pack

typedef struct gp_strip_slopes32 {
    gp_cmat32 A;
    const float *W;
    gp_cmat32 S, X;
    gp_mat32 XH;
    float *row_sums; // [rows * GP_STRIP_LANES32]
} gp_strip_slopes32;
void gp_strip_add_slopes32(size_t lanes, const gp_strip_slopes32 *s);
