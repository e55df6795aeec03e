// least.h: the smaller of two counts.
#pragma once
#include <stddef.h>

static inline size_t gp_least(size_t a, size_t b)
{
    return a < b ? a : b;
}
