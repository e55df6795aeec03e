// distribution_test.c: laws of a predictive distribution: ranks, order, nesting, agreement of all answers, CRPS against
// integration, ties, few rows, heavy tails, logarithms.
#include "base/alloc.h"
#include "base/rng.h"
#include "base/sort.h"
#include "fixture.h"
#include "score/distribution.h"

#include <math.h>
#include <string.h>

typedef double (*law)(gp_rng *rng);

static double normal(gp_rng *rng)
{
    return gp_rng_normal(rng);
}

static double skewed(gp_rng *rng) // exponential, mean 0
{
    return -log(gp_rng_uniform(rng)) - 1;
}

static double heavy(gp_rng *rng) // Student's t of three degrees
{
    const double a = gp_rng_normal(rng), b = gp_rng_normal(rng), c = gp_rng_normal(rng);
    return gp_rng_normal(rng) / sqrt((a * a + b * b + c * c) / 3);
}

static double tied(gp_rng *rng)
{
    return floor(3 * gp_rng_uniform(rng)) - 1;
}

static double same(gp_rng *rng)
{
    (void)rng;
    return 0;
}

static const struct {
    const char *name;
    law draw;
    size_t n;
} cases[] = {{"normal, 2000", normal, 2000},
             {"skewed, 2000", skewed, 2000},
             {"heavy, 5000", heavy, 5000},
             {"tied, 700", tied, 700},
             {"all the same", same, 300},
             {"none", normal, 0},
             {"one", normal, 1},
             {"nine", skewed, 9},
             {"fifty", heavy, 50},
             {"126", skewed, 126}};
enum { CASES = sizeof cases / sizeof *cases };

static gp_calibration fitted(const double *scores, size_t n)
{
    gp_calibration c;
    advgp_error err = {0};
    gp_calibration_init(&c);
    CHECK_OK(gp_calibration_fit(&c, scores, n, &err), "scores");
    return c;
}

static gp_calibration scores_of(size_t k)
{
    static double values[5000];
    gp_rng rng = gp_rng_seeded(5, k);
    for (size_t i = 0; i < cases[k].n; i++) values[i] = cases[k].draw(&rng);
    return fitted(values, cases[k].n);
}

// What a file of format 1 has: factors of |e|.
static gp_calibration symmetric_scores(void)
{
    gp_calibration c;
    advgp_error err = {0};
    gp_calibration_init(&c);
    c.rows = 999;
    CHECK_OK(gp_calibration_expect(&c, false, false, &err), "format 1");
    for (size_t i = 0; i < GP_CALIBRATION_LEVELS; i++)
        c.factors[i] = 1.3 * gp_gaussian_interval((double)(i < 1000 ? i : 999) / 1000);
    gp_calibration_ready(&c);
    return c;
}

static void interval(const gp_calibration *c, double p, double ends[2])
{
    gp_scores_interval(c, gp_scores_of_all(c), p, ends);
}

static double quantile(const gp_calibration *c, double u)
{
    return gp_scores_quantile(c, gp_scores_of_all(c), u);
}

static void gaussian_factors_are_those_of_the_tables(void **state)
{
    (void)state;
    static const double known[][2] = {{0.5, 0.674489750196082},  {0.8, 1.2815515655446},    {0.9, 1.64485362695147},
                                      {0.95, 1.95996398454005},  {0.99, 2.57582930354890},  {0.999, 3.29052673149193},
                                      {1e-9, 1.25331413731e-09}, {1 - 1e-9, 6.10941020486}, {0.6826894921370859, 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        CHECK_CLOSE(known[i][1], gp_gaussian_interval(known[i][0]), 1e-8, "level");
        CHECK_CLOSE(-known[i][1], gp_gaussian_quantile(0.5 * (1 - known[i][0])), 1e-7, "quantile");
    }
    assert_true(gp_gaussian_interval(0) == 0 && isinf(gp_gaussian_interval(1)));
}

static void ranks_are_those_of_split_conformal(void **state)
{
    (void)state;
    double values[99], ends[2]; // 0.01, 0.02 .. in disorder
    advgp_error err = {0};
    for (size_t i = 0; i < 99; i++) values[i] = (double)(i * 37 % 99 + 1) / 100;
    gp_calibration s = fitted(values, 99);
    interval(&s, 0.9, ends);
    CHECK_CLOSE(0.05, ends[0], 1e-15, "rank 5 of 99");
    CHECK_CLOSE(0.95, ends[1], 1e-15, "rank 95");
    interval(&s, 0.98, ends);
    CHECK_CLOSE(0.01, ends[0], 1e-15, "rank 1");
    CHECK_CLOSE(0.99, ends[1], 1e-15, "rank 99");
    assert_true(gp_scores_reach(&s, 0.01) && gp_scores_reach(&s, 0.99) && !gp_scores_reach(&s, 0.005));
    interval(&s, 0.99, ends);
    CHECK_CLOSE(-gp_gaussian_interval(0.99), ends[0], 1e-12, "no such rank: Gaussian");
    CHECK_CLOSE(gp_gaussian_interval(0.99), ends[1], 1e-12, "no such rank: Gaussian");
    CHECK_CLOSE(0.5, quantile(&s, 0.5), 1e-15, "median");
    values[3] = NAN;
    CHECK_FAILS(ADVGP_ENUMERIC, gp_calibration_fit(&s, values, 99, &err), "NaN");
    gp_calibration_fini(&s);
}

// 200 tables of 19 scores and a new one each, all of the same kind: the interval of 0.8 holds it in 80 % at least, and
// hardly more.
static void intervals_hold_what_they_say(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        gp_rng rng = gp_rng_seeded(17, k);
        double inside = 0, below = 0, above = 0;
        const size_t repeats = 4000;
        for (size_t r = 0; r < repeats; r++) {
            double values[19], ends[2];
            for (size_t i = 0; i < 19; i++) values[i] = cases[k].draw(&rng);
            gp_calibration s = fitted(values, 19);
            interval(&s, 0.8, ends);
            const double e = cases[k].draw(&rng);
            inside += ends[0] <= e && e <= ends[1], below += e<ends[0], above += e> ends[1];
            gp_calibration_fini(&s);
        }
        const double error = sqrt(0.8 * 0.2 / (double)repeats); // (19 + 1) 0.1 = 2: ranks 2 and 18 hold exactly 0.8
        CHECK(fabs(inside / (double)repeats - 0.8) < 3 * error, cases[k].name, "%g inside", inside / (double)repeats);
        CHECK(fabs(below - above) < 4 * sqrt(0.2 * (double)repeats), cases[k].name, "%g below, %g above", below, above);
    }
}

// Between ranks, where the density falls as e^-|x|: 50 scores at 0.95 want rank 1.275, and what lies beyond either end
// is 0.025 on average. (On the straight line from rank 1 to 2 it is 0.0227.)
static void between_ranks_tails_that_fall_hold_what_they_say(void **state)
{
    (void)state;
    enum { N = 50, REPEATS = 4000 };
    gp_rng rng = gp_rng_seeded(23, 0);
    double beyond[2] = {0};
    for (size_t r = 0; r < REPEATS; r++) {
        double values[N], ends[2];
        for (size_t i = 0; i < N; i++) values[i] = -log(gp_rng_uniform(&rng)) * (gp_rng_uniform(&rng) < 0.5 ? -1 : 1);
        gp_calibration s = fitted(values, N);
        interval(&s, 0.95, ends);
        assert_true(ends[0] < 0 && ends[1] > 0); // so that half of e^-|x| is what lies beyond
        beyond[0] += 0.5 * exp(ends[0]) / REPEATS, beyond[1] += 0.5 * exp(-ends[1]) / REPEATS;
        gp_calibration_fini(&s);
    }
    const double error = sqrt(1.275) / (N + 1) / sqrt(REPEATS);
    for (size_t side = 0; side < 2; side++)
        CHECK(fabs(beyond[side] - 0.025) < 3 * error, "exponential", "%g beyond", beyond[side]);
}

static void the_table_of_any_number_of_scores_rises(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 200; n++)
        for (size_t k = 0; k < CASES; k++) {
            double scores[201], table[GP_CALIBRATION_LEVELS];
            gp_rng rng = gp_rng_seeded(n, k);
            for (size_t i = 0; i < n; i++) scores[i] = cases[k].draw(&rng);
            gp_sort(scores, n);
            gp_fill_quantiles(table, scores, n, false, gp_gaussian_quantile);
            for (size_t i = 1; i < GP_CALIBRATION_LEVELS; i++)
                CHECK(table[i] >= table[i - 1], cases[k].name, "%zu scores: level %zu has %g, the one before %g", n, i,
                      table[i], table[i - 1]);
        }
}

static void quantiles_never_cross_and_levels_nest(void **state)
{
    (void)state;
    for (size_t k = 0; k <= CASES; k++) {
        gp_calibration s = k < CASES ? scores_of(k) : symmetric_scores();
        const char *name = k < CASES ? cases[k].name : "format 1";
        double last = -INFINITY, inner[2] = {INFINITY, -INFINITY};
        for (double u = 1e-6; u < 1; u += 0.00037) {
            const double q = quantile(&s, u);
            CHECK(isfinite(q) && q >= last, name, "Q(%g) = %g after %g", u, q, last);
            last = q;
        }
        for (double p = 0.001; p < 0.9995; p += 0.00113) {
            double ends[2];
            interval(&s, p, ends);
            CHECK(ends[0] <= inner[0] && ends[1] >= inner[1], name, "the interval of %g is not around the last", p);
            memcpy(inner, ends, sizeof inner);
        }
        gp_calibration_fini(&s);
    }
}

static void the_probability_of_a_threshold_agrees_with_quantiles(void **state)
{
    (void)state;
    for (size_t k = 0; k <= CASES; k++) {
        gp_calibration s = k < CASES ? scores_of(k) : symmetric_scores();
        const char *name = k < CASES ? cases[k].name : "format 1";
        for (int kind = 0; kind < 4; kind++) { // a logarithm, with an offset where there are bounds, too
            const bool logarithm = kind % 2, bounded = kind / 2;
            const gp_schema schema = {.y_mean = 1,
                                      .y_scale = 0.5,
                                      .log_target = logarithm,
                                      .log_offset = logarithm && bounded ? 0.5 : 0,
                                      .bounded = bounded,
                                      .bounds = {.lo = 0.8, .hi = 3}};
            const gp_distribution d = {&s, &schema, 0.3, 0.7};
            for (double u = 2e-5; u < 1; u += 0.00731) {
                const double t = gp_distribution_quantile(&d, u), slack = 1e-9 * (1 + fabs(t));
                // With ties several u have one quantile: what is beyond it has at most, what is not below at least 1 -
                // u.
                CHECK(gp_distribution_exceeds(&d, t + slack) <= 1 - u + 1e-6, name, "P(y > Q(%g))", u);
                CHECK(gp_distribution_exceeds(&d, t - slack) >= 1 - u - 1e-6, name, "P(y >= Q(%g))", u);
            }
            double ends[2];
            gp_distribution_interval(&d, 0.5, ends);
            CHECK_CLOSE(gp_distribution_quantile(&d, 0.25), ends[0], 1e-12, name);
            CHECK_CLOSE(gp_distribution_quantile(&d, 0.75), ends[1], 1e-12, name);
            assert_true(!logarithm || gp_distribution_exceeds(&d, -1) == 1);
        }
        gp_calibration_fini(&s);
    }
}

// CRPS = integral of (F(z) - [y <= z])^2 dz, by fine steps of z; it jumps at y, so it is off by a step at most.
static double crps_plainly(const gp_distribution *d, double y, double low, double high)
{
    const size_t n = 400000;
    const double h = (high - low) / (double)n;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double z = low + ((double)i + 0.5) * h;
        const double F = 1 - gp_distribution_exceeds(d, z) - (y <= z);
        sum += F * F * h;
    }
    return sum;
}

static void crps_is_what_integration_gives(void **state)
{
    (void)state;
    for (size_t k = 0; k < CASES; k++) {
        gp_calibration s = scores_of(k);
        for (int logarithm = 0; logarithm < 2; logarithm++) {
            const gp_schema schema = {.y_mean = 1, .y_scale = 0.2, .log_target = logarithm};
            const gp_distribution d = {&s, &schema, 0.3, 0.7};
            const double low = gp_distribution_quantile(&d, 1e-8) - 1,
                         high = gp_distribution_quantile(&d, 1 - 1e-8) + 1;
            for (int j = 0; j < 4; j++) {
                const double y = gp_distribution_quantile(&d, (double[]){0.0002, 0.3, 0.77, 0.9999}[j]) + 1e-3;
                // A logarithm's quantiles are taken as straight lines between knots; a normal's table is one, too.
                const double bound = logarithm || !cases[k].n ? 2e-3 : 2e-5;
                const double plain = crps_plainly(&d, y, low, high);
                CHECK(fabs(gp_distribution_crps(&d, y) - plain) < bound * plain + (high - low) / 400000, cases[k].name,
                      "%g: %.8g, not %.8g", y, gp_distribution_crps(&d, y), plain);
            }
        }
        gp_calibration_fini(&s);
    }
    // Of a normal distribution in closed form: sigma (z (2 Phi - 1) + 2 phi - 1 / sqrt pi).
    gp_calibration s;
    gp_calibration_init(&s);
    const gp_schema schema = {.y_mean = 0, .y_scale = 1};
    const gp_distribution d = {&s, &schema, 0, 2};
    const double z = 0.4, phi = exp(-z * z / 2) / sqrt(2 * acos(-1)), Phi = 0.5 * erfc(-z * sqrt(0.5));
    CHECK_CLOSE(2 * (z * (2 * Phi - 1) + 2 * phi - 1 / sqrt(acos(-1))), gp_distribution_crps(&d, 0.8), 1e-4, "normal");
}

static void the_density_is_one_and_follows_the_scores(void **state)
{
    (void)state;
    for (size_t k = 0; k <= CASES; k++) {
        gp_calibration s = k < CASES ? scores_of(k) : symmetric_scores();
        const char *name = k < CASES ? cases[k].name : "format 1";
        double sum = 0;
        for (double e = -60; e < 60; e += 1e-4)
            sum += 1e-4 * exp(gp_scores_log_density(&s, gp_scores_of_all(&s), e + 5e-5));
        CHECK(fabs(sum - 1) < 0.02, name, "the density sums to %g", sum);
        gp_calibration_fini(&s);
    }
    // On new scores of the same kind it is about as good as the density that made them.
    gp_calibration s = scores_of(0);
    gp_rng rng = gp_rng_seeded(99, 0);
    double loss = 0;
    for (size_t i = 0; i < 20000; i++) {
        const double e = gp_rng_normal(&rng);
        loss += -gp_scores_log_density(&s, gp_scores_of_all(&s), e) - (0.5 * log(2 * acos(-1)) + 0.5 * e * e);
    }
    CHECK(loss / 20000 > 0 && loss / 20000 < 0.04, "normal", "%g worse than the true density", loss / 20000);
    gp_calibration_fini(&s);
}

static void winkler_is_width_and_misses(void **state)
{
    (void)state;
    const double ends[2] = {1, 3};
    CHECK_CLOSE(2, gp_winkler(ends, 0.9, 2.5), 1e-15, "inside");
    CHECK_CLOSE(2 + 20 * 0.5, gp_winkler(ends, 0.9, 3.5), 1e-13, "above");
    CHECK_CLOSE(2 + 4 * 1.0, gp_winkler(ends, 0.5, 0), 1e-13, "below");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaussian_factors_are_those_of_the_tables),
        cmocka_unit_test(ranks_are_those_of_split_conformal),
        cmocka_unit_test(intervals_hold_what_they_say),
        cmocka_unit_test(between_ranks_tails_that_fall_hold_what_they_say),
        cmocka_unit_test(the_table_of_any_number_of_scores_rises),
        cmocka_unit_test(quantiles_never_cross_and_levels_nest),
        cmocka_unit_test(the_probability_of_a_threshold_agrees_with_quantiles),
        cmocka_unit_test(crps_is_what_integration_gives),
        cmocka_unit_test(the_density_is_one_and_follows_the_scores),
        cmocka_unit_test(winkler_is_width_and_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
