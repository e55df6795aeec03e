// sim.h: a network in virtual time, from one seed: latency, bandwidth, jitter, loss, duplication, reordering, cuts. Its
// endpoints keep the contract of transport.h in one thread; receive moves the clock as far as it must.
#pragma once
#include "transport/transport.h"

#include <stdint.h>

typedef struct gp_net gp_net;

// How one endpoint is joined to the rest. A worker's link counts for both of its directions; of the server's only the
// bandwidth does: all its messages share it, in and out separately.
typedef struct gp_link {
    double latency;     // seconds
    double jitter;      // and up to this much more; messages wait for each other and stay in order
    double bandwidth;   // bytes a second; 0: without limit
    double loss;        // share of messages that are lost,
    double duplication; // that arrive twice, the second one late,
    double reorder;     // that are late by up to 10 latencies and jitters and let others pass
} gp_link;

// endpoints as in gp_inproc_open. The network lives until the last endpoint is closed.
advgp_status gp_sim_open(size_t n_workers, size_t message_max, uint64_t seed, gp_endpoint **endpoints,
                         advgp_error *err);
gp_net *gp_sim_net(gp_endpoint *endpoint);

void gp_net_set_link(gp_net *net, size_t endpoint, gp_link link);
double gp_net_now(const gp_net *net);
double gp_net_next(const gp_net *net);         // when the next message arrives; INFINITY: none is under way
void gp_net_advance(gp_net *net, double time); // whatever arrives until then is delivered; not backwards
size_t
gp_net_step(gp_net *net); // delivers the next message, which there must be, and says to whom; moves the clock to it
bool gp_net_has(const gp_net *net, size_t endpoint); // a message was delivered there and not received
// Receives only what was delivered: nothing else arrives by this, at nobody's. False: there is nothing.
bool gp_net_take(gp_endpoint *endpoint, size_t *peer, const void **bytes, size_t *n);

// As send, but leaving at `departure` (now or later) and taking the time that `wire_bytes` take.
advgp_status gp_net_send(gp_endpoint *endpoint, size_t peer, const void *bytes, size_t n, double departure,
                         double wire_bytes, advgp_error *err);

// Cut off: what is under way from or to it is lost, and whatever is sent until it is joined again.
void gp_net_cut(gp_net *net, size_t endpoint, bool cut);
// What has arrived there and was not received is thrown away: its reader died. What it sent travels on, and what its
// successor sends may overtake it.
void gp_net_clear(gp_net *net, size_t endpoint);

typedef struct gp_net_counts {
    uint64_t sent, lost, duplicated, reordered, overflowed;
    double bytes_up, bytes_down; // to and from the server, as wire_bytes
} gp_net_counts;
gp_net_counts gp_net_count(const gp_net *net);
