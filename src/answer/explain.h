// explain.h: why a model predicts what it predicts for a row: what its parts add to the mean, how far the row is from
// the training data, and the inducing inputs nearest to it, all in the units of the table.
#pragma once
#include "base/host.h"
#include "options/option.h"
#include "store/modelfile.h"

#include <jansson.h>

enum { GP_EXPLAIN_NEAR = 3 }; // inducing inputs, unless somebody wants others

typedef struct gp_explainer gp_explainer;
// predictor: of this model, where the caller has one; NULL: one is made. Both are borrowed.
advgp_status gp_explainer_new(const gp_model *model, const gp_predictor *predictor, size_t near, gp_explainer **out,
                              advgp_error *err);
void gp_explainer_free(gp_explainer *explainer); // NULL is fine

// One row, x [d] and y as an encoder gives them; y is NaN where it is not known. The members are told in
// docs/explain.md.
advgp_status gp_explainer_row(gp_explainer *explainer, const double *x, double y, json_t **out, advgp_error *err);
// The same for people, lines of at most so many columns: `inputs` encoded columns at most, the most relevant first.
void gp_explanation_text(const json_t *row, size_t inputs, size_t columns, gp_buffer *out);

// The rows of {rows} of a table, each once and in its order, by the options of `explain`: each(ctx, row) takes the
// object of one, with its number. table: the caller's, in place of the files of the options; NULL: these. all_rows: of
// a table whose rows are counted, where {rows} is not given.
enum { GP_EXPLAIN_MOST = 10000 }; // of one range: whoever wants more wants predictions
typedef advgp_status (*gp_explained_row)(void *ctx, json_t *row_take, advgp_error *err);
advgp_status gp_explain_rows(const gp_model *model, const gp_options *explain, gp_source *table, size_t all_rows,
                             const gp_host *host, gp_explained_row each, void *ctx, advgp_error *err);
