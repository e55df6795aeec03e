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

static double add_coverage(const gp_judged *r, size_t level)
{
    return r->w * gp_is_inside(r, level);
}

static double coverage_error(const gp_doubts *d, double value)
{
    return gp_doubt_share(value, d->worth);
}

static double add_coverage_gaussian(const gp_judged *r, size_t level)
{
    return r->w * (fabs((r->y - r->mean) / r->calibrated.sd) <= r->gaussian[level]);
}

static double add_square(const gp_judged *r, size_t level)
{
    (void)level;
    return r->w * (r->error / r->unit) * (r->error / r->unit);
}

static double rmse(const gp_sums *s, double squares)
{
    return s->unit * sqrt(squares / s->n);
}

static double rmse_error(const gp_doubts *d, double value)
{
    (void)value;
    return d->unit * gp_doubt_rmse(d->rows, d->n);
}

static double add_mae(const gp_judged *r, size_t level)
{
    (void)level;
    return r->w * fabs(r->error);
}

static double r2(const gp_sums *s, double squares)
{
    return 1 - squares / (s->off_squares - s->off * s->off / s->n);
}

static double r2_error(const gp_doubts *d, double value)
{
    (void)value;
    return gp_doubt_r2(d->rows, d->n);
}

static double add_mnlp(const gp_judged *r, size_t level)
{
    (void)level;
    return r->w * gp_gaussian_nlp(r->calibrated.schema, r->y, r->mean, r->var_y);
}

static double add_mnlp_calibrated(const gp_judged *r, size_t level)
{
    (void)level;
    return -r->w * gp_distribution_log_density(&r->calibrated, r->target);
}

static double add_crps(const gp_judged *r, size_t level)
{
    (void)level;
    return r->w * gp_distribution_crps(&r->calibrated, r->target);
}

static double add_width(const gp_judged *r, size_t level)
{
    return r->w * (r->ends[level][1] - r->ends[level][0]);
}

static double add_winkler(const gp_judged *r, size_t level)
{
    (void)level;
    return r->w * gp_winkler(r->ends[GP_JUDGED], gp_judged_level, r->target);
}

// ---- the table ------------------------------------------------------------------------------------------------------

#define ROW(metric, ...)                                                                \
    [GP_METRIC_##metric] = {.name = #metric,                                            \
                            .at = offsetof(gp_figures, metric) / sizeof(double),        \
                            .n = sizeof(((gp_figures *)NULL)->metric) / sizeof(double), \
                            __VA_ARGS__}

const gp_metric gp_metrics[GP_N_METRICS] = {
    ROW(coverage, .label = "inside", .of = "calibrated", .unit = GP_UNIT_SHARE, .by_group = true, .add = add_coverage,
        .error = coverage_error),
    ROW(coverage_gaussian, .label = "inside", .of = "Gaussian", .unit = GP_UNIT_SHARE, .add = add_coverage_gaussian),
    ROW(rmse, .label = "RMSE", .means = "typical error", .unit = GP_UNIT_TARGET, .by_group = true, .add = add_square,
        .value = rmse, .error = rmse_error),
    ROW(mae, .label = "MAE", .means = "mean absolute error", .unit = GP_UNIT_TARGET, .add = add_mae),
    ROW(r2, .label = "R2", .title = "R\u00b2", .means = "1 is perfect, 0 the mean", .add = add_square, .value = r2,
        .error = r2_error),
    ROW(mnlp, .label = "MNLP", .of = "Gaussian", .unit = GP_UNIT_NATS, .decimals = 4, .ends_training = true,
        .add = add_mnlp),
    ROW(mnlp_calibrated, .label = "MNLP", .of = "calibrated", .unit = GP_UNIT_NATS, .decimals = 4,
        .ends_training = true, .add = add_mnlp_calibrated),
    ROW(crps, .label = "CRPS", .means = "error of the whole distribution", .unit = GP_UNIT_TARGET,
        .ends_training = true, .by_group = true, .add = add_crps),
    ROW(width, .label = "mean width", .unit = GP_UNIT_TARGET, .by_group = true, .add = add_width),
    ROW(winkler, .label = "Winkler", .of = "of the 90 % interval", .title = "Winkler score of the 90 % interval",
        .unit = GP_UNIT_TARGET, .ends_training = true, .by_group = true, .add = add_winkler),
};

// ---- rows and sums --------------------------------------------------------------------------------------------------

void gp_judge_row(gp_judged *r)
{
    for (size_t l = 0; l < GP_LEVELS; l++) {
        gp_distribution_score_ends(&r->calibrated, gp_levels[l], r->score_ends[l]);
        gp_distribution_interval(&r->calibrated, gp_levels[l], r->ends[l]);
    }
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++)
        for (size_t l = 0; l < m->n; l++) r->adds[m->at + l] = m->add(r, l);
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
