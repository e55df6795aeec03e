// score.c: RMSE, mean absolute error and mean negative log probability in the target's own units.
#include "score/score.h"

#include <math.h>

double gp_predicted_mean(const gp_schema *schema, double mean, double var_y)
{
    const double centre = schema->y_mean + schema->y_scale * mean;
    return schema->log_target ? exp(centre + 0.5 * var_y * schema->y_scale * schema->y_scale) : centre;
}

void gp_score_add(gp_score *score, const gp_schema *schema, double w, double y, double mean, double var_y)
{
    const double target = gp_schema_target(schema, y), off = target - gp_predicted_mean(schema, mean, var_y);
    const double half_ln_2pi = 0.91893853320467274178;
    score->n += w;
    score->squares += w * off * off;
    score->absolute += w * fabs(off);
    // Density of the target itself: the scale, and for a logarithm its derivative 1/target, enter once.
    score->nlp += w * (half_ln_2pi + 0.5 * log(var_y) + 0.5 * (y - mean) * (y - mean) / var_y + log(schema->y_scale) +
                       (schema->log_target ? log(target) : 0));
}

double gp_score_rmse(const gp_score *score)
{
    return score->n > 0 ? sqrt(score->squares / score->n) : NAN;
}

double gp_score_mae(const gp_score *score)
{
    return score->n > 0 ? score->absolute / score->n : NAN;
}

double gp_score_mnlp(const gp_score *score)
{
    return score->n > 0 ? score->nlp / score->n : NAN;
}
