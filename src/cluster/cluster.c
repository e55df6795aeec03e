// cluster.c: the lead's endpoint, and the farewell.
#include "base/alloc.h"
#include "base/clock.h"
#include "cluster/cluster_state.h"
#include "ps/statistics.h"

#include <string.h>

static const double longest = 10; // seconds that a farewell takes

size_t gp_cluster_message_max(size_t m, size_t d, size_t n_shards)
{
    const size_t M = m + d + 1, theta = 3 + m * (d + 3) + m * (1 + d) + M + M * (M + 1) / 2,
                 statistics = gp_statistics_size(M);
    const size_t rows = GP_TASK_ROWS_MAX * (d + 2) + 2 * (d + 2),
                 task = rows > GP_TASK_VALUES_MAX ? rows : GP_TASK_VALUES_MAX;
    // Of several servers each has half of the parameters at most, in five arrays (range_state.h).
    const size_t run = 3 * theta > statistics ? 3 * theta : statistics;
    const gp_message_limits most = {
        .values = run > task ? run : task, .masked = theta, .shards = n_shards, .text = GP_JOB_TEXT_MAX};
    return gp_message_size_max(&most);
}

uint64_t gp_cluster_fingerprint(const gp_cluster *c)
{
    return c->fingerprint;
}

size_t gp_cluster_workers(const gp_cluster *c)
{
    return c->o.lead.workers;
}

size_t gp_cluster_workers_max(const gp_cluster *c)
{
    return c->o.lead.workers_max;
}

static void on_lost(void *ctx, size_t peer)
{
    gp_endpoint *e = ((gp_cluster *)ctx)->o.endpoint;
    if (e->transport->lost) e->transport->lost(e, peer);
}

static void on_report(void *ctx, const char *text)
{
    const gp_lead_options *o = &((gp_cluster *)ctx)->o.lead;
    if (o->report) o->report(o->ctx, text);
}

static advgp_status give_signs(gp_endpoint *e, double heartbeat, advgp_error *err)
{
    _Alignas(8) char bytes[256];
    const gp_message sign = {.kind = GP_HEARTBEAT, .worker = GP_ANY_WORKER};
    if (!e->transport->beat) return ADVGP_OK;
    gp_message_encode(&sign, bytes);
    return e->transport->beat(e, heartbeat, bytes, gp_message_size(&sign), err);
}

advgp_status gp_cluster_new(const gp_cluster_options *o, gp_cluster **out, advgp_error *err)
{
    *out = NULL;
    gp_endpoint *e = o->endpoint;
    gp_cluster *c = gp_alloc(1, sizeof *c);
    advgp_status st = c ? give_signs(e, o->lead.heartbeat, err) : gp_no_memory(err);
    if (st == ADVGP_OK) {
        gp_lead_options lead = o->lead;
        lead.report = on_report, lead.lost = on_lost, lead.ctx = c;
        c->o = *o;
        st = gp_lead_new(&lead, &c->lead, err);
    }
    if (st != ADVGP_OK) {
        e->transport->close(e);
        gp_free(c);
        return st;
    }
    *out = c;
    return ADVGP_OK;
}

void gp_cluster_set_data(gp_cluster *c, const char *dir, uint64_t fingerprint)
{
    c->data = dir, c->fingerprint = fingerprint;
}

advgp_status gp_cluster_send_all(gp_cluster *c, advgp_error *err)
{
    gp_endpoint *e = c->o.endpoint;
    const double now = gp_clock_wall();
    advgp_status st = ADVGP_OK;
    gp_message m;
    size_t peer;
    while (st == ADVGP_OK && gp_lead_next(c->lead, now, &peer, &m)) st = gp_sender_send(&c->sender, e, peer, &m, err);
    return st;
}

// Everything that comes now, or came and was not read, is answered.
static void part_from_all(gp_cluster *c, const char *why)
{
    gp_endpoint *e = c->o.endpoint;
    const double began = gp_clock_wall();
    bool waits = true;
    gp_lead_farewell(c->lead, began, why);
    for (const void *bytes = ""; bytes || waits;) {
        size_t peer, n;
        const double now = gp_clock_wall(), seconds = waits ? gp_cluster_turn_seconds : 0;
        waits = gp_lead_in_farewell(c->lead, now);
        if (!waits && now - began > longest) return; // somebody talks without end
        if (gp_cluster_send_all(c, NULL) != ADVGP_OK ||
            e->transport->receive(e, seconds, &peer, &bytes, &n, NULL) != ADVGP_OK)
            return;
        if (bytes) (void)gp_lead_on_bytes(c->lead, gp_clock_wall(), peer, bytes, n, NULL);
    }
}

void gp_cluster_free(gp_cluster *c, const char *why)
{
    if (!c) return;
    part_from_all(c, why);
    c->o.endpoint->transport->close(c->o.endpoint);
    gp_lead_free(c->lead);
    gp_sender_fini(&c->sender);
    gp_free(c);
}
