// training.h: a training as `train` does it, for the verbs that do it again.
#pragma once
#include "options/option.h"
#include "run/replay.h"
#include "train/train.h"

// All of `advgp train`, by the options of that verb. With replay the steps come from a log, and there is no checkpoint.
// *bits (may be NULL): a hash of what two runs that are the same have in common.
advgp_status gp_cli_training(const gp_options *train, const gp_replay_feed *replay, uint64_t *bits, advgp_error *err);

// Which rows the figures of a result are of, and how many, for people.
typedef struct gp_scored_text {
    char p[80];
} gp_scored_text;
gp_scored_text gp_cli_scored(const gp_train_result *result);
