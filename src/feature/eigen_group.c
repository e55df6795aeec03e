// eigen_group.c: eigenvectors of K_mm as features, and the derivative through them (docs/math.md 9).
#include "feature/eigen_group.h"
#include "linalg/dense.h"

#include <float.h>
#include <math.h>

// Two eigenvalues closer than this, relative to the largest, count as equal: the rotation between their vectors is
// arbitrary.
static const double equal_gap = 1e-9;
// Entries this close to the largest of an eigenvector, relatively, are tied with it (docs/math.md 2).
static const double tie = 1e-8;

typedef struct group {
    gp_mat Q;       // m x m: row j is the eigenvector of the j-th LARGEST eigenvalue
    double *lambda; // [m], descending
    gp_mat W;       // m x m
    double *work;
} group;

static group group_of(size_t m, double *scratch)
{
    return (group){
        .Q = gp_mat_of(scratch, m, m),
        .W = gp_mat_of(scratch + m * m, m, m),
        .lambda = scratch + 2 * m * m,
        .work = scratch + 2 * m * m + m,
    };
}

size_t gp_eigen_group_scratch(size_t m)
{
    return 2 * m * m + m + gp_eigen_work(m);
}

static void make_descending(group g)
{
    const size_t m = g.Q.rows;
    for (size_t i = 0, j = m; i + 1 < j; i++) {
        j--;
        double held = g.lambda[i];
        g.lambda[i] = g.lambda[j], g.lambda[j] = held;
        for (size_t k = 0; k < m; k++) {
            held = g.Q.p[i * m + k];
            g.Q.p[i * m + k] = g.Q.p[j * m + k], g.Q.p[j * m + k] = held;
        }
    }
}

// The entry of largest magnitude is positive; of entries tied with it, the first.
static void fix_sign(size_t m, double *q)
{
    double largest = 0;
    for (size_t k = 0; k < m; k++) largest = fmax(largest, fabs(q[k]));
    size_t first = 0;
    while (first + 1 < m && !(fabs(q[first]) >= largest * (1 - tie))) first++;
    if (q[first] < 0)
        for (size_t k = 0; k < m; k++) q[k] = -q[k];
}

bool gp_eigen_group_make(gp_cmat K, double a0sq, double scale, gp_rung *rung, gp_mat T, double *scratch)
{
    const size_t m = K.rows, rank = T.cols;
    group g = group_of(m, scratch);
    do {
        gp_mat_copy(K, g.Q);
        for (size_t i = 0; i < m; i++) g.Q.p[i * m + i] += rung->jitter * a0sq;
        if (!gp_eigen(g.Q, g.lambda, g.work)) return false;
        make_descending(g);
        if (g.lambda[rank - 1] > (double)m * DBL_EPSILON * g.lambda[0]) {
            for (size_t j = 0; j < m; j++) fix_sign(m, g.Q.p + j * m);
            for (size_t i = 0; i < m; i++)
                for (size_t j = 0; j < rank; j++) T.p[i * T.ld + j] = g.Q.p[j * m + i] * (scale / sqrt(g.lambda[j]));
            return true;
        }
    } while (gp_rung_climb(rung));
    return false;
}

bool gp_eigen_group_is(gp_cmat K, double a0sq, double jitter, double scale, gp_cmat T, double *scratch)
{
    const size_t m = K.rows, rank = T.cols;
    gp_mat KT = gp_mat_of(scratch, m, rank), P = gp_mat_of(scratch + m * m, rank, rank);
    double *norm = scratch + 2 * m * m; // [rank]: of the columns of T
    gp_gemm(GP_AS_IS, GP_AS_IS, 1, K, T, 0, KT);
    for (size_t j = 0; j < rank; j++) norm[j] = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < rank; j++) {
            const double t = T.p[i * T.ld + j];
            KT.p[i * rank + j] += jitter * a0sq * t;
            norm[j] += t * t;
        }
    gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1 / (scale * scale), T, gp_ro(KT), 0, P);
    // A column has length scale lambda^-1/2, so rounding in K, whose norm is at most its trace, counts lambda_0/lambda
    // fold.
    const double rounding = 8 * DBL_EPSILON * (double)m * a0sq / (scale * scale);
    for (size_t i = 0; i < rank; i++)
        for (size_t j = 0; j < rank; j++) {
            const double allowed = fmin(1e-9 + rounding * sqrt(norm[i] * norm[j]), 0.25);
            if (!(fabs(P.p[i * rank + j] - (i == j)) <= allowed)) return false;
        }
    return true;
}

// With q_b the eigenvectors, dq_b = sum_a q_a (q_a^T dK q_b) / (lambda_b - lambda_a) and dlambda_b = q_b^T dK q_b:
// G = sum_ab W_ab q_a q_b^T, W_ab = (Q^T D)_ab s_b / (lambda_b - lambda_a), W_bb = -(Q^T D)_bb s_b / (2 lambda_b),
// s_b = scale lambda_b^-1/2, over all a and kept b.
//
// Where q(w) follows, features are those of Q' Lambda'^-1/2 Q'^T Q: a function of the matrix K', cut at the rank, whose
// derivative has divided differences (Daleckii and Krein). Between kept vectors that of lambda^-1/2,
// -1 / (sqrt(lambda_a lambda_b) (sqrt lambda_a + sqrt lambda_b)), stands in for s_b / (lambda_b - lambda_a); all others
// are as above.
static double divided_difference(const double *lambda, size_t a, size_t b, size_t rank, bool follows)
{
    if (a == b) return -0.5 / (lambda[b] * sqrt(lambda[b]));
    if (follows && a < rank) {
        const double x = sqrt(lambda[a]), y = sqrt(lambda[b]);
        return -1 / (x * y * (x + y));
    }
    const double gap = lambda[b] - lambda[a];
    return fabs(gap) > equal_gap * lambda[0] ? 1 / (sqrt(lambda[b]) * gap) : 0;
}

void gp_eigen_group_pull(gp_cmat T, gp_mat D, double scale, bool follows, gp_mat G, double *scratch)
{
    const size_t m = T.rows, rank = T.cols;
    group g = group_of(m, scratch);
    gp_mat W = gp_mat_part(g.W, 0, 0, m, rank);
    gp_gemm(GP_AS_IS, GP_AS_IS, scale, gp_ro(g.Q), gp_ro(D), 0, W); // Q^T D, since Q holds eigenvectors as rows
    for (size_t a = 0; a < m; a++)
        for (size_t b = 0; b < rank; b++) W.p[a * W.ld + b] *= divided_difference(g.lambda, a, b, rank, follows);
    // G = Q W Q_R^T; D (m x rank) holds Q W on the way
    gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_ro(g.Q), gp_ro(W), 0, D);
    gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_ro(D), gp_cmat_part(gp_ro(g.Q), 0, 0, rank, m), 0, G);
}
