// metric.c: the table of metrics, and sums over rows.
#include "score/metric.h"
#include "score/score.h"

#include <math.h>
#include <stddef.h>

const double gp_levels[GP_LEVELS] = {0.5, 0.8, 0.9, 0.95, 0.99};
const double gp_judged_level = 0.9;

// ---- the metrics ----------------------------------------------------------------------------------------------------

bool gp_is_inside(const gp_judged *r, size_t level)
{
    const double e = (r->y - r->mean) / r->calibrated.sd, *ends = r->score_ends[level];
    return ends[0] <= e && e <= ends[1];
}

// What a row adds to the sum of a metric, at r->level where it has several.
#define ADDS(metric, number)                       \
    static double metric##_add(const gp_judged *r) \
    {                                              \
        return number;                             \
    }
ADDS(coverage, gp_is_inside(r, r->level) * r->w)
ADDS(coverage_gaussian, (fabs((r->y - r->mean) / r->calibrated.sd) <= r->gaussian[r->level]) * r->w)
ADDS(square, (r->error / r->unit) * r->w * (r->error / r->unit))
ADDS(mae, fabs(r->error) * r->w)
ADDS(mnlp, gp_gaussian_nlp(r->calibrated.schema, r->y, r->mean, r->var_y) * r->w)
ADDS(mnlp_calibrated, -gp_distribution_log_density(&r->calibrated, r->target) * r->w)
ADDS(crps, gp_distribution_crps(&r->calibrated, r->target) * r->w)
ADDS(width, (r->ends[r->level][1] - r->ends[r->level][0]) * r->w)
ADDS(winkler, gp_winkler(r->ends[GP_JUDGED], gp_judged_level, r->target) * r->w)

static double rmse(const gp_sums *s, double squares)
{
    return s->unit * sqrt(squares / s->n);
}

static double r2(const gp_sums *s, double squares)
{
    return 1 - squares / (s->off_squares - s->off * s->off / s->n);
}

static double rmse_error(const gp_doubts *d)
{
    return d->unit * gp_doubt_rmse(d->rows, d->n);
}

static double r2_error(const gp_doubts *d)
{
    return gp_doubt_r2(d->rows, d->n);
}

static double share_error(const gp_doubts *d)
{
    return gp_doubt_share(d->value, d->worth);
}

// ---- the table ------------------------------------------------------------------------------------------------------

#define ROW(metric, ...)                                                                \
    [GP_METRIC_##metric] = {.name = #metric,                                            \
                            .at = offsetof(gp_figures, metric) / sizeof(double),        \
                            .n = sizeof(((gp_figures *)NULL)->metric) / sizeof(double), \
                            __VA_ARGS__}

const gp_metric gp_metrics[GP_N_METRICS] = {
    ROW(coverage, .label = "inside", .of = "calibrated", .unit = GP_UNIT_SHARE, .by_group = true, .add = coverage_add,
        .error = share_error),
    ROW(coverage_gaussian, .label = "inside", .of = "Gaussian", .unit = GP_UNIT_SHARE, .add = coverage_gaussian_add),
    ROW(rmse, .label = "RMSE", .means = "typical error", .unit = GP_UNIT_TARGET, .by_group = true, .add = square_add,
        .value = rmse, .error = rmse_error),
    ROW(mae, .label = "MAE", .means = "mean absolute error", .unit = GP_UNIT_TARGET, .add = mae_add),
    ROW(r2, .label = "R2", .title = "R\u00b2", .means = "1 is perfect, 0 the mean", .add = square_add, .value = r2,
        .error = r2_error),
    ROW(mnlp, .label = "MNLP", .of = "Gaussian", .unit = GP_UNIT_NATS, .decimals = 4, .ends_training = true,
        .add = mnlp_add),
    ROW(mnlp_calibrated, .label = "MNLP", .of = "calibrated", .unit = GP_UNIT_NATS, .decimals = 4,
        .ends_training = true, .add = mnlp_calibrated_add),
    ROW(crps, .label = "CRPS", .means = "error of the whole distribution", .unit = GP_UNIT_TARGET,
        .ends_training = true, .by_group = true, .add = crps_add),
    ROW(width, .label = "mean width", .unit = GP_UNIT_TARGET, .by_group = true, .add = width_add),
    ROW(winkler, .label = "Winkler", .of = "of the 90 % interval", .title = "Winkler score of the 90 % interval",
        .unit = GP_UNIT_TARGET, .ends_training = true, .by_group = true, .add = winkler_add),
};

// ---- rows and sums --------------------------------------------------------------------------------------------------

void gp_judge_row(gp_judged *r)
{
    for (size_t l = 0; l < GP_LEVELS; l++) {
        gp_distribution_score_ends(&r->calibrated, gp_levels[l], r->score_ends[l]);
        gp_distribution_interval(&r->calibrated, gp_levels[l], r->ends[l]);
    }
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++)
        for (r->level = 0; r->level < m->n; r->level++) r->adds[m->at + r->level] = m->add(r);
}

void gp_sums_add(gp_sums *s, const gp_judged *r)
{
    s->rows++;
    s->n += r->w, s->squares += r->w * r->w;
    s->off += r->w * r->off, s->off_squares += r->w * r->off * r->off;
    s->unit = r->unit;
    for (size_t i = 0; i < GP_N_FIGURES; i++) s->of[i] += r->adds[i];
}

double gp_sums_figure(const gp_sums *s, const gp_metric *m, size_t level)
{
    if (!(s->n > 0)) return NAN;
    const double sum = s->of[m->at + level];
    return m->value ? m->value(s, sum) : sum / s->n;
}

double gp_sums_judged(const gp_sums *s, const gp_metric *m)
{
    return gp_sums_figure(s, m, m->n == GP_LEVELS ? GP_JUDGED : 0);
}
