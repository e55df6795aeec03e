// record.h: a run as JSON, as its log and its result have it.
#pragma once
#include "load/load.h"
#include "options/option.h"
#include "recipe/plan.h"

#include <jansson.h>

// The first line of a log: by which command, options and files, and on what.
json_t *gp_record_manifest(const gp_options *options, const char *command);
json_t *gp_record_cpu(void); // names of the CPU's features that matter

// How each column is read: name, kind, encoded columns, range or number of categories.
json_t *gp_record_columns(const gp_schema *schema);
// What would be trained, for a dry run: the choices, and all of it as JSON.
gp_plan gp_record_planned(const gp_train_options *options, const gp_loaded *data);
json_t *gp_record_plan(const gp_options *train, const gp_train_options *request, const gp_loaded *data);

json_t *gp_record_eval(const gp_train_eval *eval); // fields of an "eval" line
json_t *gp_record_text(const char *text);          // a sentence of any room, options with their dashes
json_t *gp_record_delay(size_t max_delay);         // a number or "inf"
json_t *gp_record_id(uint64_t id);                 // 16 hexadecimal digits

// Which rows the figures are of: held-out, training or test.
const char *gp_record_scored(const gp_train_result *result);
// What the result of a training does not know of it.
typedef struct gp_training_cost {
    double peak;                           // bytes of memory, the most that were seen
    double read_seconds, read_cpu_seconds; // until the rows were there, with what pilots said of their encoding
} gp_training_cost;
// path: of the model.
json_t *gp_record_result(const char *path, const gp_model *model, const gp_train_result *result,
                         const gp_training_cost *cost);
