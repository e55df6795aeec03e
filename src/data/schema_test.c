// schema_test.c: the data rules of docs/data-rules.md, each with its message and count; the laws of scaling; JSON there
// and back; and what happens when memory ends at any call.
#include "base/rng.h"
#include "data/encode.h"
#include "data/encoding.h"
#include "data/schema.h"
#include "data/table_test.h"
#include "files/files.h"

#include <math.h>

enum { N = 1000 };
static double num[N], other[N], y[N], w[N];
static const char *kind[N];
static char many[N][16];
static const char *many_p[N];

static void fill(void)
{
    gp_rng rng = gp_rng_seeded(7, 0);
    static const char *const kinds[] = {"red", "green", "blue"};
    for (size_t i = 0; i < N; i++) {
        num[i] = 1e6 + gp_rng_normal(&rng);
        other[i] = gp_rng_uniform(&rng);
        kind[i] = kinds[gp_rng_below(&rng, 3)];
        w[i] = 0.5 + gp_rng_uniform(&rng);
        y[i] = 3 + num[i] - 1e6 + (kind[i][0] == 'r') + 0.1 * gp_rng_normal(&rng);
        snprintf(many[i], sizeof many[i], "v%zu", gp_rng_below(&rng, 40));
        many_p[i] = many[i];
    }
}

static gp_source *table(const gp_array *arrays, size_t n, size_t rows)
{
    gp_source *source = NULL;
    ASSERT_OK(gp_source_memory_open(arrays, n, rows, 64, &source, err));
    return source;
}

static gp_array numbers(const char *name, const double *p)
{
    return (gp_array){.name = name, .number = p, .stride = 1};
}

static gp_array texts(const char *name, const char *const *p)
{
    return (gp_array){.name = name, .text = p};
}

static const gp_schema_options plain = {.target = "y"};

static advgp_status try_fit(gp_source *source, const gp_schema_options *o, gp_notes *notes, advgp_error *err)
{
    gp_split split = {.kind = GP_SPLIT_NONE};
    gp_schema *schema = NULL;
    advgp_status st = gp_schema_fit(source, o, &split, notes, NULL, NULL, &schema, err);
    gp_schema_free(schema);
    return st;
}

static gp_schema *fit(gp_source *source, const gp_schema_options *o, gp_notes *notes)
{
    gp_split split = {.kind = GP_SPLIT_NONE};
    gp_schema *schema = NULL;
    ASSERT_OK(gp_schema_fit(source, o, &split, notes, NULL, NULL, &schema, err));
    return schema;
}

// Weighted mean and variance of every encoded column and of y over all rows the encoder gives.
static void check_standardised(const gp_schema *schema, gp_source *source)
{
    gp_encoder *e = NULL;
    const gp_chunk *chunk;
    gp_rows rows;
    double sum[64] = {0}, squares[64] = {0}, weight = 0;
    assert_true(schema->d < 63);
    ASSERT_OK(gp_encoder_new(schema, source, GP_ENCODE_TRAIN, NULL, &e, err));
    ASSERT_OK(gp_source_rewind(source, err));
    for (;;) {
        ASSERT_OK(gp_source_next(source, &chunk, err));
        if (!chunk) break;
        ASSERT_OK(gp_encoder_chunk(e, chunk, &rows, err));
        for (size_t k = 0; k < rows.n; k++) {
            weight += rows.w[k];
            for (size_t j = 0; j <= schema->d; j++) {
                double x = j < schema->d ? rows.X[k * rows.d + j] : rows.y[k];
                assert_true(isfinite(x));
                sum[j] += rows.w[k] * x;
                squares[j] += rows.w[k] * x * x;
            }
        }
    }
    for (size_t j = 0; j <= schema->d; j++) {
        const char *name = j < schema->d ? schema->x_names[j] : "y";
        if (fabs(sum[j] / weight) > 1e-9 || fabs(squares[j] / weight - 1) > 1e-9)
            fail_msg("%s: mean %g, variance %g", name, sum[j] / weight, squares[j] / weight);
    }
    gp_encoder_free(e);
}

static size_t count_of(const gp_notes *notes, const char *words)
{
    for (size_t i = 0; i < notes->n; i++)
        if (strstr(notes->items[i].text, words)) return notes->items[i].count;
    fail_msg("no note says \"%s\"", words);
    return 0;
}

static void encoded_columns_have_mean_0_and_variance_1(void **state)
{
    (void)state;
    double holes[N];
    const char *gaps[N];
    for (size_t i = 0; i < N; i++) {
        holes[i] = i % 5 == 0 ? NAN : i % 7 == 0 ? INFINITY : other[i];
        gaps[i] = i % 9 == 0 ? NULL : many_p[i];
    }
    gp_array arrays[] = {numbers("num", num), numbers("holes", holes), texts("kind", kind),
                         texts("gaps", gaps), numbers("y", y),         numbers("w", w)};
    const char *encode[] = {"gaps=target"};
    gp_schema_options o = {.target = "y", .weights = "w", .encode = encode, .n_encode = 1};
    gp_notes notes = {0};
    gp_source *source = table(arrays, 6, N);
    gp_schema *schema = fit(source, &o, &notes);
    assert_int_equal(schema->d, 1 + 2 + 3 + 2);
    assert_string_equal(schema->x_names[1], "holes");
    assert_string_equal(schema->x_names[2], "holes (missing)");
    assert_string_equal(schema->x_names[3], "kind=blue");
    assert_int_equal(count_of(&notes, "column 'holes' is missing"), 200 + 114);
    check_standardised(schema, source);
    gp_schema_free(schema);
    gp_source_free(source);
    gp_notes_fini(&notes);
}

static void texts_are_onehot_then_target_means_then_left_out(void **state)
{
    (void)state;
    char names[N][16];
    const char *names_p[N], *one[N];
    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        names_p[i] = names[i];
        one[i] = "same";
    }
    gp_array arrays[] = {texts("kind", kind), texts("many", many_p), texts("name", names_p), texts("one", one),
                         numbers("y", y)};
    gp_notes notes = {0};
    gp_source *source = table(arrays, 5, N);
    gp_schema *schema = fit(source, &plain, &notes);
    assert_int_equal(schema->n_inputs, 2);
    assert_ptr_equal(schema->inputs[0].encoding, &gp_encoding_onehot);
    assert_ptr_equal(schema->inputs[1].encoding, &gp_encoding_target); // 40 values: above 32, below 1000 / 20
    assert_int_equal(count_of(&notes, "column 'name' is left out: 1000 different texts in 1000 rows"), 1000);
    assert_int_equal(count_of(&notes, "column 'one' is left out: it is the same in all rows"), 1);
    check_standardised(schema, source);
    gp_schema_free(schema);
    const char *keep[] = {"name=target", "kind=target", "many=onehot"};
    gp_schema_options o = {.target = "y", .encode = keep, .n_encode = 3};
    schema = fit(source, &o, NULL);
    assert_int_equal(schema->d, 1 + 40 + 1);
    gp_schema_free(schema);
    gp_source_free(source);
    gp_notes_fini(&notes);
}

static void unseen_categories_are_counted_and_missing_columns_named(void **state)
{
    (void)state;
    gp_array arrays[] = {texts("kind", kind), numbers("num", num), numbers("y", y)};
    gp_source *source = table(arrays, 3, N);
    gp_schema *schema = fit(source, &plain, NULL);
    gp_source_free(source);

    const char *strange[] = {"violet", "red", NULL};
    double few[] = {1e6, NAN, 1e6 + 1};
    gp_array fresh[] = {numbers("num", few), numbers("unused", few),
                        texts("kind", strange)}; // another order, no target
    source = table(fresh, 3, 3);
    gp_encoder *e = NULL;
    const gp_chunk *chunk;
    gp_rows rows;
    ASSERT_OK(gp_encoder_new(schema, source, GP_ENCODE_PREDICT, NULL, &e, err));
    assert_false(source->wanted[1]);
    ASSERT_OK(gp_source_next(source, &chunk, err));
    ASSERT_OK(gp_encoder_chunk(e, chunk, &rows, err));
    assert_int_equal(rows.n, 3);
    for (size_t j = 0; j < 3; j++) assert_true(fabs(gp_schema_input(schema, j, rows.X[j])) < 1e-12); // violet: all zero
    assert_true(fabs(gp_schema_input(schema, 3, rows.X[3]) - 1e6) < 1e-6);
    assert_true(rows.X[4 + 3] == 0); // missing: the mean
    assert_true(isnan(rows.y[0]));
    gp_encode_counts c = gp_encoder_counts(e);
    assert_int_equal(c.n_unseen, 1);
    assert_int_equal(c.n_missing, 2);
    gp_notes notes = {0};
    ASSERT_OK(gp_encoder_notes(e, &notes, err));
    assert_int_equal(count_of(&notes, "not seen in training"), 1);
    gp_notes_fini(&notes);
    gp_encoder_free(e);
    ASSERT_FAILS(gp_encoder_new(schema, source, GP_ENCODE_EVALUATE, NULL, &e, err), ADVGP_EDATA, "no column 'y'");
    gp_source_free(source);
    gp_array lacking[] = {numbers("num", few)};
    source = table(lacking, 1, 3);
    ASSERT_FAILS(gp_encoder_new(schema, source, GP_ENCODE_PREDICT, NULL, &e, err), ADVGP_EDATA, "no column 'kind'");
    gp_source_free(source);
    gp_schema_free(schema);
}

static void dates_become_calendar_numbers(void **state)
{
    (void)state;
    double p[GP_TIME_PARTS];
    gp_time_split(0, p);
    assert_true(p[GP_TIME_DAYS] == 0 && p[GP_TIME_YEARDAY] == 1 && p[GP_TIME_WEEKDAY] == 6 && p[GP_TIME_MINUTE] == 0);
    gp_time_split(59.0 * 86400 + 90 * 60, p); // 29 February 2000, 01:30, a Tuesday
    assert_true(p[GP_TIME_YEARDAY] == 60 && p[GP_TIME_WEEKDAY] == 2 && p[GP_TIME_MINUTE] == 90);
    gp_time_split(365.0 * 86400, p); // 31 December of a leap year
    assert_true(p[GP_TIME_YEARDAY] == 366);
    gp_time_split(366.0 * 86400, p);
    assert_true(p[GP_TIME_YEARDAY] == 1 && p[GP_TIME_WEEKDAY] == 1);
    gp_time_split(-1, p); // the last second of 1999, a Friday
    assert_true(p[GP_TIME_YEARDAY] == 365 && p[GP_TIME_WEEKDAY] == 5 &&
                fabs(p[GP_TIME_MINUTE] - 1439 - 59 / 60.0) < 1e-9);
    gp_time_split(366.0 * 86400 + 6 * 3600, p); // Monday, 1 January 2001, 06:00
    assert_true(fabs(p[GP_TIME_YEAR_SINE]) < 1e-9 && fabs(p[GP_TIME_YEAR_COSINE] - 1) < 1e-9);
    assert_true(fabs(p[GP_TIME_WEEK_SINE]) < 1e-9 && fabs(p[GP_TIME_WEEK_COSINE] - 1) < 1e-9);
    assert_true(fabs(p[GP_TIME_DAY_SINE] - 1) < 1e-9 && fabs(p[GP_TIME_DAY_COSINE]) < 1e-9);
}

static void a_column_of_dates_gives_its_varying_parts(void **state)
{
    (void)state;
    FILE *f = fopen(in_folder("dates.csv"), "w");
    fputs("when,y\n", f);
    for (int i = 0; i < 60; i++) fprintf(f, "%02d/%02d/2021,%d\n", 1 + i % 28, 1 + i / 28, i);
    fclose(f);
    const char *path = in_folder("dates.csv");
    gp_source *source = NULL;
    ASSERT_OK(gp_source_files_open(&(gp_file_options){.paths = &path, .n_paths = 1}, NULL, &source, err));
    gp_schema *schema = fit(source, &plain, NULL);
    assert_int_equal(schema->d, 5); // the minute of the day is constant, and 60 days do not show a year
    assert_string_equal(schema->x_names[3], "when (sine of the week)");
    assert_string_equal(schema->x_names[2], "when (weekday)");
    check_standardised(schema, source);
    gp_schema_free(schema);
    gp_source_free(source);
}

static void missing_targets_weights_and_gaps_drop_rows(void **state)
{
    (void)state;
    double target[N], weight[N], gap[N];
    for (size_t i = 0; i < N; i++) {
        target[i] = i % 10 == 0 ? NAN : y[i];
        weight[i] = i % 10 == 1 ? 0 : 1;
        gap[i] = i % 10 == 2 ? NAN : other[i];
    }
    gp_array arrays[] = {numbers("gap", gap), numbers("num", num), numbers("y", target), numbers("w", weight)};
    gp_schema_options o = {.target = "y", .weights = "w", .missing = GP_MISSING_DROP};
    gp_notes notes = {0};
    gp_source *source = table(arrays, 4, N);
    gp_schema *schema = fit(source, &o, &notes);
    assert_int_equal(schema->n_rows, 700);
    assert_int_equal(schema->d, 2);
    assert_int_equal(count_of(&notes, "rows without a value of 'y'"), 100);
    assert_int_equal(count_of(&notes, "rows of weight 0"), 100);
    assert_int_equal(count_of(&notes, "rows with a missing input"), 100);
    check_standardised(schema, source);
    gp_schema_free(schema);
    gp_notes_fini(&notes);
    o.missing = GP_MISSING_ERROR;
    ASSERT_FAILS(try_fit(source, &o, NULL, err), ADVGP_EDATA, "row 3: column 'gap' is missing");
    weight[5] = -1;
    ASSERT_FAILS(try_fit(source, &o, NULL, err), ADVGP_EDATA, "row 6: the weight in column 'w' is negative");
    gp_source_free(source);
}

// The law that scikit-learn asks of weights.
static void rows_of_weight_0_are_as_if_absent(void **state)
{
    (void)state;
    double weight[N], x[N], t[N];
    const char *k[N];
    size_t n = 0;
    for (size_t i = 0; i < N; i++) {
        weight[i] = i % 3 ? 1 : 0;
        if (!weight[i]) continue;
        x[n] = num[i];
        t[n] = y[i];
        k[n++] = many_p[i];
    }
    double ones[N];
    for (size_t i = 0; i < N; i++) ones[i] = 1;
    gp_array all[] = {numbers("num", num), texts("k", many_p), numbers("y", y), numbers("w", weight)};
    gp_array kept[] = {numbers("num", x), texts("k", k), numbers("y", t), numbers("w", ones)};
    const char *encode[] = {"k=target"};
    gp_schema_options o = {.target = "y", .weights = "w", .encode = encode, .n_encode = 1};
    gp_source *a = table(all, 4, N), *b = table(kept, 4, n);
    gp_schema *sa = fit(a, &o, NULL), *sb = fit(b, &o, NULL);
    assert_int_equal(sa->n_rows, sb->n_rows);
    assert_true(fabs(sa->y_mean - sb->y_mean) < 1e-12);
    for (size_t j = 0; j < sa->d; j++) assert_true(fabs(sa->x_scale[j] - sb->x_scale[j]) < 1e-12);
    gp_schema_free(sa);
    gp_schema_free(sb);
    gp_source_free(a);
    gp_source_free(b);
}

static void bad_tables_are_refused_with_the_reason(void **state)
{
    (void)state;
    double constant[N], negative[N];
    char mixed[N][16];
    const char *mixed_p[N];
    for (size_t i = 0; i < N; i++) {
        constant[i] = 4;
        negative[i] = i == 6 ? -1 : 1 + other[i];
        snprintf(mixed[i], sizeof mixed[i], i == 17 ? "abc" : "%zu", i);
        mixed_p[i] = mixed[i];
    }
    gp_array arrays[] = {numbers("num", num), numbers("flat", constant), numbers("neg", negative),
                         texts("mixed", mixed_p), numbers("y", y)};
    gp_source *source = table(arrays, 5, N);
    const char *x[] = {"num"}, *flat[] = {"flat"}, *typo[] = {"nun"}, *own[] = {"y"}, *bad_encode[] = {"num=frequency"};
    gp_schema_options o = {.target = "flat", .features = x, .n_features = 1};
    ASSERT_FAILS(try_fit(source, &o, NULL, err), ADVGP_EDATA, "the target 'flat' is 4 in all 1000 rows");
    o.target = "z";
    ASSERT_FAILS(try_fit(source, &o, NULL, err), ADVGP_EDATA, "no column 'z'");
    o = (gp_schema_options){.target = "y", .features = flat, .n_features = 1};
    ASSERT_FAILS(try_fit(source, &o, NULL, err), ADVGP_EDATA, "no column is left");
    o.features = typo;
    ASSERT_FAILS(try_fit(source, &o, NULL, err), ADVGP_EDATA, "did you mean 'num'?");
    o.features = own;
    ASSERT_FAILS(try_fit(source, &o, NULL, err), ADVGP_EINVAL, "is the target and cannot be a feature");
    o = (gp_schema_options){.target = "neg", .features = x, .n_features = 1, .log_target = true};
    ASSERT_FAILS(try_fit(source, &o, NULL, err), ADVGP_EDATA, "row 7: the target 'neg' is -1");
    o = (gp_schema_options){.target = "y", .encode = bad_encode, .n_encode = 1};
    ASSERT_FAILS(try_fit(source, &o, NULL, err), ADVGP_EINVAL, "none of onehot, target, number");
    const gp_schema_options strict = {.target = plain.target, .refuse_dirty = true};
    ASSERT_FAILS(try_fit(source, &strict, NULL, err), ADVGP_EDATA, "row 18: column 'mixed' holds 'abc' among numbers");
    o.target = "mixed";
    o.n_encode = 0;
    ASSERT_FAILS(try_fit(source, &o, NULL, err), ADVGP_EDATA,
                 "row 18: column 'mixed' holds 'abc' where a number is needed");
    gp_source_free(source);
    source = table(arrays, 5, 9);
    ASSERT_FAILS(try_fit(source, &plain, NULL, err), ADVGP_EDATA, "9 usable rows of 9");
    gp_source_free(source);
    source = table(arrays, 5, 0);
    ASSERT_FAILS(try_fit(source, &plain, NULL, err), ADVGP_EDATA, "has no rows");
    gp_source_free(source);
}

static void the_logarithm_of_the_target_comes_back(void **state)
{
    (void)state;
    double positive[N];
    for (size_t i = 0; i < N; i++) positive[i] = exp(y[i] - 3);
    gp_array arrays[] = {numbers("num", num), numbers("y", positive)};
    gp_source *source = table(arrays, 2, N);
    gp_schema_options o = {.target = "y", .log_target = true};
    gp_schema *schema = fit(source, &o, NULL);
    check_standardised(schema, source);
    assert_true(fabs(gp_schema_target(schema, gp_schema_standardise(schema, 2.5)) - 2.5) < 1e-12);
    gp_schema_free(schema);
    gp_source_free(source);
}

static gp_schema *rich_schema(void)
{
    double holes[N];
    for (size_t i = 0; i < N; i++) holes[i] = i % 5 == 0 ? NAN : other[i];
    gp_array arrays[] = {numbers("num", num),   numbers("holes", holes), texts("kind", kind),
                         texts("many", many_p), numbers("y", y),         numbers("w", w)};
    gp_source *source = table(arrays, 6, N);
    gp_schema_options o = {.target = "y", .weights = "w"};
    gp_schema *schema = fit(source, &o, NULL);
    gp_source_free(source);
    return schema;
}

static void json_round_trips_bit_for_bit(void **state)
{
    (void)state;
    gp_schema *schema = rich_schema(), *back = NULL;
    char *text = gp_schema_to_json(schema);
    assert_non_null(text);
    ASSERT_OK(gp_schema_from_json(text, strlen(text), &back, err));
    char *again = gp_schema_to_json(back);
    assert_string_equal(text, again);
    assert_int_equal(back->d, schema->d);
    for (size_t j = 0; j < back->d; j++) {
        assert_string_equal(back->x_names[j], schema->x_names[j]);
        assert_true(back->x_mean[j] == schema->x_mean[j] && back->x_scale[j] == schema->x_scale[j]);
    }
    gp_free(text);
    gp_free(again);
    gp_schema_free(schema);
    gp_schema_free(back);
}

static void damaged_json_is_refused_and_never_crashes(void **state)
{
    (void)state;
    gp_schema *schema = rich_schema(), *back = NULL;
    char *text = gp_schema_to_json(schema);
    size_t n = strlen(text), accepted = 0;
    gp_rng rng = gp_rng_seeded(3, 0);
    for (size_t cut = 0; cut < n; cut += 1 + n / 200)
        ASSERT_FAILS(gp_schema_from_json(text, cut, &back, err), ADVGP_EFILE, "schema");
    for (int i = 0; i < 3000; i++) {
        size_t at = gp_rng_below(&rng, n);
        char kept = text[at];
        text[at] = (char)(kept ^ (1 << gp_rng_below(&rng, 8)));
        advgp_status st = gp_schema_from_json(text, n, &back, NULL);
        assert_true(st == ADVGP_OK || st == ADVGP_EFILE);
        accepted += st ==
                    ADVGP_OK; // another digit or letter is another valid schema; checksums are the file's business
        gp_schema_free(back);
        text[at] = kept;
    }
    assert_true(accepted < 3000);
    static const char *const hostile[] = {"", "[]", "{}", "{\"version\":2}",
                                          "{\"version\":1,\"missing\":\"impute\",\"log_target\":false,\"rows\":1}"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
        ASSERT_FAILS(gp_schema_from_json(hostile[i], strlen(hostile[i]), &back, err), ADVGP_EFILE, "schema");
    gp_free(text);
    gp_schema_free(schema);
}

// Memory ends at call 0, 1, 2, ... until everything succeeds; each failure says ENOMEM and leaves nothing behind.
static void failing_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    gp_array arrays[] = {numbers("num", num), texts("kind", kind), texts("many", many_p), numbers("y", y),
                         numbers("w", w)};
    gp_schema_options o = {.target = "y", .weights = "w", .missing = GP_MISSING_DROP};
    long before = gp_alloc_count().live;
    for (long allowed = 0;; allowed++) {
        gp_alloc_fail_after(allowed);
        gp_source *source = NULL;
        gp_schema *schema = NULL, *back = NULL;
        gp_encoder *e = NULL;
        gp_notes notes = {0};
        gp_split split = {.kind = GP_SPLIT_GROUP, .fraction = 0.1, .name = "kind"};
        const gp_chunk *chunk = NULL;
        gp_rows rows;
        char *text = NULL;
        advgp_status st = gp_source_memory_open(arrays, 5, N, 100, &source, NULL);
        if (st == ADVGP_OK) st = gp_schema_fit(source, &o, &split, &notes, NULL, NULL, &schema, NULL);
        if (st == ADVGP_OK && !(text = gp_schema_to_json(schema))) st = ADVGP_ENOMEM;
        if (st == ADVGP_OK) st = gp_schema_from_json(text, strlen(text), &back, NULL);
        if (st == ADVGP_OK) st = gp_encoder_new(schema, source, GP_ENCODE_TRAIN, &split, &e, NULL);
        if (st == ADVGP_OK) st = gp_source_next(source, &chunk, NULL);
        if (st == ADVGP_OK) st = gp_encoder_chunk(e, chunk, &rows, NULL);
        gp_alloc_fail_after(-1);
        gp_encoder_free(e);
        gp_free(text);
        gp_schema_free(schema);
        gp_schema_free(back);
        gp_source_free(source);
        gp_notes_fini(&notes);
        assert_int_equal(gp_alloc_count().live, before);
        if (st == ADVGP_OK) break;
        assert_int_equal(st, ADVGP_ENOMEM);
    }
}

static void targets_that_are_never_negative_have_a_bound(void **state)
{
    (void)state;
    double counts[N], high[N];
    for (size_t i = 0; i < N; i++) counts[i] = floor(20 * other[i] * other[i]), high[i] = 170 + 10 * other[i];
    gp_array arrays[] = {numbers("num", num), numbers("y", counts), numbers("high", high)};
    gp_source *source = table(arrays, 3, N);
    gp_notes notes = {0};
    gp_schema *schema = fit(source, &plain, &notes), *back = NULL;
    assert_true(schema->bounded && schema->bounds.lo == 0 && isinf(schema->bounds.hi));
    assert_int_equal(count_of(&notes, "cut at 0"), 1);
    assert_true(gp_schema_cut(schema, -3) == 0 && gp_schema_cut(schema, 3) == 3);
    char *text = gp_schema_to_json(schema);
    ASSERT_OK(gp_schema_from_json(text, strlen(text), &back, err));
    assert_true(back->bounded && back->bounds.lo == 0 && isinf(back->bounds.hi));
    gp_free(text);
    gp_schema_free(back);
    gp_schema_free(schema);

    const gp_schema_options far = {.target = "high"}, none = {.target = "y", .bounds_are = GP_BOUNDS_NONE};
    schema = fit(source, &far, NULL);
    assert_false(schema->bounded);
    gp_schema_free(schema);
    schema = fit(source, &none, NULL);
    assert_true(!schema->bounded && gp_schema_cut(schema, -3) == -3);
    gp_schema_free(schema);
    gp_schema_options given = {.target = "y"};
    ASSERT_OK(gp_bounds_parse("0:20", &given.bounds_are, &given.bounds, err));
    schema = fit(source, &given, NULL);
    assert_true(gp_schema_cut(schema, 25) == 20);
    gp_schema_free(schema);
    ASSERT_OK(gp_bounds_parse(":5", &given.bounds_are, &given.bounds, err));
    ASSERT_FAILS(try_fit(source, &given, NULL, err), ADVGP_EDATA, "beyond what {bounds} allows");
    ASSERT_FAILS(gp_bounds_parse("5:1", &given.bounds_are, &given.bounds, err), ADVGP_EINVAL, "5:1");
    ASSERT_FAILS(gp_bounds_parse(":", &given.bounds_are, &given.bounds, err), ADVGP_EINVAL, "LO:HI");
    gp_source_free(source);
    gp_notes_fini(&notes);
}

static void a_logarithm_takes_zeros_by_an_offset(void **state)
{
    (void)state;
    double counts[N];
    for (size_t i = 0; i < N; i++) counts[i] = floor(20 * other[i] * other[i]);
    gp_array arrays[] = {numbers("num", num), numbers("y", counts)};
    const gp_schema_options o = {.target = "y", .log_target = true};
    gp_source *source = table(arrays, 2, N);
    gp_notes notes = {0};
    gp_schema *schema = fit(source, &o, &notes), *back = NULL;
    assert_true(schema->log_offset == 0.5); // half of 1, the smallest count above 0
    assert_int_equal(count_of(&notes, "0.5 is added before its logarithm"), 1);
    assert_true(schema->bounded && schema->bounds.lo == 0);
    for (double v = 0; v < 20; v++)
        assert_true(fabs(gp_schema_target(schema, gp_schema_standardise(schema, v)) - v) < 1e-9);
    check_standardised(schema, source);
    char *text = gp_schema_to_json(schema);
    ASSERT_OK(gp_schema_from_json(text, strlen(text), &back, err));
    assert_true(back->log_offset == 0.5);
    gp_free(text);
    gp_schema_free(back);
    gp_schema_free(schema);
    counts[17] = -1;
    ASSERT_FAILS(try_fit(source, &o, NULL, err), ADVGP_EDATA, "row 18");
    gp_source_free(source);
    gp_notes_fini(&notes);
}

static void numbers_that_tell_rows_apart_are_left_out(void **state)
{
    (void)state;
    double id[N], counter[N], hour[N], amount[N];
    for (size_t i = 0; i < N; i++) {
        id[i] = (double)(5000 + i * 7919 % N); // in no order
        counter[i] = (double)(i + 1);
        hour[i] = (double)i;
        amount[i] = (double)(i * 7919 % N);
    }
    gp_array arrays[] = {numbers("customer_id", id), numbers("n", counter), numbers("hour", hour),
                         numbers("humid", amount), numbers("y", y)};
    gp_source *source = table(arrays, 5, N);
    gp_notes notes = {0};
    gp_schema *schema = fit(source, &plain, &notes);
    assert_int_equal(schema->n_inputs, 2);
    assert_string_equal(schema->inputs[0].name, "hour");
    assert_string_equal(schema->inputs[1].name, "humid");
    assert_int_equal(count_of(&notes, "'customer_id' is left out"), 1);
    assert_int_equal(count_of(&notes, "'n' is left out"), 1);
    gp_schema_free(schema);
    const char *encode[] = {"n=number"}, *features[] = {"customer_id", "n"};
    const gp_schema_options kept = {.target = "y", .encode = encode, .n_encode = 1},
                            asked = {.target = "y", .features = features, .n_features = 2};
    schema = fit(source, &kept, NULL);
    assert_int_equal(schema->n_inputs, 3);
    gp_schema_free(schema);
    schema = fit(source, &asked, NULL);
    assert_int_equal(schema->n_inputs, 2);
    gp_schema_free(schema);
    gp_source_free(source);
    gp_array alone[] = {numbers("t0", counter), numbers("y", y)}; // all there is
    source = table(alone, 2, N);
    schema = fit(source, &plain, NULL);
    assert_int_equal(schema->n_inputs, 1);
    gp_schema_free(schema);
    gp_source_free(source);
    gp_notes_fini(&notes);
}

static void held_out_rows_follow_the_seed(void **state)
{
    (void)state;
    gp_split s;
    ASSERT_OK(gp_split_parse("0.1", 5, &s, err));
    gp_split_settle(&s, 300);
    assert_int_equal(s.kind, GP_SPLIT_NONE); // under 400 rows none
    ASSERT_OK(gp_split_parse("0.1", 5, &s, err));
    gp_split_settle(&s, 20000);
    size_t counts[GP_PARTS] = {0};
    for (size_t i = 0; i < 20000; i++) counts[gp_split_part(&s, i, 0)]++;
    assert_in_range(counts[GP_STOP] + counts[GP_CALIBRATE], 1800, 2200);
    assert_in_range(counts[GP_STOP], 850, 1150);
    ASSERT_OK(gp_split_parse("0.5", 5, &s, err));
    gp_split_settle(&s, 10000000);
    size_t held = 0;
    for (size_t i = 0; i < 10000000; i++) held += gp_split_part(&s, i, 0) != GP_TRAIN;
    assert_in_range(held, 96000, GP_HELD_OUT_MAX);
    ASSERT_OK(gp_split_parse("last:0.25", 5, &s, err));
    gp_split_settle(&s, 1000);
    assert_true(gp_split_part(&s, 749, 0) == GP_TRAIN && gp_split_part(&s, 750, 0) != GP_TRAIN);
    ASSERT_OK(gp_split_parse("held.csv", 5, &s, err));
    assert_int_equal(s.kind, GP_SPLIT_FILE);
    ASSERT_FAILS(gp_split_parse("1.5", 5, &s, err), ADVGP_EINVAL, "fraction");
    ASSERT_FAILS(gp_split_parse("last:x", 5, &s, err), ADVGP_EINVAL, "fraction");
}

static void groups_are_held_out_whole(void **state)
{
    (void)state;
    gp_array arrays[] = {numbers("num", num), texts("who", many_p), numbers("y", y)};
    gp_source *source = table(arrays, 3, N);
    gp_split split;
    gp_schema *schema = NULL;
    gp_encoder *e = NULL;
    const gp_chunk *chunk;
    gp_rows rows;
    ASSERT_OK(gp_split_parse("group:who", 11, &split, err));
    ASSERT_OK(gp_schema_fit(source, &plain, &split, NULL, NULL, NULL, &schema, err));
    assert_int_equal(schema->d, 1); // the group is no input
    ASSERT_OK(gp_encoder_new(schema, source, GP_ENCODE_TRAIN, &split, &e, err));
    int held[40] = {0}, kept[40] = {0}, n_held = 0;
    for (;;) {
        ASSERT_OK(gp_source_next(source, &chunk, err));
        if (!chunk) break;
        ASSERT_OK(gp_encoder_chunk(e, chunk, &rows, err));
        for (size_t k = 0; k < rows.n; k++)
            (rows.part[k] == GP_TRAIN ? kept : held)[atoi(many[rows.source_row[k]] + 1)]++;
    }
    for (int g = 0; g < 40; g++) {
        assert_true(!held[g] || !kept[g]);
        n_held += held[g];
    }
    assert_in_range(n_held, 50, 120); // 5 % of the rows, and at most a group more
    gp_encoder_free(e);
    gp_schema_free(schema);
    gp_source_free(source);
}

int main(void)
{
    fill();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoded_columns_have_mean_0_and_variance_1),
        cmocka_unit_test(texts_are_onehot_then_target_means_then_left_out),
        cmocka_unit_test(unseen_categories_are_counted_and_missing_columns_named),
        cmocka_unit_test(dates_become_calendar_numbers),
        cmocka_unit_test(a_column_of_dates_gives_its_varying_parts),
        cmocka_unit_test(missing_targets_weights_and_gaps_drop_rows),
        cmocka_unit_test(rows_of_weight_0_are_as_if_absent),
        cmocka_unit_test(bad_tables_are_refused_with_the_reason),
        cmocka_unit_test(the_logarithm_of_the_target_comes_back),
        cmocka_unit_test(json_round_trips_bit_for_bit),
        cmocka_unit_test(damaged_json_is_refused_and_never_crashes),
        cmocka_unit_test(failing_memory_leaves_nothing_behind),
        cmocka_unit_test(targets_that_are_never_negative_have_a_bound),
        cmocka_unit_test(a_logarithm_takes_zeros_by_an_offset),
        cmocka_unit_test(numbers_that_tell_rows_apart_are_left_out),
        cmocka_unit_test(held_out_rows_follow_the_seed),
        cmocka_unit_test(groups_are_held_out_whole),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
