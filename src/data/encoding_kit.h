// encoding_kit.h: what kinds of encodings are made of, and lend each other.
#pragma once
#include "data/encoding.h"
#include "data/fit.h"

size_t gp_one_column(const gp_input *input); // the width of a kind that has one
// encoding_number.c
advgp_status gp_number_scale(const gp_candidate *c, const gp_input *input, gp_schema *schema, advgp_error *err);
void gp_number_encode(const gp_input *input, gp_input_scale scale, gp_picked values, double *x, size_t stride,
                      gp_oddities *odd);
bool gp_number_is_constant(const gp_candidate *c);
bool gp_number_remark(const gp_schema *schema, const gp_input *input, const double *x, gp_remark *out);

// category_column.c: texts that are counted
advgp_status gp_category_observe(gp_fit *fit, gp_candidate *c, const gp_chunk *chunk, advgp_error *err);
advgp_status gp_category_decide(const gp_fit *fit, gp_candidate *c, bool *use, advgp_error *err);
bool gp_category_is_constant(const gp_candidate *c);
advgp_status gp_category_fill(const gp_fit *fit, gp_candidate *c, gp_input *input, advgp_error *err);
// The number of the category of row k; GP_NO_CATEGORY: missing, or none that training has seen.
long gp_category_of(const gp_input *input, gp_picked values, size_t k, bool *missing, gp_oddities *odd);
void gp_category_show(const gp_input *input, double value, gp_buffer *out);
bool gp_category_write(const gp_input *input, json_t *o);
advgp_status gp_category_read(const json_t *o, gp_input *input, advgp_error *err);

// The last step of an encoded value: marked where it is missing, and standardised.
static inline void gp_encode_end(const gp_input *input, gp_input_scale scale, bool missing, double *x)
{
    if (input->indicator) x[input->n_encoded - 1] = missing;
    for (size_t i = 0; i < input->n_encoded; i++) x[i] = (x[i] - scale.mean[i]) * scale.inverse[i];
}

// schema_json.c
json_t *gp_numbers_json(const double *values, size_t n); // NULL without memory
bool gp_json_number(const json_t *o, double *out);       // a finite one
bool gp_json_numbers(const json_t *list, size_t n, double *out);
advgp_status gp_schema_damaged(const char *what, advgp_error *err);
