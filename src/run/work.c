// work.c: receive, compute, send.
#include "run/work.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "run/send.h"

#include <string.h>

static const double look_up = 0.25, idle_patience = 3600; // seconds

typedef struct worker_loop {
    const gp_worker_loop_options *life;
    gp_worker *worker;
    gp_message_limits limits;
    gp_sender sender;
} worker_loop;

static advgp_status send(worker_loop *l, const gp_message *m, advgp_error *err)
{
    return gp_sender_send(&l->sender, l->life->endpoint, 0, m, err);
}

static advgp_status send_all(worker_loop *l, advgp_error *err)
{
    gp_message m;
    advgp_status st = ADVGP_OK;
    while (st == ADVGP_OK && gp_worker_next(l->worker, gp_clock_wall(), &m)) st = send(l, &m, err);
    return st;
}

static advgp_status listen(worker_loop *l, double seconds, advgp_error *err)
{
    gp_endpoint *e = l->life->endpoint;
    size_t peer, n;
    const void *bytes;
    gp_message m;
    advgp_status st = e->transport->receive(e, seconds, &peer, &bytes, &n, err);
    const double now = gp_clock_wall();
    // What cannot be read is as if it had not come: it will be asked for again.
    if (st == ADVGP_OK && bytes && gp_message_decode(bytes, n, &l->limits, &m, NULL) == ADVGP_OK)
        st = gp_worker_on_message(l->worker, now, &m, err);
    gp_worker_on_tick(l->worker, now);
    return st;
}

// Sleeps with an ear open: the end of the run ends it.
static advgp_status nap(worker_loop *l, double seconds, advgp_error *err)
{
    const double until = gp_clock_wall() + seconds;
    advgp_status st = ADVGP_OK;
    double left = seconds;
    while (st == ADVGP_OK && left > 0 && gp_worker_state_of(l->worker) != GP_WORKER_ENDED) {
        st = listen(l, left, err);
        left = until - gp_clock_wall();
    }
    return st;
}

static advgp_status compute(worker_loop *l, advgp_error *err)
{
    const gp_worker_loop_options *life = l->life;
    const uint32_t k = gp_worker_id(l->worker);
    const double delay = k < life->n_delays ? life->delays[k] : 0;
    const advgp_status st = gp_worker_compute(l->worker, &life->computer, err);
    return st == ADVGP_OK && delay > 0 && !gp_worker_sums_all(l->worker) ? nap(l, delay, err) : st;
}

static advgp_status live(worker_loop *l, advgp_error *err)
{
    const gp_computer *computer = &l->life->computer;
    const double patience = l->life->worker.resend > 0 ? look_up : idle_patience;
    advgp_status st = send_all(l, err);
    while (st == ADVGP_OK && gp_worker_state_of(l->worker) != GP_WORKER_ENDED) {
        gp_work next;
        if (gp_worker_state_of(l->worker) == GP_WORKER_READY) {
            st = compute(l, err);
        } else {
            if (computer->fetch && gp_worker_upcoming(l->worker, &next)) computer->fetch(computer->ctx, &next);
            st = listen(l, patience, err);
        }
        if (st == ADVGP_OK) st = send_all(l, err);
    }
    return st;
}

advgp_status gp_worker_loop(const gp_worker_loop_options *life, advgp_error *err)
{
    const gp_worker_options *o = &life->worker;
    worker_loop l = {.life = life, .limits = {.values = o->size, .masked = o->size, .shards = o->n_shards}};
    const gp_message_limits largest = {
        .values = o->push_size > o->size ? o->push_size : o->size, .shards = o->n_shards, .text = sizeof err->text};
    advgp_status st = gp_worker_new(o, &l.worker, err);
    if (st == ADVGP_OK) st = gp_sender_reserve(&l.sender, gp_message_size_max(&largest), err);
    if (st == ADVGP_OK) {
        gp_message bye;
        st = live(&l, err);
        if (st != ADVGP_OK && gp_worker_leave(l.worker, &bye)) {
            if (err && !gp_worker_refused(l.worker)) // else the server knows
                bye.text = err->text, bye.n_text = strnlen(err->text, sizeof err->text);
            (void)send(&l, &bye, NULL);
        }
    }
    gp_sender_fini(&l.sender);
    gp_worker_free(l.worker);
    return st;
}
