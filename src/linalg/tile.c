// tile.c: six rows by eight columns of a product live in twelve registers of AVX2 (or six of AVX-512) while the inner
// dimension runs: every number loaded is used six or eight times.
#include "linalg/tile.h"
#include "linalg/simd.h"

#include <assert.h>

enum { R = GP_TILE_ROWS, C = GP_TILE_COLS, HALF = GP_TILE_HALF };

typedef double half __attribute__((vector_size(HALF * sizeof(double))));
typedef double stored __attribute__((vector_size(HALF * sizeof(double)), aligned(8)));

// Row r of a tile that has only n: the last one stands in for those that are not there.
GP_INLINE const double *tile_row(const double *p, size_t ld, size_t n, size_t r)
{
    return p + (r < n ? r : n - 1) * ld;
}

GP_INLINE void clear(half tile[R][2])
{
    GP_UNROLL
    for (size_t r = 0; r < R; r++) tile[r][0] = tile[r][1] = (half){0};
}

// tile += A B: n columns of the R rows in a, n rows of C columns in b.
GP_INLINE void multiply(size_t n, const double *const a[R], const double *b, size_t ld_b, half tile[R][2])
{
    for (size_t k = 0; k < n; k++, b += ld_b) {
        const half left = *(const stored *)b, right = *(const stored *)(b + HALF);
        GP_UNROLL
        for (size_t r = 0; r < R; r++) {
            const half x = {a[r][k], a[r][k], a[r][k], a[r][k]};
            tile[r][0] += x * left;
            tile[r][1] += x * right;
        }
    }
}

// A B for V halves of a tile, to be multiplied as promised: n columns of A are between the first and the last, b is the
// first row of B.
GP_INLINE void product_tile(size_t V, size_t n, const double *const a[R], const double *b, size_t ld_b, double *out,
                            size_t ld)
{
    half tile[R][2];
    GP_UNROLL
    for (size_t r = 0; r < R; r++) GP_UNROLL
    for (size_t v = 0; v < V; v++) tile[r][v] = a[r][n + 1] + *(const stored *)(b + v * HALF);
    for (size_t k = 1; k <= n; k++) {
        b += ld_b;
        half row[2];
        GP_UNROLL
        for (size_t v = 0; v < V; v++) row[v] = *(const stored *)(b + v * HALF);
        GP_UNROLL
        for (size_t r = 0; r < R; r++) GP_UNROLL
        for (size_t v = 0; v < V; v++) tile[r][v] += a[r][k] * row[v];
    }
    GP_UNROLL
    for (size_t r = 0; r < R; r++) GP_UNROLL
    for (size_t v = 0; v < V; v++) *(stored *)(out + r * ld + v * HALF) = tile[r][v];
}

// C = A B for at most R rows. A tile that sticks out over C is made beside it.
GP_VARIANTS(product, (gp_cmat A, gp_cmat B, gp_mat out), (A, B, out))
{
    const double *a[R];
    const size_t n = A.cols - 2;
    for (size_t r = 0; r < R; r++) a[r] = tile_row(A.p, A.ld, A.rows, r);
    size_t j = 0;
    for (; A.rows == R && j + C <= out.cols; j += C) product_tile(2, n, a, B.p + j, B.ld, out.p + j, out.ld);
    for (; A.rows == R && j + HALF <= out.cols; j += HALF) product_tile(1, n, a, B.p + j, B.ld, out.p + j, out.ld);
    for (; j < out.cols; j += HALF) {
        const size_t width = out.cols - j < HALF ? out.cols - j : HALF;
        double beside[R * HALF];
        product_tile(1, n, a, B.p + j, B.ld, beside, HALF);
        for (size_t r = 0; r < A.rows; r++) GP_UNROLL
        for (size_t l = 0; l < HALF; l++) // so that it is not taken for a long copy
            if (l < width) out.p[r * out.ld + j + l] = beside[r * HALF + l];
    }
}

void gp_tile_product(gp_cmat A, gp_cmat B, gp_mat out)
{
    assert(A.cols == B.rows && A.rows == out.rows && B.cols == out.cols);
    assert(B.ld % HALF == 0 && A.cols >= 2);
    for (size_t i = 0; i < A.rows; i += R) {
        const size_t n = A.rows - i < R ? A.rows - i : R;
        product(gp_cmat_part(A, i, 0, n, A.cols), B, gp_mat_part(out, i, 0, n, out.cols));
    }
}

GP_VARIANTS(dots, (gp_cmat A, const double *x, double *out), (A, x, out))
{
    const double *a[R];
    half sum[R];
    for (size_t r = 0; r < R; r++) sum[r] = (half){0}, a[r] = tile_row(A.p, A.ld, A.rows, r);
    size_t j = 0;
    for (; j + HALF <= A.cols; j += HALF) {
        const half y = *(const stored *)(x + j);
        GP_UNROLL
        for (size_t r = 0; r < R; r++) sum[r] += *(const stored *)(a[r] + j) * y;
    }
    for (size_t r = 0; r < A.rows; r++) {
        double rest = 0;
        for (size_t k = j; k < A.cols; k++) rest += a[r][k] * x[k];
        out[r] = rest + ((sum[r][0] + sum[r][1]) + (sum[r][2] + sum[r][3]));
    }
}

void gp_tile_dots(gp_cmat A, const double *x, double *out)
{
    for (size_t i = 0; i < A.rows; i += R)
        dots(gp_cmat_part(A, i, 0, A.rows - i < R ? A.rows - i : R, A.cols), x, out + i);
}

// ---- |T a|^2 --------------------------------------------------------------------------------------------------------

// C rows of T make a strip: column by column, from the first that is not 0.
GP_INLINE size_t strip_first(size_t f, bool upper)
{
    return upper ? f : 0;
}

size_t gp_tile_packed(size_t M, size_t n, bool upper)
{
    size_t total = 0;
    for (size_t f = 0; f < M; f += C) total += C * (n - strip_first(f, upper));
    return total;
}

void gp_tile_pack(gp_cmat TT, bool upper, double *packed)
{
    assert(!upper || TT.rows == TT.cols);
    for (size_t f = 0; f < TT.cols; f += C)
        for (size_t j = strip_first(f, upper); j < TT.rows; j++)
            for (size_t l = f; l < f + C; l++) *packed++ = l < TT.cols && (!upper || l <= j) ? TT.p[j * TT.ld + l] : 0;
}

GP_VARIANTS(squares, (size_t M, bool upper, const double *packed, gp_cmat A, double *out), (M, upper, packed, A, out))
{
    half sum[R][2];
    clear(sum);
    for (size_t f = 0; f < M; f += C) {
        const size_t first = strip_first(f, upper), n = A.cols - first;
        const double *a[R];
        half tile[R][2];
        for (size_t r = 0; r < R; r++) a[r] = tile_row(A.p, A.ld, A.rows, r) + first;
        clear(tile);
        multiply(n, a, packed, C, tile);
        packed += n * C;
        GP_UNROLL
        for (size_t r = 0; r < R; r++) {
            sum[r][0] += tile[r][0] * tile[r][0];
            sum[r][1] += tile[r][1] * tile[r][1];
        }
    }
    for (size_t r = 0; r < A.rows; r++) {
        const half all = sum[r][0] + sum[r][1];
        out[r] = (all[0] + all[1]) + (all[2] + all[3]);
    }
}

void gp_tile_squares(size_t M, bool upper, const double *packed, gp_cmat A, double *out)
{
    for (size_t i = 0; i < A.rows; i += R)
        squares(M, upper, packed, gp_cmat_part(A, i, 0, A.rows - i < R ? A.rows - i : R, A.cols), out + i);
}
