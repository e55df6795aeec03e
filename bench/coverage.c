// coverage.c: do intervals of small tables cover what they say? Random tables of 50, 100 and 200 rows, their noise
// normal, skewed, heavy-tailed or varying, each fitted with defaults, and 500 new rows of the same kind beside it.
// Prints one JSON object; the table of docs/intervals.md goes to stderr.
//     coverage [TABLES [NOISE [OPTION VALUE] ...]]     of each kind and size, default 200; one kind, or all
#include "base/alloc.h"
#include "base/rng.h"
#include "bench.h"
#include "data/encode.h"
#include "linalg/blas.h"
#include "load/request.h"
#include "score/distribution.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 3, ROWS_MAX = 200, NEW_ROWS = 500 };
static const size_t sizes[] = {50, 100, 200};
static const double levels[] = {0.5, 0.8, 0.9, 0.95};
enum { N_SIZES = sizeof sizes / sizeof *sizes, N_LEVELS = sizeof levels / sizeof *levels };

// ---- tables ---------------------------------------------------------------------------------------------------------

static double normal(gp_rng *rng, const double *x)
{
    (void)x;
    return gp_rng_normal(rng);
}

static double skewed(gp_rng *rng, const double *x)
{
    (void)x;
    return -log(gp_rng_uniform(rng)) - 1;
}

static double heavy(gp_rng *rng, const double *x) // Student's t of three degrees
{
    (void)x;
    const double a = gp_rng_normal(rng), b = gp_rng_normal(rng), c = gp_rng_normal(rng);
    return gp_rng_normal(rng) / sqrt((a * a + b * b + c * c) / 3);
}

static double varying(gp_rng *rng, const double *x)
{
    return exp(0.8 * x[1]) * gp_rng_normal(rng);
}

static const struct {
    const char *name;
    double (*draw)(gp_rng *rng, const double *x);
} kinds[] = {{"normal", normal}, {"skewed", skewed}, {"heavy-tailed", heavy}, {"varying", varying}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static void draw_row(gp_rng *rng, size_t kind, double *x, double *y)
{
    for (size_t k = 0; k < D; k++) x[k] = 4 * gp_rng_uniform(rng) - 2;
    *y = sin(2 * x[0]) + 0.5 * x[1] + 0.3 * kinds[kind].draw(rng, x);
}

static gp_shards *encode(const double *x, const double *y, size_t n, gp_schema **schema)
{
    static const char *const names[] = {"a", "b", "c"};
    gp_array arrays[D + 1];
    for (size_t k = 0; k < D; k++) arrays[k] = (gp_array){.name = names[k], .number = x + k, .stride = D};
    arrays[D] = (gp_array){.name = "y", .number = y, .stride = 1};
    advgp_error err;
    gp_source *source;
    gp_split split;
    gp_encoder *encoder;
    gp_memory_builder *builder;
    must(gp_source_memory_open(arrays, D + 1, n, 0, &source, &err), &err);
    must(gp_split_parse("none", 1, &split, &err), &err);
    must(gp_schema_fit(source, &(gp_schema_options){.target = "y"}, &split, NULL, NULL, NULL, schema, &err), &err);
    must(gp_encoder_new(*schema, source, GP_ENCODE_TRAIN, &split, &encoder, &err), &err);
    must(gp_memory_builder_new(D, 1, false, true, 1, &builder, &err), &err);
    must(gp_encode_all(encoder, source, gp_memory_builder_add, builder, NULL, NULL, &err), &err);
    gp_encoder_free(encoder);
    gp_source_free(source);
    gp_shards *shards;
    must(gp_memory_shards_take(builder, &shards, &err), &err);
    return shards;
}

// ---- coverage -------------------------------------------------------------------------------------------------------

// The share of new rows inside the interval at each level, for a model of the table that this seed gives. Width: of the
// last but one, over the standard deviation of the noise.
static bool cover(size_t kind, size_t n, uint64_t seed, const gp_options *options, double inside[N_LEVELS])
{
    static double x[ROWS_MAX * D], y[ROWS_MAX];
    gp_rng rng = gp_rng_seeded(seed, kind * N_SIZES + n);
    for (size_t i = 0; i < n; i++) draw_row(&rng, kind, x + i * D, y + i);
    advgp_error err;
    gp_schema *schema;
    gp_model *model;
    gp_predictor *predictor;
    gp_predict_work *work;
    gp_shards *shards = encode(x, y, n, &schema);
    const gp_train_options o = gp_request_train(options);
    const gp_train_request request = {.shards = shards, .schema = schema, .options = &o};
    must(gp_request_method(options)->train(&request, &model, NULL, &err), &err);
    must(gp_model_predictor(model, &predictor, &err), &err);
    must(gp_predict_work_new(predictor, 0, &work, &err), &err);
    for (size_t l = 0; l < N_LEVELS; l++) inside[l] = 0;
    for (size_t i = 0; i < NEW_ROWS; i++) {
        double row[D], target, mean, var_y, ends[2];
        draw_row(&rng, kind, row, &target);
        for (size_t k = 0; k < D; k++) row[k] = (row[k] - schema->x_mean[k]) / schema->x_scale[k];
        must(gp_predict(predictor, work, gp_cmat_of(row, 1, D), &mean, NULL, &var_y, &err), &err);
        const double e = ((target - schema->y_mean) / schema->y_scale - mean) / sqrt(var_y);
        for (size_t l = 0; l < N_LEVELS; l++) {
            gp_scores_interval(&model->calibration, gp_scores_of_all(&model->calibration), levels[l], ends);
            inside[l] += (double)(ends[0] <= e && e <= ends[1]) / NEW_ROWS;
        }
    }
    const bool varies = model->noise != NULL;
    gp_predict_work_free(work);
    gp_predictor_free(predictor);
    gp_model_free(model);
    gp_shards_free(shards);
    return varies;
}

static void study(size_t kind, size_t n, size_t tables, const gp_options *options)
{
    double sum[N_LEVELS] = {0}, squares[N_LEVELS] = {0}, inside[N_LEVELS];
    size_t varying_noise = 0;
    for (size_t r = 0; r < tables; r++) {
        varying_noise += cover(kind, n, 1 + r, options, inside);
        for (size_t l = 0; l < N_LEVELS; l++) sum[l] += inside[l], squares[l] += inside[l] * inside[l];
    }
    static bool began;
    printf("%s{\"noise\": \"%s\", \"rows\": %zu, \"varying\": %zu", began ? ", " : "", kinds[kind].name, n,
           varying_noise);
    began = true;
    fprintf(stderr, "| %s | %zu |", kinds[kind].name, n);
    for (size_t l = 0; l < N_LEVELS; l++) {
        const double R = (double)tables, mean = sum[l] / R, error = sqrt(fmax(squares[l] / R - mean * mean, 0) / R);
        printf(", \"%g\": {\"coverage\": %.4f, \"error\": %.4f}", levels[l], mean, error);
        fprintf(stderr, " %.3f ± %.3f |", mean, error);
    }
    printf("}");
    fprintf(stderr, " %zu |\n", varying_noise);
}

int main(int argc, char **argv)
{
    const size_t tables = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
    const char *asked = argc > 2 ? argv[2] : "all";
    advgp_error err;
    gp_options *options;
    must(gp_blas_reserve(1, &err), &err);
    must(gp_options_new("train", &options, &err), &err);
    for (int i = 3; i + 1 < argc; i += 2) must(gp_options_set(options, argv[i], argv[i + 1], &err), &err);
    fprintf(stderr, "| noise | rows |");
    for (size_t l = 0; l < N_LEVELS; l++) fprintf(stderr, " %g %% |", 100 * levels[l]);
    fprintf(stderr, " varying |\n|---|--:|--:|--:|--:|--:|--:|\n");
    printf("{\"bench\": \"coverage\", \"tables\": %zu, \"results\": [", tables);
    for (size_t kind = 0; kind < N_KINDS; kind++)
        for (size_t s = 0; s < N_SIZES; s++)
            if (!strcmp(asked, "all") || !strcmp(asked, kinds[kind].name)) study(kind, sizes[s], tables, options);
    printf("]}\n");
    gp_options_free(options);
    return 0;
}
