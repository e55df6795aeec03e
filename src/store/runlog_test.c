// runlog_test.c: logs are read up to the last whole line, resumed behind it, and refused where they are no logs.
#include "store/runlog.h"

#include "base/alloc.h"
#include "store/scratch_test.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static advgp_status write_log(const char *path, int n_events, advgp_error *err)
{
    json_t *manifest = json_pack("{s:s}", "version", "0.1.0");
    gp_runlog *log = NULL;
    advgp_status st = manifest ? gp_runlog_create(path, manifest, &log, err) : ADVGP_ENOMEM;
    for (int i = 0; st == ADVGP_OK && i < n_events; i++)
        st = gp_runlog_event_take(log, "eval", json_pack("{s:i, s:o}", "version", i, "rmse", gp_json_real(0.1 * i)),
                                  err);
    gp_runlog_close(log);
    json_decref(manifest);
    return st;
}

// Events up to the end, or -1 and the message.
static int count_events(const char *path, bool *cut, advgp_error *err)
{
    gp_runlog_reader *reader;
    if (gp_runlog_open(path, &reader, err) != ADVGP_OK) return -1;
    int n = 0;
    json_t *event;
    advgp_status st;
    while ((st = gp_runlog_next(reader, &event, err)) == ADVGP_OK && event) {
        n++;
        json_decref(event);
    }
    if (!json_object_get(gp_runlog_manifest(reader), "event")) n = -1;
    *cut = gp_runlog_was_cut(reader);
    gp_runlog_reader_close(reader);
    return st == ADVGP_OK ? n : -1;
}

static void lines_are_whole_and_start_with_the_event(void **state)
{
    (void)state;
    const char *path = scratch_path("run.jsonl");
    assert_int_equal(write_log(path, 2, NULL), ADVGP_OK);
    char text[1000] = "";
    text[scratch_load(path, text, sizeof text - 1)] = 0;
    assert_string_equal(text, "{\"event\":\"manifest\",\"version\":\"0.1.0\"}\n"
                              "{\"event\":\"eval\",\"version\":0,\"rmse\":0.0}\n"
                              "{\"event\":\"eval\",\"version\":1,\"rmse\":0.10000000000000001}\n");
    unlink(path);
}

static void a_log_cut_anywhere_is_read_to_its_last_whole_line(void **state)
{
    (void)state;
    const char *path = scratch_path("run.jsonl");
    assert_int_equal(write_log(path, 3, NULL), ADVGP_OK);
    char text[1000];
    size_t n = scratch_load(path, text, sizeof text);
    for (size_t length = 0; length <= n; length++) {
        int newlines = 0;
        for (size_t i = 0; i < length; i++) newlines += text[i] == '\n';
        scratch_save(path, text, length);
        bool cut = false;
        advgp_error err = {0};
        assert_int_equal(count_events(path, &cut, &err), newlines - 1);
        if (newlines == 0) assert_int_equal(err.status, ADVGP_EFILE);
        if (newlines > 0) assert_int_equal(cut, text[length - 1] != '\n');
    }
    unlink(path);
}

static void a_resumed_log_goes_on_behind_the_last_whole_line(void **state)
{
    (void)state;
    const char *path = scratch_path("run.jsonl");
    assert_int_equal(write_log(path, 2, NULL), ADVGP_OK);
    FILE *file = fopen(path, "ab");
    fputs("{\"event\":\"eval\",\"ver", file);
    fclose(file);
    gp_runlog *log;
    assert_int_equal(gp_runlog_append(path, &log, NULL), ADVGP_OK);
    assert_int_equal(gp_runlog_event_take(log, "done", json_object(), NULL), ADVGP_OK);
    gp_runlog_close(log);
    bool cut = true;
    assert_int_equal(count_events(path, &cut, NULL), 3);
    assert_false(cut);

    scratch_save(path, "some other file", 15); // is not cut by mistake
    advgp_error err = {0};
    assert_int_equal(gp_runlog_append(path, &log, &err), ADVGP_EFILE);
    assert_null(log);
    char text[100];
    assert_int_equal(scratch_load(path, text, sizeof text), 15);
    unlink(path);
}

static void bad_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", " does not begin with a manifest: not the log of a run"},
        {"{\"event\":\"eval\"}\n", " does not begin with a manifest: not the log of a run"},
        {"a,b,c\n1,2,3\n", ":1: '[' or '{' expected near 'a'"},
        {"[1]\n", ":1: no object with an event"},
        {"{\"event\":\"manifest\"}\n{\"event\":\n{}\n", ":2: unexpected token near end of file"},
        {"{\"event\":\"manifest\"}\n\n", ":2: '[' or '{' expected near end of file"},
        {"{\"event\":\"manifest\"}\n{\"event\":1}\n", ":2: no object with an event"},
        {"{\"event\":\"manifest\"}\n{\"event\":\"x\",\"event\":\"y\"}\n", ":2: duplicate object key near"},
    };
    const char *path = scratch_path("run.jsonl");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_save(path, cases[i].text, strlen(cases[i].text));
        advgp_error err = {0};
        bool cut;
        assert_int_equal(count_events(path, &cut, &err), -1);
        assert_int_equal(err.status, ADVGP_EFILE);
        if (!strstr(err.text, cases[i].message)) fail_msg("'%s' lacks '%s'", err.text, cases[i].message);
    }
    unlink(path);
    advgp_error err = {0};
    gp_runlog_reader *reader;
    assert_int_equal(gp_runlog_open("no/such.jsonl", &reader, &err), ADVGP_EDATA);
    assert_string_equal(err.text, "cannot open the log no/such.jsonl: No such file or directory");
    assert_int_equal(gp_runlog_open(".", &reader, &err), ADVGP_EDATA);
    assert_int_equal(write_log("no/such/run.jsonl", 0, &err), ADVGP_EIO);
    assert_string_equal(err.text, "cannot open the log no/such/run.jsonl: No such file or directory");
}

static void a_full_disk_keeps_the_lines_that_fitted(void **state)
{
    (void)state;
    const char *path = scratch_path("run.jsonl");
    for (rlim_t limit = 40; limit < 150; limit += 7) {
        scratch_limit(limit);
        advgp_error err = {0};
        advgp_status st = write_log(path, 10, &err);
        scratch_limit(RLIM_INFINITY);
        assert_int_equal(st, ADVGP_EIO);
        assert_non_null(strstr(err.text, "File too large"));
        bool cut = true;
        assert_true(count_events(path, &cut, NULL) >= 0);
        assert_false(cut);
    }
    unlink(path);
}

static void *one_block(size_t n)
{
    return gp_alloc(n, 1);
}

// Writing: Jansson's heap goes through ours here, so that it fails in turn too. Not so while reading: Jansson 2.14
// asserts that its lexer never lacks memory.
static void memory_may_end_at_any_call(void **state)
{
    (void)state;
    const char *path = scratch_path("run.jsonl");
    advgp_status written = ADVGP_ENOMEM;
    json_set_alloc_funcs(one_block, gp_free);
    for (long calls = 0; written != ADVGP_OK && calls < 1000; calls++) {
        long live = gp_alloc_count().live;
        gp_alloc_fail_after(calls);
        written = write_log(path, 2, NULL);
        gp_alloc_fail_after(-1);
        assert_true(written == ADVGP_OK || written == ADVGP_ENOMEM);
        assert_int_equal(gp_alloc_count().live, live);
    }
    assert_int_equal(written, ADVGP_OK);
    json_set_alloc_funcs(malloc, free);
    assert_true(json_is_null(gp_json_real(NAN)));

    int n = -1;
    for (long calls = 0; n < 0 && calls < 1000; calls++) {
        long live = gp_alloc_count().live;
        bool cut;
        advgp_error err = {0};
        gp_alloc_fail_after(calls);
        n = count_events(path, &cut, &err);
        gp_alloc_fail_after(-1);
        if (n < 0) assert_int_equal(err.status, ADVGP_ENOMEM);
        assert_int_equal(gp_alloc_count().live, live);
    }
    assert_int_equal(n, 2);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_whole_and_start_with_the_event),
        cmocka_unit_test(a_log_cut_anywhere_is_read_to_its_last_whole_line),
        cmocka_unit_test(a_resumed_log_goes_on_behind_the_last_whole_line),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(a_full_disk_keeps_the_lines_that_fitted),
        cmocka_unit_test(memory_may_end_at_any_call),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
