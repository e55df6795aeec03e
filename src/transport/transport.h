// transport.h: how messages travel. One transport a file, one table; server and workers do not know which it is.
// An endpoint is one party: the server's, or a worker's (whose only peer is the server, peer 0).
//
// Contract. send copies the bytes and never blocks; what cannot be delivered is lost without an error, as on any
// network: who needs an answer asks again (ps/worker.h). Between two endpoints messages arrive in order where the
// transport says `ordered`. receive waits at most `seconds` (0: not at all) without using the CPU and gives bytes that
// are the endpoint's until its next receive; NULL means the time is over or somebody called wake. One thread uses an
// endpoint at a time, except for wake, which any thread may call. Closing an endpoint while others still send to it is
// fine.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gp_endpoint gp_endpoint;

// One of several processes that their launcher has started together. Rank 0 is the server.
typedef struct gp_ranks {
    size_t rank, size;
    char host[256]; // this process's; the others' are known to themselves
} gp_ranks;

typedef struct gp_transport {
    const char *name;    // what users type: --transport inproc
    const char *summary; // for help and `advgp info`
    bool ordered;
    bool simulated;               // time is its own: for tests and `advgp simulate`, nothing to choose for a run
    bool available;               // this build has it; else there is nothing to call, and
    const char *how;              // says how to get it; also of a library that is loaded when it is needed
    const char *(*version)(void); // of the library it stands on, NULL where that is not here. NULL: on none
    advgp_status (*send)(gp_endpoint *endpoint, size_t peer, const void *bytes, size_t n, advgp_error *err);
    // *bytes is aligned to 8.
    advgp_status (*receive)(gp_endpoint *endpoint, double seconds, size_t *peer, const void **bytes, size_t *n,
                            advgp_error *err);
    void (*wake)(gp_endpoint *endpoint);
    // From now on these bytes (copied; n 0: none) go to every peer that was heard of in the last minute, at once and
    // every `seconds`, whatever the owner is doing: a sign of life. NULL: peers are in this process and need none.
    advgp_status (*beat)(gp_endpoint *endpoint, double seconds, const void *bytes, size_t n, advgp_error *err);
    void (*lost)(gp_endpoint *endpoint, size_t peer); // its owner holds that peer for dead; NULL: no matter
    bool (*gone)(gp_endpoint *endpoint, size_t peer); // its connection has ended; NULL: that cannot be known
    void (*close)(gp_endpoint *endpoint);             // NULL is fine
    // Where the launcher settles who is there, and nobody can join later: joins the others, and says who this one is.
    // One endpoint reaches them all; `among`: not only the server. NULL: processes come and go, and are found by
    // address.
    advgp_status (*enter)(size_t message_max, bool among, gp_endpoint **out, gp_ranks *place, advgp_error *err);
    // After close: a peer was lost that the end of the process would wait for; it has to be _exit. NULL: never.
    bool (*must_exit_hard)(void);
} gp_transport;

struct gp_endpoint {
    const gp_transport *transport;
};

extern const gp_transport gp_transport_inproc, gp_transport_zmq, gp_transport_mpi, gp_transport_sim;
extern const gp_transport *const gp_transports[]; // ends with NULL; the order users see
const gp_transport *gp_transport_named(const char *name);
bool gp_transport_must_exit_hard(void); // asked of all of them, as the last statement of main

// ---- inproc: a server and n workers in one process ------------------------------------------------------------------
// endpoints[0] is the server's, whose peers are 1 .. n; endpoints[k] is worker k's. message_max: bytes of the largest
// message. The hub lives until its last endpoint is closed.
advgp_status gp_inproc_open(size_t n_workers, size_t message_max, gp_endpoint **endpoints, advgp_error *err);
