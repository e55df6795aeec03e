// cells_sums.c: rows come in pieces; a piece is sorted by cell, and the cells are tasks of threads.
#include "cells/cells_sums.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "linalg/interrupt.h"
#include "run/crew.h"
#include "shards/reader.h"

#include <math.h>
#include <string.h>

enum { PIECE_ROWS = 65536, BLOCK_ROWS = 256 };

typedef struct summing {
    const gp_cells_sums *o;
    double *trust;                 // [cells]: the weight of rows beyond a cell's border; below 0: not known yet
    double *distances;             // [all cells]
    size_t *which, *order, *first; // of the piece: [piece], [piece], [all cells + 1]
    gp_batch piece;
} summing;

// The arrays of a block of rows.
typedef struct block {
    double *x1, *K, *g, *l, *y;
} block;

static void plan(block *b, const gp_features *global, const gp_features *local, gp_arena *arena)
{
    const size_t d = global->d, wide = local->n_cols > global->n_cols ? local->n_cols : global->n_cols;
    b->x1 = gp_arena_doubles(arena, BLOCK_ROWS * (d + 2));
    b->K = gp_arena_doubles(arena, BLOCK_ROWS * wide);
    b->g = gp_arena_doubles(arena, BLOCK_ROWS * global->M);
    b->l = gp_arena_doubles(arena, BLOCK_ROWS * local->M);
    b->y = gp_arena_doubles(arena, BLOCK_ROWS);
}

static void features_of(const gp_features *f, const block *b, size_t B, double *out)
{
    const gp_mat X1 = gp_mat_of(b->x1, B, f->d + 2), K = gp_mat_of(b->K, B, f->n_cols), phi = gp_mat_of(out, B, f->M);
    gp_features_columns(f, X1, K, NULL);
    gp_features_right(f, gp_ro(K), phi);
}

static void scale(size_t n, double by, double *x)
{
    for (size_t i = 0; i < n; i++) x[i] *= by;
}

// Rows order[0] .. order[B - 1] of the piece: inputs, targets and both features.
static void take_block(const summing *s, const gp_features *local, const size_t *order, size_t B, const block *b)
{
    const size_t d = local->d;
    for (size_t i = 0; i < B; i++) {
        double *x1 = b->x1 + i * (d + 2);
        x1[0] = 1;
        memcpy(x1 + 1, s->piece.X.p + order[i] * s->piece.X.ld, d * sizeof *x1);
        b->y[i] = s->piece.y[order[i]];
    }
    features_of(s->o->global, b, B, b->g);
    features_of(local, b, B, b->l);
}

static double weight_of(const summing *s, size_t row)
{
    return s->piece.w ? s->piece.w[row] : 1;
}

static void add_block(const summing *s, const gp_features *local, const size_t *order, size_t B, double trust,
                      const block *b, gp_arrow_sums *sums)
{
    const gp_mat G = gp_mat_of(b->g, B, s->o->global->M), L = gp_mat_of(b->l, B, local->M);
    take_block(s, local, order, B, b);
    for (size_t i = 0; i < B; i++) {
        const double w = trust * weight_of(s, order[i]), root = sqrt(w);
        if (!s->o->finite) sums->residual += w * gp_features_residual(local, L.p + i * L.ld);
        if (w == 1) continue;
        scale(L.cols, root, L.p + i * L.ld);
        scale(G.cols, root, G.p + i * G.ld);
        b->y[i] *= root;
    }
    gp_syrk_upper(gp_ro(L), 1, sums->A);
    gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_ro(L), gp_ro(G), 1, sums->G);
    gp_gemv(GP_TRANSPOSED, 1, gp_ro(L), b->y, 1, sums->b);
}

// How far a cell, which has not seen these rows beyond its border, is to be trusted about them: its squared errors are
// those of the noise and of its own uncertainty, and what they are more is a difference between the two sides. A row
// that differs counts as one with so much more noise.
static void add_doubt(const summing *s, size_t c, const size_t *order, size_t B, gp_cmat U, const block *b, double *n,
                      double *squares)
{
    const gp_features *local = s->o->cells->kept[c];
    const double *mu = s->o->cells->mu + s->o->cells->mu_at[c], *mu_g = s->o->mu;
    const size_t M = local->M, M_g = s->o->global->M;
    take_block(s, local, order, B, b);
    for (size_t i = 0; i < B; i++) {
        const double w = weight_of(s, order[i]), *l = b->l + i * M;
        const double error = b->y[i] - gp_dot(M_g, b->g + i * M_g, mu_g) - gp_dot(M, l, mu);
        *n += w > 0;
        *squares += w * (error * error - gp_features_residual(local, l));
        scale(M, sqrt(w), b->l + i * M);
    }
    gp_trmm_right(GP_UPPER, GP_TRANSPOSED, U, gp_mat_of(b->l, B, M));
    *squares -= gp_dot(B * M, b->l, b->l);
}

static void learn_trust(const summing *s, size_t c, const size_t *order, size_t rows, gp_mat U, const block *b)
{
    double n = 0, squares = 0;
    gp_upper_unpack(U.rows, s->o->cells->U + s->o->cells->U_at[c], U);
    for (size_t at = 0; at < rows && !gp_interrupted(); at += BLOCK_ROWS)
        add_doubt(s, c, order + at, rows - at < BLOCK_ROWS ? rows - at : BLOCK_ROWS, gp_ro(U), b, &n, &squares);
    const double ln_sigma = fmax(s->o->ln_sigma,
                                 s->o->cells->theta[s->o->cells->theta_at[c]]); // some cells have more than all
    const double noise = exp(2 * ln_sigma) * n;
    s->trust[c] = squares > noise ? noise / squares : 1;
}

static advgp_status sum_cell(void *ctx, size_t c, advgp_error *err)
{
    const summing *s = ctx;
    const gp_features *local = s->o->cells->kept[c];
    const size_t *first = s->first + s->o->first + c, *order = s->order + *first, n = first[1] - *first, M = local->M;
    const bool beyond = s->o->nearness == GP_SECOND_NEAREST;
    block b;
    double *U = NULL;
    gp_arena arena = {0};
    if (!n) return ADVGP_OK;
    for (int turn = 0; turn < 2; turn++) {
        plan(&b, s->o->global, local, &arena);
        U = gp_arena_doubles(&arena, beyond ? M * M : 0);
        if (!turn && !gp_arena_take(&arena)) return gp_no_memory(err);
    }
    if (beyond && s->trust[c] < 0) learn_trust(s, c, order, n, gp_mat_of(U, M, M), &b);
    for (size_t at = 0; at < n && !gp_interrupted(); at += BLOCK_ROWS)
        add_block(s, local, order + at, n - at < BLOCK_ROWS ? n - at : BLOCK_ROWS, beyond ? s->trust[c] : 1, &b,
                  gp_arrow_cell(s->o->arrow, c));
    gp_free(arena.base);
    return gp_interrupt_status(ADVGP_OK, "the sums of cells", err);
}

static advgp_status sum_piece(void *ctx, gp_batch rows, advgp_error *err)
{
    summing *s = ctx;
    s->piece = rows;
    gp_cell_sort(s->o->finder, s->o->nearness, rows.X, s->which, s->order, s->first, s->distances);
    const size_t *first = s->first + s->o->first;
    for (size_t c = 0; s->o->nearness == GP_NEAREST && c < s->o->cells->shape.n; c++)
        s->o->cells->rows[c] += (double)(first[c + 1] - first[c]);
    return gp_crew_do(s->o->threads, s->o->cells->shape.n, sum_cell, s, s->o->stop, s->o->stop_ctx, err);
}

advgp_status gp_cells_sums_run(const gp_cells_sums *o, advgp_error *err)
{
    const size_t all = gp_shards_rows(o->shards, GP_TRAIN), piece = all < PIECE_ROWS ? all : PIECE_ROWS;
    const size_t n = o->cells->shape.n, n_all = o->finder->n;
    summing s = {.o = o};
    gp_reader reader = {0};
    s.distances = gp_alloc(n_all + n, sizeof *s.distances);
    s.which = gp_alloc(2 * piece + n_all + 1, sizeof *s.which);
    advgp_status st = s.distances && s.which ? ADVGP_OK : gp_no_memory(err);
    if (st == ADVGP_OK) {
        s.order = s.which + piece, s.first = s.order + piece;
        s.trust = s.distances + n_all;
        for (size_t c = 0; c < n; c++) s.trust[c] = -1;
        st = gp_reader_new(o->shards, piece, &reader, err);
    }
    if (st == ADVGP_OK) st = gp_reader_visit(&reader, GP_TRAIN, 0, sum_piece, &s, err);
    gp_reader_fini(&reader);
    gp_free(s.distances);
    gp_free(s.which);
    return st;
}
