// training.c: the processes of a training, their network, the faults.
#include "sim/training.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "cluster/follower.h"
#include "ps/server_copy.h"
#include "sim/events.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A process that is started again is another peer; a server that is, listens elsewhere.
enum { SLOTS = 48, HUBS = 20, JOBS = 512, LATE_BEATS = 96 };
static const double tick = 0.25, slack = 6; // seconds

typedef enum event_kind { START, TICK, SIGN, OPENED, COMPUTED, LATE_BEAT, BACK, FAULT, REPAIR } event_kind;

typedef struct hub { // whom others connect to
    gp_net *net;
    gp_endpoint *ends[SLOTS + 1];
    size_t owner; // 0: the lead; a process
} hub;

typedef struct slot { // a life of a process, as its peers see it
    size_t who;
    bool dead;
    double died;
} slot;

// Who keeps parameters: the lead, or a process that serves.
typedef struct keeper {
    gp_rule *rule;
    gp_server *server;
    gp_watch *watch;
    uint64_t run[2];
    double since; // when it began, or was last away
    uint64_t lost, moved;
    uint64_t version;
    struct simulation *t;
    struct process *p; // NULL: the lead's
} keeper;

typedef struct late_beat { // a sign of life of one who is dead
    size_t at, from, to;
    gp_message sign;
} late_beat;

typedef struct process {
    size_t who; // 1 ..: workers, then servers
    bool serves;
    gp_follower *machine; // NULL: it is dead
    uint64_t life;
    size_t slot, hub;   // the hub is a server's own
    size_t lines[HUBS]; // hubs of a worker's servers
    size_t n_lines;
    char name[24], address[8];
    gp_rng rng;
    bool computing, opening, in_vain, ended, stops, cut;
    uint64_t job; // how many it has had
    double awake; // it stands still until then
    keeper keeps;
} process;

typedef struct checkpoint {
    size_t stage;
    gp_server_copy server;
} checkpoint;

typedef enum act { DEAD, RUNS, EVALUATES, COLLECTS, PARTS, GONE } act;

typedef struct simulation {
    const gp_sim_training_options *o;
    gp_sim_training_outcome *out;
    advgp_error *err;
    advgp_status status;
    gp_law law;
    double now;
    gp_events events;
    hub hubs[HUBS];
    size_t n_hubs;
    slot slots[SLOTS + 1];
    size_t n_slots;
    process *processes; // [n]: 1 .. n of `who`
    size_t n;
    char *bytes;
    size_t bytes_room;
    // The lead:
    gp_lead *lead;
    act act;
    uint64_t life;
    size_t stage;
    keeper keeps;
    double awake, quiet, met; // stands still until; since when nothing was done; when it last came back
    bool cut;
    gp_rng rng;
    uint64_t allowed;
    bool interval; // the server's version is the servers' to make
    checkpoint kept;
    uint64_t given[JOBS][3]; // jobs: id of the run, life of the lead that gave it
    size_t n_given;
    uint64_t brought[2]; // the run of the last values that a server brought
    uint64_t present[2]; // the last interval that was given
    uint64_t made;       // versions of the stages before
    late_beat late_beats[LATE_BEATS];
    size_t n_late_beats;
} simulation;

// ---- small things ---------------------------------------------------------------------------------------------------

static void note(simulation *t, uint64_t a, uint64_t b)
{
    t->out->hash = gp_hash_u64(t->out->hash ^ a, b);
}

static void break_law(simulation *t, gp_law law)
{
    if (t->law == GP_LAW_NONE) t->law = law;
}

static void fail_with(simulation *t, advgp_status st)
{
    if (t->status == ADVGP_OK) t->status = st;
}

static void plan(simulation *t, double time, event_kind what, size_t who, uint64_t life)
{
    if (!gp_events_plan(&t->events, time, (int)what, who, life))
        fail_with(t, gp_fail(t->err, ADVGP_ENOMEM, "no memory for the events of a simulation"));
}

static process *process_of(simulation *t, size_t who)
{
    return &t->processes[who - 1];
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static bool same(const uint64_t a[2], const uint64_t b[2])
{
    return a[0] == b[0] && a[1] == b[1];
}

static void report_of(simulation *t, const char *name, const char *text)
{
    if (strstr(text, "it begins with these")) t->out->fewer = true;
    if (strstr(text, "are made again")) t->out->abandoned++;
    if (t->o->shown) fprintf(stderr, "%9.3f %s: %s\n", t->now, name, text);
}

static void lead_reports(void *ctx, const char *text)
{
    report_of(ctx, "lead", text);
}

static void process_reports(void *ctx, const char *text)
{
    const process *p = ctx;
    report_of(p->keeps.t, p->name, text);
}

// Which lead gave the job of that run? 0: nobody has.
static uint64_t giver_of(const simulation *t, const uint64_t run[2])
{
    for (size_t i = t->n_given; i-- > 0 && i + JOBS > t->n_given;)
        if (same(t->given[i % JOBS], run)) return t->given[i % JOBS][2];
    return 0;
}

// ---- the network ----------------------------------------------------------------------------------------------------

static void transmit(simulation *t, size_t at, size_t from, size_t peer, const gp_message *m)
{
    const size_t n = gp_message_size(m);
    if (n > t->bytes_room) {
        gp_free(t->bytes);
        t->bytes = gp_alloc(n, 1);
        t->bytes_room = t->bytes ? n : 0;
        if (!t->bytes) {
            fail_with(t, gp_fail(t->err, ADVGP_ENOMEM, "no memory for a message"));
            return;
        }
    }
    gp_message_encode(m, t->bytes);
    uint64_t head[2];
    memcpy(head, t->bytes, sizeof head);
    note(t, head[0], head[1]);
    fail_with(t, gp_net_send(t->hubs[at].ends[from], peer, t->bytes, n, t->now, (double)n, t->err));
}

static size_t open_hub(simulation *t, size_t owner)
{
    const size_t at = t->n_hubs;
    if (at == HUBS) {
        fail_with(t, gp_fail(t->err, ADVGP_EINVAL, "too many servers for a simulation"));
        return 0;
    }
    hub *h = &t->hubs[at];
    const advgp_status st = gp_sim_open(SLOTS, SIZE_MAX / 64, gp_hash_u64(t->o->seed, 100 + at), h->ends, t->err);
    fail_with(t, st);
    if (st != ADVGP_OK) return 0;
    h->net = gp_sim_net(h->ends[0]);
    h->owner = owner;
    for (size_t i = 1; i <= SLOTS; i++) gp_net_set_link(h->net, i, t->o->link);
    t->n_hubs++;
    return at;
}

static void cut_slot(simulation *t, size_t s, bool cut)
{
    for (size_t i = 0; i < t->n_hubs; i++) gp_net_cut(t->hubs[i].net, s, cut);
}

// ---- who keeps parameters -------------------------------------------------------------------------------------------

static void on_event(void *ctx, const gp_ps_event *e)
{
    keeper *k = ctx;
    simulation *t = k->t;
    if (k->watch) gp_watch_event(k->watch, e);
    if (e->kind == GP_EVENT_LOST && gp_server_begun(k->server)) k->lost++;
    if (e->kind == GP_EVENT_MOVED && e->from != GP_NOBODY) k->moved++;
    if (e->kind == GP_EVENT_ADVANCE || e->kind == GP_EVENT_COLLECT || e->kind == GP_EVENT_BEGUN) t->quiet = t->now;
    if (e->kind == GP_EVENT_PUSH && !e->dropped && !k->p && giver_of(t, e->push->run) != t->life)
        break_law(t, GP_LAW_SUCCESSION);
    if (k->p)
        gp_follower_on_event(k->p->machine, e);
    else
        gp_lead_on_event(t->lead, e);
}

static advgp_status keep(keeper *k, gp_range range, const double *theta, size_t workers, const uint64_t run[2])
{
    simulation *t = k->t;
    gp_rule_options ro = t->o->rule_options;
    gp_server_options so = t->o->server;
    ro.range = range;
    advgp_status st = t->o->job->rule->make(&ro, &k->rule, t->err);
    if (st != ADVGP_OK) return st;
    so.rule = k->rule;
    so.theta = theta;
    so.workers = workers < so.n_shards ? workers : so.n_shards;
    so.workers_max = t->o->lead.workers_max;
    so.lost_after = t->o->lead.lost_after;
    so.run[0] = run[0], so.run[1] = run[1];
    so.fingerprint = t->o->job->fingerprint;
    so.event = on_event, so.event_ctx = k;
    k->run[0] = run[0], k->run[1] = run[1];
    k->since = t->now;
    k->lost = k->moved = 0;
    st = gp_server_new(&so, &k->server, t->err);
    if (st == ADVGP_OK) st = gp_watch_new(&so, range.count, k->rule->ops->fresh_only, &k->watch, t->err);
    return st;
}

static void drop(keeper *k)
{
    gp_server_free(k->server);
    gp_rule_free(k->rule);
    gp_watch_free(k->watch);
    k->server = NULL, k->rule = NULL, k->watch = NULL;
}

// Nobody is a member long after it has left, unless whoever keeps it was away himself.
static void check_keeper(simulation *t, keeper *k)
{
    if (!k->server || !k->watch) return;
    gp_watch_server(k->watch, k->server);
    if (gp_watch_law(k->watch) != GP_LAW_NONE) break_law(t, gp_watch_law(k->watch));
    for (uint32_t i = 0; i < t->o->lead.workers_max; i++) {
        const gp_member m = gp_server_member(k->server, i);
        const slot *s = m.live ? &t->slots[m.peer] : NULL;
        if (s && s->dead && t->now - fmax(s->died, k->since) > t->o->lead.lost_after + slack)
            break_law(t, GP_LAW_WAITS);
    }
}

// ---- followers ------------------------------------------------------------------------------------------------------

static void process_goes_on(simulation *t, process *p);

static bool route(const process *p, size_t line, size_t *at, size_t *from, size_t *to);

static void beat_on(simulation *t, const process *p)
{
    for (size_t line = 0; line <= (p->serves ? 0 : p->n_lines) && t->n_late_beats < LATE_BEATS; line++) {
        late_beat *g = &t->late_beats[t->n_late_beats];
        if (!gp_follower_sign(p->machine, (long)line, &g->sign) || !route(p, line, &g->at, &g->from, &g->to)) continue;
        plan(t, t->now, LATE_BEAT, t->n_late_beats++, 0);
    }
}

static void process_dies(simulation *t, process *p)
{
    if (!p->machine) return;
    if (t->o->tampering && t->o->tampering->beats_outlive) beat_on(t, p);
    drop(&p->keeps);
    gp_follower_free(p->machine);
    p->machine = NULL;
    p->life++;
    p->computing = p->opening = false;
    t->slots[p->slot].dead = true, t->slots[p->slot].died = t->now;
    for (size_t i = 0; i < t->n_hubs; i++) gp_net_clear(t->hubs[i].net, p->slot);
}

static void process_starts(simulation *t, process *p)
{
    if (p->machine || p->ended || t->act == GONE) return;
    if (t->n_slots == SLOTS) {
        fail_with(t, gp_fail(t->err, ADVGP_EINVAL, "too many lives for a simulation"));
        return;
    }
    p->slot = ++t->n_slots;
    t->slots[p->slot] = (slot){.who = p->who};
    p->job = 0, p->awake = 0, p->stops = false;
    snprintf(p->name, sizeof p->name, "%s%zu.%" PRIu64, p->serves ? "server" : "worker", p->who, p->life);
    if (p->serves) {
        p->hub = open_hub(t, p->who);
        snprintf(p->address, sizeof p->address, "%zu", p->hub);
    }
    const gp_follower_options fo = {.name = p->name,
                                    .address = p->serves ? p->address : NULL,
                                    .key = p->serves ? "" : NULL,
                                    .wish = p->serves ? GP_ANY_WORKER : (uint32_t)(p->who - 1),
                                    .yields = true,
                                    .random = gp_hash_u64(t->o->seed, 1000 + t->n_slots),
                                    .give_up = t->o->give_up,
                                    .report = process_reports,
                                    .ctx = p};
    fail_with(t, gp_follower_new(&fo, t->now, &p->machine, t->err));
    if (!p->machine) return;
    if (p->cut) cut_slot(t, p->slot, true);
    plan(t, t->now + tick * gp_rng_uniform(&p->rng), TICK, p->who, p->life);
    plan(t, t->now, SIGN, p->who, p->life);
    process_goes_on(t, p);
}

// Where a line of it leads: at which hub, as whom, to whom.
static bool route(const process *p, size_t line, size_t *at, size_t *from, size_t *to)
{
    *at = 0, *from = p->slot, *to = 0;
    if (line && p->serves)
        *at = p->hub, *from = 0, *to = line;
    else if (line && line > p->n_lines)
        return false;
    else if (line)
        *at = p->lines[line - 1];
    return *at != 0 || line == 0;
}

static bool is_sent(const simulation *t, size_t who, const gp_message *m)
{
    const gp_sim_tampering *hand = t->o->tampering;
    return !hand || !hand->sends || hand->sends(hand->ctx, who, m);
}

static void process_sends(simulation *t, process *p)
{
    gp_message m;
    size_t line, at, from, to;
    while (p->machine && gp_follower_next(p->machine, t->now, &line, &m)) {
        if (is_sent(t, p->who, &m) && route(p, line, &at, &from, &to)) transmit(t, at, from, to, &m);
    }
}

// It has ended by itself: it says why, or was told to.
static void process_ends(simulation *t, process *p)
{
    advgp_error why = {0};
    const advgp_status st = gp_follower_outcome(p->machine, NULL, &why);
    const bool alone = t->act == DEAD || t->act == PARTS || t->act == GONE || t->cut || p->cut;
    if (t->o->shown) fprintf(stderr, "%9.3f %s: ends: %s %s\n", t->now, p->name, advgp_status_name(st), why.text);
    if (st != ADVGP_OK && !why.text[0]) break_law(t, GP_LAW_ENDS);
    // It gave up waiting though the lead, with whom it could have talked, was there all the time.
    if (st == ADVGP_ECLUSTER && !alone && strstr(why.text, "no word") && t->now - t->met > t->o->give_up)
        break_law(t, GP_LAW_WAITS);
    p->ended = !p->stops && st == ADVGP_OK;
    process_dies(t, p);
    // Whoever looks after it starts it again.
    if (st != ADVGP_OK && !p->stops && t->act != GONE && t->act != PARTS) plan(t, t->now + 5, START, p->who, p->life);
}

static void process_goes_on(simulation *t, process *p)
{
    if (!p->machine) return;
    process_sends(t, p);
    const gp_follower_state state = gp_follower_state_of(p->machine);
    if (p->keeps.server && state != GP_FOLLOWER_SERVES && state != GP_FOLLOWER_OPENS) {
        if (gp_server_version(p->keeps.server) >= gp_follower_job(p->machine)->service.until)
            t->out->lost += p->keeps.lost, t->out->moved += p->keeps.moved;
        gp_follower_release(p->machine);
        drop(&p->keeps);
    }
    if (state == GP_FOLLOWER_ENDED) {
        process_ends(t, p);
        return;
    }
    check_keeper(t, &p->keeps);
    const bool has_work = gp_follower_has_work(p->machine);
    if (p->computing) p->in_vain |= !has_work;
    if (state == GP_FOLLOWER_OPENS && !p->opening) {
        p->opening = true;
        p->job++;
        plan(t, t->now + t->o->opening * gp_rng_uniform(&p->rng), OPENED, p->who, p->life);
    }
    if (has_work && !p->computing) {
        const double u = 2 * gp_rng_uniform(&p->rng) - 1, seconds = t->o->compute * (1 + t->o->spread * u) *
                                                                    (t->o->slowness ? t->o->slowness[p->who - 1] : 1);
        p->computing = true, p->in_vain = false;
        plan(t, t->now + seconds, COMPUTED, p->who, p->life);
    }
}

static void process_opened(simulation *t, process *p)
{
    const gp_job *job = gp_follower_job(p->machine);
    const gp_server_options *so = &t->o->server;
    gp_follower_tools tools = {.n_shards = so->n_shards,
                               .size = t->o->rule_options.range.count,
                               .push_size = t->o->push_size,
                               .fingerprint = job->fingerprint,
                               .shard_rows = t->o->shard_rows};
    p->opening = false;
    if (gp_follower_state_of(p->machine) != GP_FOLLOWER_OPENS) return;
    if (p->serves) {
        const gp_server_copy *begin = &gp_follower_range_state(p->machine)->copy;
        const advgp_status st = keep(&p->keeps, begin->range, begin->image.theta, job->service.workers,
                                     gp_follower_run(p->machine));
        fail_with(t, st);
        if (st != ADVGP_OK) return;
        gp_watch_restart(p->keeps.watch, begin->image.version);
        tools.server = p->keeps.server, tools.rule = p->keeps.rule;
        tools.limits = (gp_message_limits){.values = 1 + begin->range.count,
                                           .masked = begin->range.count,
                                           .shards = so->n_shards,
                                           .text = GP_LEAD_TEXT};
    }
    p->n_lines = job->n_servers < HUBS ? job->n_servers : HUBS;
    for (size_t i = 0; i < p->n_lines; i++) p->lines[i] = strtoul(job->servers[i].address, NULL, 10);
    gp_follower_opened(p->machine, t->now, &tools);
    process_goes_on(t, p);
}

static void process_computed(simulation *t, process *p)
{
    p->computing = false;
    if (!p->in_vain && gp_follower_has_work(p->machine)) {
        advgp_error why = {0};
        const advgp_status st = gp_follower_compute(p->machine, &t->o->computer, &why);
        if (st == ADVGP_OK)
            gp_follower_computed(p->machine, t->now);
        else
            gp_follower_fail(p->machine, t->now, st, &why);
    }
    process_goes_on(t, p);
}

static void process_hears(simulation *t, process *p, size_t at, size_t end)
{
    size_t peer, n;
    const void *bytes;
    if (!p->machine || t->slots[p->slot].dead) {
        gp_net_clear(t->hubs[at].net, end);
        return;
    }
    if (t->now < p->awake) return; // it is all there when it wakes up
    while (p->machine && gp_net_take(t->hubs[at].ends[end], &peer, &bytes, &n)) {
        size_t line = peer;
        if (end) { // a slot's: who is at that hub
            for (line = 0; at && line < p->n_lines && p->lines[line] != at; line++) {}
            if (at && line == p->n_lines) continue; // a server of before
            line = at ? line + 1 : 0;
        }
        gp_follower_on_bytes(p->machine, t->now, line, bytes, n);
        process_goes_on(t, p);
    }
}

static void process_signs(simulation *t, process *p)
{
    gp_message m;
    size_t at, from, to;
    for (size_t line = 0; line <= (p->serves ? 0 : p->n_lines); line++)
        if (gp_follower_sign(p->machine, (long)line, &m) && route(p, line, &at, &from, &to))
            transmit(t, at, from, to, &m);
    if (!p->serves || !gp_follower_sign(p->machine, GP_FOLLOWER_EVERYBODY, &m)) return;
    for (size_t s = 1; s <= t->n_slots; s++)
        if (!t->slots[s].dead && !process_of(t, t->slots[s].who)->serves) transmit(t, p->hub, 0, s, &m);
}

// ---- the lead -------------------------------------------------------------------------------------------------------

static void keep_checkpoint(simulation *t)
{
    checkpoint *c = &t->kept;
    c->stage = t->stage;
    gp_server_copy_fini(&c->server);
    fail_with(t, gp_server_copy_take(t->keeps.server, t->keeps.rule, t->o->rule_options.range, &c->server, t->err));
}

static void lead_goes_on(simulation *t);

static void lead_sends(simulation *t)
{
    gp_message m;
    size_t peer;
    while (t->lead && gp_lead_next(t->lead, t->now, &peer, &m)) {
        if (m.kind == GP_JOB) {
            uint64_t *g = t->given[t->n_given++ % JOBS];
            g[0] = m.run[0], g[1] = m.run[1], g[2] = t->life;
            if (m.n_values) memcpy(t->present, m.run, sizeof t->present);
        }
        if (is_sent(t, 0, &m) && peer <= SLOTS) transmit(t, 0, 0, peer, &m);
    }
}

static void lead_parts(simulation *t, advgp_status st, const char *why)
{
    t->out->lead = st;
    if (why) snprintf(t->out->why, sizeof t->out->why, "%s", why);
    t->out->lost += t->keeps.lost, t->out->moved += t->keeps.moved;
    if (st != ADVGP_OK && (!why || !why[0])) break_law(t, GP_LAW_ENDS);
    gp_lead_end(t->lead, t->now);
    lead_sends(t);
    gp_lead_forget(t->lead);
    drop(&t->keeps);
    t->act = PARTS;
    t->quiet = t->now;
    gp_lead_farewell(t->lead, t->now, why);
    lead_sends(t);
}

static void begin_stage(simulation *t, bool again)
{
    const gp_sim_training_stage *s = &t->o->stages[t->stage];
    const gp_sim_training_options *o = t->o;
    uint64_t id[2];
    gp_lead_next_id(t->lead, id);
    advgp_status st = keep(&t->keeps, o->rule_options.range, t->out->theta, gp_lead_workers(t->lead), id);
    if (st == ADVGP_OK && again)
        st = gp_server_copies_restore(&t->kept.server, 1, t->keeps.server, t->keeps.rule, t->err);
    const uint64_t version = st == ADVGP_OK ? gp_server_version(t->keeps.server) : 0;
    const uint64_t next = version - version % s->every + s->every;
    t->allowed = next < s->versions ? next : s->versions;
    t->interval = s->split && o->lead.servers;
    t->keeps.version = version;
    if (st == ADVGP_OK) st = gp_server_allow(t->keeps.server, t->allowed, t->err);
    if (st == ADVGP_OK) {
        gp_watch_restart(t->keeps.watch, version);
        keep_checkpoint(t); // so that this generation does not come again
        const size_t size = o->rule_options.range.count;
        const gp_lead_run run = {.server = t->keeps.server,
                                 .rule = t->keeps.rule,
                                 .id = {id[0], id[1]},
                                 .job = o->job,
                                 .limits = {.values = o->push_size > size ? o->push_size : size,
                                            .masked = size,
                                            .shards = o->server.n_shards,
                                            .text = GP_LEAD_TEXT},
                                 .shard_rows = o->shard_rows,
                                 .n_shards = o->server.n_shards,
                                 .on_loss = o->server.on_loss,
                                 .split = t->interval,
                                 .service = {.steps = o->server.steps,
                                             .max_delay = o->server.max_delay,
                                             .quorum = o->server.quorum,
                                             .filter = o->server.filter,
                                             .wait = o->lead.wait,
                                             .lost_after = o->lead.lost_after,
                                             .stuck_after = o->lead.stuck_after,
                                             .on_loss = o->server.on_loss}};
        st = gp_lead_begin(t->lead, t->now, &run, t->err);
    }
    fail_with(t, st);
    t->act = RUNS;
    t->quiet = t->now;
    if (st == ADVGP_OK) lead_goes_on(t);
}

static void end_stage(simulation *t)
{
    memcpy(t->out->theta, gp_server_theta(t->keeps.server), t->out->size * sizeof(double));
    if (t->stage + 1 == t->o->n_stages) {
        lead_parts(t, ADVGP_OK, NULL);
        return;
    }
    t->out->lost += t->keeps.lost, t->out->moved += t->keeps.moved;
    gp_lead_end(t->lead, t->now);
    lead_sends(t);
    gp_lead_forget(t->lead);
    drop(&t->keeps);
    t->made += t->o->stages[t->stage++].versions;
    begin_stage(t, false);
}

static void lead_starts(simulation *t, bool again)
{
    gp_lead_options o = t->o->lead;
    t->life++;
    o.random = gp_hash_u64(t->o->seed, 5000 + t->life);
    o.report = lead_reports, o.ctx = t;
    fail_with(t, gp_lead_new(&o, &t->lead, t->err));
    if (!t->lead) return;
    if (again) { // the stage's beginning, where the run starts from if it has not made a version yet
        t->stage = t->kept.stage;
        t->made = 0;
        for (size_t i = 0; i < t->stage; i++) t->made += t->o->stages[i].versions;
        memcpy(t->out->theta, t->kept.server.image.theta, t->out->size * sizeof(double));
    }
    t->met = t->now;
    plan(t, t->now + tick, TICK, 0, t->life);
    plan(t, t->now, SIGN, 0, t->life);
    begin_stage(t, again);
}

static void lead_dies(simulation *t)
{
    if (!t->lead) return;
    t->out->lost += t->keeps.lost, t->out->moved += t->keeps.moved;
    t->keeps.lost = t->keeps.moved = 0;
    drop(&t->keeps);
    gp_lead_free(t->lead);
    t->lead = NULL;
    t->act = t->act == PARTS ? GONE : DEAD;
    t->life++;
    gp_net_clear(t->hubs[0].net, 0);
}

// After anything that the lead was told.
static void lead_goes_on(simulation *t)
{
    if (!t->lead) return;
    if (t->act == RUNS || t->act == COLLECTS) {
        const uint64_t version = gp_server_version(t->keeps.server);
        if (t->interval && t->act == RUNS && version != t->keeps.version) {
            gp_watch_restart(t->keeps.watch, version);
            if (version >= t->allowed && giver_of(t, t->brought) != t->life) break_law(t, GP_LAW_SUCCESSION);
            t->out->intervals++;
            t->quiet = t->now;
        }
        t->keeps.version = version;
        check_keeper(t, &t->keeps);
        t->out->version = t->made + (t->act == RUNS ? version : t->o->stages[t->stage].versions);
        if (t->act == RUNS && version >= t->allowed) {
            t->act = EVALUATES;
            plan(t, t->now + t->o->evaluation * pow(gp_rng_uniform(&t->rng), 3), BACK, 0, t->life);
        }
        const double *sum = t->act == COLLECTS ? gp_server_collected(t->keeps.server) : NULL;
        if (sum && t->o->collected && !t->o->collected(t->o->ctx, t->out->theta, sum)) break_law(t, GP_LAW_ALL);
        if (sum) {
            end_stage(t);
            return;
        }
    }
    lead_sends(t);
}

static void lead_hears(simulation *t);

// It has evaluated the parameters: on with the steps, or to the sum, or to the next run.
static void lead_comes_back(simulation *t)
{
    const gp_sim_training_stage *s = &t->o->stages[t->stage];
    const double *theta = gp_server_theta(t->keeps.server);
    advgp_error why = {0};
    keep_checkpoint(t);
    t->keeps.since = t->now;
    memcpy(t->out->theta, theta, t->out->size * sizeof(double));
    t->act = RUNS;
    if (gp_server_version(t->keeps.server) < s->versions) {
        t->allowed = t->allowed + s->every < s->versions ? t->allowed + s->every : s->versions;
        fail_with(t, gp_server_allow(t->keeps.server, t->allowed, t->err));
    } else if (s->collect) {
        t->act = COLLECTS;
        gp_server_collect(t->keeps.server, t->out->theta, GP_FLAG_ALL_ROWS, 0);
        if (t->interval) gp_watch_restart(t->keeps.watch, gp_server_version(t->keeps.server));
        t->keeps.version = gp_server_version(t->keeps.server);
    } else {
        end_stage(t);
        return;
    }
    const advgp_status st = gp_lead_go_on(t->lead, t->now, &why);
    if (st != ADVGP_OK) lead_parts(t, st, why.text);
    lead_goes_on(t);
    lead_hears(t);
}

// The bytes of a message that the test has changed, for gp_free; NULL: it has not.
static void *change_values(simulation *t, gp_message *m, size_t n)
{
    const gp_sim_tampering *hand = t->o->tampering;
    if (!hand || !hand->hears || !t->interval || t->act != RUNS || !hand->hears(hand->ctx, t->present, m)) return NULL;
    void *bytes = gp_alloc(n, 1);
    if (bytes) gp_message_encode(m, bytes);
    return bytes;
}

static void lead_hears(simulation *t)
{
    const gp_message_limits any = {SIZE_MAX / 64, SIZE_MAX / 64, SIZE_MAX / 64, GP_JOB_TEXT_MAX};
    size_t peer, n;
    const void *bytes;
    if (!t->lead) gp_net_clear(t->hubs[0].net, 0);
    while (t->lead && t->act != EVALUATES && t->now >= t->awake && gp_net_take(t->hubs[0].ends[0], &peer, &bytes, &n)) {
        gp_message m;
        advgp_error why = {0};
        void *changed = NULL;
        if (gp_message_decode(bytes, n, &any, &m, NULL) == ADVGP_OK && m.kind == GP_ASK && m.n_values) {
            memcpy(t->brought, m.run, sizeof t->brought);
            changed = change_values(t, &m, n);
        }
        const advgp_status st = gp_lead_on_bytes(t->lead, t->now, peer, changed ? changed : bytes, n, &why);
        gp_free(changed);
        if (st != ADVGP_OK) lead_parts(t, st, why.text);
        lead_goes_on(t);
    }
}

static void lead_ticks(simulation *t)
{
    advgp_error why = {0};
    plan(t, t->now + tick, TICK, 0, t->life);
    if (t->act == EVALUATES) return;
    const advgp_status st = gp_lead_on_tick(t->lead, t->now, &why);
    if (st != ADVGP_OK) lead_parts(t, st, why.text);
    lead_goes_on(t);
    if (t->act == PARTS && !gp_lead_in_farewell(t->lead, t->now)) {
        lead_dies(t);
        t->act = GONE;
    }
}

// Of whatever it is doing, as a courier's thread does.
static void lead_signs(simulation *t)
{
    const gp_message m = {.kind = GP_HEARTBEAT, .worker = GP_ANY_WORKER};
    for (size_t s = 1; s <= t->n_slots; s++)
        if (!t->slots[s].dead) transmit(t, 0, 0, s, &m);
    plan(t, t->now + t->o->lead.heartbeat, SIGN, 0, t->life);
}

// ---- faults ---------------------------------------------------------------------------------------------------------

static void break_something(simulation *t, size_t i)
{
    const gp_sim_training_fault *f = &t->o->faults[i];
    process *p = f->who ? process_of(t, f->who) : NULL;
    if (t->act == GONE || t->act == PARTS) return;
    t->quiet = t->now;
    switch (f->kind) {
    case GP_SIM_CRASH:
        if (p)
            process_dies(t, p);
        else
            lead_dies(t);
        break;
    case GP_SIM_LEAVE:
        if (p && p->machine) {
            p->stops = true;
            gp_follower_on_stop(p->machine, t->now);
            process_goes_on(t, p);
        }
        break;
    case GP_SIM_PAUSE:
        if (p)
            p->awake = fmax(p->awake, t->now + f->seconds);
        else
            t->awake = fmax(t->awake, t->now + f->seconds);
        break;
    case GP_SIM_CUT:
        if (p && p->machine) cut_slot(t, p->slot, true);
        *(p ? &p->cut : &t->cut) = true;
        if (!p) gp_net_cut(t->hubs[0].net, 0, true);
        break;
    }
    if (isfinite(f->seconds)) plan(t, t->now + f->seconds, REPAIR, i, 0);
}

static void repair_something(simulation *t, size_t i)
{
    const gp_sim_training_fault *f = &t->o->faults[i];
    process *p = f->who ? process_of(t, f->who) : NULL;
    t->quiet = t->now;
    switch (f->kind) {
    case GP_SIM_CRASH:
    case GP_SIM_LEAVE:
        if (p) {
            process_starts(t, p);
        } else if (t->act == DEAD) {
            t->out->restarts++;
            lead_starts(t, true);
        }
        break;
    case GP_SIM_PAUSE:
        if (t->now < (p ? p->awake : t->awake)) break; // another one is longer
        if (!p && t->lead) {
            t->keeps.since = t->met = t->now;
            lead_hears(t);
        }
        if (!p) break;
        p->keeps.since = t->now;
        for (size_t at = 0; at < t->n_hubs; at++) {
            process_hears(t, p, at, p->slot);
            if (p->serves && at == p->hub) process_hears(t, p, at, 0);
        }
        break;
    case GP_SIM_CUT:
        if (p) cut_slot(t, p->slot, false);
        *(p ? &p->cut : &t->cut) = false;
        if (!p) gp_net_cut(t->hubs[0].net, 0, false), t->met = t->now;
        t->keeps.since = t->now;
        for (size_t k = 0; k < t->n; k++) t->processes[k].keeps.since = t->now;
        break;
    }
}

// ---- the loop -------------------------------------------------------------------------------------------------------

static void happen_to_lead(simulation *t, const gp_event *e)
{
    if (e->life != t->life || !t->lead) return;
    if (t->now < t->awake) { // it stands still
        plan(t, t->awake, (event_kind)e->what, 0, e->life);
        return;
    }
    if (e->what == TICK) lead_ticks(t);
    if (e->what == SIGN) lead_signs(t);
    if (e->what == BACK && t->act == EVALUATES) lead_comes_back(t);
}

static void happen_to_process(simulation *t, const gp_event *e)
{
    process *p = process_of(t, e->who);
    if (e->what == START) {
        if (e->life == p->life) process_starts(t, p);
        return;
    }
    if (e->life != p->life || !p->machine) return;
    if (t->now < p->awake) {
        plan(t, p->awake, (event_kind)e->what, e->who, e->life);
        return;
    }
    switch ((event_kind)e->what) {
    case TICK:
        plan(t, t->now + tick, TICK, p->who, p->life);
        gp_follower_on_tick(p->machine, t->now);
        process_goes_on(t, p);
        break;
    case SIGN:
        plan(t, t->now + t->o->lead.heartbeat, SIGN, p->who, p->life);
        process_signs(t, p);
        break;
    case OPENED:
        process_opened(t, p);
        break;
    case COMPUTED:
        process_computed(t, p);
        break;
    default:
        break;
    }
}

static void appear(simulation *t, size_t i)
{
    const late_beat *g = &t->late_beats[i];
    transmit(t, g->at, g->from, g->to, &g->sign);
    plan(t, t->now + t->o->lead.heartbeat, LATE_BEAT, i, 0);
}

static bool all_ended(const simulation *t)
{
    for (size_t k = 0; k < t->n; k++)
        if (t->processes[k].machine) return false;
    return t->act == GONE;
}

// Somebody is there who could do something: the lead, a worker, and all servers.
static bool could_go_on(const simulation *t)
{
    size_t workers = 0, servers = 0;
    for (size_t k = 0; k < t->n; k++) {
        const process *p = &t->processes[k];
        if (p->machine && !p->cut && t->now >= p->awake) *(p->serves ? &servers : &workers) += 1;
    }
    return t->lead && !t->cut && t->now >= t->awake && workers && servers == t->o->lead.servers;
}

static void check_time(simulation *t)
{
    if (!could_go_on(t) || t->act == PARTS) t->quiet = t->now;
    if (t->now - t->quiet > t->o->stall) break_law(t, GP_LAW_PROGRESS);
    if (t->now > t->o->seconds) break_law(t, GP_LAW_ENDS);
    if (t->law == GP_LAW_NONE || t->status != ADVGP_OK) return;
    t->out->broken = t->law;
    fail_with(t, gp_fail(t->err, ADVGP_ECLUSTER, "%s: %s (seed %" PRIu64 ", %.3f s, version %" PRIu64 ")",
                         gp_law_name(t->law), gp_law_text(t->law), t->o->seed, t->now, t->out->version));
}

static void run(simulation *t)
{
    while (t->status == ADVGP_OK && !all_ended(t)) {
        size_t first = 0;
        for (size_t i = 1; i < t->n_hubs; i++)
            if (gp_net_next(t->hubs[i].net) < gp_net_next(t->hubs[first].net)) first = i;
        const double by_net = gp_net_next(t->hubs[first].net), by_plan = gp_events_time(&t->events);
        if (isinf(by_net) && isinf(by_plan)) {
            break_law(t, GP_LAW_ENDS); // nothing will ever happen again
        } else if (by_net <= by_plan) {
            const hub *h = &t->hubs[first];
            const size_t end = gp_net_step(h->net);
            t->now = fmax(t->now, gp_net_now(h->net));
            note(t, first << 8 | end, bits_of(t->now));
            if (!end && !first)
                lead_hears(t);
            else
                process_hears(t, process_of(t, end ? t->slots[end].who : h->owner), first, end);
        } else {
            const gp_event e = gp_events_next(&t->events);
            t->now = fmax(t->now, e.time);
            note(t, (uint64_t)(unsigned)e.what << 32 | e.who, bits_of(t->now));
            if (e.what == FAULT)
                break_something(t, e.who);
            else if (e.what == REPAIR)
                repair_something(t, e.who);
            else if (e.what == LATE_BEAT)
                appear(t, e.who);
            else if (e.who)
                happen_to_process(t, &e);
            else
                happen_to_lead(t, &e);
        }
        t->out->events++;
        check_time(t);
    }
}

// ---- making and ending ----------------------------------------------------------------------------------------------

static advgp_status open_simulation(simulation *t, advgp_error *err)
{
    const gp_sim_training_options *o = t->o;
    const size_t size = t->out->size;
    t->n = o->n_workers + o->lead.servers;
    t->processes = gp_alloc(t->n, sizeof *t->processes);
    if (!t->processes) return gp_fail(err, ADVGP_ENOMEM, "no memory to simulate %zu processes", t->n);
    t->rng = gp_rng_seeded(o->seed, 2);
    t->keeps.t = t;
    memcpy(t->out->theta, o->server.theta, size * sizeof(double));
    (void)open_hub(t, 0);
    for (size_t k = 0; k < t->n && t->status == ADVGP_OK; k++) {
        process *p = &t->processes[k];
        p->who = k + 1;
        p->serves = k >= o->n_workers;
        p->rng = gp_rng_seeded(o->seed, 10 + k);
        p->keeps.t = t, p->keeps.p = p;
        plan(t, 0.5 * gp_rng_uniform(&p->rng), START, p->who, 0);
    }
    for (size_t i = 0; i < o->n_faults; i++) plan(t, o->faults[i].at, FAULT, i, 0);
    if (t->status == ADVGP_OK) lead_starts(t, false);
    return t->status;
}

static void close_simulation(simulation *t)
{
    for (size_t k = 0; t->processes && k < t->n; k++) process_dies(t, &t->processes[k]);
    lead_dies(t);
    for (size_t i = 0; i < t->n_hubs; i++)
        for (size_t s = 0; s <= SLOTS; s++) gp_transport_sim.close(t->hubs[i].ends[s]);
    gp_events_fini(&t->events);
    gp_free(t->processes);
    gp_server_copy_fini(&t->kept.server);
    gp_free(t->bytes);
}

void gp_sim_training_outcome_fini(gp_sim_training_outcome *out)
{
    gp_free(out->theta);
    *out = (gp_sim_training_outcome){0};
}

advgp_status gp_sim_training_run(const gp_sim_training_options *o, gp_sim_training_outcome *out, advgp_error *err)
{
    const size_t size = o->rule_options.range.count;
    *out = (gp_sim_training_outcome){.size = size, .theta = gp_alloc(size, sizeof(double))};
    simulation *t = gp_alloc(1, sizeof *t);
    if (!out->theta || !t) {
        gp_free(t);
        return gp_fail(err, ADVGP_ENOMEM, "no memory for a simulation");
    }
    *t = (simulation){.o = o, .out = out, .err = err};
    fail_with(t, open_simulation(t, err));
    run(t);
    const advgp_status st = t->status;
    out->seconds = t->now;
    for (size_t i = 0; i < size; i++) note(t, i, bits_of(out->theta[i]));
    close_simulation(t);
    gp_free(t);
    return st;
}
