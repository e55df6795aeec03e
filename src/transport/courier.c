// courier.c: two bounded queues between an endpoint's owner and the thread that has the wire.
#include "transport/courier.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/whole.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

// A peer has one request or one answer under way; the rest is for signs of life and repetitions. What is more is lost.
enum { PEER_MESSAGES = 8, SPARE_BUFFERS = 32 };
static const double heard_lately = 60, idle_wait = 3600;

typedef struct buffer {
    struct buffer *next;
    size_t peer, n, room;
    double payload[]; // n bytes, aligned
} buffer;

typedef struct queue {
    buffer *first, **last;
} queue;

typedef struct correspondent {
    size_t n_in, n_out; // buffers of it that wait
    buffer *newest_in;  // the last of those that came, where n_in > 0
    double heard;       // when something came
} correspondent;

typedef struct courier {
    gp_endpoint base;
    gp_courier_options o;
    pthread_t thread;
    pthread_mutex_t lock; // of all that follows
    pthread_cond_t news;  // two may wait for it, so it is always broadcast
    queue in, out;
    buffer *spare; // to be used again
    size_t n_spare;
    buffer *held;         // the owner reads it
    correspondent *peers; // [n_peers]
    size_t n_peers;       // known so far, with the server as peer 0
    size_t peers_room;
    bool anybody; // all peers may be sent to, whichever side it is on
    bool opened, woken, closing, ended;
    advgp_status status; // of the wire; what follows a failure is that failure again
    advgp_error error;
    // Signs of life.
    buffer *beat;
    size_t beat_number; // grows with every change of it
    double beat_every, beat_next;
} courier;

// ---- buffers --------------------------------------------------------------------------------------------------------

static buffer *buffer_new(courier *c, size_t peer, const void *bytes, size_t n)
{
    buffer **at = &c->spare;
    while (*at && (*at)->room < n) at = &(*at)->next;
    buffer *p = *at;
    if (p) {
        *at = p->next;
        c->n_spare--;
    } else {
        p = gp_alloc(1, sizeof *p + n);
        if (!p) return NULL;
        p->room = n;
    }
    p->next = NULL, p->peer = peer, p->n = n;
    if (n) memcpy(p->payload, bytes, n);
    return p;
}

// Of too many spare ones the smaller are given back: large ones are dear to make.
static void buffer_done(courier *c, buffer *p)
{
    if (!p) return;
    if (c->n_spare == SPARE_BUFFERS) {
        buffer **at = &c->spare;
        while (*at && (*at)->room >= p->room) at = &(*at)->next;
        buffer *smaller = *at;
        if (!smaller) {
            gp_free(p);
            return;
        }
        *at = smaller->next;
        gp_free(smaller);
        c->n_spare--;
    }
    p->next = c->spare;
    c->spare = p;
    c->n_spare++;
}

static void free_list(buffer *p)
{
    while (p) {
        buffer *next = p->next;
        gp_free(p);
        p = next;
    }
}

// NULL: too many of one peer, or no memory: lost, as on any network.
static buffer *put(courier *c, queue *q, size_t waiting, size_t peer, const void *bytes, size_t n)
{
    buffer *p = waiting < PEER_MESSAGES ? buffer_new(c, peer, bytes, n) : NULL;
    if (!p) return NULL;
    *q->last = p;
    q->last = &p->next;
    return p;
}

static buffer *take(queue *q)
{
    buffer *p = q->first;
    if (!p) return NULL;
    q->first = p->next;
    if (!q->first) q->last = &q->first;
    return p;
}

static buffer *take_in(courier *c)
{
    buffer *p = take(&c->in);
    if (p) c->peers[p->peer].n_in--;
    return p;
}

static buffer *take_out(courier *c)
{
    buffer *p = take(&c->out);
    if (p) c->peers[p->peer].n_out--;
    return p;
}

// ---- peers ----------------------------------------------------------------------------------------------------------

// The thread alone adds peers, so that it may walk over them without the lock.
static bool know_peer(courier *c, size_t peer)
{
    if (peer < c->n_peers) return true;
    if (!gp_grow(&c->peers, &c->peers_room, c->n_peers, peer + 1, sizeof *c->peers)) return false;
    for (; c->n_peers <= peer; c->n_peers++) c->peers[c->n_peers] = (correspondent){.heard = -INFINITY};
    return true;
}

// ---- the thread -----------------------------------------------------------------------------------------------------

static void fail(courier *c, advgp_status st, const advgp_error *err)
{
    if (c->status != ADVGP_OK || st == ADVGP_OK) return;
    c->status = st;
    c->error = *err;
}

// The same again as what already waits tells nothing new: a sign of life, or a request that was repeated.
static bool is_repeated(const correspondent *from, const void *bytes, size_t n)
{
    const buffer *newest = from->n_in ? from->newest_in : NULL;
    return newest && newest->n == n && (!n || !memcmp(newest->payload, bytes, n));
}

static void came(courier *c, size_t peer, const void *bytes, size_t n)
{
    if (!know_peer(c, peer)) return;
    correspondent *from = &c->peers[peer];
    from->heard = gp_clock_wall();
    if (is_repeated(from, bytes, n)) return;
    buffer *p = put(c, &c->in, from->n_in, peer, bytes, n);
    if (!p) return;
    from->newest_in = p;
    from->n_in++;
    pthread_cond_broadcast(&c->news);
}

// The lock is held, but not while the wire works.
static void hand_to_wire(courier *c, size_t peer, const buffer *p)
{
    advgp_error err = {0};
    gp_wire *wire = c->o.wire;
    pthread_mutex_unlock(&c->lock);
    const advgp_status st = wire->ops->send(wire, peer, p->payload, p->n, &err);
    pthread_mutex_lock(&c->lock);
    fail(c, st, &err);
}

static void beat_if_due(courier *c)
{
    const double now = gp_clock_wall();
    if (!c->beat || now < c->beat_next) return;
    buffer *p = c->beat; // the owner may put another one in its place meanwhile, or none
    const size_t number = c->beat_number;
    c->beat = NULL;
    c->beat_next = c->beat_every > 0 ? now + c->beat_every : INFINITY;
    for (size_t peer = 0; peer < c->n_peers && c->status == ADVGP_OK && c->beat_number == number; peer++)
        if ((!c->o.server && peer == 0) || now - c->peers[peer].heard < heard_lately) hand_to_wire(c, peer, p);
    if (c->beat_number == number)
        c->beat = p;
    else
        buffer_done(c, p);
}

static double seconds_to_wait(const courier *c)
{
    return c->beat ? fmin(idle_wait, fmax(0, c->beat_next - gp_clock_wall())) : idle_wait;
}

static void *carry(void *arg)
{
    courier *c = arg;
    gp_wire *wire = c->o.wire;
    advgp_error err = {0};
    advgp_status st = wire->ops->open(wire, &err);
    pthread_mutex_lock(&c->lock);
    fail(c, st, &err);
    c->opened = true;
    pthread_cond_broadcast(&c->news);
    while (c->status == ADVGP_OK) {
        for (buffer *p; c->status == ADVGP_OK && (p = take_out(c)); buffer_done(c, p)) hand_to_wire(c, p->peer, p);
        if (c->closing || c->status != ADVGP_OK) break;
        beat_if_due(c);
        if (c->out.first) continue; // came while the lock was free for the beats
        const double seconds = seconds_to_wait(c);
        pthread_mutex_unlock(&c->lock);
        size_t peer = 0, n = 0;
        const void *bytes = NULL;
        st = wire->ops->receive(wire, seconds, &peer, &bytes, &n, &err);
        pthread_mutex_lock(&c->lock);
        fail(c, st, &err);
        if (st == ADVGP_OK && bytes) came(c, peer, bytes, n);
    }
    pthread_cond_broadcast(&c->news);
    while (!c->closing) pthread_cond_wait(&c->news, &c->lock); // until then the owner may poke the wire and look at it
    pthread_mutex_unlock(&c->lock);
    wire->ops->close(wire);
    pthread_mutex_lock(&c->lock);
    c->ended = true;
    pthread_cond_broadcast(&c->news);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

// ---- the owner's side -----------------------------------------------------------------------------------------------

static advgp_status failed(const courier *c, advgp_error *err)
{
    if (err) *err = c->error;
    return c->status;
}

advgp_status gp_courier_send(gp_endpoint *endpoint, size_t peer, const void *bytes, size_t n, advgp_error *err)
{
    courier *c = (courier *)endpoint;
    if (n > c->o.message_max)
        return gp_fail(err, ADVGP_EINVAL, "a message of %zu bytes: this transport was opened for %zu", n,
                       c->o.message_max);
    pthread_mutex_lock(&c->lock);
    advgp_status st = c->status;
    if (st != ADVGP_OK)
        failed(c, err);
    else if (peer >= c->n_peers || (!c->anybody && (peer == 0) == c->o.server))
        st = gp_fail(err, ADVGP_EINVAL, "there is no peer %zu to send to", peer);
    else if (put(c, &c->out, c->peers[peer].n_out, peer, bytes, n))
        c->peers[peer].n_out++;
    pthread_mutex_unlock(&c->lock);
    if (st == ADVGP_OK) c->o.wire->ops->poke(c->o.wire);
    return st;
}

advgp_status gp_courier_beat(gp_endpoint *endpoint, double seconds, const void *bytes, size_t n, advgp_error *err)
{
    courier *c = (courier *)endpoint;
    pthread_mutex_lock(&c->lock);
    buffer *p = n ? buffer_new(c, 0, bytes, n) : NULL;
    const bool no_memory = n && !p;
    if (!no_memory) {
        buffer_done(c, c->beat);
        c->beat = p;
        c->beat_number++;
        c->beat_every = seconds, c->beat_next = 0;
    }
    pthread_mutex_unlock(&c->lock);
    if (no_memory) return gp_no_memory(err);
    c->o.wire->ops->poke(c->o.wire);
    return ADVGP_OK;
}

static struct timespec moment_in(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const double whole = floor(fmin(seconds, 366 * 86400.0));
    t.tv_sec += (time_t)gp_whole(whole, 0, INT32_MAX);
    t.tv_nsec += (long)gp_whole((fmin(seconds, 366 * 86400.0) - whole) * 1e9, 0, 999999999);
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    return t;
}

advgp_status gp_courier_receive(gp_endpoint *endpoint, double seconds, size_t *peer, const void **bytes, size_t *n,
                                advgp_error *err)
{
    courier *c = (courier *)endpoint;
    const struct timespec until = moment_in(seconds);
    *peer = 0, *bytes = NULL, *n = 0;
    pthread_mutex_lock(&c->lock);
    buffer_done(c, c->held);
    bool late = !(seconds > 0);
    while (!(c->held = take_in(c)) && c->status == ADVGP_OK && !c->woken && !late)
        late = pthread_cond_timedwait(&c->news, &c->lock, &until) == ETIMEDOUT;
    advgp_status st = ADVGP_OK;
    if (c->held)
        *peer = c->held->peer, *bytes = c->held->payload, *n = c->held->n;
    else
        c->woken = false, st = c->status == ADVGP_OK ? ADVGP_OK : failed(c, err);
    pthread_mutex_unlock(&c->lock);
    return st;
}

void gp_courier_wake(gp_endpoint *endpoint)
{
    courier *c = (courier *)endpoint;
    pthread_mutex_lock(&c->lock);
    c->woken = true;
    pthread_cond_broadcast(&c->news);
    pthread_mutex_unlock(&c->lock);
}

void gp_courier_be_server(gp_endpoint *endpoint)
{
    courier *c = (courier *)endpoint;
    pthread_mutex_lock(&c->lock);
    c->o.server = true;
    pthread_mutex_unlock(&c->lock);
}

advgp_status gp_courier_know(gp_endpoint *endpoint, size_t n_peers, advgp_error *err)
{
    courier *c = (courier *)endpoint;
    pthread_mutex_lock(&c->lock);
    c->anybody = true;
    const bool known = know_peer(c, n_peers - 1);
    pthread_mutex_unlock(&c->lock);
    return known ? ADVGP_OK : gp_no_memory(err);
}

gp_wire *gp_courier_wire(gp_endpoint *endpoint)
{
    return ((courier *)endpoint)->o.wire;
}

// ---- opening and closing --------------------------------------------------------------------------------------------

static void courier_free(courier *c)
{
    free_list(c->in.first), free_list(c->out.first), free_list(c->spare);
    gp_free(c->held), gp_free(c->beat);
    gp_free(c->peers);
    pthread_cond_destroy(&c->news);
    pthread_mutex_destroy(&c->lock);
    gp_free(c);
}

void gp_courier_close(gp_endpoint *endpoint)
{
    courier *c = (courier *)endpoint;
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->closing = true;
    c->o.wire->ops->poke(c->o.wire); // under the lock: who has seen `closing` frees the wire
    pthread_cond_broadcast(&c->news);
    bool hopeless = false;
    while (!c->ended && !hopeless) {
        const struct timespec until = moment_in(0.1);
        pthread_cond_timedwait(&c->news, &c->lock, &until);
        hopeless = !c->ended && c->o.hopeless && c->o.hopeless();
    }
    pthread_mutex_unlock(&c->lock);
    if (hopeless) {
        pthread_detach(c->thread);
        return;
    }
    pthread_join(c->thread, NULL);
    courier_free(c);
}

// Signals are for the threads that know what to do with them.
static bool start_thread(courier *c)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&c->thread, NULL, carry, c) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

advgp_status gp_courier_open(const gp_courier_options *o, gp_endpoint **out, advgp_error *err)
{
    *out = NULL;
    courier *c = gp_alloc(1, sizeof *c);
    if (!c) {
        o->wire->ops->close(o->wire);
        return gp_no_memory(err);
    }
    c->base.transport = o->wire->ops->transport;
    c->o = *o;
    c->in.last = &c->in.first, c->out.last = &c->out.first;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->news, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&c->lock, NULL);
    const bool known = know_peer(c, 0);
    if (!known || !start_thread(c)) {
        o->wire->ops->close(o->wire);
        courier_free(c);
        return gp_fail(err, ADVGP_ENOMEM,
                       known ? "no thread for an endpoint can be started" : "no memory for an endpoint");
    }
    pthread_mutex_lock(&c->lock);
    while (!c->opened) pthread_cond_wait(&c->news, &c->lock);
    const advgp_status st = c->status == ADVGP_OK ? ADVGP_OK : failed(c, err);
    pthread_mutex_unlock(&c->lock);
    if (st == ADVGP_OK)
        *out = &c->base;
    else
        gp_courier_close(&c->base);
    return st;
}
