// follower_state.h: what the parts of a follower share, and nobody else includes. follower.c: asking, waiting, the end;
// follower_work.c: a worker of the lead or of several servers; follower_serve.c: a server of a range;
// follower_task.c: one task after the other.
#pragma once
#include "cluster/follower.h"

typedef struct server_link { // of a worker, towards one server
    gp_worker *worker;       // NULL: not yet, since the first server decides which worker it is
    gp_message_limits limits;
    gp_range range;
    uint32_t id, incarnation; // that its signs of life tell
} server_link;

typedef struct outgoing { // waits to be sent
    size_t line;
    gp_message message; // its text is the follower's own
} outgoing;

enum { OUTGOING_MAX = 64 };

struct gp_follower {
    gp_follower_options o;
    gp_follower_state state;
    uint32_t place; // which worker it was last
    double now;
    uint64_t token;
    uint64_t run[2];
    gp_job job;
    double heartbeat; // of the last job; 0: there was none
    gp_follower_result done;
    advgp_status status;
    advgp_error error;
    uint64_t sign_revision;
    // Asking and waiting:
    double since, next, pause; // when it began to ask, when it asks again, and then
    bool to_ask;
    char *question;   // text of what it asks; free
    double heard;     // the last word of the lead
    double told;      // when people were told that it waits
    double idle_seen; // how long it had waited then
    double asked_to_stop;
    bool stopping;
    bool task_unwanted;
    bool brings, failed; // its question brings what came of its task, or that nothing did
    outgoing
        outgoing[OUTGOING_MAX]; // the oldest is forgotten when there are too many: whoever wants an answer asks again
    size_t first_outgoing, n_outgoing;
    // A worker's:
    server_link *links; // [n_links], one a server
    size_t n_links;
    bool several;
    double *theta, *push; // of the whole, where there are several
    size_t push_size;
    gp_work_done work_done; // what the push is of
    size_t filled;          // whose range is being filled
    double server_heard;    // the last word of a server
    double idle_since;      // it has had nothing to do since
    double hold;            // its pushes are held back until then, for the delay study
    uint64_t finished[2];   // the interval whose servers have all said BYE
    // A task:
    gp_parcel task;
    uint64_t task_number, task_run[2]; // of what it does, or brings
    double *outcome;                   // [n_outcome]
    size_t n_outcome;
    // A server's:
    gp_lead *own_lead;     // of the workers that come to it; NULL: it has not served yet
    gp_range_state begin;  // what it was given
    gp_range_state result; // to be given back; of no values: there is none
    uint64_t result_run[2];
    gp_follower_tools tools;
    bool tools_in_use;
    outgoing *early; // [n_early]: greetings of workers that came before its own job
    size_t n_early, early_room;
};

// ---- follower.c -----------------------------------------------------------------------------------------------------

__attribute__((format(printf, 2, 3))) void gp_follower_report(const gp_follower *f, const char *format, ...);
void gp_follower_send(gp_follower *f, size_t line, const gp_message *message);
void gp_follower_ask(gp_follower *f, double pause); // what is next, after so many seconds
void gp_follower_end(gp_follower *f, advgp_status status, const char *text);

// ---- follower_work.c ------------------------------------------------------------------------------------------------

void gp_follower_work_begin(gp_follower *f, const gp_follower_tools *tools);
void gp_follower_work_on_bytes(gp_follower *f, size_t line, const void *bytes, size_t n);
void gp_follower_work_on_tick(gp_follower *f);
bool gp_follower_work_next(gp_follower *f, size_t *line, gp_message *m);
// It is no worker any more. Leaves: the servers are told, with these flags, and why where there is a text.
void gp_follower_work_end(gp_follower *f, bool leaves, unsigned flags, const char *text);

// ---- follower_serve.c -----------------------------------------------------------------------------------------------

void gp_follower_serve_begin(gp_follower *f, const gp_follower_tools *tools);
void gp_follower_serve_on_bytes(gp_follower *f, size_t line, const void *bytes, size_t n); // a worker, in any state
void gp_follower_serve_on_tick(gp_follower *f);
void gp_follower_serve_end(gp_follower *f); // the interval is given up

// ---- follower_task.c ------------------------------------------------------------------------------------------------

void gp_follower_take_task(gp_follower *f, const gp_message *m);
void gp_follower_forget_outcome(gp_follower *f); // it has arrived, or nobody wants it
