// eigen_group.h: the eigenvector features of one group of inducing inputs, phi = scale diag(lambda)^-1/2 Q^T k_m(x):
// all of nystrom, and each group of ensemble.
#pragma once
#include "linalg/factor.h"
#include "linalg/mat.h"

#include <stdbool.h>

size_t gp_eigen_group_scratch(size_t m); // doubles; make leaves there what pull needs

// T (m x rank, a view) from K (m x m, a view, diagonal a0sq), eigenvalues in descending order. Climbs the ladder until
// the smallest kept eigenvalue stands above rounding; false if it never does.
bool gp_eigen_group_make(gp_cmat K, double a0sq, double scale, gp_rung *rung, gp_mat T, double *scratch);

// Whether T (m x rank, a view) is such a matrix for K and this jitter, whichever eigenvectors of (nearly) equal
// eigenvalues it took: T^T (K + jitter a0sq I) T = scale^2 I, which is what keeps Phi Phi^T below K_nn.
bool gp_eigen_group_is(gp_cmat K, double a0sq, double jitter, double scale, gp_cmat T, double *scratch);

// G (m x m, a view) = dF/dK from D = dF/dT (m x rank, a view; destroyed). follows: of F with a q(w) that turns as the
// eigenvectors do.
void gp_eigen_group_pull(gp_cmat T, gp_mat D, double scale, bool follows, gp_mat G, double *scratch);
