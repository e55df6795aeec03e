// work.h: the life of a worker that is a thread beside its server, until the run is over. One in a process of its own
// is a follower (cluster/follower.h).
#pragma once
#include "ps/worker.h"
#include "transport/transport.h"

typedef struct gp_worker_loop_options {
    gp_endpoint *endpoint;
    gp_worker_options worker;
    gp_computer computer;
    const double *delays; // [n_delays]: seconds that worker k sleeps before the push of a batch, for the delay study
    size_t n_delays;
} gp_worker_loop_options;

// Computes and answers until the server says BYE. ECLUSTER: it was refused; else what made it fail, after it has told
// the server.
advgp_status gp_worker_loop(const gp_worker_loop_options *life, advgp_error *err);
