// checkpoint.h: the whole state of a run as a tensor file: going on from it gives the same bits as not having stopped.
#pragma once
#include "ps/server.h"

typedef struct gp_run_state {
    size_t since_best; // evaluations without gain
    double best;       // held-out MNLP
    bool undecided;    // stopped while pilots ran: components and inducing inputs are not settled
    size_t components, inducing;
    size_t evaluated_version; // the last that was evaluated
    bool evaluating;          // its evaluation was under way
    // What the rows and the schedule must be for the state to mean anything:
    size_t batch, steps, n_rows, workers;
    size_t every; // versions from one evaluation to the next; it follows from steps, and no file has it
    uint64_t seed;
    uint64_t data;     // a hash of schema and scales
    uint64_t settings; // a hash of kernel, map, trend, first step, patience, rule, delay, quorum, filter and precision
} gp_run_state;

// The version that is evaluated after version `evaluated`. The server is not allowed beyond it before.
size_t gp_run_next_eval(const gp_run_state *state, size_t evaluated);

// What a checkpoint holds beside the counts: borrowed. A server that goes on has nobody in it yet.
typedef struct gp_run_parts {
    gp_server *server;
    gp_rule *rule;
    double *best, *evaluated; // [size of theta]
} gp_run_parts;

// *id (may be NULL) is a hash of all it holds: the same state has the same one, in any file.
advgp_status gp_checkpoint_save(const char *path, const gp_run_parts *parts, const gp_run_state *state, uint64_t *id,
                                advgp_error *err);
// What the run had. 0 components: it was stopped before that was settled, and resuming begins at the beginning.
typedef struct gp_run_shape {
    size_t components, inducing, workers;
} gp_run_shape;
advgp_status gp_checkpoint_shape(const char *path, gp_run_shape *out, advgp_error *err);
// Fills parts and state, which come with the shape and the schedule of this run: a checkpoint of another is EINVAL and
// says how it differs; a damaged one, or one that no run can have written, is EFILE. *id (may be NULL) is as above, and
// 0 where the run begins at the beginning.
advgp_status gp_checkpoint_load(const char *path, const gp_run_parts *parts, gp_run_state *state, uint64_t *id,
                                advgp_error *err);
