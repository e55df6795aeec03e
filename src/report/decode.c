// decode.c: see decode.h.
#include "report/decode.h"
#include "data/encoding.h"

#include <math.h>

double gp_decode(const gp_schema *s, const gp_input *input, const double *x)
{
    return gp_input_is_missing(s, input, x) ? NAN : input->encoding->decode(s, input, x);
}

bool gp_input_is_missing(const gp_schema *s, const gp_input *input, const double *x)
{
    const size_t last = input->first + input->n_encoded - 1;
    return input->indicator && gp_schema_input(s, last, x[last]) > 0.5;
}

bool gp_input_is_discrete(const gp_input *input)
{
    return input->encoding->kind == ADVGP_KIND_BOOLEAN || input->encoding->kind == ADVGP_KIND_CATEGORY;
}

void gp_decode_text(const gp_input *input, double value, gp_buffer *out)
{
    if (isfinite(value))
        input->encoding->show(input, value, out);
    else
        gp_buffer_add(out, "\u2013");
}
