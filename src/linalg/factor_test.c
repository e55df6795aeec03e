// factor_test.c: factors checked by what defines them, on random matrices of every size around LAPACK's blocks.
#include "fixture.h"
#include "linalg/factor.h"
#include "linalg/interrupt.h"

// B B^T + shift I, both triangles.
static double *positive_matrix(gp_rng *rng, size_t n, double shift)
{
    double *B = doubles(n * n), *K = doubles(n * n);
    for (size_t i = 0; i < n * n; i++) B[i] = gp_rng_normal(rng);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            K[i * n + j] = gp_dot(n, B + i * n, B + j * n) / (double)n + (i == j ? shift : 0);
    free(B);
    return K;
}

static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 16, 33, 64, 65, 130, 200};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void check_factor(size_t n, const double *K, const double *R, double tol, const char *label)
{
    double *product = doubles(n * n);
    for (size_t i = 0; i < n; i++) {
        CHECK(R[i * n + i] > 0, label, "diagonal %zu: %g", i, R[i * n + i]);
        for (size_t j = 0; j < i; j++) CHECK(R[i * n + j] == 0, label, "below the diagonal: %g", R[i * n + j]);
        for (size_t j = 0; j < n; j++) product[i * n + j] = gp_dot(n, R + i * n, R + j * n);
    }
    CHECK_ARRAY(n * n, K, product, tol, label);
    free(product);
}

static void the_reverse_factor_is_upper_and_multiplies_back(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SIZES; s++) {
        const size_t n = sizes[s];
        gp_rng rng = gp_rng_seeded(s, 1);
        double *K = positive_matrix(&rng, n, 0.1), *R = doubles(n * n), *inverse = doubles(n * n);
        char label[64];
        snprintf(label, sizeof label, "n %zu, seed %zu", n, s);
        memcpy(R, K, n * n * sizeof *R);
        assert_true(gp_reverse_cholesky(gp_mat_of(R, n, n), 0, NULL));
        check_factor(n, K, R, 1e-13 * (double)(n + 1), label);

        double log_det = 0;
        for (size_t i = 0; i < n; i++) log_det += log(R[i * n + i]);
        CHECK_CLOSE(log_det, gp_log_diagonal(gp_cmat_of(R, n, n)), 1e-14, label);

        // The inverse leaves the strict lower part alone, and R R^-1 = I.
        memcpy(inverse, R, n * n * sizeof *R);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) inverse[i * n + j] = 77;
        gp_invert_upper(gp_mat_of(inverse, n, n));
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                if (j < i) {
                    assert_true(inverse[i * n + j] == 77);
                    continue;
                }
                double sum = 0;
                for (size_t k = i; k <= j; k++) sum += R[i * n + k] * inverse[k * n + j];
                CHECK_CLOSE(i == j, sum, 1e-12, label);
            }
        free(K), free(R), free(inverse);
    }
}

static void squares_of_triangles_and_their_factors_lead_back(void **state)
{
    (void)state;
    static const size_t orders[] = {0, 1, 2, 7, 33, 130};
    gp_rng rng = gp_rng_seeded(9, 4);
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        const size_t n = orders[k];
        double *R = doubles(n * n + 1), *square = doubles(n * n + 1);
        for (size_t i = 0; i < n * n; i++) R[i] = square[i] = gp_rng_normal(&rng) + (i % (n + 1) == 0 ? 10 : 0);
        gp_upper_square(gp_mat_of(square, n, n)); // what is below the diagonal is not read
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t l = i > j ? i : j; l < n; l++) sum += R[i * n + l] * R[j * n + l];
                CHECK(fabs(square[i * n + j] - sum) <= 1e-12 * (double)n * 100, "square", "%zu, %zu", i, j);
            }
        double *G = doubles(n * n + 1);
        memcpy(G, square, n * n * sizeof *G);
        assert_true(gp_cholesky(gp_mat_of(G, n, n)));
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t l = 0; l <= i && l <= j; l++) sum += G[i * n + l] * G[j * n + l];
                CHECK(fabs(square[i * n + j] - sum) <= 1e-12 * (double)n * 100, "factor", "%zu, %zu", i, j);
                CHECK(j <= i || G[i * n + j] == 0, "factor", "%g above the diagonal", G[i * n + j]);
            }
        if (n) {
            square[n * n - 1] = -1;
            assert_false(gp_cholesky(gp_mat_of(square, n, n)));
        }
        free(R), free(square), free(G);
    }
}

static void a_matrix_that_is_not_positive_is_refused_with_its_pivot(void **state)
{
    (void)state;
    for (size_t bad = 0; bad < 6; bad++) {
        double K[36] = {0};
        for (size_t i = 0; i < 6; i++) K[i * 7] = i == bad ? -1 : 1;
        size_t pivot = 99;
        assert_false(gp_reverse_cholesky(gp_mat_of(K, 6, 6), 0, &pivot));
        assert_int_equal(pivot, bad);
        memset(K, 0, sizeof K);
        for (size_t i = 0; i < 6; i++) K[i * 7] = i == bad ? 1e-5 : 1;
        double copy[36];
        memcpy(copy, K, sizeof K);
        assert_true(gp_reverse_cholesky(gp_mat_of(copy, 6, 6), 0.9e-5, NULL));
        assert_false(gp_reverse_cholesky(gp_mat_of(K, 6, 6), 1.1e-5, &pivot)); // above zero, below the floor
        assert_int_equal(pivot, bad);
    }
    static const double poison[] = {NAN, INFINITY};
    for (size_t k = 0; k < 2; k++)
        for (size_t bad = 0; bad < 9; bad++) {
            double K[9] = {2, 1, 0.5, 1, 2, 1, 0.5, 1, 2};
            K[bad] = K[bad % 3 * 3 + bad / 3] = poison[k];
            assert_false(gp_reverse_cholesky(gp_mat_of(K, 3, 3), 0, NULL));
        }
}

static void the_ladder_climbs_by_tens_up_to_a_hundredth(void **state)
{
    (void)state;
    gp_rung rung = {.jitter = 1e-6};
    for (int i = 1; i <= 4; i++) {
        assert_true(gp_rung_climb(&rung));
        CHECK_CLOSE(1, rung.jitter / pow(10, i - 6), 1e-12, "climb");
        assert_int_equal(rung.climbs, i);
    }
    assert_false(gp_rung_climb(&rung));
    CHECK_CLOSE(1e-2, rung.jitter, 1e-12, "the last rung is kept");
    rung = (gp_rung){.jitter = 0};
    assert_true(gp_rung_climb(&rung));
    assert_true(rung.jitter == 1e-10);
    int climbs = 1;
    while (gp_rung_climb(&rung)) climbs++;
    assert_int_equal(climbs, 9); // 1e-10 .. 1e-2
}

// A matrix whose smallest eigenvalue is -deficit needs the first rung above it, and no more.
static void the_ladder_stops_at_the_first_rung_that_holds(void **state)
{
    (void)state;
    static const double deficit[] = {0, 3e-6, 3e-5, 3e-4, 3e-3};
    for (int i = 0; i < 5; i++) {
        // [1, 1 + deficit; 1 + deficit, 1] has the eigenvalue -deficit
        double K[4] = {2, 2 * (1 + deficit[i]), 2 * (1 + deficit[i]), 2}, held[4], R[4];
        memcpy(held, K, sizeof K);
        gp_rung rung = {.jitter = 1e-6};
        assert_true(gp_cholesky_ladder(gp_cmat_of(K, 2, 2), 2, &rung, gp_mat_of(R, 2, 2)));
        assert_int_equal(rung.climbs, i);
        CHECK_CLOSE(1, rung.jitter / pow(10, i - 6), 1e-12, "rung");
        CHECK_BITS(4, held, K, "K is left as it is");
        held[0] += 2 * rung.jitter, held[3] += 2 * rung.jitter;
        check_factor(2, held, R, 1e-13, "ladder");
    }
    double K[4] = {1 + DBL_EPSILON, 1, 1, 1}, R[4]; // its last pivot is positive, and nothing but rounding
    gp_rung rung = {.jitter = 0};
    assert_true(gp_cholesky_ladder(gp_cmat_of(K, 2, 2), 1, &rung, gp_mat_of(R, 2, 2)));
    assert_int_equal(rung.climbs, 1);
    K[0] = K[3] = 2, K[1] = K[2] = 2.1;
    rung = (gp_rung){.jitter = 1e-6};
    assert_false(gp_cholesky_ladder(gp_cmat_of(K, 2, 2), 2, &rung, gp_mat_of(R, 2, 2)));
    CHECK_CLOSE(1e-2, rung.jitter, 1e-12, "where it ended");
    K[1] = K[2] = NAN;
    rung = (gp_rung){.jitter = 1e-6};
    assert_false(gp_cholesky_ladder(gp_cmat_of(K, 2, 2), 2, &rung, gp_mat_of(R, 2, 2)));
    rung = (gp_rung){0};
    assert_true(gp_cholesky_ladder(gp_cmat_of(NULL, 0, 0), 1, &rung, gp_mat_of(NULL, 0, 0)));
}

static void eigenvectors_are_rows_orthonormal_and_ascending(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SIZES; s++) {
        const size_t n = sizes[s];
        gp_rng rng = gp_rng_seeded(s, 2);
        double *K = positive_matrix(&rng, n, -0.2), *Q = doubles(n * n), *lambda = doubles(n);
        double *work = doubles(gp_eigen_work(n));
        char label[64];
        snprintf(label, sizeof label, "n %zu, seed %zu", n, s);
        memcpy(Q, K, n * n * sizeof *Q);
        assert_true(gp_eigen(gp_mat_of(Q, n, n), lambda, work));
        for (size_t a = 0; a < n; a++) {
            if (a) CHECK(lambda[a - 1] <= lambda[a], label, "%g before %g", lambda[a - 1], lambda[a]);
            for (size_t b = 0; b < n; b++) CHECK_CLOSE(a == b, gp_dot(n, Q + a * n, Q + b * n), 1e-12, label);
            for (size_t i = 0; i < n; i++) // K q = lambda q
                CHECK_CLOSE(lambda[a] * Q[a * n + i], gp_dot(n, K + i * n, Q + a * n), 1e-12, label);
        }
        free(K), free(Q), free(lambda), free(work);
    }
    double A[4] = {1, NAN, NAN, 1}, lambda[2], work[200];
    assert_true(gp_eigen_work(2) <= 200);
    assert_false(gp_eigen(gp_mat_of(A, 2, 2), lambda, work));
}

// Of any rank: what it is multiplied out is C again, and a C with a negative direction has none.
static void a_semidefinite_matrix_has_a_factor(void **state)
{
    (void)state;
    enum { N = 7 };
    double *scratch = doubles(gp_semidefinite_scratch(N));
    for (uint64_t seed = 0; seed < 60; seed++) {
        gp_rng rng = gp_rng_seeded(seed, 9);
        const size_t rank = seed % (N + 1);
        double W[N * N] = {0}, C[N * N] = {0}, U[N * N], back[N * N] = {0};
        char label[32];
        snprintf(label, sizeof label, "seed %d", (int)seed);
        for (size_t i = 0; i < rank * N; i++) W[i] = gp_rng_normal(&rng);
        gp_syrk_upper(gp_cmat_of(W, N, N), 0, gp_mat_of(C, N, N));
        gp_mat_mirror_upper(gp_mat_of(C, N, N));
        CHECK(gp_semidefinite_factor(gp_cmat_of(C, N, N), gp_mat_of(U, N, N), scratch), label, "no factor of rank %zu",
              rank);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < i; j++) CHECK(U[i * N + j] == 0, label, "not upper triangular");
        gp_syrk_upper(gp_cmat_of(U, N, N), 0, gp_mat_of(back, N, N));
        gp_mat_mirror_upper(gp_mat_of(back, N, N));
        CHECK_ARRAY(N * N, C, back, 1e-12, label);
        C[seed % N * (N + 1)] -= 100;
        CHECK(!gp_semidefinite_factor(gp_cmat_of(C, N, N), gp_mat_of(U, N, N), scratch), label, "a negative direction");
        C[seed % N * (N + 1)] = NAN;
        CHECK(!gp_semidefinite_factor(gp_cmat_of(C, N, N), gp_mat_of(U, N, N), scratch), label, "not a number");
    }
    double lopsided[4] = {1, 0.5, 0.4, 1}, U[4];
    assert_false(gp_semidefinite_factor(gp_cmat_of(lopsided, 2, 2), gp_mat_of(U, 2, 2), scratch));
    free(scratch);
}

static void a_long_eigenproblem_has_the_same_laws_and_ends_when_asked(void **state)
{
    (void)state;
    const size_t n = GP_EIGEN_LONG + 33;
    gp_rng rng = gp_rng_seeded(3, 0);
    double *A = doubles(n * n), *Q = doubles(n * n), *work = doubles(gp_eigen_work(n)), *lambda = doubles(n);
    double *x = doubles(n), *t = doubles(n), *y = doubles(n), *expected = doubles(n);
    for (size_t i = 0; i < n; i++) {
        x[i] = gp_rng_normal(&rng);
        for (size_t j = 0; j <= i; j++) A[i * n + j] = A[j * n + i] = gp_rng_normal(&rng);
    }
    memcpy(Q, A, n * n * sizeof *A);
    assert_true(gp_eigen(gp_mat_of(Q, n, n), lambda, work));
    for (size_t k = 1; k < n; k++) assert_true(lambda[k - 1] <= lambda[k]);
    gp_gemv(GP_AS_IS, 1, gp_cmat_of(Q, n, n), x, 0, t); // Q x
    gp_gemv(GP_TRANSPOSED, 1, gp_cmat_of(Q, n, n), t, 0, y);
    for (size_t i = 0; i < n; i++) assert_true(fabs(y[i] - x[i]) < 1e-10); // Q^T Q = I
    for (size_t k = 0; k < n; k++) t[k] *= lambda[k];
    gp_gemv(GP_TRANSPOSED, 1, gp_cmat_of(Q, n, n), t, 0, y);
    gp_gemv(GP_AS_IS, 1, gp_cmat_of(A, n, n), x, 0, expected);
    for (size_t i = 0; i < n; i++) assert_true(fabs(y[i] - expected[i]) < 1e-8); // Q^T diag(lambda) Q = A
    for (int until = 0; until <= 10; until += 5) {
        patience p = {.until = until};
        gp_interrupt scope;
        memcpy(Q, A, n * n * sizeof *A);
        gp_interrupt_open(&scope, asked, &p);
        assert_false(gp_eigen(gp_mat_of(Q, n, n), lambda, work));
        assert_true(gp_interrupt_close(&scope));
        assert_int_equal(p.asked, until + 1); // it ends at once
    }
    free(A), free(Q), free(work), free(lambda), free(x), free(t), free(y), free(expected);
}

// The spectrum without vectors against the one with them, of matrices with directions of nothing but rounding, too.
// What is asked of Q^T b is asked of its squares: a sign, or a turn among equal eigenvalues, is anybody's.
static void a_spectrum_is_that_of_the_eigenvectors(void **state)
{
    (void)state;
    static const size_t some[] = {1, 2, 3, 17, 64, 65, 130};
    for (size_t s = 0; s < sizeof some / sizeof *some; s++)
        for (size_t half = 0; half <= (some[s] > 1); half++) { // the rank
            const size_t n = some[s], rows = half ? n / 2 : n + 3;
            gp_rng rng = gp_rng_seeded(s, 31 + half);
            double *X = doubles(rows * n), *A = doubles(n * n), *Q = doubles(n * n), *b = doubles(n), *c = doubles(n);
            double *lambda = doubles(n), *want = doubles(n), *work = doubles(gp_spectrum_work(n));
            double *more = doubles(gp_eigen_work(n));
            for (size_t i = 0; i < rows * n; i++) X[i] = gp_rng_normal(&rng);
            for (size_t i = 0; i < n; i++) b[i] = gp_rng_normal(&rng);
            gp_syrk_upper(gp_cmat_of(X, rows, n), 0, gp_mat_of(A, n, n));
            gp_mat_mirror_upper(gp_mat_of(A, n, n));
            memcpy(Q, A, n * n * sizeof *Q);
            assert_true(gp_eigen(gp_mat_of(Q, n, n), want, more));
            gp_gemv(GP_AS_IS, 1, gp_cmat_of(Q, n, n), b, 0, c);
            assert_true(gp_spectrum(gp_mat_of(A, n, n), lambda, b, work));
            double nothing = 0, got_nothing = 0;
            for (size_t k = 0; k < n; k++) {
                CHECK_CLOSE(want[k] / want[n - 1], lambda[k] / want[n - 1], 1e-13, "eigenvalues");
                if (want[k] > 1e-9 * want[n - 1])
                    CHECK_CLOSE(c[k] * c[k], b[k] * b[k], 1e-9, "Q^T b");
                else
                    nothing += c[k] * c[k], got_nothing += b[k] * b[k];
            }
            CHECK_CLOSE(nothing, got_nothing, 1e-9, "what has no eigenvalue");
            free(X), free(A), free(Q), free(b), free(c), free(lambda), free(want), free(work), free(more);
        }
    double A[4] = {1, 2, 2, 1}, lambda[2], b[2] = {1, 1}, *work = doubles(gp_spectrum_work(2));
    assert_false(gp_spectrum(gp_mat_of(A, 2, 2), lambda, b, work)); // an eigenvalue of -1
    memcpy(A, (double[]){0, 0, 0, 0}, sizeof A);
    assert_true(gp_spectrum(gp_mat_of(A, 2, 2), lambda, b, work));
    CHECK_CLOSE(0, lambda[1], 1e-300, "of zeros");
    A[3] = NAN;
    assert_false(gp_spectrum(gp_mat_of(A, 2, 2), lambda, b, work));
    assert_true(gp_spectrum(gp_mat_of(NULL, 0, 0), NULL, NULL, NULL));
    free(work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reverse_factor_is_upper_and_multiplies_back),
        cmocka_unit_test(squares_of_triangles_and_their_factors_lead_back),
        cmocka_unit_test(a_matrix_that_is_not_positive_is_refused_with_its_pivot),
        cmocka_unit_test(the_ladder_climbs_by_tens_up_to_a_hundredth),
        cmocka_unit_test(the_ladder_stops_at_the_first_rung_that_holds),
        cmocka_unit_test(eigenvectors_are_rows_orthonormal_and_ascending),
        cmocka_unit_test(a_spectrum_is_that_of_the_eigenvectors),
        cmocka_unit_test(a_long_eigenproblem_has_the_same_laws_and_ends_when_asked),
        cmocka_unit_test(a_semidefinite_matrix_has_a_factor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
