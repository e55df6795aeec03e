// claim.h: of all processes that want to write a file, one at a time looks whether it should and does so: two leads
// that are started at the same instant find each other by it. A lock of the file system on a file beside it, which the
// kernel gives back when its owner dies.
#pragma once
#include "base/status.h"

#include <stdbool.h>

typedef struct gp_claim {
    int fd; // -1: none
    char path[4200];
} gp_claim;

// Waits until nobody else has it; `stop` (may be NULL) is asked now and then, non-zero: ESTOPPED. Where the file system
// has no locks, or the folder cannot be written, there is no claim and no failure: whoever writes there will be told.
advgp_status gp_claim_take(const char *path, int (*stop)(void *ctx), void *ctx, gp_claim *out, advgp_error *err);
void gp_claim_release(gp_claim *claim); // of none: nothing
