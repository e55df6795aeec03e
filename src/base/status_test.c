// status_test.c: names, texts and the record of a failure.
#include "base/alloc.h"
#include "fixture.h"

static void every_status_has_a_name_and_a_text(void **state)
{
    (void)state;
#define X(name, text)                                            \
    assert_string_equal(advgp_status_name(ADVGP_##name), #name); \
    assert_string_equal(advgp_status_text(ADVGP_##name), text);
    ADVGP_STATUS_LIST(X)
#undef X
    assert_int_equal(ADVGP_OK, 0);
    assert_string_equal(advgp_status_name((advgp_status)-1), "?");
    assert_string_equal(advgp_status_name((advgp_status)1000), "?");
    assert_string_equal(advgp_status_text((advgp_status)1000), "unknown status");
    assert_true(strlen(advgp_version()) >= 5);
}

static void a_failure_keeps_status_and_text(void **state)
{
    (void)state;
    advgp_error err = {0};
    assert_int_equal(gp_fail(&err, ADVGP_EDATA, "row %d of %s", 7, "table"), ADVGP_EDATA);
    assert_int_equal(err.status, ADVGP_EDATA);
    assert_string_equal(err.text, "row 7 of table");
    assert_int_equal(gp_wrap(&err, ADVGP_EDATA, "component %d", 2), ADVGP_EDATA);
    assert_string_equal(err.text, "component 2: row 7 of table");
    assert_int_equal(gp_fail(NULL, ADVGP_EIO, "no record"), ADVGP_EIO);
    assert_int_equal(gp_wrap(NULL, ADVGP_EIO, "no record"), ADVGP_EIO);
}

static void memory_that_was_refused_is_named(void **state)
{
    (void)state;
    advgp_error err = {0};
    gp_alloc_fail_after(0);
    assert_null(gp_alloc(3, 500000000));
    gp_alloc_fail_after(-1);
    assert_int_equal(gp_no_memory(&err), ADVGP_ENOMEM);
    assert_int_equal(err.status, ADVGP_ENOMEM);
    assert_string_equal(err.text, "out of memory: 1.5 GB could not be allocated");
    assert_int_equal(gp_no_memory(&err), ADVGP_ENOMEM); // of another's heap: nothing is known
    assert_string_equal(err.text, "out of memory");
    assert_int_equal(gp_no_memory(NULL), ADVGP_ENOMEM);
}

// Text and context of every length: cut, never overrun, and the cause is kept where there is no room for context.
static void long_texts_are_cut(void **state)
{
    (void)state;
    char text[600], context[600];
    memset(text, 'x', sizeof text), memset(context, 'c', sizeof context);
    for (int n = 0; n < 600; n += 13)
        for (int k = 0; k < 600; k += 7) {
            struct {
                advgp_error err;
                char guard[8];
            } box;
            memset(&box, 0x5a, sizeof box);
            (void)gp_fail(&box.err, ADVGP_EIO, "%.*s", n, text);
            const size_t used = strlen(box.err.text);
            assert_int_equal(used, n < 511 ? n : 511);
            (void)gp_wrap(&box.err, ADVGP_EIO, "%.*s", k, context);
            const size_t now = strlen(box.err.text);
            assert_true(now < sizeof box.err.text);
            if (k + 2 < 510) {
                assert_int_equal(now, used + (size_t)k + 2 < 511 ? used + (size_t)k + 2 : 511);
                assert_memory_equal(box.err.text, context, (size_t)k);
                assert_memory_equal(box.err.text + k, ": ", 2);
            }
            assert_memory_equal(box.guard, "\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a", 8);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_name_and_a_text),
        cmocka_unit_test(a_failure_keeps_status_and_text),
        cmocka_unit_test(memory_that_was_refused_is_named),
        cmocka_unit_test(long_texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
