// cell_place.h: where a cell of a model is, for people: the columns in which its centre is farthest from the mean of
// the table, in their own units.
#pragma once
#include "base/text.h"
#include "store/modelfile.h"

#include <jansson.h>

// {"Hour": 18.2, "Temperature": 24.1}: a few encoded columns, the most telling first; of one category the share of
// rows.
json_t *gp_cell_place_json(const gp_model *model, size_t cell);
// "      around Hour 18.2, Temperature 24.1", a line of so many columns at most (0: any); days as a date.
void gp_cell_place_text(const gp_model *model, size_t cell, size_t columns, gp_buffer *out);
double gp_cell_centre(const gp_model *model, size_t cell, size_t column); // in the units of the encoded column
