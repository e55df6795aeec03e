// arrow_stream.c: Arrow's arrays as columns of batches: numbers of every width, truths, texts, dates, dictionaries.
// What a stream says of itself is checked once, before a value is read: counts, lengths, places of texts, codes. How
// large a buffer is the interface does not say; that alone has to be believed.
#include "data/arrow_stream.h"
#include "base/alloc.h"
#include "base/text.h"
#include "base/whole.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double year_2000 = 946684800.0; // seconds from 1970, where Arrow's times begin

// ---- values ---------------------------------------------------------------------------------------------------------

static bool is_there(const gp_piece_column *c, size_t k)
{
    return !c->valid || (c->valid[k >> 3] >> (k & 7) & 1);
}

static double scaled(const gp_piece_column *c, double value)
{
    return c->factor != 0 ? value * c->factor / c->divisor + c->shift : value;
}

#define NUMBERS(name, type)                                                                \
    static void read_##name(const gp_piece_column *c, size_t first, size_t n, double *out) \
    {                                                                                      \
        const type *v = c->values;                                                         \
        for (size_t i = 0, k = c->offset + first; i < n; i++, k++)                         \
            out[i] = is_there(c, k) ? scaled(c, (double)v[k]) : NAN;                       \
    }
NUMBERS(i8, int8_t)
NUMBERS(u8, uint8_t)
NUMBERS(i16, int16_t)
NUMBERS(u16, uint16_t)
NUMBERS(i32, int32_t)
NUMBERS(u32, uint32_t)
NUMBERS(i64, int64_t)
NUMBERS(u64, uint64_t)
NUMBERS(f32, float)
NUMBERS(f64, double)
#undef NUMBERS

// Half precision: sign, 5 bits of exponent, 10 of fraction.
static double half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 1023, sign = bits >> 15 ? -1 : 1;
    if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static void read_f16(const gp_piece_column *c, size_t first, size_t n, double *out)
{
    const uint16_t *v = c->values;
    for (size_t i = 0, k = c->offset + first; i < n; i++, k++) out[i] = is_there(c, k) ? half(v[k]) : NAN;
}

static void read_bits(const gp_piece_column *c, size_t first, size_t n, double *out)
{
    const unsigned char *v = c->values;
    for (size_t i = 0, k = c->offset + first; i < n; i++, k++)
        out[i] = is_there(c, k) ? (double)(v[k >> 3] >> (k & 7) & 1) : NAN;
}

// 128 bits, two's complement, least significant half first, divided by a power of ten.
static void read_decimal(const gp_piece_column *c, size_t first, size_t n, double *out)
{
    const uint64_t *v = c->values;
    for (size_t i = 0, k = c->offset + first; i < n; i++, k++) {
        const double low = (double)v[2 * k], high = (double)(int64_t)v[2 * k + 1];
        const bool small = (int64_t)v[2 * k + 1] == ((int64_t)v[2 * k] < 0 ? -1 : 0); // it fits into the lower half
        out[i] = is_there(c, k) ? scaled(c, small ? (double)(int64_t)v[2 * k] : high * 18446744073709551616.0 + low)
                                : NAN;
    }
}

static void read_nothing(const gp_piece_column *c, size_t first, size_t n, double *out)
{
    (void)c, (void)first;
    for (size_t i = 0; i < n; i++) out[i] = NAN;
}

#define TEXTS(name, type)                                                                   \
    static void read_##name(const gp_piece_column *c, size_t first, size_t n, gp_text *out) \
    {                                                                                       \
        const type *at = c->values;                                                         \
        for (size_t i = 0, k = c->offset + first; i < n; i++, k++) {                        \
            out[i] = (gp_text){0};                                                          \
            if (!is_there(c, k)) continue;                                                  \
            const char *bytes = c->bytes[0] ? c->bytes[0] : "";                             \
            out[i] = (gp_text){.p = bytes + at[k], .n = (size_t)(at[k + 1] - at[k])};       \
        }                                                                                   \
    }
TEXTS(utf8, int32_t)
TEXTS(large_utf8, int64_t)
#undef TEXTS

// A view is 16 bytes: a length, and up to 12 bytes of text, or a prefix, the number of a buffer and a place in it.
static void read_views(const gp_piece_column *c, size_t first, size_t n, gp_text *out)
{
    for (size_t i = 0, k = c->offset + first; i < n; i++, k++) {
        const char *view = (const char *)c->values + 16 * k;
        int32_t length, place[2];
        memcpy(&length, view, sizeof length);
        memcpy(place, view + 8, sizeof place);
        out[i] = (gp_text){0};
        if (is_there(c, k))
            out[i] = (gp_text){.p = length <= 12 ? view + 4 : c->bytes[place[0]] + place[1], .n = (size_t)length};
    }
}

static void read_dictionary_numbers(const gp_piece_column *c, size_t first, size_t n, double *out)
{
    c->indices->numbers(c->indices, first, n, out);
    for (size_t i = 0; i < n; i++)
        if (!isnan(out[i])) c->dictionary->numbers(c->dictionary, gp_index(out[i], SIZE_MAX), 1, &out[i]);
}

static void read_dictionary_texts(const gp_piece_column *c, size_t first, size_t n, gp_text *out)
{
    for (size_t i = 0; i < n; i++) {
        double index;
        c->indices->numbers(c->indices, first + i, 1, &index);
        out[i] = (gp_text){0};
        if (!isnan(index)) c->dictionary->texts(c->dictionary, gp_index(index, SIZE_MAX), 1, &out[i]);
    }
}

// ---- types ----------------------------------------------------------------------------------------------------------

// By the beginning of the format string; of two that fit the longer one.
static const struct {
    const char *format;
    gp_column_type type;
    void (*numbers)(const gp_piece_column *, size_t, size_t, double *);
    void (*texts)(const gp_piece_column *, size_t, size_t, gp_text *);
    double factor, divisor; // of times: the unit in seconds
    int n_buffers;
} kinds[] = {
    {"n", GP_NUMBER, read_nothing, NULL, 0, 0, 0},
    {"b", GP_BOOLEAN, read_bits, NULL, 0, 0, 2},
    {"c", GP_NUMBER, read_i8, NULL, 0, 0, 2},
    {"C", GP_NUMBER, read_u8, NULL, 0, 0, 2},
    {"s", GP_NUMBER, read_i16, NULL, 0, 0, 2},
    {"S", GP_NUMBER, read_u16, NULL, 0, 0, 2},
    {"i", GP_NUMBER, read_i32, NULL, 0, 0, 2},
    {"I", GP_NUMBER, read_u32, NULL, 0, 0, 2},
    {"l", GP_NUMBER, read_i64, NULL, 0, 0, 2},
    {"L", GP_NUMBER, read_u64, NULL, 0, 0, 2},
    {"e", GP_NUMBER, read_f16, NULL, 0, 0, 2},
    {"f", GP_NUMBER, read_f32, NULL, 0, 0, 2},
    {"g", GP_NUMBER, read_f64, NULL, 0, 0, 2},
    {"u", GP_TEXT, NULL, read_utf8, 0, 0, 3},
    {"U", GP_TEXT, NULL, read_large_utf8, 0, 0, 3},
    {"vu", GP_TEXT, NULL, read_views, 0, 0, 3},
    {"d:", GP_NUMBER, read_decimal, NULL, 0, 0, 2},
    {"tdD", GP_TIME, read_i32, NULL, 86400, 1, 2},
    {"tdm", GP_TIME, read_i64, NULL, 1, 1e3, 2},
    {"tss:", GP_TIME, read_i64, NULL, 1, 1, 2},
    {"tsm:", GP_TIME, read_i64, NULL, 1, 1e3, 2},
    {"tsu:", GP_TIME, read_i64, NULL, 1, 1e6, 2},
    {"tsn:", GP_TIME, read_i64, NULL, 1, 1e9, 2},
    {"tts", GP_NUMBER, read_i32, NULL, 1, 1, 2}, // times of a day and durations are numbers of seconds
    {"ttm", GP_NUMBER, read_i32, NULL, 1, 1e3, 2},
    {"ttu", GP_NUMBER, read_i64, NULL, 1, 1e6, 2},
    {"ttn", GP_NUMBER, read_i64, NULL, 1, 1e9, 2},
    {"tDs", GP_NUMBER, read_i64, NULL, 1, 1, 2},
    {"tDm", GP_NUMBER, read_i64, NULL, 1, 1e3, 2},
    {"tDu", GP_NUMBER, read_i64, NULL, 1, 1e6, 2},
    {"tDn", GP_NUMBER, read_i64, NULL, 1, 1e9, 2},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static size_t kind_of(const char *format) // N_KINDS: none of ours
{
    for (size_t i = 0; i < N_KINDS; i++) {
        const size_t n = strlen(kinds[i].format);
        const bool open = kinds[i].format[n - 1] == ':'; // a time zone or digits follow
        if (open ? strncmp(format, kinds[i].format, n) == 0 : strcmp(format, kinds[i].format) == 0) return i;
    }
    return N_KINDS;
}

// "d:19,10": 19 digits, 10 of them behind the point; a width other than 128 bits is not ours.
static bool decimal_scale(const char *format, gp_piece_column *c)
{
    char *end;
    (void)strtol(format + 2, &end, 10);
    if (*end != ',') return false;
    const long scale = strtol(end + 1, &end, 10);
    c->factor = scale < 0 ? pow(10, -(double)scale) : 1, c->divisor = scale > 0 ? pow(10, (double)scale) : 1;
    return *end == 0 || strcmp(end, ",128") == 0;
}

// The part of a column that its format decides; the buffers come with each batch.
static bool column_of(const struct ArrowSchema *schema, gp_piece_column *c, gp_column_type *type, int *n_buffers)
{
    const size_t i = schema->format ? kind_of(schema->format) : N_KINDS;
    if (i == N_KINDS) return false;
    *c = (gp_piece_column){
        .numbers = kinds[i].numbers, .texts = kinds[i].texts, .factor = kinds[i].factor, .divisor = kinds[i].divisor};
    if (kinds[i].type == GP_TIME) c->shift = -year_2000;
    *type = kinds[i].type;
    *n_buffers = kinds[i].n_buffers;
    return strncmp(schema->format, "d:", 2) != 0 || decimal_scale(schema->format, c);
}

// ---- batches --------------------------------------------------------------------------------------------------------

static advgp_status damaged(const char *name, const char *what, advgp_error *err)
{
    return gp_fail(err, ADVGP_EDATA, "column '%.200s' of the Arrow stream is not as its schema says: %s",
                   name ? name : "", what);
}

// Places of texts from row `first` to row `end`: none before the buffer's beginning, none before the one before it.
#define PLACES(name, type)                                                              \
    static bool name##_are_in_order(const gp_piece_column *c, size_t first, size_t end) \
    {                                                                                   \
        const type *at = c->values;                                                     \
        bool good = at[first] >= 0;                                                     \
        for (size_t k = first; k < end; k++) good = good && at[k] <= at[k + 1];         \
        return good && (c->bytes[0] || at[first] == at[end]);                           \
    }
PLACES(utf8, int32_t)
PLACES(large_utf8, int64_t)
#undef PLACES

// A view that does not hold its text itself: buffers 2 to n - 2 hold texts, the last one how long each of them is.
static bool view_is_inside(const struct ArrowArray *array, const int32_t view[4])
{
    const int64_t *sizes = array->buffers[array->n_buffers - 1];
    const int64_t length = view[0], buffer = view[2], place = view[3];
    if (length < 0) return false;
    if (length <= 12) return true;
    return buffer >= 0 && buffer < array->n_buffers - 3 && place >= 0 && sizes && array->buffers[2 + buffer] &&
           place + length <= sizes[buffer];
}

static bool views_are_inside(const struct ArrowArray *array, const gp_piece_column *c, size_t n)
{
    for (size_t k = c->offset; k < c->offset + n; k++) {
        int32_t view[4]; // length, prefix, buffer, place
        memcpy(view, (const char *)c->values + 16 * k, sizeof view);
        if (is_there(c, k) && !view_is_inside(array, view)) return false;
    }
    return true;
}

static bool texts_are_good(const struct ArrowArray *array, const gp_piece_column *c, size_t n)
{
    if (c->texts == read_utf8) return utf8_are_in_order(c, c->offset, c->offset + n);
    if (c->texts == read_large_utf8) return large_utf8_are_in_order(c, c->offset, c->offset + n);
    return c->texts != read_views || views_are_inside(array, c, n);
}

// What is wrong with an array of which n rows from `offset` on are to be read; NULL: nothing that can be seen.
static const char *fault_of(const struct ArrowArray *array, size_t offset, size_t n, int n_buffers)
{
    enum { BITS = 56 }; // sums and bytes of what is shorter overflow nothing
    if (!array) return "it has no array";
    if (!array->release) return "its array was released";
    if (array->length < 0 || array->length >> BITS) return "its length is none";
    if (array->offset < 0 || array->offset >> BITS) return "its offset is none";
    if (array->null_count < -1 || array->null_count > array->length) return "its count of missing values is none";
    if (offset + n > (size_t)array->length) return "it is shorter than its batch";
    if (array->n_buffers < n_buffers) return "it has too few buffers";
    if (n_buffers && !array->buffers) return "it has no buffers";
    if (array->null_count > 0 && n_buffers && !array->buffers[0]) return "it counts missing values and marks none";
    return n && n_buffers && !array->buffers[1] ? "it has no values" : NULL;
}

static advgp_status bind_values(const struct ArrowSchema *schema, const struct ArrowArray *array, size_t offset,
                                size_t n, const char *name, gp_piece_column *c, advgp_error *err)
{
    gp_column_type type;
    int n_buffers;
    if (!column_of(schema, c, &type, &n_buffers)) return damaged(name, "its type is none of ours", err);
    const char *fault = fault_of(array, offset, n, n_buffers);
    if (fault) return damaged(name, fault, err);
    c->offset = offset + (size_t)array->offset;
    if (n_buffers) c->valid = array->null_count ? array->buffers[0] : NULL, c->values = array->buffers[1];
    if (type == GP_TEXT) c->bytes = (const char *const *)(array->buffers + 2);
    return n && !texts_are_good(array, c, n) ? damaged(name, "a text lies where none can", err) : ADVGP_OK;
}

// Every code that is there names a member of the dictionary.
static bool codes_are_inside(const gp_piece_column *codes, size_t n, size_t n_members)
{
    double code;
    for (size_t i = 0; i < n; i++) {
        codes->numbers(codes, i, 1, &code);
        if (!isnan(code) && !(code >= 0 && code < (double)n_members)) return false;
    }
    return true;
}

static bool are_codes(const char *format) // whole numbers of any width
{
    return *format && !format[1] && strchr("cCsSiIlL", *format);
}

// A dictionary's column needs two more: its indices and the dictionary.
static advgp_status bind(const struct ArrowSchema *schema, const struct ArrowArray *array, size_t offset, size_t n,
                         gp_piece_column c[3], advgp_error *err)
{
    if (!schema->dictionary) return bind_values(schema, array, offset, n, schema->name, c, err);
    if (!array || !array->dictionary) return damaged(schema->name, "it has no dictionary", err);
    const size_t members = array->dictionary->length > 0 ? (size_t)array->dictionary->length : 0;
    advgp_status st = bind_values(schema, array, offset, n, schema->name, &c[1], err);
    if (st == ADVGP_OK) st = bind_values(schema->dictionary, array->dictionary, 0, members, schema->name, &c[2], err);
    if (st != ADVGP_OK) return st;
    if (!codes_are_inside(&c[1], n, members)) return damaged(schema->name, "a code is beyond its dictionary", err);
    c[0] = (gp_piece_column){.numbers = c[2].numbers ? read_dictionary_numbers : NULL,
                             .texts = c[2].texts ? read_dictionary_texts : NULL,
                             .indices = &c[1],
                             .dictionary = &c[2]};
    return ADVGP_OK;
}

enum { PER_COLUMN = 3, COLUMNS_MAX = 1 << 24 };

// The columns of one batch: n_columns, then what their dictionaries need.
static advgp_status bind_batch(const gp_arrow_table *t, const struct ArrowArray *array, gp_piece *batch,
                               advgp_error *err)
{
    const size_t n = t->n_columns;
    const char *fault = fault_of(array, 0, 0, 0);
    if (fault) return gp_fail(err, ADVGP_EDATA, "a batch of the Arrow stream cannot be used: %s", fault);
    if (array->n_children < 0 || (size_t)array->n_children != n || (n && !array->children))
        return gp_fail(err, ADVGP_EDATA, "a batch of the Arrow stream has %lld columns, its schema %zu",
                       (long long)(array->children ? array->n_children : 0), n);
    gp_piece_column *columns = gp_alloc(n * (PER_COLUMN + 1), sizeof *columns);
    if (!columns) return gp_no_memory(err);
    *batch = (gp_piece){.n_rows = (size_t)array->length, .columns = columns};
    for (size_t j = 0; j < n; j++) {
        gp_piece_column *c = columns + n + PER_COLUMN * j;
        const advgp_status st = bind(t->schema.children[j], array->children[j], (size_t)array->offset,
                                     (size_t)array->length, c, err);
        if (st != ADVGP_OK) return st;
        columns[j] = c[0];
    }
    return ADVGP_OK;
}

static advgp_status stream_failed(struct ArrowArrayStream *stream, advgp_error *err)
{
    const char *why = stream->get_last_error ? stream->get_last_error(stream) : NULL;
    return gp_fail(err, ADVGP_EDATA, "the Arrow stream failed: %.300s", why ? why : "it does not say why");
}

static advgp_status read_schema(struct ArrowArrayStream *stream, gp_arrow_table *t, advgp_error *err)
{
    if (stream->get_schema(stream, &t->schema) != 0) {
        t->schema.release = NULL;
        return stream_failed(stream, err);
    }
    const struct ArrowSchema *s = &t->schema;
    if (!s->release || !s->format) return gp_fail(err, ADVGP_EDATA, "the Arrow stream has no schema");
    if (strcmp(s->format, "+s") != 0)
        return gp_fail(err, ADVGP_EDATA, "the Arrow stream holds single values of type '%.40s', not rows of a table",
                       s->format);
    if (s->n_children < 0 || s->n_children > COLUMNS_MAX || (s->n_children && !s->children))
        return gp_fail(err, ADVGP_EDATA, "the schema of the Arrow stream says that it has %lld columns, and lists none",
                       (long long)s->n_children);
    const size_t n = (size_t)s->n_children;
    t->names = gp_alloc(n, sizeof *t->names);
    t->types = gp_alloc(n, sizeof *t->types);
    if (!t->names || !t->types) return gp_no_memory(err);
    for (size_t j = 0; j < n; j++, t->n_columns++) {
        const struct ArrowSchema *child = s->children[j];
        if (!child || !child->release || !child->format)
            return gp_fail(err, ADVGP_EDATA, "the Arrow stream does not say what its column %zu is", j + 1);
        const struct ArrowSchema *values = child->dictionary ? child->dictionary : child;
        const char *name = child->name ? child->name : "";
        gp_piece_column unused;
        int n_buffers;
        if (!values->release)
            return gp_fail(err, ADVGP_EDATA, "the Arrow stream does not say what its column %zu is", j + 1);
        if (child->dictionary && !are_codes(child->format))
            return damaged(name, "the codes of its dictionary are no whole numbers", err);
        if (child->dictionary && values->dictionary)
            return damaged(name, "its dictionary has a dictionary of its own", err);
        if (!column_of(values, &unused, &t->types[j], &n_buffers))
            return gp_fail(err, ADVGP_EDATA,
                           "column '%.200s' is of the Arrow type '%.40s'; numbers, truths, texts, dates and "
                           "dictionaries of these can be read: convert it, or leave it out",
                           name, values->format ? values->format : "");
        if (!(t->names[j] = gp_text_copy(name, strlen(name)))) return gp_no_memory(err);
    }
    return ADVGP_OK;
}

static advgp_status read_batches(struct ArrowArrayStream *stream, gp_arrow_table *t, advgp_error *err)
{
    for (size_t arrays = 0, batches = 0;;) {
        const size_t n = t->n_batches;
        if (!gp_grow(&t->arrays, &arrays, n, n + 1, sizeof *t->arrays) ||
            !gp_grow(&t->batches, &batches, n, n + 1, sizeof *t->batches))
            return gp_no_memory(err);
        struct ArrowArray *array = &t->arrays[n];
        *array = (struct ArrowArray){0}; // who gives nothing has ended
        if (stream->get_next(stream, array) != 0) return stream_failed(stream, err);
        if (!array->release) return ADVGP_OK; // the end
        t->batches[n] = (gp_piece){0};
        t->n_batches++;
        const advgp_status st = bind_batch(t, array, &t->batches[n], err);
        if (st != ADVGP_OK) return st;
        t->n_rows += (size_t)array->length;
    }
}

advgp_status gp_arrow_table_read(struct ArrowArrayStream *stream, gp_arrow_table *out, advgp_error *err)
{
    *out = (gp_arrow_table){0};
    if (!stream->release) return gp_fail(err, ADVGP_EINVAL, "the Arrow stream was released already");
    advgp_status st = stream->get_schema && stream->get_next
                          ? read_schema(stream, out, err)
                          : gp_fail(err, ADVGP_EDATA, "the Arrow stream lacks a function to read it by");
    if (st == ADVGP_OK) st = read_batches(stream, out, err);
    stream->release(stream);
    return st;
}

void gp_arrow_table_fini(gp_arrow_table *t)
{
    for (size_t i = 0; i < t->n_batches; i++) {
        gp_free((void *)(uintptr_t)t->batches[i].columns);
        t->arrays[i].release(&t->arrays[i]);
    }
    for (size_t j = 0; j < t->n_columns; j++) gp_free(t->names[j]);
    if (t->schema.release) t->schema.release(&t->schema);
    gp_free(t->names);
    gp_free(t->types);
    gp_free(t->batches);
    gp_free(t->arrays);
    *t = (gp_arrow_table){0};
}
