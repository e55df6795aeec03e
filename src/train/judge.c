// judge.c: one thread, one question at a time.
#include "train/judge.h"
#include "base/alloc.h"
#include "train/learner.h"

#include <pthread.h>
#include <string.h>

enum { READ_ROWS = 4096 };
typedef enum judge_state { IDLE, ASKED, DONE, LEAVING } judge_state;

struct gp_judge {
    gp_judge_options o;
    gp_reader reader;
    double *theta;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; // of what follows
    pthread_cond_t changed;
    judge_state state;
    gp_score score;
    advgp_status status;
    advgp_error error;
};

static void *judge(void *arg)
{
    gp_judge *j = arg;
    pthread_mutex_lock(&j->lock);
    for (;;) {
        while (j->state != ASKED && j->state != LEAVING) pthread_cond_wait(&j->changed, &j->lock);
        if (j->state == LEAVING) break;
        pthread_mutex_unlock(&j->lock);
        gp_score score;
        advgp_error error = {0};
        const advgp_status st = gp_score_part(j->o.spec, j->theta, &j->reader, GP_STOP, j->o.max_rows, j->o.schema,
                                              &score, &error);
        pthread_mutex_lock(&j->lock);
        j->score = score, j->status = st, j->error = error;
        if (j->state == ASKED) j->state = DONE;
        pthread_cond_broadcast(&j->changed);
        if (j->o.done) j->o.done(j->o.ctx);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

advgp_status gp_judge_new(const gp_judge_options *o, gp_judge **out, advgp_error *err)
{
    *out = NULL;
    gp_judge *j = gp_alloc(1, sizeof *j);
    if (!j) return gp_fail(err, ADVGP_ENOMEM, "no memory to judge parameters");
    j->o = *o;
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
    j->theta = gp_alloc(o->size, sizeof(double));
    advgp_status st = j->theta ? gp_reader_new(o->shards, READ_ROWS, &j->reader, err)
                               : gp_fail(err, ADVGP_ENOMEM, "no memory to judge %zu parameters", o->size);
    if (st == ADVGP_OK) {
        j->started = pthread_create(&j->thread, NULL, judge, j) == 0;
        if (!j->started) st = gp_fail(err, ADVGP_ENOMEM, "the thread that judges parameters cannot be started");
    }
    if (st != ADVGP_OK) {
        gp_judge_free(j);
        return st;
    }
    *out = j;
    return ADVGP_OK;
}

void gp_judge_free(gp_judge *j)
{
    if (!j) return;
    pthread_mutex_lock(&j->lock);
    j->state = LEAVING;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    if (j->started) pthread_join(j->thread, NULL);
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->lock);
    gp_reader_fini(&j->reader);
    gp_free(j->theta);
    gp_free(j);
}

void gp_judge_ask(gp_judge *j, const double *theta)
{
    pthread_mutex_lock(&j->lock);
    memcpy(j->theta, theta, j->o.size * sizeof(double));
    j->state = ASKED;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

bool gp_judge_is_done(gp_judge *j)
{
    pthread_mutex_lock(&j->lock);
    const bool done = j->state == DONE;
    pthread_mutex_unlock(&j->lock);
    return done;
}

advgp_status gp_judge_take(gp_judge *j, gp_score *score, advgp_error *err)
{
    pthread_mutex_lock(&j->lock);
    while (j->state == ASKED) pthread_cond_wait(&j->changed, &j->lock);
    *score = j->score;
    const advgp_status st = j->status;
    if (st != ADVGP_OK && err) *err = j->error;
    j->state = IDLE;
    pthread_mutex_unlock(&j->lock);
    return st;
}

const double *gp_judge_theta(const gp_judge *j)
{
    return j->theta;
}
