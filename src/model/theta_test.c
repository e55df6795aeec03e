// theta_test.c: the packing of U, the start of q(w), and the divergence from the prior.
#include "fixture.h"

static void packing_goes_row_by_row_and_back(void **state)
{
    (void)state;
    for (size_t M = 1; M <= 9; M++) {
        const size_t ld = M + 2;
        double *U = doubles(M * ld), *packed = doubles(M * (M + 1) / 2), *again = doubles(M * (M + 1) / 2);
        size_t at = 0;
        for (size_t i = 0; i < M; i++)
            for (size_t j = i; j < M; j++, at++) {
                assert_int_equal(gp_packed_index(M, i, j), at);
                packed[at] = 1 + (double)at;
            }
        for (size_t i = 0; i < M * ld; i++) U[i] = -5;
        gp_upper_unpack(M, packed, (gp_mat){U, M, M, ld});
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < ld; j++) {
                const double expected = j >= M ? -5 : j < i ? 0 : packed[gp_packed_index(M, i, j)];
                assert_true(U[i * ld + j] == expected);
            }
        gp_upper_pack((gp_cmat){U, M, M, ld}, again);
        CHECK_BITS(M * (M + 1) / 2, packed, again, "pack");
        free(U), free(packed), free(again);
    }
}

static void the_layout_is_that_of_the_reference(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        problem p;
        problem_init(&p, seed,
                     (problem_options){.n = 1,
                                       .d = 1 + seed % 4,
                                       .n_components = seed % 4,
                                       .trend = seed % 4 ? (gp_trend)(seed % 3) : GP_TREND_LINEAR});
        engine e = engine_new(&p, 0); // compares the layouts
        engine_free(e);
        problem_fini(&p);
    }
}

static void q_starts_at_the_prior(void **state)
{
    (void)state;
    problem p;
    problem_init(&p, 1, (problem_options){.n = 1, .d = 2, .n_components = 2});
    double *rest = doubles(p.layout.n_rest), *grad = doubles(p.layout.size), *zero = doubles(p.layout.size);
    memcpy(rest, p.theta, p.layout.n_rest * sizeof *rest);
    gp_theta_start_q(p.layout, p.theta);
    CHECK_BITS(p.layout.n_rest, rest, p.theta, "the rest is not touched");
    CHECK_CLOSE(0, gp_theta_kl(p.layout, p.theta, grad), 1e-15, "the prior is no distance from itself");
    CHECK_ARRAY(p.layout.size, zero, grad, 1e-15, "and flat there");
    for (size_t i = 0; i < p.layout.M; i++) {
        assert_true(p.theta[p.layout.n_rest + i] == 0);
        for (size_t j = i; j < p.layout.M; j++)
            assert_true(p.theta[p.layout.U + gp_packed_index(p.layout.M, i, j)] == (i == j));
    }
    free(rest), free(grad), free(zero);
    problem_fini(&p);
}

static double kl(void *ctx, const double *theta)
{
    return gp_theta_kl(*(gp_theta_layout *)ctx, theta, NULL);
}

static void the_divergence_equals_the_reference_and_its_gradient_differences(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        problem p;
        problem_init(&p, seed,
                     (problem_options){.n = 1, .d = 2, .n_components = 1 + seed % 3, .trend = (gp_trend)(seed % 3)});
        if (seed % 2) p.theta[p.layout.U] *= -1; // the sign of a diagonal entry does not matter to Sigma
        double *grad = doubles(p.layout.size);
        for (size_t i = 0; i < p.layout.size; i++) grad[i] = 10; // it is added to what is there
        CHECK_CLOSE(ref_kl(&p.model, p.theta), gp_theta_kl(p.layout, p.theta, grad), 1e-13, p.label);
        CHECK(gp_theta_kl(p.layout, p.theta, NULL) > 0, p.label, "a divergence is positive");
        for (size_t i = 0; i < p.layout.size; i++)
            CHECK_CLOSE(10 + differentiate(kl, &p.layout, p.theta, i, 1e-3), grad[i], 1e-8, p.label);
        free(grad);
        problem_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_goes_row_by_row_and_back),
        cmocka_unit_test(the_layout_is_that_of_the_reference),
        cmocka_unit_test(q_starts_at_the_prior),
        cmocka_unit_test(the_divergence_equals_the_reference_and_its_gradient_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
