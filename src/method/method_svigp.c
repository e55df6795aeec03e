// method_svigp.c: SVIGP (Hensman et al. 2013): one worker, mini-batches, natural gradient on q(w) and gradient steps on
// the rest. What advgp is without its server, so that the two can be compared: the same code with one worker.
#include "method/method.h"

#include <stdio.h>

enum { BATCH = 5000 };

static advgp_status svigp_train(const gp_train_request *request, gp_model **model, gp_train_result *result,
                                advgp_error *err)
{
    gp_train_request changed = *request;
    gp_train_options o = *request->options;
    changed.options = &o;
    o.schedule = gp_schedule_synchronous(o.schedule);
    o.schedule.workers = 1;
    if (!o.schedule.batch) o.schedule.batch = BATCH;
    if (!o.components) o.components = 1;
    o.cells = 0;
    const advgp_status st = gp_train(&changed, model, result, err);
    if (st == ADVGP_OK) snprintf((*model)->method, sizeof(*model)->method, "%s", gp_method_svigp.name);
    return st;
}

static const char *const honoured[] = {
    "inducing",   "components",       "kernel", "map",   "rank",       "groups", "trend", "noise",
    "batch",      "precision",        "step",   "start", "start-rows", "epochs", "time",  "patience",
    "checkpoint", "checkpoint-every", "resume", NULL};

const gp_method gp_method_svigp = {.name = "svigp",
                                   .summary = "stochastic variational process of one worker on mini-batches of 5,000",
                                   .options = honoured,
                                   .resumes = true,
                                   .schedule = true,
                                   .train = svigp_train};
