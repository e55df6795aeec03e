// simcosts.h: what a training's parts cost on this machine, measured in a second or two: the figures of a simulation.
#pragma once
#include "ps/rule.h"
#include "shards/shards.h"

// Seconds of one core.
typedef struct gp_sim_costs {
    double push, row;     // a worker's: for a push, and for every row in it
    double message, byte; // the server's: for a message, and for every byte of it, either way
    double step, sum;     // the server's: for a version, and for every push in its sum
} gp_sim_costs;

// At these parameters, with rows of these shards. Messages are encoded, checked and copied as in a run; the costs of a
// socket are not among them. The smallest of several measurements: a busy machine makes them longer, never shorter.
advgp_status gp_sim_measure(const gp_shards *shards, const gp_feature_spec *spec, const double *theta,
                            const gp_rule_ops *rule, gp_sim_costs *costs, advgp_error *err);
