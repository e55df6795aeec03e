// sim_training.h: a whole training of a cluster in virtual time, from one seed: a lead (cluster/lead.h), workers and
// servers of ranges (cluster/follower.h), the processes of a real one, with several runs one after the other. Any of
// them may die, stand still, be cut off or asked to leave, and the lead goes on from its last checkpoint. The laws of
// laws.h hold after every event. world.h is the same for one run of a server and its workers, with the costs of a real
// machine.
#pragma once
#include "cluster/lead.h"
#include "ps/worker.h"
#include "sim/laws.h"
#include "transport/sim.h"

// A hand between the machines: what a mistaken one would do, the others see. So a test shows that the laws catch
// mistakes, and the machines know of none (tests/sim_trainings.c).
typedef struct gp_sim_tampering {
    void *ctx;
    bool (*sends)(void *ctx, size_t who, const gp_message *message); // false: it is not sent. who 0: the lead
    // The lead hears the values of an interval, or of a task, while this one (or its act) is under way. True: the
    // message is another now.
    bool (*hears)(void *ctx, const uint64_t interval[2], gp_message *message);
    bool beats_outlive; // signs of life go on when a process is dead
} gp_sim_tampering;

typedef struct gp_sim_training_stage { // a run
    uint64_t versions, every;          // to make, and from one evaluation to the next
    bool split;                        // over the servers
    bool collect;                      // and then a sum over all rows at the last parameters
    size_t tasks;                      // and then so many tasks, and after a while so many again; at most 16
} gp_sim_training_stage;

typedef enum gp_sim_training_fault_kind {
    GP_SIM_CRASH, // a process dies, and is started again as another one
    GP_SIM_LEAVE, // it is asked to stop, and started again
    GP_SIM_PAUSE, // it stands still
    GP_SIM_CUT,   // its network is away
} gp_sim_training_fault_kind;

typedef struct gp_sim_training_fault {
    gp_sim_training_fault_kind kind;
    double at, seconds; // until it is repaired; INFINITY: never
    size_t who;         // 0: the lead; then the workers, then the servers
} gp_sim_training_fault;

typedef struct gp_sim_training_options {
    uint64_t seed;
    size_t n_workers;
    gp_lead_options lead; // random, report, lost and ctx are the simulator's
    double give_up;       // of the followers
    const gp_job *job;    // spec, schedule (as the server's), fingerprint, heartbeat
    gp_rule_options rule_options;
    gp_server_options server; // of the runs: rule, run, fingerprint and event are the simulator's
    const uint64_t *shard_rows;
    gp_computer computer; // of all workers, one after the other
    size_t push_size;
    double compute, spread;     // seconds that a push takes, times 1 - spread to 1 + spread
    const double *slowness;     // [n_workers] times this
    double task_failures;       // the share of tasks that a worker cannot do
    bool lead_works;            // it does tasks, too, by one thread
    double evaluation, opening; // seconds at most that the lead is away between intervals, and to open shards
    gp_link link;
    size_t n_stages;
    const gp_sim_training_stage *stages;
    size_t n_faults;
    const gp_sim_training_fault *faults;
    double stall;                      // PROGRESS: seconds without anything done while it could be
    double seconds;                    // ENDS
    const gp_sim_tampering *tampering; // NULL: none
    // What was collected; false: it is not the sum over all rows (ALL).
    bool (*collected)(void *ctx, const double *theta, const double *sum);
    void *ctx;
    bool shown; // on standard error: what lead and followers say, with the time
} gp_sim_training_options;

typedef struct gp_sim_training_outcome {
    gp_law broken;
    advgp_status lead; // how the lead ended, and
    char why[300];     // what it said
    double seconds;
    uint64_t events, hash, version; // version: of all stages together
    size_t restarts;                // of the lead
    size_t intervals, abandoned;    // of several servers
    uint64_t lost, moved;           // workers and shards, in what counted
    size_t tasks, own_tasks;        // done in all, and by the lead
    bool fewer;                     // a run began with fewer workers than there were
    size_t size;
    double *theta;
} gp_sim_training_outcome;

// ECLUSTER with outcome.broken: a law was broken; the text names it, the seed and the time. A lead that fails and says
// why breaks none. The outcome is filled in any case.
advgp_status gp_sim_training_run(const gp_sim_training_options *options, gp_sim_training_outcome *outcome,
                                 advgp_error *err);
void gp_sim_training_outcome_fini(gp_sim_training_outcome *outcome);
