// cluster.h: the lead of a training whose workers are processes of their own: the endpoint they reach it by, who has
// come, and for whom it waits. Runs over it follow each other (pilots, then the steps); before each one the workers ask
// what the work is (job.h). join.h is their side.
#pragma once
#include "cluster/job.h"
#include "run/run.h"

typedef struct gp_cluster_options {
    gp_endpoint *endpoint;                    // the server's; taken, whatever happens
    size_t workers;                           // a run begins when these are there
    size_t workers_min;                       // with fewer it does not begin, nor go on
    size_t workers_max;                       // that can be there at once
    bool together;                            // a launcher started them with the lead: who is not there yet will come
    double wait;                              // seconds for workers to come: then it begins with fewer; or gives up
    double heartbeat;                         // seconds between two signs of life
    double lost_after;                        // seconds without one after which a worker is lost
    double stuck_after;                       // seconds for a push after which a worker is lost, though it lives
    uint64_t random;                          // a number nobody else has: ids of runs follow from it
    void (*say)(void *ctx, const char *text); // what people should know: for whom it waits, who was lost; may be NULL
    // What peer 0 says, who is the lead of this one; may be NULL.
    void (*control)(void *ctx, const gp_message *message);
    void *control_ctx;
    void *ctx;
    bool shared;    // the endpoint stays its owner's
    size_t servers; // processes that keep a range of the parameters each; 0: the lead keeps all
} gp_cluster_options;

typedef struct gp_cluster gp_cluster;
advgp_status gp_cluster_new(const gp_cluster_options *options, gp_cluster **out, advgp_error *err);
// Before the first run: the folder of packed shards, as workers can open it (borrowed), and what tells it from others.
void gp_cluster_set_data(gp_cluster *cluster, const char *dir, uint64_t fingerprint);
// For the next run: how many workers there are, and how many there must be. Known: they have been in a run before, so
// that who does not come is lost, and need not be waited for as long as for those who are still to start. Otherwise it
// is those who were there when the last run ended.
void gp_cluster_expect(gp_cluster *cluster, size_t workers, size_t workers_min, bool known);
// Everybody is told that it is over, and why if something went wrong (NULL: nothing did); it waits some seconds until
// they have heard it, where something went wrong also for those who are still to come. NULL is fine.
void gp_cluster_free(gp_cluster *cluster, const char *why);

// A run by the processes of options->cluster, over its servers where options->split asks for it and it has some; by
// threads of this process where there is no cluster.
advgp_status gp_cluster_run_new(const gp_run_options *options, gp_run **out, advgp_error *err);

// Bytes of the largest message of a training with m inducing inputs on d inputs in so many shards: for opening the
// endpoint before the runs are known.
size_t gp_cluster_message_max(size_t m, size_t d, size_t n_shards);

typedef struct gp_cluster_counts {
    uint64_t asked;     // workers that asked for work, with repetition
    uint64_t malformed; // messages that could not be read
} gp_cluster_counts;
gp_cluster_counts gp_cluster_count(const gp_cluster *cluster);
size_t gp_cluster_workers(const gp_cluster *cluster);
size_t gp_cluster_workers_max(const gp_cluster *cluster);
size_t gp_cluster_servers(const gp_cluster *cluster);

// What a message says, for people: as much as fits, with a 0 at the end and question marks for control characters and
// what is no UTF-8.
void gp_cluster_plain_text(const gp_message *message, char *out, size_t room);
