// greedy.c: inducing inputs chosen one after the other, each to explain as much as it can of what those before left
// over of K_nn, the trace of K_nn - K_nm K_mm^-1 K_mn: that is Cholesky with pivots, stopped after m columns. (Burt,
// Rasmussen and van der Wilk 2020, section 4, take the row with the largest variance left, which in a few dimensions
// means the outliers: where m inputs cannot cover the data it explains less than random rows do.) To look at every row
// at every step would cost n^2, so a handful of candidates is drawn, with probabilities as their variances left (Chen,
// Epperly, Tropp and Webber 2022), and the best of them is taken.
#include "base/alloc.h"
#include "base/rng.h"
#include "cells/inducing.h"
#include "linalg/dense.h"
#include "linalg/interrupt.h"

#include <math.h>
#include <string.h>

enum { CANDIDATES = 8 };
static const double exhausted = 1e-12; // relative to k(x, x): what is left of a row is rounding

typedef struct search {
    gp_cmat X;
    const gp_kernel *kernel;
    double eta;
    gp_rng rng;
    size_t m;
    double *L;       // n x m; L L^T is the part of K_nn explained so far
    double *left;    // [n] variances left; -1 where the row was chosen
    double *columns; // CANDIDATES x n: those of K_nn - L L^T
    double *rows;    // CANDIDATES x m: those of L
} search;

// Draws up to CANDIDATES distinct rows; none when nothing is left.
static size_t draw(search *s, size_t candidates[CANDIDATES])
{
    double total = 0;
    for (size_t i = 0; i < s->X.rows; i++)
        if (s->left[i] > exhausted) total += s->left[i];
    size_t n = 0;
    for (int k = 0; total > 0 && k < CANDIDATES; k++) {
        double u = total * gp_rng_uniform(&s->rng);
        size_t i = 0, last = 0;
        for (; i < s->X.rows && u >= 0; i++)
            if (s->left[i] > exhausted) last = i, u -= s->left[i];
        bool known = false;
        for (size_t c = 0; c < n; c++) known = known || candidates[c] == last;
        if (!known) candidates[n++] = last;
    }
    return n;
}

// The candidates' columns of K_nn - L L^T, k columns of L being there.
static void make_columns(search *s, size_t k, const size_t *candidates, size_t n_candidates)
{
    const size_t n = s->X.rows, m = s->m;
    for (size_t c = 0; c < n_candidates; c++) {
        const double *z = s->X.p + candidates[c] * s->X.ld;
        double *column = s->columns + c * n;
        for (size_t i = 0; i < n; i++) {
            const double *x = s->X.p + i * s->X.ld;
            double r = 0;
            for (size_t j = 0; j < s->X.cols; j++) r += (x[j] - z[j]) * (x[j] - z[j]);
            column[i] = s->eta * r;
        }
        memcpy(s->rows + c * m, s->L + candidates[c] * m, k * sizeof *s->rows);
    }
    gp_mat C = gp_mat_of(s->columns, n_candidates, n);
    s->kernel->eval(C, 1, NULL);
    gp_gemm(GP_AS_IS, GP_TRANSPOSED, -1, gp_cmat_part(gp_cmat_of(s->rows, CANDIDATES, m), 0, 0, n_candidates, k),
            gp_cmat_part(gp_cmat_of(s->L, n, m), 0, 0, n, k), 1, C);
}

// Chooses row number k. Where nothing is left any row will do, and the first one free is taken.
static size_t choose(search *s, size_t k)
{
    const size_t n = s->X.rows;
    size_t candidates[CANDIDATES], best = 0;
    const size_t n_candidates = draw(s, candidates);
    if (!n_candidates) {
        while (s->left[best] < 0) best++;
        return best;
    }
    make_columns(s, k, candidates, n_candidates);
    double most = -1;
    for (size_t c = 0; c < n_candidates; c++) {
        const double *column = s->columns + c * n, gain = gp_dot(n, column, column) / s->left[candidates[c]];
        if (gain > most) most = gain, best = c;
    }
    const double *column = s->columns + best * n, root = sqrt(s->left[candidates[best]]);
    for (size_t i = 0; i < n; i++) {
        const double l = column[i] / root;
        s->L[i * s->m + k] = l;
        if (s->left[i] >= 0) s->left[i] = fmax(0, s->left[i] - l * l);
    }
    return candidates[best];
}

advgp_status gp_inducing_greedy(gp_cmat X, size_t m, const gp_kernel *kernel, double length_scale, uint64_t seed,
                                size_t *rows, advgp_error *err)
{
    const size_t n = X.rows;
    double *L = gp_alloc(n, m * sizeof *L), *rest = gp_alloc(n + CANDIDATES * (n + m), sizeof *rest);
    if (!L || !rest) {
        gp_free(L);
        gp_free(rest);
        return gp_no_memory(err);
    }
    search s = {.X = X,
                .kernel = kernel,
                .eta = 1 / (length_scale * length_scale),
                .rng = gp_rng_seeded(seed, 0x677265),
                .m = m,
                .L = L,
                .left = rest,
                .columns = rest + n,
                .rows = rest + n + CANDIDATES * n};
    for (size_t i = 0; i < n; i++) s.left[i] = 1;
    const bool asks = gp_panel(m, CANDIDATES * (double)n * (double)m * (double)(m + 3 * X.cols)) < m;
    for (size_t k = 0; k < m && !(asks && gp_interrupted()); k++) {
        rows[k] = choose(&s, k);
        s.left[rows[k]] = -1;
    }
    gp_free(L);
    gp_free(rest);
    return gp_interrupt_status(ADVGP_OK, "the choice of inducing inputs", err);
}
