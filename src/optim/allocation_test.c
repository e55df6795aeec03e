// allocation_test.c: a step allocates nothing, and every allocation that fails is survived without a leak. It stands in
// the last room because it runs all of a step, from the rows to the step rules.
#include "fixture.h"
#include "linalg/blas.h"
#include "model/exact.h"
#include "model/predict.h"
#include "model/qw.h"
#include "optim/lbfgs.h"
#include "optim/step.h"

#include <errno.h>

// ---- every door to the heap, counted

// glibc lets a program define the allocator, and its own is behind __libc_ names: so calls of BLAS and LAPACK are
// counted too. A sanitizer has defined it already; there only gp_alloc is watched.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

static volatile long heap_calls;

#if defined(__GLIBC__) && !defined(SANITIZED)
enum { COUNTS_MALLOC = 1 };
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    heap_calls++;
    return __libc_malloc(size);
}
void *calloc(size_t n, size_t size)
{
    heap_calls++;
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t size)
{
    heap_calls++;
    return __libc_realloc(p, size);
}
void *aligned_alloc(size_t alignment, size_t size)
{
    heap_calls++;
    return __libc_memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size)
{
    heap_calls++;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
#else
enum { COUNTS_MALLOC = 0 };
#endif

// ---- a step

typedef struct rig {
    problem p;
    engine e;
    gp_qw *qw;
    gp_predictor *predictor;
    gp_predict_work *work;
    double *grad, *theta, *mean, *var_f, *var_y, *phi, *state[4];
} rig;

static void rig_init(rig *r, uint64_t seed)
{
    advgp_error err = {0};
    *r = (rig){0};
    problem_init(&r->p, seed,
                 (problem_options){.n = 150,
                                   .d = 3,
                                   .n_components = 3,
                                   .m = 20,
                                   .map = gp_maps[seed % 4],
                                   .trend = (gp_trend)(seed % 3),
                                   .weighted = seed % 2});
    r->e = engine_new(&r->p, 64);
    CHECK_OK(gp_qw_new(r->p.layout.M, &r->qw, &err), r->p.label);
    CHECK_OK(gp_predictor_new(&r->p.spec, r->p.theta, &r->predictor, &err), r->p.label);
    CHECK_OK(gp_predict_work_new(r->predictor, 32, &r->work, &err), r->p.label);
    r->grad = doubles(r->p.layout.size), r->theta = doubles(r->p.layout.size);
    r->mean = doubles(r->p.n), r->var_f = doubles(r->p.n), r->var_y = doubles(r->p.n);
    r->phi = doubles(r->p.n * r->p.layout.M);
    for (int i = 0; i < 4; i++) r->state[i] = doubles(r->p.layout.size);
    memcpy(r->theta, r->p.theta, r->p.layout.size * sizeof *r->theta);
}

static void rig_fini(rig *r)
{
    for (int i = 0; i < 4; i++) free(r->state[i]);
    free(r->grad), free(r->theta), free(r->mean), free(r->var_f), free(r->var_y), free(r->phi);
    gp_predict_work_free(r->work);
    gp_predictor_free(r->predictor);
    gp_qw_free(r->qw);
    engine_free(r->e);
    problem_fini(&r->p);
}

// Everything that happens between two messages, and prediction. Returns the first failure.
static advgp_status step(rig *r, advgp_error *err)
{
    const gp_theta_layout layout = r->p.layout;
    double *mu = r->theta + layout.n_rest, *U = r->theta + layout.U, value, ln_sigma;
    advgp_status st = gp_pass_begin(r->e.pass, r->theta, GP_PASS_GRADIENT, err);
    if (st == ADVGP_OK) st = gp_pass_add(r->e.pass, gp_batch_part(r->p.rows, 0, 70), err);
    if (st == ADVGP_OK) st = gp_pass_add(r->e.pass, gp_batch_part(r->p.rows, 70, 80), err);
    if (st == ADVGP_OK) st = gp_pass_end(r->e.pass, &value, r->grad, err);
    const gp_stats *stats = gp_pass_stats(r->e.pass);
    if (st == ADVGP_OK) st = gp_qw_natural(r->qw, stats, 2, r->theta[0], 0.5, mu, U, err);
    if (st == ADVGP_OK) st = gp_qw_noise(r->qw, stats, mu, U, &ln_sigma, err);
    if (st == ADVGP_OK) st = gp_qw_best_noise(r->qw, stats, &ln_sigma, &value, err);
    if (st == ADVGP_OK) st = gp_qw_optimal(r->qw, stats, r->theta[0], mu, U, &value, err);
    gp_adadelta adadelta = {.decay = 0.9, .epsilon = 1e-6, .damping = 1, .acc_g = r->state[0], .acc_u = r->state[1]};
    gp_step_adadelta(layout, gp_range_all(layout), &adadelta, r->grad, r->theta, NULL);
    gp_step_prox(layout, gp_range_all(layout), 1e-6, r->grad, r->theta);
    (void)gp_theta_kl(layout, r->theta, r->grad);
    gp_adam adam = {.rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .m = r->state[2], .v = r->state[3]};
    gp_step_adam(&adam, layout.n_rest, r->grad, r->theta);
    const gp_cmat X = r->p.rows.X;
    if (st == ADVGP_OK) st = gp_predict(r->predictor, r->work, X, r->mean, r->var_f, r->var_y, err);
    if (st == ADVGP_OK)
        st = gp_predict_features(r->predictor, r->work, X, gp_mat_of(r->phi, r->p.n, layout.M), r->mean, err);
    return st;
}

static void a_step_and_a_prediction_allocate_nothing(void **state)
{
    (void)state;
    assert_int_equal(gp_blas_reserve(1, NULL), ADVGP_OK); // with threads of its own it hands out work through the heap
    for (uint64_t seed = 0; seed < 8; seed++) {
        rig r;
        advgp_error err = {0};
        rig_init(&r, seed);
        CHECK_OK(step(&r, &err), r.p.label); // BLAS takes its buffers at its first call
        const gp_alloc_counts before = gp_alloc_count();
        gp_alloc_freeze(true);
        const long heap_before = heap_calls;
        const advgp_status st = step(&r, &err);
        const long heap_after = heap_calls;
        gp_alloc_freeze(false);
        const gp_alloc_counts after = gp_alloc_count();
        CHECK_OK(st, r.p.label);
        CHECK(after.calls == before.calls, r.p.label, "%ld calls of gp_alloc in a step", after.calls - before.calls);
        CHECK(heap_after == heap_before, r.p.label, "%ld calls of malloc in a step", heap_after - heap_before);
        rig_fini(&r);
    }
    if (COUNTS_MALLOC) { // the counter itself counts
        const long before = heap_calls;
        void *volatile p = malloc(10);
        free(p);
        assert_int_equal(heap_calls - before, 1);
    }
}

// ---- failing allocations

typedef advgp_status (*allocating)(void *ctx, advgp_error *err);

// Lets 0, 1, 2, .. allocations pass until the work succeeds; whatever fails must say so and leave nothing behind.
static void fail_every_allocation(allocating work, void *ctx, long at_least, const char *label)
{
    for (long passes = 0;; passes++) {
        advgp_error err = {0};
        const long live = gp_alloc_count().live;
        gp_alloc_fail_after(passes);
        const advgp_status st = work(ctx, &err);
        gp_alloc_fail_after(-1);
        CHECK(gp_alloc_count().live == live, label, "%ld blocks left behind after %ld allocations",
              gp_alloc_count().live - live, passes);
        CHECK(passes < 100, label, "still failing after %ld allocations", passes);
        if (st == ADVGP_OK) {
            CHECK(passes >= at_least, label, "only %ld allocations: is gp_alloc still the only door?", passes);
            return;
        }
        CHECK_FAILS(ADVGP_ENOMEM, st, label);
    }
}

static advgp_status make_features(void *ctx, advgp_error *err)
{
    const problem *p = ctx;
    gp_features *f = (gp_features *)ctx; // must be overwritten
    const advgp_status st = gp_features_new(&p->spec, &f, err);
    if (st != ADVGP_OK) assert_null(f);
    gp_features_free(f);
    return st;
}

static advgp_status make_pass(void *ctx, advgp_error *err)
{
    const problem *p = ctx;
    gp_features *f = NULL;
    gp_pass *pass = (gp_pass *)ctx;
    advgp_status st = gp_features_new(&p->spec, &f, err);
    if (st != ADVGP_OK) return st;
    st = gp_pass_new(f, 0, &pass, err);
    if (st != ADVGP_OK) assert_null(pass);
    if (st == ADVGP_OK) st = gp_pass_run(pass, p->theta, GP_PASS_STATS, p->rows, NULL, NULL, err);
    gp_pass_free(pass);
    gp_features_free(f);
    return st;
}

static advgp_status make_qw(void *ctx, advgp_error *err)
{
    const problem *p = ctx;
    gp_qw *qw = (gp_qw *)ctx;
    const advgp_status st = gp_qw_new(p->layout.M, &qw, err);
    if (st != ADVGP_OK) assert_null(qw);
    gp_qw_free(qw);
    return st;
}

static advgp_status make_predictor(void *ctx, advgp_error *err)
{
    const problem *p = ctx;
    gp_predictor *predictor = (gp_predictor *)ctx;
    gp_predict_work *work = NULL;
    advgp_status st = gp_predictor_new(&p->spec, p->theta, &predictor, err);
    if (st != ADVGP_OK) assert_null(predictor);
    if (st == ADVGP_OK) st = gp_predict_work_new(predictor, 0, &work, err);
    if (st == ADVGP_OK) {
        double *mean = doubles(p->n);
        st = gp_predict(predictor, work, p->rows.X, mean, NULL, NULL, err);
        free(mean);
    }
    gp_predict_work_free(work);
    gp_predictor_free(predictor);
    return st;
}

static advgp_status make_exact(void *ctx, advgp_error *err)
{
    const problem *p = ctx;
    const gp_kernel *kernels[REF_MAX_COMPONENTS];
    for (size_t b = 0; b < p->spec.n_components; b++) kernels[b] = p->components[b].kernel;
    const gp_exact_spec spec = {
        .d = p->d, .n_components = p->spec.n_components, .kernels = kernels, .trend = p->spec.trend};
    const size_t n_hyper = gp_exact_n_hyper(&spec);
    double *hyper = doubles(n_hyper), *grad = doubles(n_hyper), *mean = doubles(p->n);
    gp_exact *exact = (gp_exact *)ctx;
    advgp_status st = gp_exact_new(&spec, p->rows, &exact, err);
    if (st != ADVGP_OK) assert_null(exact);
    if (st == ADVGP_OK) st = gp_exact_evidence(exact, hyper, NULL, grad, NULL, err);
    if (st == ADVGP_OK) st = gp_exact_predict(exact, p->rows.X, mean, NULL, NULL, err);
    gp_exact_free(exact);
    free(hyper), free(grad), free(mean);
    return st;
}

static advgp_status fail_to_predict(void *ctx, advgp_error *err)
{
    problem *p = ctx;
    gp_predictor *predictor = NULL;
    const double held = p->theta[0];
    p->theta[0] = NAN; // everything is allocated, then the parameters are refused
    const advgp_status st = gp_predictor_new(&p->spec, p->theta, &predictor, err);
    p->theta[0] = held;
    assert_null(predictor);
    return st == ADVGP_ENUMERIC ? ADVGP_OK : st;
}

static advgp_status bowl(void *ctx, const double *x, size_t n, double *value, double *gradient, advgp_error *err)
{
    (void)ctx, (void)err;
    *value = 0;
    for (size_t i = 0; i < n; i++) *value += x[i] * x[i], gradient[i] = 2 * x[i];
    return ADVGP_OK;
}

static advgp_status minimise(void *ctx, advgp_error *err)
{
    (void)ctx;
    double x[3] = {1, 2, 3};
    return gp_lbfgs(bowl, NULL, 3, x, NULL, NULL, err);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        problem p;
        problem_init(&p, seed,
                     (problem_options){.n = 20,
                                       .d = 2,
                                       .n_components = 1 + seed % 3,
                                       .map = gp_maps[seed % 4],
                                       .trend = (gp_trend)(seed % 3)});
        fail_every_allocation(make_features, &p, 1, "features");
        fail_every_allocation(make_pass, &p, 2, "pass");
        fail_every_allocation(make_qw, &p, 1, "q(w)");
        fail_every_allocation(make_predictor, &p, 3, "predictor");
        fail_every_allocation(fail_to_predict, &p, 2, "a predictor that is refused");
        fail_every_allocation(make_exact, &p, 3, "exact");
        fail_every_allocation(minimise, &p, 1, "lbfgs");
        problem_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_and_a_prediction_allocate_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
