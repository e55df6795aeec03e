// distribution.h: the whole predictive distribution of a row. The scores (y - mean) / sd of rows that training did not
// see are a distribution Q, the same for every row or for those of a group (groups.h); mean + sd Q(u), in the target's
// own units, is the u-quantile of a new observation. Quantiles, intervals, probabilities, CRPS and likelihood all come
// from here. docs/math.md 6.
#pragma once
#include "store/modelfile.h"

enum { GP_DENSITY_BINS_MAX = 64 };

// ---- scores ---------------------------------------------------------------------------------------------------------

// For a likelihood: constant between edges that have enough rows between them, exponential beyond.
typedef struct gp_score_density {
    size_t n_bins; // 0: the scores are too few or all the same, Gaussian
    double edge[GP_DENSITY_BINS_MAX + 1], share[GP_DENSITY_BINS_MAX], beyond[2], excess[2];
} gp_score_density;

// Of all rows; of one row gp_distribution below knows more.
typedef struct gp_scores {
    size_t rows;                     // behind it; 0: none, and all of it is Gaussian
    const double *symmetric;         // [GP_CALIBRATION_LEVELS]: factors of a model of format 1, borrowed; else NULL
    double q[GP_CALIBRATION_LEVELS]; // q[i] = Q(i / 1000), 0 < i < 1000
    double tail[2];                  // beyond q[1] and q[999] Q is exponential with this mean excess
    gp_score_density density;
    const gp_score_groups *groups; // borrowed; NULL: none
} gp_scores;

// Sets the model's calibration from n scores (y - mean) / sd_y of rows that training did not see; sorts them. Q(u)
// is the score of rank (n + 1) u, between two where that is no whole number (distribution.c), as split conformal
// intervals have it but for the rounding of ranks, by which 50 rows at 90 % would hold 92 %; where there is no such
// rank, the Gaussian quantile if it lies further out, so that quantiles never cross.
advgp_status gp_model_calibrate(gp_model *model, double *scores, size_t n, advgp_error *err);

// Mean excess of the outermost of n sorted scores: the scale of an exponential tail.
double gp_mean_excess(const double *sorted, size_t n, bool upper);
// From n sorted values to table[GP_CALIBRATION_LEVELS], by these ranks; where there is none by `beyond` of the share.
// level: the values' density is about the same everywhere; else it falls outwards.
void gp_fill_quantiles(double *table, const double *sorted, size_t n, bool level, double (*beyond)(double u));

void gp_scores_init(gp_scores *scores, const gp_model *model); // the model is borrowed
bool gp_scores_reach(const gp_scores *scores, double u);       // are there rows enough for a rank at u in (0, 1)?
double gp_scores_quantile(const gp_scores *scores, double u);  // Q(u), 0 < u < 1
double gp_scores_cdf(const gp_scores *scores, double e);       // share of scores up to e
double gp_scores_log_density(const gp_scores *scores, double e);
void gp_scores_interval(const gp_scores *scores, double p, double ends[2]); // Q at both ends of the level p

// What may be asked for, in C, in Python and by an option alike: levels of intervals from 0.001 to 0.999, quantiles
// from 0.0001 to 0.9999. Beyond lies a tail that no table of scores knows, and in the end infinity.
bool gp_level_is_good(double p);
bool gp_quantile_is_good(double u);

double gp_gaussian_interval(double p); // the s for which a normal variable lies within +- s with probability p
double gp_gaussian_quantile(double u);

// ---- one row --------------------------------------------------------------------------------------------------------

// mean and sd as the model computes them, on the standardised target or its logarithm; every answer is in the target's
// own units.
typedef struct gp_distribution {
    const gp_scores *scores;
    const gp_schema *schema;
    double mean, sd;
} gp_distribution;

size_t gp_group_of(const gp_score_groups *groups, double mean, double sd);

double gp_distribution_quantile(const gp_distribution *d, double u);
void gp_distribution_interval(const gp_distribution *d, double p, double ends[2]);
void gp_distribution_score_ends(const gp_distribution *d, double p, double ends[2]); // the same, as scores
double gp_distribution_exceeds(const gp_distribution *d, double t);                  // P(y > t)
// Continuous ranked probability score of the target's value y: twice the pinball loss, averaged over all quantiles.
double gp_distribution_crps(const gp_distribution *d, double y);
double gp_distribution_log_density(const gp_distribution *d, double y);
// Winkler's score of an interval at level p: its width, and where it misses 2 / (1 - p) times by how much.
double gp_winkler(const double ends[2], double p, double y);
