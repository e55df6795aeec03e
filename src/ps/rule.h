// rule.h: how a server moves the parameters by the sum of its workers' pushes. One rule a file, one table: what a push
// holds, how it is made from a pass, and what a step does with the sum. docs/math.md 4, 5.
#pragma once
#include "base/status.h"
#include "model/pass.h"
#include "optim/step.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gp_rule gp_rule;

typedef struct gp_rule_options {
    gp_theta_layout layout;
    gp_range range;                 // what is not element-wise needs all of theta
    double age_power;               // steps are divided by (1 + mean age)^this; 0: they are not
    double natural_rate, adam_rate; // natural: first steps
    const double *unit;             // natural: of Adam's (optim/step.h); borrowed as long as the rule lives
    double decay, epsilon;          // prox: ADADELTA's
    double gamma;                   // prox: the paper's constant step instead of ADADELTA; 0: ADADELTA
} gp_rule_options;

// What a step is told beside the sum.
typedef struct gp_step_terms {
    double n;       // weight of all rows: the sum is scaled to them
    double shrink;  // what is left of the schedule's and the roll-backs' step, in (0, 1]
    double damping; // of that, the roll-backs' share, in (0, 1]
    double age;     // mean age of the pushes used, in versions
} gp_step_terms;

// State that a checkpoint keeps.
typedef struct gp_rule_state {
    size_t n_arrays;
    struct {
        const char *name;
        double *values;
        size_t n;
        bool squares; // means of squares: none is negative
    } arrays[4];
    uint64_t *counter; // steps taken; NULL: none
} gp_rule_state;

typedef struct gp_rule_ops {
    const char *name, *summary;
    // Sums pushes that are new since the last advance, and a quorum is of pushes of the present version; else the
    // newest of every worker, and a quorum is of new pushes.
    bool fresh_only;
    bool element_wise; // can be split over servers: a push is its value, then a number for each element of the range
    double age_power;  // default: asynchrony ruins the fit without
    double age_weight; // in the sum a push counts (1 + its age)^-this
    double quorum;     // default
    size_t max_delay;  // default on a cluster

    gp_pass_kind pass; // what a push is computed by, unless it is of statistics alone: how much of the gradient it has
    // Values of a push. The first one is always sum_i w_i g_i over the batch, at the parameters it was computed from.
    size_t (*push_size)(gp_theta_layout layout, gp_range range);
    void (*fill)(gp_theta_layout layout, gp_range range, const gp_stats *stats, double sum_g, const double *grad,
                 double *push);

    advgp_status (*make)(const gp_rule_options *options, gp_rule **out, advgp_error *err);
    // Moves theta (the range's part of it) by a sum of pushes. ENUMERIC: theta may be left half changed.
    // ESTOPPED: someone ended it (linalg/interrupt.h), and it is as if it had not begun, but for theta.
    advgp_status (*step)(gp_rule *rule, const double *sum, const gp_step_terms *terms, double *theta, advgp_error *err);
    void (*forget)(gp_rule *rule); // after a roll-back: what led there
    gp_rule_state (*state)(gp_rule *rule);
    void (*free)(gp_rule *rule);
} gp_rule_ops;

struct gp_rule {
    const gp_rule_ops *ops;
    gp_rule_options options;
    double jitter; // the largest that a step has had to add to the precision of q(w) (qw.h); 0: none
};

extern const gp_rule_ops gp_rule_natural, gp_rule_prox;
extern const gp_rule_ops *const gp_rules[]; // ends with NULL; the order users see
const gp_rule_ops *gp_rule_named(const char *name);
void gp_rule_free(gp_rule *rule); // NULL is fine
