// participant_find.c: where the lead is, whether it lives, and how a worker reaches it and the servers of ranges.
#include "api/participant_state.h"
#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double probe_seconds = 5; // for a lead to show that it lives
static const double knock_seconds = 2; // or for anybody to open where it was

// ---- the lead -------------------------------------------------------------------------------------------------------

// The file of --rendezvous, or the one that tasks of a Slurm job agree on.
void gp_participant_find_rendezvous(gp_participant *p)
{
    const char *given = gp_options_text(p->o, "rendezvous");
    if (given)
        snprintf(p->rendezvous, sizeof p->rendezvous, "%s", given);
    else if (p->job && !gp_options_text(p->o, "server"))
        snprintf(p->rendezvous, sizeof p->rendezvous, "advgp-%.100s.rendezvous", p->job);
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
    advgp_status st = gp_rendezvous_of_port(at.port, path, sizeof path, err);
    if (st == ADVGP_OK) st = gp_rendezvous_read(path, &r, &there, err);
    return st == ADVGP_OK && there ? gp_rendezvous_target(&r, NULL, out, err) : st;
}

advgp_status gp_participant_find_lead(void *ctx, bool *known, gp_zmq_target *out, advgp_error *err)
{
    const gp_participant *p = ctx;
    const char *server = gp_options_text(p->o, "server");
    *known = true;
    *out = (gp_zmq_target){0};
    if (!server) {
        gp_rendezvous r;
        const advgp_status st = gp_rendezvous_read(p->rendezvous, &r, known, err);
        return st == ADVGP_OK && *known ? gp_rendezvous_target(&r, p->has_keys ? &p->keys : NULL, out, err) : st;
    }
    if (!p->has_keys) {
        const advgp_status st = find_lead_of_port(server, out, err);
        if (st != ADVGP_OK) return st;
    }
    snprintf(out->address, sizeof out->address, "%s", server);
    if (p->has_keys) {
        memcpy(out->lead_key, p->keys.lead_key, sizeof out->lead_key);
        out->keys = p->keys.keys;
    }
    return ADVGP_OK;
}

// A name that cannot be resolved and a file that is not there may be mistakes, or may come: the worker waits, and says
// so.
void gp_participant_doubt_lead(void *ctx, char *out, size_t room)
{
    const gp_participant *p = ctx;
    bool known;
    gp_zmq_target target;
    gp_address at;
    advgp_error err = {0};
    out[0] = 0;
    advgp_status st = gp_participant_find_lead(ctx, &known, &target, &err);
    if (st == ADVGP_OK && !known)
        snprintf(out, room, "there is no file %.200s", p->rendezvous);
    else if (st == ADVGP_OK)
        st = gp_address_connect(target.address, &at, &err);
    if (st != ADVGP_OK) snprintf(out, room, "%s", err.text);
}

advgp_status gp_participant_connect(gp_participant *p, advgp_error *err)
{
    const gp_zmq_connect_options o = {.find = gp_participant_find_lead, .ctx = p, .message_max = GP_JOIN_MESSAGE_MAX};
    const char *dir = gp_options_text(p->o, "keys");
    p->has_keys = dir != NULL;
    const advgp_status st = dir ? gp_keys_read_worker(dir, &p->keys, err) : ADVGP_OK;
    return st == ADVGP_OK ? gp_zmq_connect(&o, &p->endpoint, err) : st;
}

// ---- others ---------------------------------------------------------------------------------------------------------

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
        const advgp_status st = gp_participant_find_lead(w->self, known, &lead, err);
        if (st != ADVGP_OK || !*known) return st; // a file that is being replaced is there again soon
        w->target.keys = lead.keys;
        w->known = true;
    }
    *known = true;
    *out = w->target;
    return ADVGP_OK;
}

// Does the lead of a rendezvous live? It may have died and left the file behind. Who cannot talk to it, since a lead's
// folder of keys need not have a worker's or may be another run's, sees whether anybody listens there.
bool gp_participant_lead_lives(const gp_participant *p, const gp_rendezvous *r)
{
    const char *dir = gp_options_text(p->o, "keys");
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

// How a worker reaches a server: by a connection of its own, with its own keys; or by its rank.
advgp_status gp_participant_reach_server(void *ctx, const char *address, const char *key, gp_endpoint **endpoint,
                                         size_t *peer, advgp_error *err)
{
    gp_participant *p = ctx;
    *peer = 0;
    if (p->ranks) {
        *endpoint = p->endpoint;
        *peer = strtoul(address, NULL, 10);
        return ADVGP_OK;
    }
    way *w = gp_alloc(1, sizeof *w);
    if (!w) return gp_no_memory(err);
    w->self = p;
    snprintf(w->target.address, sizeof w->target.address, "%s", address);
    snprintf(w->target.lead_key, sizeof w->target.lead_key, "%.40s", key);
    const gp_zmq_connect_options z = {.find = find_way, .done = gp_free, .ctx = w, .message_max = GP_JOIN_MESSAGE_MAX};
    return gp_zmq_connect(&z, endpoint, err);
}
