// simulate.c: a world (sim/world.h) for a problem: its shards, its computer, the costs, and a look at the error
// now and then.
#include "sim/simulate.h"
#include "base/alloc.h"
#include "data/encode.h"
#include "run/run.h"
#include "sim/world.h"

#include <math.h>
#include <string.h>

enum { SCORE_ROWS = 20000, READ_ROWS = 4096 };

typedef struct simulation {
    const gp_sim_problem *p;
    const gp_sim_options *o;
    gp_schedule schedule; // settled
    gp_sim_result *r;
    gp_shards *cut; // a shard or more a worker
    size_t *sizes;  // [workers] where they are cut evenly
    double *weight; // [workers], costs alone
    gp_row_computer *rows;
    gp_reader reader;
    gp_features *f; // of the server's check, or of the smallest model where only costs are real
    gp_theta_layout layout;
    double *tiny;     // its theta
    size_t step_rows; // of all workers
    double next_point;
    bool stopped;
    advgp_status status; // of a score that failed
    advgp_error *err;
} simulation;

const char *gp_sim_limit_name(gp_sim_limit limit)
{
    static const char *const names[] = {[GP_LIMIT_WORKERS] = "workers",
                                        [GP_LIMIT_SERVER] = "server CPU",
                                        [GP_LIMIT_NETWORK] = "network",
                                        [GP_LIMIT_DELAY] = "delay"};
    return names[limit];
}

double gp_sim_time_to(const gp_sim_result *r, double rmse)
{
    for (size_t i = 0; i < r->n_points; i++)
        if (r->points[i].rmse <= rmse) return r->points[i].seconds;
    return INFINITY;
}

void gp_sim_result_fini(gp_sim_result *r)
{
    gp_free(r->points);
    gp_free(r->theta);
    r->points = NULL, r->theta = NULL;
    r->n_points = 0;
}

// ---- real gradients -------------------------------------------------------------------------------------------------

static advgp_status can_start(void *ctx, const double *before, double *theta, advgp_error *err)
{
    simulation *s = ctx;
    (void)before;
    return gp_features_can_set(s->f, theta, err);
}

static advgp_status look(simulation *s, const double *theta, double *rmse)
{
    gp_score score;
    const advgp_status st = gp_score_part(&s->p->learner->spec, theta, &s->reader, GP_STOP, SCORE_ROWS, s->p->schema,
                                          &score, s->err);
    *rmse = st == ADVGP_OK ? gp_score_rmse(&score) : NAN;
    return st;
}

static bool at_version(void *ctx, double time, uint64_t version, const double *theta)
{
    simulation *s = ctx;
    gp_sim_result *r = s->r;
    s->stopped = s->o->stop && s->o->stop(s->o->stop_ctx);
    if (s->stopped) return false;
    if (!r->points || time < s->next_point || r->n_points >= s->o->points) return true;
    double rmse;
    s->status = look(s, theta, &rmse);
    if (s->status != ADVGP_OK) return false;
    r->points[r->n_points++] = (gp_sim_point){time, version, rmse};
    const double every = s->o->seconds / (double)s->o->points;
    while (s->next_point <= time) s->next_point += every;
    if (!(s->o->rmse > 0 && rmse <= s->o->rmse)) return true;
    r->reached = time;
    return false;
}

static advgp_status cut_rows(simulation *s)
{
    const size_t W = s->schedule.workers, n = gp_shards_rows(s->p->shards, GP_TRAIN);
    if (s->o->cut) return gp_shards_cut(s->p->shards, W, s->o->cut, &s->cut, s->err);
    if (n < W) return gp_fail(s->err, ADVGP_EDATA, "%zu training rows are not enough for %zu workers", n, W);
    s->sizes = gp_alloc(W, sizeof *s->sizes);
    if (!s->sizes) return gp_no_memory(s->err);
    for (size_t k = 0; k < W; k++) s->sizes[k] = n / W + (k < n % W);
    return gp_shards_cut(s->p->shards, W, s->sizes, &s->cut, s->err);
}

static size_t most_rows(const simulation *s)
{
    size_t most = 0;
    for (size_t k = 0; k < s->schedule.workers; k++)
        if (s->cut->rows[k] > most) most = s->cut->rows[k];
    return most;
}

static advgp_status with_gradients(simulation *s, gp_world_options *w)
{
    advgp_status st = cut_rows(s);
    if (st != ADVGP_OK) return st;
    const size_t most = most_rows(s), batch = s->schedule.batch && s->schedule.batch < most ? s->schedule.batch : most;
    const gp_feature_spec *spec = &s->p->learner->spec;
    st = gp_features_new(spec, &s->f, s->err);
    if (st != ADVGP_OK) return st;
    s->layout = s->p->learner->layout;
    s->step_rows = batch * s->schedule.workers;
    gp_row_computer_options co = {
        .shards = s->cut, .spec = spec, .schedule = s->schedule, .range = gp_range_all(s->layout)};
    co.schedule.batch = batch, co.schedule.mixed = true;
    st = gp_row_computer_new(&co, &s->rows, s->err);
    if (st == ADVGP_OK) st = gp_reader_new(s->p->shards, READ_ROWS, &s->reader, s->err);
    if (st != ADVGP_OK) return st;
    s->r->points = gp_alloc(s->o->points ? s->o->points : 1, sizeof *s->r->points);
    if (!s->r->points) return gp_no_memory(s->err);
    w->computer = gp_row_computer_of(s->rows);
    w->server.theta = s->p->learner->theta;
    w->server.shard_weight = s->cut->weight;
    w->server.jump = gp_bound_jump, w->server.jump_patience = gp_jump_patience;
    w->server.check = can_start, w->server.check_ctx = s;
    w->costs.compute = s->o->costs.push + s->o->costs.row * (double)batch;
    s->r->rows = (double)batch; // a push; see finish
    return ADVGP_OK;
}

// ---- costs alone ----------------------------------------------------------------------------------------------------

// Any push does: the smallest model, zeros, and the bytes and seconds of the real one.
static advgp_status no_gradient(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    const simulation *s = ctx;
    (void)err;
    const size_t n = s->schedule.rule->push_size(s->layout, gp_range_all(s->layout));
    memset(push, 0, n * sizeof *push);
    double rows = 0;
    for (size_t i = 0; i < work->n_shards; i++) rows += s->weight[work->shards[i]];
    *done = (gp_work_done){.shard_weight = rows, .batch_weight = rows, .rows = 1, .n_values = n};
    return ADVGP_OK;
}

static advgp_status with_costs_alone(simulation *s, gp_world_options *w)
{
    const gp_component_spec component = {&gp_kernel_ard_rbf, &gp_map_cholesky, {.m = 1}};
    const gp_feature_spec spec = {.d = 1, .n_components = 1, .components = &component, .jitter = 1e-6};
    const size_t W = s->schedule.workers;
    const double rows = (double)s->o->rows / (double)W;
    const advgp_status st = gp_features_new(&spec, &s->f, s->err);
    if (st != ADVGP_OK) return st;
    s->layout = gp_theta_layout_of(s->f);
    s->tiny = gp_alloc(s->layout.size, sizeof(double));
    s->weight = gp_alloc(W, sizeof(double));
    if (!s->tiny || !s->weight) return gp_no_memory(s->err);
    gp_theta_start_q(s->layout, s->tiny);
    for (size_t k = 0; k < W; k++) s->weight[k] = rows;
    const double batch = fmin(rows, s->schedule.batch ? (double)s->schedule.batch : rows);
    w->computer = (gp_computer){.ctx = s, .compute = no_gradient};
    w->server.theta = s->tiny;
    w->server.shard_weight = s->weight;
    w->costs.compute = s->o->costs.push + s->o->costs.row * batch;
    w->costs.push_bytes = s->r->push_bytes;
    w->costs.parameter_bytes = s->r->parameter_bytes;
    s->r->rows = batch;
    return ADVGP_OK;
}

// ---- both -----------------------------------------------------------------------------------------------------------

static void message_sizes(const simulation *s)
{
    const gp_theta_layout l = s->p->learner->layout;
    const gp_message push = {
        .kind = GP_PUSH, .n_values = s->schedule.rule->push_size(l, gp_range_all(l)), .n_shards = 1};
    const gp_message parameters = {.kind = GP_PARAMETERS, .n_values = l.size, .n_shards = 1};
    s->r->push_bytes = (double)gp_message_size(&push);
    s->r->parameter_bytes = (double)gp_message_size(&parameters);
}

static gp_world_options world_of(const simulation *s)
{
    const gp_sim_options *o = s->o;
    return (gp_world_options){
        .seed = s->schedule.seed,
        .n_workers = s->schedule.workers,
        .rule_options = {.age_power = o->age_power >= 0 ? o->age_power : gp_schedule_age_power(&s->schedule),
                         .natural_rate = s->schedule.natural_rate,
                         .adam_rate = s->schedule.adam_rate,
                         .decay = gp_adadelta_decay,
                         .epsilon = gp_adadelta_epsilon},
        .server = {.schedule = s->schedule, .n_shards = s->schedule.workers, .workers_max = s->schedule.workers},
        .costs = {.spread = o->spread,
                  .slowness = o->slowness,
                  .sleep = o->sleep,
                  .link = {.latency = o->latency, .bandwidth = o->bandwidth},
                  .server_bandwidth = o->server_bandwidth,
                  .server_message = o->costs.message,
                  .server_byte = o->costs.byte,
                  .server_step = o->costs.step,
                  .server_sum = o->costs.sum},
        .versions = o->versions ? o->versions : UINT64_MAX,
        .seconds = o->seconds,
        .lawless = true,
    };
}

// What is busiest; nobody for half of the time: then all wait for something that is under way.
static gp_sim_limit limit_of(const gp_sim_result *r)
{
    const double workers = 1 - r->waiting, network = fmax(r->line_in, r->line_out);
    if (fmax(workers, fmax(r->server, network)) < 0.5) return GP_LIMIT_DELAY;
    if (workers >= fmax(r->server, network)) return GP_LIMIT_WORKERS;
    return r->server >= network ? GP_LIMIT_SERVER : GP_LIMIT_NETWORK;
}

static void account(const simulation *s, const gp_world_outcome *out)
{
    gp_sim_result *r = s->r;
    const double T = fmax(out->seconds, 1e-300), line = s->o->server_bandwidth * T, versions = (double)out->version;
    double busy = 0, wait = 0;
    r->seconds = out->end == GP_END_TIME ? fmin(out->seconds, s->o->seconds) : out->seconds; // the last event is later
    r->versions = out->version;
    for (size_t k = 0; k < out->n_workers; k++) {
        busy += out->workers[k].busy, wait += out->workers[k].wait;
        r->pushes += out->workers[k].pushes;
    }
    r->rows *= (double)r->pushes;
    r->waiting = busy + wait > 0 ? wait / (busy + wait) : 0;
    r->server = fmin(1, out->server_busy / T);
    r->line_in = line > 0 ? fmin(1, out->net.bytes_up / line) : 0;
    r->line_out = line > 0 ? fmin(1, out->net.bytes_down / line) : 0;
    r->used = versions > 0 ? out->used / versions : 0;
    r->age = versions > 0 ? out->age / versions : 0;
    r->progress = out->progress / T;
    r->counts = out->counts;
    r->limit = limit_of(r);
}

static advgp_status check(const gp_sim_options *o, advgp_error *err)
{
    if (!o->schedule.workers) return gp_fail(err, ADVGP_EINVAL, "a simulation of no workers");
    if (!(o->seconds > 0) && !o->versions)
        return gp_fail(err, ADVGP_EINVAL, "a simulation needs an end: a time or a number of versions");
    if (o->points && !(o->seconds > 0)) return gp_fail(err, ADVGP_EINVAL, "points are spread over a time: give one");
    if (!o->gradients && (o->rmse > 0 || o->schedule.filter > 0 || o->points || o->cut))
        return gp_fail(err, ADVGP_EINVAL, "an error, a filter and unequal shards need real gradients");
    if (!o->gradients && o->rows < o->schedule.workers)
        return gp_fail(err, ADVGP_EINVAL, "%zu rows are not enough for %zu workers", o->rows, o->schedule.workers);
    return ADVGP_OK;
}

static void close_simulation(simulation *s)
{
    gp_reader_fini(&s->reader);
    gp_row_computer_free(s->rows);
    gp_shards_free(s->cut);
    gp_features_free(s->f);
    gp_free(s->sizes);
    gp_free(s->weight);
    gp_free(s->tiny);
}

advgp_status gp_simulate(const gp_sim_problem *p, const gp_sim_options *o, gp_sim_result *r, advgp_error *err)
{
    *r = (gp_sim_result){.rmse = NAN, .reached = INFINITY};
    simulation s = {.p = p, .o = o, .schedule = gp_schedule_settled(o->schedule), .r = r, .err = err};
    gp_world_outcome out = {0};
    advgp_status st = check(o, err);
    if (st != ADVGP_OK) return st;
    message_sizes(&s);
    gp_world_options w = world_of(&s);
    st = o->gradients ? with_gradients(&s, &w) : with_costs_alone(&s, &w);
    if (st == ADVGP_OK) {
        w.rule_options.layout = s.layout;
        w.rule_options.range = gp_range_all(s.layout);
        w.rule_options.unit = gp_run_unit(s.f, s.step_rows);
        w.at_version = at_version, w.ctx = &s;
        s.next_point = o->points ? o->seconds / (double)o->points : 0;
        st = gp_world_run(&w, &out, err);
    }
    if (st == ADVGP_OK) st = s.status;
    if (st == ADVGP_OK && s.stopped) st = gp_fail(err, ADVGP_ESTOPPED, "stopped while a cluster was simulated");
    if (st == ADVGP_OK) account(&s, &out);
    if (st == ADVGP_OK && o->gradients) st = look(&s, out.theta, &r->rmse);
    if (st == ADVGP_OK && o->rmse > 0 && r->rmse <= o->rmse) r->reached = fmin(r->reached, r->seconds);
    if (st == ADVGP_OK && o->gradients) r->theta = out.theta, out.theta = NULL;
    gp_world_outcome_fini(&out);
    close_simulation(&s);
    if (st != ADVGP_OK) gp_sim_result_fini(r);
    return st;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static advgp_status add_rows(gp_source *source, const gp_schema *schema, gp_encode_mode mode, const gp_split *split,
                             gp_memory_builder *builder, advgp_error *err)
{
    gp_encoder *encoder = NULL;
    advgp_status st = gp_encoder_new(schema, source, mode, split, &encoder, err);
    if (st == ADVGP_OK) st = gp_encode_all(encoder, source, gp_memory_builder_add, builder, NULL, NULL, err);
    gp_encoder_free(encoder);
    return st;
}

advgp_status gp_sim_rows(gp_source *source, gp_source *test, const char *target, uint64_t seed, gp_shards **shards,
                         gp_schema **schema, advgp_error *err)
{
    const gp_schema_options options = {.target = target};
    gp_split split;
    gp_memory_builder *builder = NULL;
    *shards = NULL, *schema = NULL;
    advgp_status st = gp_split_parse(test ? "0" : "0.1", seed, &split, err);
    if (st == ADVGP_OK) st = gp_schema_fit(source, &options, &split, NULL, NULL, NULL, schema, err);
    if (st == ADVGP_OK)
        st = gp_memory_builder_new((*schema)->d, gp_shards_suggest((*schema)->n_rows), false, true, seed, &builder,
                                   err);
    if (st == ADVGP_OK) st = add_rows(source, *schema, GP_ENCODE_TRAIN, &split, builder, err);
    if (st == ADVGP_OK && test) st = add_rows(test, *schema, GP_ENCODE_EVALUATE, NULL, builder, err);
    if (st == ADVGP_OK)
        st = gp_memory_shards_take(builder, shards, err);
    else
        gp_memory_builder_free(builder);
    if (st == ADVGP_OK) return st;
    gp_schema_free(*schema);
    *schema = NULL;
    return st;
}
