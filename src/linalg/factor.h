// factor.h: factors of symmetric matrices: the reverse Cholesky factor K = R R^T with R UPPER triangular (docs/math.md
// 2: its inverse transpose is the paper's L), the jitter ladder that makes it exist, and the symmetric eigenproblem.
// What is long can be ended on the way (interrupt.h): then it returns false, or leaves its result half done.
#pragma once
#include "linalg/mat.h"

#include <stdbool.h>

// Overwrites K (square, ld = cols; the strict lower part is not read) by R, upper triangular with positive diagonal and
// zeros below, such that K = R R^T. Returns false, with K destroyed, if a pivot is not above floor (>= 0); *bad_pivot,
// if not NULL, is its index.
bool gp_reverse_cholesky(gp_mat K, double floor, size_t *bad_pivot);

// Overwrites K (square, the strict upper part is not read) by G, lower triangular with zeros above, such that K = G
// G^T. False, with K destroyed, where K is not positive definite.
bool gp_cholesky(gp_mat K);

// R = R^-1 for upper triangular R with a non-zero diagonal; the strict lower part is neither read nor written.
void gp_invert_upper(gp_mat R);

// R = R R^T for upper triangular R, both triangles filled; the strict lower part is not read.
void gp_upper_square(gp_mat R);

// sum of ln R_ii
double gp_log_diagonal(gp_cmat R);

// The ladder of docs/math.md 8. K_mm + jitter * scale * I is tried with jitter, 10 jitter, ... up to 1e-2 (after 0
// comes 1e-10).
typedef struct gp_rung {
    double jitter; // relative, the one that held
    int climbs;    // 0: the first one did
} gp_rung;
enum { GP_LADDER_MAX_CLIMBS = 12 };
// The next rung, or false above the last.
bool gp_rung_climb(gp_rung *rung);
// R from K (left as it is; below the diagonal anything finite) by the first rung that holds, starting at rung->jitter.
// False if none does or K is not finite.
bool gp_cholesky_ladder(gp_cmat K, double scale, gp_rung *rung, gp_mat R);

// A = Q diag(lambda) Q^T, lambda ascending; A (square, ld = cols, both triangles filled) is overwritten: ROW j becomes
// the j-th eigenvector. work has gp_eigen_work(n) doubles. False if the iteration failed or A is not finite.
size_t gp_eigen_work(size_t n);
bool gp_eigen(gp_mat A, double *lambda, double *work);
// Above this it takes seconds to minutes, and another algorithm comes in panels.
enum { GP_EIGEN_LONG = 1024 };

// Where only Q^T b is wanted, for an A without negative directions but for rounding: lambda ascending, and Q^T b in
// place of b. A (as above) is destroyed; Q is never formed, which takes most of the time of gp_eigen. work has
// gp_spectrum_work(n) doubles. False as above, and where A has a negative direction.
size_t gp_spectrum_work(size_t n);
bool gp_spectrum(gp_mat A, double *lambda, double *b, double *work);

// U upper triangular, zeros below, with C = U^T U for a symmetric C that may be singular, by eigenvectors. Eigenvalues
// below 0 by no more than rounding count as 0; false where C has a negative direction or is not symmetric or finite.
// scratch has gp_semidefinite_scratch(n) doubles.
size_t gp_semidefinite_scratch(size_t n);
bool gp_semidefinite_factor(gp_cmat C, gp_mat U, double *scratch);
