// work_split.h: a worker of several servers, each of which keeps a range of the parameters: it waits for all of them,
// computes once, and pushes to each what is of its range.
#pragma once
#include "ps/rule.h"
#include "run/work.h"

typedef struct gp_split_server {
    gp_endpoint *endpoint; // borrowed; several servers may share one
    size_t peer;           // that it is there
    gp_range range;        // one after the other these are all parameters
} gp_split_server;

typedef struct gp_split_life {
    gp_worker_life life; // of the whole: sizes and computer are of all parameters, the endpoint is the lead's. The
                         // watch's stop ends it, too, when the lead has given the interval up
    const gp_split_server *servers;
    size_t n_servers;
    // What the lead says by an endpoint that it shares with servers, to whom the watch is; may be NULL.
    void (*control)(void *ctx, const gp_message *message);
} gp_split_life;

// Until all servers have said BYE. As gp_worker_live.
advgp_status gp_split_live(const gp_split_life *life, gp_worker_end *end, advgp_error *err);
