// worker_task.c: which kind of task it is.
#include "cells/worker_task.h"
#include "cells/local_task.h"
#include "cells/sums_task.h"
#include "linalg/interrupt.h"

#include <jansson.h>
#include <string.h>

static int is_interrupted(void *ctx)
{
    (void)ctx;
    return gp_interrupted();
}

advgp_status gp_worker_task(void *ctx, const gp_parcel *task, const gp_shards *rows, uint64_t fingerprint,
                            double **result, size_t *n, advgp_error *err)
{
    const gp_sums_rows all = {.shards = rows, .fingerprint = fingerprint, .threads = 1, .stop = is_interrupted};
    (void)ctx;
    json_t *o = json_loadb(task->text, task->n_text, JSON_REJECT_DUPLICATES, NULL);
    const char *kind = json_string_value(json_object_get(o, "kind"));
    advgp_status st;
    if (kind && !strcmp(kind, "fit"))
        st = gp_local_task_do(task, result, n, err);
    else if (kind && !strcmp(kind, "sums"))
        st = gp_sums_task_do(&all, task, result, n, err);
    else
        st = gp_fail(err, ADVGP_EFILE, "a task of the lead is of no kind that this program knows");
    json_decref(o);
    return st;
}
