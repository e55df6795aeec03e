// world.h: a whole cluster in one thread and in virtual time: the server and worker machines of ps/, their messages as
// bytes over the network of sim.h, computations that take the time a cost model says, and faults at given moments. The
// laws of laws.h are checked after every event. The same options give the same bytes.
#pragma once
#include "ps/server.h"
#include "ps/worker.h"
#include "sim/laws.h"
#include "transport/sim.h"

typedef struct gp_world_costs {
    double compute;                                  // seconds that a push takes,
    double spread;                                   // times 1 - spread to 1 + spread, each as likely,
    const double *slowness;                          // [n_workers] times this; NULL: 1
    const double *sleep;                             // [n_workers] and this many seconds more; NULL: none
    gp_link link;                                    // of every worker
    double server_bandwidth;                         // bytes a second; 0: without limit
    double server_message, server_byte, server_step; // seconds of the server's CPU: it does one thing at a time
    double server_sum;                               // and for each push in the sum of a step
    double push_bytes, parameter_bytes;              // what the network sees of them; 0: their size
} gp_world_costs;

typedef enum gp_fault_kind {
    GP_FAULT_CRASH, // the worker dies and is started again, as another one
    GP_FAULT_CUT,   // its network is away
    GP_FAULT_SERVER // the server dies and goes on from its last checkpoint
} gp_fault_kind;

typedef struct gp_fault {
    gp_fault_kind kind;
    double at, seconds; // until it is repaired; INFINITY: never
    uint32_t worker;
    bool after_push; // CRASH: not at once, but right after its next push has left
} gp_fault;

typedef struct gp_world_options {
    uint64_t seed;
    size_t n_workers;
    gp_rule_options rule_options;
    gp_server_options server; // rule and event are the world's own
    gp_computer computer;     // of all workers, one after the other
    double resend, heartbeat;
    bool any_place;           // workers have no wish
    double begin_after;       // a server begins with those who are there after so many seconds; 0: never
    double restart_refused;   // a worker that was refused is started again after so many; 0: never
    double checkpoint_chance; // at every message the server gets; there is one at the start and at every restart
    gp_world_costs costs;
    size_t n_faults;
    const gp_fault *faults;
    uint64_t versions; // to make
    bool collect;      // and then a sum over all rows at the last parameters
    double seconds;    // or to end at; 0: no such end
    double stall;      // PROGRESS and FAREWELL: seconds without a version while somebody could make one; 0: any number
    bool check_copies; // COPY: keeps the parameters of all versions
    bool lawless;      // nothing is checked: for predictions with many workers, where the checks cost most
    // After every version; false ends the run. May be NULL. Must not touch the server.
    bool (*at_version)(void *ctx, double time, uint64_t version, const double *theta);
    void *ctx;
} gp_world_options;

typedef enum gp_world_end { GP_END_VERSIONS, GP_END_TIME, GP_END_CALLBACK, GP_END_FAILED } gp_world_end;

typedef struct gp_world_worker {
    double busy, wait; // seconds computing, and alive without anything to compute
    uint64_t pushes, resends;
    uint64_t crashed, refused;
} gp_world_worker;

typedef struct gp_world_outcome {
    gp_world_end end;
    gp_law broken;
    double seconds;
    uint64_t version;
    uint64_t events, hash; // of all that happened
    double server_busy;    // seconds
    double used, age;      // summed over versions: pushes in its sum, and their mean age
    double progress;       // summed over versions: what age left of a step, in (0, 1]
    size_t restarts;       // of the server
    uint64_t moved;        // shards that went from one worker to another
    size_t n_workers;
    gp_world_worker *workers;
    size_t size;
    double *theta; // the newest
    gp_server_counts counts;
    gp_net_counts net;
} gp_world_outcome;

// OK: it ended as it should, see outcome.end. ECLUSTER with outcome.broken: a law was broken; the text names it, the
// seed and the time. Other failures are the server's or the computer's. The outcome is filled in any case.
advgp_status gp_world_run(const gp_world_options *options, gp_world_outcome *outcome, advgp_error *err);
void gp_world_outcome_fini(gp_world_outcome *outcome);
