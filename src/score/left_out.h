// left_out.h: what a model would say of each of its training rows if it had been fitted to the others, in closed form:
// mean and variance without the row, all else as it is. Where no rows are held out these are the figures of a model.
#pragma once
#include "score/score.h"

// Every training row of positive weight, at most max_rows of them (0: all), as gp_predict_rows has them.
advgp_status gp_left_out_rows(const gp_predictor *predictor, gp_reader *reader, size_t max_rows, gp_predicted_row each,
                              void *ctx, advgp_error *err);
