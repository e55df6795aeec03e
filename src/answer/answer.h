// answer.h: what a model says about the rows of a table: the rows as the model wants them, from files or from a packed
// folder, and its answers in the target's own units. For predict and evaluate.
#pragma once
#include "answer/answer_lane.h"
#include "data/encode.h"
#include "files/files.h"
#include "load/host.h"
#include "options/option.h"
#include "store/modelfile.h"

#include <jansson.h>

// The data that a command line names behind its model: operands and --table.
typedef struct gp_model_data {
    gp_file_options files;
    const char **paths, **names;
    char *block; // of the names
} gp_model_data;
advgp_status gp_model_data_init(const gp_options *options, const gp_host *host, gp_model_data *out, advgp_error *err);
// The same of other names than the operands, borrowed.
advgp_status gp_model_data_of(const gp_options *options, const gp_host *host, const char *const *files, size_t n_files,
                              gp_model_data *out, advgp_error *err);
void gp_model_data_fini(gp_model_data *data); // also after a failure

typedef struct gp_answers gp_answers;

// Where the rows come from: files, with the model's --sql applied, for a prediction without the target, rows in order;
// or a table in memory, which a model with a query does not take. Borrowed.
typedef struct gp_answer_input {
    const gp_file_options *files;
    gp_source *table; // where it is not NULL
} gp_answer_input;

// Opens the data and a predictor. mode is GP_ENCODE_PREDICT or GP_ENCODE_EVALUATE; mean_only leaves the variances out
// where the mean does not need them. The model is borrowed.
advgp_status gp_answers_open(const gp_model *model, gp_answer_input input, gp_encode_mode mode, bool mean_only,
                             gp_answers **out, advgp_error *err);
void gp_answers_close(gp_answers *a); // NULL is fine
const gp_predictor *gp_answers_predictor(const gp_answers *a);
gp_source *gp_answers_source(gp_answers *a); // a caller who keeps further columns marks them as wanted

// The next block and its answers; its chunk is NULL after the last.
advgp_status gp_answers_next(gp_answers *a, gp_answer_block *block, advgp_error *err);

// The same in two, for threads: one of them at a time reads, and each asks in a lane of its own. kept: the columns of
// the source that a lane keeps beside the inputs. The lane is the caller's, and must not outlive the answers.
advgp_status gp_answers_read(gp_answers *a, gp_answer_block *block, advgp_error *err);
advgp_status gp_answers_lane(const gp_answers *a, const size_t *kept, size_t n_kept, gp_answer_lane **out,
                             advgp_error *err);

// Is all that row i of the block is told finite, and fit for figures? If not, it is counted as unanswered.
bool gp_answers_tell(gp_answers *a, const gp_answer_block *block, size_t i);
void gp_answers_lose(gp_answers *a, size_t n); // counts n rows as unanswered, in whole or in part
size_t gp_answers_lost(const gp_answers *a);   // so far

// The failure of a table that has no row for figures.
advgp_status gp_answers_none(const gp_answers *a, advgp_error *err);

// What was done to the data, once all of it was read.
advgp_status gp_answers_notes(gp_answers *a, advgp_error *err);
size_t gp_answers_input_rows(const gp_answers *a); // of the query's first table, after gp_answers_notes; 0: no query
const gp_notes *gp_answers_all_notes(const gp_answers *a);
// The same as numbers, once all rows were read: an object for each column with values outside the range of training,
// unseen categories or missing values, and how many rows have them. NULL: no memory.
json_t *gp_answers_columns_json(const gp_answers *a);
