// evaluator.c: one thread, one question at a time.
#include "learn/evaluator.h"
#include "base/alloc.h"
#include "learn/learner.h"

#include <pthread.h>
#include <string.h>

enum { READ_ROWS = 4096 };
typedef enum evaluator_state { IDLE, ASKED, DONE, LEAVING } evaluator_state;

struct gp_evaluator {
    gp_evaluator_options o;
    gp_reader reader;
    double *theta;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; // of what follows
    pthread_cond_t changed;
    evaluator_state state;
    gp_score score;
    advgp_status status;
    advgp_error error;
};

static void *evaluate(void *arg)
{
    gp_evaluator *e = arg;
    pthread_mutex_lock(&e->lock);
    for (;;) {
        while (e->state != ASKED && e->state != LEAVING) pthread_cond_wait(&e->changed, &e->lock);
        if (e->state == LEAVING) break;
        pthread_mutex_unlock(&e->lock);
        gp_score score;
        advgp_error error = {0};
        const advgp_status st = gp_score_part(e->o.spec, e->theta, &e->reader, GP_STOP, e->o.max_rows, e->o.schema,
                                              &score, &error);
        pthread_mutex_lock(&e->lock);
        e->score = score, e->status = st, e->error = error;
        if (e->state == ASKED) e->state = DONE;
        pthread_cond_broadcast(&e->changed);
        if (e->o.done) e->o.done(e->o.ctx);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

advgp_status gp_evaluator_new(const gp_evaluator_options *o, gp_evaluator **out, advgp_error *err)
{
    *out = NULL;
    gp_evaluator *e = gp_alloc(1, sizeof *e);
    if (!e) return gp_no_memory(err);
    e->o = *o;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    e->theta = gp_alloc(o->size, sizeof(double));
    advgp_status st = e->theta ? gp_reader_new(o->shards, READ_ROWS, &e->reader, err) : gp_no_memory(err);
    if (st == ADVGP_OK) {
        e->started = pthread_create(&e->thread, NULL, evaluate, e) == 0;
        if (!e->started) st = gp_fail(err, ADVGP_ENOMEM, "the thread that evaluates parameters cannot be started");
    }
    if (st != ADVGP_OK) {
        gp_evaluator_free(e);
        return st;
    }
    *out = e;
    return ADVGP_OK;
}

void gp_evaluator_free(gp_evaluator *e)
{
    if (!e) return;
    pthread_mutex_lock(&e->lock);
    e->state = LEAVING;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    if (e->started) pthread_join(e->thread, NULL);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    gp_reader_fini(&e->reader);
    gp_free(e->theta);
    gp_free(e);
}

void gp_evaluator_ask(gp_evaluator *e, const double *theta)
{
    pthread_mutex_lock(&e->lock);
    memcpy(e->theta, theta, e->o.size * sizeof(double));
    e->state = ASKED;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

bool gp_evaluator_is_done(gp_evaluator *e)
{
    pthread_mutex_lock(&e->lock);
    const bool done = e->state == DONE;
    pthread_mutex_unlock(&e->lock);
    return done;
}

advgp_status gp_evaluator_take(gp_evaluator *e, gp_score *score, advgp_error *err)
{
    pthread_mutex_lock(&e->lock);
    while (e->state == ASKED) pthread_cond_wait(&e->changed, &e->lock);
    *score = e->score;
    const advgp_status st = e->status;
    if (st != ADVGP_OK && err) *err = e->error;
    e->state = IDLE;
    pthread_mutex_unlock(&e->lock);
    return st;
}

const double *gp_evaluator_theta(const gp_evaluator *e)
{
    return e->theta;
}
