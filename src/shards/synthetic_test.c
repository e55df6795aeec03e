// synthetic_test.c: rows out of a seed: the same in pieces and for everyone who opens them, standardised, held out as
// others are; a text that means none is refused.
#include "shards/synthetic.h"

#include "base/alloc.h"
#include "fixture.h"

#include <math.h>

enum { ROWS = 20000, PIECE = 137 };

static gp_shards *open_rows(const char *text)
{
    advgp_error err = {0};
    gp_shards *s = NULL;
    CHECK_OK(gp_synthetic_open(text, &s, NULL, &err), text);
    return s;
}

static void rows_are_the_same_in_pieces(void **state)
{
    (void)state;
    advgp_error err = {0};
    gp_shards *a = open_rows("synthetic:trips?rows=2e4&seed=7"), *b = open_rows("synthetic:trips?rows=2e4&seed=7");
    size_t total = 0;
    double sum = 0, squares = 0;
    assert_true(gp_synthetic_fingerprint(a) == gp_synthetic_fingerprint(b));
    for (size_t k = 0; k < a->n_train + 2; k++) {
        const size_t n = a->rows[k];
        double *X = gp_alloc(n * a->d, sizeof *X), *y = gp_alloc(n, sizeof *y), piece[PIECE * 16], targets[PIECE];
        CHECK_OK(gp_shards_read(a, k, 0, n, X, y, NULL, &err), "whole");
        for (size_t first = 0; first < n; first += PIECE) {
            const size_t m = n - first < PIECE ? n - first : PIECE;
            CHECK_OK(gp_shards_read(b, k, first, m, piece, targets, NULL, &err), "a piece");
            assert_memory_equal(piece, X + first * a->d, m * a->d * sizeof *X);
            assert_memory_equal(targets, y + first, m * sizeof *y);
        }
        for (size_t i = 0; i < n; i++) sum += y[i], squares += y[i] * y[i];
        total += n;
        gp_free(X);
        gp_free(y);
    }
    assert_int_equal(total, ROWS);
    assert_int_equal(gp_shards_rows(a, GP_STOP) + gp_shards_rows(a, GP_CALIBRATE), ROWS / 20);
    CHECK_CLOSE(1 + sum / ROWS, 1, 1e-9, "the schema was fitted to all of these rows");
    CHECK_CLOSE(squares / ROWS, 1, 1e-3, "variance");
    gp_shards_free(a);
    gp_shards_free(b);
}

static void no_row_is_in_two_shards(void **state)
{
    (void)state;
    advgp_error err = {0};
    gp_shards *s = open_rows("synthetic:trips?seed=3&rows=1000");
    double X[16], y, before = INFINITY;
    for (size_t k = 0; k < s->n_train + 2; k++) {
        CHECK_OK(gp_shards_read(s, k, s->rows[k] - 1, 1, X, &y, NULL, &err), "the last row");
        assert_true(y != before);
        CHECK_OK(gp_shards_read(s, k, 0, 1, X, &before, NULL, &err), "the first row");
        assert_true(y != before);
        before = y;
    }
    gp_shards_free(s);
}

static void a_text_that_means_none_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"synthetic:",           "synthetic:planes",           "synthetic:trips?rows=10",
                                      "synthetic:trips?rows", "synthetic:trips?rows=1e5.5", "synthetic:trips?rows=-1",
                                      "synthetic:trips?x=1e4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gp_shards *s = NULL;
        advgp_error err = {0};
        assert_true(gp_synthetic_is(bad[i]));
        CHECK_FAILS(ADVGP_EINVAL, gp_synthetic_open(bad[i], &s, NULL, &err), "synthetic:trips?rows=N&seed=S");
    }
    assert_false(gp_synthetic_is("trips.csv"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_same_in_pieces),
        cmocka_unit_test(no_row_is_in_two_shards),
        cmocka_unit_test(a_text_that_means_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
