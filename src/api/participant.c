// participant.c: what this process is in a training of several: its launcher, its role, its work, its end.
#include "api/participant_state.h"
#include "base/alloc.h"
#include "base/machine.h"
#include "base/text.h"
#include "cells/worker_task.h"
#include "cluster/role.h"
#include "shards/packed.h"
#include "shards/synthetic.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUTS_MAX = 4096 };     // that messages are sized for before the data are read; a table with more is told so
static const double grace = 20; // seconds that a launched worker goes on after SIGTERM, which its lead got, too
static const double worker_wait = 600; // seconds without a word from the lead
static const double worker_wait_least = 60;

void gp_participant_on_report(void *ctx, const char *text)
{
    const gp_participant *p = ctx;
    if (p->worker)
        gp_host_report(p->host, "%s: %s", p->name, text);
    else
        gp_host_report(p->host, "%s", text);
}

int gp_participant_on_stop(void *ctx)
{
    const gp_participant *p = ctx;
    return gp_host_stops(p->host);
}

// What transport/launch.h knows, and Kubernetes, whose indexed jobs count their pods.
static void read_launch(gp_participant *p)
{
    int64_t n;
    const char *index = getenv("JOB_COMPLETION_INDEX"), *step = getenv("SLURM_STEP_NUM_NODES"),
               *nodes = step ? step : getenv("SLURM_JOB_NUM_NODES");
    p->launch = gp_launch_read();
    if (!p->launch.by && index && gp_text_integer(index, &n)) p->launch = (gp_launch){"Kubernetes", n, -1, false};
    p->several = nodes && gp_text_integer(nodes, &n) && n > 1;
    p->job = getenv("SLURM_STEP_ID") ? getenv("SLURM_JOB_ID") : NULL;
}

static void name_self(gp_participant *p)
{
    char host[64] = "host";
    (void)gethostname(host, sizeof host - 1);
    snprintf(p->name, sizeof p->name, "%.60s:%ld", host, (long)getpid());
}

// ---- roles ----------------------------------------------------------------------------------------------------------

static void take_role(gp_participant *p, gp_role role)
{
    p->worker = role.kind != GP_IS_LEAD;
    p->serves = role.kind == GP_IS_SERVER;
    p->wish = role.place;
    p->yields = role.yields;
}

// Over a transport whose launcher has settled who is there.
static advgp_status enter_ranks(gp_participant *p, const gp_transport *transport, advgp_error *err)
{
    gp_endpoint *endpoint = NULL;
    gp_ranks place;
    advgp_status st = transport->enter(p->message_max, p->servers > 0, &endpoint, &place, err);
    if (st != ADVGP_OK) return st;
    p->ranks = true;
    p->give_up = gp_options_real(p->o, "lost-after"); // nobody starts another lead for these processes
    p->launch.rank = (int64_t)place.rank, p->launch.size = (int64_t)place.size;
    take_role(p, gp_role_of_rank(place.rank, p->servers));
    if (p->worker) {
        p->endpoint = endpoint;
        p->service = (gp_join_service){endpoint, p->address, p->key};
        snprintf(p->address, sizeof p->address, "%zu", place.rank);
        return ADVGP_OK;
    }
    if (place.size < 2 + p->servers) {
        endpoint->transport->close(endpoint);
        return gp_fail(err, ADVGP_EINVAL, "%zu processes are a lead, %zu servers and no worker: start more", place.size,
                       p->servers);
    }
    p->workers = place.size - 1 - p->servers;
    gp_host_report(p->host, "lead is rank 0 of %zu on %s (%s, not encrypted); expects %zu worker%s", place.size,
                   place.host, transport->name, p->workers, p->workers == 1 ? "" : "s");
    return gp_participant_make_cluster(p, endpoint, err);
}

// Looks at the rendezvous file where that decides.
static advgp_status decide_role(gp_participant *p, advgp_error *err)
{
    const gp_options *o = p->o;
    gp_role_facts facts = {.wish = gp_options_is(o, "role", "worker") ? GP_ROLE_WORKER
                                   : gp_options_is(o, "role", "auto") ? GP_ROLE_AUTO
                                                                      : GP_ROLE_LEAD,
                           .server_named = gp_options_text(o, "server") != NULL,
                           .launched = p->launch.by != NULL,
                           .rank = p->launch.rank,
                           .servers = p->servers,
                           .rendezvous = p->rendezvous[0] ? GP_RENDEZVOUS_OPEN : GP_RENDEZVOUS_NONE};
    gp_role role;
    if (gp_role_needs_rendezvous(&facts)) {
        gp_rendezvous r;
        bool there;
        // Of those who are started at the same instant one looks and publishes before the next one looks.
        advgp_status st = gp_claim_take(p->rendezvous, gp_participant_on_stop, p, &p->claim, err);
        if (st == ADVGP_OK) st = gp_rendezvous_read(p->rendezvous, &r, &there, err);
        if (st == ADVGP_EFILE) return gp_wrap(err, st, "name another file, this one is left as it is");
        if (st != ADVGP_OK) return st;
        if (there && gp_participant_lead_lives(p, &r))
            facts.rendezvous = GP_RENDEZVOUS_TAKEN;
        else if (there)
            p->former = r.worker;
    }
    const advgp_status st = gp_role_decide(&facts, &role, err);
    if (st != ADVGP_OK) return facts.rendezvous == GP_RENDEZVOUS_TAKEN ? gp_wrap(err, st, "%s", p->rendezvous) : st;
    take_role(p, role);
    if (role.late)
        gp_host_report(p->host, "%s: a lead lives there already, so this task joins it as a worker", p->rendezvous);
    return ADVGP_OK;
}

static size_t workers_expected(const gp_participant *p)
{
    const gp_options *o = p->o;
    if (gp_options_given(o, "workers") && !gp_options_is(o, "workers", "auto"))
        return (size_t)gp_options_int(o, "workers");
    if (p->launch.size > 1 + (int64_t)p->servers) return (size_t)p->launch.size - 1 - p->servers;
    return (size_t)gp_options_int(o, "min-workers");
}

static advgp_status enter_zmq(gp_participant *p, advgp_error *err)
{
    gp_participant_find_rendezvous(p);
    advgp_status st = decide_role(p, err);
    if (st == ADVGP_OK && !p->worker) {
        p->workers = workers_expected(p);
        st = gp_participant_listen(p, err);
    }
    gp_claim_release(&p->claim);
    if (st != ADVGP_OK || !p->worker) return st;
    st = gp_participant_connect(p, err);
    return st == ADVGP_OK && p->serves ? gp_participant_serve(p, NULL, err) : st;
}

static advgp_status participant_new(const gp_options *o, const gp_host *host, gp_participant **out, advgp_error *err)
{
    gp_participant *p = *out = gp_alloc(1, sizeof *p);
    if (!p) return gp_no_memory(err);
    p->o = o;
    p->host = host;
    read_launch(p);
    p->wish = GP_ANY_WORKER;
    p->give_up = worker_wait;
    p->claim.fd = -1;
    name_self(p);
    return ADVGP_OK;
}

advgp_status gp_participant_open(const gp_options *o, const gp_host *host, gp_participant **out, advgp_error *err)
{
    *out = NULL;
    if (gp_options_is(o, "transport", "inproc")) return ADVGP_OK;
    advgp_status st = participant_new(o, host, out, err);
    if (st != ADVGP_OK) return st;
    gp_participant *p = *out;
    // As long as the lead waits for them, where somebody said how long; it may start later than they.
    if (gp_options_given(o, "wait")) p->give_up = fmax(gp_options_real(o, "wait"), worker_wait_least);
    p->message_max = gp_cluster_message_max((size_t)gp_options_int(o, "inducing"), INPUTS_MAX, GP_SHARDS_MAX);
    if (gp_options_int(o, "servers") > 1) p->servers = (size_t)gp_options_int(o, "servers");
    if (p->servers && !gp_options_is(o, "optimizer", "prox")) {
        st = gp_fail(err, ADVGP_EINVAL, "{servers} %zu: parameters are split for {optimizer} prox alone", p->servers);
        gp_participant_close(p, NULL);
        *out = NULL;
        return st;
    }
    const gp_transport *transport = gp_transport_named(gp_options_text(o, "transport"));
    st = transport->enter ? enter_ranks(p, transport, err) : enter_zmq(p, err);
    if (st != ADVGP_OK) {
        gp_participant_close(p, err ? err->text : NULL);
        *out = NULL;
    }
    return st;
}

advgp_status gp_participant_open_worker(const gp_options *o, const gp_host *host, gp_participant **out,
                                        advgp_error *err)
{
    advgp_status st = participant_new(o, host, out, err);
    if (st != ADVGP_OK) return st;
    gp_participant *p = *out;
    p->worker = true;
    p->launch = (gp_launch){.rank = -1, .size = -1}; // who is started as a worker is one, whatever its rank
    p->give_up = gp_options_real(o, "wait");
    p->data = gp_options_text(o, "data");
    if (!gp_options_is(o, "id", "any")) p->wish = (uint32_t)gp_options_int(o, "id");
    gp_participant_find_rendezvous(p);
    if (!gp_options_text(o, "server") && !p->rendezvous[0])
        st = gp_fail(err, ADVGP_EINVAL,
                     "where is the lead? Name it with {server} HOST:PORT, or the file of its "
                     "{rendezvous}");
    p->serves = gp_options_text(o, "serve") != NULL;
    if (st == ADVGP_OK) st = gp_participant_connect(p, err);
    if (st == ADVGP_OK && p->serves) st = gp_participant_serve(p, gp_options_text(o, "serve"), err);
    if (st != ADVGP_OK) {
        gp_participant_close(p, NULL);
        *out = NULL;
    }
    return st;
}

// ---- use ------------------------------------------------------------------------------------------------------------

bool gp_participant_is_worker(const gp_participant *p)
{
    return p->worker;
}

gp_cluster *gp_participant_cluster(gp_participant *p)
{
    return p->cluster;
}

size_t gp_participant_workers(const gp_participant *p)
{
    return p->workers;
}

advgp_status gp_participant_data(gp_participant *p, const gp_shards *shards, size_t m, advgp_error *err)
{
    const char *text = gp_synthetic_text(shards), *dir = text ? text : gp_packed_dir(shards);
    if (!dir)
        return gp_fail(err, ADVGP_EINVAL,
                       "workers in other processes read packed rows: pack the table with advgp pack, or name a folder "
                       "that all can reach with {cache} DIR, where it is packed first");
    const size_t largest = gp_cluster_message_max(m, shards->d, shards->n_train);
    if (largest > p->message_max)
        return gp_fail(err, ADVGP_EINVAL, "%zu inputs: a cluster is made for %d at most", shards->d, INPUTS_MAX);
    if (p->listening) gp_zmq_expect(p->listening, largest);
    gp_cluster_set_data(p->cluster, dir, text ? gp_synthetic_fingerprint(shards) : gp_packed_fingerprint(shards));
    return ADVGP_OK;
}

advgp_status gp_participant_work(gp_participant *p, advgp_error *err)
{
    gp_follower_result result;
    const gp_join_options j = {.endpoint = p->endpoint,
                               .name = p->name,
                               .data = p->data,
                               .wish = p->wish,
                               .yields = p->yields,
                               .random = gp_random_u64(),
                               .give_up = p->give_up,
                               .grace = p->launch.by ? grace : 0,
                               .reach = gp_participant_reach_server,
                               .service = p->serves ? &p->service : NULL,
                               .task = gp_worker_task,
                               .doubt = p->ranks ? NULL : gp_participant_doubt_lead,
                               .stop = gp_participant_on_stop,
                               .report = gp_participant_on_report,
                               .ctx = p};
    gp_host_report(p->host, "%s: %s process%s%s", p->name, p->serves ? "server" : "worker",
                   p->launch.by ? " started by " : "", p->launch.by ? p->launch.by : "");
    const advgp_status st = gp_join(&j, &result, err);
    p->service.endpoint = NULL; // it was taken
    gp_host_report(p->host, "%s: %" PRIu64 " pushes in %zu run%s, %" PRIu64 " repeated requests", p->name,
                   result.pushes, result.runs, result.runs == 1 ? "" : "s", result.resends);
    if (result.tasks)
        gp_host_report(p->host, "%s: %zu task%s of cells", p->name, result.tasks, result.tasks == 1 ? "" : "s");
    return st;
}

void gp_participant_close(gp_participant *p, const char *why)
{
    if (!p) return;
    if (p->cluster) gp_cluster_free(p->cluster, why);
    if (p->service.endpoint && !p->ranks) p->service.endpoint->transport->close(p->service.endpoint);
    if (p->endpoint) p->endpoint->transport->close(p->endpoint);
    if (p->is_published) (void)gp_rendezvous_remove(p->rendezvous, &p->published, NULL);
    gp_free(p);
}
