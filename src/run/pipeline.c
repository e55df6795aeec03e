// pipeline.c: threads without roles: each does what is most urgent, first to drain, then to work, then to fill.
#include "run/pipeline.h"
#include "base/alloc.h"

#include <pthread.h>

typedef enum place_state { EMPTY, FILLED, WORKED_ON, DONE } place_state;
typedef struct place {
    place_state state;
    advgp_status status; // of the block in it
    advgp_error error;
} place;

typedef struct line {
    const gp_pipeline *p;
    pthread_mutex_t lock; // of all that follows
    pthread_cond_t changed;
    place *places;          // one a slot
    size_t filled, drained; // blocks so far: block b is in slot b % slots
    bool filling, draining, last_is_filled;
    bool over; // drained all, or failed
    advgp_status status;
    advgp_error error;
} line;

typedef enum act { WAIT, DRAIN, WORK, FILL } act;

static act most_urgent(const line *l, size_t *slot)
{
    const size_t slots = l->p->slots;
    *slot = l->drained % slots;
    if (!l->draining && l->drained < l->filled && l->places[*slot].state == DONE) return DRAIN;
    for (size_t b = l->drained; b < l->filled; b++) {
        *slot = b % slots;
        if (l->places[*slot].state == FILLED) return WORK;
    }
    *slot = l->filled % slots;
    return !l->filling && !l->last_is_filled && l->filled - l->drained < slots ? FILL : WAIT;
}

// These are entered and left with the lock, and give it up while they are busy.

static void drain(line *l, size_t slot)
{
    place *at = &l->places[slot];
    l->draining = true;
    if (at->status == ADVGP_OK) {
        pthread_mutex_unlock(&l->lock);
        at->status = l->p->drain(l->p->ctx, slot, &at->error);
        pthread_mutex_lock(&l->lock);
    }
    l->draining = false;
    l->drained++;
    at->state = EMPTY;
    if (at->status == ADVGP_OK) return;
    l->status = at->status, l->error = at->error;
    l->over = true;
}

static void work(line *l, size_t slot)
{
    place *at = &l->places[slot];
    at->state = WORKED_ON;
    pthread_mutex_unlock(&l->lock);
    at->status = l->p->work(l->p->ctx, slot, &at->error);
    pthread_mutex_lock(&l->lock);
    at->state = DONE;
}

static void fill(line *l, size_t slot)
{
    place *at = &l->places[slot];
    bool more = false;
    l->filling = true;
    pthread_mutex_unlock(&l->lock);
    at->status = l->p->fill(l->p->ctx, slot, &more, &at->error);
    pthread_mutex_lock(&l->lock);
    l->filling = false;
    l->last_is_filled = at->status != ADVGP_OK || !more;
    if (at->status == ADVGP_OK && !more) return;
    at->state = at->status == ADVGP_OK ? FILLED : DONE; // a failure waits for its turn
    l->filled++;
}

static void *serve(void *arg)
{
    line *l = arg;
    pthread_mutex_lock(&l->lock);
    while (!l->over) {
        size_t slot;
        switch (most_urgent(l, &slot)) {
        case DRAIN:
            drain(l, slot);
            break;
        case WORK:
            work(l, slot);
            break;
        case FILL:
            fill(l, slot);
            break;
        case WAIT:
            pthread_cond_wait(&l->changed, &l->lock);
            continue;
        }
        l->over = l->over || (l->last_is_filled && l->drained == l->filled);
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

advgp_status gp_pipeline_run(const gp_pipeline *p, advgp_error *err)
{
    line l = {.p = p, .places = gp_alloc(p->slots, sizeof *l.places)};
    pthread_t *team = gp_alloc(p->threads, sizeof *team);
    if (l.places && team) {
        pthread_mutex_init(&l.lock, NULL);
        pthread_cond_init(&l.changed, NULL);
        size_t started = 0;
        while (started + 1 < p->threads && pthread_create(&team[started], NULL, serve, &l) == 0) started++;
        (void)serve(&l);
        for (size_t i = 0; i < started; i++) pthread_join(team[i], NULL);
        pthread_cond_destroy(&l.changed);
        pthread_mutex_destroy(&l.lock);
        if (l.status != ADVGP_OK && err) *err = l.error;
    } else {
        l.status = gp_no_memory(err);
    }
    gp_free(team);
    gp_free(l.places);
    return l.status;
}
