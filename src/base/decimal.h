// decimal.h: a double as the shortest decimal text that reads back as the same double, in any locale.
#pragma once
#include <stddef.h>

enum { GP_DECIMAL_BYTES = 25 }; // -2.2250738585072014e-308 and the final zero

// The fewest digits that strtod takes back to this very number; of these the nearest. Written as %g would: 0.25, 1e-05,
// 100000, 1e+15 (the exponent appears below 1e-4, and from 1e15 on unless the digits reach that far). For a finite
// value; returns the length without the final zero.
size_t gp_decimal_write(double value, char text[GP_DECIMAL_BYTES]);
