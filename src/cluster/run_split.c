// run_split.c: steps on several servers, each a process that keeps a range of the parameters. From one evaluation to
// the next the lead gives every server its portion, the workers talk to the servers alone, and the portions come back:
// so evaluation, checkpoint and what comes after the steps are as with one server, and a server that is lost costs the
// interval, not the run. Collections (finish, polish) are the lead's own, by the same workers.
#include "base/alloc.h"
#include "base/clock.h"
#include "cluster/cluster_state.h"
#include "cluster/portion.h"
#include "store/form.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct post { // a server's place
    gp_range range;
    bool taken;
    size_t peer;
    double heard;
    gp_job_server reached; // how workers reach it
    gp_portion result;
    bool done;
} post;

typedef struct split_run {
    cluster_run r;
    size_t n_posts;
    post *posts;
    bool active;    // an interval is under way
    bool collected; // it has turned to collecting
    uint64_t id[2]; // of the interval, as servers and workers know it
    uint64_t until;
    char *job; // of its workers; free
    double waits_since, told;
    char *bytes; // of a message with a portion
    size_t bytes_room;
} split_run;

// ---- telling --------------------------------------------------------------------------------------------------------

static advgp_status send(split_run *s, size_t peer, const gp_message *m, advgp_error *err)
{
    gp_endpoint *e = s->r.c->o.endpoint;
    const size_t n = gp_message_size(m);
    if (n > s->bytes_room) {
        gp_free(s->bytes);
        s->bytes = gp_alloc(n, 1);
        s->bytes_room = s->bytes ? n : 0;
        if (!s->bytes) return gp_fail(err, ADVGP_ENOMEM, "no memory for a message of %zu bytes", n);
    }
    gp_message_encode(m, s->bytes);
    return e->transport->send(e, peer, s->bytes, n, err);
}

static gp_message job_of(const split_run *s, acquaintance *a, const char *text)
{
    a->asks = false;
    return (gp_message){.kind = GP_JOB,
                        .run = {s->id[0], s->id[1]},
                        .token = a->token,
                        .fingerprint = s->r.base.o.fingerprint,
                        .n_text = strlen(text),
                        .text = text};
}

static advgp_status employ(split_run *s, post *p, advgp_error *err)
{
    const gp_run_options *o = &s->r.base.o;
    const gp_cluster_options *c = &s->r.c->o;
    gp_portion portion;
    advgp_status st = gp_portion_look(s->r.base.server, s->r.base.rule, s->r.base.range, p->range, &portion, err);
    char *text = NULL, *begin = st == ADVGP_OK ? gp_portion_text(&portion) : NULL;
    if (begin) {
        gp_job job;
        gp_cluster_run_job(&s->r, &job);
        job.serves = true, job.portion = begin;
        job.service = (gp_job_service){.steps = o->steps,
                                       .max_delay = o->max_delay,
                                       .workers = s->r.c->workers,
                                       .workers_min = c->workers_min,
                                       .known = s->r.c->known,
                                       .workers_max = o->workers_max,
                                       .quorum = o->quorum,
                                       .filter = o->filter,
                                       .wait = c->wait,
                                       .lost_after = c->lost_after,
                                       .stuck_after = c->stuck_after,
                                       .on_loss = o->on_loss,
                                       .until = s->until};
        text = gp_job_to_text(&job);
    }
    if (st == ADVGP_OK && !text) st = gp_fail(err, ADVGP_ENOMEM, "no memory for a job");
    if (st == ADVGP_OK) {
        gp_message m = job_of(s, &s->r.c->peers[p->peer], text);
        m.n_values = gp_portion_values(&portion), m.values = portion.values;
        st = send(s, p->peer, &m, err);
    }
    free(text);
    free(begin);
    gp_portion_fini(&portion);
    return st;
}

static bool is_server(const split_run *s, size_t peer)
{
    for (size_t i = 0; i < s->n_posts; i++)
        if (s->posts[i].taken && s->posts[i].peer == peer) return true;
    return false;
}

// Whoever has asked hears what there is to do.
static advgp_status answer_all(split_run *s, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    gp_cluster *c = s->r.c;
    for (size_t i = 0; st == ADVGP_OK && i < s->n_posts; i++)
        if (s->posts[i].taken && !s->posts[i].done && c->peers[s->posts[i].peer].asks)
            st = employ(s, &s->posts[i], err);
    for (size_t peer = 0; st == ADVGP_OK && peer < c->n_peers; peer++) {
        if (!c->peers[peer].asks || is_server(s, peer) || !memcmp(c->peers[peer].over, s->id, sizeof s->id)) continue;
        const gp_message m = job_of(s, &c->peers[peer], s->job);
        st = send(s, peer, &m, err);
    }
    return st;
}

// ---- an interval ----------------------------------------------------------------------------------------------------

static size_t posts_taken(const split_run *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_posts; i++) n += s->posts[i].taken;
    return n;
}

static advgp_status begin_interval(split_run *s, advgp_error *err)
{
    gp_job job;
    gp_job_server *servers = gp_alloc(s->n_posts, sizeof *servers);
    if (!servers) return gp_fail(err, ADVGP_ENOMEM, "no memory for a job");
    for (size_t i = 0; i < s->n_posts; i++) servers[i] = s->posts[i].reached, s->posts[i].done = false;
    gp_cluster_run_job(&s->r, &job);
    job.servers = servers, job.n_servers = s->n_posts;
    free(s->job);
    s->job = gp_job_to_text(&job);
    gp_free(servers);
    if (!s->job) return gp_fail(err, ADVGP_ENOMEM, "no memory for a job");
    gp_cluster_next_id(s->r.c, s->id);
    s->until = gp_server_allowed(s->r.base.server);
    if (s->r.base.o.steps && s->until > s->r.base.o.steps) s->until = s->r.base.o.steps;
    s->active = true;
    s->waits_since = gp_clock_wall();
    return answer_all(s, err);
}

// The interval is over, or begins again when a lost server has been replaced. Whoever has not heard it by now does so
// here.
static void abandon(split_run *s)
{
    gp_cluster *c = s->r.c;
    const gp_message bye = {.kind = GP_BYE, .run = {s->id[0], s->id[1]}, .worker = GP_ANY_WORKER};
    for (size_t peer = 0; peer < c->n_peers; peer++)
        if (c->peers[peer].name[0] && !c->peers[peer].gone) (void)send(s, peer, &bye, NULL);
    s->active = false;
    s->waits_since = gp_clock_wall();
}

static advgp_status end_interval(split_run *s, advgp_error *err)
{
    gp_run *run = &s->r.base;
    for (size_t i = 0; i < s->n_posts; i++)
        if (!s->posts[i].done) return ADVGP_OK;
    gp_portion *portions = gp_alloc(s->n_posts, sizeof *portions);
    if (!portions) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu portions", s->n_posts);
    for (size_t i = 0; i < s->n_posts; i++) portions[i] = s->posts[i].result;
    const advgp_status st = gp_portions_restore(portions, s->n_posts, run->server, run->rule, err);
    run->rows_elsewhere += portions[0].rows;
    uint64_t live = run->o.workers; // who was lost is not waited for
    for (size_t i = 0; i < s->n_posts; i++)
        if (portions[i].live < live) live = portions[i].live;
    gp_cluster_note_there(s->r.c, (size_t)live);
    gp_free(portions);
    s->active = false;
    return st;
}

// ---- hearing --------------------------------------------------------------------------------------------------------

// {"name": .., "address": .., "key": ..}
static bool read_server(const gp_message *ask, gp_job_server *out, char *name, size_t n)
{
    json_error_t where;
    json_t *o = json_loadb(ask->text, ask->n_text, 0, &where);
    const char *called = json_string_value(json_object_get(o, "name")),
               *address = json_string_value(json_object_get(o, "address")),
               *key = json_string_value(json_object_get(o, "key"));
    const bool good = called && address && key && strlen(address) < sizeof out->address &&
                      strlen(key) < sizeof out->key;
    if (good) {
        snprintf(out->address, sizeof out->address, "%s", address);
        snprintf(out->key, sizeof out->key, "%s", key);
        snprintf(name, n, "%s", called);
    }
    json_decref(o);
    return good;
}

static post *post_of(split_run *s, size_t peer)
{
    post *free_one = NULL;
    for (size_t i = 0; i < s->n_posts; i++) {
        if (s->posts[i].taken && s->posts[i].peer == peer) return &s->posts[i];
        if (!s->posts[i].taken && !free_one) free_one = &s->posts[i];
    }
    return free_one; // NULL: one too many, it waits in vain until another is lost
}

static advgp_status server_asks(split_run *s, size_t peer, const gp_message *m, acquaintance *a, advgp_error *err)
{
    gp_job_server reached;
    char name[GP_CLUSTER_NAME];
    if (!read_server(m, &reached, name, sizeof name)) return ADVGP_OK;
    post *p = post_of(s, peer);
    snprintf(a->name, sizeof a->name, "%s", name);
    if (!p) return ADVGP_OK;
    if (!p->taken) gp_cluster_tell(s->r.c, "server %zu is %s", (size_t)(p - s->posts), name);
    reached.range = p->range;
    p->taken = true, p->peer = peer, p->heard = gp_clock_wall(), p->reached = reached;
    a->asks = true, a->token = m->token, a->gone = false;
    if (!s->active) return ADVGP_OK;
    if (m->n_values && m->run[0] == s->id[0] && m->run[1] == s->id[1]) {
        // The text has its portion as well.
        json_error_t where;
        json_t *o = json_loadb(m->text, m->n_text, 0, &where);
        const char *text = json_string_value(json_object_get(o, "portion"));
        advgp_error why = {0};
        gp_portion_fini(&p->result);
        const advgp_status st = text ? gp_portion_read(m->values, m->n_values, text, strlen(text), &p->result, &why)
                                     : gp_metadata_bad(&why, "no portion");
        json_decref(o);
        p->done = st == ADVGP_OK && p->result.range.first == p->range.first && p->result.range.count == p->range.count;
        const gp_message taken = {.kind = GP_WELCOME, .token = m->token, .worker = GP_ANY_WORKER};
        (void)send(s, peer, &taken, NULL);
        if (!p->done) gp_cluster_tell(s->r.c, "server %s gave back what is no portion: %s", name, why.text);
        return p->done ? end_interval(s, err) : ADVGP_OK;
    }
    return answer_all(s, err);
}

// Too few workers, a loss that is to stop the run, numbers: another in its place would fail as well.
static advgp_status server_fails(split_run *s, size_t peer, const gp_message *bye, advgp_error *err)
{
    const post *p = is_server(s, peer) ? post_of(s, peer) : NULL;
    const advgp_status st = bye->token && bye->token < ADVGP_ESTOPPED ? (advgp_status)bye->token : ADVGP_ECLUSTER;
    char said[GP_CLUSTER_TEXT];
    if (!p) return ADVGP_OK;
    s->r.c->peers[peer].gone = true; // nobody waits until it has heard the end
    gp_cluster_plain_text(bye, said, sizeof said);
    return gp_fail(err, st, "server %zu (%s): %s", (size_t)(p - s->posts), gp_cluster_name(s->r.c, peer), said);
}

static advgp_status hear(split_run *s, size_t peer, const void *bytes, size_t n, advgp_error *err)
{
    gp_message m;
    const gp_message_limits limits = {.values = 8 * s->r.base.layout.size, .text = GP_JOB_TEXT_MAX};
    if (gp_message_decode(bytes, n, &limits, &m, NULL) != ADVGP_OK) return ADVGP_OK; // of an interval that is over
    acquaintance *a = gp_cluster_peer(s->r.c, peer);
    if (!a) return ADVGP_OK;
    for (size_t i = 0; i < s->n_posts; i++)
        if (s->posts[i].taken && s->posts[i].peer == peer) s->posts[i].heard = gp_clock_wall();
    const bool of_now = s->active && m.run[0] == s->id[0] && m.run[1] == s->id[1];
    if (m.kind == GP_HEARTBEAT && (m.run[0] || m.run[1]) && !of_now) { // it was taken for lost, or did not hear it
        const gp_message bye = {.kind = GP_BYE, .run = {m.run[0], m.run[1]}, .worker = GP_ANY_WORKER};
        return send(s, peer, &bye, err);
    }
    if (m.kind == GP_BYE && (m.flags & GP_FLAG_SERVES) && of_now) return server_fails(s, peer, &m, err);
    if (m.kind != GP_ASK) return ADVGP_OK;
    if (m.flags & GP_FLAG_SERVES) return server_asks(s, peer, &m, a, err);
    gp_cluster_note_name(a, &m);
    a->asks = true, a->token = m.token;
    a->over[0] = m.run[0], a->over[1] = m.run[1]; // done with this one: it may be known before the servers are heard
    return s->active ? answer_all(s, err) : ADVGP_OK;
}

// ---- turns ----------------------------------------------------------------------------------------------------------

static advgp_status watch(split_run *s, advgp_error *err)
{
    gp_cluster *c = s->r.c;
    const double now = gp_clock_wall();
    for (size_t i = 0; i < s->n_posts; i++) {
        post *p = &s->posts[i];
        if (!p->taken || now - p->heard <= c->o.lost_after || !gp_cluster_run_knows_the_lost(&s->r)) continue;
        gp_cluster_tell(
            c, "server %zu (%s) is lost after %.1f s without a word: the versions since %llu are made again", i,
            gp_cluster_name(c, p->peer), now - p->heard, (unsigned long long)gp_server_version(s->r.base.server));
        p->taken = false;
        c->peers[p->peer].gone = true;
        if (c->o.endpoint->transport->lost) c->o.endpoint->transport->lost(c->o.endpoint, p->peer);
        abandon(s);
    }
    const size_t there = posts_taken(s);
    if (there == s->n_posts) {
        if (now - s->waits_since >= gp_cluster_told_after && now - s->told >= gp_cluster_told_again && s->active) {
            gp_cluster_tell(c, "waiting for %zu servers to come to version %llu", s->n_posts,
                            (unsigned long long)s->until);
            s->told = now;
        }
        return ADVGP_OK;
    }
    const double left = s->waits_since + c->o.wait - now;
    if (left <= 0)
        return gp_fail(err, ADVGP_ECLUSTER,
                       "%zu of %zu servers are here after %.0f s: look why the others did not start", there, s->n_posts,
                       c->o.wait);
    if (now - s->told >= gp_cluster_told_again) {
        gp_cluster_tell(c, "waiting for servers: %zu of %zu are here, %.0f s left", there, s->n_posts, left);
        s->told = now;
    }
    return ADVGP_OK;
}

// The workers that wait for another interval are told of the lead's own run instead.
static advgp_status turn_to_collecting(split_run *s, advgp_error *err)
{
    gp_cluster *c = s->r.c;
    advgp_status st = gp_cluster_run_start(&s->r.base, err);
    abandon(s);
    s->collected = true;
    memcpy(s->id, s->r.base.o.id, sizeof s->id);
    for (size_t peer = 0; st == ADVGP_OK && peer < c->n_peers; peer++) {
        if (!c->peers[peer].asks || is_server(s, peer)) continue;
        const gp_message m = job_of(s, &c->peers[peer], s->r.job);
        st = send(s, peer, &m, err);
    }
    return st;
}

static advgp_status split_turn(gp_run *run, double seconds, advgp_error *err)
{
    split_run *s = (split_run *)run;
    size_t peer, n;
    const void *bytes;
    advgp_status st = ADVGP_OK;
    if (gp_server_collects(run->server)) {
        if (!s->collected) st = turn_to_collecting(s, err);
        if (st == ADVGP_OK && !gp_server_begun(run->server) && gp_server_live(run->server) >= s->r.c->workers)
            st = gp_server_begin(run->server, err); // who was lost is not waited for
        return st == ADVGP_OK ? gp_cluster_run_turn(run, seconds, err) : st;
    }
    if (!s->active && posts_taken(s) == s->n_posts && gp_server_allowed(run->server) > gp_server_version(run->server))
        st = begin_interval(s, err);
    if (st == ADVGP_OK) st = gp_cluster_run_receive(&s->r, seconds, &peer, &bytes, &n, err);
    if (st != ADVGP_OK) return st;
    return bytes ? hear(s, peer, bytes, n, err) : watch(s, err);
}

static advgp_status split_start(gp_run *run, advgp_error *err)
{
    split_run *s = (split_run *)run;
    s->waits_since = gp_clock_wall();
    s->told = s->waits_since - gp_cluster_told_again + 2;
    return gp_cluster_run_start(run, err);
}

static advgp_status split_say(gp_run *run, advgp_error *err)
{
    return gp_server_collects(run->server) ? gp_cluster_run_say(run, err) : ADVGP_OK;
}

static void split_stop(gp_run *run)
{
    split_run *s = (split_run *)run;
    if (s->r.base.server && s->posts) abandon(s);
    gp_cluster_run_stop(run);
    for (size_t i = 0; s->posts && i < s->n_posts; i++) gp_portion_fini(&s->posts[i].result);
    gp_free(s->posts);
    gp_free(s->bytes);
    free(s->job);
}

static const gp_run_ops split_ops = {
    .start = split_start, .turn = split_turn, .wake = gp_cluster_run_wake, .say = split_say, .stop = split_stop};

advgp_status gp_run_split_new(const gp_run_options *o, gp_run **out, advgp_error *err)
{
    *out = NULL;
    if (!o->rule->element_wise)
        return gp_fail(err, ADVGP_EINVAL,
                       "--servers: the optimizer %s needs all parameters in one place; use --optimizer prox",
                       o->rule->name);
    split_run *s = gp_alloc(1, sizeof *s);
    if (!s) return gp_fail(err, ADVGP_ENOMEM, "no memory for a run");
    advgp_status st = gp_cluster_run_init(&s->r, &split_ops, o, err);
    if (st == ADVGP_OK && s->r.base.rotation)
        st = gp_fail(err, ADVGP_EINVAL,
                     "--servers: features of eigenvectors turn with every step and need all "
                     "parameters in one place; use --map cholesky");
    s->n_posts = o->cluster->o.servers;
    s->posts = st == ADVGP_OK ? gp_alloc(s->n_posts, sizeof *s->posts) : NULL;
    if (st == ADVGP_OK && !s->posts) st = gp_fail(err, ADVGP_ENOMEM, "no memory for %zu servers", s->n_posts);
    if (st == ADVGP_OK && s->n_posts > s->r.base.layout.size)
        st = gp_fail(err, ADVGP_EINVAL, "--servers %zu: there are %zu parameters", s->n_posts, s->r.base.layout.size);
    for (size_t i = 0; st == ADVGP_OK && i < s->n_posts; i++) {
        const size_t size = s->r.base.layout.size, first = i * size / s->n_posts;
        s->posts[i].range = (gp_range){first, (i + 1) * size / s->n_posts - first};
    }
    if (st == ADVGP_OK)
        *out = &s->r.base;
    else
        gp_run_free(&s->r.base);
    return st;
}
