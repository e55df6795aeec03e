// follower.h: a process that joins a lead, as a pure machine: it asks what the work is, and then is a worker of the
// lead or of several servers, or serves a range of the parameters itself, until that is over, or does a task; then it
// asks again. There is no clock, thread, socket, file or randomness inside. Whoever drives it (join.c, the simulator)
// owns those:
//
//     gp_follower_on_bytes, gp_follower_on_tick, gp_follower_on_stop        what happened
//     while (gp_follower_next(follower, now, &line, &message)) send      what to say, by which line
//     GP_FOLLOWER_OPENS: open what gp_follower_job asks for, then gp_follower_opened; or gp_follower_fail
//     gp_follower_has_work: gp_follower_compute, then gp_follower_computed
//     GP_FOLLOWER_TASKED: do gp_follower_task, then gp_follower_task_done
//     gp_follower_sign_revision has grown: other signs of life are to be given, gp_follower_sign
//
// Line 0 is the lead's. A worker of several servers has line 1 + i to the i-th; a server's lines are the numbers of its
// workers, from 1.
#pragma once
#include "cluster/lead.h"
#include "ps/worker.h"

typedef struct gp_follower_options {
    const char *name;          // how people shall know it: host and process
    const char *address, *key; // by which workers reach it, where it serves a range; NULL: it is a worker
    uint32_t wish;             // which worker it wants to be, or GP_ANY_WORKER,
    bool yields;               // but only if nobody is
    uint64_t random;           // a number nobody else has
    double give_up;            // seconds without a word from the lead
    double grace;              // seconds that it goes on working after it was asked to stop
    // Why nothing may be heard of the lead, as far as can be seen from here; empty: nothing strange. May be NULL.
    void (*doubt)(void *ctx, char *out, size_t room);
    void (*report)(void *ctx, const char *text); // may be NULL
    void (*lost)(void *ctx, size_t line);        // whoever is there is held for dead; may be NULL
    void *ctx;
} gp_follower_options;

typedef enum gp_follower_state {
    GP_FOLLOWER_ASKS,   // waits for a job
    GP_FOLLOWER_OPENS,  // has one, and waits for what it needs
    GP_FOLLOWER_WORKS,  // is a worker
    GP_FOLLOWER_SERVES, // keeps a range
    GP_FOLLOWER_TASKED, // has a task to do
    GP_FOLLOWER_ENDED
} gp_follower_state;

// What a job needs, and only its driver can get.
typedef struct gp_follower_tools {
    size_t n_shards;
    // A worker's:
    size_t size, push_size; // of all parameters, and of a push
    uint64_t fingerprint;   // of the rows
    // A server's, borrowed until gp_follower_release: made for the range of gp_follower_range_state, its events go to
    // gp_follower_on_event.
    gp_server *server;
    gp_rule *rule;
    const uint64_t *shard_rows;
    gp_message_limits limits; // of what its workers send
} gp_follower_tools;

typedef struct gp_follower_result {
    size_t runs;
    uint64_t pushes, resends;
    size_t tasks; // that it has done
} gp_follower_result;

typedef struct gp_follower gp_follower;
advgp_status gp_follower_new(const gp_follower_options *options, double now, gp_follower **out, advgp_error *err);
void gp_follower_free(gp_follower *follower);

gp_follower_state gp_follower_state_of(const gp_follower *follower);
void gp_follower_on_bytes(gp_follower *follower, double now, size_t line, const void *bytes, size_t n);
void gp_follower_on_tick(gp_follower *follower, double now);
void gp_follower_on_stop(gp_follower *follower,
                         double now); // it is to stop: now, or when its grace is over. Again and again
void gp_follower_on_event(gp_follower *follower, const gp_ps_event *event);
bool gp_follower_next(gp_follower *follower, double now, size_t *line, gp_message *message);

const gp_job *gp_follower_job(const gp_follower *follower);
const uint64_t *gp_follower_run(const gp_follower *follower);               // its id
const gp_range_state *gp_follower_range_state(const gp_follower *follower); // with which a server begins
void gp_follower_opened(gp_follower *follower, double now, const gp_follower_tools *tools);
void gp_follower_fail(gp_follower *follower, double now, advgp_status status, const advgp_error *err);
// It serves no more and all was sent: server and rule of the tools may go.
void gp_follower_release(gp_follower *follower);

bool gp_follower_has_work(const gp_follower *follower);
// ENUMERIC is told to the servers; any other failure is to be given to gp_follower_fail.
advgp_status gp_follower_compute(gp_follower *follower, const gp_computer *computer, advgp_error *err);
void gp_follower_computed(gp_follower *follower, double now); // right after: it took until now
bool gp_follower_upcoming(const gp_follower *follower,
                          gp_work *work);                        // the batch after the present one, to fetch ahead
size_t gp_follower_awaits(const gp_follower *follower);          // by which line it waits for an answer
double gp_follower_due(const gp_follower *follower, double now); // seconds until it should be told the time

const gp_parcel *gp_follower_task(const gp_follower *follower); // until it is told that it is done
bool gp_follower_task_wanted(const gp_follower *follower);      // false: somebody else has done it, or the act is over
// What came of it; NULL: it could not be done.
void gp_follower_task_done(gp_follower *follower, double now, const double *values, size_t n);

enum { GP_FOLLOWER_EVERYBODY = -1 };
// Grows whenever other signs of life are to be given than before.
uint64_t gp_follower_sign_revision(const gp_follower *follower);
double gp_follower_heartbeat(const gp_follower *follower); // seconds between two
// The sign of life for a line, or for all workers of a server (GP_FOLLOWER_EVERYBODY). False: none.
bool gp_follower_sign(const gp_follower *follower, long line, gp_message *message);

// Of a follower that has ended: OK: the lead has nothing more to do. ECLUSTER: refused, silent, or the lead failed, and
// why; ESTOPPED: it was asked to; or with what it failed.
advgp_status gp_follower_outcome(const gp_follower *follower, gp_follower_result *result, advgp_error *err);
