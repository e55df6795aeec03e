// method_test.c: what is asked of every method, and what each is by its own name: least squares to LAPACK's digits, the
// mean, the exact process; and that sparse models of every map come to the exact one where they can.
#include "data/encode.h"
#include "fixture.h"
#include "learn/map_choice.h"
#include "method/method.h"
#include "options/option.h"
#include "store/scratch_test.h"

#include <unistd.h>

enum { N_MAX = 6000, D_MAX = 4 };

typedef struct table {
    size_t n, d;
    double x[N_MAX * D_MAX], y[N_MAX], w[N_MAX];
    gp_shards *shards;
    gp_schema *schema;
} table;
static table t;

static void must(advgp_status st, const advgp_error *err)
{
    if (st != ADVGP_OK) fail_msg("%s: %s", advgp_status_name(st), err->text);
}

// x, y and w of t as a user's table would come, through the data room.
static void load(bool weighted, const char *validation)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    gp_array arrays[D_MAX + 2];
    for (size_t k = 0; k < t.d; k++) arrays[k] = (gp_array){.name = names[k], .number = t.x + k, .stride = t.d};
    arrays[t.d] = (gp_array){.name = "y", .number = t.y, .stride = 1};
    arrays[t.d + 1] = (gp_array){.name = "w", .number = t.w, .stride = 1};
    advgp_error err;
    gp_source *source;
    gp_split split;
    gp_encoder *encoder;
    gp_memory_builder *builder;
    const gp_schema_options options = {.target = "y", .weights = weighted ? "w" : NULL};
    must(gp_source_memory_open(arrays, t.d + 1 + weighted, t.n, 0, &source, &err), &err);
    must(gp_split_parse(validation, 5, &split, &err), &err);
    must(gp_schema_fit(source, &options, &split, NULL, NULL, NULL, &t.schema, &err), &err);
    must(gp_encoder_new(t.schema, source, GP_ENCODE_TRAIN, &split, &encoder, &err), &err);
    must(gp_memory_builder_new(t.schema->d, gp_shards_suggest(t.schema->n_rows), weighted, true, 5, &builder, &err),
         &err);
    must(gp_encode_all(encoder, source, gp_memory_builder_add, builder, NULL, NULL, &err), &err);
    must(gp_memory_shards_take(builder, &t.shards, &err), &err);
    gp_encoder_free(encoder);
    gp_source_free(source);
}

static void make_rows(size_t n, size_t d, uint64_t seed)
{
    gp_rng rng = gp_rng_seeded(seed, 0);
    t.n = n, t.d = d;
    for (size_t i = 0; i < n; i++) {
        double *x = t.x + i * d, sum = 0;
        for (size_t k = 0; k < d; k++) x[k] = gp_rng_normal(&rng), sum += x[k] / (double)(k + 1);
        t.y[i] = 7 + sum + sin(2 * x[0]) + 0.2 * gp_rng_normal(&rng);
        t.w[i] = 1 + (double)gp_rng_below(&rng, 4);
    }
}

static void unload(void)
{
    gp_shards_free(t.shards);
    gp_schema_free(t.schema);
    t.shards = NULL, t.schema = NULL;
}

static gp_train_options small(void)
{
    return (gp_train_options){.noise = GP_NOISE_CONSTANT,
                              .m = 15,
                              .components = 1,
                              .kernel = &gp_kernel_ard_rbf,
                              .map = &gp_map_cholesky,
                              .trend = GP_TREND_LINEAR,
                              .schedule.seed = 5};
}

static gp_model *fit(const gp_method *method, const gp_train_options *o, gp_notes *notes, gp_train_result *result)
{
    advgp_error err = {0};
    gp_model *model = NULL;
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = o, .notes = notes};
    must(method->train(&request, &model, result, &err), &err);
    t.schema = NULL; // the model's now
    return model;
}

// Answers at rows of X in their own units.
static void predict(const gp_model *model, size_t n, const double *X, double *mean, double *sd)
{
    advgp_error err = {0};
    const size_t d = model->spec.d;
    const gp_schema *s = model->schema;
    gp_predictor *p = NULL;
    gp_predict_work *work = NULL;
    double *scaled = doubles(n * d), *var = doubles(n);
    for (size_t i = 0; i < n * d; i++) scaled[i] = (X[i] - s->x_mean[i % d]) / s->x_scale[i % d];
    must(gp_model_predictor(model, &p, &err), &err);
    must(gp_predict_work_new(p, 0, &work, &err), &err);
    must(gp_predict(p, work, gp_cmat_of(scaled, n, d), mean, NULL, var, &err), &err);
    for (size_t i = 0; i < n; i++) {
        mean[i] = s->y_mean + s->y_scale * mean[i];
        if (sd) sd[i] = s->y_scale * sqrt(var[i]);
    }
    gp_predict_work_free(work);
    gp_predictor_free(p);
    free(scaled), free(var);
}

// ---- tables and options ---------------------------------------------------------------------------------------------

static const gp_option *option_named(const char *name)
{
    for (size_t i = 0; i < gp_option_table_size; i++)
        if (!strcmp(gp_option_table[i].name, name)) return &gp_option_table[i];
    fail_msg("no option %s", name);
    return NULL;
}

static void expect_word(const char *option, size_t i, const char *name)
{
    size_t length = 0;
    const char *word = gp_option_word(option_named(option), i, &length);
    if (!name != !word || (name && (strlen(name) != length || memcmp(name, word, length) != 0)))
        fail_msg("word %zu of --%s is %.*s, the table has %s", i, option, (int)length, word ? word : "",
                 name ? name : "no more");
}

static void the_words_of_the_options_are_those_of_the_tables(void **state)
{
    (void)state;
    size_t i = 0;
    do expect_word("method", i, gp_methods[i] ? gp_methods[i]->name : NULL);
    while (gp_methods[i++]);
    i = 0;
    do expect_word("map", i, gp_maps[i] ? gp_maps[i]->name : NULL);
    while (gp_maps[i++]);
    i = 0;
    do expect_word("kernel", i, gp_kernels[i] ? gp_kernels[i]->name : NULL);
    while (gp_kernels[i++]);
    for (i = 0; gp_methods[i]; i++) {
        assert_ptr_equal(gp_method_named(gp_methods[i]->name), gp_methods[i]);
        for (const char *const *name = gp_methods[i]->options; name && *name; name++) {
            assert_non_null(option_named(*name));
            assert_true(gp_method_takes(gp_methods[i], *name));
        }
    }
    assert_null(gp_method_named("guess"));
    assert_null(gp_method_named(NULL));
    assert_true(gp_method_takes(&gp_method_advgp, "inducing"));
    assert_false(gp_method_takes(&gp_method_linear, "inducing"));
}

// ---- every method ---------------------------------------------------------------------------------------------------

static size_t n_evals;
static gp_train_eval last_eval;
static void on_eval(void *ctx, const gp_train_eval *e)
{
    (void)ctx;
    n_evals++;
    last_eval = *e;
}

// Weighted rows, held-out ones, a log of evaluations, a file: the same of all.
static void every_method_gives_a_whole_model(void **state)
{
    (void)state;
    for (const gp_method *const *method = gp_methods; *method; method++) {
        make_rows(900, 2, 11);
        load(true, "0.3");
        const gp_train_events events = {.eval = on_eval};
        const gp_train_options o = small();
        gp_model *model = NULL, *again = NULL;
        gp_train_result r;
        advgp_error err = {0};
        n_evals = 0;
        const gp_train_request request = {
            .shards = t.shards, .schema = t.schema, .sql = "SELECT 1", .options = &o, .events = &events};
        must((*method)->train(&request, &model, &r, &err), &err);
        t.schema = NULL;
        const char *name = (*method)->name;
        const gp_method *meant = gp_method_resolve(*method, &o, gp_shards_rows(t.shards, GP_TRAIN));
        CHECK(!strcmp(model->method, meant->name), name, "its model says %s", model->method);
        CHECK(n_evals > 0 && isfinite(last_eval.rmse) && isfinite(last_eval.mnlp), name, "no evaluation was told");
        CHECK(r.assessment.scored == GP_SCORED_HELD_OUT && r.stopped && isfinite(r.assessment.rmse) &&
                  isfinite(r.assessment.mnlp) && r.n_train > 500,
              name, "figures");
        CHECK(r.assessment.rmse <= 1.01 * model->baseline_mean, name, "%g is worse than the mean's %g",
              r.assessment.rmse, model->baseline_mean);
        for (size_t i = 0; i < 5; i++)
            CHECK(fabs(r.assessment.coverage[i] - gp_levels[i]) < 0.12, name, "the %g interval covers %g", gp_levels[i],
                  r.assessment.coverage[i]);
        CHECK(model->calibration.rows >= 100, name, "calibrated on %zu rows", model->calibration.rows);
        const char *path = scratch_path("m.safetensors");
        must(gp_model_save(model, path, &err), &err);
        must(gp_model_load(path, &again, &err), &err);
        double mean[2][50], sd[2][50];
        predict(model, 50, t.x, mean[0], sd[0]);
        predict(again, 50, t.x, mean[1], sd[1]);
        CHECK_ARRAY(50, mean[0], mean[1], 1e-12, name);
        CHECK_ARRAY(50, sd[0], sd[1], 1e-12, name);
        unlink(path);
        gp_model_free(model);
        gp_model_free(again);
        unload();
    }
}

static void memory_that_ends_is_survived_by_every_method(void **state)
{
    (void)state;
    gp_train_options o = small();
    o.m = 4, o.epochs = 2;
    make_rows(40, 2, 12);
    load(true, "0");
    const long live = gp_alloc_count().live;
    for (const gp_method *const *method = gp_methods; *method; method++)
        for (long n = 0;; n++) {
            advgp_error err = {0};
            gp_model *model = NULL;
            gp_alloc_fail_after(n);
            const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o};
            const advgp_status st = (*method)->train(&request, &model, NULL, &err);
            gp_alloc_fail_after(-1);
            if (st == ADVGP_OK) {
                model->schema = NULL; // it is needed once more
                gp_model_free(model);
                break;
            }
            if (st != ADVGP_ENOMEM) fail_msg("%s, call %ld: %s", (*method)->name, n, err.text);
            assert_int_equal(gp_alloc_count().live, live);
        }
    unload();
}

// ---- linear and mean ------------------------------------------------------------------------------------------------

static void linear_regression_has_the_digits_of_lapack(void **state)
{
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        make_rows(700, 4, 21);
        for (size_t i = 0; i < t.n; i++) t.x[4 * i + 2] += 0.9 * t.x[4 * i + 1]; // not orthogonal
        load(weighted, "0");
        gp_model *model = fit(&gp_method_linear, NULL, NULL, NULL);
        const gp_schema *s = model->schema;
        double X[700 * 5], y[700], want[5], *got = model->theta + model->layout.n_rest;
        for (size_t i = 0; i < t.n; i++) {
            const double root = weighted ? sqrt(t.w[i]) : 1;
            X[5 * i] = root;
            for (size_t k = 0; k < 4; k++) X[5 * i + 1 + k] = root * (t.x[4 * i + k] - s->x_mean[k]) / s->x_scale[k];
            y[i] = root * (t.y[i] - s->y_mean) / s->y_scale;
        }
        fixture_least_squares(700, 5, X, y, want);
        CHECK_ARRAY(5, want, got, 1e-10, weighted ? "weighted" : "plain");
        gp_model_free(model);
        unload();
    }
}

// In one dimension everything has a name: slope, residual variance by n - 2, and the variance of the line.
static void the_variance_of_a_line_is_the_one_of_the_books(void **state)
{
    (void)state;
    make_rows(50, 1, 22);
    load(false, "0");
    gp_model *model = fit(&gp_method_linear, NULL, NULL, NULL);
    double mx = 0, my = 0, sxx = 0, sxy = 0, rss = 0;
    for (size_t i = 0; i < 50; i++) mx += t.x[i] / 50, my += t.y[i] / 50;
    for (size_t i = 0; i < 50; i++) sxx += (t.x[i] - mx) * (t.x[i] - mx), sxy += (t.x[i] - mx) * (t.y[i] - my);
    for (size_t i = 0; i < 50; i++) {
        const double off = t.y[i] - my - sxy / sxx * (t.x[i] - mx);
        rss += off * off;
    }
    const double at[] = {-1, 0.3, 5};
    double mean[3], sd[3];
    predict(model, 3, at, mean, sd);
    for (size_t i = 0; i < 3; i++) {
        CHECK_CLOSE(my + sxy / sxx * (at[i] - mx), mean[i], 1e-12, "line");
        CHECK_CLOSE(sqrt(rss / 48 * (1 + 1.0 / 50 + (at[i] - mx) * (at[i] - mx) / sxx)), sd[i], 1e-10, "line");
    }
    gp_model_free(model);
    unload();
}

static void the_mean_is_the_mean(void **state)
{
    (void)state;
    make_rows(200, 2, 23);
    load(true, "0");
    gp_model *model = fit(&gp_method_mean, NULL, NULL, NULL);
    double n = 0, my = 0, syy = 0, mean[2], sd[2];
    for (size_t i = 0; i < 200; i++) n += t.w[i], my += t.w[i] * t.y[i];
    my /= n;
    for (size_t i = 0; i < 200; i++) syy += t.w[i] * (t.y[i] - my) * (t.y[i] - my);
    predict(model, 2, t.x, mean, sd);
    for (size_t i = 0; i < 2; i++) {
        CHECK_CLOSE(my, mean[i], 1e-12, "mean");
        CHECK_CLOSE(sqrt(syy / (n - 1) * (1 + 1 / n)), sd[i], 1e-10, "mean");
    }
    gp_model_free(model);
    unload();
}

// A column that is the sum of two others tells nothing new: the same predictions, and a note.
static void columns_that_depend_on_each_other_change_nothing(void **state)
{
    (void)state;
    double mean[2][40], sd[2][40], X[40 * 3];
    for (int k = 0; k < 2; k++) {
        make_rows(300, 3, 24);
        for (size_t i = 0; i < t.n; i++) t.x[3 * i + 2] = t.x[3 * i] + 2 * t.x[3 * i + 1];
        if (k) {
            t.d = 2;
            for (size_t i = 0; i < t.n; i++) t.x[2 * i] = t.x[3 * i], t.x[2 * i + 1] = t.x[3 * i + 1];
        }
        memcpy(X, t.x, sizeof X);
        load(false, "0");
        gp_notes notes = {0};
        gp_model *model = fit(&gp_method_linear, NULL, &notes, NULL);
        assert_int_equal(notes.n, !k);
        if (!k) assert_non_null(strstr(notes.items[0].text, "1 of 4 coefficients"));
        predict(model, 40, X, mean[k], sd[k]);
        gp_notes_fini(&notes);
        gp_model_free(model);
        unload();
    }
    CHECK_ARRAY(40, mean[1], mean[0], 1e-9, "collinear");
    CHECK_ARRAY(40, sd[1], sd[0], 1e-9, "collinear");
}

// ---- exact and the maps ---------------------------------------------------------------------------------------------

static void too_many_rows_for_exact_are_refused(void **state)
{
    (void)state;
    make_rows(5001, 1, 31);
    load(false, "0");
    advgp_error err = {0};
    gp_model *model = NULL;
    const gp_train_options o = small();
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o};
    const advgp_status st = gp_method_exact.train(&request, &model, NULL, &err);
    assert_int_equal(st, ADVGP_EDATA);
    assert_null(model);
    if (!strstr(err.text, "5001 training rows") || !strstr(err.text, "{method} advgp")) fail_msg("%s", err.text);
    unload();
}

static int at_once(void *ctx)
{
    (void)ctx;
    return 1;
}

static void an_interrupted_exact_fit_is_a_model(void **state)
{
    (void)state;
    make_rows(60, 2, 32);
    load(false, "0");
    advgp_error err = {0};
    gp_model *model = NULL;
    gp_train_result r;
    const gp_train_options o = small();
    const gp_train_events events = {.stop = at_once};
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o, .events = &events};
    must(gp_method_exact.train(&request, &model, &r, &err), &err);
    t.schema = NULL;
    assert_true(r.interrupted);
    assert_int_equal(r.stopped, GP_STOPPED_INTERRUPTED);
    gp_model_free(model);
    unload();
}

typedef struct told {
    const gp_unseen *unseen;
    double squares, w;
    size_t n;
} told;

static advgp_status add_squares(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    told *a = ctx;
    for (size_t i = 0; i < rows.X.rows; i++) {
        if (rows.w[i] == 0) continue;
        const double off = rows.y[i] - a->unseen->mean[a->n++];
        a->squares += rows.w[i] * off * off, a->w += rows.w[i];
    }
    return ADVGP_OK;
}

// Of few rows the figures are those of fits without them, and say so; more rows are left out in closed form.
static void figures_of_few_rows_come_from_fits_without_them(void **state)
{
    (void)state;
    const gp_train_options o = small();
    for (size_t few = 0; few < 2; few++) {
        make_rows(few ? 80 : 300, 2, 34);
        t.w[7] = 0;
        load(true, "none");
        gp_train_result r;
        gp_reader reader;
        advgp_error err;
        gp_model *model = fit(&gp_method_exact, &o, NULL, &r);
        assert_int_equal(r.assessment.scored, few ? GP_SCORED_REFITTED : GP_SCORED_LEFT_OUT);
        assert_int_equal(r.assessment.n_scored, t.n - 1);
        assert_int_equal(model->unseen.n, few ? t.n - 1 : 0);
        told a = {.unseen = &model->unseen};
        must(gp_reader_new(t.shards, 64, &reader, &err), &err);
        if (few) {
            must(gp_reader_visit(&reader, GP_TRAIN, 0, add_squares, &a, &err), &err);
            CHECK_CLOSE(r.assessment.rmse, model->schema->y_scale * sqrt(a.squares / a.w), 1e-10, "few rows");
        }
        gp_reader_fini(&reader);
        gp_model_free(model);
        unload();
    }
}

// Targets without noise: the covariance is next to singular, and there is a model all the same.
static void targets_without_noise_are_fitted(void **state)
{
    (void)state;
    make_rows(150, 1, 33);
    for (size_t i = 0; i < t.n; i++) t.x[i] = floor(t.x[i] * 8) / 8, t.y[i] = sin(t.x[i]); // and rows that repeat
    load(false, "0");
    gp_train_options o = small();
    gp_train_result r;
    gp_model *model = fit(&gp_method_exact, &o, NULL, &r);
    CHECK(r.assessment.rmse < 2e-3, "exact", "RMSE %g", r.assessment.rmse);
    gp_model_free(model);
    unload();
}

// Snelson's kind of table: one input, 200 rows, 15 or 16 inducing inputs. Cholesky and Nystrom of full rank must find
// the exact process, within 0.05 of its noise, everywhere in the data. Places of inducing inputs have several optima,
// and rounding decides in which of them a training ends: of two trainings the one with the better bound is asked.
static void sparse_models_find_the_exact_one(void **state)
{
    (void)state;
    static const gp_map *const maps[] = {&gp_map_cholesky, &gp_map_nystrom};
    gp_train_options o = small();
    o.trend = GP_TREND_NONE, o.noise = GP_NOISE_CONSTANT;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        gp_rng rng = gp_rng_seeded(seed, 7);
        double grid[100], exact[100], sparse[100];
        t.n = 200, t.d = 1;
        for (size_t i = 0; i < t.n; i++) {
            const double x = t.x[i] = 6 * gp_rng_uniform(&rng);
            t.y[i] = sin(2.2 * x) + 0.6 * cos(4.1 * x) * exp(-x / 4) + 0.25 * gp_rng_normal(&rng);
        }
        double lo = t.x[0], hi = t.x[0];
        for (size_t i = 0; i < t.n; i++) lo = fmin(lo, t.x[i]), hi = fmax(hi, t.x[i]);
        for (size_t i = 0; i < 100; i++) grid[i] = lo + (hi - lo) * (double)i / 99;
        load(false, "0");
        gp_model *model = fit(&gp_method_exact, &o, NULL, NULL);
        predict(model, 100, grid, exact, NULL);
        const double noise = exp(model->theta[0]) * model->schema->y_scale;
        gp_model_free(model);
        unload();
        for (size_t k = 0; k < 2; k++) {
            double gap = 0, best = INFINITY;
            o.map = maps[k];
            for (o.m = 15; o.m < 17; o.m++) {
                gp_train_result result = {0};
                load(false, "0");
                model = fit(&gp_method_advgp, &o, NULL, &result);
                if (result.neg_elbo < best) predict(model, 100, grid, sparse, NULL), best = result.neg_elbo;
                gp_model_free(model);
                unload();
            }
            for (size_t i = 0; i < 100; i++) gap = fmax(gap, fabs(sparse[i] - exact[i]));
            CHECK(gap <= 0.05 * noise, maps[k]->name, "seed %d: the means are %g noise deviations apart", (int)seed,
                  gap / noise);
        }
    }
}

static int stop_at_60(void *ctx)
{
    size_t *asked = ctx;
    return ++*asked >= 60;
}

// Every map, alone and in a sum, of full and of lower rank: better than a line, and the same bits after an
// interruption.
static void every_map_trains_and_resumes(void **state)
{
    (void)state;
    static const struct {
        const gp_map *map;
        size_t rank, groups, components;
    } cases[] = {{&gp_map_cholesky, 0, 0, 1}, {&gp_map_nystrom, 0, 0, 1},  {&gp_map_nystrom, 11, 0, 3},
                 {&gp_map_ensemble, 0, 0, 1}, {&gp_map_ensemble, 0, 2, 3}, {&gp_map_rvm, 0, 0, 1},
                 {&gp_map_rvm, 0, 0, 2}};
    const char *path = scratch_path("m.checkpoint");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gp_train_options o = small();
        o.m = 30, o.map = cases[i].map, o.rank = cases[i].rank, o.groups = cases[i].groups;
        o.components = cases[i].components, o.schedule.batch = 200, o.epochs = 30, o.trend = (gp_trend)(i % 3);
        o.noise = i ? GP_NOISE_CONSTANT : GP_NOISE_AUTO; // once is enough
        gp_model *models[2];
        gp_train_result r;
        make_rows(1100, 2, 41);
        load(false, "0.1");
        models[0] = fit(&gp_method_advgp, &o, NULL, &r);
        CHECK(r.assessment.rmse < 0.6 * models[0]->baseline_linear, o.map->name, "case %zu: RMSE %g, linear %g", i,
              r.assessment.rmse, models[0]->baseline_linear);
        unload();
        load(false, "0.1");
        advgp_error err = {0};
        size_t asked = 0;
        o.checkpoint = path;
        gp_model *part = NULL;
        const gp_train_events events = {.ctx = &asked, .stop = stop_at_60};
        const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o, .events = &events};
        must(gp_train(&request, &part, &r, &err), &err);
        t.schema = NULL;
        assert_true(r.interrupted);
        gp_model_free(part);
        unload();
        load(false, "0.1");
        o.resume = path;
        models[1] = fit(&gp_method_advgp, &o, NULL, &r);
        CHECK_BITS(models[0]->layout.size, models[0]->theta, models[1]->theta, o.map->name);
        o.rank = o.map->has_rank ? 12 : 0, o.groups = o.map->has_groups ? 3 : 0;
        unload();
        load(false, "0.1");
        if (o.rank || o.groups) { // another shape is another run
            const gp_train_request again = {.shards = t.shards, .schema = t.schema, .options = &o};
            const advgp_status st = gp_train(&again, &part, NULL, &err);
            CHECK(st == ADVGP_EINVAL, o.map->name, "%s %s", advgp_status_name(st), err.text);
        }
        gp_model_free(models[0]);
        gp_model_free(models[1]);
        unlink(path);
        unload();
    }
}

static void ranks_and_groups_are_shared_out(void **state)
{
    (void)state;
    advgp_error err = {0};
    size_t group_m[8];
    const gp_map_choice nystrom = {.map = &gp_map_nystrom, .rank = 11}, ensemble = {.map = &gp_map_ensemble};
    size_t m = 0, rank = 0;
    for (size_t b = 0; b < 4; b++) {
        const gp_map_shape s = gp_map_choice_shape(nystrom, 30, 4, b, group_m);
        assert_true(s.rank >= 1 && s.rank <= s.m && s.n_groups == 0);
        m += s.m, rank += s.rank;
    }
    assert_true(m == 30 && rank == 11);
    const gp_map_shape s = gp_map_choice_shape(ensemble, 30, 4, 0, group_m);
    assert_int_equal(s.n_groups, 4);
    assert_int_equal(group_m[0] + group_m[1] + group_m[2] + group_m[3], s.m);
    assert_int_equal(gp_map_choice_groups(ensemble, 2, 1), 2); // no more than there are
    CHECK_OK(gp_map_choice_check(nystrom, 30, 4, &err), "good");
    CHECK_OK(gp_map_choice_check(nystrom, 30, 0, &err), "not decided");
    CHECK_FAILS(ADVGP_EINVAL, gp_map_choice_check(nystrom, 10, 1, &err), "above m");
    CHECK_FAILS(ADVGP_EINVAL, gp_map_choice_check(nystrom, 30, 12, &err), "below components");
    CHECK_FAILS(ADVGP_EINVAL, gp_map_choice_check((gp_map_choice){&gp_map_rvm, 3, 0}, 30, 1, &err), "no ranks");
    CHECK_FAILS(ADVGP_EINVAL, gp_map_choice_check((gp_map_choice){&gp_map_rvm, 0, 3}, 30, 1, &err), "no groups");
    CHECK_FAILS(ADVGP_EINVAL, gp_map_choice_check((gp_map_choice){&gp_map_ensemble, 0, 9}, 30, 4, &err), "groups");
    assert_int_equal(gp_map_choice_within(nystrom, 7, 1).rank, 7);
    assert_int_equal(gp_map_choice_within((gp_map_choice){&gp_map_ensemble, 0, 9}, 30, 4).groups, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words_of_the_options_are_those_of_the_tables),
        cmocka_unit_test(every_method_gives_a_whole_model),
        cmocka_unit_test(memory_that_ends_is_survived_by_every_method),
        cmocka_unit_test(linear_regression_has_the_digits_of_lapack),
        cmocka_unit_test(the_variance_of_a_line_is_the_one_of_the_books),
        cmocka_unit_test(the_mean_is_the_mean),
        cmocka_unit_test(columns_that_depend_on_each_other_change_nothing),
        cmocka_unit_test(too_many_rows_for_exact_are_refused),
        cmocka_unit_test(an_interrupted_exact_fit_is_a_model),
        cmocka_unit_test(figures_of_few_rows_come_from_fits_without_them),
        cmocka_unit_test(targets_without_noise_are_fitted),
        cmocka_unit_test(sparse_models_find_the_exact_one),
        cmocka_unit_test(every_map_trains_and_resumes),
        cmocka_unit_test(ranks_and_groups_are_shared_out),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
