// score.h: how good predictions are, in the target's own units. Shared by training and evaluation.
#pragma once
#include "data/schema.h"

#include <stddef.h>

// A prediction in the target's own units. For a log-target the mean is the lognormal mean and the median exp of the
// mean.
double gp_predicted_mean(const gp_schema *schema, double mean, double var_y);

typedef struct gp_score {
    double n, squares, absolute, nlp; // sums over rows, weighted
} gp_score;
// y, mean and var_y are of the standardised target.
void gp_score_add(gp_score *score, const gp_schema *schema, double w, double y, double mean, double var_y);
double gp_score_rmse(const gp_score *score);
double gp_score_mae(const gp_score *score);
double gp_score_mnlp(const gp_score *score);
