// serve.c: what one row costs through the library, as a server asks it: mean only, with standard deviations, with an
// interval; medians and percentiles of single calls, and CPU time a row. Trains its model of m = 100 first and verifies
// that a row alone has the answer it has among others. Prints one JSON object.
//     serve [CALLS=200000]
#include "advgp.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/sort.h"
#include "bench.h"

#include <math.h>

enum { D = 8, ROWS = 4000 };

static advgp_model *make_model(const double *x, const double *y)
{
    static const char *const names[D] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const char *const pairs[][2] = {{"target", "y"},     {"method", "advgp"}, {"inducing", "100"},
                                           {"components", "1"}, {"epochs", "5"},     {"noise", "constant"},
                                           {"cells", "none"}};
    advgp_error err;
    advgp_data *table = NULL;
    advgp_options *options = NULL;
    advgp_model *model = NULL;
    must(advgp_data_new(ROWS, &table, &err), &err);
    for (size_t k = 0; k < D; k++)
        must(advgp_data_add(table, &(advgp_column){names[k], ADVGP_FLOAT64, x + k, D * sizeof *x}, &err), &err);
    must(advgp_data_add(table, &(advgp_column){"y", ADVGP_FLOAT64, y, 0}, &err), &err);
    must(advgp_options_new("train", &options, &err), &err);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        must(advgp_options_set(options, pairs[i][0], pairs[i][1], &err), &err);
    must(advgp_train(table, options, NULL, &model, &err), &err);
    advgp_options_free(options);
    advgp_data_free(table);
    return model;
}

static void ask(const advgp_model *model, advgp_workspace *w, const double *row, int what, double out[3])
{
    advgp_error err;
    if (what == 0) must(advgp_predict_mean(model, w, row, 1, 0, out, &err), &err);
    if (what == 1) must(advgp_predict_sd(model, w, row, 1, 0, out, out + 1, out + 2, &err), &err);
    if (what == 2) must(advgp_predict_interval(model, w, row, 1, 0, 0.9, out, out + 1, out + 2, &err), &err);
}

static void verify(const advgp_model *model, advgp_workspace *w, const double *x)
{
    static double mean[ROWS];
    advgp_error err;
    must(advgp_predict_mean(model, w, x, ROWS, 0, mean, &err), &err);
    for (size_t i = 0; i < ROWS; i++) {
        double out[3];
        ask(model, w, x + i * D, 1, out);
        if (fabs(out[0] - mean[i]) <= 1e-10 * (1 + fabs(mean[i]))) continue;
        fprintf(stderr, "serve: row %zu is %.17g alone and %.17g among others\n", i, out[0], mean[i]);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"mean", "sd", "interval"};
    const size_t calls = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000;
    double *x = doubles((size_t)ROWS * D), *y = doubles(ROWS), *micros = doubles(calls);
    gp_rng rng = gp_rng_seeded(1, 0);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < D; k++) x[i * D + k] = gp_rng_normal(&rng);
        y[i] = sin(x[i * D]) + x[i * D + 1] * x[i * D + 2] + 0.1 * gp_rng_normal(&rng);
    }
    advgp_model *model = make_model(x, y);
    advgp_workspace *w = NULL;
    advgp_error err;
    must(advgp_workspace_new(model, &w, &err), &err);
    verify(model, w, x);
    printf("{\"inducing\": 100, \"inputs\": %d, \"calls\": %zu", D, calls);
    for (int what = 0; what < 3; what++) {
        double out[3];
        const double cpu = gp_clock_cpu();
        for (size_t i = 0; i < calls; i++) ask(model, w, x + i % ROWS * D, what, out);
        const double mean_micros = 1e6 * (gp_clock_cpu() - cpu) / (double)calls;
        for (size_t i = 0; i < calls; i++) {
            const double from = gp_clock_wall();
            ask(model, w, x + i % ROWS * D, what, out);
            micros[i] = 1e6 * (gp_clock_wall() - from);
        }
        gp_sort(micros, calls);
        printf(", \"%s\": {\"cpu_microseconds\": %.3f, \"p50\": %.2f, \"p99\": %.2f, \"p99.9\": %.2f}", names[what],
               mean_micros, micros[calls / 2], micros[calls / 100 * 99], micros[calls / 1000 * 999]);
    }
    printf("}\n");
    advgp_workspace_free(w);
    advgp_model_free(model);
    free(micros);
    free(x);
    free(y);
    return 0;
}
