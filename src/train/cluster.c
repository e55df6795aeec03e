// cluster.c: the lead's endpoint, who has come, and a run whose server's turns are made over it.
#include "train/cluster.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "ps/statistics.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 80, TEXT_MAX = 512, MALFORMED_TOLD = 10 };
static const double farewell_seconds = 5, turn_seconds = 0.25;
static const double told_after = 4, told_again = 10; // seconds of waiting: for whom

typedef struct acquaintance {
    char name[NAME_BYTES]; // as it calls itself; empty: it has not asked
    bool gone;             // said farewell, or was lost
    unsigned malformed;
} acquaintance;

struct gp_cluster {
    gp_cluster_options o;
    acquaintance *peers; // [n_peers]
    size_t n_peers;
    uint64_t runs;
    gp_cluster_counts counts;
};

// ---- who has come ---------------------------------------------------------------------------------------------------

static void tell(const gp_cluster *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(const gp_cluster *c, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (c->o.say) c->o.say(c->o.ctx, text);
}

// NULL: no memory, and the peer is a stranger this time.
static acquaintance *peer_of(gp_cluster *c, size_t peer)
{
    if (peer >= c->n_peers) {
        const size_t n = 2 * peer + 16;
        acquaintance *more = gp_alloc(n, sizeof *more);
        if (!more) return NULL;
        if (c->n_peers) memcpy(more, c->peers, c->n_peers * sizeof *more);
        gp_free(c->peers);
        c->peers = more, c->n_peers = n;
    }
    return &c->peers[peer];
}

static const char *name_of(gp_cluster *c, size_t peer)
{
    return peer < c->n_peers && c->peers[peer].name[0] ? c->peers[peer].name : "of unknown name";
}

// Names are shown to people: nothing but plain characters.
static void note_name(acquaintance *a, const gp_message *ask)
{
    size_t n = ask->n_text < NAME_BYTES - 1 ? ask->n_text : NAME_BYTES - 1;
    for (size_t i = 0; i < n; i++) a->name[i] = ask->text[i] > ' ' && ask->text[i] < 127 ? ask->text[i] : '?';
    a->name[n] = 0;
    a->gone = false;
}

size_t gp_cluster_message_max(size_t m, size_t d, size_t n_shards)
{
    const size_t M = m + d + 1, theta = 3 + m * (d + 3) + m * (1 + d) + M + M * (M + 1) / 2,
                 statistics = gp_statistics_size(M);
    const gp_message_limits most = {.values = theta > statistics ? theta : statistics,
                                    .masked = theta,
                                    .shards = n_shards,
                                    .text = GP_JOB_TEXT_MAX};
    return gp_message_size_max(&most);
}

gp_cluster_counts gp_cluster_count(const gp_cluster *c)
{
    return c->counts;
}

size_t gp_cluster_workers(const gp_cluster *c)
{
    return c->o.workers;
}

size_t gp_cluster_workers_max(const gp_cluster *c)
{
    return c->o.workers_max;
}

static void send_small(gp_cluster *c, size_t peer, const gp_message *m)
{
    _Alignas(8) char bytes[1024];
    gp_endpoint *e = c->o.endpoint;
    if (gp_message_size(m) > sizeof bytes) return;
    gp_message_encode(m, bytes);
    (void)e->transport->send(e, peer, bytes, gp_message_size(m), NULL);
}

advgp_status gp_cluster_new(const gp_cluster_options *o, gp_cluster **out, advgp_error *err)
{
    *out = NULL;
    gp_endpoint *e = o->endpoint;
    gp_cluster *c = gp_alloc(1, sizeof *c);
    advgp_status st = c ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for a cluster");
    if (st == ADVGP_OK && e->transport->beat) {
        _Alignas(8) char bytes[256];
        const gp_message sign = {.kind = GP_HEARTBEAT, .worker = GP_ANY_WORKER};
        gp_message_encode(&sign, bytes);
        st = e->transport->beat(e, o->heartbeat, bytes, gp_message_size(&sign), err);
    }
    if (st != ADVGP_OK) {
        e->transport->close(e);
        gp_free(c);
        return st;
    }
    c->o = *o;
    *out = c;
    return ADVGP_OK;
}

// ---- farewell -------------------------------------------------------------------------------------------------------

static bool all_gone(const gp_cluster *c)
{
    for (size_t i = 0; i < c->n_peers; i++)
        if (c->peers[i].name[0] && !c->peers[i].gone) return false;
    return true;
}

static void say_farewell(gp_cluster *c, size_t peer, const gp_message *to, const char *why)
{
    gp_message bye = {.kind = GP_BYE, .flags = GP_FLAG_LAST, .worker = GP_ANY_WORKER};
    if (to) bye.run[0] = to->run[0], bye.run[1] = to->run[1], bye.worker = to->worker, bye.token = to->token;
    if (why) bye.text = why, bye.n_text = strnlen(why, TEXT_MAX);
    send_small(c, peer, &bye);
}

// A worker that computes hears it when it asks for more; so everything that comes now is answered by farewell.
static void part(gp_cluster *c, const char *why)
{
    gp_endpoint *e = c->o.endpoint;
    const gp_message_limits any = {SIZE_MAX / 64, SIZE_MAX / 64, SIZE_MAX / 64, TEXT_MAX};
    const double until = gp_clock_wall() + farewell_seconds;
    for (size_t i = 0; i < c->n_peers; i++)
        if (c->peers[i].name[0] && !c->peers[i].gone) say_farewell(c, i, NULL, why);
    while (!all_gone(c) && gp_clock_wall() < until) {
        size_t peer, n;
        const void *bytes;
        gp_message m;
        if (e->transport->receive(e, turn_seconds, &peer, &bytes, &n, NULL) != ADVGP_OK) break;
        if (!bytes || gp_message_decode(bytes, n, &any, &m, NULL) != ADVGP_OK) continue;
        if (m.kind == GP_BYE && peer < c->n_peers)
            c->peers[peer].gone = true;
        else if (m.kind != GP_HEARTBEAT)
            say_farewell(c, peer, &m, why);
    }
}

void gp_cluster_free(gp_cluster *c, const char *why)
{
    if (!c) return;
    part(c, why);
    c->o.endpoint->transport->close(c->o.endpoint);
    gp_free(c->peers);
    gp_free(c);
}

// ---- a run ----------------------------------------------------------------------------------------------------------

typedef struct stint { // what is known of a worker beside what the server knows
    double given;      // when its parameters were sent
    double row_seconds;
    uint64_t pushes, rows;
    bool has_work;
} stint;

typedef struct cluster_run {
    gp_run base;
    gp_cluster *c;
    gp_message_limits limits;
    char *bytes; // of the message being sent
    char *job;   // what workers are told; free
    size_t job_bytes;
    stint *stints;                                      // [workers_max]
    double began;                                       // when it started to wait for workers
    double advanced;                                    // when the version last changed, or all was there
    double told;                                        // when people were last told for whom it waits
    double few_since;                                   // too few workers are there since; 0: enough are
    uint64_t version;                                   // the last seen
    size_t handled;                                     // messages since silence was last looked at
    void (*event)(void *ctx, const gp_ps_event *event); // the owner's
    void *event_ctx;
} cluster_run;

// The server's view of what happens, on its way to the owner: the log.
static void on_event(void *ctx, const gp_ps_event *event)
{
    cluster_run *r = ctx;
    const gp_member m = event->worker < gp_run_members(&r->base) ? gp_server_member(r->base.server, event->worker)
                                                                 : (gp_member){0};
    if (event->kind == GP_EVENT_JOINED && gp_server_begun(r->base.server))
        tell(r->c, "worker %u (%s) has joined", event->worker, name_of(r->c, m.peer));
    if (event->kind == GP_EVENT_LOST) {
        static const char *const then[] = {[GP_LOSS_REASSIGN] = "its shards go to the others",
                                           [GP_LOSS_DROP] = "its rows ARE LEFT OUT from here on",
                                           [GP_LOSS_STOP] = "the run stops"};
        tell(r->c, "worker %u (%s) is lost after %.1f s without a word: %s", event->worker, name_of(r->c, m.peer),
             gp_clock_wall() - m.heard, then[r->base.o.on_loss]);
        r->stints[event->worker] = (stint){0};
        gp_endpoint *e = r->c->o.endpoint;
        if (e->transport->lost) e->transport->lost(e, m.peer);
        if (m.peer < r->c->n_peers) r->c->peers[m.peer].gone = true; // until it asks again
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
    acquaintance *a = peer_of(r->c, peer);
    if (a) note_name(a, ask);
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
        acquaintance *a = peer_of(c, peer);
        c->counts.malformed++;
        if (a && ++a->malformed == MALFORMED_TOLD)
            tell(c, "the peer %s sends what cannot be read, it is not listened to: %s", name_of(c, peer), why.text);
        return ADVGP_OK;
    }
    if (m.kind == GP_ASK) return give_job(r, peer, &m, err);
    if (m.kind == GP_BYE && (m.flags & GP_FLAG_LAST)) return ADVGP_OK; // of somebody who was told so before
    if (m.kind == GP_PUSH) note_push(r, &m);
    return gp_server_on_message(r->base.server, gp_clock_wall(), peer, &m, err);
}

// ---- for whom it waits ----------------------------------------------------------------------------------------------

// Seconds that a worker may take for what it was given. What it has shown to be its speed gives it time for all its
// rows.
static double allowance(const cluster_run *r, uint32_t k)
{
    const double weight = gp_shard_table_weight(gp_server_shards(r->base.server), k);
    return fmax(r->c->o.stuck_after, 20 * weight * r->stints[k].row_seconds);
}

static advgp_status look_for_the_lost(cluster_run *r, advgp_error *err)
{
    const double now = gp_clock_wall();
    advgp_status st = gp_server_on_tick(r->base.server, now, err);
    for (uint32_t k = 0; st == ADVGP_OK && k < gp_run_members(&r->base); k++) {
        const stint *s = &r->stints[k];
        if (!gp_server_member(r->base.server, k).live || !s->has_work || now - s->given <= allowance(r, k)) continue;
        tell(r->c, "worker %u lives, but has not answered for %.0f s", k, now - s->given);
        st = gp_server_on_lost(r->base.server, k, err);
    }
    return st;
}

static void tell_for_whom(cluster_run *r, double now)
{
    char text[TEXT_MAX];
    size_t at = 0, n = 0;
    for (uint32_t k = 0; k < gp_run_members(&r->base); k++) {
        const gp_member m = gp_server_member(r->base.server, k);
        if (!m.live || m.waiting || !m.has_shards) continue;
        if (n++ < 4 && at < sizeof text)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s worker %u (%s), heard of %.0f s ago",
                                   n > 1 ? "," : "", k, name_of(r->c, m.peer), fmax(0, now - m.heard));
    }
    if (n > 4 && at < sizeof text) snprintf(text + at, sizeof text - at, " and %zu more", n - 4);
    if (n) tell(r->c, "waiting for%s", text);
}

// Nothing waits without an end, nor without a word.
static advgp_status watch(cluster_run *r, advgp_error *err)
{
    const gp_cluster_options *o = &r->c->o;
    gp_server *server = r->base.server;
    const double now = gp_clock_wall();
    const size_t live = gp_server_live(server);
    const bool due = now - r->told >= told_again;
    if (!gp_server_begun(server)) {
        const double left = r->began + o->wait - now;
        if (left <= 0 && live >= o->workers_min) {
            tell(r->c, "%zu of %zu workers are here after %.0f s: it begins with these", live, o->workers, o->wait);
            r->advanced = now;
            return gp_server_begin(server, err);
        }
        if (left <= 0)
            return gp_fail(err, ADVGP_ECLUSTER,
                           "%zu workers have come in %.0f s, at least %zu are needed: look why the others did not "
                           "start, or give them more time with --wait",
                           live, o->wait, o->workers_min);
        if (due && now - r->began >= 1) {
            tell(r->c, "waiting for workers: %zu of %zu are here, %.0f s left", live, o->workers, left);
            r->told = now;
        }
        return ADVGP_OK;
    }
    const uint64_t version = gp_server_version(server);
    if (version != r->version) r->version = version, r->advanced = now;
    if (live >= o->workers_min) {
        r->few_since = 0;
        if (now - r->advanced >= told_after && due) tell_for_whom(r, now), r->told = now;
        return ADVGP_OK;
    }
    if (!(r->few_since > 0)) r->few_since = now, r->told = 0;
    const double left = r->few_since + o->wait - now;
    if (left <= 0)
        return gp_fail(err, ADVGP_ECLUSTER, "%zu workers are left for %.0f s, at least %zu are needed", live, o->wait,
                       o->workers_min);
    if (now - r->told >= told_again) {
        tell(r->c, "waiting for workers: %zu are left, at least %zu are needed, %.0f s left", live, o->workers_min,
             left);
        r->told = now;
    }
    return ADVGP_OK;
}

// ---- turns ----------------------------------------------------------------------------------------------------------

static advgp_status cluster_start(gp_run *run, advgp_error *err)
{
    cluster_run *r = (cluster_run *)run;
    (void)err;
    r->began = r->advanced = gp_clock_wall();
    r->told = r->began - told_again + 2; // the first word after two seconds
    return ADVGP_OK;
}

static advgp_status cluster_turn(gp_run *run, double seconds, advgp_error *err)
{
    cluster_run *r = (cluster_run *)run;
    gp_endpoint *e = r->c->o.endpoint;
    size_t peer, n;
    const void *bytes;
    advgp_status st = say_all(r, err); // what a call from outside left to say
    if (st == ADVGP_OK) st = e->transport->receive(e, fmin(seconds, turn_seconds), &peer, &bytes, &n, err);
    if (st == ADVGP_OK && bytes) st = hear(r, peer, bytes, n, err), r->handled++;
    // Who is lost is known only when all that had come was heard: the lead may have been away for long.
    if (st == ADVGP_OK && (!bytes || r->handled > 16 * (gp_run_members(run) + 1))) {
        r->handled = 0;
        st = look_for_the_lost(r, err);
        if (st == ADVGP_OK) st = watch(r, err);
    }
    return st == ADVGP_OK ? say_all(r, err) : st;
}

static void cluster_wake(gp_run *run)
{
    gp_endpoint *e = ((cluster_run *)run)->c->o.endpoint;
    e->transport->wake(e);
}

// Workers go back to asking what is next.
static void cluster_stop(gp_run *run)
{
    cluster_run *r = (cluster_run *)run;
    if (run->server && r->bytes) {
        gp_server_end(run->server);
        (void)say_all(r, NULL);
    }
    free(r->job);
    gp_free(r->bytes);
    gp_free(r->stints);
}

static const gp_run_ops cluster_ops = {
    .start = cluster_start, .turn = cluster_turn, .wake = cluster_wake, .stop = cluster_stop};

static advgp_status describe(cluster_run *r, advgp_error *err)
{
    char data[4096];
    const gp_run_options *o = &r->base.o;
    snprintf(data, sizeof data, "%s", r->c->o.data);
    double *delays = o->n_delays ? gp_alloc(o->n_delays, sizeof *delays) : NULL;
    if (delays) memcpy(delays, o->delays, o->n_delays * sizeof *delays);
    const gp_job job = {.claims = {.spec = *o->spec},
                        .rule = o->rule,
                        .batch = o->batch,
                        .data = data,
                        .fingerprint = r->c->o.fingerprint,
                        .heartbeat = r->c->o.heartbeat,
                        .delays = delays,
                        .n_delays = delays ? o->n_delays : 0};
    r->job = gp_job_to_text(&job);
    gp_free(delays);
    if (!r->job) return gp_fail(err, ADVGP_ENOMEM, "no memory for a job");
    r->job_bytes = strlen(r->job);
    if (r->job_bytes > GP_JOB_TEXT_MAX) return gp_fail(err, ADVGP_EINVAL, "a job of %zu bytes", r->job_bytes);
    return ADVGP_OK;
}

advgp_status gp_run_cluster_new(const gp_run_options *options, gp_run **out, advgp_error *err)
{
    *out = NULL;
    gp_cluster *c = options->cluster;
    cluster_run *r = gp_alloc(1, sizeof *r);
    if (!r) return gp_fail(err, ADVGP_ENOMEM, "no memory for a run");
    r->c = c;
    r->event = options->event, r->event_ctx = options->event_ctx;
    gp_run_options o = *options;
    o.workers = c->o.workers < o.shards->n_train ? c->o.workers : o.shards->n_train;
    o.workers_max = c->o.workers_max;
    o.id[0] = gp_hash_u64(c->o.random, 2 * c->runs), o.id[1] = gp_hash_u64(c->o.random, 2 * c->runs + 1) | 1;
    c->runs++;
    o.fingerprint = c->o.fingerprint;
    o.lost_after = c->o.lost_after;
    r->stints = gp_alloc(o.workers_max, sizeof *r->stints);
    advgp_status st = r->stints ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for %zu workers", o.workers_max);
    o.event = on_event, o.event_ctx = r;
    if (st == ADVGP_OK) st = gp_run_init(&r->base, &cluster_ops, &o, err);
    if (st == ADVGP_OK) {
        gp_run *run = &r->base;
        const size_t size = run->layout.size,
                     push = gp_row_computer_push_size(run->layout, o.rule, gp_range_all(run->layout));
        r->limits = (gp_message_limits){
            .values = push > size ? push : size, .masked = size, .shards = o.shards->n_train, .text = TEXT_MAX};
        gp_message_limits largest = r->limits;
        largest.text = GP_JOB_TEXT_MAX;
        r->bytes = gp_alloc(gp_message_size_max(&largest), 1);
        st = r->bytes ? describe(r, err) : gp_fail(err, ADVGP_ENOMEM, "no memory for messages");
    }
    if (st != ADVGP_OK) {
        if (!r->base.ops) r->base.ops = &cluster_ops;
        gp_run_free(&r->base);
        return st;
    }
    *out = &r->base;
    return ADVGP_OK;
}
