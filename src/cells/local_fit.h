// local_fit.h: the process of one cell, fitted to the residuals of its own rows by L-BFGS: on the evidence where they
// are few, on the collapsed bound where they are many.
#pragma once
#include "model/cells.h"
#include "model/pass.h"

#include <stdint.h>

// From the cell's theta on, which is then the best found. Rows are those of the cell, or a sample of them. What cannot
// be computed (ENUMERIC) leaves theta as good as it was.
advgp_status gp_local_fit(gp_cells *cells, size_t cell, gp_batch rows, size_t iterations, advgp_error *err);

// The same by the evidence of an exact process: from the cell's ln sigma, ln a0 and ln eta on. Rows come in random
// order.
typedef struct gp_local_evidence {
    size_t rows; // that are looked at, at most
    size_t iterations;
    uint64_t seed; // of the choice of inducing inputs
} gp_local_evidence;
advgp_status gp_local_fit_evidence(gp_cells *cells, size_t cell, gp_batch rows, const gp_local_evidence *options,
                                   advgp_error *err);

// Can an evidence be asked for at x (ln sigma, ln a0, ln eta, n in all)? ENUMERIC: a line search goes back from there.
advgp_status gp_local_check(const double *x, size_t n, advgp_error *err);
