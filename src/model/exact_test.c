// exact_test.c: the exact Gaussian process against plain loops and differences, and the law that ties it to the bound:
// the collapsed bound equals the evidence at Z = X without jitter, and never falls below it elsewhere.
#include "fixture.h"
#include "linalg/interrupt.h"
#include "model/exact.h"
#include "model/qw.h"

typedef struct exact_problem {
    problem p; // its Z is not used here
    const gp_kernel *kernels[REF_MAX_COMPONENTS];
    gp_exact_spec spec;
    double *hyper;
    size_t n_hyper;
} exact_problem;

static void exact_problem_init(exact_problem *e, uint64_t seed, problem_options options)
{
    *e = (exact_problem){0};
    problem_init(&e->p, seed, options);
    const problem *p = &e->p;
    for (size_t b = 0; b < p->spec.n_components; b++) e->kernels[b] = p->components[b].kernel;
    e->spec = (gp_exact_spec){
        .d = p->d, .n_components = p->spec.n_components, .kernels = e->kernels, .trend = p->spec.trend};
    e->n_hyper = gp_exact_n_hyper(&e->spec);
    e->hyper = doubles(e->n_hyper);
    double *h = e->hyper;
    const double *t = p->theta;
    *h++ = *t++; // ln sigma
    for (size_t b = 0; b < p->spec.n_components; b++) {
        const size_t m = p->components[b].shape.m;
        memcpy(h, t, (1 + p->d) * sizeof *h);
        h += 1 + p->d;
        t += 1 + p->d + m * p->d + (p->components[b].map->has_rho ? m : 0);
    }
    for (int i = 0; i < (int)p->spec.trend; i++) *h++ = *t++;
    assert_ptr_equal(h, e->hyper + e->n_hyper);
}

static void exact_problem_fini(exact_problem *e)
{
    free(e->hyper);
    problem_fini(&e->p);
}

static gp_exact *exact_of(const exact_problem *e)
{
    gp_exact *exact = NULL;
    advgp_error err = {0};
    CHECK_OK(gp_exact_new(&e->spec, e->p.rows, &exact, &err), e->p.label);
    return exact;
}

static double evidence(void *ctx, const double *hyper)
{
    advgp_error err = {0};
    double value = NAN, jitter = NAN;
    CHECK_OK(gp_exact_evidence(ctx, hyper, &value, NULL, &jitter, &err), "evidence");
    assert_true(jitter == 0);
    return value;
}

static double collapsed(const problem *p)
{
    advgp_error err = {0};
    engine e = engine_new(p, 0);
    gp_qw *qw = NULL;
    double value = NAN;
    (void)run_pass(e, p->theta, p->rows, NULL, p->label);
    CHECK_OK(gp_qw_new(p->layout.M, &qw, &err), p->label);
    CHECK_OK(gp_qw_optimal(qw, gp_pass_stats(e.pass), p->theta[0], NULL, NULL, &value, &err), p->label);
    for (size_t b = 0; b < e.f->n_components; b++) assert_int_equal(e.f->components[b].rung.climbs, 0);
    gp_qw_free(qw);
    engine_free(e);
    return value;
}

// What separates the bound of weighted rows, where a weight counts a row so often, from the evidence with noise
// sigma^2 / w_i, at equal fit: the two differ in the normalising constants alone.
static double weight_constant(const problem *p)
{
    double sum = 0;
    for (size_t i = 0; p->w && i < p->n; i++)
        if (p->w[i] > 0) sum += (p->w[i] - 1) * (0.5 * log(2 * acos(-1)) + p->theta[0]) + 0.5 * log(p->w[i]);
    return sum;
}

static double covariance(const exact_problem *e, const double *x, const double *z)
{
    const size_t d = e->p.d;
    const double *h = e->hyper + 1;
    double sum = 0;
    for (size_t b = 0; b < e->spec.n_components; b++, h += 1 + d) {
        double s = 0;
        for (size_t k = 0; k < d; k++) s += exp(h[1 + k]) * (x[k] - z[k]) * (x[k] - z[k]);
        const double t3 = sqrt(3 * s), t5 = sqrt(5 * s);
        sum += exp(2 * h[0]) * (e->kernels[b] == &gp_kernel_ard_rbf    ? exp(-s / 2)
                                : e->kernels[b] == &gp_kernel_matern32 ? (1 + t3) * exp(-t3)
                                                                       : (1 + t5 + t5 * t5 / 3) * exp(-t5));
    }
    if (e->spec.trend != GP_TREND_NONE) sum += exp(2 * h[0]);
    if (e->spec.trend == GP_TREND_LINEAR)
        for (size_t k = 0; k < d; k++) sum += exp(2 * h[1]) * x[k] * z[k];
    return sum;
}

// Lower Cholesky factor in place, and L^-1 b in b; returns sum ln L_ii.
static double solve_lower(size_t n, double *K, double *b)
{
    double log_det = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = K[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= K[i * n + k] * K[j * n + k];
            K[i * n + j] = i == j ? sqrt(sum) : sum / K[j * n + j];
        }
        log_det += log(K[i * n + i]);
        for (size_t k = 0; k < i; k++) b[i] -= K[i * n + k] * b[k];
        b[i] /= K[i * n + i];
    }
    return log_det;
}

static void evidence_and_prediction_equal_plain_loops(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        exact_problem e;
        advgp_error err = {0};
        exact_problem_init(&e, seed,
                           (problem_options){.n = 1 + seed % 17,
                                             .d = 1 + seed % 3,
                                             .n_components = 1 + seed % 3,
                                             .trend = (gp_trend)(seed % 3),
                                             .weighted = seed % 2});
        const problem *p = &e.p;
        if (p->w && p->w[0] == 0) p->w[0] = 1; // at least one row
        size_t n = 0, *at = calloc(p->n, sizeof *at);
        for (size_t i = 0; i < p->n; i++)
            if (!p->w || p->w[i] > 0) at[n++] = i;
        double *K = doubles(n * n), *b = doubles(n), square = 0, nlml;
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) K[i * n + j] = covariance(&e, p->X + at[i] * p->d, p->X + at[j] * p->d);
            K[i * n + i] += exp(2 * e.hyper[0]) / (p->w ? p->w[at[i]] : 1);
            b[i] = p->y[at[i]];
        }
        const double log_det = solve_lower(n, K, b);
        for (size_t i = 0; i < n; i++) square += b[i] * b[i];
        gp_exact *exact = exact_of(&e);
        CHECK_OK(gp_exact_evidence(exact, e.hyper, &nlml, NULL, NULL, &err), p->label);
        CHECK_CLOSE(0.5 * square + log_det + 0.5 * (double)n * log(2 * acos(-1)), nlml, 1e-11, p->label);

        enum { NEW = 70 }; // more than one chunk
        double *X = doubles(NEW * p->d), mean[NEW], var_f[NEW], var_y[NEW], want[NEW], want_f[NEW], want_y[NEW];
        for (size_t i = 0; i < NEW; i++) {
            for (size_t k = 0; k < p->d; k++) X[i * p->d + k] = gp_rng_normal(&e.p.rng);
            double *k = doubles(n);
            want[i] = 0;
            want_f[i] = covariance(&e, X + i * p->d, X + i * p->d);
            for (size_t r = 0; r < n; r++) {
                k[r] = covariance(&e, X + i * p->d, p->X + at[r] * p->d);
                for (size_t l = 0; l < r; l++) k[r] -= K[r * n + l] * k[l];
                k[r] /= K[r * n + r];
                want[i] += k[r] * b[r];
                want_f[i] -= k[r] * k[r];
            }
            want_y[i] = want_f[i] + exp(2 * e.hyper[0]);
            free(k);
        }
        CHECK_OK(gp_exact_predict(exact, gp_cmat_of(X, NEW, p->d), mean, var_f, var_y, &err), p->label);
        CHECK_ARRAY(NEW, want, mean, 1e-10, p->label);
        CHECK_ARRAY(NEW, want_f, var_f, 1e-10, p->label);
        CHECK_ARRAY(NEW, want_y, var_y, 1e-10, p->label);
        gp_exact_free(exact);
        free(at), free(K), free(b), free(X);
        exact_problem_fini(&e);
    }
}

static void the_gradient_of_the_evidence_matches_differences(void **state)
{
    (void)state;
    uint64_t seed = 100;
    for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++)
        for (int trend = 0; trend <= 2; trend++)
            for (size_t components = 1; components <= 3; components++)
                for (int weighted = 0; weighted <= 1; weighted++) {
                    exact_problem e;
                    advgp_error err = {0};
                    seed++;
                    exact_problem_init(&e, seed,
                                       (problem_options){.n = 5 + seed % 20,
                                                         .d = 1 + seed % 3,
                                                         .n_components = components,
                                                         .kernel = *kernel,
                                                         .trend = (gp_trend)trend,
                                                         .weighted = weighted});
                    gp_exact *exact = exact_of(&e);
                    double *grad = doubles(e.n_hyper), value;
                    CHECK_OK(gp_exact_evidence(exact, e.hyper, &value, grad, NULL, &err), e.p.label);
                    CHECK_CLOSE(evidence(exact, e.hyper), value, 1e-14, e.p.label);
                    for (size_t i = 0; i < e.n_hyper; i++) {
                        const double expected = differentiate(evidence, exact, e.hyper, i, 1e-3);
                        CHECK_CLOSE(expected, grad[i], 1e-7, e.p.label);
                    }
                    gp_exact_free(exact);
                    free(grad);
                    exact_problem_fini(&e);
                }
}

static void the_collapsed_bound_is_the_evidence_where_inducing_inputs_are_the_rows(void **state)
{
    (void)state;
    uint64_t seed = 300;
    static const gp_map *const maps[] = {&gp_map_cholesky, &gp_map_nystrom}; // the maps that keep all of K_mm
    for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++)
        for (size_t map = 0; map < 2; map++)
            for (size_t components = 1; components <= 3; components++)
                for (int trend = 0; trend <= 2; trend++) {
                    exact_problem e;
                    seed++;
                    // Few rows in several dimensions: without jitter, the condition of K_mm must stay modest by itself.
                    exact_problem_init(&e, seed,
                                       (problem_options){.n = 2 + seed % 8,
                                                         .d = 4,
                                                         .n_components = components,
                                                         .kernel = *kernel,
                                                         .map = maps[map],
                                                         .trend = (gp_trend)trend,
                                                         .weighted = seed % 2,
                                                         .full_rank = true,
                                                         .z_is_x = true,
                                                         .jitter = -1});
                    if (e.p.w) e.p.w[0] = 2.5; // some row counts
                    gp_exact *exact = exact_of(&e);
                    const double expected = evidence(exact, e.hyper) + weight_constant(&e.p);
                    CHECK_CLOSE(expected, collapsed(&e.p), 1e-9, e.p.label);
                    gp_exact_free(exact);
                    exact_problem_fini(&e);
                }
}

static void the_bound_never_falls_below_the_evidence(void **state)
{
    (void)state;
    for (uint64_t seed = 400; seed < 520; seed++) {
        exact_problem e;
        exact_problem_init(&e, seed,
                           (problem_options){.n = 1 + seed % 30,
                                             .d = 1 + seed % 4,
                                             .n_components = 1 + seed % 3,
                                             .map = gp_maps[seed % 4],
                                             .trend = (gp_trend)(seed % 3),
                                             .weighted = seed % 2});
        if (e.p.w) e.p.w[0] = 0.7;
        gp_exact *exact = exact_of(&e);
        const double least = evidence(exact, e.hyper) + weight_constant(&e.p), bound = collapsed(&e.p);
        CHECK(bound >= least - 1e-9 * (1 + fabs(least)), e.p.label, "-bound %.15g, -ln evidence %.15g", bound, least);
        gp_exact_free(exact);
        exact_problem_fini(&e);
    }
}

// At the row itself, with next to no noise, the variance is the difference of two nearly equal numbers.
static void the_exact_variance_is_never_negative(void **state)
{
    (void)state;
    long clamped = 0;
    for (uint64_t seed = 600; seed < 640; seed++) {
        exact_problem e;
        advgp_error err = {0};
        exact_problem_init(&e, seed,
                           (problem_options){.n = 1, .d = 1, .n_components = 1, .kernel = &gp_kernel_ard_rbf});
        e.hyper[0] = e.hyper[1] - 18; // sigma^2 is one unit in the last place of a0^2
        gp_exact *exact = exact_of(&e);
        double mean, var_f, var_y;
        CHECK_OK(gp_exact_evidence(exact, e.hyper, NULL, NULL, NULL, &err), e.p.label);
        CHECK_OK(gp_exact_predict(exact, e.p.rows.X, &mean, &var_f, &var_y, &err), e.p.label);
        CHECK(var_f >= 0 && var_y > 0, e.p.label, "%g, %g", var_f, var_y);
        clamped += var_f == 0;
        gp_exact_free(exact);
        exact_problem_fini(&e);
    }
    assert_true(clamped > 0); // else rounding was never met and this test says nothing
}

// What a file keeps is enough: the predictor says what the process said, and the leave-one-out formulas that
// calibration takes from it are those of the process without the row.
static void the_predictor_is_the_process_without_its_targets(void **state)
{
    (void)state;
    for (uint64_t seed = 700; seed < 712; seed++) {
        exact_problem e;
        advgp_error err = {0};
        exact_problem_init(&e, seed,
                           (problem_options){.n = 14,
                                             .d = 2,
                                             .n_components = 1,
                                             .kernel = gp_kernels[seed % 3],
                                             .trend = (gp_trend)(seed % 3),
                                             .weighted = seed % 2});
        for (size_t i = 0; e.p.w && i < 14; i++) e.p.w[i] += 0.5;
        gp_exact *exact = exact_of(&e), *without = NULL;
        double want[3][14], got[3][14], spread[14], residual[14], jitter;
        CHECK_OK(gp_exact_evidence(exact, e.hyper, NULL, NULL, &jitter, &err), e.p.label);
        CHECK_OK(gp_exact_predict(exact, e.p.rows.X, want[0], want[1], want[2], &err), e.p.label);
        const gp_exact_fit fit = {.kernel = e.spec.kernels[0],
                                  .trend = e.spec.trend,
                                  .X = e.p.rows.X,
                                  .w = e.p.w,
                                  .hyper = e.hyper,
                                  .alpha = gp_exact_weights(exact),
                                  .jitter = jitter};
        gp_predictor *predictor = NULL;
        gp_predict_work *work = NULL;
        CHECK_OK(gp_exact_predictor_new(&fit, &predictor, &err), e.p.label);
        CHECK_OK(gp_predict_work_new(predictor, 5, &work, &err), e.p.label);
        CHECK_OK(gp_predict(predictor, work, e.p.rows.X, got[0], got[1], got[2], &err), e.p.label);
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < 14; i++)
                CHECK(fabs(got[k][i] - want[k][i]) <= 1e-12 * (1 + fabs(want[k][i])), e.p.label, "row %zu: %g, not %g",
                      i, got[k][i], want[k][i]);
        CHECK_OK(gp_predict_parts(predictor, work, e.p.rows.X, got[0], spread, residual, &err), e.p.label);
        const gp_cmat rest = gp_cmat_of(e.p.X + 2, 13, 2); // all but the first row
        CHECK_OK(
            gp_exact_new(&e.spec, (gp_batch){.X = rest, .y = e.p.y + 1, .w = e.p.w ? e.p.w + 1 : NULL}, &without, &err),
            e.p.label);
        CHECK_OK(gp_exact_evidence(without, e.hyper, NULL, NULL, NULL, &err), e.p.label);
        double mean, var_f;
        CHECK_OK(gp_exact_predict(without, gp_cmat_of(e.p.X, 1, 2), &mean, &var_f, NULL, &err), e.p.label);
        const double h = (e.p.w ? e.p.w[0] : 1) * spread[0] / gp_predictor_noise(predictor);
        CHECK(fabs((e.p.y[0] - got[0][0]) / (1 - h) - (e.p.y[0] - mean)) <= 1e-8, e.p.label, "left out: the mean");
        CHECK(fabs(spread[0] / (1 - h) - var_f) <= 1e-8 * (1 + var_f) && residual[0] == 0, e.p.label,
              "left out: %g, %g", spread[0] / (1 - h), var_f);
        assert_null(gp_predictor_features(predictor));
        gp_predict_work_free(work);
        gp_predictor_free(predictor);
        gp_exact_free(exact);
        gp_exact_free(without);
        exact_problem_fini(&e);
    }
}

static void wrong_calls_are_refused_with_a_message(void **state)
{
    (void)state;
    advgp_error err = {0};
    exact_problem e;
    exact_problem_init(&e, 7, (problem_options){.n = 6, .d = 2, .n_components = 1});
    gp_exact *exact = NULL;
    double mean[6], value;
    const gp_batch rows = e.p.rows;
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_new(&e.spec, rows, NULL, &err), "no out");
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_new(NULL, rows, &exact, &err), "no spec");
    gp_exact_spec bad = e.spec;
    bad.d = 0;
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_new(&bad, rows, &exact, &err), "no inputs");
    bad = e.spec, bad.kernels = NULL;
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_new(&bad, rows, &exact, &err), "no kernels");
    const gp_kernel *no_kernel[] = {NULL};
    bad = e.spec, bad.kernels = no_kernel;
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_new(&bad, rows, &exact, &err), "a kernel that is none");
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_new(&e.spec, (gp_batch){.X = gp_cmat_of(e.p.X, 4, 3), .y = e.p.y}, &exact, &err),
                "columns");
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_new(&e.spec, (gp_batch){.X = rows.X}, &exact, &err), "no y");
    CHECK_FAILS(ADVGP_EDATA, gp_exact_new(&e.spec, (gp_batch){.X = gp_cmat_of(e.p.X, 0, 2), .y = e.p.y}, &exact, &err),
                "no rows");
    double weights[6] = {0};
    CHECK_FAILS(ADVGP_EDATA, gp_exact_new(&e.spec, (gp_batch){.X = rows.X, .y = rows.y, .w = weights}, &exact, &err),
                "all weights 0");
    static const double poison[] = {NAN, INFINITY, -INFINITY, -1};
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 6; k++) weights[k] = k == 3 ? poison[i] : 1;
        CHECK_FAILS(ADVGP_EDATA,
                    gp_exact_new(&e.spec, (gp_batch){.X = rows.X, .y = rows.y, .w = weights}, &exact, &err),
                    "bad weight");
        if (poison[i] == -1) continue;
        double held = e.p.y[2];
        e.p.y[2] = poison[i];
        CHECK_FAILS(ADVGP_EDATA, gp_exact_new(&e.spec, rows, &exact, &err), "bad y");
        e.p.y[2] = held, held = e.p.X[5], e.p.X[5] = poison[i];
        CHECK_FAILS(ADVGP_EDATA, gp_exact_new(&e.spec, rows, &exact, &err), "bad x");
        e.p.X[5] = held;
    }
    double *many = doubles(2 * (GP_EXACT_MAX_ROWS + 1));
    const gp_batch too_many = {.X = gp_cmat_of(many, GP_EXACT_MAX_ROWS + 1, 2), .y = many};
    CHECK_FAILS(ADVGP_EDATA, gp_exact_new(&e.spec, too_many, &exact, &err), "more rows than memory");
    free(many);
    assert_null(exact);
    exact = exact_of(&e);
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_predict(exact, rows.X, mean, NULL, NULL, &err), "before evidence");
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_predict(NULL, rows.X, mean, NULL, NULL, &err), "no model");
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_evidence(NULL, e.hyper, &value, NULL, NULL, &err), "no model");
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_evidence(exact, NULL, &value, NULL, NULL, &err), "no hyper");
    for (size_t i = 0; i < e.n_hyper; i++) {
        const double held = e.hyper[i];
        e.hyper[i] = NAN;
        CHECK_FAILS(ADVGP_ENUMERIC, gp_exact_evidence(exact, e.hyper, &value, NULL, NULL, &err), "NaN in hyper");
        e.hyper[i] = 1e4;
        if (i < 2) CHECK_FAILS(ADVGP_ENUMERIC, gp_exact_evidence(exact, e.hyper, &value, NULL, NULL, &err), "overflow");
        e.hyper[i] = held;
    }
    (void)evidence(exact, e.hyper);
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_predict(exact, gp_cmat_of(e.p.X, 4, 3), mean, NULL, NULL, &err), "columns");
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_predict(exact, rows.X, NULL, NULL, NULL, &err), "no mean");
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_predict(exact, gp_cmat_of(NULL, 4, 2), mean, NULL, NULL, &err), "no X");
    CHECK_OK(gp_exact_predict(exact, gp_cmat_of(NULL, 0, 2), NULL, NULL, NULL, &err), "no rows are fine");
    double spoiled[2] = {NAN, 0};
    CHECK_FAILS(ADVGP_EDATA, gp_exact_predict(exact, gp_cmat_of(spoiled, 1, 2), mean, NULL, NULL, &err), "NaN in X");
    gp_exact_free(exact);
    gp_exact_free(NULL);
    assert_int_equal(gp_exact_n_hyper(NULL), 0);
    exact_problem_fini(&e);
}

// Every row in turn against the process of the others.
static void leaving_a_row_out_equals_the_process_of_the_others(void **state)
{
    (void)state;
    enum { N = 25 };
    exact_problem e;
    advgp_error err = {0};
    exact_problem_init(
        &e, 31, (problem_options){.n = N, .d = 2, .n_components = 1, .trend = GP_TREND_LINEAR, .weighted = true});
    gp_exact *exact = exact_of(&e);
    double deviation[N], variance[N], mean, var_y, *w = doubles(N);
    (void)evidence(exact, e.hyper);
    size_t kept = 0;
    for (size_t i = 0; i < N; i++) kept += e.p.w[i] > 0;
    assert_true(kept < N);
    CHECK_FAILS(ADVGP_EINVAL, gp_exact_left_out(exact, N, deviation, variance, &err), "other rows");
    CHECK_OK(gp_exact_left_out(exact, kept, deviation, variance, &err), "left out");
    for (size_t i = 0, row = 0; i < N; i++) {
        if (e.p.w[i] == 0) continue;
        for (size_t j = 0; j < N; j++) w[j] = j == i ? 0 : e.p.w[j];
        gp_exact *others;
        CHECK_OK(gp_exact_new(&e.spec, (gp_batch){.X = gp_cmat_of(e.p.X, N, 2), .y = e.p.y, .w = w}, &others, &err),
                 "the others");
        (void)evidence(others, e.hyper);
        CHECK_OK(gp_exact_predict(others, gp_cmat_of(e.p.X + 2 * i, 1, 2), &mean, NULL, &var_y, &err), "predict");
        assert_true(fabs(e.p.y[i] - mean - deviation[row]) < 1e-8);
        assert_true(fabs(var_y / variance[row] - 1) < 1e-8);
        gp_exact_free(others);
        row++;
    }
    free(w);
    gp_exact_free(exact);
    exact_problem_fini(&e);
}

static void an_evidence_can_be_ended_anywhere_and_computed_again(void **state)
{
    (void)state;
    exact_problem e;
    advgp_error err = {0};
    exact_problem_init(&e, 77, (problem_options){.n = 300, .d = 2, .n_components = 2, .trend = GP_TREND_LINEAR});
    gp_exact *exact = exact_of(&e);
    double expected, value, *gradient = doubles(e.n_hyper), *again = doubles(e.n_hyper);
    patience p = {.until = 1000000};
    gp_interrupt scope;
    gp_interrupt_open(&scope, asked, &p);
    CHECK_OK(gp_exact_evidence(exact, e.hyper, &expected, gradient, NULL, &err), "undisturbed");
    assert_false(gp_interrupt_close(&scope));
    const int all = p.asked;
    assert_true(all >= 4 * 3); // by panels: covariances, their inverse, gradients of two components
    for (int until = 0; until < all; until++) {
        p = (patience){.until = until};
        gp_interrupt_open(&scope, asked, &p);
        CHECK_FAILS(ADVGP_ESTOPPED, gp_exact_evidence(exact, e.hyper, &value, again, NULL, &err), "ended");
        assert_true(gp_interrupt_close(&scope));
        assert_int_equal(p.asked, until + 1);
    }
    CHECK_OK(gp_exact_evidence(exact, e.hyper, &value, again, NULL, &err), "again");
    assert_true(value == expected);
    CHECK_BITS(e.n_hyper, gradient, again, "gradient");
    free(gradient), free(again);
    gp_exact_free(exact);
    exact_problem_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_evidence_can_be_ended_anywhere_and_computed_again),
        cmocka_unit_test(evidence_and_prediction_equal_plain_loops),
        cmocka_unit_test(leaving_a_row_out_equals_the_process_of_the_others),
        cmocka_unit_test(the_gradient_of_the_evidence_matches_differences),
        cmocka_unit_test(the_collapsed_bound_is_the_evidence_where_inducing_inputs_are_the_rows),
        cmocka_unit_test(the_bound_never_falls_below_the_evidence),
        cmocka_unit_test(the_exact_variance_is_never_negative),
        cmocka_unit_test(the_predictor_is_the_process_without_its_targets),
        cmocka_unit_test(wrong_calls_are_refused_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
