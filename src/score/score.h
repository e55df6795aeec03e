// score.h: how good predictions are, in the target's own units. Shared by training and evaluation.
#pragma once
#include "data/schema.h"
#include "model/predict.h"
#include "shards/reader.h"

// A prediction in the target's own units, and its standard deviation. For a log-target both are of the lognormal
// variable, and the median is exp of the mean.
double gp_predicted_mean(const gp_schema *schema, double mean, double var_y);
double gp_predicted_sd(const gp_schema *schema, double mean, double var);

// A power of two, about the size of the targets: squares of 1e-200 are 0, of its multiples they are not.
double gp_target_unit(const gp_schema *schema);
// Negative log density of the target itself under a Gaussian prediction; y, mean and var_y are standardised.
double gp_gaussian_nlp(const gp_schema *schema, double y, double mean, double var_y);

typedef struct gp_score {
    double n, squares, nlp; // sums over rows, weighted
    double unit;            // of which squares are; 0 before the first row
} gp_score;
// y, mean and var_y are of the standardised target.
void gp_score_add(gp_score *score, const gp_schema *schema, double w, double y, double mean, double var_y);
// The errors alone, of an answer in the target's own units.
void gp_score_add_answer(gp_score *score, const gp_schema *schema, double w, double target, double answer);
double gp_score_rmse(const gp_score *score);
double gp_score_mnlp(const gp_score *score);

// Every row of a part, at most max_rows of it (0: all), with what a predictor says about it: weight, inputs, target,
// mean and variance of the target, all standardised.
typedef void (*gp_predicted_row)(void *ctx, double w, const double *x, double y, double mean, double var_y);
advgp_status gp_predict_rows(const gp_predictor *predictor, gp_reader *reader, gp_part part, size_t max_rows,
                             gp_predicted_row each, void *ctx, advgp_error *err);
// Score of a predictor on a part, at most max_rows of it (0: all).
advgp_status gp_score_rows(const gp_predictor *predictor, gp_reader *reader, gp_part part, size_t max_rows,
                           const gp_schema *schema, gp_score *score, advgp_error *err);
