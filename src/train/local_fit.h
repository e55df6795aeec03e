// local_fit.h: the process of one cell, fitted to the residuals of its own rows by L-BFGS on the collapsed bound.
#pragma once
#include "model/cells.h"
#include "model/pass.h"

// From the cell's theta on, which is then the best found. Rows are those of the cell, or a sample of them. What cannot
// be computed (ENUMERIC) leaves theta as good as it was.
advgp_status gp_local_fit(gp_cells *cells, size_t cell, gp_batch rows, size_t iterations, advgp_error *err);
