// epochs.c: CPU seconds of a row of an epoch, m = 50, for tables of growing size: a training is linear if it is the
// same for all. Rows are computed as they are read (synthetic:trips), or come from packed shards that are first written
// to a folder of TMPDIR (40 bytes a row, twice that while packing) and deleted in the end. Each size is seen at least
// ten million times a row, so that one million rows and a hundred can be compared. Verified: every version counted its
// rows, and the model is better than the mean. Prints one JSON object.
//     epochs computed|packed [ROWS ...]        1e6 1e7
#include "base/clock.h"
#include "bench.h"
#include "linalg/blas.h"
#include "recipe/train.h"
#include "shards/packed.h"
#include "shards/synthetic.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 8192, PACKED_INPUTS = 9 };
static const double least_rows = 1e7;
static char folder[4096];

typedef struct table {
    gp_shards *shards;
    gp_schema *schema; // the model's in the end
    double pack_cpu;
} table;

static table computed(double rows)
{
    advgp_error err;
    char text[100];
    table t = {0};
    snprintf(text, sizeof text, "synthetic:trips?rows=%.0f&seed=1", rows);
    must(gp_synthetic_open(text, &t.shards, &t.schema, &err), &err);
    return t;
}

static table packed(double rows)
{
    advgp_error err;
    gp_source *source;
    gp_split split;
    table t = {0};
    const double start = gp_clock_cpu();
    must(gp_source_synthetic_open((size_t)rows, PACKED_INPUTS, 1, &source, &err), &err);
    must(gp_split_parse("0.05", 1, &split, &err), &err);
    gp_schema *schema;
    must(gp_schema_fit(source, &(gp_schema_options){.target = "y"}, &split, NULL, NULL, NULL, &schema, &err), &err);
    must(gp_pack(source, schema, &split, &(gp_pack_options){.dir = folder, .seed = 1}, NULL, NULL, NULL, &err), &err);
    gp_schema_free(schema);
    gp_source_free(source);
    t.pack_cpu = gp_clock_cpu() - start;
    must(gp_packed_open(folder, &t.shards, &t.schema, NULL, &err), &err);
    return t;
}

// The steps alone: from the first version to the last.
typedef struct lap {
    double cpu, rows;
    bool begun;
} lap;

static void on_ps(void *ctx, const gp_ps_event *event)
{
    lap *l = ctx;
    if (event->kind == GP_EVENT_BEGUN) l->cpu = gp_clock_cpu(), l->begun = true;
    if (event->kind == GP_EVENT_PUSH && event->push && !(event->push->flags & GP_FLAG_ALL_ROWS))
        l->rows += (double)event->push->rows;
    if (event->kind == GP_EVENT_COLLECT && l->begun) l->cpu = gp_clock_cpu() - l->cpu, l->begun = false;
}

static double measure(table t, double rows, const char *comma)
{
    advgp_error err;
    lap l = {0};
    gp_model *model;
    gp_train_result result;
    const double n = (double)gp_shards_rows(t.shards, GP_TRAIN), epochs = fmax(1, ceil(least_rows / rows));
    const gp_train_options o = {.m = 50,
                                .components = 1,
                                .kernel = gp_kernel_named("ard-rbf"),
                                .map = &gp_map_cholesky,
                                .trend = GP_TREND_LINEAR,
                                .start = GP_START_KMEANS,
                                .schedule.batch = BATCH,
                                .schedule.mixed = true,
                                .epochs = epochs,
                                .evaluations = 1,
                                .patience = SIZE_MAX,
                                .schedule.seed = 1,
                                .schedule.workers = 1,
                                .schedule.quorum = 1};
    const gp_host host = {.ctx = &l, .ps = on_ps};
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = &o, .host = &host};
    const double start = gp_clock_cpu();
    must(gp_train(&request, &model, &result, &err), &err);
    const double whole = gp_clock_cpu() - start;
    if (l.rows < epochs * n || l.rows > epochs * n + 2 * BATCH || !(result.assessment.rmse < model->baseline_mean)) {
        fprintf(stderr, "epochs: %.0f of %.0f rows, RMSE %g, mean %g: not a run to be timed\n", l.rows, epochs * n,
                result.assessment.rmse, model->baseline_mean);
        exit(1);
    }
    printf("%s\n  {\"rows\": %.0f, \"epochs\": %.0f, \"cpu_us_a_row\": %.4f, \"cpu_s_an_epoch\": %.2f, "
           "\"cpu_s_of_the_training\": %.2f, \"cpu_s_of_packing\": %.2f, \"rmse\": %.4f, \"mean\": %.4f}",
           comma, rows, epochs, 1e6 * l.cpu / l.rows, l.cpu / l.rows * n, whole, t.pack_cpu, result.assessment.rmse,
           model->baseline_mean);
    fflush(stdout);
    gp_model_free(model);
    gp_shards_free(t.shards);
    return l.cpu / l.rows;
}

static void remove_folder(void)
{
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) fprintf(stderr, "epochs: %s is left behind\n", folder);
}

int main(int argc, char **argv)
{
    const char *parent = getenv("TMPDIR");
    const bool packs = argc > 1 && strcmp(argv[1], "packed") == 0;
    static const char *const usual[] = {"1e6", "1e7", "1e6", "1e7"};
    const char *const *sizes = argc > 2 ? (const char *const *)argv + 2 : usual;
    const int n_sizes = argc > 2 ? argc - 2 : (int)(sizeof usual / sizeof *usual);
    bool good = packs || (argc > 1 && strcmp(argv[1], "computed") == 0);
    for (int i = 0; i < n_sizes; i++) good = good && strtod(sizes[i], NULL) >= 1e5;
    if (!good) {
        fprintf(stderr, "usage: epochs computed|packed [ROWS from 1e5 ...]\n");
        return 2;
    }
    snprintf(folder, sizeof folder, "%s/advgp-bench-XXXXXX", parent && *parent ? parent : "/tmp");
    if (gp_blas_reserve(1, NULL) != ADVGP_OK || (packs && !mkdtemp(folder))) return 1;
    if (packs) atexit(remove_folder);
    printf("{\"bench\": \"epochs\", \"version\": \"%s\", \"rows_are\": \"%s\", \"sizes\": [", advgp_version(), argv[1]);
    double *took = doubles((size_t)n_sizes), least = INFINITY, most = 0;
    for (int i = 0; i < n_sizes; i++) {
        const double rows = strtod(sizes[i], NULL);
        took[i] = measure(packs ? packed(rows) : computed(rows), rows, i ? "," : "");
    }
    for (int i = 0; i < n_sizes; i++) {
        double best = took[i];
        for (int k = 0; k < n_sizes; k++)
            if (strcmp(sizes[k], sizes[i]) == 0) best = fmin(best, took[k]);
        least = fmin(least, best), most = fmax(most, best);
    }
    printf("\n], \"most_over_least\": %.3f}\n", most / least);
    free(took);
    return 0;
}
