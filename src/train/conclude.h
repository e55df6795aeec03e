// conclude.h: the last act of every method: how good the model is, and the record of its training.
#pragma once
#include "data/reader.h"
#include "score/groups.h"
#include "train/train.h"

typedef struct gp_stopwatch {
    double wall, cpu; // when it began
} gp_stopwatch;
gp_stopwatch gp_stopwatch_start(void);

// For a model whose parameters are final: fits its noise (noise.h), calibrates and assesses it (score/assess.h), and
// writes the record. With options->test the figures of the result are of those rows instead; the record is not. options
// and notes may be NULL. result brings stopped, versions, rows and neg_elbo, and gets the rest. unseen_take: what
// models fitted without a row say of it, for all training rows of positive weight in their order; NULL or none: rows
// are left out in closed form.
advgp_status gp_train_conclude(gp_model *model, gp_reader *reader, const gp_train_options *options, gp_stopwatch began,
                               gp_train_result *result, gp_scored_rows *unseen_take, gp_notes *notes, advgp_error *err);
