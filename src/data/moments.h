// moments.h: weighted mean and variance of a stream, chunk by chunk (Chan, Golub and LeVeque 1983: no cancellation
// however large the mean).
#pragma once
#include <math.h>
#include <stddef.h>

typedef struct gp_moments {
    size_t n;
    double weight, mean, m2; // m2 = sum of w (x - mean)^2
    double least, most;
} gp_moments; // {0} is empty

static inline void gp_moments_merge(gp_moments *a, const gp_moments *b)
{
    if (b->n == 0) return;
    if (a->n == 0) {
        *a = *b;
        return;
    }
    double weight = a->weight + b->weight, shift = b->mean - a->mean;
    a->m2 += b->m2 + shift * shift * (a->weight / weight) * b->weight;
    a->mean += shift * (b->weight / weight);
    a->weight = weight;
    a->n += b->n;
    a->least = fmin(a->least, b->least);
    a->most = fmax(a->most, b->most);
}

// n finite values x with weights w > 0.
static inline void gp_moments_add(gp_moments *m, size_t n, const double *restrict x, const double *restrict w)
{
    if (n == 0) return;
    gp_moments c = {.n = n, .least = x[0], .most = x[0]};
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        c.weight += w[i];
        sum += w[i] * (x[i] - x[0]); // about the first value, so that a constant column has exactly its mean
        c.least = x[i] < c.least ? x[i] : c.least;
        c.most = x[i] > c.most ? x[i] : c.most;
    }
    c.mean = x[0] + sum / c.weight;
    for (size_t i = 0; i < n; i++) c.m2 += w[i] * (x[i] - c.mean) * (x[i] - c.mean);
    gp_moments_merge(m, &c);
}
