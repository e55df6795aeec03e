// intervals_test.c: what is promised of intervals, as a caller sees it: they hold what they say over many splits of a
// table, and all answers of a model agree, also where it is one of logarithms with bounds.
#include "advgp.h"
#include "base/rng.h"
#include "data/table_test.h"

#include <math.h>

enum { ROWS = 900, SPLITS = 40 };

static double x[ROWS], y[ROWS]; // y: never negative, skewed, its noise grows with x

static int make_table(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(3, 0);
    for (size_t i = 0; i < ROWS; i++) {
        x[i] = gp_rng_uniform(&rng);
        y[i] = fmax(0, 2 * x[i] - 0.6 - (0.2 + 0.6 * x[i]) * log(gp_rng_uniform(&rng)));
    }
    return 0;
}

static advgp_data *table_of(const double *inputs, const double *targets, size_t n)
{
    advgp_data *d = NULL;
    ASSERT_OK(advgp_data_new(n, &d, err));
    ASSERT_OK(advgp_data_add(d, &(advgp_column){"x", ADVGP_FLOAT64, inputs, 0}, err));
    ASSERT_OK(advgp_data_add(d, &(advgp_column){"y", ADVGP_FLOAT64, targets, 0}, err));
    return d;
}

static advgp_options *options_of(const char *verb, const char *const (*pairs)[2])
{
    advgp_options *o = NULL;
    ASSERT_OK(advgp_options_new(verb, &o, err));
    for (; (*pairs)[0]; pairs++) ASSERT_OK(advgp_options_set(o, (*pairs)[0], (*pairs)[1], err));
    return o;
}

static advgp_answer *answer_of(const advgp_data *training, const char *const (*train)[2], const advgp_data *asked,
                               const char *const (*predict)[2])
{
    advgp_options *t = options_of("train", train), *p = options_of("predict", predict);
    advgp_model *m = NULL;
    advgp_answer *a = NULL;
    ASSERT_OK(advgp_train(training, t, NULL, &m, err));
    ASSERT_OK(advgp_predict_data(m, asked, p, NULL, &a, err));
    advgp_model_free(m);
    advgp_options_free(t);
    advgp_options_free(p);
    return a;
}

static const double *column_of(const advgp_answer *a, const char *name)
{
    for (size_t k = 0; k < advgp_answer_columns(a); k++)
        if (strcmp(advgp_answer_name(a, k), name) == 0) return advgp_answer_values(a, k);
    fail_msg("no column %s", name);
    return NULL;
}

// ---- coverage -------------------------------------------------------------------------------------------------------

static double share_inside(const advgp_answer *a, const char *lo, const char *hi, const double *targets, size_t n)
{
    const double *low = column_of(a, lo), *high = column_of(a, hi);
    size_t inside = 0;
    for (size_t i = 0; i < n; i++) inside += low[i] <= targets[i] && targets[i] <= high[i];
    return (double)inside / (double)n;
}

// Rows to train, to calibrate and to judge are drawn at random each time, so that any row may be any of them: then an
// interval holds what it says on average over the draws, whatever the table and however wrong the model. Here it is a
// line with one noise, for rows that have neither. Given the table the draws are independent, and the mean of so many
// has the error that they show.
static void hold_over_splits(const char *const (*train)[2])
{
    static const char *const wanted[][2] = {{"interval", "0.5,0.8,0.9"}, {NULL, NULL}};
    static const struct {
        const char *lo, *hi;
        double level;
    } levels[] = {{"lo_0.5", "hi_0.5", 0.5}, {"lo_0.8", "hi_0.8", 0.8}, {"lo_0.9", "hi_0.9", 0.9}};
    static double inputs[ROWS], targets[ROWS];
    const size_t half = ROWS / 2;
    double sum[3] = {0}, squares[3] = {0};
    gp_rng rng = gp_rng_seeded(7, 0);
    memcpy(inputs, x, sizeof x);
    memcpy(targets, y, sizeof y);
    for (size_t r = 0; r < SPLITS; r++) {
        for (size_t i = ROWS; i-- > 1;) { // shuffled
            const size_t k = (size_t)(gp_rng_uniform(&rng) * (double)(i + 1));
            const double a = inputs[i], b = targets[i];
            inputs[i] = inputs[k], targets[i] = targets[k], inputs[k] = a, targets[k] = b;
        }
        advgp_data *training = table_of(inputs, targets, half), *others = table_of(inputs + half, targets + half, half);
        advgp_answer *a = answer_of(training, train, others, wanted);
        for (size_t l = 0; l < 3; l++) {
            const double share = share_inside(a, levels[l].lo, levels[l].hi, targets + half, half);
            sum[l] += share, squares[l] += share * share;
        }
        advgp_answer_free(a);
        advgp_data_free(training);
        advgp_data_free(others);
    }
    for (size_t l = 0; l < 3; l++) {
        const double mean = sum[l] / SPLITS, variance = squares[l] / SPLITS - mean * mean;
        const double error = sqrt(variance / (SPLITS - 1));
        if (!(fabs(mean - levels[l].level) < 3 * error && error < 0.01))
            fail_msg("%g of new rows are in the interval of %g: %g of its errors off", mean, levels[l].level,
                     (mean - levels[l].level) / error);
    }
}

static void intervals_hold_over_repeated_splits(void **state)
{
    (void)state;
    static const char *const line[][2] = {
        {"target", "y"}, {"method", "linear"}, {"validation", "0.5"}, {"bounds", "none"}, {NULL, NULL}};
    static const char *const cut[][2] = {{"target", "y"},       {"method", "linear"}, {"validation", "0.5"},
                                         {"log-target", "yes"}, {"bounds", "0:1000"}, {NULL, NULL}};
    hold_over_splits(line);
    hold_over_splits(cut);
}

// ---- agreement ------------------------------------------------------------------------------------------------------

enum { DRAWS = 100, LEVELS = 5, MOST = 3 };

static void check_row(const advgp_answer *a, size_t i, const char *const quantiles[LEVELS], const double u[LEVELS])
{
    static const double thresholds[] = {-1, 0, 0.5, 1.5, 3};
    static const char *const names[] = {"p_exceeds_-1", "p_exceeds_0", "p_exceeds_0.5", "p_exceeds_1.5", "p_exceeds_3"};
    double q[LEVELS];
    for (size_t k = 0; k < LEVELS; k++) {
        q[k] = column_of(a, quantiles[k])[i];
        assert_true(q[k] >= 0 && q[k] <= MOST && (k == 0 || q[k] >= q[k - 1]));
    }
    assert_true(column_of(a, "lo_0.9")[i] == q[0] && column_of(a, "hi_0.9")[i] == q[4]);
    assert_true(column_of(a, "lo_0.5")[i] == q[1] && column_of(a, "hi_0.5")[i] == q[3]);
    const double mean = column_of(a, "mean")[i];
    assert_true(mean >= 0 && mean <= MOST);
    for (size_t t = 0; t < 5; t++) {
        const double p = column_of(a, names[t])[i];
        assert_true(t == 0 ? p == 1 : p <= column_of(a, names[t - 1])[i]);
        for (size_t k = 0; k < LEVELS;
             k++) { // more than 1 - u beyond t where the quantile is, and less where it is not
            if (q[k] > thresholds[t]) assert_true(p >= 1 - u[k] - 1e-6);
            if (q[k] < thresholds[t]) assert_true(p <= 1 - u[k] + 1e-6);
        }
    }
    assert_true(column_of(a, names[4])[i] == 0);
}

static void check_draws(const advgp_answer *a, const char *quantile, double u)
{
    const double *q = column_of(a, quantile);
    size_t below = 0, not_above = 0;
    const double n = (double)DRAWS * (double)advgp_answer_rows(a), slack = 4 * sqrt(u * (1 - u) / n);
    for (size_t k = 0; k < advgp_answer_columns(a); k++) {
        if (strncmp(advgp_answer_name(a, k), "draw_", 5) != 0) continue;
        for (size_t i = 0; i < advgp_answer_rows(a); i++) {
            const double draw = advgp_answer_values(a, k)[i];
            assert_true(draw >= 0 && draw <= MOST);
            below += draw < q[i], not_above += draw <= q[i];
        }
    }
    // Many draws lie at a bound, and so may the quantile.
    if (!((double)below / n < u + slack && (double)not_above / n > u - slack))
        fail_msg("%s: %g of the draws below, %g not above", quantile, (double)below / n, (double)not_above / n);
}

static void answers_of_a_logarithm_within_bounds_agree(void **state)
{
    (void)state;
    static const char *const line[][2] = {
        {"target", "y"}, {"method", "linear"}, {"log-target", "yes"}, {"bounds", "0:3"}, {NULL, NULL}};
    static const char *const process[][2] = {{"target", "y"},   {"method", "exact"},  {"log-target", "yes"},
                                             {"bounds", "0:3"}, {"noise", "varying"}, {NULL, NULL}};
    const char *const(*const models[])[2] = {line, process};
    static const char *const wanted[][2] = {{"interval", "0.5,0.9"},
                                            {"quantiles", "0.05,0.25,0.5,0.75,0.95"},
                                            {"exceeds", "-1,0,0.5,1.5,3"},
                                            {"draws", "100"},
                                            {NULL, NULL}};
    static const char *const quantiles[LEVELS] = {"q_0.05", "q_0.25", "q_0.5", "q_0.75", "q_0.95"};
    static const double u[LEVELS] = {0.05, 0.25, 0.5, 0.75, 0.95};
    enum { FEW = 300 };
    static double capped[FEW];
    for (size_t i = 0; i < FEW; i++) capped[i] = fmin(y[i], MOST);
    advgp_data *d = table_of(x, capped, FEW);
    for (size_t m = 0; m < 2; m++) {
        advgp_answer *a = answer_of(d, models[m], d, wanted);
        for (size_t i = 0; i < FEW; i++) check_row(a, i, quantiles, u);
        for (size_t k = 0; k < LEVELS; k++) check_draws(a, quantiles[k], u[k]);
        advgp_answer_free(a);
    }
    advgp_data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(intervals_hold_over_repeated_splits),
                                       cmocka_unit_test(answers_of_a_logarithm_within_bounds_agree)};
    return cmocka_run_group_tests(tests, make_table, NULL);
}
