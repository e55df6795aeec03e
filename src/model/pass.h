// pass.h: one pass over rows: block after block, the statistics of q(w), the bound and its gradient. docs/math.md 3.
// For the gradient Phi is never formed, whatever the map: sums run over kernel columns, and L~ is applied once at the
// end.
//
//     gp_pass_begin(pass, theta, GP_PASS_GRADIENT, err)   parameters -> K_mm, L~, M~
//     gp_pass_add(pass, rows, err)                        as often as there are rows, in any pieces
//     gp_pass_end(pass, &result, grad, err)               sums -> statistics, value, gradient
//
// A pass is one thread's workspace: it is sized once, and begin, add and end allocate nothing.
#pragma once
#include "base/status.h"
#include "feature/features.h"
#include "model/theta.h"

// Rows of data, borrowed: X is n x d, y has n entries, w n weights or NULL for ones. Inputs and targets are
// standardised by whoever reads the data; here they need only be finite. Rows of weight 0 are as if absent, whatever
// they hold.
typedef struct gp_batch {
    gp_cmat X;
    const double *y, *w;
} gp_batch;
gp_batch gp_batch_part(gp_batch rows, size_t first, size_t n);

// Additive statistics of all rows seen, in the features of the pass's theta: all that q(w), the noise and the bound
// need.
typedef struct gp_stats {
    gp_mat A;        // M x M: Phi^T W Phi, both triangles
    double *b;       // [M]: Phi^T W y
    double yy, n;    // y^T W y, sum of weights
    double residual; // sum_i w_i (k_ii - |phi_i|^2) over the kernel features
} gp_stats;

typedef struct gp_pass gp_pass;

// block_rows: rows taken together in one product; 0 chooses. features are borrowed and set by begin: one pass at a
// time.
advgp_status gp_pass_new(gp_features *features, size_t block_rows, gp_pass **out, advgp_error *err);
void gp_pass_free(gp_pass *pass);

typedef enum gp_pass_kind {
    GP_PASS_STATS,    // statistics only, to full precision: the finish pass
    GP_PASS_GRADIENT, // and everything for the gradient
    GP_PASS_REST,     // the same but for mu and U, whose gradients follow from the statistics
    GP_PASS_KEEP      // statistics as by STATS, of rows that fit into one block and are kept for gp_pass_kept_gradient
} gp_pass_kind;

// theta stays as it is, where it is, until end.
advgp_status gp_pass_begin(gp_pass *pass, const double *theta, gp_pass_kind kind, advgp_error *err);
advgp_status gp_pass_add(gp_pass *pass, gp_batch rows, advgp_error *err);

// Value of sum_i w_i g_i at theta (without h), and its gradient: in all of theta (layout.size entries), with a REST
// pass in its first n_rest. grad may be NULL, and must be for a STATS pass. Fails with ADVGP_ENUMERIC if anything is
// not finite.
advgp_status gp_pass_end(gp_pass *pass, double *sum_g, double *grad, advgp_error *err);

// begin, add, end over rows that are all in memory.
advgp_status gp_pass_run(gp_pass *pass, const double *theta, gp_pass_kind kind, gp_batch rows, double *sum_g,
                         double *grad, advgp_error *err);

// After a pass of the kind KEEP: the gradient that a REST pass over the same rows would give, without another look at
// them. theta differs from that of the pass in q(w) at most.
advgp_status gp_pass_kept_gradient(gp_pass *pass, const double *theta, double *grad, advgp_error *err);

// A gradient by columns has a relative error of about cond(K_mm) * 1e-16 in A. Where that would exceed the given loss,
// the pass forms Phi: twice the flops, no loss. Steps on mini-batches need no more than 1e-8 (their own noise is 1e-2);
// full batches keep the default.
#define GP_PASS_MAX_LOSS 1e-12
void gp_pass_set_max_loss(gp_pass *pass, double loss);

// Whether a REST pass may multiply for the gradient of inducing inputs, length-scales and amplitudes in single
// precision (statistics and value stay in double): half of its time, and an error of some 1e-5 of the gradient where
// the rows of a batch differ by more than the gradient itself. Where K_mm is conditioned so badly that it would exceed
// 1e-3, and on CPUs without strips, it does not. Weights beyond 1e36 may be beyond a float: ENUMERIC, which double is
// not. false at first.
void gp_pass_set_mixed(gp_pass *pass, bool mixed);

const gp_stats *gp_pass_stats(const gp_pass *pass); // valid after end, until the next begin
const gp_features *gp_pass_features(const gp_pass *pass);
