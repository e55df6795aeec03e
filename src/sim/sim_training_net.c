// sim_training_net.c: the network between the processes of a simulated training, and who keeps parameters, with the
// laws.
#include "base/alloc.h"
#include "base/rng.h"
#include "sim/sim_training_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- small things ---------------------------------------------------------------------------------------------------

void gp_sim_note(simulation *t, uint64_t a, uint64_t b)
{
    t->out->hash = gp_hash_u64(t->out->hash ^ a, b);
}

void gp_sim_break_law(simulation *t, gp_law law)
{
    if (t->law == GP_LAW_NONE) t->law = law;
}

void gp_sim_fail_with(simulation *t, advgp_status st)
{
    if (t->status == ADVGP_OK) t->status = st;
}

void gp_sim_plan(simulation *t, double time, event_kind what, size_t who, uint64_t life)
{
    if (!gp_events_plan(&t->events, time, (int)what, who, life)) gp_sim_fail_with(t, gp_no_memory(t->err));
}

process *gp_sim_process_of(simulation *t, size_t who)
{
    return &t->processes[who - 1];
}

uint64_t gp_sim_bits_of(double x)
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

void gp_sim_lead_reports(void *ctx, const char *text)
{
    report_of(ctx, "lead", text);
}

void gp_sim_process_reports(void *ctx, const char *text)
{
    const process *p = ctx;
    report_of(p->keeps.t, p->name, text);
}

// Which lead gave the job of that run? 0: nobody has.
uint64_t gp_sim_giver_of(const simulation *t, const uint64_t run[2])
{
    for (size_t i = t->n_given; i-- > 0 && i + JOBS > t->n_given;)
        if (same(t->given[i % JOBS], run)) return t->given[i % JOBS][2];
    return 0;
}

// ---- the network ----------------------------------------------------------------------------------------------------

void gp_sim_transmit(simulation *t, size_t at, size_t from, size_t peer, const gp_message *m)
{
    const size_t n = gp_message_size(m);
    if (n > t->bytes_room) {
        gp_free(t->bytes);
        t->bytes = gp_alloc(n, 1);
        t->bytes_room = t->bytes ? n : 0;
        if (!t->bytes) {
            gp_sim_fail_with(t, gp_no_memory(t->err));
            return;
        }
    }
    gp_message_encode(m, t->bytes);
    uint64_t head[2];
    memcpy(head, t->bytes, sizeof head);
    gp_sim_note(t, head[0], head[1]);
    gp_sim_fail_with(t, gp_net_send(t->hubs[at].ends[from], peer, t->bytes, n, t->now, (double)n, t->err));
}

size_t gp_sim_open_hub(simulation *t, size_t owner)
{
    const size_t at = t->n_hubs;
    if (at == HUBS) {
        gp_sim_fail_with(t, gp_fail(t->err, ADVGP_EINVAL, "too many servers for a simulation"));
        return 0;
    }
    hub *h = &t->hubs[at];
    const advgp_status st = gp_sim_open(SLOTS, SIZE_MAX / 64, gp_hash_u64(t->o->seed, 100 + at), h->ends, t->err);
    gp_sim_fail_with(t, st);
    if (st != ADVGP_OK) return 0;
    h->net = gp_sim_net(h->ends[0]);
    h->owner = owner;
    for (size_t i = 1; i <= SLOTS; i++) gp_net_set_link(h->net, i, t->o->link);
    t->n_hubs++;
    return at;
}

void gp_sim_cut_slot(simulation *t, size_t s, bool cut)
{
    for (size_t i = 0; i < t->n_hubs; i++) gp_net_cut(t->hubs[i].net, s, cut);
}

bool gp_sim_is_sent(const simulation *t, size_t who, const gp_message *m)
{
    const gp_sim_tampering *hand = t->o->tampering;
    return !hand || !hand->sends || hand->sends(hand->ctx, who, m);
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
    if (e->kind == GP_EVENT_PUSH && !e->dropped && !k->p && gp_sim_giver_of(t, e->push->run) != t->life)
        gp_sim_break_law(t, GP_LAW_SUCCESSION);
    if (k->p)
        gp_follower_on_event(k->p->machine, e);
    else
        gp_lead_on_event(t->lead, e);
}

advgp_status gp_sim_keep(keeper *k, gp_range range, const double *theta, size_t workers, const uint64_t run[2])
{
    simulation *t = k->t;
    gp_rule_options ro = t->o->rule_options;
    gp_server_options so = t->o->server;
    ro.range = range;
    advgp_status st = t->o->job->schedule.rule->make(&ro, &k->rule, t->err);
    if (st != ADVGP_OK) return st;
    so.rule = k->rule;
    so.theta = theta;
    so.schedule.workers = workers < so.n_shards ? workers : so.n_shards;
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

void gp_sim_drop(keeper *k)
{
    gp_server_free(k->server);
    gp_rule_free(k->rule);
    gp_watch_free(k->watch);
    k->server = NULL, k->rule = NULL, k->watch = NULL;
}

// Nobody is a member long after it has left, unless whoever keeps it was away himself.
void gp_sim_check_keeper(simulation *t, keeper *k)
{
    if (!k->server || !k->watch) return;
    gp_watch_server(k->watch, k->server);
    if (gp_watch_law(k->watch) != GP_LAW_NONE) gp_sim_break_law(t, gp_watch_law(k->watch));
    for (uint32_t i = 0; i < t->o->lead.workers_max; i++) {
        const gp_member m = gp_server_member(k->server, i);
        const slot *s = m.live ? &t->slots[m.peer] : NULL;
        if (s && s->dead && t->now - fmax(s->died, k->since) > t->o->lead.lost_after + gp_sim_slack)
            gp_sim_break_law(t, GP_LAW_WAITS);
    }
}
