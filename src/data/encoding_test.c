// encoding_test.c: the promises of encoding.h, asked of every kind in the list: what it writes has its width, means and
// variances are 0 and 1, values come back, rows and tables give the same bits; missing values, unseen ones; files there
// and back, damaged ones; memory that ends at any call.
#include "base/decimal.h"
#include "data/encode.h"
#include "data/encode_row.h"
#include "data/encoding.h"
#include "data/table_test.h"
#include "report/decode.h"

#include <math.h>

enum { N = 600, GAPS = 11, ODD = 4 }; // ODD: rows more, of what training has not seen

// A line a kind: the type of a column, and what {encode} says of it (NULL: nothing), that become it.
static const struct sample {
    const gp_encoding *encoding;
    gp_column_type type;
    const char *how;
} samples[] = {{&gp_encoding_onehot, GP_TEXT, NULL},      {&gp_encoding_target, GP_TEXT, "target"},
               {&gp_encoding_boolean, GP_BOOLEAN, NULL},  {&gp_encoding_number, GP_NUMBER, NULL},
               {&gp_encoding_number, GP_TIME, "number"},  {&gp_encoding_time, GP_TIME, NULL},
               {&gp_encoding_onehot, GP_NUMBER, "onehot"}};
enum { N_SAMPLES = sizeof samples / sizeof *samples };

static double number[N + ODD], other[N + ODD], y[N + ODD];
static const char *word[N + ODD];

// Rows of N are for training; every 11th value is missing if there are gaps.
static void fill(const struct sample *s, bool gaps)
{
    static const char *const words[] = {"ant", "bee", "cat, dog", "d\u00f6ner", "x=1"};
    for (size_t i = 0; i < N + ODD; i++) {
        const size_t k = i * 7 % 5;
        const bool odd = i >= N;
        number[i] = s->type == GP_BOOLEAN ? (double)(k < 2)
                    : s->type == GP_TIME  ? 86400.0 * (double)(i * 7 % 501) + 3600.0 * (double)(i % 24)
                    : s->encoding->texts  ? (double)k
                                          : 0.25 * (double)(i * 7 % 101) - 5;
        if (odd && s->type != GP_BOOLEAN) number[i] = 1e9 + (double)i;
        word[i] = odd ? "never seen" : words[k];
        if (gaps && i % GAPS == 0) number[i] = NAN, word[i] = NULL;
        other[i] = (double)(i % 13);
        y[i] = (double)(k * k) + 0.1 * (double)(i % 17);
    }
}

static gp_source *open_rows(const struct sample *s, size_t first, size_t n)
{
    const bool text = s->type == GP_TEXT;
    const gp_array arrays[] = {{.name = "x", .number = text ? NULL : number + first, .stride = 1, .text = word + first},
                               {.name = "other", .number = other + first, .stride = 1},
                               {.name = "y", .number = y + first, .stride = 1}};
    gp_source *source = NULL;
    ASSERT_OK(gp_source_memory_open(arrays, 3, n, 64, &source, err));
    source->columns[0].type = s->type;
    return source;
}

static advgp_status try_fit(const struct sample *s, gp_source *source, gp_schema **out, advgp_error *err)
{
    char spec[64];
    const char *encode = spec;
    snprintf(spec, sizeof spec, "x=%s", s->how ? s->how : "");
    const gp_schema_options o = {.target = "y", .encode = &encode, .n_encode = s->how != NULL};
    gp_split split = {.kind = GP_SPLIT_NONE};
    return gp_schema_fit(source, &o, &split, NULL, NULL, NULL, out, err);
}

static gp_schema *fit(const struct sample *s, bool gaps)
{
    gp_schema *schema = NULL;
    fill(s, gaps);
    gp_source *source = open_rows(s, 0, N);
    ASSERT_OK(try_fit(s, source, &schema, err));
    gp_source_free(source);
    assert_ptr_equal(schema->inputs[0].encoding, s->encoding);
    assert_true(schema->inputs[0].indicator == gaps);
    return schema;
}

// Rows from the first on, encoded as prediction does: X[n x d], to be freed; counts of what is odd.
static double *encode(const struct sample *s, const gp_schema *schema, size_t first, size_t n, gp_encode_counts *counts)
{
    gp_source *source = open_rows(s, first, n);
    gp_encoder *e = NULL;
    double *X = gp_alloc(n, schema->d * sizeof *X);
    const gp_chunk *chunk;
    gp_rows rows;
    size_t done = 0;
    ASSERT_OK(gp_encoder_new(schema, source, GP_ENCODE_PREDICT, NULL, &e, err));
    for (;;) {
        ASSERT_OK(gp_source_next(source, &chunk, err));
        if (!chunk) break;
        ASSERT_OK(gp_encoder_chunk(e, chunk, &rows, err));
        memcpy(X + done * schema->d, rows.X, rows.n * schema->d * sizeof *X);
        done += rows.n;
    }
    assert_int_equal(done, n);
    *counts = gp_encoder_counts(e);
    gp_encoder_free(e);
    gp_source_free(source);
    return X;
}

static double *inverse_scale(const gp_schema *schema)
{
    double *inverse = gp_alloc(schema->d, sizeof *inverse);
    for (size_t j = 0; j < schema->d; j++) inverse[j] = 1 / schema->x_scale[j];
    return inverse;
}

// The value of a row as a caller of gp_encode_row writes it.
static double code_of(const struct sample *s, const gp_input *input, size_t row)
{
    char digits[GP_DECIMAL_BYTES];
    if (!input->encoding->texts) return number[row];
    if (s->type == GP_TEXT ? !word[row] : isnan(number[row])) return NAN;
    if (s->type != GP_TEXT) (void)gp_decimal_write(number[row], digits);
    const char *text = s->type == GP_TEXT ? word[row] : digits;
    return (double)gp_categories_find(&input->categories, (gp_text){.p = text, .n = strlen(text)});
}

static void the_list_is_whole(void **state)
{
    (void)state;
    for (int t = GP_NUMBER; t <= GP_TEXT; t++) {
        size_t suggested = 0;
        for (size_t i = 0; gp_encoding_family[i]; i++) suggested += gp_encoding_family[i]->suggested >> t & 1;
        assert_int_equal(suggested, 1);
    }
    for (size_t i = 0; gp_encoding_family[i]; i++) {
        const gp_encoding *e = gp_encoding_family[i];
        if (!e->name || !e->described || !e->types || !(e->unit > 0) || (e->suggested & ~e->types) || !e->observe ||
            !e->is_constant || !e->scale || !e->width || !e->encode || !e->decode || !e->show || !e->write != !e->read)
            fail_msg("kind %zu (%s) lacks something", i, e->name ? e->name : "without a name");
        size_t found = 0, named = 0;
        for (size_t k = 0; k < N_SAMPLES; k++) found += samples[k].encoding == e;
        for (int t = GP_NUMBER; t <= GP_TEXT; t++) named += gp_encoding_named(e->name, (gp_column_type)t) == e;
        if (!found || !named) fail_msg("%s has %zu samples, and %zu types find it", e->name, found, named);
        assert_true(!e->asked || gp_encoding_is_asked(e->name));
    }
    assert_null(gp_encoding_named("nothing", GP_NUMBER));
    assert_null(gp_encoding_named(NULL, GP_NUMBER));
    assert_false(gp_encoding_is_asked("nothing"));
}

static void what_is_written_has_its_width(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2 * N_SAMPLES; k++) {
        const struct sample *s = &samples[k / 2];
        gp_schema *schema = fit(s, k % 2);
        const gp_input *in = &schema->inputs[0];
        const size_t width = in->encoding->width(in), stride = in->n_encoded + 3;
        double *x = gp_alloc(2, stride * sizeof *x), *inverse = inverse_scale(schema), values[2];
        const size_t rows[] = {1, 0};
        gp_oddities odd = {0};
        assert_int_equal(in->n_encoded, width + in->indicator);
        for (size_t i = 0; i < in->n_encoded; i++) {
            assert_memory_equal(schema->x_names[i], "x", 1);
            for (size_t j = 0; j < i; j++) assert_string_not_equal(schema->x_names[i], schema->x_names[j]);
        }
        for (size_t i = 0; i < 2; i++) values[i] = code_of(s, in, 1 + i);
        for (size_t i = 0; i < 2 * stride; i++) x[i] = NAN;
        in->encoding->encode(in, (gp_input_scale){schema->x_mean, inverse},
                             (gp_picked){.numbers = values, .rows = rows, .n = 2}, x, stride, &odd);
        for (size_t i = 0; i < 2 * stride; i++) assert_true(isfinite(x[i]) == (i % stride < in->n_encoded));
        assert_true(odd.n_unseen + odd.n_outside + odd.n_clipped == 0);
        gp_free(x);
        gp_free(inverse);
        gp_schema_free(schema);
    }
}

static void columns_have_mean_0_and_variance_1(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2 * N_SAMPLES; k++) {
        gp_schema *schema = fit(&samples[k / 2], k % 2);
        gp_encode_counts counts;
        double *X = encode(&samples[k / 2], schema, 0, N, &counts);
        for (size_t j = 0; j < schema->d; j++) {
            double sum = 0, squares = 0;
            for (size_t i = 0; i < N; i++) sum += X[i * schema->d + j], squares += pow(X[i * schema->d + j], 2);
            if (!(fabs(sum / N) < 1e-9 && fabs(squares / N - 1) < 1e-9))
                fail_msg("%s: mean %g, variance %g", schema->x_names[j], sum / N, squares / N);
        }
        assert_int_equal(counts.n_missing, k % 2 ? (N + GAPS - 1) / GAPS : 0);
        assert_true(counts.n_unseen + counts.n_outside + counts.n_clipped == 0);
        gp_free(X);
        gp_schema_free(schema);
    }
}

static void values_come_back_and_rows_are_as_tables(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2 * N_SAMPLES; k++) {
        const struct sample *s = &samples[k / 2];
        gp_schema *schema = fit(s, k % 2);
        const gp_input *in = &schema->inputs[0];
        gp_encode_counts counts;
        double *X = encode(s, schema, 0, N, &counts), *inverse = inverse_scale(schema);
        double *x = gp_alloc(schema->d, sizeof *x);
        for (size_t i = 0; i < N; i++) {
            const double code = code_of(s, in, i), back = gp_decode(schema, in, X + i * schema->d);
            const double values[] = {code, other[i]};
            size_t missing;
            gp_encode_row(schema, inverse, values, x, &missing);
            assert_memory_equal(x, X + i * schema->d, schema->d * sizeof *x);
            assert_int_equal(missing, isnan(code) ? 0 : 2);
            assert_true(isnan(code) == gp_input_is_missing(schema, in, x));
            if (isnan(code) ? !isnan(back) : !(fabs(back - code) <= 1e-6 * (1 + fabs(code))))
                fail_msg("%s, row %zu: %g came back as %g", in->encoding->name, i, code, back);
            gp_remark remark;
            if (!isnan(code) && in->encoding->remark && in->encoding->remark(schema, in, x, &remark))
                fail_msg("%s, row %zu: %s", in->encoding->name, i, remark.what);
            gp_buffer text = {0};
            gp_decode_text(in, back, &text);
            assert_true(text.n > 0);
            if (s->type == GP_TEXT && word[i]) assert_string_equal(text.p, word[i]);
            gp_buffer_fini(&text);
        }
        gp_free(x);
        gp_free(X);
        gp_free(inverse);
        gp_schema_free(schema);
    }
}

// Values that training has not seen are counted, remarked and finite; so are missing ones where it had none.
static void what_is_new_is_told(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_SAMPLES; k++) {
        const struct sample *s = &samples[k];
        gp_schema *schema = fit(s, false);
        const gp_input *in = &schema->inputs[0];
        gp_encode_counts counts;
        word[N] = NULL, number[N] = NAN;
        double *X = encode(s, schema, N, ODD, &counts);
        for (size_t i = 0; i < ODD * schema->d; i++) assert_true(isfinite(X[i]));
        assert_int_equal(counts.n_missing, 1);
        if (in->encoding->remark) {
            const char *what = in->encoding->texts ? "unseen" : "outside";
            assert_int_equal(in->encoding->texts ? counts.n_unseen : counts.n_outside, ODD - 1);
            for (size_t i = 1; i < ODD; i++) {
                gp_remark remark;
                assert_true(in->encoding->remark(schema, in, X + i * schema->d, &remark));
                assert_string_equal(remark.what, what);
                if (in->encoding->texts) assert_true(isnan(gp_decode(schema, in, X + i * schema->d)));
            }
        }
        gp_free(X);
        gp_schema_free(schema);
    }
}

static gp_schema *read_back(const char *text)
{
    gp_schema *schema = NULL;
    ASSERT_OK(gp_schema_from_json(text, strlen(text), &schema, err));
    return schema;
}

static void files_keep_all_of_it(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2 * N_SAMPLES; k++) {
        const struct sample *s = &samples[k / 2];
        gp_schema *schema = fit(s, k % 2);
        char *text = gp_schema_to_json(schema);
        gp_schema *again = read_back(text);
        char *twice = gp_schema_to_json(again);
        gp_encode_counts counts;
        double *X = encode(s, schema, 0, N + ODD, &counts), *Y = encode(s, again, 0, N + ODD, &counts);
        assert_string_equal(text, twice);
        assert_ptr_equal(again->inputs[0].encoding, s->encoding);
        assert_int_equal(again->d, schema->d);
        for (size_t j = 0; j < schema->d; j++) assert_string_equal(again->x_names[j], schema->x_names[j]);
        assert_memory_equal(X, Y, (N + ODD) * schema->d * sizeof *X);
        gp_free(X);
        gp_free(Y);
        gp_free(text);
        gp_free(twice);
        gp_schema_free(schema);
        gp_schema_free(again);
    }
}

// A member of the input that is gone, or something else: the schema is refused, or reads and is whole.
static void damaged_files_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {NULL, "null", "7", "-1e300", "\"x\"", "[]", "[[1, 1], [0, 2]]", "{}", "true"};
    size_t refused = 0;
    for (size_t k = 0; k < N_SAMPLES; k++) {
        gp_schema *schema = fit(&samples[k], true);
        char *text = gp_schema_to_json(schema);
        json_t *whole = json_loads(text, 0, NULL);
        json_t *input = json_array_get(json_object_get(whole, "inputs"), 0), *copy = json_deep_copy(input), *member;
        const char *key;
        json_object_foreach(copy, key, member) for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        {
            if (wrong[i])
                json_object_set_new(input, key, json_loads(wrong[i], JSON_DECODE_ANY, NULL));
            else
                json_object_del(input, key);
            char *damaged = json_dumps(whole, JSON_REAL_PRECISION(17));
            gp_schema *read = NULL;
            advgp_error err = {0};
            const advgp_status st = gp_schema_from_json(damaged, strlen(damaged), &read, &err);
            assert_true(st == ADVGP_OK || (st == ADVGP_EFILE && strstr(err.text, "damaged")));
            if (st == ADVGP_OK) assert_int_equal(read->d, schema->d);
            refused += st != ADVGP_OK;
            gp_schema_free(read);
            free(damaged);
            json_object_set(input, key, member);
        }
        json_decref(copy);
        json_decref(whole);
        gp_free(text);
        gp_schema_free(schema);
    }
    assert_true(refused > 20 * N_SAMPLES);
}

static long blocks_left; // of Jansson's heap
static void *block(size_t n)
{
    return blocks_left-- > 0 ? malloc(n) : NULL;
}

// Jansson's heap fails too while it writes; its lexer asserts that it never does.
static void memory_may_end_at_any_call(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_SAMPLES; k++) {
        gp_schema *schema = fit(&samples[k], true), *other_one = NULL;
        char *whole = gp_schema_to_json(schema), *text = NULL;
        const long live = gp_alloc_count().live;
        advgp_status st = ADVGP_ENOMEM;
        advgp_error err;
        json_set_alloc_funcs(block, free);
        for (long calls = 0; !text; calls++) {
            blocks_left = calls;
            text = gp_schema_to_json(schema);
        }
        json_set_alloc_funcs(malloc, free);
        assert_string_equal(text, whole);
        gp_free(text);
        for (long calls = 0; st != ADVGP_OK; calls++) {
            gp_alloc_fail_after(calls);
            st = gp_schema_from_json(whole, strlen(whole), &other_one, &err);
            gp_alloc_fail_after(-1);
            assert_true(st == ADVGP_OK || st == ADVGP_ENOMEM);
        }
        gp_schema_free(other_one);
        assert_int_equal(gp_alloc_count().live, live);
        gp_source *source = open_rows(&samples[k], 0, N);
        st = ADVGP_ENOMEM;
        for (long calls = 0; st != ADVGP_OK; calls++) {
            gp_alloc_fail_after(calls);
            st = try_fit(&samples[k], source, &other_one, &err);
            gp_alloc_fail_after(-1);
            assert_true(st == ADVGP_OK || st == ADVGP_ENOMEM);
        }
        gp_schema_free(other_one);
        gp_source_free(source);
        assert_int_equal(gp_alloc_count().live, live);
        gp_free(whole);
        gp_schema_free(schema);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_whole),
        cmocka_unit_test(what_is_written_has_its_width),
        cmocka_unit_test(columns_have_mean_0_and_variance_1),
        cmocka_unit_test(values_come_back_and_rows_are_as_tables),
        cmocka_unit_test(what_is_new_is_told),
        cmocka_unit_test(files_keep_all_of_it),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(memory_may_end_at_any_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
