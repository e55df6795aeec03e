// rng.c: xoshiro256++ 1.0 (Blackman and Vigna, 2019; public domain algorithm), seeded by splitmix64 as its authors
// advise.
#include "base/rng.h"
#include "base/constants.h"

#include <assert.h>
#include <math.h>

static const uint64_t golden_gamma = 0x9e3779b97f4a7c15u; // 2^64 / golden ratio, splitmix64's increment

static uint64_t mix(uint64_t z) // splitmix64's output function
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

gp_rng gp_rng_seeded(uint64_t seed, uint64_t stream)
{
    uint64_t state = mix(seed + golden_gamma) ^ mix(mix(stream + golden_gamma) + golden_gamma);
    gp_rng rng;
    for (int i = 0; i < 4; i++) rng.s[i] = mix(state += golden_gamma);
    return rng;
}

uint64_t gp_rng_u64(gp_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double gp_rng_uniform(gp_rng *rng)
{
    return ((double)(gp_rng_u64(rng) >> 12) + 0.5) * 0x1p-52; // the half step keeps 0 and 1 out
}

// Box and Muller, one value a call: no half-used pair to keep in the state.
double gp_rng_normal(gp_rng *rng)
{
    double radius = sqrt(-2 * log(gp_rng_uniform(rng)));
    return radius * cos(GP_TWO_PI * gp_rng_uniform(rng));
}

size_t gp_rng_below(gp_rng *rng, size_t n)
{
    assert(n >= 1);
    uint64_t limit = UINT64_MAX - UINT64_MAX % n; // values from here on would favour small results
    uint64_t x;
    do x = gp_rng_u64(rng);
    while (x >= limit);
    return (size_t)(x % n);
}

uint64_t gp_hash_u64(uint64_t seed, uint64_t i)
{
    return mix(mix(seed + golden_gamma) + golden_gamma * (i + 1));
}

double gp_hash_uniform(uint64_t seed, uint64_t i)
{
    return (double)(gp_hash_u64(seed, i) >> 11) * 0x1p-53;
}
