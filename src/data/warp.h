// warp.h: a column by its ranks: the monotone map from its quantiles to their shares, linear between them. Of a column
// whose tails are long, most rows lie in a small part of what its standard deviation spans; by ranks they are spread
// evenly (docs/data-rules.md).
#pragma once
#include "base/status.h"
#include "data/moments.h"

#include <stdbool.h>
#include <stddef.h>

enum { GP_WARP_KNOTS = 257 };

typedef struct gp_warp {
    size_t n;      // different quantiles, at most GP_WARP_KNOTS; 0: no map
    double *x, *u; // [n], both ascending: x becomes u, in 0 .. 1; equal quantiles have the mean of their shares
} gp_warp;         // one block, at x

void gp_warp_fini(gp_warp *warp);
double gp_warp_at(const gp_warp *warp, double x);   // beyond the ends as at them
double gp_warp_back(const gp_warp *warp, double u); // the x that becomes u

// Is this a column of long tails, by n sorted values? Its middle 98 % span six times its middle half (a normal
// one 3.4), or one side reaches three times as far from the median as the other; and no value has more than a tenth of
// the rows.
bool gp_has_long_tails(const double *sorted, size_t n);
// From n sorted values, more than one of them different.
advgp_status gp_warp_fit(gp_warp *warp, const double *sorted, size_t n, advgp_error *err);
// Moments of a column become those of its ranks, as far as a sample of n values with weights w tells (NaN: missing);
// least and most stay.
void gp_warp_moments(const gp_warp *warp, const double *values, const double *w, size_t n, gp_moments *all);
