// left_out.h: what a model would say of each of its training rows if it had been fitted to the others, in closed form:
// mean and variance without the row, all else as it is. Where no rows are held out these are the figures of a model.
#pragma once
#include "score/score.h"
#include "store/modelfile.h"

// What a scale of scores is fitted to, beside ln g: psi = ln(u / g + c) / a of n scores u >= 0, c the median of u / g.
// A logarithm where u is large, so that tails do not rule, and nearly straight where it is small, so that residuals of
// nothing do not. Where g is off by 1 in its logarithm, ln(u / g + c) moves by a, the mean of (u / g) / (u / g + c);
// divided by it ln g + psi stays: a step of Newton's method. False where nearly all scores are 0. sorted: scratch [n].
bool gp_scale_logarithms(size_t n, const double *u, const double *ln_g, double *sorted, double *psi);

// Every training row of positive weight, at most max_rows of them (0: all), as gp_predict_rows has them.
advgp_status gp_left_out_rows(const gp_predictor *predictor, gp_reader *reader, size_t max_rows, gp_predicted_row each,
                              void *ctx, advgp_error *err);

// The same of a model that was just fitted: as it has been told (gp_unseen in store/modelfile.h), else in closed form.
// predictor: its own; where it has been told NULL will do.
advgp_status gp_unseen_rows(const gp_model *model, const gp_predictor *predictor, gp_reader *reader, size_t max_rows,
                            gp_predicted_row each, void *ctx, advgp_error *err);
