// gradient.c: how fast one core takes block statistics and gradient (docs/math.md 3), as rows/s and as a share of a
// large dgemm's rate in the same run; and in mixed precision, as training steps take it. First verifies: blocks of one
// row must give the same gradient, mixed precision within 1e-3 of it. Prints one JSON object.
//     gradient [ROWS=65536] [REPEATS=7] [M=50 100 200 1000]
#include "base/clock.h"
#include "base/rng.h"
#include "base/sort.h"
#include "bench.h"
#include "linalg/blas.h"
#include "linalg/blas_core.h"
#include "linalg/dense.h"
#include "linalg/strips.h"
#include "model/pass.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { D = 9, GEMM = 1024 };
enum { MOST_SIZES = 8 };

typedef struct setup {
    gp_features *f;
    gp_pass *pass, *plain;
    gp_theta_layout layout;
    double *theta, *grad, *check;
} setup;

static setup setup_of(size_t m, gp_rng *rng)
{
    setup s = {0};
    advgp_error err;
    const gp_component_spec component = {&gp_kernel_ard_rbf, &gp_map_cholesky, {.m = m}};
    const gp_feature_spec spec = {.d = D, .n_components = 1, .components = &component, .jitter = 1e-6};
    must(gp_features_new(&spec, &s.f, &err), &err);
    must(gp_pass_new(s.f, 0, &s.pass, &err), &err);
    must(gp_pass_new(s.f, 1, &s.plain, &err), &err);
    gp_pass_set_max_loss(s.pass, 1e-8); // of steps
    s.layout = gp_theta_layout_of(s.f);
    s.theta = doubles(s.layout.size), s.grad = doubles(s.layout.size), s.check = doubles(s.layout.size);
    for (size_t i = 0; i < m * D; i++) s.theta[2 + D + i] = gp_rng_normal(rng);
    gp_theta_start_q(s.layout, s.theta);
    for (size_t i = 0; i < m; i++) s.theta[s.layout.n_rest + i] = 0.1 * gp_rng_normal(rng);
    return s;
}

static void setup_free(setup *s)
{
    gp_pass_free(s->pass);
    gp_pass_free(s->plain);
    gp_features_free(s->f);
    free(s->theta), free(s->grad), free(s->check);
}

static double worst_difference(setup *s, gp_batch rows)
{
    advgp_error err;
    double a, b, worst = 0, largest = 0;
    must(gp_pass_run(s->pass, s->theta, GP_PASS_GRADIENT, rows, &a, s->grad, &err), &err);
    must(gp_pass_run(s->plain, s->theta, GP_PASS_GRADIENT, rows, &b, s->check, &err), &err);
    for (size_t i = 0; i < s->layout.size; i++) {
        worst = fmax(worst, fabs(s->grad[i] - s->check[i]));
        largest = fmax(largest, fabs(s->grad[i]));
    }
    return fmax(worst / largest, fabs(a - b) / fabs(a));
}

static double time_gemm(gp_mat A, gp_mat B, gp_mat C)
{
    const double start = gp_clock_cpu();
    gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_ro(A), gp_ro(B), 0, C);
    return gp_clock_cpu() - start;
}

// The error of a gradient in mixed precision, as a share of it; of all but q(w), whose gradient stays in double.
static double mixed_error(setup *s, gp_batch rows)
{
    advgp_error err;
    double off = 0, all = 0;
    gp_pass_set_mixed(s->pass, true);
    must(gp_pass_run(s->pass, s->theta, GP_PASS_REST, rows, NULL, s->grad, &err), &err);
    gp_pass_set_mixed(s->pass, false);
    must(gp_pass_run(s->pass, s->theta, GP_PASS_REST, rows, NULL, s->check, &err), &err);
    for (size_t i = 0; i < s->layout.n_rest; i++) {
        off += (s->grad[i] - s->check[i]) * (s->grad[i] - s->check[i]);
        all += s->check[i] * s->check[i];
    }
    return sqrt(off / all);
}

static double time_pass(setup *s, gp_batch rows, gp_pass_kind kind, bool mixed)
{
    advgp_error err;
    const double start = gp_clock_cpu();
    gp_pass_set_mixed(s->pass, mixed);
    must(gp_pass_run(s->pass, s->theta, kind, rows, NULL, s->grad, &err), &err);
    return gp_clock_cpu() - start;
}

static double median(double *times, size_t n)
{
    gp_sort(times, n);
    return times[n / 2];
}

// A share of a product that is slow itself says nothing.
static void warn_of_core(void)
{
    const gp_blas_core core = gp_blas_core_now();
    if (core.better)
        fprintf(stderr,
                "gradient: warning: OpenBLAS computes with its core %s, which is below this CPU: its dgemm is too slow "
                "to compare with; set " GP_CORE_VARIABLE "=%s\n",
                core.name, core.better);
}

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 65536, repeats = argc > 2 ? strtoul(argv[2], NULL, 10) : 7;
    size_t sizes[MOST_SIZES] = {50, 100, 200, 1000}, n_sizes = 4;
    if (argc > 3) n_sizes = (size_t)argc - 3 < MOST_SIZES ? (size_t)argc - 3 : MOST_SIZES;
    bool good = n && repeats;
    for (size_t k = 0; k < n_sizes; k++) {
        if (argc > 3) sizes[k] = strtoul(argv[3 + k], NULL, 10);
        good = good && sizes[k];
    }
    if (!good) {
        fprintf(stderr, "usage: gradient [ROWS] [REPEATS] [M ...]\n");
        return 2;
    }
    if (gp_blas_reserve(1, NULL) != ADVGP_OK) return 1;
    warn_of_core();
    gp_rng rng = gp_rng_seeded(1, 0);
    double *X = doubles(n * D), *y = doubles(n), *square = doubles(3 * (size_t)GEMM * GEMM);
    for (size_t i = 0; i < n * D; i++) X[i] = gp_rng_normal(&rng);
    for (size_t i = 0; i < n; i++) y[i] = sin(X[i * D]) + 0.3 * gp_rng_normal(&rng);
    const gp_batch rows = {gp_cmat_of(X, n, D), y, NULL};
    const size_t square_size = (size_t)GEMM * GEMM;
    gp_mat A = gp_mat_of(square, GEMM, GEMM), B = gp_mat_of(square + square_size, GEMM, GEMM);
    gp_mat C = gp_mat_of(square + 2 * square_size, GEMM, GEMM);
    for (size_t i = 0; i < 2 * square_size; i++) square[i] = gp_rng_uniform(&rng);

    double *gemm_times = doubles(repeats), *pass_times = doubles(repeats), *step_times = doubles(repeats),
           *mixed_times = doubles(repeats);
    printf("{\"bench\": \"gradient\", \"version\": \"%s\", \"blas\": \"%s\", \"rows\": %zu, \"d\": %d, \"sizes\": [",
           advgp_version(), gp_blas_name(), n, D);
    for (size_t k = 0; k < n_sizes; k++) {
        const double m = (double)sizes[k], flops = (3 * m * m + 4 * m * D) * (double)n;
        setup s = setup_of(sizes[k], &rng);
        const double off = worst_difference(&s, gp_batch_part(rows, 0, n < 3001 ? n : 3001));
        if (!(off < 1e-9)) {
            fprintf(stderr, "gradient: blocks disagree by %g at m = %zu: not timed\n", off, sizes[k]);
            return 1;
        }
        const double off_mixed = mixed_error(&s, gp_batch_part(rows, 0, n < 3001 ? n : 3001));
        if (!(off_mixed < 1e-3) || (gp_strip_lanes() && off_mixed == 0)) {
            fprintf(stderr, "gradient: mixed precision is off by %g at m = %zu: not timed\n", off_mixed, sizes[k]);
            return 1;
        }
        (void)time_gemm(A, B, C), (void)time_pass(&s, rows, GP_PASS_GRADIENT, false); // warm
        for (size_t r = 0; r < repeats; r++) { // in turn, so that a busy moment hurts all
            gemm_times[r] = time_gemm(A, B, C);
            pass_times[r] = time_pass(&s, rows, GP_PASS_GRADIENT, false);
            step_times[r] = time_pass(&s, rows, GP_PASS_REST, false); // as a step of training takes it
            mixed_times[r] = time_pass(&s, rows, GP_PASS_REST, true);
        }
        const double gemm_rate = 2.0 * GEMM * GEMM * GEMM / median(gemm_times, repeats);
        const double pass_time = median(pass_times, repeats), mixed_time = median(mixed_times, repeats);
        const double step_time = median(step_times, repeats);
        printf("%s{\"m\": %zu, \"rows_per_s\": %.0f, \"dgemm_gflops\": %.2f, \"share_of_dgemm\": %.3f, "
               "\"best_share\": %.3f, \"verified_to\": %.1e, \"step_rows_per_s\": %.0f, \"mixed_rows_per_s\": %.0f, "
               "\"mixed_error\": %.1e}",
               k ? ", " : "", sizes[k], (double)n / pass_time, gemm_rate / 1e9, flops / pass_time / gemm_rate,
               flops / pass_times[0] / (2.0 * GEMM * GEMM * GEMM / gemm_times[0]), off, (double)n / step_time,
               (double)n / mixed_time, off_mixed);
        fflush(stdout);
        setup_free(&s);
    }
    printf("]}\n");
    free(X), free(y), free(square), free(gemm_times), free(pass_times), free(step_times), free(mixed_times);
    return 0;
}
