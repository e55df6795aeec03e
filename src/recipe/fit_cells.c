// fit_cells.c: the act after the finish: local processes in cells of the input space beside the global one
// (model/cells.h), kept unless validation rows are clearly better off without them. docs/math.md 10.
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
#include "recipe/conductor.h"
#include "recipe/plan.h"
#include "run/crew.h"
#include "score/score.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// What a smooth global part leaves is often rough: some cells say whether a Matern kernel tells more of it.
static const gp_kernel *const rough = &gp_kernel_matern32;
_Static_assert((int)GP_CELL_FIT_ROWS <= (int)GP_TASK_ROWS_MAX, "the rows of a cell fit into a message");
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
    double neg_elbo;
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

static size_t sample_rows(const gp_training *t, size_t n_cells)
{
    const double wanted = fmax(SAMPLE_MIN, sample_surplus * GP_CELL_FIT_ROWS * (double)n_cells);
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
    const double least = GP_CELL_LEAST_ROWS * fmin(1, (double)f->rows.X.rows / (double)f->t->n_train);
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
    return f->t->n_train / n_cells < GP_CELL_FEW_ROWS;
}

static size_t few_inducing(size_t n_cells)
{
    const size_t each = GP_CELLS_FEW_INDUCING / n_cells;
    return each < 1 ? 1 : each < GP_CELL_FEW_INDUCING ? each : GP_CELL_FEW_INDUCING;
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
        const size_t most = has_few_rows(f, n) ? few_inducing(n) : GP_CELL_INDUCING;
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
    return d / GP_CELL_COLUMNS > GP_CELL_ITERATIONS ? d / GP_CELL_COLUMNS : GP_CELL_ITERATIONS;
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
    const size_t d = f->rows.X.cols;
    gp_batch rows;
    const advgp_status st = take_rows(f, c, GP_CELL_FIT_ROWS, 2 + d, &rows, block, err);
    if (st != ADVGP_OK) return st;
    double *start = *block + rows.X.rows * (d + 2);
    begin_at(f, start);
    for (size_t i = 0; i < 2; i++) start[i] += ln_spread(f, c);
    *task = (gp_local_task){.kernel = f->cells->shape.kernel,
                            .trend = f->cells->shape.trend,
                            .m = f->cells->m[c],
                            .rows = rows,
                            .way = few ? GP_LOCAL_EVIDENCE : GP_LOCAL_BOUND,
                            .iterations = few ? own_iterations(d) : GP_CELL_BOUND_ITERATIONS,
                            .start = start,
                            .scale = f->scale,
                            .look_at = GP_CELL_EVIDENCE_ROWS,
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
                           .iterations = GP_POOLED_ITERATIONS,
                           .threads = f->threads,
                           .stop = f->t->conductor->stop,
                           .stop_ctx = f->t};
    double *other = start + n_hyper, smooth, with_rough;
    begin_at(f, start);
    advgp_status st = gp_pooled_fit(&o, n, cells, start, &smooth, err);
    if (st != ADVGP_OK || !f->t->options->cells_kernel_open) return st;
    o.kernel = rough, o.iterations = GP_POOLED_ROUGH_ITERATIONS;
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
    const size_t n = f->cells->shape.n, pooled = n < GP_CELLS_POOLED ? n : GP_CELLS_POOLED;
    gp_pooled_cell cells[GP_CELLS_POOLED];
    double *blocks[GP_CELLS_POOLED] = {0}, *start = gp_alloc(2 * (2 + f->rows.X.cols), sizeof *start);
    advgp_status st = start ? ADVGP_OK : gp_no_memory(err);
    for (size_t i = 0; st == ADVGP_OK && i < pooled; i++) {
        cells[i].ln_spread = ln_spread(f, i * n / pooled);
        st = take_rows(f, i * n / pooled, GP_CELL_EVIDENCE_ROWS, 0, &cells[i].rows, &blocks[i], err);
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

static void add_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    (void)x;
    gp_paired_add(ctx, w, gp_gaussian_crps(y, mean, sqrt(var_y)));
}

static advgp_status hear(const fitting *f, const gp_predictor *p, gp_paired *crps, advgp_error *err)
{
    return gp_predict_rows(p, &f->t->reader, GP_STOP, GP_JUDGING_ROWS, add_row, crps, err);
}

// About n cells: where they are, their local parts, the joint posterior.
static advgp_status fit_candidate(fitting *f, size_t n, candidate *c, advgp_error *err)
{
    const gp_learner *l = f->t->learner;
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
    return st;
}

// Cells are the incumbent: they go where validation rows are clearly better off without them.
static advgp_status fit_auto(fitting *f, size_t n, candidate *c, advgp_error *err)
{
    const gp_learner *l = f->t->learner;
    gp_predictor *p = NULL;
    gp_paired crps;
    advgp_status st = fit_candidate(f, n, c, err);
    if (st != ADVGP_OK) return st;
    st = gp_paired_init(&crps, GP_JUDGING_ROWS, err);
    if (st == ADVGP_OK) st = gp_cells_predictor_new(&l->spec, c->theta, c->cells, &p, err);
    if (st == ADVGP_OK) st = hear(f, p, &crps, err);
    gp_paired_turn(&crps);
    if (st == ADVGP_OK) st = hear(f, f->global, &crps, err);
    if (st == ADVGP_OK) {
        const gp_verdict verdict = gp_judge(GP_TRIAL_CELLS, &crps, NULL);
        const bool kept = !verdict.taken || gp_trial_is_off(GP_TRIAL_CELLS);
        gp_plan_take(&f->t->result->plan.cells, kept ? c->cells->shape.n : 0, GP_ORIGIN_TRIAL, &verdict,
                     gp_trial_what(GP_TRIAL_CELLS));
        if (!kept) candidate_fini(c);
    }
    gp_predictor_free(p);
    gp_paired_fini(&crps);
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
    size_t n = gp_plan_cells(t->n_train, noisy);
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
