// prepare.c: what a plan needs before the first trial: threads, memory, inducing points, room for workers.
#include "base/alloc.h"
#include "base/memory.h"
#include "cells/inducing.h"
#include "linalg/blas.h"
#include "linalg/interrupt.h"
#include "recipe/conductor.h"
#include "recipe/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ_ROWS = 4096 };

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

// Threads do what is no step, too: they are as many as the rows are worth, whatever a step is.
static size_t threads_of(const gp_training *t)
{
    const gp_train_options *o = t->options;
    const size_t wanted = t->facts.cluster_workers ? t->facts.cluster_workers
                          : o->schedule.workers    ? o->schedule.workers
                                                   : 1;
    const size_t worth = t->n_train / GP_THREAD_ROWS_MIN;
    const bool open = !o->workers_asked && !o->cluster;
    const size_t n = !open || wanted < worth ? wanted : worth > 1 ? worth : 1;
    return n > t->workers ? n : t->workers;
}

static advgp_status settle_workers(gp_training *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    t->workers = t->result->plan.workers.n;
    t->threads = threads_of(t);
    const char *reduced = o->workers_asked && t->workers < o->schedule.workers ? "there are no more shards" : NULL;
    const size_t before = o->workers_asked ? o->schedule.workers : t->workers;
    const advgp_status st = fit_threads(t, &reduced, err);
    if (st != ADVGP_OK || !reduced) return st; // said once, whatever the reasons
    gp_plan_set_workers(&t->result->plan, &t->facts, o, t->workers, reduced);
    return gp_notes_add(t->notes, err, t->workers, "workers reduced from %zu to %zu: %s", before, t->workers, reduced);
}

static advgp_status fit_memory(const gp_training *t, advgp_error *err)
{
    const bool lines = t->options->trend == GP_TREND_LINEAR;
    const size_t m = t->result->plan.inducing.n < t->n_train ? t->result->plan.inducing.n
                                                             : t->n_train; // no more than distinct rows
    const size_t M = m + (t->options->trend != GP_TREND_NONE) + (lines ? t->shards->d : 0);
    const double bytes = gp_plan_sparse_bytes(&t->facts, t->options, m, t->workers, t->conductor->threads(t));
    char what[160];
    snprintf(what, sizeof what, "a training of %zu features (%zu inducing points, %zu encoded columns), %zu worker%s,",
             M, m, t->shards->d, t->workers, t->workers == 1 ? "" : "s");
    const advgp_status st = gp_memory_check(
        bytes, what,
        lines
            ? "use fewer columns ({features}, {exclude}), {trend} constant, under which columns are no features, fewer "
              "{workers} or a smaller {inducing}"
            : "use fewer columns ({features}, {exclude}), fewer {workers} or a smaller {inducing}",
        err);
    if (st == ADVGP_OK && bytes > 0.1 * gp_memory_bytes())
        gp_host_phase(t->host, "%s takes about %.2g GB of memory", what, bytes / 1e9);
    return st;
}

static advgp_status choose_inducing(gp_training *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    const size_t m = t->result->plan.inducing.n;
    if (!o->theta && !o->inducing) {
        gp_interrupt scope;
        gp_interrupt_open(&scope, gp_training_stop, t);
        const advgp_status st = gp_inducing_choose(t->shards, m, o->start_rows, o->start, o->kernel,
                                                   gp_train_start_length(t->shards->d), &t->inducing, &t->m, err);
        (void)gp_interrupt_close(&scope);
        if (st == ADVGP_OK && t->m < m)
            gp_plan_settle(&t->result->plan.inducing, t->m, "there are no more distinct rows");
        if (st != ADVGP_OK || t->m >= o->m || t->m >= m) return st;
        return gp_notes_add(t->notes, err, t->m,
                            "inducing points reduced from %zu to %zu: there are no more distinct rows", o->m, t->m);
    }
    t->m = o->m;
    t->inducing = gp_alloc(t->m, t->shards->d * sizeof *t->inducing); // zero with theta, which has its own
    if (!t->inducing) return gp_no_memory(err);
    if (!o->theta) memcpy(t->inducing, o->inducing, t->m * t->shards->d * sizeof *t->inducing);
    return ADVGP_OK;
}

advgp_status gp_training_measure(gp_training *t, advgp_error *err)
{
    const gp_train_options *o = t->options;
    t->facts = gp_facts_measure(t->shards, o);
    t->n_train = t->facts.rows;
    if (!t->n_train) return gp_fail(err, ADVGP_EDATA, "there are no training rows");
    if (o->resume && !o->workers_asked) { // the schedule is that of its own number, whoever comes now
        gp_run_shape shape;
        const advgp_status st = gp_checkpoint_shape(o->resume, &shape, err);
        if (st != ADVGP_OK) return st;
        t->facts.workers_of_resumed = shape.workers;
    }
    return ADVGP_OK;
}

advgp_status gp_training_prepare(gp_training *t, advgp_error *err)
{
    advgp_status st = settle_workers(t, err);
    if (st != ADVGP_OK) return st;
    t->batch = (t->result->plan.batch.n + t->workers - 1) / t->workers;
    t->steps = t->result->plan.steps.n;
    st = fit_memory(t, err);
    if (st == ADVGP_OK) st = choose_inducing(t, err);
    t->n_views = t->conductor->places(t);
    t->views = gp_alloc(t->n_views, sizeof *t->views);
    if (st == ADVGP_OK && !t->views) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = gp_reader_new(t->shards, READ_ROWS, &t->reader, err);
    return st;
}
