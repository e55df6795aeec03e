// shuffle.h: a random permutation of n places that needs no memory: place i of the shuffled order holds row
// gp_shuffle_at(i). Rows can so be shuffled uniformly however many there are, in memory and on disk.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct gp_shuffle {
    size_t n;
    uint64_t key;
    unsigned low_bits, high_bits;
} gp_shuffle;

gp_shuffle gp_shuffle_new(uint64_t key, size_t n);
size_t gp_shuffle_at(const gp_shuffle *s, size_t i); // i < n

// Which of K shards training row number `row` belongs to. Every K rows in a row are dealt one to each shard in a random
// order, so sizes differ by one at most and any stretch of a sorted file is spread over all of them.
size_t gp_shuffle_deal(uint64_t seed, size_t row, size_t n_shards);
