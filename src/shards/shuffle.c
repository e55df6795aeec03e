// shuffle.c: a Feistel network over the bits of an index, walked until it lands below n (Black and Rogaway 2002,
// "Ciphers with arbitrary finite domains").
#include "shards/shuffle.h"

#include "base/rng.h"

#include <assert.h>

enum { ROUNDS = 4 }; // each changes both halves; four pass the tests of uniformity in shards_test.c

gp_shuffle gp_shuffle_new(uint64_t key, size_t n)
{
    unsigned bits = 2;
    while (bits < 63 && ((size_t)1 << bits) < n) bits++;
    return (gp_shuffle){.n = n, .key = key, .low_bits = bits / 2, .high_bits = bits - bits / 2};
}

// A cheap mixing of 64 bits (the finaliser of MurmurHash3); gp_hash_u64 would be twice the price in the packer's inner
// loop.
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 33)) * 0xff51afd7ed558ccdu;
    z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53u;
    return z ^ (z >> 33);
}

size_t gp_shuffle_at(const gp_shuffle *s, size_t i)
{
    assert(i < s->n);
    uint64_t low_mask = ((uint64_t)1 << s->low_bits) - 1, high_mask = ((uint64_t)1 << s->high_bits) - 1;
    uint64_t x = i;
    do {
        uint64_t low = x & low_mask, high = x >> s->low_bits;
        for (uint64_t r = 0; r < ROUNDS; r++) {
            high ^= mix(low + s->key + (r << 56)) & high_mask;
            low ^= mix(high + ~s->key - (r << 56)) & low_mask;
        }
        x = high << s->low_bits | low;
    } while (x >= s->n);
    return (size_t)x;
}

size_t gp_shuffle_deal(uint64_t seed, size_t row, size_t n_shards)
{
    gp_shuffle order = gp_shuffle_new(gp_hash_u64(seed, row / n_shards), n_shards);
    return gp_shuffle_at(&order, row % n_shards);
}
