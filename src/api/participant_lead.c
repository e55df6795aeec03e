// participant_lead.c: a lead over ZeroMQ: where it listens, its keys and those of its workers, its rendezvous file.
#include "api/participant_state.h"
#include "base/alloc.h"
#include "base/machine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SPARE_WORKERS = 16 }; // places for late ones

static advgp_status check_counts(const gp_participant *p, size_t max, advgp_error *err)
{
    const size_t min = (size_t)gp_options_int(p->o, "min-workers");
    if (min > p->workers)
        return gp_fail(err, ADVGP_EINVAL, "{min-workers} %zu is more than the %zu workers of the run", min, p->workers);
    if (max < p->workers)
        return gp_fail(err, ADVGP_EINVAL, "{max-workers} %zu leaves no place for the %zu workers of the run", max,
                       p->workers);
    if (gp_options_real(p->o, "lost-after") < 2 * gp_options_real(p->o, "heartbeat"))
        return gp_fail(err, ADVGP_EINVAL,
                       "{lost-after} %g: a worker gives a sign of life every %g seconds ({heartbeat}); allow for two "
                       "of them at least",
                       gp_options_real(p->o, "lost-after"), gp_options_real(p->o, "heartbeat"));
    return ADVGP_OK;
}

advgp_status gp_participant_make_cluster(gp_participant *p, gp_endpoint *endpoint_take, advgp_error *err)
{
    const gp_options *o = p->o;
    size_t max = 2 * p->workers + SPARE_WORKERS;
    if (!gp_options_is(o, "max-workers", "auto")) max = (size_t)gp_options_int(o, "max-workers");
    if (p->ranks || max > GP_WORKERS_MAX) max = p->ranks ? p->workers : GP_WORKERS_MAX; // nobody can join
    advgp_status st = check_counts(p, max, err);
    if (st != ADVGP_OK) {
        endpoint_take->transport->close(endpoint_take);
        return st;
    }
    const gp_lead_options l = {.workers = p->workers,
                               .workers_min = (size_t)gp_options_int(o, "min-workers"),
                               .workers_max = max,
                               .together = p->launch.size > 1,
                               .wait = gp_options_real(o, "wait"),
                               .heartbeat = gp_options_real(o, "heartbeat"),
                               .lost_after = gp_options_real(o, "lost-after"),
                               .stuck_after = gp_options_real(o, "stuck-after"),
                               .random = gp_random_u64(),
                               .servers = p->servers,
                               .report = gp_participant_on_report,
                               .ctx = p};
    const gp_cluster_options c = {.endpoint = endpoint_take, .lead = l};
    return gp_cluster_new(&c, &p->cluster, err);
}

// Those of --keys; else new ones, which a rendezvous file carries: on this machine alone there always is one. Of a lead
// that was started again the workers' key stays: servers of ranges, which have outlived it, let in no other.
static advgp_status find_keys(const gp_participant *p, const gp_address *at, gp_lead_keys *keys,
                              gp_zmq_identity *worker, advgp_error *err)
{
    const char *dir = gp_options_text(p->o, "keys");
    *keys = (gp_lead_keys){0};
    *worker = (gp_zmq_identity){0};
    if (dir) return gp_keys_read_lead(dir, keys, err);
    if (!at->loopback && !p->rendezvous[0]) return ADVGP_OK; // plain, which is refused
    keys->allowed = gp_alloc(1, sizeof *keys->allowed);
    if (!keys->allowed) return gp_no_memory(err);
    keys->n_allowed = 1;
    *worker = p->former;
    advgp_status st = gp_zmq_keypair(&keys->keys, err);
    if (st == ADVGP_OK && !worker->secret_key[0]) st = gp_zmq_keypair(worker, err);
    memcpy(keys->allowed[0], worker->public_key, sizeof keys->allowed[0]);
    return st;
}

static advgp_status publish(gp_participant *p, const char *endpoint, const gp_lead_keys *keys,
                            const gp_zmq_identity *worker, advgp_error *err)
{
    gp_rendezvous *r = &p->published;
    if (!p->rendezvous[0]) return ADVGP_OK;
    *r = (gp_rendezvous){.run = {gp_random_u64(), gp_random_u64()}, .pid = getpid(), .worker = *worker};
    snprintf(r->endpoint, sizeof r->endpoint, "%s", endpoint);
    (void)gethostname(r->host, sizeof r->host - 1);
    memcpy(r->lead_key, keys->keys.public_key, sizeof r->lead_key);
    const advgp_status st = gp_rendezvous_write(p->rendezvous, r, err);
    p->is_published = st == ADVGP_OK;
    return st;
}

advgp_status gp_participant_place(const gp_participant *p, const char *listen, gp_address *at, advgp_error *err)
{
    char host[256] = "127.0.0.1";
    if (!listen && p->several) (void)gethostname(host, sizeof host - 1);
    return gp_address_listen(listen ? listen : host, at, err);
}

// On this machine alone workers know the lead by its port, so the rendezvous file is named after it. One of that port
// may be left from a lead that was killed: its workers have its key. What cannot be trusted there is not written over.
static advgp_status take_over_port(gp_participant *p, unsigned port, advgp_error *err)
{
    gp_rendezvous r;
    bool there = false;
    advgp_status st = gp_rendezvous_of_port(port, p->rendezvous, sizeof p->rendezvous, err);
    if (st == ADVGP_OK) st = gp_rendezvous_read(p->rendezvous, &r, &there, err);
    if (st == ADVGP_OK && there) p->former = r.worker;
    return st;
}

// endpoint stays NULL, or is open, whatever happens.
static advgp_status open_lead(gp_participant *p, const gp_address *at, const gp_lead_keys *keys, gp_endpoint **endpoint,
                              gp_address *reach, advgp_error *err)
{
    const gp_zmq_listen_options z = {.address = at->endpoint,
                                     .keys = keys->keys.secret_key[0] ? &keys->keys : NULL,
                                     .allowed = keys->allowed,
                                     .n_allowed = keys->n_allowed,
                                     .message_max = p->message_max,
                                     .peers_max = GP_PEERS_MAX,
                                     .report = gp_participant_on_report,
                                     .ctx = p};
    const advgp_status st = gp_zmq_listen(&z, endpoint, err);
    return st == ADVGP_OK ? gp_address_reach(gp_zmq_address(*endpoint), reach, err) : st;
}

advgp_status gp_participant_listen(gp_participant *p, advgp_error *err)
{
    gp_address at, reach;
    gp_lead_keys keys;
    gp_zmq_identity worker;
    gp_endpoint *endpoint = NULL;
    advgp_status st = gp_participant_place(p, gp_options_text(p->o, "listen"), &at, err);
    if (st != ADVGP_OK) return gp_wrap(err, st, "{listen}");
    const bool named = p->rendezvous[0], by_port = !named && at.loopback && !gp_options_text(p->o, "keys");
    if (by_port && at.port) st = take_over_port(p, at.port, err);
    if (st != ADVGP_OK) return st;
    st = find_keys(p, &at, &keys, &worker, err);
    if (st == ADVGP_OK) st = open_lead(p, &at, &keys, &endpoint, &reach, err);
    if (st == ADVGP_OK && by_port) st = gp_rendezvous_of_port(reach.port, p->rendezvous, sizeof p->rendezvous, err);
    if (st == ADVGP_OK) st = publish(p, reach.endpoint, &keys, &worker, err);
    const bool encrypted = keys.keys.secret_key[0];
    gp_lead_keys_fini(&keys);
    if (st != ADVGP_OK) {
        if (endpoint) endpoint->transport->close(endpoint);
        return st;
    }
    gp_host_report(p->host, "lead at %s%s, %s%s; expects %zu worker%s", reach.endpoint, encrypted ? " (encrypted)" : "",
                   named ? "rendezvous " : "join with advgp work --server ",
                   named ? p->rendezvous : reach.endpoint + strlen("tcp://"), p->workers, p->workers == 1 ? "" : "s");
    p->listening = endpoint;
    return gp_participant_make_cluster(p, endpoint, err);
}
