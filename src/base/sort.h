// sort.h: numbers in order.
#pragma once
#include <stddef.h>

void gp_sort(double *values, size_t n); // ascending, in place
