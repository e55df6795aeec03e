// worker_test.c: the worker as a machine: it asks until it is answered, and takes only what is meant for it.
#include "fixture.h"
#include "ps/worker.h"

enum { SIZE = 70, PUSH = 4, SHARDS = 5 };

typedef struct job {
    gp_work last;
    double theta[SIZE];
    advgp_status status;
    int n;
} job;

static advgp_status compute(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    job *j = ctx;
    j->last = *work;
    memcpy(j->theta, work->theta, sizeof j->theta);
    j->n++;
    for (size_t i = 0; i < PUSH; i++) push[i] = (double)work->version + (double)i;
    *done = (gp_work_done){30, 3, 3, PUSH};
    return j->status == ADVGP_OK ? ADVGP_OK : gp_fail(err, j->status, "told to fail");
}

static gp_worker *worker_of(uint32_t wish)
{
    advgp_error err = {0};
    gp_worker *w;
    const gp_worker_options o = {.size = SIZE,
                                 .push_size = PUSH,
                                 .n_shards = SHARDS,
                                 .wish = wish,
                                 .run = {7, 8},
                                 .fingerprint = 9,
                                 .token = 1234,
                                 .resend = 2,
                                 .heartbeat = 5};
    CHECK_OK(gp_worker_new(&o, &w, &err), "a worker");
    return w;
}

static gp_message next_of(gp_worker *w, double now)
{
    gp_message m;
    assert_true(gp_worker_next(w, now, &m));
    return m;
}

static void is_silent(gp_worker *w, double now)
{
    gp_message m = {0};
    CHECK(!gp_worker_next(w, now, &m), "silence", "it says %d", (int)m.kind);
}

static void tell(gp_worker *w, double now, const gp_message *m)
{
    advgp_error err = {0};
    CHECK_OK(gp_worker_on_message(w, now, m, &err), "a message");
}

static gp_message welcome_of(uint64_t token)
{
    return (gp_message){.kind = GP_WELCOME,
                        .run = {7, 8},
                        .generation = 3,
                        .worker = 2,
                        .incarnation = 6,
                        .sequence = 10,
                        .token = token};
}

static const uint32_t shards[SHARDS] = {1, 3, 4, 0, 2};
static double values[SIZE];

static gp_message parameters_of(uint64_t sequence, uint64_t version, double first)
{
    for (size_t i = 0; i < SIZE; i++) values[i] = first + (double)i;
    return (gp_message){.kind = GP_PARAMETERS,
                        .flags = GP_FLAG_FULL,
                        .run = {7, 8},
                        .generation = 3,
                        .worker = 2,
                        .incarnation = 6,
                        .sequence = sequence,
                        .version = version,
                        .n_values = SIZE,
                        .values = values,
                        .n_shards = 3,
                        .shards = shards};
}

static gp_message refusal_of(gp_refusal reason, uint64_t token, uint32_t incarnation)
{
    return (gp_message){.kind = GP_REFUSE,
                        .run = {7, 8},
                        .generation = 3,
                        .worker = 2,
                        .incarnation = incarnation,
                        .token = token,
                        .reason = reason};
}

// A worker that has been welcomed and waits for parameters.
static gp_worker *welcomed(void)
{
    gp_worker *w = worker_of(2);
    next_of(w, 0);
    const gp_message welcome = welcome_of(1234);
    tell(w, 0, &welcome);
    assert_int_equal(next_of(w, 0).kind, GP_PULL);
    return w;
}

static void hello_pull_compute_push(void **state)
{
    (void)state;
    advgp_error err = {0};
    job j = {0};
    const gp_computer computer = {.ctx = &j, .compute = compute};
    gp_worker *w = worker_of(GP_ANY_WORKER);
    gp_work ahead;
    assert_int_equal(gp_worker_id(w), GP_ANY_WORKER);
    gp_message m = next_of(w, 0);
    assert_true(m.kind == GP_HELLO && m.worker == GP_ANY_WORKER && m.token == 1234 && m.fingerprint == 9);
    is_silent(w, 0);
    const gp_message welcome = welcome_of(1234);
    tell(w, 0, &welcome);
    assert_int_equal(gp_worker_id(w), 2);
    m = next_of(w, 0);
    assert_true(m.kind == GP_PULL && m.sequence == 10 && m.incarnation == 6 && m.generation == 3 && m.worker == 2);
    assert_false(gp_worker_upcoming(w, &ahead)); // its shards are not known
    for (uint64_t t = 0; t < 5; t++) {
        const gp_message p = parameters_of(10 + t, 40 + t, (double)t);
        tell(w, 0, &p);
        assert_int_equal(gp_worker_state_of(w), GP_WORKER_READY);
        is_silent(w, 0);
        CHECK_OK(gp_worker_compute(w, &computer, &err), "compute");
        CHECK_BITS(SIZE, values, j.theta, "theta");
        assert_true(j.last.worker == 2 && j.last.sequence == 10 + t && j.last.version == 40 + t);
        assert_true(j.last.n_shards == 3 && j.last.shards[1] == 3);
        m = next_of(w, 0);
        assert_true(m.kind == GP_PUSH && m.sequence == 10 + t && m.version == 40 + t && m.n_shards == 3);
        assert_true(m.n_values == PUSH && m.rows == 3 && (m.flags & GP_FLAG_FULL));
        CHECK_CLOSE(40 + (double)t, m.values[0], 0, "values");
        assert_true(gp_worker_upcoming(w, &ahead) && ahead.sequence == 11 + t && !ahead.theta);
    }
    gp_worker_free(w);
    gp_worker_free(NULL);
}

static void a_difference_changes_what_its_mask_says(void **state)
{
    (void)state;
    advgp_error err = {0};
    job j = {0};
    const gp_computer computer = {.ctx = &j, .compute = compute};
    gp_worker *w = welcomed();
    gp_message p = parameters_of(10, 1, 0);
    tell(w, 0, &p);
    CHECK_OK(gp_worker_compute(w, &computer, &err), "compute");
    next_of(w, 0);
    const uint64_t good[2] = {1u << 3 | UINT64_C(1) << 63, 1u << 5}, beyond[2] = {1u << 3, 1u << 5 | 1u << 6};
    const double moved[3] = {-1, -2, -3};
    p = parameters_of(11, 2, 0);
    p.flags = 0, p.n_values = 3, p.values = moved, p.n_masked = SIZE, p.mask = beyond;
    tell(w, 0, &p); // a bit beyond the last element
    assert_int_equal(gp_worker_state_of(w), GP_WORKER_PULL);
    p.mask = good, p.n_values = 2;
    tell(w, 0, &p); // fewer values than bits
    assert_int_equal(gp_worker_state_of(w), GP_WORKER_PULL);
    p.n_values = 3, p.n_masked = SIZE - 1;
    tell(w, 0, &p);
    assert_int_equal(gp_worker_state_of(w), GP_WORKER_PULL);
    p.n_masked = SIZE, p.n_shards = SHARDS + 1;
    tell(w, 0, &p);
    assert_int_equal(gp_worker_state_of(w), GP_WORKER_PULL);
    p.n_shards = 3;
    tell(w, 0, &p);
    assert_int_equal(gp_worker_state_of(w), GP_WORKER_READY);
    CHECK_OK(gp_worker_compute(w, &computer, &err), "compute");
    for (size_t i = 0; i < SIZE; i++)
        CHECK_CLOSE(i == 3 ? -1 : i == 63 ? -2 : i == 69 ? -3 : (double)i, j.theta[i], 0, "element");
    assert_false(next_of(w, 0).flags & GP_FLAG_FULL);
    gp_worker_free(w);
}

static void what_is_not_answered_is_said_again_less_and_less_often(void **state)
{
    (void)state;
    gp_worker *w = worker_of(2);
    next_of(w, 0);
    double at = 0, gap = 2;
    for (int i = 0; i < 12; i++) {
        gp_worker_on_tick(w, at + 0.99 * gap);
        is_silent(w, at + 0.99 * gap);
        at += gap;
        gp_worker_on_tick(w, at);
        assert_int_equal(next_of(w, at).kind, GP_HELLO);
        gap = fmin(1.5 * gap, 30);
    }
    assert_int_equal(gp_worker_resends(w), 12);
    const gp_message welcome = welcome_of(1234);
    tell(w, at, &welcome);
    assert_int_equal(next_of(w, at).kind, GP_PULL);
    gp_worker_on_tick(w, at + 2); // and patience is new
    assert_int_equal(next_of(w, at + 2).kind, GP_PULL);
    gp_worker_free(w);
}

static void signs_of_life_come_when_nothing_else_is_said(void **state)
{
    (void)state;
    gp_worker *w = welcomed();
    const gp_message p = parameters_of(10, 1, 0);
    tell(w, 1, &p);
    is_silent(w, 4.9);
    assert_int_equal(next_of(w, 5).kind, GP_HEARTBEAT); // while it computes
    is_silent(w, 9.9);
    assert_int_equal(next_of(w, 10).kind, GP_HEARTBEAT);
    gp_worker_on_tick(w, 100); // nothing is asked: nothing is repeated
    assert_int_equal(gp_worker_resends(w), 0);
    gp_worker_free(w);
}

static void what_is_meant_for_others_or_for_before_is_not_taken(void **state)
{
    (void)state;
    gp_worker *w = worker_of(2);
    gp_message m = next_of(w, 0);
    gp_message bad = welcome_of(99); // another's
    tell(w, 0, &bad);
    assert_int_equal(gp_worker_state_of(w), GP_WORKER_HELLO);
    const gp_message early = parameters_of(0, 0, 0);
    tell(w, 0, &early);
    assert_int_equal(gp_worker_state_of(w), GP_WORKER_HELLO);
    gp_worker_free(w);

    w = welcomed();
    const uint32_t nonsense[] = {1, SHARDS, 0};
    for (int what = 0; what < 7; what++) {
        gp_message p = parameters_of(10, 1, 0);
        if (what == 4) p.shards = nonsense;
        if (what == 5) p.n_shards = 0;
        if (what == 0) p.sequence = 9;
        if (what == 1) p.incarnation = 5;
        if (what == 2) p.generation = 2;
        if (what == 3) p.n_values = SIZE - 1;
        if (what == 6) p.worker = 1;
        tell(w, 0, &p);
        CHECK(gp_worker_state_of(w) == GP_WORKER_PULL, "parameters", "case %d", what);
    }
    bad = welcome_of(1234), bad.incarnation = 5; // once more, from before
    tell(w, 0, &bad);
    is_silent(w, 0);
    m = (gp_message){.kind = GP_BYE, .run = {1, 2}};
    tell(w, 0, &m); // of another run
    assert_int_equal(gp_worker_state_of(w), GP_WORKER_PULL);
    m.run[0] = 7, m.run[1] = 8;
    tell(w, 0, &m);
    assert_int_equal(gp_worker_state_of(w), GP_WORKER_ENDED);
    const gp_message p = parameters_of(10, 1, 0);
    tell(w, 0, &p);
    gp_worker_on_tick(w, 1000);
    is_silent(w, 1000);
    gp_worker_free(w);
}

static void who_is_unknown_says_hello_by_another_token(void **state)
{
    (void)state;
    gp_worker *w = welcomed();
    gp_message m = refusal_of(GP_REFUSED_UNKNOWN, 0, 6);
    tell(w, 0, &m);
    m = next_of(w, 0);
    assert_true(m.kind == GP_HELLO && m.worker == 2 && m.incarnation == 6 && m.token != 1234);
    const uint64_t token = m.token;
    // Whatever it said before is refused late, and is of no account: the new hello counts.
    const gp_refusal late[] = {GP_REFUSED_UNKNOWN, GP_REFUSED_REPLACED};
    for (size_t i = 0; i < 2; i++) {
        m = refusal_of(late[i], 0, 6);
        tell(w, 0, &m);
        m = refusal_of(late[i], 1234, 0);
        tell(w, 0, &m);
        assert_int_equal(gp_worker_state_of(w), GP_WORKER_HELLO);
        is_silent(w, 0);
    }
    m = refusal_of(GP_REFUSED_UNKNOWN, token, 6); // the token had a place and lost it
    tell(w, 0, &m);
    m = next_of(w, 0);
    assert_true(m.kind == GP_HELLO && m.token != token && m.token != 1234);
    gp_message welcome = welcome_of(token);
    tell(w, 0, &welcome);
    assert_int_equal(gp_worker_state_of(w), GP_WORKER_HELLO);
    welcome = welcome_of(m.token), welcome.incarnation = 8;
    tell(w, 0, &welcome);
    assert_int_equal(next_of(w, 0).kind, GP_PULL);
    m = refusal_of(GP_REFUSED_REPLACED, 0, 6); // its former self
    tell(w, 0, &m);
    m = refusal_of(GP_REFUSED_REPLACED, 0, 8), m.generation = 2; // what it said to a former server
    tell(w, 0, &m);
    assert_int_equal(gp_worker_state_of(w), GP_WORKER_PULL);
    gp_worker_free(w);
}

static void a_refusal_ends_it_and_says_why(void **state)
{
    (void)state;
    for (gp_refusal reason = GP_REFUSED_REPLACED; reason < GP_N_REFUSALS; reason++) {
        advgp_error err = {0};
        const bool of_hello = reason == GP_REFUSED_OTHER_RUN || reason == GP_REFUSED_OTHER_DATA ||
                              reason == GP_REFUSED_FULL;
        gp_worker *w = of_hello ? worker_of(2) : welcomed();
        const gp_message m = refusal_of(reason, of_hello ? 1234 : 0, of_hello ? 0 : 6);
        const advgp_status st = gp_worker_on_message(w, 0, &m, &err);
        assert_non_null(strstr(err.text, gp_refusal_text(reason)));
        CHECK_FAILS(ADVGP_ECLUSTER, st, "refused");
        assert_int_equal(gp_worker_state_of(w), GP_WORKER_ENDED);
        gp_worker_free(w);
    }
}

static void a_computation_that_fails_is_told_or_ends_it(void **state)
{
    (void)state;
    advgp_error err = {0};
    job j = {.status = ADVGP_ENUMERIC};
    const gp_computer computer = {.ctx = &j, .compute = compute};
    gp_worker *w = welcomed();
    gp_message p = parameters_of(10, 1, 0);
    tell(w, 0, &p);
    CHECK_OK(gp_worker_compute(w, &computer, &err), "told");
    const gp_message m = next_of(w, 0);
    assert_true(m.kind == GP_PUSH && (m.flags & GP_FLAG_FAILED) && m.n_values == 0 && m.n_shards == 3);
    p = parameters_of(11, 2, 0);
    tell(w, 0, &p);
    j.status = ADVGP_EIO;
    CHECK_FAILS(ADVGP_EIO, gp_worker_compute(w, &computer, &err), "it cannot read its rows");
    gp_worker_free(w);
}

static void making_one_fails_cleanly_and_working_allocates_nothing(void **state)
{
    (void)state;
    const long live = gp_alloc_count().live;
    advgp_status st = ADVGP_ENOMEM;
    const gp_worker_options o = {.size = SIZE, .push_size = PUSH, .n_shards = SHARDS, .token = 1234};
    gp_worker *w = NULL;
    for (long calls = 0; st != ADVGP_OK; calls++) {
        advgp_error err = {0};
        gp_alloc_fail_after(calls);
        st = gp_worker_new(&o, &w, &err);
        gp_alloc_fail_after(-1);
        assert_true(st == ADVGP_OK || (st == ADVGP_ENOMEM && !w && err.text[0]));
        if (st != ADVGP_OK) assert_int_equal(gp_alloc_count().live, live);
    }
    advgp_error err = {0};
    job j = {0};
    const gp_computer computer = {.ctx = &j, .compute = compute};
    const long calls = gp_alloc_count().calls;
    next_of(w, 0);
    const gp_message welcome = welcome_of(1234);
    tell(w, 0, &welcome);
    next_of(w, 0);
    for (uint64_t t = 0; t < 5; t++) {
        const gp_message p = parameters_of(10 + t, t, 0);
        tell(w, 0, &p);
        CHECK_OK(gp_worker_compute(w, &computer, &err), "compute");
        next_of(w, 0);
    }
    assert_int_equal(gp_alloc_count().calls, calls);
    gp_worker_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_pull_compute_push),
        cmocka_unit_test(a_difference_changes_what_its_mask_says),
        cmocka_unit_test(what_is_not_answered_is_said_again_less_and_less_often),
        cmocka_unit_test(signs_of_life_come_when_nothing_else_is_said),
        cmocka_unit_test(what_is_meant_for_others_or_for_before_is_not_taken),
        cmocka_unit_test(who_is_unknown_says_hello_by_another_token),
        cmocka_unit_test(a_refusal_ends_it_and_says_why),
        cmocka_unit_test(a_computation_that_fails_is_told_or_ends_it),
        cmocka_unit_test(making_one_fails_cleanly_and_working_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
