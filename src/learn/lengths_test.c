// lengths_test.c: which columns share a length-scale: those of one text column, and where rows are few all but the ones
// that say most about the target.
#include "data/encoding.h"
#include "data/table_test.h"
#include "learn/lengths.h"

enum { ROWS = 100, MORE_ROWS = 200, D = 9, WIDE_ROWS = 40 };

// A number, a text of four categories, a date of two columns, two more numbers.
static gp_input inputs[] = {{.encoding = &gp_encoding_number, .first = 0, .n_encoded = 1},
                            {.encoding = &gp_encoding_onehot, .first = 1, .n_encoded = 4},
                            {.encoding = &gp_encoding_time, .first = 5, .n_encoded = 2},
                            {.encoding = &gp_encoding_number, .first = 7, .n_encoded = 1},
                            {.encoding = &gp_encoding_number, .first = 8, .n_encoded = 1}};
static const gp_schema schema = {.inputs = inputs, .n_inputs = 5};

// Column k goes up and down with a period of its own; the target is columns 8 and 3, the first of them twice.
static gp_batch rows_of(size_t n, double *X, double *y, double *w)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < D; k++) X[i * D + k] = (i >> (k % 5)) % 2 ? 1 : -1;
        X[i * D + 8] = i % 3 ? 1 : -2;
        X[i * D + 3] = i % 5 ? 1 : -4;
        y[i] = 2 * X[i * D + 8] + X[i * D + 3];
        w[i] = 1;
    }
    return (gp_batch){gp_cmat_of(X, n, D), y, w};
}

static void columns_of_one_text_share_a_length(void **state)
{
    (void)state;
    static double X[ROWS * D], y[ROWS], w[ROWS];
    static const size_t want[D] = {0, 1, 1, 1, 1, 2, 3, 4, 5};
    gp_lengths lengths;
    ASSERT_OK(gp_lengths_new(&schema, rows_of(ROWS, X, y, w), &lengths, err));
    assert_int_equal(lengths.n, ROWS / GP_ROWS_PER_LENGTH); // one fewer than there are groups
    for (size_t k = 1; k < 5; k++) assert_int_equal(lengths.of[k], lengths.of[1]);
    gp_lengths_fini(&lengths);

    static double more_X[MORE_ROWS * D], more_y[MORE_ROWS], more_w[MORE_ROWS];
    ASSERT_OK(gp_lengths_new(&schema, rows_of(MORE_ROWS, more_X, more_y, more_w), &lengths, err));
    assert_int_equal(lengths.n, 6);
    for (size_t k = 0; k < D; k++) assert_int_equal(lengths.of[k], want[k]);
    gp_lengths_fini(&lengths);
}

static void few_rows_leave_a_length_to_those_that_say_most(void **state)
{
    (void)state;
    static double X[WIDE_ROWS * D], y[WIDE_ROWS], w[WIDE_ROWS];
    gp_lengths lengths;
    const gp_batch rows = rows_of(WIDE_ROWS, X, y, w);
    ASSERT_OK(gp_lengths_new(&schema, rows, &lengths, err));
    assert_int_equal(lengths.n, GP_LENGTHS_MIN);
    assert_int_equal(lengths.of[8], 0); // the most, then the text, which is as good as its best column
    for (size_t k = 1; k < 5; k++) assert_int_equal(lengths.of[k], 1);
    size_t last = 0;
    for (size_t k = 0; k < D; k++) last += lengths.of[k] == GP_LENGTHS_MIN - 1;
    assert_int_equal(last, 3); // of the four other groups one has the third length, the rest the last
    gp_lengths_fini(&lengths);

    for (size_t i = 0; i < WIDE_ROWS; i++) w[i] = 0; // rows of weight 0 say nothing: the order is the table's
    ASSERT_OK(gp_lengths_new(&schema, rows, &lengths, err));
    assert_int_equal(lengths.of[0], 0);
    assert_int_equal(lengths.of[8], GP_LENGTHS_MIN - 1);
    gp_lengths_fini(&lengths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_one_text_share_a_length),
        cmocka_unit_test(few_rows_leave_a_length_to_those_that_say_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
