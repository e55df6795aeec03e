// inspect.h: what a model is, in the units of its table: columns by relevance, kernels, cells, calibration, record.
#pragma once
#include "base/text.h"
#include "store/modelfile.h"

#include <jansson.h>

// path: where the model is; NULL: in memory.
advgp_status gp_inspect_json(const gp_model *model, const char *path, json_t **out, advgp_error *err);
// As text for lines of so many columns (0: any), with so many columns of the table, the most relevant first, and so
// many cells, those with the largest process first.
typedef struct gp_inspect_page {
    size_t columns, shown, cells;
    bool brief; // the record in sentences rather than a line each
} gp_inspect_page;
advgp_status gp_inspect_text(const gp_model *model, const char *path, gp_inspect_page page, gp_buffer *out,
                             advgp_error *err);
