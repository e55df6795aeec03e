// library_test.c: advgp.h as its callers use it: tables of every kind give the same model, rows by place and tables by
// name the same answers, no prediction takes memory, and whatever is wrong is said.
#include "advgp.h"
#include "data/arrow_stream.h"
#include "data/table_test.h"

#include <math.h>
#include <pthread.h>

enum { ROWS = 400, N = 5 };

static double x[ROWS], when[ROWS], y[ROWS];
static float level[ROWS];
static unsigned char open_[ROWS];
static const char *kind[ROWS];

static int make_table(void **state)
{
    static const char *const kinds[] = {"red", "green", "blue"};
    for (size_t i = 0; i < ROWS; i++) {
        x[i] = sin((double)i * 1.7) * 3;
        level[i] = (float)(i % 17) / 4;
        open_[i] = i % 3 == 0;
        when[i] = 1.6e9 + 3600.0 * (double)i;
        kind[i] = i % 11 ? kinds[i % 3] : NULL;
        y[i] = sin(x[i]) + 0.3 * level[i] + (open_[i] ? 0.5 : 0) + 0.01 * (double)(i * 7919 % 13);
    }
    x[5] = NAN;
    return enter_folder(state);
}

static const advgp_column columns[] = {{"x", ADVGP_FLOAT64, x, 0},        {"level", ADVGP_FLOAT32, level, 0},
                                       {"open", ADVGP_BOOLEAN, open_, 0}, {"when", ADVGP_TIME, when, 0},
                                       {"kind", ADVGP_TEXT, kind, 0},     {"y", ADVGP_FLOAT64, y, 0}};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static advgp_data *table_of(size_t first, size_t n)
{
    static const size_t widths[] = {8, 4, 1, 8, 8, 8};
    advgp_data *d = NULL;
    ASSERT_OK(advgp_data_new(n, &d, err));
    for (size_t i = 0; i < N_COLUMNS; i++) {
        advgp_column c = columns[i];
        c.values = (const char *)c.values + first * widths[i];
        ASSERT_OK(advgp_data_add(d, &c, err));
    }
    return d;
}

static advgp_options *options_of(const char *verb, const char *const (*pairs)[2])
{
    advgp_options *o = NULL;
    ASSERT_OK(advgp_options_new(verb, &o, err));
    for (; (*pairs)[0]; pairs++) ASSERT_OK(advgp_options_set(o, (*pairs)[0], (*pairs)[1], err));
    return o;
}

// Few steps of the paper's method, or the exact process.
static advgp_model *train_on(const advgp_data *d, const char *method)
{
    const char *const steps[][2] = {{"target", "y"}, {"method", "advgp"}, {"inducing", "20"},    {"components", "1"},
                                    {"epochs", "3"}, {"workers", "1"},    {"noise", "constant"}, {NULL, NULL}};
    const char *const exact[][2] = {{"target", "y"}, {"method", "exact"}, {NULL, NULL}};
    advgp_options *o = options_of("train", strcmp(method, "exact") == 0 ? exact : steps);
    advgp_model *m = NULL;
    ASSERT_OK(advgp_train(d, o, NULL, &m, err));
    assert_non_null(m);
    advgp_options_free(o);
    return m;
}

static advgp_answer *answer_of(const advgp_model *m, const advgp_data *d)
{
    const char *const wanted[][2] = {{"interval", "0.8"}, {"quantiles", "0.1,0.5"}, {"exceeds", "0.7"}, {NULL, NULL}};
    advgp_options *o = options_of("predict", wanted);
    advgp_answer *a = NULL;
    ASSERT_OK(advgp_predict_data(m, d, o, NULL, &a, err));
    advgp_options_free(o);
    return a;
}

static void assert_same_answers(const advgp_answer *a, const advgp_answer *b)
{
    assert_int_equal(advgp_answer_rows(a), advgp_answer_rows(b));
    assert_int_equal(advgp_answer_columns(a), advgp_answer_columns(b));
    for (size_t k = 0; k < advgp_answer_columns(a); k++)
        assert_memory_equal(advgp_answer_values(a, k), advgp_answer_values(b, k),
                            advgp_answer_rows(a) * sizeof(double));
}

// ---- tables ---------------------------------------------------------------------------------------------------------

static void check_same_model(const advgp_data *data, const advgp_answer *expected, const advgp_data *rows)
{
    advgp_model *m = train_on(data, "advgp");
    advgp_answer *a = answer_of(m, rows);
    assert_same_answers(expected, a);
    advgp_answer_free(a);
    advgp_model_free(m);
}

static void pieces_make_the_same_table(void **state)
{
    (void)state;
    advgp_data *whole = table_of(0, ROWS), *grown = NULL;
    assert_int_equal(advgp_data_rows(whole), ROWS);
    ASSERT_OK(advgp_data_new(0, &grown, err));
    for (size_t at = 0, n = 1; at < ROWS; at += n, n = 3 * n < ROWS - at ? 3 * n : ROWS - at) {
        advgp_data *piece = table_of(at, n);
        ASSERT_OK(advgp_data_append(grown, piece, err));
        advgp_data_free(piece);
    }
    assert_int_equal(advgp_data_rows(grown), ROWS);
    advgp_model *m = train_on(whole, "advgp");
    advgp_answer *a = answer_of(m, whole);
    check_same_model(grown, a, whole);

    advgp_data *other = NULL; // pieces have the same columns, and a failure leaves the table as it was
    ASSERT_OK(advgp_data_new(2, &other, err));
    ASSERT_OK(advgp_data_add(other, &columns[0], err));
    ASSERT_FAILS(advgp_data_append(grown, other, err), ADVGP_EDATA, "1 columns");
    ASSERT_FAILS(advgp_data_append(grown, grown, err), ADVGP_EINVAL, "appended to itself");
    assert_int_equal(advgp_data_rows(grown), ROWS);
    check_same_model(grown, a, whole);
    ASSERT_FAILS(advgp_data_append(whole, other, err), ADVGP_EINVAL, "began without rows");
    advgp_data_free(other);
    advgp_answer_free(a);
    advgp_model_free(m);
    advgp_data_free(grown);
    advgp_data_free(whole);
}

// ---- Arrow ----------------------------------------------------------------------------------------------------------

// A stream of two batches over the arrays above: doubles, floats, bits, microseconds, and a dictionary of texts.
typedef struct stream_state {
    int batch, released, live; // arrays that nobody has released
    const char *format_of_x;
} stream_state;
static const size_t cuts[] = {0, 150, ROWS};
static const char *const arrow_names[] = {"x", "level", "open", "when", "kind", "y"};
static int64_t micros[ROWS];
static int8_t codes[ROWS];
static unsigned char bits[ROWS / 8 + 1], valid[ROWS / 8 + 1];
static const int32_t word_ends[] = {0, 4, 7, 12};
static stream_state *live_state;

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void release_array(struct ArrowArray *a)
{
    live_state->live--;
    a->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    static struct ArrowSchema of[N_COLUMNS], words = {.format = "u", .release = release_schema}, *list[N_COLUMNS];
    static const char *const formats[] = {"g", "f", "b", "tsu:UTC", "c", "g"};
    const stream_state *state = stream->private_data;
    for (size_t j = 0; j < N_COLUMNS; j++) {
        of[j] = (struct ArrowSchema){.format = j ? formats[j] : state->format_of_x,
                                     .name = arrow_names[j],
                                     .dictionary = j == 4 ? &words : NULL,
                                     .release = release_schema};
        list[j] = &of[j];
    }
    *out = (struct ArrowSchema){.format = "+s", .n_children = N_COLUMNS, .children = list, .release = release_schema};
    return 0;
}

// Every batch is the whole with an offset, as a slice of a larger table is.
static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    static const void *buffers[2][N_COLUMNS][2], *text[3] = {NULL, word_ends, "bluegreenred"};
    static struct ArrowArray arrays[2][N_COLUMNS], words, *list[2][N_COLUMNS];
    static const int32_t ends[] = {0, 4, 9, 12};
    stream_state *state = stream->private_data;
    *out = (struct ArrowArray){0};
    if (state->batch == 2) return 0;
    const int b = state->batch++;
    const void *const values[] = {x, level, bits, micros, codes, y};
    text[1] = ends;
    words = (struct ArrowArray){.length = 3, .n_buffers = 3, .buffers = text, .release = release_array};
    for (size_t j = 0; j < N_COLUMNS; j++) {
        buffers[b][j][0] = j == 4 ? valid : NULL, buffers[b][j][1] = values[j];
        arrays[b][j] = (struct ArrowArray){.length = (int64_t)(cuts[b + 1] - cuts[b]),
                                           .null_count = j == 4 ? -1 : 0,
                                           .offset = (int64_t)cuts[b],
                                           .n_buffers = 2,
                                           .buffers = buffers[b][j],
                                           .dictionary = j == 4 ? &words : NULL,
                                           .release = release_array};
        list[b][j] = &arrays[b][j];
    }
    state->live++;
    *out = (struct ArrowArray){.length = (int64_t)(cuts[b + 1] - cuts[b]),
                               .n_children = N_COLUMNS,
                               .children = list[b],
                               .release = release_array};
    return 0;
}

static const char *last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "none";
}

static void release_stream(struct ArrowArrayStream *stream)
{
    ((stream_state *)stream->private_data)->released++;
    stream->release = NULL;
}

static struct ArrowArrayStream stream_of(stream_state *state)
{
    for (size_t i = 0; i < ROWS; i++) {
        micros[i] = (int64_t)(when[i] * 1e6);
        codes[i] = (int8_t)(kind[i] ? (strcmp(kind[i], "blue") == 0 ? 0 : strcmp(kind[i], "green") == 0 ? 1 : 2) : 0);
        if (kind[i]) valid[i / 8] |= (unsigned char)(1 << i % 8);
        if (open_[i]) bits[i / 8] |= (unsigned char)(1 << i % 8);
    }
    live_state = state;
    return (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = last_error,
                                     .release = release_stream,
                                     .private_data = state};
}

static void arrow_makes_the_same_table(void **state)
{
    (void)state;
    advgp_data *whole = table_of(0, ROWS), *arrow = NULL;
    stream_state s = {.format_of_x = "g"};
    struct ArrowArrayStream stream = stream_of(&s);
    ASSERT_OK(advgp_data_arrow(&stream, &arrow, err));
    assert_int_equal(s.released, 1);
    assert_int_equal(advgp_data_rows(arrow), ROWS);
    advgp_model *m = train_on(whole, "advgp");
    advgp_answer *a = answer_of(m, whole), *b = answer_of(m, arrow);
    assert_same_answers(a, b);
    check_same_model(arrow, a, whole);
    advgp_answer_free(a);
    advgp_answer_free(b);
    advgp_model_free(m);
    advgp_data_free(arrow);
    assert_int_equal(s.live, 0);

    s = (stream_state){.format_of_x = "+l"}; // a list
    stream = stream_of(&s);
    ASSERT_FAILS(advgp_data_arrow(&stream, &arrow, err), ADVGP_EDATA, "'+l'");
    assert_null(arrow);
    assert_int_equal(s.released, 1);
    assert_int_equal(s.live, 0);
    advgp_data_free(whole);
}

// Without memory, at any call: a sentence, and nothing is left.
static void tables_survive_without_memory(void **state)
{
    (void)state;
    for (long calls = 0;; calls++) {
        const long before = gp_alloc_count().live;
        advgp_data *d = NULL, *grown = NULL;
        stream_state s = {.format_of_x = "g"};
        struct ArrowArrayStream stream = stream_of(&s);
        advgp_error err;
        gp_alloc_fail_after(calls);
        advgp_status st = advgp_data_arrow(&stream, &d, &err);
        if (st == ADVGP_OK) st = advgp_data_add(d, &(advgp_column){"z", ADVGP_FLOAT64, y, 0}, &err);
        if (st == ADVGP_OK) st = advgp_data_new(0, &grown, &err);
        if (st == ADVGP_OK) st = advgp_data_append(grown, d, &err);
        gp_alloc_fail_after(-1);
        if (st != ADVGP_OK) assert_int_equal(st, ADVGP_ENOMEM);
        advgp_data_free(d);
        advgp_data_free(grown);
        assert_int_equal(s.released, 1);
        assert_int_equal(s.live, 0);
        assert_int_equal(gp_alloc_count().live, before);
        if (st == ADVGP_OK) break;
    }
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static void row_of(const advgp_model *m, size_t i, double row[N])
{
    for (size_t k = 0; k < N; k++) {
        advgp_kind is;
        const char *name = advgp_model_input(m, k, &is);
        if (strcmp(name, "x") == 0) assert_int_equal(is, ADVGP_KIND_NUMBER), row[k] = x[i];
        if (strcmp(name, "level") == 0) assert_int_equal(is, ADVGP_KIND_NUMBER), row[k] = (double)level[i];
        if (strcmp(name, "open") == 0) assert_int_equal(is, ADVGP_KIND_BOOLEAN), row[k] = open_[i];
        if (strcmp(name, "when") == 0) assert_int_equal(is, ADVGP_KIND_TIME), row[k] = when[i];
        if (strcmp(name, "kind") == 0) {
            assert_int_equal(is, ADVGP_KIND_CATEGORY);
            row[k] = kind[i] ? advgp_model_category(m, k, kind[i]) : NAN;
        }
    }
}

static const double *column_of(const advgp_answer *a, const char *name)
{
    for (size_t k = 0; k < advgp_answer_columns(a); k++)
        if (strcmp(advgp_answer_name(a, k), name) == 0) return advgp_answer_values(a, k);
    fail_msg("the answer has no column %s", name);
    return NULL;
}

static void check_near(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-12 * (1 + fabs(a[i])))) fail_msg("row %zu: %.17g and %.17g", i, a[i], b[i]);
}

static void check_rows(const char *method)
{
    advgp_data *d = table_of(0, ROWS);
    advgp_model *m = train_on(d, method);
    assert_string_equal(advgp_model_target(m), "y");
    assert_int_equal(advgp_model_inputs(m), N);
    assert_null(advgp_model_input(m, N, NULL));
    assert_true(advgp_model_category(m, 0, "violet") < 0);
    static double rows[ROWS][N + 1], mean[ROWS], sd_f[ROWS], sd_y[ROWS], lo[ROWS], hi[ROWS], q[ROWS][2], p[ROWS];
    static double q_low[ROWS], q_half[ROWS];
    for (size_t i = 0; i < ROWS; i++) row_of(m, i, rows[i]);
    advgp_workspace *w = NULL;
    ASSERT_OK(advgp_workspace_new(m, &w, err));
    advgp_answer *a = answer_of(m, d);
    const double levels[] = {0.1, 0.5};
    gp_alloc_freeze(true);
    const long refused = gp_alloc_count().refused, calls = gp_alloc_count().calls;
    ASSERT_OK(advgp_predict_mean(m, w, rows[0], ROWS, N + 1, mean, err));
    check_near(column_of(a, "mean"), mean, ROWS);
    ASSERT_OK(advgp_predict_sd(m, w, rows[0], ROWS, N + 1, mean, sd_f, sd_y, err));
    check_near(column_of(a, "sd_f"), sd_f, ROWS);
    check_near(column_of(a, "sd_y"), sd_y, ROWS);
    ASSERT_OK(advgp_predict_interval(m, w, rows[0], ROWS, N + 1, 0.8, mean, lo, hi, err));
    check_near(column_of(a, "lo"), lo, ROWS);
    check_near(column_of(a, "hi"), hi, ROWS);
    ASSERT_OK(advgp_predict_quantiles(m, w, rows[0], ROWS, N + 1, levels, 2, q[0], err));
    for (size_t i = 0; i < ROWS; i++) q_low[i] = q[i][0], q_half[i] = q[i][1];
    check_near(column_of(a, "q_0.1"), q_low, ROWS);
    check_near(column_of(a, "q_0.5"), q_half, ROWS);
    ASSERT_OK(advgp_predict_exceeds(m, w, rows[0], ROWS, N + 1, 0.7, p, err));
    check_near(column_of(a, "p_exceeds"), p, ROWS);
    ASSERT_OK(advgp_predict_mean(m, w, rows[7], 1, 0, mean, err)); // one row
    check_near(column_of(a, "mean") + 7, mean, 1);
    assert_int_equal(gp_alloc_count().refused, refused);
    assert_int_equal(gp_alloc_count().calls, calls);
    gp_alloc_freeze(false);
    ASSERT_FAILS(advgp_predict_interval(m, w, rows[0], 1, 0, 1.5, mean, lo, hi, err), ADVGP_EINVAL, "1.5");
    ASSERT_FAILS(advgp_predict_interval(m, w, rows[0], 1, 0, 0.9999999999999999, mean, lo, hi, err), ADVGP_EINVAL,
                 "from 0.001 to 0.999");
    ASSERT_FAILS(advgp_predict_quantiles(m, w, rows[0], 1, 0, (const double[]){0.5, 0.99999}, 2, q[0], err),
                 ADVGP_EINVAL, "from 0.0001 to 0.9999");
    ASSERT_FAILS(advgp_predict_mean(m, w, rows[0], 2, 2, mean, err), ADVGP_EINVAL, "5 inputs");
    for (size_t j = 1; j < N; j++)
        rows[3][j] = j % 2 ? 1e308 : -1e308; // too far: no answer, and the others have theirs
    ASSERT_OK(advgp_predict_interval(m, w, rows[0], ROWS, N + 1, 0.8, mean, lo, hi, err));
    for (size_t i = 0; i < 6; i++) {
        const bool told = isfinite(mean[i]) && isfinite(lo[i]) && isfinite(hi[i]);
        if (i == 3)
            assert_true(isnan(lo[i]) && isnan(hi[i]));
        else
            assert_true(told);
    }
    advgp_workspace_free(w);
    advgp_answer_free(a);
    advgp_model_free(m);
    advgp_data_free(d);
}

static void rows_are_answered_as_tables_are(void **state)
{
    (void)state;
    check_rows("advgp");
    check_rows("exact");
}

// ---- threads --------------------------------------------------------------------------------------------------------

typedef struct caller {
    const advgp_model *model;
    const double *rows;
    double mean[ROWS], sd[ROWS];
    pthread_t thread;
    advgp_status status;
} caller;

static void *call(void *ctx)
{
    caller *c = ctx;
    advgp_workspace *w = NULL;
    c->status = advgp_workspace_new(c->model, &w, NULL);
    for (size_t round = 0; c->status == ADVGP_OK && round < 5; round++)
        c->status = advgp_predict_sd(c->model, w, c->rows, ROWS, N, c->mean, NULL, c->sd, NULL);
    advgp_workspace_free(w);
    return NULL;
}

static void threads_share_a_model(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    static caller callers[THREADS];
    static double rows[ROWS][N];
    advgp_data *d = table_of(0, ROWS);
    advgp_model *m = train_on(d, "advgp");
    for (size_t i = 0; i < ROWS; i++) row_of(m, i, rows[i]);
    for (size_t t = 0; t < THREADS; t++) {
        callers[t].model = m, callers[t].rows = rows[0];
        assert_int_equal(pthread_create(&callers[t].thread, NULL, call, &callers[t]), 0);
    }
    for (size_t t = 0; t < THREADS; t++) {
        pthread_join(callers[t].thread, NULL);
        assert_int_equal(callers[t].status, ADVGP_OK);
        assert_memory_equal(callers[t].mean, callers[0].mean, sizeof callers[0].mean);
        assert_memory_equal(callers[t].sd, callers[0].sd, sizeof callers[0].sd);
    }
    advgp_model_free(m);
    advgp_data_free(d);
}

// ---- models and judging ---------------------------------------------------------------------------------------------

static void models_are_saved_and_judged(void **state)
{
    (void)state;
    advgp_data *d = table_of(0, ROWS);
    advgp_model *m = train_on(d, "exact"), *again = NULL;
    const char *path = in_folder("model.safetensors");
    ASSERT_OK(advgp_model_save(m, path, err));
    ASSERT_OK(advgp_model_load(path, &again, err));
    advgp_answer *a = answer_of(m, d), *b = answer_of(again, d);
    assert_same_answers(a, b);
    char *text = NULL;
    ASSERT_OK(advgp_model_inspect(again, &text, err));
    assert_non_null(strstr(text, "\"target\":\"y\""));
    advgp_text_free(text);
    ASSERT_OK(advgp_model_describe(again, &text, err));
    assert_non_null(strstr(text, "a model of 'y' by exact"));
    advgp_text_free(text);
    ASSERT_OK(advgp_evaluate(m, d, NULL, NULL, &text, err));
    assert_non_null(strstr(text, "\"rows\":400"));
    assert_non_null(strstr(text, "\"crps\":"));
    advgp_text_free(text);
    const char *const by[][2] = {{"by", "kind"}, {NULL, NULL}};
    advgp_options *o = options_of("evaluate", by);
    ASSERT_OK(advgp_evaluate(m, d, o, NULL, &text, err));
    assert_non_null(strstr(text, "\"column\":\"kind\""));
    advgp_text_free(text);
    advgp_options_free(o);
    advgp_answer_free(a);
    advgp_answer_free(b);
    advgp_model_free(m);
    advgp_model_free(again);
    ASSERT_FAILS(advgp_model_load(in_folder("none"), &again, err), ADVGP_EDATA, "none");
    advgp_data_free(d);
}

// Of the bytes of a file, whole, cut off and none.
static void models_come_from_memory(void **state)
{
    (void)state;
    enum { ROOM = 1 << 22 };
    static char bytes[ROOM];
    advgp_data *d = table_of(0, ROWS);
    advgp_model *m = train_on(d, "exact"), *again = NULL;
    const char *path = in_folder("bytes.safetensors");
    ASSERT_OK(advgp_model_save(m, path, err));
    FILE *file = fopen(path, "rb");
    const size_t n = file ? fread(bytes, 1, ROOM, file) : 0;
    assert_true(file && n > 0 && n < ROOM && fclose(file) == 0);
    ASSERT_OK(advgp_model_load_memory(bytes, n, &again, err));
    advgp_answer *a = answer_of(m, d), *b = answer_of(again, d);
    assert_same_answers(a, b);
    advgp_answer_free(a), advgp_answer_free(b);
    advgp_model_free(again);
    ASSERT_FAILS(advgp_model_load_memory(bytes, n - 1, &again, err), ADVGP_EFILE, "the model in memory");
    ASSERT_FAILS(advgp_model_load_memory(bytes, 7, &again, err), ADVGP_EFILE, "no safetensors");
    ASSERT_FAILS(advgp_model_load_memory(NULL, 0, &again, err), ADVGP_EINVAL, "no bytes");
    advgp_model_free(m);
    advgp_data_free(d);
}

static size_t times(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) n++;
    return n;
}

static void rows_are_explained(void **state)
{
    (void)state;
    advgp_data *d = table_of(0, ROWS), *few = table_of(0, N), *many = NULL;
    advgp_model *m = train_on(d, "exact");
    char *text = NULL;
    ASSERT_OK(advgp_explain(m, few, NULL, NULL, &text, err));
    assert_int_equal(times(text, "\"parts\":"), N);
    advgp_text_free(text);
    const char *const some[][2] = {{"rows", "2,4-5"}, {NULL, NULL}};
    advgp_options *o = options_of("explain", some);
    ASSERT_OK(advgp_explain(m, d, o, NULL, &text, err));
    assert_int_equal(times(text, "\"parts\":"), 3);
    advgp_text_free(text);
    ASSERT_OK(advgp_data_new(10001, &many, err));
    ASSERT_FAILS(advgp_explain(m, many, NULL, NULL, &text, err), ADVGP_EINVAL, "10000 are explained at once");
    ASSERT_OK(advgp_config_json(&text, err));
    assert_true(strstr(text, "\"core\":") && strstr(text, "\"loops\":"));
    advgp_text_free(text);
    ASSERT_OK(advgp_config_text(&text, err));
    assert_non_null(strstr(text, "\ncore "));
    advgp_text_free(text);
    advgp_options_free(o);
    advgp_model_free(m);
    advgp_data_free(many), advgp_data_free(few), advgp_data_free(d);
}

// ---- watching and stopping ------------------------------------------------------------------------------------------

typedef struct seen {
    int notes, lines, looks;
    volatile int stop;
    bool stops;
} seen;

static void on_note(void *ctx, const char *text)
{
    ((seen *)ctx)->notes++;
    assert_null(strchr(text, '{'));
    assert_true(strncmp(text, "note: ", 6) == 0); // and no line of progress
}

static void on_line(void *ctx, const char *line)
{
    ((seen *)ctx)->lines++;
    assert_true(line[0] == '{' && strstr(line, "\"event\":"));
}

static void on_progress(void *ctx, const advgp_progress *p)
{
    seen *s = ctx;
    s->looks++;
    assert_true(p->seconds >= 0);
    if (s->stops) s->stop = 1;
}

static void trainings_are_watched_and_stopped(void **state)
{
    (void)state;
    const char *const pairs[][2] = {{"target", "y"},   {"method", "advgp"}, {"inducing", "10"},    {"components", "1"},
                                    {"epochs", "400"}, {"patience", "inf"}, {"noise", "constant"}, {NULL, NULL}};
    advgp_options *o = options_of("train", pairs);
    advgp_data *d = table_of(0, ROWS);
    advgp_model *m = NULL;
    seen s = {.stops = true};
    const advgp_watch watch = {.ctx = &s, .note = on_note, .progress = on_progress, .log = on_line, .stop = &s.stop};
    ASSERT_FAILS(advgp_train(d, o, &watch, &m, err), ADVGP_ESTOPPED, "the model so far");
    assert_non_null(m); // good enough to be asked
    assert_true(s.lines > 0 && s.looks > 0);
    advgp_answer *a = answer_of(m, d);
    advgp_answer_free(a);
    advgp_model_free(m);

    s = (seen){.stop = 1}; // before it began: no model
    ASSERT_FAILS(advgp_train(d, o, &watch, &m, err), ADVGP_ESTOPPED, "");
    assert_null(m);
    assert_int_equal(access("model.safetensors", F_OK), -1); // nothing is written that was not asked for
    advgp_options_free(o);
    advgp_data_free(d);
}

// ---- mistakes -------------------------------------------------------------------------------------------------------

// Nothing at all where a handle, a row or a place for the result belongs.
static void nothing_is_said_to_be_nothing(void **state)
{
    (void)state;
    advgp_data *d = table_of(0, ROWS), *none = NULL;
    advgp_model *m = train_on(d, "linear"), *no_model = NULL;
    advgp_options *o = NULL;
    advgp_workspace *w = NULL, *no_work = NULL;
    advgp_answer *a = NULL;
    char *text = NULL;
    double row[N] = {0}, told[2];
    ASSERT_OK(advgp_workspace_new(m, &w, err));
#define NOTHING(call, what) ASSERT_FAILS(call, ADVGP_EINVAL, "no " what)
    NOTHING(advgp_options_new(NULL, &o, err), "verb");
    assert_null(o);
    NOTHING(advgp_options_new("train", NULL, err), "place");
    NOTHING(advgp_options_set(NULL, "seed", "1", err), "object of options");
    NOTHING(advgp_data_files(NULL, 1, &none, err), "file");
    NOTHING(advgp_data_files(&(const char *){NULL}, 1, &none, err), "name of a file");
    NOTHING(advgp_data_new(3, NULL, err), "place");
    NOTHING(advgp_data_add(NULL, &(advgp_column){"q", ADVGP_FLOAT64, y, 0}, err), "table");
    NOTHING(advgp_data_add(d, NULL, err), "column");
    NOTHING(advgp_data_arrow(NULL, &none, err), "Arrow stream");
    NOTHING(advgp_data_append(NULL, d, err), "table");
    NOTHING(advgp_data_append(d, NULL, err), "table");
    NOTHING(advgp_train(NULL, NULL, NULL, &no_model, err), "table");
    NOTHING(advgp_train(d, NULL, NULL, NULL, err), "place");
    NOTHING(advgp_model_load(NULL, &no_model, err), "file");
    NOTHING(advgp_model_load_trusted("x", NULL, err), "place");
    NOTHING(advgp_model_load_memory("x", 1, NULL, err), "place");
    NOTHING(advgp_model_save(NULL, "x", err), "model");
    NOTHING(advgp_model_save(m, NULL, err), "name of a file");
    NOTHING(advgp_model_inspect(NULL, &text, err), "model");
    NOTHING(advgp_model_describe(NULL, &text, err), "model");
    NOTHING(advgp_model_describe(m, NULL, err), "place");
    NOTHING(advgp_workspace_new(NULL, &no_work, err), "model");
    NOTHING(advgp_predict_mean(NULL, w, row, 1, 0, told, err), "model");
    NOTHING(advgp_predict_mean(m, NULL, row, 1, 0, told, err), "workspace");
    NOTHING(advgp_predict_mean(m, w, NULL, 1, 0, told, err), "row");
    NOTHING(advgp_predict_sd(NULL, NULL, row, 1, 0, told, NULL, NULL, err), "model");
    NOTHING(advgp_predict_interval(m, w, row, 1, 0, 0.9, NULL, NULL, told, err), "place for lower ends");
    NOTHING(advgp_predict_quantiles(m, w, row, 1, 0, NULL, 1, told, err), "quantile");
    NOTHING(advgp_predict_exceeds(m, w, row, 1, 0, 0, NULL, err), "place for probabilities");
    NOTHING(advgp_predict_data(NULL, d, NULL, NULL, &a, err), "model");
    NOTHING(advgp_predict_data(m, NULL, NULL, NULL, &a, err), "table");
    NOTHING(advgp_evaluate(NULL, d, NULL, NULL, &text, err), "model");
    NOTHING(advgp_evaluate(m, NULL, NULL, NULL, &text, err), "table");
    NOTHING(advgp_explain(NULL, d, NULL, NULL, &text, err), "model");
    NOTHING(advgp_explain(m, NULL, NULL, NULL, &text, err), "table");
    NOTHING(advgp_config_json(NULL, err), "place");
    NOTHING(advgp_config_text(NULL, err), "place");
#undef NOTHING
    assert_int_equal(advgp_train(NULL, NULL, NULL, NULL, NULL), ADVGP_EINVAL);
    assert_int_equal(advgp_data_rows(NULL) + advgp_model_inputs(NULL) + advgp_answer_rows(NULL), 0);
    assert_int_equal(advgp_answer_columns(NULL), 0);
    assert_null(advgp_answer_name(NULL, 0));
    assert_null(advgp_answer_values(NULL, 0));
    assert_null(advgp_model_target(NULL));
    assert_null(advgp_model_input(NULL, 0, NULL));
    assert_true(advgp_model_category(NULL, 0, "red") < 0);
    advgp_workspace_free(w);
    advgp_model_free(m);
    advgp_data_free(d);
}

static void mistakes_are_said(void **state)
{
    (void)state;
    advgp_options *o = NULL, *other = NULL;
    advgp_model *m = NULL;
    advgp_data *d = table_of(0, ROWS), *files = NULL;
    ASSERT_FAILS(advgp_options_new("inspect", &o, err), ADVGP_EINVAL, "'inspect'");
    ASSERT_OK(advgp_options_new("train", &o, err));
    ASSERT_FAILS(advgp_options_set(o, "inducin", "5", err), ADVGP_EINVAL, "inducing");
    ASSERT_FAILS(advgp_options_set(o, "inducing", "many", err), ADVGP_EINVAL, "many");
    ASSERT_FAILS(advgp_options_set(o, "dry_run", "true", err), ADVGP_EINVAL, "program");
    ASSERT_FAILS(advgp_train(d, o, NULL, &m, err), ADVGP_EINVAL, "target COL"); // without dashes or braces
    ASSERT_OK(advgp_options_set(o, "target", "z", err));
    ASSERT_FAILS(advgp_train(d, o, NULL, &m, err), ADVGP_EDATA, "'z'");
    ASSERT_OK(advgp_options_set(o, "target", "y", err));
    ASSERT_OK(advgp_options_set(o, "sql", "SELECT 1", err));
    ASSERT_FAILS(advgp_train(d, o, NULL, &m, err), ADVGP_EINVAL, "sql is for files");
    ASSERT_OK(advgp_options_new("predict", &other, err));
    ASSERT_FAILS(advgp_train(d, other, NULL, &m, err), ADVGP_EINVAL, "options of predict");
    ASSERT_FAILS(advgp_data_add(d, &(advgp_column){"q", (advgp_type)77, y, 0}, err), ADVGP_EINVAL, "advgp_type");
    ASSERT_OK(advgp_data_files(&(const char *){"/nowhere/rows.csv"}, 1, &files, err));
    ASSERT_FAILS(advgp_train(files, NULL, NULL, &m, err), ADVGP_EINVAL, "target");
    const char *bad[ROWS];
    for (size_t i = 0; i < ROWS; i++) bad[i] = i == 3 ? "\xff\xfe" : "a";
    ASSERT_OK(advgp_data_add(d, &(advgp_column){"q", ADVGP_TEXT, bad, 0}, err));
    ASSERT_OK(advgp_options_set(other, "interval", "0.5", err));
    advgp_options_free(o);
    ASSERT_OK(advgp_options_new("train", &o, err));
    ASSERT_OK(advgp_options_set(o, "target", "y", err));
    ASSERT_FAILS(advgp_train(d, o, NULL, &m, err), ADVGP_EDATA, "row 4: the text of column 'q' is not UTF-8");
    advgp_options_free(o);
    advgp_options_free(other);
    advgp_data_free(files);
    advgp_data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_make_the_same_table),
                                       cmocka_unit_test(arrow_makes_the_same_table),
                                       cmocka_unit_test(tables_survive_without_memory),
                                       cmocka_unit_test(rows_are_answered_as_tables_are),
                                       cmocka_unit_test(threads_share_a_model),
                                       cmocka_unit_test(models_are_saved_and_judged),
                                       cmocka_unit_test(models_come_from_memory),
                                       cmocka_unit_test(rows_are_explained),
                                       cmocka_unit_test(trainings_are_watched_and_stopped),
                                       cmocka_unit_test(nothing_is_said_to_be_nothing),
                                       cmocka_unit_test(mistakes_are_said)};
    return cmocka_run_group_tests(tests, make_table, leave_folder);
}
