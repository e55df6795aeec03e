// inproc.c: a server and its workers in one process. A worker and the server share two rings of slots, one a direction,
// each with one producer and one consumer: no lock lies between them, and none between two workers. Whoever waits
// sleeps on the bell of its endpoint, a semaphore.
#define _GNU_SOURCE // sem_clockwait: a wait that does not depend on what people do to the time of day
#include "base/alloc.h"
#include "base/whole.h"
#include "transport/transport.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

// One slot may be the reader's, one holds the request or its answer; the rest is for signs of life and repetitions.
enum { SLOTS = 4, CACHE_LINE = 64 };

// Counters only grow; slot i is number i % SLOTS. Each on its own cache line: they belong to two threads.
typedef struct ring {
    _Alignas(CACHE_LINE) atomic_size_t written; // by the producer
    _Alignas(CACHE_LINE) atomic_size_t read;    // by the consumer
    _Alignas(CACHE_LINE) char *bytes;           // SLOTS x room
    size_t length[SLOTS];
} ring;

typedef struct hub hub;

typedef struct inproc {
    gp_endpoint base;
    hub *hub;
    size_t self; // 0: the server
    sem_t bell;
    atomic_bool rung; // the bell has been rung and nobody has come yet; so it never counts above one
    atomic_bool woken, closed;
    size_t turn; // the server: whose ring is looked at first
    ring *held;  // whose oldest slot the caller is reading
} inproc;

struct hub {
    size_t n_workers, message_max;
    size_t room; // message_max, rounded up to whole cache lines
    atomic_size_t open;
    inproc *endpoints; // [n_workers + 1]
    ring *up, *down;   // [n_workers]: to the server, from it
    char *bytes;
    size_t n_bells; // that were made
};

static void ring_bell(inproc *e)
{
    if (!atomic_exchange(&e->rung, true)) sem_post(&e->bell);
}

// ---- sending --------------------------------------------------------------------------------------------------------

static advgp_status inproc_send(gp_endpoint *endpoint, size_t peer, const void *bytes, size_t n, advgp_error *err)
{
    inproc *e = (inproc *)endpoint;
    hub *h = e->hub;
    if (n > h->message_max)
        return gp_fail(err, ADVGP_EINVAL, "a message of %zu bytes: this transport was opened for %zu", n,
                       h->message_max);
    if (e->self ? peer != 0 : peer < 1 || peer > h->n_workers)
        return gp_fail(err, ADVGP_EINVAL, "there is no peer %zu to send to", peer);
    inproc *to = &h->endpoints[peer];
    ring *r = e->self ? &h->up[e->self - 1] : &h->down[peer - 1];
    const size_t written = atomic_load_explicit(&r->written, memory_order_relaxed);
    if (atomic_load(&to->closed)) return ADVGP_OK;
    if (written - atomic_load_explicit(&r->read, memory_order_acquire) == SLOTS) return ADVGP_OK; // lost
    if (n) memcpy(r->bytes + written % SLOTS * h->room, bytes, n);
    r->length[written % SLOTS] = n;
    atomic_store_explicit(&r->written, written + 1, memory_order_release);
    ring_bell(to);
    return ADVGP_OK;
}

// ---- receiving ------------------------------------------------------------------------------------------------------

static bool take(inproc *e, ring *r, const void **bytes, size_t *n)
{
    const size_t read = atomic_load_explicit(&r->read, memory_order_relaxed);
    if (read == atomic_load_explicit(&r->written, memory_order_acquire)) return false;
    *bytes = r->bytes + read % SLOTS * e->hub->room;
    *n = r->length[read % SLOTS];
    e->held = r;
    return true;
}

static bool take_next(inproc *e, size_t *peer, const void **bytes, size_t *n)
{
    hub *h = e->hub;
    *peer = 0;
    if (e->self) return take(e, &h->down[e->self - 1], bytes, n);
    for (size_t i = 0; i < h->n_workers; i++) {
        const size_t k = (e->turn + i) % h->n_workers;
        if (!take(e, &h->up[k], bytes, n)) continue;
        *peer = k + 1;
        e->turn = k + 1;
        return true;
    }
    return false;
}

static struct timespec moment_in(double seconds)
{
    const double year = 366 * 86400.0; // what is longer is for ever
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (!(seconds < year)) seconds = year;
    const int64_t whole = gp_whole(seconds, 0, INT32_MAX);
    t.tv_sec += (time_t)whole;
    t.tv_nsec += (long)gp_whole((seconds - (double)whole) * 1e9, 0, 999999999);
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    return t;
}

// False: the time is over.
static bool await_bell(inproc *e, const struct timespec *until)
{
    while (sem_clockwait(&e->bell, CLOCK_MONOTONIC, until) != 0)
        if (errno != EINTR) return false;
    atomic_exchange(&e->rung, false); // from here on a sender rings again: the rings are looked at after this
    return true;
}

static advgp_status inproc_receive(gp_endpoint *endpoint, double seconds, size_t *peer, const void **bytes, size_t *n,
                                   advgp_error *err)
{
    (void)err;
    inproc *e = (inproc *)endpoint;
    if (e->held) atomic_fetch_add_explicit(&e->held->read, 1, memory_order_release);
    e->held = NULL;
    if (take_next(e, peer, bytes, n)) return ADVGP_OK;
    if (seconds > 0) {
        const struct timespec until = moment_in(seconds);
        while (!atomic_load(&e->woken) && await_bell(e, &until))
            if (take_next(e, peer, bytes, n)) return ADVGP_OK;
    }
    atomic_store(&e->woken, false);
    *peer = 0, *bytes = NULL, *n = 0;
    return ADVGP_OK;
}

static void inproc_wake(gp_endpoint *endpoint)
{
    inproc *e = (inproc *)endpoint;
    atomic_store(&e->woken, true);
    ring_bell(e);
}

// ---- opening and closing --------------------------------------------------------------------------------------------

static void hub_free(hub *h)
{
    if (!h) return;
    for (size_t i = 0; i < h->n_bells; i++) sem_destroy(&h->endpoints[i].bell);
    gp_free(h->endpoints);
    gp_free(h->up);
    gp_free(h->down);
    gp_free(h->bytes);
    gp_free(h);
}

// Senders may hold the hub for a moment longer than this endpoint: it goes with the last one.
static void inproc_close(gp_endpoint *endpoint)
{
    inproc *e = (inproc *)endpoint;
    if (!e) return;
    atomic_store(&e->closed, true);
    if (atomic_fetch_sub(&e->hub->open, 1) == 1) hub_free(e->hub);
}

static advgp_status hub_new(size_t n_workers, size_t message_max, hub **out, advgp_error *err)
{
    const size_t room = (message_max + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    hub *h = *out = gp_alloc(1, sizeof *h);
    if (!h || room < message_max || (room && n_workers > SIZE_MAX / 2 / SLOTS / room)) goto no_memory;
    h->n_workers = n_workers, h->message_max = message_max, h->room = room;
    h->endpoints = gp_alloc(n_workers + 1, sizeof *h->endpoints);
    h->up = gp_alloc(n_workers, sizeof *h->up);
    h->down = gp_alloc(n_workers, sizeof *h->down);
    h->bytes = gp_alloc(2 * n_workers * SLOTS, room);
    if (!h->endpoints || !h->up || !h->down || !h->bytes) goto no_memory;
    for (size_t k = 0; k < n_workers; k++) {
        h->up[k].bytes = h->bytes + 2 * k * SLOTS * room;
        h->down[k].bytes = h->up[k].bytes + SLOTS * room;
    }
    for (; h->n_bells < n_workers + 1; h->n_bells++)
        if (sem_init(&h->endpoints[h->n_bells].bell, 0, 0) != 0)
            return gp_fail(err, ADVGP_EIO, "cannot make a semaphore: %s", strerror(errno));
    return ADVGP_OK;
no_memory:
    return gp_no_memory(err);
}

advgp_status gp_inproc_open(size_t n_workers, size_t message_max, gp_endpoint **endpoints, advgp_error *err)
{
    if (!n_workers || n_workers > SIZE_MAX / 2 / sizeof(inproc))
        return gp_fail(err, ADVGP_EINVAL, "inproc: %zu workers", n_workers);
    for (size_t i = 0; i <= n_workers; i++) endpoints[i] = NULL;
    hub *h;
    const advgp_status st = hub_new(n_workers, message_max, &h, err);
    if (st != ADVGP_OK) {
        hub_free(h);
        return st;
    }
    atomic_init(&h->open, n_workers + 1);
    for (size_t i = 0; i <= n_workers; i++) {
        inproc *e = &h->endpoints[i];
        e->base.transport = &gp_transport_inproc;
        e->hub = h;
        e->self = i;
        endpoints[i] = &e->base;
    }
    return ADVGP_OK;
}

const gp_transport gp_transport_inproc = {.name = "inproc",
                                          .summary = "threads of one process",
                                          .ordered = true,
                                          .available = true,
                                          .send = inproc_send,
                                          .receive = inproc_receive,
                                          .wake = inproc_wake,
                                          .close = inproc_close};
