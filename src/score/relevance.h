// relevance.h: which columns a model looks at.
#pragma once
#include "store/modelfile.h"

// How steep the function is along each encoded column, as a standard deviation, column and target standardised: the
// slope of the trend and the prior slopes of the kernels, those of a typical cell among them. relevance: [d].
// order: [d], the columns by it, the first the most relevant; equals in the order of the table. May be NULL.
void gp_relevance(const gp_model *model, double *relevance, size_t *order);
