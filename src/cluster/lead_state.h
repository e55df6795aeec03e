// lead_state.h: what the parts of the lead share, and nobody else includes: its state, and the few functions that one
// part has and another calls. lead.c: peers, a run, the farewell; lead_watch.c: who is lost, for whom it waits;
// lead_split.c: the intervals of several servers; lead_tasks.c: tasks between runs.
#pragma once
#include "cluster/lead.h"

static const double gp_lead_told_after = 4, gp_lead_told_again = 10; // seconds of waiting: for whom

// All that the lead knows of a process that talks to it. The number of a peer is its connection's: one that was mended
// is another, and what was known goes over to it.
typedef struct peer {
    char name[GP_LEAD_NAME]; // as it calls itself; empty: it has not asked
    bool gone;               // said farewell, or was lost
    double heard;
    unsigned malformed;
    bool serves;      // it keeps a range
    bool asks;        // it has asked what the work is, and was not answered yet
    uint64_t token;   // of its last question
    uint64_t over[2]; // the interval that it says it has finished
    uint64_t told[2]; // the interval that it was given
    // As a worker of the lead's own server:
    uint32_t worker;      // GP_ANY_WORKER: none
    bool has_work;        // it was given parameters
    double given;         // when that was
    double row_seconds;   // a row, of its last push
    double stuck_seconds; // a row, when it was last taken for stuck: it may just be that slow
    // A task of its own:
    bool has_task;
    bool task_due;       // it is to be sent
    bool unfit;          // it could not do one, or what it brought was no result
    size_t task;         // which
    uint64_t task_token; // of the question that it answers
    double task_given;
} peer;

typedef struct task_place { // a task, and who does it
    bool done;
    bool here;    // a thread of the lead
    long peer;    // a worker; negative: none
    double since; // when it was given, or begun
} task_place;

typedef struct server_place { // a server's place
    gp_range range;
    bool taken;
    size_t peer;
    gp_job_server reached; // how workers reach it
    gp_range_state begin;  // what it is given in this interval
    char *job;             // and its text; free
    gp_range_state result;
    bool done;
} server_place;

typedef struct outgoing { // waits to be sent
    size_t peer;
    gp_message message;
} outgoing;

struct gp_lead {
    gp_lead_options o;
    double now;
    size_t workers; // with which the next run begins
    bool known;     // they were in the one before
    peer *peers;    // [n_peers]
    size_t n_peers, peers_room;
    uint64_t runs;
    outgoing *outgoing; // [outgoing_room], of which first_outgoing .. first_outgoing + n_outgoing - 1 are to be sent
    size_t first_outgoing, n_outgoing, outgoing_room;
    double awake, back; // when the lead was last seen at work, and when it last came back from being away
    // The run:
    bool running, ended;
    bool tasking; // there are tasks, and no run
    gp_lead_run run;
    char *job;        // its text; free
    double began;     // when it started to wait for workers
    double advanced;  // when the version last changed, or all was there
    double told;      // when people were last told for whom it waits
    double few_since; // too few workers are there since; 0: enough are
    uint64_t version; // the last seen
    // Of several servers:
    server_place *places;  // [o.servers]
    bool active;           // an interval is under way
    bool collects;         // the run has turned to collecting
    uint64_t id[2];        // of the interval, as servers and workers know it
    uint64_t until;        // the version it ends with
    char *interval_job;    // of its workers; free
    double interval_began; // or when it began to wait for servers
    double left_alone;     // when a worker that can end the interval was last known
    uint64_t rows_elsewhere;
    // Tasks:
    gp_lead_tasks tasks;
    uint64_t act_id[2];
    task_place *task; // [tasks.n]
    size_t tasks_done;
    double longest_task; // seconds that one has taken
    gp_parcel parcel;    // the one that was packed last
    // The farewell:
    bool farewell;
    double farewell_until;
    char why[GP_LEAD_TEXT]; // empty: nothing went wrong
};

// ---- lead.c ---------------------------------------------------------------------------------------------------------

__attribute__((format(printf, 2, 3))) void gp_lead_report(const gp_lead *lead, const char *format, ...);
void gp_lead_send(gp_lead *lead, size_t peer, const gp_message *message);
void gp_lead_give_job(gp_lead *lead, size_t peer, const uint64_t id[2], const char *text, const gp_range_state *state);
void gp_lead_tell_over(gp_lead *lead, size_t peer, const gp_message *message); // what this message is of is over
void gp_lead_declare_lost(gp_lead *lead, size_t peer);
// May the silence of a worker be held against it? Not where the lead itself was away: then it heard nobody.
bool gp_lead_silence_counts(const gp_lead *lead);
void gp_lead_start_waiting(gp_lead *lead, double now);
void gp_lead_expect_at_most(gp_lead *lead, size_t live); // in the end of a run: the next one waits for no more

// ---- lead_watch.c ---------------------------------------------------------------------------------------------------

// Workers that live but do not answer are lost as well; the server knows of those that are silent.
advgp_status gp_lead_find_lost_workers(gp_lead *lead, advgp_error *err);
// Begins with those who are there when the time for the others is over. ECLUSTER: they are too few.
advgp_status gp_lead_watch(gp_lead *lead, advgp_error *err);

// ---- lead_split.c ---------------------------------------------------------------------------------------------------

// Do servers of ranges make the steps just now?
bool gp_lead_is_split(const gp_lead *lead);
bool gp_lead_in_interval(const gp_lead *lead, const uint64_t run[2]); // is it the present one?
advgp_status gp_lead_split_begin(gp_lead *lead, advgp_error *err);
void gp_lead_split_forget(gp_lead *lead);
advgp_status gp_lead_split_go_on(gp_lead *lead, advgp_error *err);
advgp_status gp_lead_split_on_message(gp_lead *lead, size_t peer, const gp_message *message, advgp_error *err);
advgp_status gp_lead_split_on_tick(gp_lead *lead, advgp_error *err);
void gp_lead_split_abandon(gp_lead *lead);

// ---- lead_tasks.c ---------------------------------------------------------------------------------------------------

void gp_lead_tasks_on_message(gp_lead *lead, size_t peer, const gp_message *message);
void gp_lead_tasks_on_left(gp_lead *lead, size_t peer);
bool gp_lead_tasks_next(gp_lead *lead, size_t *peer, gp_message *message);
advgp_status gp_lead_tasks_on_tick(gp_lead *lead, advgp_error *err);
