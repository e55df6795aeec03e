// role.h: what a process is in a training of several: its lead, a worker, or a server of a range of the parameters. A
// pure function of what was asked for, what the launcher says, and what is known of a lead that may live already.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gp_role_wish { GP_ROLE_AUTO, GP_ROLE_LEAD, GP_ROLE_WORKER } gp_role_wish;

// The file by which workers find their lead.
typedef enum gp_rendezvous_state {
    GP_RENDEZVOUS_NONE,  // no file is named
    GP_RENDEZVOUS_OPEN,  // named, and nobody leads there: it is not there, or its lead is dead
    GP_RENDEZVOUS_TAKEN, // a lead lives there
} gp_rendezvous_state;

typedef struct gp_role_facts {
    gp_role_wish wish;
    bool server_named; // `server`: where the lead is
    bool launched;     // by something that counts its processes
    int64_t rank;      // among them; negative: not told
    size_t servers;    // processes that keep a range of the parameters each
    gp_rendezvous_state rendezvous;
} gp_role_facts;

typedef enum gp_role_kind { GP_IS_LEAD, GP_IS_WORKER, GP_IS_SERVER } gp_role_kind;

typedef struct gp_role {
    gp_role_kind kind;
    uint32_t place; // that a worker wishes for, or GP_ANY_WORKER
    bool yields;    // its place is by rank, and another process of that rank may have it already
    bool late;      // rank 0 of tasks that were added to a running training: it joins the lead that lives
} gp_role;

// EINVAL says which options contradict each other, or what is missing.
advgp_status gp_role_decide(const gp_role_facts *facts, gp_role *out, advgp_error *err);
// Does the answer hang on what a rendezvous file says? Only then need anybody look.
bool gp_role_needs_rendezvous(const gp_role_facts *facts);
// The launcher's processes in their order: the lead, then the servers, then the workers.
gp_role gp_role_of_rank(size_t rank, size_t servers);
