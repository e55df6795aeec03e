// conclude.h: the last act of every method: how good the model is, and the record of its training.
#pragma once
#include "recipe/train.h"
#include "shards/reader.h"

typedef struct gp_stopwatch {
    double wall, cpu; // when it began
} gp_stopwatch;
gp_stopwatch gp_stopwatch_start(void);

// For a model whose parameters are final: fits its noise (noise.h), calibrates and assesses it (score/assess.h), and
// writes the record. With options->test the figures of the result are of those rows instead; the record is not. options
// and notes may be NULL. result brings stopped, versions, rows and neg_elbo, and gets the rest. Where fits without them
// say something of training rows, it is in model->unseen.
advgp_status gp_train_conclude(gp_model *model, gp_reader *reader, const gp_train_options *options, gp_stopwatch began,
                               gp_train_result *result, gp_notes *notes, advgp_error *err);
