// noise.h: noise that depends on the row. After the mean is final a second model of the same kind is fitted to the
// logarithm of its leave-one-out residuals: ln s(x). docs/math.md 6.
#pragma once
#include "recipe/train.h"
#include "score/groups.h"
#include "shards/reader.h"

// By options->noise: none for `constant`; `varying` takes it, where rows and residuals allow one; `auto` takes it if
// the CRPS of rows that it has not seen falls: of held-out ones, or where those are few of training rows, each left
// out. Sets model->noise, says in the record what was chosen, and in notes (may be NULL) what could not be. The `auto`
// of an interrupted training takes none: somebody waits. The reader is that of the training rows. Where the noise
// varies and few rows are held out it sets model->unseen, by the means that are there already or else in closed form.
// Scores by groups are model->calibration.groups as half of the held-out rows calibrate them, so that the other half
// can judge, and *of_all as all do; NULL where there are none.
advgp_status gp_noise_fit(gp_model *model, gp_reader *reader, const gp_train_options *options, gp_train_result *result,
                          gp_notes *notes, gp_score_groups **of_all, advgp_error *err);
