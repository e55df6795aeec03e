// modelfile_test.c: a model comes back as it was saved, whatever its shape; a file that anybody touched does not.
#include "store/modelfile.h"

#include "base/text.h"
#include "fixture.h"
#include "score/distribution.h"
#include "store/form.h"
#include "store/rescue.h"
#include "store/scratch_test.h"

#include <fcntl.h>
#include <sys/resource.h>

// ---- models ---------------------------------------------------------------------------------------------------------

// A schema of d numeric columns with scales of all sizes.
static gp_schema *make_schema(size_t d, bool weighted, bool log_target)
{
    gp_buffer inputs = {0}, means = {0}, scales = {0}, text = {0};
    for (size_t j = 0; j < d; j++) {
        const char *comma = j ? "," : "";
        gp_buffer_add(&inputs,
                      "%s{\"name\":\"column %zu\",\"type\":\"number\",\"encoding\":\"number\",\"indicator\":false}",
                      comma, j);
        gp_buffer_add(&means, "%s%.17g", comma, 100 / (3.0 + (double)j));
        gp_buffer_add(&scales, "%s%.17g", comma, pow(10, (double)j - 2) / 3);
    }
    gp_buffer_add(&text,
                  "{\"version\":1,\"target\":\"y\",\"weights\":%s,\"log_target\":%s,\"missing\":\"impute\",\"y_mean\":"
                  "-7.25,\"y_scale\":0.3,\"rows\":20,\"weight\":21.5,\"inputs\":[%s],\"x_mean\":[%s],\"x_scale\":[%s]}",
                  weighted ? "\"w\"" : "null", log_target ? "true" : "false", inputs.p, means.p, scales.p);
    gp_schema *schema = NULL;
    advgp_error err = {0};
    CHECK_OK(gp_schema_from_json(text.p, text.n, &schema, &err), "schema");
    gp_buffer_fini(&inputs);
    gp_buffer_fini(&means);
    gp_buffer_fini(&scales);
    gp_buffer_fini(&text);
    return schema;
}

static gp_score_groups *make_groups(const double *quantiles)
{
    gp_score_groups *g = gp_alloc(1, sizeof *g);
    assert_non_null(g);
    for (size_t k = 0; k < GP_GROUPS_BY_MEAN - 1; k++) g->means[k] = (double)k / 3;
    for (size_t k = 0; k < GP_GROUPS_BY_MEAN; k++) g->sds[k][0] = 1 + (double)k, g->sds[k][1] = 2 + (double)k;
    for (size_t k = 0; k < GP_GROUPS; k++) {
        for (size_t i = 0; i < GP_CALIBRATION_LEVELS; i++) g->quantiles[k][i] = quantiles[i] * (1 + (double)k / 10);
        g->tails[k][0] = 0.2, g->tails[k][1] = 0.3 + (double)k;
    }
    return g;
}

// A model of the problem with statistics of its rows; calibrated on every third seed or so.
static gp_model *make_model(const problem *p, bool calibrated, const char *sql)
{
    gp_model *model = NULL;
    advgp_error err = {0};
    CHECK_OK(gp_model_new(&p->spec, make_schema(p->d, p->w != NULL, calibrated), sql, &model, &err), p->label);
    memcpy(model->theta, p->theta, p->layout.size * sizeof *p->theta);
    engine e = engine_new(p, 0);
    (void)run_pass(e, p->theta, p->rows, NULL, p->label);
    const gp_stats *s = gp_pass_stats(e.pass);
    gp_mat_copy(gp_ro(s->A), model->stats.A);
    memcpy(model->stats.b, s->b, p->layout.M * sizeof *s->b);
    model->stats.yy = s->yy, model->stats.n = s->n, model->stats.residual = s->residual;
    engine_free(e);
    model->baseline_mean = 3.5; // the linear one stays unknown
    json_object_set_new(model->record, "stopped", json_string("patience"));
    json_object_set_new(model->options, "inducing", json_integer(20));
    double scores[30];
    for (size_t i = 0; i < 30; i++) scores[i] = sin((double)i) * 3;
    if (calibrated) CHECK_OK(gp_calibration_fit(&model->calibration, scores, 30, &err), p->label);
    return model;
}

static gp_model *sample_of(const gp_map *map)
{
    problem p;
    problem_init(&p, 4,
                 (problem_options){.n = 12, .d = 2, .m = 5, .n_components = 2, .map = map, .trend = GP_TREND_LINEAR});
    gp_model *model = make_model(&p, true, "SELECT 1");
    problem_fini(&p);
    return model;
}

static gp_model *sample_model(void)
{
    return sample_of(&gp_map_cholesky);
}

static gp_model *sample_grouped(void)
{
    gp_model *model = sample_model();
    model->calibration.groups = make_groups(model->calibration.q);
    return model;
}

// With noise that depends on the row: of its two inputs and what is said of it, or of the inputs alone.
static gp_model *sample_scaled(size_t d)
{
    problem p;
    advgp_error err = {0};
    gp_model *model = sample_of(&gp_map_cholesky);
    problem_init(&p, 9, (problem_options){.n = 12, .d = d, .m = 4, .n_components = 1, .trend = GP_TREND_LINEAR});
    CHECK_OK(gp_model_new_noise(&p.spec, &model->noise, &err), "noise");
    memcpy(model->noise->theta, p.theta, p.layout.size * sizeof *p.theta);
    model->noise->schema->y_mean = -0.7, model->noise->schema->y_scale = 0.4;
    model->noise_range[0] = -3, model->noise_range[1] = 1;
    problem_fini(&p);
    return model;
}

static gp_model *sample_varying(void)
{
    return sample_scaled(2 + GP_SCALE_INPUTS);
}

static gp_model *sample_varying_alone(void)
{
    return sample_scaled(2);
}

static gp_model *sample_nystrom(void)
{
    return sample_of(&gp_map_nystrom);
}

static void set_method(gp_model *model, const char *name)
{
    snprintf(model->method, sizeof model->method, "%s", name);
    model->stats.n = 12, model->stats.yy = 11;
}

// Coefficients whose covariance has rank 2 of 3, as collinear columns leave it.
static gp_model *sample_linear(void)
{
    gp_model *model = NULL;
    advgp_error err = {0};
    CHECK_OK(gp_model_new_linear(2, GP_TREND_LINEAR, make_schema(2, false, false), NULL, &model, &err), "linear");
    static const double coef[] = {0.1, -0.5, 2}, U[] = {0.3, 0.1, -0.1, 0.2, 0.4, 0};
    model->theta[0] = -1;
    memcpy(model->theta + model->layout.n_rest, coef, sizeof coef);
    memcpy(model->theta + model->layout.U, U, sizeof U);
    for (size_t i = 0; i < 3; i++) model->stats.A.p[4 * i] = 12;
    set_method(model, "linear");
    return model;
}

static gp_model *sample_exact(void)
{
    gp_model *model = NULL;
    advgp_error err = {0};
    CHECK_OK(gp_model_new_exact(&gp_kernel_matern52, GP_TREND_LINEAR, 6, true, make_schema(2, true, false), NULL,
                                &model, &err),
             "exact");
    gp_rng rng = gp_rng_seeded(8, 0);
    for (size_t i = 0; i < 12; i++) model->x_train[i] = gp_rng_normal(&rng);
    for (size_t i = 0; i < 6; i++) model->alpha[i] = gp_rng_normal(&rng), model->w_train[i] = 1 + (double)i;
    for (size_t i = 0; i < model->layout.size; i++) model->theta[i] = 0.1 * gp_rng_normal(&rng) - 0.5;
    set_method(model, "exact");
    return model;
}

// Three cells of different sizes beside the sample.
static gp_model *sample_cells(void)
{
    gp_model *model = sample_model();
    advgp_error err = {0};
    static const size_t m[] = {4, 2, 3};
    const gp_cells_shape shape = {.n = 3,
                                  .d = model->spec.d,
                                  .M_g = model->layout.M,
                                  .kernel = &gp_kernel_matern32,
                                  .trend = GP_TREND_CONSTANT,
                                  .m = m};
    CHECK_OK(gp_cells_new(&shape, &model->cells, &err), "cells");
    gp_cells *c = model->cells;
    gp_rng rng = gp_rng_seeded(9, 0);
    for (size_t k = 0; k < shape.d; k++) c->scale[k] = 1 + (double)k;
    for (size_t i = 0; i < 3; i++) c->rows[i] = 10 * (double)(i + 1), c->jitter[i] = 1e-6;
    for (size_t i = 0; i < 3 * shape.d; i++) c->centres[i] = gp_rng_normal(&rng);
    for (size_t i = 0; i < c->n_theta; i++) c->theta[i] = 0.5 * gp_rng_normal(&rng);
    for (size_t i = 0; i < c->n_mu; i++) c->mu[i] = gp_rng_normal(&rng);
    for (size_t i = 0; i < c->n_U; i++) c->U[i] = 0.1 * gp_rng_normal(&rng);
    for (size_t i = 0; i < c->n_W; i++) c->W[i] = 0.1 * gp_rng_normal(&rng);
    return model;
}

typedef gp_model *(*sampler)(void);

static const char *file_of(sampler make)
{
    const char *path = scratch_path("sample.safetensors");
    advgp_error err = {0};
    gp_model *model = make();
    CHECK_OK(gp_model_save(model, path, &err), "sample");
    gp_model_free(model);
    return path;
}

static const char *sample_file(void) // with the sample model in it
{
    return file_of(sample_model);
}

// ---- round trips ----------------------------------------------------------------------------------------------------

static void check_same(const gp_model *a, const gp_model *b, const char *label)
{
    const size_t M = a->layout.M;
    CHECK(!memcmp(&a->layout, &b->layout, sizeof a->layout), label, "it came back changed");
    CHECK_BITS(a->layout.size, a->theta, b->theta, label);
    CHECK_BITS(M * M, a->stats.A.p, b->stats.A.p, label);
    CHECK_BITS(M, a->stats.b, b->stats.b, label);
    CHECK(a->stats.yy == b->stats.yy && a->stats.n == b->stats.n && a->stats.residual == b->stats.residual, label,
          "it came back changed");
    CHECK(a->spec.trend == b->spec.trend && a->spec.jitter == b->spec.jitter && a->spec.d == b->spec.d, label,
          "it came back changed");
    for (size_t c = 0; c < a->spec.n_components; c++)
        CHECK(a->components[c].kernel == b->components[c].kernel && a->components[c].map == b->components[c].map, label,
              "component %zu", c);
    gp_calibration of_a = a->calibration, of_b = b->calibration;
    gp_calibration_part parts[GP_CALIBRATION_PARTS_MAX], others[GP_CALIBRATION_PARTS_MAX];
    const size_t n_parts = gp_calibration_parts(&of_a, parts);
    CHECK(of_a.rows == of_b.rows && gp_calibration_parts(&of_b, others) == n_parts, label, "its calibration is lost");
    for (size_t k = 0; k < n_parts; k++) {
        assert_string_equal(parts[k].name, others[k].name);
        CHECK_BITS(parts[k].rows * (parts[k].cols ? parts[k].cols : 1), parts[k].data, others[k].data, parts[k].name);
    }
    CHECK_BITS(a->spec.d, a->schema->x_scale, b->schema->x_scale, label);
    CHECK(!strcmp(a->method, b->method) && !a->sql == !b->sql && (!a->sql || !strcmp(a->sql, b->sql)), label,
          "it came back changed");
    CHECK(a->baseline_mean == b->baseline_mean && isnan(b->baseline_linear), label, "it came back changed");
    CHECK(!a->cells == !b->cells, label, "it came back changed");
    if (a->cells) {
        const gp_cells *c = a->cells, *e = b->cells;
        CHECK(c->shape.n == e->shape.n && c->shape.kernel == e->shape.kernel && c->shape.trend == e->shape.trend, label,
              "its cells came back changed");
        CHECK_BITS(c->shape.d, c->scale, e->scale, label);
        CHECK_BITS(c->shape.n * c->shape.d, c->centres, e->centres, label);
        CHECK_BITS(c->n_theta, c->theta, e->theta, label);
        CHECK_BITS(c->n_mu, c->mu, e->mu, label);
        CHECK_BITS(c->n_U, c->U, e->U, label);
        CHECK_BITS(c->n_W, c->W, e->W, label);
    }
    CHECK(json_equal(a->record, b->record) && json_equal(a->options, b->options), label, "it came back changed");
}

static void check_same_predictions(const problem *p, const gp_model *a, const gp_model *b)
{
    double *one = doubles(3 * p->n), *two = doubles(3 * p->n);
    const gp_model *models[2] = {a, b};
    double *results[2] = {one, two};
    for (int k = 0; k < 2; k++) {
        gp_predictor *predictor = NULL;
        gp_predict_work *work = NULL;
        advgp_error err = {0};
        CHECK_OK(gp_model_predictor(models[k], &predictor, &err), p->label);
        CHECK_OK(gp_predict_work_new(predictor, 0, &work, &err), p->label);
        double *r = results[k];
        CHECK_OK(gp_predict(predictor, work, p->rows.X, r, r + p->n, r + 2 * p->n, &err), p->label);
        gp_predict_work_free(work);
        gp_predictor_free(predictor);
    }
    CHECK_BITS(3 * p->n, one, two, p->label);
    free(one), free(two);
}

static void a_model_comes_back_as_it_was(void **state)
{
    (void)state;
    const char *path = scratch_path("model.safetensors");
    uint64_t seed = 0;
    for (size_t k = 0; gp_kernels[k]; k++)
        for (size_t map = 0; gp_maps[map]; map++)
            for (size_t J = 1; J <= 3; J++)
                for (int trend = 0; trend < 3; trend++) {
                    seed++;
                    problem p;
                    problem_init(&p, seed,
                                 (problem_options){.n = 15,
                                                   .d = 1 + seed % 4,
                                                   .n_components = J,
                                                   .kernel = gp_kernels[k],
                                                   .map = gp_maps[map],
                                                   .trend = (gp_trend)trend,
                                                   .weighted = seed % 2,
                                                   .jitter = seed % 5 ? 0 : 1e-3});
                    gp_model *model = make_model(&p, seed % 3, seed % 4 ? NULL : "SELECT 'ü' FROM data"), *again = NULL;
                    advgp_error err = {0};
                    if (model->calibration.rows && seed % 12 == 1)
                        model->calibration.groups = make_groups(model->calibration.q);
                    CHECK_OK(gp_model_save(model, path, &err), p.label);
                    CHECK_OK(gp_model_load(path, &again, &err), p.label);
                    check_same(model, again, p.label);
                    check_same_predictions(&p, model, again);
                    gp_model_free(model);
                    gp_model_free(again);
                    problem_fini(&p);
                }
    unlink(path);
}

static void check_close_predictions(const gp_model *a, const gp_model *b, const char *label)
{
    static const double X[] = {0, 0, 1, -1, 0.5, 2};
    const gp_model *models[2] = {a, b};
    double got[2][9];
    for (int k = 0; k < 2; k++) {
        gp_predictor *predictor = NULL;
        gp_predict_work *work = NULL;
        advgp_error err = {0};
        CHECK_OK(gp_model_predictor(models[k], &predictor, &err), label);
        CHECK_OK(gp_predict_work_new(predictor, 2, &work, &err), label);
        CHECK_OK(gp_predict(predictor, work, gp_cmat_of(X, 3, 2), got[k], got[k] + 3, got[k] + 6, &err), label);
        gp_predict_work_free(work);
        gp_predictor_free(predictor);
    }
    CHECK_ARRAY(9, got[0], got[1], 1e-13, label);
}

// Every form: saved, loaded, saved and loaded once more.
static void every_form_comes_back(void **state)
{
    (void)state;
    static const sampler samplers[] = {sample_model,   sample_varying, sample_varying_alone, sample_cells,
                                       sample_nystrom, sample_linear,  sample_exact};
    for (size_t i = 0; i < sizeof samplers / sizeof *samplers; i++) {
        gp_model *model = samplers[i](), *once = NULL, *twice = NULL;
        const char *label = model->form->name, *path = scratch_path("form.safetensors");
        advgp_error err = {0};
        CHECK_OK(gp_model_save(model, path, &err), label);
        CHECK_OK(gp_model_load(path, &once, &err), label);
        CHECK_OK(gp_model_save(once, path, &err), label);
        CHECK_OK(gp_model_load(path, &twice, &err), label);
        CHECK(once->form == model->form && twice->form == model->form, label, "another form");
        CHECK(!strcmp(twice->method, model->method), label, "another method");
        CHECK(twice->stats.n == model->stats.n && twice->stats.yy == model->stats.yy, label, "other statistics");
        CHECK_BITS(model->layout.n_rest + model->layout.M, model->theta, twice->theta, label);
        check_close_predictions(model, twice, label);
        CHECK(!model->noise == !twice->noise, label, "its noise has changed");
        CHECK(model->form->n_kernels(model) == twice->form->n_kernels(twice), label, "other kernels");
        for (size_t k = 0; k < 2; k++)
            CHECK_CLOSE(model->form->slope(model, k), twice->form->slope(twice, k), 1e-12, label);
        for (size_t b = 0; b < model->form->n_kernels(model); b++) {
            const gp_kernel_view x = model->form->kernel(model, b), y = twice->form->kernel(twice, b);
            CHECK(!strcmp(x.kernel, y.kernel) && !strcmp(x.map, y.map) && x.m == y.m && x.M == y.M, label, "kernel");
        }
        gp_model_free(model);
        gp_model_free(once);
        gp_model_free(twice);
        unlink(path);
    }
}

static void a_trend_alone_is_a_model(void **state)
{
    (void)state;
    problem p;
    problem_init(&p, 3, (problem_options){.n = 10, .d = 3, .n_components = 0, .trend = GP_TREND_LINEAR});
    gp_model *model = make_model(&p, false, NULL), *again = NULL;
    memcpy(model->method, "linear", sizeof "linear");
    const char *path = scratch_path("linear.safetensors");
    advgp_error err = {0};
    CHECK_OK(gp_model_save(model, path, &err), p.label);
    CHECK_OK(gp_model_load(path, &again, &err), p.label);
    check_same(model, again, p.label);
    gp_model_free(model);
    gp_model_free(again);
    problem_fini(&p);
    unlink(path);
}

// Equal inducing inputs need jitter beyond the first rung: the file tells which, and a reader starts there.
static void the_jitter_that_held_is_in_the_file(void **state)
{
    (void)state;
    for (size_t map = 0; gp_maps[map]; map++) {
        problem p;
        problem_init(&p, 11,
                     (problem_options){.n = 8,
                                       .d = 2,
                                       .m = 6,
                                       .n_components = 1,
                                       .kernel = &gp_kernel_ard_rbf,
                                       .map = gp_maps[map],
                                       .full_rank = true,
                                       .jitter = -1});
        for (size_t j = 1; j < 6; j++) // Z follows ln sigma, ln a0 and ln eta
            memcpy(p.theta + 4 + 2 * j, p.theta + 4, 2 * sizeof *p.theta);
        gp_model *model = make_model(&p, false, NULL), *again = NULL;
        const char *path = scratch_path("jitter.safetensors");
        advgp_error err = {0};
        CHECK_OK(gp_model_save(model, path, &err), p.label);
        CHECK_OK(gp_model_load(path, &again, &err), p.label);
        CHECK(again->rungs[0] > 0 || gp_maps[map]->has_rho, p.label, "no rung was climbed");
        check_same_predictions(&p, model, again);
        gp_model_free(model);
        gp_model_free(again);
        problem_fini(&p);
        unlink(path);
    }
}

// ---- damage ---------------------------------------------------------------------------------------------------------

static void expect_refused(const char *path, const char *what)
{
    gp_model *model = NULL;
    advgp_error err = {0};
    advgp_status st = gp_model_load(path, &model, &err);
    CHECK(st == ADVGP_EFILE && err.status == st, what, "%s %s", advgp_status_name(st), err.text);
    CHECK(!model && !strncmp(err.text, path, strlen(path)), what, "the message does not begin with the file: %s",
          err.text);
}

static void no_beginning_of_a_file_is_a_model(void **state)
{
    (void)state;
    static char bytes[1 << 18];
    const char *path = sample_file();
    size_t n = scratch_load(path, bytes, sizeof bytes);
    CHECK(n > 1000 && n < sizeof bytes, "sample", "%zu bytes", n);
    while (n--) {
        if (truncate(path, (off_t)n) != 0) fail();
        char label[64];
        snprintf(label, sizeof label, "cut at %zu", n);
        expect_refused(path, label);
    }
    unlink(path);
}

static void no_flipped_bit_goes_unnoticed(void **state)
{
    (void)state;
    static char bytes[1 << 18];
    const char *path = sample_file();
    const size_t n = scratch_load(path, bytes, sizeof bytes);
    gp_rng rng = gp_rng_seeded(5, 0);
    int fd = open(path, O_RDWR);
    for (int i = 0; i < 6000; i++) { // every other one in the header, where flips are the most inventive
        size_t at = gp_rng_below(&rng, i % 2 ? n : 4000);
        char flipped = (char)(bytes[at] ^ (1 << gp_rng_below(&rng, 8)));
        char label[64];
        snprintf(label, sizeof label, "byte %zu", at);
        if (pwrite(fd, &flipped, 1, (off_t)at) != 1) fail();
        expect_refused(path, label);
        if (pwrite(fd, &bytes[at], 1, (off_t)at) != 1) fail();
    }
    close(fd);
    gp_model *model = NULL;
    advgp_error err = {0};
    CHECK_OK(gp_model_load(path, &model, &err), "restored");
    gp_model_free(model);
    unlink(path);
}

// Writes the file anew with right checksums after someone has edited a tensor (a copy of its numbers is given) or the
// metadata (the first `from` becomes `to`).
typedef struct edit {
    const char *tensor; // NULL: none
    size_t element;
    double value;
    bool drop;          // the tensor
    const char *rename; // the tensor
    const char *from, *to;
    const char *expected; // a piece of the message
} edit;

static void replace_text(gp_buffer *out, const char *text, size_t n, const char *from, const char *to)
{
    const char *at = from ? strstr(text, from) : NULL;
    if (from && !at) fail_msg("no %s in %s", from, text);
    const size_t before = at ? (size_t)(at - text) : n;
    gp_buffer_bytes(out, text, before);
    if (at) gp_buffer_add(out, "%s", to);
    if (at) gp_buffer_bytes(out, at + strlen(from), n - before - strlen(from));
}

static void rewrite(const char *path, const edit *e)
{
    gp_tensorfile *file = NULL;
    advgp_error err = {0};
    CHECK_OK(gp_tensorfile_read(path, &file, &err), path);
    size_t n = 0;
    gp_tensor kept[64];
    for (size_t i = 0; i < file->n; i++) {
        gp_tensor t = file->tensors[i];
        if (e->tensor && strcmp(t.name, e->tensor) == 0) {
            if (e->drop) continue;
            if (e->rename)
                t.name = e->rename;
            else
                ((double *)(uintptr_t)t.data)[e->element] = e->value;
        }
        kept[n++] = t;
    }
    char hex[32], tail[GP_TEXT_TAIL_BYTES + 1];
    gp_buffer once = {0}, twice = {0};
    replace_text(&once, file->metadata, strlen(file->metadata) - GP_TEXT_TAIL_BYTES, e->from, e->to);
    char *sum = strstr(once.p, "\"xxh3\":\"");
    gp_buffer_bytes(&twice, once.p, (size_t)(sum - once.p));
    snprintf(hex, sizeof hex, "\"xxh3\":\"%016llx\"", (unsigned long long)gp_tensors_xxh3(kept, n));
    gp_buffer_add(&twice, "%s%s", hex, sum + strlen(hex));
    gp_model_text_tail(twice.p, twice.n, tail);
    gp_buffer_add(&twice, "%s", tail);
    CHECK_OK(gp_tensorfile_write(path, kept, n, twice.p, &err), path);
    gp_buffer_fini(&once);
    gp_buffer_fini(&twice);
    gp_tensorfile_free(file);
}

static void expect_edit_refused(sampler make, const edit *e, size_t i)
{
    const char *path = file_of(make);
    rewrite(path, e);
    char label[200];
    snprintf(label, sizeof label, "edit %zu (%s, %s)", i, e->tensor ? e->tensor : "metadata", e->to ? e->to : "");
    gp_model *model = NULL;
    advgp_error err = {0};
    advgp_status st = gp_model_load(path, &model, &err);
    CHECK(st == ADVGP_EFILE, label, "%s %s", advgp_status_name(st), err.text);
    CHECK(strstr(err.text, e->expected), label, "'%s' is not in: %s", e->expected, err.text);
    unlink(path);
}

// The first component claims 19,000 inducing inputs, and sends them: a small file, since its rank stays.
static void grow(const char *path, size_t m)
{
    enum { LARGE = 19000 };
    gp_tensorfile *file = NULL;
    advgp_error err = {0};
    CHECK_OK(gp_tensorfile_read(path, &file, &err), path);
    double *zeros = calloc(LARGE * 16, sizeof *zeros);
    for (size_t i = 0; i < file->n; i++) {
        gp_tensor *t = &file->tensors[i];
        if (strcmp(t->name, "z.0") == 0 || strcmp(t->name, "t.0") == 0) t->shape[0] = LARGE, t->data = zeros;
    }
    char from[32], hex[32], tail[GP_TEXT_TAIL_BYTES + 1];
    gp_buffer once = {0}, twice = {0};
    snprintf(from, sizeof from, "\"m\":%zu", m);
    replace_text(&once, file->metadata, strlen(file->metadata) - GP_TEXT_TAIL_BYTES, from, "\"m\":19000");
    char *sum = strstr(once.p, "\"xxh3\":\"");
    gp_buffer_bytes(&twice, once.p, (size_t)(sum - once.p));
    snprintf(hex, sizeof hex, "\"xxh3\":\"%016llx\"", (unsigned long long)gp_tensors_xxh3(file->tensors, file->n));
    gp_buffer_add(&twice, "%s%s", hex, sum + strlen(hex));
    gp_model_text_tail(twice.p, twice.n, tail);
    gp_buffer_add(&twice, "%s", tail);
    CHECK_OK(gp_tensorfile_write(path, file->tensors, file->n, twice.p, &err), path);
    gp_buffer_fini(&once);
    gp_buffer_fini(&twice);
    gp_tensorfile_free(file);
    free(zeros);
}

static void a_small_file_does_not_take_the_memory(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); // its shadow memory counts as data, and does not fit under the limit
#endif
    advgp_error err = {0};
    gp_model *model = sample_nystrom();
    const size_t m = model->components[0].shape.m;
    const char *path = scratch_path("bulky");
    CHECK_OK(gp_model_save(model, path, &err), path);
    gp_model_free(model);
    grow(path, m);
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)4 << 30; // a quarter is less than the 2.9 GB of one K_mm, whatever machine this is
    assert_int_equal(setrlimit(RLIMIT_DATA, &few), 0);
    assert_int_equal(gp_model_load(path, &model, &err), ADVGP_EFILE);
    if (!strstr(err.text, "{trust}")) fail_msg("%s", err.text);
    CHECK_OK(gp_model_load_as(path, GP_SEEN, &model, &err), path);
    assert_true(model->unproven);
    gp_model_free(model);
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
    unlink(path);
}

static void a_forged_file_of_any_form_is_refused(void **state)
{
    (void)state;
    static const struct {
        sampler make;
        edit edit;
    } cases[] = {
        {sample_nystrom, {.tensor = "t.1", .element = 3, .value = 0.3, .expected = "not made of eigenvectors"}},
        {sample_nystrom, {.tensor = "t.0", .drop = true, .expected = "tensor 't.0' is missing"}},
        {sample_nystrom, {.tensor = "t.0", .value = NAN, .expected = "'t.0'"}},
        {sample_nystrom, {.tensor = "z.0", .value = 3, .expected = "not made of eigenvectors"}},
        {sample_nystrom,
         {.from = "\"form\":\"weights\"", .to = "\"form\":\"linear\"", .expected = "'coef_cov' is missing"}},
        {sample_nystrom, {.from = "\"form\":\"weights\"", .to = "\"form\":\"exact\"", .expected = "is not known"}},
        {sample_nystrom, {.from = "\"form\":\"weights\"", .to = "\"form\":\"forest\"", .expected = "a newer advgp"}},
        {sample_nystrom, {.from = "\"form\":\"weights\"", .to = "\"form\":7", .expected = "a newer advgp"}},
        {sample_varying, {.tensor = "noise.mu", .element = 1, .value = 30, .expected = "golden row"}},
        {sample_varying, {.tensor = "noise.y_mean", .value = 0.5, .expected = "golden row"}},
        {sample_varying, {.tensor = "noise.y_mean", .value = 5000, .expected = "its noise has no scale"}},
        {sample_varying, {.tensor = "noise.range", .element = 0, .value = 5, .expected = "its noise has no scale"}},
        {sample_varying, {.tensor = "noise.range", .drop = true, .expected = "tensor 'noise.range' is missing"}},
        {sample_varying, {.tensor = "noise.u", .drop = true, .expected = "tensor 'u' is missing"}},
        {sample_varying, {.tensor = "noise.z", .value = NAN, .expected = "'noise.z'"}},
        {sample_varying, {.from = "\"noise\":{", .to = "\"nolse\":{", .expected = "has no place"}},
        {sample_linear, {.tensor = "coef", .element = 1, .value = 3, .expected = "golden row"}},
        {sample_linear, {.tensor = "coef", .drop = true, .expected = "tensor 'coef' is missing"}},
        {sample_linear, {.tensor = "coef_cov", .element = 4, .value = 3, .expected = "golden row"}},
        {sample_linear, {.tensor = "coef_cov", .element = 4, .value = -3, .expected = "no covariance"}},
        {sample_linear, {.tensor = "coef_cov", .element = 1, .value = 1, .expected = "no covariance"}},
        {sample_linear, {.tensor = "coef_cov", .value = INFINITY, .expected = "'coef_cov'"}},
        {sample_linear, {.tensor = "ln_sigma", .value = 900, .expected = "the noise is out of range"}},
        {sample_linear, {.tensor = "stat_a", .drop = true, .expected = "tensor 'stat_a' is missing"}},
        {sample_linear,
         {.from = "\"trend\":\"linear\"", .to = "\"trend\":\"none\"", .expected = "coefficients of nothing"}},
        {sample_linear, {.from = "\"trend\":\"linear\"", .to = "\"trend\":\"constant\"", .expected = "was expected"}},
        {sample_linear, {.from = "\"d\":2", .to = "\"d\":999999", .expected = "was expected"}},
        {sample_linear, {.from = "\"form\":\"linear\"", .to = "\"form\":\"weights\"", .expected = "jitter"}},
        {sample_cells, {.tensor = "cell_mu", .element = 1, .value = 70, .expected = "golden row"}},
        {sample_cells, {.tensor = "cell_w", .element = 1, .value = NAN, .expected = "'cell_w'"}},
        {sample_cells, {.tensor = "cell_w", .drop = true, .expected = "tensor 'cell_w' is missing"}},
        {sample_cells, {.tensor = "cell_scale", .value = -1, .expected = "the scale of its cells is -1"}},
        {sample_cells, {.tensor = "cell_jitter", .element = 1, .value = 1, .expected = "the jitter of cell 1 is 1"}},
        {sample_cells, {.tensor = "cell_rows", .element = 2, .value = -3, .expected = "cell 2 has -3 rows"}},
        {sample_cells, {.tensor = "cell_theta", .element = 1, .value = 900, .expected = "out of range"}},
        {sample_cells, {.tensor = "cell_centres", .element = 1, .value = INFINITY, .expected = "'cell_centres'"}},
        {sample_cells, {.from = "\"m\":[4,2,3]", .to = "\"m\":[4,2,4]", .expected = "was expected"}},
        {sample_cells, {.from = "\"m\":[4,2,3]", .to = "\"m\":[4,5]", .expected = "was expected"}},
        {sample_cells, {.from = "\"m\":[4,2,3]", .to = "\"m\":[4,0,3]", .expected = "inducing inputs of its cells"}},
        {sample_cells, {.from = "\"m\":[4,2,3]", .to = "\"m\":[4,2,30000000000]", .expected = "of its cells"}},
        {sample_cells, {.from = "\"m\":[4,2,3]", .to = "\"m\":7", .expected = "its cells"}},
        {sample_cells, {.from = "\"cells\":{", .to = "\"rooms\":{", .expected = "has no place"}},
        {sample_cells,
         {.from = "\"cells\":{\"kernel\":\"", .to = "\"cells\":{\"kernel\":\"x", .expected = "its cells"}},
        {sample_exact, {.tensor = "x_train", .element = 2, .value = 9, .expected = "golden row"}},
        {sample_exact, {.tensor = "alpha", .element = 2, .value = 9, .expected = "golden row"}},
        {sample_exact, {.tensor = "alpha", .element = 2, .value = NAN, .expected = "'alpha'"}},
        {sample_exact, {.tensor = "w_train", .element = 2, .value = 70, .expected = "golden row"}},
        {sample_exact, {.tensor = "w_train", .element = 2, .value = 0, .expected = "row 2 has the weight 0"}},
        {sample_exact, {.tensor = "w_train", .element = 2, .value = -1, .expected = "row 2 has the weight -1"}},
        {sample_exact, {.tensor = "w_train", .drop = true, .expected = "tensor 'w_train' is missing"}},
        {sample_exact, {.tensor = "jitter", .value = 1, .expected = "its jitter"}},
        {sample_exact, {.tensor = "ln_sigma", .value = -900, .expected = "no Cholesky factor"}},
        {sample_exact, {.tensor = "ln_a0", .value = 900, .expected = "no Cholesky factor"}},
        {sample_exact, {.tensor = "ln_eta", .element = 1, .value = 3, .expected = "golden row"}},
        {sample_exact, {.tensor = "ln_trend", .element = 1, .value = 3, .expected = "golden row"}},
        {sample_exact, {.from = "\"weighted\":true", .to = "\"weighted\":false", .expected = "'w_train' has no place"}},
        {sample_exact, {.from = "\"weighted\":true", .to = "\"weighted\":1", .expected = "weighted"}},
        {sample_exact, {.from = "\"train_rows\":6", .to = "\"train_rows\":7", .expected = "was expected"}},
        {sample_exact, {.from = "\"train_rows\":6", .to = "\"train_rows\":0", .expected = "number of training rows"}},
        {sample_exact,
         {.from = "\"train_rows\":6", .to = "\"train_rows\":6000000", .expected = "number of training rows"}},
        {sample_exact, {.from = "\"kernel\":\"", .to = "\"kernel\":\"x", .expected = "is not known to this advgp"}},
        {sample_exact, {.from = "\"trend\":\"linear\"", .to = "\"trend\":\"none\"", .expected = "no place"}},
        {sample_exact, {.from = "\"d\":2", .to = "\"d\":3", .expected = "number of inputs"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_edit_refused(cases[i].make, &cases[i].edit, i);
}

static void a_forged_file_is_refused(void **state)
{
    (void)state;
    static const edit edits[] = {
        {.tensor = "mu", .element = 0, .value = 1e3, .expected = "golden row"},
        {.tensor = "mu", .element = 3, .value = NAN, .expected = "element 3 of tensor 'mu' is nan"},
        {.tensor = "u", .element = 0, .value = 50, .expected = "golden row"},
        {.tensor = "u", .element = 1, .value = INFINITY, .expected = "'u'"},
        {.tensor = "ln_sigma", .value = 0.77, .expected = "golden row"},
        {.tensor = "ln_sigma", .value = 1000, .expected = "the noise is out of range"},
        {.tensor = "ln_a0.0", .value = 1.9, .expected = "golden row"},
        {.tensor = "ln_eta.1", .element = 1, .value = 5, .expected = "golden row"},
        {.tensor = "ln_eta.1", .element = 1, .value = 5000, .expected = "length-scale of input 2"},
        {.tensor = "z.0", .element = 0, .value = 30, .expected = "golden row"},
        {.tensor = "ln_trend", .element = 1, .value = 2, .expected = "golden row"},
        {.tensor = "x_mean", .element = 0, .value = 1, .expected = "the scales of its tensors"},
        {.tensor = "y_scale", .value = 2, .expected = "the scales of its tensors"},
        {.tensor = "golden_x", .element = 5, .value = 1e4, .expected = "golden row"},
        {.tensor = "golden_y", .element = 4, .value = 0, .expected = "golden row"},
        {.tensor = "jitter", .value = 0.5, .expected = "the jitter of component 0"},
        {.tensor = "jitter", .value = 1e-2, .expected = "golden row"},
        {.tensor = "calibration", .element = 500, .value = -3, .expected = "its calibration falls at level 500"},
        {.tensor = "calibration_tails", .element = 1, .value = 0, .expected = "the tails of its calibration"},
        {.tensor = "group_means", .element = 3, .value = -3, .expected = "its group_means fall"},
        {.tensor = "group_sds", .element = 5, .value = -3, .expected = "its group_sds fall in row 2"},
        {.tensor = "group_calibration", .element = 5 * 1001 + 7, .value = 1e3, .expected = "falls in group 5"},
        {.tensor = "group_tails", .element = 13, .value = -1, .expected = "-1 in group 6"},
        {.tensor = "group_sds", .drop = true, .expected = "tensor 'group_sds' is missing"},
        {.tensor = "group_calibration", .drop = true, .expected = "'group_means' has no place"},
        {.tensor = "stat_n", .value = -1, .expected = "statistics are of no data"},
        {.tensor = "stat_a", .value = NAN, .expected = "'stat_a'"},
        {.tensor = "stat_b", .drop = true, .expected = "tensor 'stat_b' is missing"},
        {.tensor = "golden_x", .drop = true, .expected = "tensor 'golden_x' is missing"},
        {.tensor = "calibration", .drop = true, .expected = "tensor 'calibration' is missing"},
        {.tensor = "mu", .rename = "mv", .expected = "tensor 'mu' is missing"},
        {.from = "\"n_calibration\":30", .to = "\"n_calibration\":0", .expected = "'calibration' has no place"},
        {.from = "\"format\":2", .to = "\"format\":3", .expected = "format version 3 is newer than this advgp"},
        {.from = "\"format\":2", .to = "\"format\":0", .expected = "its format version"},
        {.from = "\"format\":2", .to = "\"format\":\"x\"", .expected = "no model of advgp"},
        {.from = "\"d\":2", .to = "\"d\":3", .expected = "was expected"},
        {.from = "\"d\":2", .to = "\"d\":0", .expected = "number of inputs"},
        {.from = "\"trend\":\"linear\"", .to = "\"trend\":\"constant\"", .expected = "was expected"},
        {.from = "\"trend\":\"linear\"", .to = "\"trend\":\"cubic\"", .expected = "its trend"},
        {.from = "\"jitter\":", .to = "\"jitter\":7,\"j\":", .expected = "jitter"},
        {.from = "\"components\":[", .to = "\"components\":[7,", .expected = "without kernel or map"},
        {.from = "\"components\":[", .to = "\"parts\":[", .expected = "list of components"},
        {.from = "\"kernel\":\"", .to = "\"kernel\":\"x", .expected = "is not known to this advgp"},
        {.from = "\"m\":", .to = "\"m\":9", .expected = "was expected"},
        {.from = "\"m\":", .to = "\"m\":99999", .expected = "the size of a component"},
        {.from = "\"m\":", .to = "\"m\":-", .expected = "the size of a component"},
        {.from = "\"schema\":{", .to = "\"schema\":{\"version\":2,\"old\":{", .expected = ""},
        {.from = "\"target\":\"y\",", .to = "", .expected = "no target"},
        {.from = "\"y_mean\":-7.25", .to = "\"y_mean\":-7.5", .expected = "the scales of its tensors"},
        {.from = "\"sql\":\"SELECT 1\"", .to = "\"sql\":1", .expected = "sql"},
        {.from = "\"method\":\"advgp\"", .to = "\"method\":7", .expected = "its method"},
        {.from = "\"options\":{", .to = "\"options\":7,\"o\":{", .expected = "record, options or baseline"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        const bool grouped = edits[i].tensor && strncmp(edits[i].tensor, "group", 5) == 0;
        expect_edit_refused(grouped ? sample_grouped : sample_model, &edits[i], i);
    }
    const char *path = sample_file();
    rewrite(path, &(edit){0}); // the forger's tools work: unchanged, it loads
    gp_model *model = NULL;
    advgp_error err = {0};
    CHECK_OK(gp_model_load(path, &model, &err), "not edited");
    gp_model_free(model);
    unlink(path);
}

// Any number of a model at the ends of what a double can say, golden rows and checksums made anew by whoever forged it:
// not written, refused with a sentence, or loaded; then an answer is finite or the row is said to be too far.
static double *any_number(gp_model *m, gp_rng *rng)
{
    gp_schema *s = m->schema;
    gp_calibration *c = &m->calibration;
    double *const single[] = {&s->y_mean,          &s->y_scale,    &m->stats.n,       &m->stats.yy,
                              &m->stats.residual,  c->tails,       c->tails + 1,      &m->baseline_mean,
                              &m->baseline_linear, m->noise_range, m->noise_range + 1};
    switch (gp_rng_below(rng, 6)) {
    case 0:
        return single[gp_rng_below(rng, sizeof single / sizeof *single)];
    case 1:
        return s->x_mean + gp_rng_below(rng, s->d);
    case 2:
        return s->x_scale + gp_rng_below(rng, s->d);
    case 3:
        return c->q + (gp_rng_below(rng, 2) ? 1 : GP_CALIBRATION_LEVELS - 2);
    case 4:
        return m->noise ? m->noise->theta + gp_rng_below(rng, m->noise->layout.size) : &s->y_mean;
    default:
        return m->theta + gp_rng_below(rng, m->layout.size);
    }
}

static void a_forged_model_answers_or_is_refused(void **state)
{
    (void)state;
    static const sampler samplers[] = {sample_model,   sample_varying, sample_varying_alone, sample_cells,
                                       sample_nystrom, sample_linear,  sample_exact,         sample_grouped};
    static const double hostile[] = {1e308, -1e308, 1e300, 1e160, -1e160, 1e-160, 5e-324, 0,        -1,
                                     700,   -700,   300,   -300,  40,     -40,    NAN,    INFINITY, -INFINITY};
    static const double X[] = {0, 0, 1, -1, 1e100, -1e160};
    enum { SAMPLERS = sizeof samplers / sizeof *samplers, FORGED = 2264, ROWS = 3 };
    const char *path = scratch_path("hostile.safetensors");
    gp_rng rng = gp_rng_seeded(35, 0);
    size_t n_written = 0, n_loaded = 0;
    for (size_t i = 0; i < FORGED; i++) {
        gp_model *model = samplers[i % SAMPLERS](), *loaded = NULL;
        advgp_error err = {0};
        *any_number(model, &rng) = hostile[gp_rng_below(&rng, sizeof hostile / sizeof *hostile)];
        advgp_status st = gp_model_save(model, path, &err);
        CHECK(st == ADVGP_OK || err.text[0], "forged", "%zu: no sentence", i);
        gp_model_free(model);
        if (st != ADVGP_OK) continue;
        n_written++;
        st = gp_model_load(path, &loaded, &err);
        CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && err.text[0]), "forged", "%zu: %s", i, err.text);
        if (st != ADVGP_OK) continue;
        n_loaded++;
        gp_predictor *predictor = NULL;
        gp_predict_work *work = NULL;
        double told[3 * ROWS];
        CHECK_OK(gp_model_predictor(loaded, &predictor, &err), "forged");
        CHECK_OK(gp_predict_work_new(predictor, 1, &work, &err), "forged");
        for (size_t k = 0; k < ROWS; k++) {
            st = gp_predict(predictor, work, gp_cmat_of(X + 2 * k, 1, 2), told, told + 1, told + 2, &err);
            CHECK(st == ADVGP_ENUMERIC || (st == ADVGP_OK && gp_all_finite(3, told)), "forged", "%zu, row %zu: %s", i,
                  k, err.text);
        }
        gp_predict_work_free(work);
        gp_predictor_free(predictor);
        gp_model_free(loaded);
    }
    CHECK(n_written > FORGED / 8 && n_loaded > FORGED / 8, "forged", "%zu written, %zu loaded", n_written, n_loaded);
    unlink(path);
}

static void a_foreign_file_is_refused(void **state)
{
    (void)state;
    const char *path = scratch_path("foreign");
    const double number = 1;
    const gp_tensor one = {.name = "weight", .dtype = GP_F64, .rank = 0, .data = &number};
    static const char *const metadata[] = {
        NULL, "", "no JSON", "{}", "[1]", "{\"format\":1}", "{\"format\":1,\"d\":1}"};
    for (size_t i = 0; i < sizeof metadata / sizeof *metadata; i++) {
        assert_int_equal(gp_tensorfile_write(path, &one, 1, metadata[i], NULL), ADVGP_OK);
        expect_refused(path, metadata[i] ? metadata[i] : "none");
    }
    scratch_save(path, "x,y\n1,2\n", 8);
    expect_refused(path, "a table");
    scratch_save(path, "", 0);
    expect_refused(path, "an empty file");
    unlink(path);
    expect_refused(scratch, "a folder");
    gp_model *model = NULL;
    advgp_error err = {0};
    assert_int_equal(gp_model_load(path, &model, &err), ADVGP_EDATA); // one that is not there is not damaged
    assert_non_null(strstr(err.text, "cannot open: No such file"));
}

static void expect_rescued(const gp_model *model, const char *beside, const char *into)
{
    char kept[4096];
    advgp_error err = {0};
    gp_model *again = NULL;
    assert_int_equal(gp_model_save_or_rescue(model, "no/such/folder/m", beside, kept, sizeof kept, &err), ADVGP_EIO);
    CHECK(!strncmp(kept, into, strlen(into)) && strstr(kept, "/advgp-rescued-"), into, "%s", kept);
    CHECK(strstr(err.text, "no/such/folder/m") && strstr(err.text, kept), into, "%s", err.text);
    assert_int_equal(gp_model_load(kept, &again, &err), ADVGP_OK);
    gp_model_free(again);
    unlink(kept);
}

static void a_model_without_a_place_is_written_to_another(void **state)
{
    (void)state;
    char kept[4096], beside[600];
    advgp_error err = {0};
    gp_model *model = sample_of(&gp_map_cholesky);
    const char *old = getenv("TMPDIR");
    char *before = old ? gp_text_copy(old, strlen(old)) : NULL;
    snprintf(beside, sizeof beside, "%s/run.checkpoint", scratch);
    setenv("TMPDIR", scratch, 1);
    expect_rescued(model, beside, scratch);
    expect_rescued(model, "no/such/checkpoint", scratch); // in the temporary folder
    expect_rescued(model, NULL, scratch);
    setenv("TMPDIR", "no/such", 1);
    expect_rescued(model, beside, scratch);
    assert_int_equal(gp_model_save_or_rescue(model, "no/such/m", NULL, kept, sizeof kept, &err), ADVGP_EIO);
    assert_string_equal(kept, "");
    assert_non_null(strstr(err.text, "the model is lost"));
    assert_int_equal(gp_model_save_or_rescue(model, scratch_path("m"), beside, kept, sizeof kept, &err), ADVGP_OK);
    assert_string_equal(kept, scratch_path("m"));
    unlink(kept);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    gp_free(before);
    gp_model_free(model);
}

static void a_model_that_cannot_predict_is_not_written(void **state)
{
    (void)state;
    const char *path = scratch_path("never.safetensors");
    gp_model *model = sample_model();
    advgp_error err = {0};
    model->theta[model->layout.n_rest] = NAN;
    CHECK_FAILS(ADVGP_ENUMERIC, gp_model_save(model, path, &err), "mu");
    model->theta[model->layout.n_rest] = 0;
    model->stats.b[0] = INFINITY;
    CHECK_FAILS(ADVGP_ENUMERIC, gp_model_save(model, path, &err), "b");
    assert_int_equal(scratch_count(), 0);
    gp_model_free(model);
}

// ---- what is not written --------------------------------------------------------------------------------------------

typedef struct mistake {
    sampler make;
    void (*make_it)(gp_model *model);
    const char *expected;
} mistake;

static void let_calibration_fall(gp_model *model)
{
    model->calibration.q[500] = -3;
}

static void let_a_tail_vanish(gp_model *model)
{
    model->calibration.tails[1] = 0;
}

static void let_a_group_fall(gp_model *model)
{
    model->calibration.groups->quantiles[5][7] = 1e3;
}

static void forget_a_scale(gp_model *model)
{
    model->noise_range[0] = 2, model->noise_range[1] = 1;
}

static void lose_the_rows(gp_model *model)
{
    model->stats.n = -1;
}

static void what_reading_would_refuse_is_not_written(void **state)
{
    (void)state;
    static const mistake mistakes[] = {
        {sample_model, let_calibration_fall, "could not be read: its calibration falls at level 500"},
        {sample_grouped, let_a_tail_vanish, "tails of its calibration"},
        {sample_grouped, let_a_group_fall, "group_calibration falls in group 5"},
        {sample_varying, forget_a_scale, "its noise has no scale"},
        {sample_model, lose_the_rows, "statistics are of no data"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const char *path = file_of(mistakes[i].make); // a good one is there
        gp_model *model = mistakes[i].make(), *again = NULL;
        advgp_error err = {0};
        mistakes[i].make_it(model);
        const advgp_status st = gp_model_save(model, path, &err);
        CHECK(st == ADVGP_ENUMERIC && strstr(err.text, mistakes[i].expected), mistakes[i].expected, "%s: %s",
              advgp_status_name(st), err.text);
        CHECK_OK(gp_model_load(path, &again, &err), mistakes[i].expected);
        gp_model_free(again);
        gp_model_free(model);
        unlink(path);
    }
}

// ---- exhausted memory -----------------------------------------------------------------------------------------------

static void exhaust(sampler make)
{
    const char *path = file_of(make);
    gp_model *model = NULL;
    advgp_error err = {0};
    const long before = gp_alloc_count().live;
    long calls = 0;
    for (;; calls++) {
        gp_alloc_fail_after(calls);
        advgp_status st = gp_model_load(path, &model, &err);
        gp_alloc_fail_after(-1);
        if (st == ADVGP_OK) break;
        CHECK(st == ADVGP_ENOMEM, "load", "call %ld: %s %s", calls, advgp_status_name(st), err.text);
        CHECK(!model && gp_alloc_count().live == before, "load", "call %ld: %ld blocks left", calls,
              gp_alloc_count().live - before);
    }
    CHECK(calls > 20, "load", "only %ld allocations", calls);
    const char *other = scratch_path("other.safetensors");
    const long loaded = gp_alloc_count().live;
    for (calls = 0;; calls++) {
        gp_alloc_fail_after(calls);
        advgp_status st = gp_model_save(model, other, &err);
        gp_alloc_fail_after(-1);
        if (st == ADVGP_OK) break;
        CHECK(st == ADVGP_ENOMEM, "save", "call %ld: %s %s", calls, advgp_status_name(st), err.text);
        CHECK(scratch_count() == 1 && gp_alloc_count().live == loaded, "save", "call %ld left something", calls);
    }
    gp_model_free(model);
    CHECK(gp_alloc_count().live == before, "free", "%ld blocks left", gp_alloc_count().live - before);
    unlink(path);
    unlink(other);
}

static void exhausted_memory_is_survived_at_every_allocation(void **state)
{
    (void)state;
    exhaust(sample_model);
    exhaust(sample_varying);
    exhaust(sample_nystrom);
    exhaust(sample_cells);
    exhaust(sample_linear);
    exhaust(sample_exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_comes_back_as_it_was),
        cmocka_unit_test(every_form_comes_back),
        cmocka_unit_test(a_trend_alone_is_a_model),
        cmocka_unit_test(the_jitter_that_held_is_in_the_file),
        cmocka_unit_test(no_beginning_of_a_file_is_a_model),
        cmocka_unit_test(no_flipped_bit_goes_unnoticed),
        cmocka_unit_test(a_forged_file_is_refused),
        cmocka_unit_test(a_small_file_does_not_take_the_memory),
        cmocka_unit_test(a_forged_file_of_any_form_is_refused),
        cmocka_unit_test(a_forged_model_answers_or_is_refused),
        cmocka_unit_test(a_foreign_file_is_refused),
        cmocka_unit_test(a_model_without_a_place_is_written_to_another),
        cmocka_unit_test(a_model_that_cannot_predict_is_not_written),
        cmocka_unit_test(what_reading_would_refuse_is_not_written),
        cmocka_unit_test(exhausted_memory_is_survived_at_every_allocation),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
