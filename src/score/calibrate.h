// calibrate.h: intervals that cover what they say: split conformal on held-out rows, or leave-one-out scores where rows
// are few. docs/math.md 6.
#pragma once
#include "score/groups.h"
#include "shards/reader.h"
#include "store/modelfile.h"

enum { GP_CALIBRATION_ROWS_MIN = 100 };

// Sets model->calibration from the rows of part CALIBRATE, or, if they are fewer than that, too few to tell the levels
// apart, from training rows that are left out (gp_unseen_rows in score/left_out.h). Model parameters and q(w) are
// final.
advgp_status gp_calibrate(gp_model *model, gp_reader *reader, advgp_error *err);

// Sets model->groups from training rows, each left out, and the rows of part CALIBRATE.
advgp_status gp_calibrate_groups(gp_model *model, gp_reader *reader, gp_scored_rows left_out, advgp_error *err);
