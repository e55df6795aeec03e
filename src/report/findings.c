// findings.c: sums and samples over rows. See findings.h.
#include "report/findings.h"
#include "base/alloc.h"
#include "base/whole.h"
#include "report/decode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

advgp_status gp_findings_init(gp_findings *f, const gp_model *model, const gp_linear *line, bool left_out,
                              const size_t drawn[2], uint64_t seed, advgp_error *err)
{
    const size_t d = model->schema->d;
    *f = (gp_findings){.drawn = {drawn[0], drawn[1]}, .has_linear = line != NULL, .rng = gp_rng_seeded(seed, 1)};
    advgp_status st = gp_tally_init(&f->tally, model, line, err);
    f->tally.left_out = left_out;
    gp_calibration_init(&f->gaussian);
    f->worst_x = gp_alloc(GP_WORST_ROWS, d * sizeof *f->worst_x);
    f->sample = gp_alloc(GP_SAMPLED_ROWS, sizeof *f->sample);
    f->typical = gp_alloc(GP_TYPICAL_ROWS, d * sizeof *f->typical);
    if (st == ADVGP_OK && (!f->worst_x || !f->sample || !f->typical)) st = gp_no_memory(err);
    return st;
}

void gp_findings_fini(gp_findings *f)
{
    gp_tally_fini(&f->tally);
    gp_free(f->worst_x);
    gp_free(f->sample);
    gp_free(f->typical);
    *f = (gp_findings){0};
}

// Row n (from 0) of a stream into a sample of that many: its place there, or SIZE_MAX. Every row has the same chance.
static size_t place_of(gp_rng *rng, size_t n, size_t room)
{
    if (n < room) return n;
    const size_t at = gp_rng_below(rng, n + 1);
    return at < room ? at : SIZE_MAX;
}

static void keep_worst(gp_findings *f, const gp_seen_row *row, const double *x)
{
    const size_t d = f->tally.schema->d;
    const double error = fabs(row->y - row->mean);
    size_t at = f->n_worst;
    while (at && fabs(f->worst[at - 1].y - f->worst[at - 1].mean) < error) at--;
    if (at == GP_WORST_ROWS) return;
    const size_t kept = f->n_worst < GP_WORST_ROWS ? f->n_worst : GP_WORST_ROWS - 1, moved = kept - at;
    memmove(f->worst + at + 1, f->worst + at, moved * sizeof *f->worst);
    memmove(f->worst_x + (at + 1) * d, f->worst_x + at * d, moved * d * sizeof *x);
    f->worst[at] = *row;
    memcpy(f->worst_x + at * d, x, d * sizeof *x);
    f->n_worst = kept + 1;
}

// CRPS of a Gaussian variable; where answers are logarithms or cut it is none.
static double crps_of(const gp_distribution *d, double target)
{
    static const double root_2pi = 2.5066282746310002, one_by_root_pi = 0.56418958354775628;
    const gp_schema *s = d->schema;
    if (s->log_target || s->bounded) return gp_distribution_crps(d, target);
    const double sd = d->sd * s->y_scale, z = (target - gp_predicted_mean(s, d->mean, 0)) / sd;
    return sd * (z * erf(z * 0.70710678118654752) + 2 * exp(-z * z / 2) / root_2pi - one_by_root_pi);
}

static void add_beside(gp_findings *f, gp_beside *b, double w, double y, double mean, double variance, double error)
{
    const gp_schema *s = f->tally.schema;
    const gp_distribution d = {.scores = &f->gaussian, .schema = s, .mean = mean, .sd = sqrt(variance)};
    const double target = gp_schema_target(s, y), off = target - gp_predicted_mean(s, mean, variance);
    const double gain = off * off - error * error;
    b->crps += w * crps_of(&d, target);
    b->inside += w * (fabs(y - mean) <= gp_gaussian_interval(gp_judged_level) * d.sd);
    b->gain += gain;
    b->gain_square += gain * gain;
}

void gp_findings_add(gp_findings *f, size_t number, double w, const double *x, double y, double mean, double var_y)
{
    gp_tally *t = &f->tally;
    const gp_schema *s = t->schema;
    const size_t n = t->sums.rows;
    const double error = gp_tally_add(t, w, x, y, mean, var_y)->error;
    const double sd = sqrt(var_y), score = (y - mean) / sd;
    const gp_distribution d = {.scores = t->scores, .schema = s, .mean = mean, .sd = sd};
    const double u = 1 - gp_distribution_exceeds(&d, gp_schema_target(s, y));
    f->weight += w;
    f->pit[gp_index(u * GP_PIT_BINS, GP_PIT_BINS - 1)] += w;
    add_beside(f, &f->mean, w, y, 0, 1, error);
    if (t->line)
        add_beside(f, &f->linear, w, y, t->left_out ? t->line->left_out[n] : gp_linear_predict(t->line, x),
                   t->line->variance, error);

    gp_seen_row row = {
        .number = number, .w = w, .y = gp_schema_target(s, y), .sd = gp_predicted_sd(s, mean, var_y), .score = score};
    double ends[2];
    gp_distribution_interval(&d, gp_judged_level, ends);
    row.mean = row.y - error, row.lo = ends[0], row.hi = ends[1];
    for (size_t i = 0; i < 2; i++)
        row.at[i] = f->drawn[i] == GP_NO_ROW ? NAN : gp_decode(s, &s->inputs[f->drawn[i]], x);
    keep_worst(f, &row, x);
    const size_t in_sample = place_of(&f->rng, n, GP_SAMPLED_ROWS), typical = place_of(&f->rng, n, GP_TYPICAL_ROWS);
    if (in_sample != SIZE_MAX) f->sample[in_sample] = row;
    if (typical != SIZE_MAX) memcpy(f->typical + typical * s->d, x, s->d * sizeof *x);
}

void gp_findings_end(gp_findings *f, gp_scored scored)
{
    const size_t n = f->tally.sums.rows;
    gp_tally_end(&f->tally, &f->all);
    f->all.scored = scored;
    f->n_sample = n < GP_SAMPLED_ROWS ? n : GP_SAMPLED_ROWS;
    f->n_typical = n < GP_TYPICAL_ROWS ? n : GP_TYPICAL_ROWS;
    for (size_t i = 0; i < GP_PIT_BINS; i++) f->pit[i] /= f->weight;
    f->mean.crps /= f->weight, f->mean.inside /= f->weight;
    f->linear.crps /= f->weight, f->linear.inside /= f->weight;
    for (size_t i = f->n_sample; i > 1; i--) { // where all rows are in it they still stand in the table's order
        const size_t k = gp_rng_below(&f->rng, i);
        const gp_seen_row row = f->sample[k];
        f->sample[k] = f->sample[i - 1];
        f->sample[i - 1] = row;
    }
}
