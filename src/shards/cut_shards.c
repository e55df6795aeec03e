// cut_shards.c: the training rows of some shards seen as one row of rows and cut at other places. Order inside a shard
// is a shuffle, so a piece of it is as random as the whole.
#include "base/alloc.h"
#include "shards/shards.h"

typedef struct cut_shards {
    gp_shards base;
    const gp_shards *from;
    size_t *start; // [n_train]: where a shard begins among all rows
} cut_shards;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static advgp_status cut_read(const gp_shards *s, size_t shard, size_t first, size_t n, double *X, double *y, double *w,
                             advgp_error *err)
{
    const cut_shards *c = (const cut_shards *)s;
    const gp_shards *from = c->from;
    if (shard >= s->n_train) return gp_shards_read(from, shard - s->n_train + from->n_train, first, n, X, y, w, err);
    size_t at = c->start[shard] + first, k = 0;
    if (!n) return ADVGP_OK;
    for (; at >= from->rows[k]; k++) at -= from->rows[k]; // there is a row at that place
    for (size_t done = 0; done < n; k++, at = 0) {
        const size_t piece = smaller(n - done, from->rows[k] - at);
        const advgp_status st = gp_shards_read(from, k, at, piece, X + done * s->d, y + done, w ? w + done : NULL, err);
        if (st != ADVGP_OK) return st;
        done += piece;
    }
    return ADVGP_OK;
}

static void cut_free(gp_shards *s)
{
    cut_shards *c = (cut_shards *)s;
    gp_free(c->start);
    gp_shards_fini(s);
    gp_free(c);
}

static const gp_shards_ops cut_ops = {.name = "cut", .read = cut_read, .free = cut_free};

// The weights of its rows, summed piece by piece.
static advgp_status weigh(cut_shards *c, size_t shard, double *room, size_t capacity, advgp_error *err)
{
    gp_shards *s = &c->base;
    double *X = room, *y = room + capacity * s->d, *w = y + capacity;
    for (size_t done = 0; done < s->rows[shard];) {
        const size_t n = smaller(capacity, s->rows[shard] - done);
        const advgp_status st = cut_read(s, shard, done, n, X, y, w, err);
        if (st != ADVGP_OK) return st;
        for (size_t i = 0; i < n; i++) s->weight[shard] += w[i];
        done += n;
    }
    return ADVGP_OK;
}

static advgp_status weigh_all(cut_shards *c, advgp_error *err)
{
    enum { ROWS = 1024 };
    gp_shards *s = &c->base;
    advgp_status st = ADVGP_OK;
    if (!s->weighted) {
        for (size_t k = 0; k < s->n_train; k++) s->weight[k] = (double)s->rows[k];
        return ADVGP_OK;
    }
    double *room = gp_alloc(ROWS * (s->d + 2), sizeof *room);
    if (!room) return gp_no_memory(err);
    for (size_t k = 0; st == ADVGP_OK && k < s->n_train; k++) st = weigh(c, k, room, ROWS, err);
    gp_free(room);
    return st;
}

advgp_status gp_shards_cut(const gp_shards *base, size_t n_train, const size_t *rows, gp_shards **out, advgp_error *err)
{
    size_t total = 0;
    *out = NULL;
    for (size_t k = 0; k < n_train; k++) total += rows[k];
    if (!n_train || total > gp_shards_rows(base, GP_TRAIN))
        return gp_fail(err, ADVGP_EINVAL, "%zu shards of %zu rows: there are %zu rows", n_train, total,
                       gp_shards_rows(base, GP_TRAIN));
    cut_shards *c = gp_alloc(1, sizeof *c);
    if (!c) return gp_no_memory(err);
    advgp_status st = gp_shards_init(&c->base, &cut_ops, base->d, n_train, base->weighted, base->seed, err);
    if (st != ADVGP_OK) {
        gp_free(c);
        return st;
    }
    c->from = base;
    c->start = gp_alloc(n_train, sizeof *c->start);
    if (!c->start) st = gp_no_memory(err);
    for (size_t k = 0, at = 0; st == ADVGP_OK && k < n_train; at += rows[k++])
        c->start[k] = at, c->base.rows[k] = rows[k];
    for (size_t i = 0; i < 2; i++) {
        c->base.rows[n_train + i] = base->rows[base->n_train + i];
        c->base.weight[n_train + i] = base->weight[base->n_train + i];
    }
    if (st == ADVGP_OK) st = weigh_all(c, err);
    if (st != ADVGP_OK) {
        cut_free(&c->base);
        return st;
    }
    *out = &c->base;
    return ADVGP_OK;
}
