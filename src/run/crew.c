// crew.c: threads that take the next task until there is none. The calling thread waits, and asks whether to stop.
#include "run/crew.h"
#include "base/alloc.h"
#include "linalg/blas.h"
#include "linalg/interrupt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum { ASK_EVERY_MS = 50 };

typedef struct crew {
    size_t n;
    gp_task task;
    void *ctx;
    atomic_size_t next;
    atomic_bool over;
    pthread_mutex_t lock; // of what follows
    pthread_cond_t left;
    size_t working;
    size_t failed; // the task of the failure; n: none
    advgp_status status;
    advgp_error error;
} crew;

static int is_over(void *ctx)
{
    return atomic_load(&((crew *)ctx)->over);
}

static void note_failure(crew *c, size_t task, advgp_status st, const advgp_error *why)
{
    pthread_mutex_lock(&c->lock);
    if (task < c->failed) c->failed = task, c->status = st, c->error = *why;
    atomic_store(&c->over, true);
    pthread_mutex_unlock(&c->lock);
}

static void *work(void *arg)
{
    crew *c = arg;
    for (;;) {
        const size_t task = atomic_fetch_add(&c->next, 1);
        if (task >= c->n || atomic_load(&c->over)) break;
        advgp_error why = {0};
        gp_interrupt scope;
        gp_interrupt_open(&scope, is_over, c);
        const advgp_status st = c->task(c->ctx, task, &why);
        const bool ended = gp_interrupt_close(&scope);
        if (st != ADVGP_OK && !ended) note_failure(c, task, st, &why); // what was ended failed for another's sake
    }
    pthread_mutex_lock(&c->lock);
    c->working--;
    pthread_cond_signal(&c->left);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static struct timespec soon(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += ASK_EVERY_MS * 1000000L;
    at.tv_sec += at.tv_nsec / 1000000000L;
    at.tv_nsec %= 1000000000L;
    return at;
}

// Until all have left. Returns whether someone asked to stop.
static bool wait_for_all(crew *c, int (*stop)(void *ctx), void *stop_ctx)
{
    bool asked = false;
    pthread_mutex_lock(&c->lock);
    while (c->working) {
        const struct timespec at = soon();
        (void)pthread_cond_timedwait(&c->left, &c->lock, &at);
        pthread_mutex_unlock(&c->lock); // whoever is asked may take its time
        if (!asked && stop && stop(stop_ctx)) asked = true;
        if (asked) atomic_store(&c->over, true);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return asked;
}

advgp_status gp_crew_do(size_t threads, size_t n, gp_task task, void *ctx, int (*stop)(void *ctx), void *stop_ctx,
                        advgp_error *err)
{
    if (!n) return ADVGP_OK;
    if (threads > n) threads = n;
    crew c = {.n = n, .task = task, .ctx = ctx, .failed = n};
    const size_t fit = gp_blas_reserve_some(threads + 1);
    if (fit < 2) return gp_blas_reserve(2, err);
    if (threads > fit - 1) threads = fit - 1;
    pthread_t *team = gp_alloc(threads, sizeof *team);
    if (!team) return gp_no_memory(err);
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.left, NULL);
    size_t started = 0;
    pthread_mutex_lock(&c.lock);
    while (started < threads && pthread_create(&team[started], NULL, work, &c) == 0) started++;
    c.working = started;
    pthread_mutex_unlock(&c.lock);
    const bool asked = wait_for_all(&c, stop, stop_ctx);
    for (size_t i = 0; i < started; i++) pthread_join(team[i], NULL);
    pthread_cond_destroy(&c.left);
    pthread_mutex_destroy(&c.lock);
    gp_free(team);
    if (!started) return gp_fail(err, ADVGP_ENOMEM, "no thread could be started");
    if (c.failed < n && err) *err = c.error;
    if (c.failed < n) return c.status;
    return asked ? gp_fail(err, ADVGP_ESTOPPED, "interrupted") : ADVGP_OK;
}
