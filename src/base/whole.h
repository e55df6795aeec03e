// whole.h: a double as a whole number. C leaves a cast undefined where the number does not fit, and a NaN as an index
// reads anywhere; so every such cast of the tree is the one below (tests/casts.sh).
#pragma once
#include <stddef.h>
#include <stdint.h>

// What is left of x without its fraction, held to what lies from least to most; least of NaN.
static inline int64_t gp_whole(double x, int64_t least, int64_t most)
{
    if (!(x > (double)least)) return least;
    return x < (double)most ? (int64_t)x : most;
}

// The same from 0 on: an index whose largest is `most`, or a count.
static inline size_t gp_index(double x, size_t most)
{
    return (size_t)gp_whole(x, 0, most < INT64_MAX ? (int64_t)most : INT64_MAX);
}
