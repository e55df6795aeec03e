// cluster_state.h: what the lead's cluster (cluster.c) and the runs over it (run_cluster.c) share, and nobody else
// includes.
#pragma once
#include "cluster/cluster.h"
#include "run/send.h"

static const double gp_cluster_turn_seconds = 0.25;

struct gp_cluster {
    gp_cluster_options o;
    gp_lead *lead;
    const char *data;
    uint64_t fingerprint;
    gp_sender sender;
    size_t handled; // messages since silence was last looked at
    double looked;  // when that was
};

advgp_status gp_cluster_send_all(gp_cluster *cluster, advgp_error *err); // what the lead has to say by now
