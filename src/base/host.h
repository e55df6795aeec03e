// host.h: whoever asked for the work: it is told what people should know and how the work goes on, and asked whether to
// stop. The program prints; a caller of the library has functions of its own. One table from the library down to the
// steps of a training: a room hands it down as it is, or puts one of its own in front of it, as the log of a run does.
#pragma once
#include "advgp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_loaded;
struct gp_ps_event;
struct gp_train_eval;
struct gp_train_options;
struct gp_train_plan;
struct gp_train_progress;
struct gp_training_made;

// Any may be NULL. What is told is valid during the call.
typedef struct gp_host {
    void *ctx;
    const struct gp_host *next;                  // who hears it after this one; NULL: nobody
    void (*report)(void *ctx, const char *text); // one sentence, without a full stop
    void (*rows)(void *ctx, size_t rows);        // read so far
    void (*phase)(void *ctx, const char *what);  // what is done from now on; where it is NULL, that is reported
    void (*progress)(void *ctx, const struct gp_train_progress *now); // of that, often
    int (*stop)(void *ctx); // non-zero: end soon, with ESTOPPED; asked by any thread. The first that has it is asked
    // Of a training (recipe/train.h).
    void (*begin)(void *ctx, const struct gp_train_plan *plan); // the steps begin
    void (*eval)(void *ctx, const struct gp_train_eval *eval);
    void (*ps)(void *ctx, const struct gp_ps_event *event); // what the server saw and did; told to one, for the log
    // The state was written to path at that version, and its id; or could not be, and why: the training goes on.
    void (*checkpoint)(void *ctx, const char *path, size_t version, uint64_t id, const char *failed);
    // Of a whole one (api/whole_training.h). Every line of the log, whether a file is written or not.
    void (*log)(void *ctx, const char *line);
    // In place of a training where `dry-run` is set.
    advgp_status (*plan)(void *ctx, const struct gp_train_options *options, const struct gp_loaded *data,
                         advgp_error *err);
    // The model is written; an error of this one does not keep the log from its last line.
    advgp_status (*made)(void *ctx, const struct gp_training_made *made, advgp_error *err);
} gp_host;

// Tells all of them, of a host that may be NULL: GP_TELL(host, rows, n).
#define GP_TELL(host_, what_, ...)                           \
    do {                                                     \
        for (const gp_host *h_ = (host_); h_; h_ = h_->next) \
            if (h_->what_) h_->what_(h_->ctx, __VA_ARGS__);  \
    } while (0)

// A host that is NULL hears nothing and never stops.
__attribute__((format(printf, 2, 3))) void gp_host_report(const gp_host *host, const char *format, ...);
__attribute__((format(printf, 2, 3))) void gp_host_phase(const gp_host *host, const char *format, ...);
bool gp_host_stops(const gp_host *host);
// The one that is asked whether to stop, for rooms that know no host; without `stop` where nobody is.
const gp_host *gp_host_stopper(const gp_host *host);
