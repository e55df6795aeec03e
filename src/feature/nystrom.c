// nystrom.c: phi = diag(lambda)^-1/2 Q^T k_m(x), the R largest eigenpairs of K_mm: a variational EigenGP.
// docs/math.md 2.
#include "feature/eigen_group.h"
#include "feature/map.h"

static advgp_status nystrom_features(const gp_map_shape *shape, size_t *M, advgp_error *err)
{
    if (shape->rank > shape->m)
        return gp_fail(err, ADVGP_EINVAL, "rank %zu is above the number of inducing inputs, %zu", shape->rank,
                       shape->m);
    *M = shape->rank ? shape->rank : shape->m;
    return ADVGP_OK;
}

static size_t nystrom_scratch(const gp_map_shape *shape)
{
    return gp_eigen_group_scratch(shape->m);
}

static advgp_status nystrom_make(const gp_map_shape *shape, gp_cmat K, double a0sq, const double *rho, gp_rung *rung,
                                 gp_mat T, double *scratch, advgp_error *err)
{
    (void)rho;
    if (gp_eigen_group_make(K, a0sq, 1, rung, T, scratch)) return ADVGP_OK;
    return gp_fail(err, ADVGP_ENUMERIC,
                   "K_mm of %zu inducing inputs has no %zu positive eigenvalues, even with relative jitter %g: "
                   "lower the rank, or are length-scales extreme?",
                   shape->m, T.cols, rung->jitter);
}

static advgp_status nystrom_take(const gp_map_shape *shape, gp_cmat K, double a0sq, const gp_rung *rung, gp_cmat T,
                                 double *scratch, advgp_error *err)
{
    if (gp_eigen_group_is(K, a0sq, rung->jitter, 1, T, scratch)) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "the given map is not made of eigenvectors of its %zu inducing inputs", shape->m);
}

static void nystrom_pull(const gp_map_shape *shape, gp_cmat T, gp_mat D, const double *rho, gp_mat G, double *g_rho,
                         double *scratch)
{
    (void)rho, (void)g_rho;
    gp_eigen_group_pull(T, D, 1, shape->follows, G, scratch);
}

const gp_map gp_map_nystrom = {
    .name = "nystrom",
    .summary = "largest eigenvectors of K_mm (--rank of them): fewer features than inducing inputs",
    .has_rank = true,
    .features = nystrom_features,
    .scratch = nystrom_scratch,
    .make = nystrom_make,
    .take = nystrom_take,
    .pull = nystrom_pull,
};
