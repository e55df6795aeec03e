// basis_rotation.h: q(w) follows its features when they turn. A step moves the inducing inputs, and the features with
// them. A Cholesky factor moves smoothly; eigenvectors swap places, change sign and turn among their like, and a q(w)
// that stayed behind would speak of other features: training would forget what it knows. So q(w) is carried over by O =
// Q'^T Q, the rotation from the old eigenvectors to the new ones: mu <- O mu, Sigma <- O Sigma O^T, and directions that
// are new at a lower rank begin at the prior. The shape of a component says `follows` where this is done; its gradient
// is then the one along with q(w).
#pragma once
#include "base/status.h"
#include "model/theta.h"

typedef struct gp_basis_rotation gp_basis_rotation;

// *out is NULL where nothing of f is to be followed: keep and carry then do nothing.
advgp_status gp_basis_rotation_new(const gp_features *f, gp_basis_rotation **out, advgp_error *err);
void gp_basis_rotation_free(gp_basis_rotation *rotation);

// Before the parameters move: remembers the vectors of f.
void gp_basis_rotation_keep(gp_basis_rotation *rotation, const gp_features *f);
// After they did and f was set again: mu and U of theta in the new features. ENUMERIC leaves them as they were.
advgp_status gp_basis_rotation_carry(gp_basis_rotation *rotation, const gp_features *f, double *theta,
                                     advgp_error *err);
