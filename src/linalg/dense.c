// dense.c: CBLAS behind dense.h.
#include "linalg/dense.h"
#include "base/least.h"
#include "linalg/interrupt.h"
#include "linalg/simd.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <string.h>

static CBLAS_TRANSPOSE blas_op(gp_op op)
{
    return op == GP_TRANSPOSED ? CblasTrans : CblasNoTrans;
}

static CBLAS_UPLO blas_triangle(gp_triangle which)
{
    return which == GP_UPPER ? CblasUpper : CblasLower;
}

// A panel is `step` of `all` rows or columns: between two of them someone may end the work (interrupt.h).
static bool ends(size_t step, size_t all)
{
    return step < all && gp_interrupted();
}

static double cube(size_t a, size_t b, size_t c)
{
    return (double)a * (double)b * (double)c;
}

void gp_gemm(gp_op op_a, gp_op op_b, double alpha, gp_cmat A, gp_cmat B, double beta, gp_mat C)
{
    const size_t inner = op_a == GP_TRANSPOSED ? A.rows : A.cols;
    assert(C.rows == (op_a == GP_TRANSPOSED ? A.cols : A.rows));
    assert(C.cols == (op_b == GP_TRANSPOSED ? B.rows : B.cols));
    assert(inner == (op_b == GP_TRANSPOSED ? B.cols : B.rows));
    if (!C.rows || !C.cols) return;
    if (!inner) { // BLAS would read pointers that may be NULL; only beta C is left
        for (size_t i = 0; i < C.rows; i++)
            for (size_t j = 0; j < C.cols; j++) C.p[i * C.ld + j] = beta == 0 ? 0 : beta * C.p[i * C.ld + j];
        return;
    }
    const size_t step = gp_panel(C.rows, 2 * cube(C.rows, C.cols, inner));
    for (size_t i = 0; i < C.rows && !ends(step, C.rows); i += step)
        cblas_dgemm(CblasRowMajor, blas_op(op_a), blas_op(op_b), (int)gp_least(step, C.rows - i), (int)C.cols,
                    (int)inner, alpha, A.p + i * (op_a == GP_TRANSPOSED ? 1 : A.ld), (int)A.ld, B.p, (int)B.ld, beta,
                    C.p + i * C.ld, (int)C.ld);
}

void gp_syrk_upper(gp_cmat A, double beta, gp_mat C)
{
    assert(C.rows == A.cols && C.cols == A.cols);
    if (!A.cols || (!A.rows && beta == 1)) return;
    const size_t n = A.cols, step = gp_panel(n, cube(A.rows, n, n));
    for (size_t i = 0; i < n && !ends(step, n); i += step) {
        const size_t b = gp_least(step, n - i), after = n - i - b;
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)b, (int)A.rows, 1, A.p + i, (int)A.ld, beta,
                    C.p + i * (C.ld + 1), (int)C.ld);
        if (!after) break;
        gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_cmat_part(A, 0, i, A.rows, b), gp_cmat_part(A, 0, i + b, A.rows, after),
                beta, gp_mat_part(C, i, i + b, b, after));
    }
}

void gp_symmetric_update(size_t n, size_t k, const double *V, size_t ld_v, const double *W, size_t ld_w, double *C,
                         size_t ld_c)
{
    if (!n) return;
    cblas_dsyr2k(CblasColMajor, CblasLower, CblasNoTrans, (int)n, (int)k, -1, V, (int)ld_v, W, (int)ld_w, 1, C,
                 (int)ld_c);
}

void gp_gemv(gp_op op, double alpha, gp_cmat A, const double *x, double beta, double *y)
{
    const size_t n_out = op == GP_TRANSPOSED ? A.cols : A.rows;
    const size_t n_in = op == GP_TRANSPOSED ? A.rows : A.cols;
    if (!n_out) return;
    if (!n_in) {
        for (size_t i = 0; i < n_out; i++) y[i] = beta == 0 ? 0 : beta * y[i];
        return;
    }
    cblas_dgemv(CblasRowMajor, blas_op(op), (int)A.rows, (int)A.cols, alpha, A.p, (int)A.ld, x, 1, beta, y, 1);
}

void gp_trmm_left(gp_triangle which, gp_op op, gp_cmat T, gp_mat B)
{
    assert(T.rows == T.cols && T.rows == B.rows);
    if (!B.rows || !B.cols) return;
    const size_t step = gp_panel(B.cols, cube(B.rows, B.rows, B.cols));
    for (size_t j = 0; j < B.cols && !ends(step, B.cols); j += step)
        cblas_dtrmm(CblasRowMajor, CblasLeft, blas_triangle(which), blas_op(op), CblasNonUnit, (int)B.rows,
                    (int)gp_least(step, B.cols - j), 1, T.p, (int)T.ld, B.p + j, (int)B.ld);
}

void gp_trmm_right(gp_triangle which, gp_op op, gp_cmat T, gp_mat B)
{
    assert(T.rows == T.cols && T.rows == B.cols);
    if (!B.rows || !B.cols) return;
    const size_t step = gp_panel(B.rows, cube(B.cols, B.cols, B.rows));
    for (size_t i = 0; i < B.rows && !ends(step, B.rows); i += step)
        cblas_dtrmm(CblasRowMajor, CblasRight, blas_triangle(which), blas_op(op), CblasNonUnit,
                    (int)gp_least(step, B.rows - i), (int)B.cols, 1, T.p, (int)T.ld, B.p + i * B.ld, (int)B.ld);
}

// Panels of a triangle: few enough for BLAS to be quick, enough for little to be computed in vain.
static size_t triangle_panel(size_t n)
{
    enum { LEAST = 64, PANELS = 8 };
    return n / PANELS < LEAST ? LEAST : n / PANELS;
}

void gp_trmm_left_symmetric(gp_triangle which, gp_op op, gp_cmat T, gp_mat B)
{
    assert(B.rows == B.cols);
    const size_t n = B.rows, step = triangle_panel(n);
    const bool leading = (which == GP_LOWER) == (op == GP_AS_IS); // op(T) is lower: rows before a panel's end suffice
    const bool asks = gp_panel(n, cube(n, n, n)) < n;
    for (size_t j = 0; j < n && !(asks && gp_interrupted()); j += step) {
        const size_t b = gp_least(step, n - j), first = leading ? 0 : j, rows = leading ? j + b : n - j;
        gp_trmm_left(which, op, gp_cmat_part(T, first, first, rows, rows), gp_mat_part(B, first, j, rows, b));
    }
    if (leading)
        gp_mat_mirror_upper(B);
    else
        gp_mat_mirror_lower(B);
}

void gp_gemm_lower(gp_cmat A, gp_cmat B, gp_mat C)
{
    assert(C.rows == C.cols);
    const size_t n = C.rows, step = triangle_panel(n);
    for (size_t i = 0; i < n; i += step) {
        const size_t b = gp_least(step, n - i);
        gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_cmat_part(A, i, 0, b, A.cols), gp_cmat_part(B, 0, 0, B.rows, i + b), 0,
                gp_mat_part(C, i, 0, b, i + b));
    }
}

void gp_trsm_left(gp_triangle which, gp_op op, gp_cmat T, gp_mat B)
{
    assert(T.rows == T.cols && T.rows == B.rows);
    if (!B.rows || !B.cols) return;
    const size_t step = gp_panel(B.cols, cube(B.rows, B.rows, B.cols));
    for (size_t j = 0; j < B.cols && !ends(step, B.cols); j += step)
        cblas_dtrsm(CblasRowMajor, CblasLeft, blas_triangle(which), blas_op(op), CblasNonUnit, (int)B.rows,
                    (int)gp_least(step, B.cols - j), 1, T.p, (int)T.ld, B.p + j, (int)B.ld);
}

void gp_trsm_right(gp_triangle which, gp_op op, double alpha, gp_cmat T, gp_mat B)
{
    assert(T.rows == T.cols && T.rows == B.cols);
    if (!B.rows || !B.cols) return;
    const size_t step = gp_panel(B.rows, cube(B.cols, B.cols, B.rows));
    for (size_t i = 0; i < B.rows && !ends(step, B.rows); i += step)
        cblas_dtrsm(CblasRowMajor, CblasRight, blas_triangle(which), blas_op(op), CblasNonUnit,
                    (int)gp_least(step, B.rows - i), (int)B.cols, alpha, T.p, (int)T.ld, B.p + i * B.ld, (int)B.ld);
}

void gp_mat_copy(gp_cmat from, gp_mat to)
{
    assert(from.rows == to.rows && from.cols == to.cols);
    for (size_t i = 0; i < to.rows; i++) memcpy(to.p + i * to.ld, from.p + i * from.ld, to.cols * sizeof *to.p);
}

void gp_mat_zero(gp_mat A)
{
    for (size_t i = 0; i < A.rows; i++) memset(A.p + i * A.ld, 0, A.cols * sizeof *A.p);
}

// A_ij = A_ji for every j < i, or the other way round; in squares that stay in the first cache.
static void mirror(gp_mat A, bool to_lower)
{
    enum { SIDE = 32 };
    for (size_t i0 = 0; i0 < A.rows; i0 += SIDE)
        for (size_t j0 = 0; j0 <= i0; j0 += SIDE)
            for (size_t i = i0; i < gp_least(i0 + SIDE, A.rows); i++)
                for (size_t j = j0; j < gp_least(j0 + SIDE, i); j++) {
                    double *lower = A.p + i * A.ld + j, *upper = A.p + j * A.ld + i;
                    if (to_lower)
                        *lower = *upper;
                    else
                        *upper = *lower;
                }
}

void gp_mat_mirror_upper(gp_mat A)
{
    mirror(A, true);
}

void gp_mat_mirror_lower(gp_mat A)
{
    mirror(A, false);
}

GP_VARIANTS(add_products, (size_t n, const double *x, const double *y, double *sum), (n, x, y, sum))
{
    double part[GP_LANES] = {0}, rest = 0;
    size_t i = 0;
    for (; i + GP_LANES <= n; i += GP_LANES)
        for (size_t l = 0; l < GP_LANES; l++) part[l] += x[i + l] * y[i + l];
    for (; i < n; i++) rest += x[i] * y[i];
    *sum = rest + (((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7])));
}

double gp_dot(size_t n, const double *x, const double *y)
{
    double sum;
    add_products(n, x, y, &sum);
    return sum;
}

// 0 * x is 0 for a finite x and NaN otherwise: one test for the whole array.
GP_VARIANTS(probe_all, (size_t n, const double *x, double *probe), (n, x, probe))
{
    double part[GP_LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + GP_LANES <= n; i += GP_LANES)
        for (size_t l = 0; l < GP_LANES; l++) part[l] += 0 * x[i + l];
    for (; i < n; i++) sum += 0 * x[i];
    for (size_t l = 0; l < GP_LANES; l++) sum += part[l];
    *probe = sum;
}

bool gp_all_finite(size_t n, const double *x)
{
    double probe;
    probe_all(n, x, &probe);
    return probe == 0;
}
