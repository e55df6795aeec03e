// encode_row.c: see encode_row.h.
#include "data/encode_row.h"
#include "base/whole.h"
#include "data/encode_value.h"

void gp_encode_row(const gp_schema *s, const double *inverse_scale, const double *values, double *x, size_t *missing)
{
    size_t first_missing = s->n_inputs;
    double days;
    for (size_t i = 0; i < s->n_inputs; i++) {
        const gp_input *input = &s->inputs[i];
        const gp_input_scale scale = gp_input_scale_of(s, inverse_scale, input);
        const double v = values[i];
        const bool gone = !isfinite(v);
        double *to = x + input->first;
        if (gone && first_missing == s->n_inputs) first_missing = i;
        switch (input->encoding) {
        case GP_ENCODING_NUMBER:
            gp_encode_number(input, scale, v, to);
            break;
        case GP_ENCODING_ONEHOT:
        case GP_ENCODING_TARGET: {
            const bool seen = v >= 0 && v < (double)input->categories.n;
            gp_encode_category(input, scale, seen ? (long)gp_index(v, input->categories.n) : GP_NO_CATEGORY, gone, to);
            break;
        }
        case GP_ENCODING_TIME:
            gp_encode_time(input, scale, v, &days, to);
            break;
        }
    }
    gp_schema_follow_directions(s, x);
    if (missing) *missing = first_missing;
}
