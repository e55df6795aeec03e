// world.c: the event queue, the workers, the faults.
#include "sim/world.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "ps/server_copy.h"
#include "sim/events.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef enum event_kind { START, TICK, COMPUTED, SERVER_TICK, SERVER_WORK, FAULT, REPAIR } event_kind;

// A worker, its machine while it lives, and what it is doing.
typedef struct sim_worker {
    gp_endpoint *endpoint;
    gp_worker *machine; // NULL: it is dead
    uint64_t life;
    gp_rng rng; // of its computing times
    int cuts;
    size_t doomed;           // 1 + the fault that its next push brings
    bool computing, in_vain; // the work it computes on is not wanted any more
    double since;            // when it began to compute or to wait
    bool ended;              // it heard BYE
    // What it computed last, for the law of copies.
    uint32_t id;
    uint64_t sequence;
    bool faithful;
} sim_worker;

typedef struct world {
    const gp_world_options *o;
    gp_world_outcome *out;
    advgp_error *err;
    advgp_status status;
    double now;
    gp_events queue;
    uint64_t tokens;
    gp_net *net;
    gp_endpoint **endpoints; // [n_workers + 1]
    sim_worker *workers;
    gp_message_limits limits;
    void *bytes;   // room for one message
    size_t size;   // of theta
    gp_rule *rule; // NULL with the server: it is down
    gp_server *server;
    uint64_t server_life;
    double server_since; // it was started, and has not begun yet
    double server_free;
    bool server_planned;
    gp_rng checkpoint_rng;
    gp_server_copy checkpoint;
    gp_watch *watch; // NULL: lawless
    size_t n_used;   // in the last step's sum
    double *history; // [versions + 2 x size], with check_copies
    uint64_t newest; // version, of the history too
    bool is_last;    // all versions are made, and the sum over all rows is due
    double quiet;    // since when nothing was done though it could be
    bool done, over; // the run is; so is the farewell
} world;

// ---- small things ---------------------------------------------------------------------------------------------------

static void note(world *w, uint64_t a, uint64_t b)
{
    w->out->hash = gp_hash_u64(w->out->hash ^ a, b);
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

// The first failure ends the world.
static void fail_with(world *w, advgp_status status)
{
    if (w->status == ADVGP_OK && status != ADVGP_OK) {
        w->status = status;
        w->out->end = GP_END_FAILED;
        w->over = true;
    }
}

static void plan(world *w, double time, event_kind what, size_t who, uint64_t life)
{
    if (!gp_events_plan(&w->queue, time, (int)what, who, life)) fail_with(w, gp_no_memory(w->err));
}

// Says a message by the wire; the bytes are those of a real run.
static void transmit(world *w, gp_endpoint *from, size_t peer, const gp_message *m, double departure)
{
    const size_t n = gp_message_size(m);
    gp_message_encode(m, w->bytes);
    uint64_t head[2];
    memcpy(head, w->bytes, sizeof head); // magic, kind, flags, and a checksum of the rest
    note(w, head[0], head[1]);
    double wire = (double)n;
    if (m->kind == GP_PUSH && w->o->costs.push_bytes > 0) wire = w->o->costs.push_bytes;
    if (m->kind == GP_PARAMETERS && w->o->costs.parameter_bytes > 0) wire = w->o->costs.parameter_bytes;
    fail_with(w, gp_net_send(from, peer, w->bytes, n, departure, wire, w->err));
}

// The next message that arrived; false: none, or it is none of ours.
static bool fetch(world *w, gp_endpoint *at, size_t *peer, gp_message *m, size_t *n)
{
    const void *bytes;
    if (!gp_net_take(at, peer, &bytes, n)) return false;
    const advgp_status st = gp_message_decode(bytes, *n, &w->limits, m, w->err);
    fail_with(w, st);
    return st == ADVGP_OK;
}

// ---- workers --------------------------------------------------------------------------------------------------------

static double computing_time(world *w, size_t k)
{
    const gp_world_costs *c = &w->o->costs;
    const double u = 2 * gp_rng_uniform(&w->workers[k].rng) - 1;
    return c->compute * (1 + c->spread * u) * (c->slowness ? c->slowness[k] : 1) + (c->sleep ? c->sleep[k] : 0);
}

static void worker_dies(world *w, size_t k)
{
    sim_worker *p = &w->workers[k];
    if (!p->machine) return;
    gp_world_worker *stats = &w->out->workers[k];
    *(p->computing ? &stats->busy : &stats->wait) += w->now - p->since;
    stats->resends += gp_worker_resends(p->machine);
    gp_worker_free(p->machine);
    p->machine = NULL;
    p->computing = p->in_vain = false;
    p->life++;
    gp_net_clear(w->net, k + 1);
}

// After anything: what it has to say, and whether it has work.
static void worker_goes_on(world *w, size_t k)
{
    sim_worker *p = &w->workers[k];
    gp_message m;
    while (gp_worker_next(p->machine, w->now, &m)) transmit(w, p->endpoint, 0, &m, w->now);
    const gp_worker_state state = gp_worker_state_of(p->machine);
    if (state == GP_WORKER_ENDED) p->ended = true;
    if (p->computing) {
        p->in_vain |= state != GP_WORKER_READY;
    } else if (state == GP_WORKER_READY) {
        w->out->workers[k].wait += w->now - p->since;
        p->computing = true, p->in_vain = false;
        p->since = w->now;
        plan(w, w->now + computing_time(w, k), COMPUTED, k, p->life);
    }
}

static double tick_of(const gp_world_options *o)
{
    const double a = o->resend > 0 ? o->resend : INFINITY, b = o->heartbeat > 0 ? o->heartbeat : INFINITY;
    return fmin(a, b) / 2;
}

static void worker_starts(world *w, size_t k)
{
    sim_worker *p = &w->workers[k];
    const gp_world_options *o = w->o;
    if (p->machine || p->ended || w->done) return;
    const gp_worker_options wo = {
        .size = w->size,
        .push_size = o->server.schedule.rule->push_size(o->rule_options.layout, o->rule_options.range),
        .n_shards = o->server.n_shards,
        .wish = o->any_place ? GP_ANY_WORKER : (uint32_t)k,
        .run = {o->server.run[0], o->server.run[1]},
        .fingerprint = o->server.fingerprint,
        .token = gp_hash_u64(o->seed, ++w->tokens),
        .resend = o->resend,
        .heartbeat = o->heartbeat};
    const advgp_status st = gp_worker_new(&wo, &p->machine, w->err);
    fail_with(w, st);
    if (st != ADVGP_OK) return;
    p->since = w->now;
    worker_goes_on(w, k);
    if (isfinite(tick_of(o))) plan(w, w->now + tick_of(o), TICK, k, p->life);
}

static void worker_hears(world *w, size_t k)
{
    sim_worker *p = &w->workers[k];
    size_t peer, n;
    gp_message m;
    if (!p->machine) {
        gp_net_clear(w->net, k + 1);
        return;
    }
    while (p->machine && gp_net_has(w->net, k + 1) && fetch(w, p->endpoint, &peer, &m, &n)) {
        advgp_error why = {0};
        if (gp_worker_on_message(p->machine, w->now, &m, &why) == ADVGP_OK) {
            worker_goes_on(w, k);
            continue;
        }
        w->out->workers[k].refused++;
        worker_dies(w, k);
        if (w->o->restart_refused > 0) plan(w, w->now + w->o->restart_refused, START, k, p->life);
    }
}

// Wraps the caller's computer: are these the parameters of that version?
typedef struct faithful_computer {
    world *w;
    sim_worker *p;
} faithful_computer;

static bool is_faithful(const world *w, const gp_work *work)
{
    if (!w->history) return true;
    if (work->version > w->newest) return false;
    const double *theta = w->history + work->version * w->size;
    const double far = w->o->server.schedule.filter / fmax((double)work->version, 1);
    for (size_t i = 0; i < w->size; i++)
        if (!(fabs(work->theta[i] - theta[i]) <= far)) return false;
    return true;
}

static advgp_status compute(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    const faithful_computer *f = ctx;
    f->p->id = work->worker, f->p->sequence = work->sequence;
    f->p->faithful = is_faithful(f->w, work);
    const gp_computer *computer = &f->w->o->computer;
    return computer->compute(computer->ctx, work, push, done, err);
}

static void worker_computed(world *w, size_t k)
{
    sim_worker *p = &w->workers[k];
    w->out->workers[k].busy += w->now - p->since;
    p->since = w->now;
    p->computing = false;
    if (!p->in_vain) {
        faithful_computer f = {w, p};
        const gp_computer computer = {.ctx = &f, .compute = compute};
        const advgp_status st = gp_worker_compute(p->machine, &computer, w->err);
        fail_with(w, st);
        if (st != ADVGP_OK) return;
        w->out->workers[k].pushes++;
    }
    worker_goes_on(w, k);
}

// ---- the server -----------------------------------------------------------------------------------------------------

// The machine that said a push is known by the way it came.
static void check_copy(world *w, const gp_message *push)
{
    const sim_worker *p = &w->workers[gp_server_member(w->server, push->worker).peer - 1];
    if (p->id == push->worker && p->sequence == push->sequence && !p->faithful) gp_watch_broken(w->watch, GP_LAW_COPY);
}

static void on_event(void *ctx, const gp_ps_event *e)
{
    world *w = ctx;
    if (w->watch) gp_watch_event(w->watch, e);
    if (w->watch && e->kind == GP_EVENT_PUSH && !e->dropped) check_copy(w, e->push);
    if (e->kind == GP_EVENT_MOVED) w->out->moved += e->from != GP_NOBODY;
    if (e->kind == GP_EVENT_COLLECTED) w->done = true;
    if (e->kind != GP_EVENT_ADVANCE && e->kind != GP_EVENT_COLLECT) return;
    const double *theta = gp_server_theta(w->server);
    w->newest = e->version;
    w->quiet = w->now;
    if (w->history && e->version <= w->o->versions + 1)
        memcpy(w->history + e->version * w->size, theta, w->size * sizeof(double));
    if (e->kind == GP_EVENT_COLLECT) return;
    w->out->version = e->version;
    w->n_used = e->n_used;
    w->out->used += (double)e->n_used;
    w->out->age += e->age;
    if (!e->rolled_back) w->out->progress += pow(1 + e->age, -w->o->rule_options.age_power);
    memcpy(w->out->theta, theta, w->size * sizeof(double));
    if (w->o->at_version && !w->o->at_version(w->o->ctx, w->now, e->version, theta)) {
        w->out->end = GP_END_CALLBACK;
        w->done = true;
    }
    if (e->version < w->o->versions) return;
    w->is_last = w->o->collect;
    w->done |= !w->o->collect;
}

static void add_counts(gp_server_counts *sum, gp_server_counts c)
{
    sum->duplicates += c.duplicates, sum->dropped += c.dropped, sum->refused += c.refused;
    sum->rolled_back += c.rolled_back, sum->lost += c.lost, sum->joined += c.joined;
}

static void server_dies(world *w)
{
    if (!w->server) return;
    add_counts(&w->out->counts, gp_server_count(w->server));
    gp_server_free(w->server);
    gp_rule_free(w->rule);
    w->server = NULL, w->rule = NULL;
    w->server_life++;
    w->server_planned = false;
    gp_net_clear(w->net, 0);
}

static void keep_checkpoint(world *w)
{
    gp_server_copy_fini(&w->checkpoint);
    fail_with(w, gp_server_copy_take(w->server, w->rule, w->rule->options.range, &w->checkpoint, w->err));
}

static double server_tick_of(const gp_world_options *o)
{
    const double a = o->server.lost_after > 0 ? o->server.lost_after : INFINITY;
    const double b = o->begin_after > 0 ? o->begin_after : INFINITY;
    return fmin(a, b) / 4;
}

static advgp_status server_starts(world *w, bool again)
{
    gp_server_options o = w->o->server;
    advgp_status st = w->o->server.schedule.rule->make(&w->o->rule_options, &w->rule, w->err);
    if (st != ADVGP_OK) return st;
    o.rule = w->rule;
    o.event = on_event, o.event_ctx = w;
    st = gp_server_new(&o, &w->server, w->err);
    if (st == ADVGP_OK && again) st = gp_server_copies_restore(&w->checkpoint, 1, w->server, w->rule, w->err);
    if (st == ADVGP_OK) st = gp_server_allow(w->server, w->o->versions, w->err);
    if (st != ADVGP_OK) return st;
    w->newest = w->out->version = gp_server_version(w->server);
    w->is_last = w->o->collect && w->newest >= w->o->versions;
    if (w->watch) gp_watch_restart(w->watch, w->out->version);
    keep_checkpoint(w); // so that this generation does not come again
    w->server_since = w->server_free = w->now;
    if (isfinite(server_tick_of(w->o))) plan(w, w->now + server_tick_of(w->o), SERVER_TICK, 0, w->server_life);
    return ADVGP_OK;
}

// After it was told anything at this moment, which took `seconds`: the laws, and its answers one after the other.
static void server_goes_on(world *w, double seconds)
{
    const gp_world_costs *c = &w->o->costs;
    gp_message m;
    size_t peer;
    double t = w->now + seconds;
    if (w->watch) gp_watch_server(w->watch, w->server);
    if (w->is_last) gp_server_collect(w->server, gp_server_theta(w->server), GP_FLAG_ALL_ROWS, 0);
    w->is_last = false;
    if (w->done && !w->over) gp_server_end(w->server);
    while (gp_server_next(w->server, w->now, &peer, &m)) {
        const double bytes = m.kind == GP_PARAMETERS && c->parameter_bytes > 0 ? c->parameter_bytes
                                                                               : (double)gp_message_size(&m);
        t += c->server_message + c->server_byte * bytes;
        transmit(w, w->endpoints[0], peer, &m, t);
    }
    w->out->server_busy += t - w->now;
    w->server_free = t;
}

static void plan_server(world *w)
{
    if (!w->server) gp_net_clear(w->net, 0);
    if (!w->server || w->server_planned || !gp_net_has(w->net, 0)) return;
    w->server_planned = true;
    plan(w, fmax(w->now, w->server_free), SERVER_WORK, 0, w->server_life);
}

static void server_hears(world *w)
{
    const gp_world_costs *c = &w->o->costs;
    size_t peer, n;
    gp_message m;
    w->server_planned = false;
    if (!fetch(w, w->endpoints[0], &peer, &m, &n)) return;
    const uint64_t version = gp_server_version(w->server);
    fail_with(w, gp_server_on_message(w->server, w->now, peer, &m, w->err));
    const double bytes = m.kind == GP_PUSH && c->push_bytes > 0 ? c->push_bytes : (double)n;
    const bool stepped = gp_server_version(w->server) > version;
    const double step = stepped ? c->server_step + c->server_sum * (double)w->n_used : 0;
    server_goes_on(w, c->server_message + c->server_byte * bytes + step);
    if (!w->done && w->o->checkpoint_chance > 0 && gp_rng_uniform(&w->checkpoint_rng) < w->o->checkpoint_chance)
        keep_checkpoint(w);
    plan_server(w);
}

static void server_ticks(world *w)
{
    fail_with(w, gp_server_on_tick(w->server, w->now, w->err));
    const bool waited = w->o->begin_after > 0 && w->now - w->server_since >= w->o->begin_after;
    if (waited && !gp_server_begun(w->server) && gp_server_live(w->server))
        fail_with(w, gp_server_begin(w->server, w->err));
    server_goes_on(w, 0);
    plan(w, w->now + server_tick_of(w->o), SERVER_TICK, 0, w->server_life);
}

// ---- faults ---------------------------------------------------------------------------------------------------------

static void worker_crashes(world *w, size_t i)
{
    const gp_fault *f = &w->o->faults[i];
    w->workers[f->worker].doomed = 0;
    w->out->workers[f->worker].crashed++;
    worker_dies(w, f->worker);
    if (isfinite(f->seconds)) plan(w, w->now + f->seconds, REPAIR, i, 0);
}

static void break_something(world *w, size_t i)
{
    const gp_fault *f = &w->o->faults[i];
    if (w->done) return;
    w->quiet = w->now;
    switch (f->kind) {
    case GP_FAULT_CRASH:
        if (f->after_push)
            w->workers[f->worker].doomed = i + 1;
        else if (w->workers[f->worker].machine)
            worker_crashes(w, i);
        return;
    case GP_FAULT_CUT:
        w->workers[f->worker].cuts++;
        gp_net_cut(w->net, f->worker + 1, true);
        break;
    case GP_FAULT_SERVER:
        server_dies(w);
        break;
    }
    if (isfinite(f->seconds)) plan(w, w->now + f->seconds, REPAIR, i, 0);
}

static void repair_something(world *w, size_t i)
{
    const gp_fault *f = &w->o->faults[i];
    w->quiet = w->now;
    if (f->kind == GP_FAULT_CRASH) {
        worker_starts(w, f->worker);
    } else if (f->kind == GP_FAULT_CUT) {
        if (--w->workers[f->worker].cuts == 0) gp_net_cut(w->net, f->worker + 1, false);
    } else if (!w->server) {
        w->out->restarts++;
        fail_with(w, server_starts(w, true));
    }
}

// ---- the loop -------------------------------------------------------------------------------------------------------

static void happen(world *w, const gp_event *e)
{
    const bool of_server = e->what == SERVER_TICK || e->what == SERVER_WORK;
    if (of_server ? e->life != w->server_life || !w->server
                  : e->what < SERVER_TICK && e->life != w->workers[e->who].life)
        return;
    switch ((event_kind)e->what) {
    case START:
        worker_starts(w, e->who);
        break;
    case TICK:
        gp_worker_on_tick(w->workers[e->who].machine, w->now);
        worker_goes_on(w, e->who);
        if (!w->workers[e->who].ended) plan(w, w->now + tick_of(w->o), TICK, e->who, e->life);
        break;
    case COMPUTED:
        worker_computed(w, e->who);
        if (w->workers[e->who].doomed && !w->done) worker_crashes(w, w->workers[e->who].doomed - 1);
        break;
    case SERVER_TICK:
        server_ticks(w);
        break;
    case SERVER_WORK:
        server_hears(w);
        break;
    case FAULT:
        break_something(w, e->who);
        break;
    case REPAIR:
        repair_something(w, e->who);
        break;
    }
}

// Somebody is there who could do something, and the server could hear of it.
static bool could_go_on(const world *w)
{
    for (size_t k = 0; w->server && k < w->o->n_workers; k++)
        if (w->workers[k].machine && !w->workers[k].cuts && !w->workers[k].ended) return true;
    return false;
}

// Everybody has heard that it is over, or cannot.
static bool all_left(const world *w)
{
    for (size_t k = 0; k < w->o->n_workers; k++) {
        const sim_worker *p = &w->workers[k];
        if (p->machine && !p->ended && !p->cuts) return false;
    }
    return true;
}

static void check_time(world *w)
{
    if (!could_go_on(w)) w->quiet = w->now;
    if (w->watch && w->o->stall > 0 && w->now - w->quiet > w->o->stall)
        gp_watch_broken(w->watch, w->done ? GP_LAW_FAREWELL : GP_LAW_PROGRESS);
    if (w->o->seconds > 0 && w->now >= w->o->seconds && !w->done) {
        w->out->end = GP_END_TIME;
        w->over = true;
    }
    const gp_law law = w->watch ? gp_watch_law(w->watch) : GP_LAW_NONE;
    if (law == GP_LAW_NONE || w->status != ADVGP_OK) return;
    w->out->broken = law;
    fail_with(w, gp_fail(w->err, ADVGP_ECLUSTER, "%s: %s (seed %" PRIu64 ", %.6f s, version %" PRIu64 ")",
                         gp_law_name(law), gp_law_text(law), w->o->seed, w->now, w->out->version));
}

static void run(world *w)
{
    while (!w->over) {
        const double by_net = gp_net_next(w->net), by_plan = gp_events_time(&w->queue);
        const bool nothing = isinf(by_net) && isinf(by_plan);
        if (nothing || (w->done && all_left(w))) break;
        w->out->events++;
        if (by_net <= by_plan) {
            const size_t at = gp_net_step(w->net);
            w->now = gp_net_now(w->net);
            note(w, at, bits_of(w->now));
            if (at)
                worker_hears(w, at - 1);
            else
                plan_server(w);
        } else {
            const gp_event e = gp_events_next(&w->queue);
            w->now = fmax(w->now, e.time);
            gp_net_advance(w->net, w->now);
            note(w, (uint64_t)(unsigned)e.what << 32 | e.who, bits_of(w->now));
            happen(w, &e);
        }
        check_time(w);
    }
    if (w->over || w->done) return; // else nothing will ever happen again
    if (!w->watch) {
        fail_with(
            w, gp_fail(w->err, ADVGP_ECLUSTER, "the simulated run stands still at version %" PRIu64, w->out->version));
        return;
    }
    gp_watch_broken(w->watch, GP_LAW_PROGRESS);
    check_time(w);
}

// ---- making and ending ----------------------------------------------------------------------------------------------

static bool allocate(world *w)
{
    const gp_world_options *o = w->o;
    const size_t shards = o->server.n_shards;
    const size_t push = o->server.schedule.rule->push_size(o->rule_options.layout, o->rule_options.range);
    w->limits = (gp_message_limits){.values = push > w->size ? push : w->size, .masked = w->size, .shards = shards};
    w->endpoints = gp_alloc(o->n_workers + 1, sizeof(gp_endpoint *));
    w->workers = gp_alloc(o->n_workers, sizeof *w->workers);
    w->bytes = gp_alloc(1, gp_message_size_max(&w->limits));
    if (o->check_copies) w->history = gp_alloc((o->versions + 2) * w->size, sizeof(double));
    return w->endpoints && w->workers && w->bytes && (w->history || !o->check_copies);
}

static advgp_status open_world(world *w, advgp_error *err)
{
    const gp_world_options *o = w->o;
    if (!allocate(w)) return gp_no_memory(err);
    advgp_status st = gp_sim_open(o->n_workers, gp_message_size_max(&w->limits), gp_hash_u64(o->seed, 1), w->endpoints,
                                  err);
    if (st != ADVGP_OK) return st;
    w->net = gp_sim_net(w->endpoints[0]);
    w->checkpoint_rng = gp_rng_seeded(o->seed, 2);
    gp_net_set_link(w->net, 0, (gp_link){.bandwidth = o->costs.server_bandwidth});
    if (!o->lawless) st = gp_watch_new(&o->server, w->size, o->server.schedule.rule->fresh_only, &w->watch, err);
    if (st != ADVGP_OK) return st;
    if (w->history) memcpy(w->history, o->server.theta, w->size * sizeof(double));
    memcpy(w->out->theta, o->server.theta, w->size * sizeof(double));
    for (size_t k = 0; k < o->n_workers; k++) {
        w->workers[k].endpoint = w->endpoints[k + 1];
        w->workers[k].rng = gp_rng_seeded(o->seed, 3 + k);
        w->workers[k].faithful = true;
        gp_net_set_link(w->net, k + 1, o->costs.link);
        plan(w, 0, START, k, 0);
    }
    for (size_t i = 0; i < o->n_faults; i++) plan(w, o->faults[i].at, FAULT, i, 0);
    return server_starts(w, false);
}

static void close_world(world *w)
{
    for (size_t k = 0; w->workers && k < w->o->n_workers; k++)
        if (w->workers[k].machine) worker_dies(w, k);
    if (w->net) w->out->net = gp_net_count(w->net);
    if (w->server) server_dies(w);
    gp_rule_free(w->rule);
    for (size_t i = 0; w->endpoints && i <= w->o->n_workers; i++) gp_transport_sim.close(w->endpoints[i]);
    gp_watch_free(w->watch);
    gp_events_fini(&w->queue);
    gp_free(w->endpoints);
    gp_free(w->workers);
    gp_free(w->bytes);
    gp_server_copy_fini(&w->checkpoint);
    gp_free(w->history);
}

void gp_world_outcome_fini(gp_world_outcome *out)
{
    gp_free(out->workers);
    gp_free(out->theta);
    *out = (gp_world_outcome){0};
}

advgp_status gp_world_run(const gp_world_options *o, gp_world_outcome *out, advgp_error *err)
{
    const size_t size = o->rule_options.range.count;
    *out = (gp_world_outcome){.n_workers = o->n_workers,
                              .size = size,
                              .workers = gp_alloc(o->n_workers, sizeof *out->workers),
                              .theta = gp_alloc(size, sizeof(double))};
    world w = {.o = o, .out = out, .err = err, .size = size};
    if (!out->workers || !out->theta) return gp_no_memory(err);
    fail_with(&w, open_world(&w, err));
    if (w.status == ADVGP_OK) run(&w);
    out->seconds = w.now;
    for (size_t i = 0; i < size; i++) note(&w, i, bits_of(out->theta[i]));
    close_world(&w);
    return w.status;
}
