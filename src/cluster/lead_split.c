// lead_split.c: steps on several servers, each a process that keeps a range of the parameters. From one evaluation to
// the next the lead gives every server its range, the workers talk to the servers alone, and the ranges come back:
// so evaluation, checkpoint and what comes after the steps are as with one server, and a server that is lost costs the
// interval, not the run. Collections (finish, polish) are the lead's own, by the same workers.
#include "base/alloc.h"
#include "cluster/lead_state.h"
#include "store/form.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gp_lead_is_split(const gp_lead *l)
{
    return l->run.split && !l->collects;
}

static bool same(const uint64_t a[2], const uint64_t b[2])
{
    return a[0] == b[0] && a[1] == b[1];
}

bool gp_lead_in_interval(const gp_lead *l, const uint64_t run[2])
{
    return l->active && same(run, l->id);
}

// ---- places ---------------------------------------------------------------------------------------------------------

advgp_status gp_lead_split_begin(gp_lead *l, advgp_error *err)
{
    const gp_range whole = l->run.rule->options.range;
    const size_t n = l->o.servers;
    l->collects = l->active = false;
    l->interval_began = l->now;
    if (n > whole.count) return gp_fail(err, ADVGP_EINVAL, "{servers} %zu: there are %zu parameters", n, whole.count);
    l->places = gp_alloc(n, sizeof *l->places);
    if (!l->places) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const size_t first = i * whole.count / n;
        l->places[i].range = (gp_range){whole.first + first, (i + 1) * whole.count / n - first};
    }
    return ADVGP_OK;
}

static void forget_interval(gp_lead *l)
{
    for (size_t i = 0; l->places && i < l->o.servers; i++) {
        server_place *p = &l->places[i];
        gp_range_state_fini(&p->begin);
        gp_range_state_fini(&p->result);
        free(p->job);
        p->job = NULL, p->done = false;
    }
    free(l->interval_job);
    l->interval_job = NULL;
}

void gp_lead_split_forget(gp_lead *l)
{
    forget_interval(l);
    gp_free(l->places);
    l->places = NULL;
    l->active = l->collects = false;
}

static size_t places_taken(const gp_lead *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->o.servers; i++) n += l->places[i].taken;
    return n;
}

static server_place *place_of(gp_lead *l, size_t at)
{
    for (size_t i = 0; i < l->o.servers; i++)
        if (l->places[i].taken && l->places[i].peer == at) return &l->places[i];
    return NULL;
}

// ---- giving out work ------------------------------------------------------------------------------------------------

// Workers of the interval that may still be there. No more than there are shards: one without a shard at one server and
// with one at another would wait for the former while the latter waits for it.
static bool has_place(const gp_lead *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n_peers; i++) {
        const peer *p = &l->peers[i];
        const bool silent = gp_lead_silence_counts(l) && l->now - p->heard > l->o.lost_after;
        n += !p->serves && !p->gone && same(p->told, l->id) && !silent;
    }
    return n < l->run.n_shards;
}

// Whoever has asked hears what there is to do.
static void answer_all(gp_lead *l)
{
    for (size_t i = 0; i < l->o.servers; i++) {
        server_place *p = &l->places[i];
        if (p->taken && !p->done && l->peers[p->peer].asks) gp_lead_give_job(l, p->peer, l->id, p->job, &p->begin);
    }
    for (size_t at = 0; at < l->n_peers; at++) {
        peer *p = &l->peers[at];
        if (!p->asks || p->serves || p->gone || same(p->over, l->id)) continue;
        if (!same(p->told, l->id) && !has_place(l)) continue;
        memcpy(p->told, l->id, sizeof p->told);
        p->heard = l->now; // it had nothing to say while it waited
        gp_lead_give_job(l, at, l->id, l->interval_job, NULL);
    }
}

static advgp_status prepare_place(gp_lead *l, server_place *p, advgp_error *err)
{
    gp_job job = *l->run.job;
    advgp_status st = gp_server_copy_take(l->run.server, l->run.rule, p->range, &p->begin.copy, err);
    char *begin = st == ADVGP_OK ? gp_range_state_text(&p->begin) : NULL;
    if (begin) {
        job.serves = true, job.range_state = begin;
        job.schedule.workers = l->workers < l->run.n_shards ? l->workers : l->run.n_shards;
        job.service = (gp_job_service){.workers_min = l->o.workers_min,
                                       .workers_max = l->o.workers_max,
                                       .wait = l->o.wait,
                                       .lost_after = l->o.lost_after,
                                       .stuck_after = l->o.stuck_after,
                                       .known = l->known,
                                       .until = l->until};
        p->job = gp_job_to_text(&job);
    }
    if (st == ADVGP_OK && !p->job) st = gp_no_memory(err);
    free(begin);
    return st;
}

// ---- an interval ----------------------------------------------------------------------------------------------------

static advgp_status begin_interval(gp_lead *l, advgp_error *err)
{
    const size_t n = l->o.servers;
    gp_job job = *l->run.job;
    forget_interval(l);
    gp_job_server *servers = gp_alloc(n, sizeof *servers);
    if (!servers) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++) servers[i] = l->places[i].reached;
    job.servers = servers, job.n_servers = n;
    l->interval_job = gp_job_to_text(&job);
    gp_free(servers);
    if (!l->interval_job) return gp_no_memory(err);
    gp_lead_next_id(l, l->id);
    l->until = gp_server_allowed(l->run.server);
    const size_t steps = job.schedule.steps;
    if (steps && l->until > steps) l->until = steps;
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) st = prepare_place(l, &l->places[i], err);
    if (st != ADVGP_OK) return st;
    l->active = true;
    l->interval_began = l->left_alone = l->now;
    answer_all(l);
    return ADVGP_OK;
}

// The interval is over, or begins again when a lost server has been replaced. Whoever has not heard it by now does so
// here.
void gp_lead_split_abandon(gp_lead *l)
{
    const gp_message bye = {.kind = GP_BYE, .run = {l->id[0], l->id[1]}, .worker = GP_ANY_WORKER};
    size_t kept = 0;
    for (size_t i = 0; i < l->n_outgoing; i++) { // jobs of it, whose values go
        const outgoing *n = &l->outgoing[l->first_outgoing + i];
        if (n->message.kind != GP_JOB || !same(n->message.run, l->id)) l->outgoing[l->first_outgoing + kept++] = *n;
    }
    l->n_outgoing = kept;
    for (size_t at = 0; at < l->n_peers; at++)
        if (l->peers[at].name[0] && !l->peers[at].gone) gp_lead_send(l, at, &bye);
    l->active = false;
    l->interval_began = l->now;
}

static advgp_status end_interval(gp_lead *l, advgp_error *err)
{
    const size_t n = l->o.servers;
    for (size_t i = 0; i < n; i++)
        if (!l->places[i].done) return ADVGP_OK;
    gp_server_copy *copies = gp_alloc(n, sizeof *copies);
    if (!copies) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++) copies[i] = l->places[i].result.copy;
    const advgp_status st = gp_server_copies_restore(copies, n, l->run.server, l->run.rule, err);
    gp_free(copies);
    l->rows_elsewhere += l->places[0].result.rows;
    uint64_t live = l->o.workers; // who was lost is not waited for
    for (size_t i = 0; i < n; i++)
        if (l->places[i].result.live < live) live = l->places[i].result.live;
    gp_lead_expect_at_most(l, (size_t)live);
    l->active = false;
    l->interval_began = l->now;
    return st;
}

// ---- messages -------------------------------------------------------------------------------------------------------

// {"name": .., "address": .., "key": ..}
static bool read_server(const json_t *o, gp_job_server *out, char *name, size_t n)
{
    const char *called = json_string_value(json_object_get(o, "name")),
               *address = json_string_value(json_object_get(o, "address")),
               *key = json_string_value(json_object_get(o, "key"));
    const bool good = called && address && key && strlen(address) < sizeof out->address &&
                      strlen(key) < sizeof out->key;
    if (good) {
        const gp_message text = {.text = called, .n_text = strlen(called)};
        snprintf(out->address, sizeof out->address, "%s", address);
        snprintf(out->key, sizeof out->key, "%s", key);
        gp_lead_plain_text(&text, name, n);
    }
    return good;
}

// A server gives its range back at the end of the interval. One that sends what cannot be used would do so again, but
// another may come in its place: the interval begins again.
static advgp_status take_range_back(gp_lead *l, server_place *p, const gp_message *m, const json_t *o, advgp_error *err)
{
    const gp_message taken = {.kind = GP_TAKEN, .token = m->token, .worker = GP_ANY_WORKER};
    const char *text = json_string_value(json_object_get(o, "range_state"));
    advgp_error why = {0};
    gp_lead_send(l, p->peer, &taken);
    if (p->done || !l->active) return ADVGP_OK; // it had not heard it
    gp_range_state_fini(&p->result);
    advgp_status st = text ? gp_range_state_read(m->values, m->n_values, text, strlen(text), &p->result, &why)
                           : gp_metadata_bad(&why, "no state of a range");
    if (st == ADVGP_OK && (p->result.copy.range.first != p->range.first ||
                           p->result.copy.range.count != p->range.count || p->result.copy.image.version != l->until))
        st = gp_metadata_bad(&why, "another range or version");
    p->done = st == ADVGP_OK;
    if (p->done) return end_interval(l, err);
    gp_lead_report(l, "server %s gave back what cannot be used: %s", gp_lead_name(l, p->peer), why.text);
    p->taken = false;
    l->peers[p->peer].gone = true;
    gp_lead_split_abandon(l);
    return ADVGP_OK;
}

static advgp_status server_asks(gp_lead *l, size_t at, const gp_message *m, advgp_error *err)
{
    json_error_t where;
    gp_job_server reached = {0};
    peer *from = &l->peers[at];
    json_t *o = json_loadb(m->text, m->n_text, 0, &where);
    advgp_status st = ADVGP_OK;
    if (!read_server(o, &reached, from->name, sizeof from->name)) {
        json_decref(o);
        return ADVGP_OK;
    }
    server_place *p = place_of(l, at);
    for (size_t i = 0; !p && i < l->o.servers; i++) {
        // Its own, by a connection that was mended; or one that nobody has.
        const bool own = l->places[i].taken && !strcmp(l->places[i].reached.address, reached.address);
        if (!own && l->places[i].taken) continue;
        p = &l->places[i];
        if (own) l->peers[p->peer].gone = true;
        if (!own) gp_lead_report(l, "server %zu is %s", i, from->name);
        p->taken = true, p->peer = at;
    }
    if (p) { // else it is one too many, and waits until another is lost
        reached.range = p->range;
        p->reached = reached;
        if (m->n_values && same(m->run, l->id))
            st = take_range_back(l, p, m, o, err);
        else if (l->active)
            answer_all(l);
    }
    json_decref(o);
    return st;
}

// Too few workers, a loss that is to stop the run, numbers: another in its place would fail as well.
static advgp_status server_fails(gp_lead *l, size_t at, const gp_message *bye, advgp_error *err)
{
    const server_place *p = place_of(l, at);
    const advgp_status st = bye->token && bye->token < ADVGP_ESTOPPED ? (advgp_status)bye->token : ADVGP_ECLUSTER;
    char said[GP_LEAD_TEXT];
    if (!p) return ADVGP_OK;
    l->peers[at].gone = true; // nobody waits until it has heard the end
    gp_lead_plain_text(bye, said, sizeof said);
    return gp_fail(err, st, "server %zu (%s): %s", (size_t)(p - l->places), gp_lead_name(l, at), said);
}

advgp_status gp_lead_split_on_message(gp_lead *l, size_t at, const gp_message *m, advgp_error *err)
{
    const bool serves = m->flags & GP_FLAG_SERVES;
    if (m->kind == GP_BYE && serves && gp_lead_in_interval(l, m->run)) return server_fails(l, at, m, err);
    if (m->kind == GP_ASK && serves) return server_asks(l, at, m, err);
    if (m->kind == GP_ASK && l->active) answer_all(l);
    if (m->kind == GP_HELLO || m->kind == GP_PULL || m->kind == GP_PUSH) gp_lead_tell_over(l, at, m);
    return ADVGP_OK;
}

// ---- going on -------------------------------------------------------------------------------------------------------

// The workers that wait for another interval are told of the lead's own run instead.
static void turn_to_collecting(gp_lead *l)
{
    gp_lead_split_abandon(l);
    gp_lead_start_waiting(l, l->now);
    l->collects = true;
    for (size_t at = 0; at < l->n_peers; at++)
        if (l->peers[at].asks && !l->peers[at].serves) gp_lead_give_job(l, at, l->run.id, l->job, NULL);
}

advgp_status gp_lead_split_go_on(gp_lead *l, advgp_error *err)
{
    gp_server *server = l->run.server;
    if (gp_server_collects(server)) {
        if (!l->collects) turn_to_collecting(l);
        // Who was lost is not waited for.
        return !gp_server_begun(server) && gp_server_live(server) >= l->workers ? gp_server_begin(server, err)
                                                                                : ADVGP_OK;
    }
    if (l->active || places_taken(l) < l->o.servers || gp_server_allowed(server) <= gp_server_version(server))
        return ADVGP_OK;
    return begin_interval(l, err);
}

static void look_for_lost_servers(gp_lead *l)
{
    for (size_t i = 0; i < l->o.servers; i++) {
        server_place *p = &l->places[i];
        const double silent = p->taken ? l->now - l->peers[p->peer].heard : 0;
        const bool left = p->taken && l->peers[p->peer].gone;
        if (!left && (silent <= l->o.lost_after || !gp_lead_silence_counts(l))) continue;
        if (left)
            gp_lead_report(l, "server %zu (%s) has left: the versions since %llu are made again", i,
                           gp_lead_name(l, p->peer), (unsigned long long)gp_server_version(l->run.server));
        else
            gp_lead_report(
                l, "server %zu (%s) is lost after %.1f s without a word: the versions since %llu are made again", i,
                gp_lead_name(l, p->peer), silent, (unsigned long long)gp_server_version(l->run.server));
        p->taken = false;
        gp_lead_declare_lost(l, p->peer);
        if (l->active) gp_lead_split_abandon(l);
    }
}

// Some servers have ended the interval, others have not, and no worker is left that had its parameters from all: one
// that comes now cannot have them. For a while it may only be that what they say is under way.
static void look_for_workers_left(gp_lead *l)
{
    size_t done = 0, left = 0;
    for (size_t i = 0; i < l->o.servers; i++) done += l->places[i].done;
    for (size_t i = 0; i < l->n_peers; i++) {
        const peer *p = &l->peers[i];
        left += !p->serves && !p->gone && same(p->told, l->id) && !same(p->over, l->id) &&
                l->now - p->heard <= l->o.lost_after;
    }
    if (!l->active || !done || left || !gp_lead_silence_counts(l)) {
        l->left_alone = l->now;
    } else if (l->now - l->left_alone > l->o.lost_after) {
        gp_lead_report(l, "no worker is left that %zu of %zu servers wait for: the versions since %llu are made again",
                       l->o.servers - done, l->o.servers, (unsigned long long)gp_server_version(l->run.server));
        gp_lead_split_abandon(l);
    }
}

advgp_status gp_lead_split_on_tick(gp_lead *l, advgp_error *err)
{
    look_for_lost_servers(l);
    look_for_workers_left(l);
    if (l->active) answer_all(l); // a place may be free
    const size_t there = places_taken(l), n = l->o.servers;
    const bool due = l->now - l->told >= gp_lead_told_again;
    if (there == n) {
        if (l->now - l->interval_began >= gp_lead_told_after && due && l->active) {
            gp_lead_report(l, "waiting for %zu servers to come to version %llu", n, (unsigned long long)l->until);
            l->told = l->now;
        }
        return ADVGP_OK;
    }
    const double left = l->interval_began + l->o.wait - l->now;
    if (left <= 0)
        return gp_fail(err, ADVGP_ECLUSTER,
                       "%zu of %zu servers are here after %.0f s: look why the others did not start", there, n,
                       l->o.wait);
    if (due) {
        gp_lead_report(l, "waiting for servers: %zu of %zu are here, %.0f s left", there, n, left);
        l->told = l->now;
    }
    return ADVGP_OK;
}
