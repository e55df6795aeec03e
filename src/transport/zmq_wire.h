// zmq_wire.h: what lead and worker share: a context, a bell for other threads, the message that was received last, and
// the options of every socket. For the files of this transport alone.
#pragma once
#include "transport/courier.h"
#include "transport/zmq.h"

#include <stdatomic.h>
#include <zmq.h>

// What was sent has this long to go when an endpoint is closed.
enum { GP_ZMQ_LINGER_MS = 1000 };

typedef struct gp_zmq_wire {
    gp_wire base;
    size_t receive_max;
    void *context;
    int bell; // an eventfd
    atomic_bool rung;
    bool holds;
    zmq_msg_t held;
} gp_zmq_wire;

advgp_status gp_zmq_wire_init(gp_zmq_wire *wire, const gp_wire_ops *ops, size_t receive_max, advgp_error *err);
advgp_status gp_zmq_wire_context(gp_zmq_wire *wire, int io_threads, advgp_error *err);
void gp_zmq_wire_fini(gp_zmq_wire *wire); // its sockets are closed already; waits for what lingers

bool gp_zmq_gone(gp_endpoint *endpoint, size_t peer); // as gp_transport has it

// Descriptors that this process may have; at least so many, as far as it may.
size_t gp_zmq_descriptors(void);
void gp_zmq_raise_descriptors(size_t wanted);

void gp_zmq_poke(gp_wire *wire);
// After a send that failed: true if it is worth a second try.
bool gp_zmq_catch_up(void *socket);
void gp_zmq_poked(gp_zmq_wire *wire); // the bell was heard

// Receives what follows (the rest of) a message, without waiting. GOOD: *bytes are the wire's until it releases them.
typedef enum gp_zmq_body { GP_ZMQ_NOTHING, GP_ZMQ_GOOD, GP_ZMQ_STRANGE } gp_zmq_body;
gp_zmq_body gp_zmq_take_body(gp_zmq_wire *wire, void *socket, const void **bytes, size_t *n);
void gp_zmq_release(gp_zmq_wire *wire);
int gp_zmq_descriptor_of(const gp_zmq_wire *wire); // by which the last message came; -1: not known

advgp_status gp_zmq_failed(const char *what, advgp_error *err); // EIO with ZeroMQ's reason
bool gp_zmq_set(void *socket, int option, int value);
bool gp_zmq_set_common(void *socket, size_t receive_max, bool ipv6);
bool gp_zmq_set_key(void *socket, int option, const char *key);
int gp_zmq_milliseconds(double seconds); // rounded up, so that waiting does not become spinning

// What happens to the connections of a socket. `name` is one of the context's; NULL where it cannot be had.
void *gp_zmq_monitor(void *context, void *socket, const char *name, int events);
bool gp_zmq_monitor_next(void *monitor, int *event, unsigned *value);
void gp_zmq_close(void *socket, void *monitor, int linger_ms); // NULL is fine
