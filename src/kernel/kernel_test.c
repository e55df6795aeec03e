// kernel_test.c: the promises of kernel.h, asked of every kernel in the table, and exp's accuracy.
#include "fixture.h"
#include "kernel/kernel.h"
#include "linalg/expv.h"

static double value_at(const gp_kernel *kernel, double s, double a0sq, double *slope)
{
    double k = s, own;
    kernel->eval(gp_mat_of(&k, 1, 1), a0sq, slope ? slope : &own);
    double alone = s;
    kernel->eval(gp_mat_of(&alone, 1, 1), a0sq, NULL);
    CHECK((isnan(k) && isnan(alone)) || fabs(k - alone) <= 4 * DBL_EPSILON * fabs(k), kernel->name,
          "with slope %.17g, without %.17g at %g", k, alone, s);
    return k;
}

typedef void (*question)(const gp_kernel *kernel);

static void ask_all(question ask)
{
    for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++) ask(*kernel);
}

static void ask_start(const gp_kernel *kernel)
{
    double slope;
    const double at_0 = value_at(kernel, 0, 1, &slope), below = -1e-9;
    CHECK(at_0 == 1, kernel->name, "kappa(0) = %.17g", at_0);
    CHECK(isfinite(slope) && slope < 0, kernel->name, "slope %g at 0", slope);
    double slope_below;
    CHECK(value_at(kernel, below, 1, &slope_below) == 1, kernel->name, "a negative s counts as 0");
    CHECK(slope_below == slope, kernel->name, "slope %g below 0, %g at 0", slope_below, slope);
    CHECK(value_at(kernel, -0.0, 1, NULL) == 1, kernel->name, "minus 0");
    CHECK_CLOSE(7.5, value_at(kernel, 0, 7.5, &slope_below), 1e-15, kernel->name);
    CHECK_CLOSE(7.5 * slope, slope_below, 1e-15, kernel->name);
}

static void kernels_start_at_one_with_a_finite_slope(void **state)
{
    (void)state;
    ask_all(ask_start);
}

typedef struct at {
    const gp_kernel *kernel;
} at;

static double kappa(void *ctx, const double *s)
{
    return value_at(((at *)ctx)->kernel, *s, 1.7, NULL);
}

static void ask_slope(const gp_kernel *kernel)
{
    at ctx = {kernel};
    for (double s = 0.01; s < 80; s *= 1.3) {
        double slope, x = s;
        const double value = value_at(kernel, s, 1.7, &slope);
        CHECK_CLOSE(differentiate(kappa, &ctx, &x, 0, 1e-3 * s), slope, 1e-10, kernel->name);
        CHECK(slope <= 0, kernel->name, "slope %g at %g", slope, s);
        if (kernel->slope_ratio != 0) CHECK_CLOSE(kernel->slope_ratio * value, slope, 1e-15, kernel->name);
    }
}

static void slopes_are_derivatives(void **state)
{
    (void)state;
    ask_all(ask_slope);
}

static void ask_decreasing(const gp_kernel *kernel)
{
    double before = 1;
    for (double s = 1e-6; s < 1e7; s *= 1.1) {
        const double now = value_at(kernel, s, 1, NULL);
        CHECK(now >= 0 && now <= before, kernel->name, "kappa(%g) = %.17g after %.17g", s, now, before);
        CHECK(now < before || now == 0, kernel->name, "kappa stands still at %g", s);
        before = now;
    }
}

static void kernels_fall_with_distance_and_never_below_zero(void **state)
{
    (void)state;
    ask_all(ask_decreasing);
}

static void ask_huge(const gp_kernel *kernel)
{
    static const double huge[] = {1e7, 1e100, 1e300, 1e308, DBL_MAX, INFINITY};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        double slope;
        CHECK(value_at(kernel, huge[i], 2, &slope) == 0, kernel->name, "at %g", huge[i]);
        CHECK(slope == 0, kernel->name, "slope %g at %g", slope, huge[i]);
    }
    double slope;
    CHECK(isnan(value_at(kernel, NAN, 1, &slope)), kernel->name, "NaN in, NaN out");
    CHECK(isnan(slope), kernel->name, "NaN in, NaN out");
}

static void a_huge_distance_gives_zero_and_nan_stays_nan(void **state)
{
    (void)state;
    ask_all(ask_huge);
}

static void ask_gram(const gp_kernel *kernel)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        enum { N = 25 };
        gp_rng rng = gp_rng_seeded(seed, 1);
        const size_t d = 1 + seed % 3;
        double X[N * 3], K[N * N];
        for (size_t i = 0; i < N * d; i++) X[i] = 3 * gp_rng_normal(&rng);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                double s = 0;
                for (size_t k = 0; k < d; k++) s += (X[i * d + k] - X[j * d + k]) * (X[i * d + k] - X[j * d + k]);
                K[i * N + j] = s;
            }
        kernel->eval(gp_mat_of(K, N, N), 1, NULL);
        const double smallest = smallest_eigenvalue(N, K);
        CHECK(smallest > -1e-14, kernel->name, "smallest eigenvalue %g of a Gram matrix, seed %llu", smallest,
              (unsigned long long)seed);
    }
}

static void gram_matrices_are_positive(void **state)
{
    (void)state;
    ask_all(ask_gram);
}

// Values against the definitions in long double, at every length of row (vector loops have tails) and in a wide view.
static void ask_rows(const gp_kernel *kernel)
{
    for (size_t cols = 0; cols <= 35; cols++) {
        enum { ROWS = 3, LD = 40 };
        double K[ROWS * LD], slope[ROWS * LD], s[ROWS * LD];
        gp_rng rng = gp_rng_seeded(cols, 2);
        for (size_t i = 0; i < ROWS * LD; i++) K[i] = s[i] = slope[i] = 10 * gp_rng_uniform(&rng);
        kernel->eval((gp_mat){K, ROWS, cols, LD}, 0.3, slope);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < LD; j++) {
                double want_slope = s[i * LD + j], want = s[i * LD + j];
                if (j < cols) want = value_at(kernel, s[i * LD + j], 0.3, &want_slope);
                CHECK_CLOSE(want, K[i * LD + j], 1e-15, kernel->name);
                CHECK_CLOSE(want_slope, slope[i * LD + j], 1e-15, kernel->name);
            }
    }
}

static void rows_are_evaluated_one_by_one_and_nothing_beside_them_is_touched(void **state)
{
    (void)state;
    ask_all(ask_rows);
}

static void kernels_equal_their_definitions(void **state)
{
    (void)state;
    for (double s = 1e-8; s < 1e4; s *= 1.7) {
        const long double t3 = sqrtl(3 * (long double)s), t5 = sqrtl(5 * (long double)s);
        const double rbf = (double)expl(-(long double)s / 2), m32 = (double)((1 + t3) * expl(-t3)),
                     m52 = (double)((1 + t5 + t5 * t5 / 3) * expl(-t5));
        const double got[] = {value_at(&gp_kernel_ard_rbf, s, 1, NULL), value_at(&gp_kernel_matern32, s, 1, NULL),
                              value_at(&gp_kernel_matern52, s, 1, NULL)};
        const double want[] = {rbf, m32, m52};
        for (size_t i = 0; i < 3; i++) // rounding of t costs a relative t * epsilon
            CHECK(fabs(got[i] - want[i]) <= (4 + (double)t5) * DBL_EPSILON * want[i] + 1e-306, gp_kernels[i]->name,
                  "at %g: expected %.17g, got %.17g", s, want[i], got[i]);
    }
}

static void exp_is_right_to_one_and_a_half_ulp(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(3, 3);
    double worst = 0, worst_at = 0;
    for (int i = 0; i < 300000; i++) {
        const double x = -(i % 3 == 0   ? 708 * gp_rng_uniform(&rng)
                           : i % 3 == 1 ? 2 * gp_rng_uniform(&rng)
                                        : exp(-30 * gp_rng_uniform(&rng)));
        const long double exact = expl((long double)x);
        const double got = gp_exp_nonpositive(x), ulp = ldexp(1, ilogb((double)exact) - 52);
        const double error = (double)(fabsl((long double)got - exact) / ulp);
        if (!(error <= worst)) worst = error, worst_at = x;
    }
    CHECK(worst <= 1.5, "seed 3", "%g ulp at %.17g", worst, worst_at);
    assert_true(gp_exp_nonpositive(0) == 1);
    assert_true(gp_exp_nonpositive(-0.0) == 1);
    assert_true(gp_exp_nonpositive(-708) > 0);
    assert_true(gp_exp_nonpositive(-709) == 0);
    assert_true(gp_exp_nonpositive(-DBL_MAX) == 0);
    assert_true(gp_exp_nonpositive(-INFINITY) == 0);
    assert_true(isnan(gp_exp_nonpositive(NAN)));
}

static void kernels_are_found_by_name(void **state)
{
    (void)state;
    for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++) {
        assert_ptr_equal(gp_kernel_named((*kernel)->name), *kernel);
        assert_true((*kernel)->summary && (*kernel)->summary[0]);
    }
    assert_null(gp_kernel_named("no such kernel"));
    assert_null(gp_kernel_named(""));
    assert_null(gp_kernel_named(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_start_at_one_with_a_finite_slope),
        cmocka_unit_test(slopes_are_derivatives),
        cmocka_unit_test(kernels_fall_with_distance_and_never_below_zero),
        cmocka_unit_test(a_huge_distance_gives_zero_and_nan_stays_nan),
        cmocka_unit_test(gram_matrices_are_positive),
        cmocka_unit_test(rows_are_evaluated_one_by_one_and_nothing_beside_them_is_touched),
        cmocka_unit_test(kernels_equal_their_definitions),
        cmocka_unit_test(exp_is_right_to_one_and_a_half_ulp),
        cmocka_unit_test(kernels_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
