// defaults.c: workers, batch, steps and inducing inputs, where the options leave them open.
#include "base/alloc.h"
#include "base/memory.h"
#include "base/whole.h"
#include "cells/inducing.h"
#include "cluster/cluster.h"
#include "linalg/blas.h"
#include "linalg/interrupt.h"
#include "score/linear_fit.h"
#include "recipe/conductor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// By measurement (bench/accuracy, bench/tables): a step sees about a fortieth of the rows, within bounds (8,192 rows,
// or 4,096 of each worker), and a run has five epochs, at least 600 steps, at most 3,000. Few rows cost little, and
// have a thousand steps. Steps of the largest batch need fewer; a table that one step can see whole has no noise
// between steps, and cells learn what the global part leaves, so that fewer epochs are enough beside them.
enum { BATCH_MIN = 512, BATCH_MAX = 8192, BATCH_WORKER_MAX = 4096, READ_ROWS = 4096 };
// Of few inducing inputs a step costs so little beside its rows that one worker takes twice as many of half the batch,
// as long as all epochs fit into the most steps there are: 700,000 flights at m = 100 36.12 -> 36.10 (docs/tables.md).
enum { FEW_INDUCING = 128, BATCH_FEW_INDUCING = 4096 };
enum { BATCH_PER_INDUCING = 2 }; // rows: with fewer the algebra of a step, M^3, outweighs them
// Fewer rows of a table are not worth a thread, fewer of a step not a worker, which repeats the algebra of the step:
// with two of them kin40k took a tenth less time and a quarter more CPU time.
enum { THREAD_ROWS_MIN = 1024, PUSH_ROWS_MIN = 1024 };
static const double epochs_beside_cells = 1.5;
enum { EPOCHS = 5, STEPS_LEAST = 400, STEPS_USUAL = 600, STEPS_MAX = 3000 };
enum { FEW_ROWS = 10000, STEPS_FEW_ROWS = 1000 };
// From this number of rows on, where nobody says how many inducing inputs, and pilots see more signal than noise: with
// cells beside them nyctaxi 263 -> 257 in twice the time. Where most is noise they gain little (docs/tables.md).
enum { MANY_ROWS = 95000, INDUCING_MANY = 400 };
// Of many columns, each a feature of the trend, fewer are as good beside cells and cost a fifth less (pol).
enum { MANY_COLUMNS = 20, INDUCING_WIDE = 150 };
enum { STEPS_M = 400000 }; // steps times m: the larger batches of many inducing inputs need fewer

// Every thread that computes takes address space (linalg/blas.h): the workers, the evaluator, and this one, which
// steps. No more workers are started than a limit leaves room for.
static advgp_status fit_threads(gp_training *t, const char **reduced, advgp_error *err)
{
    enum { OTHERS = 2 };
    const size_t here = t->conductor->threads(t);
    const size_t fit = gp_blas_reserve_some(OTHERS + here);
    if (fit == OTHERS + here) return ADVGP_OK;
    if (fit <= OTHERS) return gp_blas_reserve(OTHERS + (here > 0), err);
    t->threads = fit - OTHERS;
    if (t->workers <= t->threads) return ADVGP_OK;
    *reduced = "the limit of this process (ulimit -d, ulimit -v) leaves no room for more threads";
    t->workers = t->threads;
    return ADVGP_OK;
}

// Pilots may choose fewer of them again.
static size_t most_inducing(const gp_training *t)
{
    const gp_train_options *o = t->options;
    const bool open = o->m_open && !o->components && !o->theta && !o->inducing && gp_training_wants_cells(t);
    if (open && t->n_train > MANY_ROWS) return o->m < INDUCING_MANY ? INDUCING_MANY : o->m;
    return open && t->shards->d >= MANY_COLUMNS && o->m > INDUCING_WIDE ? INDUCING_WIDE : o->m;
}

// Matrices of M x M doubles: 17 of model, server and finish, 8 of each thread that works, 2 of the server for each
// worker, by measurement (tables of 400 to 2,000 columns, 1 to 4 threads); the linear trend has a feature for every
// encoded column, so it is these that many columns cost. Matrices of m x m beside them, where m is large: 8, and 2 of
// each thread (m from 1,000 to 4,000, 1 and 2 threads), and 14 while they are so small, up to 32 MB, that the C library
// keeps them when they are freed.
static advgp_status fit_memory(const gp_training *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    const bool lines = o->trend == GP_TREND_LINEAR;
    const double m = fmin((double)most_inducing(t), (double)t->n_train); // no more than distinct rows
    const double M = m + (o->trend != GP_TREND_NONE) + (lines ? (double)t->shards->d : 0);
    const double threads = (double)t->conductor->threads(t), workers = (double)t->workers;
    const double matrices = M * M * (17 + 8 * threads + 2 * workers) + m * m * (8 + 2 * threads + (m < 2000 ? 14 : 0));
    const double bytes = sizeof(double) * matrices + gp_linear_line_bytes(t->n_train, t->shards->d);
    char what[160], said[240];
    snprintf(what, sizeof what,
             "a training of %.0f features (%.0f inducing inputs, %zu encoded columns), %zu worker%s,", M, m,
             t->shards->d, t->workers, t->workers == 1 ? "" : "s");
    const advgp_status st = gp_memory_check(
        bytes, what,
        lines
            ? "use fewer columns ({features}, {exclude}), {trend} constant, under which columns are no features, fewer "
              "{workers} or a smaller {inducing}"
            : "use fewer columns ({features}, {exclude}), fewer {workers} or a smaller {inducing}",
        err);
    if (st == ADVGP_OK && bytes > 0.1 * gp_memory_bytes()) {
        snprintf(said, sizeof said, "%s takes about %.2g GB of memory", what, bytes / 1e9);
        if (t->events->phase) t->events->phase(t->events->ctx, said);
    }
    return st;
}

static size_t most_step_rows(const gp_training *t)
{
    const double steps = EPOCHS * (double)t->n_train / BATCH_FEW_INDUCING;
    const bool few = t->options->m <= FEW_INDUCING && !gp_training_wants_cells(t) && steps <= STEPS_MAX;
    const size_t most = few ? BATCH_FEW_INDUCING : BATCH_MAX, of_workers = BATCH_WORKER_MAX * t->workers;
    return most > of_workers ? most : of_workers;
}

// Rows of a step, of all workers together.
static size_t step_rows(const gp_training *t)
{
    const gp_train_options *o = t->options;
    const size_t most = most_step_rows(t);
    size_t batch = t->n_train <= GP_BATCH_WHOLE ? t->n_train : BATCH_MIN;
    while (batch < most && 40 * batch < t->n_train) batch *= 2;
    if (batch < BATCH_PER_INDUCING * o->m) batch = BATCH_PER_INDUCING * o->m;
    if (o->schedule.batch) batch = o->schedule.batch;
    return batch < t->n_train ? batch : t->n_train;
}

static size_t within(size_t n, size_t most)
{
    return n < most ? n : most > 1 ? most : 1;
}

// As many as somebody asked for, as there are in the cluster, or as are worth it.
static advgp_status resolve_workers(gp_training *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    const size_t wanted = o->cluster ? gp_cluster_workers(o->cluster) : o->schedule.workers ? o->schedule.workers : 1;
    const bool open = !o->workers_asked && !o->cluster;
    t->workers = t->threads = open ? within(wanted, t->n_train / THREAD_ROWS_MIN) : wanted;
    if (open) t->workers = within(t->workers, step_rows(t) / PUSH_ROWS_MIN);
    if (o->resume && !o->workers_asked) { // the schedule is that of its own number, whoever comes now
        gp_run_shape shape;
        const advgp_status st = gp_checkpoint_shape(o->resume, &shape, err);
        if (st != ADVGP_OK) return st;
        t->workers = shape.workers;
    }
    if (t->workers > t->shards->n_train) t->workers = t->shards->n_train; // without a shard there is nothing to do
    if (t->threads < t->workers) t->threads = t->workers;
    const char *reduced = o->workers_asked && t->workers < o->schedule.workers ? "there are no more shards" : NULL;
    const size_t before = o->workers_asked ? o->schedule.workers : t->workers;
    const advgp_status st = fit_threads(t, &reduced, err);
    if (st != ADVGP_OK || !reduced) return st; // said once, whatever the reasons
    return gp_notes_add(t->notes, err, t->workers, "workers reduced from %zu to %zu: %s", before, t->workers, reduced);
}

static double least_steps(const gp_training *t, size_t batch)
{
    const double usual = t->n_train < FEW_ROWS ? STEPS_FEW_ROWS : STEPS_USUAL;
    if (gp_training_sees_all(t) || gp_training_wants_cells(t) || batch >= BATCH_MAX) return STEPS_LEAST;
    return fmax(STEPS_LEAST, fmin(usual, STEPS_M / (double)t->options->m));
}

static void resolve_schedule(gp_training *t)
{
    const gp_train_options *o = t->options;
    const size_t batch = step_rows(t);
    t->batch = (batch + t->workers - 1) / t->workers;
    const double per_epoch = (double)t->n_train / gp_training_rows_a_version(t);
    const double epochs = gp_training_wants_cells(t) ? epochs_beside_cells : EPOCHS;
    const double steps = o->epochs > 0 ? o->epochs * per_epoch
                                       : fmin(STEPS_MAX, fmax(least_steps(t, batch), epochs * per_epoch));
    t->steps = o->schedule.steps ? o->schedule.steps : gp_index(fmax(1, ceil(steps)), SIZE_MAX);
}

static advgp_status resolve_inducing(gp_training *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    const size_t m = most_inducing(t);
    if (!o->theta && !o->inducing) {
        gp_interrupt scope;
        gp_interrupt_open(&scope, gp_training_stop, t);
        const advgp_status st = gp_inducing_choose(t->shards, m, o->start_rows, o->start, o->kernel,
                                                   gp_train_start_length(t->shards->d), &t->inducing, &t->m, err);
        (void)gp_interrupt_close(&scope);
        if (st != ADVGP_OK || t->m >= o->m || t->m >= m) return st;
        return gp_notes_add(t->notes, err, t->m,
                            "inducing inputs reduced from %zu to %zu: there are no more distinct rows", o->m, t->m);
    }
    t->m = o->m;
    t->inducing = gp_alloc(t->m, t->shards->d * sizeof *t->inducing); // zero with theta, which has its own
    if (!t->inducing) return gp_no_memory(err);
    if (!o->theta) memcpy(t->inducing, o->inducing, t->m * t->shards->d * sizeof *t->inducing);
    return ADVGP_OK;
}

advgp_status gp_training_resolve_defaults(gp_training *t, advgp_error *err)
{
    t->n_train = gp_shards_rows(t->shards, GP_TRAIN);
    if (!t->n_train) return gp_fail(err, ADVGP_EDATA, "there are no training rows");
    advgp_status st = resolve_workers(t, err);
    if (st != ADVGP_OK) return st;
    resolve_schedule(t);
    st = fit_memory(t, err);
    if (st == ADVGP_OK) st = resolve_inducing(t, err);
    t->n_views = t->conductor->places(t);
    t->views = gp_alloc(t->n_views, sizeof *t->views);
    if (st == ADVGP_OK && !t->views) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = gp_reader_new(t->shards, READ_ROWS, &t->reader, err);
    return st;
}
