// encoding_target.c: a category as the smoothed mean of its targets; one not seen in training is the global mean.
#include "base/alloc.h"
#include "data/encoding_kit.h"

#include <math.h>

// A category seen n times moves n / (n + 20) of the way from the global mean to its own.
static const double smoothing_rows = 20;

static advgp_status fill(const gp_fit *f, gp_candidate *c, gp_input *input, advgp_error *err)
{
    const advgp_status st = gp_category_fill(f, c, input, err);
    const double pseudo = smoothing_rows * f->y.weight / (double)f->y.n; // in units of weight
    if (st != ADVGP_OK) return st;
    input->prior = f->fit_y.n ? f->fit_y.mean : f->y.mean;
    input->category_values = gp_alloc(input->categories.n, sizeof *input->category_values);
    if (!input->category_values) return gp_no_memory(err);
    for (size_t k = 0; k < input->categories.n; k++) {
        const gp_category *item = &input->categories.items[k];
        input->category_values[k] = (item->fit_sum + pseudo * input->prior) / (item->fit_weight + pseudo);
    }
    return ADVGP_OK;
}

static advgp_status scale(const gp_candidate *c, const gp_input *input, gp_schema *s, advgp_error *err)
{
    (void)err;
    double mean = c->missing_weight * input->prior, variance = 0;
    for (size_t k = 0; k < input->categories.n; k++)
        mean += input->categories.items[k].weight * input->category_values[k];
    mean /= s->n_weight;
    for (size_t k = 0; k < input->categories.n; k++) {
        double off = input->category_values[k] - mean;
        variance += input->categories.items[k].weight * off * off;
    }
    variance += c->missing_weight * (input->prior - mean) * (input->prior - mean);
    gp_fit_scale(s, input->first, mean, variance / s->n_weight);
    return ADVGP_OK;
}

static void encode(const gp_input *input, gp_input_scale scale, gp_picked v, double *x, size_t stride, gp_oddities *odd)
{
    for (size_t k = 0; k < v.n; k++, x += stride) {
        bool missing;
        const long category = gp_category_of(input, v, k, &missing, odd);
        x[0] = category < 0 ? input->prior : input->category_values[category];
        gp_encode_end(input, scale, missing, x);
    }
}

// The category whose mean is nearest.
static double decode(const gp_schema *s, const gp_input *input, const double *x)
{
    const double mean = gp_schema_input(s, input->first, x[input->first]);
    size_t best = 0;
    double least = INFINITY;
    for (size_t k = 0; k < input->categories.n; k++) {
        const double off = fabs(mean - input->category_values[k]);
        if (off < least) best = k, least = off;
    }
    return least < 1e-3 * s->x_scale[input->first] ? (double)best : NAN;
}

static bool remark(const gp_schema *s, const gp_input *input, const double *x, gp_remark *out)
{
    const double off = fabs(gp_schema_input(s, input->first, x[input->first]) - input->prior);
    *out = (gp_remark){"unseen", NAN, gp_no_limits()};
    return off <= 1e-9 * s->x_scale[input->first];
}

static bool write(const gp_input *input, json_t *o)
{
    return gp_category_write(input, o) &&
           json_object_set_new(o, "values", gp_numbers_json(input->category_values, input->categories.n)) == 0 &&
           json_object_set_new(o, "prior", json_real(input->prior)) == 0;
}

static advgp_status read(const json_t *o, gp_input *input, advgp_error *err)
{
    const advgp_status st = gp_category_read(o, input, err);
    if (st != ADVGP_OK) return st;
    input->category_values = gp_alloc(input->categories.n, sizeof *input->category_values);
    if (!input->category_values) return gp_no_memory(err);
    const bool ok = gp_json_numbers(json_object_get(o, "values"), input->categories.n, input->category_values) &&
                    gp_json_number(json_object_get(o, "prior"), &input->prior);
    return ok ? ADVGP_OK : gp_schema_damaged("values of categories", err);
}

const gp_encoding gp_encoding_target = {.name = "target",
                                        .described = "category, by its mean target",
                                        .kind = ADVGP_KIND_CATEGORY,
                                        .asked = true,
                                        .texts = true,
                                        .uses_target = true,
                                        .types = ~0u,
                                        .unit = 1,
                                        .observe = gp_category_observe,
                                        .decide = gp_category_decide,
                                        .is_constant = gp_category_is_constant,
                                        .fill = fill,
                                        .scale = scale,
                                        .width = gp_one_column,
                                        .encode = encode,
                                        .decode = decode,
                                        .show = gp_category_show,
                                        .remark = remark,
                                        .write = write,
                                        .read = read};
