// cells.c: the arrays of all cells in one block, and which cell a row is in.
#include "model/cells.h"
#include "base/alloc.h"
#include "linalg/simd.h"

#include <string.h>

// ---- the cells ------------------------------------------------------------------------------------------------------

size_t gp_cells_trend_features(gp_trend trend, size_t d)
{
    return trend == GP_TREND_LINEAR ? 1 + d : trend == GP_TREND_CONSTANT ? 1 : 0;
}

size_t gp_cells_M(const gp_cells *cells, size_t cell)
{
    return cells->mu_at[cell + 1] - cells->mu_at[cell];
}

static void plan(gp_cells *c, gp_arena *arena)
{
    const size_t n = c->shape.n, d = c->shape.d;
    size_t **const places[] = {&c->m, &c->theta_at, &c->mu_at, &c->U_at, &c->W_at};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        *places[i] = gp_arena_bytes(arena, n + 1, sizeof(size_t));
    c->scale = gp_arena_doubles(arena, d);
    c->centres = gp_arena_doubles(arena, n * d);
    c->rows = gp_arena_doubles(arena, n);
    c->jitter = gp_arena_doubles(arena, n);
    c->theta = gp_arena_doubles(arena, c->n_theta);
    c->mu = gp_arena_doubles(arena, c->n_mu);
    c->U = gp_arena_doubles(arena, c->n_U);
    c->W = gp_arena_doubles(arena, c->n_W);
}

// Sizes of cell i, added to the totals; where a cell begins, if there is room to keep that.
static void count(gp_cells *c, bool keep)
{
    const gp_cells_shape *s = &c->shape;
    const size_t d = s->d, n_trend = gp_cells_trend_features(s->trend, d);
    const size_t n_scales = s->trend == GP_TREND_LINEAR ? 2 : s->trend == GP_TREND_CONSTANT ? 1 : 0;
    c->n_theta = c->n_mu = c->n_U = c->n_W = c->n_z = 0;
    for (size_t i = 0; i <= s->n; i++) {
        if (keep) c->theta_at[i] = c->n_theta, c->mu_at[i] = c->n_mu, c->U_at[i] = c->n_U, c->W_at[i] = c->n_W;
        if (i == s->n) break;
        const size_t m = s->m[i], M = m + n_trend;
        if (keep) c->m[i] = m;
        c->n_theta += 2 + d + m * d + n_scales;
        c->n_mu += M;
        c->n_U += M * (M + 1) / 2;
        c->n_W += M * s->M_g;
        c->n_z += m;
    }
}

gp_cells gp_cells_sizes(const gp_cells_shape *shape)
{
    gp_cells c = {.shape = *shape};
    count(&c, false);
    return c;
}

advgp_status gp_cells_new(const gp_cells_shape *shape, gp_cells **out, advgp_error *err)
{
    *out = NULL;
    if (!shape->n || !shape->d || !shape->M_g || !shape->kernel)
        return gp_fail(err, ADVGP_EINVAL, "cells: no cells, inputs, features or kernel given");
    for (size_t i = 0; i < shape->n; i++)
        if (!shape->m[i]) return gp_fail(err, ADVGP_EINVAL, "cells: cell %zu has no inducing inputs", i);
    gp_cells c = gp_cells_sizes(shape);
    gp_arena arena = {0};
    (void)gp_arena_bytes(&arena, 1, sizeof c);
    plan(&c, &arena);
    if (!gp_arena_take(&arena)) return gp_no_memory(err);
    gp_cells *self = gp_arena_bytes(&arena, 1, sizeof c);
    plan(&c, &arena);
    count(&c, true);
    c.shape.m = c.m;
    *self = c;
    *out = self;
    return ADVGP_OK;
}

void gp_cells_free(gp_cells *cells)
{
    for (size_t c = 0; cells && cells->kept && c < cells->shape.n; c++) gp_features_free(cells->kept[c]);
    if (cells) gp_free(cells->kept);
    gp_free(cells);
}

advgp_status gp_cells_features(const gp_cells *cells, size_t cell, gp_features **out, advgp_error *err)
{
    const gp_cells_shape *s = &cells->shape;
    const gp_component_spec component = {s->kernel, &gp_map_cholesky, {.m = s->m[cell]}};
    const gp_feature_spec spec = {.d = s->d,
                                  .n_components = 1,
                                  .components = &component,
                                  .trend = s->trend,
                                  .jitter = 1e-6,
                                  .rungs = &cells->jitter[cell]};
    advgp_status st = gp_features_new(&spec, out, err);
    if (st == ADVGP_OK) st = gp_features_set(*out, cells->theta + cells->theta_at[cell], err);
    if (st == ADVGP_OK) return st;
    gp_features_free(*out);
    *out = NULL;
    return gp_wrap(err, st, "cell %zu", cell + 1);
}

advgp_status gp_cells_keep(gp_cells *cells, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    cells->kept = gp_alloc(cells->shape.n, sizeof *cells->kept);
    if (!cells->kept) return gp_no_memory(err);
    for (size_t c = 0; st == ADVGP_OK && c < cells->shape.n; c++) {
        st = gp_cells_features(cells, c, &cells->kept[c], err);
        if (st == ADVGP_OK) cells->jitter[c] = cells->kept[c]->components[0].rung.jitter;
    }
    return st;
}

// ---- which cell -----------------------------------------------------------------------------------------------------

advgp_status gp_cell_finder_new(size_t n, size_t d, const double *scale, const double *centres, gp_cell_finder **out,
                                advgp_error *err)
{
    gp_cell_finder *self = NULL;
    gp_arena arena = {0};
    *out = NULL;
    for (int turn = 0; turn < 2; turn++) {
        self = gp_arena_bytes(&arena, 1, sizeof *self);
        double *weights = gp_arena_doubles(&arena, n * d), *norms = gp_arena_doubles(&arena, n);
        if (self) *self = (gp_cell_finder){n, d, weights, norms};
        if (!turn && !gp_arena_take(&arena)) return gp_no_memory(err);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++) {
            const double weight = scale[k] * scale[k] * centres[i * d + k];
            self->weights[k * n + i] = -2 * weight;
            self->norms[i] += weight * centres[i * d + k];
        }
    *out = self;
    return ADVGP_OK;
}

void gp_cell_finder_free(gp_cell_finder *finder)
{
    gp_free(finder);
}

GP_VARIANTS(add_multiple, (size_t n, double a, const double *restrict x, double *restrict y), (n, a, x, y))
{
    for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

size_t gp_cell_of(const gp_cell_finder *f, const double *x, double *distances)
{
    size_t best = 0;
    memcpy(distances, f->norms, f->n * sizeof *distances);
    for (size_t k = 0; k < f->d; k++) add_multiple(f->n, x[k], f->weights + k * f->n, distances);
    for (size_t i = 1; i < f->n; i++)
        if (distances[i] < distances[best]) best = i;
    return best;
}

static size_t second_nearest(const gp_cell_finder *f, const double *x, double *distances)
{
    const size_t nearest = gp_cell_of(f, x, distances);
    size_t best = nearest == 0;
    for (size_t i = best + 1; i < f->n; i++)
        if (i != nearest && distances[i] < distances[best]) best = i;
    return best;
}

void gp_cell_sort(const gp_cell_finder *f, gp_nearness nearness, gp_cmat X, size_t *which, size_t *order, size_t *first,
                  double *distances)
{
    memset(first, 0, (f->n + 1) * sizeof *first);
    for (size_t i = 0; i < X.rows; i++) {
        const double *x = X.p + i * X.ld;
        which[i] = nearness == GP_NEAREST ? gp_cell_of(f, x, distances) : second_nearest(f, x, distances);
        first[which[i]]++;
    }
    size_t at = 0;
    for (size_t c = 0; c <= f->n; c++) {
        const size_t here = c < f->n ? first[c] : 0;
        first[c] = at; // where it begins; then, while its rows are placed, where the next one goes
        at += here;
    }
    for (size_t i = 0; i < X.rows; i++) order[first[which[i]]++] = i;
    for (size_t c = f->n; c > 0; c--) first[c] = first[c - 1];
    first[0] = 0;
}
