// worker.h: a worker as a pure machine: says hello, pulls parameters, computes on the next batch of its shards, pushes,
// and repeats what is not answered. No clock, thread or socket inside; the computing itself is a function it is given.
//
//     gp_worker_on_message, gp_worker_on_tick            what happened
//     while (gp_worker_next(worker, &message)) send      what to say
//     if (gp_worker_state_of(worker) == GP_WORKER_READY) gp_worker_compute
#pragma once
#include "ps/message.h"

// What a push is computed from. The batch is a function of worker, sequence and shards alone.
typedef struct gp_work {
    uint32_t worker;
    uint64_t sequence, version;
    const double *theta; // NULL when only rows are to be fetched ahead
    unsigned flags;      // GP_FLAG_ALL_ROWS, GP_FLAG_STATISTICS
    uint64_t max_rows;   // with GP_FLAG_ALL_ROWS; 0: every one
    size_t n_shards;
    const uint32_t *shards;
} gp_work;

typedef struct gp_work_done {
    double shard_weight, batch_weight;
    uint64_t rows;
    size_t n_values; // of the push
} gp_work_done;

typedef struct gp_computer {
    void *ctx;
    // Fills push (up to push_size values). ENUMERIC is told to the server, which goes back; any other failure ends the
    // worker.
    advgp_status (*compute)(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err);
    // Reads the rows of a batch whose parameters have not come yet; may be NULL.
    void (*fetch)(void *ctx, const gp_work *work);
} gp_computer;

typedef struct gp_worker_options {
    size_t size, push_size; // values of PARAMETERS, and of a PUSH at most
    size_t n_shards;        // in all
    uint32_t wish;          // GP_ANY_WORKER, or the id it wants,
    bool yields;            // but only if nobody has it
    uint64_t run[2], fingerprint;
    uint64_t token; // of its own: a number nobody else has
    double resend;  // seconds without an answer before a request is repeated, growing by half up to 15 times; 0: never
    double heartbeat; // seconds between two signs of life; 0: none
} gp_worker_options;

typedef enum gp_worker_state {
    GP_WORKER_HELLO, // waits for WELCOME
    GP_WORKER_PULL,  // waits for PARAMETERS
    GP_WORKER_READY, // has work
    GP_WORKER_ENDED  // the run is over, or it was refused
} gp_worker_state;

typedef struct gp_worker gp_worker;
advgp_status gp_worker_new(const gp_worker_options *options, gp_worker **out, advgp_error *err);
void gp_worker_free(gp_worker *worker);

// ECLUSTER: it was refused and why.
advgp_status gp_worker_on_message(gp_worker *worker, double now, const gp_message *message, advgp_error *err);
void gp_worker_on_tick(gp_worker *worker, double now);
bool gp_worker_next(gp_worker *worker, double now, gp_message *message);

// It goes: *message is the farewell to send. False: nobody knows it yet.
bool gp_worker_leave(gp_worker *worker, gp_message *message);

// A sign of life to send. False: nobody knows it yet, or it has ended.
bool gp_worker_sign(const gp_worker *worker, gp_message *message);

bool gp_worker_sums_all(const gp_worker *worker); // its last work was over all rows: somebody waits for the end

gp_work gp_worker_work(const gp_worker *worker); // the last it was given
gp_worker_state gp_worker_state_of(const gp_worker *worker);
advgp_status gp_worker_compute(gp_worker *worker, const gp_computer *computer, advgp_error *err);
// The batch after the present one, as far as it is known: for fetching ahead. False: nothing to fetch.
bool gp_worker_upcoming(const gp_worker *worker, gp_work *work);

uint32_t gp_worker_id(const gp_worker *worker);        // GP_ANY_WORKER before it is welcome
gp_refusal gp_worker_refused(const gp_worker *worker); // why it has ended, where it was refused
uint64_t gp_worker_resends(const gp_worker *worker);
