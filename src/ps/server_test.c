// server_test.c: the server as a machine, told one thing after the other. Its rule here is plain: theta falls by the
// mean of the pushed values, so that a version can be read off theta.
#include "fixture.h"
#include "ps/server.h"

enum { SIZE = 3, PUSH = 1 + SIZE, SHARDS = 6, MAX_WORKERS = 5, MAX_ANSWERS = 64 };

// ---- a rule ---------------------------------------------------------------------------------------------------------

typedef struct plain_rule {
    gp_rule base;
    int forgotten;
    bool fail, not_finite, ended; // what the next step does
    gp_step_terms terms;          // of the last one
    double sum[PUSH];
} plain_rule;

static size_t plain_push_size(gp_theta_layout l, gp_range range)
{
    (void)l;
    return 1 + range.count;
}

static advgp_status plain_step(gp_rule *rule, const double *sum, const gp_step_terms *terms, double *theta,
                               advgp_error *err)
{
    plain_rule *r = (plain_rule *)rule;
    r->terms = *terms;
    memcpy(r->sum, sum, sizeof r->sum);
    if (r->fail) return gp_fail(err, ADVGP_ENUMERIC, "told to fail");
    for (size_t i = 0; i < SIZE; i++) theta[i] -= terms->shrink * sum[1 + i] / terms->n;
    if (r->ended) return gp_fail(err, ADVGP_ESTOPPED, "told to end"); // with theta half changed
    if (r->not_finite) theta[1] = NAN;
    return ADVGP_OK;
}

static void plain_forget(gp_rule *rule)
{
    ((plain_rule *)rule)->forgotten++;
}

static const gp_rule_ops newest_rule = {
    .name = "newest", .push_size = plain_push_size, .step = plain_step, .forget = plain_forget};
static const gp_rule_ops fresh_rule = {
    .name = "fresh", .fresh_only = true, .push_size = plain_push_size, .step = plain_step, .forget = plain_forget};

// ---- a server and whoever talks to it -------------------------------------------------------------------------------

typedef struct answer {
    size_t peer;
    gp_message m; // values, mask and shards are in the arrays below
    double values[SIZE];
    uint64_t mask;
    uint32_t shards[SHARDS];
} answer;

typedef struct rig {
    plain_rule rule;
    gp_server *server;
    gp_server_options o;
    double now;
    answer answers[MAX_ANSWERS];
    size_t n_answers;
    uint32_t incarnation[MAX_WORKERS];
    uint64_t sequence[MAX_WORKERS];
    unsigned flags; // of the pushes
    // of the events
    size_t advances, n_used, moved;
    gp_used_push used[MAX_WORKERS];
    const char *dropped, *rolled_back;
    double age;
    bool held;
} rig;

static void on_event(void *ctx, const gp_ps_event *e)
{
    rig *r = ctx;
    if (e->kind == GP_EVENT_PUSH) r->dropped = e->dropped;
    if (e->kind == GP_EVENT_MOVED) r->moved++;
    if (e->kind != GP_EVENT_ADVANCE) return;
    r->advances++;
    r->n_used = e->n_used;
    memcpy(r->used, e->used, e->n_used * sizeof *e->used);
    r->rolled_back = e->rolled_back;
    r->age = e->age;
    r->held = e->held;
}

static const double start[SIZE] = {100, 200, 300};
static const double weights[SHARDS] = {10, 10, 10, 10, 10, 10};

static void rig_init(rig *r, const gp_rule_ops *ops, size_t workers, gp_server_options o)
{
    advgp_error err = {0};
    *r = (rig){.rule = {.base = {.ops = ops, .options = {.range = {0, SIZE}}}}};
    o.rule = &r->rule.base;
    o.theta = start;
    o.n_shards = SHARDS, o.shard_weight = weights;
    o.schedule.workers = workers;
    if (!o.workers_max) o.workers_max = workers;
    o.run[0] = 7, o.run[1] = 8, o.fingerprint = 9;
    o.event = on_event, o.event_ctx = r;
    r->o = o;
    CHECK_OK(gp_server_new(&o, &r->server, &err), "a server");
}

static void drain(rig *r)
{
    size_t peer;
    gp_message m;
    while (gp_server_next(r->server, r->now, &peer, &m)) {
        assert_true(r->n_answers < MAX_ANSWERS);
        answer *a = &r->answers[r->n_answers++];
        *a = (answer){.peer = peer, .m = m};
        if (m.n_values) memcpy(a->values, m.values, m.n_values * sizeof(double));
        if (m.n_masked) a->mask = m.mask[0];
        if (m.n_shards) memcpy(a->shards, m.shards, m.n_shards * sizeof *m.shards);
    }
}

static void tell(rig *r, size_t peer, const gp_message *m)
{
    advgp_error err = {0};
    r->n_answers = 0;
    CHECK_OK(gp_server_on_message(r->server, r->now, peer, m, &err), "a message");
    drain(r);
}

static const answer *answer_to(const rig *r, size_t peer)
{
    for (size_t i = 0; i < r->n_answers; i++)
        if (r->answers[i].peer == peer) return &r->answers[i];
    return NULL;
}

// -1: none.
static int kind_to(const rig *r, size_t peer)
{
    return answer_to(r, peer) ? (int)answer_to(r, peer)->m.kind : -1;
}

#define CHECK_ANSWER(r, peer, kind) assert_int_equal(kind_to(r, peer), kind)
#define CHECK_NO_ANSWER(r, peer)    assert_int_equal(kind_to(r, peer), -1)

static gp_message from(const rig *r, gp_message_kind kind, uint32_t k)
{
    return (gp_message){.kind = kind,
                        .run = {7, 8},
                        .generation = r->o.generation,
                        .worker = k,
                        .incarnation = r->incarnation[k],
                        .sequence = r->sequence[k]};
}

static gp_message hello_of(const rig *r, uint32_t wish, uint64_t token)
{
    (void)r;
    return (gp_message){.kind = GP_HELLO, .run = {7, 8}, .worker = wish, .token = token, .fingerprint = 9};
}

// Worker k is at peer k + 1.
static void join(rig *r, uint32_t k, uint64_t token)
{
    const gp_message hello = hello_of(r, k, token);
    tell(r, k + 1, &hello);
    CHECK_ANSWER(r, k + 1, GP_WELCOME);
    const gp_message *m = &answer_to(r, k + 1)->m;
    assert_int_equal(m->worker, k);
    assert_true(m->token == token);
    r->incarnation[k] = m->incarnation;
    r->sequence[k] = m->sequence;
}

static void pull(rig *r, uint32_t k)
{
    const gp_message m = from(r, GP_PULL, k);
    tell(r, k + 1, &m);
}

// A push of worker k from `version`, of the same value in all elements, for the shards it has.
static void push_as(rig *r, uint32_t k, uint64_t version, double value, uint64_t sequence)
{
    uint32_t shards[SHARDS];
    double values[PUSH];
    for (size_t i = 0; i < PUSH; i++) values[i] = value;
    gp_message m = from(r, GP_PUSH, k);
    m.sequence = sequence, m.version = version, m.flags = r->flags;
    m.n_values = PUSH, m.values = values;
    m.n_shards = gp_shard_table_list(gp_server_shards(r->server), k, shards), m.shards = shards;
    m.shard_weight = 10.0 * (double)m.n_shards, m.batch_weight = r->flags ? m.shard_weight : 5, m.rows = 5;
    r->dropped = NULL;
    tell(r, k + 1, &m);
}

static void push(rig *r, uint32_t k, uint64_t version, double value)
{
    push_as(r, k, version, value, r->sequence[k]++);
}

// The same for shards that are named.
static void push_of(rig *r, uint32_t k, uint64_t version, const uint32_t *shards, size_t n)
{
    const double values[PUSH] = {1, 1, 1, 1};
    gp_message m = from(r, GP_PUSH, k);
    m.sequence = r->sequence[k]++, m.version = version, m.flags = r->flags;
    m.n_values = PUSH, m.values = values, m.n_shards = n, m.shards = shards;
    m.shard_weight = m.batch_weight = 10.0 * (double)n, m.rows = m.n_shards;
    r->dropped = NULL;
    tell(r, k + 1, &m);
}

static void start_all(rig *r, size_t n)
{
    for (uint32_t k = 0; k < n; k++) join(r, k, 50 + k);
    for (uint32_t k = 0; k < n; k++) {
        pull(r, k);
        CHECK_ANSWER(r, k + 1, GP_PARAMETERS);
        assert_true(answer_to(r, k + 1)->m.flags & GP_FLAG_FULL);
        CHECK_BITS(SIZE, gp_server_theta(r->server), answer_to(r, k + 1)->values, "first parameters");
    }
}

static uint64_t version(const rig *r)
{
    return gp_server_version(r->server);
}

// ---- advancing ------------------------------------------------------------------------------------------------------

static void at_tau_0_everybody_must_have_pushed(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 3, (gp_server_options){.schedule.max_delay = 0});
    start_all(&r, 3);
    assert_int_equal(answer_to(&r, 3)->m.n_shards, 2);
    push(&r, 2, 0, 1), assert_int_equal(version(&r), 0);
    CHECK_NO_ANSWER(&r, 3);
    push(&r, 0, 0, 2), assert_int_equal(version(&r), 0);
    push(&r, 1, 0, 3), assert_int_equal(version(&r), 1);
    for (size_t peer = 1; peer <= 3; peer++) CHECK_ANSWER(&r, peer, GP_PARAMETERS);
    // (1 + 2 + 3) times 20 rows of 5 in the batch, over 60 rows
    assert_int_equal(r.n_used, 3);
    assert_true(r.used[0].worker == 0 && r.used[1].worker == 1 && r.used[2].worker == 2);
    CHECK_CLOSE(100 - 6 * 4.0 / 60, gp_server_theta(r.server)[0], 1e-14, "mean of the pushes");
    CHECK_CLOSE(6 * 4.0 / 60, gp_server_value(r.server), 1e-14, "value a row");
    gp_server_free(r.server);
}

static void at_tau_1_one_may_be_one_version_behind(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.schedule.max_delay = 1});
    start_all(&r, 2);
    push(&r, 0, 0, 1), assert_int_equal(version(&r), 0); // the other has not pushed at all
    push(&r, 1, 0, 1), assert_int_equal(version(&r), 1);
    push(&r, 0, 1, 1), assert_int_equal(version(&r), 2); // with 1's of version 0, which is 1 old
    assert_true(r.n_used == 2 && r.used[1].version == 0);
    CHECK_CLOSE(0.5, r.age, 1e-15, "mean age");
    push(&r, 0, 2, 1), assert_int_equal(version(&r), 2); // it would be 2 old
    push(&r, 1, 1, 1), assert_int_equal(version(&r), 3);
    gp_server_free(r.server);
}

static void without_a_bound_every_push_advances_once_all_have_pushed(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.schedule.max_delay = GP_DELAY_ANY});
    start_all(&r, 2);
    push(&r, 0, 0, 1);
    CHECK_NO_ANSWER(&r, 1); // no newer version yet
    push(&r, 1, 0, 1);
    for (uint64_t t = 1; t < 30; t++) {
        push(&r, 0, t, 1);
        assert_int_equal(version(&r), t + 1);
        CHECK_ANSWER(&r, 1, GP_PARAMETERS);
    }
    gp_server_free(r.server);
}

static void a_quorum_waits_for_enough_that_are_new(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &fresh_rule, 3, (gp_server_options){.schedule.max_delay = GP_DELAY_ANY, .schedule.quorum = 0.5});
    start_all(&r, 3);
    push(&r, 0, 0, 1), push(&r, 1, 0, 1), push(&r, 2, 0, 1);
    assert_int_equal(version(&r), 1); // the third was needed: everybody pushes once
    push(&r, 0, 1, 1), assert_int_equal(version(&r), 1);
    push(&r, 2, 1, 4), assert_int_equal(version(&r), 2); // two of three
    assert_true(r.n_used == 2 && r.used[0].worker == 0 && r.used[1].worker == 2);
    CHECK_CLOSE((1 + 4) * 4.0 * 60 / 40, r.rule.sum[1], 1e-14, "fresh pushes stretch to all rows");
    gp_server_free(r.server);
}

static void a_late_push_weighs_less_and_is_no_part_of_a_quorum(void **state)
{
    (void)state;
    rig r;
    gp_rule_ops rule = fresh_rule;
    rule.age_weight = 2;
    rig_init(&r, &rule, 3, (gp_server_options){.schedule.max_delay = GP_DELAY_ANY, .schedule.quorum = 0.5});
    start_all(&r, 3);
    push(&r, 0, 0, 1), push(&r, 1, 0, 1), push(&r, 2, 0, 1), push(&r, 0, 1, 1), push(&r, 1, 1, 1);
    assert_int_equal(version(&r), 2);
    push(&r, 0, 2, 1), push(&r, 2, 1, 9);
    assert_int_equal(version(&r), 2); // two are new, one of them is of this version
    push(&r, 1, 2, 1), assert_int_equal(version(&r), 3);
    assert_int_equal(r.n_used, 3); // the late one takes part, at a quarter
    CHECK_CLOSE((1 + 1 + 9 / 4.0) * 4 * 60 / (20 + 20 + 20 / 4.0), r.rule.sum[1], 1e-14, "weighed by age");
    CHECK_CLOSE((1 / 4.0) / (2 + 1 / 4.0), r.age, 1e-14, "mean age");
    gp_server_free(r.server);
}

// As if the last push had not come: a checkpoint taken now is that of a run that was never disturbed.
static void a_step_that_is_ended_was_not_begun_and_can_be_made_again(void **state)
{
    (void)state;
    rig r, undisturbed;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.jump = 1, .jump_patience = 3});
    rig_init(&undisturbed, &newest_rule, 2, (gp_server_options){.jump = 1, .jump_patience = 3});
    gp_server_allow(r.server, 100, NULL), gp_server_allow(undisturbed.server, 100, NULL);
    start_all(&r, 2), start_all(&undisturbed, 2);
    push(&r, 0, 0, 1), push(&undisturbed, 0, 0, 1);
    const gp_server_image before = gp_server_look(r.server);
    r.rule.ended = true;
    push(&r, 1, 0, 2), push(&undisturbed, 1, 0, 2);
    assert_int_equal(version(&r), 0);
    assert_int_equal(r.advances, 0);
    assert_int_equal(r.n_answers, 0);
    assert_int_equal(r.rule.forgotten, 0);
    CHECK_BITS(SIZE, start, gp_server_theta(r.server), "parameters");
    const gp_server_image after = gp_server_look(r.server);
    assert_true(after.version == before.version && after.mean_value == before.mean_value &&
                after.deviation == before.deviation && after.has_value == before.has_value &&
                after.candidate_version == before.candidate_version && after.damping == before.damping);
    r.rule.ended = false;
    advgp_error err = {0};
    CHECK_OK(gp_server_allow(r.server, 100, &err), "once more");
    assert_int_equal(version(&r), 1);
    assert_true(r.held);
    CHECK_BITS(SIZE, gp_server_theta(undisturbed.server), gp_server_theta(r.server), "the step");
    gp_server_free(r.server), gp_server_free(undisturbed.server);
}

static void steps_shrink_by_the_schedule(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 1, (gp_server_options){.schedule.steps = 4});
    start_all(&r, 1);
    for (uint64_t t = 0; t < 6; t++) {
        push(&r, 0, t, 1);
        CHECK_CLOSE(t < 4 ? 1 - (double)t / 4 : 0.01, r.rule.terms.shrink, 1e-15, "shrink");
        CHECK_CLOSE(60, r.rule.terms.n, 1e-15, "all rows");
    }
    gp_server_free(r.server);
}

static void what_is_too_old_is_dropped_and_the_worker_goes_on(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.schedule.max_delay = 1});
    start_all(&r, 2);
    push(&r, 0, 0, 1), push(&r, 1, 0, 1), push(&r, 0, 1, 1), push(&r, 1, 1, 1); // version 3
    assert_int_equal(version(&r), 3);
    push(&r, 0, 0, 1); // below 3 - 1 - 1
    assert_non_null(r.dropped);
    assert_int_equal(gp_server_count(r.server).dropped, 1);
    CHECK_ANSWER(&r, 1, GP_PARAMETERS);
    push(&r, 0, 1, 1); // too old to be used, but taken
    assert_null(r.dropped);
    assert_int_equal(version(&r), 3);
    CHECK_ANSWER(&r, 1, GP_PARAMETERS);
    gp_server_free(r.server);
}

static void no_version_is_made_that_is_not_allowed(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r;
    rig_init(&r, &newest_rule, 1, (gp_server_options){0});
    CHECK_OK(gp_server_allow(r.server, 1, &err), "allow");
    start_all(&r, 1);
    push(&r, 0, 0, 1), assert_int_equal(version(&r), 1);
    push(&r, 0, 1, 1), assert_int_equal(version(&r), 1);
    CHECK_NO_ANSWER(&r, 1);
    CHECK_OK(gp_server_allow(r.server, 2, &err), "allow");
    assert_int_equal(version(&r), 2);
    gp_message failed = from(&r, GP_PUSH, 0);
    const uint32_t shards[] = {0, 1, 2, 3, 4, 5};
    failed.sequence = r.sequence[0]++, failed.version = 2, failed.flags = GP_FLAG_FAILED;
    failed.n_shards = SHARDS, failed.shards = shards;
    tell(&r, 1, &failed);
    assert_int_equal(version(&r), 2);
    CHECK_OK(gp_server_allow(r.server, 3, &err), "allow");
    assert_int_equal(version(&r), 3);
    assert_non_null(r.rolled_back);
    gp_server_free(r.server);
}

// A version that was put off, and whose pushes are not there any more when it is allowed, is made like any other.
static void what_was_put_off_and_came_to_nothing_is_forgotten(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){0});
    CHECK_OK(gp_server_allow(r.server, 1, &err), "allow");
    start_all(&r, 2);
    push(&r, 0, 0, 1), push(&r, 1, 0, 1);
    push(&r, 0, 1, 1), push(&r, 1, 1, 1);
    assert_int_equal(version(&r), 1);
    join(&r, 1, 77); // another in its place
    CHECK_OK(gp_server_allow(r.server, 2, &err), "allow");
    assert_int_equal(version(&r), 1);
    pull(&r, 1), push(&r, 1, 1, 1);
    assert_int_equal(version(&r), 2);
    assert_false(r.held);
    gp_server_free(r.server);
}

// ---- repetitions ----------------------------------------------------------------------------------------------------

static void a_repeated_push_counts_once_and_is_answered_in_full(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &fresh_rule, 2, (gp_server_options){.schedule.filter = 1e9});
    start_all(&r, 2);
    push(&r, 0, 0, 1);
    push_as(&r, 0, 0, 5, 0); // again, while it waits
    CHECK_NO_ANSWER(&r, 1);
    push(&r, 1, 0, 1);
    assert_int_equal(version(&r), 1);
    CHECK_CLOSE(12, r.rule.sum[1], 1e-14, "each once: 30 rows by 5");
    CHECK_ANSWER(&r, 1, GP_PARAMETERS);
    assert_false(answer_to(&r, 1)->m.flags & GP_FLAG_FULL);
    push_as(&r, 0, 0, 5, 0); // the answer was lost
    CHECK_ANSWER(&r, 1, GP_PARAMETERS);
    assert_true(answer_to(&r, 1)->m.flags & GP_FLAG_FULL);
    assert_int_equal(answer_to(&r, 1)->m.sequence, 1);
    assert_int_equal(gp_server_count(r.server).duplicates, 2);
    assert_int_equal(version(&r), 1);
    push(&r, 0, 1, 1), push(&r, 1, 1, 1);
    assert_true(answer_to(&r, 1)->m.flags & GP_FLAG_FULL);  // nobody knows which of the two it took
    assert_false(answer_to(&r, 2)->m.flags & GP_FLAG_FULL); // the other has had no trouble
    push(&r, 0, 2, 1), push(&r, 1, 2, 1);
    assert_false(answer_to(&r, 1)->m.flags & GP_FLAG_FULL);
    push_as(&r, 0, 0, 1, 0); // from long ago
    CHECK_NO_ANSWER(&r, 1);
    pull(&r, 0); // what it asks for was given already
    assert_true(answer_to(&r, 1)->m.flags & GP_FLAG_FULL);
    gp_server_free(r.server);
}

static void a_filter_sends_what_moved_and_keeps_copies_close(void **state)
{
    (void)state;
    const double C = 0.5;
    rig r;
    rig_init(&r, &newest_rule, 1, (gp_server_options){.schedule.filter = C});
    start_all(&r, 1);
    gp_rng rng = gp_rng_seeded(3, 3);
    double copy[SIZE];
    size_t sent = 0, kept = 0;
    memcpy(copy, start, sizeof copy);
    for (uint64_t t = 0; t < 60; t++) {
        double values[PUSH];
        const uint32_t shards[] = {0, 1, 2, 3, 4, 5};
        for (size_t i = 0; i < PUSH; i++) values[i] = 0.02 * (double)i * gp_rng_normal(&rng);
        gp_message m = from(&r, GP_PUSH, 0);
        m.sequence = r.sequence[0]++, m.version = t;
        m.n_values = PUSH, m.values = values, m.n_shards = SHARDS, m.shards = shards;
        m.shard_weight = 60, m.batch_weight = 60;
        tell(&r, 1, &m);
        CHECK_ANSWER(&r, 1, GP_PARAMETERS);
        const answer *a = answer_to(&r, 1);
        assert_int_equal(a->m.n_masked, SIZE);
        size_t next = 0;
        for (size_t i = 0; i < SIZE; i++) {
            if (a->mask >> i & 1) copy[i] = a->values[next++];
            CHECK(fabs(copy[i] - gp_server_theta(r.server)[i]) <= C / (double)version(&r), "copy", "element %zu at %d",
                  i, (int)version(&r));
        }
        assert_int_equal(next, a->m.n_values);
        sent += next, kept += SIZE - next;
    }
    CHECK(sent > 0 && kept > 0, "filter", "%zu sent, %zu kept", sent, kept);
    gp_server_free(r.server);
}

// ---- coming and going -----------------------------------------------------------------------------------------------

static void a_lost_worker_leaves_its_shards_to_the_others(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r;
    rig_init(&r, &newest_rule, 3, (gp_server_options){.lost_after = 10});
    start_all(&r, 3);
    push(&r, 0, 0, 1), push(&r, 1, 0, 1);
    r.now = 5;
    const gp_message alive0 = from(&r, GP_HEARTBEAT, 0), alive1 = from(&r, GP_HEARTBEAT, 1);
    tell(&r, 1, &alive0), tell(&r, 2, &alive1);
    r.now = 11, r.n_answers = 0;
    CHECK_OK(gp_server_on_tick(r.server, r.now, &err), "tick");
    drain(&r);
    assert_int_equal(gp_server_live(r.server), 2);
    assert_int_equal(version(&r), 1); // the two others had pushed
    assert_int_equal(r.n_used, 2);
    CHECK_ANSWER(&r, 1, GP_PARAMETERS);
    assert_int_equal(answer_to(&r, 1)->m.n_shards, 3);
    push(&r, 2, 0, 1); // it is still there
    CHECK_ANSWER(&r, 3, GP_REFUSE);
    assert_int_equal(answer_to(&r, 3)->m.reason, GP_REFUSED_UNKNOWN);
    const size_t before = r.moved;
    const gp_message stale = hello_of(&r, 2, 52); // its first hello, under way for long
    tell(&r, 3, &stale);
    CHECK_ANSWER(&r, 3, GP_REFUSE);
    assert_int_equal(gp_server_live(r.server), 2);
    join(&r, 2, 99);
    assert_int_equal(r.moved - before, 2); // and takes two of six back
    pull(&r, 2);
    CHECK_ANSWER(&r, 3, GP_PARAMETERS);
    assert_int_equal(answer_to(&r, 3)->m.n_shards, 2);
    push(&r, 0, 1, 1); // three shards, one of which is 2's now: computed from the old list
    assert_int_equal(gp_server_count(r.server).lost, 1);
    gp_server_free(r.server);
}

static void a_push_with_a_shard_that_moved_is_not_used(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 1, (gp_server_options){.workers_max = 2});
    start_all(&r, 1); // has all six
    const uint32_t all[] = {0, 1, 2, 3, 4, 5};
    const double values[PUSH] = {1, 1, 1, 1};
    gp_message m = from(&r, GP_PUSH, 0);
    m.n_values = PUSH, m.values = values, m.n_shards = SHARDS, m.shards = all, m.shard_weight = 60, m.batch_weight = 60;
    r.sequence[0]++;
    join(&r, 1, 60); // takes three
    tell(&r, 1, &m);
    assert_non_null(r.dropped);
    assert_int_equal(version(&r), 0);
    CHECK_ANSWER(&r, 1, GP_PARAMETERS); // at once, with the shards it has now
    assert_int_equal(answer_to(&r, 1)->m.n_shards, 3);
    pull(&r, 1);
    push(&r, 0, 0, 1), push(&r, 1, 0, 1);
    assert_int_equal(version(&r), 1);
    gp_server_free(r.server);
}

// All are computing when one is lost: its rows go to another, whose push under way does not have them.
static void a_sum_over_all_rows_lacks_none_that_moved(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r;
    rig_init(&r, &newest_rule, 3, (gp_server_options){0});
    start_all(&r, 3);
    gp_server_collect(r.server, start, GP_FLAG_ALL_ROWS, 0);
    const uint64_t v = version(&r);
    for (uint32_t k = 0; k < 3; k++) push_of(&r, k, 0, (const uint32_t[]){2 * k, 2 * k + 1}, 2); // of a step, too late
    r.flags = GP_FLAG_ALL_ROWS;
    assert_null(gp_server_collected(r.server));
    CHECK_OK(gp_server_on_lost(r.server, 0, &err), "lost");
    for (uint32_t k = 1; k < 3; k++) {
        assert_int_equal(gp_shard_table_count(gp_server_shards(r.server), k), 3);
        push_of(&r, k, v, (const uint32_t[]){2 * k, 2 * k + 1}, 2);
        assert_non_null(r.dropped);
        CHECK_ANSWER(&r, k + 1, GP_PARAMETERS);
        assert_int_equal(answer_to(&r, k + 1)->m.n_shards, 3);
    }
    assert_null(gp_server_collected(r.server));
    push(&r, 1, v, 1);
    assert_null(gp_server_collected(r.server));
    push(&r, 2, v, 1);
    assert_non_null(gp_server_collected(r.server));
    CHECK_CLOSE(2, gp_server_collected(r.server)[0], 1e-15, "all rows, of two workers");
    gp_server_free(r.server);
}

static void who_yields_displaces_nobody(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 1, (gp_server_options){.workers_max = 2});
    join(&r, 0, 50);
    for (uint32_t i = 0; i < 2; i++) {
        gp_message hello = hello_of(&r, 0, 90 + i);
        hello.flags = GP_FLAG_YIELDS;
        tell(&r, 8 + i, &hello);
        CHECK_ANSWER(&r, 8 + i, i ? GP_REFUSE : GP_WELCOME);
        if (i)
            assert_int_equal(answer_to(&r, 9)->m.reason, GP_REFUSED_FULL);
        else
            assert_int_equal(answer_to(&r, 8)->m.worker, 1);
    }
    gp_server_free(r.server);
}

static void a_newcomer_takes_the_place_it_wishes_for(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){0});
    start_all(&r, 2);
    push(&r, 0, 0, 1);
    const uint32_t former = r.incarnation[0];
    join(&r, 0, 77); // started in its stead
    assert_true(r.incarnation[0] > former);
    assert_int_equal(r.sequence[0], 1);
    push(&r, 1, 0, 1);
    assert_int_equal(version(&r), 0); // the former one's push is void
    gp_message late = from(&r, GP_PULL, 0);
    late.incarnation = former;
    tell(&r, 1, &late);
    CHECK_ANSWER(&r, 1, GP_REFUSE);
    assert_int_equal(answer_to(&r, 1)->m.reason, GP_REFUSED_REPLACED);
    const gp_message ghost = hello_of(&r, 0, 50); // the former one's hello, once more
    tell(&r, 1, &ghost);
    CHECK_ANSWER(&r, 1, GP_REFUSE);
    pull(&r, 0);
    CHECK_ANSWER(&r, 1, GP_PARAMETERS);
    push(&r, 0, 0, 1);
    assert_int_equal(version(&r), 1);
    const gp_message any = hello_of(&r, GP_ANY_WORKER, 80);
    tell(&r, 5, &any);
    CHECK_ANSWER(&r, 5, GP_REFUSE);
    assert_int_equal(answer_to(&r, 5)->m.reason, GP_REFUSED_FULL);
    gp_server_free(r.server);
}

static void who_comes_back_takes_what_is_free_first(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 1, (gp_server_options){.workers_max = 2});
    join(&r, 0, 50);
    gp_message back = hello_of(&r, 0, 90);
    back.incarnation = 4; // of an earlier generation, when place 0 was its own
    tell(&r, 9, &back);
    CHECK_ANSWER(&r, 9, GP_WELCOME);
    assert_int_equal(answer_to(&r, 9)->m.worker, 1);
    gp_message third = hello_of(&r, 1, 91);
    third.incarnation = 4;
    tell(&r, 8, &third); // nothing is free, and whoever has its place lives
    CHECK_ANSWER(&r, 8, GP_REFUSE);
    assert_int_equal(answer_to(&r, 8)->m.reason, GP_REFUSED_FULL);
    gp_server_free(r.server);
}

// ---- who may speak for a worker -------------------------------------------------------------------------------------

static void a_hello_evicts_nobody_who_lives(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.lost_after = 30});
    start_all(&r, 2);
    for (int back = 0; back < 2; back++) { // a newcomer, and one that says that it comes back
        r.now = 0;
        gp_message sign = from(&r, GP_HEARTBEAT, 0);
        tell(&r, 1, &sign);
        gp_message hello = hello_of(&r, 0, 90 + (uint64_t)back);
        hello.incarnation = back ? 4 : 0;
        tell(&r, 9, &hello);
        CHECK_ANSWER(&r, 9, GP_REFUSE);
        assert_int_equal(answer_to(&r, 9)->m.reason, back ? GP_REFUSED_FULL : GP_REFUSED_TAKEN);
        assert_int_equal(gp_server_member(r.server, 0).peer, 1);
        r.now = 14;
        tell(&r, 9, &hello);
        CHECK_ANSWER(&r, 9, GP_REFUSE);
    }
    for (int heard = 1; heard >= 0; heard--) { // its connection has ended; or had, and was mended
        const gp_message hello = hello_of(&r, 1, 70);
        gp_server_on_hung_up(r.server, 1);
        gp_message sign = from(&r, GP_HEARTBEAT, 1);
        sign.token = 51;
        if (heard) tell(&r, 2, &sign);
        tell(&r, 9, &hello);
        CHECK_ANSWER(&r, 9, heard ? GP_REFUSE : GP_WELCOME);
    }
    gp_message bye = from(&r, GP_BYE, 1);
    bye.token = 70, bye.incarnation = 2;
    tell(&r, 9, &bye);
    r.now = 16; // half of the time after which it would be lost: started in its stead
    const gp_message hello = hello_of(&r, 0, 90);
    tell(&r, 9, &hello);
    CHECK_ANSWER(&r, 9, GP_WELCOME);
    gp_message late = from(&r, GP_PULL, 0);
    tell(&r, 1, &late);
    CHECK_ANSWER(&r, 1, GP_REFUSE);
    assert_int_equal(answer_to(&r, 1)->m.reason, GP_REFUSED_REPLACED);
    gp_server_free(r.server);
}

static void nobody_speaks_in_another_s_name(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.lost_after = 30});
    start_all(&r, 2);
    static const gp_message_kind kinds[] = {GP_BYE, GP_HEARTBEAT, GP_PULL, GP_PUSH};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        r.now = 1 + (double)i;
        gp_message m = from(&r, kinds[i], 0); // all of it can be guessed, or is told to every worker
        tell(&r, 2, &m);
        assert_true(gp_server_member(r.server, 0).live);
        assert_true(gp_server_member(r.server, 0).heard == 0 && gp_server_member(r.server, 0).peer == 1);
        if (kinds[i] != GP_BYE) CHECK_ANSWER(&r, 2, GP_REFUSE);
        CHECK_NO_ANSWER(&r, 1);
    }
    gp_message mended = from(&r, GP_HEARTBEAT, 0); // by another connection, with the number of its hello
    mended.token = 50;
    tell(&r, 7, &mended);
    assert_int_equal(gp_server_member(r.server, 0).peer, 7);
    mended.kind = GP_BYE;
    tell(&r, 8, &mended);
    assert_false(gp_server_member(r.server, 0).live);
    gp_server_free(r.server);
}

static void one_connection_has_one_place(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 1, (gp_server_options){.workers_max = 4, .lost_after = 30});
    for (uint64_t i = 0; i < 50; i++) {
        const gp_message hello = hello_of(&r, GP_ANY_WORKER, 90 + i);
        r.now += 100;
        tell(&r, 9, &hello);
        CHECK_ANSWER(&r, 9, GP_WELCOME);
        assert_int_equal(gp_server_live(r.server), 1);
    }
    gp_server_free(r.server);
}

static void who_comes_and_goes_in_vain_is_slowed_down(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.workers_max = 4, .lost_after = 30});
    start_all(&r, 2);
    push(&r, 0, 0, 1), push(&r, 1, 0, 1);
    size_t welcome = 0;
    for (uint64_t i = 0; i < 6000; i++) { // for a minute, a hundred times a second, always by another connection
        r.now = (double)i / 100;
        gp_message sign = from(&r, GP_HEARTBEAT, 0);
        tell(&r, 1, &sign);
        sign = from(&r, GP_HEARTBEAT, 1);
        tell(&r, 2, &sign);
        const gp_message hello = hello_of(&r, GP_ANY_WORKER, 1000 + i);
        tell(&r, 100 + i, &hello);
        if (kind_to(&r, 100 + i) != GP_WELCOME) continue;
        welcome++;
        gp_message bye = from(&r, GP_BYE, answer_to(&r, 100 + i)->m.worker);
        bye.incarnation = answer_to(&r, 100 + i)->m.incarnation;
        tell(&r, 100 + i, &bye);
        assert_int_equal(gp_server_live(r.server), 2);
    }
    CHECK(welcome >= 2 && welcome < 20, "in vain", "%zu times in a minute", welcome);
    gp_message bye = from(&r, GP_BYE, 0); // who was of use comes back at once
    tell(&r, 1, &bye);
    join(&r, 0, 60);
    gp_server_free(r.server);
}

static void a_hello_is_answered_as_often_as_it_is_said(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){0});
    join(&r, 0, 50);
    const uint32_t incarnation = r.incarnation[0];
    join(&r, 0, 50);
    assert_int_equal(r.incarnation[0], incarnation);
    assert_int_equal(gp_server_live(r.server), 1);
    gp_server_free(r.server);
}

static void strangers_are_told_why(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 1, (gp_server_options){0});
    gp_message m = hello_of(&r, 0, 5);
    m.run[0] = 1;
    tell(&r, 1, &m);
    assert_int_equal(answer_to(&r, 1)->m.reason, GP_REFUSED_OTHER_RUN);
    m.run[0] = m.run[1] = 0, m.fingerprint = 3;
    tell(&r, 1, &m);
    assert_int_equal(answer_to(&r, 1)->m.reason, GP_REFUSED_OTHER_DATA);
    m.fingerprint = 9;
    tell(&r, 1, &m); // of any run
    CHECK_ANSWER(&r, 1, GP_WELCOME);
    assert_true(answer_to(&r, 1)->m.run[0] == 7);
    r.incarnation[0] = 1;
    for (gp_message_kind kind = GP_WELCOME; kind < GP_BYE; kind++) {
        gp_message stranger = from(&r, kind, 3); // no such place
        tell(&r, 4, &stranger);
        CHECK_ANSWER(&r, 4, GP_REFUSE);
        stranger = from(&r, kind, 0);
        stranger.generation = 1;
        tell(&r, 4, &stranger);
        assert_int_equal(answer_to(&r, 4)->m.reason, GP_REFUSED_UNKNOWN);
        assert_int_equal(answer_to(&r, 4)->m.generation, 1); // the generation of what was said
    }
    gp_server_free(r.server);
}

static void what_happens_to_the_rows_of_the_lost_is_an_option(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.schedule.on_loss = GP_LOSS_STOP});
    start_all(&r, 2);
    CHECK_FAILS(ADVGP_ECLUSTER, gp_server_on_lost(r.server, 1, &err), "stop");
    gp_server_free(r.server);

    rig_init(&r, &newest_rule, 2, (gp_server_options){.schedule.on_loss = GP_LOSS_DROP});
    start_all(&r, 2);
    push(&r, 0, 0, 1);
    CHECK_OK(gp_server_on_lost(r.server, 1, &err), "drop");
    assert_int_equal(version(&r), 1);
    CHECK_CLOSE(30, r.rule.terms.n, 1e-15, "half the rows are left");
    for (size_t i = 3; i < SHARDS; i++) assert_int_equal(gp_server_shards(r.server)->owner[i], GP_NOBODY);
    CHECK_FAILS(ADVGP_ECLUSTER, gp_server_on_lost(r.server, 0, &err), "nothing is left");
    gp_server_free(r.server);

    rig_init(&r, &newest_rule, 2, (gp_server_options){.schedule.on_loss = GP_LOSS_REASSIGN});
    start_all(&r, 2);
    const gp_message bye = from(&r, GP_BYE, 1); // it leaves by itself
    tell(&r, 2, &bye);
    CHECK_OK(gp_server_on_lost(r.server, 0, &err), "all are gone");
    assert_int_equal(gp_server_live(r.server), 0);
    join(&r, 1, 70); // and one comes back, to all rows
    pull(&r, 1);
    assert_int_equal(answer_to(&r, 2)->m.n_shards, SHARDS);
    gp_server_free(r.server);
}

static void a_run_begins_when_all_are_there_or_when_it_is_told(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){0});
    CHECK_FAILS(ADVGP_ECLUSTER, gp_server_begin(r.server, &err), "nobody is there");
    join(&r, 1, 51);
    pull(&r, 1);
    CHECK_NO_ANSWER(&r, 2);
    assert_false(gp_server_begun(r.server));
    CHECK_OK(gp_server_begin(r.server, &err), "one will do");
    r.n_answers = 0, drain(&r);
    CHECK_ANSWER(&r, 2, GP_PARAMETERS);
    assert_int_equal(answer_to(&r, 2)->m.n_shards, SHARDS);
    gp_server_free(r.server);
}

static void more_workers_than_shards_wait_for_some(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r;
    const double weight[] = {10, 0};
    rig_init(&r, &newest_rule, 2, (gp_server_options){0});
    gp_server_free(r.server);
    r.o.n_shards = 2, r.o.shard_weight = weight; // the second shard has no rows that count
    CHECK_OK(gp_server_new(&r.o, &r.server, &err), "a server");
    join(&r, 0, 50), join(&r, 1, 51);
    pull(&r, 0);
    CHECK_ANSWER(&r, 1, GP_PARAMETERS);
    pull(&r, 1);
    CHECK_NO_ANSWER(&r, 2);
    push(&r, 0, 0, 1);
    assert_int_equal(version(&r), 1);
    CHECK_OK(gp_server_on_lost(r.server, 0, &err), "lost");
    r.n_answers = 0, drain(&r);
    CHECK_ANSWER(&r, 2, GP_PARAMETERS);
    gp_server_free(r.server);
}

// ---- trouble with numbers -------------------------------------------------------------------------------------------

static void a_push_that_makes_no_sense_costs_its_worker_the_place(void **state)
{
    (void)state;
    for (int what = 0; what < 8; what++) {
        rig r;
        rig_init(&r, &newest_rule, 2, (gp_server_options){0});
        start_all(&r, 2);
        double values[PUSH] = {1, 1, 1, 1};
        uint32_t shards[] = {0, 1, 2};
        gp_message m = from(&r, GP_PUSH, 0);
        m.n_values = PUSH, m.values = values, m.n_shards = 3, m.shards = shards, m.shard_weight = 30,
        m.batch_weight = 3;
        if (what == 0) values[2] = NAN;
        if (what == 1) m.n_values = 2;
        if (what == 2) m.batch_weight = 0;
        if (what == 3) m.shard_weight = INFINITY;
        if (what == 4) m.version = 1;
        if (what == 5) shards[1] = SHARDS;
        if (what == 6) m.n_shards = 0;
        if (what == 7) shards[1] = 0; // twice
        tell(&r, 1, &m);
        CHECK_ANSWER(&r, 1, GP_REFUSE);
        assert_int_equal(answer_to(&r, 1)->m.reason, GP_REFUSED_NOT_FINITE);
        assert_int_equal(gp_server_live(r.server), 1);
        assert_int_equal(version(&r), 0);
        gp_server_free(r.server);
    }
}

// ---- workers that lie -----------------------------------------------------------------------------------------------

static void check_put_out(const rig *r, size_t peer, gp_refusal reason)
{
    const answer *a = NULL;
    for (size_t i = 0; i < r->n_answers; i++)
        if (r->answers[i].peer == peer && r->answers[i].m.kind == GP_REFUSE) a = &r->answers[i];
    assert_non_null(a);
    assert_int_equal(a->m.reason, reason);
    assert_int_equal(a->m.incarnation, 1); // it is meant
    assert_false(gp_server_member(r->server, (uint32_t)peer - 1).live);
}

static void weights_are_those_of_the_shards(void **state)
{
    (void)state;
    // shard_weight and batch_weight of a batch, then of all rows of shards that weigh 30
    static const struct {
        bool all, good;
        double shards, batch;
    } cases[] = {{false, true, 30, 3},  {false, true, 30, 30},  {false, true, 30, 1},          {false, false, 29, 3},
                 {false, false, 60, 3}, {false, false, 30, 31}, {false, false, 3e300, 3},      {true, true, 30, 30},
                 {true, false, 30, 3},  {true, false, 30, 1},   {true, true, 30 + 1e-9, 30.0}, {true, false, 60, 60}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig r;
        rig_init(&r, &newest_rule, 2, (gp_server_options){0});
        start_all(&r, 2);
        if (cases[i].all) gp_server_collect(r.server, start, GP_FLAG_ALL_ROWS, 0);
        const double values[PUSH] = {1, 1, 1, 1};
        const uint32_t shards[] = {0, 1, 2};
        gp_message m = from(&r, GP_PUSH, 0);
        m.version = version(&r), m.flags = cases[i].all ? GP_FLAG_ALL_ROWS : 0;
        m.n_values = PUSH, m.values = values, m.n_shards = 3, m.shards = shards;
        m.shard_weight = cases[i].shards, m.batch_weight = cases[i].batch;
        tell(&r, 1, &m);
        if (cases[i].good)
            assert_int_equal(gp_server_live(r.server), 2);
        else
            check_put_out(&r, 1, GP_REFUSED_WEIGHTS);
        gp_server_free(r.server);
    }
}

// Statistics say themselves of how many rows they are.
static void statistics_are_of_all_rows(void **state)
{
    (void)state;
    enum { M = 2, N = 1 + 3 + M + 3 };
    for (int lie = 0; lie < 3; lie++) {
        rig r;
        rig_init(&r, &newest_rule, 2, (gp_server_options){0});
        gp_server_free(r.server);
        r.rule.base.options.layout.M = M;
        advgp_error err = {0};
        gp_server_options o = r.o;
        CHECK_OK(gp_server_new(&o, &r.server, &err), "a server");
        start_all(&r, 2);
        gp_server_collect(r.server, start, GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS, 0);
        const double values[N] = {1, 1, 1, 1, 1, 1, 1, lie == 1 ? 3000 : 30, 1};
        const uint32_t shards[] = {0, 1, 2};
        gp_message m = from(&r, GP_PUSH, 0);
        m.version = version(&r), m.flags = GP_FLAG_ALL_ROWS | (lie == 2 ? 0 : GP_FLAG_STATISTICS);
        m.n_values = lie == 2 ? PUSH : N, m.values = values, m.n_shards = 3, m.shards = shards;
        m.shard_weight = m.batch_weight = 30;
        tell(&r, 1, &m);
        if (!lie)
            assert_int_equal(gp_server_live(r.server), 2);
        else
            check_put_out(&r, 1, lie == 1 ? GP_REFUSED_WEIGHTS : GP_REFUSED_NOT_FINITE);
        gp_server_free(r.server);
    }
}

static void a_push_that_is_absurd_beside_the_others_is_not_used(void **state)
{
    (void)state;
    for (int when = 0; when < 3; when++) { // it comes last, it comes first, it comes later
        rig r;
        rig_init(&r, &newest_rule, 3, (gp_server_options){.lost_after = 30});
        start_all(&r, 3);
        if (when == 2)
            for (uint32_t k = 0; k < 3; k++) push(&r, k, 0, 1);
        const uint64_t t = version(&r);
        if (when) push(&r, 1, t, -1e300);
        push(&r, 0, t, 7), push(&r, 2, t, 1);
        if (!when) push(&r, 1, t, 1e300);
        assert_int_equal(gp_server_live(r.server), 2);
        assert_true(!gp_server_member(r.server, 1).live && gp_server_count(r.server).refused == 1);
        push(&r, 0, t, 7), push(&r, 2, t, 1); // what they have got with its shards
        CHECK(version(&r) > t && !r.rolled_back && r.n_used == 2, "absurd", "case %d", when);
        gp_server_free(r.server);
    }
    rig r; // sums differ, and the only worker has nobody to be compared with
    rig_init(&r, &newest_rule, 2, (gp_server_options){.lost_after = 30, .schedule.max_delay = 0});
    start_all(&r, 2);
    push(&r, 0, 0, 1e-30), push(&r, 1, 0, 1e6);
    assert_int_equal(gp_server_live(r.server), 2);
    gp_server_free(r.server);
}

static void fail_to_compute(rig *r, uint32_t k, uint64_t version)
{
    uint32_t shards[SHARDS];
    gp_message m = from(r, GP_PUSH, k);
    m.sequence = r->sequence[k]++, m.version = version, m.flags = GP_FLAG_FAILED | r->flags;
    m.n_shards = gp_shard_table_list(gp_server_shards(r->server), k, shards), m.shards = shards;
    tell(r, k + 1, &m);
}

// Each failure takes a step back, and twenty of them would end the run.
static void who_cannot_compute_what_others_can_is_put_out(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.lost_after = 30});
    start_all(&r, 2);
    for (int i = 0; i < 10; i++) fail_to_compute(&r, 1, version(&r));
    assert_true(gp_server_live(r.server) == 2 && gp_server_count(r.server).rolled_back < 5);
    push(&r, 0, 0, 1); // computed before all that, but computed
    check_put_out(&r, 2, GP_REFUSED_AGAIN);
    push(&r, 0, version(&r), 1);
    assert_null(r.rolled_back);
    gp_server_free(r.server);
}

static void where_nobody_can_compute_the_run_is_given_up(void **state)
{
    (void)state;
    rig r;
    advgp_error err = {0};
    rig_init(&r, &newest_rule, 2, (gp_server_options){.lost_after = 30});
    start_all(&r, 2);
    const uint32_t shards[] = {0, 1, 2, 3, 4, 5};
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < 200; i++) {
        const uint32_t k = i % 2;
        gp_message m = from(&r, GP_PUSH, k);
        m.sequence = r.sequence[k]++, m.version = version(&r), m.flags = GP_FLAG_FAILED;
        m.n_shards = 3, m.shards = shards + 3 * k;
        st = gp_server_on_message(r.server, 0, k + 1, &m, &err);
    }
    CHECK_FAILS(ADVGP_ENUMERIC, st, "given up");
    assert_int_equal(gp_server_live(r.server), 2);
    gp_server_free(r.server);
}

static void in_the_last_act_others_have_a_try(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        rig r;
        advgp_error err = {0};
        rig_init(&r, &newest_rule, 2, (gp_server_options){.lost_after = 30});
        start_all(&r, 2);
        gp_server_collect(r.server, start, GP_FLAG_ALL_ROWS, 0);
        r.flags = GP_FLAG_ALL_ROWS;
        fail_to_compute(&r, 0, version(&r));
        check_put_out(&r, 1, GP_REFUSED_AGAIN);
        if (!all) {
            push(&r, 1, version(&r), 1);
            assert_non_null(gp_server_collected(r.server));
        } else {
            const uint32_t shards[] = {0, 1, 2, 3, 4, 5};
            gp_message m = from(&r, GP_PUSH, 1);
            m.version = version(&r), m.flags = GP_FLAG_FAILED, m.n_shards = 6, m.shards = shards;
            CHECK_FAILS(ADVGP_ENUMERIC, gp_server_on_message(r.server, 0, 2, &m, &err), "both fail");
        }
        gp_server_free(r.server);
    }
}

// It has shards that the others' steps wait for.
static void who_pushes_what_cannot_be_used_is_put_out(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.lost_after = 30, .schedule.max_delay = 0});
    start_all(&r, 2);
    push(&r, 0, 0, 1);
    for (int i = 0; i < 100 && gp_server_member(r.server, 1).live; i++)
        push_of(&r, 1, version(&r), (const uint32_t[]){0}, 1); // another's
    check_put_out(&r, 2, GP_REFUSED_AGAIN);
    push(&r, 0, version(&r), 1);
    assert_true(version(&r) > 0);
    gp_server_free(r.server);
}

static void a_bad_step_is_taken_back_and_steps_are_halved(void **state)
{
    (void)state;
    for (int what = 0; what < 4; what++) {
        rig r;
        rig_init(&r, &newest_rule, 2, (gp_server_options){.jump = 5});
        start_all(&r, 2);
        push(&r, 0, 0, 1), push(&r, 1, 0, 1); // version 1
        double good[SIZE];
        memcpy(good, gp_server_theta(r.server), sizeof good);
        push(&r, 0, 1, 1), push(&r, 1, 1, 1); // version 2: pushes of version 1 have shown it to be good
        r.rule.fail = what == 0;
        r.rule.not_finite = what == 1;
        if (what == 3) { // a worker cannot compute
            const uint32_t shards[] = {0, 1, 2};
            gp_message m = from(&r, GP_PUSH, 0);
            m.sequence = r.sequence[0]++, m.version = 2, m.flags = GP_FLAG_FAILED, m.n_shards = 3, m.shards = shards;
            tell(&r, 1, &m);
        } else {
            const double value = what == 2 ? 1000 : 1; // the bound jumps
            push(&r, 0, 2, value), push(&r, 1, 2, value);
        }
        assert_int_equal(version(&r), 3);
        assert_non_null(r.rolled_back);
        assert_int_equal(r.rule.forgotten, 1);
        assert_int_equal(gp_server_count(r.server).rolled_back, 1);
        // Steps that failed had good parameters to start from; a jump or a failure throws suspicion on those, too.
        if (what >= 2) CHECK_BITS(SIZE, good, gp_server_theta(r.server), "back to what was good");
        CHECK(gp_all_finite(SIZE, gp_server_theta(r.server)), "theta", "not finite (%d)", what);
        CHECK_ANSWER(&r, 1, GP_PARAMETERS); // nobody waits for a version that only a void push could bring
        r.rule.fail = r.rule.not_finite = false;
        push(&r, 1, 2, 1); // computed before the roll-back (or a repetition: it had pushed already)
        if (what == 3) assert_non_null(r.dropped);
        push_as(&r, 0, 3, 1, r.sequence[0]);
        r.sequence[0]++;
        push(&r, 1, 3, 1);
        assert_int_equal(version(&r), 4);
        CHECK_CLOSE(0.5, r.rule.terms.shrink, 1e-15, "half a step");
        gp_server_free(r.server);
    }
}

static advgp_status refuse_all(void *ctx, const double *before, double *theta, advgp_error *err)
{
    (void)ctx;
    (void)before;
    (void)theta;
    return gp_fail(err, ADVGP_ENUMERIC, "pivot 3 of K_mm");
}

static void a_run_whose_steps_all_fail_is_given_up(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r;
    rig_init(&r, &newest_rule, 1, (gp_server_options){.check = refuse_all});
    start_all(&r, 1);
    const double values[PUSH] = {1, 1, 1, 1};
    const uint32_t shards[] = {0, 1, 2, 3, 4, 5};
    advgp_status st = ADVGP_OK;
    uint64_t t = 0;
    for (; st == ADVGP_OK && t < 100; t++) {
        gp_message m = from(&r, GP_PUSH, 0);
        m.sequence = r.sequence[0]++, m.version = t, m.n_values = PUSH, m.values = values;
        m.n_shards = SHARDS, m.shards = shards, m.shard_weight = 60, m.batch_weight = 60;
        st = gp_server_on_message(r.server, 0, 1, &m, &err);
        CHECK_BITS(SIZE, start, gp_server_theta(r.server), "theta stays");
    }
    assert_non_null(strstr(err.text, "pivot 3"));
    CHECK_FAILS(ADVGP_ENUMERIC, st, "given up");
    CHECK(t < 30, "halvings", "%d", (int)t);
    gp_server_free(r.server);
}

// ---- the end, checkpoints, memory -----------------------------------------------------------------------------------

static void who_asks_an_ended_server_is_told_bye(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){0});
    start_all(&r, 2);
    gp_server_end(r.server);
    r.n_answers = 0, drain(&r);
    CHECK_ANSWER(&r, 1, GP_BYE);
    CHECK_ANSWER(&r, 2, GP_BYE);
    push(&r, 0, 0, 1); // it did not hear
    CHECK_ANSWER(&r, 1, GP_BYE);
    assert_int_equal(r.n_answers, 1);
    const gp_message hello = hello_of(&r, GP_ANY_WORKER, 123);
    tell(&r, 7, &hello);
    CHECK_ANSWER(&r, 7, GP_BYE);
    const gp_message bye = from(&r, GP_BYE, 0);
    tell(&r, 1, &bye);
    assert_int_equal(r.n_answers, 0); // no ping-pong
    gp_server_free(r.server);
}

static void a_server_goes_on_from_an_image(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r, next, other;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.workers_max = 3});
    start_all(&r, 2);
    push(&r, 0, 0, 1), push(&r, 1, 0, 2), push(&r, 0, 1, 3); // version 1, and one push waits
    gp_server_image image = gp_server_look(r.server);
    assert_true(image.version == 1 && image.dealt && image.generation == 0);
    assert_true(image.sequence[0] == 1 && image.sequence[1] == 1); // the push that waits is computed again

    rig_init(&next, &newest_rule, 2, (gp_server_options){.workers_max = 3});
    CHECK_OK(gp_server_restore(next.server, &image, &err), "restore");
    next.o.generation = gp_server_look(next.server).generation;
    assert_int_equal(next.o.generation, 1);
    CHECK_BITS(SIZE, gp_server_theta(r.server), gp_server_theta(next.server), "theta");
    const gp_message old = from(&r, GP_PUSH, 0); // of the former generation
    tell(&next, 1, &old);
    CHECK_ANSWER(&next, 1, GP_REFUSE);
    assert_int_equal(answer_to(&next, 1)->m.reason, GP_REFUSED_UNKNOWN);
    start_all(&next, 2);
    assert_int_equal(next.moved, 0); // everybody has what it had
    assert_int_equal(next.sequence[0], 1);
    push(&r, 1, 1, 4);
    push(&next, 0, 1, 3), push(&next, 1, 1, 4);
    assert_true(version(&r) == 2 && version(&next) == 2);
    CHECK_BITS(SIZE, gp_server_theta(r.server), gp_server_theta(next.server), "the same step");

    image = gp_server_look(r.server);
    CHECK_FAILS(ADVGP_EINVAL, gp_server_restore(next.server, &image, &err), "it is under way");
    rig_init(&other, &newest_rule, 1, (gp_server_options){0}); // too few places
    CHECK_FAILS(ADVGP_EINVAL, gp_server_restore(other.server, &image, &err), "another shape");
    gp_server_free(other.server);
    for (int what = 0; what < 3; what++) {
        rig_init(&other, &newest_rule, 2, (gp_server_options){.workers_max = 3});
        image = gp_server_look(r.server);
        double theta[SIZE] = {1, 2, NAN};
        if (what == 0) image.damping = 0;
        if (what == 1) image.theta = theta;
        uint64_t owner[64] = {0, 0, 17};
        if (what == 2) image.owner = owner;
        CHECK_FAILS(ADVGP_EFILE, gp_server_restore(other.server, &image, &err), "nonsense");
        gp_server_free(other.server);
    }
    gp_server_free(r.server), gp_server_free(next.server);
}

// Workers 0 and 3 of five came, and both have a copy that lags behind: who goes on from the image sends what they
// hold, and needs places for four.
static void an_image_has_the_workers_that_came_and_fits_where_they_do(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r, next;
    const double filter = 1000; // nothing is ever sent but in full
    rig_init(&r, &newest_rule, 2, (gp_server_options){.workers_max = 5, .schedule.filter = filter});
    gp_server_image image = gp_server_look(r.server);
    assert_int_equal(image.n_workers, 0);
    assert_non_null(image.sent);
    join(&r, 3, 53), join(&r, 0, 50);
    pull(&r, 0), pull(&r, 3);
    push(&r, 0, 0, 1), push(&r, 3, 0, 2);
    assert_int_equal(version(&r), 1);
    image = gp_server_look(r.server);
    assert_int_equal(image.n_workers, 4);
    assert_true(image.incarnation[0] == 1 && !image.incarnation[1] && !image.incarnation[2] &&
                image.incarnation[3] == 1);
    for (size_t k = 0; k < 4; k += 3) CHECK_BITS(SIZE, start, image.sent[k], "a copy that lags behind");
    const size_t places[] = {4, 5, 1000};
    for (size_t i = 0; i < 3; i++) {
        rig_init(&next, &newest_rule, 2, (gp_server_options){.workers_max = places[i], .schedule.filter = filter});
        CHECK_OK(gp_server_restore(next.server, &image, &err), "restore");
        const gp_server_image again = gp_server_look(next.server); // before anybody came back
        next.o.generation = again.generation;
        assert_int_equal(again.n_workers, 4);
        join(&next, 0, 60), join(&next, 3, 63), pull(&next, 3);
        assert_int_equal(next.moved, 0);
        CHECK_BITS(SIZE, start, again.sent[3], "a copy");
        CHECK_BITS(SIZE, start, answer_to(&next, 4)->values, "what the worker holds, not what there is");
        gp_server_free(next.server);
    }
    rig_init(&next, &newest_rule, 2, (gp_server_options){.workers_max = 3, .schedule.filter = filter});
    CHECK_FAILS(ADVGP_EINVAL, gp_server_restore(next.server, &image, &err), "no place for worker 3");
    gp_server_free(next.server);
    rig_init(&next, &newest_rule, 2, (gp_server_options){.workers_max = 5, .schedule.filter = filter});
    gp_alloc_fail_after(1);
    const advgp_status st = gp_server_restore(next.server, &image, &err);
    gp_alloc_fail_after(-1);
    CHECK_FAILS(ADVGP_ENOMEM, st, "out of memory");
    const double nan[SIZE] = {NAN};
    const double *const sent[] = {start, start, start, nan};
    const uint64_t many[] = {1, 0, 0, UINT64_C(1) << 32};
    gp_server_image bad = image;
    bad.sent = sent;
    CHECK_FAILS(ADVGP_EFILE, gp_server_restore(next.server, &bad, &err), "a copy that is not finite");
    bad = image, bad.incarnation = many;
    CHECK_FAILS(ADVGP_EFILE, gp_server_restore(next.server, &bad, &err), "too many incarnations");
    gp_server_free(next.server), gp_server_free(r.server);
}

static void places_that_nobody_took_cost_next_to_nothing(void **state)
{
    (void)state;
    enum { LARGE = 20000 };
    advgp_error err = {0};
    rig r;
    rig_init(&r, &newest_rule, 1, (gp_server_options){.schedule.filter = 1});
    gp_server_free(r.server);
    double *theta = doubles(LARGE);
    gp_server_options o = r.o;
    r.rule.base.options.range.count = LARGE;
    o.theta = theta;
    long bytes[2];
    for (size_t i = 0; i < 2; i++) {
        o.workers_max = i ? 1000 : 1;
        const long before = gp_alloc_count().bytes;
        CHECK_OK(gp_server_new(&o, &r.server, &err), "a server");
        const gp_message hello = hello_of(&r, (uint32_t)o.workers_max - 1, 50);
        CHECK_OK(gp_server_on_message(r.server, 0, 1, &hello, &err), "a worker");
        assert_int_equal(gp_server_look(r.server).n_workers, o.workers_max);
        bytes[i] = gp_alloc_count().bytes - before;
        gp_server_free(r.server);
    }
    CHECK(bytes[1] - bytes[0] < 1000 * 1000, "a place", "%ld bytes, and %ld with one", bytes[1], bytes[0]);
    free(theta);
}

static void rows_given_up_stay_so_after_a_restart(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r, next;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.schedule.on_loss = GP_LOSS_DROP});
    start_all(&r, 2);
    CHECK_OK(gp_server_on_lost(r.server, 1, &err), "drop");
    gp_server_image image = gp_server_look(r.server);
    for (uint32_t restarts = 1; restarts <= 2; restarts++) { // the second time of one that did not come to begin
        rig_init(&next, &newest_rule, 2, (gp_server_options){.schedule.on_loss = GP_LOSS_DROP});
        CHECK_OK(gp_server_restore(next.server, &image, &err), "restore");
        gp_server_free(r.server);
        r = next;
        image = gp_server_look(next.server);
        next.o.generation = restarts;
    }
    join(&next, 0, 50);
    CHECK_OK(gp_server_begin(next.server, &err), "begin");
    pull(&next, 0), push(&next, 0, 0, 1);
    CHECK_CLOSE(30, next.rule.terms.n, 1e-15, "half the rows");
    gp_server_free(next.server);
}

static void where_all_rows_were_given_up_a_restart_has_them_again(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r, next;
    rig_init(&r, &newest_rule, 1, (gp_server_options){.schedule.on_loss = GP_LOSS_DROP});
    start_all(&r, 1);
    CHECK_FAILS(ADVGP_ECLUSTER, gp_server_on_lost(r.server, 0, &err), "nothing is left");
    const gp_server_image image = gp_server_look(r.server);
    rig_init(&next, &newest_rule, 1, (gp_server_options){.schedule.on_loss = GP_LOSS_DROP});
    CHECK_OK(gp_server_restore(next.server, &image, &err), "restore");
    next.o.generation = 1;
    start_all(&next, 1);
    push(&next, 0, 0, 1);
    CHECK_CLOSE(60, next.rule.terms.n, 1e-15, "all rows");
    assert_null(next.rolled_back);
    gp_server_free(r.server), gp_server_free(next.server);
}

static void nothing_is_allocated_once_all_are_there(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, &newest_rule, 3, (gp_server_options){.schedule.max_delay = 1, .schedule.filter = 0.1});
    start_all(&r, 3);
    const long calls = gp_alloc_count().calls;
    gp_alloc_freeze(true);
    for (uint64_t t = 0; t < 20; t++)
        for (uint32_t k = 0; k < 3; k++) push(&r, k, t, 1);
    join(&r, 1, 88);
    gp_alloc_freeze(false);
    assert_true(version(&r) >= 20);
    assert_int_equal(gp_alloc_count().calls, calls);
    gp_server_free(r.server);
}

static void making_a_server_fails_cleanly(void **state)
{
    (void)state;
    advgp_error err = {0};
    rig r;
    rig_init(&r, &newest_rule, 2, (gp_server_options){.schedule.filter = 1});
    gp_server_free(r.server);
    const long live = gp_alloc_count().live;
    advgp_status st = ADVGP_ENOMEM;
    for (long calls = 0; st != ADVGP_OK; calls++) {
        gp_alloc_fail_after(calls);
        st = gp_server_new(&r.o, &r.server, &err);
        gp_alloc_fail_after(-1);
        assert_true(st == ADVGP_OK || (st == ADVGP_ENOMEM && !r.server));
        if (st != ADVGP_OK) assert_int_equal(gp_alloc_count().live, live);
    }
    for (long calls = 0; calls < 3; calls++) { // one more worker: three blocks, and what was had once is kept
        const gp_message hello = hello_of(&r, 0, 50);
        gp_alloc_fail_after(calls > 0);
        st = gp_server_on_message(r.server, 0, 1, &hello, &err);
        gp_alloc_fail_after(-1);
        CHECK_FAILS(ADVGP_ENOMEM, st, "a worker");
    }
    gp_server_free(r.server);
    gp_server_free(NULL);
    assert_int_equal(gp_alloc_count().live, live);
    gp_server_options bad = r.o;
    bad.schedule.workers = 3;
    CHECK_FAILS(ADVGP_EINVAL, gp_server_new(&bad, &r.server, &err), "more workers than places");
    bad = r.o, bad.schedule.quorum = 1.5;
    CHECK_FAILS(ADVGP_EINVAL, gp_server_new(&bad, &r.server, &err), "quorum");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_tau_0_everybody_must_have_pushed),
        cmocka_unit_test(at_tau_1_one_may_be_one_version_behind),
        cmocka_unit_test(without_a_bound_every_push_advances_once_all_have_pushed),
        cmocka_unit_test(a_quorum_waits_for_enough_that_are_new),
        cmocka_unit_test(a_late_push_weighs_less_and_is_no_part_of_a_quorum),
        cmocka_unit_test(a_step_that_is_ended_was_not_begun_and_can_be_made_again),
        cmocka_unit_test(steps_shrink_by_the_schedule),
        cmocka_unit_test(what_is_too_old_is_dropped_and_the_worker_goes_on),
        cmocka_unit_test(no_version_is_made_that_is_not_allowed),
        cmocka_unit_test(what_was_put_off_and_came_to_nothing_is_forgotten),
        cmocka_unit_test(a_repeated_push_counts_once_and_is_answered_in_full),
        cmocka_unit_test(a_filter_sends_what_moved_and_keeps_copies_close),
        cmocka_unit_test(a_lost_worker_leaves_its_shards_to_the_others),
        cmocka_unit_test(a_push_with_a_shard_that_moved_is_not_used),
        cmocka_unit_test(a_sum_over_all_rows_lacks_none_that_moved),
        cmocka_unit_test(a_newcomer_takes_the_place_it_wishes_for),
        cmocka_unit_test(who_yields_displaces_nobody),
        cmocka_unit_test(who_comes_back_takes_what_is_free_first),
        cmocka_unit_test(a_hello_evicts_nobody_who_lives),
        cmocka_unit_test(nobody_speaks_in_another_s_name),
        cmocka_unit_test(one_connection_has_one_place),
        cmocka_unit_test(who_comes_and_goes_in_vain_is_slowed_down),
        cmocka_unit_test(weights_are_those_of_the_shards),
        cmocka_unit_test(statistics_are_of_all_rows),
        cmocka_unit_test(a_push_that_is_absurd_beside_the_others_is_not_used),
        cmocka_unit_test(who_cannot_compute_what_others_can_is_put_out),
        cmocka_unit_test(where_nobody_can_compute_the_run_is_given_up),
        cmocka_unit_test(in_the_last_act_others_have_a_try),
        cmocka_unit_test(who_pushes_what_cannot_be_used_is_put_out),
        cmocka_unit_test(a_hello_is_answered_as_often_as_it_is_said),
        cmocka_unit_test(strangers_are_told_why),
        cmocka_unit_test(what_happens_to_the_rows_of_the_lost_is_an_option),
        cmocka_unit_test(a_run_begins_when_all_are_there_or_when_it_is_told),
        cmocka_unit_test(more_workers_than_shards_wait_for_some),
        cmocka_unit_test(a_push_that_makes_no_sense_costs_its_worker_the_place),
        cmocka_unit_test(a_bad_step_is_taken_back_and_steps_are_halved),
        cmocka_unit_test(a_run_whose_steps_all_fail_is_given_up),
        cmocka_unit_test(who_asks_an_ended_server_is_told_bye),
        cmocka_unit_test(a_server_goes_on_from_an_image),
        cmocka_unit_test(an_image_has_the_workers_that_came_and_fits_where_they_do),
        cmocka_unit_test(places_that_nobody_took_cost_next_to_nothing),
        cmocka_unit_test(rows_given_up_stay_so_after_a_restart),
        cmocka_unit_test(where_all_rows_were_given_up_a_restart_has_them_again),
        cmocka_unit_test(nothing_is_allocated_once_all_are_there),
        cmocka_unit_test(making_a_server_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
