// noise.h: noise that depends on the row. After the mean is final a second model of the same kind is fitted to the
// logarithm of its leave-one-out residuals: ln s(x). docs/math.md 6.
#pragma once
#include "data/reader.h"
#include "train/train.h"

// By options->noise: none for `constant`; `varying` takes it, where rows and residuals allow one; `auto` takes it if
// the held-out CRPS falls, and needs enough held-out rows to tell. Sets model->noise and notes in the record what was
// chosen. Of an interrupted training, too: it is bounded, and a replay, which does not know when somebody asked, must
// come to the same. The reader is that of the training rows.
advgp_status gp_noise_fit(gp_model *model, gp_reader *reader, const gp_train_options *options,
                          const gp_train_result *result, advgp_error *err);
