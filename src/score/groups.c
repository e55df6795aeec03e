// groups.c: limits of the groups, the scores of each, and where unseen rows lie among them (conformal prediction by
// shares of a distribution: what holds for the ranks of scores holds for those of shares).
#include "score/groups.h"
#include "base/alloc.h"
#include "base/sort.h"
#include "base/whole.h"

#include <math.h>
#include <string.h>

enum { GROUP_ROWS_MIN = 30 }; // where means are tied a group may have fewer: it has the scores of all

// ---- rows -----------------------------------------------------------------------------------------------------------

advgp_status gp_scored_rows_init(gp_scored_rows *rows, size_t capacity, advgp_error *err)
{
    *rows = (gp_scored_rows){.capacity = capacity, .mean = gp_alloc(3 * capacity + 1, sizeof(double))};
    if (!rows->mean) return gp_no_memory(err);
    rows->sd = rows->mean + capacity, rows->score = rows->sd + capacity;
    return ADVGP_OK;
}

void gp_scored_rows_fini(gp_scored_rows *rows)
{
    gp_free(rows->mean);
    *rows = (gp_scored_rows){0};
}

void gp_scored_rows_add(gp_scored_rows *rows, double y, double mean, double sd)
{
    if (rows->n == rows->capacity) return;
    rows->mean[rows->n] = mean, rows->sd[rows->n] = sd, rows->score[rows->n] = (y - mean) / sd;
    rows->n++;
}

// ---- limits ---------------------------------------------------------------------------------------------------------

// The last of each share but the highest, of n values, which are sorted here.
static void set_limits(double *values, size_t n, size_t shares, double *limits)
{
    gp_sort(values, n);
    for (size_t k = 1; k < shares; k++) {
        const size_t below = n * k / shares;
        limits[k - 1] = n ? values[below ? below - 1 : 0] : 0;
    }
}

static void cut(gp_scored_rows rows, double *scratch, gp_score_groups *g)
{
    memcpy(scratch, rows.mean, rows.n * sizeof *scratch);
    set_limits(scratch, rows.n, GP_GROUPS_BY_MEAN, g->means);
    for (size_t k = 0; k < GP_GROUPS_BY_MEAN; k++) {
        size_t n = 0;
        for (size_t i = 0; i < rows.n; i++)
            if (gp_group_of(g, rows.mean[i], 0) / GP_GROUPS_BY_SD == k) scratch[n++] = rows.sd[i];
        set_limits(scratch, n, GP_GROUPS_BY_SD, g->sds[k]);
    }
}

// ---- the scores of a group ------------------------------------------------------------------------------------------

typedef struct shape {
    const double *sorted;
    size_t n;
    double tail[2];
} shape;

static shape shape_of(const double *sorted, size_t n)
{
    return (shape){sorted, n, {gp_mean_excess(sorted, n, false), gp_mean_excess(sorted, n, true)}};
}

// The share of scores below e: score j of n, from 0, is at (j + 1/2) / n, straight lines between, exponential beyond.
static double share_of(const shape *s, double e)
{
    const double n = (double)s->n;
    if (e < s->sorted[0]) return 0.5 / n * exp((e - s->sorted[0]) / s->tail[0]);
    if (e > s->sorted[s->n - 1]) return 1 - 0.5 / n * exp((s->sorted[s->n - 1] - e) / s->tail[1]);
    size_t below = 0, end = s->n; // scores below e; the first above
    for (size_t high = s->n; below < high;) {
        const size_t i = (below + high) / 2;
        if (s->sorted[i] < e)
            below = i + 1;
        else
            high = i;
    }
    for (size_t low = below; low < end;) {
        const size_t i = (low + end) / 2;
        if (s->sorted[i] <= e)
            low = i + 1;
        else
            end = i;
    }
    if (end > below) return 0.5 * (double)(below + end) / n; // the middle of ties
    const double before = s->sorted[below - 1], after = s->sorted[below];
    return ((double)below - 0.5 + (e - before) / (after - before)) / n;
}

static double score_at(const shape *s, double share)
{
    const double n = (double)s->n, at = share * n - 0.5;
    if (at < 0) return s->sorted[0] + s->tail[0] * log(fmax(share, 1e-12) * 2 * n);
    if (at > n - 1) return s->sorted[s->n - 1] - s->tail[1] * log(fmax(1 - share, 1e-12) * 2 * n);
    const size_t j = gp_index(at, s->n - 1);
    const double next = s->sorted[j + 1 < s->n ? j + 1 : j];
    return s->sorted[j] + (at - (double)j) * (next - s->sorted[j]);
}

// Scores of the rows of each group, sorted, one group after the other from sorted + rows.n on; before them those of
// all.
static void sort_scores(gp_scored_rows rows, const gp_score_groups *g, double *sorted, shape shapes[GP_GROUPS])
{
    memcpy(sorted, rows.score, rows.n * sizeof *sorted);
    gp_sort(sorted, rows.n);
    const shape all = shape_of(sorted, rows.n);
    double *next = sorted + rows.n;
    for (size_t k = 0; k < GP_GROUPS; k++) {
        size_t n = 0;
        for (size_t i = 0; i < rows.n; i++)
            if (gp_group_of(g, rows.mean[i], rows.sd[i]) == k) next[n++] = rows.score[i];
        gp_sort(next, n);
        shapes[k] = n >= GROUP_ROWS_MIN ? shape_of(next, n) : all;
        next += n;
    }
}

static double same(double u)
{
    return u;
}

// Shares of n unseen rows are off from u by chance, u (1 - u) / n in the mean square, and by what training did to the
// rows that it has seen. The square over what chance makes of it, averaged over all levels (the statistic of Anderson
// and Darling), is 1 by chance, and hardly ever 2.5. Up to the first the unseen rows say nothing that left-out ones,
// which are many, do not know better; from the second on they alone are believed.
static void leave_out_chance(double *shares, size_t n)
{
    enum { LAST = GP_CALIBRATION_LEVELS - 1 };
    static const double by_chance = 1, not_by_chance = 2.5;
    double squares = 0;
    for (size_t i = 1; i < LAST; i++) {
        const double u = (double)i / LAST;
        squares += (double)n * (shares[i] - u) * (shares[i] - u) / (u * (1 - u));
    }
    const double off = squares / (LAST - 1);
    const double believed = fmin(fmax((off - by_chance) / (not_by_chance - by_chance), 0), 1);
    for (size_t i = 1; i < LAST; i++) shares[i] = believed * shares[i] + (1 - believed) * (double)i / LAST;
    shares[0] = shares[1], shares[LAST] = shares[LAST - 1]; // as in every table of quantiles
}

advgp_status gp_score_groups_new(gp_scored_rows left_out, gp_scored_rows unseen, gp_score_groups **out,
                                 advgp_error *err)
{
    shape shapes[GP_GROUPS];
    double shares[GP_CALIBRATION_LEVELS];
    gp_score_groups *g = gp_alloc(1, sizeof *g);
    double *sorted = gp_alloc(2 * left_out.n + unseen.n, sizeof *sorted);
    *out = NULL;
    if (!g || !sorted) {
        gp_free(g);
        gp_free(sorted);
        return gp_no_memory(err);
    }
    double *share = sorted + 2 * left_out.n;
    cut(left_out, sorted, g);
    sort_scores(left_out, g, sorted, shapes);
    for (size_t i = 0; i < unseen.n; i++)
        share[i] = share_of(&shapes[gp_group_of(g, unseen.mean[i], unseen.sd[i])], unseen.score[i]);
    gp_sort(share, unseen.n);
    gp_fill_quantiles(shares, share, unseen.n, true, same);
    leave_out_chance(shares, unseen.n);
    for (size_t k = 0; k < GP_GROUPS; k++) {
        for (size_t i = 0; i < GP_CALIBRATION_LEVELS; i++) g->quantiles[k][i] = score_at(&shapes[k], shares[i]);
        memcpy(g->tails[k], shapes[k].tail, sizeof g->tails[k]);
    }
    gp_free(sorted);
    *out = g;
    return ADVGP_OK;
}
