// limits_test.c: which columns are clipped, and where; what the sample of a stream is; what a table with outliers
// becomes.
#include "base/rng.h"
#include "data/encode.h"
#include "data/limits.h"
#include "data/sample.h"
#include "data/schema.h"
#include "data/table_test.h"

enum { N = 5000 };
static double x[N], w[N], y[N];

static gp_limits limits_of(gp_moments *all)
{
    gp_limits limits;
    *all = (gp_moments){0};
    for (size_t i = 0; i < N; i++)
        if (isfinite(x[i])) gp_moments_add(all, 1, &x[i], &w[i]);
    ASSERT_OK(gp_limits_find(x, w, N, all, &limits, err));
    return limits;
}

static void fill(double (*draw)(gp_rng *rng))
{
    gp_rng rng = gp_rng_seeded(3, 1);
    for (size_t i = 0; i < N; i++) {
        x[i] = draw(&rng);
        w[i] = 1 + (double)(i % 3);
        y[i] = gp_rng_normal(&rng);
    }
}

static double exponential(gp_rng *rng)
{
    return -log(gp_rng_uniform(rng));
}

static double few(gp_rng *rng)
{
    return gp_rng_uniform(rng) < 0.99 ? (double)gp_rng_below(rng, 8) : 1000;
}

static double mostly_zero(gp_rng *rng)
{
    return gp_rng_uniform(rng) < 0.998 ? 0 : 100 * gp_rng_uniform(rng);
}

static double rain(gp_rng *rng) // in one row of 25, and then from a drop to a flood
{
    const double some = gp_rng_uniform(rng);
    return gp_rng_uniform(rng) < 0.96 ? 0 : 40 * some * some * some * some;
}

static void well_behaved_columns_stay_as_they_are(void **state)
{
    (void)state;
    double (*const draws[])(gp_rng *) = {gp_rng_normal, gp_rng_uniform, exponential, few, mostly_zero, rain};
    for (size_t k = 0; k < sizeof draws / sizeof *draws; k++) {
        fill(draws[k]);
        gp_moments all, before = {0};
        for (size_t i = 0; i < N; i++) gp_moments_add(&before, 1, &x[i], &w[i]);
        const gp_limits limits = limits_of(&all);
        if (gp_limits_any(limits)) fail_msg("draw %zu is clipped at %g and %g", k, limits.lo, limits.hi);
        assert_true(all.mean == before.mean && all.m2 == before.m2);
    }
}

static void outliers_are_clipped_at_their_own_end_alone(void **state)
{
    (void)state;
    fill(gp_rng_uniform);
    for (size_t i = 0; i < N; i += 500) x[i] = 1e6;
    x[1] = NAN;
    gp_moments all, expected = {0};
    const gp_limits limits = limits_of(&all);
    assert_true(isinf(limits.lo) && limits.hi > 1 && limits.hi < 1.2);
    for (size_t i = 0; i < N; i++) {
        const double clipped = gp_limits_clip(limits, x[i]);
        if (isfinite(x[i])) gp_moments_add(&expected, 1, &clipped, &w[i]);
    }
    assert_true(fabs(all.mean - expected.mean) < 1e-12 && fabs(all.m2 / expected.m2 - 1) < 1e-12);
    assert_true(all.most == 1e6); // the range is that of the values as they are
    for (size_t i = 0; i < N; i++) x[i] = -x[i];
    const gp_limits mirrored = limits_of(&all);
    assert_true(isinf(mirrored.hi) && fabs(mirrored.lo + limits.hi) < 1e-12);
}

// One row in forty is no longer a tail of half a per cent.
static void many_outliers_are_clipped_too(void **state)
{
    (void)state;
    gp_moments all;
    for (size_t step = 40; step <= 160; step *= 2) {
        fill(gp_rng_uniform);
        for (size_t i = 0; i < N; i += step) x[i] = -1000;
        const gp_limits limits = limits_of(&all);
        if (!(isinf(limits.hi) && limits.lo < 0.05 && limits.lo > -0.2))
            fail_msg("one row in %zu: clipped at %g and %g", step, limits.lo, limits.hi);
    }
}

static void values_too_large_to_square_are_clipped_too(void **state)
{
    (void)state;
    fill(gp_rng_uniform);
    x[7] = -1e300;
    gp_moments all;
    assert_true(isfinite(limits_of(&all).lo) && isfinite(all.m2));
}

// 40,000 rows in chunks of two sizes.
static void a_sample_does_not_depend_on_chunks(void **state)
{
    (void)state;
    enum { ROWS = 40000 };
    static const size_t sizes[] = {1000, 333};
    static double ones[1000], kept[2][ROWS];
    size_t n[2];
    for (size_t i = 0; i < 1000; i++) ones[i] = 1;
    for (int t = 0; t < 2; t++) {
        gp_sample s;
        ASSERT_OK(gp_sample_init(&s, 3, 17, err));
        for (size_t before = 0; before < ROWS; before += sizes[t]) {
            const size_t m = ROWS - before < sizes[t] ? ROWS - before : sizes[t];
            ASSERT_OK(gp_sample_chunk(&s, before, m, ones, err));
            for (size_t i = 0; i < s.n_picks; i++) kept[t][s.picks[i].slot] = (double)(before + s.picks[i].k);
        }
        n[t] = s.n;
        gp_sample_fini(&s);
    }
    assert_true(n[0] == n[1] && n[0] < ROWS);
    double sum = 0;
    for (size_t i = 0; i < n[0]; i++) {
        assert_true(kept[0][i] == kept[1][i]);
        sum += kept[0][i] / (double)n[0];
    }
    assert_true(fabs(sum / ROWS - 0.5) < 0.01); // early and late rows alike: 0.29 / sqrt(16,384) is the deviation
}

static void columns_share_the_memory_of_a_sample(void **state)
{
    (void)state;
    gp_sample few_columns, many_columns;
    ASSERT_OK(gp_sample_init(&few_columns, 10, 1, err));
    ASSERT_OK(gp_sample_init(&many_columns, 100000, 1, err));
    assert_true(few_columns.capacity == 16384 && many_columns.capacity == 1024);
    gp_sample_fini(&few_columns);
    gp_sample_fini(&many_columns);
}

static size_t count_of(const gp_notes *notes, const char *words)
{
    for (size_t i = 0; i < notes->n; i++)
        if (strstr(notes->items[i].text, words)) return notes->items[i].count;
    return 0;
}

static gp_encode_counts encode(const gp_schema *schema, gp_source *source, gp_encode_mode mode, double *first,
                               gp_notes *notes)
{
    gp_encoder *e = NULL;
    const gp_chunk *chunk = NULL;
    gp_rows rows;
    size_t n = 0;
    ASSERT_OK(gp_encoder_new(schema, source, mode, NULL, &e, err));
    ASSERT_OK(gp_source_rewind(source, err));
    for (;;) {
        ASSERT_OK(gp_source_next(source, &chunk, err));
        if (!chunk) break;
        ASSERT_OK(gp_encoder_chunk(e, chunk, &rows, err));
        for (size_t k = 0; k < rows.n; k++) first[n++] = rows.X[k * rows.d];
    }
    ASSERT_OK(gp_encoder_notes(e, notes, err));
    const gp_encode_counts counts = gp_encoder_counts(e);
    gp_encoder_free(e);
    return counts;
}

static void a_table_with_outliers_keeps_its_limits_in_json(void **state)
{
    (void)state;
    static double encoded[N], again[N];
    fill(gp_rng_uniform);
    for (size_t i = 0; i < N; i += 500) x[i] = 1e6;
    const gp_array arrays[] = {{.name = "x", .number = x, .stride = 1}, {.name = "y", .number = y, .stride = 1}};
    gp_source *source = NULL;
    gp_schema *schema = NULL, *back = NULL;
    gp_notes notes = {0};
    gp_split split = {.kind = GP_SPLIT_NONE};
    const gp_schema_options options = {.target = "y"}, keep = {.target = "y", .keep_outliers = true};
    ASSERT_OK(gp_source_memory_open(arrays, 2, N, 300, &source, err));
    ASSERT_OK(gp_schema_fit(source, &options, &split, NULL, NULL, NULL, &schema, err));
    assert_true(schema->inputs[0].range.hi == 1e6 && schema->inputs[0].clip.hi < 1.2);
    gp_encode_counts counts = encode(schema, source, GP_ENCODE_TRAIN, encoded, &notes);
    assert_int_equal(counts.n_clipped, 10);
    assert_int_equal(counts.n_outside, 0);
    assert_int_equal(count_of(&notes, "10 values above 1.09"), 10);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < N; i++) sum += encoded[i] / N, squares += encoded[i] * encoded[i] / N;
    assert_true(fabs(sum) < 1e-9 && fabs(squares - 1) < 1e-9);

    char *text = gp_schema_to_json(schema);
    assert_non_null(strstr(text, "\"limits\":[null,1.09"));
    ASSERT_OK(gp_schema_from_json(text, strlen(text), &back, err));
    x[0] = 2e6, x[1] = -0.5, x[2] = 1e6;
    gp_notes_fini(&notes);
    notes = (gp_notes){0};
    counts = encode(back, source, GP_ENCODE_PREDICT, again, &notes);
    assert_int_equal(counts.n_outside, 2);
    assert_int_equal(counts.n_clipped, 11);
    assert_int_equal(count_of(&notes, "outside the range of training"), 2);
    for (size_t i = 3; i < N; i++) assert_true(again[i] == encoded[i]);
    assert_true(again[0] == encoded[0] && again[2] == encoded[0]);

    gp_schema_free(back);
    gp_schema_free(schema);
    ASSERT_OK(gp_schema_fit(source, &keep, &split, NULL, NULL, NULL, &schema, err));
    assert_true(!gp_limits_any(schema->inputs[0].clip) && schema->x_scale[0] > 1000);
    gp_free(text);
    gp_notes_fini(&notes);
    gp_schema_free(schema);
    gp_source_free(source);
}

static void damaged_limits_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"[1]", "[2,1]", "[null,null]", "[\"a\",1]", "{}", "[1,2,3]", "null"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int range = 0; range < 2; range++) {
            char text[512];
            gp_schema *schema = NULL;
            snprintf(text, sizeof text,
                     "{\"version\":2,\"target\":\"y\",\"weights\":null,\"log_target\":false,\"missing\":\"impute\","
                     "\"y_mean\":0,\"y_scale\":1,\"rows\":5,\"weight\":5,\"inputs\":[{\"name\":\"x\",\"type\":"
                     "\"number\",\"encoding\":\"number\",\"indicator\":false,\"%s\":%s}],\"x_mean\":[0],\"x_scale\":"
                     "[1]}",
                     range ? "range" : "limits", bad[i]);
            ASSERT_FAILS(gp_schema_from_json(text, strlen(text), &schema, err), ADVGP_EFILE, "limits of an input");
            assert_null(schema);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_behaved_columns_stay_as_they_are),
        cmocka_unit_test(outliers_are_clipped_at_their_own_end_alone),
        cmocka_unit_test(many_outliers_are_clipped_too),
        cmocka_unit_test(values_too_large_to_square_are_clipped_too),
        cmocka_unit_test(a_sample_does_not_depend_on_chunks),
        cmocka_unit_test(columns_share_the_memory_of_a_sample),
        cmocka_unit_test(a_table_with_outliers_keeps_its_limits_in_json),
        cmocka_unit_test(damaged_limits_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
