// calibration.c: scores by rank, then quantiles, shares and densities in closed form; what a file has of them.
#include "model/calibration.h"
#include "base/alloc.h"
#include "base/constants.h"
#include "base/sort.h"
#include "base/whole.h"

#include <math.h>
#include <string.h>

enum { LAST = GP_CALIBRATION_LEVELS - 1, MIDDLE = LAST / 2 };
enum { TAIL_ROWS = 25 }; // behind a mean excess, and between two edges of the density: fewer make it noise
static const double excess_least = 1e-3;

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

// ---- density --------------------------------------------------------------------------------------------------------

// Bins of at least TAIL_ROWS rows (a fifth of few), and none so narrow that it is an atom: one that would be goes on
// until it is not.
static void make_bins(size_t rows, gp_score_table t, gp_score_density *d)
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
    for (size_t side = 0; side < 2; side++) d->excess[side] = fmax(t.tails[side], 1e-3 * spread);
}

// ---- the object -----------------------------------------------------------------------------------------------------

// A model of format 1 knows factors of |e| alone: half of its scores are on either side.
static void make_symmetric(gp_calibration *c)
{
    const double *factors = c->factors;
    for (size_t i = 0; i <= LAST; i++) c->q[i] = i < MIDDLE ? -factors[LAST - 2 * i] : factors[2 * i - LAST];
    const size_t k = c->rows ? (LAST * tail_rows(c->rows) + c->rows) / (c->rows + 1) : 1;
    double sum = 0;
    for (size_t i = 1; i <= k; i++) sum += c->q[LAST - i] - c->q[LAST - 1 - k];
    c->tails[0] = c->tails[1] = fmax(sum / (double)k, excess_least);
}

void gp_calibration_ready(gp_calibration *c)
{
    if (c->factors) make_symmetric(c);
    make_bins(c->rows, gp_scores_of_all(c), &c->density);
}

// From what is sorted.
static void set(gp_calibration *c, const double *sorted, size_t n)
{
    gp_free(c->factors);
    c->factors = NULL;
    c->rows = n;
    gp_fill_quantiles(c->q, sorted, n, false, gp_gaussian_quantile);
    for (size_t side = 0; side < 2; side++) c->tails[side] = gp_mean_excess(sorted, n, side == 1);
    gp_calibration_ready(c);
}

void gp_calibration_init(gp_calibration *c)
{
    *c = (gp_calibration){0};
    set(c, NULL, 0);
}

void gp_calibration_fini(gp_calibration *c)
{
    gp_free(c->factors);
    gp_free(c->groups);
}

advgp_status gp_calibration_fit(gp_calibration *c, const double *scores, size_t n, advgp_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(scores[i]))
            return gp_fail(err, ADVGP_ENUMERIC, "calibration: score %zu of %zu is %g", i + 1, n, scores[i]);
    double *sorted = gp_alloc(n + 1, sizeof *sorted);
    if (!sorted) return gp_no_memory(err);
    if (n) memcpy(sorted, scores, n * sizeof *sorted);
    gp_sort(sorted, n);
    set(c, sorted, n);
    gp_free(sorted);
    return ADVGP_OK;
}

void gp_calibration_group(gp_calibration *c, gp_score_groups *groups_take)
{
    gp_free(c->groups);
    c->groups = groups_take;
}

// ---- in files -------------------------------------------------------------------------------------------------------

size_t gp_calibration_parts(gp_calibration *c, gp_calibration_part parts[GP_CALIBRATION_PARTS_MAX])
{
    size_t n = 0;
    gp_score_groups *g = c->groups;
    if (!c->rows) return 0;
    parts[n++] = (gp_calibration_part){"calibration", GP_CALIBRATION_LEVELS, 0, c->factors ? c->factors : c->q};
    if (c->factors) return n;
    parts[n++] = (gp_calibration_part){"calibration_tails", 2, 0, c->tails};
    if (!g) return n;
    parts[n++] = (gp_calibration_part){"group_means", GP_GROUPS_BY_MEAN - 1, 0, g->means};
    parts[n++] = (gp_calibration_part){"group_sds", GP_GROUPS_BY_MEAN, GP_GROUPS_BY_SD - 1, g->sds[0]};
    parts[n++] = (gp_calibration_part){"group_calibration", GP_GROUPS, GP_CALIBRATION_LEVELS, g->quantiles[0]};
    parts[n++] = (gp_calibration_part){"group_tails", GP_GROUPS, 2, g->tails[0]};
    return n;
}

advgp_status gp_calibration_expect(gp_calibration *c, bool has_tails, bool has_groups, advgp_error *err)
{
    if (!c->rows) return ADVGP_OK;
    if (!has_tails && !(c->factors = gp_alloc(GP_CALIBRATION_LEVELS, sizeof *c->factors))) return gp_no_memory(err);
    if (has_tails && has_groups && !(c->groups = gp_alloc(1, sizeof *c->groups))) return gp_no_memory(err);
    return ADVGP_OK;
}

static bool rises(size_t n, const double *x)
{
    for (size_t i = 1; i < n; i++)
        if (!(x[i] >= x[i - 1])) return false;
    return true;
}

static advgp_status check_groups(const gp_score_groups *g, advgp_status bad, advgp_error *err)
{
    if (!rises(GP_GROUPS_BY_MEAN - 1, g->means)) return gp_fail(err, bad, "its group_means fall");
    for (size_t k = 0; k < GP_GROUPS_BY_MEAN; k++)
        if (!rises(GP_GROUPS_BY_SD - 1, g->sds[k])) return gp_fail(err, bad, "its group_sds fall in row %zu", k);
    for (size_t k = 0; k < GP_GROUPS; k++) {
        if (!rises(GP_CALIBRATION_LEVELS, g->quantiles[k]))
            return gp_fail(err, bad, "its group_calibration falls in group %zu", k);
        if (!(g->tails[k][0] > 0 && g->tails[k][1] > 0))
            return gp_fail(err, bad, "its group_tails are %g and %g in group %zu, which must be above 0",
                           g->tails[k][0], g->tails[k][1], k);
    }
    return ADVGP_OK;
}

advgp_status gp_calibration_check(const gp_calibration *c, advgp_status bad, advgp_error *err)
{
    const double *table = c->factors ? c->factors : c->q;
    for (size_t i = 0; c->rows && i < GP_CALIBRATION_LEVELS; i++)
        if (!(table[i] >= (i ? table[i - 1] : c->factors ? 0 : -INFINITY)))
            return gp_fail(err, bad, "its calibration falls at level %zu", i);
    if (!(c->tails[0] > 0 && c->tails[1] > 0))
        return gp_fail(err, bad, "the tails of its calibration are %g and %g, which must be above 0", c->tails[0],
                       c->tails[1]);
    return c->groups ? check_groups(c->groups, bad, err) : ADVGP_OK;
}

// ---- answers --------------------------------------------------------------------------------------------------------

gp_score_table gp_scores_of_all(const gp_calibration *c)
{
    return (gp_score_table){c->q, c->tails};
}

size_t gp_group_of(const gp_score_groups *g, double mean, double sd)
{
    size_t a = 0, b = 0;
    while (a < GP_GROUPS_BY_MEAN - 1 && mean > g->means[a]) a++;
    while (b < GP_GROUPS_BY_SD - 1 && sd > g->sds[a][b]) b++;
    return a * GP_GROUPS_BY_SD + b;
}

gp_score_table gp_scores_of_row(const gp_calibration *c, double mean, double sd)
{
    const gp_score_groups *g = c->groups;
    if (!g) return gp_scores_of_all(c);
    const size_t k = gp_group_of(g, mean, sd);
    return (gp_score_table){g->quantiles[k], g->tails[k]};
}

bool gp_scores_reach(const gp_calibration *c, double u)
{
    const double rank = ((double)c->rows + 1) * fmin(u, 1 - u);
    return !c->rows || rank >= 1 - 1e-9;
}

// Entry `at` of a table, linear between two. 0.9 * 1000 must mean entry 900 and not a hair of the next.
static double between(const double *table, double at)
{
    const double low = fabs(at - round(at)) < 1e-9 ? round(at) : floor(at);
    const size_t i = gp_index(low, LAST - 1);
    const double share = fmax(0, at - low);
    return share > 1e-9 ? table[i] + share * (table[i + 1] - table[i]) : table[i];
}

double gp_scores_quantile(const gp_calibration *c, gp_score_table t, double u)
{
    if (!c->rows) return gp_gaussian_quantile(u);
    const double at = u * LAST;
    if (at < 1) return t.q[1] + t.tails[0] * log(at);
    if (at > LAST - 1) return t.q[LAST - 1] - t.tails[1] * log((1 - u) * LAST);
    return between(t.q, at);
}

double gp_scores_cdf(const gp_calibration *c, gp_score_table t, double e)
{
    if (!c->rows) return 0.5 * erfc(-e * sqrt(0.5));
    if (e < t.q[1]) return exp((e - t.q[1]) / t.tails[0]) / LAST;
    if (e >= t.q[LAST - 1]) return 1 - exp((t.q[LAST - 1] - e) / t.tails[1]) / LAST;
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

double gp_scores_log_density(const gp_calibration *c, gp_score_table t, double e)
{
    gp_score_density of_group;
    const gp_score_density *d = &c->density;
    if (t.q != c->q) make_bins(c->rows, t, &of_group), d = &of_group;
    if (!d->n_bins) return -GP_HALF_LN_2PI - 0.5 * e * e;
    const double first = d->edge[0], last = d->edge[d->n_bins];
    if (e < first) return log(d->beyond[0] / d->excess[0]) + (e - first) / d->excess[0];
    if (e >= last) return log(d->beyond[1] / d->excess[1]) - (e - last) / d->excess[1];
    size_t i = 0;
    while (e >= d->edge[i + 1]) i++;
    return log(d->share[i] / (d->edge[i + 1] - d->edge[i]));
}

void gp_scores_interval(const gp_calibration *c, gp_score_table t, double p, double ends[2])
{
    if (c->rows && !c->factors) {
        ends[0] = gp_scores_quantile(c, t, 0.5 * (1 - p)), ends[1] = gp_scores_quantile(c, t, 0.5 * (1 + p));
        return;
    }
    ends[1] = c->rows ? between(c->factors, p * LAST) : gp_gaussian_interval(p);
    ends[0] = -ends[1];
}
