// calibrate.h: intervals that cover what they say: split conformal on held-out rows, or leave-one-out scores where rows
// are few. docs/math.md 6.
#pragma once
#include "score/groups.h"
#include "shards/reader.h"
#include "store/modelfile.h"

enum { GP_CALIBRATION_ROWS_MIN = 100 };

// Of the held-out rows those of part CALIBRATE, so that the others can judge what comes of it; or all of them, once
// nothing is judged any more: twice the rows, and what they say of new ones is off by chance a third less.
typedef enum gp_calibrators { GP_HELD_OUT_HALF, GP_HELD_OUT_ALL } gp_calibrators;

// Sets model->calibration from held-out rows, or, if part CALIBRATE has fewer than GP_CALIBRATION_ROWS_MIN, too few to
// tell the levels apart, from training rows that are left out (gp_unseen_rows in score/left_out.h). Model parameters
// and q(w) are final.
advgp_status gp_calibrate(gp_model *model, gp_reader *reader, gp_calibrators rows, advgp_error *err);

// Groups of scores from training rows, each left out, and held-out ones.
advgp_status gp_calibrate_groups(const gp_model *model, gp_reader *reader, gp_scored_rows left_out, gp_calibrators rows,
                                 gp_score_groups **out, advgp_error *err);
