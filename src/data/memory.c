// memory.c: a caller's arrays as a source. Plain arrays are handed on in place; a strided column is copied chunk by
// chunk.
#include "base/alloc.h"
#include "data/source.h"

#include <string.h>

enum { DEFAULT_CHUNK_ROWS = 2048 };

typedef struct memory_source {
    gp_source base;
    gp_array *arrays;
    size_t n_rows, chunk_rows, row;
    gp_chunk chunk;
    gp_values *values;
    double **number_buffers; // chunk_rows each; NULL where the array is plain
    gp_text **text_buffers;
} memory_source;

static void fill_column(memory_source *s, size_t column, size_t n)
{
    const gp_array *a = &s->arrays[column];
    gp_values *v = &s->values[column];
    *v = (gp_values){0};
    if (!s->base.wanted[column]) return;
    if (a->number && a->stride == 1) {
        v->number = a->number + s->row;
    } else if (a->number) {
        double *copy = s->number_buffers[column];
        for (size_t i = 0; i < n; i++) copy[i] = a->number[(s->row + i) * a->stride];
        v->number = copy;
    } else {
        gp_text *texts = s->text_buffers[column];
        for (size_t i = 0; i < n; i++) {
            const char *t = a->text[s->row + i];
            texts[i] = (gp_text){.p = t, .n = t ? strlen(t) : 0};
        }
        v->text = texts;
    }
}

static advgp_status memory_next(gp_source *source, const gp_chunk **chunk, advgp_error *err)
{
    (void)err;
    memory_source *s = (memory_source *)source;
    size_t left = s->n_rows - s->row;
    size_t n = left < s->chunk_rows ? left : s->chunk_rows;
    *chunk = NULL;
    if (n == 0) return ADVGP_OK;
    for (size_t i = 0; i < source->n_columns; i++) fill_column(s, i, n);
    s->chunk = (gp_chunk){.n_rows = n, .first_row = s->row, .columns = s->values};
    s->row += n;
    *chunk = &s->chunk;
    return ADVGP_OK;
}

static advgp_status memory_rewind(gp_source *source, advgp_error *err)
{
    (void)err;
    ((memory_source *)source)->row = 0;
    return ADVGP_OK;
}

static void memory_free(gp_source *source)
{
    memory_source *s = (memory_source *)source;
    for (size_t i = 0; i < source->n_columns; i++) {
        if (s->number_buffers) gp_free(s->number_buffers[i]);
        if (s->text_buffers) gp_free(s->text_buffers[i]);
    }
    gp_free(s->number_buffers);
    gp_free(s->text_buffers);
    gp_free(s->values);
    gp_free(s->arrays);
    gp_source_fini(source);
    gp_free(s);
}

const gp_source_ops gp_source_memory = {
    .name = "memory", .next = memory_next, .rewind = memory_rewind, .free = memory_free};

static advgp_status init_columns(memory_source *s, const gp_array *arrays, size_t n, advgp_error *err)
{
    const char **names = gp_alloc(n, sizeof *names);
    gp_column_type *types = gp_alloc(n, sizeof *types);
    advgp_status st = ADVGP_OK;
    if (!names || !types) st = gp_fail(err, ADVGP_ENOMEM, "no memory for %zu columns", n);
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) {
        if (!arrays[i].name || (!arrays[i].number && !arrays[i].text) || (arrays[i].number && arrays[i].stride == 0))
            st = gp_fail(err, ADVGP_EINVAL, "array %zu lacks a name, values or a stride", i);
        for (size_t j = 0; st == ADVGP_OK && j < i; j++)
            if (strcmp(arrays[i].name, arrays[j].name) == 0)
                st = gp_fail(err, ADVGP_EDATA, "two columns are named '%s'; rename one", arrays[i].name);
        names[i] = arrays[i].name;
        types[i] = arrays[i].number ? GP_NUMBER : GP_TEXT;
    }
    if (st == ADVGP_OK) st = gp_source_init(&s->base, &gp_source_memory, "the table", names, types, n, err);
    gp_free(names);
    gp_free(types);
    return st;
}

static bool make_buffers(memory_source *s, const gp_array *arrays, size_t n)
{
    s->arrays = gp_alloc(n, sizeof *s->arrays);
    s->values = gp_alloc(n, sizeof *s->values);
    s->number_buffers = gp_alloc(n, sizeof *s->number_buffers);
    s->text_buffers = gp_alloc(n, sizeof *s->text_buffers);
    if (!s->arrays || !s->values || !s->number_buffers || !s->text_buffers) return false;
    if (n) memcpy(s->arrays, arrays, n * sizeof *arrays);
    for (size_t i = 0; i < n; i++) {
        if (arrays[i].number && arrays[i].stride != 1) {
            if (!(s->number_buffers[i] = gp_alloc(s->chunk_rows, sizeof(double)))) return false;
        } else if (!arrays[i].number) {
            if (!(s->text_buffers[i] = gp_alloc(s->chunk_rows, sizeof(gp_text)))) return false;
        }
    }
    return true;
}

advgp_status gp_source_memory_open(const gp_array *arrays, size_t n_arrays, size_t n_rows, size_t chunk_rows,
                                   gp_source **out, advgp_error *err)
{
    *out = NULL;
    memory_source *s = gp_alloc(1, sizeof *s);
    if (!s) return gp_fail(err, ADVGP_ENOMEM, "no memory for the table");
    s->n_rows = n_rows;
    s->chunk_rows = chunk_rows ? chunk_rows : DEFAULT_CHUNK_ROWS;
    advgp_status st = init_columns(s, arrays, n_arrays, err);
    if (st != ADVGP_OK) {
        gp_free(s);
        return st;
    }
    if (!make_buffers(s, arrays, n_arrays)) {
        memory_free(&s->base);
        return gp_fail(err, ADVGP_ENOMEM, "no memory for the chunks of %zu columns", n_arrays);
    }
    *out = &s->base;
    return ADVGP_OK;
}
