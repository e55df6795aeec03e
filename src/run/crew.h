// crew.h: tasks that do not depend on each other, done by threads of this process. Who does which is left to chance,
// so a task writes to its own place, and whoever adds results up does so in the order of the tasks.
#pragma once
#include "base/status.h"

#include <stddef.h>

typedef advgp_status (*gp_task)(void *ctx, size_t task, advgp_error *err);

// Does tasks 0 .. n - 1 with so many threads. The first failure, in the order of the tasks that were tried, is
// returned, and ends the others. stop, which may be NULL, is asked by the calling thread now and then: non-zero ends
// all (ESTOPPED), also in the middle of a task (linalg/interrupt.h).
advgp_status gp_crew_do(size_t threads, size_t n, gp_task task, void *ctx, int (*stop)(void *ctx), void *stop_ctx,
                        advgp_error *err);
