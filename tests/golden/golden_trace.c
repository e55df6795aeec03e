// golden_trace.c: whole runs: full-batch iterations, and the delayed schedule of Algorithm 1, its events told one by
// one to the server and the workers of src/ps.
#include "golden.h"

#include "model/qw.h"
#include "ps/server.h"
#include "ps/worker.h"

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

static double gradient(trace *t, const double *theta, gp_batch rows, double *grad)
{
    double sum_g;
    golden_must(gp_pass_run(t->pass, theta, GP_PASS_GRADIENT, rows, &sum_g, grad, &t->err), &t->err, "pass");
    return sum_g;
}

// One server step from a gradient of all rows.
static void step(trace *t, const double *grad, double *theta)
{
    if (!strcmp(t->rule, "prox"))
        gp_step_prox(t->layout, gp_range_all(t->layout), golden_number(t->optimizer, "gamma"), grad, theta);
    else
        gp_step_adadelta(t->layout, gp_range_all(t->layout), &t->adadelta, grad, theta, NULL);
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

// ---- delayed --------------------------------------------------------------------------------------------------------
// Pull is the arrival of parameters at a worker, push what it sends back; when the server advances is its own decision,
// and it must be the trace's.

typedef struct delayed_run {
    trace *t;
    gp_rule *rule;
    gp_server *server;
    gp_worker *workers[16];
    gp_message waiting[16]; // parameters the server has given and the worker has not pulled
    double *parameters;     // [16 x size], what they point to
    uint32_t *shards;       // [16]
    bool has_waiting[16];
    double *thetas;
    size_t version;
    gp_batch rows[16]; // of worker k, which is shard k
} delayed_run;

static gp_batch rows_of(const trace *t, const json_t *shard)
{
    const size_t d = t->f->d, n = json_array_size(shard);
    double *X = doubles(n * d), *y = doubles(n);
    for (size_t i = 0; i < n; i++) {
        const size_t row = (size_t)json_integer_value(json_array_get(shard, i));
        memcpy(X + i * d, t->problem.rows.X.p + row * d, d * sizeof(double));
        y[i] = t->problem.rows.y[row];
    }
    return (gp_batch){gp_cmat_of(X, n, d), y, NULL};
}

static advgp_status compute(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    (void)err;
    delayed_run *r = ctx;
    trace *t = r->t;
    if (work->n_shards != 1) exit(1);
    const gp_batch rows = r->rows[work->shards[0]];
    const double sum_g = gradient(t, work->theta, rows, t->grad);
    gp_rule_prox.fill(t->layout, gp_range_all(t->layout), gp_pass_stats(t->pass), sum_g, t->grad, push);
    const double n = (double)rows.X.rows;
    *done = (gp_work_done){n, n, rows.X.rows, 1 + t->layout.size};
    return ADVGP_OK;
}

// Messages between the machines: the server's answers wait until the trace says pull, all else arrives at once.
static void deliver(delayed_run *r)
{
    const size_t size = r->t->layout.size;
    gp_message m;
    size_t peer;
    while (gp_server_next(r->server, 0, &peer, &m)) {
        if (m.kind == GP_PARAMETERS) {
            r->waiting[peer] = m;
            r->waiting[peer].values = memcpy(r->parameters + peer * size, m.values, size * sizeof(double));
            r->shards[peer] = m.shards[0];
            r->waiting[peer].shards = r->shards + peer;
            r->has_waiting[peer] = true;
            continue;
        }
        golden_must(gp_worker_on_message(r->workers[peer], 0, &m, &r->t->err), &r->t->err, "worker");
    }
}

static void send_all(delayed_run *r, size_t k)
{
    gp_message m;
    while (gp_worker_next(r->workers[k], 0, &m)) {
        golden_must(gp_server_on_message(r->server, 0, k, &m, &r->t->err), &r->t->err, "server");
        deliver(r);
    }
}

static void start_machines(delayed_run *r, size_t n_workers, const json_t *c, const double *theta)
{
    trace *t = r->t;
    double weight[16];
    const gp_rule_options rule = {.layout = t->layout,
                                  .range = gp_range_all(t->layout),
                                  .decay = t->adadelta.decay,
                                  .epsilon = t->adadelta.epsilon,
                                  .gamma = !strcmp(t->rule, "prox") ? golden_number(t->optimizer, "gamma") : 0};
    golden_must(gp_rule_prox.make(&rule, &r->rule, &t->err), &t->err, "rule");
    for (size_t k = 0; k < n_workers; k++) weight[k] = (double)r->rows[k].X.rows;
    const gp_server_options options = {.rule = r->rule,
                                       .theta = theta,
                                       .n_shards = n_workers,
                                       .shard_weight = weight,
                                       .schedule.workers = n_workers,
                                       .workers_max = n_workers,
                                       .schedule.max_delay = golden_size(c, "tau")};
    golden_must(gp_server_new(&options, &r->server, &t->err), &t->err, "server");
    for (size_t k = 0; k < n_workers; k++) {
        const gp_worker_options wo = {.size = t->layout.size,
                                      .push_size = 1 + t->layout.size,
                                      .n_shards = n_workers,
                                      .wish = (uint32_t)k,
                                      .token = 1 + k};
        golden_must(gp_worker_new(&wo, &r->workers[k], &t->err), &t->err, "worker");
        send_all(r, k);
    }
    for (size_t k = 0; k < n_workers; k++) send_all(r, k); // they pull
}

static void replay(delayed_run *r, const json_t *events)
{
    const gp_computer computer = {.ctx = r, .compute = compute};
    const size_t size = r->t->layout.size;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const char *kind = json_string_value(json_object_get(event, "ev"));
        const size_t k = (size_t)json_integer_value(json_object_get(event, "worker"));
        if (!strcmp(kind, "pull")) {
            if (!r->has_waiting[k] || r->waiting[k].version != golden_size(event, "version")) {
                fprintf(stderr, "the server has no parameters of the trace's version for worker %zu\n", k);
                exit(1);
            }
            golden_must(gp_worker_on_message(r->workers[k], 0, &r->waiting[k], &r->t->err), &r->t->err, "pull");
            r->has_waiting[k] = false;
        } else if (!strcmp(kind, "push")) {
            golden_must(gp_worker_compute(r->workers[k], &computer, &r->t->err), &r->t->err, "compute");
            send_all(r, k);
        } else {
            memcpy(r->thetas + ++r->version * size, gp_server_theta(r->server), size * sizeof(double));
        }
        if (gp_server_version(r->server) > r->version + 1) {
            fprintf(stderr, "the server is two versions ahead of the trace\n");
            exit(1);
        }
    }
}

static void delayed(trace *t, const json_t *c, const double *theta, golden_table *got)
{
    const json_t *shards = json_object_get(c, "shards"), *events = json_object_get(c, "events");
    const size_t n_workers = json_array_size(shards), size = t->layout.size, n_events = json_array_size(events);
    if (n_workers > 16) exit(1);
    uint32_t own[16];
    delayed_run r = {
        .t = t, .thetas = doubles((n_events + 1) * size), .parameters = doubles(n_workers * size), .shards = own};
    for (size_t k = 0; k < n_workers; k++) r.rows[k] = rows_of(t, json_array_get(shards, k));
    memcpy(r.thetas, theta, size * sizeof(double));
    start_machines(&r, n_workers, c, theta);
    replay(&r, events);
    golden_put(got, "theta_by_version", r.thetas, (r.version + 1) * size);
    const gp_rule_state state = r.rule->ops->state(r.rule);
    for (size_t i = 0; i < state.n_arrays; i++)
        golden_put(got, i ? "final_acc_u" : "final_acc_g", state.arrays[i].values, size);
    for (size_t k = 0; k < n_workers; k++) {
        free((double *)(uintptr_t)r.rows[k].X.p), free((double *)(uintptr_t)r.rows[k].y);
        gp_worker_free(r.workers[k]);
    }
    gp_server_free(r.server);
    gp_rule_free(r.rule);
    free(r.thetas), free(r.parameters);
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
