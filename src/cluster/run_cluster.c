// run_cluster.c: a run whose workers are other processes: their messages to the server and back, who is lost, for whom
// it waits.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "cluster/cluster_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MALFORMED_TOLD = 10 };
static const double known_wait = 10; // seconds: more than between two questions of a worker (join.c)

// A worker has been heard: it is there, with the name that it gave when it asked, perhaps by another connection.
static void note_voice(cluster_run *r, uint32_t worker, size_t peer)
{
    gp_cluster *c = r->c;
    stint *s = &r->stints[worker];
    acquaintance *a = gp_cluster_peer(c, peer);
    if (!a) return;
    if (s->peer && s->peer != peer && s->peer < c->n_peers) c->peers[s->peer].gone = true;
    s->peer = peer;
    if (a->name[0])
        memcpy(s->name, a->name, sizeof s->name);
    else
        snprintf(a->name, sizeof a->name, "%s", s->name[0] ? s->name : "?");
    a->gone = false;
}

// The server's view of what happens, on its way to the owner: the log.
static void on_event(void *ctx, const gp_ps_event *event)
{
    cluster_run *r = ctx;
    const gp_member m = event->worker < gp_run_members(&r->base) ? gp_server_member(r->base.server, event->worker)
                                                                 : (gp_member){0};
    if (event->kind == GP_EVENT_JOINED) note_voice(r, event->worker, m.peer);
    if (event->kind == GP_EVENT_JOINED && gp_server_begun(r->base.server))
        gp_cluster_tell(r->c, "worker %u (%s) has joined", event->worker, gp_cluster_name(r->c, m.peer));
    if (event->kind == GP_EVENT_LOST) {
        static const char *const then[] = {[GP_LOSS_REASSIGN] = "its shards go to the others",
                                           [GP_LOSS_DROP] = "its rows ARE LEFT OUT from here on",
                                           [GP_LOSS_STOP] = "the run stops"};
        char why[64] = "is given up";
        const double silent = gp_clock_wall() - m.heard;
        if (event->why)
            snprintf(why, sizeof why, "%s", event->why);
        else if (silent >= r->c->o.lost_after)
            snprintf(why, sizeof why, "is lost after %.1f s without a word", silent);
        gp_cluster_tell(r->c, "worker %u (%s) %s: %s", event->worker, gp_cluster_name(r->c, m.peer), why,
                        then[r->base.o.on_loss]);
        stint *s = &r->stints[event->worker];
        s->given = s->row_seconds = 0, s->pushes = s->rows = 0, s->has_work = false;
        gp_endpoint *e = r->c->o.endpoint;
        if (e->transport->lost) e->transport->lost(e, m.peer);
        if (m.peer < r->c->n_peers) r->c->peers[m.peer].gone = true; // until it is heard again
    }
    if (r->event) r->event(r->event_ctx, event);
}

static advgp_status say_all(cluster_run *r, advgp_error *err)
{
    gp_message m;
    size_t peer;
    gp_endpoint *e = r->c->o.endpoint;
    advgp_status st = ADVGP_OK;
    const double now = gp_clock_wall();
    while (st == ADVGP_OK && gp_server_next(r->base.server, now, &peer, &m)) {
        if (m.kind == GP_PARAMETERS && m.worker < gp_run_members(&r->base))
            r->stints[m.worker].has_work = true, r->stints[m.worker].given = now;
        gp_message_encode(&m, r->bytes);
        st = e->transport->send(e, peer, r->bytes, gp_message_size(&m), err);
    }
    return st;
}

static advgp_status give_job(cluster_run *r, size_t peer, const gp_message *ask, advgp_error *err)
{
    gp_endpoint *e = r->c->o.endpoint;
    acquaintance *a = gp_cluster_peer(r->c, peer);
    if (a) gp_cluster_note_name(a, ask);
    r->c->counts.asked++;
    const gp_message job = {.kind = GP_JOB,
                            .run = {r->base.o.id[0], r->base.o.id[1]},
                            .token = ask->token,
                            .fingerprint = r->base.o.fingerprint,
                            .n_text = r->job_bytes,
                            .text = r->job};
    gp_message_encode(&job, r->bytes);
    return e->transport->send(e, peer, r->bytes, gp_message_size(&job), err);
}

static void note_push(cluster_run *r, const gp_message *push)
{
    if (push->worker >= gp_run_members(&r->base)) return;
    stint *s = &r->stints[push->worker];
    if (s->has_work && push->rows) s->row_seconds = (gp_clock_wall() - s->given) / (double)push->rows;
    s->has_work = false;
}

static advgp_status hear(cluster_run *r, size_t peer, const void *bytes, size_t n, advgp_error *err)
{
    gp_message m;
    advgp_error why;
    gp_cluster *c = r->c;
    if (gp_message_decode(bytes, n, &r->limits, &m, &why) != ADVGP_OK) {
        acquaintance *a = gp_cluster_peer(c, peer);
        c->counts.malformed++;
        if (a && ++a->malformed == MALFORMED_TOLD)
            gp_cluster_tell(c, "the peer %s sends what cannot be read and is passed over: %s", gp_cluster_name(c, peer),
                            why.text);
        return ADVGP_OK;
    }
    if (peer == 0) { // over MPI the lead and the workers of a range reach it by the same endpoint
        if (c->o.control) c->o.control(c->o.control_ctx, &m);
        return ADVGP_OK;
    }
    if (m.kind == GP_HEARTBEAT && (m.flags & GP_FLAG_SERVES)) return ADVGP_OK; // a server's that waits for its time
    if (m.kind == GP_ASK && (m.flags & GP_FLAG_SERVES)) {                      // its time comes with the steps
        acquaintance *a = gp_cluster_peer(c, peer);
        if (a && !a->name[0]) snprintf(a->name, sizeof a->name, "a server");
        return ADVGP_OK;
    }
    if (m.kind == GP_ASK) return give_job(r, peer, &m, err);
    if (m.kind == GP_BYE && (m.flags & GP_FLAG_LAST)) return ADVGP_OK; // of somebody who was told so before
    if (m.kind == GP_BYE && m.n_text) {
        char said[GP_CLUSTER_TEXT];
        gp_cluster_plain_text(&m, said, sizeof said);
        gp_cluster_tell(c, "worker %u (%s) fails: %s", m.worker, gp_cluster_name(c, peer), said);
    }
    if (m.kind == GP_PUSH) note_push(r, &m);
    const advgp_status st = gp_server_on_message(r->base.server, gp_clock_wall(), peer, &m, err);
    const gp_member k = m.worker < gp_run_members(&r->base) ? gp_server_member(r->base.server, m.worker)
                                                            : (gp_member){0};
    if (k.live && k.peer == peer) note_voice(r, m.worker, peer);
    return st;
}

// ---- for whom it waits ----------------------------------------------------------------------------------------------

static double rows_of(const cluster_run *r, uint32_t k)
{
    const gp_shard_table *table = gp_server_shards(r->base.server);
    double rows = 0;
    for (size_t i = 0; i < table->n; i++)
        if (table->owner[i] == k) rows += (double)r->base.o.shards->rows[i];
    return rows;
}

// Seconds that a worker may take for what it was given. What it has shown to be its speed gives it time for all its
// rows. Before it has shown any, in a pass over all rows that comes first, it may be lost though it is only slow: then
// it has twice the time when it comes back, so that the pass comes to an end.
static double allowance(const cluster_run *r, uint32_t k)
{
    const stint *s = &r->stints[k];
    return fmax(r->c->o.stuck_after, rows_of(r, k) * fmax(20 * s->row_seconds, 2 * s->stuck_seconds));
}

static advgp_status look_for_the_lost(cluster_run *r, advgp_error *err)
{
    const double now = gp_clock_wall();
    advgp_status st = gp_server_on_tick(r->base.server, now, err);
    for (uint32_t k = 0; st == ADVGP_OK && k < gp_run_members(&r->base); k++) {
        stint *s = &r->stints[k];
        const gp_member m = gp_server_member(r->base.server, k);
        const double took = now - s->given;
        if (!m.live || !s->has_work || took <= allowance(r, k)) continue;
        gp_cluster_tell(r->c,
                        "worker %u (%s) lives, but has not answered for %.0f s (--stuck-after): it is lost, and should "
                        "it come back, it has twice the time",
                        k, gp_cluster_name(r->c, m.peer), took);
        s->stuck_seconds = took / fmax(1, rows_of(r, k));
        st = gp_server_on_lost(r->base.server, k, err);
    }
    return st;
}

static void tell_for_whom(cluster_run *r, double now)
{
    char text[GP_CLUSTER_TEXT];
    size_t at = 0, n = 0;
    for (uint32_t k = 0; k < gp_run_members(&r->base); k++) {
        const gp_member m = gp_server_member(r->base.server, k);
        if (!m.live || m.waiting || !m.has_shards) continue;
        if (n++ < 4 && at < sizeof text)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s worker %u (%s), heard of %.0f s ago",
                                   n > 1 ? "," : "", k, gp_cluster_name(r->c, m.peer), fmax(0, now - m.heard));
    }
    if (n > 4 && at < sizeof text) snprintf(text + at, sizeof text - at, " and %zu more", n - 4);
    if (n) gp_cluster_tell(r->c, "waiting for%s", text);
}

// Nothing waits without an end, nor without a word.
static advgp_status watch(cluster_run *r, advgp_error *err)
{
    const gp_cluster *c = r->c;
    const gp_cluster_options *o = &c->o;
    gp_server *server = r->base.server;
    const double now = gp_clock_wall();
    const size_t live = gp_server_live(server);
    const bool due = now - r->told >= gp_cluster_told_again;
    if (!gp_server_begun(server)) {
        // Who was in the run before comes soon, or is lost.
        const bool soon = c->known && live >= o->workers_min;
        const double wait = soon ? fmin(o->wait, fmax(o->lost_after, known_wait)) : o->wait,
                     left = r->began + wait - now;
        if (left <= 0 && soon && r->base.o.on_loss == GP_LOSS_STOP)
            return gp_fail(err, ADVGP_ECLUSTER,
                           "%zu of the %zu workers of the run before are here after %.0f s, and --on-loss is stop",
                           live, c->workers, now - r->began);
        if (left <= 0 && live >= o->workers_min) {
            gp_cluster_tell(c, "%zu of %zu workers are here after %.0f s: it begins with these", live, c->workers,
                            now - r->began);
            r->advanced = now;
            return gp_server_begin(server, err);
        }
        if (left <= 0)
            return gp_fail(err, ADVGP_ECLUSTER,
                           "%zu workers have come in %.0f s, at least %zu are needed: look why the others did not "
                           "start, or give them more time with --wait",
                           live, o->wait, o->workers_min);
        if (due && now - r->began >= 1) {
            gp_cluster_tell(c, "waiting for workers: %zu of %zu are here, %.0f s left", live, c->workers, left);
            r->told = now;
        }
        return ADVGP_OK;
    }
    const uint64_t version = gp_server_version(server);
    if (version != r->version) r->version = version, r->advanced = now, r->told = 0; // another wait, another word
    if (live >= o->workers_min) {
        r->few_since = 0;
        if (now - r->advanced >= gp_cluster_told_after && due) tell_for_whom(r, now), r->told = now;
        return ADVGP_OK;
    }
    if (!(r->few_since > 0)) r->few_since = now, r->told = 0;
    const double left = r->few_since + o->wait - now;
    if (left <= 0)
        return gp_fail(err, ADVGP_ECLUSTER, "%zu workers are left for %.0f s, at least %zu are needed", live, o->wait,
                       o->workers_min);
    if (now - r->told >= gp_cluster_told_again) {
        gp_cluster_tell(r->c, "waiting for workers: %zu are left, at least %zu are needed, %.0f s left", live,
                        o->workers_min, left);
        r->told = now;
    }
    return ADVGP_OK;
}

// ---- turns ----------------------------------------------------------------------------------------------------------

advgp_status gp_cluster_run_start(gp_run *run, advgp_error *err)
{
    cluster_run *r = (cluster_run *)run;
    (void)err;
    r->began = r->advanced = gp_clock_wall();
    r->told = r->began - gp_cluster_told_again + 2; // the first word after two seconds
    return ADVGP_OK;
}

// The lead may be away for long: it computes, or was stopped as a whole. Whoever lives is heard soon after.
static double absence(const cluster_run *r)
{
    return fmax(r->c->o.heartbeat, 2 * gp_cluster_turn_seconds);
}

static double note_awake(cluster_run *r)
{
    const double now = gp_clock_wall();
    if (now - r->awake > absence(r)) r->back = now;
    return r->awake = now;
}

bool gp_cluster_run_knows_the_lost(const cluster_run *r)
{
    return r->awake - r->back >= absence(r);
}

// Signs of life come all the time, so nobody waits for silence: when it is time to look, what has come is heard and
// nothing waited for.
advgp_status gp_cluster_run_receive(cluster_run *r, double seconds, size_t *peer, const void **bytes, size_t *n,
                                    advgp_error *err)
{
    gp_endpoint *e = r->c->o.endpoint;
    const bool due = note_awake(r) - r->looked >= gp_cluster_turn_seconds;
    const advgp_status st = e->transport->receive(e, due ? 0 : fmin(seconds, gp_cluster_turn_seconds), peer, bytes, n,
                                                  err);
    const double now = note_awake(r);
    if (st == ADVGP_OK && !*bytes) r->looked = now;
    return st;
}

advgp_status gp_cluster_run_turn(gp_run *run, double seconds, advgp_error *err)
{
    cluster_run *r = (cluster_run *)run;
    size_t peer, n;
    const void *bytes;
    advgp_status st = say_all(r, err); // what a call from outside left to say
    if (st == ADVGP_OK) st = gp_cluster_run_receive(r, seconds, &peer, &bytes, &n, err);
    if (st == ADVGP_OK && bytes) st = hear(r, peer, bytes, n, err), r->handled++;
    // Who is lost is known only when all that had come was heard.
    if (st == ADVGP_OK && (!bytes || r->handled > 16 * (gp_run_members(run) + 1))) {
        r->handled = 0;
        if (gp_cluster_run_knows_the_lost(r)) st = look_for_the_lost(r, err);
        if (st == ADVGP_OK) st = watch(r, err);
    }
    return st == ADVGP_OK ? say_all(r, err) : st;
}

advgp_status gp_cluster_run_say(gp_run *run, advgp_error *err)
{
    return say_all((cluster_run *)run, err);
}

void gp_cluster_run_wake(gp_run *run)
{
    gp_endpoint *e = ((cluster_run *)run)->c->o.endpoint;
    e->transport->wake(e);
}

// Workers go back to asking what is next.
void gp_cluster_run_stop(gp_run *run)
{
    cluster_run *r = (cluster_run *)run;
    if (run->server && r->bytes) {
        if (gp_server_begun(run->server)) gp_cluster_note_there(r->c, gp_server_live(run->server));
        gp_server_end(run->server);
        (void)say_all(r, NULL);
    }
    free(r->job);
    gp_free(r->bytes);
    gp_free(r->stints);
}

static const gp_run_ops cluster_ops = {.start = gp_cluster_run_start,
                                       .turn = gp_cluster_run_turn,
                                       .wake = gp_cluster_run_wake,
                                       .say = gp_cluster_run_say,
                                       .stop = gp_cluster_run_stop};

void gp_cluster_run_job(const cluster_run *r, gp_job *job)
{
    const gp_run_options *o = &r->base.o;
    *job = (gp_job){.claims = {.spec = *o->spec},
                    .rule = o->rule,
                    .batch = o->batch,
                    .data = r->c->data,
                    .fingerprint = r->c->fingerprint,
                    .heartbeat = r->c->o.heartbeat,
                    .delays = o->delays,
                    .n_delays = o->n_delays};
}

static advgp_status describe(cluster_run *r, advgp_error *err)
{
    gp_job job;
    gp_cluster_run_job(r, &job);
    r->job = gp_job_to_text(&job);
    if (!r->job) return gp_fail(err, ADVGP_ENOMEM, "no memory for a job");
    r->job_bytes = strlen(r->job);
    if (r->job_bytes > GP_JOB_TEXT_MAX) return gp_fail(err, ADVGP_EINVAL, "a job of %zu bytes", r->job_bytes);
    return ADVGP_OK;
}

advgp_status gp_cluster_run_init(cluster_run *r, const gp_run_ops *ops, const gp_run_options *options, advgp_error *err)
{
    gp_cluster *c = options->cluster;
    r->base.ops = ops;
    r->c = c;
    r->event = options->event, r->event_ctx = options->event_ctx;
    gp_run_options o = *options;
    o.workers = c->workers < o.shards->n_train ? c->workers : o.shards->n_train;
    o.workers_max = c->o.workers_max;
    if (!o.id[0] && !o.id[1]) gp_cluster_next_id(c, o.id);
    o.fingerprint = c->fingerprint;
    o.lost_after = c->o.lost_after;
    r->stints = gp_alloc(o.workers_max, sizeof *r->stints);
    if (!r->stints) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu workers", o.workers_max);
    o.event = on_event, o.event_ctx = r;
    const advgp_status st = gp_run_init(&r->base, ops, &o, err);
    if (st != ADVGP_OK) return st;
    gp_run *run = &r->base;
    const size_t size = run->range.count, push = gp_row_computer_push_size(run->layout, o.rule, run->range);
    r->limits = (gp_message_limits){
        .values = push > size ? push : size, .masked = size, .shards = o.shards->n_train, .text = GP_CLUSTER_TEXT};
    gp_message_limits largest = r->limits;
    largest.text = GP_JOB_TEXT_MAX;
    r->bytes = gp_alloc(gp_message_size_max(&largest), 1);
    return r->bytes ? describe(r, err) : gp_fail(err, ADVGP_ENOMEM, "no memory for messages");
}

advgp_status gp_run_cluster_new(const gp_run_options *options, gp_run **out, advgp_error *err)
{
    *out = NULL;
    cluster_run *r = gp_alloc(1, sizeof *r);
    if (!r) return gp_fail(err, ADVGP_ENOMEM, "no memory for a run");
    const advgp_status st = gp_cluster_run_init(r, &cluster_ops, options, err);
    if (st == ADVGP_OK)
        *out = &r->base;
    else
        gp_run_free(&r->base);
    return st;
}
