// pull.c: from sums over rows to the gradient in every parameter of the features. docs/math.md 3, 9.
#include "feature/features.h"
#include "linalg/dense.h"

// J = (G + G^T)/2 o K' off the diagonal: the derivative through K_mm, symmetrised, in place of G. row has 2 m doubles.
static void symmetrise_times_slope(const gp_component *c, size_t d, gp_mat G, double *row)
{
    double *slope = row + G.rows;
    for (size_t i = 0; i < G.rows; i++) {
        gp_component_slopes(c, d, i, row, slope);
        G.p[i * G.ld + i] = 0;
        for (size_t j = 0; j < i; j++) {
            const double value = 0.5 * (G.p[i * G.ld + j] + G.p[j * G.ld + i]) * slope[j];
            G.p[i * G.ld + j] = G.p[j * G.ld + i] = value;
        }
    }
}

// D = dF/dT for F = (sum_i w_i g_i) / beta: rows and features of component c of K~^T W (Phi (S - E) - y mu^T). T^T D is
// the same of Phi^T W (...) = A (S - E) - b mu^T; its lower triangle is what maps of that kind want (map.h).
static void derivative_by_T(const gp_component *c, const gp_feature_sums *s, gp_mat D)
{
    const bool lower = c->map->lower;
    const gp_cmat right = gp_cmat_part(s->SE, 0, c->feature, s->SE.rows, c->M);
    const double *y = lower ? s->b + c->feature : s->c + c->col, *mu = s->mu + c->feature;
    if (lower)
        gp_gemm_lower(gp_cmat_part(s->A, c->feature, 0, c->M, s->A.cols), right, D);
    else
        gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_cmat_part(gp_ro(s->CL), c->col, 0, c->m, s->CL.cols), right, 0, D);
    for (size_t i = 0; i < c->m; i++)
        for (size_t j = 0; j < (lower ? i + 1 : c->M); j++) D.p[i * D.ld + j] -= y[i] * mu[j];
}

static void pull_component(gp_features *f, const gp_component *c, const gp_feature_sums *s, size_t index, double *grad)
{
    const size_t d = f->d, m = c->m;
    const double ratio = c->kernel->slope_ratio != 0 ? c->kernel->slope_ratio : 1;
    double *g_ln_a0 = grad + c->param, *g_ln_eta = g_ln_a0 + 1, *g_Z = g_ln_eta + d, *g_rho = g_Z + m * d;

    *g_ln_a0 = s->n * c->a0sq; // every map scales with a0, jitter included
    for (size_t j = 0; j < c->M; j++) *g_ln_a0 += s->diag[c->feature + j];
    *g_ln_a0 *= s->beta;

    gp_mat D = gp_mat_of(s->scratch, m, c->M), JZ = gp_mat_of(f->J.p, m, d);
    derivative_by_T(c, s, D);
    // The sums over columns of an only component have had their use; others still wait for theirs.
    gp_mat J = gp_mat_of(f->n_components == 1 ? f->scratch : s->scratch + m * c->M, m, m);
    c->map->pull(&c->shape, gp_ro(c->T), D, c->rho, J, c->map->has_rho ? g_rho : NULL, c->scratch);
    if (c->map->has_rho)
        for (size_t j = 0; j < m; j++) g_rho[j] *= s->beta;
    symmetrise_times_slope(c, d, J, f->row);
    gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_ro(J), gp_ro(c->Z), 0, JZ);

    for (size_t k = 0; k < d; k++) g_ln_eta[k] = ratio * s->hxx.p[index * s->hxx.ld + k];
    for (size_t j = 0; j < m; j++) {
        const double *z = c->Z.p + j * d;
        const double *hx = s->HX.p + (c->col + j) * s->HX.ld; // [H^T 1, H^T X]
        double J1 = 0;
        for (size_t l = 0; l < m; l++) J1 += J.p[j * m + l];
        for (size_t k = 0; k < d; k++) {
            const double rows = ratio * (hx[1 + k] - hx[0] * z[k]); // H^T X - diag(H^T 1) Z
            const double inducing = JZ.p[j * d + k] - J1 * z[k];    // J Z - diag(J 1) Z
            g_Z[j * d + k] = -2 * s->beta * c->eta[k] * (rows + 2 * inducing);
            // sum_jl J_jl (z_j - z_l)^2 = -2 sum_j z_j (J Z - diag(J 1) Z)_j
            g_ln_eta[k] += z[k] * (ratio * (hx[0] * z[k] - 2 * hx[1 + k]) - 2 * inducing);
        }
    }
    for (size_t k = 0; k < d; k++) g_ln_eta[k] *= s->beta * c->eta[k];
}

size_t gp_features_pull_scratch(const gp_features *f)
{
    size_t most = 0;
    for (size_t b = 0; b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        const size_t here = c->m * (c->M + (f->n_components == 1 ? 0 : c->m));
        if (here > most) most = here;
    }
    return most;
}

void gp_features_pull(gp_features *f, const gp_feature_sums *s, double *grad)
{
    for (size_t b = 0; b < f->n_components; b++) pull_component(f, &f->components[b], s, b, grad);

    const double *diag = s->diag + f->n_kernel_features;
    if (f->trend != GP_TREND_NONE) grad[f->trend_param] = s->beta * diag[0];
    if (f->trend == GP_TREND_LINEAR) {
        double sum = 0;
        for (size_t k = 0; k < f->d; k++) sum += diag[1 + k];
        grad[f->trend_param + 1] = s->beta * sum;
    }
}
