// make_model.c: a model of a table for tests, in one pass and without learning: inducing inputs are rows, length-scales
// are ones, q(w) and the noise are optimal for them. So the command line can be tested without `advgp train`.
//   make_model DATA TARGET MODEL [key=value ...]
// Keys: kernel, map, m, components, trend, sql, log, weights, missing, calibrate, and pack for a packed folder beside.
#include "base/alloc.h"
#include "data/encode.h"
#include "files/files.h"
#include "model/qw.h"
#include "shards/packed.h"
#include "store/modelfile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_settings;
static char **settings;

static const char *setting(const char *key, const char *fallback)
{
    const size_t n = strlen(key);
    for (int i = 0; i < n_settings; i++)
        if (strncmp(settings[i], key, n) == 0 && settings[i][n] == '=') return settings[i] + n + 1;
    return fallback;
}

static void must(advgp_status st, const advgp_error *err)
{
    if (st == ADVGP_OK) return;
    fprintf(stderr, "make_model: %s\n", err->text);
    exit(1);
}

typedef struct table {
    double *X, *y, *w;
    size_t n, capacity;
} table;

static advgp_status add_rows(void *ctx, const gp_rows *rows, advgp_error *err)
{
    table *t = ctx;
    if (t->n + rows->n > t->capacity) return gp_fail(err, ADVGP_EDATA, "more rows than were counted");
    memcpy(t->X + t->n * rows->d, rows->X, rows->n * rows->d * sizeof *t->X);
    memcpy(t->y + t->n, rows->y, rows->n * sizeof *t->y);
    memcpy(t->w + t->n, rows->w, rows->n * sizeof *t->w);
    t->n += rows->n;
    return ADVGP_OK;
}

static gp_schema *read_table(const char *path, const char *target, const char *sql, table *t)
{
    advgp_error err = {0};
    gp_source *source = NULL;
    gp_schema *schema = NULL;
    gp_encoder *encoder = NULL;
    gp_split split = {.kind = GP_SPLIT_NONE};
    const gp_file_options files = {.paths = &path, .n_paths = 1, .sql = sql};
    gp_schema_options options = {
        .target = target, .weights = setting("weights", NULL), .log_target = strcmp(setting("log", "0"), "1") == 0};
    must(gp_missing_parse(setting("missing", "impute"), &options.missing, &err), &err);
    must(gp_source_files_open(&files, NULL, &source, &err), &err);
    must(gp_schema_fit(source, &options, &split, NULL, NULL, NULL, &schema, &err), &err);
    must(gp_encoder_new(schema, source, GP_ENCODE_TRAIN, &split, &encoder, &err), &err);
    t->capacity = schema->n_rows;
    t->X = gp_alloc(t->capacity, schema->d * sizeof *t->X);
    t->y = gp_alloc(t->capacity, sizeof *t->y);
    t->w = gp_alloc(t->capacity, sizeof *t->w);
    must(gp_encode_all(encoder, source, add_rows, t, NULL, NULL, &err), &err);
    gp_encoder_free(encoder);
    const gp_pack_options pack = {.dir = setting("pack", NULL), .float64 = true};
    if (pack.dir) must(gp_pack(source, schema, &split, &pack, NULL, NULL, NULL, &err), &err);
    gp_source_free(source);
    return schema;
}

// Rows spread over the table as inducing inputs, a length-scale of sqrt(d), shorter in every further component.
static void start(gp_model *model, const table *t)
{
    const size_t d = model->spec.d;
    double *theta = model->theta + 1;
    size_t row = 0;
    for (size_t b = 0; b < model->spec.n_components; b++) {
        const size_t m = model->components[b].shape.m;
        *theta++ = -0.5 * log((double)model->spec.n_components);
        for (size_t k = 0; k < d; k++) *theta++ = -log((double)d) + (double)b;
        for (size_t j = 0; j < m; j++, theta += d) {
            memcpy(theta, t->X + row % t->n * d, d * sizeof *theta);
            row += 1 + t->n / (m * model->spec.n_components + 1);
        }
        for (size_t j = 0; model->components[b].map->has_rho && j < m; j++) *theta++ = 2;
    }
    gp_theta_start_q(model->layout, model->theta);
}

static void solve(gp_model *model, const table *t)
{
    advgp_error err = {0};
    gp_features *f = NULL;
    gp_pass *pass = NULL;
    gp_qw *qw = NULL;
    const gp_batch rows = {.X = gp_cmat_of(t->X, t->n, model->spec.d), .y = t->y, .w = t->w};
    must(gp_features_new(&model->spec, &f, &err), &err);
    must(gp_pass_new(f, 0, &pass, &err), &err);
    must(gp_pass_run(pass, model->theta, GP_PASS_STATS, rows, NULL, NULL, &err), &err);
    const gp_stats *s = gp_pass_stats(pass);
    for (size_t i = 0; i < model->layout.M; i++)
        memcpy(model->stats.A.p + i * model->stats.A.ld, s->A.p + i * s->A.ld, model->layout.M * sizeof(double));
    memcpy(model->stats.b, s->b, model->layout.M * sizeof *s->b);
    model->stats.yy = s->yy, model->stats.n = s->n, model->stats.residual = s->residual;
    must(gp_qw_new(model->layout.M, &qw, &err), &err);
    must(gp_qw_best_noise(qw, s, &model->theta[0], NULL, &err), &err);
    must(gp_qw_optimal(qw, s, model->theta[0], model->theta + model->layout.n_rest, model->theta + model->layout.U,
                       NULL, &err),
         &err);
    gp_qw_free(qw);
    gp_pass_free(pass);
    gp_features_free(f);
}

static void calibrate(gp_model *model, const table *t)
{
    advgp_error err = {0};
    gp_predictor *p = NULL;
    gp_predict_work *work = NULL;
    double *mean = gp_alloc(t->n, sizeof *mean), *var = gp_alloc(t->n, sizeof *var);
    must(gp_model_predictor(model, &p, &err), &err);
    must(gp_predict_work_new(p, 0, &work, &err), &err);
    must(gp_predict(p, work, gp_cmat_of(t->X, t->n, model->spec.d), mean, NULL, var, &err), &err);
    for (size_t i = 0; i < t->n; i++) mean[i] = (t->y[i] - mean[i]) / sqrt(var[i]);
    must(gp_calibration_fit(&model->calibration, mean, t->n, &err), &err);
    gp_predict_work_free(work);
    gp_predictor_free(p);
    gp_free(mean);
    gp_free(var);
}

int main(int argc, char **argv)
{
    if (argc < 4) return fprintf(stderr, "usage: make_model DATA TARGET MODEL [key=value ...]\n"), 2;
    settings = argv + 4;
    n_settings = argc - 4;
    advgp_error err = {0};
    table t = {0};
    const char *sql = setting("sql", NULL), *trend = setting("trend", "linear");
    gp_schema *schema = read_table(argv[1], argv[2], sql, &t);
    const size_t J = strtoul(setting("components", "1"), NULL, 10), m = strtoul(setting("m", "12"), NULL, 10);
    gp_component_spec list[8];
    const size_t halves[2] = {m / 2, m - m / 2};
    for (size_t b = 0; b < J && b < 8; b++) {
        list[b] = (gp_component_spec){.kernel = gp_kernel_named(setting("kernel", "ard-rbf")),
                                      .map = gp_map_named(setting("map", "cholesky")),
                                      .shape = {.m = m, .n_groups = 2, .group_m = halves}};
        if (!list[b].kernel || !list[b].map) return fprintf(stderr, "make_model: no such kernel or map\n"), 2;
    }
    const gp_feature_spec spec = {.d = schema->d,
                                  .n_components = J,
                                  .components = list,
                                  .trend = strcmp(trend, "linear") == 0     ? GP_TREND_LINEAR
                                           : strcmp(trend, "constant") == 0 ? GP_TREND_CONSTANT
                                                                            : GP_TREND_NONE,
                                  .jitter = 1e-6};
    gp_model *model = NULL;
    must(gp_model_new(&spec, schema, sql, &model, &err), &err);
    start(model, &t);
    solve(model, &t);
    if (strcmp(setting("calibrate", "1"), "1") == 0) calibrate(model, &t);
    model->baseline_mean = schema->y_scale;
    json_object_set_new(model->record, "stopped", json_string("made for a test"));
    must(gp_model_save(model, argv[3], &err), &err);
    gp_model_free(model);
    gp_free(t.X);
    gp_free(t.y);
    gp_free(t.w);
    return 0;
}
