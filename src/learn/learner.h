// learner.h: one model being learned: its shape and starting parameters, a score, the finish. What pilots and the run
// itself share.
#pragma once
#include "model/predict.h"
#include "model/qw.h"
#include "score/score.h"
#include "shards/reader.h"
#include "store/modelfile.h"

typedef struct gp_learner {
    gp_feature_spec spec;
    gp_component_spec components[64]; // spec.components points here
    size_t *groups;                   // sizes of the groups of all components
    gp_features *f;
    gp_qw *qw;
    gp_theta_layout layout;
    double *theta, *best; // [size]: the start and in the end the result; the best that was evaluated
    gp_stats stats;       // exact, over the training rows, after the finish
} gp_learner;

enum { GP_COMPONENTS_MAX = 64 };

typedef struct gp_learner_options {
    size_t d, m, components;
    const gp_kernel *kernel;
    const gp_map *map;
    size_t rank, groups; // of the map (map_choice.h)
    gp_trend trend;
    double length_scale; // common start
    uint64_t seed;
    gp_cmat inducing; // candidates for inducing inputs, distinct rows, at least m
} gp_learner_options;

advgp_status gp_learner_new(const gp_learner_options *options, gp_learner **out, advgp_error *err);
void gp_learner_free(gp_learner *learner);

// Score of a model on a part, at most max_rows of it (0: all).
advgp_status gp_score_part(const gp_feature_spec *spec, const double *theta, gp_reader *reader, gp_part part,
                           size_t max_rows, const gp_schema *schema, gp_score *score, advgp_error *err);

// What was learned, into a model of this shape: parameters and statistics.
void gp_learner_copy(const gp_learner *learner, gp_model *model);

// The last act: from the statistics of the training rows at theta (ps/statistics.h) the best noise, the optimal q(w)
// and the exact bound. stop may be NULL; asked with ctx where the noise takes long, a non-zero answer is ESTOPPED. In a
// hurry the noise stays that of the steps where it would take long.
advgp_status gp_learner_finish(gp_learner *learner, const double *statistics, bool hurry, int (*stop)(void *ctx),
                               void *ctx, double *neg_elbo, advgp_error *err);
