// encoding_pilot_test.c: a price that grows by shares has its logarithm taken, a sum of parts stays as it is, a
// function of a sum of columns has that sum beside them, and what is decided depends on rows and seed alone.
#include "base/alloc.h"
#include "base/rng.h"
#include "data/encoding.h"
#include "data/table_test.h"
#include "recipe/encoding_pilot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1200, D = 3 };

static double X[N * D], y[N], w[N];

// Standardises y; the rows of a table whose target is this.
static gp_schema schema_of(void)
{
    double mean = 0, squares = 0;
    static double zeros[D], ones[D] = {1, 1, 1};
    static char name[] = "y";
    gp_schema s = {
        .d = D, .target = name, .x_mean = zeros, .x_scale = ones, .y_range = {.lo = INFINITY, .hi = -INFINITY}};
    for (size_t i = 0; i < N; i++) {
        mean += y[i] / N;
        s.y_range.lo = fmin(s.y_range.lo, y[i]), s.y_range.hi = fmax(s.y_range.hi, y[i]);
    }
    for (size_t i = 0; i < N; i++) squares += (y[i] - mean) * (y[i] - mean) / N;
    s.y_mean = mean, s.y_scale = sqrt(squares);
    for (size_t i = 0; i < N; i++) y[i] = (y[i] - mean) / s.y_scale;
    return s;
}

typedef enum kind { PRICE, ZEROS, SUM, TAILS, LINE, ALONG, ALONG_PRICE, APART, SLOPE } kind;

static gp_schema make_rows(kind what, uint64_t seed)
{
    gp_rng rng = gp_rng_seeded(seed, 0);
    for (size_t i = 0; i < N; i++) {
        double *x = X + i * D;
        for (size_t k = 0; k < D; k++) x[k] = gp_rng_normal(&rng);
        const double f = sin(2 * x[0]) + 0.5 * x[1], noise = gp_rng_normal(&rng);
        y[i] = what == SUM ? 10 + f + 0.5 * x[2] * x[2] + 0.3 * noise : exp(1.5 * f + 0.4 * noise);
        if (what == ZEROS && i % 50 == 0) y[i] = 0;
        if (what == TAILS ||
            what == LINE) { // inputs are incomes: what they tell goes with their logarithm, or with themselves
            y[i] = (what == TAILS ? f : exp(1.5 * x[0]) - exp(1.5 * x[1])) + 0.3 * noise;
            for (size_t k = 0; k < D; k++) x[k] = exp(1.5 * x[k]);
        }
        if (what == ALONG) y[i] = sin(3 * (x[0] + x[1])) + 0.1 * noise;
        if (what == ALONG_PRICE) y[i] = exp(1.5 * sin(2 * (x[0] + x[1])) + 0.5 * x[2] + 0.2 * noise);
        if (what == APART) y[i] = f + 0.1 * noise;
        if (what == SLOPE) y[i] = x[0] + x[1] + 0.3 * noise; // which is the trend's
        w[i] = 1;
    }
    return schema_of();
}

// With the encoding, as a share of those without it.
static double crps_share(gp_verdict v)
{
    return 1 - v.gain;
}

static double rmse_share(gp_verdict v)
{
    return sqrt(v.squares);
}

static advgp_status try_one(const gp_encoding_question *q, gp_encodings other, gp_verdict *v, advgp_error *e)
{
    gp_encoding_pilot *pilot = NULL;
    advgp_status st = gp_encoding_pilot_new(q, (gp_encodings){0}, &pilot, e);
    if (st == ADVGP_OK) st = gp_encoding_pilot_try(pilot, other, v, e);
    gp_encoding_pilot_free(pilot);
    return st;
}

static gp_verdict ask(const gp_schema *schema, size_t n, int (*stop)(void *ctx))
{
    const gp_encodings other = {.logarithm = !schema->n_inputs, .ranks = schema->n_inputs > 0};
    const gp_rows rows = {.n = n, .d = D, .X = X, .y = y, .w = w};
    const gp_encoding_question q = {
        .schema = schema, .rows = &rows, .bounds_open = true, .kernel = &gp_kernel_ard_rbf, .seed = 7, .stop = stop};
    gp_verdict v;
    ASSERT_OK(try_one(&q, other, &v, err));
    return v;
}

static void a_price_has_its_logarithm_taken(void **state)
{
    (void)state;
    for (int what = PRICE; what <= ZEROS; what++) {
        const gp_schema schema = make_rows((kind)what, 1);
        const gp_verdict v = ask(&schema, N, NULL), again = ask(&schema, N, NULL);
        if (!v.taken || !(crps_share(v) < 0.98))
            fail_msg("kind %d: CRPS %g, RMSE %g of those without", what, crps_share(v), rmse_share(v));
        assert_true(crps_share(v) == crps_share(again) && rmse_share(v) == rmse_share(again));
        assert_int_equal(v.rows, N);
    }
}

static void a_sum_stays_as_it_is(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        const gp_schema schema = make_rows(SUM, seed);
        const gp_verdict v = ask(&schema, N, NULL);
        if (v.taken || !(crps_share(v) > 0.99)) fail_msg("seed %d: CRPS %g of that without", (int)seed, crps_share(v));
    }
}

static void ranks_are_taken_where_they_tell_more(void **state)
{
    (void)state;
    static char name[] = "x";
    gp_input inputs[D] = {0};
    for (size_t k = 0; k < D; k++)
        inputs[k] = (gp_input){
            .name = name, .encoding = &gp_encoding_number, .first = k, .n_encoded = 1, .long_tailed = true};
    for (int what = TAILS; what <= LINE; what++) {
        gp_schema schema = make_rows((kind)what, 1);
        schema.inputs = inputs, schema.n_inputs = D;
        const gp_verdict v = ask(&schema, N, NULL);
        if (v.taken != (what == TAILS))
            fail_msg("kind %d: CRPS %g, RMSE %g of those without", what, crps_share(v), rmse_share(v));
    }
}

// What is asked second is answered as if it were asked alone, and beside what was taken.
static void the_second_question_is_as_good_as_the_first(void **state)
{
    (void)state;
    static char name[] = "x";
    gp_input inputs[D] = {0};
    for (size_t k = 0; k < D; k++)
        inputs[k] = (gp_input){
            .name = name, .encoding = &gp_encoding_number, .first = k, .n_encoded = 1, .long_tailed = true};
    gp_schema schema = make_rows(PRICE, 1);
    schema.inputs = inputs, schema.n_inputs = D;
    const gp_rows rows = {.n = N, .d = D, .X = X, .y = y, .w = w};
    const gp_encoding_question q = {
        .schema = &schema, .rows = &rows, .bounds_open = true, .kernel = &gp_kernel_ard_rbf, .seed = 7};
    gp_encoding_pilot *pilot = NULL;
    gp_verdict ranks, second, alone;
    ASSERT_OK(gp_encoding_pilot_new(&q, (gp_encodings){0}, &pilot, err));
    ASSERT_OK(gp_encoding_pilot_try(pilot, (gp_encodings){.ranks = true}, &ranks, err));
    assert_true(!ranks.taken && !gp_encoding_pilot_present(pilot).ranks); // normal inputs tell by their own scale
    ASSERT_OK(gp_encoding_pilot_try(pilot, (gp_encodings){.logarithm = true}, &second, err));
    assert_true(second.taken && gp_encoding_pilot_present(pilot).logarithm);
    gp_encoding_pilot_free(pilot);
    ASSERT_OK(try_one(&q, (gp_encodings){.logarithm = true}, &alone, err));
    assert_true(crps_share(alone) == crps_share(second) && rmse_share(alone) == rmse_share(second));
}

// ---- directions -----------------------------------------------------------------------------------------------------

static gp_input numbers[D];

// Of three numbers.
static gp_schema make_numbers(kind what, uint64_t seed)
{
    static char name[] = "x";
    gp_schema schema = make_rows(what, seed);
    for (size_t k = 0; k < D; k++)
        numbers[k] = (gp_input){.name = name, .encoding = &gp_encoding_number, .first = k, .n_encoded = 1};
    schema.inputs = numbers, schema.n_inputs = D;
    return schema;
}

typedef struct answer {
    gp_verdict directions, logarithm;
    size_t n;
    double weights[GP_DIRECTIONS_MAX * D];
} answer;

// First for directions, then for the logarithm beside them where that is asked.
static answer ask_directions(const gp_schema *schema, size_t n, size_t most, bool asked, bool then_logarithm,
                             int (*stop)(void *ctx))
{
    const gp_rows rows = {.n = n, .d = D, .X = X, .y = y, .w = w};
    const gp_encoding_question q = {.schema = schema,
                                    .rows = &rows,
                                    .bounds_open = true,
                                    .directions_open = true,
                                    .directions_asked = asked,
                                    .kernel = &gp_kernel_ard_rbf,
                                    .seed = 7,
                                    .stop = stop};
    gp_encoding_pilot *pilot = NULL;
    const double *weights;
    answer a = {0};
    ASSERT_OK(gp_encoding_pilot_new(&q, (gp_encodings){0}, &pilot, err));
    gp_encodings other = {.directions = most};
    ASSERT_OK(gp_encoding_pilot_try(pilot, other, &a.directions, err));
    other = gp_encoding_pilot_present(pilot);
    assert_int_equal(other.directions > 0, a.directions.taken);
    other.logarithm = true;
    if (then_logarithm) ASSERT_OK(gp_encoding_pilot_try(pilot, other, &a.logarithm, err));
    a.n = gp_encoding_pilot_directions(pilot, &weights);
    assert_int_equal(a.n > 0, a.directions.taken);
    memcpy(a.weights, weights, a.n * D * sizeof *weights);
    gp_encoding_pilot_free(pilot);
    return a;
}

// How much of the first direction is x0 + x1.
static double along_the_sum(const answer *a)
{
    const double *v = a->weights;
    if (!a->n) return 0;
    return fabs(v[0] + v[1]) / sqrt(2 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
}

static void a_function_of_a_sum_has_it_beside_its_columns(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        const gp_schema schema = make_numbers(ALONG, seed);
        const answer a = ask_directions(&schema, N, 3, false, false, NULL);
        if (!a.directions.taken || !(crps_share(a.directions) < 0.9) || !(along_the_sum(&a) > 0.95))
            fail_msg("seed %d: CRPS %g of that without, %g along the sum", (int)seed, crps_share(a.directions),
                     along_the_sum(&a));
        assert_true(a.n >= 1 && a.n <= 3 && a.directions.rows > N / 4);
        const answer again = ask_directions(&schema, N, 3, false, false, NULL);
        assert_true(again.n == a.n && crps_share(again.directions) == crps_share(a.directions));
        assert_memory_equal(again.weights, a.weights, sizeof a.weights);
    }
}

static void functions_of_columns_and_lines_have_none(void **state)
{
    (void)state;
    for (int what = APART; what <= SLOPE; what++) {
        const gp_schema schema = make_numbers((kind)what, 1);
        const answer a = ask_directions(&schema, N, 3, false, false, NULL);
        if (a.directions.taken || a.n) fail_msg("kind %d: CRPS %g of that without", what, crps_share(a.directions));
    }
}

static void directions_that_somebody_wants_are_taken_whatever_rows_say(void **state)
{
    (void)state;
    const gp_schema schema = make_numbers(SLOPE, 1);
    for (size_t most = 1; most <= 2; most++) {
        const answer a = ask_directions(&schema, N, most, true, false, NULL);
        if (!a.directions.taken || a.n < 1 || a.n > most || !(along_the_sum(&a) > 0.95))
            fail_msg("%zu of %zu, %g along the sum", a.n, most, along_the_sum(&a));
    }
}

static void the_logarithm_is_asked_beside_directions(void **state)
{
    (void)state;
    const gp_schema schema = make_numbers(ALONG_PRICE, 1);
    const answer a = ask_directions(&schema, N, 3, false, true, NULL);
    if (!a.directions.taken || !a.logarithm.taken || !(along_the_sum(&a) > 0.95))
        fail_msg("CRPS %g with directions, %g with the logarithm, %g along the sum", crps_share(a.directions),
                 crps_share(a.logarithm), along_the_sum(&a));
}

// ---- what decides nothing -------------------------------------------------------------------------------------------

static int at_once(void *ctx)
{
    (void)ctx;
    return 1;
}

static void few_rows_or_a_stop_decide_nothing(void **state)
{
    (void)state;
    const gp_schema schema = make_rows(PRICE, 1);
    const gp_verdict few = ask(&schema, GP_PILOT_ROWS_MIN - 1, NULL);
    assert_true(!few.taken && isnan(crps_share(few)));
    const gp_verdict stopped = ask(&schema, N, at_once);
    assert_true(!stopped.taken && isnan(crps_share(stopped)));
    const gp_schema along = make_numbers(ALONG, 1);
    const answer few_along = ask_directions(&along, GP_PILOT_ROWS_MIN - 1, 3, false, false, NULL);
    assert_true(!few_along.n && isnan(crps_share(few_along.directions)));
    const answer stopped_along = ask_directions(&along, N, 3, false, false, at_once);
    assert_true(!stopped_along.n && isnan(crps_share(stopped_along.directions)));
}

static advgp_status ask_again(void *ctx)
{
    const gp_rows rows = {.n = GP_PILOT_ROWS_MIN, .d = D, .X = X, .y = y, .w = w};
    const gp_encoding_question q = {.schema = ctx, .rows = &rows, .kernel = &gp_kernel_ard_rbf};
    gp_verdict v;
    return try_one(&q, (gp_encodings){.logarithm = true}, &v, NULL);
}

static void failing_memory_is_told(void **state)
{
    (void)state;
    gp_schema schema = make_rows(PRICE, 1);
    for (long n = 0; n < 8; n++) { // its own; those of a training are tried in train_test.c
        gp_alloc_fail_after(n);
        const advgp_status st = ask_again(&schema);
        gp_alloc_fail_after(-1);
        assert_int_equal(st, ADVGP_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_price_has_its_logarithm_taken),
        cmocka_unit_test(a_sum_stays_as_it_is),
        cmocka_unit_test(ranks_are_taken_where_they_tell_more),
        cmocka_unit_test(the_second_question_is_as_good_as_the_first),
        cmocka_unit_test(a_function_of_a_sum_has_it_beside_its_columns),
        cmocka_unit_test(functions_of_columns_and_lines_have_none),
        cmocka_unit_test(directions_that_somebody_wants_are_taken_whatever_rows_say),
        cmocka_unit_test(the_logarithm_is_asked_beside_directions),
        cmocka_unit_test(few_rows_or_a_stop_decide_nothing),
        cmocka_unit_test(failing_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
