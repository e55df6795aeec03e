// join.h: a process that joins a lead: the clock, the endpoints, the rows and the computing around the machine of
// follower.h, which asks what the work is, works or serves until that is over, and asks again.
#pragma once
#include "cluster/follower.h"
#include "shards/shards.h"
#include "transport/transport.h"

// For a process that serves a range.
typedef struct gp_join_service {
    gp_endpoint *endpoint;     // by which workers reach it; taken, unless it is the one to the lead (MPI)
    const char *address, *key; // as their `reach` takes them
} gp_join_service;

typedef struct gp_join_options {
    gp_endpoint *endpoint; // a worker's; borrowed
    const char *name;      // how people shall know it: host and process
    const char *data;      // folder of the packed shards as this process can open it; NULL: as the lead says
    uint32_t wish;         // which worker it wants to be, or GP_ANY_WORKER,
    bool yields;           // but only if nobody is
    uint64_t random;       // a number nobody else has
    double give_up;        // seconds without a word from the lead
    double grace;          // seconds that it goes on working after it was asked to stop, for a lead that stops as well
    // A server of a range, so that a worker can talk to it: *endpoint is closed at the end, unless it is the one to the
    // lead. NULL: it can only work for a lead that keeps all parameters itself.
    advgp_status (*reach)(void *ctx, const char *address, const char *key, gp_endpoint **endpoint, size_t *peer,
                          advgp_error *err);
    const gp_join_service *service; // NULL: it is a worker
    // Does a task of the lead's (gp_tasks): *result, of *n values, is for gp_free. rows: those of the last run, and
    // what tells them from others; NULL: it was in none. It may be interrupted (linalg/interrupt.h). NULL: this worker
    // does no tasks.
    advgp_status (*task)(void *ctx, const gp_parcel *task, const gp_shards *rows, uint64_t fingerprint, double **result,
                         size_t *n, advgp_error *err);
    // Why nothing may be heard of the lead, as far as can be seen from here; empty: nothing strange. May be NULL.
    void (*doubt)(void *ctx, char *out, size_t room);
    int (*stop)(void *ctx);                      // may be NULL
    void (*report)(void *ctx, const char *text); // may be NULL
    void *ctx;
} gp_join_options;

enum { GP_JOIN_MESSAGE_MAX = 1 << 30 }; // bytes that an endpoint should be ready to send

// Until the lead says that there is nothing more to do. ECLUSTER: refused, silent, or the lead failed, and why;
// ESTOPPED: it was asked to. result may be NULL.
advgp_status gp_join(const gp_join_options *options, gp_follower_result *result, advgp_error *err);
