// work.h: a worker's life over an endpoint, until the run is over.
#pragma once
#include "ps/worker.h"
#include "transport/transport.h"

typedef struct gp_worker_life {
    gp_endpoint *endpoint;
    gp_worker_options worker;
    gp_computer computer;
    double delay; // seconds it sleeps before the push of a batch: the slow worker of the delay study
} gp_worker_life;

// Computes and answers until the server says BYE. ECLUSTER: it was refused, and why; else what made it fail, after it
// has told the server.
advgp_status gp_worker_live(const gp_worker_life *life, advgp_error *err);
