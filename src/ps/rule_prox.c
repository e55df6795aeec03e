// rule_prox.c: the paper's rule: proximal gradient, element by element, with ADADELTA's steps (or one constant step).
// A push is sum g | gradient of this server's part of theta. docs/math.md 4.
#include "base/alloc.h"
#include "ps/rule.h"

#include <math.h>
#include <string.h>

typedef struct prox {
    gp_rule base;
    gp_adadelta adadelta;
} prox;

static size_t prox_push_size(gp_theta_layout l, gp_range range)
{
    (void)l;
    return 1 + range.count;
}

static void prox_fill(gp_theta_layout l, gp_range range, const gp_stats *stats, double sum_g, const double *grad,
                      double *push)
{
    (void)l;
    (void)stats;
    push[0] = sum_g;
    memcpy(push + 1, grad + range.first, range.count * sizeof(double));
}

static void prox_free(gp_rule *rule)
{
    prox *r = (prox *)rule;
    gp_free(r->adadelta.acc_g);
    gp_free(r->adadelta.acc_u);
    gp_free(r);
}

static advgp_status prox_make(const gp_rule_options *o, gp_rule **out, advgp_error *err)
{
    *out = NULL;
    if (!o->range.count || o->range.first + o->range.count > o->layout.size)
        return gp_fail(err, ADVGP_EINVAL, "a server of %zu parameters from %zu on: there are %zu", o->range.count,
                       o->range.first, o->layout.size);
    prox *r = gp_alloc(1, sizeof *r);
    if (!r) return gp_no_memory(err);
    r->base = (gp_rule){.ops = &gp_rule_prox, .options = *o};
    r->adadelta = (gp_adadelta){.decay = o->decay,
                                .epsilon = o->epsilon,
                                .acc_g = gp_alloc(o->range.count, sizeof(double)),
                                .acc_u = gp_alloc(o->range.count, sizeof(double))};
    if (!r->adadelta.acc_g || !r->adadelta.acc_u) {
        prox_free(&r->base);
        return gp_no_memory(err);
    }
    *out = &r->base;
    return ADVGP_OK;
}

static advgp_status prox_step(gp_rule *rule, const double *sum, const gp_step_terms *terms, double *theta,
                              advgp_error *err)
{
    (void)err;
    prox *r = (prox *)rule;
    const gp_rule_options *o = &rule->options;
    const double damping = pow(1 + terms->age, o->age_power) / terms->shrink; // theorem 4.1 asks for 1 / (1 + tau)
    if (o->gamma > 0) {
        gp_step_prox(o->layout, o->range, o->gamma / damping, sum + 1, theta);
        return ADVGP_OK;
    }
    r->adadelta.damping = damping;
    gp_step_adadelta(o->layout, o->range, &r->adadelta, sum + 1, theta, NULL);
    return ADVGP_OK;
}

static void prox_forget(gp_rule *rule)
{
    prox *r = (prox *)rule;
    memset(r->adadelta.acc_u, 0, rule->options.range.count * sizeof(double));
}

static gp_rule_state prox_state(gp_rule *rule)
{
    prox *r = (prox *)rule;
    const size_t n = rule->options.range.count;
    return (gp_rule_state){.n_arrays = 2,
                           .arrays = {{"acc_g", r->adadelta.acc_g, n, true}, {"acc_u", r->adadelta.acc_u, n, true}}};
}

const gp_rule_ops gp_rule_prox = {.name = "prox",
                                  .summary = "the paper's: gradients are pushed; proximal steps by ADADELTA",
                                  .element_wise = true,
                                  .age_power = 0.5,
                                  .quorum = 0,
                                  .max_delay = 32,
                                  .pass = GP_PASS_GRADIENT,
                                  .push_size = prox_push_size,
                                  .fill = prox_fill,
                                  .make = prox_make,
                                  .step = prox_step,
                                  .forget = prox_forget,
                                  .state = prox_state,
                                  .free = prox_free};
