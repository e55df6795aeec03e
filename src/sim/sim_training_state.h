// sim_training_state.h: what the parts of the simulated training share, and nobody else includes. sim_training.c: the
// queue of events, the faults, the end; sim_training_net.c: the network, and who keeps parameters;
// sim_training_process.c: workers and servers; sim_training_lead.c: the lead; sim_training_tasks.c: tasks between runs.
#pragma once
#include "cluster/follower.h"
#include "ps/server_copy.h"
#include "sim/events.h"
#include "sim/sim_training.h"

// A process that is started again is another peer, and a server then listens elsewhere.
enum { SLOTS = 48, HUBS = 20, JOBS = 512, LATE_BEATS = 96, TASKS_MAX = 16 };
static const double gp_sim_tick = 0.25, gp_sim_slack = 6; // seconds

typedef enum event_kind { START, TICK, SIGN, OPENED, COMPUTED, LATE_BEAT, BACK, OWN_TASK, FAULT, REPAIR } event_kind;

typedef struct hub { // whom others connect to
    gp_net *net;
    gp_endpoint *ends[SLOTS + 1];
    size_t owner; // 0: the lead; a process
} hub;

typedef struct slot { // a life of a process, as its peers see it
    size_t who;
    bool dead;
    double died;
} slot;

// Who keeps parameters: the lead, or a process that serves.
typedef struct keeper {
    gp_rule *rule;
    gp_server *server;
    gp_watch *watch;
    uint64_t run[2];
    double since; // when it began, or was last away
    uint64_t lost, moved;
    uint64_t version;
    struct simulation *t;
    struct process *p; // NULL: the lead's
} keeper;

typedef struct late_beat { // a sign of life of one who is dead
    size_t at, from, to;
    gp_message sign;
} late_beat;

typedef struct process {
    size_t who; // 1 ..: workers, then servers
    bool serves;
    gp_follower *machine; // NULL: it is dead
    uint64_t life;
    size_t slot, hub;   // the hub is a server's own
    size_t lines[HUBS]; // hubs of a worker's servers
    size_t n_lines;
    char name[24], address[8];
    gp_rng rng;
    bool computing, opening, in_vain, ended, stops, cut;
    uint64_t job; // how many it has had
    double awake; // it stands still until then
    keeper keeps;
} process;

typedef struct checkpoint {
    size_t stage;
    gp_server_copy server;
} checkpoint;

typedef enum act { DEAD, RUNS, EVALUATES, COLLECTS, PREPARES, TASKS, PARTS, GONE } act;

typedef struct simulation {
    const gp_sim_training_options *o;
    gp_sim_training_outcome *out;
    advgp_error *err;
    advgp_status status;
    gp_law law;
    double now;
    gp_events events;
    hub hubs[HUBS];
    size_t n_hubs;
    slot slots[SLOTS + 1];
    size_t n_slots;
    process *processes; // [n]: 1 .. n of `who`
    size_t n;
    char *bytes;
    size_t bytes_room;
    // The lead:
    gp_lead *lead;
    act act;
    uint64_t life;
    size_t stage;
    keeper keeps;
    double awake, quiet, met; // stands still until; since when nothing was done; when it last came back
    bool cut;
    gp_rng rng;
    uint64_t allowed;
    bool interval; // the server's version is the servers' to make
    checkpoint kept;
    uint64_t given[JOBS][3]; // jobs: id of the run, life of the lead that gave it
    size_t n_given;
    uint64_t brought[2]; // the run of the last values that a server brought
    uint64_t present[2]; // the last interval or task that was given
    uint64_t made;       // versions of the stages before
    size_t wave;         // of tasks: the first or the second
    bool taken[TASKS_MAX];
    size_t own_task; // that the lead does
    bool has_own_task;
    late_beat late_beats[LATE_BEATS];
    size_t n_late_beats;
} simulation;

// ---- sim_training_net.c ---------------------------------------------------------------------------------------------

void gp_sim_note(simulation *t, uint64_t a, uint64_t b); // into the hash by which two trainings are compared
void gp_sim_break_law(simulation *t, gp_law law);
void gp_sim_fail_with(simulation *t, advgp_status st);
void gp_sim_plan(simulation *t, double time, event_kind what, size_t who, uint64_t life);
process *gp_sim_process_of(simulation *t, size_t who);
uint64_t gp_sim_bits_of(double x);
void gp_sim_lead_reports(void *ctx, const char *text);
void gp_sim_process_reports(void *ctx, const char *text);
uint64_t gp_sim_giver_of(const simulation *t, const uint64_t run[2]); // which life of the lead gave out this job
void gp_sim_transmit(simulation *t, size_t at, size_t from, size_t peer, const gp_message *m);
size_t gp_sim_open_hub(simulation *t, size_t owner);
void gp_sim_cut_slot(simulation *t, size_t s, bool cut);
bool gp_sim_is_sent(const simulation *t, size_t who, const gp_message *m); // or kept back by the test's tampering
advgp_status gp_sim_keep(keeper *k, gp_range range, const double *theta, size_t workers, const uint64_t run[2]);
void gp_sim_drop(keeper *k);
void gp_sim_check_keeper(simulation *t, keeper *k);

// ---- sim_training_process.c -----------------------------------------------------------------------------------------

void gp_sim_process_starts(simulation *t, process *p);
void gp_sim_process_dies(simulation *t, process *p);
void gp_sim_process_goes_on(simulation *t, process *p);
void gp_sim_process_opened(simulation *t, process *p);
void gp_sim_process_computed(simulation *t, process *p);
void gp_sim_process_hears(simulation *t, process *p, size_t at, size_t end);
void gp_sim_process_signs(simulation *t, process *p);

// ---- sim_training_lead.c --------------------------------------------------------------------------------------------

void gp_sim_lead_starts(simulation *t, bool again);
void gp_sim_lead_dies(simulation *t);
void gp_sim_lead_comes_back(simulation *t);
void gp_sim_lead_hears(simulation *t);
void gp_sim_lead_ticks(simulation *t);
void gp_sim_lead_signs(simulation *t);
bool gp_sim_lead_is_away(const simulation *t);
void gp_sim_lead_sends(simulation *t);
void gp_sim_lead_parts(simulation *t, advgp_status st, const char *why);
void gp_sim_next_stage(simulation *t); // or the farewell

// ---- sim_training_tasks.c -------------------------------------------------------------------------------------------

void gp_sim_prepare_tasks(simulation *t, size_t wave); // the lead is away for a while, then they begin
void gp_sim_begin_tasks(simulation *t);
void gp_sim_tasks_go_on(simulation *t); // after anything that the lead was told
void gp_sim_own_task_done(simulation *t);
void gp_sim_end_tasks(simulation *t);
void gp_sim_do_task(simulation *t, process *p); // a worker has computed
