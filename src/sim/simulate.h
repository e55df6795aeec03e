// simulate.h: a training on a cluster that is not there: the server and worker machines of ps/ in virtual time, with
// costs measured on this machine (simcosts.h). Gradients are real, and then there is an error to look at; or only their
// costs are, and then thousands of workers and millions of rows take seconds.
#pragma once
#include "learn/learner.h"
#include "ps/server.h"
#include "sim/simcosts.h"

// What is learned: the model at its start, and rows.
typedef struct gp_sim_problem {
    const gp_shards *shards;
    const gp_schema *schema;
    const gp_learner *learner;
} gp_sim_problem;

typedef struct gp_sim_options {
    gp_schedule schedule;           // as asked for, but for batch: rows of a push; 0: all rows of the worker
    bool gradients;                 // real ones, over the rows of the problem; else costs alone
    size_t rows;                    // in all, where only costs are real
    const size_t *cut;              // [workers]: training rows of each; NULL: as equal as can be. Real gradients only
    double age_power;               // negative: the schedule's
    const double *slowness, *sleep; // [workers], NULL: 1 and 0 (sim/world.h)
    double spread;                  // a push takes 1 - spread to 1 + spread times its time
    double latency;                 // seconds, one way
    double bandwidth;               // bytes a second of every worker's line; 0: without limit
    double server_bandwidth;        // of the server's
    gp_sim_costs costs;
    double seconds;         // virtual time to end at; 0: no such end
    uint64_t versions;      // to end at; 0: no such end
    double rmse;            // to end at; 0: no such end
    size_t points;          // evaluations, evenly over `seconds`; 0: only at the end
    int (*stop)(void *ctx); // may be NULL; non-zero ends with ESTOPPED
    void *stop_ctx;
} gp_sim_options;

typedef struct gp_sim_point {
    double seconds;
    uint64_t version;
    double rmse; // on the held-out rows that stop training, in the target's own units
} gp_sim_point;

typedef enum gp_sim_limit {
    GP_LIMIT_WORKERS, // they compute most of the time: more of them would help
    GP_LIMIT_SERVER,  // its CPU
    GP_LIMIT_NETWORK, // its line
    GP_LIMIT_DELAY    // nobody is busy: waiting for the slowest, or for messages under way
} gp_sim_limit;
const char *gp_sim_limit_name(gp_sim_limit limit);

typedef struct gp_sim_result {
    double seconds;
    uint64_t versions, pushes;
    double rows;                      // in pushes, with repetition
    double waiting;                   // share of the workers' time
    double server, line_in, line_out; // share of the time that the server's CPU and line are busy
    double used, age;                 // pushes in a version's sum, and their age, on average
    double progress;                  // versions a second, each counted by what age leaves of its step
    double push_bytes, parameter_bytes;
    gp_sim_limit limit;
    double rmse;    // at the end; NaN without real gradients
    double reached; // seconds to options.rmse; INFINITY: not reached
    double *theta;  // the last parameters; NULL without real gradients
    size_t n_points;
    gp_sim_point *points;
    gp_server_counts counts;
} gp_sim_result;

// The same options give the same result, to the last bit.
advgp_status gp_simulate(const gp_sim_problem *problem, const gp_sim_options *options, gp_sim_result *result,
                         advgp_error *err);
void gp_sim_result_fini(gp_sim_result *result);

// When a curve first came to an error; INFINITY: never.
double gp_sim_time_to(const gp_sim_result *result, double rmse);

// Encoded rows of a source for a simulation. The rows of `test` are the held-out ones; NULL: a tenth of the rows are,
// half of them to be scored. The caller frees shards and schema.
advgp_status gp_sim_rows(gp_source *source, gp_source *test, const char *target, uint64_t seed, gp_shards **shards,
                         gp_schema **schema, advgp_error *err);
