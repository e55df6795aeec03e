// zmq_lead.c: the lead's wire: a ROUTER that numbers whoever speaks to it, and the list of keys that are let in.
#define _GNU_SOURCE // explicit_bzero
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "transport/address.h"
#include "transport/zmq_lines.h"
#include "transport/zmq_wire.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ZeroMQ itself gives a peer 5 bytes to be routed by, the first of which is 0; who brings its own is no worker of ours.
// Descriptors that are not for connections; and bytes of small messages that may wait to be read.
enum { ROUTE = 5, KEY_BYTES = 32, ATTEND_EVERY = 16, AT_ONCE = 64, RESERVE = 64, SMALL_ONES = 1 << 20 };
static const double forgotten = 120; // seconds of silence after which a number may be given to another
static const double look_every = 0.25, told_again = 60; // seconds: after connections; before the same is said again

typedef struct peer {
    unsigned char n_route, route[ROUTE];
    uint32_t next; // in its bucket; 0: the last
    int fd;        // by which it spoke last
    double heard;  // the last time
} peer;

typedef struct lead {
    gp_zmq_wire wire;
    gp_address at;
    char bound[128];
    bool secure;
    gp_zmq_identity keys;
    unsigned char (*allowed)[KEY_BYTES];
    size_t n_allowed;
    void *router, *monitor, *door; // of these the last answers who may come in
    size_t peers_max, n_peers;
    peer *peers;       // [peers_max + 1], from 1
    atomic_bool *gone; // [peers_max + 1]: its connection has ended, or ZeroMQ could not route to it
    uint32_t *buckets; // [n_buckets]: the first peer of each; 0: none
    size_t n_buckets;  // a power of two
    unsigned turn;
    gp_zmq_lines *lines;
    atomic_size_t largest; // bytes of a message that can be meant
    double looked;         // after them
    void (*report)(void *ctx, const char *text);
    void *ctx;
    gp_zmq_lines_counts told;
    double told_of[3]; // when: numbers, messages without end, too many connections
    atomic_uint_fast64_t refused, mismatched, malformed, dropped, cut;
} lead;

// What people should know, once a minute.
static void tell(lead *l, size_t what, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void tell(lead *l, size_t what, const char *format, ...)
{
    char text[300];
    const double now = gp_clock_wall();
    if (!l->report || now - l->told_of[what] < told_again) return;
    l->told_of[what] = now;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    l->report(l->ctx, text);
}

// ---- peers ----------------------------------------------------------------------------------------------------------

static uint32_t *bucket_of(lead *l, const unsigned char *route, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++) hash = gp_hash_u64(hash, route[i]);
    return &l->buckets[hash & (l->n_buckets - 1)];
}

static void forget(lead *l, size_t number)
{
    peer *p = &l->peers[number];
    uint32_t *at = bucket_of(l, p->route, p->n_route);
    while (*at != number) at = &l->peers[*at].next;
    *at = p->next;
}

// 0: all numbers are in use.
static size_t free_number(lead *l, double now)
{
    if (l->n_peers < l->peers_max) return ++l->n_peers;
    size_t oldest = 1;
    for (size_t k = 2; k <= l->n_peers; k++) {
        const bool gone = l->gone[k], other = l->gone[oldest];
        if (gone != other ? gone : l->peers[k].heard < l->peers[oldest].heard) oldest = k;
    }
    if (!l->gone[oldest] && now - l->peers[oldest].heard < forgotten) {
        tell(l, 0,
             "%zu connections are all that a lead can tell apart: who comes now is not heard until one of them ends",
             l->peers_max);
        return 0;
    }
    forget(l, oldest);
    return oldest;
}

// 0: there is no room for another one.
static size_t number_of(lead *l, const unsigned char *route, size_t n)
{
    const double now = gp_clock_wall();
    for (uint32_t k = *bucket_of(l, route, n); k; k = l->peers[k].next) {
        peer *p = &l->peers[k];
        if (p->n_route != n || memcmp(p->route, route, n) != 0) continue;
        p->heard = now;
        l->gone[k] = false;
        return k;
    }
    const size_t number = free_number(l, now);
    if (!number) return 0;
    uint32_t *bucket = bucket_of(l, route, n);
    peer *p = &l->peers[number];
    l->gone[number] = false;
    *p = (peer){.n_route = (unsigned char)n, .next = *bucket, .heard = now};
    memcpy(p->route, route, n);
    *bucket = (uint32_t)number;
    return number;
}

// ---- who may come in ------------------------------------------------------------------------------------------------

// CURVE proves that a worker has the key it names; this says whether that key is one of ours. (RFC 27, ZAP: version,
// request, domain, address, identity, mechanism, then the key.)
static bool is_allowed(const lead *l, const char *mechanism, const unsigned char *key, size_t n_key)
{
    if (strcmp(mechanism, "CURVE") != 0 || n_key != KEY_BYTES) return false;
    for (size_t i = 0; i < l->n_allowed; i++)
        if (!memcmp(l->allowed[i], key, KEY_BYTES)) return true;
    return false;
}

static bool answer_door(lead *l)
{
    enum { FRAMES = 7, LONGEST = 256 };
    unsigned char frame[FRAMES][LONGEST];
    size_t length[FRAMES] = {0}, n = 0;
    int more = 1;
    for (; more; n++) {
        unsigned char ignored[1];
        const bool kept = n < FRAMES;
        const int got = zmq_recv(l->door, kept ? frame[n] : ignored, kept ? LONGEST - 1 : 0, ZMQ_DONTWAIT);
        if (got < 0) return false;
        if (kept) length[n] = (size_t)got < LONGEST ? (size_t)got : LONGEST - 1;
        if (kept) frame[n][length[n]] = 0;
        size_t size = sizeof more;
        if (zmq_getsockopt(l->door, ZMQ_RCVMORE, &more, &size) != 0) more = 0;
    }
    const bool good = n == FRAMES && is_allowed(l, (const char *)frame[5], frame[6], length[6]);
    if (!good) l->refused++;
    zmq_send(l->door, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(l->door, frame[1], n > 1 ? length[1] : 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(l->door, good ? "200" : "400", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(l->door, good ? "OK" : "no", 2, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(l->door, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(l->door, "", 0, ZMQ_DONTWAIT);
    return true;
}

static void attend(lead *l)
{
    int event;
    unsigned value;
    for (int i = 0; l->door && i < AT_ONCE && answer_door(l); i++) continue;
    for (int i = 0; i < AT_ONCE && gp_zmq_monitor_next(l->monitor, &event, &value); i++) {
        const int fd = (int)value;
        if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) l->mismatched++;
        if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) l->malformed++;
        if (event == ZMQ_EVENT_ACCEPTED) gp_zmq_lines_opened(l->lines, fd);
        if (event == ZMQ_EVENT_ACCEPT_FAILED) gp_zmq_lines_crowded(l->lines);
        if (event != ZMQ_EVENT_DISCONNECTED) continue;
        const uint32_t number = gp_zmq_lines_closed(l->lines, fd);
        if (number && l->peers[number].fd == fd) l->gone[number] = true; // its number may be another's
    }
}

// All that was whole has been taken.
static void look_after_lines(lead *l)
{
    const double now = gp_clock_wall();
    if (now - l->looked < look_every) return;
    l->looked = now;
    gp_zmq_lines_look(l->lines, 2 * atomic_load(&l->largest) + SMALL_ONES); // a push may be said twice
    const gp_zmq_lines_counts c = gp_zmq_lines_count(l->lines);
    atomic_store(&l->cut, c.endless + c.too_many);
    if (c.endless > l->told.endless)
        tell(l, 1, "a connection was ended: it has sent more than the longest message, and that has no end");
    if (c.too_many > l->told.too_many)
        tell(l, 2,
             "there are too many connections for the %zu files that this process may have open: of those that have "
             "said nothing yet some are ended (ulimit -n)",
             gp_zmq_descriptors());
    l->told = c;
}

// ---- the wire -------------------------------------------------------------------------------------------------------

static advgp_status lead_send(gp_wire *wire, size_t number, const void *bytes, size_t n, advgp_error *err)
{
    (void)err;
    lead *l = (lead *)wire;
    if (number < 1 || number > l->n_peers) return ADVGP_OK;
    peer *p = &l->peers[number];
    zmq_msg_t body;
    if (zmq_msg_init_size(&body, n) != 0) return ADVGP_OK; // no memory: lost
    if (n) memcpy(zmq_msg_data(&body), bytes, n);
    int routed = zmq_send(l->router, p->route, p->n_route, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    if (routed < 0 && gp_zmq_catch_up(l->router))
        routed = zmq_send(l->router, p->route, p->n_route, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    if (routed < 0) {
        l->gone[number] = zmq_errno() == EHOSTUNREACH; // else it has more to read already than is good
        zmq_msg_close(&body);
        return ADVGP_OK;
    }
    if (zmq_msg_send(&body, l->router, ZMQ_DONTWAIT) < 0) zmq_msg_close(&body);
    return ADVGP_OK;
}

// False: nothing is there, or too much that is no message.
static bool take(lead *l, size_t *number, const void **bytes, size_t *n)
{
    for (int i = 0; i < AT_ONCE; i++) {
        unsigned char route[ROUTE];
        const int length = zmq_recv(l->router, route, sizeof route, ZMQ_DONTWAIT);
        if (length < 0) return false;
        const gp_zmq_body body = gp_zmq_take_body(&l->wire, l->router, bytes, n);
        const int fd = gp_zmq_descriptor_of(&l->wire);
        const bool own = length == ROUTE && !route[0];
        *number = body == GP_ZMQ_GOOD && own ? number_of(l, route, ROUTE) : 0;
        gp_zmq_lines_spoke(l->lines, fd, (uint32_t)*number);
        if (*number) l->peers[*number].fd = fd;
        if (*number) return true;
        l->dropped++;
    }
    return false;
}

static advgp_status lead_receive(gp_wire *wire, double seconds, size_t *number, const void **bytes, size_t *n,
                                 advgp_error *err)
{
    lead *l = (lead *)wire;
    const double until = gp_clock_wall() + seconds;
    if (++l->turn % ATTEND_EVERY == 0) attend(l); // also when messages never end
    for (;;) {
        if (take(l, number, bytes, n)) return ADVGP_OK;
        *number = 0, *bytes = NULL, *n = 0;
        look_after_lines(l);
        const double wake = fmin(until, gp_clock_wall() + look_every);
        zmq_pollitem_t items[] = {{.fd = l->wire.bell, .events = ZMQ_POLLIN},
                                  {.socket = l->router, .events = ZMQ_POLLIN},
                                  {.socket = l->monitor, .events = ZMQ_POLLIN},
                                  {.socket = l->door, .events = ZMQ_POLLIN}};
        const int came = zmq_poll(items, l->door ? 4 : 3, gp_zmq_milliseconds(wake - gp_clock_wall()));
        if (came < 0) return zmq_errno() == EINTR ? ADVGP_OK : gp_zmq_failed("waiting for workers failed", err);
        if (items[0].revents) {
            gp_zmq_poked(&l->wire);
            return ADVGP_OK;
        }
        if (items[2].revents || items[3].revents) attend(l);
        if (!came && gp_clock_wall() >= until) return ADVGP_OK;
    }
}

// ---- opening and closing --------------------------------------------------------------------------------------------

// A connection takes a descriptor, and one that is being replaced another. Where they cannot be had there are fewer
// connections: ZeroMQ would take them until there are no descriptors left, and try again without a pause.
static advgp_status make_lines(lead *l, advgp_error *err)
{
    const size_t most = 2 * l->peers_max;
    gp_zmq_raise_descriptors(most + 4 * (size_t)RESERVE);
    const size_t all = gp_zmq_descriptors(), used = (size_t)l->wire.bell + RESERVE; // those before the bell are in use
    const size_t left = all > used + 1 ? all - used : 1;
    return gp_zmq_lines_new(left < most ? left : most, &l->lines, err);
}

static bool open_door(lead *l)
{
    l->door = zmq_socket(l->wire.context, ZMQ_REP);
    return l->door && gp_zmq_set(l->door, ZMQ_LINGER, 0) && zmq_bind(l->door, "inproc://zeromq.zap.01") == 0 &&
           zmq_setsockopt(l->router, ZMQ_ZAP_DOMAIN, "advgp", 5) == 0 && gp_zmq_set(l->router, ZMQ_CURVE_SERVER, 1) &&
           gp_zmq_set_key(l->router, ZMQ_CURVE_SECRETKEY, l->keys.secret_key);
}

static advgp_status lead_open(gp_wire *wire, advgp_error *err)
{
    lead *l = (lead *)wire;
    advgp_status st = make_lines(l, err);
    // Encryption is most of the work, and it is done in the threads of the context.
    if (st == ADVGP_OK) st = gp_zmq_wire_context(&l->wire, l->secure ? 2 : 1, err);
    if (st != ADVGP_OK) return st;
    l->router = zmq_socket(l->wire.context, ZMQ_ROUTER);
    if (!l->router || !gp_zmq_set_common(l->router, l->wire.receive_max, strchr(l->at.endpoint, '[') != NULL) ||
        !gp_zmq_set(l->router, ZMQ_ROUTER_MANDATORY, 1) || !gp_zmq_set(l->router, ZMQ_ROUTER_HANDOVER, 1) ||
        !gp_zmq_set(l->router, ZMQ_BACKLOG, 1024))
        return gp_zmq_failed("cannot make a socket", err);
    if (l->secure && !open_door(l)) return gp_zmq_failed("cannot use the lead's key", err);
    l->monitor = gp_zmq_monitor(l->wire.context, l->router, "inproc://lead-monitor",
                                ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                    ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED | ZMQ_EVENT_DISCONNECTED);
    if (!l->monitor) return gp_zmq_failed("cannot watch a socket", err);
    if (zmq_bind(l->router, l->at.endpoint) != 0)
        return gp_fail(err, ADVGP_EIO, "cannot listen at %s: %s; choose another address or port with {listen}",
                       l->at.endpoint, zmq_strerror(zmq_errno()));
    size_t size = sizeof l->bound;
    if (zmq_getsockopt(l->router, ZMQ_LAST_ENDPOINT, l->bound, &size) != 0)
        return gp_zmq_failed("cannot see the port of a socket", err);
    return ADVGP_OK;
}

static void lead_close(gp_wire *wire)
{
    lead *l = (lead *)wire;
    gp_zmq_close(l->router, l->monitor, GP_ZMQ_LINGER_MS);
    gp_zmq_close(l->door, NULL, 0);
    gp_zmq_wire_fini(&l->wire);
    explicit_bzero(&l->keys, sizeof l->keys);
    gp_zmq_lines_free(l->lines);
    gp_free(l->allowed), gp_free(l->peers), gp_free(l->gone), gp_free(l->buckets);
    gp_free(l);
}

static const gp_wire_ops lead_ops = {.transport = &gp_transport_zmq,
                                     .open = lead_open,
                                     .send = lead_send,
                                     .receive = lead_receive,
                                     .poke = gp_zmq_poke,
                                     .close = lead_close};

static advgp_status read_allowed(lead *l, const gp_zmq_listen_options *o, advgp_error *err)
{
    l->n_allowed = o->n_allowed;
    for (size_t i = 0; i < o->n_allowed; i++)
        if (strlen(o->allowed[i]) != GP_ZMQ_KEY - 1 || !zmq_z85_decode(l->allowed[i], o->allowed[i]))
            return gp_fail(err, ADVGP_EINVAL, "key %zu of the workers that are let in is none: %.40s", i + 1,
                           o->allowed[i]);
    return ADVGP_OK;
}

static advgp_status lead_new(const gp_zmq_listen_options *o, lead **out, advgp_error *err)
{
    lead *l = *out = gp_alloc(1, sizeof *l);
    if (!l) return gp_no_memory(err);
    l->wire.bell = -1;
    l->peers_max = o->peers_max;
    l->report = o->report, l->ctx = o->ctx;
    atomic_store(&l->largest, o->receive_max ? o->receive_max : o->message_max);
    for (size_t i = 0; i < sizeof l->told_of / sizeof *l->told_of; i++) l->told_of[i] = -INFINITY;
    for (l->n_buckets = 16; l->n_buckets < o->peers_max;) l->n_buckets *= 2;
    l->allowed = gp_alloc(o->n_allowed, sizeof *l->allowed);
    l->peers = gp_alloc(o->peers_max + 1, sizeof *l->peers);
    l->gone = gp_alloc(o->peers_max + 1, sizeof *l->gone);
    l->buckets = gp_alloc(l->n_buckets, sizeof *l->buckets);
    if (!l->allowed || !l->peers || !l->gone || !l->buckets) return gp_no_memory(err);
    advgp_status st = gp_zmq_wire_init(&l->wire, &lead_ops, o->receive_max ? o->receive_max : o->message_max, err);
    if (st == ADVGP_OK) st = gp_address_listen(o->address, &l->at, err);
    if (st == ADVGP_OK && !o->keys && !l->at.loopback)
        st = gp_fail(err, ADVGP_EINVAL,
                     "%s is open to other machines, so workers need keys: make them with `advgp keygen DIR` and give "
                     "them with {keys} DIR",
                     l->at.endpoint);
    if (st == ADVGP_OK && o->keys) {
        l->secure = true;
        l->keys = *o->keys;
        st = read_allowed(l, o, err);
    }
    return st;
}

advgp_status gp_zmq_listen(const gp_zmq_listen_options *o, gp_endpoint **out, advgp_error *err)
{
    *out = NULL;
    if (o->peers_max < 1 || o->peers_max > 1 << 20)
        return gp_fail(err, ADVGP_EINVAL, "a lead of %zu workers", o->peers_max);
    lead *l;
    const advgp_status st = lead_new(o, &l, err);
    if (st != ADVGP_OK) {
        if (l) lead_close(&l->wire.base);
        return st;
    }
    const gp_courier_options courier = {.wire = &l->wire.base, .server = true, .message_max = o->message_max};
    return gp_courier_open(&courier, out, err);
}

bool gp_zmq_gone(gp_endpoint *endpoint, size_t number)
{
    const gp_wire *wire = gp_courier_wire(endpoint);
    const lead *l = (const lead *)wire;
    return wire->ops == &lead_ops && number >= 1 && number <= l->peers_max && atomic_load(&l->gone[number]);
}

void gp_zmq_expect(gp_endpoint *endpoint, size_t largest)
{
    lead *l = (lead *)gp_courier_wire(endpoint);
    if (largest < atomic_load(&l->largest)) atomic_store(&l->largest, largest);
}

const char *gp_zmq_address(gp_endpoint *endpoint)
{
    return ((const lead *)gp_courier_wire(endpoint))->bound;
}

gp_zmq_counts gp_zmq_count(gp_endpoint *endpoint)
{
    lead *l = (lead *)gp_courier_wire(endpoint);
    return (gp_zmq_counts){.refused = atomic_load(&l->refused),
                           .mismatched = atomic_load(&l->mismatched),
                           .malformed = atomic_load(&l->malformed),
                           .dropped = atomic_load(&l->dropped),
                           .cut = atomic_load(&l->cut)};
}
