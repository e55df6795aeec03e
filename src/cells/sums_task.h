// sums_task.h: the sums of some cells over all rows (cells_sums.h) as a task for another process, which has opened the
// same rows: parameters travel to it, and the sums come back. They have the bits of sums that are made here.
#pragma once
#include "cells/cells_sums.h"
#include "cluster/cluster.h"

typedef struct gp_sums_task {
    const gp_feature_spec *spec; // of the global part,
    const double *theta;         // whose features this has set
    gp_cells_sums sums;          // of all cells
    size_t first, n;             // the cells of this task
    uint64_t fingerprint;        // of the rows
} gp_sums_task;

size_t gp_sums_values(const gp_cells *cells, size_t cell); // numbers that the sums of a cell are
advgp_status gp_sums_task_pack(const gp_sums_task *task, gp_parcel *out, advgp_error *err);
// Into the arrow and the rows of all cells. False: these are no sums of the task.
bool gp_sums_task_take(const gp_sums_task *task, const double *values, size_t n);

// The rows, and how they are read, where the task is done.
typedef struct gp_sums_rows {
    const gp_shards *shards; // NULL: it has opened none
    uint64_t fingerprint;
    size_t threads;
    int (*stop)(void *ctx); // as in run/crew.h
} gp_sums_rows;
// A parcel is read as hostile. *values, for gp_free.
advgp_status gp_sums_task_do(const gp_sums_rows *rows, const gp_parcel *parcel, double **values, size_t *n,
                             advgp_error *err);
