// laws.h: what must hold of a parameter server whatever its network and its workers do. A watch is told the server's
// events and looks at it after each; the first law that is broken stays.
#pragma once
#include "ps/server.h"

#define GP_LAWS(X)                                                       \
    X(DELAY, "a gradient older than the delay bound was used")           \
    X(TWICE, "a push counted twice")                                     \
    X(ROWS, "the same rows counted twice in one step")                   \
    X(ALL, "a sum over all rows lacks some")                             \
    X(WEIGHTS, "a push counted for other rows than those of its shards") \
    X(ABSURD, "a push that is absurd beside the others was used")        \
    X(STALE, "a push of a former incarnation was used")                  \
    X(VERSION, "versions did not grow by one")                           \
    X(SHARD, "a shard belongs to no live worker")                        \
    X(FINITE, "a parameter is not finite")                               \
    X(COPY, "a push was computed from parameters that were never sent")  \
    X(PROGRESS, "nothing was done for too long")                         \
    X(FAREWELL, "a worker did not hear that the run is over")            \
    X(ENDS, "a training did not end, nor was it said why")               \
    X(WAITS, "somebody waited for one who had left")                     \
    X(SUCCESSION, "work of a lead that is no more was used")
typedef enum gp_law {
    GP_LAW_NONE,
#define X(name, text) GP_LAW_##name,
    GP_LAWS(X)
#undef X
        GP_N_LAWS
} gp_law;
const char *gp_law_name(gp_law law); // "DELAY"
const char *gp_law_text(gp_law law);

typedef struct gp_watch gp_watch;
advgp_status gp_watch_new(const gp_server_options *options, size_t n_parameters, bool fresh_only, gp_watch **out,
                          advgp_error *err);
void gp_watch_free(gp_watch *watch);
void gp_watch_restart(gp_watch *watch, uint64_t version); // another server goes on from this version

void gp_watch_event(gp_watch *watch, const gp_ps_event *event);
void gp_watch_server(gp_watch *watch, const gp_server *server); // after it was told anything
void gp_watch_broken(gp_watch *watch, gp_law law);              // found by somebody else
gp_law gp_watch_law(const gp_watch *watch);
