// collapsed.h: the collapsed bound (Titsias) over all training rows, by map and reduce over the workers of a run: their
// statistics are collected, q(w) is set to its optimum, and the gradient there is collected. It is the collapsed
// bound's, since q(w) is at its optimum. docs/math.md 7.
#pragma once
#include "learn/learner.h"
#include "optim/stop_reason.h"
#include "run/run.h"

typedef struct gp_collapsed gp_collapsed;

typedef struct gp_collapsed_options {
    gp_run *run;         // of the natural rule, whose values hold the gradient before mu
    gp_learner *learner; // theta moves with the evaluations, q(w) with it
    double n_rows;       // weight of all rows
    int (*stop)(void *ctx);
    void *stop_ctx;
    // After every iteration: theta with its optimal q(w), the bound a row. Non-zero ends the minimisation. May be NULL.
    int (*iteration)(void *ctx, size_t iteration, const double *theta, double neg_elbo_per_row);
    void *ctx;
} gp_collapsed_options;

advgp_status gp_collapsed_new(const gp_collapsed_options *options, gp_collapsed **out, advgp_error *err);
void gp_collapsed_free(gp_collapsed *bound);

// The bound and its gradient, both a row, at the parameters before mu; the learner's theta is x with the optimal q(w).
advgp_status gp_collapsed_value(gp_collapsed *bound, const double *x, double *value, double *gradient,
                                advgp_error *err);

// From the learner's theta on, which is then the best found, with its q(w); after a failure the best found so far, with
// another's. *stopped (may be NULL): why.
advgp_status gp_collapsed_lbfgs(gp_collapsed *bound, size_t iterations, gp_stop_reason *stopped, advgp_error *err);
advgp_status gp_collapsed_adadelta(gp_collapsed *bound, size_t iterations, gp_stop_reason *stopped, advgp_error *err);
