// cluster_state.h: what the lead's cluster (cluster.c) and the runs over it (run_cluster.c, run_split.c) share, and
// nobody else includes.
#pragma once
#include "cluster/cluster.h"

enum { GP_CLUSTER_NAME = 80, GP_CLUSTER_TEXT = 512 };
static const double gp_cluster_turn_seconds = 0.25;
static const double gp_cluster_told_after = 4, gp_cluster_told_again = 10; // seconds of waiting: for whom

typedef struct acquaintance {
    char name[GP_CLUSTER_NAME]; // as it calls itself; empty: it has not asked
    bool gone;                  // said farewell, or was lost
    bool asks;                  // has asked, and was not answered yet: by this number
    uint64_t token;
    uint64_t over[2]; // the interval that it has finished
    unsigned malformed;
} acquaintance;

struct gp_cluster {
    gp_cluster_options o;
    const char *data;
    uint64_t fingerprint;
    size_t workers;      // with which the next run begins
    bool known;          // they were in the one before
    acquaintance *peers; // [n_peers]
    size_t n_peers;
    uint64_t runs;
    gp_cluster_counts counts;
};

__attribute__((format(printf, 2, 3))) void gp_cluster_tell(const gp_cluster *c, const char *format, ...);
// NULL: no memory, and the peer is a stranger this time.
acquaintance *gp_cluster_peer(gp_cluster *c, size_t peer);
const char *gp_cluster_name(const gp_cluster *c, size_t peer);
void gp_cluster_note_name(acquaintance *a, const gp_message *ask);
void gp_cluster_next_id(gp_cluster *c, uint64_t id[2]); // of a run
void gp_cluster_note_there(gp_cluster *c, size_t live); // in the end of a run: the next one waits for no more

// ---- a run (run_cluster.c) ------------------------------------------------------------------------------------------

typedef struct stint { // what is known of a worker beside what the server knows
    double given;      // when its parameters were sent
    double row_seconds;
    double stuck_seconds; // a row, when it was last taken for stuck: it may just be that slow
    uint64_t pushes, rows;
    bool has_work;
    size_t peer; // where it was last heard, 0: not yet; a connection that was mended is another peer
    char name[GP_CLUSTER_NAME];
} stint;

typedef struct cluster_run {
    gp_run base;
    gp_cluster *c;
    gp_message_limits limits;
    char *bytes; // of the message being sent
    char *job;   // what workers are told; free
    size_t job_bytes;
    stint *stints;      // [workers_max]
    double began;       // when it started to wait for workers
    double advanced;    // when the version last changed, or all was there
    double told;        // when people were last told for whom it waits
    double few_since;   // too few workers are there since; 0: enough are
    uint64_t version;   // the last seen
    size_t handled;     // messages since silence was last looked at
    double looked;      // when that was
    double awake, back; // when the lead was last seen at work, and when it last came back from being away
    void (*event)(void *ctx, const gp_ps_event *event); // the owner's
    void *event_ctx;
} cluster_run;

// The two kinds of run over a cluster: one server, the lead's; or one a range of the parameters.
advgp_status gp_run_cluster_new(const gp_run_options *options, gp_run **out, advgp_error *err);
advgp_status gp_run_split_new(const gp_run_options *options, gp_run **out, advgp_error *err);

// *run starts zeroed; whatever happens it is ended by gp_run_free.
advgp_status gp_cluster_run_init(cluster_run *run, const gp_run_ops *ops, const gp_run_options *options,
                                 advgp_error *err);
void gp_cluster_run_job(const cluster_run *run, gp_job *job); // what its workers are told; all of it is borrowed
// The next message; none (*bytes NULL) at least every quarter of a second, when all that had come was heard: then is
// the time to look who is lost and for whom it waits.
advgp_status gp_cluster_run_receive(cluster_run *run, double seconds, size_t *peer, const void **bytes, size_t *n,
                                    advgp_error *err);
bool gp_cluster_run_knows_the_lost(const cluster_run *run); // who was not heard is silent: the lead was not away itself
// As gp_run_ops has them.
advgp_status gp_cluster_run_start(gp_run *run, advgp_error *err);
advgp_status gp_cluster_run_turn(gp_run *run, double seconds, advgp_error *err);
advgp_status gp_cluster_run_say(gp_run *run, advgp_error *err);
void gp_cluster_run_wake(gp_run *run);
void gp_cluster_run_stop(gp_run *run);
