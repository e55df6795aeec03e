// start_test.c: where a run starts: greedy inducing inputs explain more than random ones, and a model carried to the
// units of other data is the same function.
#include "base/alloc.h"
#include "base/rng.h"
#include "cells/inducing.h"
#include "data/encoding.h"
#include "data/strings.h"
#include "fixture.h"
#include "learn/learner.h"
#include "learn/warmstart.h"
#include "linalg/interrupt.h"
#include "recipe/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void must(advgp_status st, const advgp_error *err)
{
    if (st != ADVGP_OK) fail_msg("%s: %s", advgp_status_name(st), err->text);
}

// ---- greedy ---------------------------------------------------------------------------------------------------------

enum { N = 300, D = 2, M = 25 };

static double kernel_at(const gp_kernel *kernel, double length, const double *x, const double *z)
{
    double s = 0;
    for (size_t k = 0; k < D; k++) s += (x[k] - z[k]) * (x[k] - z[k]) / (length * length);
    kernel->eval(gp_mat_of(&s, 1, 1), 1, NULL);
    return s;
}

// tr(K_nn - K_nm K_mm^-1 K_mn), plainly: elimination of the chosen rows from the whole matrix.
static double residual_trace(const gp_kernel *kernel, double length, const double *X, const size_t *rows, size_t m)
{
    static double K[N][N];
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) K[i][j] = kernel_at(kernel, length, X + i * D, X + j * D);
    for (size_t k = 0; k < m; k++) {
        const size_t p = rows[k];
        static double column[N];
        const double pivot = K[p][p];
        for (size_t i = 0; i < N; i++) column[i] = K[i][p];
        for (size_t i = 0; i < N && pivot > 1e-12; i++)
            for (size_t j = 0; j < N; j++) K[i][j] -= column[i] * column[j] / pivot;
    }
    double trace = 0;
    for (size_t i = 0; i < N; i++) trace += K[i][i];
    return trace;
}

static void greedy_rows_are_distinct_and_explain_more_than_random_ones(void **state)
{
    (void)state;
    gp_rng rng = gp_rng_seeded(5, 0);
    double X[N * D];
    for (size_t i = 0; i < N * D; i++) X[i] = gp_rng_normal(&rng);
    for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++)
        for (double length = 0.4; length < 4; length *= 2) {
            size_t rows[M], again[M], first[M];
            advgp_error err;
            must(gp_inducing_greedy(gp_cmat_of(X, N, D), M, *kernel, length, 1, rows, &err), &err);
            must(gp_inducing_greedy(gp_cmat_of(X, N, D), M, *kernel, length, 1, again, &err), &err);
            assert_memory_equal(rows, again, sizeof rows);
            for (size_t i = 0; i < M; i++) {
                first[i] = i; // rows of a random table are random
                assert_true(rows[i] < N);
                for (size_t j = 0; j < i; j++) assert_int_not_equal(rows[i], rows[j]);
            }
            const double greedy = residual_trace(*kernel, length, X, rows, M),
                         random = residual_trace(*kernel, length, X, first, M);
            if (!(greedy < random))
                fail_msg("%s, length %g: greedy leaves %g, random %g", (*kernel)->name, length, greedy, random);
        }
}

static void greedy_goes_on_when_nothing_is_left(void **state)
{
    (void)state;
    double X[40];
    size_t rows[40], seen[40] = {0};
    advgp_error err;
    for (size_t i = 0; i < 40; i++) X[i] = (double)i * 1e-4; // all but the same under a length-scale of 10
    must(gp_inducing_greedy(gp_cmat_of(X, 40, 1), 40, &gp_kernel_ard_rbf, 10, 1, rows, &err), &err);
    for (size_t i = 0; i < 40; i++) seen[rows[i]]++;
    for (size_t i = 0; i < 40; i++) assert_int_equal(seen[i], 1);
    gp_alloc_fail_after(0);
    assert_int_equal(gp_inducing_greedy(gp_cmat_of(X, 40, 1), 4, &gp_kernel_ard_rbf, 10, 1, rows, &err), ADVGP_ENOMEM);
    gp_alloc_fail_after(-1);
}

// ---- a model as a start ---------------------------------------------------------------------------------------------

enum { INPUTS = 3 };

// Numbers a, b, c in the order given, with means and scales that follow from the seed.
static gp_schema *make_schema(const char *order, uint64_t seed)
{
    gp_rng rng = gp_rng_seeded(seed, 7);
    gp_schema *s = gp_alloc(1, sizeof *s);
    advgp_error err;
    s->target = gp_copy_text("y");
    s->n_inputs = strlen(order);
    s->inputs = gp_alloc(s->n_inputs, sizeof *s->inputs);
    for (size_t i = 0; i < s->n_inputs; i++) {
        s->inputs[i].name = gp_text_copy(order + i, 1);
        s->inputs[i].encoding = &gp_encoding_number;
    }
    must(gp_schema_layout(s, &err), &err);
    for (size_t j = 0; j < s->d; j++) {
        s->x_mean[j] = 3 * gp_rng_normal(&rng);
        s->x_scale[j] = exp(gp_rng_normal(&rng));
    }
    s->y_mean = 10 * gp_rng_normal(&rng), s->y_scale = exp(gp_rng_normal(&rng));
    return s;
}

// The model has these sums of its inputs beside them.
static void add_directions(gp_schema *s, size_t n)
{
    static const double weights[] = {1, -0.8, 0.02, 0.3, 0.4, -1.2};
    advgp_error err;
    must(gp_schema_add_directions(s, n, weights, &err), &err);
}

static gp_model *make_model_with(gp_trend trend, size_t n_components, size_t n_directions, uint64_t seed)
{
    gp_rng rng = gp_rng_seeded(seed, 8);
    gp_component_spec parts[2];
    for (size_t b = 0; b < 2; b++) parts[b] = (gp_component_spec){&gp_kernel_matern52, &gp_map_cholesky, {.m = 4 + b}};
    gp_schema *schema = make_schema("abc", seed);
    if (n_directions) add_directions(schema, n_directions);
    const gp_feature_spec spec = {
        .d = schema->d, .n_components = n_components, .components = parts, .trend = trend, .jitter = 1e-6};
    gp_model *model;
    advgp_error err;
    must(gp_model_new(&spec, schema, NULL, &model, &err), &err);
    for (size_t i = 0; i < model->layout.size; i++) model->theta[i] = 0.3 * gp_rng_normal(&rng);
    for (size_t i = 0; i < model->layout.M; i++)
        model->theta[model->layout.U + gp_packed_index(model->layout.M, i, i)] = exp(0.5 * gp_rng_normal(&rng));
    return model;
}

static gp_model *make_model(gp_trend trend, size_t n_components, uint64_t seed)
{
    return make_model_with(trend, n_components, 0, seed);
}

// Mean and standard deviations at the point a, b, c in own units.
static void predict_at(const gp_feature_spec *spec, const double *theta, const gp_schema *s, const double *point,
                       double out[3])
{
    gp_predictor *p;
    gp_predict_work *work;
    advgp_error err;
    double x[INPUTS + GP_DIRECTIONS_MAX], mean, var_f, var_y;
    for (size_t j = 0; j < INPUTS; j++) x[j] = (point[s->x_names[j][0] - 'a'] - s->x_mean[j]) / s->x_scale[j];
    gp_schema_follow_directions(s, x);
    must(gp_predictor_new(spec, theta, &p, &err), &err);
    must(gp_predict_work_new(p, 0, &work, &err), &err);
    must(gp_predict(p, work, gp_cmat_of(x, 1, s->d), &mean, &var_f, &var_y, &err), &err);
    out[0] = s->y_mean + s->y_scale * mean;
    out[1] = s->y_scale * sqrt(var_f), out[2] = s->y_scale * sqrt(var_y);
    gp_predict_work_free(work);
    gp_predictor_free(p);
}

static void the_same_function_in_other_units(gp_trend trend, size_t n, size_t n_directions, const char *order)
{
    gp_model *model = make_model_with(trend, n, n_directions, 11 + n);
    gp_schema *other = make_schema(order, 99);
    double *theta;
    advgp_error err;
    if (trend == GP_TREND_NONE) // a shift would have no place
        other->y_mean = model->schema->y_mean;
    must(gp_schema_take_directions(other, model->schema, &err), &err);
    must(gp_warmstart(model, "m", other, &theta, &err), &err);
    gp_rng rng = gp_rng_seeded(3, (uint64_t)order[0]);
    for (int i = 0; i < 20; i++) {
        double point[INPUTS], before[3], after[3];
        for (size_t j = 0; j < INPUTS; j++) point[j] = 4 * gp_rng_normal(&rng);
        predict_at(&model->spec, model->theta, model->schema, point, before);
        predict_at(&model->spec, theta, other, point, after);
        for (int v = 0; v < 3; v++)
            if (!(fabs(after[v] - before[v]) <= 1e-9 * (1 + fabs(before[v]))))
                fail_msg("trend %d, %zu components, %zu directions, %s: %s %.15g became %.15g", (int)trend, n,
                         n_directions, order,
                         v == 0   ? "mean"
                         : v == 1 ? "sd_f"
                                  : "sd_y",
                         before[v], after[v]);
    }
    gp_free(theta);
    gp_schema_free(other);
    gp_model_free(model);
}

static void a_model_in_other_units_is_the_same_function(void **state)
{
    (void)state;
    static const char *const orders[] = {"abc", "cab"};
    for (int trend = GP_TREND_NONE; trend <= GP_TREND_LINEAR; trend++)
        for (size_t n = 1; n <= 2; n++)
            for (size_t n_directions = 0; n_directions <= 2; n_directions++)
                for (size_t k = 0; k < 2; k++)
                    the_same_function_in_other_units((gp_trend)trend, n, n_directions, orders[k]);
}

static void in_the_same_units_nothing_changes(void **state)
{
    (void)state;
    gp_model *model = make_model(GP_TREND_LINEAR, 2, 4);
    double *theta;
    advgp_error err;
    must(gp_warmstart(model, "m", model->schema, &theta, &err), &err);
    for (size_t i = 0; i < model->layout.size; i++)
        if (!(fabs(theta[i] - model->theta[i]) <= 1e-14 * (1 + fabs(theta[i])))) fail_msg("parameter %zu moved", i);
    gp_free(theta);
    gp_model_free(model);
}

static void refuse(const gp_model *model, gp_schema *other, const char *words)
{
    double *theta;
    advgp_error err = {0};
    assert_int_equal(gp_warmstart(model, "old.safetensors", other, &theta, &err), ADVGP_EDATA);
    assert_null(theta);
    if (!strstr(err.text, words) || !strstr(err.text, "old.safetensors")) fail_msg("no '%s' in: %s", words, err.text);
    gp_schema_free(other);
}

static void what_does_not_fit_is_named(void **state)
{
    (void)state;
    gp_model *model = make_model(GP_TREND_LINEAR, 1, 4);
    refuse(model, make_schema("ab", 1), "the model has a column 'c'");
    refuse(model, make_schema("abcd", 1), "the data have a column 'd'");
    refuse(model, make_schema("abx", 1), "'x'");
    gp_schema *other = make_schema("abc", 1);
    other->log_target = true;
    refuse(model, other, "without {log-target}");
    other = make_schema("abc", 1);
    other->target[0] = 'z';
    refuse(model, other, "it predicts 'y', and the target here is 'z'");
    other = make_schema("abc", 1);
    other->inputs[1].encoding = &gp_encoding_target;
    refuse(model, other, "'b' as target");
    other = make_schema("abc", 1);
    assert_int_equal(gp_warp_fit(&other->inputs[0].warp, (const double[]){1, 2}, 2, NULL), ADVGP_OK);
    refuse(model, other, "'a' by its ranks; say {warp} none");
    other = make_schema("abc", 1);
    other->x_names[2][0] = 'q'; // a category, say
    refuse(model, other, "an input 'q'");
    other = make_schema("abc", 1);
    for (long n = 0; n < 20; n++) {
        double *theta;
        advgp_error err = {0};
        const long live = gp_alloc_count().live;
        gp_alloc_fail_after(n);
        const advgp_status st = gp_warmstart(model, "m", other, &theta, &err);
        gp_alloc_fail_after(-1);
        if (st != ADVGP_OK) assert_int_equal(st, ADVGP_ENOMEM);
        gp_free(theta);
        assert_int_equal(gp_alloc_count().live, live);
    }
    gp_schema_free(other);
    gp_model_free(model);
}

static void directions_must_be_the_same(void **state)
{
    (void)state;
    advgp_error err;
    gp_model *model = make_model_with(GP_TREND_LINEAR, 1, 2, 4);
    gp_schema *other = make_schema("abx", 1); // a column of theirs is not there
    must(gp_schema_take_directions(other, model->schema, &err), &err);
    assert_int_equal(other->n_directions, 0);
    gp_schema_free(other);
    refuse(model, make_schema("abc", 1), "its 2 directions are not the 0 of the data");
    other = make_schema("abc", 1);
    add_directions(other, 2); // the same weights in other units are other sums
    refuse(model, other, "say {directions} none");
    gp_model_free(model);
    model = make_model(GP_TREND_LINEAR, 1, 4);
    other = make_schema("abc", 1);
    add_directions(other, 1);
    refuse(model, other, "its 0 directions are not the 1 of the data");
    gp_model_free(model);
}

static void a_long_choice_can_be_ended_a_short_one_is_waited_for(void **state)
{
    (void)state;
    enum { ROWS = 4000, COLUMNS = 100, CHOSEN = 500 };
    double *X = gp_alloc((size_t)ROWS * COLUMNS, sizeof *X);
    size_t rows[CHOSEN];
    gp_rng rng = gp_rng_seeded(6, 0);
    advgp_error err;
    assert_non_null(X);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) X[i] = gp_rng_normal(&rng);
    for (int is_long = 0; is_long < 2; is_long++) {
        patience p = {.until = 3};
        gp_interrupt scope;
        gp_interrupt_open(&scope, asked, &p);
        const advgp_status st = gp_inducing_greedy(gp_cmat_of(X, ROWS, COLUMNS), is_long ? CHOSEN : 5,
                                                   &gp_kernel_ard_rbf, 10, 1, rows, &err);
        assert_int_equal(gp_interrupt_close(&scope), is_long);
        assert_int_equal(st, is_long ? ADVGP_ESTOPPED : ADVGP_OK);
        assert_int_equal(p.asked, is_long ? 4 : 0);
    }
    gp_free(X);
}

// Two standardised rows are the root of 2 d apart: whatever d is, the kernel must see that they are related.
static void wide_tables_start_with_kernel_values_above_zero(void **state)
{
    (void)state;
    assert_float_equal(gp_train_start_length(1), 0.7, 1e-15);
    assert_float_equal(gp_train_start_length(9), 0.7, 1e-15);
    for (size_t d = 10; d < 10000; d *= 3) {
        const double length = gp_train_start_length(d);
        assert_true(exp(-(double)d / (length * length)) > 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_must_be_the_same),
        cmocka_unit_test(a_long_choice_can_be_ended_a_short_one_is_waited_for),
        cmocka_unit_test(greedy_rows_are_distinct_and_explain_more_than_random_ones),
        cmocka_unit_test(greedy_goes_on_when_nothing_is_left),
        cmocka_unit_test(wide_tables_start_with_kernel_values_above_zero),
        cmocka_unit_test(a_model_in_other_units_is_the_same_function),
        cmocka_unit_test(in_the_same_units_nothing_changes),
        cmocka_unit_test(what_does_not_fit_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
