// lead.c: who has come, their messages to the server and back, and the farewell.
#include "base/alloc.h"
#include "base/rng.h"
#include "base/text.h"
#include "cluster/lead_state.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MALFORMED_TOLD = 10 };
static const double absence_least = 0.5, farewell_seconds = 5;

// ---- peers ----------------------------------------------------------------------------------------------------------

void gp_lead_report(const gp_lead *l, const char *format, ...)
{
    char text[GP_LEAD_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (l->o.report) l->o.report(l->o.ctx, text);
}

// NULL: no memory, and the peer is a stranger this time.
static peer *peer_of(gp_lead *l, size_t at)
{
    if (!gp_grow(&l->peers, &l->peers_room, l->n_peers, at + 1, sizeof *l->peers)) return NULL;
    for (; l->n_peers <= at; l->n_peers++) l->peers[l->n_peers] = (peer){.worker = GP_ANY_WORKER};
    return &l->peers[at];
}

const char *gp_lead_name(const gp_lead *l, size_t at)
{
    return at < l->n_peers && l->peers[at].name[0] ? l->peers[at].name : "of unknown name";
}

size_t gp_lead_peers(const gp_lead *l)
{
    return l->n_peers;
}

void gp_lead_plain_text(const gp_message *m, char *out, size_t room)
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

void gp_lead_declare_lost(gp_lead *l, size_t at)
{
    if (at < l->n_peers) l->peers[at].gone = true, l->peers[at].has_work = false; // until it is heard again
    if (l->o.lost) l->o.lost(l->o.ctx, at);
}

// A worker has been heard, perhaps by another connection than before: what was known of it is known of that one.
static void note_heard_from(gp_lead *l, uint32_t worker, size_t at)
{
    peer *p = peer_of(l, at);
    if (!p) return;
    p->gone = false;
    if (p->worker == worker) return;
    for (size_t i = 0; i < l->n_peers; i++) {
        peer *former = &l->peers[i];
        if (former->worker != worker) continue;
        if (!p->name[0]) {
            memcpy(p->name, former->name, sizeof p->name);
            p->has_work = former->has_work, p->given = former->given;
            p->row_seconds = former->row_seconds, p->stuck_seconds = former->stuck_seconds;
        }
        former->worker = GP_ANY_WORKER;
        former->gone = true, former->has_work = false;
    }
    p->worker = worker;
    if (!p->name[0]) snprintf(p->name, sizeof p->name, "?");
}

// ---- sending --------------------------------------------------------------------------------------------------------

// Without memory it is lost, as on any network.
void gp_lead_send(gp_lead *l, size_t at, const gp_message *m)
{
    if (l->first_outgoing)
        memmove(l->outgoing, l->outgoing + l->first_outgoing, l->n_outgoing * sizeof *l->outgoing),
            l->first_outgoing = 0;
    if (!gp_grow(&l->outgoing, &l->outgoing_room, l->n_outgoing, l->n_outgoing + 1, sizeof *l->outgoing)) return;
    l->outgoing[l->n_outgoing++] = (outgoing){at, *m};
}

void gp_lead_give_job(gp_lead *l, size_t at, const uint64_t id[2], const char *text, const gp_range_state *state)
{
    peer *p = &l->peers[at];
    gp_message m = {.kind = GP_JOB,
                    .run = {id[0], id[1]},
                    .token = p->token,
                    .fingerprint = l->run.job->fingerprint,
                    .n_text = strlen(text),
                    .text = text};
    if (state) m.n_values = state->copy.n_values, m.values = state->copy.values;
    p->asks = false;
    gp_lead_send(l, at, &m);
}

// It did not hear that its run is.
void gp_lead_tell_over(gp_lead *l, size_t at, const gp_message *m)
{
    const gp_message bye = {.kind = GP_BYE,
                            .run = {m->run[0], m->run[1]},
                            .worker = m->worker,
                            .incarnation = m->incarnation,
                            .token = m->token};
    gp_lead_send(l, at, &bye);
}

static bool takes_workers(const gp_lead *l)
{
    return l->running && !gp_lead_is_split(l);
}

bool gp_lead_next(gp_lead *l, double now, size_t *at, gp_message *m)
{
    if (l->n_outgoing) {
        const outgoing *n = &l->outgoing[l->first_outgoing++];
        *at = n->peer, *m = n->message;
        if (!--l->n_outgoing) l->first_outgoing = 0;
        return true;
    }
    if (l->tasking) return gp_lead_tasks_next(l, at, m);
    if (!takes_workers(l) || !gp_server_next(l->run.server, now, at, m)) return false;
    if (m->kind == GP_PARAMETERS && *at < l->n_peers) l->peers[*at].has_work = true, l->peers[*at].given = now;
    return true;
}

// ---- making, runs ---------------------------------------------------------------------------------------------------

advgp_status gp_lead_new(const gp_lead_options *o, gp_lead **out, advgp_error *err)
{
    *out = NULL;
    gp_lead *l = gp_alloc(1, sizeof *l);
    if (!l) return gp_no_memory(err);
    l->o = *o;
    l->workers = o->workers;
    *out = l;
    return ADVGP_OK;
}

void gp_lead_free(gp_lead *l)
{
    if (!l) return;
    gp_lead_forget(l);
    gp_lead_tasks_forget(l);
    gp_free(l->peers);
    gp_free(l->outgoing);
    gp_free(l);
}

void gp_lead_expect(gp_lead *l, size_t workers, size_t workers_min, bool known)
{
    l->o.workers = l->workers = workers, l->o.workers_min = workers_min;
    l->known = known;
}

void gp_lead_expect_at_most(gp_lead *l, size_t live)
{
    if (live < l->o.workers_min) live = l->o.workers_min;
    l->workers = live < l->o.workers ? live : l->o.workers;
    if (!l->workers) l->workers = 1;
    l->known = true;
}

size_t gp_lead_workers(const gp_lead *l)
{
    return l->workers;
}

void gp_lead_next_id(gp_lead *l, uint64_t id[2])
{
    id[0] = gp_hash_u64(l->o.random, 2 * l->runs), id[1] = gp_hash_u64(l->o.random, 2 * l->runs + 1) | 1;
    l->runs++;
}

uint64_t gp_lead_rows_elsewhere(const gp_lead *l)
{
    return l->rows_elsewhere;
}

void gp_lead_start_waiting(gp_lead *l, double now)
{
    l->began = l->advanced = now;
    l->told = now - gp_lead_told_again + 2; // the first word after two seconds
}

advgp_status gp_lead_begin(gp_lead *l, double now, const gp_lead_run *run, advgp_error *err)
{
    l->run = *run;
    l->now = now;
    l->running = true, l->ended = false;
    l->few_since = 0, l->version = 0, l->rows_elsewhere = 0;
    gp_lead_start_waiting(l, now);
    for (size_t i = 0; i < l->n_peers; i++) {
        peer *p = &l->peers[i];
        p->worker = GP_ANY_WORKER;
        p->has_work = false, p->row_seconds = p->stuck_seconds = 0;
    }
    if (run->job) {
        l->job = gp_job_to_text(run->job);
        if (!l->job) return gp_no_memory(err);
        if (strlen(l->job) > GP_JOB_TEXT_MAX) return gp_fail(err, ADVGP_EINVAL, "a job of %zu bytes", strlen(l->job));
    }
    return run->split ? gp_lead_split_begin(l, err) : ADVGP_OK;
}

void gp_lead_end(gp_lead *l, double now)
{
    if (!l->running || l->ended) return;
    l->now = now;
    l->ended = true;
    if (l->run.split) gp_lead_split_abandon(l);
    if (gp_server_begun(l->run.server)) gp_lead_expect_at_most(l, gp_server_live(l->run.server));
    gp_server_end(l->run.server);
}

void gp_lead_forget(gp_lead *l)
{
    gp_lead_split_forget(l);
    free(l->job);
    l->job = NULL;
    l->n_outgoing = l->first_outgoing = 0;
    l->running = false;
    l->run = (gp_lead_run){0};
}

// ---- the server's events --------------------------------------------------------------------------------------------

static void report_loss(gp_lead *l, const gp_ps_event *event, const gp_member *m)
{
    static const char *const then[] = {[GP_LOSS_REASSIGN] = "its shards go to the others",
                                       [GP_LOSS_DROP] = "its rows ARE LEFT OUT from here on",
                                       [GP_LOSS_STOP] = "the run stops"};
    char why[64] = "is given up";
    const double silent = l->now - m->heard;
    if (event->why)
        snprintf(why, sizeof why, "%s", event->why);
    else if (silent >= l->o.lost_after)
        snprintf(why, sizeof why, "is lost after %.1f s without a word", silent);
    gp_lead_report(l, "worker %u (%s) %s: %s", event->worker, gp_lead_name(l, m->peer), why,
                   then[event->flags & GP_FLAG_YIELDS ? GP_LOSS_REASSIGN : l->run.on_loss]);
}

void gp_lead_on_event(gp_lead *l, const gp_ps_event *event)
{
    if (!l->running || (event->kind != GP_EVENT_JOINED && event->kind != GP_EVENT_LOST)) return;
    const gp_member m = gp_server_member(l->run.server, event->worker);
    if (event->kind == GP_EVENT_JOINED) {
        note_heard_from(l, event->worker, m.peer);
        if (gp_server_begun(l->run.server))
            gp_lead_report(l, "worker %u (%s) has joined", event->worker, gp_lead_name(l, m.peer));
        return;
    }
    report_loss(l, event, &m);
    if (m.peer < l->n_peers) l->peers[m.peer].row_seconds = 0;
    gp_lead_declare_lost(l, m.peer);
}

// ---- hearing --------------------------------------------------------------------------------------------------------

static void send_farewell(gp_lead *l, size_t at, const gp_message *to)
{
    const peer *p = &l->peers[at];
    gp_message bye = {.kind = GP_BYE,
                      .flags = GP_FLAG_LAST,
                      .run = {p->told[0], p->told[1]}, // one that is at a task may have another question by now
                      .worker = GP_ANY_WORKER,
                      .token = p->token};
    if (to) bye.run[0] = to->run[0], bye.run[1] = to->run[1], bye.worker = to->worker;
    if (to && to->token) bye.token = to->token;
    bye.text = l->why, bye.n_text = strlen(l->why);
    gp_lead_send(l, at, &bye);
}

// Another version of this program, or nothing of ours.
static void on_unreadable(gp_lead *l, size_t at, const void *bytes, size_t n, const char *why)
{
    static const char text[] = "this worker is of another version than the lead: use the same advgp on all machines";
    gp_message from;
    peer *p = &l->peers[at];
    const unsigned protocol = gp_message_foreign(bytes, n, &from);
    p->malformed++;
    if (protocol) {
        const gp_message bye = {.protocol = protocol,
                                .kind = GP_BYE,
                                .flags = GP_FLAG_LAST,
                                .run = {from.run[0], from.run[1]},
                                .worker = from.worker,
                                .token = from.token,
                                .n_text = sizeof text - 1,
                                .text = text};
        gp_lead_send(l, at, &bye);
    }
    if (p->malformed == (protocol ? 1 : MALFORMED_TOLD))
        gp_lead_report(l, "the peer %s sends what cannot be read and is %s: %s", gp_lead_name(l, at),
                       protocol ? "sent away" : "passed over", why);
}

static void note_question(peer *p, const gp_message *ask)
{
    if (!(ask->flags & GP_FLAG_SERVES)) gp_lead_plain_text(ask, p->name, sizeof p->name);
    if (!p->name[0]) snprintf(p->name, sizeof p->name, "%s", ask->flags & GP_FLAG_SERVES ? "a server" : "?");
    p->serves = ask->flags & GP_FLAG_SERVES;
    p->gone = false;
    p->asks = true, p->token = ask->token;
    p->over[0] = ask->run[0], p->over[1] = ask->run[1]; // it may be known before the servers are heard
}

static void on_farewell(gp_lead *l, size_t at, const gp_message *m)
{
    peer *p = &l->peers[at];
    if (m->kind == GP_ASK) note_question(p, m);
    if (m->kind == GP_BYE)
        p->gone = true;
    else if (m->kind != GP_HEARTBEAT)
        send_farewell(l, at, m);
}

// Of somebody who has no place here: of an interval that is over he is told so, and who only asks whether a lead lives
// is answered.
static void on_sign(gp_lead *l, size_t at, const gp_message *m)
{
    const gp_message bye = {.kind = GP_BYE, .run = {m->run[0], m->run[1]}, .worker = GP_ANY_WORKER},
                     sign = {.kind = GP_HEARTBEAT, .worker = GP_ANY_WORKER};
    if (!l->job) return; // a server's lead, which hears what is meant for its own
    if (m->run[0] || m->run[1]) {
        if (!gp_lead_in_interval(l, m->run)) gp_lead_send(l, at, &bye);
    } else if (!(m->flags & GP_FLAG_SERVES)) {
        gp_lead_send(l, at, &sign);
    }
}

static void note_push(gp_lead *l, size_t at, const gp_message *push)
{
    peer *p = &l->peers[at];
    if (p->worker != push->worker) return;
    if (p->has_work && push->rows) p->row_seconds = (l->now - p->given) / (double)push->rows;
    p->has_work = false;
}

static advgp_status tell_server(gp_lead *l, size_t at, const gp_message *m, advgp_error *err)
{
    if (m->kind == GP_BYE && m->n_text) {
        char said[GP_LEAD_TEXT];
        gp_lead_plain_text(m, said, sizeof said);
        gp_lead_report(l, "worker %u (%s) fails: %s", m->worker, gp_lead_name(l, at), said);
    }
    if (m->kind == GP_PUSH) note_push(l, at, m);
    const advgp_status st = gp_server_on_message(l->run.server, l->now, at, m, err);
    if (m->worker >= l->o.workers_max) return st;
    const gp_member k = gp_server_member(l->run.server, m->worker);
    if (k.live && k.peer == at) note_heard_from(l, m->worker, at);
    return st;
}

static advgp_status on_message(gp_lead *l, size_t at, const gp_message *m, advgp_error *err)
{
    if (m->kind == GP_HEARTBEAT && m->worker == GP_ANY_WORKER && !l->tasking) {
        on_sign(l, at, m);
        return ADVGP_OK;
    }
    if (m->kind == GP_BYE && (m->flags & GP_FLAG_LAST)) {
        char said[GP_LEAD_TEXT];
        gp_lead_plain_text(m, said, sizeof said);
        if (m->n_text) gp_lead_report(l, "the worker %s fails: %s", gp_lead_name(l, at), said);
        l->peers[at].gone = true;
        if (l->tasking) gp_lead_tasks_on_left(l, at);
        return ADVGP_OK;
    }
    if (m->kind == GP_ASK) note_question(&l->peers[at], m);
    if (l->tasking) {
        gp_lead_tasks_on_message(l, at, m);
        return ADVGP_OK;
    }
    if (!takes_workers(l)) return gp_lead_split_on_message(l, at, m, err);
    if (m->kind == GP_ASK) { // a server's time comes with the steps
        if (l->job && !(m->flags & GP_FLAG_SERVES)) gp_lead_give_job(l, at, l->run.id, l->job, NULL);
        return ADVGP_OK;
    }
    if (m->flags & GP_FLAG_SERVES && m->kind == GP_BYE) return ADVGP_OK; // of an interval that is no more
    return tell_server(l, at, m, err);
}

// The lead may be away for long: it computes, or the whole process was stopped. While it is away it hears nobody, so
// silence of its workers proves nothing until it has listened again for a while.
static double absence(const gp_lead *l)
{
    return fmax(l->o.heartbeat, absence_least);
}

static void note_awake(gp_lead *l, double now)
{
    if (now - l->awake > absence(l)) l->back = now;
    l->awake = l->now = now;
}

bool gp_lead_silence_counts(const gp_lead *l)
{
    return l->awake - l->back >= absence(l);
}

// A question is read whatever it brings: it may be the result of a task of before, also of the lead before.
static advgp_status decode(const gp_lead *l, const void *bytes, size_t n, gp_message *m, advgp_error *err)
{
    const gp_message_limits any = {SIZE_MAX / 64, SIZE_MAX / 64, SIZE_MAX / 64, GP_JOB_TEXT_MAX};
    gp_message_limits limits = l->run.limits;
    if (l->farewell || l->tasking) return gp_message_decode(bytes, n, &any, m, err);
    if (l->run.split) {
        const size_t most = 8 * gp_server_look(l->run.server).size; // a server's values: seven arrays at most
        if (limits.values < most) limits.values = most;
        limits.text = GP_JOB_TEXT_MAX;
    }
    const advgp_status st = gp_message_decode(bytes, n, &limits, m, err);
    limits.values = any.values;
    if (st == ADVGP_OK || gp_message_decode(bytes, n, &limits, m, NULL) != ADVGP_OK) return st;
    return m->kind == GP_ASK && !(m->flags & GP_FLAG_SERVES) ? ADVGP_OK : st;
}

advgp_status gp_lead_on_bytes(gp_lead *l, double now, size_t at, const void *bytes, size_t n, advgp_error *err)
{
    gp_message m;
    advgp_error why = {0};
    note_awake(l, now);
    peer *p = peer_of(l, at);
    if (!p || (!l->running && !l->tasking && !l->farewell)) return ADVGP_OK;
    p->heard = now;
    if (decode(l, bytes, n, &m, &why) != ADVGP_OK) {
        on_unreadable(l, at, bytes, n, why.text);
        return ADVGP_OK;
    }
    if (l->farewell) {
        on_farewell(l, at, &m);
        return ADVGP_OK;
    }
    const advgp_status st = on_message(l, at, &m, err);
    return st == ADVGP_OK ? gp_lead_go_on(l, now, err) : st;
}

advgp_status gp_lead_go_on(gp_lead *l, double now, advgp_error *err)
{
    l->now = now;
    return l->running && !l->ended && l->run.split ? gp_lead_split_go_on(l, err) : ADVGP_OK;
}

// ---- time ---------------------------------------------------------------------------------------------------------

advgp_status gp_lead_on_tick(gp_lead *l, double now, advgp_error *err)
{
    note_awake(l, now);
    if (l->tasking && !l->farewell) return gp_lead_tasks_on_tick(l, err);
    if (!l->running || l->ended || l->farewell) return ADVGP_OK;
    advgp_status st = gp_lead_go_on(l, now, err);
    if (st != ADVGP_OK) return st;
    if (!takes_workers(l)) return gp_lead_split_on_tick(l, err);
    if (gp_lead_silence_counts(l)) st = gp_lead_find_lost_workers(l, err);
    return st == ADVGP_OK ? gp_lead_watch(l, err) : st;
}

// ---- farewell -------------------------------------------------------------------------------------------------------

void gp_lead_farewell(gp_lead *l, double now, const char *why)
{
    if (l->farewell) return;
    l->now = now;
    l->farewell = true;
    l->farewell_until = now + farewell_seconds;
    if (why) snprintf(l->why, sizeof l->why, "%s", why[0] ? why : "it failed");
    for (size_t i = 0; i < l->n_peers; i++)
        if (l->peers[i].name[0] && !l->peers[i].gone) send_farewell(l, i, NULL);
}

// A worker that computes hears it when it asks for more. Where something went wrong, also those who are still to come.
bool gp_lead_in_farewell(const gp_lead *l, double now)
{
    size_t came = 0;
    if (now >= l->farewell_until) return false;
    for (size_t i = 0; i < l->n_peers; i++) {
        if (!l->peers[i].name[0]) continue;
        if (!l->peers[i].gone) return true;
        came++;
    }
    return l->why[0] && l->o.together && came < l->o.workers + l->o.servers;
}
