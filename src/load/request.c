// request.c: the words of options become the kernels, maps, rules and numbers of a training.
#include "load/request.h"
#include "base/alloc.h"
#include "base/machine.h"
#include "base/text.h"
#include "learn/learner.h"
#include "learn/map_choice.h"
#include "store/form.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const gp_method *gp_request_method(const gp_options *o)
{
    return gp_method_named(gp_options_text(o, "method"));
}

bool gp_request_is_mixed(const gp_options *o)
{
    return gp_options_is(o, "precision", "mixed") && !gp_options_is(o, "optimizer", "prox") &&
           gp_method_takes(gp_request_method(o), "precision");
}

// The first option that was given and that the method does not know; NULL if there is none.
static const char *unknown_to(const gp_options *o, const gp_method *method)
{
    for (size_t i = 0; i < o->n_values; i++) {
        const gp_option_value *v = &o->values[i];
        const gp_option_group group = v->option->group;
        const bool cluster = group == GP_GROUP_CLUSTER;
        const bool its = group == GP_GROUP_MODEL || group == GP_GROUP_METHOD || group == GP_GROUP_RUN || cluster;
        const bool general = !strcmp(v->option->name, "method") || !strcmp(v->option->name, "dry-run");
        if (its && !general && v->origin != GP_FROM_DEFAULT &&
            !gp_method_takes(method, cluster ? "transport" : v->option->name))
            return v->option->name;
    }
    return NULL;
}

bool gp_request_may_be_exact(const gp_options *o)
{
    if (strcmp(o->verb->name, "train") != 0) return false; // others may have no method
    const gp_method *method = gp_request_method(o);
    return method == &gp_method_exact || (method == &gp_method_auto && !unknown_to(o, &gp_method_exact));
}

// An option that the method does not know, given all the same, would be a wish that nobody hears.
advgp_status gp_request_check(const gp_options *o, advgp_error *err)
{
    const gp_method *method = gp_request_method(o);
    const char *unknown = unknown_to(o, method);
    if (unknown)
        return gp_fail(err, ADVGP_EINVAL, "{%s} has no meaning for {method} %s: leave it out, or use {method} %s",
                       unknown, method->name, gp_method_advgp.name);
    if (gp_options_given(o, "step") && gp_options_is(o, "optimizer", "prox"))
        return gp_fail(err, ADVGP_EINVAL,
                       "{step} is of the natural optimizer, {optimizer} prox finds its own: leave one out");
    if (gp_options_given(o, "precision") && gp_options_is(o, "optimizer", "prox"))
        return gp_fail(err, ADVGP_EINVAL,
                       "{precision} is of the natural optimizer, {optimizer} prox is in double: leave one out");
    if (!gp_method_takes(method, "map")) return ADVGP_OK;
    const gp_map_choice choice = {.map = gp_map_named(gp_options_text(o, "map")),
                                  .rank = (size_t)gp_options_int(o, "rank"),      // full reads as 0
                                  .groups = (size_t)gp_options_int(o, "groups")}; // auto too
    return gp_map_choice_check(choice, (size_t)gp_options_int(o, "inducing"), (size_t)gp_options_int(o, "components"),
                               err);
}

static gp_trend trend_of(const gp_options *o)
{
    gp_trend trend = GP_TREND_NONE;
    while (trend < GP_TREND_LINEAR && !gp_options_is(o, "trend", gp_trend_name(trend))) trend++;
    return trend;
}

// The ways of `start` that are no model.
static const struct {
    const char *word;
    gp_start start;
} starts[] = {{"kmeans", GP_START_KMEANS}, {"greedy", GP_START_GREEDY}, {"random", GP_START_RANDOM}};
enum { N_STARTS = sizeof starts / sizeof *starts };

static size_t start_of(const gp_options *o) // N_STARTS: none of them
{
    size_t i = 0;
    while (i < N_STARTS && !gp_options_is(o, "start", starts[i].word)) i++;
    return i;
}

static gp_on_loss on_loss_of(const gp_options *o)
{
    if (strcmp(o->verb->name, "train") != 0) return GP_LOSS_REASSIGN; // compare has no processes to lose
    return gp_options_is(o, "on-loss", "drop")   ? GP_LOSS_DROP
           : gp_options_is(o, "on-loss", "stop") ? GP_LOSS_STOP
                                                 : GP_LOSS_REASSIGN;
}

gp_schedule gp_request_schedule(const gp_options *o)
{
    gp_schedule s = {.rule = gp_rule_named(gp_options_text(o, "optimizer")),
                     .natural_rate = gp_options_real(o, "step"), // auto reads as 0
                     .batch = (size_t)gp_options_int(o, "batch"),
                     .quorum = gp_options_is(o, "quorum", "auto") ? -1 : gp_options_real(o, "quorum"),
                     .theorem_steps = gp_options_flag(o, "theorem-steps"),
                     .filter = gp_options_real(o, "filter"),
                     .seed = (uint64_t)gp_options_int(o, "seed")};
    if (!strcmp(o->verb->name, "simulate")) return s;
    s.mixed = gp_request_is_mixed(o);
    s.workers = gp_options_is(o, "workers", "auto") ? gp_cores() : (size_t)gp_options_int(o, "workers");
    s.max_delay = gp_options_is(o, "max-delay", "inf") ? GP_DELAY_ANY : (size_t)gp_options_int(o, "max-delay");
    s.on_loss = on_loss_of(o);
    return s;
}

gp_train_options gp_request_train(const gp_options *o)
{
    const size_t start = start_of(o);
    const bool patient = gp_options_is(o, "patience", "inf");
    gp_train_options t = {
        .method = gp_request_method(o)->name,
        .m = (size_t)gp_options_int(o, "inducing"),
        .m_open = !gp_options_given(o, "inducing"),
        .components = (size_t)gp_options_int(o, "components"), // auto reads as 0
        .cells = gp_options_is(o, "cells", "auto") ? GP_CELLS_AUTO : (size_t)gp_options_int(o, "cells"), // none: 0
        .kernel = gp_kernel_named(gp_options_text(o, "kernel")),
        .kernel_open = gp_request_may_be_exact(o) && !gp_options_given(o, "kernel"),
        .cells_kernel_open = !gp_options_given(o, "kernel"),
        .course_asked = !gp_request_may_be_exact(o),
        .map = gp_map_named(gp_options_text(o, "map")),
        .rank = (size_t)gp_options_int(o, "rank"),
        .groups = (size_t)gp_options_int(o, "groups"),
        .trend = trend_of(o),
        .noise = gp_options_is(o, "noise", "constant")  ? GP_NOISE_CONSTANT
                 : gp_options_is(o, "noise", "varying") ? GP_NOISE_VARYING
                                                        : GP_NOISE_AUTO,
        .start = start < N_STARTS ? starts[start].start : GP_START_KMEANS,
        .start_rows = (size_t)gp_options_int(o, "start-rows"),
        .schedule = gp_request_schedule(o),
        .epochs = (double)gp_options_int(o, "epochs"),
        .seconds = gp_options_real(o, "time"),
        .patience = patient ? SIZE_MAX : (size_t)gp_options_int(o, "patience"),
        .workers_asked = gp_options_given(o, "workers") && !gp_options_is(o, "workers", "auto"),
        .checkpoint = gp_options_text(o, "checkpoint"),
        .checkpoint_seconds = gp_options_real(o, "checkpoint-every"),
    };
    return t;
}

// ---- starting from a model ------------------------------------------------------------------------------------------

advgp_status gp_request_model(const gp_options *o, const char *path, gp_model **out, advgp_error *err)
{
    return gp_model_load_as(path, gp_options_flag(o, "trust") ? GP_TRUSTED : GP_BOUNDED, out, err);
}

const char *gp_request_start(const gp_options *o)
{
    return start_of(o) < N_STARTS ? NULL : gp_options_text(o, "start");
}

static advgp_status contradicts(const gp_options *o, const char *key, const char *has, advgp_error *err)
{
    return gp_fail(err, ADVGP_EINVAL,
                   "{%s} %s: the model of {start} %.200s has %s; leave the option out, or start another way", key,
                   gp_options_text(o, key), gp_request_start(o), has);
}

advgp_status gp_request_adopt(const gp_options *o, const gp_model *model, gp_train_options *t, advgp_error *err)
{
    const size_t J = model->spec.n_components;
    const gp_component_spec *c = model->components;
    size_t m = 0;
    for (size_t b = 0; b < J; b++) m += c[b].shape.m;
    bool usual = strcmp(model->method, "advgp") == 0 && J >= 1 && J <= GP_COMPONENTS_MAX;
    for (size_t b = 0; usual && b < J; b++)
        usual = c[b].kernel == c->kernel && c[b].map == &gp_map_cholesky && c[b].shape.m == m / J + (b < m % J);
    if (!usual) // the features of other maps are eigenvectors, which change with any number
        return gp_fail(
            err, ADVGP_EINVAL,
            "{start} %.200s: only a model of the method advgp with the map cholesky can be gone on from; start "
            "another way",
            gp_request_start(o));
    char has[64];
    snprintf(has, sizeof has, "%zu inducing inputs", m);
    if (gp_options_given(o, "inducing") && t->m != m) return contradicts(o, "inducing", has, err);
    snprintf(has, sizeof has, "%zu component%s", J, J == 1 ? "" : "s");
    if (gp_options_given(o, "components") && t->components && t->components != J)
        return contradicts(o, "components", has, err);
    if (gp_options_given(o, "kernel") && t->kernel != c->kernel) return contradicts(o, "kernel", c->kernel->name, err);
    if (gp_options_given(o, "map") && t->map != c->map) return contradicts(o, "map", c->map->name, err);
    if (gp_options_given(o, "trend") && t->trend != model->spec.trend)
        return contradicts(o, "trend", gp_trend_name(model->spec.trend), err);
    const size_t n = model->schema->n_directions;
    const bool none = gp_options_is(o, "directions", "none");
    snprintf(has, sizeof has, "%zu", n);
    if (!gp_options_is(o, "directions", "auto") && (none ? 0 : (size_t)gp_options_int(o, "directions")) != n)
        return contradicts(o, "directions", n ? has : "none", err);
    t->m = m, t->m_open = false, t->components = J, t->kernel = c->kernel, t->map = c->map,
    t->trend = model->spec.trend;
    return ADVGP_OK;
}

// ---- workers that sleep ---------------------------------------------------------------------------------------------

advgp_status gp_request_delays(const gp_options *o, size_t workers, double **delays, size_t *n_delays, advgp_error *err)
{
    char *const *items;
    const size_t n = gp_options_list(o, "delay-worker", &items);
    *n_delays = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t worker = (size_t)strtoul(items[i], NULL, 10);
        if (worker >= *n_delays) *n_delays = worker + 1;
    }
    if (*n_delays > workers)
        return gp_fail(err, ADVGP_EINVAL, "{delay-worker} names worker %zu, there are %zu, counted from 0",
                       *n_delays - 1, workers);
    *delays = gp_alloc(*n_delays, sizeof **delays);
    if (!*delays) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++)
        (void)gp_text_real(strchr(items[i], ':') + 1, &(*delays)[strtoul(items[i], NULL, 10)]);
    return ADVGP_OK;
}
