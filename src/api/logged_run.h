// logged_run.h: a training as its log tells it: by which options and files, and the steps that the replay takes again.
#pragma once
#include "base/host.h"
#include "options/option.h"
#include "run/replay.h"

typedef struct gp_logged_run gp_logged_run;

// EFILE where it is no log of a training that took steps and came to its end. The host, which may stop the replay, is
// borrowed.
advgp_status gp_logged_run_open(const char *path, const gp_host *host, gp_logged_run **out, advgp_error *err);
void gp_logged_run_close(gp_logged_run *run); // NULL is fine

// The options of the run for another of the same steps, with output, cache, force, quiet and json of the replay.
// EDATA: a file is not what it was. Names of files are the run's. *train is for gp_options_free, also after a failure.
advgp_status gp_logged_run_options(const gp_logged_run *run, const gp_options *replay, gp_options **train,
                                   advgp_error *err);
// Its steps. What has to be kept between two parts of them is in a file beside `output`, until it is closed.
advgp_status gp_logged_run_feed(gp_logged_run *run, const char *output, const gp_replay_feed **feed, advgp_error *err);

bool gp_logged_run_was_elsewhere(const gp_logged_run *run); // another CPU, BLAS or version: the last bits may differ
const char *gp_logged_run_bits(const gp_logged_run *run);   // of its model, as gp_record_id has them; NULL: not there
