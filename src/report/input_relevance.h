// input_relevance.h: how much a model looks at each column of the table (score/relevance.h has the encoded ones).
#pragma once
#include "store/modelfile.h"

typedef struct gp_input_relevance {
    size_t n_inputs;
    double *column;      // [d]: of an encoded column
    double *input;       // [n_inputs]: of a column of the table, the squares of its encoded columns added up
    size_t *input_order; // [n_inputs]: the most relevant first, equals in the order of the table
} gp_input_relevance;

// On failure, too, fini is due.
advgp_status gp_input_relevance_init(gp_input_relevance *relevance, const gp_model *model, advgp_error *err);
void gp_input_relevance_fini(gp_input_relevance *relevance);
// The two most relevant inputs, of those there are and that matter, else GP_NO_ROW: across and upward. A latitude goes
// upward, as on a map.
void gp_input_relevance_two(const gp_input_relevance *r, const gp_schema *schema, size_t two[2]);
