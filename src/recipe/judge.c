// judge.c: when a challenger is taken.
#include "recipe/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word, *what;
} trials[] = {
#define X(NAME, word, least, what) {word, what},
    GP_TRIALS(X)
#undef X
};

const char *gp_trial_what(gp_trial trial)
{
    return trials[trial].what;
}

double gp_trial_least(gp_trial trial)
{
    const double least_of[] = {
#define X(NAME, word, least, what) least,
        GP_TRIALS(X)
#undef X
    };
    return least_of[trial];
}

bool gp_trial_is_off(gp_trial trial)
{
    const char *list = getenv("ADVGP_WITHOUT"), *word = trials[trial].word;
    const size_t length = strlen(word);
    while (list && *list) {
        const size_t n = strcspn(list, ",");
        if (n == length && !strncmp(list, word, n)) return true;
        list += n + (list[n] == ',');
    }
    return false;
}

gp_verdict gp_verdict_none(void)
{
    return (gp_verdict){.gain = NAN, .errors = NAN, .squares = NAN};
}

gp_verdict gp_judge(gp_trial trial, const gp_paired *crps, const gp_paired *squares)
{
    if (!crps->n || !(gp_paired_first(crps) > 0)) return gp_verdict_none(); // nothing to judge by
    gp_verdict v = {.tried = true,
                    .rows = crps->n,
                    .gain = 1 - gp_paired_second(crps) / gp_paired_first(crps),
                    .errors = gp_paired_gain(crps),
                    .squares = NAN};
    v.taken = v.gain > gp_trial_least(trial) && v.errors > gp_clear_errors;
    if (squares) {
        v.squares = gp_paired_second(squares) / gp_paired_first(squares);
        v.taken = v.taken && (v.squares < 1 + gp_squares_share || gp_paired_gain(squares) > -1);
    }
    return v;
}

double gp_gaussian_crps(double y, double mean, double sd)
{
    static const double root_half = 0.70710678118654752, density_0 = 0.39894228040143268,
                        root_inverse_pi = 0.56418958354775629;
    const double z = (y - mean) / sd;
    return sd * (z * erf(z * root_half) + 2 * density_0 * exp(-0.5 * z * z) - root_inverse_pi);
}

const char *gp_verdict_text(const gp_verdict *v, char *text, size_t size)
{
    if (!v->tried) {
        snprintf(text, size, "not tried");
        return text;
    }
    char squares[48] = "";
    if (v->gain > 0 && v->squares > 1 + gp_squares_share) // what may have refused it
        snprintf(squares, sizeof squares, ", squared errors %.0f %% higher", 100 * (v->squares - 1));
    snprintf(text, size, "CRPS %.1f %% %s%s (%.1f standard errors, %zu rows)", 100 * fabs(v->gain),
             v->gain < 0 ? "higher" : "lower", squares, fabs(v->errors), v->rows);
    return text;
}
