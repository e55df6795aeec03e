// local_task.h: all that the fit of one cell needs, as a thing of its own: rows with the residuals as targets, where to
// begin, which way to fit. It does not matter who fits it, a thread of the lead or a worker on another machine: the
// same task gives the same bits on the same kind of CPU with the same BLAS.
#pragma once
#include "cluster/lead.h"
#include "model/cells.h"
#include "model/pass.h"

#include <stdint.h>

typedef enum gp_local_way {
    GP_LOCAL_BOUND,   // the collapsed bound: inducing inputs are learned
    GP_LOCAL_EVIDENCE // of an exact process; inducing inputs are rows
} gp_local_way;

typedef struct gp_local_task {
    const gp_kernel *kernel;
    gp_trend trend;
    size_t m;      // inducing inputs
    gp_batch rows; // of the cell, in random order; y: the residuals of the global part
    gp_local_way way;
    size_t iterations;
    const double *start; // [2 + d]: ln sigma, ln a0, ln eta
    const double *scale; // [d]: BOUND: the weight of an input among k-means centres, where inducing inputs begin
    size_t look_at;      // EVIDENCE: rows at most
    uint64_t seed;       // EVIDENCE: of the choice of inducing inputs
} gp_local_task;

size_t gp_local_task_parameters(const gp_local_task *task); // as cells.h keeps them of a cell
// theta: these. What cannot be computed (ENUMERIC) leaves them as good as they were.
advgp_status gp_local_task_fit(const gp_local_task *task, double *theta, advgp_error *err);

// To another process: a text and values (cluster/cluster.h), read there as hostile, fitted, and the parameters given
// back: *theta, for gp_free.
advgp_status gp_local_task_pack(const gp_local_task *task, gp_parcel *out, advgp_error *err);
advgp_status gp_local_task_do(const gp_parcel *parcel, double **theta, size_t *n, advgp_error *err);
// Of a parcel, into whose values it points. EFILE: what is wrong with it.
advgp_status gp_local_task_unpack(const gp_parcel *parcel, gp_local_task *out, advgp_error *err);
