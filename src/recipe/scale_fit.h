// scale_fit.h: ln g(x), a small model of the logarithm of scores: rows with what the mean leaves of them, a short
// training on them, and what scales say of rows that they have not seen. docs/math.md 6.
#pragma once
#include "recipe/train.h"
#include "score/groups.h"

typedef struct gp_scale_rows {
    size_t n, d;           // d: inputs of the scale
    double *X;             // [n x d]; the block of all that follow, [n] each
    double *u, *z, *w;     // |score|; its logarithm, standardised; weight
    double *ln_g;          // as it is known by now, 0 at first
    double *ln_g_unseen;   // by scales that have not seen the row, once they were asked
    double *sorted;        // scratch
    double centre, spread; // of z
} gp_scale_rows;
advgp_status gp_scale_rows_init(gp_scale_rows *rows, size_t capacity, size_t d, advgp_error *err);
void gp_scale_rows_fini(gp_scale_rows *rows);

// How: model is the one whose noise it is; options have kernel and seed.
typedef struct gp_scale_fitting {
    const gp_model *model;
    const gp_train_options *options;
    size_t workers;
    bool weighted; // w are not all 1
} gp_scale_fitting;

// To u; sets ln_g, and the range in which it lies. *noise stays NULL where scores hardly differ.
advgp_status gp_scale_fit(const gp_scale_fitting *how, gp_scale_rows *rows, gp_model **noise, double range[2],
                          advgp_error *err);
// The same for other u, hyper-parameters as they are: a few solutions for q(w).
advgp_status gp_scale_sharpen(gp_model *noise, double range[2], gp_scale_rows *rows, advgp_error *err);
// Sets ln_g_unseen: rows in five parts, many in three, and for each a scale fitted to the others, from the start: one
// that began where that of all rows ended would know them.
advgp_status gp_scale_cross_fit(const gp_scale_fitting *how, gp_scale_rows *rows, advgp_error *err);
