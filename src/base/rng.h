// rng.h: random numbers that are the same on every machine: xoshiro256++ streams, and a stateless hash of (seed, index)
// for decisions about a row that must not depend on the order in which rows come.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct gp_rng {
    uint64_t s[4];
} gp_rng; // plain bytes: a checkpoint stores and restores it

gp_rng gp_rng_seeded(uint64_t seed, uint64_t stream); // different streams of one seed are unrelated
uint64_t gp_rng_u64(gp_rng *rng);
double gp_rng_uniform(gp_rng *rng);                // in (0, 1), never an end
double gp_rng_normal(gp_rng *rng);                 // mean 0, variance 1
size_t gp_rng_below(gp_rng *rng, size_t n);        // uniform in 0 .. n-1, without bias; n >= 1
uint64_t gp_hash_u64(uint64_t seed, uint64_t i);   // the same for the same pair, always
double gp_hash_uniform(uint64_t seed, uint64_t i); // in [0, 1)
