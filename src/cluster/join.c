// join.c: ask, open, compute or serve, and again.
#include "cluster/join.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "cluster/serve.h"
#include "cluster/work_split.h"
#include "data/packed.h"
#include "run/computer.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double ask_again = 1, ask_most = 5, look_up = 0.25, resend = 2; // seconds
static const double told_after = 4, told_again = 10, full_pause = 5;

typedef struct visit {
    gp_join_options o;
    gp_join_result done;
    gp_job job;
    uint64_t run[2];
    char *dir; // of the shards that are open
    gp_shards *shards;
    uint64_t fingerprint; // of these
    uint64_t token;
    uint32_t place; // which worker it was last
    double heard, told, idle;
    double asked_to_stop; // when; 0: not yet
    bool over;            // the lead has nothing more to do
    bool given_up;        // the lead has ended the interval
    char *bytes;          // of the message being sent
    size_t bytes_room;
    // A server's:
    gp_cluster *cluster;
    double *values; // that came with the job
    size_t n_values;
    gp_portion result; // to be given back; of no values: there is none
    uint64_t result_run[2];
    uint64_t finished[2]; // a worker's: the interval whose servers have all said BYE
    // A worker's of several servers: how they are reached.
    gp_split_server *servers; // [n_servers]
    gp_job_server *reached;   // [n_servers]: for whom these are
    size_t n_servers;
} visit;

static void tell(const visit *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(const visit *v, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (v->o.say) v->o.say(v->o.ctx, text);
}

// ---- waiting --------------------------------------------------------------------------------------------------------

static void on_wait(void *ctx, double silent, double idle)
{
    visit *v = ctx;
    const double now = gp_clock_wall();
    if (idle < v->idle) v->told = 0; // another wait, another word
    v->idle = idle;
    if (fmax(silent, idle) < told_after || now - v->told < told_again) return;
    v->told = now;
    char doubt[256] = "";
    if (silent >= told_after && v->o.doubt) v->o.doubt(v->o.ctx, doubt, sizeof doubt);
    if (silent >= told_after)
        tell(v, "waiting for the lead: no word for %.0f s, gives up after %.0f s%s%s%s", silent, v->o.give_up,
             doubt[0] ? " (" : "", doubt, doubt[0] ? ")" : "");
    else
        tell(v, "waiting for the lead, which lives but has had nothing to do for %.0f s", idle);
}

static int on_stop(void *ctx)
{
    visit *v = ctx;
    if (!v->o.stop || !v->o.stop(v->o.ctx)) return 0;
    const double now = gp_clock_wall();
    if (!(v->asked_to_stop > 0)) {
        v->asked_to_stop = now;
        if (v->o.grace > 0)
            tell(v, "asked to stop: goes on for at most %.0f s, until the lead has what it needs", v->o.grace);
    }
    return now - v->asked_to_stop >= v->o.grace;
}

static void on_welcome(void *ctx, uint32_t worker, uint32_t incarnation)
{
    visit *v = ctx;
    if (worker == v->place && (incarnation == 1 || v->job.n_servers)) return; // the same as in the run before
    v->place = worker;
    if (incarnation > 1)
        tell(v, "is worker %" PRIu32 " from now on, its incarnation %" PRIu32, worker, incarnation);
    else
        tell(v, "is worker %" PRIu32 " from now on", worker);
}

// ---- asking ---------------------------------------------------------------------------------------------------------

static advgp_status say(visit *v, const gp_message *m, advgp_error *err)
{
    gp_endpoint *e = v->o.endpoint;
    const size_t n = gp_message_size(m);
    if (n > v->bytes_room) {
        gp_free(v->bytes);
        v->bytes = gp_alloc(n, 1);
        v->bytes_room = v->bytes ? n : 0;
        if (!v->bytes) return gp_fail(err, ADVGP_ENOMEM, "no memory for a message of %zu bytes", n);
    }
    gp_message_encode(m, v->bytes);
    return e->transport->send(e, 0, v->bytes, n, err);
}

static advgp_status farewell(visit *v, const gp_message *bye, advgp_error *err)
{
    const gp_message answer = {.kind = GP_BYE, .flags = GP_FLAG_LAST, .worker = GP_ANY_WORKER};
    v->over = true;
    (void)say(v, &answer, NULL);
    if (!bye->n_text) return ADVGP_OK;
    char why[400];
    gp_cluster_plain_text(bye, why, sizeof why);
    return gp_fail(err, ADVGP_ECLUSTER, "the lead has ended: %s", why);
}

// Workers that did not hear that an interval is over: told when this server has had nothing to do for a while, not at
// once, since what comes first may be the greetings of the next one. Those are repeated.
static void dismiss(visit *v, const gp_message *m, size_t peer)
{
    gp_endpoint *e = v->o.service->endpoint;
    _Alignas(8) char bytes[256];
    const gp_message bye = {
        .kind = GP_BYE, .run = {m->run[0], m->run[1]}, .worker = m->worker, .incarnation = m->incarnation};
    if (m->kind != GP_PULL && m->kind != GP_PUSH) return;
    gp_message_encode(&bye, bytes);
    (void)e->transport->send(e, peer, bytes, gp_message_size(&bye), NULL);
}

// The lead gives the interval up; what it says of a former one comes too late.
static void note_bye(visit *v, const gp_message *m)
{
    if (m->kind == GP_BYE && m->run[0] == v->run[0] && m->run[1] == v->run[1]) v->given_up = true;
}

static advgp_status take_job(visit *v, const gp_message *m, advgp_error *err)
{
    gp_job_fini(&v->job);
    const advgp_status st = gp_job_from_text(m->text, m->n_text, &v->job, err);
    if (st != ADVGP_OK) return st;
    if (v->job.serves != (v->o.service != NULL))
        return gp_fail(err, ADVGP_ECLUSTER, "the lead takes this process for a %s",
                       v->job.serves ? "server" : "worker");
    v->run[0] = m->run[0], v->run[1] = m->run[1];
    gp_free(v->values);
    v->values = gp_alloc(m->n_values, sizeof *v->values);
    v->n_values = m->n_values;
    if (!v->values) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu values", m->n_values);
    memcpy(v->values, m->values, m->n_values * sizeof *v->values);
    return ADVGP_OK;
}

// *got: there is a job; NULL: none is wanted.
static advgp_status listen(visit *v, double seconds, bool *got, advgp_error *err)
{
    const gp_message_limits limits = {.values = v->o.service ? SIZE_MAX / 64 : 0, .text = GP_JOB_TEXT_MAX};
    gp_endpoint *e = v->o.endpoint;
    size_t peer, n;
    const void *bytes;
    gp_message m;
    const advgp_status st = e->transport->receive(e, seconds, &peer, &bytes, &n, err);
    if (st != ADVGP_OK || !bytes) return st;
    if (peer != 0) { // over MPI: a worker, not the lead
        const gp_message_limits any = {SIZE_MAX / 64, SIZE_MAX / 64, SIZE_MAX / 64, GP_JOB_TEXT_MAX};
        if (v->o.service && gp_message_decode(bytes, n, &any, &m, NULL) == ADVGP_OK) dismiss(v, &m, peer);
        return ADVGP_OK;
    }
    v->heard = gp_clock_wall();
    if (gp_message_decode(bytes, n, &limits, &m, NULL) != ADVGP_OK) return ADVGP_OK;
    if (m.kind == GP_BYE && (m.flags & GP_FLAG_LAST)) return farewell(v, &m, err);
    note_bye(v, &m);
    if (m.kind == GP_WELCOME && m.token == v->token) gp_portion_fini(&v->result); // it has been taken
    if (m.kind != GP_JOB || m.token != v->token || !got) return ADVGP_OK;
    *got = true;
    return take_job(v, &m, err);
}

// "host:process" of a worker. A server says how it is reached, and brings what it has made.
static advgp_status say_ask(visit *v, advgp_error *err)
{
    gp_message m = {.kind = GP_ASK, .worker = GP_ANY_WORKER, .token = v->token};
    if (!v->o.service) {
        m.run[0] = v->finished[0], m.run[1] = v->finished[1];
        m.n_text = strlen(v->o.name), m.text = v->o.name;
        return say(v, &m, err);
    }
    const bool brings = v->result.values != NULL;
    char *portion = brings ? gp_portion_text(&v->result) : NULL;
    json_t *o = json_pack("{s:s, s:s, s:s, s:s*}", "name", v->o.name, "address", v->o.service->address, "key",
                          v->o.service->key, "portion", portion);
    char *text = o && (portion || !brings) ? json_dumps(o, JSON_COMPACT) : NULL;
    advgp_status st = text ? ADVGP_OK : gp_fail(err, ADVGP_ENOMEM, "no memory for a question");
    if (st == ADVGP_OK) {
        m.flags = GP_FLAG_SERVES;
        m.text = text, m.n_text = strlen(text);
        m.run[0] = v->result_run[0], m.run[1] = v->result_run[1];
        if (brings) m.values = v->result.values, m.n_values = gp_portion_values(&v->result);
        st = say(v, &m, err);
    }
    json_decref(o);
    free(text);
    free(portion);
    return st;
}

static void dismiss_late(visit *v)
{
    const gp_message_limits any = {SIZE_MAX / 64, SIZE_MAX / 64, SIZE_MAX / 64, GP_JOB_TEXT_MAX};
    gp_endpoint *e = v->o.service->endpoint;
    for (int i = 0; i < 100; i++) {
        size_t peer, n;
        const void *bytes = NULL;
        gp_message m;
        if (e->transport->receive(e, 0, &peer, &bytes, &n, NULL) != ADVGP_OK || !bytes) return;
        if (gp_message_decode(bytes, n, &any, &m, NULL) == ADVGP_OK) dismiss(v, &m, peer);
    }
}

static advgp_status ask(visit *v, bool *got, advgp_error *err)
{
    double pause = ask_again, next = 0;
    const double began = gp_clock_wall();
    advgp_status st = ADVGP_OK;
    *got = false;
    v->heard = began;
    v->token = gp_hash_u64(v->o.random, v->done.runs + v->token);
    while (st == ADVGP_OK && !*got && !v->over) {
        const double now = gp_clock_wall();
        if (now >= next) {
            st = say_ask(v, err);
            next = now + pause;
            pause = fmin(1.5 * pause, v->o.service ? ask_again : ask_most);
        }
        if (st == ADVGP_OK) st = listen(v, look_up, got, err);
        if (st != ADVGP_OK || *got || v->over) break;
        if (on_stop(v)) return gp_fail(err, ADVGP_ESTOPPED, "the worker was asked to stop");
        on_wait(v, gp_clock_wall() - v->heard, gp_clock_wall() - began);
        if (v->o.service && v->o.service->endpoint != v->o.endpoint && gp_clock_wall() - began > 1) dismiss_late(v);
        if (gp_clock_wall() - v->heard > v->o.give_up) {
            gp_endpoint *e = v->o.endpoint;
            if (e->transport->lost) e->transport->lost(e, 0);
            return gp_fail(err, ADVGP_ECLUSTER,
                           "no word from a lead for %.0f s: is it started, and is the address or the rendezvous file "
                           "the right one?",
                           v->o.give_up);
        }
    }
    return st;
}

// ---- a run ----------------------------------------------------------------------------------------------------------

static advgp_status open_shards(visit *v, advgp_error *err)
{
    const char *dir = v->o.data ? v->o.data : v->job.data;
    if (v->shards && !strcmp(dir, v->dir) && v->fingerprint == v->job.fingerprint) return ADVGP_OK;
    gp_shards_free(v->shards);
    gp_free(v->dir);
    v->shards = NULL;
    v->dir = gp_alloc(strlen(dir) + 1, 1);
    if (!v->dir) return gp_fail(err, ADVGP_ENOMEM, "no memory for the name of a folder");
    memcpy(v->dir, dir, strlen(dir));
    const advgp_status st = gp_packed_open(dir, &v->shards, NULL, NULL, err);
    if (st != ADVGP_OK)
        return gp_wrap(err, st, "the shards of the run (a folder that all can open is needed, or --data DIR)");
    v->fingerprint = gp_packed_fingerprint(v->shards);
    if (v->fingerprint != v->job.fingerprint || v->shards->d != v->job.claims.spec.d)
        return gp_fail(err, ADVGP_ECLUSTER, "%s holds other rows than the lead's: use the same packed folder", dir);
    return ADVGP_OK;
}

// ---- several servers ------------------------------------------------------------------------------------------------

static void forget_servers(visit *v)
{
    for (size_t i = 0; i < v->n_servers; i++) {
        gp_endpoint *e = v->servers[i].endpoint;
        if (e && e != v->o.endpoint) e->transport->close(e);
    }
    gp_free(v->servers);
    gp_free(v->reached);
    v->servers = NULL, v->reached = NULL, v->n_servers = 0;
}

// Connections are kept from one interval to the next.
static advgp_status reach_servers(visit *v, advgp_error *err)
{
    const gp_job *job = &v->job;
    const size_t n = job->n_servers;
    if (v->n_servers == n && !memcmp(v->reached, job->servers, n * sizeof *v->reached)) return ADVGP_OK;
    forget_servers(v);
    if (!v->o.reach) return gp_fail(err, ADVGP_EINVAL, "this worker cannot reach several servers");
    v->servers = gp_alloc(n, sizeof *v->servers);
    v->reached = gp_alloc(n, sizeof *v->reached);
    if (!v->servers || !v->reached) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu servers", n);
    memcpy(v->reached, job->servers, n * sizeof *v->reached);
    advgp_status st = ADVGP_OK;
    for (; st == ADVGP_OK && v->n_servers < n; v->n_servers++) {
        gp_split_server *s = &v->servers[v->n_servers];
        const gp_job_server *at = &job->servers[v->n_servers];
        s->range = at->range;
        st = v->o.reach(v->o.ctx, at->address, at->key, &s->endpoint, &s->peer, err);
    }
    return st;
}

// Over MPI the lead and all others are reached by one endpoint.
static bool shares_endpoint(const visit *v)
{
    return v->o.service ? v->o.service->endpoint == v->o.endpoint
                        : v->n_servers && v->servers[0].endpoint == v->o.endpoint;
}

// Asked now and then by a worker or server that talks to others: has the lead anything to say? Where the endpoint is
// shared, those who listen to it say so (on_control): this would take from them what is theirs.
static int lead_says_stop(void *ctx)
{
    visit *v = ctx;
    if (!shares_endpoint(v) && listen(v, 0, NULL, NULL) != ADVGP_OK) v->given_up = true;
    return v->given_up || v->over || on_stop(v);
}

static void on_control(void *ctx, const gp_message *m)
{
    visit *v = ctx;
    v->heard = gp_clock_wall();
    note_bye(v, m);
}

// Signs of life to the lead, which say of which interval they are: one that was given up meanwhile is told so. They
// also keep the way back open, by which it is told.
static advgp_status give_signs(visit *v, const uint64_t run[2], advgp_error *err)
{
    gp_endpoint *e = v->o.endpoint;
    _Alignas(8) char bytes[256];
    const gp_message sign = {.kind = GP_HEARTBEAT,
                             .flags = v->o.service ? GP_FLAG_SERVES : 0,
                             .run = {run[0], run[1]},
                             .worker = GP_ANY_WORKER};
    if (!e->transport->beat) return ADVGP_OK;
    gp_message_encode(&sign, bytes);
    return e->transport->beat(e, v->job.heartbeat, bytes, gp_message_size(&sign), err);
}

static advgp_status serve(visit *v, advgp_error *err)
{
    const gp_job_service *s = &v->job.service;
    const bool shared = v->o.service->endpoint == v->o.endpoint;
    advgp_status st = ADVGP_OK;
    if (!v->cluster) {
        const gp_cluster_options c = {.endpoint = v->o.service->endpoint,
                                      .shared = shared,
                                      .workers = s->workers,
                                      .workers_min = s->workers_min,
                                      .workers_max = s->workers_max,
                                      .wait = s->wait,
                                      .heartbeat = v->job.heartbeat,
                                      .lost_after = s->lost_after,
                                      .stuck_after = s->stuck_after,
                                      .random = v->o.random,
                                      .say = v->o.say,
                                      .ctx = v->o.ctx,
                                      .control = on_control,
                                      .control_ctx = v};
        st = gp_cluster_new(&c, &v->cluster, err);
        if (st != ADVGP_OK) return st;
    }
    gp_cluster_set_data(v->cluster, v->dir, v->fingerprint);
    gp_cluster_expect(v->cluster, s->workers, s->workers_min, s->known);
    const gp_serve_options o = {.cluster = v->cluster,
                                .job = &v->job,
                                .shards = v->shards,
                                .run = {v->run[0], v->run[1]},
                                .values = v->values,
                                .n_values = v->n_values,
                                .stop = lead_says_stop,
                                .ctx = v};
    v->given_up = false;
    gp_portion_fini(&v->result);
    st = give_signs(v, v->run, err);
    if (st == ADVGP_OK) st = gp_serve(&o, &v->result, err);
    if (st == ADVGP_OK || st == ADVGP_ESTOPPED) (void)give_signs(v, (const uint64_t[2]){0, 0}, NULL);
    v->result_run[0] = v->run[0], v->result_run[1] = v->run[1];
    v->done.runs++;
    if (st == ADVGP_ESTOPPED && !on_stop(v)) st = ADVGP_OK; // the lead has given it up: it knows what comes next
    return st;
}

// What ends a server ends the run, and it is the lead whom people look at: a farewell of the interval, by which status
// (in the token) and why.
static void say_why(visit *v, advgp_status st, const advgp_error *err)
{
    gp_message bye = {.kind = GP_BYE,
                      .flags = GP_FLAG_SERVES,
                      .run = {v->run[0], v->run[1]},
                      .worker = GP_ANY_WORKER,
                      .token = (uint64_t)st};
    gp_worker_say_why(&bye, st, err);
    (void)say(v, &bye, NULL);
}

// ---- a run ----------------------------------------------------------------------------------------------------------

// Computes until the server says BYE. A lead that was started again has another run: that is asked for.
static advgp_status work(visit *v, advgp_error *err)
{
    const gp_job *job = &v->job;
    gp_row_computer *computer = NULL;
    gp_features *f = NULL;
    gp_worker_end end = {0};
    advgp_status st = gp_features_new(&job->claims.spec, &f, err);
    if (st != ADVGP_OK) return st;
    const gp_theta_layout layout = gp_theta_layout_of(f);
    const gp_range range = gp_range_all(layout);
    gp_features_free(f);
    const gp_row_computer_options co = {
        .shards = v->shards, .spec = &job->claims.spec, .rule = job->rule, .range = range, .batch = job->batch};
    const gp_worker_options wo = {.size = layout.size,
                                  .push_size = gp_row_computer_push_size(layout, job->rule, range),
                                  .n_shards = v->shards->n_train,
                                  .wish = v->o.wish,
                                  .yields = v->o.yields,
                                  .run = {v->run[0], v->run[1]},
                                  .fingerprint = v->fingerprint,
                                  .token = v->token,
                                  .resend = resend};
    st = gp_row_computer_new(&co, &computer, err);
    const gp_worker_watch watch = {
        .ctx = v, .stop = job->n_servers ? lead_says_stop : on_stop, .waits = on_wait, .welcome = on_welcome};
    const gp_worker_life life = {.endpoint = v->o.endpoint,
                                 .computer = computer ? gp_row_computer_of(computer) : (gp_computer){0},
                                 .delays = job->delays,
                                 .n_delays = job->n_delays,
                                 .heartbeat = job->heartbeat,
                                 .give_up = v->o.give_up,
                                 .watch = &watch,
                                 .worker = wo};
    if (st == ADVGP_OK && job->n_servers) {
        v->given_up = false;
        st = reach_servers(v, err);
        const gp_split_life split = {life, v->servers, v->n_servers, on_control};
        const bool apart = !shares_endpoint(v); // else the signs for the servers go to the lead as well
        if (st == ADVGP_OK && apart) st = give_signs(v, v->run, err);
        if (st == ADVGP_OK) st = gp_split_live(&split, &end, err);
        if (apart && v->o.endpoint->transport->beat)
            (void)v->o.endpoint->transport->beat(v->o.endpoint, 0, NULL, 0, NULL);
        if (st == ADVGP_OK) memcpy(v->finished, v->run, sizeof v->run);
        if (st == ADVGP_ESTOPPED && !on_stop(v)) st = ADVGP_OK; // the lead has given the interval up
    } else if (st == ADVGP_OK) {
        st = gp_worker_live(&life, &end, err);
    }
    gp_row_computer_free(computer);
    v->done.runs++;
    v->done.pushes += end.pushes, v->done.resends += end.resends;
    if (st != ADVGP_ECLUSTER) return st;
    if (end.refused == GP_REFUSED_OTHER_RUN) {
        tell(v, "the lead has been started again: asks what the work is now");
        return ADVGP_OK;
    }
    if (end.refused == GP_REFUSED_FULL || end.refused == GP_REFUSED_TAKEN) {
        tell(v, "%s: asks again in %.0f s", gp_refusal_text(end.refused), full_pause);
        const double until = gp_clock_wall() + full_pause;
        st = ADVGP_OK;
        while (st == ADVGP_OK && !v->over && !on_stop(v) && gp_clock_wall() < until) st = listen(v, look_up, NULL, err);
    }
    return st;
}

advgp_status gp_join(const gp_join_options *o, gp_join_result *result, advgp_error *err)
{
    visit v = {.o = *o, .place = GP_ANY_WORKER};
    bool got;
    advgp_status st = ADVGP_OK;
    while (st == ADVGP_OK && !v.over) {
        st = ask(&v, &got, err);
        if (st == ADVGP_OK && got) st = open_shards(&v, err);
        if (st == ADVGP_OK && got) st = v.o.service ? serve(&v, err) : work(&v, err);
        if (st != ADVGP_OK && st != ADVGP_ESTOPPED && got && v.o.service) say_why(&v, st, err);
    }
    if (result) *result = v.done;
    forget_servers(&v);
    if (v.cluster)
        gp_cluster_free(v.cluster, NULL);
    else if (o->service && o->service->endpoint != o->endpoint)
        o->service->endpoint->transport->close(o->service->endpoint);
    gp_portion_fini(&v.result);
    gp_free(v.values);
    gp_free(v.bytes);
    gp_job_fini(&v.job);
    gp_shards_free(v.shards);
    gp_free(v.dir);
    return st;
}
