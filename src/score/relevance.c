// relevance.c: slopes of the trend, of the kernels and of the cells' kernels, added up.
#include "score/relevance.h"
#include "store/form.h"

#include <math.h>

// A process with covariance a0^2 kappa(r^2) has slopes of variance -2 a0^2 kappa'(0) eta.
static double slope_variance(const gp_kernel *kernel, double a0sq, double ln_eta)
{
    double at_zero = 0, slope = 0;
    kernel->eval(gp_mat_of(&at_zero, 1, 1), a0sq, &slope);
    return -2 * slope * exp(ln_eta);
}

// Of a cell as they are, by the rows of each: the geometric mean, since a cell in which a column hardly varies may have
// any length-scale there.
static double cells_variance(const gp_cells *cells, size_t k)
{
    double sum = 0, rows = 0;
    if (!cells) return 0;
    for (size_t i = 0; i < cells->shape.n; i++) {
        const double *theta = cells->theta + cells->theta_at[i] + 1; // behind ln sigma
        sum += cells->rows[i] * (2 * theta[0] + theta[1 + k]);
        rows += cells->rows[i];
    }
    return rows > 0 ? slope_variance(cells->shape.kernel, 1, sum / rows) : 0;
}

void gp_relevance(const gp_model *model, double *relevance, size_t *order)
{
    for (size_t k = 0; k < model->schema->d; k++) {
        const double trend = model->form->slope(model, k);
        double sum = trend * trend + cells_variance(model->cells, k);
        for (size_t b = 0; b < model->form->n_kernels(model); b++) {
            const gp_kernel_view c = model->form->kernel(model, b);
            sum += slope_variance(gp_kernel_named(c.kernel), c.a0sq, c.ln_eta[k]);
        }
        relevance[k] = sqrt(sum);
        if (!order) continue;
        size_t at = k; // insertion, so that equals stay in the order of the table
        for (; at && relevance[order[at - 1]] < relevance[k]; at--) order[at] = order[at - 1];
        order[at] = k;
    }
}
