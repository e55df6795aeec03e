// study.h: what the studies in virtual time begin with: rows as a training has them, and a model of one component at
// the place where a training would start it.
#pragma once
#include "base/alloc.h"
#include "bench.h"
#include "cells/inducing.h"
#include "sim/simulate.h"

typedef struct study {
    gp_shards *shards;
    gp_schema *schema;
    double *inducing;
    gp_learner *learner;
    gp_sim_problem problem;
} study;

// Takes both sources; held_out may be NULL: then some of the rows are.
static inline study study_take(gp_source *rows, gp_source *held_out, size_t m, double length_scale)
{
    study s = {0};
    advgp_error err;
    size_t found;
    must(gp_sim_rows(rows, held_out, "y", 1, &s.shards, &s.schema, &err), &err);
    gp_source_free(rows);
    gp_source_free(held_out);
    must(gp_inducing_choose(s.shards, m, 0, GP_START_KMEANS, &gp_kernel_ard_rbf, 1, &s.inducing, &found, &err), &err);
    const gp_learner_options lo = {.d = s.shards->d,
                                   .m = found,
                                   .components = 1,
                                   .kernel = &gp_kernel_ard_rbf,
                                   .map = &gp_map_cholesky,
                                   .length_scale = length_scale,
                                   .seed = 1,
                                   .inducing = gp_cmat_of(s.inducing, found, s.shards->d)};
    must(gp_learner_new(&lo, &s.learner, &err), &err);
    s.problem = (gp_sim_problem){s.shards, s.schema, s.learner};
    return s;
}

static inline void study_free(study *s)
{
    gp_learner_free(s->learner);
    gp_free(s->inducing);
    gp_shards_free(s->shards);
    gp_schema_free(s->schema);
}

static inline gp_sim_result study_simulate(const gp_sim_problem *problem, const gp_sim_options *options)
{
    advgp_error err;
    gp_sim_result r;
    must(gp_simulate(problem, options, &r, &err), &err);
    return r;
}
