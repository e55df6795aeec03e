// limits.h: where the bulk of a column ends. A few coordinates at 0 or a rain of 9,831 mm own the standard deviation,
// and squeeze what matters into nothing: such columns are clipped before they are scaled (MATH.md 11).
#pragma once
#include "base/status.h"
#include "data/moments.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gp_limits {
    double lo, hi; // -INFINITY, INFINITY where an end is not clipped
} gp_limits;

static inline gp_limits gp_no_limits(void)
{
    return (gp_limits){.lo = -INFINITY, .hi = INFINITY};
}

static inline bool gp_limits_any(gp_limits limits)
{
    return isfinite(limits.lo) || isfinite(limits.hi);
}

static inline double gp_limits_clip(gp_limits limits, double x)
{
    return x < limits.lo ? limits.lo : x > limits.hi ? limits.hi : x;
}

// From a sample of n values with weights w, NaN where missing, of a column whose moments are `all`. An end is clipped
// at its 0.5 % quantile and a tenth of the distance between the two, if the column goes on for three times that
// distance beyond it: no normal or exponential column does; or at its 1, 2 or 3 % quantile, if the one of 0.5 % lies
// ten such distances further out. Columns of few values, or of one value but for less than 1 row in 200, are never
// clipped. Where something is, *all becomes what it would have been, as far as the sample tells (exactly, where the
// sample is all rows).
advgp_status gp_limits_find(const double *values, const double *w, size_t n, gp_moments *all, gp_limits *out,
                            advgp_error *err);
