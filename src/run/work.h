// work.h: a worker's life over an endpoint, until the run is over.
#pragma once
#include "ps/worker.h"
#include "transport/transport.h"

// For a worker in a process of its own: what it is asked and what it tells.
typedef struct gp_worker_watch {
    void *ctx;
    int (*stop)(void *ctx); // non-zero: it leaves
    // While it waits, now and then: seconds since the last word from the server, and since it has had nothing to do.
    void (*waits)(void *ctx, double silent, double idle);
    void (*welcome)(void *ctx, uint32_t worker, uint32_t incarnation); // it has a place
} gp_worker_watch;

typedef struct gp_worker_life {
    gp_endpoint *endpoint;
    gp_worker_options worker;
    gp_computer computer;
    const double *delays; // [n_delays]: seconds that worker k sleeps before the push of a batch, for the delay study
    size_t n_delays;
    // All zero for a thread beside its server:
    double heartbeat;             // seconds between two signs of life by the endpoint; 0: none
    double give_up;               // seconds without a word from the server; 0: never
    const gp_worker_watch *watch; // NULL: none
} gp_worker_life;

typedef struct gp_worker_end {
    gp_refusal refused; // why, where it was
    uint64_t pushes, resends;
} gp_worker_end;

// Computes and answers until the server says BYE. ECLUSTER: it was refused, or the server is silent; ESTOPPED: the
// watch said so; else what made it fail, after it has told the server. end may be NULL.
advgp_status gp_worker_live(const gp_worker_life *life, gp_worker_end *end, advgp_error *err);

// Between two things to do, for whoever drives workers: is it wanted to go on (ESTOPPED: no), and was the server heard
// lately enough (ECLUSTER: no)? The watch hears of the wait; idle_since negative: there is work.
advgp_status gp_worker_look_around(const gp_worker_life *life, double heard, double idle_since, advgp_error *err);
// A farewell that tells the lead what went wrong, unless somebody asked for it: it is the lead whom people look at.
void gp_worker_say_why(gp_message *bye, advgp_status status, const advgp_error *err);
