// gradient_test.c: every derivative against differences of the value it belongs to: sum_g in all of theta, the
// collapsed bound in everything before mu. For every kernel and map, components, trend, weights.
#include "fixture.h"
#include "model/qw.h"

typedef struct context {
    const problem *p;
    engine e;
    gp_qw *qw;
    double *mu, *U;
} context;

static context context_new(const problem *p)
{
    context c = {.p = p, .e = engine_new(p, 7), .mu = doubles(p->layout.M)};
    c.U = doubles(p->layout.M * (p->layout.M + 1) / 2);
    advgp_error err = {0};
    CHECK_OK(gp_qw_new(p->layout.M, &c.qw, &err), p->label);
    return c;
}

static void context_free(context *c)
{
    engine_free(c->e);
    gp_qw_free(c->qw);
    free(c->mu), free(c->U);
}

static double sum_g(void *ctx, const double *theta)
{
    context *c = ctx;
    return run_pass(c->e, theta, c->p->rows, NULL, c->p->label);
}

static double collapsed(void *ctx, const double *theta)
{
    context *c = ctx;
    advgp_error err = {0};
    double value = NAN;
    (void)run_pass(c->e, theta, c->p->rows, NULL, c->p->label);
    CHECK_OK(gp_qw_optimal(c->qw, gp_pass_stats(c->e.pass), theta[0], c->mu, c->U, &value, &err), c->p->label);
    return value;
}

// Block by block, so that a small derivative is not hidden behind a large one of another kind. At this step the
// five-point rule rounds near 1e-11 of the value, and its truncation stays below 1e-7 even where matern32 meets an
// inducing input or two eigenvalues are near each other.
static void compare(const problem *p, scalar_function f, void *ctx, const double *gradient, size_t n)
{
    double *theta = doubles(p->layout.size), *expected = doubles(n);
    memcpy(theta, p->theta, p->layout.size * sizeof *theta);
    const double scale = 1 + fabs(f(ctx, theta));
    for (size_t i = 0; i < n; i++) expected[i] = differentiate(f, ctx, theta, i, 1e-4);
    size_t starts[2 + 5 * REF_MAX_COMPONENTS + 4], n_starts = 0, at = 1;
    starts[n_starts++] = 0; // ln sigma
    for (size_t b = 0; b < p->spec.n_components; b++) {
        const size_t m = p->components[b].shape.m;
        starts[n_starts++] = at, at += 1;        // ln a0
        starts[n_starts++] = at, at += p->d;     // ln eta
        starts[n_starts++] = at, at += m * p->d; // Z
        if (p->components[b].map->has_rho) starts[n_starts++] = at, at += m;
    }
    for (int t = 0; t < (int)p->spec.trend; t++) starts[n_starts++] = at++;
    starts[n_starts++] = p->layout.n_rest;
    starts[n_starts++] = p->layout.U;
    starts[n_starts++] = p->layout.size;
    for (size_t s = 0; s + 1 < n_starts && starts[s] < n; s++) {
        double largest = 1e-3 * scale / (double)(1 + p->n);
        for (size_t i = starts[s]; i < starts[s + 1]; i++) largest = fmax(largest, fabs(expected[i]));
        for (size_t i = starts[s]; i < starts[s + 1]; i++)
            CHECK(fabs(gradient[i] - expected[i]) <= 1e-6 * largest, p->label,
                  "parameter %zu of %zu: difference %.12g, derivative %.12g", i, p->layout.size, expected[i],
                  gradient[i]);
    }
    free(theta), free(expected);
}

static void check_sum_g(const problem *p)
{
    context c = context_new(p);
    double *grad = doubles(p->layout.size);
    (void)run_pass(c.e, p->theta, p->rows, grad, p->label);
    compare(p, sum_g, &c, grad, p->layout.size);
    free(grad);
    context_free(&c);
}

// The gradient of the collapsed bound is that of sum_g at the optimal q(w) (the envelope theorem).
static void check_collapsed(const problem *p)
{
    context c = context_new(p);
    double *grad = doubles(p->layout.size), *theta = doubles(p->layout.size);
    memcpy(theta, p->theta, p->layout.size * sizeof *theta);
    (void)collapsed(&c, theta);
    memcpy(theta + p->layout.n_rest, c.mu, p->layout.M * sizeof *theta);
    memcpy(theta + p->layout.U, c.U, (p->layout.size - p->layout.U) * sizeof *theta);
    (void)run_pass(c.e, theta, p->rows, grad, p->label);
    compare(p, collapsed, &c, grad, p->layout.n_rest);
    free(grad), free(theta);
    context_free(&c);
}

static void for_every_kernel_and_map(void (*check)(const problem *), uint64_t seed)
{
    for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++)
        for (const gp_map *const *map = gp_maps; *map; map++)
            for (int trend = 0; trend <= 2; trend++)
                for (size_t components = 1; components <= 3; components++) {
                    gp_rng rng = gp_rng_seeded(++seed, 9);
                    problem p;
                    problem_init(&p, seed,
                                 (problem_options){.n = 2 + gp_rng_below(&rng, 25),
                                                   .d = 1 + gp_rng_below(&rng, 3),
                                                   .n_components = components,
                                                   .m = components == 1 ? 1 + gp_rng_below(&rng, 7) : 0,
                                                   .kernel = *kernel,
                                                   .map = *map,
                                                   .trend = (gp_trend)trend,
                                                   .weighted = seed % 2});
                    check(&p);
                    problem_fini(&p);
                }
}

static void the_gradient_of_sum_g_matches_differences_for_every_kernel_and_map(void **state)
{
    (void)state;
    for_every_kernel_and_map(check_sum_g, 100);
}

static void the_gradient_of_the_collapsed_bound_matches_differences_for_every_kernel_and_map(void **state)
{
    (void)state;
    for_every_kernel_and_map(check_collapsed, 500);
}

static void gradients_match_differences_for_mixed_components(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        gp_rng rng = gp_rng_seeded(seed, 10);
        problem p;
        problem_init(&p, 900 + seed,
                     (problem_options){.n = 1 + gp_rng_below(&rng, 30),
                                       .d = 1 + gp_rng_below(&rng, 4),
                                       .n_components = gp_rng_below(&rng, 4),
                                       .trend = (gp_trend)(1 + gp_rng_below(&rng, 2)),
                                       .weighted = gp_rng_below(&rng, 2)});
        check_sum_g(&p);
        check_collapsed(&p);
        problem_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_of_sum_g_matches_differences_for_every_kernel_and_map),
        cmocka_unit_test(the_gradient_of_the_collapsed_bound_matches_differences_for_every_kernel_and_map),
        cmocka_unit_test(gradients_match_differences_for_mixed_components),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
