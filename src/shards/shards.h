// shards.h: shuffled, encoded rows as training sees them, wherever they are: in memory or in packed files. The two give
// the same rows in the same order for the same seed and number of shards.
#pragma once
#include "base/status.h"
#include "data/encode.h"
#include "data/split.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_shards gp_shards;

// Reading is safe from any number of threads at once; it allocates nothing and takes no lock.
typedef struct gp_shards_ops {
    const char *name;
    advgp_status (*read)(const gp_shards *s, size_t shard, size_t first, size_t n, double *X, double *y, double *w,
                         advgp_error *err);
    void (*free)(gp_shards *s);
} gp_shards_ops;

struct gp_shards {
    const gp_shards_ops *ops;
    size_t d;
    size_t n_train; // training shards are 0 .. n_train - 1; then one of GP_STOP, one of GP_CALIBRATE
    size_t *rows;   // n_train + 2: rows of each; may be 0
    double *weight; // n_train + 2: sum of the weights of each
    bool weighted;  // else every weight is 1
    uint64_t seed;
};

enum { GP_SHARDS_DEFAULT = 64, GP_SHARDS_MAX = 4096 };

size_t gp_shards_of(const gp_shards *s, gp_part part);   // the shard of a held-out part; the first for GP_TRAIN
size_t gp_shards_rows(const gp_shards *s, gp_part part); // rows of a part in all
double gp_shards_weight(const gp_shards *s, gp_part part);
// Rows first .. first + n - 1 of a shard: X is n x d row-major, y and w have n (w may be NULL). Order inside a shard is
// a uniform shuffle of its rows, so any stretch of it is a random sample. EFILE names the file and block of a bad
// checksum.
advgp_status gp_shards_read(const gp_shards *s, size_t shard, size_t first, size_t n, double *X, double *y, double *w,
                            advgp_error *err);
void gp_shards_free(gp_shards *s); // NULL is fine

// ---- in memory ------------------------------------------------------------------------------------------------------
// A sink for gp_encode_all; gp_memory_shards_take turns it into shards, and the builder is gone whether it can or not.
typedef struct gp_memory_builder gp_memory_builder;
advgp_status gp_memory_builder_new(size_t d, size_t n_train, bool weighted, bool float64, uint64_t seed,
                                   gp_memory_builder **out, advgp_error *err);
advgp_status gp_memory_builder_add(void *builder, const gp_rows *rows, advgp_error *err); // gp_rows_sink
void gp_memory_builder_free(gp_memory_builder *builder);
advgp_status gp_memory_shards_take(gp_memory_builder *builder, gp_shards **out, advgp_error *err);
// Rows that are all there, in double precision, each a training row; their `part` is not asked.
advgp_status gp_memory_shards_of(const gp_rows *rows, bool weighted, uint64_t seed, gp_shards **out, advgp_error *err);

// Shards for n rows: 64, or fewer where a shard would have less than 16.
size_t gp_shards_suggest(size_t n_rows);

// ---- the same rows in other shards ----------------------------------------------------------------------------------
// The training rows, in the order of their shards, cut anew: rows[k] in shard k, together no more than there are. For
// more workers than there are shards, or unequal ones. `base` is borrowed until free; held-out rows are as they were.
advgp_status gp_shards_cut(const gp_shards *base, size_t n_train, const size_t *rows, gp_shards **out,
                           advgp_error *err);

// For the implementations.
uint64_t gp_shard_key(uint64_t seed, size_t shard); // of the shuffle inside a shard
advgp_status gp_shards_init(gp_shards *s, const gp_shards_ops *ops, size_t d, size_t n_train, bool weighted,
                            uint64_t seed, advgp_error *err);
void gp_shards_fini(gp_shards *s);
