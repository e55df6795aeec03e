// step_test.c: the step rules against the plain reference and by what defines them.
#include "fixture.h"
#include "optim/step.h"

static void proximal_adadelta_equals_the_reference_step_after_step(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        problem p;
        problem_init(&p, seed,
                     (problem_options){.n = 20, .d = 2, .n_components = 1 + seed % 2, .trend = (gp_trend)(seed % 3)});
        const size_t size = p.layout.size;
        engine e = engine_new(&p, 0);
        double *acc_g = doubles(size), *acc_u = doubles(size), *plain_g = doubles(size), *plain_u = doubles(size);
        double *grad = doubles(size), *theta = doubles(size), *steps = doubles(size);
        memcpy(theta, p.theta, size * sizeof *theta);
        gp_adadelta s = {.decay = 0.9, .epsilon = 1e-5, .damping = seed % 2 ? 1 : 3.5, .acc_g = acc_g, .acc_u = acc_u};
        for (int i = 0; i < 6; i++) {
            (void)run_pass(e, theta, p.rows, grad, p.label);
            ref_adadelta(&p.model, s.decay, s.epsilon, s.damping, grad, p.theta, plain_g, plain_u);
            gp_step_adadelta(p.layout, gp_range_all(p.layout), &s, grad, theta, i % 2 ? steps : NULL);
            CHECK_ARRAY(size, p.theta, theta, 1e-13, p.label);
            CHECK_ARRAY(size, plain_g, acc_g, 1e-13, p.label);
            CHECK_ARRAY(size, plain_u, acc_u, 1e-13, p.label);
            for (size_t k = 0; i % 2 && k < size; k++) assert_true(steps[k] > 0);
            memcpy(p.theta, theta, size * sizeof *theta);
        }
        free(acc_g), free(acc_u), free(plain_g), free(plain_u), free(grad), free(theta), free(steps);
        engine_free(e);
        problem_fini(&p);
    }
}

// prox_gamma(v) minimises gamma h(u) + (u - v)^2 / 2: its derivative there is 0.
static void the_proximal_operator_minimises_what_defines_it(void **state)
{
    (void)state;
    static const double gammas[] = {1e-12, 1e-6, 0.01, 1, 100, 1e8};
    static const double values[] = {-1e8, -100, -1, -1e-3, -1e-9, 0, 1e-9, 1e-3, 1, 100, 1e8};
    for (size_t g = 0; g < sizeof gammas / sizeof *gammas; g++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            const double gamma = gammas[g], value = values[v];
            const double shrunk = gp_prox_shrink(value, gamma), diagonal = gp_prox_diagonal(value, gamma);
            CHECK(fabs(gamma * shrunk + shrunk - value) <= 4 * DBL_EPSILON * fabs(value), "shrink",
                  "gamma %g, value %g", gamma, value);
            CHECK(diagonal > 0, "diagonal", "gamma %g, value %g: %g", gamma, value, diagonal);
            // gamma (u - 1/u) + u - value = 0, each term with its rounding
            const double defect = gamma * diagonal - gamma / diagonal + diagonal - value;
            const double size = gamma * diagonal + gamma / diagonal + diagonal + fabs(value);
            CHECK(fabs(defect) <= 1e-14 * size, "diagonal", "gamma %g, value %g: %.17g leaves %g of %g", gamma, value,
                  diagonal, defect, size);
        }
}

static void the_constant_step_proxes_q_alone(void **state)
{
    (void)state;
    problem p;
    problem_init(&p, 3, (problem_options){.n = 5, .d = 2, .n_components = 1, .m = 4, .map = &gp_map_cholesky});
    const size_t size = p.layout.size, M = p.layout.M;
    double *theta = doubles(size), *grad = doubles(size);
    memcpy(theta, p.theta, size * sizeof *theta);
    for (size_t i = 0; i < size; i++) grad[i] = gp_rng_normal(&p.rng);
    const double gamma = 0.07;
    gp_step_prox(p.layout, gp_range_all(p.layout), gamma, grad, theta);
    for (size_t i = 0; i < size; i++) {
        const double moved = p.theta[i] - gamma * grad[i];
        bool diagonal = false;
        for (size_t j = 0; j < M; j++) diagonal |= i == p.layout.U + gp_packed_index(M, j, j);
        const double expected = i < p.layout.n_rest ? moved
                                : diagonal ? (moved + sqrt(moved * moved + 4 * (1 + gamma) * gamma)) / (2 * (1 + gamma))
                                           : moved / (1 + gamma);
        CHECK_CLOSE(expected, theta[i], 1e-15, p.label);
    }
    free(theta), free(grad);
    problem_fini(&p);
}

static void adam_equals_its_definition(void **state)
{
    (void)state;
    enum { N = 7 };
    double m[N] = {0}, v[N] = {0}, theta[N], plain[N], pm[N] = {0}, pv[N] = {0};
    gp_rng rng = gp_rng_seeded(5, 5);
    for (int i = 0; i < N; i++) theta[i] = plain[i] = gp_rng_normal(&rng);
    const double unit[N] = {1, 2, 1, 0.5, 1, 3, 1};
    gp_adam adam = {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .unit = unit, .m = m, .v = v};
    for (int t = 1; t <= 20; t++) {
        double g[N];
        for (int i = 0; i < N; i++) g[i] = gp_rng_normal(&rng) + theta[i];
        gp_step_adam(&adam, N - 1, g, theta); // the last element is not its own
        for (int i = 0; i < N - 1; i++) {
            pm[i] = 0.9 * pm[i] + 0.1 * g[i];
            pv[i] = 0.99 * pv[i] + 0.01 * g[i] * g[i];
            plain[i] -= 0.1 * unit[i] * (pm[i] / (1 - pow(0.9, t))) / (sqrt(pv[i] / (1 - pow(0.99, t))) + 1e-8);
        }
        CHECK_ARRAY(N, plain, theta, 1e-12, "seed 5");
        assert_int_equal(adam.t, t);
    }
}

// Many proximal steps of the paper from mu = 0, U = I approach the optimal q(w): the fixed point of the rule is the
// optimum of the bound, not of sum_g alone.
static void proximal_steps_approach_the_optimal_q(void **state)
{
    (void)state;
    problem p;
    problem_init(&p, 11, (problem_options){.n = 30, .d = 2, .n_components = 1, .m = 4, .map = &gp_map_cholesky});
    const gp_theta_layout layout = p.layout;
    engine e = engine_new(&p, 0);
    double *grad = doubles(layout.size), *mu = doubles(layout.M), *U = doubles(layout.size - layout.U);
    ref_optimal(&p.model, p.theta, p.plain, mu, U);
    gp_theta_start_q(layout, p.theta);
    for (int i = 0; i < 4000; i++) {
        (void)run_pass(e, p.theta, p.rows, grad, p.label);
        for (size_t k = 0; k < layout.n_rest; k++) grad[k] = 0; // q(w) alone
        gp_step_prox(layout, gp_range_all(layout), 0.01, grad, p.theta);
    }
    CHECK_ARRAY(layout.M, mu, p.theta + layout.n_rest, 1e-8, p.label);
    CHECK_ARRAY(layout.size - layout.U, U, p.theta + layout.U, 1e-8, p.label);
    free(grad), free(mu), free(U);
    engine_free(e);
    problem_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proximal_adadelta_equals_the_reference_step_after_step),
        cmocka_unit_test(the_proximal_operator_minimises_what_defines_it),
        cmocka_unit_test(the_constant_step_proxes_q_alone),
        cmocka_unit_test(adam_equals_its_definition),
        cmocka_unit_test(proximal_steps_approach_the_optimal_q),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
