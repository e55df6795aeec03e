// world_test.c: the simulated cluster: what its clocks say, that its course is one, and that it notices broken laws.
// Whole fits under faults are in tests/sim_seeds.c.
#include "fixture.h"
#include "sim/world.h"

enum { SIZE = 4, MAX_WORKERS = 1000 };

static double start[SIZE], weights[MAX_WORKERS];

// A stand-in for gradients: theta falls towards 1.
static advgp_status compute(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    (void)ctx;
    (void)err;
    const double n = (double)work->n_shards;
    push[0] = 1;
    for (size_t i = 0; i < SIZE; i++) push[1 + i] = n * (work->theta[i] - 1);
    *done = (gp_work_done){n, n, work->n_shards, 1 + SIZE};
    return ADVGP_OK;
}

static gp_world_options options_of(uint64_t seed, size_t n_workers)
{
    const gp_theta_layout layout = {.n_rest = SIZE, .U = SIZE, .size = SIZE};
    for (size_t i = 0; i < MAX_WORKERS; i++) weights[i] = 1;
    for (size_t i = 0; i < SIZE; i++) start[i] = 3;
    return (gp_world_options){
        .seed = seed,
        .n_workers = n_workers,
        .rule_options = {.layout = layout, .range = gp_range_all(layout), .gamma = 0.1 / (double)n_workers},
        .server = {.theta = start,
                   .n_shards = n_workers,
                   .shard_weight = weights,
                   .schedule = {.rule = &gp_rule_prox, .workers = n_workers},
                   .workers_max = n_workers},
        .computer = {.compute = compute},
        .costs = {.compute = 1},
        .versions = 20,
        .stall = 1000,
        .check_copies = n_workers < 100};
}

static gp_world_outcome run(const gp_world_options *o)
{
    advgp_error err = {0};
    gp_world_outcome out;
    CHECK_OK(gp_world_run(o, &out, &err), "a world");
    assert_int_equal(out.broken, GP_LAW_NONE);
    return out;
}

static void time_is_what_computing_and_messages_take(void **state)
{
    (void)state;
    gp_world_options o = options_of(1, 4);
    o.costs.link.latency = 0.25;
    gp_world_outcome out = run(&o);
    // hello, welcome, pull, parameters; then a version is one computation and two messages; then BYE
    CHECK_CLOSE(4 * 0.25 + 20 * 1.5, out.seconds, 1e-9, "20 versions");
    assert_true(out.version == 20 && out.end == GP_END_VERSIONS);
    for (size_t k = 0; k < 4; k++) {
        CHECK_CLOSE(20, out.workers[k].busy, 1e-9, "busy");
        CHECK_CLOSE(out.seconds - 20, out.workers[k].wait, 1e-9, "waiting");
        assert_int_equal(out.workers[k].pushes, 20);
    }
    CHECK(fabs(out.theta[0] - 1) < 0.5, "theta", "%g", out.theta[0]);
    gp_world_outcome_fini(&out);

    o.costs.push_bytes = 1000, o.costs.link.bandwidth = 1000; // a second for every push
    out = run(&o);
    CHECK(out.seconds > 20 * 2.5 && out.seconds < 20 * 2.5 + 20, "bandwidth", "%g s", out.seconds);
    gp_world_outcome_fini(&out);
}

static void sleepers_stop_everybody_at_tau_0_only(void **state)
{
    (void)state;
    const double sleep[] = {0, 0, 10, 20};
    double seconds[2];
    for (int i = 0; i < 2; i++) {
        gp_world_options o = options_of(2, 4);
        o.costs.sleep = sleep, o.costs.spread = 0.5;
        o.server.schedule.max_delay = i ? GP_DELAY_ANY : 0;
        o.rule_options.age_power = 1;
        o.versions = 60;
        gp_world_outcome out = run(&o);
        seconds[i] = out.seconds;
        if (!i) CHECK(out.workers[0].wait > 10 * out.workers[0].busy, "waiting", "%g s", out.workers[0].wait);
        gp_world_outcome_fini(&out);
    }
    CHECK(seconds[0] > 60 * 20 && seconds[1] < 100, "time", "%g s at tau = 0, %g without a bound", seconds[0],
          seconds[1]);
}

static void a_server_saturates(void **state)
{
    (void)state;
    gp_world_options o = options_of(3, 8);
    o.server.schedule.max_delay = GP_DELAY_ANY;
    o.costs.server_message = 0.5, o.costs.server_step = 1;
    o.versions = 100;
    gp_world_outcome out = run(&o);
    CHECK(out.server_busy > 0.95 * out.seconds, "busy", "%g of %g s", out.server_busy, out.seconds);
    CHECK(out.workers[0].wait > out.workers[0].busy, "waiting", "%g s", out.workers[0].wait);
    gp_world_outcome_fini(&out);
}

static void a_thousand_workers_are_no_trouble(void **state)
{
    (void)state;
    gp_world_options o = options_of(4, MAX_WORKERS);
    o.costs.spread = 0.5, o.costs.link.latency = 1e-3, o.costs.server_message = 1e-5;
    gp_world_outcome out = run(&o);
    assert_int_equal(out.version, 20);
    gp_world_outcome_fini(&out);
}

static void the_same_options_give_the_same_course(void **state)
{
    (void)state;
    uint64_t hash[3];
    for (int i = 0; i < 3; i++) {
        gp_world_options o = options_of(i < 2 ? 5 : 6, 4);
        const gp_fault faults[] = {{GP_FAULT_CRASH, 5, 3, 1, true}, {GP_FAULT_SERVER, 12, 2, 0, false}};
        o.faults = faults, o.n_faults = 2;
        o.costs.spread = 0.5;
        o.costs.link = (gp_link){.latency = 0.1, .jitter = 0.1, .loss = 0.1, .duplication = 0.1, .reorder = 0.1};
        o.resend = 1, o.heartbeat = 1, o.server.lost_after = 6, o.begin_after = 10, o.restart_refused = 1;
        o.checkpoint_chance = 0.1;
        gp_world_outcome out = run(&o);
        hash[i] = out.hash;
        assert_int_equal(out.restarts, 1);
        assert_int_equal(out.workers[1].crashed, 1);
        gp_world_outcome_fini(&out);
    }
    assert_true(hash[0] == hash[1] && hash[0] != hash[2]);
}

static bool until_seven(void *ctx, double time, uint64_t version, const double *theta)
{
    (void)theta;
    double *times = ctx;
    times[version] = time;
    return version < 7;
}

static void a_callback_sees_every_version_and_may_end_it(void **state)
{
    (void)state;
    double times[21] = {0};
    gp_world_options o = options_of(7, 2);
    o.at_version = until_seven, o.ctx = times;
    gp_world_outcome out = run(&o);
    assert_true(out.end == GP_END_CALLBACK && out.version == 7);
    for (int i = 1; i <= 7; i++) CHECK_CLOSE(i, times[i], 1e-9, "when");
    gp_world_outcome_fini(&out);
    o.at_version = NULL, o.seconds = 4.5;
    out = run(&o);
    assert_true(out.end == GP_END_TIME && out.version == 4);
    gp_world_outcome_fini(&out);
}

static void standing_still_is_noticed_and_named(void **state)
{
    (void)state;
    for (int what = 0; what < 2; what++) {
        advgp_error err = {0};
        gp_world_outcome out;
        gp_world_options o = options_of(77, 2);
        o.costs.link = (gp_link){.latency = 0.1, .loss = 0.3};
        if (what) o.heartbeat = 1; // alive, but nothing is said again
        o.stall = 50;
        const advgp_status st = gp_world_run(&o, &out, &err);
        assert_int_equal(out.broken, GP_LAW_PROGRESS);
        assert_non_null(strstr(err.text, "PROGRESS"));
        assert_non_null(strstr(err.text, "seed 77"));
        CHECK_FAILS(ADVGP_ECLUSTER, st, "stands still");
        gp_world_outcome_fini(&out);
    }
}

static void memory_that_is_missing_is_no_trouble(void **state)
{
    (void)state;
    const long live = gp_alloc_count().live;
    const gp_fault faults[] = {{GP_FAULT_CRASH, 5, 1, 1, false}, {GP_FAULT_SERVER, 8, 1, 0, false}};
    gp_world_options o = options_of(8, 2);
    o.resend = 1, o.begin_after = 5;
    o.faults = faults, o.n_faults = 2;
    // A message whose packet finds no memory is lost and said again, so only a refusal for good is an error.
    advgp_status st = ADVGP_ENOMEM;
    long calls = 0;
    for (; st != ADVGP_OK && calls < 1000; calls++) {
        advgp_error err = {0};
        gp_world_outcome out;
        gp_alloc_fail_after(calls);
        st = gp_world_run(&o, &out, &err);
        gp_alloc_fail_after(-1);
        CHECK(st == ADVGP_OK || err.text[0], "memory", "no text after %ld calls", calls);
        gp_world_outcome_fini(&out);
        assert_int_equal(gp_alloc_count().live, live);
    }
    CHECK(calls < 1000, "memory", "%ld calls", calls);
}

// ---- the watch itself -----------------------------------------------------------------------------------------------

static gp_law law_of(const gp_ps_event *events, size_t n)
{
    advgp_error err = {0};
    gp_watch *watch;
    static const double weight[] = {10, 10, 10, 10};
    const gp_server_options o = {.n_shards = 4, .shard_weight = weight, .workers_max = 2, .schedule.max_delay = 1};
    CHECK_OK(gp_watch_new(&o, SIZE, true, &watch, &err), "a watch");
    for (size_t i = 0; i < n; i++) gp_watch_event(watch, &events[i]);
    const gp_law law = gp_watch_law(watch);
    gp_watch_free(watch);
    return law;
}

static void every_law_is_broken_by_what_breaks_it(void **state)
{
    (void)state;
    const uint32_t shards[] = {0, 1, 2, 3};
    const double one = 1, huge = 1e300;
    const gp_message a = {.worker = 0,
                          .incarnation = 1,
                          .sequence = 4,
                          .n_shards = 2,
                          .shards = shards,
                          .shard_weight = 20,
                          .batch_weight = 5,
                          .n_values = 1,
                          .values = &one};
    gp_message b = a, absurd;
    b.worker = 1, b.shards = shards + 2;
    gp_message overlap = b, stale = b, heavy = b;
    overlap.shards = shards + 1, stale.incarnation = 0, heavy.shard_weight = 40;
    absurd = b, absurd.values = &huge;
    const gp_used_push both[] = {{0, 4, 0}, {1, 4, 0}};
    const gp_ps_event join_a = {.kind = GP_EVENT_JOINED, .worker = 0, .incarnation = 1};
    const gp_ps_event join_b = {.kind = GP_EVENT_JOINED, .worker = 1, .incarnation = 1};
    const gp_ps_event push_a = {.kind = GP_EVENT_PUSH, .push = &a}, push_b = {.kind = GP_EVENT_PUSH, .push = &b};
    const gp_ps_event step = {.kind = GP_EVENT_ADVANCE, .version = 1, .n_used = 2, .used = both};
    const gp_ps_event none2 = {.kind = GP_EVENT_ADVANCE, .version = 2},
                      none3 = {.kind = GP_EVENT_ADVANCE, .version = 3};
    gp_ps_event late = step, dropped = push_a;
    late.version = 4;
    dropped.dropped = "for a reason";
#define LAW_OF(...) law_of((gp_ps_event[]){__VA_ARGS__}, sizeof((gp_ps_event[]){__VA_ARGS__}) / sizeof(gp_ps_event))
    assert_int_equal(LAW_OF(join_a, join_b, push_a, push_b, dropped, step), GP_LAW_NONE);
    assert_int_equal(LAW_OF(join_a, push_a, push_a), GP_LAW_TWICE);
    assert_int_equal(LAW_OF(join_a, join_b, push_a, push_b, step,
                            {.kind = GP_EVENT_ADVANCE, .version = 2, .n_used = 2, .used = both}),
                     GP_LAW_TWICE);
    assert_int_equal(LAW_OF(join_a, join_b, {.kind = GP_EVENT_PUSH, .push = &stale}), GP_LAW_STALE);
    assert_int_equal(LAW_OF(join_a, join_b, push_a, {.kind = GP_EVENT_PUSH, .push = &overlap}, step), GP_LAW_ROWS);
    assert_int_equal(LAW_OF(join_a, join_b, push_a, {.kind = GP_EVENT_PUSH, .push = &heavy}), GP_LAW_WEIGHTS);
    assert_int_equal(LAW_OF(join_a, join_b, push_a, {.kind = GP_EVENT_PUSH, .push = &absurd}, step), GP_LAW_ABSURD);
    assert_int_equal(LAW_OF(none2), GP_LAW_VERSION);
    assert_int_equal(
        LAW_OF(join_a, join_b, push_a, push_b, {.kind = GP_EVENT_ADVANCE, .version = 1}, none2, none3, late),
        GP_LAW_DELAY);
    for (int i = 0; i < GP_N_LAWS; i++) assert_true(gp_law_name((gp_law)i)[0] && gp_law_text((gp_law)i)[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_what_computing_and_messages_take),
        cmocka_unit_test(sleepers_stop_everybody_at_tau_0_only),
        cmocka_unit_test(a_server_saturates),
        cmocka_unit_test(a_thousand_workers_are_no_trouble),
        cmocka_unit_test(the_same_options_give_the_same_course),
        cmocka_unit_test(a_callback_sees_every_version_and_may_end_it),
        cmocka_unit_test(standing_still_is_noticed_and_named),
        cmocka_unit_test(memory_that_is_missing_is_no_trouble),
        cmocka_unit_test(every_law_is_broken_by_what_breaks_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
