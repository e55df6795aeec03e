// reweigh_test.c: the mean once more with weights: the same where the noise is the same, closer to the truth where it
// is known to vary, the same bits for any number of threads, with cells and without; left as it was where it does harm.
#include "base/alloc.h"
#include "learn/reweigh.h"
#include "recipe/rows_test.h"

#include <math.h>
#include <string.h>

// y = f(x) + s(x) e: half of the rows are as loud as `loud` says, the others quiet.
static double truth(const double *x)
{
    return sin(2 * x[0]) + 0.5 * x[1];
}

static void make_rows(size_t n, double loud)
{
    gp_rng rng = gp_rng_seeded(31, 0);
    t.x = doubles(n * D), t.y = doubles(n);
    for (size_t i = 0; i < n; i++) {
        double *x = t.x + i * D;
        for (size_t k = 0; k < D; k++) x[k] = 4 * gp_rng_uniform(&rng) - 2;
        t.y[i] = truth(x) + (x[2] < 0 ? loud : 0.05) * gp_rng_normal(&rng);
    }
    encode_table(n, 1, "0.7"); // held-out rows must tell a better mean from chance
}

static gp_model *train(gp_noise_choice noise, size_t cells)
{
    const gp_train_options o = {.m = 30,
                                .components = 1,
                                .kernel = &gp_kernel_ard_rbf,
                                .map = &gp_map_cholesky,
                                .trend = GP_TREND_LINEAR,
                                .noise = noise,
                                .cells = cells,
                                .epochs = 20,
                                .schedule.seed = 3};
    advgp_error err;
    gp_model *model;
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o};
    must(gp_train(&request, &model, NULL, &err), &err);
    t.schema = NULL;
    return model;
}

// Root mean square of mean - truth over the first rows.
static double error_of(const gp_model *model)
{
    gp_predictor *p = NULL;
    gp_predict_work *work = NULL;
    advgp_error err;
    double sum = 0, mean;
    const gp_schema *s = model->schema;
    const size_t n = 1000;
    must(gp_model_predictor(model, &p, &err), &err);
    must(gp_predict_work_new(p, 0, &work, &err), &err);
    for (size_t i = 0; i < n; i++) {
        double x[D];
        for (size_t k = 0; k < D; k++) x[k] = (t.x[i * D + k] - s->x_mean[k]) / s->x_scale[k];
        must(gp_predict(p, work, gp_cmat_of(x, 1, D), &mean, NULL, NULL, &err), &err);
        const double off = s->y_mean + s->y_scale * mean - truth(t.x + i * D);
        sum += off * off / (double)n;
    }
    gp_predict_work_free(work);
    gp_predictor_free(p);
    return sqrt(sum);
}

static void reweigh(gp_model *model, size_t threads, gp_reweighed *out)
{
    advgp_error err;
    gp_reader reader;
    must(gp_reader_new(t.shards, 700, &reader, &err), &err);
    must(gp_reweigh(model, &reader, threads, NULL, out, &err), &err);
    gp_reader_fini(&reader);
}

static void a_known_noise_weighs_the_mean(void **state)
{
    (void)state;
    for (size_t cells = 0; cells < 4; cells += 3) {
        make_rows(2000, 2);
        gp_model *model = train(GP_NOISE_VARYING, cells);
        const double weighted = error_of(model);
        CHECK(json_is_true(json_object_get(model->record, "weighted_mean")), "weights", "%zu cells: not taken", cells);
        CHECK(fabs(model->stats.n - (double)gp_shards_rows(t.shards, GP_TRAIN)) < 1e-6, "weights", "they sum to %g",
              model->stats.n);
        gp_model_free(model);
        free_table();
        make_rows(2000, 2);
        model = train(GP_NOISE_CONSTANT, cells);
        const double plain = error_of(model);
        CHECK(weighted < 0.97 * plain, "weights", "%zu cells: the mean is off by %g, and by %g without weights", cells,
              weighted, plain);
        gp_model_free(model);
        free_table();
    }
}

// By one factor for all rows: the weights are 1, and the posterior is what it was.
static void a_noise_that_is_the_same_changes_nothing(void **state)
{
    (void)state;
    for (size_t cells = 0; cells < 4; cells += 3) {
        make_rows(1500, 0.3);
        gp_model *model = train(GP_NOISE_VARYING, cells);
        gp_reweighed first, again;
        model->noise->schema->y_scale = 0, model->noise->schema->y_mean = 0.7;
        model->noise_range[0] = -50, model->noise_range[1] = 50;
        reweigh(model, 1, &first); // it may have been weighted before: this takes that away, or finds it better so
        gp_shards_free(first.shards);
        if (first.shards) {
            reweigh(model, 1, &again);
            CHECK(again.gain == 0 && !again.shards, "the same", "%zu cells: a gain of %g", cells, again.gain);
        } else {
            CHECK(first.gain <= 1, "the same", "%zu cells: a gain of %g", cells, first.gain);
        }
        gp_model_free(model);
        free_table();
    }
}

// A scale that says the contrary of what is true does harm, and the model stays to the last bit; for any number of
// threads it is the same harm.
static void what_does_harm_is_not_taken(void **state)
{
    (void)state;
    for (size_t cells = 0; cells < 4; cells += 3) {
        make_rows(1500, 1);
        gp_model *model = train(GP_NOISE_VARYING, cells);
        double *before = doubles(model->layout.size);
        gp_reweighed one, three;
        memcpy(before, model->theta, model->layout.size * sizeof *before);
        model->noise->schema->y_scale *= -1;
        reweigh(model, 1, &one);
        reweigh(model, 3, &three);
        CHECK(one.gain < -1 && !one.shards, "harm", "%zu cells: a gain of %g", cells, one.gain);
        CHECK_BITS(1, &one.gain, &three.gain, "threads");
        CHECK_BITS(model->layout.size, before, model->theta, "not taken");
        free(before);
        gp_model_free(model);
        free_table();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_noise_weighs_the_mean),
        cmocka_unit_test(a_noise_that_is_the_same_changes_nothing),
        cmocka_unit_test(what_does_harm_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
