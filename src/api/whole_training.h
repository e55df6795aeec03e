// whole_training.h: a training as `advgp train` does it: rows read, steps taken, the model written, a log of it all.
// For whoever has options and a host.
#pragma once
#include "api/record.h"
#include "base/host.h"
#include "load/load.h"
#include "options/option.h"
#include "recipe/train.h"
#include "run/replay.h"

typedef struct gp_training_made {
    const char *path; // where the model is: beside its place, or as the checkpoint, if it could not be written there
    const gp_model *model;
    const gp_train_result *result;
    gp_training_cost cost;
    bool of_lead; // the seconds of CPU are of this process; its workers have their own
} gp_training_made;

// What is trained, and who hears of it; all borrowed. Only options must be there.
typedef struct gp_training_job {
    const gp_options *options;    // of `train`
    gp_source *table;             // in place of operands
    const gp_replay_feed *replay; // the steps come from a log, and there is no checkpoint
    const gp_host *host;
    // Takes the model, for gp_model_free; then no file is written that the options do not name. It stays NULL where
    // there is none to give: in a worker, after a failure.
    gp_model **model;
} gp_training_job;

// All of it. *bits (may be NULL): a hash of what two runs that are the same have in common. ESTOPPED: the host asked to
// stop; the text says where the model so far is, and how to go on.
advgp_status gp_training(const gp_training_job *job, uint64_t *bits, advgp_error *err);
