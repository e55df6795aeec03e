// groups.h: scores whose distribution depends on what the model says of a row. A factor for its standard deviation
// (recipe/noise.c) makes errors as large as they are, not of the same shape: where half of the targets are the same
// number, or a delay cannot be far below zero, errors of small and of large predictions lean and tail off differently.
// Training rows, each left out, are many and tell the shape of a group; rows that training did not see are few and tell
// at which shares of it the quantiles are, for all groups at once. docs/math.md 6.
#pragma once
#include "score/distribution.h"

// Rows with their mean and standard deviation, standardised, and their score (y - mean) / sd. One block at mean.
typedef struct gp_scored_rows {
    size_t n, capacity;
    double *mean, *sd, *score;
} gp_scored_rows;
advgp_status gp_scored_rows_init(gp_scored_rows *rows, size_t capacity, advgp_error *err);
void gp_scored_rows_fini(gp_scored_rows *rows);
void gp_scored_rows_add(gp_scored_rows *rows, double y, double mean, double sd); // beyond its capacity: not

enum { GP_GROUPS_ROWS_MIN = 100 * GP_GROUPS }; // of the training rows

// left_out: training rows, at least GP_GROUPS_ROWS_MIN; unseen: others, at least one.
advgp_status gp_score_groups_new(gp_scored_rows left_out, gp_scored_rows unseen, gp_score_groups **out,
                                 advgp_error *err);
