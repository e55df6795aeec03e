// schema.c: what a schema is made of: names and places of its encoded columns, and the way back to original units.
#include "data/schema.h"

#include "base/alloc.h"
#include "data/encoding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *gp_missing_name(gp_missing missing)
{
    static const char *const names[] = {"impute", "drop", "error"};
    return names[missing];
}

const char *gp_weights_are_name(gp_weights_are what)
{
    return what == GP_WEIGHTS_IMPORTANCE ? "importance" : "counts";
}

advgp_status gp_missing_parse(const char *text, gp_missing *out, advgp_error *err)
{
    for (int m = GP_MISSING_IMPUTE; m <= GP_MISSING_ERROR; m++)
        if (strcmp(text, gp_missing_name((gp_missing)m)) == 0) return *out = (gp_missing)m, ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "missing '%s' is none of impute, drop, error", text);
}

static char *name_column(const gp_input *input, size_t k)
{
    gp_buffer name = {0};
    gp_buffer_add(&name, "%s", input->name);
    if (k == input->n_encoded - input->indicator)
        gp_buffer_add(&name, " (missing)");
    else if (input->encoding->name_column)
        input->encoding->name_column(input, k, &name);
    if (name.failed) gp_buffer_fini(&name);
    return name.p;
}

static bool name_input(gp_schema *schema, const gp_input *input)
{
    for (size_t k = 0; k < input->n_encoded; k++)
        if (!(schema->x_names[input->first + k] = name_column(input, k))) return false;
    return true;
}

advgp_status gp_schema_layout(gp_schema *schema, advgp_error *err)
{
    schema->d = 0;
    for (size_t i = 0; i < schema->n_inputs; i++) {
        gp_input *input = &schema->inputs[i];
        input->first = schema->d;
        input->n_encoded = input->encoding->width(input) + input->indicator;
        schema->d += input->n_encoded;
    }
    schema->d += schema->n_directions;
    schema->x_names = gp_alloc(schema->d, sizeof *schema->x_names);
    schema->x_mean = gp_alloc(schema->d, sizeof *schema->x_mean);
    schema->x_scale = gp_alloc(schema->d, sizeof *schema->x_scale);
    bool ok = schema->x_names && schema->x_mean && schema->x_scale;
    for (size_t i = 0; ok && i < schema->n_inputs; i++) ok = name_input(schema, &schema->inputs[i]);
    return ok ? ADVGP_OK : gp_no_memory(err);
}

void gp_schema_free(gp_schema *schema)
{
    if (!schema) return;
    for (size_t i = 0; i < schema->n_inputs; i++) {
        gp_free(schema->inputs[i].name);
        gp_free(schema->inputs[i].category_values);
        gp_free(schema->inputs[i].date_format);
        gp_warp_fini(&schema->inputs[i].warp);
        if (schema->inputs[i].own) schema->inputs[i].encoding->free_own(schema->inputs[i].own);
        gp_categories_fini(&schema->inputs[i].categories);
    }
    for (size_t j = 0; schema->x_names && j < schema->d; j++) gp_free(schema->x_names[j]);
    for (size_t i = 0; i < schema->n_gaps; i++) gp_free(schema->gaps[i]);
    gp_free(schema->gaps);
    gp_free(schema->inputs);
    gp_free(schema->x_names);
    gp_free(schema->x_mean);
    gp_free(schema->x_scale);
    gp_free(schema->directions);
    gp_free(schema->target);
    gp_free(schema->weights);
    gp_free(schema);
}

double gp_schema_target(const gp_schema *schema, double standardised)
{
    double y = schema->y_mean + schema->y_scale * standardised;
    return schema->log_target ? exp(y) - schema->log_offset : y;
}

double gp_schema_standardise(const gp_schema *schema, double target)
{
    if (schema->log_target) target = target + schema->log_offset > 0 ? log(target + schema->log_offset) : NAN;
    return (target - schema->y_mean) / schema->y_scale;
}

double gp_schema_cut(const gp_schema *schema, double answer)
{
    return schema->bounded ? gp_limits_clip(schema->bounds, answer) : answer;
}

advgp_status gp_bounds_parse(const char *text, gp_bounds_are *are, gp_limits *bounds, advgp_error *err)
{
    *bounds = gp_no_limits();
    *are = strcmp(text, "auto") == 0 ? GP_BOUNDS_AUTO : strcmp(text, "none") == 0 ? GP_BOUNDS_NONE : GP_BOUNDS_GIVEN;
    if (*are != GP_BOUNDS_GIVEN) return ADVGP_OK;
    const char *colon = strchr(text, ':');
    char low[32] = "", *end = low;
    bool ok = colon && (size_t)(colon - text) < sizeof low;
    if (ok) memcpy(low, text, (size_t)(colon - text));
    if (ok && *low) bounds->lo = strtod(low, &end), ok = *end == 0 && isfinite(bounds->lo);
    if (ok && colon[1]) bounds->hi = strtod(colon + 1, &end), ok = *end == 0 && isfinite(bounds->hi);
    if (ok && gp_limits_any(*bounds) && bounds->lo < bounds->hi) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "{bounds} '%s' is none of auto, none and LO:HI, as in 0:100 or 0:", text);
}

double gp_schema_weight_factor(const gp_schema *schema)
{
    const bool importance = schema->weights && schema->weights_are == GP_WEIGHTS_IMPORTANCE;
    return importance ? (double)schema->n_rows / schema->n_weight : 1;
}

// Squares, and sums of squares over any number of rows, then stay far from the ends of double precision, 1e-308 and
// 1e308.
bool gp_scale_is_usable(double scale)
{
    return scale >= 1e-140 && scale <= 1e140;
}

double gp_schema_input(const gp_schema *schema, size_t j, double standardised)
{
    return schema->x_mean[j] + schema->x_scale[j] * standardised;
}

static const gp_warp *warp_of(const gp_schema *schema, size_t j)
{
    for (size_t i = 0; i < schema->n_inputs; i++)
        if (schema->inputs[i].first == j && schema->inputs[i].warp.n) return &schema->inputs[i].warp;
    return NULL;
}

double gp_schema_shown(const gp_schema *schema, size_t j, double standardised)
{
    const double encoded = gp_schema_input(schema, j, standardised), grain = schema->x_scale[j] * 0x1p-32;
    const gp_warp *warp = warp_of(schema, j);
    return warp ? gp_warp_back(warp, encoded) : round(encoded / grain) * grain + 0.0; // and not -0
}
