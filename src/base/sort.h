// sort.h: numbers in order.
#pragma once
#include <stddef.h>

void gp_sort(double *values, size_t n); // ascending, in place
// At share p of n >= 1 sorted values, linear between two of them.
double gp_sorted_quantile(const double *sorted, size_t n, double p);
