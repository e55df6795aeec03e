// cluster.h: the lead of a training whose workers are processes of their own: an endpoint and a clock around the
// machine of lead.h. Runs over it follow each other (pilots, then the steps); before each one the workers ask what the
// work is (job.h). join.h is their side.
#pragma once
#include "cluster/lead.h"
#include "run/run.h"

typedef struct gp_cluster_options {
    gp_endpoint *endpoint; // the server's; taken, whatever happens
    gp_lead_options lead;  // `lost` is the cluster's own
} gp_cluster_options;

typedef struct gp_cluster gp_cluster;
advgp_status gp_cluster_new(const gp_cluster_options *options, gp_cluster **out, advgp_error *err);
// Before the first run: the folder of packed shards, as workers can open it (borrowed), and what tells it from others.
void gp_cluster_set_data(gp_cluster *cluster, const char *dir, uint64_t fingerprint);
// Everybody is told that it is over, and why if something went wrong (NULL: nothing did); it waits some seconds until
// they have heard it, where something went wrong also for those who are still to come. NULL is fine.
void gp_cluster_free(gp_cluster *cluster, const char *why);

// Bytes of the largest message of a training with m inducing inputs on d inputs in so many shards, or with a task of
// GP_TASK_ROWS_MAX rows, or a result of GP_TASK_VALUES_MAX values: for opening the endpoint before the runs are known.
enum { GP_TASK_ROWS_MAX = 4096, GP_TASK_VALUES_MAX = 1 << 21 };
size_t gp_cluster_message_max(size_t m, size_t d, size_t n_shards);

// Tasks that do not depend on each other, for threads of this process and the workers of a cluster. The same task gives
// the same bits, whoever does it.
typedef struct gp_tasks {
    size_t n;
    size_t result_max; // values that one gives, at most
    const char *what;  // one of them, for people: "a cell"
    // By a thread of this process, several at a time: result[result_max], *n of which count.
    advgp_status (*compute)(void *ctx, size_t task, double *result, size_t *n, advgp_error *err);
    // As it travels; the worker's side is `task` of join.h. One at a time, beside compute. *out starts as {0}.
    advgp_status (*pack)(void *ctx, size_t task, gp_parcel *out, advgp_error *err);
    // Its result, once a task, one at a time; false: these values are none.
    bool (*take)(void *ctx, size_t task, const double *result, size_t n);
    void *ctx;
} gp_tasks;

// By so many threads, and the workers of the cluster (NULL: there is none). A worker that is lost, slow or fails costs
// time alone. A failure of a thread's own is returned, and ends all; stop, which may be NULL, is asked as in
// run/crew.h. There must be no run meanwhile.
advgp_status gp_cluster_do(gp_cluster *cluster, size_t threads, const gp_tasks *tasks, int (*stop)(void *ctx),
                           void *stop_ctx, advgp_error *err);

uint64_t gp_cluster_fingerprint(const gp_cluster *cluster); // of the rows
size_t gp_cluster_workers(const gp_cluster *cluster);
size_t gp_cluster_workers_max(const gp_cluster *cluster);

// A run by the workers of options->cluster, over its servers where the run is to be split and it has any; without a
// cluster by threads of this process.
advgp_status gp_cluster_run_new(const gp_run_options *options, gp_run **out, advgp_error *err);
