// reweigh.h: the mean once more, with each row weighted by its noise. One sigma for all gives loud rows too much say;
// but where the spread is a tail rather than noise the weights do harm, so held-out rows decide. docs/math.md 6.
#pragma once
#include "shards/reader.h"
#include "store/modelfile.h"

typedef struct gp_reweighed {
    gp_shards *shards; // the training rows with weights w / s^2, of the same sum as w; the caller's; NULL: not taken
    double gain;       // of held-out rows: by how much the mean squared error falls, over what chance makes of it
} gp_reweighed;

// For a model of the form `weights` whose noise varies: the exact posterior over its training rows, weighted by 1 /
// s^2, s^2 = var_y - var_f, cells and all, with hyper-parameters as they are. It replaces the model's if the squared
// errors of held-out rows (GP_STOP) fall by more than one standard error of that difference, which some rows are asked
// for first; then the scale, which is of the errors, is due again. Threads of this process do it, as they do cells: the
// sums do not depend on how many. Freeing out->shards leaves the reader's, which they borrow. ln_g: the factors of all
// training rows in their order, where they are known; else NULL.
advgp_status gp_reweigh(gp_model *model, gp_reader *reader, size_t threads, const double *ln_g, gp_reweighed *out,
                        advgp_error *err);
