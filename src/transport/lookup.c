// lookup.c: a thread for each look-up that takes time. Nobody waits for it: the last of the two to be done frees what
// they share.
#include "transport/lookup.h"
#include "base/alloc.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

struct gp_lookup {
    pthread_mutex_t lock;
    bool ended, left; // the thread; the owner
    char text[400];
    gp_address at;
    advgp_status status;
    advgp_error error;
};

static void destroy(gp_lookup *l)
{
    pthread_mutex_destroy(&l->lock);
    gp_free(l);
}

static void *look_up(void *arg)
{
    gp_lookup *l = arg;
    gp_address at;
    advgp_error err = {0};
    const advgp_status st = gp_address_connect(l->text, &at, &err);
    pthread_mutex_lock(&l->lock);
    l->at = at, l->status = st, l->error = err;
    l->ended = true;
    const bool left = l->left;
    pthread_mutex_unlock(&l->lock);
    if (left) destroy(l);
    return NULL;
}

// Signals are for the threads that know what to do with them.
static bool start_thread(gp_lookup *l)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&thread, NULL, look_up, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_detach(thread);
    return started;
}

advgp_status gp_lookup_start(const char *text, gp_lookup **out, advgp_error *err)
{
    bool is_name;
    gp_address at;
    *out = NULL;
    const advgp_status st = gp_address_numeric(text, &at, &is_name, err);
    if (st != ADVGP_OK) return st;
    gp_lookup *l = gp_alloc(1, sizeof *l);
    if (!l) return gp_no_memory(err);
    pthread_mutex_init(&l->lock, NULL);
    snprintf(l->text, sizeof l->text, "%s", text);
    l->at = at, l->ended = !is_name;
    if (is_name && !start_thread(l)) {
        destroy(l);
        return gp_fail(err, ADVGP_ENOMEM, "no thread to look a name up can be started");
    }
    *out = l;
    return ADVGP_OK;
}

bool gp_lookup_ended(gp_lookup *l, gp_address *out, advgp_status *status, advgp_error *err)
{
    pthread_mutex_lock(&l->lock);
    const bool ended = l->ended;
    if (ended) {
        *out = l->at, *status = l->status;
        if (err && l->status != ADVGP_OK) *err = l->error;
    }
    pthread_mutex_unlock(&l->lock);
    return ended;
}

void gp_lookup_free(gp_lookup *l)
{
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->left = true;
    const bool ended = l->ended;
    pthread_mutex_unlock(&l->lock);
    if (ended) destroy(l);
}
