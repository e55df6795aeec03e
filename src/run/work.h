// work.h: the life of a worker in the process of its server, until the run is over: on a thread of its own, or turn by
// turn on one that has other things to do as well. One in a process of its own is a follower (cluster/follower.h).
#pragma once
#include "ps/worker.h"
#include "transport/transport.h"

typedef struct gp_worker_life_options {
    gp_endpoint *endpoint;
    gp_worker_options worker;
    gp_computer computer;
    const double *delays; // [n_delays]: seconds that worker k sleeps before the push of a batch, for the delay study
    size_t n_delays;
} gp_worker_life_options;

// Computes and answers until the server says BYE. ECLUSTER: it was refused; else what made it fail, after it has told
// the server.
advgp_status gp_worker_live(const gp_worker_life_options *o, advgp_error *err);

// The same in turns. What it was made for outlives it.
typedef struct gp_worker_life gp_worker_life;
advgp_status gp_worker_life_new(const gp_worker_life_options *o, gp_worker_life **out, advgp_error *err);
void gp_worker_life_free(gp_worker_life *l);
bool gp_worker_life_is_over(const gp_worker_life *l);
// Hears at most one message, waiting for it for up to `patience` seconds where there is nothing to compute, computes
// what there is, and sends it.
advgp_status gp_worker_life_turn(gp_worker_life *l, double patience, advgp_error *err);
// After a turn that failed: tells the server why.
void gp_worker_life_leave(gp_worker_life *l, const advgp_error *why);
