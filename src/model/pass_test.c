// pass_test.c: the pass against the plain reference at every odd size, and the laws its sums obey.
#include "base/alloc.h"
#include "fixture.h"
#include "linalg/interrupt.h"
#include "linalg/simd.h"

// Long double reference, condition of K_mm below about 1e4 (fixture.c), condition squared in C: 1e-10 leaves two
// digits.
static const double tolerance = 1e-10;

// Rows that are kept give the gradient at another q(w) without being looked at again.
static void compare_kept(const problem *p, const double *expected)
{
    advgp_error err = {0};
    engine e = engine_new(p, p->n);
    double *theta = doubles(p->layout.size), *rest = doubles(p->layout.n_rest);
    memcpy(theta, p->theta, p->layout.n_rest * sizeof *theta);
    gp_theta_start_q(p->layout, theta);
    CHECK_OK(gp_pass_run(e.pass, theta, GP_PASS_KEEP, p->rows, NULL, NULL, &err), p->label);
    CHECK_OK(gp_pass_kept_gradient(e.pass, p->theta, rest, &err), p->label);
    CHECK_ARRAY(p->layout.n_rest, expected, rest, tolerance, p->label);
    engine_free(e);
    if (p->n > 1 && !p->w) {
        e = engine_new(p, p->n - 1);
        CHECK_FAILS(ADVGP_EINVAL, gp_pass_run(e.pass, theta, GP_PASS_KEEP, p->rows, NULL, NULL, &err), p->label);
        CHECK_FAILS(ADVGP_EINVAL, gp_pass_kept_gradient(e.pass, p->theta, rest, &err), p->label);
        engine_free(e);
    }
    free(theta), free(rest);
}

// loss 0 always forms Phi, an infinite one never does; both ways must give the same.
static void compare_by(const problem *p, size_t block_rows, size_t piece, double loss)
{
    advgp_error err = {0};
    const size_t M = p->layout.M;
    engine e = engine_new(p, block_rows);
    gp_pass_set_max_loss(e.pass, loss);
    double *grad = doubles(p->layout.size), *expected = doubles(p->layout.size), value, residual;
    double *A = doubles(M * M), *b = doubles(M);
    double again, *rest = doubles(p->layout.n_rest); // without the gradients of mu and U the others are the same
    CHECK_OK(gp_pass_run(e.pass, p->theta, GP_PASS_GRADIENT, p->rows, &again, grad, &err), p->label);
    CHECK_OK(gp_pass_run(e.pass, p->theta, GP_PASS_REST, p->rows, &again, rest, &err), p->label);
    CHECK_BITS(p->layout.n_rest, grad, rest, p->label);
    free(rest);
    compare_kept(p, grad);
    CHECK_OK(gp_pass_begin(e.pass, p->theta, GP_PASS_GRADIENT, &err), p->label);
    for (size_t first = 0; first < p->n; first += piece)
        CHECK_OK(gp_pass_add(e.pass, gp_batch_part(p->rows, first, p->n - first < piece ? p->n - first : piece), &err),
                 p->label);
    CHECK_OK(gp_pass_end(e.pass, &value, grad, &err), p->label);
    for (size_t c = 0; c < e.f->n_components; c++) assert_int_equal(e.f->components[c].rung.climbs, 0);

    const double plain = ref_sum_g(&p->model, p->theta, p->plain, expected);
    CHECK_CLOSE(plain, value, tolerance, p->label);
    CHECK_ARRAY(p->layout.size, expected, grad, tolerance, p->label);
    const gp_stats *stats = gp_pass_stats(e.pass);
    ref_stats(&p->model, p->theta, p->plain, A, b, &residual);
    CHECK_ARRAY(M * M, A, stats->A.p, tolerance, p->label);
    CHECK_ARRAY(M, b, stats->b, tolerance, p->label);
    CHECK_CLOSE(residual, stats->residual, tolerance, p->label);
    double yy = 0, n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const double w = p->w ? p->w[i] : 1;
        n += w, yy += w * p->y[i] * p->y[i];
    }
    CHECK_CLOSE(yy, stats->yy, 1e-13, p->label);
    CHECK_CLOSE(n, stats->n, 1e-13, p->label);
    const double alone = run_pass(e, p->theta, p->rows, NULL, p->label); // a pass for statistics alone
    CHECK_CLOSE(value, alone, loss > 0 ? tolerance : 1e-13, p->label);
    free(grad), free(expected), free(A), free(b);
    engine_free(e);
}

static void compare(const problem *p, size_t block_rows, size_t piece)
{
    compare_by(p, block_rows, piece, 0);
    compare_by(p, block_rows, piece, INFINITY);
}

static void the_pass_equals_the_reference_for_every_kernel_and_map(void **state)
{
    (void)state;
    uint64_t seed = 1000;
    for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++)
        for (const gp_map *const *map = gp_maps; *map; map++)
            for (int trend = 0; trend <= 2; trend++)
                for (int weighted = 0; weighted <= 1; weighted++) {
                    gp_rng rng = gp_rng_seeded(++seed, 7);
                    problem p;
                    problem_init(&p, seed,
                                 (problem_options){.n = 1 + gp_rng_below(&rng, 40),
                                                   .d = 1 + gp_rng_below(&rng, 4),
                                                   .n_components = 1,
                                                   .kernel = *kernel,
                                                   .map = *map,
                                                   .trend = (gp_trend)trend,
                                                   .weighted = weighted});
                    compare(&p, 7, 11);
                    problem_fini(&p);
                }
}

static void the_pass_equals_the_reference_for_mixed_components(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        gp_rng rng = gp_rng_seeded(seed, 8);
        problem p;
        problem_init(&p, seed,
                     (problem_options){.n = 1 + gp_rng_below(&rng, 60),
                                       .d = 1 + gp_rng_below(&rng, 5),
                                       .n_components = 1 + gp_rng_below(&rng, 4),
                                       .trend = (gp_trend)gp_rng_below(&rng, 3),
                                       .weighted = gp_rng_below(&rng, 2)});
        static const size_t blocks[] = {1, 7, 256, 0};
        compare(&p, blocks[gp_rng_below(&rng, 4)], 1 + gp_rng_below(&rng, 70));
        problem_fini(&p);
    }
}

static void the_pass_equals_the_reference_at_the_smallest_sizes(void **state)
{
    (void)state;
    uint64_t seed = 3000;
    static const size_t rows[] = {1, 2, 8, 9};
    for (const gp_map *const *map = gp_maps; *map; map++)
        for (size_t i = 0; i < 4; i++)
            for (size_t block = 1; block <= 8; block += 7) {
                problem p;
                problem_init(
                    &p, ++seed,
                    (problem_options){.n = rows[i], .d = 1, .n_components = 1, .m = 1, .map = *map, .weighted = i % 2});
                compare(&p, block, 1);
                problem_fini(&p);
            }
}

static void the_pass_equals_the_reference_where_blocks_and_vectors_do_not_divide(void **state)
{
    (void)state;
    // m above and below multiples of 4, 8 and 16, rows above and below multiples of the default block
    static const size_t m[] = {7, 8, 9, 15, 17, 33}, n[] = {255, 256, 257, 300, 13, 65};
    for (size_t i = 0; i < 6; i++) {
        problem p;
        problem_init(&p, 4000 + i,
                     (problem_options){.n = n[i],
                                       .d = 3 + i,
                                       .n_components = 1,
                                       .m = m[i],
                                       .kernel = gp_kernels[i % 3],
                                       .map = &gp_map_cholesky,
                                       .trend = (gp_trend)(i % 3),
                                       .weighted = i % 2});
        compare(&p, 0, 1000);
        problem_fini(&p);
    }
}

static void a_model_of_trend_alone_is_linear_regression(void **state)
{
    (void)state;
    for (int trend = 1; trend <= 2; trend++) {
        problem p;
        problem_init(&p, 5000 + (uint64_t)trend,
                     (problem_options){.n = 23, .d = 3, .trend = (gp_trend)trend, .weighted = true});
        compare(&p, 7, 5);
        problem_fini(&p);
    }
}

// Long length-scales: the condition of K_mm is that of its jitter, 1e7. By default no digit of it is lost in the sums;
// a caller who allows a loss gets no more than that, times what the gradient makes of it.
static void the_loss_that_is_allowed_is_not_exceeded(void **state)
{
    (void)state;
    static const double losses[] = {GP_PASS_MAX_LOSS, 1e-8};
    static const double bounds[] = {1e-11, 1e-6};
    for (uint64_t seed = 1; seed <= 12; seed++)
        for (size_t l = 0; l < 2; l++) {
            problem p;
            problem_init(&p, seed,
                         (problem_options){.n = 60,
                                           .d = 2,
                                           .n_components = 1,
                                           .m = 10,
                                           .kernel = gp_kernels[seed % 3],
                                           .map = &gp_map_cholesky,
                                           .weighted = seed % 2});
            for (size_t k = 0; k < 2; k++) p.theta[2 + k] = -(double)seed; // ln eta
            engine e = engine_new(&p, 0);
            gp_pass_set_max_loss(e.pass, losses[l]);
            double *grad = doubles(p.layout.size), *expected = doubles(p.layout.size);
            const double value = run_pass(e, p.theta, p.rows, grad, p.label);
            CHECK_CLOSE(ref_sum_g(&p.model, p.theta, p.plain, expected), value, bounds[l], p.label);
            CHECK_ARRAY(p.layout.size, expected, grad, bounds[l], p.label);
            free(grad), free(expected);
            engine_free(e);
            problem_fini(&p);
        }
}

static double norm(size_t n, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

// The gradient of a REST pass in mixed precision against that in double: how far off, as a share of it. Statistics and
// value are the same bits.
static double mixed_error(const problem *p, size_t block_rows)
{
    advgp_error err = {0};
    const size_t n = p->layout.n_rest, M = p->layout.M;
    engine e = engine_new(p, block_rows), other = engine_new(p, block_rows);
    double *grad = doubles(n), *mixed = doubles(n), value, value_mixed;
    gp_pass_set_max_loss(e.pass, 1e-8);
    gp_pass_set_max_loss(other.pass, 1e-8);
    gp_pass_set_mixed(other.pass, true);
    CHECK_OK(gp_pass_run(e.pass, p->theta, GP_PASS_REST, p->rows, &value, grad, &err), p->label);
    CHECK_OK(gp_pass_run(other.pass, p->theta, GP_PASS_REST, p->rows, &value_mixed, mixed, &err), p->label);
    CHECK_BITS(1, &value, &value_mixed, p->label);
    CHECK_BITS(M * M, gp_pass_stats(e.pass)->A.p, gp_pass_stats(other.pass)->A.p, p->label);
    CHECK_BITS(M, gp_pass_stats(e.pass)->b, gp_pass_stats(other.pass)->b, p->label);
    for (size_t i = 0; i < n; i++) mixed[i] -= grad[i];
    const double off = norm(n, mixed) / norm(n, grad);
    free(grad), free(mixed);
    engine_free(e), engine_free(other);
    return off;
}

static void mixed_precision_costs_a_thousandth_of_the_gradient_at_most(void **state)
{
    (void)state;
    size_t asked = 0, rounded = 0;
    for (int level = GP_SIMD_PLAIN; level <= (int)gp_simd_best(); level++) {
        gp_simd_limit((gp_simd)level);
        for (uint64_t seed = 1; seed <= 36; seed++) {
            problem p;
            problem_init(&p, seed,
                         (problem_options){.n = 40 + 13 * (seed % 7),
                                           .d = 1 + seed % 5,
                                           .n_components = 1 + seed % 3,
                                           .m = 3 + seed,
                                           .kernel = gp_kernels[seed % 3],
                                           .map = gp_maps[seed % 4],
                                           .trend = (gp_trend)(seed % 3),
                                           .weighted = seed % 2});
            const double off = mixed_error(&p, seed % 4 ? 0 : 29);
            CHECK(off <= 1e-3, p.label, "%g of the gradient", off);
            CHECK(level != GP_SIMD_PLAIN || off == 0, p.label, "BLAS has no single precision, and it is off by %g",
                  off);
            asked += level != GP_SIMD_PLAIN, rounded += off > 0;
            problem_fini(&p);
        }
    }
    gp_simd_limit(GP_SIMD_AVX512);
    CHECK(!asked || rounded > asked / 2, "mixed", "%zu of %zu were in single precision", rounded, asked);
}

static void where_it_would_cost_more_mixed_precision_is_double(void **state)
{
    (void)state;
    problem p;
    problem_init(
        &p, 3,
        (problem_options){
            .n = 60, .d = 2, .n_components = 1, .m = 10, .kernel = &gp_kernel_ard_rbf, .map = &gp_map_cholesky});
    for (size_t k = 0; k < 2; k++) p.theta[2 + k] = -6; // ln eta: inducing inputs are all alike
    CHECK(mixed_error(&p, 0) == 0, p.label, "an ill-conditioned K_mm was multiplied in single precision");
    problem_fini(&p);
}

// ---- laws

static void pass_of(engine e, const problem *p, gp_batch rows, double *value, double *grad)
{
    *value = run_pass(e, p->theta, rows, grad, p->label);
}

static void a_row_of_weight_zero_is_as_if_absent(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        problem p;
        problem_init(
            &p, seed,
            (problem_options){.n = 37, .d = 2, .n_components = 2, .trend = (gp_trend)(seed % 3), .weighted = true});
        const size_t size = p.layout.size;
        double *X = doubles(p.n * p.d), *y = doubles(p.n), *w = doubles(p.n);
        double *with = doubles(size), *without = doubles(size), value_with, value_without;
        size_t kept = 0;
        for (size_t i = 0; i < p.n; i++) {
            if (p.w[i] == 0) { // whatever they hold
                p.y[i] = NAN;
                p.X[i * p.d] = INFINITY;
                continue;
            }
            memcpy(X + kept * p.d, p.X + i * p.d, p.d * sizeof *X);
            y[kept] = p.y[i], w[kept++] = p.w[i];
        }
        assert_true(kept < p.n);
        engine e = engine_new(&p, 5);
        pass_of(e, &p, p.rows, &value_with, with);
        pass_of(e, &p, (gp_batch){.X = gp_cmat_of(X, kept, p.d), .y = y, .w = w}, &value_without, without);
        CHECK_BITS(1, &value_without, &value_with, p.label);
        CHECK_BITS(size, without, with, p.label);
        engine_free(e);
        free(X), free(y), free(w), free(with), free(without);
        problem_fini(&p);
    }
}

static void an_integer_weight_is_a_repeated_row(void **state)
{
    (void)state;
    for (uint64_t seed = 21; seed <= 32; seed++) {
        problem p;
        problem_init(
            &p, seed,
            (problem_options){.n = 19, .d = 3, .n_components = 2, .trend = (gp_trend)(seed % 3), .weighted = true});
        const size_t size = p.layout.size;
        double *X = doubles(4 * p.n * p.d), *y = doubles(4 * p.n);
        double *weighted = doubles(size), *repeated = doubles(size), v_weighted, v_repeated;
        size_t total = 0;
        for (size_t i = 0; i < p.n; i++) {
            p.w[i] = (double)(i % 5);
            for (size_t k = 0; k < i % 5; k++, total++) {
                memcpy(X + total * p.d, p.X + i * p.d, p.d * sizeof *X);
                y[total] = p.y[i];
            }
        }
        engine e = engine_new(&p, 8);
        pass_of(e, &p, p.rows, &v_weighted, weighted);
        pass_of(e, &p, (gp_batch){.X = gp_cmat_of(X, total, p.d), .y = y}, &v_repeated, repeated);
        CHECK_CLOSE(v_repeated, v_weighted, 1e-12, p.label);
        CHECK_ARRAY(size, repeated, weighted, 1e-11, p.label);
        engine_free(e);
        free(X), free(y), free(weighted), free(repeated);
        problem_fini(&p);
    }
}

static void the_statistics_of_two_halves_add_up(void **state)
{
    (void)state;
    for (uint64_t seed = 41; seed <= 52; seed++) {
        problem p;
        problem_init(
            &p, seed,
            (problem_options){.n = 45, .d = 2, .n_components = 3, .trend = (gp_trend)(seed % 3), .weighted = seed % 2});
        const size_t M = p.layout.M, half = 17;
        engine all = engine_new(&p, 0), first = engine_new(&p, 0), second = engine_new(&p, 0);
        double *g = doubles(p.layout.size), *g1 = doubles(p.layout.size), *g2 = doubles(p.layout.size);
        const double value = run_pass(all, p.theta, p.rows, g, p.label);
        const double v1 = run_pass(first, p.theta, gp_batch_part(p.rows, 0, half), g1, p.label);
        const double v2 = run_pass(second, p.theta, gp_batch_part(p.rows, half, p.n - half), g2, p.label);
        const gp_stats *s = gp_pass_stats(all.pass), *s1 = gp_pass_stats(first.pass), *s2 = gp_pass_stats(second.pass);
        for (size_t i = 0; i < M * M; i++) s1->A.p[i] += s2->A.p[i];
        for (size_t i = 0; i < M; i++) s1->b[i] += s2->b[i];
        for (size_t i = 0; i < p.layout.size; i++) g1[i] += g2[i];
        CHECK_ARRAY(M * M, s->A.p, s1->A.p, 1e-12, p.label);
        CHECK_ARRAY(M, s->b, s1->b, 1e-12, p.label);
        CHECK_CLOSE(s->yy, s1->yy + s2->yy, 1e-13, p.label);
        CHECK_CLOSE(s->n, s1->n + s2->n, 1e-13, p.label);
        CHECK_CLOSE(s->residual, s1->residual + s2->residual, 1e-11, p.label);
        CHECK_CLOSE(value, v1 + v2, 1e-12, p.label);
        CHECK_ARRAY(p.layout.size, g, g1, 1e-11, p.label);
        free(g), free(g1), free(g2);
        engine_free(all), engine_free(first), engine_free(second);
        problem_fini(&p);
    }
}

static void the_same_rows_twice_give_the_same_bits(void **state)
{
    (void)state;
    problem p;
    problem_init(&p, 60,
                 (problem_options){.n = 100, .d = 3, .n_components = 3, .trend = GP_TREND_LINEAR, .weighted = true});
    engine one = engine_new(&p, 16), other = engine_new(&p, 16);
    double *g1 = doubles(p.layout.size), *g2 = doubles(p.layout.size);
    const double v1 = run_pass(one, p.theta, p.rows, g1, p.label);
    (void)run_pass(other, p.theta, gp_batch_part(p.rows, 3, 50), g2, p.label); // leaves its traces in the workspace
    const double v2 = run_pass(other, p.theta, p.rows, g2, p.label);
    CHECK_BITS(1, &v1, &v2, p.label);
    CHECK_BITS(p.layout.size, g1, g2, p.label);
    free(g1), free(g2);
    engine_free(one), engine_free(other);
    problem_fini(&p);
}

// Components come in any order: the bound is the same and the gradient is permuted with them. q(w) is permuted too, so
// its U is taken diagonal, where permuting keeps it triangular.
static void permuting_components_permutes_the_results(void **state)
{
    (void)state;
    for (uint64_t seed = 71; seed <= 80; seed++) {
        problem p, swapped;
        const problem_options o = {
            .n = 31, .d = 2, .n_components = 2, .trend = (gp_trend)(seed % 3), .weighted = seed % 2};
        problem_init(&p, seed, o);
        problem_init(&swapped, seed, o);
        engine e = engine_new(&p, 0);
        const size_t M = p.layout.M;
        for (size_t i = 0; i < M; i++)
            for (size_t j = i + 1; j < M; j++) p.theta[p.layout.U + gp_packed_index(M, i, j)] = 0;
        const gp_component *c0 = &e.f->components[0], *c1 = &e.f->components[1];
        const size_t n0 = c1->param - c0->param, n1 = e.f->trend_param - c1->param;
        swapped.components[0] = p.components[1], swapped.components[1] = p.components[0];
        swapped.model.c[0] = p.model.c[1], swapped.model.c[1] = p.model.c[0];

        size_t *from = calloc(p.layout.size, sizeof *from); // swapped.theta[i] = theta[from[i]]
        size_t *feature = calloc(M, sizeof *feature);
        for (size_t i = 0; i < p.layout.size; i++) from[i] = i;
        for (size_t i = 0; i < n1; i++) from[1 + i] = 1 + n0 + i;
        for (size_t i = 0; i < n0; i++) from[1 + n1 + i] = 1 + i;
        for (size_t j = 0; j < M; j++) feature[j] = j < c1->M ? c0->M + j : j < c0->M + c1->M ? j - c1->M : j;
        for (size_t j = 0; j < M; j++) {
            from[p.layout.n_rest + j] = p.layout.n_rest + feature[j];
            from[p.layout.U + gp_packed_index(M, j, j)] = p.layout.U + gp_packed_index(M, feature[j], feature[j]);
        }
        for (size_t i = 0; i < p.layout.size; i++) swapped.theta[i] = p.theta[from[i]];
        engine other = engine_new(&swapped, 0);
        double *g = doubles(p.layout.size), *permuted = doubles(p.layout.size), *got = doubles(p.layout.size);
        const double value = run_pass(e, p.theta, p.rows, g, p.label);
        const double again = run_pass(other, swapped.theta, swapped.rows, got, p.label);
        for (size_t i = 0; i < p.layout.size; i++) permuted[i] = g[from[i]];
        for (size_t i = 0; i < M; i++) // off the diagonal of U the gradient of a permuted U has another place
            for (size_t j = i + 1; j < M; j++) {
                const size_t at = p.layout.U + gp_packed_index(M, i, j);
                permuted[at] = got[at] = 0;
            }
        CHECK_CLOSE(value, again, 1e-12, p.label);
        CHECK_ARRAY(p.layout.size, permuted, got, 1e-11, p.label);
        free(from), free(feature), free(g), free(permuted), free(got);
        engine_free(e), engine_free(other);
        problem_fini(&p), problem_fini(&swapped);
    }
}

// ---- bad input

static void wrong_calls_are_refused_with_a_message(void **state)
{
    (void)state;
    advgp_error err = {0};
    problem p;
    problem_init(&p, 90, (problem_options){.n = 5, .d = 2, .n_components = 1});
    engine e = engine_new(&p, 0);
    gp_pass *none = (gp_pass *)&err;
    double *grad = doubles(p.layout.size), value;
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_new(e.f, 0, NULL, &err), "no out");
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_new(NULL, 0, &none, &err), "no features");
    assert_null(none);
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_begin(NULL, p.theta, GP_PASS_STATS, &err), "no pass");
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_begin(e.pass, NULL, GP_PASS_STATS, &err), "no theta");
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_add(NULL, p.rows, &err), "no pass");
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_add(e.pass, p.rows, &err), "before begin");
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_end(NULL, &value, NULL, &err), "no pass");
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_end(e.pass, &value, NULL, &err), "before begin");
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_run(NULL, p.theta, GP_PASS_STATS, p.rows, &value, NULL, &err), "no pass");
    CHECK_OK(gp_pass_begin(e.pass, p.theta, GP_PASS_STATS, &err), "begin");
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_end(e.pass, &value, grad, &err), "gradient of a pass for statistics");
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_add(e.pass, (gp_batch){.X = gp_cmat_of(p.X, 3, 1), .y = p.y}, &err), "columns");
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_add(e.pass, (gp_batch){.X = gp_cmat_of(NULL, 3, 2), .y = p.y}, &err), "no X");
    CHECK_FAILS(ADVGP_EINVAL, gp_pass_add(e.pass, (gp_batch){.X = gp_cmat_of(p.X, 3, 2)}, &err), "no y");
    CHECK_OK(gp_pass_add(e.pass, (gp_batch){0}, &err), "no rows are fine");
    CHECK_OK(gp_pass_add(e.pass, p.rows, &err), "after refused calls the pass goes on");
    CHECK_OK(gp_pass_end(e.pass, &value, NULL, &err), "end");
    CHECK_CLOSE(ref_sum_g(&p.model, p.theta, p.plain, NULL), value, tolerance, p.label);
    CHECK_OK(gp_pass_run(e.pass, p.theta, GP_PASS_STATS, p.rows, NULL, NULL, &err), "results may be left out");
    assert_int_equal(gp_pass_begin(e.pass, NULL, GP_PASS_STATS, NULL), ADVGP_EINVAL); // err may be NULL
    assert_ptr_equal(gp_pass_features(e.pass), e.f);
    gp_pass_set_max_loss(NULL, 1);
    assert_null(gp_pass_features(NULL));
    assert_null(gp_pass_stats(NULL));
    assert_null(gp_batch_part((gp_batch){.X = p.rows.X}, 2, 1).y);
    gp_pass_free(NULL);
    free(grad);
    engine_free(e);
    problem_fini(&p);
}

static void a_block_too_large_for_memory_is_refused(void **state)
{
    (void)state;
    advgp_error err = {0};
    problem p;
    problem_init(&p, 91, (problem_options){.n = 5, .d = 2, .n_components = 1, .m = 3});
    engine e = engine_new(&p, 0);
    gp_pass *pass = NULL;
    // Powers of two are the ones whose products with the number of columns come round to small numbers.
    for (int bits = 50; bits < 64; bits++)
        CHECK_FAILS(ADVGP_ENOMEM, gp_pass_new(e.f, (size_t)1 << bits, &pass, &err), "huge block");
    CHECK_FAILS(ADVGP_ENOMEM, gp_pass_new(e.f, SIZE_MAX, &pass, &err), "huge block");
    engine_free(e);
    problem_fini(&p);
}

static void a_pass_can_be_ended_between_blocks_and_begun_again(void **state)
{
    (void)state;
    problem p;
    advgp_error err = {0};
    problem_init(&p, 5, (problem_options){.n = 40, .d = 2, .n_components = 1});
    engine e = engine_new(&p, 4);
    double *grad = doubles(p.layout.size), *again = doubles(p.layout.size), value, same;
    CHECK_OK(gp_pass_run(e.pass, p.theta, GP_PASS_GRADIENT, p.rows, &value, grad, &err), p.label);
    for (int until = 0; until < 10; until += 3) {
        patience limit = {.until = until};
        gp_interrupt scope;
        gp_interrupt_open(&scope, asked, &limit);
        CHECK_FAILS(ADVGP_ESTOPPED, gp_pass_run(e.pass, p.theta, GP_PASS_GRADIENT, p.rows, &same, again, &err),
                    p.label);
        assert_true(gp_interrupt_close(&scope));
        assert_int_equal(limit.asked, until + 1);
    }
    CHECK_OK(gp_pass_run(e.pass, p.theta, GP_PASS_GRADIENT, p.rows, &same, again, &err), p.label);
    assert_true(same == value);
    CHECK_BITS(p.layout.size, grad, again, p.label);
    free(grad), free(again);
    engine_free(e);
    problem_fini(&p);
}

// What a worker holds of M x M matrices: features and pass together.
static void the_workspace_is_at_most_six_matrices(void **state)
{
    (void)state;
    advgp_error err = {0};
    static const size_t some[] = {1000, 2000};
    for (size_t s = 0; s < 2; s++) {
        const size_t m = some[s];
        const gp_component_spec component = {&gp_kernel_ard_rbf, &gp_map_cholesky, {.m = m}};
        const gp_feature_spec spec = {.d = 8, .n_components = 1, .components = &component, .trend = GP_TREND_LINEAR};
        gp_features *f = NULL;
        gp_pass *pass = NULL;
        const size_t before = gp_alloc_count().bytes;
        CHECK_OK(gp_features_new(&spec, &f, &err), "features");
        CHECK_OK(gp_pass_new(f, 0, &pass, &err), "pass");
        const double matrices = (double)(gp_alloc_count().bytes - before) / sizeof(double) / (double)(f->M * f->M);
        CHECK(matrices <= 6, "workspace", "%g matrices of %zu x %zu", matrices, f->M, f->M);
        gp_pass_free(pass);
        gp_features_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_can_be_ended_between_blocks_and_begun_again),
        cmocka_unit_test(the_pass_equals_the_reference_for_every_kernel_and_map),
        cmocka_unit_test(the_pass_equals_the_reference_for_mixed_components),
        cmocka_unit_test(the_pass_equals_the_reference_at_the_smallest_sizes),
        cmocka_unit_test(the_pass_equals_the_reference_where_blocks_and_vectors_do_not_divide),
        cmocka_unit_test(a_model_of_trend_alone_is_linear_regression),
        cmocka_unit_test(the_workspace_is_at_most_six_matrices),
        cmocka_unit_test(the_loss_that_is_allowed_is_not_exceeded),
        cmocka_unit_test(mixed_precision_costs_a_thousandth_of_the_gradient_at_most),
        cmocka_unit_test(where_it_would_cost_more_mixed_precision_is_double),
        cmocka_unit_test(a_row_of_weight_zero_is_as_if_absent),
        cmocka_unit_test(an_integer_weight_is_a_repeated_row),
        cmocka_unit_test(the_statistics_of_two_halves_add_up),
        cmocka_unit_test(the_same_rows_twice_give_the_same_bits),
        cmocka_unit_test(permuting_components_permutes_the_results),
        cmocka_unit_test(wrong_calls_are_refused_with_a_message),
        cmocka_unit_test(a_block_too_large_for_memory_is_refused),
    };
    int failed = 0; // at every level: by BLAS without vectors, in strips with them
    for (int level = GP_SIMD_PLAIN; level <= (int)gp_simd_best(); level++) {
        gp_simd_limit((gp_simd)level);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
