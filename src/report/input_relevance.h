// input_relevance.h: how much a model looks at each column: how steep its function is along it, as a standard
// deviation, both standardised: the trend's slope and the kernels' prior slopes, whose variance is -2 a0^2 kappa'(0)
// eta.
#pragma once
#include "store/modelfile.h"

typedef struct gp_input_relevance {
    size_t n_columns, n_inputs;
    double *column;       // [n_columns]: of an encoded column
    double *input;        // [n_inputs]: of a column of the table, the squares of its encoded columns added up
    size_t *column_order; // [n_columns], [n_inputs]: the most relevant first, equals in the order of the table
    size_t *input_order;
} gp_input_relevance;

// On failure, too, fini is due.
advgp_status gp_input_relevance_init(gp_input_relevance *relevance, const gp_model *model, advgp_error *err);
void gp_input_relevance_fini(gp_input_relevance *relevance);
