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

// Proxes the q(w) part of theta; gamma[i * stride] is the step of element i, so one number serves with stride 0.
static void prox_q(gp_theta_layout layout, const double *gamma, size_t stride, double *theta)
{
    for (size_t i = layout.n_rest; i < layout.U; i++) theta[i] = gp_prox_shrink(theta[i], gamma[i * stride]);
    size_t at = layout.U;
    for (size_t i = 0; i < layout.M; i++) {
        theta[at] = gp_prox_diagonal(theta[at], gamma[at * stride]);
        at++;
        for (size_t j = i + 1; j < layout.M; j++, at++) theta[at] = gp_prox_shrink(theta[at], gamma[at * stride]);
    }
}

void gp_step_prox(gp_theta_layout layout, double gamma, const double *gradient, double *theta)
{
    for (size_t i = 0; i < layout.size; i++) theta[i] -= gamma * gradient[i];
    prox_q(layout, &gamma, 0, theta);
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

void gp_step_adadelta(gp_theta_layout layout, gp_adadelta *state, const double *gradient, double *theta, double *steps)
{
    size_t diagonal = layout.U, row = 0; // index of the next U_ii, and its i
    for (size_t i = 0; i < layout.size; i++) {
        const double step = adadelta_element(state, i, gradient[i]);
        theta[i] -= step * gradient[i];
        if (steps) steps[i] = step;
        if (i < layout.n_rest) continue;
        if (i == diagonal) {
            theta[i] = gp_prox_diagonal(theta[i], step);
            diagonal += layout.M - row++;
        } else {
            theta[i] = gp_prox_shrink(theta[i], step);
        }
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
        theta[i] -= state->rate * (state->m[i] / correct1) / (sqrt(state->v[i] / correct2) + state->epsilon);
    }
}
