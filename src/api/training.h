// training.h: a training as `advgp train` does it: rows read, steps taken, the model written, a log of it all. For
// whoever has options and a host.
#pragma once
#include "api/host.h"
#include "api/load.h"
#include "options/option.h"
#include "run/replay.h"
#include "train/train.h"

typedef struct gp_training_made {
    const char *path; // where the model is: beside its place, or as the checkpoint, if it could not be written there
    const gp_model *model;
    const gp_train_result *result;
    double peak;  // bytes of memory, the most that were seen
    bool of_lead; // the seconds of CPU are of this process; its workers have their own
} gp_training_made;

// What is told beside the host's sentences. Any may be NULL; all is valid during the call.
typedef struct gp_training_events {
    void *ctx;
    void (*begin)(void *ctx, const gp_train_plan *plan); // the steps begin
    void (*eval)(void *ctx, const gp_train_eval *eval);
    void (*unsaved)(void *ctx, const char *why); // the state could not be saved; the training goes on
    // In place of a training where `dry-run` is set.
    advgp_status (*plan)(void *ctx, const gp_train_options *options, const gp_loaded *data, advgp_error *err);
    // The model is written; an error of this one does not keep the log from its last line.
    advgp_status (*made)(void *ctx, const gp_training_made *made, advgp_error *err);
} gp_training_events;

// All of it, by the options of `train`. With replay (may be NULL) the steps come from a log, and there is no
// checkpoint. *bits (may be NULL): a hash of what two runs that are the same have in common. ESTOPPED: the host asked
// to stop; the text says where the model so far is, and how to go on.
advgp_status gp_training(const gp_options *train, const gp_replay_feed *replay, const gp_host *host,
                         const gp_training_events *events, uint64_t *bits, advgp_error *err);
