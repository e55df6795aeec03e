// run.h: a server at work with its workers: what training lets flow, turn by turn. The workers are threads of this
// process, other processes (cluster.h), or a log that says what they did.
#pragma once
#include "model/basis_rotation.h"
#include "ps/server.h"
#include "run/computer.h"
#include "transport/transport.h"

#include <stdatomic.h>

typedef struct gp_run_options {
    const gp_feature_spec *spec; // borrowed for the run's life
    const double *theta;         // where to start: of the range
    gp_range range;              // of the parameters that the server keeps; of no count: all
    const gp_shards *shards;
    gp_schedule schedule; // settled
    size_t workers_max;   // that can be there at once; 0: no more than those of the schedule
    const double *delays; // [n_delays]: seconds that worker k sleeps before a push; borrowed for the run's life
    size_t n_delays;
    bool split;                 // over the servers of that cluster, if it has any
    struct gp_cluster *cluster; // whose processes the workers are (gp_cluster_run_new); not looked at for threads
    uint64_t id[2];             // of the run; {0, 0}: of the seed
    uint64_t fingerprint;       // of data and model, where workers bring their own
    double lost_after;          // seconds without a word after which a worker is lost; 0: never
    atomic_size_t *rows_passed; // that threads of this process have summed, for people; may be NULL
    void (*event)(void *ctx, const gp_ps_event *event); // may be NULL
    void *event_ctx;
} gp_run_options;

// What every run steps and judges by (gp_server_options, gp_rule_options), simulated ones too.
extern const double gp_bound_jump, gp_adadelta_decay, gp_adadelta_epsilon;
extern const uint64_t gp_jump_patience;
const double *gp_run_unit(const gp_features *f, size_t step_rows); // gp_rule_options.unit; step_rows: of all workers

typedef struct gp_run gp_run;

// What kinds of run differ in.
typedef struct gp_run_ops {
    advgp_status (*start)(gp_run *run, advgp_error *err); // lets the workers begin; NULL: nothing to do
    // Waits at most that long for one thing to happen, and handles it; a worker that shares this thread computes
    // meanwhile, unless there is no time at all. ECLUSTER, or what made a worker fail.
    advgp_status (*turn)(gp_run *run, double seconds, advgp_error *err);
    void (*wake)(gp_run *run); // from any thread: ends a turn that waits; may be NULL
    // Sends what the server has to say by now; may be NULL. A turn does so, too.
    advgp_status (*send)(gp_run *run, advgp_error *err);
    void (*stop)(gp_run *run); // the workers end, and what belongs to them is freed
} gp_run_ops;

struct gp_run {
    const gp_run_ops *ops;
    gp_run_options o;
    gp_features *f;              // of the server, to see whether a step can start
    gp_basis_rotation *rotation; // NULL: the features do not turn
    gp_theta_layout layout;
    gp_range range;
    gp_rule *rule;
    gp_server *server;
    uint64_t rows_elsewhere; // taken by servers of other processes
};

// The server with its rule; workers are not there yet. For the kinds of run.
advgp_status gp_run_init(gp_run *run, const gp_run_ops *ops, const gp_run_options *options, advgp_error *err);
void gp_run_fini(gp_run *run);

// Worker threads of this process, one BLAS thread each, over the transport inproc. replay.h and cluster/cluster.h have
// the other kinds.
advgp_status gp_run_team_new(const gp_run_options *options, gp_run **out, advgp_error *err);
// A checkpoint is restored into run->server and run->rule before this.
advgp_status gp_run_start(gp_run *run, advgp_error *err);
size_t gp_run_members(const gp_run *run); // places for workers: gp_server_member takes 0 .. this - 1

void gp_run_free(gp_run *run); // NULL is fine; stops the workers first

// Collects what `flags` ask for at theta over all rows (gp_server_collect). *sum is the server's, until its next act.
// `stop` (may be NULL) is asked now and then; non-zero: ESTOPPED.
advgp_status gp_run_collect(gp_run *run, const double *theta, unsigned flags, uint64_t max_rows, const double **sum,
                            int (*stop)(void *ctx), void *ctx, advgp_error *err);
