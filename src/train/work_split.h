// work_split.h: a worker of several servers, each of which keeps a range of the parameters: it waits for all of them,
// computes once, and pushes to each what is of its range.
#pragma once
#include "ps/rule.h"
#include "train/work.h"

typedef struct gp_split_server {
    gp_endpoint *endpoint; // borrowed; several servers may share one
    size_t peer;           // that it is there
    gp_range range;        // one after the other these are all parameters
} gp_split_server;

typedef struct gp_split_life {
    const gp_split_server *servers;
    size_t n_servers;
    gp_worker_options worker; // of the whole: size and push_size are of all parameters
    gp_computer computer;     // of the whole, too
    const double *delays;
    size_t n_delays;
    double heartbeat, give_up;
    const gp_worker_watch *watch; // its stop ends it, too, when the lead has given the interval up
} gp_split_life;

// Until all servers have said BYE. As gp_worker_live.
advgp_status gp_split_live(const gp_split_life *life, gp_worker_end *end, advgp_error *err);
