// request.h: what options ask for, as the method and the numbers of a training: the one map from keys to requests, for
// the program, the library and whoever else sets options by key.
#pragma once
#include "method/method.h"
#include "options/option.h"

const gp_method *gp_request_method(const gp_options *train);
bool gp_request_is_mixed(const gp_options *train); // steps in mixed precision: of the natural rule alone
// Is it a training by method exact, or by auto with no option that the exact process does not know?
bool gp_request_may_be_exact(const gp_options *options);
// An option that its method does not know, given all the same, is EINVAL; so are options that contradict each other.
advgp_status gp_request_check(const gp_options *train, advgp_error *err);
// All that does not depend on the data.
// Of train, compare and simulate; the last has lists of workers and delays, which are left at 0.
gp_schedule gp_request_schedule(const gp_options *o);
gp_train_options gp_request_train(const gp_options *train);

// A model of a file: within the bounds of what a stranger's may take, or with `trust` whatever it does.
advgp_status gp_request_model(const gp_options *o, const char *path, gp_model **out, advgp_error *err);

// The model file that `start` names, or NULL where it names a way.
const char *gp_request_start(const gp_options *train);
// What nobody said is as in that model; what somebody said must be.
advgp_status gp_request_adopt(const gp_options *train, const gp_model *model, gp_train_options *t, advgp_error *err);

// `delay-worker` as one number a worker, for gp_free.
advgp_status gp_request_delays(const gp_options *train, size_t workers, double **delays, size_t *n_delays,
                               advgp_error *err);
