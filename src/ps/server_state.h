// server_state.h: what the parts of the server share, and nobody else includes: its state, and the few functions that
// one part has and another calls. server.c: members and messages; server_step.c: from pushes to versions;
// server_pace.c: who is fast; server_trust.c: what a worker is believed; server_image.c: what others see of it, and
// checkpoints.
#pragma once
#include "ps/server.h"

enum { GP_MAX_ROLLED_BACK = 20 }; // halvings before the run is given up

typedef struct member {
    gp_member seen; // what others may look at
    uint64_t token;
    // The newest push. Fresh: not in an advance yet.
    bool has_push, fresh;
    bool failed; // it could not compute, and the roll-back that follows is still to come
    uint64_t push_version, push_sequence;
    double shard_weight, batch_weight;
    size_t n_shards;
    uint32_t *shards; // [n_shards of the run]
    double *push;     // [buffer]
    // Its request.
    uint64_t need;   // waits for this version or a later one
    bool gives_back; // it leaves, and nothing is lost by it: its shards go to the others whatever is done about losses
    bool answered;   // at least once: a repetition gets a full answer
    bool full;       // the next answer must not be a difference
    double asked;    // when
    double given;    // when it was answered
    double pace;     // seconds from then to its push, the newest ones most; paced: known
    bool paced;
    double *sent;  // [count]: its copy of the parameters; NULL without a filter, or where it never came
    bool restored; // its copy is of before a restart: it gets that, brought up to date, and not the parameters
    // What it is believed (server_trust.c).
    bool hung_up; // its connection has ended, and nothing came since
    bool has_size;
    double size;       // the largest value of its newest push, a row
    unsigned failures; // pushes in a row that say it could not compute
    bool computed;     // it could, since somebody else began to say that
    unsigned useless;  // pushes in a row that were dropped
    uint64_t good;     // pushes of this stay that were taken
    unsigned vain;     // stays in a row at this place that brought nothing
    double closed;     // until then nobody is given this place
} member;

// Welcomes, refusals and farewells that wait to be sent. When there are too many the oldest is forgotten: whoever
// wants an answer asks again.
typedef struct note {
    size_t peer;
    gp_message message;
} note;

struct gp_server {
    gp_server_options o;
    gp_range range;
    size_t push_size; // values of a push as the rule has it
    size_t expected;  // values of a push as things are
    size_t buffer;    // values of the largest push
    bool collecting, collected;
    bool put_out_for_failing; // in this collection: the next one who cannot compute ends it
    unsigned wanted;          // flags of what is collected
    uint64_t wanted_rows;     // of each worker
    uint64_t version, allowed;
    uint64_t oldest; // pushes of versions before this are void: there was a roll-back
    bool begun, ended, held;
    const char *trouble; // a worker could not compute: a roll-back is due
    double *theta;
    double *collect;                      // parameters of a collection
    uint64_t steps_version, steps_oldest; // while something is collected: where the steps are
    // Roll-back: the newest parameters that pushes have shown to be good, and the next candidate.
    double *kept, *candidate;
    uint64_t candidate_version;
    double damping, value, mean_value, deviation;
    double quorum;  // of the live workers, as things are
    double *paces;  // [workers_max], scratch
    uint64_t jumps; // in a row
    bool has_value;
    double *sum; // [buffer]
    gp_shard_table table;
    double total; // weight of all rows that are not given up
    member *members;
    bool *live; // [workers_max]
    size_t n_live;
    gp_used_push *used;
    note *notes;
    size_t first_note, n_notes, max_notes;
    uint64_t *gone; // [n_gone_max] tokens that had a place and lost it, the newest ones
    size_t n_gone, n_gone_max;
    size_t turn;      // where to look next for an answer that is due
    uint32_t *shards; // [n_shards], of the answer being given
    double *values;   // [count], the same
    uint64_t *mask;
    gp_server_counts counts;
    uint64_t *image;     // [n_shards + 2 workers_max], what gp_server_look shows of members and shards
    const double **sent; // [workers_max], the same of their copies; NULL without a filter
};
// ---- server.c -------------------------------------------------------------------------------------------------------

void gp_server_tell(const gp_server *s, const gp_ps_event *event);
// Adds up anew the rows that are not given up: nothing left is 0, and a server that goes on from a checkpoint has the
// same bits, as it would not if they were subtracted.
void gp_server_weigh_rows(gp_server *s);

// ---- server_decide.c ------------------------------------------------------------------------------------------------

bool gp_server_is_too_old(const gp_server *s, uint64_t version); // a push of it may take part in no step
bool gp_server_is_repeated(const member *m, const gp_message *push);
bool gp_server_is_of_this_life(const member *m, const gp_message *message); // not of a former incarnation
bool gp_server_lacks_shards(const gp_server *s, const gp_message *push);    // that its worker has got since

// ---- server_pace.c --------------------------------------------------------------------------------------------------

void gp_server_note_pace(gp_server *s, member *m, double now); // it has pushed
void gp_server_set_quorum(gp_server *s);                       // after a version

// ---- server_step.c --------------------------------------------------------------------------------------------------

// A push that must not be used any more: the worker gets parameters at once, it may be waiting for a version that
// only its own push could bring.
void gp_server_void_push(member *m);
// One version, if the pushes that are there make one.
advgp_status gp_server_try_advance(gp_server *s, advgp_error *err);

// ---- server_trust.c -------------------------------------------------------------------------------------------------

bool gp_server_may_be_deceived(const gp_server *s);                    // workers are processes of their own
bool gp_server_lives(const gp_server *s, uint32_t worker, double now); // it was heard lately
// GP_NOT_REFUSED: it can be of a worker that has computed what it was told to.
gp_refusal gp_server_fault_of(const gp_server *s, const gp_message *push);
double gp_server_size_of(const gp_message *push);
uint32_t gp_server_absurd(const gp_server *s); // whose push nobody can believe beside those of the others; GP_NOBODY
// It could not compute. True: a roll-back is due; else it waits until others have shown what they can.
bool gp_server_note_failure(gp_server *s, uint32_t worker);
void gp_server_note_computed(gp_server *s, uint32_t worker);
uint32_t gp_server_failing(const gp_server *s); // who cannot compute what others can; GP_NOBODY
bool gp_server_is_useless(const gp_server *s, const member *m);
void gp_server_note_stay(gp_server *s, member *m, bool put_out); // it ends
