// seattle.c: the core in one page: the highest temperature of a day in Seattle from the day of the year, the year, rain
// and wind. Reads seattle-weather.csv (npm vega-datasets), learns on four days of five, predicts the fifth, and prints
// a table against the mean and linear regression.
//     seattle FILE
#include "base/rng.h"
#include "linalg/blas.h"
#include "linalg/dense.h"
#include "model/predict.h"
#include "model/qw.h"
#include "optim/lbfgs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 4, MAX_DAYS = 4000, INDUCING = 60 };

typedef struct days {
    double X[MAX_DAYS * D], y[MAX_DAYS];
    size_t n;
} days;
static days train, test;

static void must(advgp_status st, const advgp_error *err)
{
    if (st == ADVGP_OK) return;
    fprintf(stderr, "seattle: %s: %s\n", advgp_status_text(st), err->text);
    exit(1);
}

// ---- data ------------------------------------------------------------------------------------------------

static void read_days(const char *path)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334}; // days before the month
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "seattle: cannot open %s\n", path);
        exit(1);
    }
    char line[256];
    for (size_t i = 0; fgets(line, sizeof line, f);) {
        int year, month, day;
        double rain, high, low, wind;
        // NOLINTNEXTLINE(cert-err34-c): the file is pinned by hash, and a line that does not fit is skipped
        if (sscanf(line, "%d-%d-%d,%lf,%lf,%lf,%lf", &year, &month, &day, &rain, &high, &low, &wind) != 7) continue;
        if (month < 1 || month > 12) continue;
        days *to = i++ % 5 == 4 ? &test : &train;
        if (to->n == MAX_DAYS) break;
        const double x[D] = {before[month - 1] + day, year, log1p(rain), wind};
        memcpy(to->X + to->n * D, x, sizeof x);
        to->y[to->n++] = high;
    }
    fclose(f);
    if (train.n < 100) {
        fprintf(stderr, "seattle: %s holds %zu days, too few: is it seattle-weather.csv?\n", path, train.n);
        exit(1);
    }
}

// Mean 0 and variance 1 by the training days, for both sets. Returns the scale.
static double standardise(double *a, double *b, size_t stride, double *mean)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < train.n; i++) sum += a[i * stride];
    *mean = sum / (double)train.n;
    for (size_t i = 0; i < train.n; i++) square += (a[i * stride] - *mean) * (a[i * stride] - *mean);
    const double scale = sqrt(square / (double)train.n);
    for (size_t i = 0; i < train.n; i++) a[i * stride] = (a[i * stride] - *mean) / scale;
    for (size_t i = 0; i < test.n; i++) b[i * stride] = (b[i * stride] - *mean) / scale;
    return scale;
}

// ---- the collapsed bound as a function to minimise ----------------------------------------------------------

typedef struct problem {
    gp_pass *pass;
    gp_qw *qw;
    gp_theta_layout layout;
    gp_batch rows;
    double *theta, *grad; // [layout.size]
} problem;

// At the optimal q(w) the gradient of the collapsed bound is the gradient of sum g: two passes over the rows.
static advgp_status collapsed(void *ctx, const double *rest, size_t n, double *value, double *gradient,
                              advgp_error *err)
{
    problem *p = ctx;
    const gp_theta_layout l = p->layout;
    memcpy(p->theta, rest, n * sizeof *rest);
    advgp_status st = gp_pass_run(p->pass, p->theta, GP_PASS_STATS, p->rows, NULL, NULL, err);
    if (st == ADVGP_OK)
        st = gp_qw_optimal(p->qw, gp_pass_stats(p->pass), rest[0], p->theta + l.n_rest, p->theta + l.U, value, err);
    if (st == ADVGP_OK) st = gp_pass_run(p->pass, p->theta, GP_PASS_GRADIENT, p->rows, NULL, p->grad, err);
    if (st == ADVGP_OK) memcpy(gradient, p->grad, n * sizeof *gradient);
    return st;
}

static double *learn(const gp_feature_spec *spec, gp_batch rows, gp_lbfgs_result *result)
{
    gp_features *f = NULL;
    problem p = {.rows = rows};
    advgp_error err;
    must(gp_features_new(spec, &f, &err), &err);
    must(gp_pass_new(f, 0, &p.pass, &err), &err);
    p.layout = gp_theta_layout_of(f);
    must(gp_qw_new(p.layout.M, &p.qw, &err), &err);
    p.theta = calloc(p.layout.size, sizeof *p.theta);
    p.grad = calloc(p.layout.size, sizeof *p.grad);
    double *rest = calloc(p.layout.n_rest, sizeof *rest);
    if (!p.theta || !p.grad || !rest) exit(1);
    rest[0] = log(0.5); // sigma; amplitude, length-scales and trend start at 1
    gp_rng rng = gp_rng_seeded(1, 0);
    double *Z = rest + f->components[0].param + 1 + D;
    for (size_t j = 0; j < INDUCING; j++)
        memcpy(Z + j * D, rows.X.p + gp_rng_below(&rng, rows.X.rows) * D, D * sizeof *Z);
    gp_theta_start_q(p.layout, p.theta);
    must(gp_lbfgs(collapsed, &p, p.layout.n_rest, rest, &(gp_lbfgs_options){.max_iterations = 200}, result, &err),
         &err);
    must(collapsed(&p, rest, p.layout.n_rest, &result->value, p.grad, &err), &err); // q(w) at the best point
    double *theta = p.theta;
    free(p.grad), free(rest);
    gp_qw_free(p.qw);
    gp_pass_free(p.pass);
    gp_features_free(f);
    return theta;
}

// ---- baselines and scores -----------------------------------------------------------------------------------

// Least squares with intercept by normal equations: standardised inputs, so they are well conditioned.
static void linear(double *prediction)
{
    double A[(D + 1) * (D + 1)] = {0}, b[D + 1] = {0};
    for (size_t i = 0; i < train.n; i++)
        for (size_t j = 0; j <= D; j++) {
            const double xj = j < D ? train.X[i * D + j] : 1;
            b[j] += xj * train.y[i];
            for (size_t k = 0; k <= D; k++) A[j * (D + 1) + k] += xj * (k < D ? train.X[i * D + k] : 1);
        }
    gp_mat R = gp_mat_of(A, D + 1, D + 1), x = gp_mat_of(b, D + 1, 1);
    if (!gp_reverse_cholesky(R, 0, NULL)) exit(1);
    gp_trsm_left(GP_UPPER, GP_AS_IS, gp_ro(R), x);
    gp_trsm_left(GP_UPPER, GP_TRANSPOSED, gp_ro(R), x);
    for (size_t i = 0; i < test.n; i++) prediction[i] = b[D] + gp_dot(D, test.X + i * D, b);
}

static double rmse(const double *prediction, double scale)
{
    double sum = 0;
    for (size_t i = 0; i < test.n; i++) sum += (test.y[i] - prediction[i]) * (test.y[i] - prediction[i]);
    return scale * sqrt(sum / (double)test.n);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: seattle FILE       (seattle-weather.csv of vega-datasets)\n");
        return 2;
    }
    if (gp_blas_reserve(1, NULL) != ADVGP_OK) return 1;
    read_days(argv[1]);
    double mean, y_mean;
    for (size_t k = 0; k < D; k++) (void)standardise(train.X + k, test.X + k, D, &mean);
    const double scale = standardise(train.y, test.y, 1, &y_mean);

    const gp_component_spec component = {&gp_kernel_ard_rbf, &gp_map_cholesky, {.m = INDUCING}};
    const gp_feature_spec spec = {
        .d = D, .n_components = 1, .components = &component, .trend = GP_TREND_LINEAR, .jitter = 1e-6};
    gp_lbfgs_result fit;
    double *theta = learn(&spec, (gp_batch){gp_cmat_of(train.X, train.n, D), train.y, NULL}, &fit);

    static double prediction[MAX_DAYS], variance[MAX_DAYS];
    gp_predictor *model = NULL;
    gp_predict_work *work = NULL;
    advgp_error err;
    must(gp_predictor_new(&spec, theta, &model, &err), &err);
    must(gp_predict_work_new(model, 0, &work, &err), &err);

    printf("%zu days to learn from, %zu to predict; %d inducing inputs, %zu iterations (%s), -ELBO %.1f\n\n", train.n,
           test.n, INDUCING, fit.iterations, gp_stop_reason_words(fit.stopped), fit.value);
    printf("highest temperature of the day     test RMSE\n");
    printf("  mean of the training days         %5.2f C\n", rmse(prediction, scale)); // all zero: the mean
    linear(prediction);
    printf("  linear regression                 %5.2f C\n", rmse(prediction, scale));
    must(gp_predict(model, work, gp_cmat_of(test.X, test.n, D), prediction, NULL, variance, &err), &err);
    printf("  Gaussian process                  %5.2f C\n", rmse(prediction, scale));
    size_t inside = 0;
    for (size_t i = 0; i < test.n; i++)
        inside += fabs(test.y[i] - prediction[i]) <= 1.6448536269514722 * sqrt(variance[i]);
    printf("\nits 90 %% intervals hold %.1f %% of the test days\n", 100.0 * (double)inside / (double)test.n);
    free(theta);
    gp_predict_work_free(work);
    gp_predictor_free(model);
    return 0;
}
