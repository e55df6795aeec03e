// lead_test.c: the machines of lead and follower, told things and the time without any process or clock: what whole
// trainings do is asked by tests/sim_trainings.c; here are the words that only they can hear.
#include "base/alloc.h"
#include "cluster/follower.h"
#include "cluster/lead.h"
#include "fixture.h"

typedef struct scene {
    gp_lead *lead;
    gp_follower *follower;
    char said[1024];
} scene;

static void hear(void *ctx, const char *text)
{
    scene *s = ctx;
    const size_t n = strlen(s->said);
    snprintf(s->said + n, sizeof s->said - n, "%s\n", text);
}

static void open_scene(scene *s)
{
    advgp_error err = {0};
    *s = (scene){0};
    const gp_lead_options lo = {.workers = 1,
                                .workers_min = 1,
                                .workers_max = 4,
                                .wait = 60,
                                .heartbeat = 1,
                                .lost_after = 8,
                                .stuck_after = 60,
                                .report = hear,
                                .ctx = s};
    const gp_follower_options fo = {
        .name = "host:7", .wish = GP_ANY_WORKER, .random = 9, .give_up = 20, .report = hear, .ctx = s};
    CHECK_OK(gp_lead_new(&lo, &s->lead, &err), "a lead");
    CHECK_OK(gp_follower_new(&fo, 100, &s->follower, &err), "a follower");
}

static void close_scene(scene *s)
{
    gp_lead_free(s->lead);
    gp_follower_free(s->follower);
}

// Said in its own protocol: what an older program understands.
static void a_worker_of_another_version_is_told_so_at_once(void **state)
{
    (void)state;
    scene s;
    advgp_error err = {0};
    _Alignas(8) char bytes[1024];
    size_t line, peer;
    gp_message ask, bye;
    open_scene(&s);
    gp_lead_farewell(s.lead, 100, "nothing else is going on"); // it listens
    assert_true(gp_follower_next(s.follower, 100, &line, &ask));
    assert_int_equal(ask.kind, GP_ASK);
    ask.protocol = GP_PROTOCOL - 1;
    gp_message_encode(&ask, bytes);
    CHECK_OK(gp_lead_on_bytes(s.lead, 101, 5, bytes, gp_message_size(&ask), &err), "another version");
    assert_true(gp_lead_next(s.lead, 101, &peer, &bye));
    assert_int_equal(peer, 5);
    assert_int_equal(bye.kind, GP_BYE);
    assert_int_equal(bye.flags, GP_FLAG_LAST);
    assert_int_equal(bye.protocol, GP_PROTOCOL - 1);
    assert_int_equal(bye.token, ask.token);
    CHECK(strstr(s.said, "is sent away: a message of protocol"), "the lead", "%s", s.said);
    close_scene(&s);
}

static void a_worker_ends_where_the_lead_is_of_another_version(void **state)
{
    (void)state;
    scene s;
    advgp_error err = {0};
    _Alignas(8) char bytes[256];
    const gp_message sign = {.protocol = GP_PROTOCOL + 1, .kind = GP_HEARTBEAT, .worker = GP_ANY_WORKER};
    open_scene(&s);
    gp_message_encode(&sign, bytes);
    gp_follower_on_bytes(s.follower, 101, 0, bytes, gp_message_size(&sign));
    assert_int_equal(gp_follower_state_of(s.follower), GP_FOLLOWER_ENDED);
    assert_int_equal(gp_follower_outcome(s.follower, NULL, &err), ADVGP_ECLUSTER);
    CHECK(strstr(err.text, "use the same advgp on all machines"), "the worker", "%s", err.text);
    close_scene(&s);
}

static void a_question_is_repeated_and_given_up(void **state)
{
    (void)state;
    scene s;
    advgp_error err = {0};
    size_t line, asked = 0;
    gp_message m;
    open_scene(&s);
    double now = 100;
    for (; gp_follower_state_of(s.follower) == GP_FOLLOWER_ASKS && now < 200; now += 0.25) {
        gp_follower_on_tick(s.follower, now);
        while (gp_follower_next(s.follower, now, &line, &m)) asked += m.kind == GP_ASK;
    }
    CHECK(asked >= 5 && now > 119 && now < 122, "a question", "%zu times, until %g", asked, now);
    CHECK_FAILS(ADVGP_ECLUSTER, gp_follower_outcome(s.follower, NULL, &err), "no lead");
    CHECK(strstr(s.said, "waiting for the lead: no word for"), "it waits", "%s", s.said);
    close_scene(&s);
}

// A farewell of a lead before, which came late, is not its own's.
static void only_its_own_lead_sends_it_away(void **state)
{
    (void)state;
    scene s;
    _Alignas(8) char bytes[256];
    gp_message ask, bye = {.kind = GP_BYE, .flags = GP_FLAG_LAST, .run = {3, 4}, .token = 77};
    size_t line;
    open_scene(&s);
    assert_true(gp_follower_next(s.follower, 100, &line, &ask));
    gp_message_encode(&bye, bytes);
    gp_follower_on_bytes(s.follower, 101, 0, bytes, gp_message_size(&bye));
    assert_int_equal(gp_follower_state_of(s.follower), GP_FOLLOWER_ASKS);
    bye.token = ask.token;
    gp_message_encode(&bye, bytes);
    gp_follower_on_bytes(s.follower, 102, 0, bytes, gp_message_size(&bye));
    assert_int_equal(gp_follower_state_of(s.follower), GP_FOLLOWER_ENDED);
    assert_int_equal(gp_follower_outcome(s.follower, NULL, NULL), ADVGP_OK);
    assert_true(gp_follower_next(s.follower, 102, &line, &bye)); // it has heard it
    assert_true(bye.kind == GP_BYE && bye.flags == GP_FLAG_LAST);
    close_scene(&s);
}

// ---- tasks ----------------------------------------------------------------------------------------------------------

enum { TASKS = 3 };

typedef struct errands { // the result of task i is i + 0.5
    size_t taken[TASKS];
} errands;

static advgp_status pack(void *ctx, size_t task, gp_parcel *out)
{
    (void)ctx;
    out->values = gp_alloc(1, sizeof(double));
    assert_non_null(out->values);
    out->values[0] = (double)task, out->n_values = 1;
    return ADVGP_OK;
}

static bool take(void *ctx, size_t task, const double *values, size_t n)
{
    errands *e = ctx;
    if (n != 1 || values[0] != (double)task + 0.5) return false;
    e->taken[task]++;
    return true;
}

static void begin_tasks(scene *s, errands *e, double now)
{
    const gp_lead_tasks tasks = {.n = TASKS, .what = "an errand", .pack = pack, .take = take, .ctx = e};
    advgp_error err = {0};
    *e = (errands){0};
    CHECK_OK(gp_lead_tasks_begin(s->lead, now, &tasks, &err), "tasks");
}

static void lead_hears(scene *s, double now, size_t peer, const gp_message *m)
{
    advgp_error err = {0};
    _Alignas(8) char bytes[1024];
    gp_message_encode(m, bytes);
    CHECK_OK(gp_lead_on_bytes(s->lead, now, peer, bytes, gp_message_size(m), &err), "the lead hears");
}

// A question of a worker that no machine has.
static void ask_as(scene *s, double now, size_t peer, uint64_t token)
{
    char name[16];
    snprintf(name, sizeof name, "host:%zu", peer);
    const gp_message ask = {
        .kind = GP_ASK, .worker = GP_ANY_WORKER, .token = token, .n_text = strlen(name), .text = name};
    lead_hears(s, now, peer, &ask);
}

// What it was answered, or a message of no kind.
static gp_message answer_to(scene *s, double now, size_t peer)
{
    gp_message m, found = {0};
    size_t to;
    while (gp_lead_next(s->lead, now, &to, &m))
        if (to == peer) found = m;
    return found;
}

static void bring_as(scene *s, double now, size_t peer, uint64_t token, const gp_message *task, double value,
                     unsigned flags)
{
    char name[16];
    snprintf(name, sizeof name, "host:%zu", peer);
    const gp_message ask = {.kind = GP_ASK,
                            .flags = flags,
                            .run = {task->run[0], task->run[1]},
                            .worker = GP_ANY_WORKER,
                            .token = token,
                            .sequence = task->sequence,
                            .n_values = flags ? 0 : 1,
                            .values = &value,
                            .n_text = strlen(name),
                            .text = name};
    lead_hears(s, now, peer, &ask);
}

static void a_task_is_given_again_to_the_same_question_and_taken_once(void **state)
{
    (void)state;
    scene s;
    errands e;
    open_scene(&s);
    begin_tasks(&s, &e, 100);
    ask_as(&s, 100, 1, 11);
    gp_message task = answer_to(&s, 100, 1);
    assert_true(task.kind == GP_TASK && task.token == 11 && task.sequence == 0 && task.heartbeat == 1);
    ask_as(&s, 100.1, 1, 11); // came in a heap with the first
    assert_int_equal(answer_to(&s, 100.1, 1).kind, 0);
    ask_as(&s, 102, 1, 11);
    const gp_message again = answer_to(&s, 102, 1);
    assert_true(again.kind == GP_TASK && again.sequence == 0);
    bring_as(&s, 103, 1, 12, &task, 0.5, 0);
    const gp_message next = answer_to(&s, 103, 1);
    assert_true(next.kind == GP_TASK && next.token == 12 && next.sequence == 1);
    bring_as(&s, 103.1, 1, 13, &task, 0.5, 0); // twice
    assert_int_equal(e.taken[0], 1);
    close_scene(&s);
}

static void a_lost_workers_task_goes_to_the_next_who_asks(void **state)
{
    (void)state;
    scene s;
    errands e;
    size_t own;
    advgp_error err = {0};
    open_scene(&s);
    begin_tasks(&s, &e, 100);
    ask_as(&s, 100, 1, 11);
    const gp_message first = answer_to(&s, 100, 1);
    assert_true(first.kind == GP_TASK && first.sequence == 0);
    assert_true(gp_lead_tasks_own(s.lead, 100, &own) && own == 1);
    assert_true(gp_lead_tasks_own(s.lead, 100, &own) && own == 2);
    assert_false(gp_lead_tasks_own(s.lead, 100, &own)); // all are under way
    double now = 100;
    ask_as(&s, 100, 2, 21);
    for (; now < 130 && !strstr(s.said, "host:1 is lost"); now += 0.25)
        CHECK_OK(gp_lead_on_tick(s.lead, now, &err), "a tick");
    CHECK(now > 108 && now < 109, "lost", "after %g s: %s", now - 100, s.said);
    CHECK(strstr(s.said, "waiting for the worker host:1, heard of"), "it waits", "%s", s.said);
    const gp_message moved = answer_to(&s, now, 2);
    assert_true(moved.kind == GP_TASK && moved.token == 21 && moved.sequence == 0);
    bring_as(&s, now, 1, 12, &first, 0.5, 0); // it comes back with it
    assert_int_equal(e.taken[0], 1);
    gp_message m;
    size_t peer, told = 0;
    while (gp_lead_next(s.lead, now, &peer, &m))
        told += (peer == 2 && m.kind == GP_BYE && m.token == 21) || (peer == 1 && m.kind == GP_TAKEN);
    assert_int_equal(told, 2); // the other need not go on, and there is none for the one who has brought it
    close_scene(&s);
}

static void a_slow_workers_task_is_done_here_as_well(void **state)
{
    (void)state;
    scene s;
    errands e;
    size_t own;
    double value;
    open_scene(&s);
    begin_tasks(&s, &e, 100);
    ask_as(&s, 100, 1, 11);
    const gp_message slow = answer_to(&s, 100, 1);
    for (size_t i = 1; i < TASKS; i++) {
        assert_true(gp_lead_tasks_own(s.lead, 100, &own) && own == i);
        value = (double)i + 0.5;
        assert_true(gp_lead_tasks_did(s.lead, 102, own, &value, 1)); // in two seconds
    }
    assert_false(gp_lead_tasks_own(s.lead, 103.9, &own));
    assert_true(gp_lead_tasks_own(s.lead, 104.1, &own) && own == 0);
    assert_false(gp_lead_tasks_over(s.lead));
    bring_as(&s, 105, 1, 12, &slow, 0.5, 0);
    assert_true(gp_lead_tasks_over(s.lead));
    value = 0.5;
    assert_true(gp_lead_tasks_did(s.lead, 106, 0, &value, 1));
    for (size_t i = 0; i < TASKS; i++) assert_int_equal(e.taken[i], 1);
    close_scene(&s);
}

static void who_cannot_do_a_task_or_brings_nonsense_costs_time_alone(void **state)
{
    (void)state;
    scene s;
    errands e;
    size_t own;
    open_scene(&s);
    begin_tasks(&s, &e, 100);
    ask_as(&s, 100, 1, 11);
    gp_message task = answer_to(&s, 100, 1);
    bring_as(&s, 101, 1, 12, &task, 0, GP_FLAG_FAILED);
    CHECK(strstr(s.said, "host:1 could not do an errand: it is given no more"), "fails", "%s", s.said);
    assert_int_equal(answer_to(&s, 101, 1).kind, GP_TAKEN);
    ask_as(&s, 101, 2, 21);
    task = answer_to(&s, 101, 2);
    assert_true(task.kind == GP_TASK && task.sequence == 0); // the same
    bring_as(&s, 102, 2, 22, &task, 77, 0);
    CHECK(strstr(s.said, "what the worker host:2 brings is no result of an errand"), "nonsense", "%s", s.said);
    assert_int_equal(answer_to(&s, 102, 2).kind, GP_TAKEN);
    assert_int_equal(e.taken[0], 0);
    ask_as(&s, 102, 3, 31);
    assert_int_equal(answer_to(&s, 102, 3).sequence, 0);
    const gp_message left = {.kind = GP_BYE, .flags = GP_FLAG_LAST, .worker = GP_ANY_WORKER};
    lead_hears(&s, 103, 3, &left);
    assert_true(gp_lead_tasks_own(s.lead, 103, &own) && own == 0);
    close_scene(&s);
}

static void a_task_that_nobody_comes_for_is_an_error_in_time(void **state)
{
    (void)state;
    scene s;
    errands e;
    advgp_error err = {0};
    double now = 100;
    advgp_status st = ADVGP_OK;
    open_scene(&s);
    begin_tasks(&s, &e, 100);
    for (; st == ADVGP_OK && now < 200; now += 0.25) st = gp_lead_on_tick(s.lead, now, &err);
    CHECK(st == ADVGP_ECLUSTER && now > 160 && now < 161, "nobody", "%s after %g s", err.text, now - 100);
    CHECK(strstr(s.said, "waiting for workers: 3 of 3 tasks are left"), "nobody", "%s", s.said);
    close_scene(&s);
}

// The other side: a task is done, its result asked with until it has arrived, and what nobody wants is dropped.
static void a_follower_brings_what_it_was_asked_for(void **state)
{
    (void)state;
    scene s;
    errands e;
    _Alignas(8) char bytes[1024];
    gp_message m;
    size_t line;
    open_scene(&s);
    begin_tasks(&s, &e, 100);
    for (size_t i = 0; i < TASKS; i++) {
        const double now = 100 + (double)i;
        assert_true(gp_follower_next(s.follower, now, &line, &m) && m.kind == GP_ASK);
        lead_hears(&s, now, 1, &m);
        m = answer_to(&s, now, 1);
        assert_int_equal(m.kind, GP_TASK);
        gp_message_encode(&m, bytes);
        gp_follower_on_bytes(s.follower, now, 0, bytes, gp_message_size(&m));
        assert_int_equal(gp_follower_state_of(s.follower), GP_FOLLOWER_TASKED);
        assert_true(gp_follower_sign(s.follower, 0, &m) && m.run[0] && gp_follower_heartbeat(s.follower) == 1);
        assert_true(gp_follower_task_wanted(s.follower));
        const double value = gp_follower_task(s.follower)->values[0] + 0.5;
        gp_follower_task_done(s.follower, now + 0.5, &value, 1);
    }
    for (int again = 0; again < 2; again++) { // it is lost once
        gp_follower_on_tick(s.follower, 105 + 2 * again);
        assert_true(gp_follower_next(s.follower, 105 + 2 * again, &line, &m) && m.n_values == 1);
    }
    lead_hears(&s, 107, 1, &m);
    assert_true(gp_lead_tasks_over(s.lead) && e.taken[TASKS - 1] == 1);
    m = answer_to(&s, 107, 1);
    assert_int_equal(m.kind, GP_TAKEN);
    gp_message_encode(&m, bytes);
    gp_follower_on_bytes(s.follower, 107, 0, bytes, gp_message_size(&m));
    gp_follower_on_tick(s.follower, 112);
    assert_true(gp_follower_next(s.follower, 112, &line, &m) && m.kind == GP_ASK && !m.n_values);
    gp_lead_tasks_forget(s.lead);
    begin_tasks(&s, &e, 113); // it has asked, and is answered at once
    m = answer_to(&s, 113, 1);
    assert_int_equal(m.kind, GP_TASK);
    gp_message_encode(&m, bytes);
    gp_follower_on_bytes(s.follower, 113, 0, bytes, gp_message_size(&m));
    gp_lead_tasks_end(s.lead, 114);
    m = answer_to(&s, 114, 1);
    assert_int_equal(m.kind, GP_BYE);
    gp_message_encode(&m, bytes);
    gp_follower_on_bytes(s.follower, 114, 0, bytes, gp_message_size(&m));
    assert_false(gp_follower_task_wanted(s.follower));
    gp_follower_task_done(s.follower, 114, NULL, 0);
    assert_true(gp_follower_next(s.follower, 114, &line, &m) && m.kind == GP_ASK && !m.n_values && !m.flags);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_is_given_again_to_the_same_question_and_taken_once),
        cmocka_unit_test(a_lost_workers_task_goes_to_the_next_who_asks),
        cmocka_unit_test(a_slow_workers_task_is_done_here_as_well),
        cmocka_unit_test(who_cannot_do_a_task_or_brings_nonsense_costs_time_alone),
        cmocka_unit_test(a_task_that_nobody_comes_for_is_an_error_in_time),
        cmocka_unit_test(a_follower_brings_what_it_was_asked_for),
        cmocka_unit_test(a_worker_of_another_version_is_told_so_at_once),
        cmocka_unit_test(a_worker_ends_where_the_lead_is_of_another_version),
        cmocka_unit_test(a_question_is_repeated_and_given_up),
        cmocka_unit_test(only_its_own_lead_sends_it_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
