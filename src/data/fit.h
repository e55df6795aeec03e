// fit.h: the sums of the first pass, between fit.c, which gathers them, and decide.c, which turns them into a schema.
#pragma once
#include "data/moments.h"
#include "data/sample.h"
#include "data/schema.h"
#include "data/usable.h"

typedef struct gp_candidate {          // a column that may become an input
    size_t column;                     // of the source
    bool forced;                       // --encode spoke
    const gp_encoding *encoding;       // as forced; else what its type or its texts suggest
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
    void *own;                // as in gp_input
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

// For encodings. The values of a chunk; finite ones of usable rows and their weights side by side in fit->x and fit->w,
// *n of them, and the others counted as missing.
advgp_status gp_fit_numbers(gp_fit *fit, gp_candidate *c, const gp_chunk *chunk, const double **values, size_t *n,
                            advgp_error *err);
advgp_status gp_fit_missing(gp_fit *fit, gp_candidate *c, const gp_chunk *chunk, size_t k, advgp_error *err);
const gp_column *gp_fit_column(const gp_fit *fit, const gp_candidate *c);
// Sets those of an encoded column; the second of one that is 1 in rows of this weight, and else 0.
void gp_fit_scale(gp_schema *schema, size_t j, double mean, double variance);
void gp_fit_share(gp_schema *schema, size_t j, double weight);
extern const char gp_spread_is_unusable[]; // words of a message
