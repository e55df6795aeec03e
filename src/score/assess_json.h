// assess_json.h: an assessment as results, logs and models keep it, and back.
#pragma once
#include "score/assess.h"

#include <jansson.h>

// Adds the members that an assessment has wherever it is printed: every metric, its standard error where there is one,
// baselines, and coverage by tenth.
void gp_assessment_add(const gp_assessment *assessment, json_t *object);
// And of which rows it is, as the record of a model has it.
json_t *gp_assessment_whole_json(const gp_assessment *assessment);
const char *gp_scored_name(gp_scored scored); // held-out, leave-one-out, cross-validation or test

// Back from that, or from the last line of a log; what is not there is not a number. False: it tells of no rows.
bool gp_assessment_read(const json_t *object, gp_assessment *out);
