// memory_shards.c: shards held in memory. Rows are dealt to shards as they come, into slabs that never move; the
// shuffle inside a shard is applied when reading, so nothing is copied twice and the peak is the data itself.
#include "base/alloc.h"
#include "shards/shards.h"
#include "shards/shuffle.h"

#include <string.h>

// A slab has a thousand rows, or as few as fill a quarter of a megabyte: every shard has one that is not full, and with
// many columns these would be larger than the data.
enum { SLAB_ROWS_MAX = 1024, SLAB_BYTES = 1 << 18 };

typedef struct slabs {
    void **slab; // slab_rows each
    size_t n, capacity;
} slabs;

typedef struct memory_shards {
    gp_shards base;
    slabs *store;  // n_train + 2
    size_t stride; // elements a row: d, target, weight if there are any
    bool float64;
    size_t slab_rows;
    size_t dealt; // training rows so far
} memory_shards;

struct gp_memory_builder {
    memory_shards *shards;
};

static void *row_at(const memory_shards *m, size_t shard, size_t row)
{
    char *slab = m->store[shard].slab[row / m->slab_rows];
    return slab + (row % m->slab_rows) * m->stride * (m->float64 ? sizeof(double) : sizeof(float));
}

static void widen(double *restrict out, const void *in, size_t n, bool float64)
{
    if (float64) {
        memcpy(out, in, n * sizeof *out);
        return;
    }
    const float *restrict values = in;
    for (size_t j = 0; j < n; j++) out[j] = values[j];
}

static advgp_status memory_read(const gp_shards *s, size_t shard, size_t first, size_t n, double *X, double *y,
                                double *w, advgp_error *err)
{
    (void)err;
    const memory_shards *m = (const memory_shards *)s;
    gp_shuffle order = gp_shuffle_new(gp_shard_key(s->seed, shard), s->rows[shard]);
    size_t element = m->float64 ? sizeof(double) : sizeof(float);
    for (size_t i = 0; i < n; i++) {
        const char *row = row_at(m, shard, gp_shuffle_at(&order, first + i));
        widen(X + i * s->d, row, s->d, m->float64);
        widen(y + i, row + s->d * element, 1, m->float64);
        if (!w) continue;
        w[i] = 1;
        if (s->weighted) widen(w + i, row + (s->d + 1) * element, 1, m->float64);
    }
    return ADVGP_OK;
}

static void memory_free(gp_shards *s)
{
    memory_shards *m = (memory_shards *)s;
    for (size_t k = 0; m->store && k < s->n_train + 2; k++) {
        for (size_t i = 0; i < m->store[k].n; i++) gp_free(m->store[k].slab[i]);
        gp_free(m->store[k].slab);
    }
    gp_free(m->store);
    gp_shards_fini(s);
    gp_free(m);
}

static const gp_shards_ops memory_ops = {.name = "memory", .read = memory_read, .free = memory_free};

// ---- building -------------------------------------------------------------------------------------------------------
advgp_status gp_memory_builder_new(size_t d, size_t n_train, bool weighted, bool float64, uint64_t seed,
                                   gp_memory_builder **out, advgp_error *err)
{
    *out = NULL;
    if (n_train < 1 || n_train > GP_SHARDS_MAX)
        return gp_fail(err, ADVGP_EINVAL, "%zu shards: 1 to %d are possible", n_train, GP_SHARDS_MAX);
    gp_memory_builder *b = gp_alloc(1, sizeof *b);
    memory_shards *m = gp_alloc(1, sizeof *m);
    slabs *store = gp_alloc(n_train + 2, sizeof *store);
    advgp_status st = b && m && store ? gp_shards_init(&m->base, &memory_ops, d, n_train, weighted, seed, err)
                                      : gp_fail(err, ADVGP_ENOMEM, "no memory for %zu shards", n_train);
    if (st != ADVGP_OK) {
        gp_free(b);
        gp_free(m);
        gp_free(store);
        return st;
    }
    m->store = store;
    m->stride = d + 1 + weighted;
    m->float64 = float64;
    const size_t fit = SLAB_BYTES / (m->stride * (float64 ? sizeof(double) : sizeof(float)));
    m->slab_rows = fit < 1 ? 1 : fit < SLAB_ROWS_MAX ? fit : SLAB_ROWS_MAX;
    b->shards = m;
    *out = b;
    return ADVGP_OK;
}

static advgp_status make_room(memory_shards *m, slabs *s, size_t row, advgp_error *err)
{
    if (row < s->n * m->slab_rows) return ADVGP_OK;
    if (!gp_grow(&s->slab, &s->capacity, s->n, s->n + 1, sizeof *s->slab))
        return gp_fail(err, ADVGP_ENOMEM, "no memory for the rows; pack them first (advgp pack) and train from disk");
    void *slab = gp_alloc(m->slab_rows, m->stride * (m->float64 ? sizeof(double) : sizeof(float)));
    if (!slab)
        return gp_fail(err, ADVGP_ENOMEM, "no memory for the rows; pack them first (advgp pack) and train from disk");
    s->slab[s->n++] = slab;
    return ADVGP_OK;
}

static void store_row(const memory_shards *m, void *out, const double *x, double y, double w)
{
    size_t d = m->base.d;
    if (m->float64) {
        double *p = out;
        memcpy(p, x, d * sizeof *p);
        p[d] = y;
        if (m->base.weighted) p[d + 1] = w;
        return;
    }
    float *restrict p = out;
    for (size_t j = 0; j < d; j++) p[j] = (float)x[j];
    p[d] = (float)y;
    if (m->base.weighted) p[d + 1] = (float)w;
}

advgp_status gp_memory_builder_add(void *builder, const gp_rows *rows, advgp_error *err)
{
    memory_shards *m = ((gp_memory_builder *)builder)->shards;
    gp_shards *s = &m->base;
    for (size_t i = 0; i < rows->n; i++) {
        gp_part part = (gp_part)rows->part[i];
        size_t shard = part == GP_TRAIN ? gp_shuffle_deal(s->seed, m->dealt++, s->n_train) : gp_shards_of(s, part);
        advgp_status st = make_room(m, &m->store[shard], s->rows[shard], err);
        if (st != ADVGP_OK) return st;
        store_row(m, row_at(m, shard, s->rows[shard]++), rows->X + i * rows->d, rows->y[i], rows->w[i]);
        s->weight[shard] += s->weighted ? rows->w[i] : 1;
    }
    return ADVGP_OK;
}

void gp_memory_builder_free(gp_memory_builder *builder)
{
    if (!builder) return;
    memory_free(&builder->shards->base);
    gp_free(builder);
}

gp_shards *gp_memory_shards_take(gp_memory_builder *builder)
{
    gp_shards *s = &builder->shards->base;
    gp_free(builder);
    return s;
}

advgp_status gp_memory_shards_of(const gp_rows *rows, bool weighted, uint64_t seed, gp_shards **out, advgp_error *err)
{
    gp_memory_builder *builder = NULL;
    gp_rows all = *rows;
    unsigned char *parts = gp_alloc(rows->n, 1); // zero: GP_TRAIN
    *out = NULL;
    if (!parts) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu rows", rows->n);
    all.part = parts;
    advgp_status st = gp_memory_builder_new(rows->d, gp_shards_suggest(rows->n), weighted, true, seed, &builder, err);
    if (st == ADVGP_OK) st = gp_memory_builder_add(builder, &all, err);
    if (st == ADVGP_OK)
        *out = gp_memory_shards_take(builder);
    else
        gp_memory_builder_free(builder);
    gp_free(parts);
    return st;
}
