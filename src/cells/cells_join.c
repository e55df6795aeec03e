// cells_join.c: the sums of all cells, by this process or by pieces of work for several; then the posterior.
#include "cells/cells_join.h"
#include "base/alloc.h"
#include "cells/sums_task.h"
#include "linalg/interrupt.h"

#include <math.h>
#include <string.h>

// Several processes share the sums where a cell has so many rows that adding them up takes far longer than its sums on
// their way. Everybody reads all rows: two pieces of work for each are enough to keep all busy.
enum { SHARED_CELL_ROWS = 1000, PIECES_EACH = 2 };

typedef struct joining {
    const gp_cells_join_options *o;
    gp_cells *cells;
    gp_cell_finder *finder;
    gp_arrow *arrow;
    gp_cells_sums sums;  // of the pass
    size_t *first_cells; // [pieces + 1], where several processes share it
} joining;

// ---- by several processes -------------------------------------------------------------------------------------------

static gp_sums_task piece_of(const joining *j, size_t i)
{
    return (gp_sums_task){.spec = j->o->spec,
                          .theta = j->o->theta,
                          .sums = j->sums,
                          .first = j->first_cells[i],
                          .n = j->first_cells[i + 1] - j->first_cells[i],
                          .fingerprint = gp_cluster_fingerprint(j->o->cluster)};
}

static advgp_status pack_piece(void *ctx, size_t i, gp_parcel *out, advgp_error *err)
{
    const gp_sums_task task = piece_of(ctx, i);
    return gp_sums_task_pack(&task, out, err);
}

static int is_interrupted(void *ctx)
{
    (void)ctx;
    return gp_interrupted();
}

// As another process does it, but with all threads.
static advgp_status sum_piece(void *ctx, size_t i, double *result, size_t *n, advgp_error *err)
{
    const joining *j = ctx;
    const gp_sums_rows rows = {.shards = j->o->shards,
                               .fingerprint = gp_cluster_fingerprint(j->o->cluster),
                               .threads = j->o->threads,
                               .stop = is_interrupted};
    gp_parcel parcel = {0};
    double *sums = NULL;
    advgp_status st = pack_piece(ctx, i, &parcel, err);
    if (st == ADVGP_OK) st = gp_sums_task_do(&rows, &parcel, &sums, n, err);
    if (st == ADVGP_OK) memcpy(result, sums, *n * sizeof *result);
    gp_free(sums);
    gp_parcel_fini(&parcel);
    return gp_interrupt_status(st, "the sums of cells", err);
}

static bool take_piece(void *ctx, size_t i, const double *result, size_t n)
{
    const gp_sums_task task = piece_of(ctx, i);
    return gp_sums_task_take(&task, result, n);
}

// Cells in pieces of about equal size, whose sums fit into a message. 0: a single cell's do not; SIZE_MAX: no memory.
static size_t cut(joining *j, size_t *largest)
{
    const size_t n = j->cells->shape.n, wanted = PIECES_EACH * (gp_cluster_workers(j->o->cluster) + 1);
    size_t pieces = 0, values = 0, all = 0;
    j->first_cells = gp_alloc(n + 1, sizeof *j->first_cells);
    if (!j->first_cells) return SIZE_MAX;
    for (size_t c = 0; c < n; c++) all += gp_sums_values(j->cells, c);
    const size_t share = (all + wanted - 1) / wanted, most = share < GP_TASK_VALUES_MAX ? share : GP_TASK_VALUES_MAX;
    *largest = 0;
    for (size_t c = 0; c < n; c++) {
        const size_t mine = gp_sums_values(j->cells, c);
        if (mine > GP_TASK_VALUES_MAX) return 0;
        if (values && values + mine > most) j->first_cells[++pieces] = c, values = 0;
        values += mine;
        if (values > *largest) *largest = values;
    }
    j->first_cells[++pieces] = n;
    return pieces;
}

static bool is_shared(const joining *j)
{
    const gp_cells_join_options *o = j->o;
    return o->cluster && gp_shards_rows(o->shards, GP_TRAIN) >= SHARED_CELL_ROWS * j->cells->shape.n;
}

static advgp_status pass(joining *j, advgp_error *err)
{
    gp_tasks tasks = {.what = "sums of cells", .compute = sum_piece, .pack = pack_piece, .take = take_piece, .ctx = j};
    if (is_shared(j)) {
        gp_free(j->first_cells);
        tasks.n = cut(j, &tasks.result_max);
        if (tasks.n == SIZE_MAX) return gp_no_memory(err);
    }
    if (!tasks.n) return gp_cells_sums_run(&j->sums, err);
    return gp_cluster_do(j->o->cluster, 1, &tasks, j->o->stop, j->o->stop_ctx, err);
}

// ---- the posterior --------------------------------------------------------------------------------------------------

static advgp_status prepare(joining *j, advgp_error *err)
{
    const gp_cells_join_options *o = j->o;
    gp_cells *cells = j->cells;
    memset(cells->rows, 0, cells->shape.n * sizeof *cells->rows);
    advgp_status st = gp_cell_finder_new(cells->shape.n, cells->shape.d, cells->scale, cells->centres, &j->finder, err);
    if (st == ADVGP_OK) st = gp_cells_keep(cells, err);
    if (st == ADVGP_OK) st = gp_arrow_new(cells, &j->arrow, err);
    j->sums = (gp_cells_sums){.shards = o->shards,
                              .global = o->global,
                              .finder = j->finder,
                              .cells = cells,
                              .arrow = j->arrow,
                              .finite = o->finite,
                              .nearness = GP_NEAREST,
                              .threads = o->threads,
                              .stop = o->stop,
                              .stop_ctx = o->stop_ctx};
    return st;
}

// Noise, global part and bound of the rows of the cells; then the cells with rows beyond their borders.
static advgp_status solve(joining *j, gp_theta_layout layout, double *theta, double *neg_elbo, advgp_error *err)
{
    const gp_cells_join_options *o = j->o;
    double *mu = theta + layout.n_rest, *U = theta + layout.U;
    gp_interrupt scope;
    gp_interrupt_open(&scope, o->stop, o->stop_ctx);
    advgp_status st = gp_arrow_best_noise(j->arrow, o->stats, &theta[0], err);
    if (st == ADVGP_OK) st = gp_arrow_global(j->arrow, o->stats, theta[0], mu, U, neg_elbo, err);
    if (st == ADVGP_OK) st = gp_arrow_cells(j->arrow, theta[0], mu, j->cells, err);
    j->sums.nearness = GP_SECOND_NEAREST, j->sums.ln_sigma = theta[0], j->sums.mu = mu;
    const bool enough = gp_shards_rows(o->shards, GP_TRAIN) >= GP_MANY_CELL_ROWS * j->finder->n;
    if (st == ADVGP_OK && j->finder->n > 1 && !enough) {
        st = pass(j, err);
        if (st == ADVGP_OK) st = gp_arrow_cells(j->arrow, theta[0], mu, j->cells, err);
    }
    st = gp_interrupt_status(st, "the posterior of cells", err);
    (void)gp_interrupt_close(&scope);
    return st;
}

advgp_status gp_cells_join(const gp_cells_join_options *o, gp_cells *cells, gp_theta_layout layout, double *theta,
                           double *neg_elbo, advgp_error *err)
{
    joining j = {.o = o, .cells = cells};
    advgp_status st = prepare(&j, err);
    if (st == ADVGP_OK) st = pass(&j, err);
    if (st == ADVGP_OK) st = solve(&j, layout, theta, neg_elbo, err);
    gp_free(j.first_cells);
    gp_cell_finder_free(j.finder);
    gp_arrow_free(j.arrow);
    return st;
}
