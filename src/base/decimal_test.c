// decimal_test.c: what gp_decimal_write writes reads back as the same number, in no more digits than printf needs, for
// numbers of every exponent and for those that people write. ADVGP_LONG asks ten million.
#include "base/decimal.h"
#include "fixture.h"

#include <stdlib.h>

static void check_text(double value, const char *want)
{
    char text[GP_DECIMAL_BYTES];
    const size_t n = gp_decimal_write(value, text);
    CHECK(strcmp(text, want) == 0 && n == strlen(want), want, "got %s, %zu bytes", text, n);
}

static void numbers_are_written_as_people_write_them(void **state)
{
    (void)state;
    check_text(0, "0");
    check_text(-0.0, "-0");
    check_text(1, "1");
    check_text(-1.5, "-1.5");
    check_text(0.1, "0.1");
    check_text(0.1 + 0.2, "0.30000000000000004");
    check_text(100, "100");
    check_text(123456789, "123456789");
    check_text(0.0001, "0.0001");
    check_text(0.00001, "1e-05");
    check_text(123.456e-7, "1.23456e-05");
    check_text(999999999999999, "999999999999999");
    check_text(1e15, "1e+15");
    check_text(1234567890123456, "1234567890123456");
    check_text((double)9007199254740993, "9007199254740992");
    check_text(1e22, "1e+22");
    check_text(1e23, "1e+23");
    check_text(5e-324, "5e-324");
    check_text(2.2250738585072014e-308, "2.2250738585072014e-308");
    check_text(-1.7976931348623157e308, "-1.7976931348623157e+308");
    check_text(9.5367431640625e-07, "9.5367431640625e-07");
    check_text(4.35, "4.35");
}

static void check_value(double value)
{
    char text[GP_DECIMAL_BYTES], plain[40], label[40];
    snprintf(label, sizeof label, "%a", value);
    const size_t n = gp_decimal_write(value, text);
    CHECK(n == strlen(text) && n < sizeof text, label, "%zu bytes", n);
    const double back = strtod(text, NULL);
    CHECK(memcmp(&back, &value, sizeof back) == 0, label, "%s reads as %a", text, back);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(plain, sizeof plain, "%.*g", digits, value);
        if (strtod(plain, NULL) == value) break;
    }
    CHECK(n <= strlen(plain), label, "%s is longer than %s", text, plain);
}

static double of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void every_number_reads_back_in_as_few_digits_as_it_needs(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(11, 1);
    const long n = getenv("ADVGP_LONG") ? 10000000 : 100000;
    for (long i = 0; i < n; i++) {
        const uint64_t bits = gp_rng_u64(&rng);
        const double any = of_bits(bits), unit = gp_rng_uniform(&rng);
        check_value(isfinite(any) ? any : unit);
        check_value(i % 2 ? exp(20 * unit - 10) : (double)(int64_t)(bits >> 20) / 1000);
    }
}

// Where the neighbour below is nearer than the one above, and the ends of every range of exponents.
static void powers_of_two_and_their_neighbours_read_back(void **state)
{
    (void)state;
    for (uint64_t exponent = 0; exponent < 2047; exponent++)
        for (int64_t step = -2; step <= 2; step++) {
            const double value = of_bits((exponent << 52) + (uint64_t)step);
            if (isfinite(value)) check_value(value);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_as_people_write_them),
        cmocka_unit_test(every_number_reads_back_in_as_few_digits_as_it_needs),
        cmocka_unit_test(powers_of_two_and_their_neighbours_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
