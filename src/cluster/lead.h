// lead.h: the lead of a training over processes, as a pure machine: who has come, what they are told, who is lost, for
// whom it waits, and the farewell. It stands around a parameter server (ps/server.h), one run after the other, or,
// where other processes keep the parameters (--servers), hands it out to them from one evaluation to the next and puts
// it together again. Between runs it may have tasks to give out. There is no clock, thread, socket or randomness
// inside. Whoever drives it (run_cluster.c, the simulator) owns those, decodes nothing, and says what time it is:
//
//     gp_lead_on_bytes, gp_lead_on_tick, gp_lead_go_on           what happened
//     while (gp_lead_next(lead, now, &peer, &message)) send      what to say to whom
//
// A process that serves a range of the parameters has such a lead of its own, for the workers that come to it.
// follower.h is the other side.
#pragma once
#include "cluster/job.h"
#include "cluster/range_state.h"

enum { GP_LEAD_NAME = 80, GP_LEAD_TEXT = 512 };

typedef struct gp_lead_options {
    size_t workers;     // a run begins when these are there
    size_t workers_min; // with fewer it does not begin, nor go on
    size_t workers_max; // that can be there at once
    bool together;      // a launcher started them with the lead: who is not there yet will come
    double wait;        // seconds for workers to come: then it begins with fewer; or gives up
    double heartbeat;   // seconds between two signs of life
    double lost_after;  // seconds without one after which a worker or server is lost
    double stuck_after; // seconds for a push after which a worker is lost, though it lives
    uint64_t random;    // a number nobody else has: ids of runs follow from it
    size_t servers;     // processes that keep a range of the parameters each; 0: the lead keeps all
    void (*report)(void *ctx, const char *text); // what people should know; may be NULL
    void (*lost)(void *ctx, size_t peer);        // that peer is held for dead; may be NULL
    void *ctx;
} gp_lead_options;

// A run. All is borrowed until gp_lead_forget.
typedef struct gp_lead_run {
    gp_server *server; // its events go to gp_lead_on_event
    gp_rule *rule;
    uint64_t id[2];
    const gp_job *job;          // what workers are told; NULL: nobody asks here
    gp_message_limits limits;   // of what workers send
    const uint64_t *shard_rows; // [n_shards]
    size_t n_shards;
    gp_on_loss on_loss;
    bool split; // the steps are made by servers of ranges
} gp_lead_run;

typedef struct gp_lead gp_lead;
advgp_status gp_lead_new(const gp_lead_options *options, gp_lead **out, advgp_error *err);
void gp_lead_free(gp_lead *lead);

// For the next run: how many workers there are, and how many there must be. Known: they have been in a run before, so
// that who does not come is lost, and need not be waited for as long as for those who are still to start. Otherwise it
// is those who were there when the last run ended.
void gp_lead_expect(gp_lead *lead, size_t workers, size_t workers_min, bool known);
size_t gp_lead_workers(const gp_lead *lead);         // with which the next run begins
void gp_lead_next_id(gp_lead *lead, uint64_t id[2]); // of a run

advgp_status gp_lead_begin(gp_lead *lead, double now, const gp_lead_run *run, advgp_error *err);
void gp_lead_end(gp_lead *lead, double now); // the run is over: its workers are told, who then ask for the next
void gp_lead_forget(gp_lead *lead);          // what the run borrowed may go; what was not said of it is not said

// ECLUSTER: too few are left, or what else ends a training; as gp_server_on_message.
advgp_status gp_lead_on_bytes(gp_lead *lead, double now, size_t peer, const void *bytes, size_t n, advgp_error *err);
// Now and then, when all that had come was heard: who is lost, and for whom it waits.
advgp_status gp_lead_on_tick(gp_lead *lead, double now, advgp_error *err);
// The owner has told the server something (gp_server_allow, gp_server_collect): what follows from it.
advgp_status gp_lead_go_on(gp_lead *lead, double now, advgp_error *err);
void gp_lead_on_event(gp_lead *lead, const gp_ps_event *event);
// Arrays are borrowed until the lead is told the next thing.
bool gp_lead_next(gp_lead *lead, double now, size_t *peer, gp_message *message);

// ---- tasks ----------------------------------------------------------------------------------------------------------
// Between two runs: tasks that do not depend on each other, each with one result, whoever does it. Workers take one
// after the other; so do threads of the lead, if there are any.

typedef struct gp_parcel { // a task as it travels; for gp_free
    char *text;
    size_t n_text;
    double *values;
    size_t n_values;
} gp_parcel;
void gp_parcel_fini(gp_parcel *parcel);

typedef struct gp_lead_tasks {
    size_t n;
    const char *what;                                                     // one of them, for people: "a cell"
    advgp_status (*pack)(void *ctx, size_t task, gp_parcel *out);         // *out starts as {0}
    bool (*take)(void *ctx, size_t task, const double *values, size_t n); // once a task; false: these are no result
    void *ctx;
} gp_lead_tasks;

// The tasks are borrowed until gp_lead_tasks_forget. There is no run meanwhile.
advgp_status gp_lead_tasks_begin(gp_lead *lead, double now, const gp_lead_tasks *tasks, advgp_error *err);
bool gp_lead_tasks_over(const gp_lead *lead);      // all are done
void gp_lead_tasks_end(gp_lead *lead, double now); // done or not: workers that are at one are told
void gp_lead_tasks_forget(gp_lead *lead);          // what was not said of them is not said
// One for a thread of the lead: nobody does it, or a worker does who is slow. False: there is none now.
bool gp_lead_tasks_own(gp_lead *lead, double now, size_t *task);
bool gp_lead_tasks_did(gp_lead *lead, double now, size_t task, const double *values, size_t n); // false: as take
void gp_lead_tasks_on_hung_up(gp_lead *lead, double now, size_t peer); // its connection has ended

// ---- the end --------------------------------------------------------------------------------------------------------

// The training is over, and why if something went wrong (NULL: nothing did). Everybody is told; whatever comes from now
// on is answered by farewell.
void gp_lead_farewell(gp_lead *lead, double now, const char *why);
bool gp_lead_in_farewell(const gp_lead *lead,
                         double now); // there may be somebody who has not heard it: it should listen

uint64_t gp_lead_rows_elsewhere(const gp_lead *lead);       // taken in this run by servers of other processes
const char *gp_lead_name(const gp_lead *lead, size_t peer); // as it calls itself
size_t gp_lead_peers(const gp_lead *lead);                  // their numbers are less

// What a message says, for people: as much as fits, with a 0 at the end and question marks for control characters and
// what is no UTF-8.
void gp_lead_plain_text(const gp_message *message, char *out, size_t room);
