// evaluator.h: scores parameters on held-out rows in a thread of its own, so that workers do not wait for it.
#pragma once
#include "score/score.h"
#include "shards/reader.h"

typedef struct gp_evaluator gp_evaluator;

typedef struct gp_evaluator_options {
    const gp_feature_spec *spec; // borrowed, as are shards and schema
    const gp_shards *shards;
    const gp_schema *schema;
    size_t max_rows, size;   // rows of GP_STOP at most; entries of theta
    void (*done)(void *ctx); // called from the evaluator's thread; may be NULL
    void *ctx;
} gp_evaluator_options;

advgp_status gp_evaluator_new(const gp_evaluator_options *options, gp_evaluator **out, advgp_error *err);
void gp_evaluator_free(gp_evaluator *evaluator); // waits for a score that is under way
// One at a time: not before the last score was taken. Copies theta.
void gp_evaluator_ask(gp_evaluator *evaluator, const double *theta);
bool gp_evaluator_is_done(gp_evaluator *evaluator);
// Waits for the score and takes it.
advgp_status gp_evaluator_take(gp_evaluator *evaluator, gp_score *score, advgp_error *err);
const double *gp_evaluator_theta(const gp_evaluator *evaluator); // what is or was evaluated last
