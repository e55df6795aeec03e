// effect.h: what a model answers when one of its inputs, or two, are varied and the others stay as they are in some
// typical rows: the average of the answers over these rows.
#pragma once
#include "store/modelfile.h"

enum { GP_EFFECT_STEPS = 41, GP_EFFECT_LEVELS = 24, GP_SURFACE_STEPS = 24 };

// The rows over which answers are averaged, encoded.
typedef struct gp_typical {
    const double *x; // n x d
    size_t n;
    const char *what; // "100 of the rows", "the inducing inputs"
} gp_typical;
// Of a model alone, in a block of the caller's, for gp_free: its inducing inputs or training rows, else the average
// row. NULL: no memory.
double *gp_typical_of_model(const gp_model *model, size_t most, gp_typical *out);

typedef struct gp_effect_point {
    double value;        // of the input (decode.h)
    double mean, lo, hi; // of the function, in the target's own units: the average answer, and 90 % about it
} gp_effect_point;

typedef struct gp_effect {
    size_t input;
    size_t n, n_all; // points; categories there are, of which the first and last by their answers are points
    gp_effect_point points[GP_EFFECT_STEPS];
} gp_effect;

// Values from the 1st to the 99th hundredth of the typical rows of a number, categories in the order of their answers.
advgp_status gp_effect_of(const gp_model *model, const gp_predictor *predictor, gp_typical rows, size_t input,
                          gp_effect *out, advgp_error *err);

typedef struct gp_axis { // of a surface: values, or categories
    size_t input, n;
    double value[GP_SURFACE_STEPS]; // in the middle of a step
    double step;                    // 0: categories
} gp_axis;

typedef struct gp_surface {
    gp_axis axis[2];
    double mean[GP_SURFACE_STEPS * GP_SURFACE_STEPS]; // of axis[0] by axis[1]: [i * axis[1].n + k]
    double *inducing;                                 // [n_inducing x 2], for gp_free; values of the two
    size_t n_inducing;
} gp_surface;
advgp_status gp_surface_of(const gp_model *model, const gp_predictor *predictor, gp_typical rows,
                           const size_t inputs[2], gp_surface *out, advgp_error *err);
