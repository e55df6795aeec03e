// cells_predictor.c: rows of a block sorted by cell; g and l their features, z = U l of their cell. mean = g mu_g + l
// mu_c, variance = |z|^2 + |U_g (g - W^T z)|^2 + what both kernels have beyond their features: sums of squares, so it
// cannot come out negative. docs/math.md 10.
#include "linalg/dense.h"
#include "model/cells.h"
#include "model/explanation.h"
#include "model/theta.h"

#include <math.h>
#include <string.h>

typedef struct local_part {
    const gp_features *f;
    gp_features *own; // f, unless the cells have kept it
    double *a;        // [n_cols]: L~ mu
    gp_mat U;         // M x M
} local_part;

typedef struct cells_predictor {
    gp_predictor base;
    const gp_cells *cells;
    gp_cell_finder *finder;
    gp_features *f; // global
    double *a;      // [n_cols]
    gp_mat U;       // M_g x M_g
    local_part *local;
    size_t most_cols, most_M; // of a cell
} cells_predictor;

// The views of a block. PLACES holds size_t: which, order (B each), first (cells + 1).
enum { X1, COLUMNS, PHI, LOCAL, Z, ROW, DISTANCES, PLACES };
_Static_assert((int)PLACES < (int)GP_PREDICT_VIEWS, "every view has its place");

enum { BLOCK_ROWS = 2048 }; // a cell's matrices are read once for its rows of a block

static const cells_predictor *of(const gp_predictor *p)
{
    return (const cells_predictor *)p;
}

// ---- prediction -----------------------------------------------------------------------------------------------------

static gp_mat arena_mat(gp_arena *arena, size_t rows, size_t cols)
{
    return gp_mat_of(gp_arena_doubles(arena, rows * cols), rows, cols);
}

static void plan_block(const gp_predictor *self, size_t B, gp_arena *arena, gp_mat views[GP_PREDICT_VIEWS])
{
    const cells_predictor *p = of(self);
    const gp_features *f = p->f;
    const size_t n = p->cells->shape.n;
    views[X1] = arena_mat(arena, B, f->d + 2);
    views[COLUMNS] = arena_mat(arena, B, f->n_cols);
    views[PHI] = arena_mat(arena, B, f->M);
    views[LOCAL] = arena_mat(arena, B, p->most_cols);
    views[Z] = arena_mat(arena, B, p->most_M);
    views[ROW] = arena_mat(arena, B, 3); // mean, spread and residual in the order of cells
    views[DISTANCES] = arena_mat(arena, 1, n);
    views[PLACES] = (gp_mat){.p = gp_arena_bytes(arena, 2 * B + n + 1, sizeof(size_t)), .rows = B};
}

// Rows in the order of their cells: [1 x .].
static void gather(gp_cmat X, const size_t *order, gp_mat x1)
{
    for (size_t i = 0; i < X.rows; i++) {
        x1.p[i * x1.ld] = 1;
        memcpy(x1.p + i * x1.ld + 1, X.p + order[i] * X.ld, X.cols * sizeof(double));
    }
}

static gp_mat part_rows(gp_mat view, size_t first, size_t n, size_t cols)
{
    return gp_mat_of(view.p + first * cols, n, cols);
}

// What cell c adds to `n` rows from `first` on, in the order of cells: to the mean, and to spread, residual and phi.
static void add_cell(const cells_predictor *p, size_t c, size_t first, size_t n, const gp_mat views[GP_PREDICT_VIEWS],
                     bool spread)
{
    const local_part *part = &p->local[c];
    const gp_features *f = part->f;
    const size_t M = f->M;
    const gp_mat x1 = part_rows(views[X1], first, n, f->d + 2);
    const gp_mat K = gp_mat_of(views[LOCAL].p, n, f->n_cols), z = gp_mat_of(views[Z].p, n, M);
    double *row = views[ROW].p + 3 * first;
    gp_features_columns(f, x1, K, NULL);
    for (size_t i = 0; i < n; i++) row[3 * i] += gp_dot(f->n_cols, K.p + i * K.ld, part->a);
    if (!spread) return;
    gp_features_right(f, gp_ro(K), z); // l
    for (size_t i = 0; i < n; i++) row[3 * i + 2] += gp_features_residual(f, z.p + i * M);
    gp_trmm_right(GP_UPPER, GP_TRANSPOSED, gp_ro(part->U), z);
    for (size_t i = 0; i < n; i++) row[3 * i + 1] += gp_dot(M, z.p + i * M, z.p + i * M);
    const gp_cmat W = gp_cmat_of(p->cells->W + p->cells->W_at[c], M, p->f->M);
    gp_gemm(GP_AS_IS, GP_AS_IS, -1, gp_ro(z), W, 1, part_rows(views[PHI], first, n, p->f->M));
}

static void block(const gp_predictor *self, gp_cmat X, const gp_mat views[GP_PREDICT_VIEWS], double *mean,
                  double *spread, double *residual)
{
    const cells_predictor *p = of(self);
    const size_t B = X.rows, d = p->f->d, M = p->f->M, n_cells = p->cells->shape.n;
    size_t *which = (size_t *)(void *)views[PLACES].p, *order = which + views[PLACES].rows,
           *first = order + views[PLACES].rows;
    const gp_mat x1 = part_rows(views[X1], 0, B, d + 2);
    const gp_mat K = part_rows(views[COLUMNS], 0, B, p->f->n_cols), phi = part_rows(views[PHI], 0, B, M);
    double *row = views[ROW].p;
    gp_cell_sort(p->finder, GP_NEAREST, X, which, order, first, views[DISTANCES].p);
    gather(X, order, x1);
    gp_features_columns(p->f, x1, K, NULL);
    for (size_t i = 0; i < B; i++) row[3 * i] = gp_dot(p->f->n_cols, K.p + i * K.ld, p->a);
    if (spread) gp_features_right(p->f, gp_ro(K), phi);
    for (size_t i = 0; spread && i < B; i++)
        row[3 * i + 1] = 0, row[3 * i + 2] = gp_features_residual(p->f, phi.p + i * M);
    for (size_t c = 0; c < n_cells; c++)
        if (first[c + 1] > first[c]) add_cell(p, c, first[c], first[c + 1] - first[c], views, spread != NULL);
    if (spread) {
        gp_trmm_right(GP_UPPER, GP_TRANSPOSED, gp_ro(p->U), phi); // rows are (U_g (g - W^T z))^T
        for (size_t i = 0; i < B; i++) row[3 * i + 1] += gp_dot(M, phi.p + i * M, phi.p + i * M);
    }
    for (size_t i = 0; i < B; i++) {
        mean[order[i]] = row[3 * i];
        if (spread) spread[order[i]] = row[3 * i + 1], residual[order[i]] = row[3 * i + 2];
    }
}

static void explain(const gp_predictor *self, const double *x, const gp_mat views[GP_PREDICT_VIEWS],
                    gp_explanation *out)
{
    const cells_predictor *p = of(self);
    const size_t d = p->f->d, first = 0;
    const gp_mat x1 = part_rows(views[X1], 0, 1, d + 2), K = part_rows(views[COLUMNS], 0, 1, p->f->n_cols);
    gather(gp_cmat_of(x, 1, d), &first, x1);
    gp_features_columns(p->f, x1, K, NULL);
    gp_explain_features(p->f, p->a, x, K.p, GP_GLOBAL, out);
    const size_t c = gp_cell_of(p->finder, x, views[DISTANCES].p);
    const local_part *part = &p->local[c];
    const gp_mat local = gp_mat_of(views[LOCAL].p, 1, part->f->n_cols);
    gp_features_columns(part->f, x1, local, NULL);
    gp_explain_features(part->f, part->a, x, local.p, (long)c, out);
}

static const gp_features *features(const gp_predictor *self)
{
    return of(self)->f;
}

static void cells_free(gp_predictor *self)
{
    cells_predictor *p = (cells_predictor *)self;
    for (size_t c = 0; c < p->cells->shape.n; c++) gp_features_free(p->local[c].own);
    gp_features_free(p->f);
    gp_cell_finder_free(p->finder);
    gp_free(p);
}

static const gp_predictor_ops cells_ops = {
    .plan = plan_block, .block = block, .features = features, .explain = explain, .free = cells_free};

// ---- construction ---------------------------------------------------------------------------------------------------

static advgp_status fill(cells_predictor *p, const double *theta, advgp_error *err)
{
    const gp_cells *cells = p->cells;
    const gp_theta_layout layout = gp_theta_layout_of(p->f);
    if (layout.M != cells->shape.M_g || p->f->d != cells->shape.d)
        return gp_fail(err, ADVGP_EINVAL, "cells of %zu global features and %zu inputs beside a model of %zu and %zu",
                       cells->shape.M_g, cells->shape.d, layout.M, p->f->d);
    p->base.noise = exp(2 * theta[0]);
    if (!(isfinite(p->base.noise) && p->base.noise > 0))
        return gp_fail(err, ADVGP_ENUMERIC, "the noise is out of range: ln sigma = %g", theta[0]);
    if (!gp_all_finite(layout.size, theta)) return gp_fail(err, ADVGP_ENUMERIC, "a parameter is not finite");
    advgp_status st = gp_features_set(p->f, theta, err);
    if (st == ADVGP_OK)
        st = gp_cell_finder_new(cells->shape.n, cells->shape.d, cells->scale, cells->centres, &p->finder, err);
    for (size_t c = 0; st == ADVGP_OK && c < cells->shape.n; c++) {
        local_part *part = &p->local[c];
        if (!cells->kept) st = gp_cells_features(cells, c, &part->own, err);
        if (st != ADVGP_OK) break;
        part->f = cells->kept ? cells->kept[c] : part->own;
        gp_upper_unpack(part->f->M, cells->U + cells->U_at[c], part->U);
        gp_features_left(part->f, gp_cmat_of(cells->mu + cells->mu_at[c], part->f->M, 1),
                         gp_mat_of(part->a, part->f->n_cols, 1));
    }
    if (st != ADVGP_OK) return st;
    gp_upper_unpack(layout.M, theta + layout.U, p->U);
    gp_features_left(p->f, gp_cmat_of(theta + layout.n_rest, layout.M, 1), gp_mat_of(p->a, p->f->n_cols, 1));
    return ADVGP_OK;
}

static cells_predictor *plan(gp_features *f, const gp_cells *cells, gp_arena *arena)
{
    cells_predictor *self = gp_arena_bytes(arena, 1, sizeof *self);
    local_part *local = gp_arena_bytes(arena, cells->shape.n, sizeof *local);
    cells_predictor cut = {
        .base = {.ops = &cells_ops, .d = f->d, .block_rows = BLOCK_ROWS},
        .cells = cells,
        .f = f,
        .a = gp_arena_doubles(arena, f->n_cols),
        .U = gp_mat_of(gp_arena_doubles(arena, f->M * f->M), f->M, f->M),
        .local = local,
    };
    for (size_t c = 0; c < cells->shape.n; c++) {
        const size_t M = gp_cells_M(cells, c); // its columns are as many: the map is square
        double *a = gp_arena_doubles(arena, M), *U = gp_arena_doubles(arena, M * M);
        if (local) local[c] = (local_part){.a = a, .U = gp_mat_of(U, M, M)};
        if (M > cut.most_M) cut.most_M = cut.most_cols = M;
    }
    if (self) *self = cut;
    return self;
}

advgp_status gp_cells_predictor_new(const gp_feature_spec *spec, const double *theta, const gp_cells *cells,
                                    gp_predictor **out, advgp_error *err)
{
    if (!out || !theta || !cells)
        return gp_fail(err, ADVGP_EINVAL, "predictor: no parameters or cells, or nowhere to put the result");
    *out = NULL;
    gp_features *f = NULL;
    advgp_status st = gp_features_new(spec, &f, err);
    if (st != ADVGP_OK) return st;
    gp_arena arena = {0};
    (void)plan(f, cells, &arena);
    if (!gp_arena_take(&arena)) {
        gp_features_free(f);
        return gp_no_memory(err);
    }
    cells_predictor *p = plan(f, cells, &arena);
    st = fill(p, theta, err);
    if (st == ADVGP_OK)
        *out = &p->base;
    else
        gp_predictor_free(&p->base);
    return st;
}
