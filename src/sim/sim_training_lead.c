// sim_training_lead.c: the lead of a simulated training: stage after stage, evaluations, checkpoints, its farewell.
#include "base/alloc.h"
#include "base/rng.h"
#include "sim/sim_training_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void keep_checkpoint(simulation *t)
{
    checkpoint *c = &t->kept;
    c->stage = t->stage;
    gp_server_copy_fini(&c->server);
    gp_sim_fail_with(t,
                     gp_server_copy_take(t->keeps.server, t->keeps.rule, t->o->rule_options.range, &c->server, t->err));
}

static void lead_goes_on(simulation *t);

void gp_sim_lead_sends(simulation *t)
{
    gp_message m;
    size_t peer;
    while (t->lead && gp_lead_next(t->lead, t->now, &peer, &m)) {
        if (m.kind == GP_JOB) {
            uint64_t *g = t->given[t->n_given++ % JOBS];
            g[0] = m.run[0], g[1] = m.run[1], g[2] = t->life;
            if (m.n_values) memcpy(t->present, m.run, sizeof t->present);
        }
        if (m.kind == GP_TASK) memcpy(t->present, m.run, sizeof t->present);
        if (gp_sim_is_sent(t, 0, &m) && peer <= SLOTS) gp_sim_transmit(t, 0, 0, peer, &m);
    }
}

void gp_sim_lead_parts(simulation *t, advgp_status st, const char *why)
{
    t->out->lead = st;
    if (why) snprintf(t->out->why, sizeof t->out->why, "%s", why);
    t->out->lost += t->keeps.lost, t->out->moved += t->keeps.moved;
    if (st != ADVGP_OK && (!why || !why[0])) gp_sim_break_law(t, GP_LAW_ENDS);
    if (t->act == TASKS) gp_sim_end_tasks(t);
    gp_lead_end(t->lead, t->now);
    gp_sim_lead_sends(t);
    gp_lead_forget(t->lead);
    gp_sim_drop(&t->keeps);
    t->act = PARTS;
    t->quiet = t->now;
    gp_lead_farewell(t->lead, t->now, why);
    gp_sim_lead_sends(t);
}

static void begin_stage(simulation *t, bool again)
{
    const gp_sim_training_stage *s = &t->o->stages[t->stage];
    const gp_sim_training_options *o = t->o;
    uint64_t id[2];
    gp_lead_next_id(t->lead, id);
    advgp_status st = gp_sim_keep(&t->keeps, o->rule_options.range, t->out->theta, gp_lead_workers(t->lead), id);
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
                                 .on_loss = o->server.schedule.on_loss,
                                 .split = t->interval};
        st = gp_lead_begin(t->lead, t->now, &run, t->err);
    }
    gp_sim_fail_with(t, st);
    t->act = RUNS;
    t->quiet = t->now;
    if (st == ADVGP_OK) lead_goes_on(t);
}

static void end_stage(simulation *t)
{
    memcpy(t->out->theta, gp_server_theta(t->keeps.server), t->out->size * sizeof(double));
    t->out->lost += t->keeps.lost, t->out->moved += t->keeps.moved;
    t->keeps.lost = t->keeps.moved = 0;
    gp_lead_end(t->lead, t->now);
    gp_sim_lead_sends(t);
    gp_lead_forget(t->lead);
    gp_sim_drop(&t->keeps);
    if (t->o->stages[t->stage].tasks)
        gp_sim_prepare_tasks(t, 0);
    else
        gp_sim_next_stage(t);
}

void gp_sim_next_stage(simulation *t)
{
    if (t->stage + 1 == t->o->n_stages) {
        gp_sim_lead_parts(t, ADVGP_OK, NULL);
        return;
    }
    t->made += t->o->stages[t->stage++].versions;
    begin_stage(t, false);
}

void gp_sim_lead_starts(simulation *t, bool again)
{
    gp_lead_options o = t->o->lead;
    t->life++;
    o.random = gp_hash_u64(t->o->seed, 5000 + t->life);
    o.report = gp_sim_lead_reports, o.ctx = t;
    gp_sim_fail_with(t, gp_lead_new(&o, &t->lead, t->err));
    if (!t->lead) return;
    if (again) { // the stage's beginning, where the run starts from if it has not made a version yet
        t->stage = t->kept.stage;
        t->made = 0;
        for (size_t i = 0; i < t->stage; i++) t->made += t->o->stages[i].versions;
        memcpy(t->out->theta, t->kept.server.image.theta, t->out->size * sizeof(double));
    }
    t->met = t->now;
    gp_sim_plan(t, t->now + gp_sim_tick, TICK, 0, t->life);
    gp_sim_plan(t, t->now, SIGN, 0, t->life);
    begin_stage(t, again);
}

void gp_sim_lead_dies(simulation *t)
{
    if (!t->lead) return;
    t->out->lost += t->keeps.lost, t->out->moved += t->keeps.moved;
    t->keeps.lost = t->keeps.moved = 0;
    gp_sim_drop(&t->keeps);
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
    if (t->act == TASKS) {
        gp_sim_tasks_go_on(t);
        return;
    }
    if (t->act == RUNS || t->act == COLLECTS) {
        const uint64_t version = gp_server_version(t->keeps.server);
        if (t->interval && t->act == RUNS && version != t->keeps.version) {
            gp_watch_restart(t->keeps.watch, version);
            if (version >= t->allowed && gp_sim_giver_of(t, t->brought) != t->life)
                gp_sim_break_law(t, GP_LAW_SUCCESSION);
            t->out->intervals++;
            t->quiet = t->now;
        }
        t->keeps.version = version;
        gp_sim_check_keeper(t, &t->keeps);
        t->out->version = t->made + (t->act == RUNS ? version : t->o->stages[t->stage].versions);
        if (t->act == RUNS && version >= t->allowed) {
            t->act = EVALUATES;
            gp_sim_plan(t, t->now + t->o->evaluation * pow(gp_rng_uniform(&t->rng), 3), BACK, 0, t->life);
        }
        const double *sum = t->act == COLLECTS ? gp_server_collected(t->keeps.server) : NULL;
        if (sum && t->o->collected && !t->o->collected(t->o->ctx, t->out->theta, sum)) gp_sim_break_law(t, GP_LAW_ALL);
        if (sum) {
            end_stage(t);
            return;
        }
    }
    gp_sim_lead_sends(t);
}

// It has evaluated the parameters: on with the steps, or to the sum, or to the next run.
void gp_sim_lead_comes_back(simulation *t)
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
        gp_sim_fail_with(t, gp_server_allow(t->keeps.server, t->allowed, t->err));
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
    if (st != ADVGP_OK) gp_sim_lead_parts(t, st, why.text);
    lead_goes_on(t);
    gp_sim_lead_hears(t);
}

// The bytes of a message that the test has changed, for gp_free; NULL: it has not.
static void *change_values(simulation *t, gp_message *m, size_t n)
{
    const gp_sim_tampering *hand = t->o->tampering;
    const bool brought = (t->interval && t->act == RUNS) || t->act == TASKS;
    if (!hand || !hand->hears || !brought || !hand->hears(hand->ctx, t->present, m)) return NULL;
    void *bytes = gp_alloc(n, 1);
    if (bytes) gp_message_encode(m, bytes);
    return bytes;
}

// It computes, and hears nobody.
bool gp_sim_lead_is_away(const simulation *t)
{
    return t->act == EVALUATES || t->act == PREPARES;
}

void gp_sim_lead_hears(simulation *t)
{
    const gp_message_limits any = {SIZE_MAX / 64, SIZE_MAX / 64, SIZE_MAX / 64, GP_JOB_TEXT_MAX};
    size_t peer, n;
    const void *bytes;
    if (!t->lead) gp_net_clear(t->hubs[0].net, 0);
    while (t->lead && !gp_sim_lead_is_away(t) && t->now >= t->awake &&
           gp_net_take(t->hubs[0].ends[0], &peer, &bytes, &n)) {
        gp_message m;
        advgp_error why = {0};
        void *changed = NULL;
        if (gp_message_decode(bytes, n, &any, &m, NULL) == ADVGP_OK && m.kind == GP_ASK && m.n_values) {
            memcpy(t->brought, m.run, sizeof t->brought);
            changed = change_values(t, &m, n);
        }
        const advgp_status st = gp_lead_on_bytes(t->lead, t->now, peer, changed ? changed : bytes, n, &why);
        gp_free(changed);
        if (st != ADVGP_OK) gp_sim_lead_parts(t, st, why.text);
        lead_goes_on(t);
    }
}

void gp_sim_lead_ticks(simulation *t)
{
    advgp_error why = {0};
    gp_sim_plan(t, t->now + gp_sim_tick, TICK, 0, t->life);
    if (gp_sim_lead_is_away(t)) return;
    const advgp_status st = gp_lead_on_tick(t->lead, t->now, &why);
    if (st != ADVGP_OK) gp_sim_lead_parts(t, st, why.text);
    lead_goes_on(t);
    if (t->act == PARTS && !gp_lead_in_farewell(t->lead, t->now)) {
        gp_sim_lead_dies(t);
        t->act = GONE;
    }
}

// Of whatever it is doing, as a courier's thread does.
void gp_sim_lead_signs(simulation *t)
{
    const gp_message m = {.kind = GP_HEARTBEAT, .worker = GP_ANY_WORKER};
    for (size_t s = 1; s <= t->n_slots; s++)
        if (!t->slots[s].dead) gp_sim_transmit(t, 0, 0, s, &m);
    gp_sim_plan(t, t->now + t->o->lead.heartbeat, SIGN, 0, t->life);
}
