// arrow_stream_test.c: streams of Arrow's, built by hand: an honest one of every kind of column reads as what it holds;
// one that lies in a single place is refused with a sentence. Whatever was given is released once.
#include "data/arrow_stream.h"
#include "data/table_test.h"

#include <math.h>

enum { NUMBER, COUNT, WORD, LONG_WORD, VIEW, CODE, TRUTH, DAY, MOMENT, PRICE, NOTHING, N_COLUMNS };
// A child begins one row late, and so does its batch: of 5 places in a buffer the last 3 are rows.
enum { PLACES = 5, LATE = 1, ROWS = 3, FIRST = 2 * LATE, BATCHES = 2, N_BUFFERS = 4 };

typedef struct world world;
struct world {
    struct ArrowArrayStream stream;
    struct ArrowSchema schema, schemas[N_COLUMNS], words_schema, *schema_list[N_COLUMNS];
    struct ArrowArray batch, arrays[N_COLUMNS], words, *array_list[N_COLUMNS];
    const void *buffers[N_COLUMNS][N_BUFFERS], *words_buffers[3];
    double numbers[PLACES];
    int32_t counts[PLACES], days[PLACES], places[PLACES + 1], views[PLACES][4], words_places[3];
    int64_t long_places[PLACES + 1], moments[PLACES], sizes[1];
    uint64_t prices[PLACES][2];
    int8_t codes[PLACES];
    unsigned char valid[1], truths[1];
    void (*lie)(world *w);
    int lies_at;                  // the batch that lies; -1: the schema
    int schema_fails, next_fails; // what the functions of the stream return
    int n_given, n_released, streams_released;
    int batch_number;
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

// ---- the honest stream ----------------------------------------------------------------------------------------------

static void release_schema(struct ArrowSchema *s)
{
    if (s->private_data) ((world *)s->private_data)->n_released++; // children go with their parent
    s->release = NULL;
}

static void release_array(struct ArrowArray *a)
{
    if (a->private_data) ((world *)a->private_data)->n_released++;
    a->release = NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    ((world *)stream->private_data)->streams_released++;
    stream->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    world *w = stream->private_data;
    if (w->schema_fails) return w->schema_fails;
    w->n_given += w->schema.release != NULL;
    *out = w->schema;
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    world *w = stream->private_data;
    *out = (struct ArrowArray){0};
    if (w->batch_number == BATCHES) return 0;
    if (w->batch_number++ == w->lies_at) w->lie(w);
    if (w->next_fails) return w->next_fails;
    w->n_given += w->batch.release != NULL;
    *out = w->batch;
    return 0;
}

static const char *last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the disk is gone";
}

static void fill_values(world *w)
{
    static const int32_t places[] = {0, 1, 1, 4, 7, 9}, words_places[] = {0, 3, 8};
    w->valid[0] = 0x17, w->truths[0] = 0x04; // the second of the three rows is missing
    memcpy(w->places, places, sizeof places);
    memcpy(w->words_places, words_places, sizeof words_places);
    w->sizes[0] = 26;
    for (int k = 0; k < PLACES; k++) {
        w->numbers[k] = k + 0.5, w->counts[k] = -k, w->days[k] = 10957 + k,
        w->moments[k] = 946684800000000 + 500000 * k;
        w->prices[k][0] = 100 + (uint64_t)k, w->codes[k] = (int8_t)(k % 2);
        w->views[k][0] = 20, w->views[k][3] = k;
    }
    w->views[FIRST][0] = 5; // short: the view holds it
    memcpy(&w->views[FIRST][1], "short", 5);
    for (int k = 0; k <= PLACES; k++) w->long_places[k] = places[k];
}

static void link_columns(world *w)
{
    static const char *const names[] = {"number", "count", "word",   "long word", "view",   "code",
                                        "truth",  "day",   "moment", "price",     "nothing"};
    static const char *const formats[] = {"g", "i", "u", "U", "vu", "c", "b", "tdD", "tsu:UTC", "d:5,2", "n"};
    static const int n_buffers[] = {2, 2, 3, 3, 4, 2, 2, 2, 2, 2, 0};
    const void *const values[] = {w->numbers, w->counts, w->places,  w->long_places, w->views, w->codes,
                                  w->truths,  w->days,   w->moments, w->prices,      NULL};
    for (size_t j = 0; j < N_COLUMNS; j++) {
        w->buffers[j][0] = w->valid, w->buffers[j][1] = values[j], w->buffers[j][2] = letters;
        w->buffers[j][3] = w->sizes;
        w->schemas[j] = (struct ArrowSchema){.format = formats[j], .name = names[j], .release = release_schema};
        w->arrays[j] = (struct ArrowArray){.length = PLACES - LATE,
                                           .null_count = j == NOTHING ? PLACES - LATE : 1,
                                           .offset = LATE,
                                           .n_buffers = n_buffers[j],
                                           .buffers = w->buffers[j],
                                           .release = release_array};
        w->schema_list[j] = &w->schemas[j], w->array_list[j] = &w->arrays[j];
    }
}

static world *new_world(void)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    fill_values(w);
    link_columns(w);
    w->words_schema = (struct ArrowSchema){.format = "u", .release = release_schema};
    w->words_buffers[1] = w->words_places, w->words_buffers[2] = "redgreen";
    w->words = (struct ArrowArray){.length = 2, .n_buffers = 3, .buffers = w->words_buffers, .release = release_array};
    w->schemas[CODE].dictionary = &w->words_schema, w->arrays[CODE].dictionary = &w->words;
    w->schema = (struct ArrowSchema){.format = "+s",
                                     .n_children = N_COLUMNS,
                                     .children = w->schema_list,
                                     .release = release_schema,
                                     .private_data = w};
    w->batch = (struct ArrowArray){.length = ROWS,
                                   .offset = LATE,
                                   .n_children = N_COLUMNS,
                                   .children = w->array_list,
                                   .release = release_array,
                                   .private_data = w};
    w->stream = (struct ArrowArrayStream){get_schema, get_next, last_error, release_stream, w};
    w->lies_at = BATCHES;
    return w;
}

static void end_world(world *w)
{
    assert_int_equal(w->streams_released, 1);
    assert_int_equal(w->n_released, w->n_given);
    free(w);
}

static void check_numbers(const gp_piece_column *c, double first, double last)
{
    double out[ROWS];
    c->numbers(c, 0, ROWS, out);
    assert_true(out[0] == first && isnan(out[1]) && out[2] == last);
}

static void check_texts(const gp_piece_column *c, const char *first, const char *last)
{
    gp_text out[ROWS];
    c->texts(c, 0, ROWS, out);
    assert_int_equal(out[0].n, strlen(first));
    assert_memory_equal(out[0].p, first, out[0].n);
    assert_null(out[1].p);
    assert_int_equal(out[2].n, strlen(last));
    assert_memory_equal(out[2].p, last, out[2].n);
}

static void check_batch(const gp_piece_column *c)
{
    check_numbers(&c[NUMBER], 2.5, 4.5);
    check_numbers(&c[COUNT], -2, -4);
    check_texts(&c[WORD], "bcd", "hi");
    check_texts(&c[LONG_WORD], "bcd", "hi");
    check_texts(&c[VIEW], "short", "efghijklmnopqrstuvwx");
    check_texts(&c[CODE], "red", "red");
    check_numbers(&c[TRUTH], 1, 0);
    check_numbers(&c[DAY], 2 * 86400, 4 * 86400); // from 2000 on
    check_numbers(&c[MOMENT], 1, 2);
    check_numbers(&c[PRICE], 1.02, 1.04);
    double nothing[ROWS];
    c[NOTHING].numbers(&c[NOTHING], 0, ROWS, nothing);
    assert_true(isnan(nothing[0]) && isnan(nothing[1]) && isnan(nothing[2]));
}

static void an_honest_stream_is_read(void **state)
{
    (void)state;
    world *w = new_world();
    gp_arrow_table t;
    ASSERT_OK(gp_arrow_table_read(&w->stream, &t, err));
    assert_int_equal(t.n_columns, N_COLUMNS);
    assert_int_equal(t.n_batches, BATCHES);
    assert_int_equal(t.n_rows, BATCHES * ROWS);
    assert_string_equal(t.names[LONG_WORD], "long word");
    for (size_t b = 0; b < BATCHES; b++) check_batch(t.batches[b].columns);
    gp_arrow_table_fini(&t);
    end_world(w);
}

// ---- lies -----------------------------------------------------------------------------------------------------------

// Where the lie is told, its name, what is spoilt in world w, and words of the sentence.
#define LIES(X)                                                                                               \
    X(SCHEMA, stream_without_schema, w->stream.get_schema = NULL, "lacks a function")                         \
    X(SCHEMA, stream_without_next, w->stream.get_next = NULL, "lacks a function")                             \
    X(SCHEMA, schema_fails, w->schema_fails = 5, "the disk is gone")                                          \
    X(SCHEMA, fails_and_is_silent, (w->schema_fails = 5, w->stream.get_last_error = NULL), "not say why")     \
    X(SCHEMA, schema_was_released, w->schema.release = NULL, "has no schema")                                 \
    X(SCHEMA, schema_without_format, w->schema.format = NULL, "has no schema")                                \
    X(SCHEMA, schema_of_single_values, w->schema.format = "g", "single values")                               \
    X(SCHEMA, fewer_columns_than_none, w->schema.n_children = -1, "-1 columns")                               \
    X(SCHEMA, columns_beyond_counting, w->schema.n_children = INT64_MAX, "lists none")                        \
    X(SCHEMA, columns_are_not_listed, w->schema.children = NULL, "lists none")                                \
    X(SCHEMA, column_is_null, w->schema_list[WORD] = NULL, "column 3 is")                                     \
    X(SCHEMA, column_was_released, w->schemas[WORD].release = NULL, "column 3 is")                            \
    X(SCHEMA, column_without_format, w->schemas[WORD].format = NULL, "column 3 is")                           \
    X(SCHEMA, empty_format, w->schemas[WORD].format = "", "Arrow type ''")                                    \
    X(SCHEMA, foreign_format, w->schemas[WORD].format = "+l", "Arrow type '+l'")                              \
    X(SCHEMA, decimal_without_scale, w->schemas[PRICE].format = "d:5", "Arrow type 'd:5'")                    \
    X(SCHEMA, decimal_too_wide, w->schemas[PRICE].format = "d:5,2,256", "Arrow type 'd:5,2,256'")             \
    X(SCHEMA, codes_are_doubles, w->schemas[CODE].format = "g", "no whole numbers")                           \
    X(SCHEMA, codes_are_texts, w->schemas[CODE].format = "u", "no whole numbers")                             \
    X(SCHEMA, dictionary_without_format, w->words_schema.format = NULL, "Arrow type ''")                      \
    X(SCHEMA, dictionary_of_lists, w->words_schema.format = "+l", "Arrow type '+l'")                          \
    X(SCHEMA, dictionary_was_released, w->words_schema.release = NULL, "column 6 is")                         \
    X(SCHEMA, dictionary_of_itself, w->words_schema.dictionary = &w->words_schema, "a dictionary of its own") \
    X(BATCH, next_fails, w->next_fails = 5, "the disk is gone")                                               \
    X(BATCH, length_below_zero, w->batch.length = -1, "its length")                                           \
    X(BATCH, length_beyond_memory, w->batch.length = INT64_MAX, "its length")                                 \
    X(BATCH, longer_than_its_columns, w->batch.length = 1000, "shorter than its batch")                       \
    X(BATCH, offset_below_zero, w->batch.offset = -1, "its offset")                                           \
    X(BATCH, offset_beyond_memory, w->batch.offset = INT64_MAX, "its offset")                                 \
    X(BATCH, offset_beyond_its_columns, w->batch.offset = 2, "shorter than its batch")                        \
    X(BATCH, fewer_columns, w->batch.n_children--, "has 10 columns")                                          \
    X(BATCH, more_columns, w->batch.n_children++, "has 12 columns")                                           \
    X(BATCH, columns_below_zero, w->batch.n_children = -1, "has -1 columns")                                  \
    X(BATCH, no_columns, w->batch.children = NULL, "has 0 columns")                                           \
    X(BATCH, no_array, w->array_list[NUMBER] = NULL, "'number'")                                              \
    X(BATCH, array_was_released, w->arrays[NUMBER].release = NULL, "was released")                            \
    X(BATCH, column_shorter, w->arrays[NUMBER].length = ROWS, "shorter than its batch")                       \
    X(BATCH, column_length_below_zero, w->arrays[NUMBER].length = -4, "its length")                           \
    X(BATCH, column_offset_below_zero, w->arrays[NUMBER].offset = -1, "its offset")                           \
    X(BATCH, column_offset_beyond_memory, w->arrays[NUMBER].offset = INT64_MAX, "its offset")                 \
    X(BATCH, missing_below_zero, w->arrays[NUMBER].null_count = -2, "count of missing")                       \
    X(BATCH, more_missing_than_rows, w->arrays[NUMBER].null_count = 5, "count of missing")                    \
    X(BATCH, missing_but_not_marked, w->buffers[NUMBER][0] = NULL, "marks none")                              \
    X(BATCH, no_buffers, w->arrays[NUMBER].buffers = NULL, "no buffers")                                      \
    X(BATCH, too_few_buffers, w->arrays[NUMBER].n_buffers = 1, "too few buffers")                             \
    X(BATCH, buffers_below_zero, w->arrays[NUMBER].n_buffers = -1, "too few buffers")                         \
    X(BATCH, no_values, w->buffers[NUMBER][1] = NULL, "no values")                                            \
    X(BATCH, truths_without_values, w->buffers[TRUTH][1] = NULL, "no values")                                 \
    X(BATCH, texts_without_places, w->buffers[WORD][1] = NULL, "no values")                                   \
    X(BATCH, texts_without_bytes, w->buffers[WORD][2] = NULL, "a text lies")                                  \
    X(BATCH, text_before_its_buffer, w->places[FIRST] = -1, "a text lies")                                    \
    X(BATCH, texts_fall, w->places[FIRST + 2] = 2, "a text lies")                                             \
    X(BATCH, last_text_falls, w->places[PLACES] = 0, "a text lies")                                           \
    X(BATCH, long_texts_without_bytes, w->buffers[LONG_WORD][2] = NULL, "a text lies")                        \
    X(BATCH, long_text_before_its_buffer, w->long_places[FIRST] = INT64_MIN, "a text lies")                   \
    X(BATCH, long_texts_fall, w->long_places[FIRST + 1] = INT64_MAX, "a text lies")                           \
    X(BATCH, view_of_less_than_nothing, w->views[FIRST][0] = -1, "a text lies")                               \
    X(BATCH, view_of_no_buffer, w->views[PLACES - 1][2] = -1, "a text lies")                                  \
    X(BATCH, view_beyond_the_buffers, w->views[PLACES - 1][2] = 1, "a text lies")                             \
    X(BATCH, view_before_its_buffer, w->views[PLACES - 1][3] = -1, "a text lies")                             \
    X(BATCH, view_beyond_its_buffer, w->views[PLACES - 1][3] = 7, "a text lies")                              \
    X(BATCH, view_longer_than_its_buffer, w->views[PLACES - 1][0] = INT32_MAX, "a text lies")                 \
    X(BATCH, views_without_sizes, w->buffers[VIEW][3] = NULL, "a text lies")                                  \
    X(BATCH, views_without_bytes, w->buffers[VIEW][2] = NULL, "a text lies")                                  \
    X(BATCH, views_with_too_few_buffers, w->arrays[VIEW].n_buffers = 3, "a text lies")                        \
    X(BATCH, no_dictionary, w->arrays[CODE].dictionary = NULL, "no dictionary")                               \
    X(BATCH, words_were_released, w->words.release = NULL, "was released")                                    \
    X(BATCH, words_below_zero, w->words.length = -1, "its length")                                            \
    X(BATCH, words_without_buffers, w->words.buffers = NULL, "no buffers")                                    \
    X(BATCH, words_without_places, w->words_buffers[1] = NULL, "no values")                                   \
    X(BATCH, words_fall, w->words_places[1] = 9, "a text lies")                                               \
    X(BATCH, empty_dictionary, w->words.length = 0, "beyond its dictionary")                                  \
    X(BATCH, code_beyond_its_dictionary, w->codes[FIRST] = 2, "beyond its dictionary")                        \
    X(BATCH, code_below_zero, w->codes[FIRST] = -1, "beyond its dictionary")

#define X(when, name, spoil, words) \
    static void name(world *w)      \
    {                               \
        spoil;                      \
    }
LIES(X)
#undef X

typedef enum told { SCHEMA, BATCH } told;
static const struct {
    const char *name, *words;
    void (*spoil)(world *w);
    told when;
} lies[] = {
#define X(when, name, spoil, words) {#name, words, name, when},
    LIES(X)
#undef X
};
enum { N_LIES = sizeof lies / sizeof *lies };

static void check_lie(size_t i, int at)
{
    const long before = gp_alloc_count().live;
    world *w = new_world();
    w->lie = lies[i].spoil, w->lies_at = at;
    if (at < 0) w->lie(w);
    gp_arrow_table t;
    advgp_error err = {0};
    const advgp_status st = gp_arrow_table_read(&w->stream, &t, &err);
    if (st != ADVGP_EDATA || !strstr(err.text, lies[i].words))
        fail_msg("%s: wanted \"%s\", got %s: %s", lies[i].name, lies[i].words, advgp_status_name(st), err.text);
    gp_arrow_table_fini(&t);
    assert_int_equal(gp_alloc_count().live, before);
    end_world(w);
}

static void lies_are_refused(void **state)
{
    (void)state;
    assert_true(N_LIES >= 31);
    for (size_t i = 0; i < N_LIES; i++)
        for (int at = lies[i].when == SCHEMA ? -1 : 0; at < (lies[i].when == SCHEMA ? 0 : BATCHES); at++)
            check_lie(i, at);
}

// ---- what is no lie -------------------------------------------------------------------------------------------------

// What is wrong where nobody reads does no harm: rows that are missing, places before the first.
static void what_is_not_read_may_be_anything(void **state)
{
    (void)state;
    world *w = new_world();
    w->codes[FIRST + 1] = 77, w->codes[0] = -5; // missing; before the first row
    w->views[FIRST + 1][0] = -9, w->places[0] = -1;
    gp_arrow_table t;
    ASSERT_OK(gp_arrow_table_read(&w->stream, &t, err));
    for (size_t b = 0; b < BATCHES; b++) check_batch(t.batches[b].columns);
    gp_arrow_table_fini(&t);
    end_world(w);
}

static int give_nothing(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    (void)stream, (void)out;
    return 0;
}

static void a_stream_that_gives_nothing_has_ended(void **state)
{
    (void)state;
    world *w = new_world();
    w->stream.get_next = give_nothing;
    gp_arrow_table t;
    ASSERT_OK(gp_arrow_table_read(&w->stream, &t, err));
    assert_int_equal(t.n_rows, 0);
    gp_arrow_table_fini(&t);
    ASSERT_FAILS(gp_arrow_table_read(&w->stream, &t, err), ADVGP_EINVAL, "released already"); // and is not read twice
    gp_arrow_table_fini(&t);
    end_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_honest_stream_is_read), cmocka_unit_test(lies_are_refused),
                                       cmocka_unit_test(what_is_not_read_may_be_anything),
                                       cmocka_unit_test(a_stream_that_gives_nothing_has_ended)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
