// learner.h: one model being learned: parameters, optimiser state and workspaces; a step on a batch, a score, the
// finish. What pilots and the run itself share.
#pragma once
#include "model/predict.h"
#include "model/qw.h"
#include "model/transport.h"
#include "optim/step.h"
#include "train/reader.h"
#include "train/score.h"

typedef struct gp_learner {
    gp_feature_spec spec;
    gp_component_spec components[64]; // spec.components points here
    size_t *groups;                   // sizes of the groups of all components
    gp_features *f;
    gp_pass *pass;
    gp_qw *qw;
    gp_transport *transport; // NULL: the features do not turn
    gp_theta_layout layout;
    double *theta, *grad, *kept; // [size]; kept: before the last step, or the best so far
    gp_adam adam;
    double natural_rate, adam_rate; // at the start of the run
    double damping;                 // halved at every step that had to be taken back
    double n_rows;                  // sum of weights of all training rows
    double neg_elbo_per_row;        // of the last batch
    double *best;                   // [size]
} gp_learner;

enum { GP_COMPONENTS_MAX = 64 };

typedef struct gp_learner_options {
    size_t d, m, components;
    const gp_kernel *kernel;
    const gp_map *map;
    size_t rank, groups; // of the map (map_choice.h)
    gp_trend trend;
    double length_scale; // common start
    double natural_rate, adam_rate;
    double n_rows;
    uint64_t seed;
    gp_cmat inducing; // candidates for inducing inputs, distinct rows, at least m
} gp_learner_options;

advgp_status gp_learner_new(const gp_learner_options *options, gp_learner **out, advgp_error *err);
void gp_learner_free(gp_learner *learner);

// One step on a batch; progress in [0, 1] shrinks both rates linearly to (nearly) 0. A step that fails numerically is
// taken back and later steps are halved; after 20 such the status is returned.
advgp_status gp_learner_step(gp_learner *learner, gp_batch batch, double progress, advgp_error *err);

// Score of a model on a part, at most max_rows of it (0: all).
advgp_status gp_score_part(const gp_feature_spec *spec, const double *theta, gp_reader *reader, gp_part part,
                           size_t max_rows, const gp_schema *schema, gp_score *score, advgp_error *err);

// Finish pass: exact statistics over the training rows (at most max_rows; 0: all), best noise, optimal q(w), exact
// bound.
advgp_status gp_learner_finish(gp_learner *learner, gp_reader *reader, size_t max_rows, double *neg_elbo,
                               advgp_error *err);
