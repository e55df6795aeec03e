// checkpoint.h: the whole state of a run as a tensor file: going on from it gives the same bits as not having stopped.
#pragma once
#include "train/learner.h"

typedef struct gp_run_state {
    size_t step;       // steps taken
    size_t since_best; // evaluations without gain
    double best;       // held-out MNLP
    bool undecided;    // stopped while pilots ran: the number of components is not settled
    // What the rows and the schedule must be for the state to mean anything:
    size_t batch, steps, n_rows;
    uint64_t seed;
    uint64_t data;     // a hash of schema and scales
    uint64_t settings; // a hash of kernel, map, trend, first step and patience
} gp_run_state;

advgp_status gp_checkpoint_save(const char *path, const gp_learner *learner, const gp_run_state *state,
                                advgp_error *err);
// How many components the run had; 0: it was stopped before that was settled, and resuming begins at the beginning.
advgp_status gp_checkpoint_components(const char *path, size_t *components, advgp_error *err);
// Fills learner and state, which come with the shape and the schedule of this run: a checkpoint of another is EINVAL
// and says how it differs; a damaged one is EFILE.
advgp_status gp_checkpoint_load(const char *path, gp_learner *learner, gp_run_state *state, advgp_error *err);
