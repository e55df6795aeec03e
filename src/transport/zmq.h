// zmq.h: workers in other processes and on other machines, over ZeroMQ: a lead that listens (ROUTER) and workers that
// connect to it (DEALER), encrypted and authenticated by CURVE keys unless everything stays on this machine. Endpoints
// are those of transport.h.
//
// What may break: a connection (both sides mend it), a worker (its messages just stop), the lead (workers ask `find`
// where the next one is). Bytes that are no message, connections that say nothing, wrong keys and messages that are too
// long harm nobody but their sender.
#pragma once
#include "transport/transport.h"

#include <stdint.h>

enum { GP_ZMQ_KEY = 41 }; // a key as text: 40 letters of Z85 and a zero

typedef struct gp_zmq_identity {
    char public_key[GP_ZMQ_KEY], secret_key[GP_ZMQ_KEY];
} gp_zmq_identity;

// ---- the lead -------------------------------------------------------------------------------------------------------

typedef struct gp_zmq_listen_options {
    const char *address;         // as gp_address_listen takes it
    const gp_zmq_identity *keys; // NULL: plain, which is refused unless the address is loopback
    char (*allowed)[GP_ZMQ_KEY]; // public keys of workers, read only; nobody else is let in
    size_t n_allowed;
    size_t message_max; // bytes of the largest message that is sent
    size_t receive_max; // and that is taken; 0: the same. Whoever sends a larger one is disconnected
    size_t peers_max;   // workers at a time
    void (*report)(void *ctx, const char *text); // what people should know; in the courier's thread; may be NULL
    void *ctx;
} gp_zmq_listen_options;

// Peers are numbered 1, 2, .. peers_max as they are first heard; a connection is a peer. The number of one that is gone
// goes to another only where there is none left; where all are in use, that is said. A connection that brings more than
// receive_max (and what is under way) without a whole message is ended, and so are those that have said nothing where
// there are more than descriptors.
advgp_status gp_zmq_listen(const gp_zmq_listen_options *options, gp_endpoint **out, advgp_error *err);

// No message that comes has more bytes than this, as is known now: less is waited for where one has no end.
void gp_zmq_expect(gp_endpoint *lead, size_t largest);

const char *gp_zmq_address(gp_endpoint *lead); // where it is bound, with its port: "tcp://127.0.0.1:40123"

// What the lead turned away since it was opened. From any thread.
typedef struct gp_zmq_counts {
    uint64_t refused;    // handshakes: the worker's key is not on the list
    uint64_t mismatched; // handshakes: one side has keys and the other none, or the worker expects another lead's
    uint64_t malformed;  // connections that did not speak ZeroMQ, or said nothing
    uint64_t dropped;    // messages: of strange form, or of more peers than peers_max
    uint64_t cut;        // connections: with a message of parts without end, or too many that have said nothing
} gp_zmq_counts;
gp_zmq_counts gp_zmq_count(gp_endpoint *lead);

// ---- a worker -------------------------------------------------------------------------------------------------------

// Where the lead is now. Compared as a whole: zero it first.
typedef struct gp_zmq_target {
    char address[320];         // as gp_address_connect takes it
    char lead_key[GP_ZMQ_KEY]; // its public key; empty: plain, which is refused unless the address is loopback
    gp_zmq_identity keys;      // the worker's own
} gp_zmq_target;

typedef struct gp_zmq_connect_options {
    // Asked in the courier's thread, at opening and then whenever the lead has been silent for 3 seconds, every 2
    // seconds. *known false: it cannot tell yet, and is asked again. Another target than before: the worker turns to
    // it. The same name is looked up again where the connection is lost or has been silent for 10 seconds. A failure
    // ends the endpoint.
    advgp_status (*find)(void *ctx, bool *known, gp_zmq_target *out, advgp_error *err);
    void (*done)(void *ctx); // it will not be asked again: the endpoint is closed, or was not opened; may be NULL
    void *ctx;
    size_t message_max; // bytes of the largest message that is sent
    size_t receive_max; // and that is taken; 0: the same
} gp_zmq_connect_options;

// Comes back at once, whether or not there is a lead. receive fails with ECLUSTER when a lead that never said anything
// has refused five handshakes.
advgp_status gp_zmq_connect(const gp_zmq_connect_options *options, gp_endpoint **out, advgp_error *err);

// ---- keys -----------------------------------------------------------------------------------------------------------

advgp_status gp_zmq_keypair(gp_zmq_identity *out, advgp_error *err);
advgp_status gp_zmq_public_of(const char *secret_key, char public_key[GP_ZMQ_KEY], advgp_error *err);
