// baseline.h: what a model has to beat: the mean, and linear regression in one pass of normal equations.
#pragma once
#include "train/reader.h"

// Least squares with intercept over the training rows: coef[0] is the intercept, then d coefficients, of standardised
// data. A direction that the rows do not determine gets no weight.
advgp_status gp_linear_fit(gp_reader *reader, double *coef, advgp_error *err);
double gp_linear_predict(const double *coef, size_t d, const double *x);
