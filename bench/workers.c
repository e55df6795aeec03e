// workers: rows a second, and rows a CPU second, of one worker and of two on the same generated rows, and their ratios.
// On two free cores the first is the one that matters; on a busy machine the second says the same, since a worker that
// waits or works in vain costs rows a CPU second. Runs alternate; a ratio is of the medians. Synchronous, and with the
// delay and quorum that users get. dgemm_speed_up is what two threads that have nothing to do with each other gain.
//   workers [ROWS] [ROUNDS]       400,000 rows, 3 rounds
#include "base/alloc.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/rng.h"
#include "base/sort.h"
#include "bench.h"
#include "data/encode.h"
#include "linalg/blas.h"
#include "linalg/dense.h"
#include "ps/rule.h"
#include "recipe/train.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { D = 8, VERSIONS = 120, ROUNDS_MAX = 25 };

typedef struct rows {
    double *x, *y;
    gp_shards *shards;
    gp_source *source;
    gp_split split;
} rows;

static rows make_rows(size_t n)
{
    advgp_error err;
    gp_rng rng = gp_rng_seeded(1, 0);
    rows r = {.x = malloc(n * D * sizeof(double)), .y = malloc(n * sizeof(double))};
    if (!r.x || !r.y) exit(1);
    for (size_t i = 0; i < n; i++) {
        double *x = r.x + i * D, sum = 0;
        for (size_t k = 0; k < D; k++) x[k] = gp_rng_normal(&rng), sum += x[k] / (double)(k + 1);
        r.y[i] = sin(2 * sum) + 0.5 * x[1] * x[1] + 0.2 * gp_rng_normal(&rng);
    }
    static const char *const names[D] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    gp_array arrays[D + 1];
    for (size_t k = 0; k < D; k++) arrays[k] = (gp_array){.name = names[k], .number = r.x + k, .stride = D};
    arrays[D] = (gp_array){.name = "y", .number = r.y, .stride = 1};
    must(gp_source_memory_open(arrays, D + 1, n, 0, &r.source, &err), &err);
    must(gp_split_parse("0.001", 1, &r.split, &err), &err);
    return r;
}

static gp_schema *schema_of(rows *r)
{
    advgp_error err;
    gp_schema *schema;
    const gp_schema_options options = {.target = "y"};
    must(gp_schema_fit(r->source, &options, &r->split, NULL, NULL, NULL, &schema, &err), &err);
    return schema;
}

static void encode(rows *r)
{
    advgp_error err;
    gp_schema *schema = schema_of(r);
    gp_encoder *encoder;
    gp_memory_builder *builder;
    must(gp_encoder_new(schema, r->source, GP_ENCODE_TRAIN, &r->split, &encoder, &err), &err);
    must(gp_memory_builder_new(schema->d, 64, false, false, 1, &builder, &err), &err);
    must(gp_encode_all(encoder, r->source, gp_memory_builder_add, builder, NULL, NULL, &err), &err);
    must(gp_memory_shards_take(builder, &r->shards, &err), &err);
    gp_encoder_free(encoder);
    gp_schema_free(schema);
}

// The steps alone: from the first version that was made to the last.
typedef struct lap {
    double wall, cpu, rows; // of the first evaluation, then of what came after
    bool begun;
} lap;

static void on_ps(void *ctx, const gp_ps_event *event)
{
    lap *l = ctx;
    if (event->kind == GP_EVENT_BEGUN) l->wall = gp_clock_wall(), l->cpu = gp_clock_cpu(), l->begun = true;
    if (event->kind == GP_EVENT_PUSH && event->push && !(event->push->flags & GP_FLAG_ALL_ROWS))
        l->rows += (double)event->push->rows;
    if (event->kind == GP_EVENT_COLLECT && l->begun)
        l->wall = gp_clock_wall() - l->wall, l->cpu = gp_clock_cpu() - l->cpu, l->begun = false;
}

static lap train(rows *r, size_t m, size_t workers, size_t max_delay)
{
    advgp_error err;
    lap l = {0};
    gp_model *model;
    gp_train_result result;
    const size_t n = gp_shards_rows(r->shards, GP_TRAIN);
    gp_train_options o = {.m = m,
                          .components = 1,
                          .kernel = gp_kernel_named("ard-rbf"),
                          .map = &gp_map_cholesky,
                          .trend = GP_TREND_LINEAR,
                          .start = GP_START_RANDOM,
                          .schedule.batch = 8192 * workers, // as a user of a large table gets it
                          .schedule.mixed = true,
                          .evaluations = VERSIONS / 25, // as rarely as a run of a thousand versions is judged
                          .patience = SIZE_MAX,
                          .schedule.seed = 1,
                          .schedule.workers = workers,
                          .schedule.max_delay = max_delay,
                          .schedule.quorum = -1};
    o.epochs = VERSIONS * 8192.0 * (double)workers / (double)n;
    const gp_train_events events = {.ctx = &l, .ps = on_ps};
    const gp_train_request request = {.shards = r->shards, .schema = schema_of(r), .options = &o, .events = &events};
    must(gp_train(&request, &model, &result, &err), &err);
    if (result.versions < VERSIONS || result.versions > VERSIONS + 1 || !isfinite(result.assessment.rmse) ||
        !(result.assessment.rmse < model->baseline_mean)) {
        fprintf(stderr, "workers: %zu versions, RMSE %g, mean %g: not a run to be timed\n", result.versions,
                result.assessment.rmse, model->baseline_mean);
        exit(1);
    }
    gp_model_free(model);
    return l;
}

static double median(size_t n, const double *x)
{
    double sorted[ROUNDS_MAX];
    for (size_t i = 0; i < n; i++) sorted[i] = x[i];
    gp_sort(sorted, n);
    return sorted[n / 2];
}

// ---- the machine ----------------------------------------------------------------------------------------------------

enum { PRODUCTS = 1000 };
static const size_t side = 256, square = 65536; // of a matrix: rows, and numbers

static void *multiply(void *arg)
{
    double *a = arg;
    const gp_cmat A = gp_cmat_of(a, side, side), B = gp_cmat_of(a + square, side, side);
    for (size_t i = 0; i < PRODUCTS; i++)
        gp_gemm(GP_AS_IS, GP_AS_IS, 1, A, B, 0, gp_mat_of(a + 2 * square, side, side));
    return NULL;
}

static double seconds_of(size_t threads, double *numbers)
{
    pthread_t other;
    const double began = gp_clock_wall();
    if (threads > 1 && pthread_create(&other, NULL, multiply, numbers + 3 * square) != 0) exit(1);
    multiply(numbers);
    if (threads > 1) pthread_join(other, NULL);
    return gp_clock_wall() - began;
}

static double dgemm_speed_up(size_t rounds)
{
    double took[2][ROUNDS_MAX], *numbers = malloc(6 * square * sizeof *numbers);
    if (!numbers) exit(1);
    for (size_t i = 0; i < 6 * square; i++) numbers[i] = 1.0 / (double)(i + 1);
    for (size_t i = 0; i < rounds; i++)
        for (size_t k = 0; k < 2; k++) took[k][i] = seconds_of(k + 1, numbers);
    free(numbers);
    return 2 * median(rounds, took[0]) / median(rounds, took[1]);
}

// ---- one worker and two ---------------------------------------------------------------------------------------------

static void measure(rows *r, size_t m, size_t max_delay, size_t rounds, const char *comma)
{
    double wall[2][ROUNDS_MAX], cpu[2][ROUNDS_MAX];
    for (size_t i = 0; i < rounds; i++)
        for (size_t workers = 1; workers <= 2; workers++) {
            const lap l = train(r, m, workers, max_delay);
            wall[workers - 1][i] = l.rows / l.wall, cpu[workers - 1][i] = l.rows / l.cpu;
        }
    const double w1 = median(rounds, wall[0]), w2 = median(rounds, wall[1]);
    const double c1 = median(rounds, cpu[0]), c2 = median(rounds, cpu[1]);
    printf("%s\n  {\"m\": %zu, \"max_delay\": %zu, \"rows_per_second\": [%.0f, %.0f], \"rows_per_cpu_second\": [%.0f, "
           "%.0f], \"speed_up\": %.3f, \"cpu_ratio\": %.3f}",
           comma, m, max_delay, w1, w2, c1, c2, w2 / w1, c2 / c1);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 400000;
    size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 3;
    if (n < 50000 || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: workers [ROWS from 50000] [ROUNDS, 1 to %d]\n", ROUNDS_MAX);
        return 2;
    }
    if (gp_blas_reserve(2, NULL) != ADVGP_OK) return 1;
    rows r = make_rows(n);
    encode(&r);
    printf("{\"bench\": \"workers\", \"rows\": %zu, \"d\": %d, \"versions\": %d, \"rounds\": %zu, \"cores\": %zu, "
           "\"blas\": \"%s\", \"results\": [",
           n, D, VERSIONS, rounds, gp_cores(), gp_blas_name());
    const size_t m[] = {100, 200};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++) measure(&r, m[i], k ? gp_rule_natural.max_delay : 0, rounds, i || k ? "," : "");
    printf("\n], \"dgemm_speed_up\": %.3f}\n", dgemm_speed_up(rounds));
    gp_shards_free(r.shards);
    gp_source_free(r.source);
    free(r.x);
    free(r.y);
    return 0;
}
