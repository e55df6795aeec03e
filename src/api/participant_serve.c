// participant_serve.c: a server of a range over ZeroMQ: it waits for the lead, whose workers it lets in, and listens.
#include "api/participant_state.h"
#include "base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

// Where there is no folder of keys, the lead's rendezvous file has the one that workers use: the server waits for it. A
// lead without keys counts once it answers: its file may just be about to get them.
static advgp_status wait_for_lead(gp_participant *p, gp_zmq_target *lead, advgp_error *err)
{
    const struct timespec pause = {.tv_nsec = 200000000};
    advgp_status st = ADVGP_OK;
    bool known = false;
    gp_host_report(p->host, "%s: waits for the lead's rendezvous file", p->name);
    for (double waited = 0; st == ADVGP_OK && !known && waited < p->give_up && !gp_host_stops(p->host); waited += 0.2) {
        st = gp_participant_find_lead(p, &known, lead, err);
        if (known && !lead->lead_key[0]) known = gp_address_answers(lead->address, 0.2);
        if (st == ADVGP_OK && !known) (void)nanosleep(&pause, NULL);
    }
    if (st == ADVGP_OK && !known)
        st = gp_fail(err, ADVGP_ECLUSTER, "there is no lead after %.0f s: is it started?", p->give_up);
    return st;
}

// Of a folder of keys the lead's; else new ones, of which its workers hear by the lead, and it lets in theirs.
static advgp_status find_keys(gp_participant *p, gp_lead_keys *keys, advgp_error *err)
{
    const char *dir = gp_options_text(p->o, "keys");
    gp_zmq_target lead;
    *keys = (gp_lead_keys){0};
    if (dir) return gp_keys_read_lead(dir, keys, err);
    const advgp_status st = wait_for_lead(p, &lead, err);
    if (st != ADVGP_OK || !lead.keys.public_key[0]) return st;
    keys->allowed = gp_alloc(1, sizeof *keys->allowed);
    if (!keys->allowed) return gp_no_memory(err);
    keys->n_allowed = 1;
    memcpy(keys->allowed[0], lead.keys.public_key, sizeof keys->allowed[0]);
    return gp_zmq_keypair(&keys->keys, err);
}

advgp_status gp_participant_serve(gp_participant *p, const char *listen, advgp_error *err)
{
    gp_address at, reach;
    gp_lead_keys keys;
    advgp_status st = gp_participant_place(p, listen, &at, err);
    if (st != ADVGP_OK) return gp_wrap(err, st, "where this server listens");
    st = find_keys(p, &keys, err);
    const gp_zmq_listen_options z = {.address = at.endpoint,
                                     .keys = keys.keys.secret_key[0] ? &keys.keys : NULL,
                                     .allowed = keys.allowed,
                                     .n_allowed = keys.n_allowed,
                                     .message_max = GP_JOIN_MESSAGE_MAX,
                                     .peers_max = GP_PEERS_MAX,
                                     .report = gp_participant_on_report,
                                     .ctx = p};
    if (st == ADVGP_OK) st = gp_zmq_listen(&z, &p->service.endpoint, err);
    if (st == ADVGP_OK) st = gp_address_reach(gp_zmq_address(p->service.endpoint), &reach, err);
    if (st == ADVGP_OK) {
        snprintf(p->address, sizeof p->address, "%s", reach.endpoint);
        memcpy(p->key, keys.keys.public_key, sizeof p->key);
        p->service.address = p->address, p->service.key = p->key;
    }
    gp_lead_keys_fini(&keys);
    return st;
}
