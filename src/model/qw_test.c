// qw_test.c: what follows from the statistics: against the plain reference, and by the laws of an optimum.
#include "fixture.h"
#include "linalg/interrupt.h"
#include "model/qw.h"

typedef struct setting {
    problem p;
    engine e;
    gp_qw *qw;
    size_t M, packed;
    double *mu, *U, *mu2, *U2;
} setting;

static void setting_init(setting *s, uint64_t seed, problem_options options)
{
    advgp_error err = {0};
    *s = (setting){0};
    problem_init(&s->p, seed, options);
    if (s->p.w) s->p.w[0] = 1.5; // some row counts
    s->e = engine_new(&s->p, 0);
    s->M = s->p.layout.M, s->packed = s->M * (s->M + 1) / 2;
    CHECK_OK(gp_qw_new(s->M, &s->qw, &err), s->p.label);
    s->mu = doubles(s->M), s->mu2 = doubles(s->M), s->U = doubles(s->packed), s->U2 = doubles(s->packed);
    (void)run_pass(s->e, s->p.theta, s->p.rows, NULL, s->p.label);
}

static void setting_random(setting *s, uint64_t seed)
{
    gp_rng rng = gp_rng_seeded(seed, 11);
    setting_init(s, seed,
                 (problem_options){.n = 1 + gp_rng_below(&rng, 50),
                                   .d = 1 + gp_rng_below(&rng, 4),
                                   .n_components = 1 + gp_rng_below(&rng, 3),
                                   .trend = (gp_trend)gp_rng_below(&rng, 3),
                                   .weighted = seed % 2});
}

static void setting_fini(setting *s)
{
    free(s->mu), free(s->mu2), free(s->U), free(s->U2);
    gp_qw_free(s->qw);
    engine_free(s->e);
    problem_fini(&s->p);
}

enum { SEEDS = 60 };

static void the_optimal_q_and_the_collapsed_bound_equal_the_reference(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        setting s;
        advgp_error err = {0};
        double value;
        setting_random(&s, seed);
        CHECK_OK(gp_qw_optimal(s.qw, gp_pass_stats(s.e.pass), s.p.theta[0], s.mu, s.U, &value, &err), s.p.label);
        const double expected = ref_optimal(&s.p.model, s.p.theta, s.p.plain, s.mu2, s.U2);
        CHECK_CLOSE(expected, value, 1e-11, s.p.label);
        CHECK_ARRAY(s.M, s.mu2, s.mu, 1e-9, s.p.label);
        CHECK_ARRAY(s.packed, s.U2, s.U, 1e-9, s.p.label);
        double alone;
        CHECK_OK(gp_qw_optimal(s.qw, gp_pass_stats(s.e.pass), s.p.theta[0], NULL, NULL, &alone, &err), s.p.label);
        CHECK_BITS(1, &value, &alone, s.p.label);
        setting_fini(&s);
    }
}

// sum_g + h has no slope in q(w) at the optimum, and its value there is the collapsed bound.
static void at_the_optimal_q_the_bound_is_flat_and_equals_the_collapsed_one(void **state)
{
    (void)state;
    for (uint64_t seed = 101; seed <= 100 + SEEDS; seed++) {
        setting s;
        advgp_error err = {0};
        double collapsed;
        setting_random(&s, seed);
        const gp_theta_layout layout = s.p.layout;
        double *grad = doubles(layout.size), *zero = doubles(layout.size), *theta = s.p.theta;
        const double elsewhere = run_pass(s.e, theta, s.p.rows, NULL, s.p.label) + gp_theta_kl(layout, theta, NULL);
        CHECK_OK(gp_qw_optimal(s.qw, gp_pass_stats(s.e.pass), theta[0], theta + layout.n_rest, theta + layout.U,
                               &collapsed, &err),
                 s.p.label);
        double value = run_pass(s.e, theta, s.p.rows, grad, s.p.label);
        double scale = 1;
        for (size_t i = layout.n_rest; i < layout.size; i++) scale = fmax(scale, fabs(grad[i]));
        value += gp_theta_kl(layout, theta, grad);
        CHECK_CLOSE(collapsed, value, 1e-11, s.p.label);
        CHECK(elsewhere > value, s.p.label, "%g elsewhere, %g at the optimum", elsewhere, value);
        CHECK_ARRAY(layout.size - layout.n_rest, zero, grad + layout.n_rest, 1e-10 * scale, s.p.label);
        free(grad), free(zero);
        setting_fini(&s);
    }
}

static void a_natural_step_equals_the_reference(void **state)
{
    (void)state;
    for (uint64_t seed = 201; seed <= 200 + SEEDS; seed++) {
        setting s;
        advgp_error err = {0};
        setting_random(&s, seed);
        const double rate = seed % 3 ? gp_rng_uniform(&s.p.rng) : 1, scale = 0.2 + 5 * gp_rng_uniform(&s.p.rng);
        memcpy(s.mu, s.p.theta + s.p.layout.n_rest, s.M * sizeof *s.mu);
        memcpy(s.U, s.p.theta + s.p.layout.U, s.packed * sizeof *s.U);
        CHECK_OK(gp_qw_natural(s.qw, gp_pass_stats(s.e.pass), scale, s.p.theta[0], rate, s.mu, s.U, &err), s.p.label);
        ref_natural(&s.p.model, s.p.theta, s.p.plain, scale, rate, s.mu2, s.U2);
        CHECK_ARRAY(s.M, s.mu2, s.mu, 1e-9, s.p.label);
        CHECK_ARRAY(s.packed, s.U2, s.U, 1e-9, s.p.label);
        setting_fini(&s);
    }
}

static void a_natural_step_of_rate_one_is_the_optimal_q_from_anywhere(void **state)
{
    (void)state;
    for (uint64_t seed = 301; seed <= 320; seed++) {
        setting s;
        advgp_error err = {0};
        setting_random(&s, seed);
        const gp_stats *stats = gp_pass_stats(s.e.pass);
        CHECK_OK(gp_qw_optimal(s.qw, stats, s.p.theta[0], s.mu2, s.U2, NULL, &err), s.p.label);
        // a failure leaves NaN in the workspace, which must not outlive it
        CHECK_FAILS(ADVGP_ENUMERIC, gp_qw_natural(s.qw, stats, 1, NAN, 1, s.mu, s.U, &err), s.p.label);
        for (size_t i = 0; i < s.M; i++) s.mu[i] = seed % 2 ? NAN : 7; // whatever q(w) was
        for (size_t i = 0; i < s.packed; i++) s.U[i] = seed % 2 ? 0 : -3;
        CHECK_OK(gp_qw_natural(s.qw, stats, 1, s.p.theta[0], 1, s.mu, s.U, &err), s.p.label);
        CHECK_BITS(s.M, s.mu2, s.mu, s.p.label);
        CHECK_BITS(s.packed, s.U2, s.U, s.p.label);
        setting_fini(&s);
    }
}

static void the_optimal_q_is_a_fixed_point_of_natural_steps(void **state)
{
    (void)state;
    for (uint64_t seed = 331; seed <= 350; seed++) {
        setting s;
        advgp_error err = {0};
        setting_random(&s, seed);
        const gp_stats *stats = gp_pass_stats(s.e.pass);
        CHECK_OK(gp_qw_optimal(s.qw, stats, s.p.theta[0], s.mu2, s.U2, NULL, &err), s.p.label);
        memcpy(s.mu, s.mu2, s.M * sizeof *s.mu);
        memcpy(s.U, s.U2, s.packed * sizeof *s.U);
        for (int i = 0; i < 3; i++)
            CHECK_OK(gp_qw_natural(s.qw, stats, 1, s.p.theta[0], 0.3, s.mu, s.U, &err), s.p.label);
        CHECK_ARRAY(s.M, s.mu2, s.mu, 1e-10, s.p.label);
        CHECK_ARRAY(s.packed, s.U2, s.U, 1e-10, s.p.label);
        setting_fini(&s);
    }
}

static double collapsed_at(void *ctx, const double *ln_sigma)
{
    setting *s = ctx;
    advgp_error err = {0};
    double value = NAN;
    CHECK_OK(gp_qw_optimal(s->qw, gp_pass_stats(s->e.pass), *ln_sigma, NULL, NULL, &value, &err), s->p.label);
    return value;
}

static void the_best_noise_is_the_lowest_stationary_point_of_the_collapsed_bound(void **state)
{
    (void)state;
    for (uint64_t seed = 401; seed <= 400 + SEEDS; seed++) {
        setting s;
        advgp_error err = {0};
        setting_random(&s, seed);
        double best = NAN, bound = NAN;
        CHECK_OK(gp_qw_best_noise(s.qw, gp_pass_stats(s.e.pass), &best, &bound, &err), s.p.label);
        s.p.theta[0] = best;
        CHECK_CLOSE(ref_optimal(&s.p.model, s.p.theta, s.p.plain, s.mu2, s.U2), bound, 1e-10, s.p.label);
        const double slope = differentiate(collapsed_at, &s, &best, 0, 1e-4);
        CHECK(fabs(slope) <= 1e-7 * (1 + gp_pass_stats(s.e.pass)->n), s.p.label, "slope %g at ln sigma = %g", slope,
              best);
        for (double at = -6; at < 4; at += 0.05)
            CHECK(collapsed_at(&s, &at) >= bound - 1e-9 * (1 + fabs(bound)), s.p.label,
                  "ln sigma = %g is better than %g: %.15g < %.15g", at, best, collapsed_at(&s, &at), bound);
        setting_fini(&s);
    }
}

static void the_noise_at_fixed_q_equals_the_reference_and_leaves_no_slope(void **state)
{
    (void)state;
    for (uint64_t seed = 501; seed <= 500 + SEEDS; seed++) {
        setting s;
        advgp_error err = {0};
        setting_random(&s, seed);
        double ln_sigma = NAN, *theta = s.p.theta, *grad = doubles(s.p.layout.size);
        CHECK_OK(gp_qw_noise(s.qw, gp_pass_stats(s.e.pass), theta + s.p.layout.n_rest, theta + s.p.layout.U, &ln_sigma,
                             &err),
                 s.p.label);
        CHECK_CLOSE(ref_noise(&s.p.model, theta, s.p.plain), ln_sigma, 1e-11, s.p.label);
        theta[0] = ln_sigma;
        (void)run_pass(s.e, theta, s.p.rows, grad, s.p.label);
        CHECK_CLOSE(0, grad[0] / gp_pass_stats(s.e.pass)->n, 1e-10, s.p.label);
        free(grad);
        setting_fini(&s);
    }
}

static void statistics_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    setting s;
    advgp_error err = {0};
    setting_init(&s, 2, (problem_options){.n = 9, .d = 2, .n_components = 1, .m = 3, .map = &gp_map_cholesky});
    gp_stats stats = *gp_pass_stats(s.e.pass);
    double *spots[] = {&stats.A.p[0], &stats.A.p[1], &stats.b[1], &stats.yy, &stats.residual};
    static const double poison[] = {NAN, INFINITY};
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 2; k++) {
            const double held = *spots[i];
            double ln_sigma = 0, value;
            *spots[i] = poison[k];
            if (i == 1) stats.A.p[3] = poison[k]; // its mirror image
            CHECK_FAILS(ADVGP_ENUMERIC, gp_qw_optimal(s.qw, &stats, 0, s.mu, s.U, &value, &err), "optimal");
            const advgp_status st = gp_qw_best_noise(s.qw, &stats, &ln_sigma, &value, &err);
            CHECK((st == ADVGP_ENUMERIC || st == ADVGP_EDATA) && err.text[0], s.p.label, "statistic %zu = %g: %s", i,
                  poison[k], advgp_status_name(st));
            gp_upper_pack(gp_cmat_of((double[]){1, 0, 0, 0, 1, 0, 0, 0, 1}, 3, 3), s.U);
            memset(s.mu, 0, 3 * sizeof *s.mu);
            if (i < 1 || i > 2) // mu = 0 and U = I see the diagonal of A alone, and no b
                CHECK_FAILS(ADVGP_ENUMERIC, gp_qw_noise(s.qw, &stats, s.mu, s.U, &ln_sigma, &err), "noise");
            *spots[i] = held;
            if (i == 1) stats.A.p[3] = held;
        }
    setting_fini(&s);
}

static void a_residual_below_zero_is_rounding_wherever_it_is_used(void **state)
{
    (void)state;
    setting s;
    advgp_error err = {0};
    double values[2], ln_sigmas[2], noises[2];
    setting_init(&s, 2, (problem_options){.n = 9, .d = 2, .n_components = 1, .m = 3, .map = &gp_map_cholesky});
    gp_stats stats = *gp_pass_stats(s.e.pass);
    for (size_t i = 0; i < 2; i++) {
        stats.residual = i ? -1e-3 : 0;
        CHECK_OK(gp_qw_optimal(s.qw, &stats, 0, s.mu, s.U, &values[i], &err), s.p.label);
        CHECK_OK(gp_qw_noise(s.qw, &stats, s.mu, s.U, &noises[i], &err), s.p.label);
        CHECK_OK(gp_qw_best_noise(s.qw, &stats, &ln_sigmas[i], NULL, &err), s.p.label);
    }
    CHECK_BITS(1, &values[0], &values[1], "bound");
    CHECK_BITS(1, &noises[0], &noises[1], "noise at fixed q(w)");
    CHECK_BITS(1, &ln_sigmas[0], &ln_sigmas[1], "best noise");
    setting_fini(&s);
}

static void jitter_that_a_precision_needed_is_told(void **state)
{
    (void)state;
    setting s;
    advgp_error err = {0};
    setting_init(&s, 2, (problem_options){.n = 9, .d = 2, .n_components = 1, .m = 3, .map = &gp_map_cholesky});
    gp_stats stats = *gp_pass_stats(s.e.pass);
    CHECK_OK(gp_qw_optimal(s.qw, &stats, 0, s.mu, s.U, NULL, &err), s.p.label);
    CHECK(gp_qw_jitter(s.qw) == 0, s.p.label, "%g where none was needed", gp_qw_jitter(s.qw));
    gp_mat_zero(stats.A);
    stats.A.p[0] = 1e6, stats.A.p[4] = -1.5; // I + A has the pivots 1e6 + 1, -0.5, 1
    CHECK_OK(gp_qw_optimal(s.qw, &stats, 0, s.mu, s.U, NULL, &err), s.p.label);
    CHECK(gp_qw_jitter(s.qw) > 1e-7 && gp_qw_jitter(s.qw) < 1e-4, s.p.label, "%g", gp_qw_jitter(s.qw));
    setting_fini(&s);
}

static void wrong_calls_are_refused_with_a_message(void **state)
{
    (void)state;
    setting s;
    advgp_error err = {0};
    setting_init(&s, 1, (problem_options){.n = 9, .d = 2, .n_components = 1, .m = 3, .map = &gp_map_cholesky});
    const gp_stats *stats = gp_pass_stats(s.e.pass);
    double ln_sigma = 0, value;
    gp_qw *other = NULL;
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_new(3, NULL, &err), "no out");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_new(0, &other, &err), "no features");
    CHECK_FAILS(ADVGP_ENOMEM, gp_qw_new(SIZE_MAX / 2, &other, &err), "huge M");
    assert_null(other);
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_natural(NULL, stats, 1, 0, 1, s.mu, s.U, &err), "no workspace");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_natural(s.qw, NULL, 1, 0, 1, s.mu, s.U, &err), "no statistics");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_natural(s.qw, stats, 1, 0, 1, NULL, s.U, &err), "no mu");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_natural(s.qw, stats, 1, 0, 1, s.mu, NULL, &err), "no U");
    static const double bad_rates[] = {0, -0.1, 1.1, NAN, INFINITY};
    for (size_t i = 0; i < 5; i++)
        CHECK_FAILS(ADVGP_EINVAL, gp_qw_natural(s.qw, stats, 1, 0, bad_rates[i], s.mu, s.U, &err), "rate");
    static const double bad_scales[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++)
        CHECK_FAILS(ADVGP_EINVAL, gp_qw_natural(s.qw, stats, bad_scales[i], 0, 1, s.mu, s.U, &err), "scale");
    CHECK_FAILS(ADVGP_ENUMERIC, gp_qw_natural(s.qw, stats, 1, 0, 0.5, s.mu, s.U, &err), "U = 0 has no inverse");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_optimal(NULL, stats, 0, NULL, NULL, &value, &err), "no workspace");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_optimal(s.qw, NULL, 0, NULL, NULL, &value, &err), "no statistics");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_best_noise(NULL, stats, &ln_sigma, &value, &err), "no workspace");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_best_noise(s.qw, stats, NULL, &value, &err), "no out");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_noise(NULL, stats, s.mu, s.U, &ln_sigma, &err), "no workspace");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_noise(s.qw, stats, NULL, s.U, &ln_sigma, &err), "no mu");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_noise(s.qw, stats, s.mu, NULL, &ln_sigma, &err), "no U");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_noise(s.qw, stats, s.mu, s.U, NULL, &err), "no out");
    static const double bad_noise[] = {NAN, INFINITY, -INFINITY, -1e4};
    for (size_t i = 0; i < 4; i++) {
        memset(s.U, 0, s.packed * sizeof *s.U);
        CHECK_FAILS(ADVGP_ENUMERIC, gp_qw_optimal(s.qw, stats, bad_noise[i], s.mu, s.U, &value, &err), "ln sigma");
        if (bad_noise[i] != INFINITY) // there the rows tell nothing and the prior is a good answer
            CHECK_FAILS(ADVGP_ENUMERIC, gp_qw_natural(s.qw, stats, 1, bad_noise[i], 1, s.mu, s.U, &err), "ln sigma");
    }
    CHECK_OK(gp_qw_new(4, &other, &err), "other size");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_optimal(other, stats, 0, NULL, NULL, &value, &err), "other size");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_natural(other, stats, 1, 0, 1, s.mu, s.U, &err), "other size");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_best_noise(other, stats, &ln_sigma, NULL, &err), "other size");
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_noise(other, stats, s.mu, s.U, &ln_sigma, &err), "other size");
    gp_stats empty = {.A = stats->A};
    CHECK_FAILS(ADVGP_EINVAL, gp_qw_optimal(s.qw, &empty, 0, NULL, NULL, &value, &err), "no b");
    gp_qw_free(other);
    gp_qw_free(NULL);
    setting_fini(&s);
}

static void a_long_natural_step_can_be_ended_and_leaves_q_as_it_was(void **state)
{
    (void)state;
    enum { M = 3136 }; // M^3 / 3 is long
    const size_t packed = (size_t)M * (M + 1) / 2;
    advgp_error err = {0};
    gp_qw *qw = NULL;
    double *A = doubles((size_t)M * M), *b = doubles(M), *mu = doubles(M), *U = doubles(packed);
    double *mu0 = doubles(M), *U0 = doubles(packed);
    for (size_t i = 0, at = 0; i < M; at += M - i, i++)
        A[i * M + i] = 2, b[i] = 1, mu[i] = mu0[i] = 3, U[at] = U0[at] = 1;
    const gp_stats stats = {.A = gp_mat_of(A, M, M), .b = b, .yy = M, .n = M};
    CHECK_OK(gp_qw_new(M, &qw, &err), "a workspace");
    for (int until = 0; until < 2; until++) {
        patience p = {.until = until};
        gp_interrupt scope;
        gp_interrupt_open(&scope, asked, &p);
        CHECK_FAILS(ADVGP_ESTOPPED, gp_qw_natural(qw, &stats, 1, 0, 0.5, mu, U, &err), "ended");
        assert_true(gp_interrupt_close(&scope));
        assert_int_equal(p.asked, until + 1);
        CHECK_BITS(M, mu0, mu, "mu");
        CHECK_BITS(packed, U0, U, "U");
    }
    CHECK_OK(gp_qw_natural(qw, &stats, 1, 0, 0.5, mu, U, &err), "made"); // Sigma^-1 = (1 + 3) / 2, its mu (3 + 1) / 2
    for (size_t i = 0, at = 0; i < M; at += M - i, i++) {
        CHECK_CLOSE(1, mu[i], 1e-12, "mu");
        CHECK_CLOSE(sqrt(0.5), U[at], 1e-12, "U");
    }
    free(A), free(b), free(mu), free(U), free(mu0), free(U0);
    gp_qw_free(qw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_natural_step_can_be_ended_and_leaves_q_as_it_was),
        cmocka_unit_test(the_optimal_q_and_the_collapsed_bound_equal_the_reference),
        cmocka_unit_test(at_the_optimal_q_the_bound_is_flat_and_equals_the_collapsed_one),
        cmocka_unit_test(a_natural_step_equals_the_reference),
        cmocka_unit_test(a_natural_step_of_rate_one_is_the_optimal_q_from_anywhere),
        cmocka_unit_test(the_optimal_q_is_a_fixed_point_of_natural_steps),
        cmocka_unit_test(the_best_noise_is_the_lowest_stationary_point_of_the_collapsed_bound),
        cmocka_unit_test(the_noise_at_fixed_q_equals_the_reference_and_leaves_no_slope),
        cmocka_unit_test(statistics_that_are_not_finite_are_refused),
        cmocka_unit_test(a_residual_below_zero_is_rounding_wherever_it_is_used),
        cmocka_unit_test(jitter_that_a_precision_needed_is_told),
        cmocka_unit_test(wrong_calls_are_refused_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
