// decimal.c: R. Giulietti's Schubfach ("The Schubfach way to render doubles", 2020): the interval of numbers that round
// to a double is carried to a power of ten where it is between 2 and 20 units wide. So it holds one or two multiples of
// ten units, or else the nearest unit is the answer. 10^k in 126 bits are enough for it to be exact.
#include "base/decimal.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/decimal_powers.h"

typedef struct decimal {
    uint64_t digits;
    int exponent; // digits * 10^exponent
} decimal;

enum { FRACTION_BITS = 52, BIAS = 1075 };

// floor(a * 2^-shift), also of negative a
static int floor_shift(int64_t a, int shift)
{
    return (int)(a >= 0 ? a >> shift : -((-a + ((int64_t)1 << shift) - 1) >> shift));
}

// The high 64 bits of power * c / 2^64; the last one also stands for whatever is below ("round to odd"), so that
// comparisons see that there is something.
static uint64_t multiply(const uint64_t power[2], uint64_t c)
{
    __extension__ typedef unsigned __int128 wide;
    const wide low = (wide)power[1] * c, all = (wide)power[0] * c + (uint64_t)(low >> 64);
    return (uint64_t)(all >> 64) | ((uint64_t)all > 1);
}

// Of value = c * 2^q; `near` says that the double below is only half as far away as the one above.
static decimal shortest(uint64_t c, int q, bool near)
{
    const int k = floor_shift((int64_t)q * 1262611 - (near ? 524031 : 0), 22); // floor(log10 of the interval's width)
    const int h = q + floor_shift((int64_t)-k * 1741647, 19) + 1;
    const uint64_t *power = powers[-k - POWER_FIRST];
    const uint64_t odd = c & 1; // a border belongs to the interval where the double is even
    const uint64_t lower = multiply(power, (4 * c - 2 + near) << h) + odd,
                   upper = multiply(power, (4 * c + 2) << h) - odd;
    const uint64_t value = multiply(power, (4 * c) << h), unit = value / 4; // in quarters of 10^k
    if (unit >= 10) {
        const uint64_t ten = unit / 10;
        const bool below = lower <= 40 * ten, above = 40 * ten + 40 <= upper;
        if (below != above) return (decimal){ten + above, k + 1};
    }
    const bool below = lower <= 4 * unit, above = 4 * unit + 4 <= upper;
    if (below != above) return (decimal){unit + above, k};
    const uint64_t middle = 4 * unit + 2;
    return (decimal){unit + (value > middle || (value == middle && (unit & 1))), k};
}

static decimal decimal_of(uint64_t bits)
{
    const uint64_t fraction = bits & (((uint64_t)1 << FRACTION_BITS) - 1);
    const int exponent = (int)(bits >> FRACTION_BITS) & 0x7ff;
    if (!exponent) return fraction ? shortest(fraction, 1 - BIAS, false) : (decimal){0, 0};
    const uint64_t c = fraction | (uint64_t)1 << FRACTION_BITS;
    const int q = exponent - BIAS;
    if (q <= 0 && q >= -FRACTION_BITS && !(c & (((uint64_t)1 << -q) - 1)))
        return (decimal){c >> -q, 0}; // a whole number
    return shortest(c, q, !fraction && exponent > 1);
}

// The digits from the first to the last that is not 0; the exponent of the first. Returns how many.
static int split(decimal d, char digits[20], int *first_exponent)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    char *p = digits + 20;
    uint64_t rest = d.digits;
    for (; rest >= 100; rest /= 100) p -= 2, memcpy(p, pairs + 2 * (rest % 100), 2);
    if (rest >= 10)
        p -= 2, memcpy(p, pairs + 2 * rest, 2);
    else
        *--p = (char)('0' + rest);
    int n = (int)(digits + 20 - p);
    *first_exponent = d.exponent + n - 1;
    memmove(digits, p, (size_t)n);
    while (n > 1 && digits[n - 1] == '0') n--;
    return n;
}

static char *put(char *to, const char *from, int n)
{
    memcpy(to, from, (size_t)n);
    return to + n;
}

static char *put_zeros(char *to, int n)
{
    memset(to, '0', (size_t)n);
    return to + n;
}

static char *put_exponent(char *p, int exponent)
{
    const int size = exponent < 0 ? -exponent : exponent;
    *p++ = 'e';
    *p++ = exponent < 0 ? '-' : '+';
    if (size >= 100) *p++ = (char)('0' + size / 100);
    *p++ = (char)('0' + size / 10 % 10);
    *p++ = (char)('0' + size % 10);
    return p;
}

size_t gp_decimal_write(double value, char text[GP_DECIMAL_BYTES])
{
    uint64_t bits;
    char digits[20], *p = text;
    int first;
    memcpy(&bits, &value, sizeof bits);
    const int n = split(decimal_of(bits), digits, &first), precision = n > 15 ? n : 15;
    if (bits >> 63) *p++ = '-';
    if (first < -4 || first >= precision) {
        *p++ = digits[0];
        if (n > 1) *p++ = '.', p = put(p, digits + 1, n - 1);
        p = put_exponent(p, first);
    } else if (first < 0) {
        p = put(p, "0.", 2);
        p = put_zeros(p, -first - 1);
        p = put(p, digits, n);
    } else if (n <= first + 1) {
        p = put(p, digits, n);
        p = put_zeros(p, first + 1 - n);
    } else {
        p = put(p, digits, first + 1);
        *p++ = '.';
        p = put(p, digits + first + 1, n - first - 1);
    }
    *p = 0;
    return (size_t)(p - text);
}
