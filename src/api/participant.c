// participant.c: from options and environment to an endpoint.
#include "api/participant.h"
#include "base/alloc.h"
#include "base/machine.h"
#include "base/text.h"
#include "cluster/join.h"
#include "cluster/role.h"
#include "data/packed.h"
#include "store/claim.h"
#include "store/keys.h"
#include "store/rendezvous.h"
#include "transport/address.h"
#include "transport/launch.h"
#include "transport/zmq.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Inputs that messages are sized for before the data are read; a table with more is told so.
enum { INPUTS_MAX = 4096, SPARE_WORKERS = 16, PEERS_MAX = 8192 };
static const double grace = 20;        // seconds that a launched worker goes on after SIGTERM, which its lead got, too
static const double worker_wait = 600; // seconds without a word from the lead
static const double worker_wait_least = 60;
static const double probe_seconds = 5; // for a lead to show that it lives
static const double knock_seconds = 2; // or for anybody to open where it was

struct gp_participant {
    const gp_options *o;
    const gp_host *host;
    gp_launch launch; // by whom it was started; size negative: not told
    bool several;     // hosts take part
    const char *job;  // what Slurm calls it; NULL: it is none of its
    bool worker;
    bool ranks;  // the launcher has settled who is there, and one endpoint reaches all
    bool serves; // a range of the parameters: a worker that does not work
    gp_join_service service;
    char address[128], key[GP_ZMQ_KEY];
    size_t servers; // of the run; 0: the lead keeps all parameters
    char name[80];
    char rendezvous[4096]; // empty: none
    // A worker's:
    gp_endpoint *endpoint;
    gp_worker_keys keys; // of --keys
    bool has_keys;
    uint32_t wish;
    bool yields; // it is a rank that wishes, and there may be another of that rank
    double give_up;
    const char *data;
    // A lead's:
    gp_cluster *cluster;
    gp_endpoint *listening; // the cluster's, over ZeroMQ
    size_t workers, message_max;
    gp_zmq_identity former; // the workers' key of the lead before, now dead; empty: none
    gp_claim claim;         // on the rendezvous file, until it is settled who leads
    gp_rendezvous published;
    bool is_published;
};

static void on_report(void *ctx, const char *text)
{
    const gp_participant *e = ctx;
    if (e->worker)
        gp_host_report(e->host, "%s: %s", e->name, text);
    else
        gp_host_report(e->host, "%s", text);
}

static int on_stop(void *ctx)
{
    const gp_participant *e = ctx;
    return gp_host_stops(e->host);
}

// What transport/launch.h knows, and Kubernetes, whose indexed jobs count their pods.
static void read_launch(gp_participant *e)
{
    int64_t n;
    const char *index = getenv("JOB_COMPLETION_INDEX"), *step = getenv("SLURM_STEP_NUM_NODES"),
               *nodes = step ? step : getenv("SLURM_JOB_NUM_NODES");
    e->launch = gp_launch_read();
    if (!e->launch.by && index && gp_text_integer(index, &n)) e->launch = (gp_launch){"Kubernetes", n, -1, false};
    e->several = nodes && gp_text_integer(nodes, &n) && n > 1;
    e->job = getenv("SLURM_STEP_ID") ? getenv("SLURM_JOB_ID") : NULL;
}

static void name_self(gp_participant *e)
{
    char host[64] = "host";
    (void)gethostname(host, sizeof host - 1);
    snprintf(e->name, sizeof e->name, "%.60s:%ld", host, (long)getpid());
}

// ---- where the lead is ----------------------------------------------------------------------------------------------

// The file of --rendezvous, or the one that tasks of a Slurm job agree on.
static void find_rendezvous(gp_participant *e)
{
    const char *given = gp_options_text(e->o, "rendezvous");
    if (given)
        snprintf(e->rendezvous, sizeof e->rendezvous, "%s", given);
    else if (e->job && !gp_options_text(e->o, "server"))
        snprintf(e->rendezvous, sizeof e->rendezvous, "advgp-%.100s.rendezvous", e->job);
}

// The keys of a lead on this machine, where it has left some for us.
static advgp_status find_lead_of_port(const char *server, gp_zmq_target *out, advgp_error *err)
{
    gp_address at;
    gp_rendezvous r;
    char path[4096];
    bool is_name, there = false;
    const char *host = strncmp(server, "tcp://", 6) ? server : server + 6;
    if (gp_address_numeric(server, &at, &is_name, NULL) != ADVGP_OK) return ADVGP_OK; // it will be said elsewhere
    if (is_name ? strncmp(host, "localhost:", 10) != 0 : !at.loopback) return ADVGP_OK;
    gp_rendezvous_of_port(at.port, path, sizeof path);
    const advgp_status st = gp_rendezvous_read(path, &r, &there, err);
    return st == ADVGP_OK && there ? gp_rendezvous_target(&r, NULL, out, err) : st;
}

static advgp_status find_lead(void *ctx, bool *known, gp_zmq_target *out, advgp_error *err)
{
    const gp_participant *e = ctx;
    const char *server = gp_options_text(e->o, "server");
    *known = true;
    *out = (gp_zmq_target){0};
    if (!server) {
        gp_rendezvous r;
        const advgp_status st = gp_rendezvous_read(e->rendezvous, &r, known, err);
        return st == ADVGP_OK && *known ? gp_rendezvous_target(&r, e->has_keys ? &e->keys : NULL, out, err) : st;
    }
    if (!e->has_keys) {
        const advgp_status st = find_lead_of_port(server, out, err);
        if (st != ADVGP_OK) return st;
    }
    snprintf(out->address, sizeof out->address, "%s", server);
    if (e->has_keys) {
        memcpy(out->lead_key, e->keys.lead_key, sizeof out->lead_key);
        out->keys = e->keys.keys;
    }
    return ADVGP_OK;
}

// Somebody else who is connected to.
typedef struct way {
    gp_participant *self;
    gp_zmq_target target;
    bool known; // whole; else its keys are those with which the lead is talked to
} way;

static advgp_status find_way(void *ctx, bool *known, gp_zmq_target *out, advgp_error *err)
{
    way *w = ctx;
    if (!w->known) {
        gp_zmq_target lead;
        const advgp_status st = find_lead(w->self, known, &lead, err);
        if (st != ADVGP_OK || !*known) return st; // a file that is being replaced is there again soon
        w->target.keys = lead.keys;
        w->known = true;
    }
    *known = true;
    *out = w->target;
    return ADVGP_OK;
}

// A name that cannot be resolved and a file that is not there may be mistakes, or may come: the worker waits, and says
// so.
static void doubt_lead(void *ctx, char *out, size_t room)
{
    const gp_participant *e = ctx;
    bool known;
    gp_zmq_target target;
    gp_address at;
    advgp_error err = {0};
    out[0] = 0;
    advgp_status st = find_lead(ctx, &known, &target, &err);
    if (st == ADVGP_OK && !known)
        snprintf(out, room, "there is no file %.200s", e->rendezvous);
    else if (st == ADVGP_OK)
        st = gp_address_connect(target.address, &at, &err);
    if (st != ADVGP_OK) snprintf(out, room, "%s", err.text);
}

static advgp_status read_worker_keys(gp_participant *e, advgp_error *err)
{
    const char *dir = gp_options_text(e->o, "keys");
    if (!dir) return ADVGP_OK;
    e->has_keys = true;
    return gp_keys_read_worker(dir, &e->keys, err);
}

static advgp_status connect_zmq(gp_participant *e, advgp_error *err)
{
    const gp_zmq_connect_options o = {.find = find_lead, .ctx = e, .message_max = GP_JOIN_MESSAGE_MAX};
    return gp_zmq_connect(&o, &e->endpoint, err);
}

// Does the lead of a rendezvous live? It may have died and left the file behind. Who cannot talk to it, since a lead's
// folder of keys need not have a worker's or may be another run's, sees whether anybody listens there.
static bool lead_lives(const gp_participant *e, const gp_rendezvous *r)
{
    const char *dir = gp_options_text(e->o, "keys");
    const bool bring_keys = r->lead_key[0] && !r->worker.secret_key[0];
    gp_worker_keys own = {0};
    gp_endpoint *end = NULL;
    way w = {.known = true};
    const gp_zmq_connect_options z = {.find = find_way, .ctx = &w, .message_max = GP_JOIN_MESSAGE_MAX};
    const void *got = NULL;
    if (bring_keys && dir) (void)gp_keys_read_worker(dir, &own, NULL);
    advgp_status st = !bring_keys || !strcmp(own.lead_key, r->lead_key) ? ADVGP_OK : ADVGP_EFILE;
    if (st == ADVGP_OK) st = gp_rendezvous_target(r, bring_keys ? &own : NULL, &w.target, NULL);
    if (st == ADVGP_OK) st = gp_zmq_connect(&z, &end, NULL);
    for (int i = 0; i < 5 && st == ADVGP_OK && !got; i++) {
        _Alignas(8) char bytes[256];
        size_t peer, n;
        const gp_message m = {.kind = GP_HEARTBEAT, .worker = GP_ANY_WORKER};
        gp_message_encode(&m, bytes);
        st = end->transport->send(end, 0, bytes, gp_message_size(&m), NULL);
        if (st == ADVGP_OK) st = end->transport->receive(end, probe_seconds / 5, &peer, &got, &n, NULL);
    }
    if (end) end->transport->close(end);
    if (got || st == ADVGP_ECLUSTER) return true; // who refuses us lives
    // A lead that stands still answers nothing, but its system still opens to whoever knocks.
    return gp_address_answers(r->endpoint, knock_seconds);
}

// ---- the lead -------------------------------------------------------------------------------------------------------

static size_t workers_expected(const gp_participant *e)
{
    const gp_options *o = e->o;
    if (gp_options_given(o, "workers") && !gp_options_is(o, "workers", "auto"))
        return (size_t)gp_options_int(o, "workers");
    if (e->launch.size > 1 + (int64_t)e->servers) return (size_t)e->launch.size - 1 - e->servers;
    return (size_t)gp_options_int(o, "min-workers");
}

static advgp_status check_counts(const gp_participant *e, size_t max, advgp_error *err)
{
    const size_t min = (size_t)gp_options_int(e->o, "min-workers");
    if (min > e->workers)
        return gp_fail(err, ADVGP_EINVAL, "{min-workers} %zu is more than the %zu workers of the run", min, e->workers);
    if (max < e->workers)
        return gp_fail(err, ADVGP_EINVAL, "{max-workers} %zu leaves no place for the %zu workers of the run", max,
                       e->workers);
    if (gp_options_real(e->o, "lost-after") < 2 * gp_options_real(e->o, "heartbeat"))
        return gp_fail(err, ADVGP_EINVAL,
                       "{lost-after} %g: a worker gives a sign of life every %g seconds ({heartbeat}); allow for two "
                       "of them at least",
                       gp_options_real(e->o, "lost-after"), gp_options_real(e->o, "heartbeat"));
    return ADVGP_OK;
}

static advgp_status make_cluster(gp_participant *e, gp_endpoint *endpoint_take, advgp_error *err)
{
    const gp_options *o = e->o;
    size_t max = 2 * e->workers + SPARE_WORKERS;
    if (!gp_options_is(o, "max-workers", "auto")) max = (size_t)gp_options_int(o, "max-workers");
    if (e->ranks || max > GP_WORKERS_MAX) max = e->ranks ? e->workers : GP_WORKERS_MAX; // nobody can join
    advgp_status st = check_counts(e, max, err);
    if (st != ADVGP_OK) {
        endpoint_take->transport->close(endpoint_take);
        return st;
    }
    const gp_lead_options l = {.workers = e->workers,
                               .workers_min = (size_t)gp_options_int(o, "min-workers"),
                               .workers_max = max,
                               .together = e->launch.size > 1,
                               .wait = gp_options_real(o, "wait"),
                               .heartbeat = gp_options_real(o, "heartbeat"),
                               .lost_after = gp_options_real(o, "lost-after"),
                               .stuck_after = gp_options_real(o, "stuck-after"),
                               .random = gp_random_u64(),
                               .servers = e->servers,
                               .report = on_report,
                               .ctx = e};
    const gp_cluster_options c = {.endpoint = endpoint_take, .lead = l};
    return gp_cluster_new(&c, &e->cluster, err);
}

// Those of --keys; else new ones, which a rendezvous file carries: on this machine alone there always is one. Of a lead
// that was started again the workers' key stays: servers of ranges, which have outlived it, let in no other.
static advgp_status find_keys(const gp_participant *e, const gp_address *at, gp_lead_keys *keys,
                              gp_zmq_identity *worker, advgp_error *err)
{
    const char *dir = gp_options_text(e->o, "keys");
    *keys = (gp_lead_keys){0};
    *worker = (gp_zmq_identity){0};
    if (dir) return gp_keys_read_lead(dir, keys, err);
    if (!at->loopback && !e->rendezvous[0]) return ADVGP_OK; // plain, which is refused
    keys->allowed = gp_alloc(1, sizeof *keys->allowed);
    if (!keys->allowed) return gp_fail(err, ADVGP_ENOMEM, "no memory for keys");
    keys->n_allowed = 1;
    *worker = e->former;
    advgp_status st = gp_zmq_keypair(&keys->keys, err);
    if (st == ADVGP_OK && !worker->secret_key[0]) st = gp_zmq_keypair(worker, err);
    memcpy(keys->allowed[0], worker->public_key, sizeof keys->allowed[0]);
    return st;
}

static advgp_status publish(gp_participant *e, const char *endpoint, const gp_lead_keys *keys,
                            const gp_zmq_identity *worker, advgp_error *err)
{
    gp_rendezvous *r = &e->published;
    if (!e->rendezvous[0]) return ADVGP_OK;
    *r = (gp_rendezvous){.run = {gp_random_u64(), gp_random_u64()}, .pid = getpid(), .worker = *worker};
    snprintf(r->endpoint, sizeof r->endpoint, "%s", endpoint);
    (void)gethostname(r->host, sizeof r->host - 1);
    memcpy(r->lead_key, keys->keys.public_key, sizeof r->lead_key);
    const advgp_status st = gp_rendezvous_write(e->rendezvous, r, err);
    e->is_published = st == ADVGP_OK;
    return st;
}

static advgp_status listen_zmq(gp_participant *e, advgp_error *err)
{
    const gp_options *o = e->o;
    const char *listen = gp_options_text(o, "listen");
    char host[256] = "127.0.0.1";
    gp_address at, reach;
    gp_lead_keys keys;
    gp_zmq_identity worker;
    gp_endpoint *endpoint = NULL;
    if (!listen && e->several) (void)gethostname(host, sizeof host - 1);
    advgp_status st = gp_address_listen(listen ? listen : host, &at, err);
    if (st != ADVGP_OK) return gp_wrap(err, st, "{listen}");
    const bool named = e->rendezvous[0], by_port = !named && at.loopback && !gp_options_text(o, "keys");
    if (by_port && at.port) { // of one that was killed
        gp_rendezvous r;
        bool there = false;
        gp_rendezvous_of_port(at.port, e->rendezvous, sizeof e->rendezvous);
        if (gp_rendezvous_read(e->rendezvous, &r, &there, NULL) == ADVGP_OK && there) e->former = r.worker;
    }
    st = find_keys(e, &at, &keys, &worker, err);
    const bool encrypted = keys.keys.secret_key[0];
    if (st == ADVGP_OK) {
        const gp_zmq_listen_options z = {.address = at.endpoint,
                                         .keys = encrypted ? &keys.keys : NULL,
                                         .allowed = keys.allowed,
                                         .n_allowed = keys.n_allowed,
                                         .message_max = e->message_max,
                                         .peers_max = PEERS_MAX,
                                         .report = on_report,
                                         .ctx = e};
        st = gp_zmq_listen(&z, &endpoint, err);
    }
    if (st == ADVGP_OK) st = gp_address_reach(gp_zmq_address(endpoint), &reach, err);
    if (st == ADVGP_OK && by_port) gp_rendezvous_of_port(reach.port, e->rendezvous, sizeof e->rendezvous);
    if (st == ADVGP_OK) st = publish(e, reach.endpoint, &keys, &worker, err);
    gp_lead_keys_fini(&keys);
    if (st != ADVGP_OK) {
        if (endpoint) endpoint->transport->close(endpoint);
        return st;
    }
    gp_host_report(e->host, "lead at %s%s, %s%s; expects %zu worker%s", reach.endpoint, encrypted ? " (encrypted)" : "",
                   named ? "rendezvous " : "join with advgp work --server ",
                   named ? e->rendezvous : reach.endpoint + strlen("tcp://"), e->workers, e->workers == 1 ? "" : "s");
    e->listening = endpoint;
    return make_cluster(e, endpoint, err);
}

// ---- roles ----------------------------------------------------------------------------------------------------------

static void take_role(gp_participant *e, gp_role role)
{
    e->worker = role.kind != GP_IS_LEAD;
    e->serves = role.kind == GP_IS_SERVER;
    e->wish = role.place;
    e->yields = role.yields;
}

// Over a transport whose launcher has settled who is there.
static advgp_status enter_ranks(gp_participant *e, const gp_transport *transport, advgp_error *err)
{
    gp_endpoint *endpoint = NULL;
    gp_ranks place;
    advgp_status st = transport->enter(e->message_max, e->servers > 0, &endpoint, &place, err);
    if (st != ADVGP_OK) return st;
    e->ranks = true;
    e->give_up = gp_options_real(e->o, "lost-after"); // nobody starts another lead for these processes
    e->launch.rank = (int64_t)place.rank, e->launch.size = (int64_t)place.size;
    take_role(e, gp_role_of_rank(place.rank, e->servers));
    if (e->worker) {
        e->endpoint = endpoint;
        e->service = (gp_join_service){endpoint, e->address, e->key};
        snprintf(e->address, sizeof e->address, "%zu", place.rank);
        return ADVGP_OK;
    }
    if (place.size < 2 + e->servers) {
        endpoint->transport->close(endpoint);
        return gp_fail(err, ADVGP_EINVAL, "%zu processes are a lead, %zu servers and no worker: start more", place.size,
                       e->servers);
    }
    e->workers = place.size - 1 - e->servers;
    gp_host_report(e->host, "lead is rank 0 of %zu on %s (%s, not encrypted); expects %zu worker%s", place.size,
                   place.host, transport->name, e->workers, e->workers == 1 ? "" : "s");
    return make_cluster(e, endpoint, err);
}

// Looks at the rendezvous file where that decides.
static advgp_status settle_role(gp_participant *e, advgp_error *err)
{
    const gp_options *o = e->o;
    gp_role_facts facts = {.wish = gp_options_is(o, "role", "worker") ? GP_ROLE_WORKER
                                   : gp_options_is(o, "role", "auto") ? GP_ROLE_AUTO
                                                                      : GP_ROLE_LEAD,
                           .server_named = gp_options_text(o, "server") != NULL,
                           .launched = e->launch.by != NULL,
                           .rank = e->launch.rank,
                           .servers = e->servers,
                           .rendezvous = e->rendezvous[0] ? GP_RENDEZVOUS_OPEN : GP_RENDEZVOUS_NONE};
    gp_role role;
    if (gp_role_needs_rendezvous(&facts)) {
        gp_rendezvous r;
        bool there;
        // Of those who are started at the same instant one looks and publishes before the next one looks.
        advgp_status st = gp_claim_take(e->rendezvous, on_stop, e, &e->claim, err);
        if (st == ADVGP_OK) st = gp_rendezvous_read(e->rendezvous, &r, &there, err);
        if (st == ADVGP_EFILE) return gp_wrap(err, st, "name another file, this one is left as it is");
        if (st != ADVGP_OK) return st;
        if (there && lead_lives(e, &r))
            facts.rendezvous = GP_RENDEZVOUS_TAKEN;
        else if (there)
            e->former = r.worker;
    }
    const advgp_status st = gp_role_decide(&facts, &role, err);
    if (st != ADVGP_OK) return facts.rendezvous == GP_RENDEZVOUS_TAKEN ? gp_wrap(err, st, "%s", e->rendezvous) : st;
    take_role(e, role);
    if (role.late)
        gp_host_report(e->host, "%s: a lead lives there already, so this task joins it as a worker", e->rendezvous);
    return ADVGP_OK;
}

// A server of a range listens, with the lead's keys, or with new ones that its workers hear of by the lead.
static advgp_status offer_service(gp_participant *e, const char *listen, advgp_error *err)
{
    const char *dir = gp_options_text(e->o, "keys");
    char host[256] = "127.0.0.1";
    gp_address at, reach;
    gp_lead_keys keys = {0};
    gp_zmq_target lead;
    bool known = false;
    if (!listen && e->several) (void)gethostname(host, sizeof host - 1);
    advgp_status st = gp_address_listen(listen ? listen : host, &at, err);
    if (st != ADVGP_OK) return gp_wrap(err, st, "where this server listens");
    if (dir) st = gp_keys_read_lead(dir, &keys, err);
    if (!dir) { // who is let in, the lead says
        const struct timespec pause = {.tv_nsec = 200000000};
        gp_host_report(e->host, "%s: waits for the lead's rendezvous file", e->name);
        for (double waited = 0; st == ADVGP_OK && !known && waited < e->give_up && !gp_host_stops(e->host);
             waited += 0.2) {
            st = find_lead(e, &known, &lead, err);
            if (known && !lead.lead_key[0]) known = gp_address_answers(lead.address, 0.2); // else its keys may come
            if (st == ADVGP_OK && !known) (void)nanosleep(&pause, NULL);
        }
        if (st == ADVGP_OK && !known)
            st = gp_fail(err, ADVGP_ECLUSTER, "there is no lead after %.0f s: is it started?", e->give_up);
    }
    if (st == ADVGP_OK && known && lead.keys.public_key[0]) {
        keys.allowed = gp_alloc(1, sizeof *keys.allowed);
        keys.n_allowed = 1;
        st = keys.allowed ? gp_zmq_keypair(&keys.keys, err) : gp_fail(err, ADVGP_ENOMEM, "no memory for keys");
        if (st == ADVGP_OK) memcpy(keys.allowed[0], lead.keys.public_key, sizeof keys.allowed[0]);
    }
    const gp_zmq_listen_options z = {.address = at.endpoint,
                                     .keys = keys.keys.secret_key[0] ? &keys.keys : NULL,
                                     .allowed = keys.allowed,
                                     .n_allowed = keys.n_allowed,
                                     .message_max = GP_JOIN_MESSAGE_MAX,
                                     .peers_max = PEERS_MAX,
                                     .report = on_report,
                                     .ctx = e};
    if (st == ADVGP_OK) st = gp_zmq_listen(&z, &e->service.endpoint, err);
    if (st == ADVGP_OK) st = gp_address_reach(gp_zmq_address(e->service.endpoint), &reach, err);
    if (st == ADVGP_OK) {
        snprintf(e->address, sizeof e->address, "%s", reach.endpoint);
        memcpy(e->key, keys.keys.public_key, sizeof e->key);
        e->service.address = e->address, e->service.key = e->key;
    }
    gp_lead_keys_fini(&keys);
    return st;
}

// How a worker reaches a server: by a connection of its own, with its own keys; or by its rank.
static advgp_status reach_server(void *ctx, const char *address, const char *key, gp_endpoint **endpoint, size_t *peer,
                                 advgp_error *err)
{
    gp_participant *e = ctx;
    *peer = 0;
    if (e->ranks) {
        *endpoint = e->endpoint;
        *peer = strtoul(address, NULL, 10);
        return ADVGP_OK;
    }
    way *w = gp_alloc(1, sizeof *w);
    if (!w) return gp_fail(err, ADVGP_ENOMEM, "no memory for a server");
    w->self = e;
    snprintf(w->target.address, sizeof w->target.address, "%s", address);
    snprintf(w->target.lead_key, sizeof w->target.lead_key, "%.40s", key);
    const gp_zmq_connect_options z = {.find = find_way, .done = gp_free, .ctx = w, .message_max = GP_JOIN_MESSAGE_MAX};
    return gp_zmq_connect(&z, endpoint, err);
}

static advgp_status enter_zmq(gp_participant *e, advgp_error *err)
{
    find_rendezvous(e);
    advgp_status st = settle_role(e, err);
    if (st == ADVGP_OK && !e->worker) {
        e->workers = workers_expected(e);
        st = listen_zmq(e, err);
    }
    gp_claim_release(&e->claim);
    if (st != ADVGP_OK || !e->worker) return st;
    st = read_worker_keys(e, err);
    if (st == ADVGP_OK) st = connect_zmq(e, err);
    return st == ADVGP_OK && e->serves ? offer_service(e, NULL, err) : st;
}

static advgp_status participant_new(const gp_options *o, const gp_host *host, gp_participant **out, advgp_error *err)
{
    gp_participant *e = *out = gp_alloc(1, sizeof *e);
    if (!e) return gp_fail(err, ADVGP_ENOMEM, "no memory for a cluster");
    e->o = o;
    e->host = host;
    read_launch(e);
    e->wish = GP_ANY_WORKER;
    e->give_up = worker_wait;
    e->claim.fd = -1;
    name_self(e);
    return ADVGP_OK;
}

advgp_status gp_participant_open(const gp_options *o, const gp_host *host, gp_participant **out, advgp_error *err)
{
    *out = NULL;
    if (gp_options_is(o, "transport", "inproc")) return ADVGP_OK;
    advgp_status st = participant_new(o, host, out, err);
    if (st != ADVGP_OK) return st;
    gp_participant *e = *out;
    // As long as the lead waits for them, where somebody said how long; it may start later than they.
    if (gp_options_given(o, "wait")) e->give_up = fmax(gp_options_real(o, "wait"), worker_wait_least);
    e->message_max = gp_cluster_message_max((size_t)gp_options_int(o, "inducing"), INPUTS_MAX, GP_SHARDS_MAX);
    if (gp_options_int(o, "servers") > 1) e->servers = (size_t)gp_options_int(o, "servers");
    if (e->servers && !gp_options_is(o, "optimizer", "prox")) {
        st = gp_fail(err, ADVGP_EINVAL, "{servers} %zu: parameters are split for {optimizer} prox alone", e->servers);
        gp_participant_close(e, NULL);
        *out = NULL;
        return st;
    }
    const gp_transport *transport = gp_transport_named(gp_options_text(o, "transport"));
    st = transport->enter ? enter_ranks(e, transport, err) : enter_zmq(e, err);
    if (st != ADVGP_OK) {
        gp_participant_close(e, err ? err->text : NULL);
        *out = NULL;
    }
    return st;
}

advgp_status gp_participant_open_worker(const gp_options *o, const gp_host *host, gp_participant **out,
                                        advgp_error *err)
{
    advgp_status st = participant_new(o, host, out, err);
    if (st != ADVGP_OK) return st;
    gp_participant *e = *out;
    e->worker = true;
    e->launch = (gp_launch){.rank = -1, .size = -1}; // who is started as a worker is one, whatever its rank
    e->give_up = gp_options_real(o, "wait");
    e->data = gp_options_text(o, "data");
    if (!gp_options_is(o, "id", "any")) e->wish = (uint32_t)gp_options_int(o, "id");
    find_rendezvous(e);
    if (!gp_options_text(o, "server") && !e->rendezvous[0])
        st = gp_fail(err, ADVGP_EINVAL,
                     "where is the lead? Name it with {server} HOST:PORT, or the file of its "
                     "{rendezvous}");
    e->serves = gp_options_text(o, "serve") != NULL;
    if (st == ADVGP_OK) st = read_worker_keys(e, err);
    if (st == ADVGP_OK) st = connect_zmq(e, err);
    if (st == ADVGP_OK && e->serves) st = offer_service(e, gp_options_text(o, "serve"), err);
    if (st != ADVGP_OK) {
        gp_participant_close(e, NULL);
        *out = NULL;
    }
    return st;
}

// ---- use ------------------------------------------------------------------------------------------------------------

bool gp_participant_is_worker(const gp_participant *e)
{
    return e->worker;
}

gp_cluster *gp_participant_cluster(gp_participant *e)
{
    return e->cluster;
}

size_t gp_participant_workers(const gp_participant *e)
{
    return e->workers;
}

advgp_status gp_participant_data(gp_participant *e, const gp_shards *shards, size_t m, advgp_error *err)
{
    const char *dir = gp_packed_dir(shards);
    if (!dir)
        return gp_fail(err, ADVGP_EINVAL,
                       "workers in other processes read packed rows: pack the table with advgp pack, or name a folder "
                       "that all can reach with {cache} DIR, where it is packed first");
    const size_t largest = gp_cluster_message_max(m, shards->d, shards->n_train);
    if (largest > e->message_max)
        return gp_fail(err, ADVGP_EINVAL, "%zu inputs: a cluster is made for %d at most", shards->d, INPUTS_MAX);
    if (e->listening) gp_zmq_expect(e->listening, largest);
    gp_cluster_set_data(e->cluster, dir, gp_packed_fingerprint(shards));
    return ADVGP_OK;
}

advgp_status gp_participant_work(gp_participant *e, advgp_error *err)
{
    gp_follower_result result;
    const gp_join_options j = {.endpoint = e->endpoint,
                               .name = e->name,
                               .data = e->data,
                               .wish = e->wish,
                               .yields = e->yields,
                               .random = gp_random_u64(),
                               .give_up = e->give_up,
                               .grace = e->launch.by ? grace : 0,
                               .reach = reach_server,
                               .service = e->serves ? &e->service : NULL,
                               .doubt = e->ranks ? NULL : doubt_lead,
                               .stop = on_stop,
                               .report = on_report,
                               .ctx = e};
    gp_host_report(e->host, "%s: %s process%s%s", e->name, e->serves ? "server" : "worker",
                   e->launch.by ? " started by " : "", e->launch.by ? e->launch.by : "");
    const advgp_status st = gp_join(&j, &result, err);
    e->service.endpoint = NULL; // it was taken
    gp_host_report(e->host, "%s: %" PRIu64 " pushes in %zu run%s, %" PRIu64 " repeated requests", e->name,
                   result.pushes, result.runs, result.runs == 1 ? "" : "s", result.resends);
    return st;
}

void gp_participant_close(gp_participant *e, const char *why)
{
    if (!e) return;
    if (e->cluster) gp_cluster_free(e->cluster, why);
    if (e->service.endpoint && !e->ranks) e->service.endpoint->transport->close(e->service.endpoint);
    if (e->endpoint) e->endpoint->transport->close(e->endpoint);
    if (e->is_published) (void)gp_rendezvous_remove(e->rendezvous, &e->published, NULL);
    gp_free(e);
}
