// run_cluster.c: a run whose workers are other processes: the clock and the endpoint by which the lead (lead.h) hears
// and answers them, turn by turn.
#include "base/alloc.h"
#include "base/clock.h"
#include "cluster/cluster_state.h"

#include <math.h>
#include <string.h>

typedef struct cluster_run {
    gp_run base;
    gp_cluster *c;
    gp_job job;
    gp_message_limits limits;
    bool split, begun;
    void (*event)(void *ctx, const gp_ps_event *event); // the owner's
    void *event_ctx;
} cluster_run;

// The server's view of what happens, on its way to the owner: the log.
static void on_event(void *ctx, const gp_ps_event *event)
{
    cluster_run *r = ctx;
    gp_lead_on_event(r->c->lead, event);
    if (r->event) r->event(r->event_ctx, event);
}

static advgp_status start(gp_run *run, advgp_error *err)
{
    cluster_run *r = (cluster_run *)run;
    const gp_run_options *o = &run->o;
    const gp_lead_run lr = {.server = run->server,
                            .rule = run->rule,
                            .id = {o->id[0], o->id[1]},
                            .job = &r->job,
                            .limits = r->limits,
                            .shard_rows = o->shards->rows,
                            .n_shards = o->shards->n_train,
                            .on_loss = o->schedule.on_loss,
                            .split = r->split};
    r->begun = true;
    return gp_lead_begin(r->c->lead, gp_clock_wall(), &lr, err);
}

// Of a process that died the connection ends at once: whoever is started in its stead need not wait.
static void note_hung_up(const cluster_run *r)
{
    gp_endpoint *e = r->c->o.endpoint;
    for (uint32_t k = 0; e->transport->gone && k < gp_run_members(&r->base); k++) {
        const gp_member m = gp_server_member(r->base.server, k);
        if (m.live && e->transport->gone(e, m.peer)) gp_server_on_hung_up(r->base.server, k);
    }
}

// Signs of life come all the time, so nobody waits for silence: when it is time to look who is lost, what has come is
// heard and nothing waited for.
static advgp_status turn(gp_run *run, double seconds, advgp_error *err)
{
    cluster_run *r = (cluster_run *)run;
    gp_cluster *c = r->c;
    gp_endpoint *e = c->o.endpoint;
    size_t peer, n;
    const void *bytes;
    double now = gp_clock_wall();
    const bool due = now - c->looked >= gp_cluster_turn_seconds;
    advgp_status st = gp_lead_go_on(c->lead, now, err); // what a call from outside has made possible
    if (st == ADVGP_OK) st = gp_cluster_send_all(c, err);
    if (st == ADVGP_OK)
        st = e->transport->receive(e, due ? 0 : fmin(seconds, gp_cluster_turn_seconds), &peer, &bytes, &n, err);
    now = gp_clock_wall();
    if (st == ADVGP_OK && bytes) st = gp_lead_on_bytes(c->lead, now, peer, bytes, n, err), c->handled++;
    // Who is lost is known only when all that had come was heard.
    if (st == ADVGP_OK && (!bytes || c->handled > 16 * (gp_run_members(run) + 1))) {
        c->handled = 0, c->looked = now;
        note_hung_up(r);
        st = gp_lead_on_tick(c->lead, now, err);
    }
    run->rows_elsewhere = gp_lead_rows_elsewhere(c->lead);
    return st == ADVGP_OK ? gp_cluster_send_all(c, err) : st;
}

static advgp_status send(gp_run *run, advgp_error *err)
{
    gp_cluster *c = ((cluster_run *)run)->c;
    const advgp_status st = gp_lead_go_on(c->lead, gp_clock_wall(), err);
    return st == ADVGP_OK ? gp_cluster_send_all(c, err) : st;
}

static void wake(gp_run *run)
{
    gp_endpoint *e = ((cluster_run *)run)->c->o.endpoint;
    e->transport->wake(e);
}

// Workers go back to asking what is next.
static void stop(gp_run *run)
{
    cluster_run *r = (cluster_run *)run;
    if (!r->begun) return;
    gp_lead_end(r->c->lead, gp_clock_wall());
    (void)gp_cluster_send_all(r->c, NULL);
    gp_lead_forget(r->c->lead);
}

static const gp_run_ops cluster_ops = {.start = start, .turn = turn, .wake = wake, .send = send, .stop = stop};

static advgp_status check_split(const cluster_run *r, advgp_error *err)
{
    const gp_rule_ops *rule = r->base.o.schedule.rule;
    if (!r->split) return ADVGP_OK;
    if (!rule->element_wise)
        return gp_fail(err, ADVGP_EINVAL,
                       "{servers}: the optimizer %s needs all parameters in one place; use {optimizer} prox",
                       rule->name);
    if (r->base.rotation)
        return gp_fail(err, ADVGP_EINVAL,
                       "{servers}: features of eigenvectors turn with every step and need all parameters in one place; "
                       "use {map} cholesky");
    return ADVGP_OK;
}

// *r starts zeroed; whatever happens it is ended by gp_run_free.
static advgp_status init(cluster_run *r, const gp_run_options *options, advgp_error *err)
{
    gp_cluster *c = options->cluster;
    const size_t workers = gp_lead_workers(c->lead);
    r->base.ops = &cluster_ops;
    r->c = c;
    r->event = options->event, r->event_ctx = options->event_ctx;
    r->split = options->split && c->o.lead.servers;
    gp_run_options o = *options;
    o.schedule.workers = workers < o.shards->n_train ? workers : o.shards->n_train;
    o.workers_max = c->o.lead.workers_max;
    if (!o.id[0] && !o.id[1]) gp_lead_next_id(c->lead, o.id);
    o.fingerprint = c->fingerprint;
    o.lost_after = c->o.lead.lost_after;
    o.event = on_event, o.event_ctx = r;
    advgp_status st = gp_run_init(&r->base, &cluster_ops, &o, err);
    if (st == ADVGP_OK) st = check_split(r, err);
    if (st != ADVGP_OK) return st;
    const gp_run *run = &r->base;
    const size_t size = run->range.count, push = gp_row_computer_push_size(run->layout, o.schedule.rule, run->range);
    r->limits = (gp_message_limits){
        .values = push > size ? push : size, .masked = size, .shards = o.shards->n_train, .text = GP_LEAD_TEXT};
    r->job = (gp_job){.claims = {.spec = *o.spec},
                      .schedule = o.schedule,
                      .data = c->data,
                      .fingerprint = c->fingerprint,
                      .heartbeat = c->o.lead.heartbeat,
                      .delays = o.delays,
                      .n_delays = o.n_delays};
    return ADVGP_OK;
}

advgp_status gp_cluster_run_new(const gp_run_options *o, gp_run **out, advgp_error *err)
{
    *out = NULL;
    if (!o->cluster) return gp_run_team_new(o, out, err);
    cluster_run *r = gp_alloc(1, sizeof *r);
    if (!r) return gp_no_memory(err);
    const advgp_status st = init(r, o, err);
    if (st == ADVGP_OK)
        *out = &r->base;
    else
        gp_run_free(&r->base);
    return st;
}
