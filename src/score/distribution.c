// distribution.c: scores by rank, then quantiles, probabilities and losses in closed form.
#include "score/distribution.h"
#include "base/alloc.h"
#include "base/constants.h"
#include "base/sort.h"
#include "base/whole.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = GP_CALIBRATION_LEVELS - 1, MIDDLE = LAST / 2 };
enum { TAIL_ROWS = 25 };     // behind a mean excess, and between two edges of the density: fewer make it noise
enum { TAIL_HALVINGS = 20 }; // how far CRPS follows a tail: to a share of 1e-9
static const double excess_least = 1e-3;

bool gp_level_is_good(double p)
{
    return p >= 0.001 && p <= 0.999;
}

bool gp_quantile_is_good(double u)
{
    return u >= 0.0001 && u <= 0.9999;
}

// ---- Gaussian -------------------------------------------------------------------------------------------------------

// Newton's steps on erf(s / sqrt 2) = p from s = 0: the function is concave, so they approach from below and never
// overshoot. erfc keeps the digits near p = 1.
double gp_gaussian_interval(double p)
{
    if (!(p > 0)) return 0;
    if (p >= 1) return INFINITY;
    double s = 0;
    for (int i = 0; i < 200; i++) {
        const double slope = sqrt(2 / acos(-1)) * exp(-s * s / 2);
        const double step = (erfc(s * sqrt(0.5)) - (1 - p)) / slope;
        s += step;
        if (!(step > 1e-15 * s)) break;
    }
    return s;
}

double gp_gaussian_quantile(double u)
{
    return u < 0.5 ? -gp_gaussian_interval(1 - 2 * u) : gp_gaussian_interval(2 * u - 1);
}

// ---- from scores to the table ---------------------------------------------------------------------------------------

// Rows beyond which a tail begins: TAIL_ROWS, a fifth of few rows, a thousandth of many.
static size_t tail_rows(size_t n)
{
    const size_t few = n / 5 < TAIL_ROWS ? n / 5 : TAIL_ROWS;
    return few > n / LAST ? few : n / LAST;
}

double gp_mean_excess(const double *sorted, size_t n, bool upper)
{
    const size_t k = tail_rows(n);
    if (k < 2) return 1 / gp_gaussian_interval(0.998); // about what a normal variable has
    double sum = 0;
    for (size_t j = 0; j < k; j++) sum += upper ? sorted[n - 1 - j] - sorted[n - 1 - k] : sorted[k] - sorted[j];
    return fmax(sum / (double)k, excess_least);
}

// From the outermost inwards: that of rank r = (n + 1) i / 1000, i <= 500, counted from the lower end or the upper, and
// where r is no whole number a point between the two at hand. Where the density is level, as of shares, what lies
// beyond falls in a straight line; where it falls as e^-x, a point has r / (n + 1) beyond it on average if it is, of
// the way from rank k to k + 1, at (k + 1)(r - k) / r. False where r < 1.
static bool at_rank(const double *sorted, size_t n, size_t i, bool upper, bool level, double *out)
{
    const size_t k = (n + 1) * i / LAST, rest = (n + 1) * i % LAST;
    if (k < 1) return false;
    const double outer = upper ? sorted[n - k] : sorted[k - 1];
    const double part = (double)rest / LAST, way = level ? part : (double)(k + 1) * part / ((double)k + part);
    *out = rest ? outer + way * ((upper ? sorted[n - k - 1] : sorted[k]) - outer) : outer;
    return true;
}

// Between the two middle ones of an even number of scores that point may be beyond the middle, which is where both ends
// meet.
void gp_fill_quantiles(double *table, const double *sorted, size_t n, bool level, double (*beyond)(double u))
{
    table[MIDDLE] = n ? 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]) : beyond(0.5);
    for (size_t i = MIDDLE; i-- > 1;) {
        const double u = (double)i / LAST;
        double *lower = &table[i], *upper = &table[LAST - i];
        if (!at_rank(sorted, n, i, false, level, lower)) *lower = beyond(u);
        if (!at_rank(sorted, n, i, true, level, upper)) *upper = beyond(1 - u);
        *lower = fmin(*lower, table[i + 1]);
        *upper = fmax(*upper, table[LAST - i - 1]);
    }
    table[0] = table[1], table[LAST] = table[LAST - 1];
}

advgp_status gp_model_calibrate(gp_model *model, double *scores, size_t n, advgp_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(scores[i]))
            return gp_fail(err, ADVGP_ENUMERIC, "calibration: score %zu of %zu is %g", i + 1, n, scores[i]);
    double *table = gp_alloc(GP_CALIBRATION_LEVELS, sizeof *table);
    if (!table) return gp_no_memory(err);
    gp_sort(scores, n);
    gp_fill_quantiles(table, scores, n, false, gp_gaussian_quantile);
    gp_free(model->calibration);
    model->calibration = table;
    model->n_calibration = n;
    model->signed_scores = true;
    for (size_t side = 0; side < 2; side++) model->calibration_tails[side] = gp_mean_excess(scores, n, side == 1);
    return ADVGP_OK;
}

// ---- which of the tables --------------------------------------------------------------------------------------------

typedef struct score_table {
    const double *q, *tail;
} score_table;

static score_table all_rows(const gp_scores *s)
{
    return (score_table){s->q, s->tail};
}

size_t gp_group_of(const gp_score_groups *g, double mean, double sd)
{
    size_t a = 0, b = 0;
    while (a < GP_GROUPS_BY_MEAN - 1 && mean > g->means[a]) a++;
    while (b < GP_GROUPS_BY_SD - 1 && sd > g->sds[a][b]) b++;
    return a * GP_GROUPS_BY_SD + b;
}

static score_table table_of(const gp_distribution *d)
{
    const gp_score_groups *g = d->scores->groups;
    if (!g) return all_rows(d->scores);
    const size_t k = gp_group_of(g, d->mean, d->sd);
    return (score_table){g->quantiles[k], g->tails[k]};
}

// ---- density --------------------------------------------------------------------------------------------------------

// Bins of at least TAIL_ROWS rows (a fifth of few), and none so narrow that it is an atom: one that would be goes on
// until it is not.
static void make_bins(size_t rows, score_table t, gp_score_density *d)
{
    size_t step = rows ? (LAST * tail_rows(rows) + rows) / (rows + 1) : 0;
    if (step < LAST / GP_DENSITY_BINS_MAX + 1) step = LAST / GP_DENSITY_BINS_MAX + 1;
    const size_t first = step, end = LAST - step;
    const double spread = t.q[end] - t.q[first];
    d->n_bins = 0;
    if (rows < 10 || !(spread > 0)) return;
    size_t from = first;
    d->edge[0] = t.q[first];
    for (size_t i = first + 1; i <= end; i++) {
        const double width = t.q[i] - d->edge[d->n_bins];
        if ((i - from < step && i < end) || !(width > 1e-3 * spread)) continue;
        d->share[d->n_bins++] = (double)(i - from) / LAST;
        d->edge[d->n_bins] = t.q[i];
        from = i;
    }
    if (d->n_bins) d->share[d->n_bins - 1] += (double)(end - from) / LAST; // ties at the end
    d->beyond[0] = (double)first / LAST, d->beyond[1] = (double)(LAST - end) / LAST;
    for (size_t side = 0; side < 2; side++) d->excess[side] = fmax(t.tail[side], 1e-3 * spread);
}

// ---- the scores of a model ------------------------------------------------------------------------------------------

// A model of format 1 knows factors of |e| alone: half of its scores are on either side.
static void make_symmetric(gp_scores *s, const double *factors)
{
    s->symmetric = factors;
    for (size_t i = 0; i <= LAST; i++) s->q[i] = i < MIDDLE ? -factors[LAST - 2 * i] : factors[2 * i - LAST];
    const size_t k = s->rows ? (LAST * tail_rows(s->rows) + s->rows) / (s->rows + 1) : 1;
    double sum = 0;
    for (size_t i = 1; i <= k; i++) sum += s->q[LAST - i] - s->q[LAST - 1 - k];
    s->tail[0] = s->tail[1] = fmax(sum / (double)k, excess_least);
}

void gp_scores_init(gp_scores *s, const gp_model *model)
{
    *s = (gp_scores){.rows = model->calibration ? model->n_calibration : 0, .groups = model->groups};
    if (!s->rows) {
        gp_fill_quantiles(s->q, NULL, 0, false, gp_gaussian_quantile);
        s->tail[0] = s->tail[1] = gp_mean_excess(NULL, 0, true);
    } else if (model->signed_scores) {
        memcpy(s->q, model->calibration, sizeof s->q);
        memcpy(s->tail, model->calibration_tails, sizeof s->tail);
    } else {
        make_symmetric(s, model->calibration);
    }
    make_bins(s->rows, all_rows(s), &s->density);
}

bool gp_scores_reach(const gp_scores *s, double u)
{
    const double rank = ((double)s->rows + 1) * fmin(u, 1 - u);
    return !s->rows || rank >= 1 - 1e-9;
}

// Entry `at` of a table, linear between two. 0.9 * 1000 must mean entry 900 and not a hair of the next.
static double between(const double *table, double at)
{
    const double low = fabs(at - round(at)) < 1e-9 ? round(at) : floor(at);
    const size_t i = gp_index(low, LAST - 1);
    const double share = fmax(0, at - low);
    return share > 1e-9 ? table[i] + share * (table[i + 1] - table[i]) : table[i];
}

static double quantile(const gp_scores *s, score_table t, double u)
{
    if (!s->rows) return gp_gaussian_quantile(u);
    const double at = u * LAST;
    if (at < 1) return t.q[1] + t.tail[0] * log(at);
    if (at > LAST - 1) return t.q[LAST - 1] - t.tail[1] * log((1 - u) * LAST);
    return between(t.q, at);
}

double gp_scores_quantile(const gp_scores *s, double u)
{
    return quantile(s, all_rows(s), u);
}

static double cdf(const gp_scores *s, score_table t, double e)
{
    if (!s->rows) return 0.5 * erfc(-e * sqrt(0.5));
    if (e < t.q[1]) return exp((e - t.q[1]) / t.tail[0]) / LAST;
    if (e >= t.q[LAST - 1]) return 1 - exp((t.q[LAST - 1] - e) / t.tail[1]) / LAST;
    size_t low = 1, high = LAST - 1; // q[low] <= e < q[high]
    while (high - low > 1) {
        const size_t i = (low + high) / 2;
        if (t.q[i] <= e)
            low = i;
        else
            high = i;
    }
    return ((double)low + (e - t.q[low]) / (t.q[high] - t.q[low])) / LAST;
}

double gp_scores_cdf(const gp_scores *s, double e)
{
    return cdf(s, all_rows(s), e);
}

static double log_density(const gp_score_density *d, double e)
{
    if (!d->n_bins) return -GP_HALF_LN_2PI - 0.5 * e * e;
    const double first = d->edge[0], last = d->edge[d->n_bins];
    if (e < first) return log(d->beyond[0] / d->excess[0]) + (e - first) / d->excess[0];
    if (e >= last) return log(d->beyond[1] / d->excess[1]) - (e - last) / d->excess[1];
    size_t i = 0;
    while (e >= d->edge[i + 1]) i++;
    return log(d->share[i] / (d->edge[i + 1] - d->edge[i]));
}

double gp_scores_log_density(const gp_scores *s, double e)
{
    return log_density(&s->density, e);
}

static void interval(const gp_scores *s, score_table t, double p, double ends[2])
{
    if (s->rows && !s->symmetric) {
        ends[0] = quantile(s, t, 0.5 * (1 - p)), ends[1] = quantile(s, t, 0.5 * (1 + p));
        return;
    }
    ends[1] = s->rows ? between(s->symmetric, p * LAST) : gp_gaussian_interval(p);
    ends[0] = -ends[1];
}

void gp_scores_interval(const gp_scores *s, double p, double ends[2])
{
    interval(s, all_rows(s), p, ends);
}

// ---- one row --------------------------------------------------------------------------------------------------------

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
    return value_of(d, quantile(d->scores, table_of(d), u));
}

void gp_distribution_score_ends(const gp_distribution *d, double p, double ends[2])
{
    interval(d->scores, table_of(d), p, ends);
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
    return 1 - cdf(d->scores, table_of(d), score_of(d, t));
}

double gp_distribution_log_density(const gp_distribution *d, double y)
{
    const gp_schema *s = d->schema;
    gp_score_density of_group;
    if (d->scores->groups) make_bins(d->scores->rows, table_of(d), &of_group);
    const double own = log_density(d->scores->groups ? &of_group : &d->scores->density, score_of(d, y));
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
    const score_table t = table_of(d);
    double u = ldexp(1.0 / LAST, -TAIL_HALVINGS), sum = 0, value = 0;
    for (size_t k = 0; k <= LAST - 2 + 2 * TAIL_HALVINGS; k++) {
        const size_t i = k < TAIL_HALVINGS ? 1 : k - TAIL_HALVINGS + 1; // of the table
        const int halvings = k < TAIL_HALVINGS ? TAIL_HALVINGS - (int)k : i < LAST ? 0 : (int)(i - (LAST - 1));
        const size_t at = i < LAST ? i : LAST - 1;
        const double share = ldexp((double)(i < LAST ? i : 1) / LAST, -halvings), u1 = i < LAST ? share : 1 - share;
        const double out = halvings * log(2);
        const double e = t.q[at] + (i < LAST ? -t.tail[0] : t.tail[1]) * out;
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
