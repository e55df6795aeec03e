// text_test.c: growing text, numbers in any locale, UTF-8, text made safe to print, and how far words are apart.
#include "base/text.h"

#include "base/alloc.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void text_grows_and_ends_with_a_zero(void **state)
{
    (void)state;
    gp_buffer t = {0};
    for (int i = 0; i < 1000; i++) gp_buffer_add(&t, "%d,", i);
    gp_buffer_bytes(&t, "end", 3);
    assert_false(t.failed);
    assert_int_equal(t.n, strlen(t.p));
    assert_memory_equal(t.p, "0,1,2,", 6);
    assert_string_equal(t.p + t.n - 7, "999,end");
    gp_buffer_fini(&t);
}

static void a_failed_allocation_sticks(void **state)
{
    (void)state;
    gp_buffer t = {0};
    gp_buffer_add(&t, "kept");
    gp_alloc_fail_after(0);
    for (int i = 0; i < 100; i++) gp_buffer_add(&t, "%050d", i);
    gp_alloc_fail_after(-1);
    gp_buffer_add(&t, "late");
    assert_true(t.failed);
    assert_null(strstr(t.p, "late"));
    gp_buffer_fini(&t);
}

static void numbers_are_read_whole_or_not_at_all(void **state)
{
    (void)state;
    static const char *const bad[] = {"",   " 1",  "1 ", "1,5", "nan", "inf",   "0x10", "1e999",
                                      "1e", "--1", "+",  ".",   "e5",  "1.2.3", "1-2"};
    double x = 7;
    int64_t k = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (gp_text_real(bad[i], &x) || gp_text_integer(bad[i], &k)) fail_msg("'%s' was taken for a number", bad[i]);
    }
    assert_true(x == 7 && k == 7);
    assert_true(gp_text_real("-2.5e-1", &x) && x == -0.25);
    assert_true(gp_text_integer("-9223372036854775808", &k) && k == INT64_MIN);
    assert_false(gp_text_integer("9223372036854775808", &k));
    assert_false(gp_text_integer("1.5", &k));
}

static void a_decimal_comma_of_the_host_changes_nothing(void **state)
{
    (void)state;
    static const char *const with_comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR", "nl_NL.UTF-8"};
    const char *set = NULL;
    for (size_t i = 0; i < sizeof with_comma / sizeof *with_comma && !set; i++) set = setlocale(LC_ALL, with_comma[i]);
    if (!set) print_message("no locale with a decimal comma is installed: checked in the C locale only\n");
    double x = 0;
    assert_true(gp_text_real("0.5", &x) && x == 0.5);
    setlocale(LC_ALL, "C");
}

static void utf8_is_told_from_other_bytes(void **state)
{
    (void)state;
    assert_true(gp_text_is_utf8("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 17));
    static const char *const bad[] = {
        "\x80", "\xc3",     "\xc0\xaf",         "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xff", "\xe2\x82", "\xf0\x80\x80\x80", "\xc3\x28"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (gp_text_is_utf8(bad[i], strlen(bad[i]))) fail_msg("bad sequence %zu was accepted", i);
}

static void distance_counts_single_slips(void **state)
{
    (void)state;
    assert_int_equal(gp_text_distance("kernel", "kernel"), 0);
    assert_int_equal(gp_text_distance("kernal", "kernel"), 1);
    assert_int_equal(gp_text_distance("kenrel", "kernel"), 1); // a swap is one slip
    assert_int_equal(gp_text_distance("kerne", "kernel"), 1);
    assert_int_equal(gp_text_distance("feat", "features"), 1); // a beginning
    assert_int_equal(gp_text_distance("", "abc"), 3);
    assert_int_equal(gp_text_distance("kitten", "sitting"), 3);
    char endless[1000];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    assert_true(gp_text_distance(endless, "abc") <= 47);
}

static void what_a_terminal_would_obey_is_written_out(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"plain, caf\xc3\xa9 and \xe2\x82\xac 5 \\ %", "plain, caf\xc3\xa9 and \xe2\x82\xac 5 \\ %"},
        {"\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"},
        {"two\nlines\r\tand\x7f", "two\\nlines\\r\\tand\\x7f"},
        {"\xc2\x9b"
         "2J is CSI too",
         "\\u009b2J is CSI too"},
        {"read \xe2\x80\xaeright to left", "read \\u202eright to left"},
        {"half \xe2\x82", "half \\xe2\\x82"},
        {"\xff\xc0\xaf", "\\xff\\xc0\\xaf"},
    };
    char out[80];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = gp_text_printable(out, sizeof out, cases[i][0], strlen(cases[i][0]));
        assert_string_equal(out, cases[i][1]);
        assert_int_equal(n, strlen(out));
        gp_buffer t = {0};
        gp_buffer_printable(&t, cases[i][0], strlen(cases[i][0]), false);
        assert_string_equal(t.p, cases[i][1]);
        gp_buffer_fini(&t);
    }
    gp_buffer page = {0};
    gp_buffer_printable(&page, "a\nb\x1b\n", 5, true);
    assert_string_equal(page.p, "a\nb\\x1b\n");
    gp_buffer_fini(&page);
    for (size_t room = 1; room < 12; room++) { // cut between what is whole
        const size_t n = gp_text_printable(out, room, "a\x1b\xe2\x82\xac", 5);
        assert_int_equal(n, room < 2 ? 0 : room < 6 ? 1 : room < 9 ? 5 : 8);
    }
    assert_int_equal(gp_text_printable(out, 0, "a", 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows_and_ends_with_a_zero),
        cmocka_unit_test(a_failed_allocation_sticks),
        cmocka_unit_test(numbers_are_read_whole_or_not_at_all),
        cmocka_unit_test(what_a_terminal_would_obey_is_written_out),
        cmocka_unit_test(a_decimal_comma_of_the_host_changes_nothing),
        cmocka_unit_test(utf8_is_told_from_other_bytes),
        cmocka_unit_test(distance_counts_single_slips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
