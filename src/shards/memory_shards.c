// memory_shards.c: shards held in memory. Rows are dealt to shards as they come, into slabs that never move; when all
// are there each shard is put into the order of its shuffle, in place, so that reading is a stretch of memory and not a
// miss of the cache for every row (an eighth of a step), and the peak is the data itself.
#include "base/alloc.h"
#include "base/least.h"
#include "shards/shards.h"
#include "shards/shuffle.h"

#include <string.h>

// A slab has a thousand rows, or as few as fill a quarter of a megabyte: every shard has one that is not full, and with
// many columns these would be larger than the data.
enum { SLAB_ROWS_MAX = 1024, SLAB_BYTES = 1 << 18 };

// Each slab has its rows' inputs [slab_rows x d], then their targets, then their weights if there are any.
typedef struct slabs {
    void **slab;
    size_t n, capacity;
} slabs;

typedef struct memory_shards {
    gp_shards base;
    slabs *store;   // n_train + 2
    size_t stride;  // elements a row: d, target, weight if there are any
    size_t element; // bytes of one: double or float
    size_t slab_rows;
    size_t dealt; // training rows so far
} memory_shards;

struct gp_memory_builder {
    memory_shards *shards;
};

// Where something of a row lies in its slab, in elements.
static size_t x_at(const memory_shards *m, size_t row)
{
    return row % m->slab_rows * m->base.d;
}

static size_t y_at(const memory_shards *m, size_t row)
{
    return m->slab_rows * m->base.d + row % m->slab_rows;
}

static size_t w_at(const memory_shards *m, size_t row)
{
    return m->slab_rows * (m->base.d + 1) + row % m->slab_rows;
}

static char *slab_of(const memory_shards *m, const slabs *store, size_t row)
{
    return store->slab[row / m->slab_rows];
}

static void widen(const memory_shards *m, double *restrict out, const char *slab, size_t at, size_t n)
{
    if (m->element == sizeof(double)) {
        memcpy(out, slab + at * sizeof *out, n * sizeof *out);
        return;
    }
    const float *restrict values = (const float *)slab + at;
    for (size_t j = 0; j < n; j++) out[j] = values[j];
}

static advgp_status memory_read(const gp_shards *s, size_t shard, size_t first, size_t n, double *X, double *y,
                                double *w, advgp_error *err)
{
    (void)err;
    const memory_shards *m = (const memory_shards *)s;
    for (size_t done = 0, take; done < n; done += take) {
        const size_t row = first + done;
        const char *slab = slab_of(m, &m->store[shard], row);
        take = gp_least(m->slab_rows - row % m->slab_rows, n - done);
        widen(m, X + done * s->d, slab, x_at(m, row), take * s->d);
        widen(m, y + done, slab, y_at(m, row), take);
        if (w && s->weighted) widen(m, w + done, slab, w_at(m, row), take);
        for (size_t i = 0; w && !s->weighted && i < take; i++) w[done + i] = 1;
    }
    return ADVGP_OK;
}

static void slabs_fini(slabs *store)
{
    for (size_t i = 0; i < store->n; i++) gp_free(store->slab[i]);
    gp_free(store->slab);
    *store = (slabs){0};
}

static void memory_free(gp_shards *s)
{
    memory_shards *m = (memory_shards *)s;
    for (size_t k = 0; m->store && k < s->n_train + 2; k++) slabs_fini(&m->store[k]);
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
                                      : gp_no_memory(err);
    if (st != ADVGP_OK) {
        gp_free(b);
        gp_free(m);
        gp_free(store);
        return st;
    }
    m->store = store;
    m->stride = d + 1 + weighted;
    m->element = float64 ? sizeof(double) : sizeof(float);
    const size_t fit = SLAB_BYTES / (m->stride * m->element);
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
    void *slab = gp_alloc(m->slab_rows, m->stride * m->element);
    if (!slab)
        return gp_fail(err, ADVGP_ENOMEM, "no memory for the rows; pack them first (advgp pack) and train from disk");
    s->slab[s->n++] = slab;
    return ADVGP_OK;
}

static void narrow(const memory_shards *m, char *slab, size_t at, const double *restrict in, size_t n)
{
    if (m->element == sizeof(double)) {
        memcpy(slab + at * sizeof *in, in, n * sizeof *in);
        return;
    }
    float *restrict values = (float *)slab + at;
    for (size_t j = 0; j < n; j++) values[j] = (float)in[j];
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
        const size_t row = s->rows[shard]++;
        char *slab = slab_of(m, &m->store[shard], row);
        narrow(m, slab, x_at(m, row), rows->X + i * rows->d, s->d);
        narrow(m, slab, y_at(m, row), &rows->y[i], 1);
        if (s->weighted) narrow(m, slab, w_at(m, row), &rows->w[i], 1);
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

// ---- order ----------------------------------------------------------------------------------------------------------

static void move_row(const memory_shards *m, const slabs *store, size_t to, size_t from)
{
    const size_t d = m->base.d, e = m->element;
    const char *in = slab_of(m, store, from);
    char *out = slab_of(m, store, to);
    memcpy(out + x_at(m, to) * e, in + x_at(m, from) * e, d * e);
    memcpy(out + y_at(m, to) * e, in + y_at(m, from) * e, e);
    if (m->base.weighted) memcpy(out + w_at(m, to) * e, in + w_at(m, from) * e, e);
}

// Row i becomes that of gp_shuffle_at(i): cycle after cycle of the permutation, its first row kept in a place of its
// own behind the others meanwhile.
static advgp_status shuffle(memory_shards *m, size_t shard, advgp_error *err)
{
    const size_t n = m->base.rows[shard];
    const gp_shuffle order = gp_shuffle_new(gp_shard_key(m->base.seed, shard), n);
    slabs *store = &m->store[shard];
    if (n < 2) return ADVGP_OK;
    unsigned char *placed = gp_alloc(n / 8 + 1, 1); // a bit a row
    advgp_status st = placed ? make_room(m, store, n, err) : gp_no_memory(err);
    for (size_t first = 0; st == ADVGP_OK && first < n; first++) {
        size_t to = first, from;
        if (placed[first / 8] >> first % 8 & 1) continue;
        move_row(m, store, n, first);
        while ((from = gp_shuffle_at(&order, to)) != first) {
            move_row(m, store, to, from);
            placed[to / 8] |= (unsigned char)(1 << to % 8);
            to = from;
        }
        move_row(m, store, to, n);
        placed[to / 8] |= (unsigned char)(1 << to % 8);
    }
    gp_free(placed);
    return st;
}

advgp_status gp_memory_shards_take(gp_memory_builder *builder, gp_shards **out, advgp_error *err)
{
    memory_shards *m = builder->shards;
    advgp_status st = ADVGP_OK;
    *out = NULL;
    for (size_t k = 0; st == ADVGP_OK && k < m->base.n_train + 2; k++) st = shuffle(m, k, err);
    if (st != ADVGP_OK) {
        gp_memory_builder_free(builder);
        return st;
    }
    *out = &m->base;
    gp_free(builder);
    return ADVGP_OK;
}

advgp_status gp_memory_shards_of(const gp_rows *rows, bool weighted, uint64_t seed, gp_shards **out, advgp_error *err)
{
    gp_memory_builder *builder = NULL;
    gp_rows all = *rows;
    unsigned char *parts = gp_alloc(rows->n, 1); // zero: GP_TRAIN
    *out = NULL;
    if (!parts) return gp_no_memory(err);
    all.part = parts;
    advgp_status st = gp_memory_builder_new(rows->d, gp_shards_suggest(rows->n), weighted, true, seed, &builder, err);
    if (st == ADVGP_OK) st = gp_memory_builder_add(builder, &all, err);
    if (st == ADVGP_OK)
        st = gp_memory_shards_take(builder, out, err);
    else
        gp_memory_builder_free(builder);
    gp_free(parts);
    return st;
}
