// factor.c: LAPACK behind factor.h. A row-major matrix is a column-major one transposed, so LAPACK is called in its own
// order with the triangle named the other way round: LAPACKE's row-major calls would allocate and copy.
#include "linalg/factor.h"
#include "linalg/dense.h"

#include <assert.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

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

bool gp_reverse_cholesky(gp_mat K, double floor, size_t *bad_pivot)
{
    const size_t n = K.rows;
    assert(K.cols == n && K.ld == n);
    if (!n) return true;
    reverse(K);
    // LAPACK's upper triangle is our lower one: K reversed = G G^T with G lower triangular, row major.
    const lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, K.p, (lapack_int)n);
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

void gp_invert_upper(gp_mat R)
{
    if (!R.rows) return;
    const lapack_int info = LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'L', 'N', (lapack_int)R.rows, R.p, (lapack_int)R.ld);
    assert(info == 0); // a zero on the diagonal: the caller promised there is none
    (void)info;
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

enum { EIGEN_BLOCK = 64 }; // room for LAPACK's blocked reduction to tridiagonal form

size_t gp_eigen_work(size_t n)
{
    return (EIGEN_BLOCK + 2) * n + 1;
}

bool gp_eigen(gp_mat A, double *lambda, double *work)
{
    const size_t n = A.rows;
    assert(A.cols == n && A.ld == n);
    if (!n) return true;
    if (!gp_all_finite(n * n, A.p)) return false;
    // Column j of LAPACK's answer is row j of ours.
    return LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', (lapack_int)n, A.p, (lapack_int)n, lambda, work,
                              (lapack_int)gp_eigen_work(n)) == 0;
}

size_t gp_semidefinite_scratch(size_t n)
{
    return n * n + 2 * n + gp_eigen_work(n);
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
    if (LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, (lapack_int)n, (lapack_int)n, S.p, (lapack_int)n, tau, work,
                            (lapack_int)gp_eigen_work(n)) != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) U.p[i * n + j] = j < i ? 0 : S.p[j * n + i];
    return gp_all_finite(n * n, U.p);
}
