// predict.c: how many rows a CPU second is asked about, mean only and with variance: in one, and by its parts (the
// plain way, model/weight_predictor.c), alternately in one run. First verifies that both agree. Prints one JSON object.
//     predict [ROWS=60000] [REPEATS=7]
#include "model/predict.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/sort.h"
#include "bench.h"
#include "linalg/blas.h"
#include "model/pass.h"
#include "model/qw.h"

#include <math.h>

enum { D = 9 };
static const size_t sizes[] = {50, 100, 200, 1000};
enum { N_SIZES = sizeof sizes / sizeof *sizes };
typedef enum way { MEAN, IN_ONE, PARTS, N_WAYS } way;
static const char *const way_names[N_WAYS] = {"mean", "variance", "variance_by_parts"};

typedef struct setup {
    gp_predictor *predictor;
    gp_predict_work *work;
    gp_cmat X;
    double *mean, *var, *spread, *residual;
} setup;

// Random inducing inputs, and the optimal q(w) of some rows.
static void set_model(setup *s, size_t m, gp_batch rows, gp_rng *rng)
{
    advgp_error err;
    const gp_component_spec component = {&gp_kernel_ard_rbf, &gp_map_cholesky, {.m = m}};
    const gp_feature_spec spec = {.d = D, .n_components = 1, .components = &component, .jitter = 1e-6};
    gp_features *f = NULL;
    gp_pass *pass = NULL;
    gp_qw *qw = NULL;
    must(gp_features_new(&spec, &f, &err), &err);
    must(gp_pass_new(f, 0, &pass, &err), &err);
    const gp_theta_layout layout = gp_theta_layout_of(f);
    double *theta = doubles(layout.size);
    theta[0] = -1;
    for (size_t k = 0; k < D; k++) theta[2 + k] = -2;
    for (size_t i = 0; i < m * D; i++) theta[2 + D + i] = gp_rng_normal(rng);
    gp_theta_start_q(layout, theta);
    must(gp_pass_run(pass, theta, GP_PASS_STATS, rows, NULL, NULL, &err), &err);
    must(gp_qw_new(layout.M, &qw, &err), &err);
    must(gp_qw_optimal(qw, gp_pass_stats(pass), theta[0], theta + layout.n_rest, theta + layout.U, NULL, &err), &err);
    must(gp_predictor_new(&spec, theta, &s->predictor, &err), &err);
    must(gp_predict_work_new(s->predictor, 0, &s->work, &err), &err);
    free(theta);
    gp_qw_free(qw);
    gp_pass_free(pass);
    gp_features_free(f);
}

static double time_of(setup *s, way which, size_t n)
{
    advgp_error err;
    const gp_cmat X = gp_cmat_part(s->X, 0, 0, n, D);
    const double start = gp_clock_cpu();
    if (which == PARTS)
        must(gp_predict_parts(s->predictor, s->work, X, s->mean, s->spread, s->residual, &err), &err);
    else
        must(gp_predict(s->predictor, s->work, X, s->mean, which == MEAN ? NULL : s->var, NULL, &err), &err);
    return gp_clock_cpu() - start;
}

static double worst_difference(const setup *s, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(s->var[i] - (s->spread[i] + s->residual[i]))); // k(x, x) = 1
    return worst;
}

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 60000, repeats = argc > 2 ? strtoul(argv[2], NULL, 10) : 7;
    if (!n || !repeats) {
        fprintf(stderr, "usage: predict [ROWS] [REPEATS]\n");
        return 2;
    }
    if (gp_blas_reserve(1, NULL) != ADVGP_OK) return 1;
    gp_rng rng = gp_rng_seeded(1, 0);
    double *X = doubles(n * D), *y = doubles(n);
    for (size_t i = 0; i < n * D; i++) X[i] = gp_rng_normal(&rng);
    for (size_t i = 0; i < n; i++) y[i] = sin(X[i * D]) + 0.3 * gp_rng_normal(&rng);
    const gp_batch rows = {gp_cmat_of(X, n < 5000 ? n : 5000, D), y, NULL};
    setup s = {.X = gp_cmat_of(X, n, D), .mean = doubles(n), .var = doubles(n)};
    s.spread = doubles(n), s.residual = doubles(n);
    double *times[N_WAYS];
    for (int w = 0; w < N_WAYS; w++) times[w] = doubles(repeats);
    printf("{\"bench\": \"predict\", \"version\": \"%s\", \"d\": %d, \"sizes\": [", advgp_version(), D);
    for (size_t k = 0; k < N_SIZES; k++) {
        const size_t asked = sizes[k] < 500 ? n : n / 20 + 1;
        set_model(&s, sizes[k], rows, &rng);
        for (int w = 0; w < N_WAYS; w++) (void)time_of(&s, w, asked); // warm
        const double off = worst_difference(&s, asked);
        if (!(off < 1e-12)) {
            fprintf(stderr, "predict: the two variances differ by %g at m = %zu: not timed\n", off, sizes[k]);
            return 1;
        }
        for (size_t r = 0; r < repeats; r++) // alternately, so that a busy moment hurts all
            for (int w = 0; w < N_WAYS; w++) times[w][r] = time_of(&s, w, asked);
        printf("%s{\"m\": %zu, \"verified_to\": %.1e", k ? ", " : "", sizes[k], off);
        for (int w = 0; w < N_WAYS; w++) {
            gp_sort(times[w], repeats);
            printf(", \"%s_rows_per_cpu_s\": %.0f", way_names[w], (double)asked / times[w][repeats / 2]);
        }
        printf("}");
        fflush(stdout);
        gp_predict_work_free(s.work);
        gp_predictor_free(s.predictor);
    }
    printf("]}\n");
    free(X), free(y), free(s.mean), free(s.var), free(s.spread), free(s.residual);
    for (int w = 0; w < N_WAYS; w++) free(times[w]);
    return 0;
}
