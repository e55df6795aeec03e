// small_run.h: the run that the fuzzer of checkpoints goes on with, and of which its kept seeds are.
#pragma once
#include "fuzz.h"
#include "learn/checkpoint.h"
#include "learn/learner.h"

enum { SHARDS = 3, WORKERS = 2 };

static inline gp_learner *small_learner(void)
{
    static const double points[] = {-1, 0.5, 1, -0.5};
    static gp_learner *learner;
    const gp_learner_options options = {.d = 2,
                                        .m = 2,
                                        .components = 1,
                                        .kernel = gp_kernel_named("ard-rbf"),
                                        .map = &gp_map_cholesky,
                                        .trend = GP_TREND_LINEAR,
                                        .length_scale = 1,
                                        .inducing = gp_cmat_of(points, 2, 2)};
    if (!learner) FUZZ_CHECK(gp_learner_new(&options, &learner, NULL) == ADVGP_OK);
    return learner;
}

// A server that nobody has come to; it is new for every file, since one goes on from a checkpoint only once.
static inline gp_run_parts small_run(double *evaluated)
{
    static const double weight[SHARDS] = {7, 7, 6};
    gp_learner *l = small_learner();
    const gp_rule_options rule = {.layout = l->layout, .range = gp_range_all(l->layout), .natural_rate = 0.2};
    gp_run_parts parts = {.best = l->best, .evaluated = evaluated};
    FUZZ_CHECK(gp_rule_natural.make(&rule, &parts.rule, NULL) == ADVGP_OK);
    const gp_server_options server = {.rule = parts.rule,
                                      .theta = l->theta,
                                      .n_shards = SHARDS,
                                      .shard_weight = weight,
                                      .schedule.workers = WORKERS,
                                      .workers_max = WORKERS};
    FUZZ_CHECK(gp_server_new(&server, &parts.server, NULL) == ADVGP_OK);
    return parts;
}
