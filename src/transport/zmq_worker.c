// zmq_worker.c: the worker's wire: a DEALER that looks for its lead again when that is silent, and knows when it is not
// wanted.
#define _GNU_SOURCE // explicit_bzero
#include "base/alloc.h"
#include "base/clock.h"
#include "transport/lookup.h"
#include "transport/zmq_wire.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REFUSALS = 5, RECONNECT_MS = 100, RECONNECT_MAX_MS = 2000 };
static const double silent = 3, ask_every = 2, ask_first = 0.5; // seconds
// A handshake that fails this late was not refused: nobody answered.
static const double prompt = 4;
// Connections that are closed without a word may also be those of a tunnel whose other end is not there yet.
static const double patience = 10;
static const double connect_again = 0.5;
static const double look_again = 0.02; // whether a name is found
// A connection over which nothing came for so long may be one that the other side has forgotten.
static const double stale = 10;

typedef enum complaint { NONE, REFUSED, OTHER_MECHANISM, NO_WORD } complaint;

typedef struct worker {
    gp_zmq_wire wire;
    gp_zmq_connect_options o;
    gp_zmq_target found;  // as `find` told it
    gp_zmq_target target; // the same with a numeric address
    gp_lookup *lookup;    // of `wanted`, which is being looked up; NULL: nothing is
    gp_zmq_target wanted;
    bool forgotten; // it is to be called again even if it is where it was
    void *dealer, *monitor;
    unsigned n_opened;
    double heard;  // from this target, or since when it is ours
    double asked;  // where the lead is
    double called; // when it was last connected to
    bool answered, connected;
    // Handshakes with this target.
    complaint last;
    unsigned n_failed;
    double failed_since, tried;
    bool counted;       // this connection's failure is counted
    double reopen_when; // ZeroMQ has given up: another socket
} worker;

// ---- connections ----------------------------------------------------------------------------------------------------

static bool set_up(worker *w)
{
    void *d = w->dealer;
    const gp_zmq_target *t = &w->target;
    if (!gp_zmq_set_common(d, w->wire.receive_max, strchr(t->address, '[') != NULL) ||
        !gp_zmq_set(d, ZMQ_RECONNECT_IVL, RECONNECT_MS) || !gp_zmq_set(d, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS))
        return false;
    if (!t->lead_key[0]) return true;
    return gp_zmq_set_key(d, ZMQ_CURVE_SERVERKEY, t->lead_key) &&
           gp_zmq_set_key(d, ZMQ_CURVE_PUBLICKEY, t->keys.public_key) &&
           gp_zmq_set_key(d, ZMQ_CURVE_SECRETKEY, t->keys.secret_key);
}

static void hang_up(worker *w, int linger_ms)
{
    gp_zmq_close(w->dealer, w->monitor, linger_ms);
    w->dealer = w->monitor = NULL;
    w->connected = false;
    w->reopen_when = INFINITY;
}

// Messages wait in the socket until the connection is there (a few; ZMQ_IMMEDIATE stays 0): the first greeting is not
// lost to the milliseconds that connecting takes, and a request that is repeated until it is answered cannot be stale.
static advgp_status call(worker *w, advgp_error *err)
{
    char name[40];
    hang_up(w, 0);
    w->called = gp_clock_wall();
    w->dealer = zmq_socket(w->wire.context, ZMQ_DEALER);
    if (!w->dealer) return gp_zmq_failed("cannot make a socket", err);
    if (!set_up(w))
        return gp_fail(err, ADVGP_EINVAL, "the keys for the lead at %.100s cannot be used: %s", w->target.address,
                       zmq_strerror(zmq_errno()));
    snprintf(name, sizeof name, "inproc://worker-monitor-%u", ++w->n_opened);
    w->monitor = gp_zmq_monitor(w->wire.context, w->dealer, name,
                                ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                                    ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                    ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    if (!w->monitor) return gp_zmq_failed("cannot watch a socket", err);
    if (zmq_connect(w->dealer, w->target.address) != 0)
        return gp_fail(err, ADVGP_EINVAL, "cannot connect to %.100s: %s", w->target.address, zmq_strerror(zmq_errno()));
    return ADVGP_OK;
}

// ---- where the lead is ----------------------------------------------------------------------------------------------

// Its address is known.
static advgp_status turn_to(worker *w, const gp_address *at, advgp_error *err)
{
    gp_zmq_target *t = &w->wanted;
    if (!t->lead_key[0] && !at->loopback)
        return gp_fail(err, ADVGP_EINVAL,
                       "the lead at %s is on another machine, so this worker needs keys: those that `advgp keygen DIR` "
                       "made for the lead, given with {keys} DIR",
                       at->endpoint);
    w->found = *t;
    memset(t->address, 0, sizeof t->address); // names may come to stand for other machines
    memcpy(t->address, at->endpoint, sizeof at->endpoint);
    if (w->dealer && !memcmp(t, &w->target, sizeof *t)) return w->forgotten ? call(w, err) : ADVGP_OK;
    w->target = *t;
    w->heard = gp_clock_wall();
    w->answered = false;
    w->last = NONE, w->n_failed = 0, w->counted = false;
    return call(w, err);
}

// Where no name server answers, this thread has signs of life to give meanwhile.
static advgp_status hear_of_name(worker *w, advgp_error *err)
{
    gp_address at;
    advgp_status st = ADVGP_OK;
    if (!w->lookup || !gp_lookup_ended(w->lookup, &at, &st, err)) return ADVGP_OK;
    gp_lookup_free(w->lookup);
    w->lookup = NULL;
    if (st == ADVGP_ECLUSTER) return ADVGP_OK; // a name that is not known yet
    return st == ADVGP_OK ? turn_to(w, &at, err) : st;
}

static advgp_status look_for_lead(worker *w, advgp_error *err)
{
    bool known = false;
    gp_zmq_target t = {0};
    w->asked = gp_clock_wall();
    if (w->lookup) return ADVGP_OK; // one after the other
    advgp_status st = w->o.find(w->o.ctx, &known, &t, err);
    if (st != ADVGP_OK || !known) return st;
    w->forgotten = w->asked - fmax(w->heard, w->called) > stale;
    if (w->connected && !w->forgotten && !memcmp(&t, &w->found, sizeof t)) return ADVGP_OK;
    w->wanted = t;
    explicit_bzero(&t, sizeof t);
    st = gp_lookup_start(w->wanted.address, &w->lookup, err);
    return st == ADVGP_OK ? hear_of_name(w, err) : st;
}

// When to ask where it is.
static double ask_when(const worker *w)
{
    return w->dealer ? fmax(w->heard + silent, w->asked + ask_every) : w->asked + ask_first;
}

// ---- handshakes -----------------------------------------------------------------------------------------------------

static void note_failure(worker *w, complaint what)
{
    const double now = gp_clock_wall();
    if (w->counted || (what == NO_WORD && now - w->tried > prompt)) return;
    w->counted = true;
    if (what != NO_WORD || w->last == NONE) w->last = what; // either side may be the first to hang up
    if (!w->n_failed++) w->failed_since = now;
    if (what != NO_WORD) w->reopen_when = now + connect_again;
}

static void listen_to_monitor(worker *w)
{
    int event;
    unsigned value;
    while (gp_zmq_monitor_next(w->monitor, &event, &value)) switch (event) {
        case ZMQ_EVENT_CONNECTED:
            w->tried = gp_clock_wall();
            w->counted = false;
            break;
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
            w->connected = true;
            w->n_failed = 0;
            break;
        case ZMQ_EVENT_DISCONNECTED:
            w->connected = false;
            break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
            note_failure(w, REFUSED);
            break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
            note_failure(w, OTHER_MECHANISM);
            break;
        default:
            note_failure(w, NO_WORD);
        }
}

static advgp_status check_connection(const worker *w, advgp_error *err)
{
    const char *at = w->target.address;
    const bool secure = w->target.lead_key[0];
    const char *differs = secure ? "it uses no keys, and the worker does"
                                 : "it asks for a key, and the worker has none";
    if (w->answered || w->n_failed < REFUSALS) return ADVGP_OK;
    if (w->last == NO_WORD && gp_clock_wall() - w->failed_since < patience) return ADVGP_OK;
    if (w->last == REFUSED)
        return gp_fail(err, ADVGP_ECLUSTER,
                       "the lead at %s refuses this worker's key: use the keys that `advgp keygen` made for this run "
                       "({keys} DIR); the lead lets in those whose public key stands in its file `allow`",
                       at);
    if (w->last == OTHER_MECHANISM)
        return gp_fail(err, ADVGP_ECLUSTER,
                       "the lead at %s refuses this worker: %s; start both with the same {keys} DIR, or the same "
                       "{rendezvous} FILE",
                       at, differs);
    // Where the other side is always the first to hang up, its reason is not known.
    return gp_fail(err, ADVGP_ECLUSTER,
                   "what listens at %s ends every connection: %s%s, or it is no lead of advgp; start both with the "
                   "same {keys} DIR that `advgp keygen` made, or the same {rendezvous} FILE",
                   at, differs, secure ? ", or the key expected of it is not its own" : "");
}

// Everything that is not a message.
static advgp_status attend(worker *w, advgp_error *err)
{
    if (w->monitor) listen_to_monitor(w);
    advgp_status st = check_connection(w, err);
    if (st == ADVGP_OK && gp_clock_wall() >= w->reopen_when) st = call(w, err);
    if (st == ADVGP_OK) st = hear_of_name(w, err);
    if (st == ADVGP_OK && gp_clock_wall() >= ask_when(w)) st = look_for_lead(w, err);
    return st;
}

// ---- the wire -------------------------------------------------------------------------------------------------------

static advgp_status worker_send(gp_wire *wire, size_t peer, const void *bytes, size_t n, advgp_error *err)
{
    (void)peer, (void)err;
    worker *w = (worker *)wire;
    const void *from = n ? bytes : "";
    if (w->dealer && zmq_send(w->dealer, from, n, ZMQ_DONTWAIT) < 0 && gp_zmq_catch_up(w->dealer))
        zmq_send(w->dealer, from, n, ZMQ_DONTWAIT); // where it cannot be sent it is lost
    return ADVGP_OK;
}

static bool take(worker *w, const void **bytes, size_t *n)
{
    enum { AT_ONCE = 64 };
    for (int i = 0; w->dealer && i < AT_ONCE; i++) {
        const gp_zmq_body body = gp_zmq_take_body(&w->wire, w->dealer, bytes, n);
        if (body == GP_ZMQ_NOTHING) return false;
        w->heard = gp_clock_wall();
        w->answered = true;
        if (body == GP_ZMQ_GOOD) return true;
    }
    return false;
}

static advgp_status worker_receive(gp_wire *wire, double seconds, size_t *peer, const void **bytes, size_t *n,
                                   advgp_error *err)
{
    worker *w = (worker *)wire;
    const double until = gp_clock_wall() + seconds;
    *peer = 0;
    for (;;) {
        if (take(w, bytes, n)) return ADVGP_OK;
        *bytes = NULL, *n = 0;
        const advgp_status st = attend(w, err);
        if (st != ADVGP_OK) return st;
        double wake = fmin(fmin(until, ask_when(w)), w->reopen_when);
        if (w->lookup) wake = fmin(wake, gp_clock_wall() + look_again);
        zmq_pollitem_t items[] = {{.fd = w->wire.bell, .events = ZMQ_POLLIN},
                                  {.socket = w->dealer, .events = ZMQ_POLLIN},
                                  {.socket = w->monitor, .events = ZMQ_POLLIN}};
        const int came = zmq_poll(items, w->dealer ? 3 : 1, gp_zmq_milliseconds(wake - gp_clock_wall()));
        if (came < 0) return zmq_errno() == EINTR ? ADVGP_OK : gp_zmq_failed("waiting for the lead failed", err);
        if (items[0].revents) {
            gp_zmq_poked(&w->wire);
            return ADVGP_OK;
        }
        if (!came && gp_clock_wall() >= until) return ADVGP_OK;
    }
}

static advgp_status worker_open(gp_wire *wire, advgp_error *err)
{
    worker *w = (worker *)wire;
    const advgp_status st = gp_zmq_wire_context(&w->wire, 1, err);
    return st == ADVGP_OK ? look_for_lead(w, err) : st;
}

static void worker_close(gp_wire *wire)
{
    worker *w = (worker *)wire;
    if (w->monitor) listen_to_monitor(w);
    hang_up(w, w->connected ? GP_ZMQ_LINGER_MS : 0);
    gp_zmq_wire_fini(&w->wire);
    gp_lookup_free(w->lookup);
    explicit_bzero(&w->target, sizeof w->target), explicit_bzero(&w->found, sizeof w->found);
    explicit_bzero(&w->wanted, sizeof w->wanted);
    if (w->o.done) w->o.done(w->o.ctx);
    gp_free(w);
}

static const gp_wire_ops worker_ops = {.transport = &gp_transport_zmq,
                                       .open = worker_open,
                                       .send = worker_send,
                                       .receive = worker_receive,
                                       .poke = gp_zmq_poke,
                                       .close = worker_close};

advgp_status gp_zmq_connect(const gp_zmq_connect_options *o, gp_endpoint **out, advgp_error *err)
{
    *out = NULL;
    worker *w = gp_alloc(1, sizeof *w);
    if (!w) {
        if (o->done) o->done(o->ctx);
        return gp_no_memory(err);
    }
    w->o = *o;
    w->reopen_when = INFINITY;
    const advgp_status st = gp_zmq_wire_init(&w->wire, &worker_ops, o->receive_max ? o->receive_max : o->message_max,
                                             err);
    if (st != ADVGP_OK) {
        worker_close(&w->wire.base);
        return st;
    }
    const gp_courier_options courier = {.wire = &w->wire.base, .message_max = o->message_max};
    return gp_courier_open(&courier, out, err);
}
