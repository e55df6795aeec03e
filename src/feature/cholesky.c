// cholesky.c: the paper's map (11): phi = L^T k_m(x) with K_mm^-1 = L L^T, L lower triangular. L = R^-T where K_mm = R
// R^T with R upper triangular, so K_mm itself is never inverted. phi_j depends on z_j .. z_m only.
#include "feature/map.h"
#include "linalg/dense.h"

static advgp_status cholesky_features(const gp_map_shape *shape, size_t *M, advgp_error *err)
{
    (void)err;
    *M = shape->m;
    return ADVGP_OK;
}

static size_t cholesky_scratch(const gp_map_shape *shape)
{
    (void)shape;
    return 0;
}

static advgp_status cholesky_make(const gp_map_shape *shape, gp_cmat K, double a0sq, const double *rho, gp_rung *rung,
                                  gp_mat T, double *scratch, advgp_error *err)
{
    (void)rho, (void)scratch;
    const size_t m = shape->m;
    if (!gp_cholesky_ladder(K, a0sq, rung, T)) // R
        return gp_fail(err, ADVGP_ENUMERIC,
                       "K_mm of %zu inducing inputs has no Cholesky factor, even with relative jitter %g: "
                       "are length-scales or inducing inputs extreme?",
                       m, rung->jitter);
    gp_invert_upper(T);
    for (size_t i = 0; i < m; i++) // L = R^-T
        for (size_t j = 0; j < i; j++) T.p[i * m + j] = T.p[j * m + i], T.p[j * m + i] = 0;
    return ADVGP_OK;
}

// dF = tr(N dL L^-1) and dL = -L Psi^T o (L^T dK L), hence G = -L (N o Psi) L^T with N = dF/dL^T L and Psi upper
// triangular: 1/2 on the diagonal, 1 above. (The paper's appendix has N transposed: docs/math.md 3.) D is N^T. Only G +
// G^T counts, so N o Psi may be made symmetric before.
static void cholesky_pull(const gp_map_shape *shape, gp_cmat T, gp_mat D, const double *rho, gp_mat G, double *g_rho,
                          double *scratch)
{
    (void)rho, (void)g_rho, (void)scratch;
    const size_t m = shape->m;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j <= i; j++) G.p[i * m + j] = -0.5 * D.p[i * m + j];
    gp_mat_mirror_lower(G);
    gp_trmm_right(GP_LOWER, GP_TRANSPOSED, T, G);
    gp_trmm_left_symmetric(GP_LOWER, GP_AS_IS, T, G);
}

const gp_map gp_map_cholesky = {
    .name = "cholesky",
    .summary = "inverse Cholesky factor of K_mm: fastest, as exact as any map of the same inducing inputs",
    .lower = true,
    .features = cholesky_features,
    .scratch = cholesky_scratch,
    .make = cholesky_make,
    .pull = cholesky_pull,
};
