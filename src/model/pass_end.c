// pass_end.c: from the sums over rows to statistics, bound and gradient: the algebra of a pass that no row sees.
// docs/math.md 3; letters as there.
#include "base/constants.h"
#include "linalg/dense.h"
#include "linalg/interrupt.h"
#include "model/pass_state.h"

#include <math.h>
#include <string.h>

// A, b and yy from the sums over columns: the only place where L~ meets them.
static void stats_from_columns(gp_pass *p)
{
    const gp_features *f = p->f;
    const size_t n_cols = f->n_cols, M = f->M;
    gp_mat_mirror_upper(p->C);
    for (size_t i = 0; i < n_cols; i++) p->c[i] = p->C.p[n_cols * p->C.ld + i];
    p->stats.yy = p->C.p[n_cols * p->C.ld + n_cols];
    gp_features_right(f, gp_cmat_part(gp_ro(p->C), 0, 0, n_cols, n_cols), p->CL);
    gp_features_left_t_symmetric(f, gp_ro(p->CL), p->stats.A);
    gp_features_left_t(f, gp_cmat_of(p->c, n_cols, 1), gp_mat_of(p->stats.b, M, 1));
}

static void stats_from_features(gp_pass *p)
{
    const size_t M = p->f->M;
    gp_cmat C = gp_ro(p->C);
    for (size_t j = 0; j < M; j++) p->stats.b[j] = C.p[j * C.ld + M];
    p->stats.yy = C.p[M * C.ld + M];
    for (size_t i = 1; i < M; i++) memmove(p->stats.A.p + i * M, C.p + i * C.ld, M * sizeof(double));
}

static void make_stats(gp_pass *p)
{
    const gp_features *f = p->f;
    if (p->by_features)
        stats_from_features(p);
    else
        stats_from_columns(p);
    gp_mat_mirror_upper(p->stats.A);
    p->stats.n = p->n;
    p->stats.residual = p->n * f->a0sq_sum;
    for (size_t j = 0; j < f->n_kernel_features; j++) p->stats.residual -= p->stats.A.p[j * f->M + j];
}

// sum of (y - phi mu)^2 + phi^T Sigma phi + residual: yy - b mu + tr(A (S - E) - b mu^T) + n a0^2.
static double squares(const gp_pass *p)
{
    double sum = p->stats.yy - gp_dot(p->layout.M, p->stats.b, p->mu) + p->stats.n * p->f->a0sq_sum;
    for (size_t j = 0; j < p->layout.M; j++) sum += p->diag[j];
    return sum;
}

// The diagonal of A (S - E) - b mu^T; both factors are symmetric.
static void make_diagonal(gp_pass *p)
{
    const size_t M = p->layout.M;
    for (size_t j = 0; j < M; j++)
        p->diag[j] = gp_dot(M, p->stats.A.p + j * M, p->SE.p + j * M) - p->stats.b[j] * p->mu[j];
}

// H^T [1 X] from what strips have summed.
static void make_HX(gp_pass *p)
{
    for (size_t b = 0, col = 0; p->lanes && b < p->f->n_components; b++) {
        const gp_component *c = &p->f->components[b];
        for (size_t j = 0; j < c->m; j++)
            for (size_t k = 0; k < p->HX.cols; k++)
                p->HX.p[(c->col + j) * p->HX.ld + k] = p->XH.p[k * p->XH.ld + col + j];
        col += gp_pass_padded(p, c->m);
    }
}

static void make_gradient(gp_pass *p, double sum_squares, double *grad)
{
    const size_t M = p->layout.M;
    make_HX(p);
    const double beta = p->beta;
    grad[0] = p->n - beta * sum_squares;
    const gp_feature_sums sums = {
        .n = p->n,
        .beta = beta,
        .A = gp_ro(p->stats.A),
        .b = p->stats.b,
        .CL = p->CL,
        .scratch = p->W,
        .c = p->c,
        .SE = gp_ro(p->SE),
        .mu = p->mu,
        .diag = p->diag,
        .HX = gp_ro(p->HX),
        .hxx = gp_ro(p->hxx),
    };
    gp_features_pull(p->f, &sums, grad);
    if (p->kind == GP_PASS_REST) return;
    double *g_mu = grad + p->layout.n_rest; // beta (A mu - b)
    memcpy(g_mu, p->stats.b, M * sizeof(double));
    gp_gemv(GP_AS_IS, beta, gp_ro(p->stats.A), p->mu, -beta, g_mu);
    const gp_mat U = gp_mat_of(p->f->scratch, M, M), UA = gp_mat_of(p->W, M, M);
    gp_upper_unpack(M, p->theta + p->layout.U, U);
    gp_mat_copy(gp_ro(p->stats.A), UA); // beta triu(U A)
    gp_trmm_left(GP_UPPER, GP_AS_IS, gp_ro(U), UA);
    for (size_t i = 0; i < M * M; i++) UA.p[i] *= beta;
    gp_upper_pack(gp_ro(UA), grad + p->layout.U);
}

static advgp_status check_finite(const gp_pass *p, double sum_g, const double *grad, advgp_error *err)
{
    const size_t M = p->layout.M;
    if (!isfinite(sum_g) || !gp_all_finite(M * M, p->stats.A.p) || !gp_all_finite(M, p->stats.b))
        return gp_fail(err, ADVGP_ENUMERIC, "the bound is not finite (%g over %g rows): a smaller step is needed",
                       sum_g, p->n);
    const size_t n = p->kind == GP_PASS_REST ? p->layout.n_rest : p->layout.size;
    if (!grad || gp_all_finite(n, grad)) return ADVGP_OK;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(grad[i]))
            return gp_fail(err, ADVGP_ENUMERIC, "the gradient is not finite in parameter %zu of %zu", i,
                           p->layout.size);
    return ADVGP_OK;
}

advgp_status gp_pass_end(gp_pass *pass, double *sum_g, double *grad, advgp_error *err)
{
    if (!pass || !pass->begun) return gp_fail(err, ADVGP_EINVAL, "pass: end before begin");
    if (grad && !gp_pass_wants_gradient(pass->kind))
        return gp_fail(err, ADVGP_EINVAL, "pass: a gradient was asked of a pass for statistics");
    pass->begun = false;
    make_stats(pass);
    make_diagonal(pass);
    const double sum_squares = squares(pass);
    const double value = pass->n * (GP_HALF_LN_2PI + pass->ln_sigma) + 0.5 * pass->beta * sum_squares;
    if (grad) make_gradient(pass, sum_squares, grad);
    if (sum_g) *sum_g = value;
    return gp_interrupt_status(check_finite(pass, value, grad, err), "a pass", err);
}

advgp_status gp_pass_kept_gradient(gp_pass *p, const double *theta, double *grad, advgp_error *err)
{
    if (!p || !theta || !grad || !p->keeps || p->begun)
        return gp_fail(err, ADVGP_EINVAL, "pass: a gradient of kept rows, and none are");
    p->kind = GP_PASS_REST;
    gp_pass_set_q(p, theta);
    gp_pass_add_kept(p);
    make_diagonal(p);
    make_gradient(p, squares(p), grad);
    return check_finite(p, 0, grad, err);
}

advgp_status gp_pass_run(gp_pass *pass, const double *theta, gp_pass_kind kind, gp_batch rows, double *sum_g,
                         double *grad, advgp_error *err)
{
    advgp_status st = gp_pass_begin(pass, theta, kind, err);
    if (st == ADVGP_OK) st = gp_pass_add(pass, rows, err);
    if (st == ADVGP_OK) st = gp_pass_end(pass, sum_g, grad, err);
    return st;
}

const gp_stats *gp_pass_stats(const gp_pass *pass)
{
    return pass ? &pass->stats : NULL;
}
