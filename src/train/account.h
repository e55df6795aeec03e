// account.h: the last act of every method: how good the model is on rows it was not fitted to, and the record of it.
#pragma once
#include "data/reader.h"
#include "score/score.h"
#include "train/train.h"

// Score of a predictor on a part, at most max_rows of it (0: all).
advgp_status gp_score_rows(const gp_predictor *predictor, gp_reader *reader, gp_part part, size_t max_rows,
                           const gp_schema *schema, gp_score *score, advgp_error *err);

typedef struct gp_stopwatch {
    double wall, cpu; // when it began
} gp_stopwatch;
gp_stopwatch gp_stopwatch_start(void);

// For a model whose parameters are final: calibrates it, scores it on the held-out half that calibration does not see
// (on the training rows where none are held out), measures coverage and both baselines there, and writes the record.
// With test (all GP_STOP; may be NULL) the figures of the result are of those rows instead, all of them; the record is
// not. result brings stopped, versions, rows and neg_elbo, and gets the rest.
advgp_status gp_account(gp_model *model, gp_reader *reader, const gp_shards *test, gp_stopwatch began,
                        gp_train_result *result, advgp_error *err);
