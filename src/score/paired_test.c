// paired_test.c: means and the gain of known losses, and what is none.
#include "base/rng.h"
#include "fixture.h"
#include "score/paired.h"

#include <math.h>

static gp_paired compare(size_t n, const double *first, const double *second, const double *w)
{
    gp_paired p;
    advgp_error err;
    CHECK_OK(gp_paired_init(&p, n, &err), "paired");
    for (size_t i = 0; i < n; i++) gp_paired_add(&p, w[i], first[i]);
    gp_paired_turn(&p);
    for (size_t i = 0; i < n; i++) gp_paired_add(&p, w[i], second[i]);
    return p;
}

static void a_gain_is_the_mean_difference_over_its_error(void **state)
{
    (void)state;
    const double first[] = {3, 5, 4, 8}, second[] = {2, 5, 2, 3}, w[] = {1, 1, 1, 1}; // falls: 1, 0, 2, 5
    gp_paired p = compare(4, first, second, w);
    CHECK_CLOSE(5, gp_paired_first(&p), 1e-14, "first");
    CHECK_CLOSE(3, gp_paired_second(&p), 1e-14, "second");
    CHECK_CLOSE(2 / sqrt(3.5 / 4), gp_paired_gain(&p), 1e-14, "gain"); // squares 30 / 4 less 2^2
    gp_paired_fini(&p);
    p = compare(4, second, first, w);
    CHECK_CLOSE(-2 / sqrt(3.5 / 4), gp_paired_gain(&p), 1e-14, "the other way round");
    gp_paired_fini(&p);
}

static void rows_count_by_their_weight(void **state)
{
    (void)state;
    const double first[] = {3, 100}, second[] = {2, 0}, w[] = {2, 0};
    gp_paired p = compare(2, first, second, w);
    CHECK_CLOSE(3, gp_paired_first(&p), 1e-14, "first");
    CHECK_CLOSE(2, gp_paired_second(&p), 1e-14, "second");
    gp_paired_fini(&p);
}

static void a_gain_of_every_row_is_no_chance(void **state)
{
    (void)state;
    const double first[] = {3, 5, 4}, second[] = {2, 4, 3}, w[] = {1, 1, 1};
    gp_paired p = compare(3, first, second, w);
    assert_true(gp_paired_gain(&p) == INFINITY);
    gp_paired_fini(&p);
}

static void what_rounding_has_changed_is_no_gain(void **state)
{
    (void)state;
    enum { N = 100 };
    double first[N], second[N], w[N];
    gp_rng rng = gp_rng_seeded(2, 0);
    for (size_t i = 0; i < N; i++) first[i] = 1 + gp_rng_uniform(&rng), second[i] = first[i], w[i] = 1;
    for (size_t i = 0; i < N; i++) second[i] -= 1e-12 * gp_rng_uniform(&rng);
    gp_paired p = compare(N, first, second, w);
    assert_true(gp_paired_gain(&p) == 0);
    gp_paired_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gain_is_the_mean_difference_over_its_error),
        cmocka_unit_test(rows_count_by_their_weight),
        cmocka_unit_test(a_gain_of_every_row_is_no_chance),
        cmocka_unit_test(what_rounding_has_changed_is_no_gain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
