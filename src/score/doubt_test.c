// doubt_test.c: standard errors in closed form are those of a bootstrap.
#include "score/doubt.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 400, DRAWS = 2000 };

static double uniform(uint64_t *state) // xorshift: the test's own, so that it knows no other
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static double normal(uint64_t *state)
{
    const double u = uniform(state), v = uniform(state);
    return sqrt(-2 * log(u + 1e-300)) * cos(6.283185307179586 * v);
}

typedef struct figures {
    double rmse, r2, share;
} figures;

// Plainly, of the rows with these numbers: target, error, whether it is inside, weight.
static figures figures_of(const double *y, const double *e, const int *inside, const double *w, const size_t *which)
{
    double n = 0, mean = 0, squares = 0, off = 0, in = 0;
    for (size_t k = 0; k < N; k++) n += w[which[k]], mean += w[which[k]] * y[which[k]];
    mean /= n;
    for (size_t k = 0; k < N; k++) {
        const size_t i = which[k];
        squares += w[i] * e[i] * e[i], off += w[i] * (y[i] - mean) * (y[i] - mean), in += w[i] * inside[i];
    }
    return (figures){.rmse = sqrt(squares / n), .r2 = 1 - squares / off, .share = in / n};
}

static figures bootstrap(const double *y, const double *e, const int *inside, const double *w, uint64_t *state)
{
    figures sum = {0}, square = {0};
    size_t which[N];
    for (size_t draw = 0; draw < DRAWS; draw++) {
        for (size_t k = 0; k < N; k++) which[k] = (size_t)(uniform(state) * N);
        const figures f = figures_of(y, e, inside, w, which);
        sum.rmse += f.rmse, square.rmse += f.rmse * f.rmse;
        sum.r2 += f.r2, square.r2 += f.r2 * f.r2;
        sum.share += f.share, square.share += f.share * f.share;
    }
    return (figures){.rmse = sqrt(square.rmse / DRAWS - pow(sum.rmse / DRAWS, 2)),
                     .r2 = sqrt(square.r2 / DRAWS - pow(sum.r2 / DRAWS, 2)),
                     .share = sqrt(square.share / DRAWS - pow(sum.share / DRAWS, 2))};
}

static void as_a_bootstrap(int weighted, uint64_t state)
{
    static double y[N], e[N], w[N];
    static int inside[N];
    static gp_doubt_row rows[N];
    size_t all[N];
    double n = 0, ww = 0, mean = 0;
    for (size_t i = 0; i < N; i++) {
        y[i] = 3 * normal(&state) + 7, e[i] = normal(&state) * (1 + 0.5 * uniform(&state));
        w[i] = weighted ? 0.5 + uniform(&state) : 1;
        inside[i] = uniform(&state) < 0.9, all[i] = i;
        n += w[i], ww += w[i] * w[i], mean += w[i] * y[i];
    }
    for (size_t i = 0; i < N; i++) rows[i] = (gp_doubt_row){.w = w[i], .error = e[i], .off = y[i] - mean / n};
    const figures ours = figures_of(y, e, inside, w, all), spread = bootstrap(y, e, inside, w, &state);
    assert_true(fabs(gp_doubt_rmse(rows, N) / spread.rmse - 1) < 0.1);
    assert_true(fabs(gp_doubt_r2(rows, N) / spread.r2 - 1) < 0.1);
    assert_true(fabs(gp_doubt_share(ours.share, n * n / ww) / spread.share - 1) < 0.1);
}

static void closed_forms_are_those_of_a_bootstrap(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) as_a_bootstrap(0, seed), as_a_bootstrap(1, 100 + seed);
}

static void where_all_rows_are_inside_it_is_not_nothing(void **state)
{
    (void)state;
    assert_true(fabs(gp_doubt_share(1, 100) - 0.005 / 1.01) < 1e-12);
    const gp_doubt_row exact[] = {{1, 0, 1}, {1, 0, -1}};
    assert_true(gp_doubt_rmse(exact, 2) == 0 && gp_doubt_r2(exact, 2) == 0);
    assert_true(isnan(gp_doubt_rmse(exact, 0)) && isnan(gp_doubt_r2(exact, 0)));
}

static void it_is_said_in_two_digits(void **state)
{
    (void)state;
    static const struct {
        double error;
        const char *text;
    } cases[] = {{0.6234, " \u00b1 0.62"}, {12.4, " \u00b1 12"}, {1234, " \u00b1 1234"}, {0, " \u00b1 0.0"}, {NAN, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(gp_doubt_said(cases[i].error).p, cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(closed_forms_are_those_of_a_bootstrap),
                                       cmocka_unit_test(where_all_rows_are_inside_it_is_not_nothing),
                                       cmocka_unit_test(it_is_said_in_two_digits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
