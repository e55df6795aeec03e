// step.c: the element-wise rules. The natural-gradient step and the closed-form noise work on M x M statistics:
// model/qw.h.
#include "optim/step.h"

#include <math.h>

double gp_prox_shrink(double value, double gamma)
{
    return value / (1 + gamma);
}

// The positive root of (1 + gamma) u^2 - value u - gamma = 0, in the form that does not cancel on its side of 0.
double gp_prox_diagonal(double value, double gamma)
{
    const double root = sqrt(value * value + 4 * (1 + gamma) * gamma);
    return value >= 0 ? (value + root) / (2 * (1 + gamma)) : 2 * gamma / (root - value);
}

// Walks over the elements of a part in order and knows which are on the diagonal of U.
typedef struct cursor {
    gp_theta_layout layout;
    size_t diagonal, row; // index of the next U_ii, and its i
} cursor;

static cursor cursor_at(gp_theta_layout layout, size_t first)
{
    cursor c = {layout, layout.U, 0};
    while (c.diagonal < first) c.diagonal += layout.M - c.row++;
    return c;
}

static double prox_element(cursor *c, size_t i, double value, double gamma)
{
    if (i < c->layout.n_rest) return value;
    if (i != c->diagonal) return gp_prox_shrink(value, gamma);
    c->diagonal += c->layout.M - c->row++;
    return gp_prox_diagonal(value, gamma);
}

void gp_step_prox(gp_theta_layout layout, gp_range part, double gamma, const double *gradient, double *theta)
{
    cursor c = cursor_at(layout, part.first);
    for (size_t i = 0; i < part.count; i++)
        theta[i] = prox_element(&c, part.first + i, theta[i] - gamma * gradient[i], gamma);
}

// One element of ADADELTA: its accumulators move, its step is returned.
static double adadelta_element(gp_adadelta *state, size_t i, double g)
{
    const double r = state->decay, eps = state->epsilon;
    state->acc_g[i] = r * state->acc_g[i] + (1 - r) * g * g;
    const double step = sqrt(state->acc_u[i] + eps) / sqrt(state->acc_g[i] + eps) / state->damping;
    const double u = step * g;
    state->acc_u[i] = r * state->acc_u[i] + (1 - r) * u * u;
    return step;
}

void gp_step_adadelta(gp_theta_layout layout, gp_range part, gp_adadelta *state, const double *gradient, double *theta,
                      double *steps)
{
    cursor c = cursor_at(layout, part.first);
    for (size_t i = 0; i < part.count; i++) {
        const double step = adadelta_element(state, i, gradient[i]);
        theta[i] = prox_element(&c, part.first + i, theta[i] - step * gradient[i], step);
        if (steps) steps[i] = step;
    }
}

void gp_step_adam(gp_adam *state, size_t n, const double *gradient, double *theta)
{
    state->t++;
    const double correct1 = 1 - pow(state->beta1, (double)state->t), correct2 = 1 - pow(state->beta2, (double)state->t);
    for (size_t i = 0; i < n; i++) {
        const double g = gradient[i];
        state->m[i] = state->beta1 * state->m[i] + (1 - state->beta1) * g;
        state->v[i] = state->beta2 * state->v[i] + (1 - state->beta2) * g * g;
        const double rate = state->unit ? state->rate * state->unit[i] : state->rate;
        theta[i] -= rate * (state->m[i] / correct1) / (sqrt(state->v[i] / correct2) + state->epsilon);
    }
}
