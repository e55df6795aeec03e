// relevance.c: slopes of the trend and of the kernels, added up.
#include "score/relevance.h"
#include "store/form.h"

#include <math.h>

// A process with covariance a0^2 kappa(r^2) has slopes of variance -2 a0^2 kappa'(0) eta.
static double slope_variance(const gp_kernel_view *c, size_t k)
{
    double at_zero = 0, slope = 0;
    gp_kernel_named(c->kernel)->eval(gp_mat_of(&at_zero, 1, 1), c->a0sq, &slope);
    return -2 * slope * exp(c->ln_eta[k]);
}

void gp_relevance(const gp_model *model, double *relevance, size_t *order)
{
    for (size_t k = 0; k < model->schema->d; k++) {
        const double trend = model->form->slope(model, k);
        double sum = trend * trend;
        for (size_t b = 0; b < model->form->n_kernels(model); b++) {
            const gp_kernel_view c = model->form->kernel(model, b);
            sum += slope_variance(&c, k);
        }
        relevance[k] = sqrt(sum);
        if (!order) continue;
        size_t at = k; // insertion, so that equals stay in the order of the table
        for (; at && relevance[order[at - 1]] < relevance[k]; at--) order[at] = order[at - 1];
        order[at] = k;
    }
}
