// modelcheck.c: what must hold of the numbers of any model, asked of what is read and of what is to be written: a file
// that advgp would refuse it does not write.
#include "store/modelfile.h"

#include <math.h>

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
    advgp_status st = gp_calibration_check(&model->calibration, bad, err);
    if (st == ADVGP_OK && model->noise) st = check_noise(model, bad, err);
    return st;
}
