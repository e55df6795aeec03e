// simulate_test.c: clusters in virtual time on small generated tables: asynchrony pays and does not ruin the fit,
// unequal shards do not hurt, the same options give the same bits, and what is said to saturate does.
#include "base/alloc.h"
#include "base/rng.h"
#include "cells/inducing.h"
#include "fixture.h"
#include "recipe/train.h"
#include "sim/simulate.h"

#include <math.h>
#include <string.h>

enum { D = 3, N_MAX = 14000, W = 16 };

typedef struct table {
    double x[N_MAX * D], y[N_MAX];
    gp_shards *shards;
    gp_schema *schema;
    double *inducing;
    gp_learner *learner;
} table;
static table t;

static void must(advgp_status st, const advgp_error *err)
{
    if (st != ADVGP_OK) fail_msg("%s: %s", advgp_status_name(st), err->text);
}

// Rough: so much of a surface that the inducing inputs matter. Smooth: they suffice, and the error is that of the
// noise, 0.1 beside a standard deviation of about 1.
typedef enum surface { ROUGH, SMOOTH } surface;

static double surface_at(surface kind, const double *x)
{
    if (kind == SMOOTH) return sin(x[0]) + 0.3 * x[1] + 0.2 * x[2];
    return sin(2 * x[0]) * cos(1.5 * x[1]) + 0.5 * sin(x[2] * x[0]);
}

static void make_table(surface kind, size_t n, size_t m, uint64_t seed)
{
    advgp_error err;
    gp_source *source;
    gp_rng rng = gp_rng_seeded(seed, 0);
    for (size_t i = 0; i < n; i++) {
        double *x = t.x + i * D;
        for (size_t k = 0; k < D; k++) x[k] = gp_rng_normal(&rng);
        t.y[i] = surface_at(kind, x) + 0.1 * gp_rng_normal(&rng);
    }
    const gp_array arrays[] = {{.name = "a", .number = t.x, .stride = D},
                               {.name = "b", .number = t.x + 1, .stride = D},
                               {.name = "c", .number = t.x + 2, .stride = D},
                               {.name = "y", .number = t.y, .stride = 1}};
    must(gp_source_memory_open(arrays, 4, n, 0, &source, &err), &err);
    must(gp_sim_rows(source, NULL, "y", seed, &t.shards, &t.schema, &err), &err);
    gp_source_free(source);
    size_t found;
    must(gp_inducing_choose(t.shards, m, 0, GP_START_KMEANS, &gp_kernel_ard_rbf, 1, &t.inducing, &found, &err), &err);
    const gp_learner_options lo = {.d = D,
                                   .m = found,
                                   .components = 1,
                                   .kernel = &gp_kernel_ard_rbf,
                                   .map = &gp_map_cholesky,
                                   .length_scale = 0.7,
                                   .seed = seed,
                                   .inducing = gp_cmat_of(t.inducing, found, D)};
    must(gp_learner_new(&lo, &t.learner, &err), &err);
}

static void free_table(void)
{
    gp_learner_free(t.learner);
    gp_free(t.inducing);
    gp_shards_free(t.shards);
    gp_schema_free(t.schema);
    t.shards = NULL, t.schema = NULL, t.learner = NULL, t.inducing = NULL;
}

static gp_sim_problem the_table(void)
{
    return (gp_sim_problem){t.shards, t.schema, t.learner};
}

static gp_sim_result simulate(const gp_rule_ops *rule, const gp_sim_options *o)
{
    advgp_error err;
    gp_sim_result r;
    const gp_sim_problem p = the_table();
    gp_sim_options by_rule = *o;
    by_rule.schedule.rule = rule;
    must(gp_simulate(&p, &by_rule, &r, &err), &err);
    return r;
}

// A push takes 1 +- 0.5; the rule's own quorum.
static gp_sim_options ordinary(size_t max_delay, const double *slowness)
{
    return (gp_sim_options){.schedule.workers = W,
                            .gradients = true,
                            .schedule.batch = 64,
                            .schedule.max_delay = max_delay,
                            .schedule.quorum = gp_rule_natural.quorum,
                            .age_power = -1,
                            .slowness = slowness,
                            .spread = 0.5,
                            .costs = {.push = 1},
                            .seconds = 160,
                            .points = 40,
                            .schedule.seed = 4};
}

static void asynchrony_pays_and_does_not_ruin_the_fit(void **state)
{
    (void)state;
    double slow[W];
    for (size_t k = 0; k < W; k++) slow[k] = k == W - 1 ? 20 : 1;
    make_table(ROUGH, 6000, 40, 11);
    gp_sim_options o[4] = {ordinary(0, NULL), ordinary(200, NULL), ordinary(0, slow), ordinary(200, slow)};
    gp_sim_result r[4];
    for (size_t i = 0; i < 4; i++) r[i] = simulate(&gp_rule_natural, &o[i]);
    if (!(r[1].rmse < 1.04 * r[0].rmse))
        fail_msg("equal workers: asynchronous %g, synchronous %g", r[1].rmse, r[0].rmse);
    if (!(r[3].rmse < 1.07 * r[0].rmse))
        fail_msg("one slow worker: asynchronous %g, equal workers synchronous %g", r[3].rmse, r[0].rmse);
    if (!(r[2].rmse > 1.3 * r[0].rmse)) fail_msg("a slow worker costs nothing: %g, %g", r[2].rmse, r[0].rmse);
    const double quick = gp_sim_time_to(&r[3], r[2].rmse);
    if (!(quick <= r[2].seconds / 4)) fail_msg("what tau = 0 reaches in %g is reached in %g", r[2].seconds, quick);
    assert_int_equal(r[2].limit, GP_LIMIT_DELAY);
    assert_int_equal(r[1].limit, GP_LIMIT_WORKERS);
    for (size_t i = 0; i < 4; i++) gp_sim_result_fini(&r[i]);
    free_table();
}

// The paper's study: a third of the workers each sleeps 0, 10 and 20 times a push. A quorum of all waits for the
// slowest of them; one that follows the pace goes with the fast, and where all are equal it changes nothing.
static void a_quorum_that_follows_the_pace_does_not_wait_for_sleepers(void **state)
{
    (void)state;
    double sleep[W];
    for (size_t k = 0; k < W; k++) sleep[k] = 10 * (double)(k % 3);
    make_table(ROUGH, 2000, 20, 14);
    gp_sim_options o[4] = {ordinary(200, NULL), ordinary(200, NULL), ordinary(200, NULL), ordinary(200, NULL)};
    gp_sim_result r[4];
    for (size_t i = 0; i < 4; i++) {
        o[i].seconds = 80;
        o[i].sleep = i < 2 ? sleep : NULL;
        o[i].schedule.follow_pace = i % 2;
        r[i] = simulate(&gp_rule_natural, &o[i]);
    }
    const double gain = (double)r[1].versions / (double)r[0].versions;
    if (!(gain > 8)) fail_msg("%g times the versions of a quorum that waits", gain);
    const double equal = (double)r[3].versions / (double)r[2].versions;
    if (!(equal > 0.95 && equal < 1.2)) fail_msg("equal workers: %g times the versions", equal);
    for (size_t i = 0; i < 4; i++) gp_sim_result_fini(&r[i]);
    free_table();
}

static void the_same_options_give_the_same_bits(void **state)
{
    (void)state;
    make_table(ROUGH, 2000, 20, 12);
    gp_sim_options o = ordinary(8, NULL);
    o.seconds = 10, o.schedule.follow_pace = true;
    for (const gp_rule_ops *const *rule = gp_rules; *rule; rule++) {
        gp_sim_result a = simulate(*rule, &o), b = simulate(*rule, &o);
        assert_int_equal(a.versions, b.versions);
        assert_memory_equal(a.theta, b.theta, t.learner->layout.size * sizeof(double));
        assert_memory_equal(a.points, b.points, a.n_points * sizeof *a.points);
        gp_sim_result_fini(&a);
        gp_sim_result_fini(&b);
    }
    free_table();
}

// 500 rows against 10,000, tau = 20: the test error of one worker on all rows.
static void unequal_shards_do_not_hurt(void **state)
{
    (void)state;
    const size_t cut[] = {500, 10000}, all[] = {10500};
    make_table(SMOOTH, 13000, 30, 13);
    gp_sim_options o = {.schedule.workers = 2,
                        .gradients = true,
                        .cut = cut,
                        .schedule.batch = 250,
                        .schedule.max_delay = 20,
                        .schedule.quorum = gp_rule_natural.quorum,
                        .age_power = -1,
                        .schedule.steps = 300,
                        .versions = 300,
                        .spread = 0.5,
                        .costs = {.push = 1},
                        .schedule.seed = 5};
    gp_sim_options one = o;
    one.schedule.workers = 1, one.cut = all, one.schedule.batch = 500, one.schedule.max_delay = 0;
    gp_sim_result two = simulate(&gp_rule_natural, &o), single = simulate(&gp_rule_natural, &one);
    if (!(two.rmse < 1.01 * single.rmse)) fail_msg("500 and 10,000 rows: %g, all in one: %g", two.rmse, single.rmse);
    gp_sim_result_fini(&two);
    gp_sim_result_fini(&single);
    free_table();
}

// The same with threads and the whole of a training, as users have it.
static void unequal_shards_do_not_hurt_a_training(void **state)
{
    (void)state;
    const size_t cut[] = {500, 10000}, all[] = {10500};
    double rmse[2];
    for (size_t i = 0; i < 2; i++) {
        advgp_error err;
        gp_shards *shards;
        gp_model *model;
        gp_train_result r;
        make_table(SMOOTH, 13000, 30, 13);
        must(i ? gp_shards_cut(t.shards, 1, all, &shards, &err) : gp_shards_cut(t.shards, 2, cut, &shards, &err), &err);
        const gp_train_options o = {.m = 30,
                                    .components = 1,
                                    .kernel = &gp_kernel_ard_rbf,
                                    .map = &gp_map_cholesky,
                                    .schedule.batch = 500,
                                    .epochs = 16,
                                    .schedule.seed = 5,
                                    .schedule.workers = 2,
                                    .workers_asked = true,
                                    .schedule.max_delay = 20,
                                    .schedule.quorum = -1};
        const gp_train_request request = {.shards = shards, .schema = t.schema, .options = &o};
        must(gp_train(&request, &model, &r, &err), &err);
        t.schema = NULL; // the model's
        assert_int_equal(r.workers, i ? 1 : 2);
        rmse[i] = r.assessment.rmse;
        gp_model_free(model);
        gp_shards_free(shards);
        free_table();
    }
    if (!(rmse[0] < 1.01 * rmse[1])) fail_msg("500 and 10,000 rows: %g, all in one: %g", rmse[0], rmse[1]);
}

static void cut_shards_have_the_same_rows(void **state)
{
    (void)state;
    const size_t rows[] = {1, 0, 700, 99};
    advgp_error err;
    gp_shards *cut;
    gp_reader a, b;
    gp_batch x, y;
    make_table(ROUGH, 1000, 5, 14);
    must(gp_shards_cut(t.shards, 4, rows, &cut, &err), &err);
    must(gp_reader_new(t.shards, 800, &a, &err), &err);
    must(gp_reader_new(cut, 800, &b, &err), &err);
    must(gp_reader_ring(&a, (gp_ring){0}, 0, 800, &x, &err), &err);
    must(gp_reader_ring(&b, (gp_ring){0}, 0, 800, &y, &err), &err);
    assert_memory_equal(x.X.p, y.X.p, 800 * D * sizeof(double));
    assert_memory_equal(x.y, y.y, 800 * sizeof(double));
    assert_int_equal(gp_shards_rows(cut, GP_TRAIN), 800);
    assert_true(gp_shards_weight(cut, GP_TRAIN) == 800);
    assert_int_equal(gp_shards_rows(cut, GP_STOP), gp_shards_rows(t.shards, GP_STOP));
    const size_t held_out = gp_shards_of(t.shards, GP_STOP);
    must(gp_shards_read(t.shards, held_out, 0, 5, a.X, a.y, NULL, &err), &err);
    must(gp_shards_read(cut, gp_shards_of(cut, GP_STOP), 0, 5, b.X, b.y, NULL, &err), &err);
    assert_memory_equal(a.X, b.X, 5 * D * sizeof(double));
    gp_reader_fini(&a);
    gp_reader_fini(&b);
    gp_shards_free(cut);
    const size_t too_many[] = {600, 600};
    assert_int_equal(gp_shards_cut(t.shards, 2, too_many, &cut, &err), ADVGP_EINVAL);
    free_table();
}

static gp_sim_result costs_alone(gp_sim_costs costs, double bandwidth, size_t max_delay, const double *slowness)
{
    const gp_sim_options o = {.schedule.workers = W,
                              .rows = 16000,
                              .schedule.max_delay = max_delay,
                              .schedule.quorum = 0.75,
                              .age_power = -1,
                              .slowness = slowness,
                              .bandwidth = bandwidth,
                              .server_bandwidth = bandwidth,
                              .costs = costs,
                              .seconds = 50,
                              .schedule.seed = 6};
    return simulate(&gp_rule_natural, &o);
}

static void what_is_said_to_saturate_does(void **state)
{
    (void)state;
    double slow[W];
    for (size_t k = 0; k < W; k++) slow[k] = k == W - 1 ? 20 : 1;
    make_table(ROUGH, 1000, 20, 15);
    const gp_sim_costs usual = {.row = 1e-3}; // 1,000 rows a worker: a push takes a second
    gp_sim_costs busy = usual;
    busy.step = 5;
    gp_sim_result r = costs_alone(usual, 0, 0, NULL);
    assert_int_equal(r.limit, GP_LIMIT_WORKERS);
    assert_in_range(r.versions, 45, 50);
    assert_true(isnan(r.rmse) && !r.theta && r.waiting < 0.1);
    r = costs_alone(busy, 0, 0, NULL);
    assert_int_equal(r.limit, GP_LIMIT_SERVER);
    assert_true(r.server > 0.7);
    r = costs_alone(usual, r.push_bytes, 0, NULL); // a second a message
    assert_int_equal(r.limit, GP_LIMIT_NETWORK);
    r = costs_alone(usual, 0, 0, slow);
    assert_int_equal(r.limit, GP_LIMIT_DELAY);
    assert_true(r.waiting > 0.8);
    const double synchronous = r.progress;
    r = costs_alone(usual, 0, GP_DELAY_ANY, slow);
    assert_int_equal(r.limit, GP_LIMIT_WORKERS);
    assert_true(r.progress > 5 * synchronous);
    free_table();
}

static void costs_are_measured(void **state)
{
    (void)state;
    advgp_error err;
    make_table(ROUGH, 3000, 20, 16);
    for (const gp_rule_ops *const *rule = gp_rules; *rule; rule++) {
        gp_sim_costs c;
        must(gp_sim_measure(t.shards, &t.learner->spec, t.learner->theta, *rule, &c, &err), &err);
        assert_true(c.row > 0 && c.row < 1e-3 && c.push >= 0 && c.push < 1);
        assert_true(c.message > 0 && c.message < 1e-3 && c.byte >= 0 && c.byte < 1e-6);
        assert_true(c.step > 0 && c.step < 1 && c.sum > 0 && c.sum < 1e-2);
    }
    free_table();
}

static void what_cannot_be_simulated_is_refused(void **state)
{
    (void)state;
    advgp_error err;
    gp_sim_result r;
    make_table(ROUGH, 1000, 5, 17);
    const gp_sim_problem p = the_table();
    const gp_sim_options bad[] = {{.seconds = 1},
                                  {.schedule.workers = 2, .rows = 100},
                                  {.schedule.workers = 2, .rows = 1, .seconds = 1},
                                  {.schedule.workers = 2, .rows = 100, .seconds = 1, .rmse = 1},
                                  {.schedule.workers = 2, .gradients = true, .versions = 3, .points = 5}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(gp_simulate(&p, &bad[i], &r, &err), ADVGP_EINVAL);
    const gp_sim_options many = {.schedule.workers = 2000, .gradients = true, .seconds = 1};
    assert_int_equal(gp_simulate(&p, &many, &r, &err), ADVGP_EDATA);
    free_table();
}

static void without_memory_a_simulation_fails_cleanly_at_every_call(void **state)
{
    (void)state;
    make_table(ROUGH, 600, 5, 18);
    gp_sim_options o = ordinary(4, NULL);
    o.schedule.workers = 2, o.seconds = 3, o.points = 1;
    const gp_sim_problem p = the_table();
    const long live = gp_alloc_count().live;
    for (long n = 0;; n++) {
        advgp_error err = {0};
        gp_sim_result r;
        gp_alloc_fail_after(n);
        const advgp_status st = gp_simulate(&p, &o, &r, &err);
        gp_alloc_fail_after(-1);
        if (st == ADVGP_OK) {
            gp_sim_result_fini(&r);
            assert_int_equal(gp_alloc_count().live, live);
            break;
        }
        // Without memory for a message the network loses it, and nobody asks again here.
        assert_true(st == ADVGP_ENOMEM || st == ADVGP_ECLUSTER);
        assert_int_equal(gp_alloc_count().live, live);
    }
    free_table();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asynchrony_pays_and_does_not_ruin_the_fit),
        cmocka_unit_test(a_quorum_that_follows_the_pace_does_not_wait_for_sleepers),
        cmocka_unit_test(the_same_options_give_the_same_bits),
        cmocka_unit_test(unequal_shards_do_not_hurt),
        cmocka_unit_test(unequal_shards_do_not_hurt_a_training),
        cmocka_unit_test(cut_shards_have_the_same_rows),
        cmocka_unit_test(what_is_said_to_saturate_does),
        cmocka_unit_test(costs_are_measured),
        cmocka_unit_test(what_cannot_be_simulated_is_refused),
        cmocka_unit_test(without_memory_a_simulation_fails_cleanly_at_every_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
