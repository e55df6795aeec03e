// cluster_tasks.c: tasks by threads of this process, and beside them by the workers of a cluster: a clock, a lock and
// the endpoint around what the lead knows of them (lead_tasks.c).
#include "base/alloc.h"
#include "base/clock.h"
#include "cluster/cluster_state.h"
#include "linalg/interrupt.h"
#include "run/crew.h"

#include <pthread.h>
#include <time.h>

enum { LOOK_AGAIN_MS = 10 }; // a thread without a task: whether there is one, or a worker has become slow
static const double turn_seconds = 0.05;

typedef struct act {
    const gp_tasks *tasks;
    gp_cluster *c; // NULL: threads alone
    size_t threads;
    pthread_mutex_t lock; // of the lead, and of take
} act;

static advgp_status no_result(const act *a, advgp_error *err)
{
    return gp_fail(err, ADVGP_ENUMERIC, "no result of %s: its values are not finite", a->tasks->what);
}

// ---- threads --------------------------------------------------------------------------------------------------------

static advgp_status do_alone(void *ctx, size_t task, advgp_error *err)
{
    act *a = ctx;
    const gp_tasks *t = a->tasks;
    size_t n = 0;
    double *result = gp_alloc(t->result_max, sizeof *result);
    if (!result) return gp_no_memory(err);
    advgp_status st = t->compute(t->ctx, task, result, &n, err);
    if (st == ADVGP_OK) {
        pthread_mutex_lock(&a->lock);
        if (!t->take(t->ctx, task, result, n)) st = no_result(a, err);
        pthread_mutex_unlock(&a->lock);
    }
    gp_free(result);
    return st;
}

static void pause_a_moment(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = LOOK_AGAIN_MS * 1000000L}, NULL);
}

// One after the other, until all are done.
static advgp_status do_some(act *a, advgp_error *err)
{
    const gp_tasks *t = a->tasks;
    gp_endpoint *e = a->c->o.endpoint;
    advgp_status st = ADVGP_OK;
    double *result = gp_alloc(t->result_max, sizeof *result);
    if (!result) st = gp_no_memory(err);
    for (bool over = false; st == ADVGP_OK && !over && !gp_interrupted();) {
        size_t task, n = 0;
        pthread_mutex_lock(&a->lock);
        const bool found = gp_lead_tasks_own(a->c->lead, gp_clock_wall(), &task);
        over = gp_lead_tasks_over(a->c->lead);
        pthread_mutex_unlock(&a->lock);
        if (found)
            st = t->compute(t->ctx, task, result, &n, err);
        else if (!over)
            pause_a_moment();
        if (st != ADVGP_OK || !found) continue;
        pthread_mutex_lock(&a->lock);
        if (!gp_lead_tasks_did(a->c->lead, gp_clock_wall(), task, result, n)) st = no_result(a, err);
        pthread_mutex_unlock(&a->lock);
        e->transport->wake(e); // there may be something to say
    }
    gp_free(result);
    return st;
}

// ---- workers --------------------------------------------------------------------------------------------------------

// Of a process that died the connection ends at once.
static void note_hung_up(act *a)
{
    gp_endpoint *e = a->c->o.endpoint;
    for (size_t at = 0; e->transport->gone && at < gp_lead_peers(a->c->lead); at++)
        if (e->transport->gone(e, at)) gp_lead_tasks_on_hung_up(a->c->lead, gp_clock_wall(), at);
}

static advgp_status listen(act *a, advgp_error *err)
{
    gp_cluster *c = a->c;
    gp_endpoint *e = c->o.endpoint;
    advgp_status st = ADVGP_OK;
    for (bool over = false; st == ADVGP_OK && !over && !gp_interrupted();) {
        size_t peer, n;
        const void *bytes = NULL;
        st = e->transport->receive(e, turn_seconds, &peer, &bytes, &n, err);
        if (st != ADVGP_OK) break;
        pthread_mutex_lock(&a->lock);
        const double now = gp_clock_wall();
        if (bytes) st = gp_lead_on_bytes(c->lead, now, peer, bytes, n, err);
        // Who is lost is known only when all that had come was heard. Signs of life come all the time.
        if (st == ADVGP_OK && (!bytes || now - c->looked >= gp_cluster_turn_seconds)) {
            c->looked = now;
            note_hung_up(a);
            st = gp_lead_on_tick(c->lead, now, err);
        }
        if (st == ADVGP_OK) st = gp_cluster_send_all(c, err);
        over = gp_lead_tasks_over(c->lead);
        pthread_mutex_unlock(&a->lock);
    }
    return st;
}

static advgp_status pack(void *ctx, size_t task, gp_parcel *out)
{
    const gp_tasks *t = ((act *)ctx)->tasks;
    return t->pack(t->ctx, task, out, NULL);
}

static bool take(void *ctx, size_t task, const double *values, size_t n)
{
    const gp_tasks *t = ((act *)ctx)->tasks;
    return n <= t->result_max && t->take(t->ctx, task, values, n);
}

// The last one listens: should there be fewer threads than asked for, those that compute come first.
static advgp_status part(void *ctx, size_t which, advgp_error *err)
{
    act *a = ctx;
    return which < a->threads ? do_some(a, err) : listen(a, err);
}

// ---- both -----------------------------------------------------------------------------------------------------------

static advgp_status do_together(act *a, int (*stop)(void *ctx), void *stop_ctx, advgp_error *err)
{
    gp_cluster *c = a->c;
    const gp_lead_tasks lt = {.n = a->tasks->n, .what = a->tasks->what, .pack = pack, .take = take, .ctx = a};
    advgp_status st = gp_lead_tasks_begin(c->lead, gp_clock_wall(), &lt, err);
    if (st == ADVGP_OK) st = gp_crew_do(a->threads + 1, a->threads + 1, part, a, stop, stop_ctx, err);
    gp_lead_tasks_end(c->lead, gp_clock_wall());
    (void)gp_cluster_send_all(c, NULL);
    gp_lead_tasks_forget(c->lead);
    return st;
}

advgp_status gp_cluster_do(gp_cluster *c, size_t threads, const gp_tasks *tasks, int (*stop)(void *ctx), void *stop_ctx,
                           advgp_error *err)
{
    act a = {.tasks = tasks, .c = c, .threads = threads};
    if (!tasks->n) return ADVGP_OK;
    pthread_mutex_init(&a.lock, NULL);
    const advgp_status st = c ? do_together(&a, stop, stop_ctx, err)
                              : gp_crew_do(threads, tasks->n, do_alone, &a, stop, stop_ctx, err);
    pthread_mutex_destroy(&a.lock);
    return st;
}
