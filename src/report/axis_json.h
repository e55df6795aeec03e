// axis_json.h: values of an input as charts have them: numbers, moments or names, and the scale for each.
#pragma once
#include "data/schema.h"

#include <jansson.h>

json_t *gp_axis_value(const gp_input *input, double value); // decode.h
const char *gp_axis_type(const gp_input *input);            // quantitative, temporal or nominal
json_t *gp_axis_scale(const gp_input *input);               // NULL of names, whose order is the data's
