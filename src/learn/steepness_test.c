// steepness_test.c: along which sums of its columns a fitted function changes most: a function of a sum is steep along
// that sum alone, one of a single column along none that is not there already.
#include "data/encoding.h"
#include "data/table_test.h"
#include "learn/steepness.h"
#include "recipe/rows_test.h"

enum { ROWS = 800 };

static double sum_of_two(const double *x)
{
    return sin(x[0] + x[1]);
}

static double one_column(const double *x)
{
    return sin(2 * x[0]);
}

// b less twice a, and c less steeply.
static double two_sums(const double *x)
{
    return sin(x[1] - 2 * x[0]) + 0.5 * x[2];
}

// A process of rows whose columns are normal.
static gp_model *fit_function(double (*f)(const double *x))
{
    gp_rng rng = gp_rng_seeded(11, 0);
    t.x = doubles(ROWS * D), t.y = doubles(ROWS);
    for (size_t i = 0; i < ROWS * D; i++) t.x[i] = gp_rng_normal(&rng);
    for (size_t i = 0; i < ROWS; i++) t.y[i] = f(t.x + i * D) + 0.05 * gp_rng_normal(&rng);
    encode_table(ROWS, 1, "none");
    const gp_train_options o = {.m = 80,
                                .components = 1,
                                .kernel = &gp_kernel_ard_rbf,
                                .map = &gp_map_cholesky,
                                .trend = GP_TREND_LINEAR,
                                .schedule.batch = 400,
                                .schedule.steps = 150,
                                .schedule.seed = 1};
    gp_train_result result;
    return train_table(&o, NULL, &result);
}

// Directions of it by their weights [most x D], and the rows [ROWS x D] that they were found on; how many.
static size_t directions_of(double (*f)(const double *x), size_t most, double *weights, double *X)
{
    gp_model *model = fit_function(f);
    gp_predictor *predictor = NULL;
    size_t columns[D], found = 0, at = 0;
    double sum[D * D] = {0};
    advgp_error err = {0};
    for (size_t i = 0; i < t.shards->n_train; at += t.shards->rows[i++])
        must(gp_shards_read(t.shards, i, 0, t.shards->rows[i], X + at * D, t.y, NULL, &err), &err);
    assert_int_equal(at, ROWS);
    assert_int_equal(gp_steepness_columns(model->schema, columns), D);
    const gp_cmat rows = gp_cmat_of(X, ROWS, D);
    must(gp_predictor_new(&model->spec, model->theta, &predictor, &err), &err);
    must(gp_steepness_add(predictor, rows, D, columns, sum, &err), &err);
    must(gp_steepest(sum, D, columns, rows, most, weights, &found, &err), &err);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < i; j++) assert_true(fabs(sum[i * D + j] - sum[j * D + i]) < 1e-12);
    gp_predictor_free(predictor);
    gp_model_free(model);
    free_table();
    return found;
}

static double variance_of(const double *X, const double *weights)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0;
        for (size_t k = 0; k < D; k++) sum += X[i * D + k] * weights[k];
        mean += sum / ROWS, squares += sum * sum / ROWS;
    }
    return squares - mean * mean;
}

// Of length 1, and the first weight positive.
static void as_axis(double *weights)
{
    double length = 0;
    for (size_t k = 0; k < D; k++) length += weights[k] * weights[k];
    length = copysign(sqrt(length), weights[0]);
    for (size_t k = 0; k < D; k++) weights[k] /= length;
}

static void a_function_of_a_sum_is_steep_along_it(void **state)
{
    (void)state;
    double X[ROWS * D], weights[D * D];
    const size_t found = directions_of(sum_of_two, 1, weights, X);
    assert_int_equal(found, 1);
    assert_true(fabs(variance_of(X, weights) - 1) < 1e-9);
    as_axis(weights);
    if (!(fabs(weights[0] - sqrt(0.5)) < 0.03 && fabs(weights[1] - sqrt(0.5)) < 0.03 && fabs(weights[2]) < 0.05))
        fail_msg("(%g, %g, %g)", weights[0], weights[1], weights[2]);
}

static void the_steepest_is_the_first(void **state)
{
    (void)state;
    double X[ROWS * D], weights[D * D];
    const size_t found = directions_of(two_sums, D, weights, X);
    assert_true(found >= 1 && found <= D);
    for (size_t i = 0; i < found; i++) assert_true(fabs(variance_of(X, weights + i * D) - 1) < 1e-9);
    as_axis(weights);
    if (!(fabs(weights[0] - 2 / sqrt(5)) < 0.05 && fabs(weights[1] + 1 / sqrt(5)) < 0.05 && fabs(weights[2]) < 0.1))
        fail_msg("(%g, %g, %g)", weights[0], weights[1], weights[2]);
}

// Its first axis is the column. What is left is the noise of a fit, next to nothing steep.
static void a_function_of_one_column_has_none_of_it(void **state)
{
    (void)state;
    double X[ROWS * D], weights[D * D];
    const size_t found = directions_of(one_column, D, weights, X);
    for (size_t i = 0; i < found; i++) {
        as_axis(weights + i * D);
        if (fabs(weights[i * D]) > 0.1) fail_msg("direction %zu has %g of the column", i + 1, weights[i * D]);
    }
}

// By hand: a mean outer product of gradients along (1, 1, 0), then along the third column.
static void what_is_a_column_or_flat_is_left_out(void **state)
{
    (void)state;
    static const size_t columns[D] = {0, 1, 2};
    static const double G[D * D] = {1, 1, 0, 1, 1, 0, 0, 0, 5};
    double X[4 * D] = {1, 1, 0, -1, -1, 0, 1, -1, 1, -1, 1, -1}, weights[D * D];
    size_t found = 9;
    ASSERT_OK(gp_steepest(G, D, columns, gp_cmat_of(X, 4, D), D, weights, &found, err));
    assert_true(found == 1 && fabs(fabs(weights[0]) - sqrt(0.5)) < 1e-12);
    assert_true(fabs(weights[0] - weights[1]) < 1e-12 && weights[2] == 0);
    for (size_t i = 0; i < 4; i++) X[i * D + 1] = -X[i * D]; // their sum does not vary
    ASSERT_OK(gp_steepest(G, D, columns, gp_cmat_of(X, 4, D), D, weights, &found, err));
    assert_int_equal(found, 0);
    ASSERT_OK(gp_steepest(G, D, columns, gp_cmat_of(X, 4, D), 0, weights, &found, err));
    assert_int_equal(found, 0);
}

// Weights of columns that are not asked are 0.
static void other_columns_weigh_nothing(void **state)
{
    (void)state;
    static const size_t columns[] = {0, 2};
    static const double G[] = {2, 2, 2, 2};
    const double X[4 * D] = {1, 9, 1, -1, 8, -1, 1, 7, -1, -1, 6, 1};
    double weights[D];
    size_t found = 0;
    ASSERT_OK(gp_steepest(G, 2, columns, gp_cmat_of(X, 4, D), 1, weights, &found, err));
    assert_int_equal(found, 1);
    assert_true(weights[1] == 0 && weights[0] == weights[2] && fabs(fabs(weights[0]) - sqrt(0.5)) < 1e-12);
}

static void sums_are_of_numbers_times_and_means_of_targets(void **state)
{
    (void)state;
    gp_input inputs[] = {{.encoding = &gp_encoding_number, .first = 0, .n_encoded = 1},
                         {.encoding = &gp_encoding_onehot, .first = 1, .n_encoded = 3},
                         {.encoding = &gp_encoding_number, .first = 4, .n_encoded = 2, .indicator = true},
                         {.encoding = &gp_encoding_target, .first = 6, .n_encoded = 1},
                         {.encoding = &gp_encoding_time, .first = 7, .n_encoded = 3, .indicator = true},
                         {.encoding = &gp_encoding_onehot, .first = 10, .n_encoded = 2, .indicator = true}};
    const gp_schema schema = {.inputs = inputs, .n_inputs = 6, .d = 12};
    static const size_t want[] = {0, 4, 6, 7, 8};
    size_t columns[12];
    assert_int_equal(gp_steepness_columns(&schema, columns), 5);
    assert_memory_equal(columns, want, sizeof want);
}

static void failing_memory_is_told(void **state)
{
    (void)state;
    static const size_t columns[D] = {0, 1, 2};
    static const double G[D * D] = {1, 1, 0, 1, 1, 0, 0, 0, 5}, X[2 * D] = {1, 1, 0, -1, -1, 0};
    double weights[D];
    size_t found = 9;
    gp_alloc_fail_after(0);
    const advgp_status st = gp_steepest(G, D, columns, gp_cmat_of(X, 2, D), 1, weights, &found, NULL);
    gp_alloc_fail_after(-1);
    assert_true(st == ADVGP_ENOMEM && found == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_of_a_sum_is_steep_along_it),
        cmocka_unit_test(the_steepest_is_the_first),
        cmocka_unit_test(a_function_of_one_column_has_none_of_it),
        cmocka_unit_test(what_is_a_column_or_flat_is_left_out),
        cmocka_unit_test(other_columns_weigh_nothing),
        cmocka_unit_test(sums_are_of_numbers_times_and_means_of_targets),
        cmocka_unit_test(failing_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
