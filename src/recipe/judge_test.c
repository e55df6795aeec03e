// judge_test.c: what the judge takes and what it leaves, and the closed form it is told losses by.
#include "base/rng.h"
#include "fixture.h"
#include "recipe/judge.h"

#include <math.h>
#include <stdlib.h>

enum { N = 400 };

// n rows whose losses the challenger changes by `gain` of their mean, with a spread.
static gp_verdict judge(gp_trial trial, size_t n, double gain, double spread, double squares)
{
    gp_paired crps, second;
    gp_rng rng = gp_rng_seeded(3, 0);
    double fall[N];
    advgp_error err;
    CHECK_OK(gp_paired_init(&crps, n, &err), "crps");
    CHECK_OK(gp_paired_init(&second, n, &err), "squares");
    for (size_t i = 0; i < n; i++) fall[i] = gain + spread * (i % 2 ? 1 : -1);
    for (size_t i = 0; i < n; i++)
        gp_paired_add(&crps, 1, 1 + 0.1 * gp_rng_uniform(&rng)), gp_paired_add(&second, 1, 1);
    gp_paired_turn(&crps), gp_paired_turn(&second);
    rng = gp_rng_seeded(3, 0);
    for (size_t i = 0; i < n; i++)
        gp_paired_add(&crps, 1, 1 + 0.1 * gp_rng_uniform(&rng) - fall[i]),
            gp_paired_add(&second, 1, squares + 0.01 * (i % 2 ? 1 : -1));
    const gp_verdict v = gp_judge(trial, &crps, squares > 0 ? &second : NULL);
    gp_paired_fini(&crps), gp_paired_fini(&second);
    return v;
}

static void a_clear_gain_is_taken_and_chance_is_not(void **state)
{
    (void)state;
    assert_true(judge(GP_TRIAL_NOISE, N, 0.02, 0.1, 0).taken);     // four standard errors
    assert_false(judge(GP_TRIAL_NOISE, N, 0.02, 0.4, 0).taken);    // one
    assert_false(judge(GP_TRIAL_NOISE, N, 0.001, 0.001, 0).taken); // twenty, of less than is worth a part of the model
    assert_false(judge(GP_TRIAL_NOISE, N, -0.02, 0.1, 0).taken);
    const gp_verdict v = judge(GP_TRIAL_NOISE, N, 0.021, 0.1, 0);
    assert_int_equal(v.rows, N);
    CHECK_CLOSE(0.02, v.gain, 0.02, "a gain of 0.021 of a mean loss of 1.05");
    CHECK_CLOSE(4.2, v.errors, 1e-6, "its standard errors");
}

static void a_pilot_must_gain_more(void **state)
{
    (void)state;
    assert_false(judge(GP_TRIAL_LOGARITHM, N, 0.03, 0.01, 0).taken);
    assert_true(judge(GP_TRIAL_DIRECTIONS, N, 0.03, 0.01, 0).taken);
    assert_true(judge(GP_TRIAL_LOGARITHM, N, 0.08, 0.01, 0).taken);
}

static void squared_errors_must_not_rise(void **state)
{
    (void)state;
    assert_true(judge(GP_TRIAL_LOGARITHM, N, 0.08, 0.01, 1.03).taken);
    assert_false(judge(GP_TRIAL_LOGARITHM, N, 0.08, 0.01, 1.06).taken);
}

static void a_trial_can_be_switched_off(void **state)
{
    (void)state;
    setenv("ADVGP_WITHOUT", "noise,cells", 1);
    assert_true(gp_trial_is_off(GP_TRIAL_NOISE) && gp_trial_is_off(GP_TRIAL_CELLS));
    assert_false(gp_trial_is_off(GP_TRIAL_GROUPS));
    setenv("ADVGP_WITHOUT", "noises", 1);
    assert_false(gp_trial_is_off(GP_TRIAL_NOISE));
    unsetenv("ADVGP_WITHOUT");
    assert_false(gp_trial_is_off(GP_TRIAL_NOISE));
}

// CRPS = integral of (F(t) - [t >= y])^2.
static void the_crps_of_a_normal_distribution_is_its_integral(void **state)
{
    (void)state;
    const double cases[][3] = {{0, 0, 1}, {2, 0.5, 0.7}, {-3, 1, 2}};
    for (size_t c = 0; c < 3; c++) {
        const double y = cases[c][0], mean = cases[c][1], sd = cases[c][2], step = 1e-4;
        double sum = 0;
        for (double t = mean - 12 * sd - 10; t < mean + 12 * sd + 10; t += step) {
            const double F = 0.5 * erfc(-(t - mean) / sd / sqrt(2)), off = F - (t >= y);
            sum += step * off * off;
        }
        CHECK_CLOSE(sum, gp_gaussian_crps(y, mean, sd), 1e-3, "CRPS");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clear_gain_is_taken_and_chance_is_not),
        cmocka_unit_test(a_pilot_must_gain_more),
        cmocka_unit_test(squared_errors_must_not_rise),
        cmocka_unit_test(a_trial_can_be_switched_off),
        cmocka_unit_test(the_crps_of_a_normal_distribution_is_its_integral),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
