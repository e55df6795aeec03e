// directions_test.c: sums of columns: named by what weighs most, the weighted sums of the plain columns in tables and
// single rows alike, the same after JSON, and of unknown origin refused.
#include "base/alloc.h"
#include "base/rng.h"
#include "data/encode.h"
#include "data/encode_row.h"
#include "data/encoding.h"
#include "data/table_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 300, INPUTS = 4, PLAIN = 6 }; // a, b, b (missing), kind=blue, kind=red, c

static double a[N], b[N], c[N], y[N];
static const char *kind[N];

static const double weights[] = {-0.5, 1, 0, 0, 0, 0.05, // b less a; c weighs too little to be named
                                 1,    0, 0, 0, 0, 2};

static int prepare(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(3, 0);
    for (size_t i = 0; i < N; i++) {
        a[i] = 1e4 + gp_rng_normal(&rng);
        b[i] = i % 9 ? 3 * gp_rng_normal(&rng) : NAN;
        c[i] = gp_rng_uniform(&rng);
        kind[i] = i % 3 ? "red" : "blue";
        y[i] = a[i] + c[i] + gp_rng_normal(&rng);
    }
    return 0;
}

static gp_source *table(void)
{
    static const gp_array arrays[] = {{.name = "a", .number = a, .stride = 1}, // borrowed by the source
                                      {.name = "b", .number = b, .stride = 1},
                                      {.name = "kind", .text = kind},
                                      {.name = "c", .number = c, .stride = 1},
                                      {.name = "y", .number = y, .stride = 1}};
    gp_source *source = NULL;
    ASSERT_OK(gp_source_memory_open(arrays, 5, N, 64, &source, err));
    return source;
}

static gp_schema *fit(gp_source *source)
{
    const gp_schema_options options = {.target = "y"};
    gp_split split = {.kind = GP_SPLIT_NONE};
    gp_schema *schema = NULL;
    ASSERT_OK(gp_schema_fit(source, &options, &split, NULL, NULL, NULL, &schema, err));
    assert_int_equal(schema->d, PLAIN);
    assert_int_equal(schema->n_inputs, INPUTS);
    return schema;
}

static gp_schema *fit_with(gp_source *source, size_t n)
{
    gp_schema *schema = fit(source);
    ASSERT_OK(gp_schema_add_directions(schema, n, weights, err));
    return schema;
}

static void they_are_named_by_what_weighs_most(void **state)
{
    (void)state;
    gp_source *source = table();
    gp_schema *s = fit_with(source, 2);
    assert_int_equal(s->d, PLAIN + 2);
    assert_int_equal(gp_schema_plain(s), PLAIN);
    assert_string_equal(s->x_names[PLAIN - 1], "c");
    assert_string_equal(s->x_names[PLAIN], "direction 1 (b - a)");
    assert_string_equal(s->x_names[PLAIN + 1], "direction 2 (c + a)");
    for (size_t j = PLAIN; j < s->d; j++) assert_true(s->x_mean[j] == 0 && s->x_scale[j] == 1);
    gp_schema_free(s);

    static const double all[PLAIN] = {-1, 0.9, 0.8, 0.7, 0.6, 0.5}; // three are named
    s = fit(source);
    ASSERT_OK(gp_schema_add_directions(s, 1, all, err));
    assert_string_equal(s->x_names[PLAIN], "direction 1 (b + b (missing) - a)");
    gp_schema_free(s);
    gp_source_free(source);
}

static void rows_have_the_weighted_sums_of_their_columns(void **state)
{
    (void)state;
    gp_source *source = table();
    gp_schema *s = fit_with(source, 2);
    gp_encoder *e = NULL;
    const gp_chunk *chunk;
    gp_rows rows;
    double inverse[PLAIN + 2], x[PLAIN + 2], squares = 0;
    size_t n = 0;
    for (size_t j = 0; j < s->d; j++) inverse[j] = 1 / s->x_scale[j];
    ASSERT_OK(gp_encoder_new(s, source, GP_ENCODE_TRAIN, NULL, &e, err));
    for (;;) {
        ASSERT_OK(gp_source_next(source, &chunk, err));
        if (!chunk) break;
        ASSERT_OK(gp_encoder_chunk(e, chunk, &rows, err));
        assert_int_equal(rows.d, PLAIN + 2);
        for (size_t k = 0; k < rows.n; k++, n++) {
            const double *row = rows.X + k * rows.d;
            const double values[INPUTS] = {a[n], b[n], kind[n][0] == 'r', c[n]};
            for (size_t i = 0; i < 2; i++) {
                double sum = 0;
                for (size_t j = 0; j < PLAIN; j++) sum += weights[i * PLAIN + j] * row[j];
                assert_true(fabs(row[PLAIN + i] - sum) < 1e-12);
                squares += sum * sum;
            }
            gp_encode_row(s, inverse, values, x, NULL);
            assert_memory_equal(x, row, sizeof x);
        }
    }
    assert_int_equal(n, N);
    assert_true(squares > N);
    gp_encoder_free(e);
    gp_schema_free(s);
    gp_source_free(source);
}

static void json_has_them_from_version_3_on(void **state)
{
    (void)state;
    gp_source *source = table();
    for (size_t n = 0; n <= 2; n++) {
        gp_schema *s = n ? fit_with(source, n) : fit(source), *back = NULL;
        char *text = gp_schema_to_json(s);
        assert_non_null(text);
        assert_true(!strstr(text, "\"directions\"") == !n);
        assert_non_null(strstr(text, n ? "\"version\":3" : "\"version\":2")); // who has none is read by older programs
        ASSERT_OK(gp_schema_from_json(text, strlen(text), &back, err));
        char *again = gp_schema_to_json(back);
        assert_string_equal(text, again);
        assert_int_equal(back->n_directions, n);
        assert_int_equal(back->d, PLAIN + n);
        for (size_t j = 0; j < back->d; j++) assert_string_equal(back->x_names[j], s->x_names[j]);
        assert_true(!n == !back->directions);
        if (n) assert_memory_equal(back->directions, weights, n * PLAIN * sizeof *weights);
        gp_free(text), gp_free(again);
        gp_schema_free(s), gp_schema_free(back);
    }
    gp_source_free(source);
}

// Directions of unknown origin: as the file says them, or refused.
static void damaged_directions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *directions;
        size_t n; // with which the scales go; 0: refused
    } cases[] = {{"[[1, 2]]", 1},
                 {"[[1, 0], [-0.5, 1e-9]]", 2},
                 {"[[1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2]]", 8},
                 {"[[1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2]]", 0},
                 {"[]", 0},
                 {"[[]]", 0},
                 {"[[1]]", 0},
                 {"[[1, 2, 3]]", 0},
                 {"[[1, 2], [1]]", 0},
                 {"[1, 2]", 0},
                 {"[[0, 0]]", 0},
                 {"[[1e-300, 0]]", 0},
                 {"[[1e300, 1]]", 0},
                 {"[[1e308, 1e308]]", 0},
                 {"[[1, \"2\"]]", 0},
                 {"[[1, null]]", 0},
                 {"[[1, [2]]]", 0},
                 {"[{\"a\": 1, \"b\": 2}]", 0},
                 {"{\"a\": [1, 2]}", 0},
                 {"\"NaN\"", 0},
                 {"3", 0},
                 {"true", 0},
                 {"null", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1200], zeros[64] = "", ones[64] = "";
        for (size_t k = 0; k < 2 + (cases[i].n ? cases[i].n : 1); k++)
            strcat(zeros, k ? ",0" : "0"), strcat(ones, k ? ",1" : "1");
        snprintf(text, sizeof text,
                 "{\"version\":3,\"target\":\"y\",\"weights\":null,\"log_target\":false,\"missing\":\"impute\","
                 "\"y_mean\":0,\"y_scale\":1,\"rows\":10,\"weight\":10,\"inputs\":["
                 "{\"name\":\"a\",\"type\":\"number\",\"encoding\":\"number\",\"indicator\":false},"
                 "{\"name\":\"b\",\"type\":\"number\",\"encoding\":\"number\",\"indicator\":false}],"
                 "\"directions\":%s,\"x_mean\":[%s],\"x_scale\":[%s]}",
                 cases[i].directions, zeros, ones);
        gp_schema *s = NULL;
        if (!cases[i].n) {
            ASSERT_FAILS(gp_schema_from_json(text, strlen(text), &s, err), ADVGP_EFILE, "its directions");
            assert_null(s);
            continue;
        }
        ASSERT_OK(gp_schema_from_json(text, strlen(text), &s, err));
        assert_int_equal(s->n_directions, cases[i].n);
        assert_int_equal(s->d, 2 + cases[i].n);
        gp_schema_free(s);
    }
}

// What a number that no double holds is, the reader of JSON says before anybody asks for directions.
static void numbers_without_end_are_refused(void **state)
{
    (void)state;
    static const char *const no_numbers[] = {"1e999", "NaN", "-Infinity"};
    gp_source *source = table();
    gp_schema *s = fit_with(source, 1), *back = NULL;
    char *text = gp_schema_to_json(s), *at = strstr(text, "\"directions\":[[");
    assert_non_null(at);
    at += strlen("\"directions\":[[");
    for (size_t i = 0; i < 3; i++) {
        char *bad = calloc(strlen(text) + 16, 1);
        sprintf(bad, "%.*s%s%s", (int)(at - text), text, no_numbers[i], strchr(at, ','));
        ASSERT_FAILS(gp_schema_from_json(bad, strlen(bad), &back, err), ADVGP_EFILE, "schema");
        free(bad);
    }
    gp_free(text);
    gp_schema_free(s);
    gp_source_free(source);
}

static void failing_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    const long before = gp_alloc_count().live;
    for (long allowed = 0;; allowed++) {
        gp_source *source = table();
        gp_schema *s = fit(source), *back = NULL;
        char *text = NULL;
        gp_alloc_fail_after(allowed);
        advgp_status st = gp_schema_add_directions(s, 2, weights, NULL);
        if (st == ADVGP_OK && !(text = gp_schema_to_json(s))) st = ADVGP_ENOMEM;
        if (st == ADVGP_OK) st = gp_schema_from_json(text, strlen(text), &back, NULL);
        gp_alloc_fail_after(-1);
        gp_free(text);
        gp_schema_free(s), gp_schema_free(back);
        gp_source_free(source);
        assert_int_equal(gp_alloc_count().live, before);
        if (st == ADVGP_OK) break;
        assert_int_equal(st, ADVGP_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_named_by_what_weighs_most),
        cmocka_unit_test(rows_have_the_weighted_sums_of_their_columns),
        cmocka_unit_test(json_has_them_from_version_3_on),
        cmocka_unit_test(damaged_directions_are_refused),
        cmocka_unit_test(numbers_without_end_are_refused),
        cmocka_unit_test(failing_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
