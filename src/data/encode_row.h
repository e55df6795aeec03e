// encode_row.h: a row whose values are known by place instead of by name: one number an input, without memory taken.
#pragma once
#include "data/schema.h"

// A number or truth as it is; of times seconds since 2000-01-01; of categories their number in the schema, any other
// number for one that training has not seen; NaN where missing. values[n_inputs] into x[d]; inverse_scale[d] is 1 /
// x_scale. *missing (may be NULL): the first input that is, or n_inputs.
void gp_encode_row(const gp_schema *schema, const double *inverse_scale, const double *values, double *x,
                   size_t *missing);
