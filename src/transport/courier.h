// courier.h: an endpoint that reaches other processes. A thread of its own owns the wire (a socket, MPI): it takes what
// the owner sends, keeps what comes until the owner receives it, and gives signs of life whatever the owner is doing.
#pragma once
#include "transport/transport.h"

typedef struct gp_wire gp_wire;

// What a transport to other processes has to provide. The courier's thread alone calls these, except for poke, and for
// close where no thread could be started: a wire that was not opened, or failed to, is closed like any other.
typedef struct gp_wire_ops {
    const gp_transport *transport;
    // Binds, connects, initialises: whatever must happen in the thread that will use it. May fail; close follows.
    advgp_status (*open)(gp_wire *wire, advgp_error *err);
    // Never blocks and copies the bytes. What cannot be sent now is lost. A failure ends the endpoint.
    advgp_status (*send)(gp_wire *wire, size_t peer, const void *bytes, size_t n, advgp_error *err);
    // Waits at most `seconds` (0: not at all) for a message, or until somebody pokes. *bytes NULL: nothing came. They
    // are the wire's until its next call. A failure ends the endpoint.
    advgp_status (*receive)(gp_wire *wire, double seconds, size_t *peer, const void **bytes, size_t *n,
                            advgp_error *err);
    void (*poke)(gp_wire *wire);  // from any thread, until close: ends a receive that waits, or the next one
    void (*close)(gp_wire *wire); // gives what was sent a moment to go, and frees the wire
} gp_wire_ops;

struct gp_wire {
    const gp_wire_ops *ops;
};

typedef struct gp_courier_options {
    gp_wire *wire;      // taken, whatever happens
    bool server;        // its peers are 1, 2, .. as the wire numbers them; else its only peer is 0
    size_t message_max; // bytes of the largest message that is sent
    // For a wire whose close may never end: asked now and then meanwhile; true: the thread is left behind, with all
    // that is its own, and the process should end soon. May be NULL.
    bool (*hopeless)(void);
} gp_courier_options;

// Comes back when the wire is open. A peer is known once something came from it.
advgp_status gp_courier_open(const gp_courier_options *options, gp_endpoint **out, advgp_error *err);

// The table entries of a transport that is carried by couriers.
advgp_status gp_courier_send(gp_endpoint *endpoint, size_t peer, const void *bytes, size_t n, advgp_error *err);
advgp_status gp_courier_receive(gp_endpoint *endpoint, double seconds, size_t *peer, const void **bytes, size_t *n,
                                advgp_error *err);
advgp_status gp_courier_beat(gp_endpoint *endpoint, double seconds, const void *bytes, size_t n, advgp_error *err);
void gp_courier_wake(gp_endpoint *endpoint);
void gp_courier_close(gp_endpoint *endpoint);
// For a wire that learns in open which side it is on, and who else there is; before the endpoint is used.
void gp_courier_be_server(gp_endpoint *endpoint);
advgp_status gp_courier_know(gp_endpoint *endpoint, size_t n_peers, advgp_error *err); // it may send to all of them
gp_wire *gp_courier_wire(gp_endpoint *endpoint); // to look at what open left in it; there until the endpoint is closed
