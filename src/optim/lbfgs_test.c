// lbfgs_test.c: the minimiser on functions with known minima, with walls, and with failures.
#include "fixture.h"
#include "optim/lbfgs.h"

#include <limits.h>

static advgp_status rosenbrock(void *ctx, const double *x, size_t n, double *value, double *g, advgp_error *err)
{
    (void)ctx, (void)err;
    *value = 0;
    for (size_t i = 0; i < n; i++) g[i] = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        const double a = 1 - x[i], b = x[i + 1] - x[i] * x[i];
        *value += a * a + 100 * b * b;
        g[i] += -2 * a - 400 * x[i] * b;
        g[i + 1] += 200 * b;
    }
    return ADVGP_OK;
}

static void the_valley_of_rosenbrock_is_followed_to_its_end(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 12; n += 5) {
        advgp_error err = {0};
        double x[12], ones[12];
        for (size_t i = 0; i < n; i++) x[i] = i % 2 ? 1 : -1.2, ones[i] = 1;
        gp_lbfgs_result result = {0};
        const gp_lbfgs_options options = {.gradient_tol = 1e-10};
        CHECK_OK(gp_lbfgs(rosenbrock, NULL, n, x, &options, &result, &err), "rosenbrock");
        CHECK_ARRAY(n, ones, x, 1e-8, "rosenbrock");
        CHECK(result.value < 1e-15, "rosenbrock", "value %g", result.value);
        assert_int_equal(result.stopped, GP_STOPPED_CONVERGED);
        assert_true(result.iterations > 5 && result.evaluations >= result.iterations);
    }
}

static void the_iteration_limit_is_kept_and_named(void **state)
{
    (void)state;
    advgp_error err = {0};
    double x[2] = {-1.2, 1}, g[2], start;
    rosenbrock(NULL, x, 2, &start, g, NULL);
    gp_lbfgs_result result = {0};
    const gp_lbfgs_options options = {.max_iterations = 3};
    CHECK_OK(gp_lbfgs(rosenbrock, NULL, 2, x, &options, &result, &err), "limit");
    assert_int_equal(result.stopped, GP_STOPPED_ITERATION_LIMIT);
    assert_int_equal(result.iterations, 3);
    assert_true(result.value < start);
}

static void a_start_at_the_minimum_stays_there(void **state)
{
    (void)state;
    advgp_error err = {0};
    double x[2] = {1, 1};
    gp_lbfgs_result result = {0};
    CHECK_OK(gp_lbfgs(rosenbrock, NULL, 2, x, NULL, &result, &err), "at the minimum");
    assert_true(x[0] == 1 && x[1] == 1 && result.value == 0);
    assert_int_equal(result.stopped, GP_STOPPED_CONVERGED);
}

// -ln x + x, defined for x > 0 only; its minimum is at 1, and a first step from 0.001 overshoots nowhere, from 50 it
// jumps below 0.
static advgp_status walled(void *ctx, const double *x, size_t n, double *value, double *g, advgp_error *err)
{
    long *outside = ctx;
    *value = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > 0)) {
            ++*outside;
            g[i] = NAN;
            return gp_fail(err, ADVGP_ENUMERIC, "x[%zu] = %g is not positive", i, x[i]);
        }
        *value += 30 * (x[i] - log(x[i]));
        g[i] = 30 * (1 - 1 / x[i]);
    }
    return ADVGP_OK;
}

static void a_wall_makes_the_search_take_shorter_steps(void **state)
{
    (void)state;
    advgp_error err = {0};
    long outside = 0;
    static const double starts[] = {0.01, 0.3, 5, 50};
    for (size_t i = 0; i < 4; i++) {
        double x[3] = {starts[i], starts[i], 2}, ones[3] = {1, 1, 1};
        const gp_lbfgs_options options = {.gradient_tol = 1e-8};
        CHECK_OK(gp_lbfgs(walled, &outside, 3, x, &options, NULL, &err), "walled");
        CHECK_ARRAY(3, ones, x, 1e-6, "walled");
    }
    assert_true(outside > 0); // else the wall was never met and this test says nothing
}

// Values that are not finite count as outside, even with status OK.
static advgp_status cliff(void *ctx, const double *x, size_t n, double *value, double *g, advgp_error *err)
{
    (void)n, (void)err;
    long *over = ctx;
    *over += x[0] <= 0;
    *value = 30 * (x[0] - log(x[0])); // NaN below 0
    g[0] = 30 * (1 - 1 / x[0]);
    return ADVGP_OK;
}

static void a_value_that_is_not_finite_counts_as_outside(void **state)
{
    (void)state;
    advgp_error err = {0};
    long over = 0;
    double x = 50;
    const gp_lbfgs_options options = {.gradient_tol = 1e-8};
    CHECK_OK(gp_lbfgs(cliff, &over, 1, &x, &options, NULL, &err), "cliff");
    CHECK_CLOSE(1, x, 1e-6, "cliff");
    assert_true(over > 0);
}

typedef struct failing {
    long calls, fail_at;
    advgp_status with;
} failing;

static advgp_status fails(void *ctx, const double *x, size_t n, double *value, double *g, advgp_error *err)
{
    failing *f = ctx;
    if (f->calls++ >= f->fail_at) return gp_fail(err, f->with, "call %ld failed", f->calls);
    return rosenbrock(NULL, x, n, value, g, err);
}

static void a_failure_ends_the_run_with_its_status_its_text_and_the_best_point(void **state)
{
    (void)state;
    static const advgp_status with[] = {ADVGP_EDATA, ADVGP_ESTOPPED, ADVGP_ENOMEM, ADVGP_ECLUSTER};
    for (long fail_at = 0; fail_at < 20; fail_at++) {
        advgp_error err = {0};
        failing f = {.fail_at = fail_at, .with = with[fail_at % 4]};
        double x[2] = {-1.2, 1}, g[2], value, start = 24.2;
        gp_lbfgs_result result = {0};
        const advgp_status st = gp_lbfgs(fails, &f, 2, x, NULL, &result, &err);
        CHECK(st == f.with && strstr(err.text, "failed"), "failing", "call %ld: %s \"%s\"", fail_at,
              advgp_status_name(st), err.text);
        CHECK(f.calls == fail_at + 1, "failing", "called %ld times after the failure", f.calls - fail_at - 1);
        rosenbrock(NULL, x, 2, &value, g, NULL);
        CHECK(value <= start * (1 + 1e-15), "failing", "value %g is above the start's", value);
        if (fail_at > 0) CHECK(value == result.value, "failing", "x has %g, the result says %g", value, result.value);
        if (fail_at == 0) assert_true(x[0] == -1.2 && x[1] == 1);
    }
}

static void a_start_outside_is_refused(void **state)
{
    (void)state;
    advgp_error err = {0};
    long outside = 0;
    double x = -1;
    CHECK_FAILS(ADVGP_ENUMERIC, gp_lbfgs(walled, &outside, 1, &x, NULL, NULL, &err), "start outside");
    assert_true(x == -1);
}

// A function below zero is as good as one above: the test of the last values must not end it early, and must end it.
static advgp_status deep(void *ctx, const double *x, size_t n, double *value, double *g, advgp_error *err)
{
    const advgp_status st = rosenbrock(NULL, x, n, value, g, err);
    *value -= *(const double *)ctx;
    return st;
}

static void the_test_of_values_knows_negative_ones(void **state)
{
    (void)state;
    static const double depths[] = {0, 30, 1000};
    for (size_t i = 0; i < 3; i++) {
        advgp_error err = {0};
        double x[2] = {-1.2, 1}, ones[2] = {1, 1}, depth = depths[i];
        gp_lbfgs_result result;
        const gp_lbfgs_options options = {.gradient_tol = 1e-300, .value_tol = 1e-12};
        CHECK_OK(gp_lbfgs(deep, &depth, 2, x, &options, &result, &err), "deep");
        CHECK_ARRAY(2, ones, x, 1e-3, "deep");
        assert_int_equal(result.stopped, GP_STOPPED_CONVERGED);
    }
}

static void wrong_calls_are_refused_with_a_message(void **state)
{
    (void)state;
    advgp_error err = {0};
    double x = 1;
    CHECK_FAILS(ADVGP_EINVAL, gp_lbfgs(NULL, NULL, 1, &x, NULL, NULL, &err), "no function");
    CHECK_FAILS(ADVGP_EINVAL, gp_lbfgs(rosenbrock, NULL, 1, NULL, NULL, NULL, &err), "no x");
    CHECK_FAILS(ADVGP_EINVAL, gp_lbfgs(rosenbrock, NULL, 0, &x, NULL, NULL, &err), "no variables");
    CHECK_FAILS(ADVGP_EINVAL, gp_lbfgs(rosenbrock, NULL, (size_t)INT_MAX + 1, &x, NULL, NULL, &err), "too many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_valley_of_rosenbrock_is_followed_to_its_end),
        cmocka_unit_test(the_iteration_limit_is_kept_and_named),
        cmocka_unit_test(a_start_at_the_minimum_stays_there),
        cmocka_unit_test(a_wall_makes_the_search_take_shorter_steps),
        cmocka_unit_test(a_value_that_is_not_finite_counts_as_outside),
        cmocka_unit_test(a_failure_ends_the_run_with_its_status_its_text_and_the_best_point),
        cmocka_unit_test(a_start_outside_is_refused),
        cmocka_unit_test(the_test_of_values_knows_negative_ones),
        cmocka_unit_test(wrong_calls_are_refused_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
