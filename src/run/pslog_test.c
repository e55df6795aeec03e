// pslog_test.c: every kind of event goes into a line and comes back; what cannot be is refused by name.
#include "fixture.h"
#include "run/pslog.h"

static json_t *line_of(const gp_ps_event *event)
{
    json_t *fields = gp_pslog_fields(event);
    assert_non_null(fields);
    json_object_set_new(fields, "event", json_string(gp_pslog_name(event->kind)));
    char *text = json_dumps(fields, JSON_COMPACT); // as the file has it
    json_decref(fields);
    json_t *line = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(line);
    return line;
}

static gp_pslog_line round_trip(const gp_ps_event *event)
{
    advgp_error err = {0};
    gp_pslog_line back;
    bool ours = false;
    json_t *line = line_of(event);
    CHECK_OK(gp_pslog_read(line, &back, &ours, &err), gp_pslog_name(event->kind));
    assert_true(ours);
    assert_int_equal(back.kind, event->kind);
    json_decref(line);
    return back;
}

static void whoever_comes_asks_or_goes_has_a_line(void **state)
{
    (void)state;
    const gp_ps_event_kind kinds[] = {GP_EVENT_JOINED, GP_EVENT_LOST, GP_EVENT_PULL, GP_EVENT_AGAIN};
    for (size_t i = 0; i < 4; i++) {
        const gp_ps_event e = {.kind = kinds[i], .worker = 4095, .incarnation = UINT32_MAX};
        const gp_pslog_line back = round_trip(&e);
        assert_int_equal(back.worker, 4095);
        assert_int_equal(back.incarnation, UINT32_MAX);
    }
    (void)round_trip(&(gp_ps_event){.kind = GP_EVENT_BEGUN});
}

static void a_shard_that_moves_has_a_line(void **state)
{
    (void)state;
    const gp_ps_event e = {.kind = GP_EVENT_MOVED, .shard = 7, .from = GP_NOBODY, .worker = 3};
    json_t *line = line_of(&e);
    assert_int_equal(json_integer_value(json_object_get(line, "shard")), 7);
    assert_true(json_is_null(json_object_get(line, "from")));
    assert_int_equal(json_integer_value(json_object_get(line, "to")), 3);
    json_decref(line);
    (void)round_trip(&e);
    (void)round_trip(&(gp_ps_event){.kind = GP_EVENT_MOVED, .shard = 7, .from = 2, .worker = GP_NOBODY});
}

static void a_push_has_a_line(void **state)
{
    (void)state;
    const uint32_t shards[] = {0, 1, 2, 5, 8, 9};
    gp_message push = {.kind = GP_PUSH,
                       .flags = GP_FLAG_FULL,
                       .worker = 3,
                       .incarnation = 2,
                       .sequence = UINT64_C(1) << 40,
                       .version = 77,
                       .rows = 5,
                       .n_shards = 6,
                       .shards = shards};
    for (unsigned i = 0; i < 8; i++) {
        push.flags = (i & 1 ? 0 : GP_FLAG_FULL) | (i & 2 ? GP_FLAG_FAILED : 0u);
        const gp_ps_event e = {
            .kind = GP_EVENT_PUSH, .worker = 3, .push = &push, .dropped = i & 4 ? "it is too old" : NULL};
        const gp_pslog_line back = round_trip(&e);
        assert_int_equal(back.worker, 3);
        assert_int_equal(back.incarnation, 2);
        assert_int_equal(back.sequence, UINT64_C(1) << 40);
        assert_int_equal(back.version, 77);
        assert_int_equal(back.shards, gp_pslog_shards(6, shards));
        assert_int_not_equal(back.shards, gp_pslog_shards(5, shards));
        assert_int_equal(back.filtered, i & 1);
        assert_int_equal(back.failed, (i & 2) != 0);
        assert_int_equal(back.dropped, (i & 4) != 0);
        json_t *line = line_of(&e);
        assert_string_equal(json_string_value(json_object_get(line, "shards")), "0-2,5,8-9");
        json_decref(line);
    }
}

static void a_version_has_a_line(void **state)
{
    (void)state;
    const gp_used_push used[] = {{0, 4, 9}, {2, 5, 10}};
    for (unsigned i = 0; i < 4; i++) {
        const gp_ps_event e = {.kind = GP_EVENT_ADVANCE,
                               .version = 11,
                               .n_used = 2,
                               .used = used,
                               .age = 0.5,
                               .shrink = 0.25,
                               .value = i & 2 ? NAN : 1.5, // what was rolled back may have been anything
                               .held = i & 1,
                               .rolled_back = i & 2 ? "the bound is not finite" : NULL};
        const gp_pslog_line back = round_trip(&e);
        assert_int_equal(back.version, 11);
        assert_int_equal(back.held, i & 1);
        assert_int_equal(back.rolled_back, (i & 2) != 0);
        json_t *line = line_of(&e);
        const json_t *list = json_object_get(line, "used");
        assert_int_equal(json_array_size(list), 2);
        assert_int_equal(json_integer_value(json_array_get(json_array_get(list, 1), 2)), 10);
        json_decref(line);
    }
}

static void a_collection_has_lines(void **state)
{
    (void)state;
    const gp_pslog_line back = round_trip(&(gp_ps_event){.kind = GP_EVENT_COLLECT,
                                                         .version = 12,
                                                         .flags = GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS,
                                                         .rows = UINT64_C(1) << 50});
    assert_int_equal(back.version, 12);
    assert_int_equal(back.flags, GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS);
    assert_int_equal(back.rows, UINT64_C(1) << 50);
    assert_int_equal(round_trip(&(gp_ps_event){.kind = GP_EVENT_COLLECTED, .version = 12}).version, 12);
}

static void what_cannot_be_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names; // NULL: not of the server
    } cases[] = {
        {"{\"event\": \"eval\", \"version\": \"x\"}", NULL},
        {"{\"event\": \"done\"}", NULL},
        {"{\"event\": 3}", NULL},
        {"{}", NULL},
        {"[]", NULL},
        {"{\"event\": \"peer_joined\"}", "worker"},
        {"{\"event\": \"peer_joined\", \"worker\": 70000, \"incarnation\": 1}", "worker"},
        {"{\"event\": \"pull\", \"worker\": 1}", "incarnation"},
        {"{\"event\": \"peer_lost\", \"worker\": -1, \"incarnation\": 1}", "worker"},
        {"{\"event\": \"peer_lost\", \"worker\": 1, \"incarnation\": 4294967296}", "incarnation"},
        {"{\"event\": \"push\", \"worker\": 1, \"incarnation\": 1, \"sequence\": \"2\", \"version\": 1}", "sequence"},
        {"{\"event\": \"push\", \"worker\": 1, \"incarnation\": 1, \"sequence\": 2, \"version\": 1.5}", "version"},
        {"{\"event\": \"push\", \"worker\": 1, \"incarnation\": 1, \"sequence\": 2, \"version\": 1}", "shards"},
        {"{\"event\": \"advance\", \"version\": null}", "version"},
        {"{\"event\": \"collect\", \"version\": 1, \"flags\": 256, \"rows\": 0}", "flags"},
        {"{\"event\": \"collect\", \"version\": 1, \"flags\": 0, \"rows\": -1}", "rows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        advgp_error err = {0};
        gp_pslog_line back;
        bool ours = true;
        json_t *line = json_loads(cases[i].text, 0, NULL);
        const advgp_status st = gp_pslog_read(line, &back, &ours, &err);
        assert_int_equal(st, cases[i].names ? ADVGP_EFILE : ADVGP_OK);
        assert_int_equal(ours, cases[i].names != NULL);
        if (cases[i].names && !strstr(err.text, cases[i].names)) fail_msg("%s: %s", cases[i].text, err.text);
        json_decref(line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_comes_asks_or_goes_has_a_line),
        cmocka_unit_test(a_shard_that_moves_has_a_line),
        cmocka_unit_test(a_push_has_a_line),
        cmocka_unit_test(a_version_has_a_line),
        cmocka_unit_test(a_collection_has_lines),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
