// metric_test.c: every row of the table is whole, its figure is that of a plain formula, and JSON brings it back.
#include "fixture.h"
#include "score/assess.h"
#include "score/assess_json.h"

enum { N = 200 };
static const double scale = 3, shift = 10;

// Rows of a Gaussian model that is not calibrated: weight, target, predicted mean and standard deviation, all in the
// target's own units; and the level that is asked for.
typedef struct plain_row {
    double w, y, mean, sd, level;
} plain_row;

static plain_row rows[N];

static void draw(void)
{
    gp_rng rng = gp_rng_seeded(7, 1);
    for (size_t i = 0; i < N; i++) {
        rows[i] = (plain_row){.w = 0.5 + gp_rng_uniform(&rng), .mean = shift + scale * gp_rng_normal(&rng)};
        rows[i].sd = scale * (0.5 + gp_rng_uniform(&rng));
        rows[i].y = rows[i].mean + 1.2 * rows[i].sd * gp_rng_normal(&rng);
    }
}

static double mean_of(double (*of)(const plain_row *r), double level)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < N; i++) {
        rows[i].level = level;
        sum += rows[i].w * of(&rows[i]), n += rows[i].w;
    }
    return sum / n;
}

// ---- the formulas once more -----------------------------------------------------------------------------------------

static double off(const plain_row *r, double level)
{
    return fabs(r->y - r->mean) - gp_gaussian_interval(level) * r->sd;
}

#define PLAIN(metric, number)                \
    static double metric(const plain_row *r) \
    {                                        \
        return number;                       \
    }
PLAIN(coverage, off(r, r->level) <= 0)
PLAIN(square, (r->y - r->mean) * (r->y - r->mean))
PLAIN(mae, fabs(r->y - r->mean))
PLAIN(target, r->y)
PLAIN(target_square, r->y * r->y)
PLAIN(mnlp, 0.5 * log(2 * acos(-1) * r->sd * r->sd) + 0.5 * square(r) / (r->sd * r->sd))
PLAIN(z, (r->y - r->mean) / r->sd)
PLAIN(crps, (z(r) * erf(z(r) / sqrt(2)) + (sqrt(2) * exp(-z(r) * z(r) / 2) - 1) / sqrt(acos(-1))) * r->sd)
PLAIN(width, 2 * gp_gaussian_interval(r->level) * r->sd)
PLAIN(winkler, 2 * gp_gaussian_interval(0.9) * r->sd + 20 * fmax(0, off(r, 0.9)))

static double rmse_value(double squares)
{
    return sqrt(squares);
}

static double r2_value(double squares)
{
    const double y = mean_of(target, 0);
    return 1 - squares / (mean_of(target_square, 0) - y * y);
}

static const struct {
    const char *name;
    double (*of)(const plain_row *r);
    double (*value)(double mean); // NULL: the mean itself
    double tolerance;
} plain[] = {{"coverage", coverage, NULL, 1e-12},    {"coverage_gaussian", coverage, NULL, 1e-12},
             {"rmse", square, rmse_value, 1e-12},    {"mae", mae, NULL, 1e-12},
             {"r2", square, r2_value, 1e-10},        {"mnlp", mnlp, NULL, 1e-12},
             {"mnlp_calibrated", mnlp, NULL, 1e-12}, {"crps", crps, NULL, 1e-3}, // of a table of quantiles
             {"width", width, NULL, 1e-12},          {"winkler", winkler, NULL, 1e-10}};
enum { N_PLAIN = sizeof plain / sizeof *plain };

// ---- tests ----------------------------------------------------------------------------------------------------------

static gp_assessment assess(void)
{
    gp_schema schema = {.y_mean = shift, .y_scale = scale};
    gp_model model = {.schema = &schema};
    gp_calibration_init(&model.calibration);
    gp_assessment a = {.scored = GP_SCORED_TEST};
    gp_tally tally;
    advgp_error err;
    draw();
    CHECK_OK(gp_tally_init(&tally, &model, NULL, &err), "tally");
    for (size_t i = 0; i < N; i++) {
        const double sd = rows[i].sd / scale;
        gp_tally_add(&tally, rows[i].w, NULL, (rows[i].y - shift) / scale, (rows[i].mean - shift) / scale, sd * sd);
    }
    gp_tally_end(&tally, &a);
    gp_tally_fini(&tally);
    return a;
}

static void every_row_is_whole(void **state)
{
    (void)state;
    size_t at = 0;
    assert_int_equal(GP_N_METRICS, N_PLAIN); // each has its formula above
    assert_true(gp_levels[GP_JUDGED] == gp_judged_level);
    for (size_t k = 0; k < GP_N_METRICS; k++) {
        const gp_metric *m = &gp_metrics[k];
        assert_non_null(m->name);
        CHECK(m->label && *m->label && m->add, m->name, "%s", "no label, or no sum");
        CHECK(m->n == 1 || (m->n == GP_LEVELS && !m->ends_training && !m->means), m->name, "%zu figures", m->n);
        assert_int_equal(m->at, at); // one after the other, and all of them
        at += m->n;
        if (k && !strcmp(m->label, gp_metrics[k - 1].label)) assert_non_null(m->of);
    }
    assert_int_equal(at, GP_N_FIGURES);
}

static void figures_are_those_of_plain_formulas(void **state)
{
    (void)state;
    const gp_assessment a = assess();
    for (size_t k = 0; k < N_PLAIN; k++) {
        const gp_metric *m = NULL;
        for (size_t i = 0; i < GP_N_METRICS; i++)
            if (!strcmp(gp_metrics[i].name, plain[k].name)) m = &gp_metrics[i];
        assert_non_null(m);
        for (size_t l = 0; l < m->n; l++) {
            const double mean = mean_of(plain[k].of, gp_levels[l]);
            CHECK_CLOSE(plain[k].value ? plain[k].value(mean) : mean, a.values[m->at + l], plain[k].tolerance, m->name);
            assert_true(m->error ? a.errors[m->at + l] > 0 : isnan(a.errors[m->at + l]));
        }
    }
    assert_true(a.rmse == a.values[gp_metrics[GP_METRIC_rmse].at] && a.n_scored == N);
    const gp_sums none = {0};
    for (size_t k = 0; k < GP_N_METRICS; k++) assert_true(isnan(gp_sums_judged(&none, &gp_metrics[k])));
}

static void json_brings_them_back(void **state)
{
    (void)state;
    const gp_assessment a = assess();
    gp_assessment again;
    json_t *o = gp_assessment_whole_json(&a);
    assert_true(gp_assessment_read(o, &again));
    assert_true(again.scored == a.scored && again.n_scored == a.n_scored && again.n_tenths == a.n_tenths);
    CHECK_BITS(GP_N_FIGURES, a.values, again.values, "values");
    for (size_t i = 0; i < GP_N_FIGURES; i++)
        assert_true(again.errors[i] == a.errors[i] || (isnan(again.errors[i]) && isnan(a.errors[i])));
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_row_is_whole),
                                       cmocka_unit_test(figures_are_those_of_plain_formulas),
                                       cmocka_unit_test(json_brings_them_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
