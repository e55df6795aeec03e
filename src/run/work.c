// work.c: receive, compute, send.
#include "run/work.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "run/send.h"

#include <string.h>

static const double look_up = 0.25, idle_patience = 3600; // seconds

struct gp_worker_life {
    gp_worker_life_options o;
    gp_worker *worker;
    gp_message_limits limits;
    gp_sender sender;
};

static advgp_status send(gp_worker_life *l, const gp_message *m, advgp_error *err)
{
    return gp_sender_send(&l->sender, l->o.endpoint, 0, m, err);
}

static advgp_status send_all(gp_worker_life *l, advgp_error *err)
{
    gp_message m;
    advgp_status st = ADVGP_OK;
    while (st == ADVGP_OK && gp_worker_next(l->worker, gp_clock_wall(), &m)) st = send(l, &m, err);
    return st;
}

static advgp_status listen(gp_worker_life *l, double seconds, advgp_error *err)
{
    gp_endpoint *e = l->o.endpoint;
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
static advgp_status nap(gp_worker_life *l, double seconds, advgp_error *err)
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

static advgp_status compute(gp_worker_life *l, advgp_error *err)
{
    const uint32_t k = gp_worker_id(l->worker);
    const double delay = k < l->o.n_delays ? l->o.delays[k] : 0;
    const advgp_status st = gp_worker_compute(l->worker, &l->o.computer, err);
    return st == ADVGP_OK && delay > 0 && !gp_worker_sums_all(l->worker) ? nap(l, delay, err) : st;
}

bool gp_worker_life_is_over(const gp_worker_life *l)
{
    return gp_worker_state_of(l->worker) == GP_WORKER_ENDED;
}

advgp_status gp_worker_life_turn(gp_worker_life *l, double patience, advgp_error *err)
{
    const gp_computer *computer = &l->o.computer;
    gp_work next;
    advgp_status st = send_all(l, err);
    if (st == ADVGP_OK && gp_worker_state_of(l->worker) != GP_WORKER_READY) {
        if (computer->fetch && gp_worker_upcoming(l->worker, &next)) computer->fetch(computer->ctx, &next);
        st = listen(l, patience, err);
    }
    if (st == ADVGP_OK && gp_worker_state_of(l->worker) == GP_WORKER_READY) st = compute(l, err);
    return st == ADVGP_OK ? send_all(l, err) : st;
}

advgp_status gp_worker_life_new(const gp_worker_life_options *o, gp_worker_life **out, advgp_error *err)
{
    const gp_worker_options *w = &o->worker;
    const gp_message_limits largest = {
        .values = w->push_size > w->size ? w->push_size : w->size, .shards = w->n_shards, .text = sizeof err->text};
    *out = gp_alloc(1, sizeof **out);
    if (!*out) return gp_no_memory(err);
    **out = (gp_worker_life){.o = *o, .limits = {.values = w->size, .masked = w->size, .shards = w->n_shards}};
    advgp_status st = gp_worker_new(w, &(*out)->worker, err);
    if (st == ADVGP_OK) st = gp_sender_reserve(&(*out)->sender, gp_message_size_max(&largest), err);
    if (st == ADVGP_OK) return ADVGP_OK;
    gp_worker_life_free(*out);
    *out = NULL;
    return st;
}

void gp_worker_life_leave(gp_worker_life *l, const advgp_error *why)
{
    gp_message bye;
    if (!gp_worker_leave(l->worker, &bye)) return;
    if (why && !gp_worker_refused(l->worker)) // else the server knows
        bye.text = why->text, bye.n_text = strnlen(why->text, sizeof why->text);
    (void)send(l, &bye, NULL);
}

void gp_worker_life_free(gp_worker_life *l)
{
    if (!l) return;
    gp_sender_fini(&l->sender);
    gp_worker_free(l->worker);
    gp_free(l);
}

advgp_status gp_worker_live(const gp_worker_life_options *o, advgp_error *err)
{
    gp_worker_life *l;
    const double patience = o->worker.resend > 0 ? look_up : idle_patience;
    advgp_status st = gp_worker_life_new(o, &l, err);
    if (st != ADVGP_OK) return st;
    while (st == ADVGP_OK && !gp_worker_life_is_over(l)) st = gp_worker_life_turn(l, patience, err);
    if (st != ADVGP_OK) gp_worker_life_leave(l, err);
    gp_worker_life_free(l);
    return st;
}
