// lead_test.c: the machines of lead and follower, told things and the time without any process or clock: what whole
// trainings do is asked by tests/sim_trainings.c; here are the words that only they can hear.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_of_another_version_is_told_so_at_once),
        cmocka_unit_test(a_worker_ends_where_the_lead_is_of_another_version),
        cmocka_unit_test(a_question_is_repeated_and_given_up),
        cmocka_unit_test(only_its_own_lead_sends_it_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
