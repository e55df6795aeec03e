// warp_test.c: ranks ascend, come back, and spread what lies close; which columns have long tails; a table by ranks,
// from its fit through JSON to its rows.
#include "base/alloc.h"
#include "base/rng.h"
#include "base/sort.h"
#include "data/encode.h"
#include "data/encode_row.h"
#include "data/table_test.h"
#include "data/warp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 2000 };

static double incomes[N], heights[N], steps[N], y[N];

static int prepare(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(3, 0);
    for (size_t i = 0; i < N; i++) {
        incomes[i] = exp(1.5 * gp_rng_normal(&rng));
        heights[i] = 170 + 10 * gp_rng_normal(&rng);
        steps[i] = floor(4 * gp_rng_uniform(&rng)) * floor(4 * gp_rng_uniform(&rng));
        y[i] = log(incomes[i]) + 0.1 * heights[i] + gp_rng_normal(&rng);
    }
    return 0;
}

static void sorted_of(const double *values, double *sorted)
{
    memcpy(sorted, values, N * sizeof *sorted);
    gp_sort(sorted, N);
}

static void ranks_ascend_and_come_back(void **state)
{
    (void)state;
    double sorted[N];
    gp_warp warp;
    sorted_of(incomes, sorted);
    ASSERT_OK(gp_warp_fit(&warp, sorted, N, err));
    assert_int_equal(warp.n, GP_WARP_KNOTS);
    for (size_t i = 0; i < N; i++) {
        const double u = gp_warp_at(&warp, sorted[i]), share = (double)i / (N - 1);
        assert_true(fabs(u - share) < 1.0 / (GP_WARP_KNOTS - 1));
        assert_true(fabs(gp_warp_back(&warp, u) - sorted[i]) <= 1e-12 * sorted[N - 1]);
        if (i) assert_true(u > gp_warp_at(&warp, sorted[i - 1]));
    }
    assert_true(gp_warp_at(&warp, -1) == 0 && gp_warp_at(&warp, 1e9) == 1);
    assert_true(gp_warp_back(&warp, -1) == sorted[0] && gp_warp_back(&warp, 2) == sorted[N - 1]);
    gp_warp_fini(&warp);
}

// 0 in a quarter of the rows and more: its rank is the middle of theirs.
static void equal_values_have_the_middle_of_their_ranks(void **state)
{
    (void)state;
    double sorted[N];
    gp_warp warp;
    sorted_of(steps, sorted);
    size_t zeros = 0;
    while (zeros < N && sorted[zeros] == 0) zeros++;
    ASSERT_OK(gp_warp_fit(&warp, sorted, N, err));
    assert_true(warp.n < 20);
    assert_true(fabs(gp_warp_at(&warp, 0) - 0.5 * (double)zeros / N) < 1.0 / (GP_WARP_KNOTS - 1));
    gp_warp_fini(&warp);
}

static void long_tails_are_told_from_short_ones(void **state)
{
    (void)state;
    double sorted[N];
    sorted_of(incomes, sorted);
    assert_true(gp_has_long_tails(sorted, N));
    assert_false(gp_has_long_tails(sorted, 50)); // too few to tell
    sorted_of(heights, sorted);
    assert_false(gp_has_long_tails(sorted, N));
    sorted_of(steps, sorted);
    assert_false(gp_has_long_tails(sorted, N)); // heaps
}

static gp_schema *fit_ranks(gp_source *source, bool ranks)
{
    const gp_schema_options options = {.target = "y", .ranks = ranks};
    gp_split split = {0};
    gp_schema *schema;
    ASSERT_OK(gp_schema_fit(source, &options, &split, NULL, NULL, NULL, &schema, err));
    return schema;
}

static void a_table_by_ranks_is_the_same_after_json(void **state)
{
    (void)state;
    const gp_array arrays[] = {{.name = "income", .number = incomes, .stride = 1},
                               {.name = "height", .number = heights, .stride = 1},
                               {.name = "y", .number = y, .stride = 1}};
    gp_source *source;
    ASSERT_OK(gp_source_memory_open(arrays, 3, N, 0, &source, err));
    gp_schema *plain = fit_ranks(source, false), *s = fit_ranks(source, true), *again;
    assert_true(plain->inputs[0].long_tailed && !plain->inputs[0].warp.n && !plain->inputs[1].long_tailed);
    assert_true(s->inputs[0].warp.n && !s->inputs[1].warp.n && !gp_limits_any(s->inputs[0].clip));
    assert_true(fabs(s->x_mean[0] - 0.5) < 0.01 && fabs(s->x_scale[0] - sqrt(1.0 / 12)) < 0.01); // uniform in 0 .. 1
    char *text = gp_schema_to_json(s);
    ASSERT_OK(gp_schema_from_json(text, strlen(text), &again, err));
    char *text_again = gp_schema_to_json(again);
    assert_string_equal(text, text_again);
    const double inverse[] = {1 / s->x_scale[0], 1 / s->x_scale[1]};
    double x[2], x_again[2];
    for (size_t i = 0; i < N; i++) {
        const double values[] = {incomes[i], heights[i]};
        gp_encode_row(s, inverse, values, x, NULL);
        gp_encode_row(again, inverse, values, x_again, NULL);
        assert_memory_equal(x, x_again, sizeof x);
        assert_true(fabs(x[0]) < 1.8 && fabs(gp_schema_shown(s, 0, x[0]) - incomes[i]) < 1e-9 * (1 + incomes[i]));
        assert_true(fabs(gp_schema_shown(s, 1, x[1]) - heights[i]) < 1e-9 * heights[i]);
    }
    gp_free(text), gp_free(text_again);
    gp_schema_free(plain), gp_schema_free(s), gp_schema_free(again);
    gp_source_free(source);
}

// Ranks of unknown origin: as the file says them, or refused.
static void damaged_ranks_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *ranks;
        bool good;
    } cases[] = {{"[[1, 2, 5], [0, 0.5, 1]]", true},
                 {"[[1, 1], [0, 1]]", false},
                 {"[[1, 2], [0, 0]]", false},
                 {"[[1, 2], [0, 1.5]]", false},
                 {"[[1, 2], [-1, 1]]", false},
                 {"[[1], [0]]", false},
                 {"[[1, 2], [0, 0.5, 1]]", false},
                 {"[[1, 2]]", false},
                 {"[[], []]", false},
                 {"[[1, \"2\"], [0, 1]]", false},
                 {"7", false},
                 {"[[1, 1e999], [0, 1]]", false},
                 {"[[1, 2], [0, 1], [3, 4]]", false},
                 {"[[2, 1], [0, 1]]", false},
                 {"null", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "{\"version\":2,\"target\":\"y\",\"weights\":null,\"log_target\":false,\"missing\":\"impute\","
                 "\"y_mean\":0,\"y_scale\":1,\"rows\":10,\"weight\":10,\"inputs\":[{\"name\":\"a\",\"type\":\"number\","
                 "\"encoding\":\"number\",\"indicator\":false,\"ranks\":%s}],\"x_mean\":[0],\"x_scale\":[1]}",
                 cases[i].ranks);
        gp_schema *s = NULL;
        advgp_error err;
        const advgp_status st = gp_schema_from_json(text, strlen(text), &s, &err);
        if ((st == ADVGP_OK) != cases[i].good) fail_msg("%s: %s", cases[i].ranks, advgp_status_name(st));
        gp_schema_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_ascend_and_come_back),
        cmocka_unit_test(equal_values_have_the_middle_of_their_ranks),
        cmocka_unit_test(long_tails_are_told_from_short_ones),
        cmocka_unit_test(a_table_by_ranks_is_the_same_after_json),
        cmocka_unit_test(damaged_ranks_are_refused),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
