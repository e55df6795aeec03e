// worker_task.h: what a worker does with a task of the lead (join.h): the fit of a cell, or sums of cells.
#pragma once
#include "cluster/join.h"

// As `task` of gp_join_options; ctx is not looked at.
advgp_status gp_worker_task(void *ctx, const gp_parcel *task, const gp_shards *rows, uint64_t fingerprint,
                            double **result, size_t *n, advgp_error *err);
