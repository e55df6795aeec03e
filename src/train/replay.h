// replay.h: a run again from its log, on one core: the same server is told the same things in the same order, and the
// pushes are computed again. Bit for bit the same parameters.
#pragma once
#include "train/pslog.h"
#include "train/run.h"

// Where the lines come from. *ended: there are no more.
typedef struct gp_replay_feed {
    void *ctx;
    advgp_status (*next)(void *ctx, gp_pslog_line *line, bool *ended, advgp_error *err);
    size_t components;   // that the run had
    size_t workers_max;  // places for workers; 0: as many as it began with
    const char *stopped; // why it ended; NULL: the log does not tell
    size_t judged;       // version of its last evaluation
} gp_replay_feed;

// The feed is borrowed. EFILE: the log and the server do not agree, and where.
advgp_status gp_run_replay_new(const gp_run_options *options, const gp_replay_feed *feed, gp_run **out,
                               advgp_error *err);
// The steps are over: the log has come to a collection, or to its end.
bool gp_run_replay_is_over(const gp_run *run);
advgp_status gp_run_replay_to_end(gp_run *run, advgp_error *err); // turns until they are
uint64_t gp_run_replay_rows(const gp_run *run); // that the collection takes of all workers together; 0: every one
