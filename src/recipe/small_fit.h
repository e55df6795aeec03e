// small_fit.h: a short training of a small sparse process, in this process and without a word to anyone: for trials,
// which throw it away, and for the scale of the noise, which keeps it. The same rows give the same bits everywhere.
#pragma once
#include "learn/learner.h"
#include "recipe/train.h"

typedef struct gp_small_fit {
    const gp_shards *shards;
    const gp_schema *schema;
    const gp_kernel *kernel;
    gp_trend trend;
    size_t m, components;
    const double *inducing; // [m x d]: where inducing points begin; NULL: k-means centres
    size_t steps, batch, workers;
    uint64_t seed;
    int (*stop)(void *ctx); // may be NULL
    void *stop_ctx;
} gp_small_fit;

// *out is the caller's to free; NULL, and no error, if somebody asked to stop. neg_elbo, which may be NULL: its bound.
advgp_status gp_small_fit_run(const gp_small_fit *fit, gp_learner **out, double *neg_elbo, advgp_error *err);
