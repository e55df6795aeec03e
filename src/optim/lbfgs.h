// lbfgs.h: minimisation of a smooth function by L-BFGS (libLBFGS). For the collapsed bound and the exact evidence.
#pragma once
#include "base/status.h"
#include "optim/stop_reason.h"

#include <stddef.h>

// *value and gradient[n] at x. A status of ADVGP_ENUMERIC says that x is out of bounds: the line search then tries a
// shorter step. Any other failure ends the run with that status.
typedef advgp_status (*gp_objective)(void *ctx, const double *x, size_t n, double *value, double *gradient,
                                     advgp_error *err);

typedef struct gp_lbfgs_options {
    size_t max_iterations; // 0: until it converges
    size_t memory;         // corrections kept; 0: 10
    double gradient_tol;   // stop when |gradient| <= this * max(1, |x|); 0: 1e-5
    double value_tol;      // stop when the value fell by less than this * max(1, |value|) over 5 iterations; 0: off
} gp_lbfgs_options;

typedef struct gp_lbfgs_result {
    double value;
    size_t iterations, evaluations;
    gp_stop_reason stopped; // CONVERGED, ITERATION_LIMIT or NO_DESCENT
} gp_lbfgs_result;

// x is the start on entry and the best point found on return, also when the run ends by a failure of the objective.
advgp_status gp_lbfgs(gp_objective objective, void *ctx, size_t n, double *x, const gp_lbfgs_options *options,
                      gp_lbfgs_result *result, advgp_error *err);
