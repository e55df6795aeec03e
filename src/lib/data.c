// data.c: the tables of callers: files by name, arrays as they lie, pieces that are copied, streams of Arrow's.
#include "base/alloc.h"
#include "lib/handles.h"

#include <math.h>
#include <string.h>

// ---- values of arrays -----------------------------------------------------------------------------------------------

#define READER(name, type)                                                                 \
    static void read_##name(const gp_piece_column *c, size_t first, size_t n, double *out) \
    {                                                                                      \
        const char *at = (const char *)c->values + (ptrdiff_t)first * c->stride;           \
        for (size_t i = 0; i < n; i++, at += c->stride) {                                  \
            type value;                                                                    \
            memcpy(&value, at, sizeof value); /* may not be aligned */                     \
            out[i] = (double)value;                                                        \
        }                                                                                  \
    }
READER(float, float)
READER(int64, int64_t)
READER(int32, int32_t)
#undef READER

static void read_boolean(const gp_piece_column *c, size_t first, size_t n, double *out)
{
    const unsigned char *at = (const unsigned char *)c->values + (ptrdiff_t)first * c->stride;
    for (size_t i = 0; i < n; i++, at += c->stride) out[i] = *at != 0;
}

static void read_time(const gp_piece_column *c, size_t first, size_t n, double *out)
{
    gp_piece_doubles(c, first, n, out);
    for (size_t i = 0; i < n; i++) out[i] -= seconds_to_2000;
}

// By advgp_type.
static const struct {
    gp_column_type type;
    size_t width;
    void (*numbers)(const gp_piece_column *, size_t, size_t, double *);
    void (*texts)(const gp_piece_column *, size_t, size_t, gp_text *);
} kinds[] = {
    [ADVGP_FLOAT64] = {GP_NUMBER, sizeof(double), gp_piece_doubles, NULL},
    [ADVGP_FLOAT32] = {GP_NUMBER, sizeof(float), read_float, NULL},
    [ADVGP_INT64] = {GP_NUMBER, sizeof(int64_t), read_int64, NULL},
    [ADVGP_INT32] = {GP_NUMBER, sizeof(int32_t), read_int32, NULL},
    [ADVGP_BOOLEAN] = {GP_BOOLEAN, 1, read_boolean, NULL},
    [ADVGP_TIME] = {GP_TIME, sizeof(double), read_time, NULL},
    [ADVGP_TEXT] = {GP_TEXT, sizeof(const char *), NULL, gp_piece_strings},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

// ---- making ---------------------------------------------------------------------------------------------------------

// Rows that were appended: numbers as doubles, texts one behind the other, each ended by a zero.
typedef struct grown {
    double *numbers;
    size_t *texts; // where each begins, 1 more than that; 0: missing
    char *bytes;
    size_t room, n_bytes, bytes_room;
} grown;

static advgp_status new_data(advgp_data **out, advgp_error *err)
{
    *out = gp_alloc(1, sizeof **out);
    return *out ? ADVGP_OK : gp_no_memory(err);
}

advgp_status advgp_data_files(const char *const *paths, size_t n_paths, advgp_data **out, advgp_error *err)
{
    if (!library_has(out, "place for the result", err)) return ADVGP_EINVAL;
    *out = NULL;
    if (!n_paths || !paths) return gp_fail(err, ADVGP_EINVAL, "no file is named");
    for (size_t i = 0; i < n_paths; i++)
        if (!library_has(paths[i], "name of a file", err)) return ADVGP_EINVAL;
    advgp_data *d;
    advgp_status st = new_data(&d, err);
    if (st != ADVGP_OK) return st;
    d->paths = gp_alloc(n_paths, sizeof *d->paths);
    for (size_t i = 0; d->paths && i < n_paths; i++, d->n_paths++)
        if (!(d->paths[i] = gp_text_copy(paths[i], strlen(paths[i])))) break;
    if (d->n_paths < n_paths) {
        advgp_data_free(d);
        return gp_no_memory(err);
    }
    *out = d;
    return ADVGP_OK;
}

advgp_status advgp_data_new(size_t n_rows, advgp_data **out, advgp_error *err)
{
    if (!library_has(out, "place for the result", err)) return ADVGP_EINVAL;
    const advgp_status st = new_data(out, err);
    if (st == ADVGP_OK) (*out)->n_rows = n_rows;
    return st;
}

static advgp_status add_column(advgp_data *d, const char *name, advgp_type type, gp_piece_column column,
                               advgp_error *err)
{
    const size_t n = d->n_columns;
    size_t rooms[3] = {d->room, d->room, d->room};
    if (!gp_grow(&d->names, &rooms[0], n, n + 1, sizeof *d->names) ||
        !gp_grow(&d->types, &rooms[1], n, n + 1, sizeof *d->types) ||
        !gp_grow(&d->columns, &rooms[2], n, n + 1, sizeof *d->columns) ||
        !(d->names[n] = gp_text_copy(name, strlen(name))))
        return gp_no_memory(err);
    d->room = rooms[0];
    d->types[n] = type;
    d->columns[n] = column;
    d->n_columns++;
    return ADVGP_OK;
}

advgp_status advgp_data_add(advgp_data *d, const advgp_column *c, advgp_error *err)
{
    if (!library_has(d, "table", err)) return ADVGP_EINVAL;
    if (!library_has(c, "column", err)) return ADVGP_EINVAL;
    if (d->n_paths || d->grown)
        return gp_fail(
            err, ADVGP_EINVAL,
            "columns are added to tables of arrays or of Arrow, not to files or to pieces that were appended");
    if (!c->name || (unsigned)c->type >= N_KINDS || (!c->values && d->n_rows))
        return gp_fail(err, ADVGP_EINVAL, "column %zu lacks a name, a type of advgp_type or values", d->n_columns);
    const gp_piece_column column = {.numbers = kinds[c->type].numbers,
                                    .texts = kinds[c->type].texts,
                                    .values = c->values,
                                    .stride = c->stride ? c->stride : (ptrdiff_t)kinds[c->type].width};
    return add_column(d, c->name, c->type, column, err);
}

advgp_status advgp_data_arrow(struct ArrowArrayStream *stream, advgp_data **out, advgp_error *err)
{
    if (!library_has(out, "place for the result", err)) return ADVGP_EINVAL;
    *out = NULL;
    if (!stream) return gp_fail(err, ADVGP_EINVAL, "no Arrow stream is given: NULL");
    advgp_data *d;
    advgp_status st = new_data(&d, err);
    if (st != ADVGP_OK) {
        if (stream->release) stream->release(stream);
        return st;
    }
    st = gp_arrow_table_read(stream, &d->arrow, err);
    d->n_rows = d->arrow.n_rows;
    if (st == ADVGP_OK)
        *out = d;
    else
        advgp_data_free(d);
    return library_said(st, err);
}

void advgp_data_free(advgp_data *d)
{
    if (!d) return;
    for (size_t i = 0; i < d->n_paths; i++) gp_free(d->paths[i]);
    for (size_t i = 0; i < d->n_columns; i++) gp_free(d->names[i]);
    for (size_t i = 0; d->grown && i < d->n_columns; i++) {
        gp_free(d->grown[i].numbers);
        gp_free(d->grown[i].texts);
        gp_free(d->grown[i].bytes);
    }
    gp_arrow_table_fini(&d->arrow);
    gp_free(d->paths);
    gp_free(d->names);
    gp_free(d->types);
    gp_free(d->columns);
    gp_free(d->grown);
    gp_free(d);
}

size_t advgp_data_rows(const advgp_data *d)
{
    return !d || d->n_paths ? 0 : d->n_rows;
}

// ---- appending ------------------------------------------------------------------------------------------------------

// What is in memory already is read as what it is; a time keeps its zero at 2000.
static const struct {
    advgp_type type;
    gp_column_type column;
} kept_as[] = {{ADVGP_FLOAT64, GP_NUMBER}, {ADVGP_BOOLEAN, GP_BOOLEAN}, {ADVGP_TIME, GP_TIME}, {ADVGP_TEXT, GP_TEXT}};

static advgp_type kept_type(gp_column_type column)
{
    size_t i = 0;
    while (kept_as[i].column != column) i++;
    return kept_as[i].type;
}

static void read_grown_texts(const gp_piece_column *c, size_t first, size_t n, gp_text *out)
{
    const grown *g = c->values;
    for (size_t i = 0; i < n; i++) {
        const size_t at = g->texts[first + i];
        const char *p = at ? g->bytes + at - 1 : NULL;
        out[i] = (gp_text){.p = p, .n = p ? strlen(p) : 0};
    }
}

static bool append_number(grown *g, size_t n_rows, double value)
{
    if (!gp_grow(&g->numbers, &g->room, n_rows, n_rows + 1, sizeof *g->numbers)) return false;
    g->numbers[n_rows] = value;
    return true;
}

static bool append_text(grown *g, size_t n_rows, gp_text text)
{
    if (!gp_grow(&g->texts, &g->room, n_rows, n_rows + 1, sizeof *g->texts) ||
        !gp_grow(&g->bytes, &g->bytes_room, g->n_bytes, g->n_bytes + text.n + 1, 1))
        return false;
    g->texts[n_rows] = text.p ? g->n_bytes + 1 : 0;
    if (!text.p) return true;
    memcpy(g->bytes + g->n_bytes, text.p, text.n);
    g->bytes[g->n_bytes + text.n] = 0;
    g->n_bytes += text.n + 1;
    return true;
}

// The first piece decides which columns there are.
static advgp_status begin_appending(advgp_data *d, const gp_source *piece, advgp_error *err)
{
    if (d->n_paths || d->n_rows || d->n_columns || d->arrow.n_columns)
        return gp_fail(err, ADVGP_EINVAL, "rows are appended to a table that began without rows and columns");
    d->grown = gp_alloc(piece->n_columns, sizeof *d->grown);
    if (!d->grown) return gp_no_memory(err);
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < piece->n_columns; i++) {
        const gp_column *c = &piece->columns[i];
        st = add_column(d, c->name, kept_type(c->type), (gp_piece_column){0}, err);
    }
    return st;
}

static advgp_status find_columns(const advgp_data *d, const gp_source *piece, size_t *at, advgp_error *err)
{
    if (piece->n_columns != d->n_columns)
        return gp_fail(err, ADVGP_EDATA, "the piece has %zu columns, the table %zu", piece->n_columns, d->n_columns);
    for (size_t i = 0; i < d->n_columns; i++) {
        const long found = gp_source_find(piece, d->names[i]);
        if (found == GP_NO_COLUMN)
            return gp_fail(err, ADVGP_EDATA, "the piece has no column '%.200s', which the table has", d->names[i]);
        at[i] = (size_t)found;
        if (kept_type(piece->columns[found].type) != d->types[i])
            return gp_fail(err, ADVGP_EDATA, "column '%.200s' is of another type than in the pieces before",
                           d->names[i]);
    }
    return ADVGP_OK;
}

static advgp_status append_chunk(advgp_data *d, const gp_chunk *chunk, const size_t *at, size_t before,
                                 advgp_error *err)
{
    for (size_t i = 0; i < d->n_columns; i++) {
        const gp_values *v = &chunk->columns[at[i]];
        for (size_t k = 0; k < chunk->n_rows; k++)
            if (!(d->types[i] == ADVGP_TEXT ? append_text(&d->grown[i], before + k, v->text[k])
                                            : append_number(&d->grown[i], before + k, v->number[k])))
                return gp_no_memory(err);
    }
    return ADVGP_OK;
}

static void bind_grown(advgp_data *d)
{
    for (size_t i = 0; i < d->n_columns; i++)
        d->columns[i] = d->types[i] == ADVGP_TEXT ? (gp_piece_column){.texts = read_grown_texts, .values = &d->grown[i]}
                                                  : (gp_piece_column){.numbers = gp_piece_doubles,
                                                                      .values = d->grown[i].numbers,
                                                                      .stride = sizeof(double)};
}

static advgp_status append_all(advgp_data *d, gp_source *piece, size_t *at, advgp_error *err)
{
    advgp_status st = d->grown ? ADVGP_OK : begin_appending(d, piece, err);
    if (st == ADVGP_OK) st = find_columns(d, piece, at, err);
    size_t n = d->n_rows;
    const gp_chunk *chunk = NULL;
    while (st == ADVGP_OK && (st = gp_source_next(piece, &chunk, err)) == ADVGP_OK && chunk) {
        st = append_chunk(d, chunk, at, n, err);
        n += chunk->n_rows;
    }
    if (st == ADVGP_OK) d->n_rows = n; // a piece that failed leaves nothing behind
    if (d->grown) bind_grown(d);
    return st;
}

advgp_status advgp_data_append(advgp_data *d, const advgp_data *piece, advgp_error *err)
{
    if (!d || !piece) return gp_fail(err, ADVGP_EINVAL, "no table is given: NULL");
    if (d == piece) // it would grow under the hands that read it
        return gp_fail(err, ADVGP_EINVAL, "a table cannot be appended to itself: append a second one of the same rows");
    if (piece->n_paths) return gp_fail(err, ADVGP_EINVAL, "files are read when they are needed, not appended");
    gp_source *source = NULL;
    advgp_status st = library_table_open(piece, &source, err);
    size_t *at = gp_alloc(source ? source->n_columns : 0, sizeof *at);
    if (st == ADVGP_OK && !at) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = append_all(d, source, at, err);
    gp_free(at);
    gp_source_free(source);
    return library_said(st, err);
}

// ---- reading --------------------------------------------------------------------------------------------------------

// The columns of the n-th piece, which begins at row `first`: Arrow's, then those that were added.
static void bind_piece(const advgp_data *d, size_t n, size_t first, gp_piece_column *columns)
{
    const size_t before = d->arrow.n_columns;
    for (size_t i = 0; i < before; i++) columns[i] = d->arrow.batches[n].columns[i];
    for (size_t i = 0; i < d->n_columns; i++) {
        columns[before + i] = d->columns[i];
        if (first)
            columns[before + i].values = (const char *)d->columns[i].values + (ptrdiff_t)first * d->columns[i].stride;
    }
}

static advgp_status open_pieces(const advgp_data *d, size_t n_pieces, size_t n, const char **names,
                                gp_column_type *types, gp_piece *pieces, gp_source **out, advgp_error *err)
{
    gp_piece_column *columns = gp_alloc(n_pieces * n, sizeof *columns);
    if (!columns) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const size_t added = i - d->arrow.n_columns;
        const bool of_arrow = i < d->arrow.n_columns;
        names[i] = of_arrow ? d->arrow.names[i] : d->names[added];
        types[i] = of_arrow ? d->arrow.types[i] : kinds[d->types[added]].type;
    }
    for (size_t k = 0, first = 0; k < n_pieces; first += pieces[k++].n_rows) {
        pieces[k] = (gp_piece){.n_rows = d->arrow.n_columns ? d->arrow.batches[k].n_rows : d->n_rows,
                               .columns = columns + k * n};
        bind_piece(d, k, first, columns + k * n);
    }
    return gp_source_pieces_open(names, types, n, pieces, n_pieces, columns, 0, out, err);
}

advgp_status library_table_open(const advgp_data *d, gp_source **out, advgp_error *err)
{
    *out = NULL;
    if (d->n_paths) return ADVGP_OK;
    const size_t n = d->arrow.n_columns + d->n_columns, n_pieces = d->arrow.n_columns ? d->arrow.n_batches : 1;
    if (!n) return gp_fail(err, ADVGP_EDATA, "the table has no columns");
    const char **names = gp_alloc(n, sizeof *names);
    gp_column_type *types = gp_alloc(n, sizeof *types);
    gp_piece *pieces = gp_alloc(n_pieces, sizeof *pieces);
    const advgp_status st = names && types && pieces ? open_pieces(d, n_pieces, n, names, types, pieces, out, err)
                                                     : gp_no_memory(err);
    gp_free(names);
    gp_free(types);
    gp_free(pieces);
    return st;
}
