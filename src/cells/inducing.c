// inducing.c: a sample of the shuffled rows, without repetition, and k-means or the greedy choice on it.
#include "cells/inducing.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "linalg/interrupt.h"

#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { SAMPLE_ROWS = 20000, LLOYD_ITERATIONS = 8, CHUNK = 512, GREEDY_NUMBERS = 1 << 25 }; // the last: 256 MB

typedef struct keyed {
    uint64_t hash;
    size_t row;
} keyed;

static int by_hash_then_row(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_row(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

// Moves distinct rows to the front of X, in their order, and returns their number.
static size_t keep_distinct(size_t n, size_t d, double *X, keyed *keys)
{
    for (size_t i = 0; i < n; i++) keys[i] = (keyed){XXH3_64bits(X + i * d, d * sizeof *X), i};
    qsort(keys, n, sizeof *keys, by_hash_then_row);
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++)
        if (!i || keys[i].hash != keys[i - 1].hash) keys[distinct++] = keys[i];
    qsort(keys, distinct, sizeof *keys, by_row);
    for (size_t i = 0; i < distinct; i++) memmove(X + i * d, X + keys[i].row * d, d * sizeof *X);
    return distinct;
}

// The nearest centre of every row of X; -2 x.z + |z|^2 is enough to compare.
static void assign(gp_cmat X, gp_cmat Z, const double *norms, double *products, size_t *nearest, bool asks)
{
    for (size_t first = 0; first < X.rows && !(asks && gp_interrupted()); first += CHUNK) {
        const size_t B = X.rows - first < CHUNK ? X.rows - first : CHUNK;
        gp_mat P = gp_mat_of(products, B, Z.rows);
        gp_gemm(GP_AS_IS, GP_TRANSPOSED, -2, gp_cmat_part(X, first, 0, B, X.cols), Z, 0, P);
        for (size_t i = 0; i < B; i++) {
            double best = DBL_MAX;
            for (size_t j = 0; j < Z.rows; j++)
                if (P.p[i * Z.rows + j] + norms[j] < best)
                    best = P.p[i * Z.rows + j] + norms[j], nearest[first + i] = j;
        }
    }
}

advgp_status gp_kmeans(gp_cmat X, size_t m, double *Z, advgp_error *err)
{
    const size_t d = X.cols;
    double *work = gp_alloc(m + CHUNK * m + m * d + m, sizeof(double));
    size_t *nearest = gp_alloc(X.rows, sizeof *nearest);
    if (!work || !nearest) {
        gp_free(work);
        gp_free(nearest);
        return gp_no_memory(err);
    }
    double *norms = work, *products = work + m, *sums = products + CHUNK * m, *counts = sums + m * d;
    memcpy(Z, X.p, m * d * sizeof *Z);
    const double flops = 2.0 * LLOYD_ITERATIONS * (double)X.rows * (double)m * (double)d;
    const bool asks = gp_panel(X.rows, flops) < X.rows; // a short choice is waited for: there is a model then
    for (int t = 0; t < LLOYD_ITERATIONS && !gp_interrupt_heard(); t++) {
        for (size_t j = 0; j < m; j++) norms[j] = gp_dot(d, Z + j * d, Z + j * d);
        assign(X, gp_cmat_of(Z, m, d), norms, products, nearest, asks);
        memset(sums, 0, (m * d + m) * sizeof *sums);
        for (size_t i = 0; i < X.rows; i++) {
            counts[nearest[i]]++;
            for (size_t k = 0; k < d; k++) sums[nearest[i] * d + k] += X.p[i * d + k];
        }
        for (size_t j = 0; j < m; j++)
            for (size_t k = 0; counts[j] > 0 && k < d; k++) Z[j * d + k] = sums[j * d + k] / counts[j];
    }
    gp_free(work);
    gp_free(nearest);
    return gp_interrupt_status(ADVGP_OK, "the choice of inducing inputs", err);
}

advgp_status gp_kmeans_scaled(gp_cmat X, const double *scale, size_t m, double *Z, advgp_error *err)
{
    const size_t d = X.cols;
    double *scaled = gp_alloc(X.rows * d, sizeof *scaled);
    if (!scaled) return gp_no_memory(err);
    for (size_t i = 0; i < X.rows; i++)
        for (size_t k = 0; k < d; k++) scaled[i * d + k] = scale[k] * X.p[i * X.ld + k];
    const advgp_status st = gp_kmeans(gp_cmat_of(scaled, X.rows, d), m, Z, err);
    for (size_t i = 0; i < m * d; i++) Z[i] /= scale[i % d];
    gp_free(scaled);
    return st;
}

static int by_place(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

// Chosen rows in the order of the sample, which is random: a component must not get only the first choices. Of a large
// sample as many rows are looked at as GREEDY_NUMBERS allows.
static advgp_status greedy(gp_cmat X, size_t m, const gp_kernel *kernel, double length_scale, uint64_t seed, double *Z,
                           advgp_error *err)
{
    const size_t most = GREEDY_NUMBERS / m > m ? GREEDY_NUMBERS / m : m;
    size_t *rows = gp_alloc(m, sizeof *rows);
    if (!rows) return gp_no_memory(err);
    if (X.rows > most) X.rows = most;
    const advgp_status st = gp_inducing_greedy(X, m, kernel, length_scale, seed, rows, err);
    qsort(rows, m, sizeof *rows, by_place);
    for (size_t i = 0; st == ADVGP_OK && i < m; i++) memcpy(Z + i * X.cols, X.p + rows[i] * X.ld, X.cols * sizeof *Z);
    gp_free(rows);
    return st;
}

advgp_status gp_inducing_choose(const gp_shards *shards, size_t m, size_t sample, gp_start start,
                                const gp_kernel *kernel, double length_scale, double **out, size_t *n, advgp_error *err)
{
    *out = NULL;
    const size_t total = gp_shards_rows(shards, GP_TRAIN), d = shards->d;
    if (!sample) sample = SAMPLE_ROWS;
    if (m > sample) sample = 2 * m;
    if (total < sample) sample = total;
    gp_reader reader = {0};
    keyed *keys = gp_alloc(sample, sizeof *keys);
    double *Z = gp_alloc(m * d, sizeof *Z);
    advgp_status st = gp_reader_new(shards, sample, &reader, err);
    gp_batch rows;
    if (st == ADVGP_OK && (!keys || !Z)) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = gp_reader_ring(&reader, (gp_ring){0}, 0, sample, &rows, err);
    if (st == ADVGP_OK) {
        const size_t distinct = keep_distinct(sample, d, reader.X, keys);
        *n = distinct < m ? distinct : m;
        memcpy(Z, reader.X, *n * d * sizeof *Z);
        const gp_cmat X = gp_cmat_of(reader.X, distinct, d);
        if (start == GP_START_KMEANS && distinct > *n) st = gp_kmeans(X, *n, Z, err);
        if (start == GP_START_GREEDY && distinct > *n) st = greedy(X, *n, kernel, length_scale, shards->seed, Z, err);
    }
    gp_reader_fini(&reader);
    gp_free(keys);
    if (st == ADVGP_OK)
        *out = Z;
    else
        gp_free(Z);
    return st;
}
