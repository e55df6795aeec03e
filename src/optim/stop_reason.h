// stop_reason.h: why a minimisation or a training ended. The words stand in logs, models and reports: what was written
// once is read for ever.
#pragma once
#include <stddef.h>

#define GP_STOP_REASONS(X)                                        \
    X(NO_GAIN, "no gain on held-out rows")                        \
    X(LINE, "no better than linear regression")                   \
    X(SCHEDULE, "the schedule ended")                             \
    X(TIME, "time is up")                                         \
    X(INTERRUPTED, "interrupted")                                 \
    X(LOG_ENDED, "the log ended") /* of a run that is replayed */ \
    X(CONVERGED, "converged")                                     \
    X(ITERATION_LIMIT, "iteration limit")                         \
    X(NO_DESCENT, "no further descent")                           \
    X(ITERATIONS, "the iterations ended")                         \
    X(MAXIMUM, "the evidence is at its maximum")                  \
    X(CLOSED_FORM, "it has a closed form")

typedef enum gp_stop_reason {
    GP_NOT_STOPPED, // it goes on, or nobody knows
#define X(name, words) GP_STOPPED_##name,
    GP_STOP_REASONS(X)
#undef X
} gp_stop_reason;

const char *gp_stop_reason_words(gp_stop_reason reason); // NULL for GP_NOT_STOPPED
gp_stop_reason gp_stop_reason_named(const char *words);  // NULL or words that none has: GP_NOT_STOPPED
