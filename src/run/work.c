// work.c: receive, compute, send.
#include "run/work.h"
#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

static const double look_up = 0.25, idle_patience = 3600; // seconds

typedef struct living {
    const gp_worker_life *life;
    gp_worker *worker;
    gp_message_limits limits;
    char *bytes;              // of the message being sent
    uint32_t id, incarnation; // whose signs of life the endpoint gives
    double heard, has_waited; // the last word, and since when it has nothing to do
    uint64_t pushes;
} living;

static advgp_status say(living *l, const gp_message *m, advgp_error *err)
{
    gp_endpoint *e = l->life->endpoint;
    gp_message_encode(m, l->bytes);
    return e->transport->send(e, 0, l->bytes, gp_message_size(m), err);
}

static advgp_status say_all(living *l, advgp_error *err)
{
    gp_message m;
    advgp_status st = ADVGP_OK;
    while (st == ADVGP_OK && gp_worker_next(l->worker, gp_clock_wall(), &m)) st = say(l, &m, err);
    return st;
}

// A place that was given a moment ago: from now on the endpoint says who is alive.
static advgp_status note_place(living *l, advgp_error *err)
{
    const gp_worker_life *life = l->life;
    gp_endpoint *e = life->endpoint;
    gp_message sign;
    if (!gp_worker_sign(l->worker, &sign) || (sign.worker == l->id && sign.incarnation == l->incarnation))
        return ADVGP_OK;
    l->id = sign.worker, l->incarnation = sign.incarnation;
    if (life->watch && life->watch->welcome) life->watch->welcome(life->watch->ctx, sign.worker, sign.incarnation);
    if (!(life->heartbeat > 0) || !e->transport->beat) return ADVGP_OK;
    gp_message_encode(&sign, l->bytes);
    return e->transport->beat(e, life->heartbeat, l->bytes, gp_message_size(&sign), err);
}

static advgp_status listen(living *l, double seconds, advgp_error *err)
{
    gp_endpoint *e = l->life->endpoint;
    size_t peer, n;
    const void *bytes;
    gp_message m;
    advgp_status st = e->transport->receive(e, seconds, &peer, &bytes, &n, err);
    if (st == ADVGP_OK && bytes) l->heard = gp_clock_wall();
    // What cannot be read is as if it had not come: it will be asked for again.
    if (st == ADVGP_OK && bytes && gp_message_decode(bytes, n, &l->limits, &m, NULL) == ADVGP_OK) {
        st = gp_worker_on_message(l->worker, gp_clock_wall(), &m, err);
        if (st == ADVGP_OK) st = note_place(l, err);
    }
    gp_worker_on_tick(l->worker, gp_clock_wall());
    return st;
}

advgp_status gp_worker_look_around(const gp_worker_life *life, double heard, double idle_since, advgp_error *err)
{
    const gp_worker_watch *w = life->watch;
    const double now = gp_clock_wall(), silent = now - heard;
    if (w && w->stop && w->stop(w->ctx)) return gp_fail(err, ADVGP_ESTOPPED, "the worker was asked to stop");
    if (life->give_up > 0 && silent > life->give_up) {
        if (life->endpoint->transport->lost) life->endpoint->transport->lost(life->endpoint, 0);
        return gp_fail(err, ADVGP_ECLUSTER,
                       "no word from the lead for %.0f s: it is gone, or cannot be reached; start it again with "
                       "--resume and its workers after it",
                       silent);
    }
    if (w && w->waits && idle_since >= 0) w->waits(w->ctx, silent, now - idle_since);
    return ADVGP_OK;
}

static advgp_status look_around(living *l, advgp_error *err)
{
    const bool has_work = gp_worker_state_of(l->worker) == GP_WORKER_READY;
    return gp_worker_look_around(l->life, l->heard, has_work ? -1 : l->has_waited, err);
}

// Sleeps with an ear open: the end of the run ends it.
static advgp_status nap(living *l, double seconds, advgp_error *err)
{
    const double until = gp_clock_wall() + seconds;
    advgp_status st = ADVGP_OK;
    double left = seconds;
    while (st == ADVGP_OK && left > 0 && gp_worker_state_of(l->worker) != GP_WORKER_ENDED) {
        st = listen(l, l->life->watch ? fmin(left, look_up) : left, err);
        if (st == ADVGP_OK) st = look_around(l, err);
        left = until - gp_clock_wall();
    }
    return st;
}

static advgp_status compute(living *l, advgp_error *err)
{
    const gp_worker_life *life = l->life;
    const uint32_t k = gp_worker_id(l->worker);
    const double delay = k < life->n_delays ? life->delays[k] : 0;
    advgp_status st = gp_worker_compute(l->worker, &life->computer, err);
    l->pushes++;
    l->heard = fmax(l->heard, gp_clock_wall()); // nobody was listening
    if (st == ADVGP_OK && delay > 0 && !gp_worker_sums_all(l->worker)) st = nap(l, delay, err);
    l->has_waited = gp_clock_wall();
    return st;
}

static advgp_status live(living *l, advgp_error *err)
{
    const gp_computer *computer = &l->life->computer;
    const double patience = l->life->worker.resend > 0 ? look_up : idle_patience;
    advgp_status st = say_all(l, err);
    while (st == ADVGP_OK && gp_worker_state_of(l->worker) != GP_WORKER_ENDED) {
        gp_work next;
        if (gp_worker_state_of(l->worker) == GP_WORKER_READY) {
            st = compute(l, err);
        } else {
            if (computer->fetch && gp_worker_upcoming(l->worker, &next)) computer->fetch(computer->ctx, &next);
            st = listen(l, patience, err);
        }
        if (st == ADVGP_OK) st = say_all(l, err);
        if (st == ADVGP_OK) st = look_around(l, err);
    }
    return st;
}

void gp_worker_say_why(gp_message *bye, advgp_status st, const advgp_error *err)
{
    if (st == ADVGP_ESTOPPED || !err) return;
    bye->text = err->text;
    bye->n_text = strnlen(err->text, sizeof err->text);
}

advgp_status gp_worker_live(const gp_worker_life *life, gp_worker_end *end, advgp_error *err)
{
    const gp_worker_options *o = &life->worker;
    const double now = gp_clock_wall();
    living l = {.life = life,
                .limits = {.values = o->size, .masked = o->size, .shards = o->n_shards},
                .id = GP_ANY_WORKER,
                .heard = now,
                .has_waited = now};
    const gp_message_limits largest = {
        .values = o->push_size > o->size ? o->push_size : o->size, .shards = o->n_shards, .text = sizeof err->text};
    if (end) *end = (gp_worker_end){0};
    advgp_status st = gp_worker_new(o, &l.worker, err);
    l.bytes = gp_alloc(gp_message_size_max(&largest), 1);
    if (st == ADVGP_OK && !l.bytes) st = gp_fail(err, ADVGP_ENOMEM, "no memory for a worker's messages");
    if (st == ADVGP_OK) {
        gp_endpoint *e = life->endpoint;
        gp_message bye;
        st = live(&l, err);
        if (life->heartbeat > 0 && e->transport->beat) (void)e->transport->beat(e, 0, NULL, 0, NULL);
        if (end)
            *end = (gp_worker_end){gp_worker_refused(l.worker), .pushes = l.pushes,
                                   .resends = gp_worker_resends(l.worker)};
        if (st != ADVGP_OK && gp_worker_leave(l.worker, &bye)) {
            if (!gp_worker_refused(l.worker)) gp_worker_say_why(&bye, st, err); // the server knows
            (void)say(&l, &bye, NULL);
        }
    }
    gp_free(l.bytes);
    gp_worker_free(l.worker);
    return st;
}
