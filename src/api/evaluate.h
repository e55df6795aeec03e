// evaluate.h: how good a model is on the rows of a table whose target is known.
#pragma once
#include "api/host.h"
#include "options/option.h"
#include "score/assess.h"

#include <jansson.h>

// By the options of `evaluate`: which rows; beside it the mean and linear regression on the training rows, as far as
// the model knows them.
advgp_status gp_evaluate(const gp_model *model, const gp_options *evaluate, const gp_host *host, gp_assessment *out,
                         advgp_error *err);
json_t *gp_evaluate_json(const gp_model *model, const gp_assessment *a);
