// study.h: a cluster in virtual time, every number of workers with every delay bound, and what to conclude from it.
#pragma once
#include "base/host.h"
#include "load/load.h"
#include "options/option.h"
#include "sim/simulate.h"

#include <jansson.h>

typedef struct gp_study {
    const gp_options *o;
    const gp_host *host;
    bool gradients; // real ones, so that there are errors
    double target;  // the error of which the time is asked for; 0: none
    gp_loaded data; // or generated rows
    double *inducing;
    gp_learner *learner;
    gp_sim_problem problem;
    gp_sim_costs costs;
    size_t n_workers, n_delays;
    size_t *workers, *delays; // what is simulated: each with each
    gp_sim_result *results;   // [n_workers x n_delays]
    double *slowness, *sleep; // [most workers]
} gp_study;

// By the options of `simulate`; options and host are borrowed. fini is due also after a failure.
advgp_status gp_study_run(const gp_options *simulate, const gp_host *host, gp_study *study, advgp_error *err);
void gp_study_fini(gp_study *study);

static inline bool gp_study_has_target(const gp_study *study)
{
    return study->gradients && study->target > 0;
}
size_t gp_study_best_delay(const gp_study *study, size_t i); // which of the delays, for the i-th number of workers
// The first number of workers whose best run is not limited by the workers themselves; NULL: none.
const gp_sim_result *gp_study_saturated(const gp_study *study, size_t *workers);
json_t *gp_study_json(const gp_study *study);
