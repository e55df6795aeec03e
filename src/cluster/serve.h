// serve.h: a range of the parameters, kept by a process of its own for a lead (run_split.c): from its portion it makes
// versions with the workers that come to it, up to the one it was told, and gives the portion back.
#pragma once
#include "cluster/cluster.h"
#include "cluster/portion.h"

typedef struct gp_serve_options {
    gp_cluster *cluster; // by which its workers reach it
    const gp_job *job;   // a service
    const gp_shards *shards;
    uint64_t run[2];      // what its workers call it
    const double *values; // [n_values] of the portion, beside the job's text
    size_t n_values;
    int (*stop)(void *ctx); // non-zero: it is given up, ESTOPPED
    void *ctx;
} gp_serve_options;

// *result is to be ended in any case.
advgp_status gp_serve(const gp_serve_options *options, gp_portion *result, advgp_error *err);
