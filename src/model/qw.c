// qw.c: algebra on M x M statistics. Sigma^-1 = V V^T with V upper triangular gives U = V^-1, so no inverse is ever
// factored.
#include "model/qw.h"
#include "base/alloc.h"
#include "base/constants.h"
#include "linalg/dense.h"
#include "linalg/interrupt.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct gp_qw {
    size_t M;
    gp_mat P, V, Q;         // M x M
    double *t, *lambda, *c; // [M]
    double *work;
    double jitter; // relative, the largest that a precision has needed
};

static void plan(gp_qw *qw, gp_arena *arena)
{
    const size_t M = qw->M;
    qw->P = gp_mat_of(gp_arena_doubles(arena, M * M), M, M);
    qw->V = gp_mat_of(gp_arena_doubles(arena, M * M), M, M);
    qw->Q = gp_mat_of(gp_arena_doubles(arena, M * M), M, M);
    qw->t = gp_arena_doubles(arena, M);
    qw->lambda = gp_arena_doubles(arena, M);
    qw->c = gp_arena_doubles(arena, M);
    qw->work = gp_arena_doubles(arena, gp_spectrum_work(M));
}

advgp_status gp_qw_new(size_t M, gp_qw **out, advgp_error *err)
{
    if (!out) return gp_fail(err, ADVGP_EINVAL, "q(w): nowhere to put the result");
    *out = NULL;
    if (!M) return gp_fail(err, ADVGP_EINVAL, "q(w): a model needs at least one feature");
    gp_qw shape = {.M = M};
    gp_arena arena = {0};
    (void)gp_arena_bytes(&arena, 1, sizeof shape);
    plan(&shape, &arena);
    if (!gp_arena_take(&arena)) return gp_fail(err, ADVGP_ENOMEM, "q(w): no memory for %zu features", M);
    gp_qw *self = gp_arena_bytes(&arena, 1, sizeof shape);
    plan(&shape, &arena);
    *self = shape;
    *out = self;
    return ADVGP_OK;
}

void gp_qw_free(gp_qw *qw)
{
    gp_free(qw);
}

static advgp_status check(const gp_qw *qw, const gp_stats *stats, const char *what, advgp_error *err)
{
    if (!qw || !stats || !stats->A.p || !stats->b) return gp_fail(err, ADVGP_EINVAL, "%s: no statistics given", what);
    if (stats->A.rows != qw->M)
        return gp_fail(err, ADVGP_EINVAL, "%s: statistics of %zu features, workspace for %zu", what, stats->A.rows,
                       qw->M);
    return ADVGP_OK;
}

// V from P. P is I + beta A or a mixture of such, never below the identity but for rounding in A: the ladder, relative
// to the mean of the diagonal, is for that. t = P^-1 t, half way through at V^-1 t.
static advgp_status factor_precision(gp_qw *qw, advgp_error *err)
{
    const size_t M = qw->M;
    double mean = 0;
    for (size_t i = 0; i < M; i++) mean += qw->P.p[i * M + i] / (double)M;
    gp_rung rung = {.jitter = 0};
    if (!isfinite(mean)) return gp_fail(err, ADVGP_ENUMERIC, "the precision of q(w) is not finite");
    gp_mat_copy(gp_ro(qw->P), qw->V);
    if (gp_reverse_cholesky(qw->V, 0, NULL)) return ADVGP_OK;
    if (gp_cholesky_ladder(gp_ro(qw->P), mean, &rung, qw->V)) {
        qw->jitter = fmax(qw->jitter, rung.jitter);
        return ADVGP_OK;
    }
    return gp_fail(err, ADVGP_ENUMERIC,
                   "the precision of q(w) is not positive: the noise may be too small (see ln sigma)");
}

// P = I + beta A scale, mixed with keep * P as it is.
static void mix_precision(gp_qw *qw, const gp_stats *stats, double keep, double share, double beta_scale)
{
    const size_t M = qw->M;
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < M; j++) {
            const double target = (i == j) + beta_scale * stats->A.p[i * stats->A.ld + j];
            double *p = &qw->P.p[i * M + j];
            *p = (keep != 0 ? keep * *p : 0) + share * target;
        }
}

// P = Sigma^-1 = U^-1 U^-T and t = Sigma^-1 mu from mu and packed U.
static bool current_precision(gp_qw *qw, const double *mu, const double *U)
{
    const size_t M = qw->M;
    gp_upper_unpack(M, U, qw->V);
    for (size_t i = 0; i < M; i++)
        if (!(fabs(qw->V.p[i * M + i]) > 0)) return false;
    gp_invert_upper(qw->V);
    gp_mat_copy(gp_ro(qw->V), qw->P);
    gp_upper_square(qw->P);
    gp_gemv(GP_AS_IS, 1, gp_ro(qw->P), mu, 0, qw->t);
    return gp_all_finite(M * M, qw->P.p) && gp_all_finite(M, qw->t);
}

// mu = P^-1 t and U = V^-1 from P and t. Leaves V^-1 t in c. Where someone ends it, mu and U stay as they are.
static advgp_status solve(gp_qw *qw, double *mu, double *U, advgp_error *err)
{
    const size_t M = qw->M;
    advgp_status st = factor_precision(qw, err);
    if (st == ADVGP_OK && U) {
        gp_mat_copy(gp_ro(qw->V), qw->Q);
        gp_invert_upper(qw->Q);
    }
    st = gp_interrupt_status(st, "the solution for q(w)", err);
    if (st != ADVGP_OK) return st;
    if (U) gp_upper_pack(gp_ro(qw->Q), U);
    memcpy(qw->c, qw->t, M * sizeof(double));
    gp_trsm_left(GP_UPPER, GP_AS_IS, gp_ro(qw->V), gp_mat_of(qw->c, M, 1));
    if (mu) {
        memcpy(mu, qw->c, M * sizeof(double));
        gp_trsm_left(GP_UPPER, GP_TRANSPOSED, gp_ro(qw->V), gp_mat_of(mu, M, 1));
    }
    if ((mu && !gp_all_finite(M, mu)) || (U && !gp_all_finite(M * (M + 1) / 2, U)))
        return gp_fail(err, ADVGP_ENUMERIC, "the optimal q(w) is not finite");
    return ADVGP_OK;
}

advgp_status gp_qw_natural(gp_qw *qw, const gp_stats *stats, double scale, double ln_sigma, double rate, double *mu,
                           double *U, advgp_error *err)
{
    advgp_status st = check(qw, stats, "natural step", err);
    if (st != ADVGP_OK) return st;
    if (!mu || !U) return gp_fail(err, ADVGP_EINVAL, "natural step: no q(w) given");
    if (!(rate > 0 && rate <= 1))
        return gp_fail(err, ADVGP_EINVAL, "natural step: rate %g is not above 0 and at most 1", rate);
    if (!(scale > 0 && isfinite(scale)))
        return gp_fail(err, ADVGP_EINVAL, "natural step: scale %g is not positive", scale);
    const double beta_scale = exp(-2 * ln_sigma) * scale;
    if (rate < 1) {
        if (!current_precision(qw, mu, U))
            st = gp_fail(err, ADVGP_ENUMERIC, "natural step: the present q(w) is degenerate or not finite");
        st = gp_interrupt_status(st, "a natural step", err);
        if (st != ADVGP_OK) return st;
    } else {
        memset(qw->t, 0, qw->M * sizeof(double));
    }
    mix_precision(qw, stats, 1 - rate, rate, beta_scale);
    for (size_t j = 0; j < qw->M; j++) qw->t[j] = (1 - rate) * qw->t[j] + rate * beta_scale * stats->b[j];
    return solve(qw, mu, U, err);
}

gp_cmat gp_qw_precision(const gp_qw *qw)
{
    return gp_ro(qw->P);
}

const double *gp_qw_shift(const gp_qw *qw)
{
    return qw->t;
}

double gp_qw_jitter(const gp_qw *qw)
{
    return qw->jitter;
}

// sum of w (k - phi^T phi): no map's features exceed the kernel, so what is below 0 is rounding. Every use asks here:
// the bound and the noise that minimises it must be of the same sum.
static double residual_of(const gp_stats *stats)
{
    return stats->residual < 0 ? 0 : stats->residual; // NaN stays
}

advgp_status gp_qw_optimal(gp_qw *qw, const gp_stats *stats, double ln_sigma, double *mu, double *U, double *neg_elbo,
                           advgp_error *err)
{
    advgp_status st = check(qw, stats, "optimal q(w)", err);
    if (st != ADVGP_OK) return st;
    const double beta = exp(-2 * ln_sigma);
    mix_precision(qw, stats, 0, 1, beta);
    for (size_t j = 0; j < qw->M; j++) qw->t[j] = beta * stats->b[j];
    st = solve(qw, mu, U, err);
    if (st != ADVGP_OK) return st;
    // n (ln(2 pi)/2 + ln sigma) + ln|P|/2 + beta yy/2 - beta^2 b^T P^-1 b/2 + beta residual/2; c = beta V^-1 b
    const double value = stats->n * (GP_HALF_LN_2PI + ln_sigma) + gp_log_diagonal(gp_ro(qw->V)) +
                         0.5 * (beta * (stats->yy + residual_of(stats)) - gp_dot(qw->M, qw->c, qw->c));
    if (neg_elbo) *neg_elbo = value;
    if (!isfinite(value))
        return gp_fail(err, ADVGP_ENUMERIC, "the collapsed bound is not finite at ln sigma = %g", ln_sigma);
    return ADVGP_OK;
}

// ---- noise ------------------------------------------------------------------------------------------------

// The collapsed bound as a function of ln sigma, with A = Q diag(lambda) Q^T and c = Q^T b: O(M) a value. Written as a
// sum of terms that are not negative: yy - sum beta c^2 / (1 + beta lambda), as it stands in docs/math.md, is a
// difference whose rounding, times beta, would make tiny sigmas look arbitrarily good. Here lambda[k] and fit[k] =
// c_k^2 / lambda_k, the part of yy that feature direction k explains; rest is what no direction explains, the residual
// included.
static double profile(const gp_qw *qw, const gp_stats *stats, double rest, double ln_sigma, double *slope)
{
    const double beta = exp(-2 * ln_sigma);
    double value = stats->n * (GP_HALF_LN_2PI + ln_sigma) + 0.5 * beta * rest;
    double derivative = stats->n - beta * rest;
    for (size_t k = 0; k < qw->M; k++) {
        const double bl = beta * qw->lambda[k], p = 1 + bl, bf = beta * qw->c[k];
        value += 0.5 * (log1p(bl) + bf / p);
        derivative -= bl / p + bf / (p * p);
    }
    *slope = derivative;
    return value;
}

// fit from Q^T b, both in c, and lambda; returns rest. From the largest direction to the smallest, none explains
// more than the ones before it left: a direction at the level of rounding would. What is left in the end counts at
// least as much as the rounding of the sums it is taken from.
static double explain(gp_qw *qw, const gp_stats *stats)
{
    double trace = 0, left = stats->yy;
    for (size_t k = qw->M; k-- > 0;) { // ascending order, from its end
        qw->c[k] = qw->lambda[k] > 0 ? fmin(left, qw->c[k] * qw->c[k] / qw->lambda[k]) : 0;
        qw->lambda[k] = fmax(0, qw->lambda[k]); // A has no negative direction but for rounding
        trace += qw->lambda[k];
        left -= qw->c[k];
    }
    return left + residual_of(stats) + DBL_EPSILON * (stats->yy + trace);
}

// The slope changes sign between lo and hi: halve until they are neighbours in double precision, or nearly.
static double bisect(const gp_qw *qw, const gp_stats *stats, double rest, double lo, double hi)
{
    for (int i = 0; i < 100 && hi - lo > 1e-15 * (1 + fabs(lo)); i++) {
        double slope;
        const double mid = 0.5 * (lo + hi);
        (void)profile(qw, stats, rest, mid, &slope);
        if (slope > 0)
            hi = mid;
        else
            lo = mid;
    }
    return 0.5 * (lo + hi);
}

advgp_status gp_qw_best_noise(gp_qw *qw, const gp_stats *stats, double *ln_sigma, double *neg_elbo, advgp_error *err)
{
    advgp_status st = check(qw, stats, "best noise", err);
    if (st != ADVGP_OK) return st;
    if (!ln_sigma) return gp_fail(err, ADVGP_EINVAL, "best noise: nowhere to put the result");
    if (!(stats->n > 0)) return gp_fail(err, ADVGP_EDATA, "best noise: there are no rows");
    if (!(stats->yy > 0))
        return gp_fail(err, ADVGP_EDATA, "best noise: every target is 0 after scaling, so there is no noise to find");
    gp_mat_copy(gp_ro(stats->A), qw->Q);
    memcpy(qw->c, stats->b, qw->M * sizeof *stats->b);
    const bool solved = isfinite(stats->residual) && gp_spectrum(qw->Q, qw->lambda, qw->c, qw->work);
    if (!solved) st = gp_fail(err, ADVGP_ENUMERIC, "best noise: the statistics are not finite");
    st = gp_interrupt_status(st, "the search for the best noise", err);
    if (st != ADVGP_OK) return st;
    const double rest = explain(qw, stats);

    // Scan for the lowest value: the profile can have more than one valley. It rises for every sigma^2 above
    // (yy + residual + tr A) / n (set the slope to 0, and 1 for every denominator), and 12 decades below the targets'
    // own size nothing is left of double precision.
    double all = rest;
    for (size_t k = 0; k < qw->M; k++) all += qw->c[k] + qw->lambda[k];
    const double top = 0.5 * log(all / stats->n) + 0.1, bottom = 0.5 * log(stats->yy / stats->n) - 12 * log(10);
    enum { STEPS = 400 };
    double best = 0, best_value = INFINITY, slope;
    for (int i = 0; i <= STEPS; i++) {
        const double at = bottom + (top - bottom) * i / STEPS;
        const double value = profile(qw, stats, rest, at, &slope);
        if (value < best_value) best_value = value, best = at;
    }
    if (!isfinite(best_value)) return gp_fail(err, ADVGP_ENUMERIC, "best noise: the bound is not finite for any noise");
    const double step = (top - bottom) / STEPS;
    *ln_sigma = bisect(qw, stats, rest, fmax(bottom, best - step), fmin(top, best + step));
    if (neg_elbo) *neg_elbo = profile(qw, stats, rest, *ln_sigma, &slope);
    return ADVGP_OK;
}

advgp_status gp_qw_noise(gp_qw *qw, const gp_stats *stats, const double *mu, const double *U, double *ln_sigma,
                         advgp_error *err)
{
    advgp_status st = check(qw, stats, "noise", err);
    if (st != ADVGP_OK) return st;
    if (!mu || !U || !ln_sigma) return gp_fail(err, ADVGP_EINVAL, "noise: no q(w) given");
    if (!(stats->n > 0)) return gp_fail(err, ADVGP_EDATA, "noise: there are no rows");
    const size_t M = qw->M;
    // tr(A Sigma) = sum of (U A) o U, mu^T A mu, and the residual
    gp_upper_unpack(M, U, qw->V);
    gp_mat_copy(gp_ro(stats->A), qw->Q);
    gp_trmm_left(GP_UPPER, GP_AS_IS, gp_ro(qw->V), qw->Q);
    gp_gemv(GP_AS_IS, 1, gp_ro(stats->A), mu, 0, qw->t);
    const double sum = stats->yy - 2 * gp_dot(M, stats->b, mu) + gp_dot(M, mu, qw->t) +
                       gp_dot(M * M, qw->Q.p, qw->V.p) + residual_of(stats);
    if (!(sum > 0 && isfinite(sum)))
        return gp_fail(err, ADVGP_ENUMERIC, "noise: the sum of squares is %g, so sigma would not be positive", sum);
    *ln_sigma = 0.5 * log(sum / stats->n);
    return ADVGP_OK;
}
