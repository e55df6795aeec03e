// participant_state.h: what the parts of a participant share, and nobody else includes. participant.c: its role and
// life; participant_find.c: where lead and servers are; participant_lead.c: a lead that listens; participant_serve.c: a
// server of a range that listens.
#pragma once
#include "api/participant.h"
#include "cluster/join.h"
#include "store/claim.h"
#include "store/keys.h"
#include "store/rendezvous.h"
#include "transport/address.h"
#include "transport/launch.h"
#include "transport/zmq.h"

enum { GP_PEERS_MAX = 8192 }; // connections that an endpoint takes

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

void gp_participant_on_report(void *participant, const char *text); // to its host
int gp_participant_on_stop(void *participant);                      // does its host want it to stop?

// ---- participant_find.c ---------------------------------------------------------------------------------------------

// The file of `rendezvous`, or the one that tasks of a Slurm job agree on.
void gp_participant_find_rendezvous(gp_participant *p);
// Where the lead is, and with which keys; not known: there is no file of it (yet).
advgp_status gp_participant_find_lead(void *participant, bool *known, gp_zmq_target *out, advgp_error *err);
// Why nothing may be heard of the lead; empty: nothing strange.
void gp_participant_doubt_lead(void *participant, char *out, size_t room);
// Does the lead of a rendezvous live? It may have died and left the file behind.
bool gp_participant_lead_lives(const gp_participant *p, const gp_rendezvous *r);
// As a worker, to the lead.
advgp_status gp_participant_connect(gp_participant *p, advgp_error *err);
// As a worker, to a server of a range.
advgp_status gp_participant_reach_server(void *participant, const char *address, const char *key,
                                         gp_endpoint **endpoint, size_t *peer, advgp_error *err);

// ---- participant_lead.c, participant_serve.c ------------------------------------------------------------------------

// Where `listen` says, or else this machine alone, or under Slurm on several nodes by the name of this one.
advgp_status gp_participant_place(const gp_participant *p, const char *listen, gp_address *at, advgp_error *err);
// The lead's cluster by an endpoint, which is taken whatever happens.
advgp_status gp_participant_make_cluster(gp_participant *p, gp_endpoint *endpoint_take, advgp_error *err);
// Opens the lead's endpoint over ZeroMQ, publishes it, and makes the cluster.
advgp_status gp_participant_listen(gp_participant *p, advgp_error *err);
// Opens the endpoint by which workers reach a server of a range.
advgp_status gp_participant_serve(gp_participant *p, const char *listen, advgp_error *err);
