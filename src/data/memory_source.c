// memory_source.c: pieces of rows in memory as a source, and a caller's arrays as one such piece. Plain doubles are
// handed on in place; everything else is copied chunk by chunk.
#include "base/alloc.h"
#include "base/text.h"
#include "data/piece.h"

#include <string.h>

enum { DEFAULT_CHUNK_ROWS = 2048 };

typedef struct memory_source {
    gp_source base;
    gp_piece *pieces;
    size_t n_pieces, chunk_rows;
    gp_piece_column *own;  // the block of their columns, if it is ours
    size_t piece, row;     // where the next chunk begins
    size_t n_rows, passed; // in all, and given so far
    gp_chunk chunk;
    gp_values *values;
    void **buffers; // chunk_rows doubles or texts a column, made when first needed
} memory_source;

// ---- reading --------------------------------------------------------------------------------------------------------

void gp_piece_doubles(const gp_piece_column *c, size_t first, size_t n, double *out)
{
    const char *at = (const char *)c->values + (ptrdiff_t)first * c->stride;
    for (size_t i = 0; i < n; i++, at += c->stride) memcpy(&out[i], at, sizeof out[i]); // may not be aligned
}

void gp_piece_strings(const gp_piece_column *c, size_t first, size_t n, gp_text *out)
{
    const char *at = (const char *)c->values + (ptrdiff_t)first * c->stride;
    for (size_t i = 0; i < n; i++, at += c->stride) {
        const char *t;
        memcpy(&t, at, sizeof t);
        out[i] = (gp_text){.p = t, .n = t ? strlen(t) : 0};
    }
}

static bool is_plain(const gp_piece_column *c)
{
    return c->numbers == gp_piece_doubles && c->stride == sizeof(double) && (size_t)c->values % sizeof(double) == 0;
}

// What a caller passes off as text is asked before it becomes the name of a category, in a file that others read.
static advgp_status check_texts(const memory_source *s, size_t column, const gp_text *texts, size_t n, advgp_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (texts[i].p && !gp_text_is_utf8(texts[i].p, texts[i].n))
            return gp_fail(err, ADVGP_EDATA, "row %zu: the text of column '%s' is not UTF-8",
                           s->passed + s->row + i + 1, s->base.columns[column].name);
    return ADVGP_OK;
}

// Values of a column from where the source stands, through as many pieces as they take.
static void copy_column(const memory_source *s, size_t column, size_t n, void *buffer)
{
    double *numbers = buffer;
    gp_text *texts = buffer;
    for (size_t k = s->piece, row = s->row, done = 0; done < n; k++, row = 0) {
        const gp_piece_column *c = &s->pieces[k].columns[column];
        const size_t left = s->pieces[k].n_rows - row, take = left < n - done ? left : n - done;
        if (c->numbers)
            c->numbers(c, row, take, numbers + done);
        else
            c->texts(c, row, take, texts + done);
        done += take;
    }
}

static advgp_status fill_column(memory_source *s, size_t column, size_t n, advgp_error *err)
{
    const gp_piece_column *c = &s->pieces[s->piece].columns[column];
    const bool is_text = s->base.columns[column].type == GP_TEXT;
    gp_values *v = &s->values[column];
    *v = (gp_values){0};
    if (!s->base.wanted[column]) return ADVGP_OK;
    if (is_plain(c) && n <= s->pieces[s->piece].n_rows - s->row) {
        v->number = (const double *)c->values + s->row;
        return ADVGP_OK;
    }
    void **buffer = &s->buffers[column];
    if (!*buffer) *buffer = gp_alloc(s->chunk_rows, is_text ? sizeof(gp_text) : sizeof(double));
    if (!*buffer) return gp_no_memory(err);
    copy_column(s, column, n, *buffer);
    if (is_text)
        v->text = *buffer;
    else
        v->number = *buffer;
    return is_text ? check_texts(s, column, *buffer, n, err) : ADVGP_OK;
}

// Chunks are as long as they can be, wherever pieces end: equal tables give equal chunks.
static advgp_status memory_next(gp_source *source, const gp_chunk **chunk, advgp_error *err)
{
    memory_source *s = (memory_source *)source;
    const size_t left = s->n_rows - s->passed, n = left < s->chunk_rows ? left : s->chunk_rows;
    advgp_status st = ADVGP_OK;
    *chunk = NULL;
    if (!n) return ADVGP_OK;
    while (s->row == s->pieces[s->piece].n_rows) s->piece++, s->row = 0;
    for (size_t i = 0; st == ADVGP_OK && i < source->n_columns; i++) st = fill_column(s, i, n, err);
    if (st != ADVGP_OK) return st;
    s->chunk = (gp_chunk){.n_rows = n, .first_row = s->passed, .columns = s->values};
    s->passed += n;
    for (s->row += n; s->row > s->pieces[s->piece].n_rows; s->piece++) s->row -= s->pieces[s->piece].n_rows;
    *chunk = &s->chunk;
    return ADVGP_OK;
}

static advgp_status memory_rewind(gp_source *source, advgp_error *err)
{
    (void)err;
    memory_source *s = (memory_source *)source;
    s->piece = s->row = s->passed = 0;
    return ADVGP_OK;
}

static void memory_free(gp_source *source)
{
    memory_source *s = (memory_source *)source;
    for (size_t i = 0; s->buffers && i < source->n_columns; i++) gp_free(s->buffers[i]);
    gp_free(s->buffers);
    gp_free(s->values);
    gp_free(s->pieces);
    gp_free(s->own);
    gp_source_fini(source);
    gp_free(s);
}

const gp_source_ops gp_source_memory = {
    .name = "memory", .next = memory_next, .rewind = memory_rewind, .free = memory_free};

// ---- opening --------------------------------------------------------------------------------------------------------

static advgp_status check_names(const char *const *names, size_t n, advgp_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!gp_text_is_utf8(names[i], strlen(names[i])))
            return gp_fail(err, ADVGP_EDATA, "the name of column %zu is not UTF-8", i + 1);
        for (size_t j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0)
                return gp_fail(err, ADVGP_EDATA, "two columns are named '%s'; rename one", names[i]);
    }
    return ADVGP_OK;
}

advgp_status gp_source_pieces_open(const char *const *names, const gp_column_type *types, size_t n_columns,
                                   const gp_piece *pieces, size_t n_pieces, gp_piece_column *columns_take,
                                   size_t chunk_rows, gp_source **out, advgp_error *err)
{
    *out = NULL;
    advgp_status st = check_names(names, n_columns, err);
    memory_source *s = gp_alloc(1, sizeof *s);
    if (st == ADVGP_OK && !s) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = gp_source_init(&s->base, &gp_source_memory, "the table", names, types, n_columns, err);
    if (st != ADVGP_OK) {
        gp_free(s);
        gp_free(columns_take);
        return st;
    }
    s->chunk_rows = chunk_rows ? chunk_rows : DEFAULT_CHUNK_ROWS;
    s->own = columns_take;
    s->n_pieces = n_pieces;
    s->pieces = gp_alloc(n_pieces, sizeof *s->pieces);
    s->values = gp_alloc(n_columns, sizeof *s->values);
    s->buffers = gp_alloc(n_columns, sizeof *s->buffers);
    if (!s->pieces || !s->values || !s->buffers) {
        memory_free(&s->base);
        return gp_no_memory(err);
    }
    for (size_t k = 0; k < n_pieces; k++) s->pieces[k] = pieces[k], s->n_rows += pieces[k].n_rows;
    *out = &s->base;
    return ADVGP_OK;
}

// names, types and columns: n each, to be filled.
static advgp_status describe_arrays(const gp_array *arrays, size_t n, const char **names, gp_column_type *types,
                                    gp_piece_column *columns, advgp_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const gp_array *a = &arrays[i];
        if (!a->name || (!a->number && !a->text) || (a->number && a->stride == 0))
            return gp_fail(err, ADVGP_EINVAL, "array %zu lacks a name, values or a stride", i);
        names[i] = a->name;
        types[i] = a->number ? GP_NUMBER : GP_TEXT;
        if (a->number)
            columns[i] = (gp_piece_column){
                .numbers = gp_piece_doubles, .values = a->number, .stride = (ptrdiff_t)(a->stride * sizeof(double))};
        else
            columns[i] = (gp_piece_column){
                .texts = gp_piece_strings, .values = a->text, .stride = sizeof(const char *)};
    }
    return ADVGP_OK;
}

advgp_status gp_source_memory_open(const gp_array *arrays, size_t n_arrays, size_t n_rows, size_t chunk_rows,
                                   gp_source **out, advgp_error *err)
{
    *out = NULL;
    const char **names = gp_alloc(n_arrays, sizeof *names);
    gp_column_type *types = gp_alloc(n_arrays, sizeof *types);
    gp_piece_column *columns = gp_alloc(n_arrays, sizeof *columns);
    const gp_piece piece = {.n_rows = n_rows, .columns = columns};
    advgp_status st = names && types && columns ? describe_arrays(arrays, n_arrays, names, types, columns, err)
                                                : gp_no_memory(err);
    if (st == ADVGP_OK)
        st = gp_source_pieces_open(names, types, n_arrays, &piece, 1, columns, chunk_rows, out, err);
    else
        gp_free(columns);
    gp_free(names);
    gp_free(types);
    return st;
}
