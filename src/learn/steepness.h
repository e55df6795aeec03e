// steepness.h: along which sums of its columns a fitted function changes most: the mean outer product of its gradients,
// and the axes of that. docs/math.md 11.
#pragma once
#include "data/schema.h"
#include "model/predict.h"

// The columns of which sums make sense: those of numbers, times and categories by their target, not those that say
// which category it is, or that a value is missing. columns: [d], or NULL. How many.
size_t gp_steepness_columns(const gp_schema *schema, size_t *columns);

// Into sum [n x n]: products of the mean's gradients along these columns, over some of the rows, evenly spread.
advgp_status gp_steepness_add(const gp_predictor *predictor, gp_cmat X, size_t n, const size_t *columns, double *sum,
                              advgp_error *err);

// The axes of the sum along which it is largest, `most` at most: weights [most x d] of all columns, each such that it
// has variance 1 over the rows of X. Those that are next to a column of their own are left out. How many.
advgp_status gp_steepest(const double *sum, size_t n, const size_t *columns, gp_cmat X, size_t most, double *weights,
                         size_t *n_found, advgp_error *err);
