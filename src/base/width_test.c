// width_test.c: columns, not bytes: accents, wide characters, and text that is broken into lines.
#include "base/width.h"
#include "fixture.h"

static size_t width(const char *text)
{
    return gp_text_width(text, strlen(text));
}

static void characters_have_their_columns(void **state)
{
    (void)state;
    assert_int_equal(width(""), 0);
    assert_int_equal(width("plain"), 5);
    assert_int_equal(width("21 \u00b0C"), 5);      // a degree sign has two bytes and one column
    assert_int_equal(width("e\u0301te\u0301"), 3); // combining accents have none
    assert_int_equal(width("\u6e29\u5ea6"), 4);    // two wide characters
    assert_int_equal(width("\xff\xfe"), 2);        // no UTF-8: a column a byte
    assert_int_equal(gp_text_fitting("\u6e29\u5ea6x", 7, 3), 3);
    assert_int_equal(gp_text_fitting("e\u0301x", 4, 1), 3); // the accent stays with its letter
    assert_int_equal(gp_text_fitting("abc", 3, 9), 3);
}

static void check_cell(const char *text, size_t columns, gp_align align, const char *expected)
{
    gp_buffer out = {0};
    gp_buffer_cell(&out, text, columns, align);
    assert_string_equal(out.p ? out.p : "", expected);
    assert_int_equal(gp_text_width(out.p ? out.p : "", out.n), columns);
    gp_buffer_fini(&out);
}

static void a_cell_has_its_width(void **state)
{
    (void)state;
    check_cell("ab", 4, GP_LEFT, "ab  ");
    check_cell("ab", 4, GP_RIGHT, "  ab");
    check_cell("abcde", 4, GP_LEFT, "abc\u2026");
    check_cell("\u00b0C", 4, GP_RIGHT, "  \u00b0C");
    check_cell("\u6e29\u5ea6\u8a08", 4, GP_LEFT, "\u6e29\u2026 "); // half of a character is no character
    check_cell("a\nb", 5, GP_LEFT, "a\\nb ");
    check_cell("abc", 0, GP_LEFT, "");
}

static void lines_are_broken_between_words(void **state)
{
    (void)state;
    gp_buffer out = {0};
    gp_buffer_add(&out, "-x  ");
    gp_buffer_wrapped(&out, "one two  three\nfour averyveryverylongword", 4, 12);
    assert_string_equal(out.p, "-x  one two\n    three\n    four\n    averyveryverylongword");
    gp_buffer_fini(&out);
    out = (gp_buffer){0};
    gp_buffer_wrapped(&out, "one two three four", 4, 0);
    assert_string_equal(out.p, "one two three four");
    gp_buffer_fini(&out);
}

static void check_folded(const char *page, size_t columns, const char *expected)
{
    gp_buffer out = {0};
    gp_buffer_folded(&out, page, strlen(page), columns);
    assert_string_equal(out.p ? out.p : "", expected);
    gp_buffer_fini(&out);
}

static void long_lines_go_on_further_in(void **state)
{
    (void)state;
    check_folded("a  b\n", 10, "a  b\n"); // as it is, blanks and all
    check_folded("  one two three four\nx", 11, "  one two\n    three\n    four\nx");
    check_folded("aaaaaaaaaa bb", 4, "aaaa\n  aa\n  aa\n  aa\n  bb");
    check_folded("one two", 3, "one\n tw\n o");
    check_folded("one two three", 0, "one two three");
    check_folded("\n\n", 5, "\n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_have_their_columns),
        cmocka_unit_test(a_cell_has_its_width),
        cmocka_unit_test(lines_are_broken_between_words),
        cmocka_unit_test(long_lines_go_on_further_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
