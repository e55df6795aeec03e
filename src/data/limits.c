// limits.c: quantiles of a sample, and what they say about the ends of a column.
#include "data/limits.h"

#include "base/alloc.h"
#include "base/sort.h"

#include <stdlib.h>

static const double tail = 0.005; // of the rows, at either end
static const double margin = 0.1; // of the distance between the two quantiles: where a clipped end is put
// Of that distance: a column that goes further has outliers. Long tails tell something, and are shorter: distances of
// taxi trips go on for 1.8 of it; the rain of Seoul, whose largest value is 31 deviations off, for 4.4.
static const double reach = 3;
// Outliers may be more than that tail: then most of it lies much further out than a wider one begins. Columns of which
// the middle half is hardly wider than a point (rain, which is mostly 0) have no bulk to compare with.
static const double wider_tails[] = {0.01, 0.02, 0.03};
static const double wider_reach = 10, least_middle = 0.05;
enum { FEW_VALUES = 10, ROWS_MIN = 100 };

static bool has_few_values(const double *sorted, size_t n)
{
    size_t different = 1;
    for (size_t i = 1; i < n && different <= FEW_VALUES; i++) different += sorted[i] != sorted[i - 1];
    return different <= FEW_VALUES;
}

static gp_limits ends(const double *sorted, size_t n, const gp_moments *all)
{
    gp_limits limits = gp_no_limits();
    const double low = gp_sorted_quantile(sorted, n, tail), high = gp_sorted_quantile(sorted, n, 1 - tail),
                 distance = high - low;
    if (!(distance > 0) || !isfinite(distance)) return limits;
    if (all->least < low - reach * distance) limits.lo = low - margin * distance;
    if (all->most > high + reach * distance) limits.hi = high + margin * distance;
    const double middle = gp_sorted_quantile(sorted, n, 0.75) - gp_sorted_quantile(sorted, n, 0.25);
    for (size_t i = 0; i < sizeof wider_tails / sizeof *wider_tails; i++) {
        const double from = gp_sorted_quantile(sorted, n, wider_tails[i]),
                     to = gp_sorted_quantile(sorted, n, 1 - wider_tails[i]);
        if (!(middle > least_middle * (to - from))) continue;
        if (low < from - wider_reach * (to - from)) limits.lo = from - margin * (to - from);
        if (high > to + wider_reach * (to - from)) limits.hi = to + margin * (to - from);
    }
    return limits;
}

static void clip_moments(const double *values, const double *w, size_t n, gp_limits limits, gp_moments *all)
{
    gp_moments clipped = {0};
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) continue;
        const double x = gp_limits_clip(limits, values[i]);
        gp_moments_add(&clipped, 1, &x, &w[i]);
    }
    all->mean = clipped.mean;
    all->m2 = clipped.m2 * (all->weight / clipped.weight);
}

advgp_status gp_limits_find(const double *values, const double *w, size_t n, gp_moments *all, gp_limits *out,
                            advgp_error *err)
{
    *out = gp_no_limits();
    double *sorted = gp_alloc(n, sizeof *sorted);
    if (!sorted) return gp_no_memory(err);
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i])) sorted[m++] = values[i];
    gp_sort(sorted, m);
    if (m >= ROWS_MIN && !has_few_values(sorted, m)) *out = ends(sorted, m, all);
    if (gp_limits_any(*out)) clip_moments(values, w, n, *out, all);
    gp_free(sorted);
    return ADVGP_OK;
}
