// modelcheck.c: what must hold of the numbers of any model, asked of what is read and of what is to be written: a file
// that advgp would refuse it does not write.
#include "store/modelfile.h"

#include <math.h>
#include <stdbool.h>

static bool rises(size_t n, const double *x)
{
    for (size_t i = 1; i < n; i++)
        if (!(x[i] >= x[i - 1])) return false;
    return true;
}

static advgp_status check_calibration(const gp_model *model, advgp_status bad, advgp_error *err)
{
    for (size_t i = 0; model->calibration && i < GP_CALIBRATION_LEVELS; i++)
        if (!(model->calibration[i] >= (i ? model->calibration[i - 1] : model->signed_scores ? -INFINITY : 0)))
            return gp_fail(err, bad, "its calibration falls at level %zu", i);
    if (model->signed_scores && !(model->calibration_tails[0] > 0 && model->calibration_tails[1] > 0))
        return gp_fail(err, bad, "the tails of its calibration are %g and %g, which must be above 0",
                       model->calibration_tails[0], model->calibration_tails[1]);
    return ADVGP_OK;
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

static advgp_status check_noise(const gp_model *model, advgp_status bad, advgp_error *err)
{
    const gp_schema *s = model->noise->schema;
    const double low = model->noise_range[0], high = model->noise_range[1], limit = 100; // e^100 is no scale
    if (!(low <= high && fabs(low) <= limit && fabs(high) <= limit && fabs(s->y_scale) <= limit &&
          fabs(s->y_mean) <= limit))
        return gp_fail(err, bad, "its noise has no scale: ln s from %g to %g, about %g", low, high, s->y_mean);
    return ADVGP_OK;
}

advgp_status gp_model_check(const gp_model *model, advgp_status bad, advgp_error *err)
{
    if (!(model->stats.n >= 0 && model->stats.yy >= 0))
        return gp_fail(err, bad, "its statistics are of no data: n %g, yy %g", model->stats.n, model->stats.yy);
    advgp_status st = check_calibration(model, bad, err);
    if (st == ADVGP_OK && model->groups) st = check_groups(model->groups, bad, err);
    if (st == ADVGP_OK && model->noise) st = check_noise(model, bad, err);
    return st;
}
