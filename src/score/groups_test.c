// groups_test.c: scores by groups: they cover what they say over repeated splits, in every group, where scores alike do
// not; quantiles, levels and probabilities agree; ties and empty groups do no harm.
#include "base/alloc.h"
#include "base/rng.h"
#include "fixture.h"
#include "score/groups.h"

#include <math.h>
#include <string.h>

enum { LEFT_OUT = 6000, UNSEEN = 199 };

// Rows whose scores have two shapes: a prediction below 0 has errors of +-0.5 alone, nearly, one above
// exponential ones. `alike`: all exponential.
static void draw(gp_rng *rng, bool alike, double *mean, double *sd, double *score)
{
    *mean = 2 * gp_rng_uniform(rng) - 1;
    *sd = 0.5 + gp_rng_uniform(rng);
    const double e = -log(gp_rng_uniform(rng)) - 1, sign = gp_rng_uniform(rng) < 0.5 ? -1 : 1;
    *score = alike || *mean > 0 ? e : 0.5 * sign + 0.05 * e;
}

static gp_scored_rows draw_rows(gp_rng *rng, size_t n, bool alike)
{
    gp_scored_rows rows;
    advgp_error err = {0};
    CHECK_OK(gp_scored_rows_init(&rows, n, &err), "rows");
    for (size_t i = 0; i < n; i++) {
        double mean, sd, score;
        draw(rng, alike, &mean, &sd, &score);
        gp_scored_rows_add(&rows, mean + sd * score, mean, sd);
    }
    return rows;
}

static gp_calibration calibrate(gp_scored_rows left_out, gp_scored_rows unseen)
{
    gp_calibration c;
    advgp_error err = {0};
    gp_calibration_init(&c);
    CHECK_OK(gp_calibration_fit(&c, unseen.score, unseen.n, &err), "all rows");
    CHECK_OK(gp_score_groups_new(left_out, unseen, &c.groups, &err), "groups");
    return c;
}

static void repeated_splits_cover_what_they_say(void **state)
{
    (void)state;
    enum { REPEATS = 400, NEW = 50 };
    static const double level = 0.9;
    gp_rng rng = gp_rng_seeded(23, 0);
    gp_scored_rows left_out = draw_rows(&rng, LEFT_OUT, false);
    double by_group[2] = {0}, alike[2] = {0}, n[2] = {0}, sum = 0, squares = 0; // below 0, above
    for (size_t r = 0; r < REPEATS; r++) {
        gp_scored_rows unseen = draw_rows(&rng, UNSEEN, false);
        gp_calibration s = calibrate(left_out, unseen);
        double all[2], inside = 0;
        gp_scores_interval(&s, gp_scores_of_all(&s), level, all);
        for (size_t i = 0; i < NEW; i++) {
            double mean, sd, e, ends[2];
            draw(&rng, false, &mean, &sd, &e);
            const gp_distribution d = {&s, NULL, mean, sd};
            gp_distribution_score_ends(&d, level, ends);
            const size_t side = mean > 0;
            n[side]++, alike[side] += all[0] <= e && e <= all[1];
            by_group[side] += ends[0] <= e && e <= ends[1], inside += ends[0] <= e && e <= ends[1];
        }
        sum += inside / NEW, squares += inside / NEW * inside / NEW;
        gp_scored_rows_fini(&unseen);
        gp_calibration_fini(&s);
    }
    const double mean = sum / REPEATS, error = sqrt((squares / REPEATS - mean * mean) / REPEATS);
    // 200 (1 - 0.9) / 2 = 10: ranks 10 and 190 hold exactly 0.9.
    CHECK(fabs(mean - level) < 3 * error, "all rows", "%g +- %g inside", mean, error);
    for (size_t side = 0; side < 2; side++)
        CHECK(fabs(by_group[side] / n[side] - level) < 0.02, "a half", "%g inside", by_group[side] / n[side]);
    CHECK(alike[0] / n[0] > 0.95, "scores alike", "%g inside where they are too wide", alike[0] / n[0]);
    gp_scored_rows_fini(&left_out);
}

// Of rows that are alike every group knows the same.
static void where_rows_are_alike_so_are_groups(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(24, 0);
    gp_scored_rows left_out = draw_rows(&rng, LEFT_OUT, true), unseen = draw_rows(&rng, UNSEEN, true);
    gp_calibration s = calibrate(left_out, unseen);
    for (size_t k = 0; k < GP_GROUPS; k++)
        for (size_t i = 100; i <= 800; i += 100) {
            const double u = (double)i / 1000, spread = sqrt(u * (1 - u) / 200) / (1 - u); // of an exponential quantile
            const double truth = -log(1 - u) - 1;
            CHECK(fabs(s.groups->quantiles[k][i] - truth) < 4 * spread, "alike", "group %zu: Q(%g) = %g, in truth %g",
                  k, u, s.groups->quantiles[k][i], truth);
        }
    gp_calibration_fini(&s);
    gp_scored_rows_fini(&left_out);
    gp_scored_rows_fini(&unseen);
}

// Of exponential scores that are `factor` times as large as left-out rows had it, the share inside the 90 % interval of
// every repetition: their mean, and how far they are from 0.9 in the mean square.
static double cover(double factor, double *off)
{
    enum { REPEATS = 200 };
    gp_rng rng = gp_rng_seeded(26, 0);
    gp_scored_rows left_out = draw_rows(&rng, LEFT_OUT, true);
    double sum = 0, squares = 0;
    for (size_t r = 0; r < REPEATS; r++) {
        gp_scored_rows unseen = draw_rows(&rng, UNSEEN, true);
        for (size_t i = 0; i < unseen.n; i++) unseen.score[i] *= factor;
        gp_calibration s = calibrate(left_out, unseen);
        double inside = 0;
        for (size_t k = 0; k < GP_GROUPS; k++) {
            const double *q = s.groups->quantiles[k];
            inside += exp(-fmax(q[50] / factor + 1, 0)) - exp(-fmax(q[950] / factor + 1, 0));
        }
        inside /= GP_GROUPS;
        sum += inside, squares += (inside - 0.9) * (inside - 0.9);
        gp_scored_rows_fini(&unseen);
        gp_calibration_fini(&s);
    }
    gp_scored_rows_fini(&left_out);
    *off = sqrt(squares / REPEATS);
    return sum / REPEATS;
}

// Unseen rows alone would be off by sqrt(0.9 x 0.1 / 200) = 0.021.
static void what_left_out_rows_know_chance_does_not_spoil(void **state)
{
    (void)state;
    double off;
    const double truth = cover(1, &off);
    CHECK(fabs(truth - 0.9) < 0.005 && off < 0.016, "they tell the truth", "%g inside, off by %g", truth, off);
    const double a_little = cover(1.1, &off);
    CHECK(fabs(a_little - 0.9) < 0.02, "a tenth too small", "%g inside, off by %g", a_little, off);
    const double clearly = cover(1.5, &off);
    CHECK(fabs(clearly - 0.9) < 0.005, "clearly too small", "%g inside, off by %g", clearly, off);
}

static void check_laws(const gp_calibration *s, double mean, double sd)
{
    const gp_schema schema = {.y_mean = 1, .y_scale = 0.5};
    const gp_distribution d = {s, &schema, mean, sd};
    double last = -INFINITY, inner[2] = {INFINITY, -INFINITY}, ends[2];
    for (double u = 1e-6; u < 1; u += 0.0037) {
        const double q = gp_distribution_quantile(&d, u), slack = 1e-9 * (1 + fabs(q));
        CHECK(isfinite(q) && q >= last, "quantiles", "Q(%g) = %g after %g", u, q, last);
        CHECK(gp_distribution_exceeds(&d, q + slack) <= 1 - u + 1e-6, "threshold", "P(y > Q(%g))", u);
        CHECK(gp_distribution_exceeds(&d, q - slack) >= 1 - u - 1e-6, "threshold", "P(y >= Q(%g))", u);
        last = q;
    }
    for (double p = 0.001; p < 0.9995; p += 0.0113) {
        gp_distribution_interval(&d, p, ends);
        CHECK(ends[0] <= inner[0] && ends[1] >= inner[1], "levels", "the interval of %g is not around the last", p);
        memcpy(inner, ends, sizeof inner);
    }
    CHECK(isfinite(gp_distribution_crps(&d, 1.3)) && isfinite(gp_distribution_log_density(&d, 1.3)), "figures",
          "CRPS %g", gp_distribution_crps(&d, 1.3));
}

// Rows of one mean and one sd, residuals of nothing but for a few, and rows as above: every group keeps the laws.
static void laws_hold_in_every_group(void **state)
{
    (void)state;
    for (size_t tied = 0; tied < 3; tied++) {
        gp_rng rng = gp_rng_seeded(25, tied);
        gp_scored_rows left_out = draw_rows(&rng, LEFT_OUT, false), unseen = draw_rows(&rng, UNSEEN, false);
        gp_scored_rows *both[] = {&left_out, &unseen};
        for (size_t b = 0; tied && b < 2; b++)
            for (size_t i = 0; i < both[b]->n; i++) {
                if (tied == 1) both[b]->mean[i] = 0.25, both[b]->sd[i] = 1;
                if (tied == 2 && i % 50) both[b]->score[i] = 0;
            }
        gp_calibration s = calibrate(left_out, unseen);
        for (double mean = -1.5; mean < 1.6; mean += 0.31)
            for (double sd = 0.3; sd < 2; sd += 0.4) check_laws(&s, mean, sd);
        gp_calibration_fini(&s);
        gp_scored_rows_fini(&left_out);
        gp_scored_rows_fini(&unseen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_splits_cover_what_they_say),
        cmocka_unit_test(where_rows_are_alike_so_are_groups),
        cmocka_unit_test(what_left_out_rows_know_chance_does_not_spoil),
        cmocka_unit_test(laws_hold_in_every_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
