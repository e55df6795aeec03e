// encoding_boolean.c: a truth as 0 or 1. Files call it a number: their type of the column tells it from one.
#include "data/encoding_kit.h"

#include <math.h>

static advgp_status observe(gp_fit *f, gp_candidate *c, const gp_chunk *chunk, advgp_error *err)
{
    const double *values;
    size_t n;
    const advgp_status st = gp_fit_numbers(f, c, chunk, &values, &n, err);
    if (st == ADVGP_OK) gp_moments_add(&c->moments[0], n, f->x, f->w);
    return st;
}

static double decode(const gp_schema *s, const gp_input *input, const double *x)
{
    return round(gp_schema_input(s, input->first, x[input->first]));
}

static void show(const gp_input *input, double value, gp_buffer *out)
{
    (void)input;
    gp_buffer_add(out, value != 0 ? "true" : "false");
}

const gp_encoding gp_encoding_boolean = {.name = "number",
                                         .described = "true or false",
                                         .kind = ADVGP_KIND_BOOLEAN,
                                         .types = 1u << GP_BOOLEAN,
                                         .suggested = 1u << GP_BOOLEAN,
                                         .unit = 1,
                                         .observe = observe,
                                         .is_constant = gp_number_is_constant,
                                         .scale = gp_number_scale,
                                         .width = gp_one_column,
                                         .encode = gp_number_encode,
                                         .decode = decode,
                                         .show = show};
