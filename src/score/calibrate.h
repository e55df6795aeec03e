// calibrate.h: intervals that cover what they say: split conformal on held-out rows, or leave-one-out scores where rows
// are few. docs/math.md 6.
#pragma once
#include "score/groups.h"
#include "shards/reader.h"
#include "store/modelfile.h"

enum { GP_CALIBRATION_ROWS_MIN = 100 };

// What a model says of held-out rows: first those of part CALIBRATE, `half` of them, then those of part STOP, of each a
// random sample that is enough for every level. None where part CALIBRATE has fewer than GP_CALIBRATION_ROWS_MIN, too
// few to tell the levels apart. Model parameters, q(w) and noise are final.
typedef struct gp_held_out {
    gp_scored_rows rows; // of positive weight
    double *w;           // their weights
    size_t half;
} gp_held_out;
advgp_status gp_held_out_ask(const gp_model *model, gp_reader *reader, gp_held_out *out, advgp_error *err);
void gp_held_out_fini(gp_held_out *held_out);

// The first half calibrates, so that the others can judge what comes of it; or all do, once nothing is judged any more:
// with twice the rows, what intervals cover of new ones is off by chance a third less.
typedef enum gp_calibrators { GP_HELD_OUT_HALF, GP_HELD_OUT_ALL } gp_calibrators;

// Fits model->calibration to held-out rows, or, where there are none, from training rows that are left out
// (gp_unseen_rows in score/left_out.h).
advgp_status gp_calibrate(gp_model *model, gp_reader *reader, const gp_held_out *held_out, gp_calibrators which,
                          advgp_error *err);

// Groups of scores from training rows, each left out, and held-out ones.
advgp_status gp_calibrate_groups(gp_scored_rows left_out, const gp_held_out *held_out, gp_calibrators which,
                                 gp_score_groups **out, advgp_error *err);
