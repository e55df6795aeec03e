// local_task.c: one task, from where it begins to the parameters of the cell.
#include "cells/local_task.h"
#include "base/alloc.h"
#include "cells/inducing.h"
#include "cells/local_fit.h"
#include "linalg/interrupt.h"

#include <string.h>

// The task's cell alone.
static gp_cells_shape shape_of(const gp_local_task *t)
{
    return (gp_cells_shape){.n = 1, .d = t->rows.X.cols, .M_g = 1, .kernel = t->kernel, .trend = t->trend, .m = &t->m};
}

size_t gp_local_task_parameters(const gp_local_task *t)
{
    const gp_cells_shape shape = shape_of(t);
    return gp_cells_sizes(&shape).n_theta;
}

advgp_status gp_local_task_fit(const gp_local_task *t, double *theta, advgp_error *err)
{
    const size_t d = t->rows.X.cols;
    const gp_cells_shape shape = shape_of(t);
    gp_cells *cell = NULL;
    advgp_status st = gp_cells_new(&shape, &cell, err);
    if (st != ADVGP_OK) return st;
    memcpy(cell->theta, t->start, (2 + d) * sizeof *theta);
    if (t->way == GP_LOCAL_EVIDENCE) {
        const gp_local_evidence o = {.rows = t->look_at, .iterations = t->iterations, .seed = t->seed};
        st = gp_local_fit_evidence(cell, 0, t->rows, &o, err);
    } else {
        st = gp_kmeans_scaled(t->rows.X, t->scale, t->m, cell->theta + 2 + d, err);
        if (st == ADVGP_OK) st = gp_local_fit(cell, 0, t->rows, t->iterations, err);
    }
    memcpy(theta, cell->theta, cell->n_theta * sizeof *theta);
    gp_cells_free(cell);
    return gp_interrupt_status(st, "the fit of a cell", err);
}
