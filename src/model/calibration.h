// calibration.h: the scores (y - mean) / sd_y of rows that training did not see, as a distribution Q: the same for
// every row, or for those of a group. It is fitted to scores, answers for quantiles, shares and densities, and lists
// the arrays that a file keeps of it. docs/math.md 6.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { GP_CALIBRATION_LEVELS = 1001, GP_DENSITY_BINS_MAX = 64 };

// Scores whose distribution depends on what the model says of the row: tenths by its mean, each in thirds by its sd_y,
// both of the standardised target (score/groups.h). A row belongs to the first group whose limits it does not exceed.
enum { GP_GROUPS_BY_MEAN = 10, GP_GROUPS_BY_SD = 3, GP_GROUPS = GP_GROUPS_BY_MEAN * GP_GROUPS_BY_SD };
typedef struct gp_score_groups {
    double means[GP_GROUPS_BY_MEAN - 1];
    double sds[GP_GROUPS_BY_MEAN][GP_GROUPS_BY_SD - 1];
    double quantiles[GP_GROUPS][GP_CALIBRATION_LEVELS]; // as gp_calibration.q
    double tails[GP_GROUPS][2];
} gp_score_groups;
size_t gp_group_of(const gp_score_groups *groups, double mean, double sd);

// For a likelihood: constant between edges that have enough rows between them, exponential beyond.
typedef struct gp_score_density {
    size_t n_bins; // 0: the scores are too few or all the same, Gaussian
    double edge[GP_DENSITY_BINS_MAX + 1], share[GP_DENSITY_BINS_MAX], beyond[2], excess[2];
} gp_score_density;

typedef struct gp_calibration {
    size_t rows;                     // behind it; 0: none, and all of it is Gaussian
    double q[GP_CALIBRATION_LEVELS]; // q[i] = Q(i / 1000), 0 < i < 1000
    double tails[2];                 // beyond q[1] and q[999] Q is exponential with this mean excess
    double *factors;          // [GP_CALIBRATION_LEVELS]: of a file of format 1, mean +- s sd_y covers i/1000; else NULL
    gp_score_groups *groups;  // NULL: the same scores for all rows; else these are what counts, q is the average
    gp_score_density density; // of q and tails
} gp_calibration;

void gp_calibration_init(gp_calibration *calibration); // no rows
void gp_calibration_fini(gp_calibration *calibration);
// Of n scores. Q(u) is the score of rank (n + 1) u, between two where that is no whole number (calibration.c), as split
// conformal intervals have it but for the rounding of ranks, by which 50 rows at 90 % would hold 92 %; where there is
// no such rank, the Gaussian quantile if it lies further out, so that quantiles never cross. Groups stay as they are.
advgp_status gp_calibration_fit(gp_calibration *calibration, const double *scores, size_t n, advgp_error *err);
// Takes groups, or NULL, in place of those that are there.
void gp_calibration_group(gp_calibration *calibration, gp_score_groups *groups_take);

// ---- in files -------------------------------------------------------------------------------------------------------

// The arrays that a file has of it, and where its numbers are or belong; cols 0: a vector.
typedef struct gp_calibration_part {
    const char *name;
    size_t rows, cols;
    double *data;
} gp_calibration_part;
enum { GP_CALIBRATION_PARTS_MAX = 6 };
size_t gp_calibration_parts(gp_calibration *calibration, gp_calibration_part parts[GP_CALIBRATION_PARTS_MAX]);
// Room for what a file has of its rows; once the parts are filled, ready is due.
advgp_status gp_calibration_expect(gp_calibration *calibration, bool has_tails, bool has_groups, advgp_error *err);
// Do tables rise, and are tails above 0? `bad` is what it fails with.
advgp_status gp_calibration_check(const gp_calibration *calibration, advgp_status bad, advgp_error *err);
void gp_calibration_ready(gp_calibration *calibration);

// ---- answers --------------------------------------------------------------------------------------------------------

// Which Q: that of all rows, or of the group of a row with this mean and sd.
typedef struct gp_score_table {
    const double *q, *tails;
} gp_score_table;
gp_score_table gp_scores_of_all(const gp_calibration *c);
gp_score_table gp_scores_of_row(const gp_calibration *c, double mean, double sd);

bool gp_scores_reach(const gp_calibration *c, double u); // are there rows enough for a rank at u in (0, 1)?
double gp_scores_quantile(const gp_calibration *c, gp_score_table t, double u); // Q(u), 0 < u < 1
double gp_scores_cdf(const gp_calibration *c, gp_score_table t, double e);      // share of scores up to e
double gp_scores_log_density(const gp_calibration *c, gp_score_table t, double e);
void gp_scores_interval(const gp_calibration *c, gp_score_table t, double p, double ends[2]); // Q at both ends of p

double gp_gaussian_interval(double p); // the s for which a normal variable lies within +- s with probability p
double gp_gaussian_quantile(double u);

// Mean excess of the outermost of n sorted scores: the scale of an exponential tail.
double gp_mean_excess(const double *sorted, size_t n, bool upper);
// From n sorted values to table[GP_CALIBRATION_LEVELS], by the ranks of gp_calibration_fit; where there is none by
// `beyond` of the share. level: the values' density is about the same everywhere; else it falls outwards.
void gp_fill_quantiles(double *table, const double *sorted, size_t n, bool level, double (*beyond)(double u));
