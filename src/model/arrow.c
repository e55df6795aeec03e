// arrow.c: cells are eliminated one by one: P_cc = I + beta A_cc = V V^T with V upper triangular, U = V^-1, W = U beta
// A_cg, u = U beta b_c. What they leave to the global part is A_gg - W^T W / beta, b_g - W^T u / beta, yy - |u|^2 /
// beta: statistics as any others. docs/math.md 10, with the factors of qw.c.
#include "model/arrow.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "linalg/factor.h"
#include "linalg/interrupt.h"

#include <math.h>
#include <string.h>

struct gp_arrow {
    size_t n, M_g;
    const size_t *M; // [n]
    gp_arrow_sums *sums;
    gp_qw *qw;
    // Of the cell that is being eliminated, for the largest:
    double *P, *W, *u;
    // What the cells have taken from the global part: sums of W^T W, W^T u, |u|^2, and ln|V|.
    gp_mat taken;
    double *taken_b, taken_yy, log_diagonal;
    gp_stats left;
};

// ---- construction ---------------------------------------------------------------------------------------------------

static void plan(gp_arrow *a, const gp_cells *cells, gp_arena *arena)
{
    const size_t M_g = a->M_g;
    size_t most = 0;
    size_t *M = gp_arena_bytes(arena, a->n, sizeof *M);
    gp_arrow_sums *sums = gp_arena_bytes(arena, a->n, sizeof *sums);
    for (size_t c = 0; c < a->n; c++) {
        const size_t M_c = gp_cells_M(cells, c);
        double *A = gp_arena_doubles(arena, M_c * M_c), *G = gp_arena_doubles(arena, M_c * M_g);
        double *b = gp_arena_doubles(arena, M_c);
        if (M_c > most) most = M_c;
        if (!sums) continue;
        M[c] = M_c;
        sums[c] = (gp_arrow_sums){.A = gp_mat_of(A, M_c, M_c), .G = gp_mat_of(G, M_c, M_g), .b = b};
    }
    a->M = M, a->sums = sums;
    a->P = gp_arena_doubles(arena, most * most);
    a->W = gp_arena_doubles(arena, most * M_g);
    a->u = gp_arena_doubles(arena, most);
    a->taken = gp_mat_of(gp_arena_doubles(arena, M_g * M_g), M_g, M_g);
    a->taken_b = gp_arena_doubles(arena, M_g);
    a->left.A = gp_mat_of(gp_arena_doubles(arena, M_g * M_g), M_g, M_g);
    a->left.b = gp_arena_doubles(arena, M_g);
}

double gp_arrow_bytes(const gp_cells_shape *s)
{
    const double M_g = (double)s->M_g;
    double sum = 2 * M_g * M_g;
    for (size_t c = 0; c < s->n; c++) {
        const double M = (double)(s->m[c] + gp_cells_trend_features(s->trend, s->d));
        sum += M * (M + M_g);
    }
    return sum * sizeof(double);
}

advgp_status gp_arrow_new(const gp_cells *cells, gp_arrow **out, advgp_error *err)
{
    *out = NULL;
    gp_arrow shape = {.n = cells->shape.n, .M_g = cells->shape.M_g};
    gp_arena arena = {0};
    (void)gp_arena_bytes(&arena, 1, sizeof shape);
    plan(&shape, cells, &arena);
    if (!gp_arena_take(&arena)) return gp_no_memory(err);
    gp_arrow *self = gp_arena_bytes(&arena, 1, sizeof shape);
    plan(&shape, cells, &arena);
    *self = shape;
    const advgp_status st = gp_qw_new(self->M_g, &self->qw, err);
    if (st == ADVGP_OK)
        *out = self;
    else
        gp_arrow_free(self);
    return st;
}

void gp_arrow_free(gp_arrow *arrow)
{
    if (arrow) gp_qw_free(arrow->qw);
    gp_free(arrow);
}

gp_arrow_sums *gp_arrow_cell(gp_arrow *arrow, size_t cell)
{
    return &arrow->sums[cell];
}

// ---- elimination ----------------------------------------------------------------------------------------------------

// V in P, W and u of cell c.
static advgp_status eliminate(gp_arrow *a, size_t c, double beta, advgp_error *err)
{
    const gp_arrow_sums *s = &a->sums[c];
    const size_t M = a->M[c], M_g = a->M_g;
    gp_mat P = gp_mat_of(a->P, M, M), W = gp_mat_of(a->W, M, M_g);
    for (size_t i = 0; i < M; i++)
        for (size_t j = i; j < M; j++) P.p[i * M + j] = P.p[j * M + i] = (i == j) + beta * s->A.p[i * M + j];
    if (!gp_all_finite(M * M, P.p) || !gp_reverse_cholesky(P, 0, NULL)) {
        const advgp_status st = gp_interrupt_status(ADVGP_OK, "the posterior of cells", err);
        return st != ADVGP_OK ? st
                              : gp_fail(err, ADVGP_ENUMERIC,
                                        "the precision of cell %zu is not positive: the noise may be too small "
                                        "(ln sigma %g)",
                                        c + 1, -0.5 * log(beta));
    }
    for (size_t i = 0; i < M * M_g; i++) W.p[i] = beta * s->G.p[i];
    for (size_t i = 0; i < M; i++) a->u[i] = beta * s->b[i];
    gp_trsm_left(GP_UPPER, GP_AS_IS, gp_ro(P), W);
    gp_trsm_left(GP_UPPER, GP_AS_IS, gp_ro(P), gp_mat_of(a->u, M, 1));
    return ADVGP_OK;
}

// The statistics that all cells leave, in `left`.
static advgp_status eliminate_all(gp_arrow *a, const gp_stats *global, double beta, advgp_error *err)
{
    const size_t M_g = a->M_g;
    advgp_status st = ADVGP_OK;
    gp_mat_zero(a->taken);
    memset(a->taken_b, 0, M_g * sizeof(double));
    a->taken_yy = a->log_diagonal = 0;
    a->left.residual = global->residual;
    for (size_t c = 0; st == ADVGP_OK && c < a->n; c++) {
        st = gp_interrupted() ? gp_interrupt_status(st, "the posterior of cells", err) : eliminate(a, c, beta, err);
        if (st != ADVGP_OK) return st;
        const gp_cmat W = gp_cmat_of(a->W, a->M[c], M_g);
        gp_syrk_upper(W, 1, a->taken);
        gp_gemv(GP_TRANSPOSED, 1, W, a->u, 1, a->taken_b);
        a->taken_yy += gp_dot(a->M[c], a->u, a->u);
        a->log_diagonal += gp_log_diagonal(gp_cmat_of(a->P, a->M[c], a->M[c]));
        a->left.residual += fmax(0, a->sums[c].residual); // what is below 0 is rounding
    }
    for (size_t i = 0; i < M_g; i++)
        for (size_t j = i; j < M_g; j++)
            a->left.A.p[i * M_g + j] = global->A.p[i * global->A.ld + j] - a->taken.p[i * M_g + j] / beta;
    gp_mat_mirror_upper(a->left.A);
    for (size_t i = 0; i < M_g; i++) a->left.b[i] = global->b[i] - a->taken_b[i] / beta;
    a->left.yy = global->yy - a->taken_yy / beta;
    a->left.n = global->n;
    return st;
}

advgp_status gp_arrow_bound(gp_arrow *a, const gp_stats *global, double ln_sigma, double *neg_elbo, advgp_error *err)
{
    double value = 0;
    advgp_status st = eliminate_all(a, global, exp(-2 * ln_sigma), err);
    if (st == ADVGP_OK) st = gp_qw_optimal(a->qw, &a->left, ln_sigma, NULL, NULL, &value, err);
    *neg_elbo = value + a->log_diagonal;
    return st;
}

advgp_status gp_arrow_global(gp_arrow *a, const gp_stats *global, double ln_sigma, double *mu, double *U,
                             double *neg_elbo, advgp_error *err)
{
    double value = 0;
    advgp_status st = eliminate_all(a, global, exp(-2 * ln_sigma), err);
    if (st == ADVGP_OK) st = gp_qw_optimal(a->qw, &a->left, ln_sigma, mu, U, &value, err);
    if (neg_elbo) *neg_elbo = value + a->log_diagonal;
    return st;
}

advgp_status gp_arrow_cells(gp_arrow *a, double ln_sigma, const double *mu, gp_cells *cells, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    for (size_t c = 0; st == ADVGP_OK && c < a->n; c++) { // mu_c = U^T (u - W mu_g)
        const size_t M = a->M[c];
        const gp_mat P = gp_mat_of(a->P, M, M);
        double *mu_c = cells->mu + cells->mu_at[c];
        st = gp_interrupted() ? gp_interrupt_status(st, "the posterior of cells", err)
                              : eliminate(a, c, exp(-2 * ln_sigma), err);
        if (st != ADVGP_OK) return st;
        memcpy(cells->W + cells->W_at[c], a->W, M * a->M_g * sizeof(double));
        memcpy(mu_c, a->u, M * sizeof(double));
        gp_gemv(GP_AS_IS, -1, gp_cmat_of(a->W, M, a->M_g), mu, 1, mu_c);
        gp_invert_upper(P);
        gp_trmm_left(GP_UPPER, GP_TRANSPOSED, gp_ro(P), gp_mat_of(mu_c, M, 1));
        gp_upper_pack(gp_ro(P), cells->U + cells->U_at[c]);
    }
    return gp_all_finite(cells->n_mu, cells->mu)
               ? ADVGP_OK
               : gp_fail(err, ADVGP_ENUMERIC, "the posterior of the cells is not finite at ln sigma = %g", ln_sigma);
}

// ---- noise ----------------------------------------------------------------------------------------------------------

enum { NOISE_EVALUATIONS = 40 };
static const double first_step = 0.2, near_enough = 0.005; // in ln sigma: half a hundredth of sigma is nothing

typedef struct point {
    double at, value;
} point;

// A value that cannot be computed, for a noise that is too small, is infinite.
static advgp_status look(gp_arrow *a, const gp_stats *global, double at, point *out, advgp_error *err)
{
    *out = (point){at, INFINITY};
    const advgp_status st = gp_arrow_bound(a, global, at, &out->value, err);
    if (st == ADVGP_ENUMERIC) out->value = INFINITY;
    return st == ADVGP_ENUMERIC ? ADVGP_OK : st;
}

// Where the parabola through three points is lowest; b is the lowest of them and between the others.
static double lowest(point a, point b, point c)
{
    const double p = (b.at - a.at) * (b.value - c.value), q = (b.at - c.at) * (b.value - a.value);
    const double at = b.at - 0.5 * ((b.at - a.at) * p - (b.at - c.at) * q) / (p - q);
    const double room = 0.1 * fmin(b.at - a.at, c.at - b.at); // never on a point that is known
    if (!(at > a.at && at < c.at)) return c.at - b.at > b.at - a.at ? 0.5 * (b.at + c.at) : 0.5 * (a.at + b.at);
    if (fabs(at - b.at) >= room) return at;
    return c.at - b.at > b.at - a.at ? b.at + room : b.at - room;
}

// Steps downhill until the lowest of three is in the middle; then parabolas.
advgp_status gp_arrow_best_noise(gp_arrow *arrow, const gp_stats *global, double *ln_sigma, advgp_error *err)
{
    point a, b, c, next;
    advgp_status st = look(arrow, global, *ln_sigma - first_step, &a, err);
    if (st == ADVGP_OK) st = look(arrow, global, *ln_sigma, &b, err);
    if (st == ADVGP_OK) st = look(arrow, global, *ln_sigma + first_step, &c, err);
    int looks = 3;
    for (; st == ADVGP_OK && looks < NOISE_EVALUATIONS && !(b.value <= a.value && b.value <= c.value); looks++) {
        const bool left = a.value < c.value;
        st = look(arrow, global, left ? 2 * a.at - b.at : 2 * c.at - b.at, &next, err);
        if (left)
            c = b, b = a, a = next;
        else
            a = b, b = c, c = next;
    }
    for (; st == ADVGP_OK && looks < NOISE_EVALUATIONS && c.at - a.at > near_enough; looks++) {
        const double at = lowest(a, b, c);
        if (fabs(at - b.at) < near_enough) break;
        st = look(arrow, global, at, &next, err);
        const bool better = next.value < b.value;
        if (at < b.at) {
            if (better)
                c = b, b = next;
            else
                a = next;
        } else {
            if (better)
                a = b, b = next;
            else
                c = next;
        }
    }
    if (st != ADVGP_OK) return st;
    if (!isfinite(b.value)) return gp_fail(err, ADVGP_ENUMERIC, "the bound of the cells is not finite for any noise");
    *ln_sigma = b.at;
    return ADVGP_OK;
}
