// polish.h: the last steps of a small table. Where every step sees all rows there is no noise between them, and L-BFGS
// on the collapsed bound ends where Adam only comes near: on few rows that decides how close a sparse model comes to
// the exact process.
#pragma once
#include "train/learner.h"

// Minimises the collapsed bound over all parameters before q(w), from theta, by at most this many iterations; theta is
// then the best found, with its optimal q(w). stop is asked at every evaluation and may be NULL.
advgp_status gp_polish(gp_learner *learner, gp_batch rows, size_t iterations, int (*stop)(void *ctx), void *stop_ctx,
                       advgp_error *err);
