// shards.c: what shards in memory and on disk share.
#include "shards/shards.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <assert.h>

advgp_status gp_shards_init(gp_shards *s, const gp_shards_ops *ops, size_t d, size_t n_train, bool weighted,
                            uint64_t seed, advgp_error *err)
{
    s->ops = ops;
    s->d = d;
    s->n_train = n_train;
    s->weighted = weighted;
    s->seed = seed;
    s->rows = gp_alloc(n_train + 2, sizeof *s->rows);
    s->weight = gp_alloc(n_train + 2, sizeof *s->weight);
    if (s->rows && s->weight) return ADVGP_OK;
    gp_shards_fini(s);
    return gp_no_memory(err);
}

void gp_shards_fini(gp_shards *s)
{
    gp_free(s->rows);
    gp_free(s->weight);
    s->rows = NULL;
    s->weight = NULL;
}

uint64_t gp_shard_key(uint64_t seed, size_t shard)
{
    return gp_hash_u64(seed ^ 0x7368617264, shard); // "shard": unrelated to the hashes of rows
}

size_t gp_shards_suggest(size_t n_rows)
{
    size_t n = n_rows / 16;
    return n < 1 ? 1 : n < GP_SHARDS_DEFAULT ? n : GP_SHARDS_DEFAULT;
}

size_t gp_shards_of(const gp_shards *s, gp_part part)
{
    return part == GP_TRAIN ? 0 : s->n_train + (part == GP_CALIBRATE);
}

size_t gp_shards_rows(const gp_shards *s, gp_part part)
{
    if (part != GP_TRAIN) return s->rows[gp_shards_of(s, part)];
    size_t n = 0;
    for (size_t k = 0; k < s->n_train; k++) n += s->rows[k];
    return n;
}

double gp_shards_weight(const gp_shards *s, gp_part part)
{
    if (part != GP_TRAIN) return s->weight[gp_shards_of(s, part)];
    double sum = 0;
    for (size_t k = 0; k < s->n_train; k++) sum += s->weight[k];
    return sum;
}

advgp_status gp_shards_read(const gp_shards *s, size_t shard, size_t first, size_t n, double *X, double *y, double *w,
                            advgp_error *err)
{
    assert(shard < s->n_train + 2);
    assert(first <= s->rows[shard] && n <= s->rows[shard] - first);
    return s->ops->read(s, shard, first, n, X, y, w, err);
}

void gp_shards_free(gp_shards *s)
{
    if (s) s->ops->free(s);
}
