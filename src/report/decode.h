// decode.h: an encoded row back to what stood in the table, column by column, as far as the encoding keeps it: for the
// rows and axes that a report shows.
#pragma once
#include "base/text.h"
#include "data/schema.h"

// x: a row of d standardised columns. A number or truth as it is, seconds since 2000-01-01 of a time, the number of a
// category; NaN where it was missing, or a category that training has not seen.
double gp_decode(const gp_schema *schema, const gp_input *input, const double *x);
bool gp_input_is_missing(const gp_schema *schema, const gp_input *input, const double *x); // such a row marks it
// The same for people: 12.5, true, 2008-03-14 17:30, AA; a dash where it was missing.
void gp_decode_text(const gp_input *input, double value, gp_buffer *out);
bool gp_input_is_discrete(const gp_input *input); // categories and truths: no line leads from one to the next
