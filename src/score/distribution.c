// distribution.c: quantiles, probabilities and losses of a row in closed form.
#include "score/distribution.h"

#include <math.h>

enum { LAST = GP_CALIBRATION_LEVELS - 1 };
enum { TAIL_HALVINGS = 20 }; // how far CRPS follows a tail: to a share of 1e-9

bool gp_level_is_good(double p)
{
    return p >= 0.001 && p <= 0.999;
}

bool gp_quantile_is_good(double u)
{
    return u >= 0.0001 && u <= 0.9999;
}

static gp_score_table table_of(const gp_distribution *d)
{
    return gp_scores_of_row(d->scores, d->mean, d->sd);
}

static double value_of(const gp_distribution *d, double e)
{
    const gp_schema *s = d->schema;
    const double y = s->y_mean + s->y_scale * d->mean + e * (s->y_scale * d->sd);
    return gp_schema_cut(s, s->log_target ? exp(y) - s->log_offset : y);
}

static double score_of(const gp_distribution *d, double y) // -inf where a logarithm has no such value
{
    const double standardised = gp_schema_standardise(d->schema, y);
    return isnan(standardised) ? -INFINITY : (standardised - d->mean) / d->sd;
}

double gp_distribution_quantile(const gp_distribution *d, double u)
{
    return value_of(d, gp_scores_quantile(d->scores, table_of(d), u));
}

void gp_distribution_score_ends(const gp_distribution *d, double p, double ends[2])
{
    gp_scores_interval(d->scores, table_of(d), p, ends);
}

void gp_distribution_interval(const gp_distribution *d, double p, double ends[2])
{
    gp_distribution_score_ends(d, p, ends);
    for (size_t side = 0; side < 2; side++) ends[side] = value_of(d, ends[side]);
}

double gp_distribution_exceeds(const gp_distribution *d, double t)
{
    const gp_schema *s = d->schema;
    if (s->bounded && (t < s->bounds.lo || t >= s->bounds.hi)) return t < s->bounds.lo; // all of it lies within
    return 1 - gp_scores_cdf(d->scores, table_of(d), score_of(d, t));
}

double gp_distribution_log_density(const gp_distribution *d, double y)
{
    const gp_schema *s = d->schema;
    const double own = gp_scores_log_density(d->scores, table_of(d), score_of(d, y));
    return own - log(d->sd * s->y_scale) - (s->log_target ? log(y + s->log_offset) : 0);
}

// The integral of a product of two functions that are linear from u0 to u0 + h: f from f0 to f1, g from g0 to g1.
static double product(double h, double f0, double f1, double g0, double g1)
{
    return h / 6 * (2 * f0 * g0 + f0 * g1 + f1 * g0 + 2 * f1 * g1);
}

// Twice the pinball loss, integrated over quantiles that go from a at u0 to b at u1.
static double pinball_piece(double y, double u0, double a, double u1, double b)
{
    if (y >= b) return 2 * product(u1 - u0, y - a, y - b, u0, u1);
    if (y <= a) return 2 * product(u1 - u0, a - y, b - y, 1 - u0, 1 - u1);
    const double um = u0 + (u1 - u0) * (y - a) / (b - a);
    return 2 * product(um - u0, y - a, 0, u0, um) + 2 * product(u1 - um, 0, b - y, 1 - um, 1 - u1);
}

// From knot to knot: halving shares in the lower tail, the table, the same above. What is left is an atom at either
// end.
double gp_distribution_crps(const gp_distribution *d, double y)
{
    const gp_score_table t = table_of(d);
    double u = ldexp(1.0 / LAST, -TAIL_HALVINGS), sum = 0, value = 0;
    for (size_t k = 0; k <= LAST - 2 + 2 * TAIL_HALVINGS; k++) {
        const size_t i = k < TAIL_HALVINGS ? 1 : k - TAIL_HALVINGS + 1; // of the table
        const int halvings = k < TAIL_HALVINGS ? TAIL_HALVINGS - (int)k : i < LAST ? 0 : (int)(i - (LAST - 1));
        const size_t at = i < LAST ? i : LAST - 1;
        const double share = ldexp((double)(i < LAST ? i : 1) / LAST, -halvings), u1 = i < LAST ? share : 1 - share;
        const double out = halvings * log(2);
        const double e = t.q[at] + (i < LAST ? -t.tails[0] : t.tails[1]) * out;
        const double next = value_of(d, e);
        sum += k ? pinball_piece(y, u, value, u1, next) : pinball_piece(y, 0, next, u, next);
        u = u1, value = next;
    }
    return sum + pinball_piece(y, u, value, 1, value);
}

double gp_winkler(const double ends[2], double p, double y)
{
    const double miss = fmax(0, fmax(ends[0] - y, y - ends[1]));
    return ends[1] - ends[0] + 2 / (1 - p) * miss;
}
