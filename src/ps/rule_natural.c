// rule_natural.c: natural gradient on q(w) from pushed statistics, Adam on the rest. docs/math.md 4.
// A push is the statistics, then the gradient of everything before mu.
#include "base/alloc.h"
#include "model/qw.h"
#include "ps/rule.h"
#include "ps/statistics.h"

#include <math.h>
#include <string.h>

typedef struct natural {
    gp_rule base;
    gp_qw *qw;
    gp_adam adam;
    gp_stats stats; // of the sum
    double *grad;   // [n_rest]
    uint64_t steps; // Adam's t as a checkpoint keeps it
} natural;

static size_t natural_push_size(gp_theta_layout l, gp_range range)
{
    (void)range;
    return gp_statistics_size(l.M) + l.n_rest;
}

static void natural_fill(gp_theta_layout l, gp_range range, const gp_stats *stats, double sum_g, const double *grad,
                         double *push)
{
    (void)range;
    gp_statistics_pack(stats, sum_g, push);
    memcpy(push + gp_statistics_size(l.M), grad, l.n_rest * sizeof(double));
}

static void natural_free(gp_rule *rule)
{
    natural *r = (natural *)rule;
    gp_qw_free(r->qw);
    gp_free(r->adam.m);
    gp_free(r->adam.v);
    gp_free(r->stats.A.p);
    gp_free(r->stats.b);
    gp_free(r->grad);
    gp_free(r);
}

static advgp_status natural_make(const gp_rule_options *o, gp_rule **out, advgp_error *err)
{
    const gp_theta_layout l = o->layout;
    *out = NULL;
    if (o->range.first != 0 || o->range.count != l.size)
        return gp_fail(err, ADVGP_EINVAL, "the natural rule needs all parameters on one server: use {optimizer} prox");
    natural *r = gp_alloc(1, sizeof *r);
    if (!r) return gp_no_memory(err);
    r->base = (gp_rule){.ops = &gp_rule_natural, .options = *o};
    r->adam = (gp_adam){.beta1 = 0.9,
                        .beta2 = 0.999,
                        .epsilon = 1e-8,
                        .unit = o->unit,
                        .m = gp_alloc(l.n_rest, sizeof(double)),
                        .v = gp_alloc(l.n_rest, sizeof(double))};
    r->stats.A = gp_mat_of(gp_alloc(l.M * l.M, sizeof(double)), l.M, l.M);
    r->stats.b = gp_alloc(l.M, sizeof(double));
    r->grad = gp_alloc(l.n_rest, sizeof(double));
    advgp_status st = gp_qw_new(l.M, &r->qw, err);
    if (st == ADVGP_OK && (!r->adam.m || !r->adam.v || !r->stats.A.p || !r->stats.b || !r->grad))
        st = gp_no_memory(err);
    if (st != ADVGP_OK) {
        natural_free(&r->base);
        return st;
    }
    *out = &r->base;
    return ADVGP_OK;
}

// Late and old pushes make Adam's steps small, and may; q(w) must not stand still while Z and the length-scales still
// move under it, so its step has a floor. Roll-backs lower the floor too: what they took back must become small however
// often they had to.
static const double least_rate = 1e-3;

static advgp_status natural_step(gp_rule *rule, const double *sum, const gp_step_terms *terms, double *theta,
                                 advgp_error *err)
{
    natural *r = (natural *)rule;
    const gp_theta_layout l = rule->options.layout;
    const double shrink = terms->shrink / pow(1 + terms->age, rule->options.age_power);
    gp_statistics_unpack(sum, &r->stats);
    sum += gp_statistics_size(l.M);
    const double rate = fmax(least_rate * terms->damping, rule->options.natural_rate * shrink);
    advgp_status st = gp_qw_natural(r->qw, &r->stats, 1, theta[0], rate, theta + l.n_rest, theta + l.U, err);
    rule->jitter = gp_qw_jitter(r->qw);
    if (st != ADVGP_OK) return st;
    for (size_t i = 0; i < l.n_rest; i++) r->grad[i] = sum[i] / terms->n; // a row's share: Adam needs no more
    r->adam.rate = rule->options.adam_rate * shrink;
    r->adam.t = (unsigned long)r->steps;
    gp_step_adam(&r->adam, l.n_rest, r->grad, theta);
    r->steps = r->adam.t;
    return ADVGP_OK;
}

static void natural_forget(gp_rule *rule)
{
    natural *r = (natural *)rule;
    memset(r->adam.m, 0, rule->options.layout.n_rest * sizeof(double));
}

static gp_rule_state natural_state(gp_rule *rule)
{
    natural *r = (natural *)rule;
    const size_t n = rule->options.layout.n_rest;
    return (gp_rule_state){.n_arrays = 2,
                           .arrays = {{"adam_m", r->adam.m, n, false}, {"adam_v", r->adam.v, n, true}},
                           .counter = &r->steps};
}

const gp_rule_ops gp_rule_natural = {.name = "natural",
                                     .summary = "statistics are pushed; natural gradient on q(w), Adam on the rest",
                                     .fresh_only = true,
                                     .age_power = 0.5,
                                     .age_weight = 2,
                                     .quorum = 0.75,
                                     .max_delay = 200,
                                     .pass = GP_PASS_REST,
                                     .push_size = natural_push_size,
                                     .fill = natural_fill,
                                     .make = natural_make,
                                     .step = natural_step,
                                     .forget = natural_forget,
                                     .state = natural_state,
                                     .free = natural_free};
