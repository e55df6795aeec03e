// mat.h: matrix views. Storage is row major everywhere in advgp: element (i, j) of a view is p[i * ld + j], ld >= cols.
// A view is passed by value and owns nothing. gp_cmat is the same view of memory that is only read.
#pragma once
#include <stddef.h>

typedef struct gp_mat {
    double *p;
    size_t rows, cols, ld;
} gp_mat;

typedef struct gp_cmat {
    const double *p;
    size_t rows, cols, ld;
} gp_cmat;

// In single precision, where a product is (strips.h).
typedef struct gp_mat32 {
    float *p;
    size_t rows, cols, ld;
} gp_mat32;

typedef struct gp_cmat32 {
    const float *p;
    size_t rows, cols, ld;
} gp_cmat32;

static inline gp_mat gp_mat_of(double *p, size_t rows, size_t cols)
{
    return (gp_mat){p, rows, cols, cols};
}

static inline gp_cmat gp_cmat_of(const double *p, size_t rows, size_t cols)
{
    return (gp_cmat){p, rows, cols, cols};
}

static inline gp_cmat gp_ro(gp_mat A)
{
    return (gp_cmat){A.p, A.rows, A.cols, A.ld};
}

// The rows x cols part of A whose first element is (row, col).
static inline gp_mat gp_mat_part(gp_mat A, size_t row, size_t col, size_t rows, size_t cols)
{
    return (gp_mat){A.p + row * A.ld + col, rows, cols, A.ld};
}

static inline gp_cmat gp_cmat_part(gp_cmat A, size_t row, size_t col, size_t rows, size_t cols)
{
    return (gp_cmat){A.p + row * A.ld + col, rows, cols, A.ld};
}
