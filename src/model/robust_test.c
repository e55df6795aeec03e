// robust_test.c: inputs at the edge of what double precision holds. Either a finite result or a status with a message,
// never a NaN that passes for a number and never an abort; and the rung of the ladder is reported.
#include "fixture.h"
#include "model/predict.h"
#include "model/qw.h"

typedef struct outcome {
    advgp_status status;
    double value, collapsed, best_noise;
    int climbs; // the highest rung of any component
} outcome;

static void must_be_finite(size_t n, const double *x, const char *what, const char *label)
{
    for (size_t i = 0; i < n; i++) CHECK(isfinite(x[i]), label, "%s: entry %zu of %zu is %g", what, i, n, x[i]);
}

static void must_explain(advgp_status status, const advgp_error *err, const char *label)
{
    CHECK(status == ADVGP_ENUMERIC || status == ADVGP_EDATA, label, "%s: %s", advgp_status_name(status), err->text);
    CHECK(err->status == status && strlen(err->text) > 10, label, "text: \"%s\"", err->text);
}

// Everything one can do with a problem, one thing after the other. Every number that comes with ADVGP_OK must be
// finite.
static outcome try_all(const problem *p)
{
    outcome out = {0};
    advgp_error err = {0};
    const gp_theta_layout layout = p->layout;
    engine e = engine_new(p, 16);
    gp_qw *qw = NULL;
    double *grad = doubles(layout.size), *theta = doubles(layout.size);
    memcpy(theta, p->theta, layout.size * sizeof *theta);
    CHECK_OK(gp_qw_new(layout.M, &qw, &err), p->label);

    out.status = gp_pass_run(e.pass, theta, GP_PASS_GRADIENT, p->rows, &out.value, grad, &err);
    for (size_t b = 0; b < e.f->n_components; b++) {
        const gp_rung rung = e.f->components[b].rung;
        if (rung.climbs > out.climbs) out.climbs = rung.climbs;
        CHECK(rung.jitter >= 0 && rung.jitter <= 0.0101, p->label, "component %zu reports jitter %g", b, rung.jitter);
        CHECK((rung.climbs > 0) == (rung.jitter > p->spec.jitter), p->label, "%d climbs to jitter %g", rung.climbs,
              rung.jitter);
    }
    if (out.status != ADVGP_OK) {
        must_explain(out.status, &err, p->label);
        goto done;
    }
    must_be_finite(1, &out.value, "sum_g", p->label);
    must_be_finite(layout.size, grad, "gradient", p->label);
    const gp_stats *stats = gp_pass_stats(e.pass);

    advgp_status st = gp_qw_natural(qw, stats, 1, theta[0], 0.5, theta + layout.n_rest, theta + layout.U, &err);
    if (st != ADVGP_OK) must_explain(st, &err, p->label);
    if (st == ADVGP_OK) must_be_finite(layout.size, theta, "theta after a natural step", p->label);

    st = gp_qw_best_noise(qw, stats, &out.best_noise, &out.collapsed, &err);
    if (st != ADVGP_OK) must_explain(st, &err, p->label);
    if (st == ADVGP_OK) must_be_finite(2, (double[]){out.best_noise, out.collapsed}, "best noise", p->label);

    st = gp_qw_optimal(qw, stats, theta[0], theta + layout.n_rest, theta + layout.U, &out.collapsed, &err);
    if (st != ADVGP_OK) {
        must_explain(st, &err, p->label);
        goto done;
    }
    must_be_finite(layout.size, theta, "theta with the optimal q(w)", p->label);
    must_be_finite(1, &out.collapsed, "collapsed bound", p->label);

    gp_predictor *predictor = NULL;
    gp_predict_work *work = NULL;
    enum { NEW = 5 };
    double *X = doubles(NEW * p->d), mean[NEW], var_f[NEW], var_y[NEW];
    gp_rng rng = gp_rng_seeded(1, 1);
    for (size_t i = 0; i < NEW * p->d; i++) X[i] = i < p->n * p->d && i % 2 ? p->X[i] : 2 * gp_rng_normal(&rng);
    CHECK_OK(gp_predictor_new(&p->spec, theta, &predictor, &err), p->label);
    CHECK_OK(gp_predict_work_new(predictor, 2, &work, &err), p->label);
    st = gp_predict(predictor, work, gp_cmat_of(X, NEW, p->d), mean, var_f, var_y, &err);
    if (st != ADVGP_OK) must_explain(st, &err, p->label);
    if (st == ADVGP_OK) {
        must_be_finite(NEW, mean, "mean", p->label);
        must_be_finite(NEW, var_f, "latent variance", p->label);
        must_be_finite(NEW, var_y, "variance", p->label);
        for (size_t i = 0; i < NEW; i++) CHECK(var_f[i] >= 0, p->label, "latent variance %g", var_f[i]);
    }
    free(X);
    gp_predict_work_free(work);
    gp_predictor_free(predictor);
done:
    free(grad), free(theta);
    gp_qw_free(qw);
    engine_free(e);
    return out;
}

// A problem that every kernel and map is given, changed by the caller before it is tried.
static void plain_problem(problem *p, uint64_t seed, const gp_kernel *kernel, const gp_map *map)
{
    problem_init(p, seed,
                 (problem_options){.n = 40,
                                   .d = 2,
                                   .n_components = 2,
                                   .m = 8,
                                   .kernel = kernel,
                                   .map = map,
                                   .trend = (gp_trend)(seed % 3),
                                   .weighted = seed % 2});
}

typedef void (*mutilate)(problem *p);

static void for_all(mutilate change, const char *note, bool must_succeed)
{
    uint64_t seed = 0;
    for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++)
        for (const gp_map *const *map = gp_maps; *map; map++) {
            problem p;
            plain_problem(&p, ++seed, *kernel, *map);
            problem_relabel(&p, note);
            change(&p);
            const outcome out = try_all(&p);
            if (must_succeed) CHECK(out.status == ADVGP_OK, p.label, "%s", advgp_status_name(out.status));
            problem_fini(&p);
        }
}

// Offsets in theta of component b: ln a0, ln eta, Z.
static size_t start_of(const problem *p, size_t b)
{
    size_t at = 1;
    for (size_t i = 0; i < b; i++)
        at += 1 + p->d + p->components[i].shape.m * (p->d + (p->components[i].map->has_rho ? 1 : 0));
    return at;
}

static void set_ln_eta(problem *p, double value)
{
    for (size_t b = 0; b < p->spec.n_components; b++)
        for (size_t k = 0; k < p->d; k++) p->theta[start_of(p, b) + 1 + k] = value;
}

static void equal_Z(problem *p)
{
    for (size_t b = 0; b < p->spec.n_components; b++) {
        double *Z = p->theta + start_of(p, b) + 1 + p->d;
        memcpy(Z + p->d, Z, p->d * sizeof *Z); // two of them
        if (b)
            for (size_t j = 1; j < 8; j++) memcpy(Z + j * p->d, Z, p->d * sizeof *Z); // all of them
    }
}

static void equal_Z_without_jitter(problem *p)
{
    equal_Z(p);
    p->spec.jitter = 0;
}

static void equal_inducing_inputs_give_finite_numbers(void **state)
{
    (void)state;
    for_all(equal_Z, "equal inducing inputs", true);
    for_all(equal_Z_without_jitter, "equal inducing inputs, no jitter", true);
}

static void the_ladder_reports_the_rung_it_needed(void **state)
{
    (void)state;
    for (const gp_map *const *map = gp_maps; *map; map++) {
        problem p;
        problem_init(&p, 2,
                     (problem_options){
                         .n = 40, .d = 2, .n_components = 2, .m = 8, .map = *map, .full_rank = true, .jitter = -1});
        problem_relabel(&p, "ladder");
        assert_int_equal(try_all(&p).climbs, 0);
        equal_Z(&p);
        const outcome out = try_all(&p);
        assert_int_equal(out.status, ADVGP_OK);
        if (*map == &gp_map_rvm) // needs no factor, hence no jitter
            assert_int_equal(out.climbs, 0);
        else
            CHECK(out.climbs >= 1 && out.climbs <= GP_LADDER_MAX_CLIMBS, p.label, "%d climbs", out.climbs);
        problem_fini(&p);
    }
}

static void short_lengths(problem *p)
{
    set_ln_eta(p, 2 * log(1e6));
}
static void long_lengths(problem *p)
{
    set_ln_eta(p, -2 * log(1e6));
}
static void mixed_lengths(problem *p)
{
    short_lengths(p);
    for (size_t b = 0; b < p->spec.n_components; b++) p->theta[start_of(p, b) + 1] = -2 * log(1e6);
}
static void long_lengths_without_jitter(problem *p)
{
    long_lengths(p);
    p->spec.jitter = 0;
}

static void lengths_of_a_millionth_and_a_million_give_finite_numbers(void **state)
{
    (void)state;
    for_all(short_lengths, "length-scales 1e-6", true);
    for_all(long_lengths, "length-scales 1e6", true);
    for_all(mixed_lengths, "length-scales 1e-6 and 1e6", true);
    for_all(long_lengths_without_jitter, "length-scales 1e6, no jitter", true);
}

static void absurd_lengths_up(problem *p)
{
    set_ln_eta(p, 700);
}
static void absurd_lengths_down(problem *p)
{
    set_ln_eta(p, -700);
}
static void overflowing_lengths(problem *p)
{
    set_ln_eta(p, 800);
}
static void underflowing_lengths(problem *p)
{
    set_ln_eta(p, -800);
}

static void lengths_at_the_end_of_the_number_range_are_answered_or_refused(void **state)
{
    (void)state;
    for_all(absurd_lengths_up, "ln eta 700", false);
    for_all(absurd_lengths_down, "ln eta -700", false);
    for_all(overflowing_lengths, "ln eta 800", false);
    for_all(underflowing_lengths, "ln eta -800", false);
}

static void constant_column(problem *p)
{
    for (size_t i = 0; i < p->n; i++) p->X[i * p->d + 1] = 0.25;
    for (size_t b = 0; b < p->spec.n_components; b++)
        for (size_t j = 0; j < 8; j++) p->theta[start_of(p, b) + 1 + p->d + j * p->d + 1] = 0.25;
}

static void all_rows_equal(problem *p)
{
    for (size_t i = 1; i < p->n; i++) memcpy(p->X + i * p->d, p->X, p->d * sizeof *p->X);
}

static void zero_targets(problem *p)
{
    memset(p->y, 0, p->n * sizeof *p->y);
}

static void columns_rows_and_targets_without_variation_give_finite_numbers(void **state)
{
    (void)state;
    for_all(constant_column, "a constant column", true);
    for_all(all_rows_equal, "equal rows", true);
    for_all(zero_targets, "targets 0", true);
}

static void small_noise(problem *p)
{
    p->theta[0] = log(1e-6);
}
static void smallest_noise(problem *p)
{
    p->theta[0] = -300;
}
static void huge_noise(problem *p)
{
    p->theta[0] = log(1e6);
}
static void hugest_noise(problem *p)
{
    p->theta[0] = 300;
}
static void overflowing_noise(problem *p)
{
    p->theta[0] = 400;
}
static void underflowing_noise(problem *p)
{
    p->theta[0] = -400;
}

static void noise_of_any_size_is_answered_or_refused(void **state)
{
    (void)state;
    for_all(small_noise, "sigma 1e-6", true);
    for_all(huge_noise, "sigma 1e6", true);
    for_all(smallest_noise, "ln sigma -300", false);
    for_all(hugest_noise, "ln sigma 300", false);
    for_all(overflowing_noise, "ln sigma 400", false);
    for_all(underflowing_noise, "ln sigma -400", false);
}

static void huge_inputs(problem *p)
{
    for (size_t i = 0; i < p->n * p->d; i++) p->X[i] *= 1e200;
}
static void large_inputs(problem *p)
{
    for (size_t i = 0; i < p->n * p->d; i++) p->X[i] *= 1e8;
}
static void huge_targets(problem *p)
{
    for (size_t i = 0; i < p->n; i++) p->y[i] *= 1e200;
}
static void tiny_targets(problem *p)
{
    for (size_t i = 0; i < p->n; i++) p->y[i] *= 1e-200;
}
static void huge_amplitude(problem *p)
{
    p->theta[1] = 300;
}
static void tiny_amplitude(problem *p)
{
    p->theta[1] = -300;
}
static void huge_q(problem *p)
{
    for (size_t i = p->layout.n_rest; i < p->layout.size; i++) p->theta[i] *= 1e160;
}

static void sizes_that_no_standardised_table_has_are_answered_or_refused(void **state)
{
    (void)state;
    for_all(large_inputs, "inputs 1e8", true);
    for_all(huge_inputs, "inputs 1e200", false);
    for_all(huge_targets, "targets 1e200", false);
    for_all(tiny_targets, "targets 1e-200", false);
    for_all(huge_amplitude, "ln a0 300", false);
    for_all(tiny_amplitude, "ln a0 -300", false);
    for_all(huge_q, "q(w) 1e160", false);
}

// Long length-scales without jitter: K_mm is singular to double precision, and the sums over columns square its
// condition. The ladder must step in before the digits are gone: what the pass says with the rung it reports must be
// right.
static void what_the_ladder_lets_through_is_still_right(void **state)
{
    (void)state;
    static const gp_map *const maps[] = {&gp_map_cholesky, &gp_map_nystrom, &gp_map_ensemble};
    for (size_t which = 0; which < 3; which++)
        for (int ln_eta = 0; ln_eta >= -14; ln_eta--)
            for (uint64_t seed = 1; seed <= 10; seed++) {
                problem p;
                problem_init(&p, seed,
                             (problem_options){.n = 60,
                                               .d = 2,
                                               .n_components = 1,
                                               .m = 10,
                                               .kernel = seed > 6 ? gp_kernels[seed % 3] : &gp_kernel_ard_rbf,
                                               .map = maps[which],
                                               .full_rank = true,
                                               .jitter = -1});
                set_ln_eta(&p, ln_eta);
                engine e = engine_new(&p, 0);
                double *grad = doubles(p.layout.size);
                const double value = run_pass(e, p.theta, p.rows, grad, p.label);
                const gp_rung rung = e.f->components[0].rung;
                p.model.jitter = rung.jitter;
                // The groups of an ensemble each have their own rung, and only the highest is told.
                if (maps[which] != &gp_map_ensemble || p.model.c[0].n_groups == 1 || !rung.climbs) {
                    const double expected = ref_sum_g(&p.model, p.theta, p.plain, NULL);
                    CHECK(fabs(value - expected) <= 1e-6 * (1 + fabs(expected)), p.label,
                          "ln eta %d, jitter %g: expected %.10g, got %.10g", ln_eta, rung.jitter, expected, value);
                }
                const double residual = gp_pass_stats(e.pass)->residual;
                CHECK(residual >= -1e-6 * (double)p.n, p.label, "ln eta %d, jitter %g: residual %g", ln_eta,
                      rung.jitter, residual);
                free(grad);
                engine_free(e);
                problem_fini(&p);
            }
}

// A prediction far outside the data is the prior, or a message: a NaN must not pass for a number.
static void prediction_far_away_is_answered_or_refused(void **state)
{
    (void)state;
    static const double far[] = {1e3, 1e8, 1e100, 1e154, 1e160, 1e300};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        for (int trend = 0; trend <= 2; trend++)
            for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++) {
                problem p;
                advgp_error err = {0};
                problem_init(&p, 77,
                             (problem_options){.n = 5,
                                               .d = 2,
                                               .n_components = 1,
                                               .m = 4,
                                               .kernel = *kernel,
                                               .map = &gp_map_cholesky,
                                               .trend = (gp_trend)trend});
                gp_predictor *predictor = NULL;
                gp_predict_work *work = NULL;
                const double X[2] = {far[i], -far[i]};
                double mean, var_f, var_y;
                CHECK_OK(gp_predictor_new(&p.spec, p.theta, &predictor, &err), p.label);
                CHECK_OK(gp_predict_work_new(predictor, 0, &work, &err), p.label);
                const advgp_status st = gp_predict(predictor, work, gp_cmat_of(X, 1, 2), &mean, &var_f, &var_y, &err);
                if (st != ADVGP_OK) must_explain(st, &err, p.label);
                if (st == ADVGP_OK) must_be_finite(3, (double[]){mean, var_f, var_y}, "prediction", p.label);
                if (far[i] < 1e101 && trend < 2)
                    CHECK(st == ADVGP_OK, p.label, "%s at %g", advgp_status_name(st), far[i]);
                gp_predict_work_free(work);
                gp_predictor_free(predictor);
                problem_fini(&p);
            }
}

static void a_mean_that_overflows_is_refused_even_when_asked_for_alone(void **state)
{
    (void)state;
    problem p;
    advgp_error err = {0};
    problem_init(&p, 78, (problem_options){.n = 1, .d = 2, .trend = GP_TREND_LINEAR});
    for (size_t i = 0; i < p.layout.M; i++) p.theta[p.layout.n_rest + i] = 100;
    gp_predictor *predictor = NULL;
    gp_predict_work *work = NULL;
    const double X[] = {1, 2, 1e308, 1e308};
    double mean[2];
    CHECK_OK(gp_predictor_new(&p.spec, p.theta, &predictor, &err), p.label);
    CHECK_OK(gp_predict_work_new(predictor, 0, &work, &err), p.label);
    CHECK_OK(gp_predict(predictor, work, gp_cmat_of(X, 1, 2), mean, NULL, NULL, &err), p.label);
    const advgp_status st = gp_predict(predictor, work, gp_cmat_of(X, 2, 2), mean, NULL, NULL, &err);
    CHECK(st == ADVGP_ENUMERIC && strstr(err.text, "row 1"), p.label, "%s \"%s\"", advgp_status_name(st), err.text);
    gp_predict_work_free(work);
    gp_predictor_free(predictor);
    problem_fini(&p);
}

static void few_rows_give_finite_numbers(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++)
        for (const gp_map *const *map = gp_maps; *map; map++)
            for (size_t n = 0; n <= 3; n++)
                for (int trend = 0; trend <= 2; trend++) {
                    problem p;
                    problem_init(&p, ++seed,
                                 (problem_options){.n = n,
                                                   .d = 3,
                                                   .n_components = 2,
                                                   .m = 7,
                                                   .kernel = *kernel,
                                                   .map = *map,
                                                   .trend = (gp_trend)trend});
                    const outcome out = try_all(&p);
                    CHECK(out.status == ADVGP_OK, p.label, "%s", advgp_status_name(out.status));
                    if (n == 0) CHECK(out.value == 0 && out.collapsed == 0, p.label, "no rows give %g", out.value);
                    problem_fini(&p);
                }
}

static void all_weights_zero_are_no_rows(void **state)
{
    (void)state;
    problem p;
    problem_init(&p, 5,
                 (problem_options){.n = 12, .d = 2, .n_components = 2, .trend = GP_TREND_LINEAR, .weighted = true});
    memset(p.w, 0, p.n * sizeof *p.w);
    p.y[3] = NAN; // a row of weight 0 may hold anything
    const outcome out = try_all(&p);
    assert_int_equal(out.status, ADVGP_OK);
    assert_true(out.value == 0 && out.collapsed == 0);
    problem_fini(&p);
}

static void a_value_that_is_not_finite_is_named_and_nothing_else_is_lost(void **state)
{
    (void)state;
    static const double poison[] = {NAN, INFINITY, -INFINITY};
    problem p;
    advgp_error err = {0};
    problem_init(&p, 6, (problem_options){.n = 30, .d = 3, .n_components = 1, .weighted = true});
    for (size_t i = 0; i < p.n; i++) p.w[i] = 1 + (double)i;
    engine e = engine_new(&p, 8);
    double value, again;
    const double before = run_pass(e, p.theta, p.rows, NULL, p.label);
    for (size_t k = 0; k < 3; k++) {
        double *spots[] = {&p.X[20 * 3 + 1], &p.y[20], &p.w[20]};
        for (size_t s = 0; s < 3; s++) {
            const double held = *spots[s];
            *spots[s] = poison[k];
            CHECK_OK(gp_pass_begin(e.pass, p.theta, GP_PASS_GRADIENT, &err), p.label);
            const advgp_status st = gp_pass_add(e.pass, p.rows, &err);
            CHECK(st == ADVGP_EDATA && strstr(err.text, "20"), p.label, "%s \"%s\"", advgp_status_name(st), err.text);
            if (s == 0) CHECK(strstr(err.text, "input 2"), p.label, "\"%s\"", err.text);
            CHECK_FAILS(ADVGP_EINVAL, gp_pass_end(e.pass, &value, NULL, &err),
                        "sums of half the rows are worth nothing");
            *spots[s] = held;
        }
    }
    p.w[7] = -1;
    CHECK_OK(gp_pass_begin(e.pass, p.theta, GP_PASS_GRADIENT, &err), p.label);
    CHECK_FAILS(ADVGP_EDATA, gp_pass_add(e.pass, p.rows, &err), "a negative weight");
    p.w[7] = 8;
    again = run_pass(e, p.theta, p.rows, NULL, p.label); // the pass is as good as new
    CHECK_BITS(1, &before, &again, p.label);
    engine_free(e);
    problem_fini(&p);
}

static void a_parameter_that_is_not_finite_is_refused(void **state)
{
    (void)state;
    static const double poison[] = {NAN, INFINITY, -INFINITY};
    problem p;
    advgp_error err = {0};
    problem_init(&p, 9,
                 (problem_options){.n = 10, .d = 2, .n_components = 2, .map = &gp_map_rvm, .trend = GP_TREND_LINEAR});
    engine e = engine_new(&p, 8);
    double value;
    for (size_t i = 0; i < p.layout.size; i++)
        for (size_t k = 0; k < 3; k++) {
            const double held = p.theta[i];
            p.theta[i] = poison[k];
            const advgp_status st = gp_pass_run(e.pass, p.theta, GP_PASS_STATS, p.rows, &value, NULL, &err);
            CHECK(st == ADVGP_ENUMERIC && err.text[0], p.label, "theta[%zu] = %g gives %s", i, poison[k],
                  advgp_status_name(st));
            p.theta[i] = held;
        }
    engine_free(e);
    problem_fini(&p);
}

// Targets that the features explain exactly leave no noise to find: the search must end at a finite, small sigma with a
// finite bound, not run away on rounding.
static void best_noise_of_a_perfect_fit_is_small_and_finite(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        problem p;
        advgp_error err = {0};
        problem_init(
            &p, seed,
            (problem_options){
                .n = 30, .d = 2, .n_components = seed % 2, .m = 3, .map = &gp_map_cholesky, .trend = GP_TREND_LINEAR});
        for (size_t i = 0; i < p.n; i++) p.y[i] = 0.5 + 2 * p.X[i * 2] - p.X[i * 2 + 1];
        engine e = engine_new(&p, 0);
        gp_qw *qw = NULL;
        double ln_sigma, bound, residual_noise;
        (void)run_pass(e, p.theta, p.rows, NULL, p.label);
        CHECK_OK(gp_qw_new(p.layout.M, &qw, &err), p.label);
        const gp_stats *stats = gp_pass_stats(e.pass);
        CHECK_OK(gp_qw_best_noise(qw, stats, &ln_sigma, &bound, &err), p.label);
        must_be_finite(2, (double[]){ln_sigma, bound}, "best noise", p.label);
        residual_noise = 0.5 * log(fmax(stats->residual / stats->n, 1e-30));
        CHECK(ln_sigma > -25 && ln_sigma < fmax(residual_noise + 1, -10), p.label, "ln sigma %g, bound %g", ln_sigma,
              bound);
        CHECK(fabs(bound) < 1e3, p.label, "ln sigma %g, bound %g", ln_sigma, bound);
        gp_qw_free(qw);
        engine_free(e);
        problem_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_inducing_inputs_give_finite_numbers),
        cmocka_unit_test(the_ladder_reports_the_rung_it_needed),
        cmocka_unit_test(lengths_of_a_millionth_and_a_million_give_finite_numbers),
        cmocka_unit_test(lengths_at_the_end_of_the_number_range_are_answered_or_refused),
        cmocka_unit_test(columns_rows_and_targets_without_variation_give_finite_numbers),
        cmocka_unit_test(noise_of_any_size_is_answered_or_refused),
        cmocka_unit_test(sizes_that_no_standardised_table_has_are_answered_or_refused),
        cmocka_unit_test(what_the_ladder_lets_through_is_still_right),
        cmocka_unit_test(prediction_far_away_is_answered_or_refused),
        cmocka_unit_test(a_mean_that_overflows_is_refused_even_when_asked_for_alone),
        cmocka_unit_test(few_rows_give_finite_numbers),
        cmocka_unit_test(all_weights_zero_are_no_rows),
        cmocka_unit_test(a_value_that_is_not_finite_is_named_and_nothing_else_is_lost),
        cmocka_unit_test(a_parameter_that_is_not_finite_is_refused),
        cmocka_unit_test(best_noise_of_a_perfect_fit_is_small_and_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
