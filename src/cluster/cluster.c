// cluster.c: the lead's endpoint, who has come, and the farewell.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/text.h"
#include "cluster/cluster_state.h"
#include "ps/statistics.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double farewell_seconds = 5;

// ---- who has come ---------------------------------------------------------------------------------------------------

void gp_cluster_tell(const gp_cluster *c, const char *format, ...)
{
    char text[GP_CLUSTER_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (c->o.say) c->o.say(c->o.ctx, text);
}

acquaintance *gp_cluster_peer(gp_cluster *c, size_t peer)
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

const char *gp_cluster_name(const gp_cluster *c, size_t peer)
{
    return peer < c->n_peers && c->peers[peer].name[0] ? c->peers[peer].name : "of unknown name";
}

void gp_cluster_plain_text(const gp_message *m, char *out, size_t room)
{
    const size_t n = m->n_text < room - 1 ? m->n_text : room - 1;
    const unsigned char last = gp_text_is_utf8(m->text, n) ? 255 : 126;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)m->text[i];
        out[i] = m->text[i];
        if (c < ' ' || c == 127 || c > last) out[i] = '?';
    }
    out[n] = 0;
}

void gp_cluster_note_name(acquaintance *a, const gp_message *ask)
{
    gp_cluster_plain_text(ask, a->name, sizeof a->name);
    a->gone = false;
}

size_t gp_cluster_message_max(size_t m, size_t d, size_t n_shards)
{
    const size_t M = m + d + 1, theta = 3 + m * (d + 3) + m * (1 + d) + M + M * (M + 1) / 2,
                 statistics = gp_statistics_size(M);
    // A portion of several servers (portion.h) is no more than half of five arrays.
    const gp_message_limits most = {.values = 3 * theta > statistics ? 3 * theta : statistics,
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

size_t gp_cluster_servers(const gp_cluster *c)
{
    return c->o.servers;
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
    if (st == ADVGP_OK && e->transport->beat && !o->shared) {
        _Alignas(8) char bytes[256];
        const gp_message sign = {.kind = GP_HEARTBEAT, .worker = GP_ANY_WORKER};
        gp_message_encode(&sign, bytes);
        st = e->transport->beat(e, o->heartbeat, bytes, gp_message_size(&sign), err);
    }
    if (st != ADVGP_OK) {
        if (!o->shared) e->transport->close(e);
        gp_free(c);
        return st;
    }
    c->o = *o;
    c->workers = o->workers;
    *out = c;
    return ADVGP_OK;
}

void gp_cluster_next_id(gp_cluster *c, uint64_t id[2])
{
    id[0] = gp_hash_u64(c->o.random, 2 * c->runs), id[1] = gp_hash_u64(c->o.random, 2 * c->runs + 1) | 1;
    c->runs++;
}

void gp_cluster_expect(gp_cluster *c, size_t workers, size_t workers_min, bool known)
{
    c->o.workers = c->workers = workers, c->o.workers_min = workers_min;
    c->known = known;
}

void gp_cluster_note_there(gp_cluster *c, size_t live)
{
    if (live < c->o.workers_min) live = c->o.workers_min;
    c->workers = live < c->o.workers ? live : c->o.workers;
    if (!c->workers) c->workers = 1;
    c->known = true;
}

void gp_cluster_set_data(gp_cluster *c, const char *dir, uint64_t fingerprint)
{
    c->data = dir, c->fingerprint = fingerprint;
}

// ---- farewell -------------------------------------------------------------------------------------------------------

// Is there anybody who has not heard it?
static bool is_expected(const gp_cluster *c, const char *why)
{
    size_t came = 0;
    for (size_t i = 0; i < c->n_peers; i++) {
        if (!c->peers[i].name[0]) continue;
        if (!c->peers[i].gone) return true;
        came++;
    }
    return why && c->o.together && came < c->o.workers;
}

static void say_farewell(gp_cluster *c, size_t peer, const gp_message *to, const char *why)
{
    gp_message bye = {.kind = GP_BYE, .flags = GP_FLAG_LAST, .worker = GP_ANY_WORKER};
    if (to) bye.run[0] = to->run[0], bye.run[1] = to->run[1], bye.worker = to->worker, bye.token = to->token;
    if (why) bye.text = why, bye.n_text = strnlen(why, GP_CLUSTER_TEXT);
    send_small(c, peer, &bye);
}

static void note_farewell(gp_cluster *c, size_t peer, const gp_message *m, const char *why)
{
    acquaintance *a = m->kind == GP_ASK ? gp_cluster_peer(c, peer) : peer < c->n_peers ? &c->peers[peer] : NULL;
    if (a && m->kind == GP_ASK) gp_cluster_note_name(a, m);
    if (a && m->kind == GP_BYE)
        a->gone = true;
    else if (m->kind != GP_HEARTBEAT)
        say_farewell(c, peer, m, why);
}

// A worker that computes hears it when it asks for more; so everything that comes now, or came and was not read, is
// answered by farewell.
static void part(gp_cluster *c, const char *why)
{
    gp_endpoint *e = c->o.endpoint;
    const gp_message_limits any = {SIZE_MAX / 64, SIZE_MAX / 64, SIZE_MAX / 64, GP_CLUSTER_TEXT};
    const double until = gp_clock_wall() + farewell_seconds;
    for (size_t i = 0; i < c->n_peers; i++)
        if (c->peers[i].name[0] && !c->peers[i].gone) say_farewell(c, i, NULL, why);
    while (gp_clock_wall() < until) {
        size_t peer, n;
        const void *bytes;
        gp_message m;
        const bool expected = is_expected(c, why);
        if (e->transport->receive(e, expected ? gp_cluster_turn_seconds : 0, &peer, &bytes, &n, NULL) != ADVGP_OK ||
            (!bytes && !expected))
            break;
        if (bytes && gp_message_decode(bytes, n, &any, &m, NULL) == ADVGP_OK) note_farewell(c, peer, &m, why);
    }
}

void gp_cluster_free(gp_cluster *c, const char *why)
{
    if (!c) return;
    part(c, why);
    if (!c->o.shared) c->o.endpoint->transport->close(c->o.endpoint);
    gp_free(c->peers);
    gp_free(c);
}

advgp_status gp_cluster_run_new(const gp_run_options *o, gp_run **out, advgp_error *err)
{
    if (!o->cluster) return gp_run_team_new(o, out, err);
    return o->split && o->cluster->o.servers ? gp_run_split_new(o, out, err) : gp_run_cluster_new(o, out, err);
}
