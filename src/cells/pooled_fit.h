// pooled_fit.h: what processes of several cells have in common: one set of parameters for all of them, by the sum of
// their evidences. A cell of some hundred rows alone tells little of a dozen length-scales; several together tell where
// each is to begin.
#pragma once
#include "kernel/kernel.h"
#include "model/pass.h"

// The rows of one cell, with residuals as targets, and the logarithm of their spread: amplitude and noise are in units
// of it.
typedef struct gp_pooled_cell {
    gp_batch rows;
    double ln_spread;
} gp_pooled_cell;

typedef struct gp_pooled_options {
    const gp_kernel *kernel;
    size_t iterations;
    size_t threads; // no bit depends on them
    int (*stop)(void *ctx);
    void *stop_ctx;
} gp_pooled_options;

// start: [2 + d]: ln sigma and ln a0 less the spread, ln eta: where it begins, then the best found. *nlml: the negative
// evidence a row there. What cannot be computed (ENUMERIC) leaves start as good as it was.
advgp_status gp_pooled_fit(const gp_pooled_options *options, size_t n, const gp_pooled_cell *cells, double *start,
                           double *nlml, advgp_error *err);
