// paired.h: two ways to predict the same rows: by how much the losses of the second are smaller, over what chance makes
// of that. A plain comparison of means takes what is as bad in nearly half of all cases, and tails of the target let a
// few rows rule it.
#pragma once
#include "base/status.h"

#include <stdbool.h>

typedef struct gp_paired {
    size_t n;                         // rows of the present turn
    double *loss;                     // [capacity]: of the first turn
    bool turned;                      // it is the second
    double w, first, fall;            // sums of the second turn: weights, losses of the first, how much smaller the
                                      // second's are
    double w2, w2_fall, w2_fall_fall; // by squares of weights, for the error of the mean
} gp_paired;
advgp_status gp_paired_init(gp_paired *paired, size_t capacity, advgp_error *err);
void gp_paired_fini(gp_paired *paired);

// Row by row, first those of the one, then, after the turn, those of the other in the same order.
void gp_paired_add(gp_paired *paired, double w, double loss);
void gp_paired_turn(gp_paired *paired);

// Mean losses of the first and of the second, and by how many standard errors of the paired difference the second is
// smaller. What only rounding has changed is no gain.
double gp_paired_first(const gp_paired *paired);
double gp_paired_second(const gp_paired *paired);
double gp_paired_gain(const gp_paired *paired);
