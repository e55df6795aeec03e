// warp.c: quantiles of a sample as a map, and the way back.
#include "data/warp.h"

#include "base/alloc.h"
#include "base/sort.h"

#include <assert.h>
#include <math.h>

enum { HEAP_SHARE = 10, ROWS_MIN = 100 }; // a value in more than a tenth of the rows
static const double normal_reach = 6, lean = 3;

void gp_warp_fini(gp_warp *warp)
{
    gp_free(warp->x);
    *warp = (gp_warp){0};
}

static double interpolate(const double *from, const double *to, size_t n, double at)
{
    assert(n > 1);
    if (!(at > from[0])) return to[0];
    if (!(at < from[n - 1])) return to[n - 1];
    size_t low = 0, high = n - 1; // from[low] <= at < from[high]
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (from[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return to[low] + (to[high] - to[low]) * ((at - from[low]) / (from[high] - from[low]));
}

double gp_warp_at(const gp_warp *warp, double x)
{
    return interpolate(warp->x, warp->u, warp->n, x);
}

double gp_warp_back(const gp_warp *warp, double u)
{
    return interpolate(warp->u, warp->x, warp->n, u);
}

// Ranks of a heap, of rows without rain say, are one: what is beside it is squeezed instead of spread.
static bool has_heap(const double *sorted, size_t n)
{
    size_t alike = 1, most = 1;
    for (size_t i = 1; i < n; i++) {
        alike = sorted[i] == sorted[i - 1] ? alike + 1 : 1;
        if (alike > most) most = alike;
    }
    return most * HEAP_SHARE > n;
}

bool gp_has_long_tails(const double *sorted, size_t n)
{
    if (n < ROWS_MIN || has_heap(sorted, n)) return false;
    const double low = gp_sorted_quantile(sorted, n, 0.01), high = gp_sorted_quantile(sorted, n, 0.99);
    const double middle = gp_sorted_quantile(sorted, n, 0.5);
    const double half = gp_sorted_quantile(sorted, n, 0.75) - gp_sorted_quantile(sorted, n, 0.25);
    const double below = middle - low, above = high - middle;
    return high > low && (high - low > normal_reach * half || fmax(below, above) > lean * fmin(below, above));
}

advgp_status gp_warp_fit(gp_warp *warp, const double *sorted, size_t n, advgp_error *err)
{
    *warp = (gp_warp){.x = gp_alloc(GP_WARP_KNOTS, 2 * sizeof *warp->x)};
    if (!warp->x) return gp_no_memory(err);
    warp->u = warp->x + GP_WARP_KNOTS;
    for (size_t i = 0, alike = 0; i < GP_WARP_KNOTS; i++) {
        const double share = (double)i / (GP_WARP_KNOTS - 1), x = gp_sorted_quantile(sorted, n, share);
        if (warp->n && !(x > warp->x[warp->n - 1])) {
            double *u = &warp->u[warp->n - 1];
            alike++;
            *u += (share - *u) / (double)alike; // the mean of their shares
        } else {
            alike = 1;
            warp->x[warp->n] = x, warp->u[warp->n++] = share;
        }
    }
    assert(warp->n > 1);
    return ADVGP_OK;
}

void gp_warp_moments(const gp_warp *warp, const double *values, const double *w, size_t n, gp_moments *all)
{
    gp_moments warped = {0};
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) continue;
        const double u = gp_warp_at(warp, values[i]);
        gp_moments_add(&warped, 1, &u, &w[i]);
    }
    all->mean = warped.mean;
    all->m2 = warped.m2 * (all->weight / warped.weight);
}
