// zmq_wire.c: the parts of a wire that lead and worker have in common.
#define _GNU_SOURCE // F_DUPFD_CLOEXEC
#include "transport/zmq_wire.h"
#include "base/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

// A peer has one request or answer under way, and signs of life; more would only be older.
enum { WATER_MARK = 4, HANDSHAKE_MS = 5000, UNANSWERED_MS = 10000, ENVELOPE = 256 };
// That an endpoint takes: the context, its threads, sockets, monitors, and what a connection that is made anew takes
// for a moment.
enum { DESCRIPTORS = 32, DESCRIPTORS_FEW = 256 };

advgp_status gp_zmq_failed(const char *what, advgp_error *err)
{
    return gp_fail(err, ADVGP_EIO, "%s: %s", what, zmq_strerror(zmq_errno()));
}

// ---- the wire -------------------------------------------------------------------------------------------------------

advgp_status gp_zmq_wire_init(gp_zmq_wire *w, const gp_wire_ops *ops, size_t receive_max, advgp_error *err)
{
    w->base.ops = ops;
    w->receive_max = receive_max;
    w->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return w->bell >= 0 ? ADVGP_OK
                        : gp_fail(err, ADVGP_EIO,
                                  "cannot make a descriptor for an endpoint: %s; raise the limit of open files with "
                                  "`ulimit -n 1024`",
                                  strerror(errno));
}

void gp_zmq_raise_descriptors(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

size_t gp_zmq_descriptors(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < SIZE_MAX ? (size_t)limit.rlim_cur : SIZE_MAX;
}

// Where ZeroMQ finds no descriptor for itself it ends the process: so they are tried before.
static advgp_status try_descriptors(const gp_zmq_wire *w, advgp_error *err)
{
    int got[DESCRIPTORS], n = 0;
    gp_zmq_raise_descriptors(DESCRIPTORS_FEW);
    while (n < DESCRIPTORS && (got[n] = fcntl(w->bell, F_DUPFD_CLOEXEC, 0)) >= 0) n++;
    const int why = errno;
    for (int i = 0; i < n; i++) close(got[i]);
    if (n == DESCRIPTORS) return ADVGP_OK;
    return gp_fail(err, ADVGP_EIO,
                   "a connection to other processes takes %d file descriptors and %d are free (%s): this process may "
                   "have %zu at a time, raise that with `ulimit -n 1024`",
                   DESCRIPTORS, n, strerror(why), gp_zmq_descriptors());
}

advgp_status gp_zmq_wire_context(gp_zmq_wire *w, int io_threads, advgp_error *err)
{
    const advgp_status st = try_descriptors(w, err);
    if (st != ADVGP_OK) return st;
    w->context = zmq_ctx_new();
    if (!w->context || zmq_ctx_set(w->context, ZMQ_IO_THREADS, io_threads) != 0)
        return gp_zmq_failed("cannot start ZeroMQ", err);
    return ADVGP_OK;
}

void gp_zmq_wire_fini(gp_zmq_wire *w)
{
    gp_zmq_release(w);
    if (w->context)
        while (zmq_ctx_term(w->context) != 0 && zmq_errno() == EINTR) continue;
    if (w->bell >= 0) close(w->bell);
}

void gp_zmq_poke(gp_wire *wire)
{
    gp_zmq_wire *w = (gp_zmq_wire *)wire;
    const uint64_t one = 1;
    if (atomic_exchange(&w->rung, true)) return;
    while (write(w->bell, &one, sizeof one) < 0 && errno == EINTR) continue;
}

// The flag last: who pokes after this rings again.
void gp_zmq_poked(gp_zmq_wire *w)
{
    uint64_t times;
    while (read(w->bell, &times, sizeof times) < 0 && errno == EINTR) continue;
    atomic_store(&w->rung, false);
}

// ZeroMQ looks only every millisecond or so at what its own thread has done with messages, and until then takes them
// for waiting: with a low mark a few quick ones seem to be too many. Asking for events makes it look now.
bool gp_zmq_catch_up(void *socket)
{
    int events;
    size_t n = sizeof events;
    return zmq_errno() == EAGAIN && zmq_getsockopt(socket, ZMQ_EVENTS, &events, &n) == 0;
}

// ---- messages -------------------------------------------------------------------------------------------------------

void gp_zmq_release(gp_zmq_wire *w)
{
    if (w->holds) zmq_msg_close(&w->held);
    w->holds = false;
}

gp_zmq_body gp_zmq_take_body(gp_zmq_wire *w, void *socket, const void **bytes, size_t *n)
{
    size_t parts = 0;
    gp_zmq_release(w);
    do {
        gp_zmq_release(w);
        zmq_msg_init(&w->held);
        w->holds = true;
        if (zmq_msg_recv(&w->held, socket, ZMQ_DONTWAIT) < 0) {
            gp_zmq_release(w);
            return parts ? GP_ZMQ_STRANGE : GP_ZMQ_NOTHING;
        }
        parts++;
    } while (zmq_msg_more(&w->held));
    *n = zmq_msg_size(&w->held);
    *bytes = parts == 1 && *n <= w->receive_max ? zmq_msg_data(&w->held) : NULL;
    return *bytes ? GP_ZMQ_GOOD : GP_ZMQ_STRANGE;
}

int gp_zmq_descriptor_of(const gp_zmq_wire *w)
{
    return w->holds ? zmq_msg_get(&w->held, ZMQ_SRCFD) : -1;
}

// ---- sockets --------------------------------------------------------------------------------------------------------

bool gp_zmq_set(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

bool gp_zmq_set_key(void *socket, int option, const char *key)
{
    return zmq_setsockopt(socket, option, key, GP_ZMQ_KEY) == 0;
}

bool gp_zmq_set_common(void *socket, size_t receive_max, bool ipv6)
{
    static const struct {
        int option, value;
    } common[] = {
        {ZMQ_SNDHWM, WATER_MARK},
        {ZMQ_RCVHWM, WATER_MARK},
        {ZMQ_LINGER, 0},
        {ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS},
        // Only to get rid of dead connections: who is alive is decided elsewhere. ZeroMQ's own heartbeats are no
        // choice: their timer writes without asking whether the connection still stands, and where it broke while
        // messages waited to be read (the process was stopped, the machine asleep) that is an assertion, which ends the
        // process (4.3.4, stream_engine_base.cpp, out_event; libzmq 4841).
        {ZMQ_TCP_MAXRT, UNANSWERED_MS}, // what was sent is not acknowledged: signs of life are always under way
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_TCP_KEEPALIVE_IDLE, 30},
        {ZMQ_TCP_KEEPALIVE_INTVL, 10},
        {ZMQ_TCP_KEEPALIVE_CNT, 3},
    };
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (!gp_zmq_set(socket, common[i].option, common[i].value)) return false;
    // What encryption adds is counted as well.
    const int64_t largest = receive_max < INT64_MAX / 2 ? (int64_t)receive_max + ENVELOPE : INT64_MAX / 2;
    return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest) == 0 &&
           (!ipv6 || gp_zmq_set(socket, ZMQ_IPV6, 1));
}

int gp_zmq_milliseconds(double seconds)
{
    return (int)gp_whole(ceil(1000 * seconds), 0, 86400000);
}

// ---- monitors -------------------------------------------------------------------------------------------------------

void *gp_zmq_monitor(void *context, void *socket, const char *name, int events)
{
    if (zmq_socket_monitor(socket, name, events) != 0) return NULL;
    void *monitor = zmq_socket(context, ZMQ_PAIR);
    if (!monitor) return NULL;
    if (gp_zmq_set(monitor, ZMQ_LINGER, 0) && zmq_connect(monitor, name) == 0) return monitor;
    zmq_close(monitor);
    return NULL;
}

// An event is two frames: 16 bits of its kind and 32 of a value, then the address.
bool gp_zmq_monitor_next(void *monitor, int *event, unsigned *value)
{
    unsigned char head[6], address[8];
    uint16_t kind;
    uint32_t number;
    for (;;) {
        const int n = zmq_recv(monitor, head, sizeof head, ZMQ_DONTWAIT);
        if (n < 0) return false;
        int more = 0;
        size_t size = sizeof more;
        while (zmq_getsockopt(monitor, ZMQ_RCVMORE, &more, &size) == 0 && more)
            if (zmq_recv(monitor, address, sizeof address, ZMQ_DONTWAIT) < 0) break;
        if (n == sizeof head) break;
    }
    memcpy(&kind, head, sizeof kind);
    memcpy(&number, head + sizeof kind, sizeof number);
    *event = kind, *value = number;
    return true;
}

// The last event of a monitor is that it stops, and ZeroMQ waits until there is room for it: so there must be.
void gp_zmq_close(void *socket, void *monitor, int linger_ms)
{
    int event;
    unsigned value;
    if (monitor)
        while (gp_zmq_monitor_next(monitor, &event, &value)) continue;
    if (socket) {
        zmq_socket_monitor(socket, NULL, 0);
        gp_zmq_set(socket, ZMQ_LINGER, linger_ms);
    }
    if (monitor) zmq_close(monitor);
    if (socket) zmq_close(socket);
}
