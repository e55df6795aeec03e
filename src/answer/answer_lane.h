// answer_lane.h: one block of rows on its way from a table to answers, with room of its own: so that one block is
// computed while the next is read.
#pragma once
#include "data/encode.h"
#include "data/source.h"
#include "model/predict.h"

typedef struct gp_answer_block {
    const gp_chunk *chunk; // NULL after the last
    gp_rows rows;          // standardised; may be empty
    // As the model computes them, on the standardised target or its logarithm: rows.n each. NULL where not asked for.
    const double *mean, *var_f, *var_y;
} gp_answer_block;

typedef struct gp_answer_lane gp_answer_lane;

// predictor and source are borrowed.
advgp_status gp_answer_lane_new(const gp_predictor *predictor, bool with_variance, const gp_source *source,
                                const size_t *kept, size_t n_kept, gp_answer_lane **out, advgp_error *err);
void gp_answer_lane_free(gp_answer_lane *lane); // NULL is fine

// Copies what the source and its encoder will overwrite: the inputs, and the columns that are kept. The block then has
// no others.
advgp_status gp_answer_lane_keep(gp_answer_lane *lane, gp_answer_block *block, advgp_error *err);
// Asks the predictor about the block's rows; the answers live until the next question. They are NaN of a row that
// double precision cannot compute.
advgp_status gp_answer_lane_ask(gp_answer_lane *lane, gp_answer_block *block, advgp_error *err);
