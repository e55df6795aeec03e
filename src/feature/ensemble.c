// ensemble.c: q groups of inducing inputs, each with eigenvector features, CONCATENATED with weight q^-1/2: Phi Phi^T
// is the average of q Nystrom approximations, hence never above K_nn. (The paper adds the vectors, which breaks that:
// docs/math.md 2.)
#include "feature/eigen_group.h"
#include "feature/map.h"
#include "linalg/dense.h"

#include <math.h>

static size_t group_rank(const gp_map_shape *shape, size_t l)
{
    const size_t rank = shape->group_rank ? shape->group_rank[l] : 0;
    return rank ? rank : shape->group_m[l];
}

static advgp_status ensemble_features(const gp_map_shape *shape, size_t *M, advgp_error *err)
{
    if (!shape->n_groups || !shape->group_m)
        return gp_fail(err, ADVGP_EINVAL, "the ensemble map needs at least one group of inducing inputs");
    size_t m = 0;
    *M = 0;
    for (size_t l = 0; l < shape->n_groups; l++) {
        if (!shape->group_m[l] || shape->group_m[l] > shape->m - m)
            return gp_fail(err, ADVGP_EINVAL, "group %zu has %zu inducing inputs: the groups must share %zu", l + 1,
                           shape->group_m[l], shape->m);
        if (group_rank(shape, l) > shape->group_m[l])
            return gp_fail(err, ADVGP_EINVAL, "rank %zu of group %zu is above its %zu inducing inputs",
                           group_rank(shape, l), l + 1, shape->group_m[l]);
        m += shape->group_m[l];
        *M += group_rank(shape, l);
    }
    if (m != shape->m) return gp_fail(err, ADVGP_EINVAL, "the groups hold %zu inducing inputs of %zu", m, shape->m);
    return ADVGP_OK;
}

static size_t ensemble_scratch(const gp_map_shape *shape)
{
    size_t sum = 0;
    for (size_t l = 0; l < shape->n_groups; l++) sum += gp_eigen_group_scratch(shape->group_m[l]);
    return sum;
}

// All groups at one rung; the first that does not hold climbs it.
static advgp_status make_groups(const gp_map_shape *shape, gp_cmat K, double a0sq, gp_rung *rung, gp_mat T,
                                double *scratch, advgp_error *err)
{
    const double scale = 1 / sqrt((double)shape->n_groups);
    const int climbs = rung->climbs;
    gp_mat_zero(T);
    for (size_t l = 0, row = 0, col = 0; l < shape->n_groups && rung->climbs == climbs; l++) {
        const size_t m = shape->group_m[l], rank = group_rank(shape, l);
        if (!gp_eigen_group_make(gp_cmat_part(K, row, row, m, m), a0sq, scale, rung, gp_mat_part(T, row, col, m, rank),
                                 scratch))
            return gp_fail(err, ADVGP_ENUMERIC,
                           "K_mm of the %zu inducing inputs of group %zu has no %zu positive eigenvalues, even with "
                           "relative jitter %g: lower the ranks, or are length-scales extreme?",
                           m, l + 1, rank, rung->jitter);
        row += m, col += rank, scratch += gp_eigen_group_scratch(m);
    }
    return ADVGP_OK;
}

// One jitter for all groups, so that a model file can tell it in one number: where a group climbs, all begin again
// there.
static advgp_status ensemble_make(const gp_map_shape *shape, gp_cmat K, double a0sq, const double *rho, gp_rung *rung,
                                  gp_mat T, double *scratch, advgp_error *err)
{
    (void)rho;
    int climbs;
    advgp_status st;
    do {
        climbs = rung->climbs;
        st = make_groups(shape, K, a0sq, rung, T, scratch, err);
    } while (st == ADVGP_OK && rung->climbs > climbs);
    return st;
}

static advgp_status ensemble_take(const gp_map_shape *shape, gp_cmat K, double a0sq, const gp_rung *rung, gp_cmat T,
                                  double *scratch, advgp_error *err)
{
    const double scale = 1 / sqrt((double)shape->n_groups);
    for (size_t l = 0, row = 0, col = 0; l < shape->n_groups; l++) {
        const size_t m = shape->group_m[l], rank = group_rank(shape, l);
        bool good = gp_eigen_group_is(gp_cmat_part(K, row, row, m, m), a0sq, rung->jitter, scale,
                                      gp_cmat_part(T, row, col, m, rank), scratch);
        for (size_t i = row; i < row + m; i++)
            for (size_t j = 0; j < T.cols; j++)
                if ((j < col || j >= col + rank) && T.p[i * T.ld + j] != 0) good = false; // groups never meet
        if (!good)
            return gp_fail(err, ADVGP_EINVAL,
                           "the given map is not made of eigenvectors of the %zu inducing inputs of group %zu", m,
                           l + 1);
        row += m, col += rank;
    }
    return ADVGP_OK;
}

static void ensemble_pull(const gp_map_shape *shape, gp_cmat T, gp_mat D, const double *rho, gp_mat G, double *g_rho,
                          double *scratch)
{
    (void)rho, (void)g_rho;
    const double scale = 1 / sqrt((double)shape->n_groups);
    gp_mat_zero(G); // inducing inputs of different groups never meet
    for (size_t l = 0, row = 0, col = 0; l < shape->n_groups; l++) {
        const size_t m = shape->group_m[l], rank = group_rank(shape, l);
        gp_eigen_group_pull(gp_cmat_part(T, row, col, m, rank), gp_mat_part(D, row, col, m, rank), scale,
                            shape->follows, gp_mat_part(G, row, row, m, m), scratch);
        row += m, col += rank, scratch += gp_eigen_group_scratch(m);
    }
}

const gp_map gp_map_ensemble = {
    .name = "ensemble",
    .summary =
        "groups of inducing inputs (--groups of them), each with eigenvectors of its own: many inducing inputs cheaply",
    .has_groups = true,
    .features = ensemble_features,
    .scratch = ensemble_scratch,
    .make = ensemble_make,
    .take = ensemble_take,
    .pull = ensemble_pull,
};
