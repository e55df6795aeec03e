// golden_trace.c: whole runs: full-batch iterations, and the delayed schedule of Algorithm 1 replayed event by event.
#include "golden.h"

#include "model/qw.h"
#include "optim/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *doubles(size_t n)
{
    double *p = calloc(n ? n : 1, sizeof *p);
    if (!p) exit(1);
    return p;
}

typedef struct trace {
    golden_problem problem;
    gp_features *f;
    gp_pass *pass;
    gp_qw *qw;
    gp_theta_layout layout;
    const json_t *optimizer;
    const char *rule;
    gp_adadelta adadelta;
    gp_adam adam;
    double *grad;
    advgp_error err;
} trace;

static double gradient(trace *t, const double *theta, gp_rows rows, double *grad)
{
    double sum_g;
    golden_must(gp_pass_run(t->pass, theta, GP_PASS_GRADIENT, rows, &sum_g, grad, &t->err), &t->err, "pass");
    return sum_g;
}

// One server step from a gradient of all rows.
static void step(trace *t, const double *grad, double *theta)
{
    if (!strcmp(t->rule, "prox"))
        gp_step_prox(t->layout, golden_number(t->optimizer, "gamma"), grad, theta);
    else
        gp_step_adadelta(t->layout, &t->adadelta, grad, theta, NULL);
}

// q(w) first, at the present rest; then Adam on the rest with the gradient at the NEW q(w).
static void natural_then_adam(trace *t, double *theta)
{
    const gp_theta_layout l = t->layout;
    golden_must(gp_pass_run(t->pass, theta, GP_PASS_STATS, t->problem.rows, NULL, NULL, &t->err), &t->err, "pass");
    golden_must(gp_qw_natural(t->qw, gp_pass_stats(t->pass), 1, theta[0], golden_number(t->optimizer, "rate"),
                              theta + l.n_rest, theta + l.U, &t->err),
                &t->err, "natural step");
    gradient(t, theta, t->problem.rows, t->grad);
    gp_step_adam(&t->adam, l.n_rest, t->grad, theta);
}

static double neg_elbo(trace *t, const double *theta)
{
    double sum_g;
    golden_must(gp_pass_run(t->pass, theta, GP_PASS_STATS, t->problem.rows, &sum_g, NULL, &t->err), &t->err, "pass");
    return sum_g + gp_theta_kl(t->layout, theta, NULL);
}

static void synchronous(trace *t, const json_t *c, double *theta, golden_table *got)
{
    const size_t n = golden_size(c, "iterations"), size = t->layout.size;
    double *thetas = doubles((n + 1) * size), *bounds = doubles(n + 1);
    for (size_t i = 0; i <= n; i++) {
        memcpy(thetas + i * size, theta, size * sizeof(double));
        bounds[i] = neg_elbo(t, theta);
        if (i == n) break;
        if (!strcmp(t->rule, "natgrad_adam")) {
            natural_then_adam(t, theta);
        } else {
            gradient(t, theta, t->problem.rows, t->grad);
            step(t, t->grad, theta);
        }
    }
    golden_put(got, "theta_by_iteration", thetas, (n + 1) * size);
    golden_put(got, "neg_elbo_by_iteration", bounds, n + 1);
    free(thetas), free(bounds);
}

typedef struct worker {
    double *theta, *grad; // as pulled; as last pushed
    double *X, *y;
    gp_rows rows;
} worker;

static worker worker_of(const trace *t, const json_t *shard)
{
    const size_t d = t->f->d, n = json_array_size(shard);
    worker w = {
        .theta = doubles(t->layout.size), .grad = doubles(t->layout.size), .X = doubles(n * d), .y = doubles(n)};
    for (size_t i = 0; i < n; i++) {
        const size_t row = (size_t)json_integer_value(json_array_get(shard, i));
        memcpy(w.X + i * d, t->problem.rows.X.p + row * d, d * sizeof(double));
        w.y[i] = t->problem.rows.y[row];
    }
    w.rows = (gp_rows){gp_cmat_of(w.X, n, d), w.y, NULL};
    return w;
}

static void delayed(trace *t, const json_t *c, double *theta, golden_table *got)
{
    const json_t *shards = json_object_get(c, "shards"), *events = json_object_get(c, "events");
    const size_t n_workers = json_array_size(shards), size = t->layout.size, n_events = json_array_size(events);
    worker *workers = calloc(n_workers, sizeof *workers);
    double *thetas = doubles((n_events + 1) * size);
    size_t version = 0;
    if (!workers) exit(1);
    for (size_t k = 0; k < n_workers; k++) workers[k] = worker_of(t, json_array_get(shards, k));
    memcpy(thetas, theta, size * sizeof(double));
    for (size_t i = 0; i < n_events; i++) {
        const json_t *event = json_array_get(events, i);
        const char *kind = json_string_value(json_object_get(event, "ev"));
        const size_t k = (size_t)json_integer_value(json_object_get(event, "worker"));
        if (!strcmp(kind, "pull")) {
            memcpy(workers[k].theta, theta, size * sizeof(double));
        } else if (!strcmp(kind, "push")) {
            gradient(t, workers[k].theta, workers[k].rows, workers[k].grad);
        } else { // advance, with the newest push of every worker, worker 0 first
            memset(t->grad, 0, size * sizeof(double));
            for (size_t j = 0; j < n_workers; j++)
                for (size_t e = 0; e < size; e++) t->grad[e] += workers[j].grad[e];
            step(t, t->grad, theta);
            memcpy(thetas + ++version * size, theta, size * sizeof(double));
        }
    }
    golden_put(got, "theta_by_version", thetas, (version + 1) * size);
    golden_put(got, "final_acc_g", t->adadelta.acc_g, size);
    golden_put(got, "final_acc_u", t->adadelta.acc_u, size);
    for (size_t k = 0; k < n_workers; k++)
        free(workers[k].theta), free(workers[k].grad), free(workers[k].X), free(workers[k].y);
    free(workers), free(thetas);
}

static double setting(const json_t *optimizer, const char *key)
{
    return json_object_get(optimizer, key) ? golden_number(optimizer, key) : 0;
}

void golden_trace_case(const json_t *c, golden_table *got)
{
    const json_t *o = json_object_get(c, "optimizer");
    trace t = {.problem = golden_problem_of(c), .optimizer = o, .rule = json_string_value(json_object_get(o, "name"))};
    golden_array theta = golden_field(c, "theta0");
    golden_must(gp_features_new(&t.problem.spec, &t.f, &t.err), &t.err, "features");
    golden_must(gp_pass_new(t.f, 0, &t.pass, &t.err), &t.err, "pass");
    t.layout = gp_theta_layout_of(t.f);
    golden_must(gp_qw_new(t.layout.M, &t.qw, &t.err), &t.err, "q(w)");
    const size_t size = t.layout.size;
    t.grad = doubles(size);
    t.adadelta = (gp_adadelta){.decay = setting(o, "rho"),
                               .epsilon = setting(o, "eps"),
                               .damping = 1,
                               .acc_g = doubles(size),
                               .acc_u = doubles(size)};
    t.adam = (gp_adam){.rate = setting(o, "lr"),
                       .beta1 = setting(o, "beta1"),
                       .beta2 = setting(o, "beta2"),
                       .epsilon = setting(o, "eps"),
                       .m = doubles(size),
                       .v = doubles(size)};
    if (json_object_get(c, "events"))
        delayed(&t, c, theta.p, got);
    else
        synchronous(&t, c, theta.p, got);
    free(t.grad), free(t.adadelta.acc_g), free(t.adadelta.acc_u), free(t.adam.m), free(t.adam.v), free(theta.p);
    gp_qw_free(t.qw);
    gp_pass_free(t.pass);
    gp_features_free(t.f);
    golden_problem_free(&t.problem);
}
