// predict_test.c: prediction against the plain reference, whatever the batches and the order of rows, and never a
// negative variance.
#include "fixture.h"
#include "linalg/simd.h"
#include "model/exact.h"
#include "model/predict.h"
#include "model/qw.h"

typedef struct answers {
    double *mean, *var_f, *var_y;
} answers;

static answers answers_new(size_t n)
{
    return (answers){doubles(n), doubles(n), doubles(n)};
}

static void answers_free(answers a)
{
    free(a.mean), free(a.var_f), free(a.var_y);
}

static void predict(const problem *p, size_t block_rows, gp_cmat X, answers out)
{
    advgp_error err = {0};
    gp_predictor *predictor = NULL;
    gp_predict_work *work = NULL;
    CHECK_OK(gp_predictor_new(&p->spec, p->theta, &predictor, &err), p->label);
    CHECK_OK(gp_predict_work_new(predictor, block_rows, &work, &err), p->label);
    CHECK_OK(gp_predict(predictor, work, X, out.mean, out.var_f, out.var_y, &err), p->label);
    gp_predict_work_free(work);
    gp_predictor_free(predictor);
}

static void random_problem(problem *p, uint64_t seed, size_t n)
{
    gp_rng rng = gp_rng_seeded(seed, 12);
    problem_init(p, seed,
                 (problem_options){.n = n,
                                   .d = 1 + gp_rng_below(&rng, 4),
                                   .n_components = 1 + gp_rng_below(&rng, 3),
                                   .map = gp_maps[seed % 4],
                                   .trend = (gp_trend)gp_rng_below(&rng, 3)});
}

static void prediction_equals_the_reference(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        problem p;
        random_problem(&p, seed, 1 + seed % 23);
        answers got = answers_new(p.n), expected = answers_new(p.n);
        static const size_t blocks[] = {0, 1, 7};
        predict(&p, blocks[seed % 3], p.rows.X, got);
        ref_predict(&p.model, p.theta, p.plain, expected.mean, expected.var_f, expected.var_y);
        CHECK_ARRAY(p.n, expected.mean, got.mean, 1e-11, p.label);
        CHECK_ARRAY(p.n, expected.var_f, got.var_f, 1e-11, p.label);
        CHECK_ARRAY(p.n, expected.var_y, got.var_y, 1e-11, p.label);
        answers_free(got), answers_free(expected);
        problem_fini(&p);
    }
}

static void features_and_residuals_equal_the_reference(void **state)
{
    (void)state;
    for (uint64_t seed = 101; seed <= 140; seed++) {
        problem p;
        advgp_error err = {0};
        random_problem(&p, seed, 1 + seed % 17);
        const size_t M = p.layout.M;
        double *phi = doubles(p.n * (M + 2)), *compact = doubles(p.n * M), *residual = doubles(p.n);
        double *want_phi = doubles(p.n * M), *want_residual = doubles(p.n);
        gp_predictor *predictor = NULL;
        gp_predict_work *work = NULL;
        CHECK_OK(gp_predictor_new(&p.spec, p.theta, &predictor, &err), p.label);
        CHECK_OK(gp_predict_work_new(predictor, 5, &work, &err), p.label);
        // a view wider than it needs to be
        const gp_mat view = {.p = phi, .rows = p.n, .cols = M, .ld = M + 2};
        CHECK_OK(gp_predict_features(predictor, work, p.rows.X, view, residual, &err), p.label);
        gp_mat_copy(gp_ro(view), gp_mat_of(compact, p.n, M));
        ref_features(&p.model, p.theta, p.plain, want_phi, want_residual);
        CHECK_ARRAY(p.n * M, want_phi, compact, 1e-11, p.label);
        for (size_t i = 0; i < p.n; i++) {
            CHECK_CLOSE(fmax(0, want_residual[i]), residual[i], 1e-11, p.label);
            assert_true(phi[i * (M + 2) + M] == 0 && phi[i * (M + 2) + M + 1] == 0);
        }
        gp_predict_work_free(work);
        gp_predictor_free(predictor);
        free(phi), free(compact), free(residual), free(want_phi), free(want_residual);
        problem_fini(&p);
    }
}

static void prediction_does_not_depend_on_batches_or_the_order_of_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 201; seed <= 212; seed++) {
        problem p;
        random_problem(&p, seed, 300);
        answers whole = answers_new(p.n), again = answers_new(p.n), turned = answers_new(p.n);
        predict(&p, 0, p.rows.X, whole);
        static const size_t blocks[] = {1, 7, 64, 1000};
        for (size_t i = 0; i < 4; i++) {
            predict(&p, blocks[i], p.rows.X, again);
            CHECK_ARRAY(p.n, whole.mean, again.mean, 1e-13, p.label);
            CHECK_ARRAY(p.n, whole.var_f, again.var_f, 1e-13, p.label);
            CHECK_ARRAY(p.n, whole.var_y, again.var_y, 1e-13, p.label);
        }
        double *X = doubles(p.n * p.d);
        for (size_t i = 0; i < p.n; i++) memcpy(X + i * p.d, p.X + (p.n - 1 - i) * p.d, p.d * sizeof *X);
        predict(&p, 0, gp_cmat_of(X, p.n, p.d), turned);
        for (size_t i = 0; i < p.n; i++) {
            CHECK_CLOSE(whole.mean[i], turned.mean[p.n - 1 - i], 1e-13, p.label);
            CHECK_CLOSE(whole.var_f[i], turned.var_f[p.n - 1 - i], 1e-13, p.label);
        }
        free(X);
        answers_free(whole), answers_free(again), answers_free(turned);
        problem_fini(&p);
    }
}

static void the_mean_alone_is_the_same_mean(void **state)
{
    (void)state;
    problem p;
    advgp_error err = {0};
    random_problem(&p, 301, 29);
    answers all = answers_new(p.n), part = answers_new(p.n);
    gp_predictor *predictor = NULL;
    gp_predict_work *work = NULL;
    CHECK_OK(gp_predictor_new(&p.spec, p.theta, &predictor, &err), p.label);
    CHECK_OK(gp_predict_work_new(predictor, 8, &work, &err), p.label);
    CHECK_OK(gp_predict(predictor, work, p.rows.X, all.mean, all.var_f, all.var_y, &err), p.label);
    CHECK_OK(gp_predict(predictor, work, p.rows.X, part.mean, NULL, NULL, &err), p.label);
    CHECK_BITS(p.n, all.mean, part.mean, p.label);
    CHECK_OK(gp_predict(predictor, work, p.rows.X, part.mean, part.var_f, NULL, &err), p.label);
    CHECK_BITS(p.n, all.var_f, part.var_f, p.label);
    CHECK_OK(gp_predict(predictor, work, p.rows.X, part.mean, NULL, part.var_y, &err), p.label);
    CHECK_BITS(p.n, all.var_y, part.var_y, p.label);
    gp_predict_work_free(work);
    gp_predictor_free(predictor);
    answers_free(all), answers_free(part);
    problem_fini(&p);
}

// With Z = X and the optimal q(w) the sparse prediction is the exact one.
static void prediction_is_exact_where_inducing_inputs_are_the_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 401; seed <= 420; seed++) {
        problem p;
        advgp_error err = {0};
        problem_init(&p, seed,
                     (problem_options){.n = 2 + seed % 9,
                                       .d = 4,
                                       .n_components = 1,
                                       .map = seed % 2 ? &gp_map_cholesky : &gp_map_nystrom,
                                       .trend = (gp_trend)(seed % 3),
                                       .full_rank = true,
                                       .z_is_x = true,
                                       .jitter = -1});
        engine e = engine_new(&p, 0);
        gp_qw *qw = NULL;
        (void)run_pass(e, p.theta, p.rows, NULL, p.label);
        CHECK_OK(gp_qw_new(p.layout.M, &qw, &err), p.label);
        CHECK_OK(gp_qw_optimal(qw, gp_pass_stats(e.pass), p.theta[0], p.theta + p.layout.n_rest, p.theta + p.layout.U,
                               NULL, &err),
                 p.label);
        enum { NEW = 11 };
        double X[NEW * 4], hyper[8], value;
        for (size_t i = 0; i < NEW * 4; i++) X[i] = gp_rng_normal(&p.rng);
        memcpy(hyper, p.theta, 6 * sizeof *hyper); // ln sigma, ln a0, ln eta
        for (int i = 0; i < (int)p.spec.trend; i++) hyper[6 + i] = p.theta[e.f->trend_param + (size_t)i];
        const gp_exact_spec spec = {
            .d = 4, .n_components = 1, .kernels = &p.components[0].kernel, .trend = p.spec.trend};
        gp_exact *exact = NULL;
        answers got = answers_new(NEW), expected = answers_new(NEW);
        CHECK_OK(gp_exact_new(&spec, p.rows, &exact, &err), p.label);
        CHECK_OK(gp_exact_evidence(exact, hyper, &value, NULL, NULL, &err), p.label);
        CHECK_OK(gp_exact_predict(exact, gp_cmat_of(X, NEW, 4), expected.mean, expected.var_f, expected.var_y, &err),
                 p.label);
        predict(&p, 0, gp_cmat_of(X, NEW, 4), got);
        CHECK_ARRAY(NEW, expected.mean, got.mean, 1e-9, p.label);
        CHECK_ARRAY(NEW, expected.var_f, got.var_f, 1e-9, p.label);
        CHECK_ARRAY(NEW, expected.var_y, got.var_y, 1e-9, p.label);
        answers_free(got), answers_free(expected);
        gp_exact_free(exact);
        gp_qw_free(qw);
        engine_free(e);
        problem_fini(&p);
    }
}

// At the inducing inputs the residual is 0 but for rounding, and with U near 0 nothing else is left of the variance.
static void the_variance_is_never_negative(void **state)
{
    (void)state;
    for (uint64_t seed = 501; seed <= 560; seed++) {
        problem p;
        problem_init(&p, seed,
                     (problem_options){.n = 12,
                                       .d = 1 + seed % 2,
                                       .n_components = 1 + seed % 3,
                                       .map = gp_maps[seed % 4],
                                       .full_rank = true,
                                       .z_is_x = true,
                                       .jitter = seed % 5 ? 1e-10 : -1});
        for (size_t i = p.layout.U; i < p.layout.size; i++) p.theta[i] *= 1e-9;
        for (size_t b = 0, at = 1; b < p.spec.n_components; b++) { // length-scales a hundred times longer
            for (size_t k = 0; k < p.d; k++) p.theta[at + 1 + k] -= seed % 3 ? 9 : 0;
            at += 1 + p.d + 12 * p.d + (p.components[b].map->has_rho ? 12 : 0);
        }
        answers got = answers_new(p.n);
        predict(&p, 5, p.rows.X, got);
        const double noise = exp(2 * p.theta[0]);
        for (size_t i = 0; i < p.n; i++) {
            CHECK(got.var_f[i] >= 0, p.label, "row %zu: latent variance %g", i, got.var_f[i]);
            CHECK(got.var_y[i] >= noise, p.label, "row %zu: variance %g below the noise %g", i, got.var_y[i], noise);
            CHECK(isfinite(got.mean[i]), p.label, "row %zu: mean %g", i, got.mean[i]);
        }
        answers_free(got);
        problem_fini(&p);
    }
}

static void the_parts_of_the_variance_add_up(void **state)
{
    (void)state;
    problem p;
    advgp_error err = {0};
    problem_init(&p, 6, (problem_options){.n = 21, .d = 2, .n_components = 2, .trend = GP_TREND_LINEAR});
    gp_predictor *predictor = NULL;
    gp_predict_work *work = NULL;
    CHECK_OK(gp_predictor_new(&p.spec, p.theta, &predictor, &err), p.label);
    CHECK_OK(gp_predict_work_new(predictor, 8, &work, &err), p.label);
    double mean[2][21], var_f[21], var_y[21], spread[21], residual[21];
    CHECK_OK(gp_predict(predictor, work, p.rows.X, mean[0], var_f, var_y, &err), p.label);
    CHECK_OK(gp_predict_parts(predictor, work, p.rows.X, mean[1], spread, residual, &err), p.label);
    CHECK_BITS(21, mean[0], mean[1], p.label);
    for (size_t i = 0; i < 21; i++) {
        CHECK(spread[i] >= 0 && residual[i] >= 0, p.label, "row %zu: %g, %g", i, spread[i], residual[i]);
        CHECK(spread[i] + residual[i] == var_f[i], p.label, "row %zu: %g, not %g", i, spread[i] + residual[i],
              var_f[i]);
        CHECK(var_f[i] + gp_predictor_noise(predictor) == var_y[i], p.label, "row %zu: noise", i);
    }
    CHECK_FAILS(ADVGP_EINVAL, gp_predict_parts(predictor, work, p.rows.X, mean[1], NULL, residual, &err), "no spread");
    gp_predict_work_free(work);
    gp_predictor_free(predictor);
    problem_fini(&p);
}

// q(w) at its optimum has Sigma <= I, and the variance comes in one: it equals the parts, the plain way, to rounding of
// k(x, x), and where next to nothing is left of that, to eight digits of itself.
static void the_variance_in_one_equals_its_parts(void **state)
{
    (void)state;
    for (int level = GP_SIMD_PLAIN; level <= (int)gp_simd_best(); level++)
        for (uint64_t seed = 701; seed <= 780; seed++) {
            problem p;
            advgp_error err = {0};
            gp_simd_limit((gp_simd)level);
            random_problem(&p, seed, 40);
            p.theta[0] = seed % 3 ? -1 : -9; // with hardly any noise the rows leave little of the variance
            engine e = engine_new(&p, 0);
            gp_qw *qw = NULL;
            gp_predictor *predictor = NULL;
            gp_predict_work *work = NULL;
            (void)run_pass(e, p.theta, p.rows, NULL, p.label);
            CHECK_OK(gp_qw_new(p.layout.M, &qw, &err), p.label);
            CHECK_OK(gp_qw_optimal(qw, gp_pass_stats(e.pass), p.theta[0], p.theta + p.layout.n_rest,
                                   p.theta + p.layout.U, NULL, &err),
                     p.label);
            CHECK_OK(gp_predictor_new(&p.spec, p.theta, &predictor, &err), p.label);
            CHECK_OK(gp_predict_work_new(predictor, 7, &work, &err), p.label);
            answers got = answers_new(p.n), parts = answers_new(p.n);
            CHECK_OK(gp_predict(predictor, work, p.rows.X, got.mean, got.var_f, NULL, &err), p.label);
            CHECK_OK(gp_predict_parts(predictor, work, p.rows.X, parts.mean, parts.var_f, parts.var_y, &err), p.label);
            CHECK_BITS(p.n, parts.mean, got.mean, p.label);
            assert_true(predictor->ops->in_one(predictor, gp_cmat_part(p.rows.X, 0, 0, 7, p.d), work->views, got.mean,
                                               got.var_y));
            CHECK_BITS(7, got.var_f, got.var_y, p.label); // it was asked
            for (size_t i = 0; i < p.n; i++) {
                const double want = parts.var_f[i] + parts.var_y[i];
                CHECK(got.var_f[i] > 0, p.label, "row %zu: %g", i, got.var_f[i]);
                CHECK(fabs(got.var_f[i] - want) <= 1e-8 * want, p.label, "row %zu: %.17g, by parts %.17g", i,
                      got.var_f[i], want);
            }
            gp_predict_work_free(work);
            gp_predictor_free(predictor);
            answers_free(got), answers_free(parts);
            gp_qw_free(qw);
            engine_free(e);
            problem_fini(&p);
        }
    gp_simd_limit(GP_SIMD_AVX512);
}

static void wrong_calls_are_refused_with_a_message(void **state)
{
    (void)state;
    problem p;
    advgp_error err = {0};
    problem_init(&p, 1, (problem_options){.n = 6, .d = 2, .n_components = 2, .trend = GP_TREND_LINEAR});
    gp_predictor *predictor = NULL;
    gp_predict_work *work = NULL;
    double mean[6];
    CHECK_FAILS(ADVGP_EINVAL, gp_predictor_new(&p.spec, p.theta, NULL, &err), "no out");
    CHECK_FAILS(ADVGP_EINVAL, gp_predictor_new(&p.spec, NULL, &predictor, &err), "no theta");
    CHECK_FAILS(ADVGP_EINVAL, gp_predictor_new(NULL, p.theta, &predictor, &err), "no spec");
    for (size_t i = 0; i < p.layout.size; i++) {
        static const double poison[] = {NAN, INFINITY, -INFINITY};
        const double held = p.theta[i];
        for (size_t k = 0; k < 3; k++) {
            p.theta[i] = poison[k];
            CHECK_FAILS(ADVGP_ENUMERIC, gp_predictor_new(&p.spec, p.theta, &predictor, &err), "theta not finite");
        }
        p.theta[i] = held;
    }
    assert_null(predictor);
    CHECK_FAILS(ADVGP_EINVAL, gp_predict_work_new(NULL, 0, &work, &err), "no predictor");
    CHECK_OK(gp_predictor_new(&p.spec, p.theta, &predictor, &err), p.label);
    CHECK_FAILS(ADVGP_EINVAL, gp_predict_work_new(predictor, 0, NULL, &err), "no out");
    for (int bits = 50; bits < 64; bits++)
        CHECK_FAILS(ADVGP_ENOMEM, gp_predict_work_new(predictor, (size_t)1 << bits, &work, &err), "huge block");
    CHECK_OK(gp_predict_work_new(predictor, 0, &work, &err), p.label);
    CHECK_FAILS(ADVGP_EINVAL, gp_predict(NULL, work, p.rows.X, mean, NULL, NULL, &err), "no predictor");
    CHECK_FAILS(ADVGP_EINVAL, gp_predict(predictor, NULL, p.rows.X, mean, NULL, NULL, &err), "no workspace");
    CHECK_FAILS(ADVGP_EINVAL, gp_predict(predictor, work, p.rows.X, NULL, NULL, NULL, &err), "no mean");
    CHECK_FAILS(ADVGP_EINVAL, gp_predict(predictor, work, gp_cmat_of(p.X, 4, 3), mean, NULL, NULL, &err), "columns");
    CHECK_FAILS(ADVGP_EINVAL, gp_predict(predictor, work, gp_cmat_of(NULL, 4, 2), mean, NULL, NULL, &err), "no X");
    CHECK_OK(gp_predict(predictor, work, gp_cmat_of(NULL, 0, 2), NULL, NULL, NULL, &err), "no rows are fine");
    double *phi = doubles(6 * p.layout.M);
    CHECK_FAILS(ADVGP_EINVAL, gp_predict_features(predictor, work, p.rows.X, gp_mat_of(phi, 5, p.layout.M), NULL, &err),
                "rows");
    CHECK_FAILS(ADVGP_EINVAL,
                gp_predict_features(predictor, work, p.rows.X, gp_mat_of(phi, 6, p.layout.M - 1), NULL, &err), "cols");
    CHECK_FAILS(ADVGP_EINVAL,
                gp_predict_features(predictor, work, p.rows.X, gp_mat_of(NULL, 6, p.layout.M), NULL, &err), "no phi");
    CHECK_FAILS(ADVGP_EINVAL, gp_predict_features(NULL, work, p.rows.X, gp_mat_of(phi, 6, p.layout.M), NULL, &err),
                "no predictor");
    CHECK_OK(gp_predict_features(predictor, work, p.rows.X, gp_mat_of(phi, 6, p.layout.M), NULL, &err), "no residual");
    static const double poison[] = {NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < 3; k++) {
        p.X[5] = poison[k];
        CHECK_FAILS(ADVGP_EDATA, gp_predict(predictor, work, p.rows.X, mean, NULL, NULL, &err), "X not finite");
    }
    gp_predict_work_free(work);
    gp_predict_work_free(NULL);
    assert_non_null(gp_predictor_features(predictor));
    assert_null(gp_predictor_features(NULL));
    gp_predictor_free(predictor);
    gp_predictor_free(NULL);
    free(phi);
    problem_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prediction_equals_the_reference),
        cmocka_unit_test(features_and_residuals_equal_the_reference),
        cmocka_unit_test(prediction_does_not_depend_on_batches_or_the_order_of_rows),
        cmocka_unit_test(the_mean_alone_is_the_same_mean),
        cmocka_unit_test(prediction_is_exact_where_inducing_inputs_are_the_rows),
        cmocka_unit_test(the_variance_is_never_negative),
        cmocka_unit_test(the_parts_of_the_variance_add_up),
        cmocka_unit_test(the_variance_in_one_equals_its_parts),
        cmocka_unit_test(wrong_calls_are_refused_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
