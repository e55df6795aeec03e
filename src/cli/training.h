// training.h: a training as `train` does it, for the verbs that do it again.
#pragma once
#include "api/load.h"
#include "options/option.h"
#include "run/replay.h"
#include "train/train.h"

#include <jansson.h>

// All of `advgp train`, by the options of that verb. With replay the steps come from a log, and there is no checkpoint.
// *bits (may be NULL): a hash of what two runs that are the same have in common.
advgp_status gp_cli_training(const gp_options *train, const gp_replay_feed *replay, uint64_t *bits, advgp_error *err);

// The rows of --test (all GP_STOP); NULL without the option.
advgp_status gp_cli_load_test(const gp_options *options, gp_loaded *data, gp_shards **rows, advgp_error *err);

// Which rows the figures of a result are of, and how many: a word for machines, a text for people.
typedef struct gp_scored_text {
    char p[80];
} gp_scored_text;
const char *gp_cli_scored_word(const gp_train_result *result);
gp_scored_text gp_cli_scored(const gp_train_result *result);

// What a log has of a run: its first line, the fields of its "eval" lines, a delay.
json_t *gp_cli_manifest(const gp_options *options, const char *command);
json_t *gp_cli_eval_json(const gp_train_eval *eval);
json_t *gp_cli_delay_json(size_t max_delay);

json_t *gp_cli_cpu_json(void); // names of the CPU's features that matter
