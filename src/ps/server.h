// server.h: the parameter server as a pure machine (Algorithm 1 of the paper; docs/math.md 5). It is told what
// happened and answers with messages to send; there is no clock, thread, socket, file or randomness inside. Whoever
// drives it owns those:
//
//     gp_server_on_message(server, now, peer, &message)      and  gp_server_on_tick, gp_server_on_lost
//     while (gp_server_next(server, now, &peer, &answer)) send(peer, &answer)
//
// Version t starts at 0. Right after a push: if every live worker's newest push is of a version >= t - tau, and at
// least quorum of them have pushed since the last advance (rule.h: natural wants pushes of version t), the server sums
// (in the order of workers), makes one step and is at version t + 1.
#pragma once
#include "ps/message.h"
#include "ps/schedule.h"
#include "ps/shard_table.h"

// ---- what happened, for logs, replay and the invariants of the simulator --------------------------------------------

typedef enum gp_ps_event_kind {
    GP_EVENT_JOINED,   // worker, incarnation
    GP_EVENT_LOST,     // worker, incarnation, why
    GP_EVENT_MOVED,    // shard, from, worker (to)
    GP_EVENT_BEGUN,    // the first deal
    GP_EVENT_PUSH,     // push; `dropped` says why, if it was
    GP_EVENT_ADVANCE,  // version is the new one; used, age, shrink, value, rolled_back
    GP_EVENT_PULL,     // worker, incarnation: its first request; all others are in its pushes
    GP_EVENT_AGAIN,    // worker: it asked a second time and gets a second answer, of the present version
    GP_EVENT_COLLECT,  // version is the new one, which has the parameters of a collection; flags, rows
    GP_EVENT_COLLECTED // all that was asked for is there; used
} gp_ps_event_kind;

typedef struct gp_used_push {
    uint32_t worker;
    uint64_t sequence, version;
} gp_used_push;

typedef struct gp_ps_event {
    gp_ps_event_kind kind;
    uint32_t worker, incarnation, shard, from;
    const gp_message *push; // PUSH
    const char *dropped;    // PUSH
    const char *why;        // LOST: as "has left"; NULL: silence, or whoever called gp_server_on_lost knows
    uint64_t version;       // ADVANCE
    size_t n_used;
    const gp_used_push *used;
    double age, shrink;
    double value;            // ADVANCE: sum of g a row, as the pushes saw it
    const char *rolled_back; // ADVANCE: why, else NULL
    double quorum;           // ADVANCE: of the next one
    bool held;               // ADVANCE: it was put off until gp_server_allow; answers went out in between
    unsigned flags;          // COLLECT; LOST: GP_FLAG_YIELDS, where it gives its place back
    uint64_t rows;           // COLLECT: of each worker at most, 0: every one
} gp_ps_event;

// ---- the machine ----------------------------------------------------------------------------------------------------

typedef struct gp_server_options {
    gp_rule *rule;        // borrowed
    gp_schedule schedule; // it begins when schedule.workers have said hello
    const double *theta;  // where to start: the rule's range of it; copied
    size_t n_shards;
    const double *shard_weight; // copied
    size_t workers_max;
    uint64_t run[2], fingerprint;
    uint32_t generation;
    double lost_after;      // seconds without a word; 0: never
    double jump;            // a rise of the bound per row, beyond its usual spread, that is rolled back; 0: none is
    uint64_t jump_patience; // after so many in a row: a batch with a few wild rows jumps by itself, and is gone again
    // May a step start from theta, to which one has led from `before`? ENUMERIC: it is rolled back. May express q(w) in
    // the features of the new parameters. NULL: always.
    advgp_status (*check)(void *ctx, const double *before, double *theta, advgp_error *err);
    void *check_ctx;
    void (*event)(void *ctx, const gp_ps_event *event); // may be NULL
    void *event_ctx;
} gp_server_options;

typedef struct gp_server gp_server;
advgp_status gp_server_new(const gp_server_options *options, gp_server **out, advgp_error *err);
void gp_server_free(gp_server *server);

// ENOMEM, ENUMERIC (a step fails however short it is) and ECLUSTER (a worker was lost and the run is to stop) end the
// run; anything a peer can send is answered, not failed.
advgp_status gp_server_on_message(gp_server *server, double now, size_t peer, const gp_message *message,
                                  advgp_error *err);
advgp_status gp_server_on_tick(gp_server *server, double now, advgp_error *err); // whoever was silent too long is lost
advgp_status gp_server_on_lost(gp_server *server, uint32_t worker, advgp_error *err);
// Nothing comes from it any more by the way it came: another may be given its place, until it is heard again.
void gp_server_on_hung_up(gp_server *server, uint32_t worker);
// Begins with those who are there, though they are fewer than expected.
advgp_status gp_server_begin(gp_server *server, advgp_error *err);
// No version above `version` is made until a later call allows it. At first all are allowed.
advgp_status gp_server_allow(gp_server *server, uint64_t version, advgp_error *err);
// Sets theta aside from the steps (all of it, in the rule's range) and has every worker push what `flags` ask for over
// all its rows, or over max_rows of them together (0: every one). The sum is there when gp_server_collected gives it:
// of the rule's values, or of statistics; nothing else happens until the next collection or the end. Versions go on.
void gp_server_collect(gp_server *server, const double *theta, unsigned flags, uint64_t max_rows);
const double *gp_server_collected(const gp_server *server); // NULL: not all have pushed yet
void gp_server_end(gp_server *server);                      // says BYE to all

bool gp_server_next(gp_server *server, double now, size_t *peer, gp_message *message);

// ---- looking at it --------------------------------------------------------------------------------------------------

typedef struct gp_member {
    bool live, has_shards;
    uint32_t incarnation;
    size_t peer;
    double heard;          // when
    uint64_t pushes, rows; // taken so far
    uint64_t version;      // of its newest push
    uint64_t sequence;     // of its next push
    bool waiting;
    double waited; // seconds between its requests and their answers
} gp_member;

uint64_t gp_server_version(const gp_server *server);
uint64_t gp_server_allowed(const gp_server *server); // the last version that may be made
bool gp_server_collects(const gp_server *server);    // there was a collection: no more steps are made
const double *gp_server_theta(const gp_server *server);
double gp_server_value(const gp_server *server); // the last advance's sum of g a row
bool gp_server_begun(const gp_server *server);
size_t gp_server_live(const gp_server *server);
gp_member gp_server_member(const gp_server *server, uint32_t worker); // below workers_max
const gp_shard_table *gp_server_shards(const gp_server *server);

typedef struct gp_server_counts {
    uint64_t duplicates, dropped, refused, rolled_back, lost, joined;
} gp_server_counts;
gp_server_counts gp_server_count(const gp_server *server);

// ---- checkpoint -----------------------------------------------------------------------------------------------------
// Between two versions: parameters, what a roll-back would restore, who had which shard, which batch of each is next.
// Pushes that wait for an advance are not kept: they are computed again. The rule's state is the rule's.
typedef struct gp_server_image {
    uint64_t version, oldest, candidate_version;
    uint32_t generation;
    double damping, value, mean_value, deviation;
    uint64_t jumps;
    bool has_value, dealt;
    size_t size; // of each of the three
    const double *theta, *kept, *candidate;
    size_t n_shards, n_workers; // as many workers as ever came, or rather the highest of them and all below it
    const double *const *sent;  // [n_workers]: their copies [size] of the parameters; NULL without a filter
    const uint64_t *owner;      // [n_shards]; meaningless unless dealt
    const uint64_t *sequence, *incarnation; // [n_workers]; incarnation 0: it never came, and its copy means nothing
} gp_server_image;
gp_server_image gp_server_look(gp_server *server); // pointers into the server, valid until it is told the next thing
// Before anybody has said hello; the arrays are copied. EINVAL where shapes differ; workers_max may be another, as long
// as all who came have a place. The generation is the image's plus one:
// write a checkpoint right away, or a second crash would start the same generation twice, and a worker's push of the
// first could not be told from one of the second.
advgp_status gp_server_restore(gp_server *server, const gp_server_image *image, advgp_error *err);
