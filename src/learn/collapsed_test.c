// collapsed_test.c: the bound of map and reduce is Titsias' and its gradient is the bound's; descent goes down; and
// stochastic natural steps end at the optimal q(w) where the other parameters stay.
#include "base/alloc.h"
#include "base/rng.h"
#include "fixture.h"
#include "learn/collapsed.h"
#include "ps/statistics.h"

#include <math.h>
#include <string.h>

enum { N = 300, D = 2, M = 5, SHARDS = 6, WORKERS = 3 };

typedef struct bench {
    gp_shards *shards;
    gp_learner *learner;
    gp_run *run;
    gp_collapsed *bound;
} bench;

static void must(advgp_status st, const advgp_error *err)
{
    if (st != ADVGP_OK) fail_msg("%s: %s", advgp_status_name(st), err->text);
}

static gp_shards *make_shards(void)
{
    static double X[N * D], y[N], w[N];
    static uint8_t part[N];
    gp_rng rng = gp_rng_seeded(5, 0);
    advgp_error err;
    gp_memory_builder *builder;
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < D; k++) X[i * D + k] = gp_rng_normal(&rng);
        y[i] = sin(2 * X[i * D]) + 0.5 * X[i * D + 1] + 0.2 * gp_rng_normal(&rng);
        w[i] = 1, part[i] = GP_TRAIN;
    }
    const gp_rows rows = {.n = N, .d = D, .X = X, .y = y, .w = w, .part = part};
    must(gp_memory_builder_new(D, SHARDS, false, true, 1, &builder, &err), &err);
    must(gp_memory_builder_add(builder, &rows, &err), &err);
    gp_shards *shards;
    must(gp_memory_shards_take(builder, &shards, &err), &err);
    return shards;
}

static void bench_init(bench *b, const gp_run_options *settings)
{
    static const double Z[M * D] = {-1, 0, 1, 0.5, 0, 1, 0.3, -1, -0.5, -0.8};
    advgp_error err;
    const gp_learner_options lo = {.d = D,
                                   .m = M,
                                   .components = 1,
                                   .kernel = &gp_kernel_ard_rbf,
                                   .map = &gp_map_cholesky,
                                   .trend = GP_TREND_LINEAR,
                                   .length_scale = 0.7,
                                   .inducing = gp_cmat_of(Z, M, D)};
    b->shards = make_shards();
    must(gp_learner_new(&lo, &b->learner, &err), &err);
    gp_run_options ro = *settings;
    ro.spec = &b->learner->spec;
    ro.theta = b->learner->theta;
    ro.shards = b->shards;
    ro.schedule.rule = &gp_rule_natural;
    must(gp_run_team_new(&ro, &b->run, &err), &err);
    must(gp_run_start(b->run, &err), &err);
    const gp_collapsed_options co = {.run = b->run, .learner = b->learner, .n_rows = N};
    must(gp_collapsed_new(&co, &b->bound, &err), &err);
}

static void bench_fini(bench *b)
{
    gp_collapsed_free(b->bound);
    gp_run_free(b->run);
    gp_learner_free(b->learner);
    gp_shards_free(b->shards);
}

static const gp_run_options still = {.schedule.workers = WORKERS,
                                     .schedule.batch = 50}; // collects, and makes no step before

// The collapsed bound a row at x, from one pass over all rows of the reader: no server, no workers.
static double plain_bound(bench *b, const double *x)
{
    gp_learner *l = b->learner;
    gp_reader reader;
    gp_pass *pass;
    gp_batch rows;
    double *theta = gp_alloc(l->layout.size, sizeof *theta), value;
    advgp_error err;
    memcpy(theta, l->theta, l->layout.size * sizeof *theta);
    memcpy(theta, x, l->layout.n_rest * sizeof *theta);
    must(gp_reader_new(b->shards, N, &reader, &err), &err);
    must(gp_pass_new(l->f, 0, &pass, &err), &err);
    must(gp_reader_ring(&reader, (gp_ring){0}, 0, N, &rows, &err), &err);
    must(gp_pass_run(pass, theta, GP_PASS_STATS, rows, NULL, NULL, &err), &err);
    must(gp_qw_optimal(l->qw, gp_pass_stats(pass), theta[0], NULL, NULL, &value, &err), &err);
    gp_pass_free(pass);
    gp_reader_fini(&reader);
    gp_free(theta);
    return value / N;
}

static void value_and_gradient_are_those_of_the_collapsed_bound(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, &still);
    const size_t n = b.learner->layout.n_rest;
    double x[64], gradient[64], value;
    advgp_error err;
    assert_true(n <= 64);
    memcpy(x, b.learner->theta, n * sizeof *x);
    must(gp_collapsed_value(b.bound, x, &value, gradient, &err), &err);
    assert_true(fabs(value - plain_bound(&b, x)) < 1e-12);
    for (size_t i = 0; i < n; i++) {
        const double h = 1e-5, at = x[i];
        x[i] = at + h;
        const double up = plain_bound(&b, x);
        x[i] = at - h;
        const double down = plain_bound(&b, x);
        x[i] = at;
        const double slope = (up - down) / (2 * h);
        if (!(fabs(slope - gradient[i]) < 1e-7 + 1e-6 * fabs(slope)))
            fail_msg("parameter %zu: gradient %.12g, difference %.12g", i, gradient[i], slope);
    }
    bench_fini(&b);
}

static void both_descents_go_down_and_leave_the_optimal_q(void **state)
{
    (void)state;
    for (int lbfgs = 0; lbfgs < 2; lbfgs++) {
        bench b;
        bench_init(&b, &still);
        advgp_error err;
        const gp_theta_layout l = b.learner->layout;
        const double before = plain_bound(&b, b.learner->theta);
        gp_stop_reason stopped = GP_NOT_STOPPED;
        must(lbfgs ? gp_collapsed_lbfgs(b.bound, 30, &stopped, &err)
                   : gp_collapsed_adadelta(b.bound, 30, &stopped, &err),
             &err);
        const double after = plain_bound(&b, b.learner->theta);
        if (!(after < before - 0.1)) fail_msg("%s: %g to %g", lbfgs ? "L-BFGS" : "ADADELTA", before, after);
        assert_int_not_equal(stopped, GP_NOT_STOPPED);
        double mu[64];
        assert_true(l.M <= 64);
        must(gp_qw_optimal(b.learner->qw, &b.learner->stats, b.learner->theta[0], mu, NULL, NULL, &err), &err);
        for (size_t j = 0; j < l.M; j++) assert_true(fabs(mu[j] - b.learner->theta[l.n_rest + j]) < 1e-9);
        bench_fini(&b);
    }
}

// What svigp does, with Adam's rate 0: on mini-batches q(w) comes near its optimum, on all rows it is there at once.
static void natural_steps_end_at_the_optimal_q(void **state)
{
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        bench b;
        const gp_run_options ro = {.schedule.workers = 1,
                                   .schedule.batch = whole ? N : 60,
                                   .schedule.natural_rate = whole ? 1 : 0.3,
                                   .schedule.adam_rate = 0,
                                   .schedule.quorum = 1,
                                   .schedule.steps = whole ? 0 : 600};
        bench_init(&b, &ro);
        advgp_error err;
        const gp_theta_layout l = b.learner->layout;
        const uint64_t versions = whole ? 1 : 600;
        must(gp_server_allow(b.run->server, versions, &err), &err);
        while (gp_server_version(b.run->server) < versions) must(b.run->ops->turn(b.run, 0.2, &err), &err);
        double theta[256], mu[64];
        assert_true(l.size <= 256);
        memcpy(theta, gp_server_theta(b.run->server), l.size * sizeof *theta);
        const double *sum;
        must(gp_run_collect(b.run, theta, GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS, 0, &sum, NULL, NULL, &err), &err);
        gp_statistics_unpack(sum, &b.learner->stats);
        must(gp_qw_optimal(b.learner->qw, &b.learner->stats, theta[0], mu, NULL, NULL, &err), &err);
        for (size_t j = 0; j < l.M; j++)
            if (!(fabs(mu[j] - theta[l.n_rest + j]) < (whole ? 1e-9 : 0.05)))
                fail_msg("feature %zu: %g, the optimum is %g", j, theta[l.n_rest + j], mu[j]);
        bench_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_and_gradient_are_those_of_the_collapsed_bound),
        cmocka_unit_test(both_descents_go_down_and_leave_the_optimal_q),
        cmocka_unit_test(natural_steps_end_at_the_optimal_q),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
