// fit.h: the sums of the first pass, between fit.c, which gathers them, and decide.c, which turns them into a schema.
#pragma once
#include "data/moments.h"
#include "data/sample.h"
#include "data/schema.h"
#include "data/usable.h"

typedef struct gp_candidate {          // a column that may become an input
    size_t column;                     // of the source
    bool forced;                       // --encode spoke
    gp_encoding encoding;              // as forced; else what its type suggests (ONEHOT stands for any text)
    gp_moments moments[GP_TIME_PARTS]; // NUMBER uses the first
    gp_categories categories;
    double *sampled; // NUMBER: values of the rows of the sample, NaN where missing; else NULL
    gp_limits clip;
    gp_warp warp;
    bool long_tailed;
    bool no_counter; // NUMBER: it is not one more in every row than in the row before
    size_t n_missing;
    double missing_weight;
    char unit[GP_UNIT_BYTES]; // as in gp_input
    gp_coerced buffer;
} gp_candidate;

typedef struct gp_fit {
    gp_source *source;
    const gp_schema_options *options;
    gp_split *split;
    gp_notes *notes;
    gp_roles roles;
    size_t *gaps;
    gp_candidate *candidates;
    size_t n_candidates;
    gp_usable usable;
    gp_moments y, fit_y; // of all usable rows; of those a target mean may use
    gp_categories groups;
    gp_sample sample;
    double *sampled_y; // targets of the rows of the sample
    double *x, *w;     // scratch: finite values of a chunk and their weights
    size_t capacity;
} gp_fit;

// readings.c: texts that are dates or numbers; sets encodings, and how they are written in the buffers.
advgp_status gp_fit_readings(gp_fit *fit, gp_progress progress, void *ctx, advgp_error *err);
advgp_status gp_fit_offset(gp_fit *fit, advgp_error *err); // offset.c: of a target with zeros under a logarithm
advgp_status gp_fit_decide(gp_fit *fit, gp_schema **out, advgp_error *err); // decide.c
