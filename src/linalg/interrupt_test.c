// interrupt_test.c: what is long comes in panels, which give what one call gives, and ends where it is told to.
#include "fixture.h"
#include "linalg/factor.h"
#include "linalg/interrupt.h"

static void a_scope_remembers_and_an_inner_one_hides_it(void **state)
{
    (void)state;
    patience p = {.until = 1}, q = {.until = 0};
    gp_interrupt outer, inner, deaf;
    advgp_error err = {0};
    assert_false(gp_interrupted() || gp_interrupt_heard());
    gp_interrupt_open(&outer, asked, &p);
    assert_false(gp_interrupt_heard());
    assert_false(gp_interrupted());
    assert_int_equal(gp_interrupt_status(ADVGP_ENUMERIC, "a test", &err), ADVGP_ENUMERIC);
    gp_interrupt_open(&deaf, NULL, NULL);
    assert_false(gp_interrupted());
    gp_interrupt_open(&inner, asked, &q);
    assert_true(gp_interrupted());
    assert_true(gp_interrupt_close(&inner));
    assert_false(gp_interrupted());
    assert_false(gp_interrupt_close(&deaf));
    assert_true(gp_interrupted() && gp_interrupted() && gp_interrupt_heard());
    assert_int_equal(p.asked, 2); // not again after a yes
    assert_int_equal(gp_interrupt_status(ADVGP_OK, "a test", &err), ADVGP_ESTOPPED);
    assert_non_null(strstr(err.text, "a test"));
    assert_true(gp_interrupt_close(&outer));
    assert_false(gp_interrupted() || gp_interrupt_heard());
}

static void what_is_short_stays_whole(void **state)
{
    (void)state;
    assert_int_equal(gp_panel(1500, 2 * 1500.0 * 1500 * 1500), 1500);
    assert_true(gp_panel(2000, 2 * 2000.0 * 2000 * 2000) < 1000);
    assert_int_equal(gp_panel(20000, 2 * 8e12), 32);
}

// ---- operations -----------------------------------------------------------------------------------------------------

enum { N = 1728, WIDE = 3456, LARGE = 3120 }; // 2 N^3, N^2 WIDE and LARGE^3 / 3 are long

static double *A, *B, *C; // each LARGE x LARGE at least

static void fill(size_t n, double *to)
{
    gp_rng rng = gp_rng_seeded(n, 4);
    for (size_t i = 0; i < n; i++) to[i] = gp_rng_normal(&rng);
}

// Positive definite, without a product: the diagonal dominates.
static void fill_positive(size_t n, double *to)
{
    gp_rng rng = gp_rng_seeded(n, 5);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) to[i * n + j] = to[j * n + i] = gp_rng_uniform(&rng) - 0.5;
        to[i * (n + 1)] = (double)n;
    }
}

static gp_cmat triangle(size_t n)
{
    return gp_cmat_of(A, n, n);
}

static void gemm(void)
{
    gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_cmat_of(A, N, N), gp_cmat_of(B, N, N), 0, gp_mat_of(C, N, N));
}

static void gemm_transposed(void)
{
    gp_gemm(GP_TRANSPOSED, GP_TRANSPOSED, 1, gp_cmat_of(A, N, N), gp_cmat_of(B, N, N), 0, gp_mat_of(C, N, N));
}

static void syrk(void)
{
    gp_syrk_upper(gp_cmat_of(A, WIDE, N), 0, gp_mat_of(C, N, N));
}

static void trmm_left(void)
{
    gp_trmm_left(GP_LOWER, GP_TRANSPOSED, triangle(N), gp_mat_of(C, N, WIDE));
}

static void trmm_right(void)
{
    gp_trmm_right(GP_UPPER, GP_AS_IS, triangle(N), gp_mat_of(C, WIDE, N));
}

static void trsm_left(void)
{
    gp_trsm_left(GP_UPPER, GP_TRANSPOSED, triangle(N), gp_mat_of(C, N, WIDE));
}

static void trsm_right(void)
{
    gp_trsm_right(GP_LOWER, GP_TRANSPOSED, 2, triangle(N), gp_mat_of(C, WIDE, N));
}

static void cholesky(void)
{
    const bool whole = gp_reverse_cholesky(gp_mat_of(C, LARGE, LARGE), 0, NULL);
    assert_true(whole != gp_interrupt_heard());
}

static void invert(void)
{
    gp_invert_upper(gp_mat_of(C, LARGE, LARGE));
}

// What was asked for, by a vector: y = (the operation's result) x against products of a matrix and a vector.
static void check_product(size_t rows, size_t cols, const double *expected, const double *x, const char *label)
{
    double *y = doubles(rows);
    gp_gemv(GP_AS_IS, 1, gp_cmat_of(C, rows, cols), x, 0, y);
    CHECK_ARRAY(rows, expected, y, 1e-12, label);
    free(y);
}

// What the triangle of A does to a vector.
static void by_triangle(gp_triangle which, gp_op op, bool inverse, double *x)
{
    gp_mat column = gp_mat_of(x, N, 1);
    if (inverse)
        gp_trsm_left(which, op, triangle(N), column);
    else
        gp_trmm_left(which, op, triangle(N), column);
}

static void check_left(const double *before, gp_triangle which, gp_op op, bool inverse, const double *x)
{
    double *expected = doubles(N);
    gp_gemv(GP_AS_IS, 1, gp_cmat_of(before, N, WIDE), x, 0, expected);
    by_triangle(which, op, inverse, expected);
    check_product(N, WIDE, expected, x, "from the left");
    free(expected);
}

static void check_right(const double *before, gp_triangle which, gp_op op, bool inverse, double scale, const double *x)
{
    double *expected = doubles(WIDE), *t = doubles(N);
    memcpy(t, x, N * sizeof *t);
    by_triangle(which, op, inverse, t);
    gp_gemv(GP_AS_IS, scale, gp_cmat_of(before, WIDE, N), t, 0, expected);
    check_product(WIDE, N, expected, x, "from the right");
    free(expected), free(t);
}

static void check_result(int which, const double *before, const double *x)
{
    double *t = doubles(LARGE), *expected = doubles(LARGE);
    switch (which) {
    case 0:
    case 1:
        gp_gemv(which ? GP_TRANSPOSED : GP_AS_IS, 1, gp_cmat_of(B, N, N), x, 0, t);
        gp_gemv(which ? GP_TRANSPOSED : GP_AS_IS, 1, gp_cmat_of(A, N, N), t, 0, expected);
        check_product(N, N, expected, x, "gemm");
        break;
    case 2: {
        double *long_t = doubles(WIDE);
        gp_mat_mirror_upper(gp_mat_of(C, N, N));
        gp_gemv(GP_AS_IS, 1, gp_cmat_of(A, WIDE, N), x, 0, long_t);
        gp_gemv(GP_TRANSPOSED, 1, gp_cmat_of(A, WIDE, N), long_t, 0, expected);
        check_product(N, N, expected, x, "syrk");
        free(long_t);
        break;
    }
    case 3:
        check_left(before, GP_LOWER, GP_TRANSPOSED, false, x);
        break;
    case 4:
        check_right(before, GP_UPPER, GP_AS_IS, false, 1, x);
        break;
    case 5:
        check_left(before, GP_UPPER, GP_TRANSPOSED, true, x);
        break;
    case 6:
        check_right(before, GP_LOWER, GP_TRANSPOSED, true, 2, x);
        break;
    case 7: // R R^T x = K x
        gp_gemv(GP_TRANSPOSED, 1, gp_cmat_of(C, LARGE, LARGE), x, 0, t);
        gp_gemv(GP_AS_IS, 1, gp_cmat_of(before, LARGE, LARGE), x, 0, expected);
        check_product(LARGE, LARGE, expected, t, "cholesky");
        for (size_t i = 0; i < LARGE; i++)
            for (size_t j = 0; j < i; j++) assert_true(C[i * LARGE + j] == 0);
        break;
    default: // R^-1 R x = x, the lower triangle being of no account
        memcpy(t, x, LARGE * sizeof *t);
        gp_trmm_left(GP_UPPER, GP_AS_IS, gp_cmat_of(before, LARGE, LARGE), gp_mat_of(t, LARGE, 1));
        gp_trmm_left(GP_UPPER, GP_AS_IS, gp_cmat_of(C, LARGE, LARGE), gp_mat_of(t, LARGE, 1));
        CHECK_ARRAY(LARGE, x, t, 1e-12, "inverse");
        for (size_t i = 1; i < LARGE; i++) assert_true(C[i * LARGE] == before[i * LARGE]); // not written
    }
    free(t), free(expected);
}

static void every_long_operation_asks_ends_and_is_the_same_by_panels(void **state)
{
    (void)state;
    void (*const operations[])(void) = {gemm,      gemm_transposed, syrk,     trmm_left, trmm_right,
                                        trsm_left, trsm_right,      cholesky, invert};
    const size_t room = (size_t)LARGE * LARGE;
    A = doubles(room), B = doubles(room), C = doubles(room);
    double *x = doubles(WIDE);
    fill((size_t)WIDE * N, A), fill((size_t)WIDE * N, B), fill(WIDE, x);
    for (int o = 0; o < 9; o++) {
        if (o == 3) fill_positive(N, A); // whose triangles can be inverted
        if (o == 7) fill_positive(LARGE, B);
        for (int ends = 0; ends < 2; ends++) {
            patience p = {.until = ends ? 1 : 1000};
            gp_interrupt scope;
            memcpy(C, B, room * sizeof *C);
            gp_interrupt_open(&scope, asked, &p);
            operations[o]();
            const bool heard = gp_interrupt_close(&scope);
            assert_int_equal(heard, ends);
            if (ends)
                assert_int_equal(p.asked, 2);
            else if (p.asked < 3)
                fail_msg("operation %d asked %d times", o, p.asked);
            if (!ends) check_result(o, B, x);
        }
    }
    free(A), free(B), free(C), free(x);
}

static void a_long_semidefinite_factor_is_one_and_ends(void **state)
{
    (void)state;
    const size_t n = 1960; // 4/3 n^3 is long
    double *K = doubles(n * n), *U = doubles(n * n), *scratch = doubles(gp_semidefinite_scratch(n));
    double *x = doubles(n), *t = doubles(n), *y = doubles(n), *expected = doubles(n);
    fill_positive(n, K), fill(n, x);
    patience p = {.until = 100000};
    gp_interrupt scope;
    gp_interrupt_open(&scope, asked, &p);
    assert_true(gp_semidefinite_factor(gp_cmat_of(K, n, n), gp_mat_of(U, n, n), scratch));
    assert_false(gp_interrupt_close(&scope));
    gp_gemv(GP_AS_IS, 1, gp_cmat_of(U, n, n), x, 0, t);
    gp_gemv(GP_TRANSPOSED, 1, gp_cmat_of(U, n, n), t, 0, y);
    gp_gemv(GP_AS_IS, 1, gp_cmat_of(K, n, n), x, 0, expected);
    CHECK_ARRAY(n, expected, y, 1e-12, "U^T U = C");
    p = (patience){.until = 0};
    gp_interrupt_open(&scope, asked, &p);
    assert_false(gp_semidefinite_factor(gp_cmat_of(K, n, n), gp_mat_of(U, n, n), scratch));
    assert_true(gp_interrupt_close(&scope));
    assert_int_equal(p.asked, 1);
    free(K), free(U), free(scratch), free(x), free(t), free(y), free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scope_remembers_and_an_inner_one_hides_it),
        cmocka_unit_test(what_is_short_stays_whole),
        cmocka_unit_test(every_long_operation_asks_ends_and_is_the_same_by_panels),
        cmocka_unit_test(a_long_semidefinite_factor_is_one_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
