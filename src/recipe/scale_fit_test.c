// scale_fit_test.c: a scale of few rows, fitted to scores that are made: one that is known is found, weights are
// heeded, ties and zeros do no harm, and scales that have not seen a row know nothing of its score.
#include "base/rng.h"
#include "fixture.h"
#include "recipe/scale_fit.h"

#include <math.h>

enum { D = 3 };

static const gp_train_options options = {.kernel = &gp_kernel_ard_rbf, .schedule.seed = 4};

static double true_ln_scale(const double *x)
{
    return 0.7 * sin(1.5 * x[0]);
}

// |s(x) e|, e normal, of n rows of weight 1.
static gp_scale_rows make_rows(size_t n, bool varying)
{
    gp_rng rng = gp_rng_seeded(6, n);
    gp_scale_rows rows;
    advgp_error err;
    CHECK_OK(gp_scale_rows_init(&rows, n, D, &err), "rows");
    rows.n = n;
    for (size_t i = 0; i < n; i++) {
        double *x = rows.X + i * D;
        for (size_t k = 0; k < D; k++) x[k] = 3.4 * gp_rng_uniform(&rng) - 1.7;
        rows.u[i] = fabs(gp_rng_normal(&rng)) * (varying ? exp(true_ln_scale(x)) : 1);
        rows.w[i] = 1, rows.ln_g[i] = 0;
    }
    return rows;
}

static gp_model *fit(gp_scale_rows *rows, bool weighted, double range[2])
{
    const gp_scale_fitting how = {.options = &options, .workers = 1, .weighted = weighted};
    gp_model *noise = NULL;
    advgp_error err;
    CHECK_OK(gp_scale_fit(&how, rows, &noise, range, &err), "fit");
    return noise;
}

// Root of the mean squared difference of ln_g and what is true, but for a constant: E ln|e| is not 0, and whoever has
// fitted a scale sets its level by squares (noise.c).
static double error_of(const gp_scale_rows *rows)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const double off = rows->ln_g[i] - true_ln_scale(rows->X + i * D);
        sum += off / (double)rows->n, squares += off * off / (double)rows->n;
    }
    return sqrt(squares - sum * sum);
}

static void a_known_scale_is_found(void **state)
{
    (void)state;
    double range[2];
    gp_scale_rows rows = make_rows(4000, true);
    gp_model *noise = fit(&rows, false, range);
    assert_non_null(noise);
    CHECK(error_of(&rows) < 0.05, "4,000 rows", "s is off by %g", error_of(&rows));
    for (size_t i = 0; i < rows.n; i++) assert_true(range[0] <= rows.ln_g[i] && rows.ln_g[i] <= range[1]);
    gp_model_free(noise);
    gp_scale_rows_fini(&rows);
}

// Every second row has a scale of its own that grows the other way, and next to no weight.
static void weights_are_heeded(void **state)
{
    (void)state;
    double range[2];
    gp_scale_rows rows = make_rows(4000, true);
    for (size_t i = 1; i < rows.n; i += 2) rows.u[i] *= exp(-2 * true_ln_scale(rows.X + i * D)), rows.w[i] = 1e-6;
    gp_model *noise = fit(&rows, true, range);
    assert_non_null(noise);
    CHECK(error_of(&rows) < 0.1, "weights", "s is off by %g", error_of(&rows));
    gp_model_free(noise);
    gp_scale_rows_fini(&rows);
}

static void ties_and_zeros_do_no_harm(void **state)
{
    (void)state;
    double range[2];
    gp_scale_rows rows = make_rows(600, true);
    for (size_t i = 0; i < rows.n; i++) rows.u[i] = floor(2 * rows.u[i]); // a third of them are 0
    gp_model *noise = fit(&rows, false, range);
    assert_non_null(noise);
    for (size_t i = 0; i < rows.n; i++) assert_true(isfinite(rows.ln_g[i]));
    CHECK(range[0] < range[1] && range[1] - range[0] < 10, "ties", "from %g to %g", range[0], range[1]);
    gp_model_free(noise);
    for (size_t i = 0; i < rows.n; i++) rows.u[i] = 0, rows.ln_g[i] = 0;
    assert_null(fit(&rows, false, range));
    for (size_t i = 0; i < rows.n; i++) rows.u[i] = 0.7, rows.ln_g[i] = 0;
    assert_null(fit(&rows, false, range)); // all alike
    gp_scale_rows_fini(&rows);
}

static void cross_fit(gp_scale_rows *rows, double *own, double *unseen, size_t row)
{
    const gp_scale_fitting how = {.options = &options, .workers = 1};
    double range[2];
    advgp_error err;
    for (size_t i = 0; i < rows->n; i++) rows->ln_g[i] = 0;
    gp_model *noise = fit(rows, false, range);
    assert_non_null(noise);
    CHECK_OK(gp_scale_cross_fit(&how, rows, &err), "cross fit");
    *own = rows->ln_g[row], *unseen = rows->ln_g_unseen[row];
    gp_model_free(noise);
}

static void what_has_not_seen_a_row_does_not_know_its_score(void **state)
{
    (void)state;
    enum { ROW = 17 };
    double own[2], unseen[2];
    gp_scale_rows rows = make_rows(300, true);
    for (size_t loud = 0; loud < 2; loud++) {
        if (loud) rows.u[ROW] *= 1e4;
        cross_fit(&rows, &own[loud], &unseen[loud], ROW);
    }
    const double moved = fabs(own[1] - own[0]), leaked = fabs(unseen[1] - unseen[0]);
    CHECK(moved > 0.2, "its own scale", "moved by %g", moved);
    CHECK(leaked == 0, "others", "moved by %g, its own by %g", leaked, moved); // its inputs are all that they know
    gp_scale_rows_fini(&rows);
}

static void of_one_noise_nothing_is_made(void **state)
{
    (void)state;
    double own, unseen, squares = 0;
    gp_scale_rows rows = make_rows(1000, false);
    cross_fit(&rows, &own, &unseen, 0);
    for (size_t i = 0; i < rows.n; i++) {
        double mean = 0;
        for (size_t j = 0; j < rows.n; j++) mean += rows.ln_g_unseen[j] / (double)rows.n;
        squares += (rows.ln_g_unseen[i] - mean) * (rows.ln_g_unseen[i] - mean) / (double)rows.n;
    }
    CHECK(sqrt(squares) < 0.1, "constant", "ln g has a spread of %g", sqrt(squares));
    gp_scale_rows_fini(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_scale_is_found),
        cmocka_unit_test(weights_are_heeded),
        cmocka_unit_test(ties_and_zeros_do_no_harm),
        cmocka_unit_test(what_has_not_seen_a_row_does_not_know_its_score),
        cmocka_unit_test(of_one_noise_nothing_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
