// lead_watch.c: time passes for a lead that keeps the parameters itself: who is lost, for whom it waits, when it begins
// with fewer or gives up, and what people are told meanwhile.
#include "cluster/lead_state.h"

#include <math.h>
#include <stdio.h>

static const double known_wait = 10; // seconds: more than between two questions of a worker (follower.c)

static double rows_of(const gp_lead *l, uint32_t k)
{
    const gp_shard_table *table = gp_server_shards(l->run.server);
    double rows = 0;
    for (size_t i = 0; i < table->n && i < l->run.n_shards; i++)
        if (table->owner[i] == k) rows += (double)l->run.shard_rows[i];
    return rows;
}

// Seconds that a worker may take for what it was given. What it has shown to be its speed gives it time for all its
// rows. Before it has shown any, in a pass over all rows that comes first, it may be lost though it is only slow: then
// it has twice the time when it comes back, so that the pass comes to an end.
static double allowance(const gp_lead *l, uint32_t k, const peer *p)
{
    return fmax(l->o.stuck_after, rows_of(l, k) * fmax(20 * p->row_seconds, 2 * p->stuck_seconds));
}

advgp_status gp_lead_find_lost_workers(gp_lead *l, advgp_error *err)
{
    advgp_status st = gp_server_on_tick(l->run.server, l->now, err);
    for (uint32_t k = 0; st == ADVGP_OK && k < l->o.workers_max; k++) {
        const gp_member m = gp_server_member(l->run.server, k);
        peer *p = m.live && m.peer < l->n_peers ? &l->peers[m.peer] : NULL;
        if (!p || !p->has_work || l->now - p->given <= allowance(l, k, p)) continue;
        const double took = l->now - p->given;
        gp_lead_report(
            l,
            "worker %u (%s) lives, but has not answered for %.0f s ({stuck-after}): it is lost, and should it "
            "come back, it has twice the time",
            k, gp_lead_name(l, m.peer), took);
        p->stuck_seconds = took / fmax(1, rows_of(l, k));
        st = gp_server_on_lost(l->run.server, k, err);
    }
    return st;
}

static void report_for_whom(gp_lead *l)
{
    char text[GP_LEAD_TEXT];
    size_t at = 0, n = 0;
    for (uint32_t k = 0; k < l->o.workers_max; k++) {
        const gp_member m = gp_server_member(l->run.server, k);
        if (!m.live || m.waiting || !m.has_shards) continue;
        if (n++ < 4 && at < sizeof text)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s worker %u (%s), heard of %.0f s ago",
                                   n > 1 ? "," : "", k, gp_lead_name(l, m.peer), fmax(0, l->now - m.heard));
    }
    if (n > 4 && at < sizeof text) snprintf(text + at, sizeof text - at, " and %zu more", n - 4);
    if (n) gp_lead_report(l, "waiting for%s", text);
}

static advgp_status wait_for_the_first(gp_lead *l, size_t live, advgp_error *err)
{
    const gp_lead_options *o = &l->o;
    // Who was in the run before comes soon, or is lost.
    const bool soon = l->known && live >= o->workers_min;
    const double wait = soon ? fmin(o->wait, fmax(o->lost_after, known_wait)) : o->wait, waited = l->now - l->began,
                 left = wait - waited;
    if (left <= 0 && soon && l->run.on_loss == GP_LOSS_STOP)
        return gp_fail(err, ADVGP_ECLUSTER,
                       "%zu of the %zu workers of the run before are here after %.0f s, and {on-loss} is stop", live,
                       l->workers, waited);
    if (left <= 0 && live >= o->workers_min && live > 0) {
        gp_lead_report(l, "%zu of %zu workers are here after %.0f s: it begins with these", live, l->workers, waited);
        l->advanced = l->now;
        return gp_server_begin(l->run.server, err);
    }
    if (left <= 0)
        return gp_fail(err, ADVGP_ECLUSTER,
                       "%zu workers have come in %.0f s, at least %zu are needed: look why the others did not start, "
                       "or give them more time with {wait}",
                       live, o->wait, o->workers_min);
    if (l->now - l->told >= gp_lead_told_again && waited >= 1) {
        gp_lead_report(l, "waiting for workers: %zu of %zu are here, %.0f s left", live, l->workers, left);
        l->told = l->now;
    }
    return ADVGP_OK;
}

// Nothing waits without an end, nor without a word.
advgp_status gp_lead_watch(gp_lead *l, advgp_error *err)
{
    const gp_lead_options *o = &l->o;
    gp_server *server = l->run.server;
    const size_t live = gp_server_live(server);
    if (!gp_server_begun(server)) return wait_for_the_first(l, live, err);
    const uint64_t version = gp_server_version(server);
    if (version != l->version) l->version = version, l->advanced = l->now, l->told = 0; // another wait, another word
    const bool due = l->now - l->told >= gp_lead_told_again;
    if (live >= o->workers_min) {
        l->few_since = 0;
        if (l->now - l->advanced >= gp_lead_told_after && due) report_for_whom(l), l->told = l->now;
        return ADVGP_OK;
    }
    if (!(l->few_since > 0)) l->few_since = l->now, l->told = 0;
    const double left = l->few_since + o->wait - l->now;
    if (left <= 0)
        return gp_fail(err, ADVGP_ECLUSTER, "%zu workers are left for %.0f s, at least %zu are needed", live, o->wait,
                       o->workers_min);
    if (l->now - l->told >= gp_lead_told_again) {
        gp_lead_report(l, "waiting for workers: %zu are left, at least %zu are needed, %.0f s left", live,
                       o->workers_min, left);
        l->told = l->now;
    }
    return ADVGP_OK;
}
