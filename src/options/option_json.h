// option_json.h: a set of options as logs and models keep it.
#pragma once
#include "options/option.h"

#include <jansson.h>

// All options that have a value, by name: {"inducing": 200, "batch": "full", "features": ["a", "b"], ...}; NULL: no
// memory.
json_t *gp_options_json(const gp_options *options);
