// reader.c: shards read piece by piece into one buffer.
#include "shards/reader.h"
#include "base/alloc.h"

advgp_status gp_reader_new(const gp_shards *shards, size_t capacity, gp_reader *out, advgp_error *err)
{
    *out = (gp_reader){.shards = shards, .capacity = capacity};
    out->X = gp_alloc(capacity * shards->d, sizeof(double));
    out->y = gp_alloc(capacity, sizeof(double));
    out->w = gp_alloc(capacity, sizeof(double));
    if (out->X && out->y && out->w) return ADVGP_OK;
    gp_reader_fini(out);
    return gp_no_memory(err);
}

void gp_reader_fini(gp_reader *reader)
{
    gp_free(reader->X);
    gp_free(reader->y);
    gp_free(reader->w);
    *reader = (gp_reader){0};
}

static gp_batch filled(const gp_reader *r, size_t n)
{
    return (gp_batch){gp_cmat_of(r->X, n, r->shards->d), r->y, r->shards->weighted ? r->w : NULL};
}

static advgp_status read_at(gp_reader *r, size_t at, size_t shard, size_t first, size_t n, advgp_error *err)
{
    return gp_shards_read(r->shards, shard, first, n, r->X + at * r->shards->d, r->y + at, r->w + at, err);
}

// ---- rings ----------------------------------------------------------------------------------------------------------

static size_t ring_size(const gp_shards *s, gp_ring ring)
{
    return ring.shards ? ring.n_shards : s->n_train;
}

static size_t ring_shard(gp_ring ring, size_t i)
{
    return ring.shards ? ring.shards[i] : i;
}

size_t gp_ring_rows(const gp_shards *s, gp_ring ring)
{
    size_t n = 0;
    for (size_t i = 0; i < ring_size(s, ring); i++) n += s->rows[ring_shard(ring, i)];
    return n;
}

double gp_ring_weight(const gp_shards *s, gp_ring ring)
{
    double sum = 0;
    for (size_t i = 0; i < ring_size(s, ring); i++) sum += s->weight[ring_shard(ring, i)];
    return sum;
}

advgp_status gp_reader_ring(gp_reader *reader, gp_ring ring, size_t first, size_t n, gp_batch *batch, advgp_error *err)
{
    const gp_shards *s = reader->shards;
    const size_t total = gp_ring_rows(s, ring);
    if (!total) return gp_fail(err, ADVGP_EDATA, "there are no training rows");
    if (n > reader->capacity) n = reader->capacity;
    if (n > total) n = total;
    size_t at = first % total, turn = 0, done = 0;
    while (at >= s->rows[ring_shard(ring, turn)]) at -= s->rows[ring_shard(ring, turn++)];
    while (done < n) {
        const size_t shard = ring_shard(ring, turn);
        const size_t left = s->rows[shard] - at, take = left < n - done ? left : n - done;
        advgp_status st = take ? read_at(reader, done, shard, at, take, err) : ADVGP_OK;
        if (st != ADVGP_OK) return st;
        done += take;
        at = 0;
        turn = (turn + 1) % ring_size(s, ring);
    }
    *batch = filled(reader, n);
    return ADVGP_OK;
}

// ---- all rows of a part ---------------------------------------------------------------------------------------------

typedef struct place {
    size_t shard, end, row; // end: after the last shard; row: of the shard
} place;

// As many rows from here on as there is room for, whatever the size of shards, but no more than *left.
static advgp_status fill(gp_reader *r, place *at, size_t *left, size_t *n, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    *n = 0;
    while (st == ADVGP_OK && at->shard < at->end && *left && *n < r->capacity) {
        const size_t room = r->capacity - *n < *left ? r->capacity - *n : *left;
        const size_t here = r->shards->rows[at->shard] - at->row, take = here < room ? here : room;
        if (take) st = read_at(r, *n, at->shard, at->row, take, err);
        *n += take, *left -= take, at->row += take;
        if (take == here) at->shard++, at->row = 0;
    }
    return st;
}

advgp_status gp_reader_visit(gp_reader *reader, gp_part part, size_t max_rows, gp_visit visit, void *ctx,
                             advgp_error *err)
{
    const gp_shards *s = reader->shards;
    const size_t first = gp_shards_of(s, part);
    place at = {.shard = first, .end = first + (part == GP_TRAIN ? s->n_train : 1)};
    size_t left = max_rows ? max_rows : SIZE_MAX, n;
    advgp_status st = fill(reader, &at, &left, &n, err);
    while (st == ADVGP_OK && n) {
        st = visit(ctx, filled(reader, n), err);
        if (st == ADVGP_OK) st = fill(reader, &at, &left, &n, err);
    }
    return st;
}
