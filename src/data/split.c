// split.c: held-out rows by hashing.
#include "data/split.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/whole.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const uint64_t half_stream = 0x68616c66; // "half": unrelated to the hash that holds a row out

// The number held out is binomial; with this mean the chance of passing GP_HELD_OUT_MAX is below 1e-9.
static const double held_out_mean = 98000;

advgp_status gp_split_parse(const char *text, uint64_t seed, gp_split *out, advgp_error *err)
{
    *out = (gp_split){.seed = seed, .fraction = 0.05, .kind = GP_SPLIT_FRACTION};
    if (!text || !*text) return ADVGP_OK;
    if (strcmp(text, "none") == 0) return out->kind = GP_SPLIT_NONE, ADVGP_OK;
    if (strncmp(text, "group:", 6) == 0) {
        if (!text[6]) return gp_fail(err, ADVGP_EINVAL, "validation group: needs a column, as in group:customer");
        out->kind = GP_SPLIT_GROUP;
        out->name = text + 6;
        return ADVGP_OK;
    }
    bool last = strncmp(text, "last:", 5) == 0;
    const char *number = last ? text + 5 : text;
    char *end;
    double fraction = strtod(number, &end);
    bool whole = end != number && *end == 0;
    if (!whole && !last) {
        out->kind = GP_SPLIT_FILE;
        out->name = text;
        return ADVGP_OK;
    }
    if (!whole || !(fraction >= 0 && fraction < 1))
        return gp_fail(err, ADVGP_EINVAL,
                       "validation %s: a fraction from 0 to below 1 is needed, as in 0.05 or last:0.1", text);
    out->fraction = fraction;
    out->kind = fraction == 0 ? GP_SPLIT_NONE : last ? GP_SPLIT_LAST : GP_SPLIT_FRACTION;
    return ADVGP_OK;
}

void gp_split_settle(gp_split *split, size_t n_rows)
{
    split->n_rows = n_rows;
    if (n_rows < GP_HELD_OUT_MIN_ROWS && split->kind != GP_SPLIT_FILE) split->kind = GP_SPLIT_NONE;
    if (n_rows <= split->whole_rows && split->kind == GP_SPLIT_FRACTION) split->kind = GP_SPLIT_NONE;
    if (split->kind == GP_SPLIT_FRACTION) split->threshold = fmin(split->fraction, held_out_mean / (double)n_rows);
    if (split->kind == GP_SPLIT_LAST) split->fraction = fmin(split->fraction, (double)GP_HELD_OUT_MAX / (double)n_rows);
}

typedef struct group {
    double hash;
    size_t rows;
} group;

static int by_hash(const void *a, const void *b)
{
    double x = ((const group *)a)->hash, y = ((const group *)b)->hash;
    return (x > y) - (x < y);
}

advgp_status gp_split_settle_groups(gp_split *split, size_t n_rows, const double *hashes, const size_t *rows, size_t n,
                                    bool complete, advgp_error *err)
{
    gp_split_settle(split, n_rows);
    if (split->kind != GP_SPLIT_GROUP) return ADVGP_OK;
    if (complete && n < 2)
        return gp_fail(err, ADVGP_EDATA,
                       "validation group:%s: the column has one value only, so no group can be held out", split->name);
    double share = fmin(split->fraction, held_out_mean / (double)n_rows);
    split->threshold = share; // right on average where there are too many groups to keep
    if (!complete) return ADVGP_OK;
    group *groups = gp_alloc(n, sizeof *groups);
    if (!groups) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++) groups[i] = (group){.hash = hashes[i], .rows = rows[i]};
    qsort(groups, n, sizeof *groups, by_hash);
    size_t taken = 0, i = 0;
    do taken += groups[i++].rows;
    while (i + 1 < n && (double)taken < share * (double)n_rows);
    split->threshold = groups[i].hash; // the first that stays
    gp_free(groups);
    return ADVGP_OK;
}

double gp_split_group_hash(const gp_split *split, gp_text text)
{
    return (double)(XXH3_64bits_withSeed(text.p ? text.p : "", text.n, split->seed) >> 11) * 0x1p-53;
}

gp_part gp_split_half(uint64_t seed, size_t row)
{
    return gp_hash_u64(seed ^ half_stream, row) & 1 ? GP_STOP : GP_CALIBRATE;
}

static bool held_out(const gp_split *split, size_t row, double group_hash)
{
    switch (split->kind) {
    case GP_SPLIT_FRACTION:
        return gp_hash_uniform(split->seed, row) < split->threshold;
    case GP_SPLIT_GROUP:
        return group_hash < split->threshold;
    case GP_SPLIT_LAST:
        return row >= split->n_rows - gp_index(split->fraction * (double)split->n_rows, split->n_rows);
    case GP_SPLIT_NONE:
    case GP_SPLIT_FILE:
        break;
    }
    return false;
}

gp_part gp_split_part(const gp_split *split, size_t row, double group_hash)
{
    return held_out(split, row, group_hash) ? gp_split_half(split->seed, row) : GP_TRAIN;
}

bool gp_split_maybe(const gp_split *split, size_t row, double group_hash)
{
    gp_split open = *split;
    open.threshold = split->kind == GP_SPLIT_GROUP ? 0.5
                                                   : split->fraction; // few groups may need far more than the fraction
    return held_out(&open, row, group_hash);
}
