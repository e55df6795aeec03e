// linear_fit.c: sums of [1 x y], one eigenproblem of the normal equations, and what follows from it.
#include "score/linear_fit.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "linalg/factor.h"

#include <float.h>
#include <math.h>

enum { CHUNK = 256 };
// Eigenvalues below this share of the largest say nothing: rounding of sums over many rows, or of float32 shards.
static const double undetermined = 1e-12;

typedef struct sums {
    size_t p;
    gp_mat block, C; // CHUNK x (p+1): [1 x y] times sqrt(w); (p+1)^2, upper
    int (*stop)(void *ctx);
    void *stop_ctx;
} sums;

static advgp_status add_rows(void *ctx, gp_batch rows, advgp_error *err)
{
    sums *s = ctx;
    const size_t p = s->p;
    if (s->stop && s->stop(s->stop_ctx)) return gp_fail(err, ADVGP_ESTOPPED, "interrupted before the end of the rows");
    for (size_t first = 0; first < rows.X.rows; first += CHUNK) {
        const size_t B = rows.X.rows - first < CHUNK ? rows.X.rows - first : CHUNK;
        for (size_t i = 0; i < B; i++) {
            const double root = rows.w ? sqrt(rows.w[first + i]) : 1, *x = rows.X.p + (first + i) * rows.X.ld;
            double *to = s->block.p + i * s->block.ld;
            to[0] = root;
            for (size_t k = 0; k + 1 < p; k++) to[1 + k] = root * x[k];
            to[p] = root * rows.y[first + i];
        }
        gp_syrk_upper(gp_cmat_part(gp_ro(s->block), 0, 0, B, p + 1), 1, s->C);
    }
    return ADVGP_OK;
}

// A = Q diag(lambda) Q^T; coef = A^+ b, covariance = variance A^+. Q (p x p), lambda (p), t (p), cov (p x p) and work
// are scratch.
static bool solve(gp_linear *fit, gp_mat Q, double *lambda, double *t, gp_mat cov, double *work)
{
    const size_t p = fit->p;
    gp_mat_copy(gp_ro(fit->A), Q);
    if (!gp_all_finite(p, fit->b) || !isfinite(fit->yy) || !gp_eigen(Q, lambda, work)) return false;
    const double least = undetermined * lambda[p - 1];
    gp_gemv(GP_AS_IS, 1, gp_ro(Q), fit->b, 0, t); // rows of Q are eigenvectors
    for (size_t k = 0; k < p; k++) {
        const bool known = lambda[k] > least;
        fit->rank += known;
        t[k] = known ? t[k] / lambda[k] : 0;
        lambda[k] = known ? 1 / sqrt(lambda[k]) : 0;
    }
    gp_gemv(GP_TRANSPOSED, 1, gp_ro(Q), t, 0, fit->coef);
    // Left over after the fit, but for rounding of the sums it is taken from
    const double left = fmax(fit->yy - gp_dot(p, fit->b, fit->coef), DBL_EPSILON * fit->yy);
    fit->variance = fmax(left / fmax(fit->n - (double)fit->rank, 1), DBL_MIN);
    for (size_t k = 0; k < p; k++)
        for (size_t j = 0; j < p; j++) Q.p[k * p + j] *= lambda[k] * sqrt(fit->variance);
    gp_syrk_upper(gp_ro(Q), 0, cov);
    gp_mat_mirror_upper(cov);
    return gp_semidefinite_factor(gp_ro(cov), fit->U, work);
}

advgp_status gp_linear_fit(gp_reader *reader, bool slopes, int (*stop)(void *ctx), void *stop_ctx, gp_linear *out,
                           advgp_error *err)
{
    const size_t p = slopes ? reader->shards->d + 1 : 1;
    *out = (gp_linear){.p = p};
    double *kept = gp_alloc(2 * p * p + 2 * p, sizeof(double));
    double *scratch = gp_alloc((CHUNK + p + 1) * (p + 1) + 2 * p * p + 2 * p + gp_semidefinite_scratch(p),
                               sizeof(double));
    advgp_status st = ADVGP_OK;
    if (!kept || !scratch) {
        st = gp_fail(err, ADVGP_ENOMEM, "no memory for linear regression on %zu inputs", p - 1);
        goto done;
    }
    out->A = gp_mat_of(kept, p, p), out->U = gp_mat_of(kept + p * p, p, p);
    out->b = kept + 2 * p * p, out->coef = out->b + p;
    sums s = {.p = p, .stop = stop, .stop_ctx = stop_ctx};
    s.block = gp_mat_of(scratch, CHUNK, p + 1), s.C = gp_mat_of(scratch + CHUNK * (p + 1), p + 1, p + 1);
    st = gp_reader_visit(reader, GP_TRAIN, 0, add_rows, &s, err);
    if (st != ADVGP_OK) goto done;
    gp_mat_mirror_upper(s.C);
    gp_mat_copy(gp_cmat_part(gp_ro(s.C), 0, 0, p, p), out->A);
    for (size_t i = 0; i < p; i++) out->b[i] = s.C.p[i * s.C.ld + p];
    out->yy = s.C.p[p * s.C.ld + p], out->n = s.C.p[0];
    double *rest = s.C.p + (p + 1) * (p + 1);
    if (!solve(out, gp_mat_of(rest, p, p), rest + 2 * p * p, rest + 2 * p * p + p, gp_mat_of(rest + p * p, p, p),
               rest + 2 * p * p + 2 * p))
        st = gp_fail(err, ADVGP_ENUMERIC, "linear regression: the inputs are not finite");
done:
    gp_free(scratch);
    out->block = kept;
    if (st != ADVGP_OK) gp_linear_fini(out);
    return st;
}

void gp_linear_fini(gp_linear *fit)
{
    gp_free(fit->block);
    *fit = (gp_linear){0};
}

double gp_linear_predict(const gp_linear *fit, const double *x)
{
    return fit->coef[0] + gp_dot(fit->p - 1, fit->coef + 1, x);
}
