// replay.h: a run again from its log, on one core: the same server is told the same things in the same order, and the
// pushes are computed again. Bit for bit the same parameters.
#pragma once
#include "optim/stop_reason.h"
#include "run/pslog.h"
#include "run/run.h"

// A run that was stopped and resumed, perhaps more than once, has parts: each but the last one ends in the checkpoint
// that the next one goes on from. What the log has after that checkpoint is void.
typedef struct gp_replay_part {
    uint64_t version, checkpoint; // where it ends, and the id of the checkpoint there
    size_t evaluated;             // the version that was evaluated last by then, or
    bool evaluating;              // whose evaluation was under way
} gp_replay_part;

// Where the lines come from. *ended: there are no more in this part; the next call gives the first of the next one.
typedef struct gp_replay_feed {
    void *ctx;
    advgp_status (*next)(void *ctx, gp_pslog_line *line, bool *ended, advgp_error *err);
    size_t n_parts;              // that end in a checkpoint
    const gp_replay_part *parts; // [n_parts]
    const char *checkpoint;      // a file for the state between two parts; NULL without any
    size_t components;           // that the run had
    size_t inducing;             // the same; 0: as many as its options say
    size_t workers_max;          // places for workers; 0: as many as it began with
    gp_stop_reason stopped;      // why it ended; GP_NOT_STOPPED: the log does not tell
    size_t evaluated;            // version of its last evaluation
    size_t cells;                // of its model
} gp_replay_feed;

// The feed is borrowed. EFILE: the log and the server do not agree, and where. The state of a part after the first is
// restored into run->server and run->rule before the first turn.
advgp_status gp_run_replay_new(const gp_run_options *options, const gp_replay_feed *feed, size_t part, gp_run **out,
                               advgp_error *err);
// At the checkpoint that the next part goes on from. The run was stopped there, so that any further turn is ESTOPPED.
bool gp_run_replay_part_ended(const gp_run *run);
// The steps are over: the log has come to a collection, or to its end.
bool gp_run_replay_is_over(const gp_run *run);
advgp_status gp_run_replay_to_end(gp_run *run, advgp_error *err); // turns until they are, or the part is
uint64_t gp_run_replay_rows(const gp_run *run); // that the collection takes of all workers together; 0: every one
