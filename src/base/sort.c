// sort.c: by the C library.
#include "base/sort.h"
#include "base/whole.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void gp_sort(double *values, size_t n)
{
    if (n) qsort(values, n, sizeof *values, by_value); // without values there may be no array
}

double gp_sorted_quantile(const double *sorted, size_t n, double p)
{
    const double at = p * (double)(n - 1);
    const size_t i = gp_index(at, n - 1);
    const double next = sorted[i + 1 < n ? i + 1 : i];
    return sorted[i] + (at - (double)i) * (next - sorted[i]);
}
