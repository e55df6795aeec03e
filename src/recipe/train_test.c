// train_test.c: whole trainings on small generated tables: better than the baselines, the same bits again and after an
// interruption, honest intervals, and few rows.
#include "base/alloc.h"
#include "cells/inducing.h"
#include "fixture.h"
#include "learn/checkpoint.h"
#include "recipe/rows_test.h"
#include "recipe/train.h"
#include "recipe/training.h"
#include "score/linear_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static gp_train_options small(void)
{
    return (gp_train_options){.m = 30,
                              .components = 1,
                              .kernel = &gp_kernel_ard_rbf,
                              .map = &gp_map_cholesky,
                              .trend = GP_TREND_LINEAR,
                              .schedule.batch = 200,
                              .epochs = 8,
                              .noise = GP_NOISE_CONSTANT,
                              .schedule.seed = 3};
}

static void a_model_beats_the_baselines_and_its_intervals_hold(void **state)
{
    (void)state;
    make_table(4000, 1, "0.2");
    gp_train_result r;
    gp_train_options o = small();
    o.epochs = 40, o.noise = GP_NOISE_AUTO;
    gp_model *model = train_table(&o, NULL, &r);
    assert_int_equal(r.assessment.scored, GP_SCORED_HELD_OUT);
    assert_true(model->baseline_linear < model->baseline_mean);
    if (!(r.assessment.rmse < 0.13))
        fail_msg("held-out RMSE %g, noise 0.1, linear %g", r.assessment.rmse, model->baseline_linear);
    for (size_t i = 0; i < 5; i++) {
        const double p = gp_levels[i], slack = 0.01 + 3 * sqrt(p * (1 - p) * (2 / 400.0));
        if (fabs(r.assessment.coverage[i] - p) > slack)
            fail_msg("the %g interval covers %g", p, r.assessment.coverage[i]);
    }
    const size_t judges = gp_shards_rows(t.shards, GP_STOP);
    assert_int_equal(r.assessment.n_scored, judges); // one half judges, in the end both calibrate
    assert_int_equal(model->calibration.rows, judges + gp_shards_rows(t.shards, GP_CALIBRATE));
    assert_true(isfinite(r.neg_elbo));
    assert_true(model->stats.n > 3000);
    gp_model_free(model);
    free_table();
}

static void the_same_seed_gives_the_same_bits(void **state)
{
    (void)state;
    const gp_train_options o = small();
    gp_model *models[2];
    for (int i = 0; i < 2; i++) {
        make_table(1500, 2, "0.1");
        models[i] = train_table(&o, NULL, NULL);
        free_table();
    }
    assert_memory_equal(models[0]->theta, models[1]->theta, models[0]->layout.size * sizeof(double));
    gp_model_free(models[0]);
    gp_model_free(models[1]);
}

// Asks to stop once the server has made version `at`; 0: at once.
typedef struct stopper {
    uint64_t version, at;
} stopper;

static void on_ps(void *ctx, const gp_ps_event *event)
{
    stopper *s = ctx;
    if (event->kind == GP_EVENT_ADVANCE) s->version = event->version;
}

static int stop_at(void *ctx)
{
    const stopper *s = ctx;
    return s->version >= s->at;
}

// Trains until a version is made; the options are then those of going on from the checkpoint.
static gp_train_result train_until(gp_train_options *o, uint64_t at, const char *checkpoint)
{
    stopper s = {.at = at};
    const gp_train_events events = {.ctx = &s, .stop = stop_at, .ps = on_ps};
    gp_train_result r;
    o->checkpoint = checkpoint, o->resume = NULL;
    gp_model_free(train_table(o, &events, &r));
    assert_true(r.interrupted);
    o->resume = checkpoint;
    return r;
}

// The name of a file that nobody else has; the caller removes it.
static void name_checkpoint(char *path)
{
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

// Every version is one of evaluation: none may be missing.
static void next_version(void *ctx, const gp_train_eval *eval)
{
    size_t *last = ctx;
    if (*last) assert_int_equal(eval->version, *last + 1);
    *last = eval->version;
}

static void a_resumed_run_ends_with_the_bits_of_an_undisturbed_one(void **state)
{
    (void)state;
    char path[] = "/tmp/advgp-checkpoint-XXXXXX";
    name_checkpoint(path);
    gp_train_options o = small();
    make_table(1500, 4, "0.1");
    gp_model *whole = train_table(&o, NULL, NULL);
    free_table();

    for (uint64_t at = 0; at <= 41; at += 20 + (at == 0)) { // before all, at an evaluation, between two, late
        make_table(1500, 4, "0.1");
        assert_in_range(train_until(&o, at, path).versions, at, at + 1);
        free_table();
        make_table(1500, 4, "0.1");
        gp_model *rest = train_table(&o, NULL, NULL);
        free_table();
        assert_memory_equal(whole->theta, rest->theta, whole->layout.size * sizeof(double));
        gp_model_free(rest);
    }

    // A checkpoint of another run is refused with the difference.
    o.schedule.batch = 100;
    advgp_error err = {0};
    gp_model *model;
    make_table(1500, 4, "0.1");
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o};
    assert_int_equal(gp_train(&request, &model, NULL, &err), ADVGP_EINVAL);
    assert_non_null(strstr(err.text, "batch"));
    free_table();
    gp_model_free(whole);
    unlink(path);
}

// Many held-out rows and few steps: workers always wait for the evaluator, so the checkpoint is of an evaluation
// version whose own evaluation has not begun.
static void a_run_that_waits_for_its_evaluator_resumes_to_the_same_bits(void **state)
{
    (void)state;
    char path[] = "/tmp/advgp-checkpoint-XXXXXX";
    name_checkpoint(path);
    gp_train_options o = small();
    o.schedule.batch = 100, o.epochs = 1, o.patience = 3;
    make_table(8000, 9, "0.5");
    gp_model *whole = train_table(&o, NULL, NULL);
    free_table();
    for (uint64_t at = 2; at <= 11; at += 3) {
        make_table(8000, 9, "0.5");
        train_until(&o, at, path);
        free_table();
        make_table(8000, 9, "0.5");
        gp_train_result r;
        size_t last = 0;
        gp_model *rest = train_table(&o, &(gp_train_events){.ctx = &last, .eval = next_version}, &r);
        free_table();
        assert_in_range(last, r.versions - 1, r.versions);
        assert_memory_equal(whole->theta, rest->theta, whole->layout.size * sizeof(double));
        gp_model_free(rest);
    }
    gp_model_free(whole);
    unlink(path);
}

static void few_rows_are_calibrated_by_leaving_one_out(void **state)
{
    (void)state;
    make_table(150, 5, "0.05"); // fewer than 400: none is held out
    gp_train_options o = small();
    o.m = 20, o.schedule.batch = 0, o.epochs = 200;
    gp_train_result r;
    gp_model *model = train_table(&o, NULL, &r);
    assert_int_equal(r.assessment.scored, GP_SCORED_LEFT_OUT);
    assert_int_equal(model->calibration.rows, 150);
    // On the training rows the calibrated intervals are as wide as new rows need, so they cover at least their level.
    assert_true(r.assessment.coverage[2] >= 0.88);
    gp_model_free(model);
    free_table();
}

static void pilots_choose_and_more_inducing_inputs_than_rows_are_reduced(void **state)
{
    (void)state;
    make_table(60, 6, "0");
    gp_train_options o = small();
    o.components = 0, o.m = 200, o.schedule.batch = 0, o.epochs = 100;
    gp_notes notes = {0};
    advgp_error err;
    gp_model *model;
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o, .notes = &notes};
    must(gp_train(&request, &model, NULL, &err), &err);
    t.schema = NULL;
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.items[0].text, "from 200 to 60"));
    gp_notes_fini(&notes);
    gp_model_free(model);
    free_table();
}

static int at_once(void *ctx)
{
    return ++*(int *)ctx;
}

static void linear_regression_is_the_least_squares_solution(void **state)
{
    (void)state;
    make_table(500, 7, "0");
    gp_reader reader;
    advgp_error err;
    gp_linear fit;
    double gradient[D + 1] = {0};
    must(gp_reader_new(t.shards, 64, &reader, &err), &err);
    int times = 0;
    assert_int_equal(gp_linear_fit(&reader, true, at_once, &times, &fit, &err), ADVGP_ESTOPPED);
    assert_int_equal(times, 1);
    assert_null(fit.block); // nothing of it is left
    must(gp_linear_fit(&reader, true, NULL, NULL, &fit, &err), &err);
    gp_batch rows;
    for (size_t i = 0; i < 500; i++) { // normal equations: the residual is orthogonal to every column
        must(gp_reader_ring(&reader, (gp_ring){0}, i, 1, &rows, &err), &err);
        const double off = rows.y[0] - gp_linear_predict(&fit, rows.X.p);
        gradient[0] += off;
        for (size_t k = 0; k < D; k++) gradient[1 + k] += off * rows.X.p[k];
    }
    for (size_t k = 0; k <= D; k++) assert_true(fabs(gradient[k]) < 1e-9);
    gp_linear line;
    must(gp_linear_line(&reader, false, &line, &err), &err); // the same without its covariance
    assert_memory_equal(fit.coef, line.coef, (D + 1) * sizeof(double));
    assert_memory_equal(&fit.variance, &line.variance, sizeof(double));
    gp_linear_fini(&line);
    gp_linear_fini(&fit);
    gp_reader_fini(&reader);
    free_table();
}

// Steps that end with a noise at which the bound is infinite: L-BFGS cannot begin there, the finish finds its own.
static advgp_status to_no_noise(gp_training *training, advgp_error *err)
{
    const advgp_status st = gp_training_versions(training, err);
    training->learner->theta[0] = -354; // exp(708): finite, and no sum of squares times it
    return st;
}

static void a_refinement_that_cannot_begin_is_told(void **state)
{
    (void)state;
    make_table(300, 9, "0");
    gp_train_options o = small();
    o.schedule.batch = 0, o.epochs = 0;
    gp_notes notes = {0};
    gp_model *model;
    gp_train_result r;
    advgp_error err;
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o, .notes = &notes};
    must(gp_training_run(&request, to_no_noise, &model, &r, &err), &err);
    t.schema = NULL;
    size_t told = 0;
    for (size_t i = 0; i < notes.n; i++)
        told += strstr(notes.items[i].text, "(L-BFGS) ended early: lbfgs: the function is not finite") != NULL;
    assert_int_equal(told, 1);
    assert_true(isfinite(r.neg_elbo) && r.assessment.rmse < model->baseline_mean);
    gp_notes_fini(&notes);
    gp_model_free(model);
    free_table();
}

// Fewer rows than columns: B^T (B B^T)^+ y and (B^T B)^+ B^T y are the same.
static void a_line_through_few_rows_is_that_of_minimum_norm(void **state)
{
    (void)state;
    enum { ROWS = 12, COLUMNS = 30 };
    gp_rng rng = gp_rng_seeded(5, 0);
    double X[ROWS * COLUMNS], y[ROWS], w[ROWS];
    unsigned char part[ROWS] = {0};
    size_t source_row[ROWS];
    for (size_t i = 0; i < ROWS * COLUMNS; i++) X[i] = gp_rng_normal(&rng);
    for (size_t i = 0; i < ROWS; i++)
        y[i] = gp_rng_normal(&rng), w[i] = 0.5 + gp_rng_uniform(&rng), part[i] = GP_TRAIN, source_row[i] = i;
    memcpy(X + COLUMNS, X, COLUMNS * sizeof *X); // a row twice, with another target: what is left is not 0
    advgp_error err;
    gp_memory_builder *builder;
    gp_reader reader;
    gp_linear fit, line;
    must(gp_memory_builder_new(COLUMNS, 2, true, true, 1, &builder, &err), &err);
    const gp_rows rows = {.n = ROWS, .d = COLUMNS, .X = X, .y = y, .w = w, .part = part, .source_row = source_row};
    must(gp_memory_builder_add(builder, &rows, &err), &err);
    gp_shards *shards;
    must(gp_memory_shards_take(builder, &shards, &err), &err);
    must(gp_reader_new(shards, 5, &reader, &err), &err);
    must(gp_linear_fit(&reader, true, NULL, NULL, &fit, &err), &err);
    must(gp_linear_line(&reader, false, &line, &err), &err);
    assert_int_equal(fit.rank, ROWS - 1);
    assert_int_equal(line.rank, fit.rank);
    for (size_t k = 0; k <= COLUMNS; k++) assert_true(fabs(fit.coef[k] - line.coef[k]) < 1e-9);
    assert_true(fabs(line.variance / fit.variance - 1) < 1e-9 && fabs(line.n - fit.n) < 1e-12);
    gp_linear_fini(&line);
    gp_linear_fini(&fit);
    gp_reader_fini(&reader);
    gp_shards_free(shards);
}

// Rows of `columns` inputs but that number `without`, as shards and the line through them, with left_out.
static void line_of(size_t n, size_t columns, const double *X, const double *y, const double *w, size_t without,
                    gp_shards **shards, gp_reader *reader, gp_linear *line)
{
    unsigned char part[64];
    size_t source_row[64], kept = 0;
    double *x = doubles(n * columns), targets[64], weights[64];
    for (size_t i = 0; i < n; i++) {
        if (i == without) continue;
        memcpy(x + kept * columns, X + i * columns, columns * sizeof *x);
        targets[kept] = y[i], weights[kept] = w[i], part[kept] = GP_TRAIN, source_row[kept] = kept;
        kept++;
    }
    advgp_error err;
    gp_memory_builder *builder;
    const gp_rows rows = {
        .n = kept, .d = columns, .X = x, .y = targets, .w = weights, .part = part, .source_row = source_row};
    must(gp_memory_builder_new(columns, 1, true, true, 1, &builder, &err), &err);
    must(gp_memory_builder_add(builder, &rows, &err), &err);
    must(gp_memory_shards_take(builder, shards, &err), &err);
    must(gp_reader_new(*shards, 64, reader, &err), &err);
    must(gp_linear_line(reader, true, line, &err), &err);
    free(x);
}

// Weights and a row of weight 0 included; more rows than columns, and fewer.
static void a_line_without_a_row_is_that_of_the_others(void **state)
{
    (void)state;
    enum { ROWS = 20, COLUMNS_MAX = 40 };
    static const size_t columns[] = {3, COLUMNS_MAX};
    gp_rng rng = gp_rng_seeded(9, 0);
    double X[ROWS * COLUMNS_MAX], y[ROWS], w[ROWS];
    for (size_t i = 0; i < ROWS * COLUMNS_MAX; i++) X[i] = gp_rng_normal(&rng);
    for (size_t i = 0; i < ROWS; i++) y[i] = gp_rng_normal(&rng), w[i] = i == 4 ? 0 : 0.5 + gp_rng_uniform(&rng);
    for (size_t c = 0; c < 2; c++) {
        gp_shards *shards, *others;
        gp_reader reader, other_reader;
        gp_linear line, other;
        gp_batch rows;
        advgp_error err;
        size_t row = 0;
        line_of(ROWS, columns[c], X, y, w, ROWS, &shards, &reader, &line);
        must(gp_reader_ring(&reader, (gp_ring){0}, 0, ROWS, &rows, &err), &err);
        for (size_t i = 0; i < ROWS; i++) { // in the order of the reader, which is shuffled
            size_t which = 0;
            while (y[which] != rows.y[i]) which++;
            if (w[which] == 0) continue;
            line_of(ROWS, columns[c], X, y, w, which, &others, &other_reader, &other);
            const double expected = gp_linear_predict(&other, X + which * columns[c]), says = line.left_out[row++];
            if (fabs(says - expected) > 1e-8) fail_msg("row %zu: %g, but the others say %g", which, says, expected);
            gp_linear_fini(&other);
            gp_reader_fini(&other_reader);
            gp_shards_free(others);
        }
        gp_linear_fini(&line);
        gp_reader_fini(&reader);
        gp_shards_free(shards);
    }
}

// y = x0 - x1 + noise: the steps end when it is clear that there is no more, unless somebody has patience.
static void a_run_that_finds_no_more_than_the_line_ends_early(void **state)
{
    (void)state;
    enum { ROWS = 8000 };
    gp_rng rng = gp_rng_seeded(4, 0);
    gp_train_options o = small();
    o.schedule.steps = 300, o.schedule.batch = 200, o.components = 1, o.cells = GP_CELLS_AUTO,
    o.trend = GP_TREND_LINEAR;
    for (size_t patient = 0; patient < 2; patient++) {
        gp_train_result r;
        t.x = doubles(ROWS * D), t.y = doubles(ROWS);
        for (size_t i = 0; i < ROWS; i++) {
            double *x = t.x + i * D;
            for (size_t k = 0; k < D; k++) x[k] = gp_rng_normal(&rng);
            t.y[i] = x[0] - x[1] + gp_rng_normal(&rng);
        }
        encode_table(ROWS, 1, "0.5");
        o.patience = patient ? SIZE_MAX : 1000;
        gp_model *model = train_table(&o, NULL, &r);
        assert_int_equal(r.stopped, patient ? GP_STOPPED_SCHEDULE : GP_STOPPED_LINE);
        assert_true(patient ? r.versions == 300 : r.versions >= 200 && r.versions < 220);
        assert_true(r.assessment.rmse < 1.01 * r.assessment.baseline_linear);
        gp_model_free(model);
        free_table();
    }
    make_table(ROWS, 3, "0.5"); // which is no line
    gp_train_result r;
    o.patience = 1000;
    gp_model_free(train_table(&o, NULL, &r));
    assert_int_equal(r.stopped, GP_STOPPED_SCHEDULE);
    free_table();
}

static size_t settled;

static advgp_status see_shape(gp_training *training, advgp_error *err)
{
    settled = training->m;
    return gp_fail(err, ADVGP_ESTOPPED, "seen");
}

// More inducing inputs than usual, where rows are many, most of the target is no noise, and nobody says how many.
static void many_rows_with_little_noise_have_more_inducing_inputs(void **state)
{
    (void)state;
    enum { ROWS = 84000, FEWER = 80000, USUAL = 40, MANY = 400 };
    const struct {
        size_t rows, m;
        bool open;
        double noise;
    } cases[] = {{ROWS, MANY, true, 0.1}, {ROWS, USUAL, true, 3}, {ROWS, USUAL, false, 0.1}, {FEWER, USUAL, true, 0.1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        gp_rng rng = gp_rng_seeded(5, 0);
        gp_train_options o = small();
        gp_training training;
        gp_train_result r;
        size_t rows;
        advgp_error err = {0};
        o.m = USUAL, o.m_open = cases[c].open, o.components = 0, o.cells = GP_CELLS_AUTO, o.start_rows = 2000;
        t.x = doubles(cases[c].rows * D), t.y = doubles(cases[c].rows);
        for (size_t i = 0; i < cases[c].rows; i++) {
            double *x = t.x + i * D;
            for (size_t k = 0; k < D; k++) x[k] = gp_rng_normal(&rng);
            t.y[i] = sin(x[0]) + x[1] + cases[c].noise * gp_rng_normal(&rng);
        }
        encode_table(cases[c].rows, 1, "0.01");
        const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o};
        const advgp_status st = gp_training_fit(&training, &request, see_shape, &r, &rows, &err);
        if (st != ADVGP_ESTOPPED) fail_msg("case %zu: %s", c, err.text);
        gp_training_fini(&training);
        if (settled != cases[c].m) fail_msg("case %zu: %zu inducing inputs", c, settled);
        free_table();
    }
}

static void training_without_memory_fails_cleanly_at_every_call(void **state)
{
    (void)state;
    gp_train_options o = small();
    o.epochs = 1, o.m = 5, o.schedule.batch = 50, o.noise = GP_NOISE_AUTO;
    make_table(60, 8, "0");
    const long live = gp_alloc_count().live;
    for (long n = 0;; n++) {
        advgp_error err = {0};
        gp_model *model = NULL;
        gp_alloc_fail_after(n);
        const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o};
        const advgp_status st = gp_train(&request, &model, NULL, &err);
        gp_alloc_fail_after(-1);
        if (st == ADVGP_OK) {
            gp_model_free(model);
            t.schema = NULL;
            break;
        }
        if (st != ADVGP_ENOMEM) fail_msg("call %ld: %s: %s", n, advgp_status_name(st), err.text);
        assert_int_equal(gp_alloc_count().live, live);
    }
    free_table();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_beats_the_baselines_and_its_intervals_hold),
        cmocka_unit_test(the_same_seed_gives_the_same_bits),
        cmocka_unit_test(a_resumed_run_ends_with_the_bits_of_an_undisturbed_one),
        cmocka_unit_test(a_run_that_waits_for_its_evaluator_resumes_to_the_same_bits),
        cmocka_unit_test(few_rows_are_calibrated_by_leaving_one_out),
        cmocka_unit_test(pilots_choose_and_more_inducing_inputs_than_rows_are_reduced),
        cmocka_unit_test(linear_regression_is_the_least_squares_solution),
        cmocka_unit_test(a_refinement_that_cannot_begin_is_told),
        cmocka_unit_test(a_line_through_few_rows_is_that_of_minimum_norm),
        cmocka_unit_test(a_line_without_a_row_is_that_of_the_others),
        cmocka_unit_test(a_run_that_finds_no_more_than_the_line_ends_early),
        cmocka_unit_test(many_rows_with_little_noise_have_more_inducing_inputs),
        cmocka_unit_test(training_without_memory_fails_cleanly_at_every_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
