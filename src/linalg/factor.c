// factor.c: LAPACK behind factor.h. A row-major matrix is a column-major one transposed, so LAPACK is called in its own
// order with the triangle named the other way round: LAPACKE's row-major calls would allocate and copy.
#include "linalg/factor.h"
#include "base/least.h"
#include "linalg/dense.h"
#include "linalg/interrupt.h"
#include "linalg/simd.h"

#include <assert.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { INVERT_SMALL = 32 }; // rows: fewer are not worth a call of BLAS

// Reversing the order of all n^2 numbers reverses the order of rows and of columns: (i, j) becomes (n-1-i, n-1-j).
static void reverse(gp_mat A)
{
    assert(A.ld == A.cols && A.rows == A.cols);
    for (size_t i = 0, j = A.rows * A.cols; i + 1 < j; i++) {
        j--;
        double held = A.p[i];
        A.p[i] = A.p[j];
        A.p[j] = held;
    }
}

static double cube(size_t n)
{
    return (double)n * (double)n * (double)n;
}

// K = G G^T, G lower triangular (the upper triangle is neither read nor written), a panel of columns at a time;
// LAPACK's upper triangle is our lower one. 0, or 1 + the pivot that is not positive, or -1: someone ended it.
static lapack_int lower_cholesky(gp_mat K)
{
    const size_t n = K.rows, step = gp_panel(n, cube(n) / 3);
    for (size_t i = 0; i < n; i += step) {
        const size_t b = gp_least(step, n - i), after = n - i - b;
        const gp_mat corner = gp_mat_part(K, i, i, b, b), below = gp_mat_part(K, i + b, i, after, b);
        const gp_cmat left = gp_cmat_part(gp_ro(K), i, 0, b, i);
        if (step < n && gp_interrupted()) return -1;
        if (i) gp_gemm(GP_AS_IS, GP_TRANSPOSED, -1, left, left, 1, corner);
        const lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)b, corner.p, (lapack_int)K.ld);
        if (info != 0) return info > 0 ? (lapack_int)i + info : info;
        if (!after) break;
        if (i) gp_gemm(GP_AS_IS, GP_TRANSPOSED, -1, gp_cmat_part(gp_ro(K), i + b, 0, after, i), left, 1, below);
        gp_trsm_right(GP_LOWER, GP_TRANSPOSED, 1, gp_ro(corner), below);
    }
    return gp_interrupt_heard() ? -1 : 0;
}

bool gp_reverse_cholesky(gp_mat K, double floor, size_t *bad_pivot)
{
    const size_t n = K.rows;
    assert(K.cols == n && K.ld == n);
    if (!n) return true;
    reverse(K);
    const lapack_int info = lower_cholesky(K);
    if (info != 0) {
        if (bad_pivot) *bad_pivot = info > 0 ? n - (size_t)info : 0;
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) K.p[i * n + j] = 0;
        const double pivot = K.p[i * n + i] * K.p[i * n + i];
        if (!(pivot > floor) || !isfinite(pivot)) {
            if (bad_pivot) *bad_pivot = n - 1 - i;
            return false;
        }
    }
    reverse(K);
    return true;
}

bool gp_cholesky(gp_mat K)
{
    const size_t n = K.rows;
    if (n && lower_cholesky(K) != 0) return false;
    for (size_t i = 0; i < n; i++) memset(K.p + i * K.ld + i + 1, 0, (n - i - 1) * sizeof *K.p);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(K.p[i * K.ld + i])) return false;
    return true;
}

// Rows from the last to the first: that of R^-1 is -1 / R_ii times the sum of R_ik times row k, which is inverted.
GP_VARIANTS(invert_small, (size_t n, double *R, size_t ld), (n, R, ld))
{
    double row[INVERT_SMALL];
    for (size_t i = n; i-- > 0;) {
        double *x = R + i * ld;
        const double inverse = 1 / x[i];
        for (size_t j = i + 1; j < n; j++) row[j] = -inverse * x[j], x[j] = 0;
        for (size_t k = i + 1; k < n; k++)
            for (size_t j = k; j < n; j++) x[j] += row[k] * R[k * ld + j];
        x[i] = inverse;
    }
}

// [A B; 0 C]^-1 = [A^-1, -A^-1 B C^-1; 0, C^-1]. LAPACK's takes vectors where this takes products of matrices.
static void invert_corner(gp_mat R)
{
    const size_t n = R.rows, h = n / 2;
    if (n <= INVERT_SMALL) {
        invert_small(n, R.p, R.ld);
        return;
    }
    const gp_mat A = gp_mat_part(R, 0, 0, h, h), B = gp_mat_part(R, 0, h, h, n - h),
                 C = gp_mat_part(R, h, h, n - h, n - h);
    gp_trsm_right(GP_UPPER, GP_AS_IS, -1, gp_ro(C), B);
    invert_corner(A);
    gp_trmm_left(GP_UPPER, GP_AS_IS, gp_ro(A), B);
    invert_corner(C);
}

void gp_invert_upper(gp_mat R)
{
    const size_t n = R.rows, step = gp_panel(n, cube(n) / 3);
    for (size_t i = 0; i < n && !(step < n && gp_interrupted()); i += step) {
        const size_t b = gp_least(step, n - i);
        const gp_mat corner = gp_mat_part(R, i, i, b, b), above = gp_mat_part(R, 0, i, i, b);
        gp_trmm_left(GP_UPPER, GP_AS_IS, gp_cmat_part(gp_ro(R), 0, 0, i, i), above); // the corner before is inverted
        gp_trsm_right(GP_UPPER, GP_AS_IS, -1, gp_ro(corner), above);
        invert_corner(corner);
    }
}

// Panel by panel from the top: with R = [D B; 0 T] the first rows of R R^T are [D D^T + B B^T, B T^T].
void gp_upper_square(gp_mat R)
{
    const size_t n = R.rows, step = gp_panel(n, cube(n) / 3);
    for (size_t i = 0; i < n && !(step < n && gp_interrupted()); i += step) {
        const size_t b = gp_least(step, n - i), after = n - i - b;
        const gp_mat corner = gp_mat_part(R, i, i, b, b), beside = gp_mat_part(R, i, i + b, b, after);
        const lapack_int info = LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', (lapack_int)b, corner.p, (lapack_int)R.ld);
        assert(info == 0);
        (void)info;
        if (!after) break;
        gp_mat_mirror_upper(corner);
        gp_gemm(GP_AS_IS, GP_TRANSPOSED, 1, gp_ro(beside), gp_ro(beside), 1, corner);
        gp_trmm_right(GP_UPPER, GP_TRANSPOSED, gp_cmat_part(gp_ro(R), i + b, i + b, after, after), beside);
    }
    gp_mat_mirror_upper(R);
}

double gp_log_diagonal(gp_cmat R)
{
    double sum = 0;
    for (size_t i = 0; i < R.rows; i++) sum += log(R.p[i * R.ld + i]);
    return sum;
}

bool gp_rung_climb(gp_rung *rung)
{
    const double next = rung->jitter > 0 ? 10 * rung->jitter : 1e-10;
    if (next > 1.5e-2 || rung->climbs >= GP_LADDER_MAX_CLIMBS)
        return false; // 1e-2 itself must pass, whatever its rounding
    rung->jitter = next;
    rung->climbs++;
    return true;
}

bool gp_cholesky_ladder(gp_cmat K, double scale, gp_rung *rung, gp_mat R)
{
    const size_t n = K.rows;
    // A pivot of the size of rounding has no correct digit, and would make features of size 1e8.
    const double floor = (double)n * DBL_EPSILON * scale;
    do {
        gp_mat_copy(K, R);
        for (size_t i = 0; i < n; i++) R.p[i * R.ld + i] += rung->jitter * scale;
        if (!gp_all_finite(n * n, R.p)) return false;
        if (gp_reverse_cholesky(R, floor, NULL)) return true;
    } while (gp_rung_climb(rung));
    return false;
}

enum {
    EIGEN_BLOCK = 64,
    PANEL = 32
}; // room for LAPACK's blocked reduction to tridiagonal form; columns of one of ours

// Above GP_EIGEN_LONG also what divide and conquer wants: the vectors, 1 + 4 n + n^2 doubles and 3 + 5 n integers.
size_t gp_eigen_work(size_t n)
{
    return (EIGEN_BLOCK + 2) * n + 1 + (n > GP_EIGEN_LONG ? 2 * n * n + 9 * n + 4 : 0);
}

// LAPACK's own, which LAPACKE does not wrap: reduces the first nb columns of A, and W for the update of the others.
void LAPACK_GLOBAL(dlatrd, DLATRD)(const char *uplo, const lapack_int *n, const lapack_int *nb, double *A,
                                   const lapack_int *lda, double *e, double *tau, double *W, const lapack_int *ldw);

// A = Q T Q^T with T tridiagonal (diagonal, e), Q in the reflections that LAPACK's dsytrd leaves (lower triangle,
// column by column), a panel at a time. W has n * PANEL doubles.
static bool tridiagonal(gp_mat A, double *diagonal, double *e, double *tau, double *W)
{
    const lapack_int n = (lapack_int)A.rows, nb = PANEL;
    lapack_int i = 0;
    for (; n - i > 2 * nb; i += nb) {
        if (gp_interrupted()) return false;
        const lapack_int left = n - i, after = left - nb;
        double *corner = A.p + (size_t)i * A.ld + (size_t)i, *rest = corner + (size_t)nb * (A.ld + 1);
        LAPACK_GLOBAL(dlatrd, DLATRD)("L", &left, &nb, corner, &n, e + i, tau + i, W, &left);
        gp_symmetric_update((size_t)after, PANEL, corner + nb, A.ld, W + nb, (size_t)left, rest, A.ld);
        for (lapack_int k = 0; k < nb; k++) {
            double *pivot = corner + (size_t)k * (A.ld + 1);
            pivot[1] = e[i + k];
            diagonal[i + k] = pivot[0];
        }
    }
    return LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, 'L', n - i, A.p + (size_t)i * (A.ld + 1), n, diagonal + i, e + i,
                               tau + i, W, n * PANEL) == 0;
}

bool gp_eigen(gp_mat A, double *lambda, double *work)
{
    const size_t n = A.rows;
    const lapack_int N = (lapack_int)n;
    assert(A.cols == n && A.ld == n);
    if (!n) return true;
    if (!gp_all_finite(n * n, A.p)) return false;
    // Column j of LAPACK's answer is row j of ours.
    if (n <= GP_EIGEN_LONG)
        return LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', N, A.p, N, lambda, work, (lapack_int)gp_eigen_work(n)) ==
               0;
    double *e = work, *tau = e + n, *Z = tau + n, *rest = Z + n * n;
    if (!tridiagonal(A, lambda, e, tau, rest)) return false;
    const size_t room = 1 + 4 * n + n * n;
    if (LAPACKE_dstedc_work(LAPACK_COL_MAJOR, 'I', N, lambda, e, Z, N, rest, (lapack_int)room,
                            (lapack_int *)(void *)(rest + room), (lapack_int)(3 + 5 * n)) != 0)
        return false;
    const size_t step = gp_panel(n, 2 * cube(n));
    for (size_t i = 0; i < n; i += step) {
        if (gp_interrupted()) return false;
        if (LAPACKE_dormtr_work(LAPACK_COL_MAJOR, 'L', 'L', 'N', N, (lapack_int)gp_least(step, n - i), A.p, N, tau,
                                Z + i * n, N, rest, (lapack_int)room) != 0)
            return false;
    }
    memcpy(A.p, Z, n * n * sizeof *Z);
    return true;
}

// ---- eigenvalues without vectors

enum { REFLECTION_ROOM = 8192 }; // what LAPACK wants beside its blocks to apply reflections

size_t gp_spectrum_work(size_t n)
{
    return (PANEL + 4) * n + REFLECTION_ROOM;
}

// T + shift I = B B^T with B lower bidiagonal (diagonal s, below it f), for the smallest shift that rounding in T
// needs; -1 where T has a negative direction.
static double bidiagonal(size_t n, const double *diagonal, const double *e, double *s, double *f)
{
    double size = 0;
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(diagonal[i]) + (i + 1 < n ? fabs(e[i]) : 0));
    for (double shift = (double)n * DBL_EPSILON * size + DBL_MIN; shift <= 1e-8 * size + DBL_MIN; shift *= 10) {
        for (size_t i = 0; i < n; i++) s[i] = diagonal[i] + shift;
        memcpy(f, e, (n - 1) * sizeof *e);
        if (LAPACKE_dpttrf_work((lapack_int)n, s, f) != 0) continue;
        for (size_t i = 0; i < n; i++) s[i] = sqrt(s[i]);
        for (size_t i = 0; i + 1 < n; i++) f[i] *= s[i];
        return shift;
    }
    return -1;
}

bool gp_spectrum(gp_mat A, double *lambda, double *b, double *work)
{
    const size_t n = A.rows;
    const lapack_int N = (lapack_int)n;
    assert(A.cols == n && A.ld == n);
    if (!n) return true;
    if (!gp_all_finite(n * n, A.p) || !gp_all_finite(n, b)) return false;
    double *diagonal = work, *e = diagonal + n, *tau = e + n, *f = tau + n, *rest = f + n;
    if (!tridiagonal(A, diagonal, e, tau, rest)) return false;
    if (LAPACKE_dormtr_work(LAPACK_COL_MAJOR, 'L', 'L', 'T', N, 1, A.p, N, tau, b, N, rest,
                            (lapack_int)(PANEL * n + REFLECTION_ROOM)) != 0)
        return false;
    const double shift = bidiagonal(n, diagonal, e, lambda, f);
    double none = 0;
    if (shift < 0 ||
        LAPACKE_dbdsqr_work(LAPACK_COL_MAJOR, 'L', N, 0, 0, 1, lambda, f, &none, 1, &none, 1, b, N, rest) != 0)
        return false;
    for (size_t i = 0; i < n; i++) lambda[i] = lambda[i] * lambda[i] - shift; // descending
    for (size_t i = 0, j = n; i + 1 < j; i++) {
        j--;
        const double held = lambda[i], held_b = b[i];
        lambda[i] = lambda[j], lambda[j] = held;
        b[i] = b[j], b[j] = held_b;
    }
    return true;
}

size_t gp_semidefinite_scratch(size_t n)
{
    return n * n + 2 * n + gp_eigen_work(n);
}

// S = (orthogonal) U in LAPACK's order, a panel of columns at a time. work has gp_eigen_work(n) doubles.
static bool orthogonal_factor(gp_mat S, double *tau, double *work)
{
    const size_t n = S.rows, step = gp_panel(n, 4 * cube(n) / 3);
    const lapack_int N = (lapack_int)n, room = (lapack_int)gp_eigen_work(n);
    for (size_t i = 0; i < n; i += step) {
        const size_t b = gp_least(step, n - i), across = gp_panel(n, 4 * (double)(n - i) * (double)n * (double)b);
        double *corner = S.p + i * (n + 1);
        if (step < n && gp_interrupted()) return false;
        if (LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, N - (lapack_int)i, (lapack_int)b, corner, N, tau + i, work, room))
            return false;
        for (size_t j = i + b; j < n; j += across) {
            if (gp_interrupted()) return false;
            if (LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'T', N - (lapack_int)i, (lapack_int)gp_least(across, n - j),
                                    (lapack_int)b, corner, N, tau + i, S.p + j * n + i, N, work, room))
                return false;
        }
    }
    return true;
}

// C = Q diag(lambda) Q^T = S^T S with S = diag(lambda)^1/2 Q^T, and S = (orthogonal) U: U^T U = C.
bool gp_semidefinite_factor(gp_cmat C, gp_mat U, double *scratch)
{
    const size_t n = C.rows;
    gp_mat S = gp_mat_of(scratch, n, n); // in LAPACK's order in the end: its columns are our rows
    double *lambda = scratch + n * n, *tau = lambda + n, *work = tau + n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (C.p[i * C.ld + j] != C.p[j * C.ld + i]) return false;
    gp_mat_copy(C, U);
    if (!n) return true;
    if (U.ld != n || !gp_eigen(U, lambda, work)) return false;
    if (!(lambda[0] >= -1e-9 * fabs(lambda[n - 1]))) return false;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) S.p[j * n + i] = sqrt(fmax(0, lambda[i])) * U.p[i * n + j];
    if (!orthogonal_factor(S, tau, work)) return false;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) U.p[i * n + j] = j < i ? 0 : S.p[j * n + i];
    return gp_all_finite(n * n, U.p);
}
