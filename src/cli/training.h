// training.h: a training as `train` does it, for the verbs that do it again.
#pragma once
#include "base/option.h"
#include "train/replay.h"

#include <jansson.h>

// All of `advgp train`, by the options of that verb. With replay the steps come from a log. *bits (may be NULL): a hash
// of what two runs that are the same have in common.
advgp_status gp_cli_training(const gp_options *train, const gp_replay_feed *replay, uint64_t *bits, advgp_error *err);

json_t *gp_cli_cpu_json(void); // names of the CPU's features that matter
// An input as a manifest has it: name, and for a file its size and a hash of its first and last 16 MB.
json_t *gp_cli_file_json(const char *path);
