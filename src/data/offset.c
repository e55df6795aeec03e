// offset.c: a target under a logarithm may be 0 in some rows. Then a constant is added to all of them: half of what one
// in twenty of the positive targets stays below, so that a zero lies beside the small ones and is no outlier. One pass
// over the target alone finds it; a target without zeros has none.
#include "data/fit.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "base/whole.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double share = 0.05;

typedef struct targets {
    double *values; // those of a sample
    double least, least_positive;
} targets;

static advgp_status add_chunk(gp_fit *f, const gp_chunk *chunk, gp_sample *sample, targets *t, advgp_error *err)
{
    const double *y;
    advgp_status st = gp_coerce_numbers(f->source, (size_t)f->roles.target, chunk, &f->usable.target, &y, err);
    if (st == ADVGP_OK) st = gp_sample_chunk(sample, chunk->first_row, chunk->n_rows, y, err);
    for (size_t i = 0; st == ADVGP_OK && i < sample->n_picks; i++)
        t->values[sample->picks[i].slot] = y[sample->picks[i].k];
    for (size_t i = 0; st == ADVGP_OK && i < chunk->n_rows; i++) {
        if (!isfinite(y[i])) continue;
        t->least = fmin(t->least, y[i]);
        if (y[i] > 0) t->least_positive = fmin(t->least_positive, y[i]);
    }
    return st;
}

double gp_log_offset(double *y, size_t n)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(y[i]) && y[i] > 0) y[m++] = y[i];
    gp_sort(y, m);
    return m ? 0.5 * y[gp_index(share * (double)(m - 1), m - 1)] : 0;
}

static double offset_of(targets *t, size_t n)
{
    if (t->least > 0 || isinf(t->least_positive)) return 0; // a negative one is refused where it is met
    const double offset = gp_log_offset(t->values, n);
    return offset > 0 ? offset : 0.5 * t->least_positive;
}

static advgp_status look_at_target(gp_fit *f, gp_sample *sample, targets *t, advgp_error *err)
{
    const gp_chunk *chunk = NULL;
    memset(f->source->wanted, 0, f->source->n_columns * sizeof *f->source->wanted);
    f->source->wanted[f->roles.target] = true;
    advgp_status st = gp_source_rewind(f->source, err);
    while (st == ADVGP_OK) {
        st = gp_source_next(f->source, &chunk, err);
        if (st != ADVGP_OK || !chunk) break;
        st = add_chunk(f, chunk, sample, t, err);
    }
    return st;
}

advgp_status gp_fit_offset(gp_fit *f, advgp_error *err)
{
    if (!f->roles.log_target) return ADVGP_OK;
    const size_t n = f->source->n_columns;
    gp_sample sample = {0};
    targets t = {.least = INFINITY, .least_positive = INFINITY};
    bool *wanted = gp_alloc(n, sizeof *wanted);
    advgp_status st = wanted ? gp_sample_init(&sample, 1, f->split->seed, err) : gp_no_memory(err);
    if (st == ADVGP_OK && !(t.values = gp_alloc(sample.capacity, sizeof *t.values))) st = gp_no_memory(err);
    if (st == ADVGP_OK) {
        memcpy(wanted, f->source->wanted, n * sizeof *wanted);
        st = look_at_target(f, &sample, &t, err);
        memcpy(f->source->wanted, wanted, n * sizeof *wanted);
    }
    if (st == ADVGP_OK) f->roles.log_offset = offset_of(&t, sample.n);
    if (st == ADVGP_OK && f->roles.log_offset > 0)
        st = gp_notes_add(f->notes, err, 1, "the target '%s' is 0 in some rows: %.4g is added before its logarithm",
                          f->source->columns[f->roles.target].name, f->roles.log_offset);
    gp_sample_fini(&sample);
    gp_free(t.values);
    gp_free(wanted);
    return st;
}
