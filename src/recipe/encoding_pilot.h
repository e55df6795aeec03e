// encoding_pilot.h: does the logarithm of a skewed target pay, do ranks of inputs with long tails, do directions, sums
// of columns beside them? Short trainings on a sample of encoded rows, the same but for the encoding, are judged by
// rows that none has seen, in the target's own units.
#pragma once
#include "data/encode.h"
#include "kernel/kernel.h"
#include "recipe/judge.h"

typedef struct gp_encoding_question {
    const gp_schema *schema; // by which the rows are encoded, fresh from its fit, target and inputs as they are
    const gp_rows *rows;     // a sample of the training rows
    bool bounds_open;        // nobody set any: a logarithm brings its own
    bool directions_open;    // they may be asked for: fits are looked at for how steep they are
    bool directions_asked;   // somebody wants them: they pay whatever rows say
    const gp_kernel *kernel;
    uint64_t seed;
    int (*stop)(void *ctx); // may be NULL; non-zero: nothing is decided, and all stays as it is
    void *stop_ctx;
} gp_encoding_question;

// Where answers are cut under a logarithm that nobody asked for: at twice the largest target. It may go on as a
// straight line beyond the rows, and exp of that knows no end.
gp_limits gp_log_bounds(const gp_schema *schema);

// How target and inputs are taken.
typedef struct gp_encodings {
    bool logarithm, ranks;
    size_t directions; // at most so many beside the columns: those along which a fit without them is steepest
} gp_encodings;

// The fits of the present encoding are kept: whatever is tried is compared with the same, and if it pays it is the
// present one.
typedef struct gp_encoding_pilot gp_encoding_pilot;
advgp_status gp_encoding_pilot_new(const gp_encoding_question *question, gp_encodings present, gp_encoding_pilot **out,
                                   advgp_error *err);
advgp_status gp_encoding_pilot_try(gp_encoding_pilot *pilot, gp_encodings other, gp_verdict *out, advgp_error *err);
gp_encodings gp_encoding_pilot_present(const gp_encoding_pilot *pilot);
// Weights [n x d] of the directions that were taken; the pilot's. 0: none were.
size_t gp_encoding_pilot_directions(const gp_encoding_pilot *pilot, const double **weights);
void gp_encoding_pilot_free(gp_encoding_pilot *pilot);
