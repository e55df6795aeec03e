// alloc_test.c: the door to the heap and its switches.
#include "fixture.h"

static void blocks_are_zeroed_and_start_on_a_cache_line(void **state)
{
    (void)state;
    for (size_t n = 0; n < 200; n += 7) {
        unsigned char *p = gp_alloc(n, 3);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t i = 0; i < 3 * n; i++) assert_int_equal(p[i], 0);
        memset(p, 0xff, 3 * n); // the next one must be zeroed again
        gp_free(p);
    }
    gp_free(NULL);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    assert_null(gp_alloc(SIZE_MAX, 1));
    assert_null(gp_alloc(SIZE_MAX, SIZE_MAX));
    assert_null(gp_alloc(SIZE_MAX / 8 + 2, 8));
    assert_null(gp_alloc((size_t)1 << 33, (size_t)1 << 33));
    void *p = gp_alloc(0, SIZE_MAX), *q = gp_alloc(SIZE_MAX, 0); // nothing, of any size
    assert_non_null(p);
    assert_non_null(q);
    gp_free(p), gp_free(q);
}

static void counters_follow_every_block(void **state)
{
    (void)state;
    const gp_alloc_counts before = gp_alloc_count();
    void *p = gp_alloc(1, 8), *q = gp_alloc(2, 8);
    gp_alloc_counts now = gp_alloc_count();
    assert_int_equal(now.calls - before.calls, 2);
    assert_int_equal(now.live - before.live, 2);
    assert_int_equal(now.bytes - before.bytes, 2 * 64);
    gp_free(p), gp_free(q), gp_free(NULL);
    now = gp_alloc_count();
    assert_int_equal(now.live, before.live);
    assert_int_equal(now.refused, before.refused);
}

static void fail_after_lets_exactly_so_many_pass(void **state)
{
    (void)state;
    for (long passes = 0; passes < 4; passes++) {
        void *p[6];
        const long refused = gp_alloc_count().refused;
        gp_alloc_fail_after(passes);
        for (long i = 0; i < 6; i++) p[i] = gp_alloc(1, 8);
        gp_alloc_fail_after(-1);
        for (long i = 0; i < 6; i++) {
            assert_int_equal(p[i] != NULL, i < passes);
            gp_free(p[i]);
        }
        assert_int_equal(gp_alloc_count().refused - refused, 6 - passes);
    }
    void *p = gp_alloc(1, 8);
    assert_non_null(p);
    gp_free(p);
}

static void freezing_refuses_all_until_thawed(void **state)
{
    (void)state;
    void *before = gp_alloc(1, 8);
    gp_alloc_freeze(true);
    assert_null(gp_alloc(1, 8));
    gp_free(before); // freeing is allowed
    gp_alloc_freeze(false);
    void *p = gp_alloc(1, 8);
    assert_non_null(p);
    gp_free(p);
}

static void an_arena_measures_and_cuts_alike(void **state)
{
    (void)state;
    gp_arena arena = {0};
    char *base = NULL;
    char *pieces[2][4];
    for (int round = 0; round < 2; round++) {
        pieces[round][0] = gp_arena_bytes(&arena, 5, 3);
        pieces[round][1] = (char *)gp_arena_doubles(&arena, 9);
        pieces[round][2] = gp_arena_bytes(&arena, 0, 8);
        pieces[round][3] = (char *)gp_arena_doubles(&arena, 1);
        assert_false(arena.overflowed);
        if (round == 0) {
            assert_int_equal(arena.used, 64 + 128 + 0 + 64);
            for (int i = 0; i < 4; i++) assert_null(pieces[0][i]);
            base = gp_alloc(1, arena.used);
            arena = (gp_arena){.base = base};
        }
    }
    assert_ptr_equal(pieces[1][0], base);
    assert_ptr_equal(pieces[1][1], base + 64);
    assert_ptr_equal(pieces[1][3], base + 192);
    gp_free(base);
}

static void an_arena_that_overflows_says_so(void **state)
{
    (void)state;
    gp_arena arena = {0};
    (void)gp_arena_doubles(&arena, SIZE_MAX / 4);
    assert_true(arena.overflowed);
    arena = (gp_arena){0};
    for (int i = 0; i < 3; i++) (void)gp_arena_bytes(&arena, SIZE_MAX / 5, 1);
    assert_true(arena.overflowed); // each fits, their sum does not
}

static void an_array_grows_keeps_what_it_has_and_zeroes_the_rest(void **state)
{
    (void)state;
    int *numbers = NULL;
    size_t room = 0;
    long moved = 0;
    for (size_t n = 0; n < 1000; n++) {
        const size_t before = room;
        assert_true(gp_grow(&numbers, &room, n, n + 1, sizeof *numbers));
        moved += room != before;
        assert_int_equal(numbers[n], 0);
        numbers[n] = (int)n;
    }
    for (size_t n = 0; n < 1000; n++) assert_int_equal(numbers[n], n);
    assert_true(moved < 10); // it doubles
    const int *was = numbers;
    const size_t had = room;
    gp_alloc_fail_after(0);
    assert_false(gp_grow(&numbers, &room, 1000, room + 1, sizeof *numbers));
    assert_true(gp_grow(&numbers, &room, 1000, room, sizeof *numbers)); // there is room
    gp_alloc_fail_after(-1);
    assert_false(gp_grow(&numbers, &room, 1000, SIZE_MAX, sizeof *numbers));
    assert_true(numbers == was && room == had);
    assert_true(gp_grow(&numbers, &room, 1000, 5000, sizeof *numbers));
    assert_true(room >= 5000 && numbers[999] == 999 && numbers[4999] == 0);
    gp_free(numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_grows_keeps_what_it_has_and_zeroes_the_rest),
        cmocka_unit_test(blocks_are_zeroed_and_start_on_a_cache_line),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(counters_follow_every_block),
        cmocka_unit_test(fail_after_lets_exactly_so_many_pass),
        cmocka_unit_test(freezing_refuses_all_until_thawed),
        cmocka_unit_test(an_arena_measures_and_cuts_alike),
        cmocka_unit_test(an_arena_that_overflows_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
