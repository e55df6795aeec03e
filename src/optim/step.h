// step.h: step rules as pure functions: parameters, gradient and state in, parameters and state out. No rows, no clock,
// no memory. docs/math.md 4. The gradient is that of sum_i w_i g_i over all rows (stretched from a batch by the
// caller), without h.
#pragma once
#include "base/status.h"
#include "model/theta.h"

// The part of theta that a rule works on: all of it, or the range one of several servers keeps. Its arrays (theta,
// gradient, accumulators) begin at the part's first element.
typedef struct gp_range {
    size_t first, count;
} gp_range;
static inline gp_range gp_range_all(gp_theta_layout layout)
{
    return (gp_range){0, layout.size};
}

// ---- proximal operator of h, element by element (the paper's (18) - (20)) -------------------------------------------
double gp_prox_shrink(double value, double gamma);   // mu and the strict upper part of U
double gp_prox_diagonal(double value, double gamma); // the diagonal of U: always positive

// theta <- theta - gamma * gradient, then prox with gamma on q(w). The paper's update; theorem 4.1 bounds gamma.
void gp_step_prox(gp_theta_layout layout, gp_range part, double gamma, const double *gradient, double *theta);

// ---- proximal ADADELTA: every element has its own step, and q(w) is proxed with that step -----------------
typedef struct gp_adadelta {
    double decay, epsilon;
    double damping;        // steps are divided by this (1 + mean age of the pushes used); 1 without delay
    double *acc_g, *acc_u; // [part.count], start at 0, the caller's
} gp_adadelta;
// steps, if not NULL, receives the step of every element.
void gp_step_adadelta(gp_theta_layout layout, gp_range part, gp_adadelta *state, const double *gradient, double *theta,
                      double *steps);

// ---- Adam on the first n elements -------------------------------------------------------------------------
typedef struct gp_adam {
    double rate, beta1, beta2, epsilon;
    const double *unit; // [n]: steps are so many times as long; NULL: 1
    double *m, *v;      // [n], start at 0, the caller's
    unsigned long t;    // steps taken
} gp_adam;
void gp_step_adam(gp_adam *state, size_t n, const double *gradient, double *theta);
