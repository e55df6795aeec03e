// encode_value.h: one value of a column as the standardised columns of its input: what the encoder of tables and the
// one of single rows have in common, so that both give the same bits.
#pragma once
#include "data/schema.h"

#include <math.h>

// Scales of the encoded columns of one input.
typedef struct gp_input_scale {
    const double *mean, *inverse; // inverse: 1 / x_scale
} gp_input_scale;

static inline gp_input_scale gp_input_scale_of(const gp_schema *schema, const double *inverse_scale,
                                               const gp_input *input)
{
    return (gp_input_scale){.mean = schema->x_mean + input->first, .inverse = inverse_scale + input->first};
}

static inline void gp_standardise_input(const gp_input *input, gp_input_scale scale, double *x)
{
    for (size_t i = 0; i < input->n_encoded; i++) x[i] = (x[i] - scale.mean[i]) * scale.inverse[i];
}

// 0, which is the mean, where the value is missing.
static inline void gp_encode_number(const gp_input *input, gp_input_scale scale, double value, double *x)
{
    const bool there = isfinite(value);
    const double clipped = gp_limits_clip(input->clip, value);
    const double encoded = there && input->warp.n ? gp_warp_at(&input->warp, clipped) : clipped;
    x[0] = there ? (encoded - scale.mean[0]) * scale.inverse[0] : 0;
    if (input->indicator) x[1] = ((there ? 0 : 1) - scale.mean[1]) * scale.inverse[1];
}

// The number of its category; GP_NO_CATEGORY: none that training has seen.
static inline void gp_encode_category(const gp_input *input, gp_input_scale scale, long category, bool missing,
                                      double *x)
{
    for (size_t i = 0; i < input->n_encoded; i++) x[i] = 0;
    if (input->encoding == GP_ENCODING_TARGET)
        x[0] = category < 0 ? input->prior : input->category_values[category];
    else if (category >= 0)
        x[category] = 1;
    if (missing && input->indicator) x[input->n_encoded - 1] = 1;
    gp_standardise_input(input, scale, x);
}

// Seconds since 2000-01-01; the means where they are missing. *days: of the day itself, NaN where missing.
static inline void gp_encode_time(const gp_input *input, gp_input_scale scale, double seconds, double *days, double *x)
{
    double parts[GP_TIME_PARTS];
    size_t n = 0;
    *days = NAN;
    if (isfinite(seconds)) {
        gp_time_split(seconds, parts);
        *days = parts[GP_TIME_DAYS];
        for (int p = 0; p < GP_TIME_PARTS; p++)
            if (input->time_parts >> p & 1) x[n++] = parts[p];
    } else {
        for (; n < input->n_encoded - input->indicator; n++) x[n] = scale.mean[n];
    }
    if (input->indicator) x[n] = !isfinite(seconds);
    gp_standardise_input(input, scale, x);
}
