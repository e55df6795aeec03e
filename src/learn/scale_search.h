// scale_search.h: the hyper-parameters of a scale of few rows (scale_fit.h): L-BFGS on the bound over all of them.
#pragma once
#include "model/pass.h"
#include "store/modelfile.h"

enum { GP_SCALE_SEARCH_ROWS = 4096 }; // at most: they are kept whole

// Moves noise, amplitude, length-scales and trend in noise->theta from where they are to a better bound of the rows,
// q(w) at its optimum; that is not set. Inducing inputs stay: they are many, and of few rows learning them is learning
// the rows by heart.
advgp_status gp_scale_search(gp_model *noise, gp_batch rows, size_t iterations, advgp_error *err);
