// rng_test.c: the same numbers everywhere, and numbers that are as random as claimed.
#include "base/clock.h"
#include "fixture.h"

// The first outputs from the state {1, 2, 3, 4}, which other implementations of xoshiro256++ test against too.
static void the_generator_is_xoshiro256_plus_plus(void **state)
{
    (void)state;
    gp_rng rng = {{1, 2, 3, 4}};
    assert_true(gp_rng_u64(&rng) == 41943041u);
    assert_true(gp_rng_u64(&rng) == 58720359u);
    assert_true(gp_rng_u64(&rng) == 3588806011781223u);
    assert_true(gp_rng_u64(&rng) == 3591011842654386u);
}

// Fixed for ever: checkpoints and row hashes of one version must mean the same in the next.
static void seeds_and_hashes_never_change(void **state)
{
    (void)state;
    gp_rng a = gp_rng_seeded(1, 0), b = gp_rng_seeded(1, 0), other_stream = gp_rng_seeded(1, 1),
           swapped = gp_rng_seeded(0, 1);
    const uint64_t first = gp_rng_u64(&a);
    assert_true(first == gp_rng_u64(&b));
    assert_true(first != gp_rng_u64(&other_stream));
    assert_true(first != gp_rng_u64(&swapped));
    assert_true(gp_hash_u64(3, 5) == gp_hash_u64(3, 5));
    assert_true(gp_hash_u64(3, 5) != gp_hash_u64(5, 3));
    // splitmix64's mixing function, by its own definition
    uint64_t z = 3 + 0x9e3779b97f4a7c15u;
    for (int round = 0; round < 2; round++) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        if (round == 0) z += 6 * 0x9e3779b97f4a7c15u;
    }
    assert_true(gp_hash_u64(3, 5) == z);
}

static void moments_are_those_of_the_distributions(void **state)
{
    (void)state;
    enum { N = 200000 };
    gp_rng rng = gp_rng_seeded(42, 0);
    double u1 = 0, u2 = 0, n1 = 0, n2 = 0, n4 = 0, h1 = 0, lag = 0, before = 0;
    for (int i = 0; i < N; i++) {
        const double u = gp_rng_uniform(&rng), x = gp_rng_normal(&rng), h = gp_hash_uniform(42, (uint64_t)i);
        assert_true(u > 0 && u < 1 && h >= 0 && h < 1);
        u1 += u, u2 += u * u, n1 += x, n2 += x * x, n4 += x * x * x * x, h1 += h;
        lag += x * before, before = x;
    }
    // five standard errors each: fails for a wrong distribution, not for an unlucky seed
    const double root = sqrt((double)N);
    CHECK(fabs(u1 / N - 0.5) < 5 * 0.289 / root, "seed 42", "mean %g", u1 / N);
    CHECK(fabs(u2 / N - 1.0 / 3) < 5 * 0.298 / root, "seed 42", "second moment %g", u2 / N);
    CHECK(fabs(n1 / N) < 5 / root, "seed 42", "mean %g", n1 / N);
    CHECK(fabs(n2 / N - 1) < 5 * 1.42 / root, "seed 42", "variance %g", n2 / N);
    CHECK(fabs(n4 / N - 3) < 5 * 9.8 / root, "seed 42", "fourth moment %g", n4 / N);
    CHECK(fabs(h1 / N - 0.5) < 5 * 0.289 / root, "seed 42", "mean of hashes %g", h1 / N);
    CHECK(fabs(lag / N) < 5 / root, "seed 42", "correlation of neighbours %g", lag / N);
}

static void below_is_uniform_and_stays_below(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(7, 7);
    static const size_t sizes[] = {1, 2, 3, 7, 10};
    for (size_t s = 0; s < 5; s++) {
        long count[10] = {0};
        for (int i = 0; i < 50000; i++) {
            const size_t x = gp_rng_below(&rng, sizes[s]);
            assert_true(x < sizes[s]);
            count[x]++;
        }
        const double each = 50000.0 / (double)sizes[s];
        for (size_t i = 0; i < sizes[s]; i++)
            CHECK(fabs((double)count[i] - each) <= 5 * sqrt(each), "seed 7", "%ld of %g at %zu of %zu", count[i], each,
                  i, sizes[s]);
    }
    for (int i = 0; i < 100; i++) assert_true(gp_rng_below(&rng, SIZE_MAX) < SIZE_MAX);
    // Two thirds of all numbers: a remainder alone would give the lower half of them twice as often as the upper.
    const size_t n = SIZE_MAX / 3 * 2;
    long lower = 0;
    for (int i = 0; i < 10000; i++) lower += gp_rng_below(&rng, n) < n / 2;
    CHECK(labs(lower - 5000) < 250, "seed 7", "%ld of 10000 in the lower half", lower);
}

static void clocks_go_forward(void **state)
{
    (void)state;
    const double wall = gp_clock_wall(), cpu = gp_clock_cpu();
    volatile double work = 0;
    for (int i = 0; i < 3000000; i++) work += i;
    assert_true(work > 0); // so that it is done
    assert_true(gp_clock_wall() > wall);
    assert_true(gp_clock_cpu() > cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_is_xoshiro256_plus_plus),
        cmocka_unit_test(seeds_and_hashes_never_change),
        cmocka_unit_test(moments_are_those_of_the_distributions),
        cmocka_unit_test(below_is_uniform_and_stays_below),
        cmocka_unit_test(clocks_go_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
