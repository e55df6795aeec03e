// expv.h: exp of numbers <= 0, written so that a loop over it vectorises. Kernels spend most of their time here.
#pragma once
#include <stdint.h>
#include <string.h>

// exp(x) for x <= 0 to 1 ulp or so; 0 below -708, where exp leaves the normal numbers. NaN gives NaN.
// x = k ln 2 + r, |r| <= ln(2)/2: a polynomial of degree 11 for exp(r) (Chebyshev interpolation, relative error 4e-18
// before rounding), then k goes into the exponent bits. Adding 1.5 * 2^52 rounds to an integer and leaves it in the low
// bits.
static inline double gp_exp_nonpositive(double x)
{
    const double shift = 0x1.8p52;
    const double y = x < -708.0 ? -708.0 : x;
    const double rounded = y * 1.4426950408889634 + shift;
    const double k = rounded - shift;
    // ln 2 in two parts; k times the first is exact
    const double r = (y - k * 0x1.62e42fefa3800p-1) - k * 0x1.ef35793c76730p-45;
    const double r2 = r * r, r4 = r2 * r2;
    const double low = (0.5000000000000019 + 0.1666666666666668 * r) +
                       (0.04166666666648795 + 0.008333333333319589 * r) * r2;
    const double mid = (0.0013888888952352863 + 0.00019841269890076403 * r) +
                       (2.4801485441561313e-05 + 2.755724088722987e-06 * r) * r2;
    const double high = 2.763265472252779e-07 + 2.5110049204818658e-08 * r;
    const double p = 1 + (r + r2 * (low + r4 * (mid + r4 * high))); // small terms first: the last sum rounds once
    uint64_t bits, exponent;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&exponent, &rounded, sizeof exponent);
    bits += exponent << 52;
    double result;
    memcpy(&result, &bits, sizeof result);
    return x < -708.0 ? 0.0 : result;
}
