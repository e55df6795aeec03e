// noise_test.c: noise that depends on the row: found where it is known, not taken where nothing says so, the same bits
// again, and nothing else changed.
#include "base/alloc.h"
#include "recipe/noise.h"
#include "recipe/rows_test.h"
#include "recipe/train.h"
#include "score/left_out.h"

#include <math.h>
#include <string.h>

static double true_scale(const double *x)
{
    return 0.1 + 0.4 / (1 + exp(-2 * x[0]));
}

// y = sin(x1) + s(x) e, of d = 3 inputs; laws of e: 0 normal, 1 exponential.
static void make_rows(size_t n, bool varying, bool skewed, const char *validation)
{
    gp_rng rng = gp_rng_seeded(8, 0);
    t.x = doubles(n * D), t.y = doubles(n);
    for (size_t i = 0; i < n; i++) {
        double *x = t.x + i * D;
        for (size_t k = 0; k < D; k++) x[k] = 4 * gp_rng_uniform(&rng) - 2;
        const double e = skewed ? -log(gp_rng_uniform(&rng)) - 1 : gp_rng_normal(&rng);
        t.y[i] = sin(x[1]) + (varying ? true_scale(x) : 0.3) * e;
    }
    encode_table(n, 1, validation);
}

static gp_model *train(gp_noise_choice noise, gp_train_result *result)
{
    const gp_train_options o = {.m = 20,
                                .components = 1,
                                .kernel = &gp_kernel_ard_rbf,
                                .map = &gp_map_cholesky,
                                .trend = GP_TREND_LINEAR,
                                .noise = noise,
                                .epochs = 30,
                                .schedule.seed = 3};
    advgp_error err;
    gp_model *model;
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o};
    must(gp_train(&request, &model, result, &err), &err);
    t.schema = NULL;
    return model;
}

// Root of the mean squared ln(s / true s) over rows.
static double scale_error(const gp_model *model)
{
    gp_predictor *p = NULL;
    gp_predict_work *work = NULL;
    advgp_error err;
    double sum = 0, mean, var_y;
    must(gp_model_predictor(model, &p, &err), &err);
    must(gp_predict_work_new(p, 0, &work, &err), &err);
    const size_t n = 2000;
    for (size_t i = 0; i < n; i++) {
        double x[D];
        for (size_t k = 0; k < D; k++) x[k] = (t.x[i * D + k] - model->schema->x_mean[k]) / model->schema->x_scale[k];
        must(gp_predict(p, work, gp_cmat_of(x, 1, D), &mean, NULL, &var_y, &err), &err);
        const double off = 0.5 * log(var_y) + log(model->schema->y_scale / true_scale(t.x + i * D));
        sum += off * off;
    }
    gp_predict_work_free(work);
    gp_predictor_free(p);
    return sqrt(sum / (double)n);
}

static void a_known_scale_is_found(void **state)
{
    (void)state;
    make_rows(20000, true, false, "0.2");
    gp_train_result constant, varying;
    gp_model *model = train(GP_NOISE_VARYING, &varying);
    const double error = scale_error(model);
    CHECK(error < 0.05, "normal", "s is off by %g", error);
    gp_model_free(model);
    free_table();
    make_rows(20000, true, false, "0.2");
    model = train(GP_NOISE_CONSTANT, &constant);
    assert_null(model->noise);
    gp_model_free(model);
    free_table();
    CHECK(varying.assessment.crps < 0.97 * constant.assessment.crps, "CRPS", "%g, constant noise %g",
          varying.assessment.crps, constant.assessment.crps);
    CHECK(varying.assessment.mnlp < constant.assessment.mnlp - 0.05, "MNLP", "%g, constant noise %g",
          varying.assessment.mnlp, constant.assessment.mnlp);
    CHECK(varying.assessment.winkler < 0.9 * constant.assessment.winkler, "Winkler", "%g, constant noise %g",
          varying.assessment.winkler, constant.assessment.winkler);
}

static void auto_takes_what_is_better_and_the_same_bits(void **state)
{
    (void)state;
    gp_model *models[2];
    for (size_t i = 0; i < 2; i++) {
        make_rows(6000, true, true, "0.2");
        models[i] = train(GP_NOISE_AUTO, NULL);
        free_table();
    }
    CHECK(models[0]->noise && models[1]->noise, "auto", "a scale of 0.1 to 0.5 was not taken");
    CHECK_BITS(models[0]->noise->layout.size, models[0]->noise->theta, models[1]->noise->theta, "auto");
    CHECK_BITS(GP_CALIBRATION_LEVELS, models[0]->calibration.q, models[1]->calibration.q, "auto");
    CHECK(!models[0]->calibration.groups == !models[1]->calibration.groups, "auto", "groups or none");
    if (models[0]->calibration.groups)
        CHECK_BITS(GP_GROUPS, models[0]->calibration.groups->tails[0], models[1]->calibration.groups->tails[0], "auto");
    for (size_t i = 0; i < 2; i++) gp_model_free(models[i]);
}

// Rows with weights beside a text column of one category, which says nothing: every second row is five times as loud
// and weighs nothing, the others weigh 1 or 2.
static void encode_weighted(size_t n)
{
    double *w = doubles(n);
    const char **text = malloc(n * sizeof *text);
    assert_non_null(text);
    gp_rng rng = gp_rng_seeded(9, 0);
    for (size_t i = 0; i < n; i++) {
        w[i] = i % 2 ? 0 : (double)(1 + i / 2 % 2), text[i] = "same";
        if (i % 2) t.y[i] += 5 * true_scale(t.x + i * D) * gp_rng_normal(&rng);
    }
    const gp_array arrays[] = {
        {.name = "a", .number = t.x, .stride = D},     {.name = "b", .number = t.x + 1, .stride = D},
        {.name = "c", .number = t.x + 2, .stride = D}, {.name = "kind", .text = text},
        {.name = "w", .number = w, .stride = 1},       {.name = "y", .number = t.y, .stride = 1}};
    advgp_error err;
    gp_source *source;
    gp_split split;
    gp_encoder *encoder;
    gp_memory_builder *builder;
    const gp_schema_options options = {.target = "y", .weights = "w"};
    must(gp_source_memory_open(arrays, 6, n, 0, &source, &err), &err);
    must(gp_split_parse("0.2", 1, &split, &err), &err);
    must(gp_schema_fit(source, &options, &split, NULL, NULL, NULL, &t.schema, &err), &err);
    assert_int_equal(t.schema->d, D);
    must(gp_encoder_new(t.schema, source, GP_ENCODE_TRAIN, &split, &encoder, &err), &err);
    must(gp_memory_builder_new(D, gp_shards_suggest(n), true, true, 1, &builder, &err), &err);
    must(gp_encode_all(encoder, source, gp_memory_builder_add, builder, NULL, NULL, &err), &err);
    must(gp_memory_shards_take(builder, &t.shards, &err), &err);
    gp_encoder_free(encoder);
    gp_source_free(source);
    free(w);
    free(text);
}

static void weights_and_one_category_are_heeded(void **state)
{
    (void)state;
    make_rows(20000, true, false, "0.2");
    gp_shards_free(t.shards);
    gp_schema_free(t.schema);
    encode_weighted(20000);
    gp_model *model = train(GP_NOISE_VARYING, NULL);
    assert_non_null(model->noise);
    const double error = scale_error(model);
    CHECK(error < 0.1, "weights", "s is off by %g", error);
    gp_model_free(model);
    free_table();
}

// A target that is cut at 0 for half of the rows.
static void make_cut_rows(size_t n)
{
    gp_rng rng = gp_rng_seeded(12, 0);
    t.x = doubles(n * D), t.y = doubles(n);
    for (size_t i = 0; i < n; i++) {
        double *x = t.x + i * D;
        for (size_t k = 0; k < D; k++) x[k] = 4 * gp_rng_uniform(&rng) - 2;
        t.y[i] = fmax(0, x[1] + 0.3 * gp_rng_normal(&rng));
    }
    encode_table(n, 1, "0.2");
}

// What is left of rows at the cut is as large as the scale says, and of another shape than the rest. Groups are taken,
// and no tenth of the prediction falls behind.
static void errors_of_two_shapes_are_taken_by_groups(void **state)
{
    (void)state;
    make_cut_rows(8000);
    gp_train_result result;
    gp_model *model = train(GP_NOISE_AUTO, &result);
    assert_non_null(model->calibration.groups);
    const json_t *alike = json_object_get(model->record, "crps_scores_alike");
    const json_t *grouped = json_object_get(model->record, "crps_scores_by_group");
    CHECK(json_real_value(grouped) < 0.99 * json_real_value(alike), "groups", "CRPS %g, alike %g",
          json_real_value(grouped), json_real_value(alike));
    for (size_t k = 0; k < GP_TENTHS; k++)
        CHECK(result.assessment.by_prediction[k].coverage > 0.8, "groups", "tenth %zu covers %g", k,
              result.assessment.by_prediction[k].coverage);
    gp_model_free(model);
    free_table();
    make_cut_rows(8000);
    model = train(GP_NOISE_CONSTANT, &result);
    assert_null(model->calibration.groups);
    gp_model_free(model);
    free_table();
}

// Where few rows are held out, or none, training rows tell, each left out in turn.
static void auto_takes_it_without_held_out_rows(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        bool varying, taken;
    } cases[] = {{600, true, true}, {600, false, false}, {300, true, true}, {80, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_rows(cases[i].n, cases[i].varying, false, "0.2");
        gp_model *model = train(GP_NOISE_AUTO, NULL);
        CHECK(!model->noise == !cases[i].taken, "auto", "%zu rows: %s", cases[i].n,
              model->noise ? "taken" : "not taken");
        gp_model_free(model);
        free_table();
    }
    make_rows(300, true, false, "0.2"); // none are held out
    gp_model *few = train(GP_NOISE_VARYING, NULL);
    assert_non_null(few->noise);
    gp_model_free(few);
    free_table();
}

// What the scale is fitted to: nothing where all residuals are 0, the same for scores and factors k times as large, and
// ties and single zeros do no harm.
static void logarithms_of_scores_keep_their_laws(void **state)
{
    (void)state;
    enum { N = 50 };
    double u[N] = {0}, ln_g[N] = {0}, sorted[N], psi[N], again[N];
    assert_false(gp_scale_logarithms(N, u, ln_g, sorted, psi));
    for (size_t i = 0; i < N; i++) u[i] = (double)(i % 7), ln_g[i] = 0.1 * (double)(i % 3);
    assert_true(gp_scale_logarithms(N, u, ln_g, sorted, psi));
    for (size_t i = 0; i < N; i++) {
        CHECK(isfinite(psi[i]), "ties and zeros", "psi %g", psi[i]);
        u[i] *= 3, ln_g[i] += log(3);
    }
    assert_true(gp_scale_logarithms(N, u, ln_g, sorted, again));
    for (size_t i = 0; i < N; i++) CHECK_CLOSE(psi[i], again[i], 1e-12, "three times as large");
}

// Of 60 rows nothing can be told, and a note says so.
static void what_cannot_vary_is_told(void **state)
{
    (void)state;
    make_rows(60, true, false, "none");
    gp_notes notes = {0};
    advgp_error err;
    gp_model *model;
    const gp_train_options o = {.m = 10,
                                .components = 1,
                                .kernel = &gp_kernel_ard_rbf,
                                .map = &gp_map_cholesky,
                                .trend = GP_TREND_LINEAR,
                                .noise = GP_NOISE_VARYING,
                                .schedule.steps = 20,
                                .schedule.seed = 3};
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o, .notes = &notes};
    must(gp_train(&request, &model, NULL, &err), &err);
    t.schema = NULL;
    assert_null(model->noise);
    CHECK(notes.n > 0 && strstr(notes.items[notes.n - 1].text, "the noise is the same for all rows"), "note",
          "%zu notes", notes.n);
    gp_notes_fini(&notes);
    gp_model_free(model);
    free_table();
}

// A small model of one noise, to which a scale is fitted afterwards.
static gp_model *fit_afterwards(gp_noise_choice noise, bool interrupted)
{
    make_table(1200, 4, "0.2");
    advgp_error err;
    gp_reader reader;
    gp_train_result result;
    gp_model *model = train(GP_NOISE_CONSTANT, &result);
    must(gp_reader_new(t.shards, 512, &reader, &err), &err);
    const gp_train_options o = {.kernel = &gp_kernel_ard_rbf, .noise = noise, .schedule.seed = 1};
    result.interrupted = interrupted;
    gp_score_groups *of_all;
    must(gp_noise_fit(model, &reader, &o, &result, NULL, &of_all, &err), &err);
    gp_free(of_all);
    gp_reader_fini(&reader);
    return model;
}

// Whoever has interrupted a training waits for its model, and not for another one.
static void an_interrupted_training_fits_no_noise(void **state)
{
    (void)state;
    gp_model *model = fit_afterwards(GP_NOISE_AUTO, true);
    assert_null(model->noise);
    assert_null(json_object_get(model->record, "crps_varying_noise")); // not even tried
    gp_model_free(model);
    free_table();
}

static void one_sigma_as_a_scale_model_is_constant_noise(void **state)
{
    (void)state;
    advgp_error err;
    gp_model *model = fit_afterwards(GP_NOISE_VARYING, false);
    assert_non_null(model->noise);
    // One sigma for every row, written as a scale model: the numbers of constant noise.
    gp_predictor *plain = NULL, *same = NULL;
    gp_predict_work *work[2] = {0};
    gp_model *noise = model->noise;
    double x[D] = {0.3, -0.4, 1}, mean, var[2];
    model->noise = NULL;
    must(gp_model_predictor(model, &plain, &err), &err);
    model->noise = noise;
    noise->schema->y_scale = 0, noise->schema->y_mean = 0;
    model->noise_range[0] = -50, model->noise_range[1] = 50;
    must(gp_model_predictor(model, &same, &err), &err);
    must(gp_predict_work_new(plain, 0, &work[0], &err), &err);
    must(gp_predict_work_new(same, 0, &work[1], &err), &err);
    must(gp_predict(plain, work[0], gp_cmat_of(x, 1, D), &mean, NULL, &var[0], &err), &err);
    must(gp_predict(same, work[1], gp_cmat_of(x, 1, D), &mean, NULL, &var[1], &err), &err);
    CHECK_CLOSE(var[0], var[1], 1e-10, "constant noise");
    for (size_t i = 0; i < 2; i++) gp_predict_work_free(work[i]);
    gp_predictor_free(plain);
    gp_predictor_free(same);
    gp_model_free(model);
    free_table();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interrupted_training_fits_no_noise),
        cmocka_unit_test(a_known_scale_is_found),
        cmocka_unit_test(auto_takes_what_is_better_and_the_same_bits),
        cmocka_unit_test(weights_and_one_category_are_heeded),
        cmocka_unit_test(errors_of_two_shapes_are_taken_by_groups),
        cmocka_unit_test(auto_takes_it_without_held_out_rows),
        cmocka_unit_test(logarithms_of_scores_keep_their_laws),
        cmocka_unit_test(what_cannot_vary_is_told),
        cmocka_unit_test(one_sigma_as_a_scale_model_is_constant_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
