// synthetic.c: rows out of a seed, for benchmarks and tests: a smooth function of d uniform inputs plus noise of sd
// 0.1. Row i is a pure function of (seed, i), so a billion rows cost neither memory nor disk.
#include "base/alloc.h"
#include "base/constants.h"
#include "base/rng.h"
#include "data/source.h"

#include <math.h>
#include <stdio.h>

enum { CHUNK_ROWS = 2048, NAME_BYTES = 24 };

typedef struct synthetic_source {
    gp_source base;
    size_t n_rows, d, row;
    uint64_t seed;
    gp_chunk chunk;
    gp_values *values;
    double *cells; // (d + 1) x CHUNK_ROWS, one column after the other
} synthetic_source;

// y = sin(3 x1) + sum of x_j / j over the rest + noise: non-linear in one input, linear in the others, all of them
// matter.
static void fill_row(synthetic_source *s, size_t i)
{
    uint64_t first = (uint64_t)(s->row + i) * (s->d + 2);
    double y = 0;
    for (size_t j = 0; j < s->d; j++) {
        double x = 2 * gp_hash_uniform(s->seed, first + j) - 1;
        s->cells[j * CHUNK_ROWS + i] = x;
        y += j == 0 ? sin(3 * x) : x / (double)(j + 1);
    }
    double radius = sqrt(-2 * log(1 - gp_hash_uniform(s->seed, first + s->d)));
    y += 0.1 * radius * cos(GP_TWO_PI * gp_hash_uniform(s->seed, first + s->d + 1));
    s->cells[s->d * CHUNK_ROWS + i] = y;
}

static advgp_status synthetic_next(gp_source *source, const gp_chunk **chunk, advgp_error *err)
{
    (void)err;
    synthetic_source *s = (synthetic_source *)source;
    size_t left = s->n_rows - s->row;
    size_t n = left < CHUNK_ROWS ? left : CHUNK_ROWS;
    *chunk = NULL;
    if (n == 0) return ADVGP_OK;
    for (size_t i = 0; i < n; i++) fill_row(s, i);
    for (size_t j = 0; j <= s->d; j++)
        s->values[j] = (gp_values){.number = source->wanted[j] ? s->cells + j * CHUNK_ROWS : NULL};
    s->chunk = (gp_chunk){.n_rows = n, .first_row = s->row, .columns = s->values};
    s->row += n;
    *chunk = &s->chunk;
    return ADVGP_OK;
}

static advgp_status synthetic_rewind(gp_source *source, advgp_error *err)
{
    (void)err;
    ((synthetic_source *)source)->row = 0;
    return ADVGP_OK;
}

static void synthetic_free(gp_source *source)
{
    synthetic_source *s = (synthetic_source *)source;
    gp_source_fini(source);
    gp_free(s->values);
    gp_free(s->cells);
    gp_free(s);
}

const gp_source_ops gp_source_synthetic = {
    .name = "synthetic", .next = synthetic_next, .rewind = synthetic_rewind, .free = synthetic_free};

static advgp_status init_columns(synthetic_source *s, advgp_error *err)
{
    size_t n = s->d + 1;
    char(*texts)[NAME_BYTES] = gp_alloc(n, sizeof *texts);
    const char **names = gp_alloc(n, sizeof *names);
    gp_column_type *types = gp_alloc(n, sizeof *types); // zeroed: all GP_NUMBER
    advgp_status st = ADVGP_OK;
    if (!texts || !names || !types) st = gp_no_memory(err);
    for (size_t j = 0; st == ADVGP_OK && j < n; j++) {
        if (j < s->d)
            snprintf(texts[j], sizeof texts[j], "x%zu", j + 1);
        else
            snprintf(texts[j], sizeof texts[j], "y");
        names[j] = texts[j];
    }
    if (st == ADVGP_OK)
        st = gp_source_init(&s->base, &gp_source_synthetic, "the synthetic table", names, types, n, err);
    gp_free(texts);
    gp_free(names);
    gp_free(types);
    return st;
}

advgp_status gp_source_synthetic_open(size_t n_rows, size_t d, uint64_t seed, gp_source **out, advgp_error *err)
{
    *out = NULL;
    synthetic_source *s = gp_alloc(1, sizeof *s);
    if (!s) return gp_no_memory(err);
    s->n_rows = n_rows;
    s->d = d;
    s->seed = seed;
    advgp_status st = init_columns(s, err);
    if (st != ADVGP_OK) {
        gp_free(s);
        return st;
    }
    s->values = gp_alloc(d + 1, sizeof *s->values);
    s->cells = gp_alloc((d + 1) * CHUNK_ROWS, sizeof *s->cells);
    if (!s->values || !s->cells) {
        synthetic_free(&s->base);
        return gp_no_memory(err);
    }
    *out = &s->base;
    return ADVGP_OK;
}
