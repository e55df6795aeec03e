// conductor.h: who decides what no seed decides: whether a score has come, whether time is up, who asked to stop, how
// many rows the finish takes. Of a training it is the clock and people (conductor_live.c), of a replay the log
// (conductor_replay.c). The acts of a training (training.h) are the same for both, and ask here.
#pragma once
#include "recipe/training.h"

typedef struct gp_conductor {
    // Components and inducing inputs, where they are known without pilots; 0 components: these must choose; 0 inducing
    // inputs: as many as there are.
    void (*shape)(const gp_training *t, gp_run_shape *out);
    size_t (*threads)(const gp_training *t); // of this process that work
    size_t (*places)(const gp_training *t);  // for workers, at most
    advgp_status (*new_run)(const gp_training *t, gp_run_options *options, gp_run **out, advgp_error *err);

    // Steps. Versions may be made up to this one.
    advgp_status (*allow)(gp_training *t, size_t version, advgp_error *err);
    // The server is at an evaluation version: is it evaluated now, before anything else happens?
    bool (*evaluates)(const gp_training *t);
    bool (*time_is_up)(const gp_training *t);
    bool (*ends)(const gp_training *t, gp_stop_reason reason); // does a score that is reason enough end the run?
    // Before each turn of the run: somebody may have asked to stop, a checkpoint be due, the log be over.
    advgp_status (*between_turns)(gp_training *t, gp_stop_reason *stopped, advgp_error *err);

    // Collections of all rows. To where they begin:
    advgp_status (*to_collections)(gp_training *t, advgp_error *err);
    int (*stop)(void *training); // asked while they run; NULL: they stop by themselves where they did
    // One was stopped (ESTOPPED). OK: that belongs to the run; ESTOPPED: nothing of it shall be kept.
    advgp_status (*accept_stop)(const gp_training *t, advgp_error *err);
    advgp_status (*finish)(gp_training *t, size_t *rows, advgp_error *err); // the posterior, over how many rows it says

    bool (*fits_cells)(const gp_training *t); // are cells tried, where the options want them?

    // The run that is replayed was stopped here, and resumed from the checkpoint that it wrote. What it did between the
    // two is void.
    bool (*at_checkpoint)(const gp_training *t);
    advgp_status (*next_part)(gp_training *t, advgp_error *err); // goes on from that checkpoint
} gp_conductor;

extern const gp_conductor gp_conductor_live, gp_conductor_replay;
