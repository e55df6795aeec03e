// axis_json.h: values of an input as charts have them: numbers, moments or names, and the scale for each.
#pragma once
#include "data/schema.h"

#include <jansson.h>

json_t *gp_axis_value(const gp_input *input, double value); // decode.h
const char *gp_axis_type(const gp_input *input);            // quantitative, temporal or nominal
// How numbers from lo to hi stand beside an axis: 1920, not 1,920; NULL: as the chart would have it.
json_t *gp_axis_format(double lo, double hi);
json_t *gp_axis_input_format(const gp_input *input); // the same of an input
json_t *gp_axis_scale(const gp_input *input);        // NULL of names, whose order is the data's
