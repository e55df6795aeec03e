// dense.h: the products of dense algebra that advgp needs, on CBLAS. With blas.h and factor.h the only place that knows
// BLAS; whoever computes has reserved room for it (blas.h).
// Views must not overlap unless a comment says so. Any dimension may be 0. Nothing here allocates or fails; what is
// long may be left undone (interrupt.h).
#pragma once
#include "linalg/mat.h"

#include <stdbool.h>

typedef enum gp_op { GP_AS_IS, GP_TRANSPOSED } gp_op;

// C = alpha op(A) op(B) + beta C
void gp_gemm(gp_op op_a, gp_op op_b, double alpha, gp_cmat A, gp_cmat B, double beta, gp_mat C);
// upper(C) = A^T A + beta upper(C); the strict lower part is not touched
void gp_syrk_upper(gp_cmat A, double beta, gp_mat C);
// For factor.c, in LAPACK's order (column by column): lower(C) -= V W^T + W V^T; C is n x n, V and W n x k.
void gp_symmetric_update(size_t n, size_t k, const double *V, size_t ld_v, const double *W, size_t ld_w, double *C,
                         size_t ld_c);
// y = alpha op(A) x + beta y
void gp_gemv(gp_op op, double alpha, gp_cmat A, const double *x, double beta, double *y);

// B = op(T) B and B = B op(T) with T square and triangular (its other triangle is not read).
typedef enum gp_triangle { GP_LOWER, GP_UPPER } gp_triangle;
void gp_trmm_left(gp_triangle which, gp_op op, gp_cmat T, gp_mat B);
void gp_trmm_right(gp_triangle which, gp_op op, gp_cmat T, gp_mat B);
// B = op(T) B where that is known to be symmetric, as in T (A T^T): one triangle is computed, for a third of the work.
void gp_trmm_left_symmetric(gp_triangle which, gp_op op, gp_cmat T, gp_mat B);
// The lower triangle of C = A B, square, for half of the work; some of the rest is written, too.
void gp_gemm_lower(gp_cmat A, gp_cmat B, gp_mat C);
// B = op(T)^-1 B
void gp_trsm_left(gp_triangle which, gp_op op, gp_cmat T, gp_mat B);
// B = alpha B op(T)^-1
void gp_trsm_right(gp_triangle which, gp_op op, double alpha, gp_cmat T, gp_mat B);

void gp_mat_copy(gp_cmat from, gp_mat to); // equal shapes
void gp_mat_zero(gp_mat A);
void gp_mat_mirror_upper(gp_mat A); // lower(A) = upper(A)^T
void gp_mat_mirror_lower(gp_mat A); // upper(A) = lower(A)^T
double gp_dot(size_t n, const double *x, const double *y);
bool gp_all_finite(size_t n, const double *x);
