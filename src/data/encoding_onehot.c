// encoding_onehot.c: a column a category; a value not seen in training is all zero.
#include "data/encoding_kit.h"

#include <math.h>

static advgp_status scale(const gp_candidate *c, const gp_input *input, gp_schema *s, advgp_error *err)
{
    (void)c, (void)err;
    for (size_t k = 0; k < input->categories.n; k++)
        gp_fit_share(s, input->first + k, input->categories.items[k].weight);
    return ADVGP_OK;
}

static size_t width(const gp_input *input)
{
    return input->categories.n;
}

static void name_column(const gp_input *input, size_t k, gp_buffer *out)
{
    gp_buffer_add(out, "=%s", input->categories.items[k].text);
}

static void encode(const gp_input *input, gp_input_scale scale, gp_picked v, double *x, size_t stride, gp_oddities *odd)
{
    for (size_t k = 0; k < v.n; k++, x += stride) {
        bool missing;
        const long category = gp_category_of(input, v, k, &missing, odd);
        for (size_t i = 0; i < input->n_encoded; i++) x[i] = 0;
        if (category >= 0) x[category] = 1;
        gp_encode_end(input, scale, missing, x);
    }
}

// The category whose column stands out.
static double decode(const gp_schema *s, const gp_input *input, const double *x)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t k = 0; k < input->categories.n; k++) {
        const double off = fabs(gp_schema_input(s, input->first + k, x[input->first + k]) - 1);
        if (off < least) best = k, least = off;
    }
    return least < 1e-3 ? (double)best : NAN;
}

static bool remark(const gp_schema *s, const gp_input *input, const double *x, gp_remark *out)
{
    double most = 0;
    for (size_t k = 0; k < input->n_encoded; k++)
        most = fmax(most, gp_schema_input(s, input->first + k, x[input->first + k]));
    *out = (gp_remark){"unseen", NAN, gp_no_limits()};
    return most < 0.5;
}

const gp_encoding gp_encoding_onehot = {.name = "onehot",
                                        .described = "category, a number each",
                                        .kind = ADVGP_KIND_CATEGORY,
                                        .asked = true,
                                        .texts = true,
                                        .uses_target = true, // it may become one that does
                                        .indicators = true,
                                        .types = ~0u,
                                        .suggested = 1u << GP_TEXT,
                                        .unit = 1,
                                        .observe = gp_category_observe,
                                        .decide = gp_category_decide,
                                        .is_constant = gp_category_is_constant,
                                        .fill = gp_category_fill,
                                        .scale = scale,
                                        .width = width,
                                        .name_column = name_column,
                                        .encode = encode,
                                        .decode = decode,
                                        .show = gp_category_show,
                                        .remark = remark,
                                        .write = gp_category_write,
                                        .read = gp_category_read};
