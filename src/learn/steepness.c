// steepness.c: gradients by differences of predictions: they cost next to nothing, are the same for every form, and do
// not see what is finer than they are.
#include "learn/steepness.h"
#include "base/alloc.h"
#include "data/encoding.h"
#include "linalg/dense.h"
#include "linalg/factor.h"

#include <math.h>
#include <string.h>

enum { ROWS = 2000, ROWS_MIN = 200, NUMBERS = 10000000 }; // NUMBERS: columns of all rows that are predicted
static const double step = 0.05;                          // standard deviations to either side
static const double alone = 0.995;                        // a direction with so much of one column is that column

size_t gp_steepness_columns(const gp_schema *s, size_t *columns)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_inputs; i++) {
        const gp_input *in = &s->inputs[i];
        if (in->encoding->indicators) continue;
        for (size_t k = 0; k < in->n_encoded - in->indicator; k++, n++)
            if (columns) columns[n] = in->first + k;
    }
    return n;
}

// Rows 2 k and 2 k + 1 of `moved`: x a step up and a step down column k.
static void move(const double *x, size_t d, size_t n, const size_t *columns, double *moved)
{
    for (size_t k = 0; k < 2 * n; k++) {
        memcpy(moved + k * d, x, d * sizeof *x);
        moved[k * d + columns[k / 2]] += k % 2 ? -step : step;
    }
}

advgp_status gp_steepness_add(const gp_predictor *predictor, gp_cmat X, size_t n, const size_t *columns, double *sum,
                              advgp_error *err)
{
    const size_t d = X.cols, fit = NUMBERS / (2 * n * d), wanted = fit < ROWS ? fit > ROWS_MIN ? fit : ROWS_MIN : ROWS;
    const size_t rows = wanted < X.rows ? wanted : X.rows;
    double *moved = gp_alloc(2 * n * (d + 1) + n, sizeof *moved);
    gp_predict_work *work = NULL;
    if (!moved) return gp_no_memory(err);
    double *mean = moved + 2 * n * d, *gradient = mean + 2 * n;
    advgp_status st = gp_predict_work_new(predictor, 0, &work, err);
    for (size_t i = 0; st == ADVGP_OK && i < rows; i++) {
        move(X.p + i * X.rows / rows * X.ld, d, n, columns, moved);
        st = gp_predict(predictor, work, gp_cmat_of(moved, 2 * n, d), mean, NULL, NULL, err);
        for (size_t k = 0; k < n; k++) gradient[k] = (mean[2 * k] - mean[2 * k + 1]) / (2 * step);
        for (size_t k = 0; st == ADVGP_OK && k < n; k++)
            for (size_t j = 0; j < n; j++) sum[k * n + j] += gradient[k] * gradient[j] / (double)rows;
    }
    gp_predict_work_free(work);
    gp_free(moved);
    return st;
}

static bool is_a_column(const double *axis, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (fabs(axis[k]) > alone) return true;
    return false;
}

// Weights [d] are divided by the deviation of what they weigh over the rows of X. False: it does not vary.
static bool scale_direction(gp_cmat X, double *weights)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < X.rows; i++) {
        const double value = gp_dot(X.cols, X.p + i * X.ld, weights), off = value - mean;
        mean += off / (double)(i + 1);
        squares += off * (value - mean);
    }
    const double sd = sqrt(squares / (double)X.rows);
    for (size_t k = 0; k < X.cols && sd > 1e-6; k++) weights[k] /= sd;
    return sd > 1e-6;
}

advgp_status gp_steepest(const double *sum, size_t n, const size_t *columns, gp_cmat X, size_t most, double *weights,
                         size_t *n_found, advgp_error *err)
{
    double *A = gp_alloc(n * n + n + gp_eigen_work(n), sizeof *A);
    *n_found = 0;
    if (!A) return gp_no_memory(err);
    double *lambda = A + n * n;
    memcpy(A, sum, n * n * sizeof *A);
    const bool ok = gp_eigen(gp_mat_of(A, n, n), lambda, lambda + n);
    for (size_t i = n; ok && i-- && *n_found < most;) { // the largest are the last
        const double *axis = A + i * n;
        double *out = weights + *n_found * X.cols;
        if (!(lambda[i] > 0) || is_a_column(axis, n)) continue;
        memset(out, 0, X.cols * sizeof *out);
        for (size_t k = 0; k < n; k++) out[columns[k]] = axis[k];
        *n_found += scale_direction(X, out);
    }
    gp_free(A);
    return ADVGP_OK;
}
