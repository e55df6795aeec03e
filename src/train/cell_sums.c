// cell_sums.c: rows come in pieces; a piece is sorted by cell, and the cells are tasks.
#include "train/cell_sums.h"
#include "base/alloc.h"
#include "data/reader.h"
#include "linalg/dense.h"
#include "linalg/interrupt.h"
#include "run/crew.h"

#include <math.h>
#include <string.h>

enum { PIECE_ROWS = 65536, BLOCK_ROWS = 256 };

typedef struct summing {
    const gp_cell_sums_options *o;
    gp_cells *cells;
    gp_arrow *arrow;
    gp_features **local; // [n]
    gp_cell_finder *finder;
    double *distances;             // [n]
    size_t *which, *order, *first; // of the piece: [piece], [piece], [n + 1]
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

static gp_mat features_of(const gp_features *f, const block *b, size_t B, double *out)
{
    const gp_mat X1 = gp_mat_of(b->x1, B, f->d + 2), K = gp_mat_of(b->K, B, f->n_cols), phi = gp_mat_of(out, B, f->M);
    gp_features_columns(f, X1, K, NULL);
    gp_features_right(f, gp_ro(K), phi);
    return phi;
}

static void scale(size_t n, double by, double *x)
{
    for (size_t i = 0; i < n; i++) x[i] *= by;
}

// Rows order[0] .. order[B - 1] of the piece.
static void add_block(const summing *s, const gp_features *local, const size_t *order, size_t B, const block *b,
                      gp_arrow_sums *sums)
{
    const gp_features *global = s->o->global;
    const size_t d = global->d;
    for (size_t i = 0; i < B; i++) {
        double *x1 = b->x1 + i * (d + 2);
        x1[0] = 1;
        memcpy(x1 + 1, s->piece.X.p + order[i] * s->piece.X.ld, d * sizeof *x1);
        b->y[i] = s->piece.y[order[i]];
    }
    const gp_mat G = features_of(global, b, B, b->g), L = features_of(local, b, B, b->l);
    for (size_t i = 0; i < B; i++) {
        const double w = s->piece.w ? s->piece.w[order[i]] : 1, root = sqrt(w);
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

static advgp_status sum_cell(void *ctx, size_t c, advgp_error *err)
{
    const summing *s = ctx;
    const size_t first = s->first[c], n = s->first[c + 1] - first;
    block b;
    gp_arena arena = {0};
    if (!n) return ADVGP_OK;
    plan(&b, s->o->global, s->local[c], &arena);
    if (!gp_arena_take(&arena)) return gp_fail(err, ADVGP_ENOMEM, "no memory for the sums of a cell");
    plan(&b, s->o->global, s->local[c], &arena);
    for (size_t at = 0; at < n && !gp_interrupted(); at += BLOCK_ROWS) {
        const size_t B = n - at < BLOCK_ROWS ? n - at : BLOCK_ROWS;
        add_block(s, s->local[c], s->order + first + at, B, &b, gp_arrow_cell(s->arrow, c));
    }
    gp_free(arena.base);
    return gp_interrupt_status(ADVGP_OK, "the sums of cells", err);
}

static advgp_status sum_piece(void *ctx, gp_batch rows, advgp_error *err)
{
    summing *s = ctx;
    s->piece = rows;
    gp_cell_sort(s->finder, rows.X, s->which, s->order, s->first, s->distances);
    for (size_t c = 0; c < s->finder->n; c++) s->cells->rows[c] += (double)(s->first[c + 1] - s->first[c]);
    return gp_crew_do(s->o->threads, s->finder->n, sum_cell, s, s->o->stop, s->o->stop_ctx, err);
}

static advgp_status prepare(summing *s, size_t piece, advgp_error *err)
{
    gp_cells *cells = s->cells;
    const size_t n = cells->shape.n;
    s->local = gp_alloc(n, sizeof(gp_features *));
    s->distances = gp_alloc(n, sizeof *s->distances);
    s->which = gp_alloc(2 * piece + n + 1, sizeof *s->which);
    if (!s->local || !s->distances || !s->which) return gp_fail(err, ADVGP_ENOMEM, "no memory for the sums of cells");
    s->order = s->which + piece, s->first = s->order + piece;
    advgp_status st = gp_cell_finder_new(n, cells->shape.d, cells->scale, cells->centres, &s->finder, err);
    for (size_t c = 0; st == ADVGP_OK && c < n; c++) {
        st = gp_cells_features(cells, c, &s->local[c], err);
        if (st == ADVGP_OK) cells->jitter[c] = s->local[c]->components[0].rung.jitter;
        cells->rows[c] = 0;
    }
    return st == ADVGP_OK ? gp_arrow_new(cells, &s->arrow, err) : st;
}

advgp_status gp_cell_sums(const gp_cell_sums_options *o, gp_cells *cells, gp_arrow **out, advgp_error *err)
{
    const size_t all = gp_shards_rows(o->shards, GP_TRAIN), piece = all < PIECE_ROWS ? all : PIECE_ROWS;
    summing s = {.o = o, .cells = cells};
    gp_reader reader = {0};
    *out = NULL;
    advgp_status st = prepare(&s, piece, err);
    if (st == ADVGP_OK) st = gp_reader_new(o->shards, piece, &reader, err);
    if (st == ADVGP_OK) st = gp_reader_visit(&reader, GP_TRAIN, 0, sum_piece, &s, err);
    gp_reader_fini(&reader);
    for (size_t c = 0; s.local && c < cells->shape.n; c++) gp_features_free(s.local[c]);
    gp_free(s.local);
    gp_free(s.distances);
    gp_free(s.which);
    gp_cell_finder_free(s.finder);
    if (st == ADVGP_OK)
        *out = s.arrow;
    else
        gp_arrow_free(s.arrow);
    return st;
}
