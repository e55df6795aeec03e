// expv.h: exp of numbers <= 0, written so that a loop over it vectorises. Kernels spend most of their time here.
#pragma once
#include <stdint.h>
#include <string.h>

// exp(x) for x <= 0 to 1 ulp or so; 0 below -708, where exp leaves the normal numbers. NaN gives NaN.
// x = k ln 2 + r, |r| <= ln(2)/2: a polynomial of degree 11 for exp(r) (Chebyshev interpolation, relative error 4e-18
// before rounding), then k goes into the exponent bits. Adding 1.5 * 2^52 rounds to an integer and leaves it in the low
// bits. Below -708 whatever comes out is replaced in the end: one comparison a number, where a bound on x would be
// several.
static inline double gp_exp_nonpositive(double x)
{
    const double shift = 0x1.8p52;
    const double rounded = x * 1.4426950408889634 + shift;
    const double k = rounded - shift;
    // ln 2 in two parts; k times the first is exact
    const double r = (x - k * 0x1.62e42fefa3800p-1) - k * 0x1.ef35793c76730p-45;
    const double r2 = r * r; // even and odd powers apart: half the way one after the other, every constant used once
    double even = 2.763265472252779e-07, odd = 2.5110049204818658e-08;
    even = even * r2 + 2.4801485441561313e-05, odd = odd * r2 + 2.755724088722987e-06;
    even = even * r2 + 0.0013888888952352863, odd = odd * r2 + 0.00019841269890076403;
    even = even * r2 + 0.04166666666648795, odd = odd * r2 + 0.008333333333319589;
    even = even * r2 + 0.5000000000000019, odd = odd * r2 + 0.1666666666666668;
    const double p = 1 + (r + r2 * (even + r * odd)); // small terms first: the last sum rounds once
    uint64_t bits, exponent;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&exponent, &rounded, sizeof exponent);
    bits += exponent << 52;
    double result;
    memcpy(&result, &bits, sizeof result);
    return x < -708.0 ? 0.0 : result;
}
