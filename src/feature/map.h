// map.h: feature maps. Every map is linear in the kernel columns: phi(x) = T^T k_m(x), with an m x M matrix T that
// depends on the inducing inputs through K_mm alone (and on rho for rvm). So a map is two functions: T from K_mm, and
// back, from the derivative of anything by T to its derivative by K_mm. Rows of data never reach this file.
// docs/math.md 2, 9.
//
// A new map is one file with one table, and one line of the list below; map_test.c then asks of it what it
// asks of all: K_nn - Phi Phi^T has no negative direction (the bound depends on it), phi scales with a0, derivatives
// match differences.
#pragma once
#include "base/status.h"
#include "linalg/factor.h"
#include "linalg/mat.h"

#include <stdbool.h>

// What a map is made for. Maps without groups ignore them; a rank of 0 means full. Arrays are borrowed.
typedef struct gp_map_shape {
    size_t m;                 // inducing inputs
    size_t rank;              // nystrom: eigenvectors kept
    size_t n_groups;          // ensemble: at least 1
    const size_t *group_m;    // [n_groups], adds up to m
    const size_t *group_rank; // [n_groups], or NULL: full
    // Maps of eigenvectors: q(w) is carried along when they turn (model/basis_rotation.h), so pull() is to give the
    // derivative along with it. That one has no small gaps of eigenvalues in its denominators.
    bool follows;
} gp_map_shape;

typedef struct gp_map {
    const char *name;    // what users type: --map nystrom
    const char *summary; // one line of help
    bool lower;          // T is square and lower triangular: products with it cost half. make() fails as a ladder ends
    bool has_rho;        // m further parameters rho
    bool has_rank;       // shape.rank counts
    bool has_groups;     // shape.n_groups, group_m and group_rank count

    // Checks the shape and gives M, the number of features.
    advgp_status (*features)(const gp_map_shape *shape, size_t *M, advgp_error *err);

    // Doubles of scratch; make() leaves there what pull() needs, so nothing else may write to it between the two.
    size_t (*scratch)(const gp_map_shape *shape);

    // T (m x M, contiguous) from K = K_mm without jitter (m x m, contiguous, diagonal a0sq). rung->jitter is the
    // relative jitter to start with; on return it says which one held. Fails with ADVGP_ENUMERIC if the ladder ends.
    advgp_status (*make)(const gp_map_shape *shape, gp_cmat K, double a0sq, const double *rho, gp_rung *rung, gp_mat T,
                         double *scratch, advgp_error *err);

    // For maps whose T is one of many: eigenvectors are arbitrary where eigenvalues nearly coincide, and another BLAS
    // may find others than those a model was computed with. So a model file keeps T, and take() stands in for make():
    // T is given, and only asked whether it is such a map of K at rung->jitter (docs/model-format.md). ADVGP_EINVAL if
    // not. NULL for maps that follow from K alone. After take() there is no pull().
    advgp_status (*take)(const gp_map_shape *shape, gp_cmat K, double a0sq, const gp_rung *rung, gp_cmat T,
                         double *scratch, advgp_error *err);

    // D = dF/dT (m x M) for any scalar F; of maps of the kind `lower` the lower triangle of T^T dF/dT, which is sooner
    // had. Writes G = dF/dK_mm (m x m, contiguous; not symmetrised, the diagonal may be anything because it does not
    // depend on Z or eta) and, for maps with rho, g_rho[m] = dF/drho. D is destroyed. Cannot fail.
    void (*pull)(const gp_map_shape *shape, gp_cmat T, gp_mat D, const double *rho, gp_mat G, double *g_rho,
                 double *scratch);
} gp_map;

// One line a map: the order users see, the default first.
#define GP_MAP_LIST(X) \
    X(cholesky)        \
    X(nystrom)         \
    X(ensemble)        \
    X(rvm)

#define X(name) extern const gp_map gp_map_##name;
GP_MAP_LIST(X)
#undef X

extern const gp_map *const gp_maps[];         // ends with NULL; in the order of the list
const gp_map *gp_map_named(const char *name); // NULL if there is none
