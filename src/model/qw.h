// qw.h: what follows from the statistics alone, without another look at the rows: the optimal q(w), the collapsed
// bound, the best noise, and the natural-gradient step. docs/math.md 4.
#pragma once
#include "base/status.h"
#include "model/pass.h"

// Workspace for M features; sized once.
typedef struct gp_qw gp_qw;
advgp_status gp_qw_new(size_t M, gp_qw **out, advgp_error *err);
void gp_qw_free(gp_qw *qw);

// One natural-gradient step of size rate in (0, 1] on q(w): mu[M] and packed U are replaced.
//     Sigma^-1 <- (1 - rate) Sigma^-1 + rate (I + beta scale A),   Sigma^-1 mu <- (1 - rate) Sigma^-1 mu + rate beta
//     scale b
// Where it is ended (linalg/interrupt.h) both stay as they are.
// scale stretches the statistics of a batch to all rows. rate = 1 on all rows is the optimum whatever mu and U were.
advgp_status gp_qw_natural(gp_qw *qw, const gp_stats *stats, double scale, double ln_sigma, double rate, double *mu,
                           double *U, advgp_error *err);

// Optimal q(w) for the given statistics and noise: Sigma* = (I + beta A)^-1 = U^T U, mu* = beta Sigma* b. mu and U may
// be NULL. *neg_elbo, if not NULL, becomes the collapsed bound (Titsias), which is the bound at this q(w).
advgp_status gp_qw_optimal(gp_qw *qw, const gp_stats *stats, double ln_sigma, double *mu, double *U, double *neg_elbo,
                           advgp_error *err);

// The ln sigma that minimises the collapsed bound at fixed statistics (q(w) optimal for each), and the bound there (may
// be NULL).
advgp_status gp_qw_best_noise(gp_qw *qw, const gp_stats *stats, double *ln_sigma, double *neg_elbo, advgp_error *err);

// The ln sigma that minimises the bound at fixed q(w): sigma^2 = (1/n) [yy - 2 b^T mu + tr(A (S - E)) + n sum a0^2],
// closed form.
advgp_status gp_qw_noise(gp_qw *qw, const gp_stats *stats, const double *mu, const double *U, double *ln_sigma,
                         advgp_error *err);

// The largest jitter, relative to the mean of the diagonal, that this workspace has had to add to a precision to factor
// it; 0: none. It stands for q(w) of a slightly larger precision, so whoever makes a model says so.
double gp_qw_jitter(const gp_qw *qw);

// What the last natural step or optimum was solved from: Sigma^-1 (M x M) and Sigma^-1 mu.
gp_cmat gp_qw_precision(const gp_qw *qw);
const double *gp_qw_shift(const gp_qw *qw);
