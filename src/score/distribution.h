// distribution.h: the whole predictive distribution of a row. With the Q of its calibration (model/calibration.h)
// mean + sd Q(u), in the target's own units, is the u-quantile of a new observation. Quantiles, intervals,
// probabilities, CRPS and likelihood all come from here. docs/math.md 6.
#pragma once
#include "data/schema.h"
#include "model/calibration.h"

// What may be asked for, in C, in Python and by an option alike: levels of intervals from 0.001 to 0.999, quantiles
// from 0.0001 to 0.9999. Beyond lies a tail that no table of scores knows, and in the end infinity.
bool gp_level_is_good(double p);
bool gp_quantile_is_good(double u);

// mean and sd as the model computes them, on the standardised target or its logarithm; every answer is in the target's
// own units.
typedef struct gp_distribution {
    const gp_calibration *scores;
    const gp_schema *schema;
    double mean, sd;
} gp_distribution;

double gp_distribution_quantile(const gp_distribution *d, double u);
void gp_distribution_interval(const gp_distribution *d, double p, double ends[2]);
void gp_distribution_score_ends(const gp_distribution *d, double p, double ends[2]); // the same, as scores
double gp_distribution_exceeds(const gp_distribution *d, double t);                  // P(y > t)
// Continuous ranked probability score of the target's value y: twice the pinball loss, averaged over all quantiles.
double gp_distribution_crps(const gp_distribution *d, double y);
double gp_distribution_log_density(const gp_distribution *d, double y);
// Winkler's score of an interval at level p: its width, and where it misses 2 / (1 - p) times by how much.
double gp_winkler(const double ends[2], double p, double y);
