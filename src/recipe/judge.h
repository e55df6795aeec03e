// judge.h: the one judge of the recipe. Two ways to predict the same unseen rows, an incumbent and a challenger, are
// compared row by row; the challenger is taken if it is better beyond chance, by as much as table.h asks of its trial.
#pragma once
#include "recipe/table.h"
#include "score/paired.h"

typedef enum gp_trial {
#define X(NAME, word, least, what) GP_TRIAL_##NAME,
    GP_TRIALS(X)
#undef X
        GP_TRIAL_COUNT
} gp_trial;

typedef struct gp_verdict {
    bool tried, taken; // the challenger is
    size_t rows;       // that judged
    double gain;       // share of the incumbent's CRPS that the challenger saves; NaN: it was not tried
    double errors;     // the same in standard errors
    double squares;    // mean squared error of the challenger over that of the incumbent; NaN: both have the same mean
} gp_verdict;

const char *gp_trial_what(gp_trial trial); // what the challenger is
double gp_trial_least(gp_trial trial);
// For bench/recipe and tests: a trial named in ADVGP_WITHOUT ("noise,groups") does not count, its incumbent stays.
bool gp_trial_is_off(gp_trial trial);

gp_verdict gp_verdict_none(void); // of a trial that was not held
// squares: of the same rows; NULL where the challenger predicts the same means.
gp_verdict gp_judge(gp_trial trial, const gp_paired *crps, const gp_paired *squares);
// Of a normal distribution at y, in the unit of sd.
double gp_gaussian_crps(double y, double mean, double sd);
// "CRPS 3.1 % lower (4.2 standard errors, 2000 rows)", into text; returns it.
const char *gp_verdict_text(const gp_verdict *verdict, char *text, size_t size);
