// dense_test.c: the wrappers of BLAS against loops, in views wider than their matrix and at every small size, 0
// included.
#include "fixture.h"

enum { PAD = 3 }; // columns beside the view, which nobody may touch

typedef struct buffer {
    double *p;
    gp_mat view;
} buffer;

static buffer random_matrix(gp_rng *rng, size_t rows, size_t cols)
{
    buffer b = {.p = doubles((rows + 1) * (cols + PAD))};
    for (size_t i = 0; i < (rows + 1) * (cols + PAD); i++) b.p[i] = gp_rng_normal(rng);
    b.view = (gp_mat){b.p, rows, cols, cols + PAD};
    return b;
}

static double get(gp_mat A, gp_op op, size_t i, size_t j)
{
    return op == GP_TRANSPOSED ? A.p[j * A.ld + i] : A.p[i * A.ld + j];
}

static void check_same(buffer expected, buffer got, const char *label)
{
    CHECK_ARRAY((got.view.rows + 1) * got.view.ld, expected.p, got.p, 1e-13, label);
}

static buffer copy_of(buffer b)
{
    buffer c = b;
    const size_t n = (b.view.rows + 1) * b.view.ld;
    c.p = c.view.p = doubles(n);
    memcpy(c.p, b.p, n * sizeof *c.p);
    return c;
}

static const size_t sizes[] = {0, 1, 2, 3, 5, 8, 17};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void gemm_equals_loops(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(1, 1);
    static const double betas[] = {0, 1, -0.5};
    for (size_t x = 0; x < N_SIZES; x++)
        for (size_t y = 0; y < N_SIZES; y++)
            for (size_t z = 0; z < N_SIZES; z++)
                for (int ops = 0; ops < 4; ops++) {
                    const size_t rows = sizes[x], cols = sizes[y], inner = sizes[z];
                    const gp_op oa = ops & 1 ? GP_TRANSPOSED : GP_AS_IS, ob = ops & 2 ? GP_TRANSPOSED : GP_AS_IS;
                    const double beta = betas[(x + y + z) % 3];
                    buffer A = oa == GP_AS_IS ? random_matrix(&rng, rows, inner) : random_matrix(&rng, inner, rows);
                    buffer B = ob == GP_AS_IS ? random_matrix(&rng, inner, cols) : random_matrix(&rng, cols, inner);
                    buffer C = random_matrix(&rng, rows, cols), want = copy_of(C);
                    if (beta == 0 && rows && cols) C.p[0] = NAN; // beta = 0 does not read C
                    for (size_t i = 0; i < rows; i++)
                        for (size_t j = 0; j < cols; j++) {
                            double sum = 0;
                            for (size_t k = 0; k < inner; k++) sum += get(A.view, oa, i, k) * get(B.view, ob, k, j);
                            double *w = &want.view.p[i * want.view.ld + j];
                            *w = 1.5 * sum + (beta == 0 ? 0 : beta * *w);
                        }
                    gp_gemm(oa, ob, 1.5, gp_ro(A.view), gp_ro(B.view), beta, C.view);
                    check_same(want, C, "gemm");
                    free(A.p), free(B.p), free(C.p), free(want.p);
                }
}

static void syrk_fills_the_upper_triangle_only(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(2, 1);
    for (size_t x = 0; x < N_SIZES; x++)
        for (size_t y = 0; y < N_SIZES; y++)
            for (int beta = 0; beta <= 1; beta++) {
                const size_t n = sizes[x], rows = sizes[y];
                buffer A = random_matrix(&rng, rows, n), C = random_matrix(&rng, n, n), want = copy_of(C);
                for (size_t i = 0; i < n; i++)
                    for (size_t j = i; j < n; j++) {
                        double sum = 0;
                        for (size_t k = 0; k < rows; k++)
                            sum += get(A.view, GP_AS_IS, k, i) * get(A.view, GP_AS_IS, k, j);
                        double *w = &want.view.p[i * want.view.ld + j];
                        *w = sum + (beta ? *w : 0);
                    }
                gp_syrk_upper(gp_ro(A.view), beta, C.view);
                check_same(want, C, "syrk");
                free(A.p), free(C.p), free(want.p);
            }
}

static void gemv_equals_loops(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(3, 1);
    for (size_t x = 0; x < N_SIZES; x++)
        for (size_t y = 0; y < N_SIZES; y++)
            for (int t = 0; t < 2; t++) {
                const gp_op op = t ? GP_TRANSPOSED : GP_AS_IS;
                const size_t out = sizes[x], in = sizes[y];
                buffer A = t ? random_matrix(&rng, in, out) : random_matrix(&rng, out, in);
                double v[20], r[20], want[20];
                for (size_t i = 0; i < 20; i++) v[i] = gp_rng_normal(&rng), r[i] = want[i] = gp_rng_normal(&rng);
                for (size_t i = 0; i < out; i++) {
                    want[i] *= 0.5;
                    for (size_t k = 0; k < in; k++) want[i] += 2 * get(A.view, op, i, k) * v[k];
                }
                gp_gemv(op, 2, gp_ro(A.view), v, 0.5, r);
                CHECK_ARRAY(20, want, r, 1e-13, "gemv");
                free(A.p);
            }
}

// op(T) with the other triangle taken for 0, whatever it holds.
static double triangle(gp_mat T, gp_triangle which, gp_op op, size_t i, size_t j)
{
    const size_t row = op == GP_TRANSPOSED ? j : i, col = op == GP_TRANSPOSED ? i : j;
    return (which == GP_UPPER ? col >= row : col <= row) ? T.p[row * T.ld + col] : 0;
}

static void triangular_products_and_solves_equal_loops(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(4, 1);
    for (size_t x = 0; x < N_SIZES; x++)
        for (size_t y = 0; y < N_SIZES; y++)
            for (int kind = 0; kind < 4; kind++) {
                const gp_triangle which = kind & 1 ? GP_UPPER : GP_LOWER;
                const gp_op op = kind & 2 ? GP_TRANSPOSED : GP_AS_IS;
                const size_t n = sizes[x], cols = sizes[y];
                buffer T = random_matrix(&rng, n, n);
                for (size_t i = 0; i < n; i++) {
                    T.view.p[i * T.view.ld + i] = 2 + fabs(T.view.p[i * T.view.ld + i]);
                    for (size_t j = 0; j < n; j++)
                        if (i != j) T.view.p[i * T.view.ld + j] *= 0.3;
                    // the triangle that must not be read
                    for (size_t j = 0; j < n; j++)
                        if (which == GP_UPPER ? j < i : j > i) T.view.p[i * T.view.ld + j] = NAN;
                }
                buffer B = random_matrix(&rng, n, cols), left = copy_of(B), solved = copy_of(B);
                buffer R = random_matrix(&rng, cols, n), right = copy_of(R);
                for (size_t i = 0; i < n; i++)
                    for (size_t j = 0; j < cols; j++) {
                        double sum = 0, other = 0;
                        for (size_t k = 0; k < n; k++) {
                            sum += triangle(T.view, which, op, i, k) * get(B.view, GP_AS_IS, k, j);
                            other += get(R.view, GP_AS_IS, j, k) * triangle(T.view, which, op, k, i);
                        }
                        left.view.p[i * left.view.ld + j] = sum;
                        right.view.p[j * right.view.ld + i] = other;
                    }
                gp_trmm_left(which, op, gp_ro(T.view), B.view);
                check_same(left, B, "trmm left");
                gp_trsm_left(which, op, gp_ro(T.view), B.view); // and back
                check_same(solved, B, "trsm left");
                gp_trmm_right(which, op, gp_ro(T.view), R.view);
                check_same(right, R, "trmm right");
                free(T.p), free(B.p), free(left.p), free(solved.p), free(R.p), free(right.p);
            }
}

// op(T) B op(T)^T for a symmetric B, and the lower triangle of T B, at sizes of one panel and of several.
static void symmetric_products_are_those_of_whole_matrices(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(7, 1);
    static const size_t some[] = {1, 5, 64, 65, 150};
    for (size_t x = 0; x < sizeof some / sizeof *some; x++)
        for (int kind = 0; kind < 4; kind++) {
            const gp_triangle which = kind & 1 ? GP_UPPER : GP_LOWER;
            const gp_op op = kind & 2 ? GP_TRANSPOSED : GP_AS_IS;
            const size_t n = some[x];
            buffer T = random_matrix(&rng, n, n), B = random_matrix(&rng, n, n), part = random_matrix(&rng, n, n);
            gp_mat_mirror_lower(B.view);
            gp_trmm_right(which, op == GP_AS_IS ? GP_TRANSPOSED : GP_AS_IS, gp_ro(T.view), B.view);
            buffer whole = copy_of(B), lower = copy_of(part);
            gp_trmm_left(which, op, gp_ro(T.view), whole.view);
            gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_ro(T.view), gp_ro(B.view), 0, lower.view);
            gp_gemm_lower(gp_ro(T.view), gp_ro(B.view), part.view);
            gp_trmm_left_symmetric(which, op, gp_ro(T.view), B.view);
            check_same(whole, B, "symmetric trmm");
            for (size_t i = 0; i < n; i++)
                for (size_t j = i + 1; j < n; j++)
                    part.view.p[i * part.view.ld + j] = lower.view.p[i * lower.view.ld + j];
            check_same(lower, part, "lower triangle");
            free(T.p), free(B.p), free(part.p), free(whole.p), free(lower.p);
        }
}

static void copies_zeros_and_mirrors_stay_in_their_view(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(5, 1);
    for (size_t x = 0; x < N_SIZES; x++) {
        const size_t n = sizes[x];
        buffer A = random_matrix(&rng, n, n), B = random_matrix(&rng, n, n), want = copy_of(B);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) want.view.p[i * want.view.ld + j] = A.view.p[i * A.view.ld + j];
        gp_mat_copy(gp_ro(A.view), B.view);
        check_same(want, B, "copy");
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) want.view.p[i * want.view.ld + j] = want.view.p[j * want.view.ld + i];
        gp_mat_mirror_upper(B.view);
        check_same(want, B, "mirror");
        gp_mat_copy(gp_ro(A.view), B.view);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                want.view.p[i * want.view.ld + j] = A.view.p[j > i ? j * A.view.ld + i : i * A.view.ld + j];
        gp_mat_mirror_lower(B.view);
        check_same(want, B, "mirror of the lower triangle");
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) want.view.p[i * want.view.ld + j] = 0;
        gp_mat_zero(B.view);
        check_same(want, B, "zero");
        free(A.p), free(B.p), free(want.p);
    }
}

static void finite_means_every_entry(void **state)
{
    (void)state;
    double x[37];
    for (size_t i = 0; i < 37; i++) x[i] = i % 2 ? DBL_MAX : -DBL_MAX;
    assert_true(gp_all_finite(37, x));
    assert_true(gp_all_finite(0, NULL));
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 37; i++)
        for (size_t k = 0; k < 3; k++) {
            const double held = x[i];
            x[i] = bad[k];
            assert_false(gp_all_finite(37, x));
            x[i] = held;
        }
    assert_true(gp_dot(0, NULL, NULL) == 0);
    assert_true(gp_dot(3, (double[]){1, 2, 3}, (double[]){4, 5, 6}) == 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_equals_loops),
        cmocka_unit_test(syrk_fills_the_upper_triangle_only),
        cmocka_unit_test(gemv_equals_loops),
        cmocka_unit_test(triangular_products_and_solves_equal_loops),
        cmocka_unit_test(symmetric_products_are_those_of_whole_matrices),
        cmocka_unit_test(copies_zeros_and_mirrors_stay_in_their_view),
        cmocka_unit_test(finite_means_every_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
