// pipeline.h: blocks that are filled one after the other, worked on by several threads at once, and drained in the
// order in which they were filled: reading, computing and writing go on at the same time, in the room of a few blocks.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gp_pipeline {
    size_t threads; // at most, the calling one among them
    size_t slots;   // blocks that are under way at once: a block is known by its slot
    void *ctx;
    // The next block into a slot; *more is false where there is none. By any thread, but one at a time.
    advgp_status (*fill)(void *ctx, size_t slot, bool *more, advgp_error *err);
    // By several threads at once, of different slots.
    advgp_status (*work)(void *ctx, size_t slot, advgp_error *err);
    // One at a time, in the order of filling.
    advgp_status (*drain)(void *ctx, size_t slot, advgp_error *err);
} gp_pipeline;

// Until all is drained, or to the first failure in the order of filling: what was filled before it is drained, as with
// one thread.
advgp_status gp_pipeline_run(const gp_pipeline *p, advgp_error *err);
