// encode_row.c: see encode_row.h.
#include "data/encode_row.h"
#include "data/encoding.h"

#include <math.h>

void gp_encode_row(const gp_schema *s, const double *inverse_scale, const double *values, double *x, size_t *missing)
{
    static const size_t itself = 0;
    size_t first_missing = s->n_inputs;
    gp_oddities ignored = {0};
    for (size_t i = 0; i < s->n_inputs; i++) {
        const gp_input *input = &s->inputs[i];
        const gp_input_scale scale = {.mean = s->x_mean + input->first, .inverse = inverse_scale + input->first};
        const gp_picked value = {.numbers = values + i, .rows = &itself, .n = 1};
        if (!isfinite(values[i]) && first_missing == s->n_inputs) first_missing = i;
        input->encoding->encode(input, scale, value, x + input->first, s->d, &ignored);
    }
    gp_schema_follow_directions(s, x);
    if (missing) *missing = first_missing;
}
