// run_test.c: worker threads at tau = 0 give the bits of a serial loop over the same shards, for every rule and number
// of workers; when a training ends is a function of versions.
#include "base/alloc.h"
#include "base/clock.h"
#include "fixture.h"
#include "recipe/rows_test.h"
#include "recipe/train.h"
#include "run/run.h"

enum { WORKERS = 4, VERSIONS = 25, STEPS = 40, BATCH = 60 };

static gp_run_options options_of(const gp_learner *l, const gp_rule_ops *rule, size_t workers)
{
    return (gp_run_options){.spec = &l->spec,
                            .theta = l->theta,
                            .shards = t.shards,
                            .schedule.rule = rule,
                            .schedule.natural_rate = 0.2,
                            .schedule.adam_rate = 0.1,
                            .schedule.workers = workers,
                            .schedule.batch = BATCH,
                            .schedule.mixed = true,
                            .schedule.quorum = rule->quorum,
                            .schedule.steps = STEPS,
                            .schedule.seed = 3};
}

// A team at work that may make so many versions.
static gp_run *start_team(const gp_run_options *o, uint64_t versions)
{
    advgp_error err;
    gp_run *run;
    must(gp_run_team_new(o, &run, &err), &err);
    must(gp_server_allow(run->server, versions, &err), &err);
    must(gp_run_start(run, &err), &err);
    return run;
}

static void by_threads(const gp_run_options *o, double *theta, size_t size)
{
    advgp_error err;
    gp_run *run = start_team(o, VERSIONS);
    while (gp_server_version(run->server) < VERSIONS) must(run->ops->turn(run, 0.2, &err), &err);
    assert_int_equal(gp_server_count(run->server).rolled_back, 0);
    memcpy(theta, gp_server_theta(run->server), size * sizeof *theta);
    gp_run_free(run);
}

static void not_told(void *ctx, uint32_t shard, uint32_t from, uint32_t to)
{
    (void)ctx, (void)shard, (void)from, (void)to;
}

// Algorithm 1 without server, threads or messages.
static void by_a_serial_loop(const gp_run_options *o, const gp_learner *l, double *theta)
{
    advgp_error err;
    const size_t size = l->layout.size, W = o->schedule.workers;
    const gp_range all = gp_range_all(l->layout);
    const size_t room = gp_row_computer_push_size(l->layout, o->schedule.rule, all),
                 n_values = o->schedule.rule->push_size(l->layout, all);
    const gp_rule_options ro = {.layout = l->layout,
                                .range = all,
                                .age_power = o->schedule.rule->age_power,
                                .natural_rate = o->schedule.natural_rate,
                                .adam_rate = o->schedule.adam_rate,
                                .unit = gp_run_unit(l->f, o->schedule.batch * o->schedule.workers),
                                .decay = 0.9,
                                .epsilon = 1e-4};
    const gp_row_computer_options co = {.shards = o->shards,
                                        .spec = o->spec,
                                        .schedule.rule = o->schedule.rule,
                                        .range = all,
                                        .schedule.batch = o->schedule.batch,
                                        .schedule.mixed = o->schedule.mixed};
    gp_rule *rule;
    gp_row_computer *computer;
    must(o->schedule.rule->make(&ro, &rule, &err), &err);
    must(gp_row_computer_new(&co, &computer, &err), &err);
    const gp_computer c = gp_row_computer_of(computer);
    const size_t n_shards = o->shards->n_train;
    uint32_t *shards = malloc(n_shards * sizeof *shards);
    const bool live[WORKERS] = {true, true, true, true};
    gp_shard_table deal;
    must(gp_shard_table_init(&deal, n_shards, o->shards->weight, &err), &err);
    gp_shard_table_deal(&deal, (gp_crew){live, W}, not_told, NULL);
    double *push = doubles(W * room), *sum = doubles(n_values);
    double total = 0;
    for (size_t i = 0; i < n_shards; i++) total += o->shards->weight[i];
    memcpy(theta, l->theta, size * sizeof *theta);
    for (uint64_t version = 0; version < VERSIONS; version++) {
        gp_work_done done[WORKERS];
        double rows = 0;
        for (size_t k = 0; k < W; k++) {
            const size_t n = gp_shard_table_list(&deal, (uint32_t)k, shards);
            const gp_work work = {.worker = (uint32_t)k,
                                  .sequence = version,
                                  .version = version,
                                  .theta = theta,
                                  .n_shards = n,
                                  .shards = shards};
            must(c.compute(c.ctx, &work, push + k * room, &done[k], &err), &err);
            rows += done[k].shard_weight;
        }
        memset(sum, 0, n_values * sizeof *sum);
        for (size_t k = 0; k < W; k++) {
            const double scale = done[k].shard_weight / done[k].batch_weight * (total / rows);
            for (size_t j = 0; j < n_values; j++) sum[j] += scale * push[k * room + j];
        }
        const gp_step_terms terms = {.n = total, .shrink = 1 - (double)version / STEPS};
        must(o->schedule.rule->step(rule, sum, &terms, theta, &err), &err);
    }
    gp_shard_table_fini(&deal);
    gp_row_computer_free(computer);
    gp_rule_free(rule);
    free(shards);
    free(push);
    free(sum);
}

static void threads_without_delay_give_the_bits_of_a_serial_loop(void **state)
{
    (void)state;
    make_table(1500, 21, "0.1");
    gp_learner *l = make_learner(12);
    const size_t size = l->layout.size;
    double *threads = doubles(size), *again = doubles(size), *serial = doubles(size);
    for (const gp_rule_ops *const *rule = gp_rules; *rule; rule++)
        for (size_t workers = 1; workers <= WORKERS; workers++) {
            char label[64];
            snprintf(label, sizeof label, "%s, %zu workers", (*rule)->name, workers);
            gp_run_options o = options_of(l, *rule, workers);
            by_threads(&o, threads, size);
            const double delays[WORKERS] = {0.001, 0, 0.002, 0.0005}; // another order of arrival
            o.delays = delays, o.n_delays = sizeof delays / sizeof *delays;
            by_threads(&o, again, size);
            by_a_serial_loop(&o, l, serial);
            CHECK_BITS(size, threads, again, label);
            CHECK_BITS(size, serial, threads, label);
            assert_memory_not_equal(serial, l->theta, size * sizeof *serial);
        }
    free(threads);
    free(again);
    free(serial);
    gp_learner_free(l);
    free_table();
}

static void a_collection_is_the_sum_over_all_rows_for_any_number_of_workers(void **state)
{
    (void)state;
    make_table(1500, 22, "0.1");
    gp_learner *l = make_learner(12);
    double *wanted = NULL;
    size_t n = 0;
    for (size_t workers = 1; workers <= WORKERS; workers++) {
        advgp_error err;
        const double *sum;
        const gp_run_options o = options_of(l, &gp_rule_prox, workers);
        gp_run *run = start_team(&o, 0);
        if (workers % 2) // in the middle of things, or before anybody came
            while (!gp_server_begun(run->server)) must(run->ops->turn(run, 0.2, &err), &err);
        must(gp_run_collect(run, l->theta, GP_FLAG_ALL_ROWS, 0, &sum, NULL, NULL, &err), &err);
        n = 1 + l->layout.size;
        if (!wanted) {
            wanted = doubles(n);
            memcpy(wanted, sum, n * sizeof *wanted);
        }
        CHECK_ARRAY(n, wanted, sum, 1e-10, "gradient of all rows");
        gp_run_free(run);
    }
    free(wanted);
    gp_learner_free(l);
    free_table();
}

static int always(void *ctx)
{
    (void)ctx;
    return 1;
}

// Whoever asks to stop does not wait for rows, nor does a worker that has no thread of its own do them first; the next
// collection has them all the same.
static void a_collection_is_given_up_when_someone_asks(void **state)
{
    (void)state;
    make_table(1500, 22, "0.1");
    gp_learner *l = make_learner(12);
    for (size_t workers = 1; workers <= WORKERS; workers++) {
        advgp_error err;
        const double *sum;
        const gp_run_options o = options_of(l, &gp_rule_prox, workers);
        gp_run *run = start_team(&o, 0);
        must(gp_run_collect(run, l->theta, GP_FLAG_ALL_ROWS, 0, &sum, NULL, NULL, &err), &err);
        const double value = sum[0];
        if (workers == 1) // more of them may be as fast as whoever asks
            assert_int_equal(gp_run_collect(run, l->theta, GP_FLAG_ALL_ROWS, 0, &sum, always, NULL, &err),
                             ADVGP_ESTOPPED);
        must(gp_run_collect(run, l->theta, GP_FLAG_ALL_ROWS, 0, &sum, NULL, NULL, &err), &err);
        CHECK_ARRAY(1, &value, sum, 1e-12, "value of all rows");
        gp_run_free(run);
    }
    gp_learner_free(l);
    free_table();
}

// A worker that sleeps makes the other and the server wait: that must cost nothing. CPU, not wall clock: the machine
// may be busy.
static void waiting_uses_no_cpu(void **state)
{
    (void)state;
    make_table(1500, 25, "0.1");
    gp_learner *l = make_learner(12);
    double *theta = doubles(l->layout.size), spent[2], wall = 0;
    for (size_t i = 0; i < 2; i++) {
        const double delays[WORKERS] = {0, 0.08, 0, 0};
        gp_run_options o = options_of(l, &gp_rule_natural, WORKERS);
        o.delays = delays, o.n_delays = i ? sizeof delays / sizeof *delays : 0;
        const double start = gp_clock_cpu(), began = gp_clock_wall();
        by_threads(&o, theta, l->layout.size);
        spent[i] = gp_clock_cpu() - start, wall = gp_clock_wall() - began;
    }
    assert_true(wall > 0.08 * VERSIONS);
    if (spent[1] > 1.5 * spent[0] + 0.05 * wall)
        fail_msg("%g s of CPU in %g s of waiting; without it %g", spent[1], wall, spent[0]);
    free(theta);
    gp_learner_free(l);
    free_table();
}

// ---- when a training ends -------------------------------------------------------------------------------------------

typedef struct diary {
    size_t n, every;
    size_t version[64];
    double mnlp[64];
} diary;

static void on_eval(void *ctx, const gp_train_eval *e)
{
    diary *d = ctx;
    if (d->n < 64) d->version[d->n] = e->version, d->mnlp[d->n++] = e->mnlp;
}

static void on_begin(void *ctx, const gp_train_plan *plan)
{
    ((diary *)ctx)->every = plan->eval_every;
}

static gp_train_options small(size_t workers)
{
    return (gp_train_options){.m = 20,
                              .components = 1,
                              .kernel = &gp_kernel_ard_rbf,
                              .map = &gp_map_cholesky,
                              .trend = GP_TREND_LINEAR,
                              .schedule.batch = 100,
                              .epochs = 30,
                              .schedule.seed = 3,
                              .schedule.workers = workers,
                              .schedule.quorum = -1};
}

static gp_train_result train_with(const gp_train_options *o, diary *d)
{
    advgp_error err;
    gp_model *model;
    gp_train_result r;
    const gp_host host = {.ctx = d, .eval = on_eval, .begin = on_begin};
    *d = (diary){0};
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = o, .host = &host};
    must(gp_train(&request, &model, &r, &err), &err);
    t.schema = NULL;
    gp_model_free(model);
    return r;
}

static void a_score_takes_effect_at_the_next_evaluation_version(void **state)
{
    (void)state;
    for (size_t tau = 0; tau <= 8; tau += 8) {
        make_table(4000, 23, "0.3");
        gp_train_options o = small(2);
        o.patience = 1, o.schedule.batch = 32, o.schedule.max_delay = tau; // noisy enough to lose a little soon
        diary d;
        const gp_train_result r = train_with(&o, &d);
        assert_int_equal(r.stopped, GP_STOPPED_NO_GAIN);
        double best = INFINITY;
        for (size_t i = 0; i < d.n; i++) {
            assert_int_equal(d.version[i], (i + 1) * d.every);
            if (i + 1 < d.n) assert_true(d.mnlp[i] < best); // the last one lost, and only it
            best = fmin(best, d.mnlp[i]);
        }
        assert_true(d.n > 1 && d.mnlp[d.n - 1] >= best);
        assert_int_equal(r.versions, d.version[d.n - 1] + d.every);
        free_table();
    }
}

static void time_ends_a_run_at_an_evaluation_version(void **state)
{
    (void)state;
    make_table(4000, 24, "0.1");
    gp_train_options o = small(2);
    o.seconds = 1e-6;
    diary d;
    const gp_train_result r = train_with(&o, &d);
    assert_int_equal(r.stopped, GP_STOPPED_TIME);
    assert_true(d.every > 1);
    assert_int_equal(r.versions, d.every);
    assert_int_equal(d.version[d.n - 1], r.versions); // the log has it as its last evaluation
    free_table();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_without_delay_give_the_bits_of_a_serial_loop),
        cmocka_unit_test(a_collection_is_the_sum_over_all_rows_for_any_number_of_workers),
        cmocka_unit_test(a_collection_is_given_up_when_someone_asks),
        cmocka_unit_test(waiting_uses_no_cpu),
        cmocka_unit_test(a_score_takes_effect_at_the_next_evaluation_version),
        cmocka_unit_test(time_ends_a_run_at_an_evaluation_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
