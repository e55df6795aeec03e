// judge.h: scores parameters on held-out rows in a thread of its own, so that workers do not wait for it.
#pragma once
#include "data/reader.h"
#include "score/score.h"

typedef struct gp_judge gp_judge;

typedef struct gp_judge_options {
    const gp_feature_spec *spec; // borrowed, as are shards and schema
    const gp_shards *shards;
    const gp_schema *schema;
    size_t max_rows, size;   // rows of GP_STOP at most; entries of theta
    void (*done)(void *ctx); // called from the judge's thread; may be NULL
    void *ctx;
} gp_judge_options;

advgp_status gp_judge_new(const gp_judge_options *options, gp_judge **out, advgp_error *err);
void gp_judge_free(gp_judge *judge); // waits for a score that is under way
// One at a time: not before the last verdict was taken. Copies theta.
void gp_judge_ask(gp_judge *judge, const double *theta);
bool gp_judge_is_done(gp_judge *judge);
// Waits for the score and takes it.
advgp_status gp_judge_take(gp_judge *judge, gp_score *score, advgp_error *err);
const double *gp_judge_theta(const gp_judge *judge); // what is or was judged last
