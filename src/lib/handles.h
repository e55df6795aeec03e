// handles.h: what is behind the handles of advgp.h, and what its functions share.
#pragma once
#include "advgp.h"
#include "data/arrow_stream.h"
#include "data/piece.h"
#include "load/host.h"
#include "model/predict.h"
#include "options/option.h"
#include "score/distribution.h"
#include "store/modelfile.h"

struct advgp_options {
    gp_options *set;
};

// Options as a function uses them: the caller's or the defaults, with operands of their own.
typedef struct library_options {
    gp_options set; // a copy whose values belong to the caller's, or to `defaults`
    gp_options *defaults;
    const char **operands;
} library_options;
// verb: whose options the function takes, EINVAL for others. The operands: `before` (NULL: none), then the data's
// files. fini is due after a failure, too.
advgp_status library_options_init(library_options *options, const advgp_options *given, const char *verb,
                                  const char *before, const advgp_data *data, advgp_error *err);
void library_options_fini(library_options *options);

// A table: files, or columns in memory. Columns are borrowed arrays, or what was appended, or a stream of Arrow's.
struct advgp_data {
    char **paths;
    size_t n_paths; // 0: in memory
    size_t n_rows, n_columns, room;
    char **names;
    advgp_type *types;
    gp_piece_column *columns;
    struct grown *grown;  // n_columns, where rows were appended; else NULL
    gp_arrow_table arrow; // its batches where it has columns
};
// The table in memory as a source, for gp_source_free; NULL of files.
advgp_status library_table_open(const advgp_data *data, gp_source **out, advgp_error *err);

struct advgp_model {
    gp_model *model;
    gp_predictor *predictor;
    double *inverse_scale; // [d]
};
// Takes the model, also where it fails.
advgp_status library_model_take(gp_model *model, advgp_model **out, advgp_error *err);

// A watch as a host.
typedef struct library_host {
    const advgp_watch *watch;
    gp_host host;
} library_host;
void library_host_init(library_host *host, const advgp_watch *watch);

// What a function cannot do without: false, and the sentence, where it is NULL.
bool library_has(const void *handle, const char *what, advgp_error *err);
// The end of every function: options in the sentence lose their braces.
advgp_status library_said(advgp_status st, advgp_error *err);
// JSON as a text of ours; takes the object, NULL is ENOMEM.
advgp_status library_json_take(json_t *object, char **out, advgp_error *err);

static const double seconds_to_2000 = 946684800.0; // from 1970, where the times of callers begin
