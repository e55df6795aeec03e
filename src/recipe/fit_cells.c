// fit_cells.c: the act after the finish: local processes in cells of the input space beside the global one
// (model/cells.h), kept only if the bound is better and held-out rows do not contradict. docs/math.md 10.
//
// Everything here is a function of the parameters, the rows and the seed: tasks are cells, each with a place of its own
// for what it finds, so neither the number of threads nor who was faster changes a bit.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/whole.h"
#include "cells/cells_join.h"
#include "cells/inducing.h"
#include "cells/local_task.h"
#include "cells/pooled_fit.h"
#include "cluster/cluster.h"
#include "linalg/dense.h"
#include "run/crew.h"
#include "recipe/conductor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// By measurement (bench/tables): a cell for some 300 training rows. Held-out rows are too few to tell 300 rows a cell
// from 600: a second try costs more than it gains. Where most of the target is noise, so few rows tell nothing.
enum { AUTO_MAX = 256, AUTO_NOISY_MAX = 640, AUTO_CELL_ROWS = 300, AUTO_NOISY_CELL_ROWS = 2000, CELL_ROWS_MIN = 100 };
// Cells of few rows, on average: by the evidence, with two inducing inputs for three rows. What these leave of the
// process is not held against it: the bound would make up for it by noise, and prefer no cells (seoul_bikes). Global
// length-scales are far from theirs: what a few cells together say is where each begins (docs/tables.md), and 4
// iterations are then enough, more where there are many length-scales to find.
enum { FEW_ROWS = 1000, FEW_INDUCING = 200, FEW_INDUCING_ALL = 24000, EVIDENCE_ROWS = 400 };
enum { POOLED_CELLS = 8, POOLED_ITERATIONS = 40, OWN_ITERATIONS = 4, OWN_COLUMNS = 3 };
// What a smooth global part leaves is often rough: the same cells say whether a Matern kernel tells more of it. From
// the best length-scales of the first its own are not far (docs/tables.md).
static const gp_kernel *const rough = &gp_kernel_matern32;
enum { ROUGH_ITERATIONS = 12 };
// Cells of many rows: by the bound (40 iterations are most of the gain). Where the most cells have very many rows each
// takes less time: many that are fitted so gain more than a few that are fitted well (docs/tables.md).
typedef struct many_rows {
    size_t inducing, iterations, fit_rows;
} many_rows;
static const many_rows usual = {.inducing = 100, .iterations = 40, .fit_rows = 2000};
static const many_rows thrifty = {.inducing = 80, .iterations = 15, .fit_rows = 1200};
enum { FIT_ROWS_MAX = 2000 };
_Static_assert((int)FIT_ROWS_MAX <= (int)GP_TASK_ROWS_MAX, "the rows of a cell fit into a message");
// |ln eta|: an input that the global part has switched off (400 deviations are no less so) must be able to come back.
static const double farthest_start = 12;
enum { SAMPLE_MIN = 20000, KMEANS_ROWS = 100, PREDICT_ROWS = 4096 };
static const double sample_surplus = 1.3;    // cells differ in size
static const double auto_memory_share = 0.1; // that rows of cells take of all the memory where nobody asked for them

// Rows, and what is known of them whatever the cells.
typedef struct fitting {
    gp_training *t;
    size_t threads;
    gp_predictor *global;
    double *scale;    // [d]: relevance
    gp_reader sample; // rows that cells are chosen from and fitted to
    gp_batch rows;    // the same, with residuals of the global part as targets
    double *residual; // [rows]
    double *distances;
    size_t *which, *order, *first; // [rows], [rows], [cells + 1]: rows by cell
    gp_cells *cells;               // that are being fitted
    double *start;                 // [2 + d]: where cells begin, in units of their residuals; NULL: as the global part
} fitting;

// Cells with all that a model needs of them.
typedef struct candidate {
    gp_cells *cells;
    double *theta; // the global part in the joint posterior
    double neg_elbo, rmse;
} candidate;

static advgp_status crew(fitting *f, size_t n, gp_task task, advgp_error *err)
{
    return gp_crew_do(f->threads, n, task, f, f->t->conductor->stop, f->t, err);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// How much an input matters to the global part: the slope of the trend and the prior slopes of the kernels, as
// score/relevance.h has it of a model but for a factor of the kernel. A slope beyond 1, more than the whole target, is
// one of several columns that make up for each other.
static void set_relevance(const gp_learner *l, double *scale)
{
    for (size_t k = 0; k < l->spec.d; k++) {
        double sum = 0;
        for (size_t b = 0; b < l->f->n_components; b++) {
            const double *p = l->theta + l->f->components[b].param;
            sum += exp(2 * p[0] + p[1 + k]);
        }
        const double slope = fmin(1, fabs(gp_theta_slope(l->layout, &l->spec, l->theta, k)));
        sum += slope * slope;
        scale[k] = sqrt(sum);
    }
}

static advgp_status take_residuals(void *ctx, size_t task, advgp_error *err)
{
    fitting *f = ctx;
    const size_t first = task * PREDICT_ROWS, left = f->rows.X.rows - first;
    const gp_batch part = gp_batch_part(f->rows, first, left < PREDICT_ROWS ? left : PREDICT_ROWS);
    double *out = f->residual + first;
    gp_predict_work *work = NULL;
    advgp_status st = gp_predict_work_new(f->global, 0, &work, err);
    if (st == ADVGP_OK) st = gp_predict(f->global, work, part.X, out, NULL, NULL, err);
    for (size_t i = 0; st == ADVGP_OK && i < part.X.rows; i++) out[i] = part.y[i] - out[i];
    gp_predict_work_free(work);
    return st;
}

// Nobody is spared the work that he asked for.
static const many_rows *plan_of(const gp_training *t, size_t n_cells)
{
    return t->options->cells == GP_CELLS_AUTO && t->n_train >= GP_MANY_CELL_ROWS * n_cells ? &thrifty : &usual;
}

static size_t sample_rows(const gp_training *t, size_t n_cells)
{
    const double each = (double)plan_of(t, n_cells)->fit_rows;
    const double wanted = fmax(SAMPLE_MIN, sample_surplus * each * (double)n_cells);
    return gp_index(wanted, t->n_train);
}

static double sample_bytes(const gp_training *t, size_t n_cells)
{
    return ((double)t->shards->d + 5) * (double)sample_rows(t, n_cells) * sizeof(double);
}

// Shards are shuffled, so the first rows are a random sample.
static advgp_status take_sample(fitting *f, size_t n_cells, advgp_error *err)
{
    const gp_training *t = f->t;
    const size_t d = t->shards->d, n = sample_rows(t, n_cells);
    advgp_status st = gp_memory_check(sample_bytes(t, n_cells), "the rows of cells", "use fewer {cells}", err);
    if (st == ADVGP_OK) st = gp_reader_new(t->shards, n, &f->sample, err);
    if (st != ADVGP_OK) return st;
    f->residual = gp_alloc(n, sizeof(double));
    f->scale = gp_alloc(d + n_cells, sizeof(double));
    f->which = gp_alloc(2 * n + n_cells + 1, sizeof *f->which);
    if (!f->residual || !f->scale || !f->which) return gp_no_memory(err);
    f->distances = f->scale + d;
    f->order = f->which + n, f->first = f->order + n;
    set_relevance(t->learner, f->scale);
    st = gp_reader_ring(&f->sample, (gp_ring){0}, 0, n, &f->rows, err);
    if (st == ADVGP_OK) st = gp_predictor_new(&t->learner->spec, t->learner->theta, &f->global, err);
    if (st == ADVGP_OK) st = crew(f, (n + PREDICT_ROWS - 1) / PREDICT_ROWS, take_residuals, err);
    f->rows.y = f->residual;
    return st;
}

static void fitting_fini(fitting *f)
{
    gp_predictor_free(f->global);
    gp_reader_fini(&f->sample);
    gp_free(f->residual);
    gp_free(f->scale);
    gp_free(f->which);
}

// ---- where the cells are --------------------------------------------------------------------------------------------

static advgp_status sort_rows(fitting *f, size_t n, const double *centres, advgp_error *err)
{
    gp_cell_finder *finder = NULL;
    const advgp_status st = gp_cell_finder_new(n, f->rows.X.cols, f->scale, centres, &finder, err);
    if (st == ADVGP_OK) gp_cell_sort(finder, GP_NEAREST, f->rows.X, f->which, f->order, f->first, f->distances);
    gp_cell_finder_free(finder);
    return st;
}

// Centres with too few rows are left out, their rows go to the nearest others, until every cell has enough.
static advgp_status choose_centres(fitting *f, size_t *n, double *centres, advgp_error *err)
{
    const size_t d = f->rows.X.cols, wanted = KMEANS_ROWS * *n > SAMPLE_MIN ? KMEANS_ROWS * *n : SAMPLE_MIN;
    const size_t looked_at = wanted < f->rows.X.rows ? wanted : f->rows.X.rows;
    const double least = CELL_ROWS_MIN * fmin(1, (double)f->rows.X.rows / (double)f->t->n_train);
    if (*n > looked_at) *n = looked_at;
    advgp_status st = gp_kmeans_scaled(gp_cmat_part(f->rows.X, 0, 0, looked_at, d), f->scale, *n, centres, err);
    for (size_t before = *n + 1; st == ADVGP_OK && *n < before;) {
        size_t kept = 0;
        before = *n;
        st = sort_rows(f, *n, centres, err);
        for (size_t i = 0; st == ADVGP_OK && i < before; i++)
            if ((double)(f->first[i + 1] - f->first[i]) >= least)
                memmove(centres + kept++ * d, centres + i * d, d * sizeof *centres);
        *n = kept ? kept : 1; // one cell is the whole table, however small
    }
    return st;
}

static bool has_few_rows(const fitting *f, size_t n_cells)
{
    return f->t->n_train / n_cells < FEW_ROWS;
}

static size_t few_inducing(size_t n_cells)
{
    const size_t each = FEW_INDUCING_ALL / n_cells;
    return each < 1 ? 1 : each < FEW_INDUCING ? each : FEW_INDUCING;
}

static advgp_status place_cells(fitting *f, size_t n, advgp_error *err)
{
    const gp_learner *l = f->t->learner;
    const size_t d = f->rows.X.cols;
    double *centres = gp_alloc(n * d, sizeof *centres);
    size_t *m = gp_alloc(n, sizeof *m);
    advgp_status st = centres && m ? ADVGP_OK : gp_no_memory(err);
    if (st == ADVGP_OK) st = choose_centres(f, &n, centres, err);
    for (size_t c = 0; st == ADVGP_OK && c < n; c++) {
        const size_t rows = f->first[c + 1] - f->first[c], some = has_few_rows(f, n) ? 2 * rows / 3 : rows / 2;
        const size_t most = has_few_rows(f, n) ? few_inducing(n) : plan_of(f->t, n)->inducing;
        m[c] = some < 1 ? 1 : some < most ? some : most;
    }
    const gp_cells_shape shape = {.n = n, .d = d, .M_g = l->layout.M, .kernel = f->t->options->kernel, .m = m};
    if (st == ADVGP_OK) // the sums and the cells
        st = gp_memory_check(2 * gp_arrow_bytes(&shape), "the posterior of cells", "use fewer {cells}", err);
    if (st == ADVGP_OK) st = gp_cells_new(&shape, &f->cells, err);
    if (st == ADVGP_OK) {
        memcpy(f->cells->centres, centres, n * d * sizeof *centres);
        memcpy(f->cells->scale, f->scale, d * sizeof *f->scale);
    }
    gp_free(centres);
    gp_free(m);
    return st;
}

// ---- local parts ----------------------------------------------------------------------------------------------------

static double ln_spread(const fitting *f, size_t c)
{
    double sum = 0;
    for (size_t i = f->first[c]; i < f->first[c + 1]; i++) sum += f->residual[f->order[i]] * f->residual[f->order[i]];
    return 0.5 * log(1e-12 + sum / (double)(f->first[c + 1] - f->first[c]));
}

// As several cells say together; before them half of the residuals' variance is signal, and length-scales are those of
// the global part, by amplitude. start: [2 + d], in units of the residuals.
static void begin_at(const fitting *f, double *start)
{
    const gp_learner *l = f->t->learner;
    double amplitude = 0;
    for (size_t b = 0; b < l->f->n_components; b++) amplitude += exp(2 * l->theta[l->f->components[b].param]);
    for (size_t i = 0; i < 2; i++) start[i] = f->start ? f->start[i] : 0.5 * log(0.5);
    for (size_t k = 0; k < l->spec.d; k++) {
        const double ln_eta = f->start ? f->start[2 + k] : 2 * log(f->scale[k]) - log(amplitude);
        start[2 + k] = fmin(fmax(ln_eta, -farthest_start), farthest_start);
    }
}

static size_t own_iterations(size_t d)
{
    return d / OWN_COLUMNS > OWN_ITERATIONS ? d / OWN_COLUMNS : OWN_ITERATIONS;
}

// The first rows of cell c, at most so many. *block, which holds them and `more` doubles, is the caller's to free.
static advgp_status take_rows(const fitting *f, size_t c, size_t most, size_t more, gp_batch *out, double **block,
                              advgp_error *err)
{
    const size_t d = f->rows.X.cols, all = f->first[c + 1] - f->first[c], n = all < most ? all : most;
    const size_t *order = f->order + f->first[c];
    double *X = *block = gp_alloc(n * (d + 2) + more, sizeof *X);
    if (!X) return gp_no_memory(err);
    double *y = X + n * d, *w = y + n;
    for (size_t i = 0; i < n; i++) {
        memcpy(X + i * d, f->rows.X.p + order[i] * f->rows.X.ld, d * sizeof *X);
        y[i] = f->rows.y[order[i]];
        w[i] = f->rows.w ? f->rows.w[order[i]] : 1;
    }
    *out = (gp_batch){gp_cmat_of(X, n, d), y, f->rows.w ? w : NULL};
    return ADVGP_OK;
}

// The task of cell c. *block, which holds its rows, is the caller's to free.
static advgp_status make_task(const fitting *f, size_t c, gp_local_task *task, double **block, advgp_error *err)
{
    const bool few = has_few_rows(f, f->cells->shape.n);
    const many_rows *plan = plan_of(f->t, f->cells->shape.n);
    const size_t d = f->rows.X.cols;
    gp_batch rows;
    const advgp_status st = take_rows(f, c, plan->fit_rows, 2 + d, &rows, block, err);
    if (st != ADVGP_OK) return st;
    double *start = *block + rows.X.rows * (d + 2);
    begin_at(f, start);
    for (size_t i = 0; i < 2; i++) start[i] += ln_spread(f, c);
    *task = (gp_local_task){.kernel = f->cells->shape.kernel,
                            .trend = f->cells->shape.trend,
                            .m = f->cells->m[c],
                            .rows = rows,
                            .way = few ? GP_LOCAL_EVIDENCE : GP_LOCAL_BOUND,
                            .iterations = few ? own_iterations(d) : plan->iterations,
                            .start = start,
                            .scale = f->scale,
                            .look_at = EVIDENCE_ROWS,
                            .seed = f->t->options->schedule.seed};
    return ADVGP_OK;
}

static size_t parameters_of(const gp_cells *cells, size_t c)
{
    return cells->theta_at[c + 1] - cells->theta_at[c];
}

static advgp_status fit_cell(void *ctx, size_t c, double *theta, size_t *n, advgp_error *err)
{
    const fitting *f = ctx;
    gp_local_task task;
    double *block;
    advgp_status st = make_task(f, c, &task, &block, err);
    if (st == ADVGP_OK) st = gp_local_task_fit(&task, theta, err);
    gp_free(block);
    *n = parameters_of(f->cells, c);
    return st;
}

static advgp_status pack_cell(void *ctx, size_t c, gp_parcel *out, advgp_error *err)
{
    const fitting *f = ctx;
    gp_local_task task;
    double *block;
    advgp_status st = make_task(f, c, &task, &block, err);
    if (st == ADVGP_OK) st = gp_local_task_pack(&task, out, err);
    gp_free(block);
    return st;
}

static bool take_cell(void *ctx, size_t c, const double *theta, size_t n)
{
    const fitting *f = ctx;
    if (n != parameters_of(f->cells, c) || !gp_all_finite(n, theta)) return false;
    memcpy(f->cells->theta + f->cells->theta_at[c], theta, n * sizeof *theta);
    atomic_fetch_add(f->t->cells_done, 1);
    return true;
}

// By threads, and by the workers of other processes.
static advgp_status fit_cells(fitting *f, advgp_error *err)
{
    const gp_training *t = f->t;
    gp_tasks tasks = {.n = f->cells->shape.n,
                      .what = "the fit of a cell",
                      .compute = fit_cell,
                      .pack = pack_cell,
                      .take = take_cell,
                      .ctx = f};
    for (size_t c = 0; c < tasks.n; c++)
        if (parameters_of(f->cells, c) > tasks.result_max) tasks.result_max = parameters_of(f->cells, c);
    return gp_cluster_do(t->options->cluster, f->threads, &tasks, t->conductor->stop, f->t, err);
}

// The kernel of cells of few rows, and where they begin: what some of them say together. start: 2 x [2 + d], of which
// the second is scratch.
static advgp_status pool(fitting *f, size_t n, const gp_pooled_cell *cells, double *start, advgp_error *err)
{
    const size_t n_hyper = 2 + f->rows.X.cols;
    gp_pooled_options o = {.kernel = f->cells->shape.kernel,
                           .iterations = POOLED_ITERATIONS,
                           .threads = f->threads,
                           .stop = f->t->conductor->stop,
                           .stop_ctx = f->t};
    double *other = start + n_hyper, smooth, with_rough;
    begin_at(f, start);
    advgp_status st = gp_pooled_fit(&o, n, cells, start, &smooth, err);
    if (st != ADVGP_OK || !f->t->options->cells_kernel_open) return st;
    o.kernel = rough, o.iterations = ROUGH_ITERATIONS;
    memcpy(other, start, n_hyper * sizeof *other);
    st = gp_pooled_fit(&o, n, cells, other, &with_rough, err);
    if (st != ADVGP_OK || !(with_rough < smooth)) return st;
    memcpy(start, other, n_hyper * sizeof *other);
    f->cells->shape.kernel = rough;
    return st;
}

// Some cells, spread over all.
static advgp_status pool_cells(fitting *f, advgp_error *err)
{
    const size_t n = f->cells->shape.n, pooled = n < POOLED_CELLS ? n : POOLED_CELLS;
    gp_pooled_cell cells[POOLED_CELLS];
    double *blocks[POOLED_CELLS] = {0}, *start = gp_alloc(2 * (2 + f->rows.X.cols), sizeof *start);
    advgp_status st = start ? ADVGP_OK : gp_no_memory(err);
    for (size_t i = 0; st == ADVGP_OK && i < pooled; i++) {
        cells[i].ln_spread = ln_spread(f, i * n / pooled);
        st = take_rows(f, i * n / pooled, EVIDENCE_ROWS, 0, &cells[i].rows, &blocks[i], err);
    }
    if (st == ADVGP_OK) st = pool(f, pooled, cells, start, err);
    for (size_t i = 0; i < pooled; i++) gp_free(blocks[i]);
    f->start = start;
    return st;
}

// ---- candidates -----------------------------------------------------------------------------------------------------

static void candidate_fini(candidate *c)
{
    gp_cells_free(c->cells);
    gp_free(c->theta);
    *c = (candidate){0};
}

// All rows once more: the best noise, and the joint posterior there.
static advgp_status join(const fitting *f, candidate *c, advgp_error *err)
{
    const gp_learner *l = f->t->learner;
    const gp_cells_join_options o = {.shards = f->t->shards,
                                     .global = gp_predictor_features(f->global),
                                     .spec = &l->spec,
                                     .theta = l->theta,
                                     .cluster = f->t->options->cluster,
                                     .stats = &l->stats,
                                     .threads = f->threads,
                                     .finite = has_few_rows(f, c->cells->shape.n),
                                     .stop = f->t->conductor->stop,
                                     .stop_ctx = f->t};
    return gp_cells_join(&o, c->cells, l->layout, c->theta, &c->neg_elbo, err);
}

static advgp_status score(const fitting *f, const gp_predictor *p, double *rmse, advgp_error *err)
{
    gp_score sums;
    const advgp_status st = gp_score_rows(p, &f->t->reader, GP_STOP, 0, f->t->schema, &sums, err);
    *rmse = gp_score_rmse(&sums);
    return st;
}

// About n cells: where they are, their local parts, the joint posterior, and how good it is on held-out rows.
static advgp_status fit_candidate(fitting *f, size_t n, candidate *c, advgp_error *err)
{
    const gp_learner *l = f->t->learner;
    gp_predictor *p = NULL;
    char said[80];
    *c = (candidate){.theta = gp_alloc(l->layout.size, sizeof(double))};
    if (!c->theta) return gp_no_memory(err);
    memcpy(c->theta, l->theta, l->layout.size * sizeof(double));
    advgp_status st = place_cells(f, n, err);
    if (st == ADVGP_OK && has_few_rows(f, f->cells->shape.n)) {
        gp_training_phase(f->t, "cells: what they have in common", (gp_act){0});
        st = pool_cells(f, err);
    }
    if (st == ADVGP_OK) {
        snprintf(said, sizeof said, "cells: %zu local processes", f->cells->shape.n);
        const size_t before = atomic_load(f->t->cells_done);
        gp_training_phase(f->t, said,
                          (gp_act){.count = f->t->cells_done, .first = before, .last = before + f->cells->shape.n});
        st = fit_cells(f, err);
    }
    gp_free(f->start);
    f->start = NULL;
    c->cells = f->cells, f->cells = NULL;
    if (st == ADVGP_OK) {
        gp_training_phase(f->t, "cells: one posterior of all", (gp_act){0});
        st = join(f, c, err);
    }
    if (st == ADVGP_OK) st = gp_cells_predictor_new(&l->spec, c->theta, c->cells, &p, err);
    if (st == ADVGP_OK) st = score(f, p, &c->rmse, err);
    gp_predictor_free(p);
    return st;
}

// Kept if the bound over all training rows is better, unless held-out rows contradict it by more than their number
// leaves to chance: a few hundred of them alone would throw good cells away.
static advgp_status fit_auto(fitting *f, size_t n, candidate *c, advgp_error *err)
{
    double global;
    advgp_status st = score(f, f->global, &global, err);
    if (st == ADVGP_OK) st = fit_candidate(f, n, c, err);
    const double chance = 1 + 1 / sqrt((double)gp_shards_rows(f->t->shards, GP_STOP));
    if (st == ADVGP_OK && !(c->neg_elbo < f->t->result->neg_elbo && c->rmse < chance * global)) candidate_fini(c);
    return st;
}

static void adopt(gp_training *t, candidate *c)
{
    gp_learner *l = t->learner;
    memcpy(l->theta, c->theta, l->layout.size * sizeof(double));
    t->cells = c->cells, c->cells = NULL;
    t->result->cells = t->cells->shape.n;
    t->result->neg_elbo = c->neg_elbo;
}

// ---- the act --------------------------------------------------------------------------------------------------------

// How many cells to begin with; 0: none.
static size_t n_wanted(const gp_training *t)
{
    const gp_train_result *r = t->result;
    const size_t asked = t->options->cells;
    const bool in_hurry = r->interrupted || r->stopped == GP_STOPPED_INTERRUPTED || r->stopped == GP_STOPPED_TIME;
    if (!gp_training_wants_cells(t) || in_hurry || !t->conductor->fits_cells(t)) return 0;
    if (asked != GP_CELLS_AUTO) return asked < t->n_train ? asked : t->n_train;
    if (r->stopped == GP_STOPPED_LINE) return 0; // there is nothing to refine
    const bool noisy = gp_training_mostly_noise(t->learner->theta[0]);
    const size_t fit = t->n_train / (noisy ? AUTO_NOISY_CELL_ROWS : AUTO_CELL_ROWS);
    const size_t most = noisy ? AUTO_NOISY_MAX : AUTO_MAX;
    size_t n = fit < most ? fit : most;
    while (n > 1 && sample_bytes(t, n) > auto_memory_share * gp_memory_bytes()) n /= 2;
    return n;
}

advgp_status gp_training_fit_cells(gp_training *t, advgp_error *err)
{
    const size_t n = n_wanted(t);
    const double start = gp_clock_wall();
    fitting f = {.t = t, .threads = t->conductor->threads(t) ? t->threads : gp_cores()};
    candidate best = {0};
    advgp_error why = {0};
    if (!n) return ADVGP_OK;
    if (t->options->cluster) gp_training_end_run(t); // its workers have time for cells
    const bool alone = t->options->cells != GP_CELLS_AUTO;
    advgp_status st = take_sample(&f, n, &why);
    if (st == ADVGP_OK) st = alone ? fit_candidate(&f, n, &best, &why) : fit_auto(&f, n, &best, &why);
    if (st == ADVGP_OK && best.cells) adopt(t, &best);
    const bool no_room = st == ADVGP_ENOMEM || st == ADVGP_EINVAL; // refused before it was taken
    if (st == ADVGP_ENUMERIC || (!alone && no_room))               // the global model stands without them
        st = gp_notes_add(t->notes, err, 1, "no cells: %s", why.text);
    else if (st == ADVGP_ESTOPPED && t->conductor->accept_stop(t, err) == ADVGP_OK)
        t->result->interrupted = true, st = ADVGP_OK;
    else if (st != ADVGP_OK && err)
        *err = why;
    candidate_fini(&best);
    gp_cells_free(f.cells);
    fitting_fini(&f);
    t->result->cells_seconds = gp_clock_wall() - start;
    return st;
}
