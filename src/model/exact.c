// exact.c: dense algebra over all rows. Squared distances, the derivatives by length-scales and the trend are matrix
// products; of symmetric matrices there is the upper triangle alone, panel by panel.
#include "model/exact.h"
#include "base/alloc.h"
#include "base/constants.h"
#include "linalg/dense.h"
#include "linalg/interrupt.h"

#include <math.h>
#include <string.h>

struct gp_exact {
    size_t d, n_components, n, n_hyper;
    const gp_kernel **kernels;
    gp_trend trend;
    gp_mat X;              // n x d, rows of positive weight
    double *y, *inverse_w; // [n]
    double *hyper, *alpha; // [n_hyper]; [n]: K^-1 y
    double *eta;           // n_components x d: exp of hyper's
    double *scaled;        // n_components x n x d: X diag(eta)
    double *norms;         // n_components x n: x^T diag(eta) x
    gp_mat R;              // n x n: K = R R^T
    gp_mat B;              // n x n, upper: K, then K^-1 - alpha alpha^T
    gp_mat Kb;             // n x n: one component
    // From the first gradient on, empty before. gram, upper: X X^T.
    gp_mat gram;         // n x n
    gp_mat with_ones, V; // n x (d + 1): [X 1], W [X 1]
    gp_mat W;            // PANEL x n: B times a slope
    bool ready;
};

size_t gp_exact_n_hyper(const gp_exact_spec *spec)
{
    if (!spec) return 0;
    return 1 + spec->n_components * (1 + spec->d) + (spec->trend != GP_TREND_NONE) + (spec->trend == GP_TREND_LINEAR);
}

// ---- construction -----------------------------------------------------------------------------------------

static gp_exact *plan(const gp_exact_spec *spec, size_t n, gp_arena *arena)
{
    gp_exact *self = gp_arena_bytes(arena, 1, sizeof *self);
    const size_t d = spec->d, n_hyper = gp_exact_n_hyper(spec);
    const gp_exact cut = {
        .d = d,
        .n_components = spec->n_components,
        .n = n,
        .n_hyper = n_hyper,
        .trend = spec->trend,
        .kernels = gp_arena_bytes(arena, spec->n_components, sizeof(gp_kernel *)),
        .X = gp_mat_of(gp_arena_doubles(arena, n * d), n, d),
        .y = gp_arena_doubles(arena, n),
        .inverse_w = gp_arena_doubles(arena, n),
        .hyper = gp_arena_doubles(arena, n_hyper),
        .alpha = gp_arena_doubles(arena, n),
        .eta = gp_arena_doubles(arena, spec->n_components * d),
        .scaled = gp_arena_doubles(arena, spec->n_components * n * d),
        .norms = gp_arena_doubles(arena, spec->n_components * n),
        .R = gp_mat_of(gp_arena_doubles(arena, n * n), n, n),
        .B = gp_mat_of(gp_arena_doubles(arena, n * n), n, n),
        .Kb = gp_mat_of(gp_arena_doubles(arena, n * n), n, n),
    };
    if (self) *self = cut;
    return self;
}

static advgp_status check_new(const gp_exact_spec *spec, gp_batch rows, size_t *n, advgp_error *err)
{
    if (!spec || !spec->d) return gp_fail(err, ADVGP_EINVAL, "exact: a model needs at least one input");
    if (spec->n_components && !spec->kernels) return gp_fail(err, ADVGP_EINVAL, "exact: no kernels given");
    for (size_t b = 0; b < spec->n_components; b++)
        if (!spec->kernels[b]) return gp_fail(err, ADVGP_EINVAL, "exact: component %zu has no kernel", b + 1);
    if (rows.X.rows && (!rows.X.p || !rows.y))
        return gp_fail(err, ADVGP_EINVAL, "exact: no inputs or no targets given");
    if (rows.X.cols != spec->d)
        return gp_fail(err, ADVGP_EINVAL, "exact: rows have %zu inputs, the model %zu", rows.X.cols, spec->d);
    *n = 0;
    for (size_t i = 0; i < rows.X.rows; i++) {
        const double w = rows.w ? rows.w[i] : 1;
        if (w == 0) continue;
        if (!(w > 0) || !isfinite(w) || !isfinite(rows.y[i]) || !gp_all_finite(spec->d, rows.X.p + i * rows.X.ld))
            return gp_fail(err, ADVGP_EDATA, "exact: row %zu has a value or weight that cannot be used", i);
        ++*n;
    }
    if (!*n) return gp_fail(err, ADVGP_EDATA, "exact: there are no rows");
    if (*n > GP_EXACT_MAX_ROWS)
        return gp_fail(
            err, ADVGP_EDATA,
            "exact: %zu rows are above the limit of %d: memory grows with their square, time with their cube; "
            "use a sparse method",
            *n, GP_EXACT_MAX_ROWS);
    return ADVGP_OK;
}

advgp_status gp_exact_new(const gp_exact_spec *spec, gp_batch rows, gp_exact **out, advgp_error *err)
{
    if (!out) return gp_fail(err, ADVGP_EINVAL, "exact: nowhere to put the result");
    *out = NULL;
    size_t n = 0;
    advgp_status st = check_new(spec, rows, &n, err);
    if (st != ADVGP_OK) return st;
    gp_arena arena = {0};
    (void)plan(spec, n, &arena);
    if (!gp_arena_take(&arena)) return gp_no_memory(err);
    gp_exact *e = plan(spec, n, &arena);
    for (size_t b = 0; b < spec->n_components; b++) e->kernels[b] = spec->kernels[b];
    for (size_t i = 0, j = 0; i < rows.X.rows; i++) {
        const double w = rows.w ? rows.w[i] : 1;
        if (w == 0) continue;
        memcpy(e->X.p + j * e->d, rows.X.p + i * rows.X.ld, e->d * sizeof(double));
        e->y[j] = rows.y[i];
        e->inverse_w[j++] = 1 / w;
    }
    *out = e;
    return ADVGP_OK;
}

void gp_exact_free(gp_exact *exact)
{
    if (exact) gp_free(exact->gram.p);
    gp_free(exact);
}

// ---- covariance -------------------------------------------------------------------------------------------

enum { PANEL = 128 };

static void set_hyper(gp_exact *e, const double *hyper)
{
    const size_t n = e->n, d = e->d;
    memcpy(e->hyper, hyper, e->n_hyper * sizeof *hyper);
    for (size_t b = 0; b < e->n_components; b++) {
        double *eta = e->eta + b * d, *scaled = e->scaled + b * n * d;
        for (size_t k = 0; k < d; k++) eta[k] = exp(hyper[1 + b * (1 + d) + 1 + k]);
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < d; k++) scaled[i * d + k] = eta[k] * e->X.p[i * d + k];
            e->norms[b * n + i] = gp_dot(d, scaled + i * d, e->X.p + i * d);
        }
    }
}

static const double *component_hyper(const gp_exact *e, size_t b)
{
    return e->hyper + 1 + b * (1 + e->d); // ln a0, ln eta
}

static double trend_variance(const gp_exact *e, const double *x)
{
    const double *t = component_hyper(e, e->n_components);
    double sum = e->trend != GP_TREND_NONE ? exp(2 * t[0]) : 0;
    if (e->trend == GP_TREND_LINEAR) sum += exp(2 * t[1]) * gp_dot(e->d, x, x);
    return sum;
}

static double norm(const gp_exact *e, size_t b, const double *x)
{
    double sum = 0;
    for (size_t k = 0; k < e->d; k++) sum += e->eta[b * e->d + k] * x[k] * x[k];
    return sum;
}

// K = k_b(x_first .. x_first + K.rows, Z) by r^2 = |x|^2 + |z|^2 - 2 x.z, with slopes where asked. Rounding leaves an
// error of 1e-16 |x|^2 in r^2, in which every kernel is smooth.
static void component_covariance(const gp_exact *e, size_t b, size_t first, gp_cmat Z, gp_mat K, double *slope)
{
    const double *norms = e->norms + b * e->n + first;
    gp_gemm(GP_AS_IS, GP_TRANSPOSED, -2, gp_cmat_of(e->scaled + (b * e->n + first) * e->d, K.rows, e->d), Z, 0, K);
    for (size_t j = 0; j < Z.rows; j++) {
        const double of_z = norm(e, b, Z.p + j * Z.ld);
        for (size_t i = 0; i < K.rows; i++) {
            const double s = K.p[i * K.ld + j] + norms[i] + of_z;
            K.p[i * K.ld + j] = s < 0 ? 0 : s; // what is not finite stays so
        }
    }
    e->kernels[b]->eval(K, exp(2 * component_hyper(e, b)[0]), slope);
}

static void add_trend(const gp_exact *e, size_t first, gp_cmat Z, gp_mat sum)
{
    if (e->trend == GP_TREND_NONE) return;
    const double *t = component_hyper(e, e->n_components), constant = exp(2 * t[0]);
    const double slope = e->trend == GP_TREND_LINEAR ? exp(2 * t[1]) : 0;
    for (size_t i = 0; i < sum.rows; i++)
        for (size_t j = 0; j < sum.cols; j++) sum.p[i * sum.ld + j] += constant;
    if (slope > 0 && e->gram.p && sum.ld == e->n)
        for (size_t i = 0; i < sum.rows; i++)
            for (size_t j = i; j < sum.cols; j++)
                sum.p[i * sum.ld + j] += slope * e->gram.p[(first + i) * e->n + first + j];
    else if (slope > 0)
        gp_gemm(GP_AS_IS, GP_TRANSPOSED, slope, gp_cmat_part(gp_ro(e->X), first, 0, sum.rows, e->d), Z, 1, sum);
}

// sum = the covariance of rows first, first + 1, ... with Z.
static void covariance(const gp_exact *e, size_t first, gp_cmat Z, gp_mat scratch, gp_mat sum)
{
    if (e->n_components)
        component_covariance(e, 0, first, Z, sum, NULL);
    else
        gp_mat_zero(sum);
    for (size_t b = 1; b < e->n_components; b++) {
        component_covariance(e, b, first, Z, scratch, NULL);
        for (size_t i = 0; i < sum.rows; i++)
            for (size_t j = 0; j < sum.cols; j++) sum.p[i * sum.ld + j] += scratch.p[i * scratch.ld + j];
    }
    add_trend(e, first, Z, sum);
}

// A view of rows first .. first + PANEL of an n x n matrix from the diagonal on, and the rows of X beside it.
static gp_mat panel_of(const gp_exact *e, gp_mat A, size_t first, gp_cmat *Z)
{
    const size_t n = e->n, rows = n - first < PANEL ? n - first : PANEL;
    *Z = gp_cmat_part(gp_ro(e->X), first, 0, n - first, e->d);
    return (gp_mat){.p = A.p + first * n + first, .rows = rows, .cols = n - first, .ld = n};
}

// ---- evidence ---------------------------------------------------------------------------------------------

// B = K^-1 - alpha alpha^T, so that the derivative of the evidence by any parameter is tr(B dK) / 2.
static void make_B(gp_exact *e)
{
    const size_t n = e->n;
    gp_mat_copy(gp_ro(e->R), e->Kb);
    gp_invert_upper(e->Kb);
    for (size_t first = 0; first < n && !gp_interrupted(); first += PANEL) { // K^-1 = R^-T R^-1, without its zeros
        gp_cmat unused;
        const gp_mat panel = panel_of(e, e->B, first, &unused);
        const size_t above = first + panel.rows;
        gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_cmat_part(gp_ro(e->Kb), 0, first, above, panel.rows),
                gp_cmat_part(gp_ro(e->Kb), 0, first, above, n - first), 0, panel);
        for (size_t i = first; i < above; i++)
            for (size_t j = i; j < n; j++) e->B.p[i * n + j] -= e->alpha[i] * e->alpha[j];
    }
}

// V += W [X 1] for the panel's part of a symmetric W: its rows, and what lies right of its corner once more, turned
// round.
static void add_products(gp_exact *e, size_t first, gp_mat W)
{
    const size_t wide = e->d + 1, right = first + W.rows;
    for (size_t i = 0; i < W.rows; i++)
        for (size_t j = 0; j < i; j++) W.p[i * W.ld + j] = W.p[j * W.ld + i];
    gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_ro(W), gp_cmat_part(gp_ro(e->with_ones), first, 0, W.cols, wide), 1,
            gp_mat_part(e->V, first, 0, W.rows, wide));
    if (right < e->n)
        gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_cmat_part(gp_ro(W), 0, W.rows, W.rows, e->n - right),
                gp_cmat_part(gp_ro(e->with_ones), first, 0, W.rows, wide), 1,
                gp_mat_part(e->V, right, 0, e->n - right, wide));
}

// With W = B o K' the derivative by ln eta_k is eta_k / 2 of the sum of W_ij (x_ik - x_jk)^2, which is eta_k times the
// sum over rows of (W 1)_i x_ik^2 - x_ik (W X)_ik.
static void component_gradient(gp_exact *e, size_t b, double *grad)
{
    const size_t n = e->n, d = e->d;
    double *g = grad + (component_hyper(e, b) - e->hyper);
    memset(g, 0, (1 + d) * sizeof(double));
    gp_mat_zero(e->V);
    for (size_t first = 0; first < n && !gp_interrupted(); first += PANEL) {
        gp_cmat Z;
        const gp_mat K = panel_of(e, e->Kb, first, &Z);
        const gp_mat W = {.p = e->W.p, .rows = K.rows, .cols = K.cols, .ld = n};
        component_covariance(e, b, first, Z, K, W.p);
        for (size_t i = 0; i < K.rows; i++) {
            const double *B = e->B.p + (first + i) * n + first, *k = K.p + i * n;
            g[0] += 2 * gp_dot(K.cols - i, B + i, k + i) - B[i] * k[i]; // every other pair counts twice
            for (size_t j = i; j < K.cols; j++) W.p[i * n + j] *= B[j];
        }
        add_products(e, first, W);
    }
    for (size_t i = 0; i < n; i++) {
        const double *x = e->X.p + i * d, *v = e->V.p + i * (d + 1);
        for (size_t k = 0; k < d; k++) g[1 + k] += x[k] * (v[d] * x[k] - v[k]);
    }
    for (size_t k = 0; k < d; k++) g[1 + k] *= e->eta[b * d + k];
}

static void trend_gradient(const gp_exact *e, double *grad)
{
    if (e->trend == GP_TREND_NONE) return;
    const size_t n = e->n;
    const double *h = component_hyper(e, e->n_components);
    double *g = grad + (h - e->hyper), constant = 0, linear = 0;
    for (size_t i = 0; i < n; i++) {
        const double *B = e->B.p + i * n + i, *gram = e->gram.p + i * n + i;
        double sum = 0;
        for (size_t j = 0; j < n - i; j++) sum += B[j];
        constant += 2 * sum - B[0];
        linear += 2 * gp_dot(n - i, B, gram) - B[0] * gram[0];
    }
    g[0] = exp(2 * h[0]) * constant;
    if (e->trend == GP_TREND_LINEAR) g[1] = exp(2 * h[1]) * linear;
}

// What a gradient needs beside the evidence, and only it. X X^T never changes.
static advgp_status prepare_gradient(gp_exact *e, advgp_error *err)
{
    const size_t n = e->n, d = e->d, tall = n * (d + 1);
    if (e->gram.p) return ADVGP_OK;
    double *block = gp_alloc(n * n + 2 * tall + PANEL * n, sizeof(double));
    if (!block) return gp_no_memory(err);
    e->gram = gp_mat_of(block, n, n), e->W = gp_mat_of(block + n * n, PANEL, n);
    e->with_ones = gp_mat_of(block + n * n + PANEL * n, n, d + 1), e->V = gp_mat_of(e->with_ones.p + tall, n, d + 1);
    for (size_t i = 0; i < n; i++) {
        memcpy(e->with_ones.p + i * (d + 1), e->X.p + i * d, d * sizeof(double));
        e->with_ones.p[i * (d + 1) + d] = 1;
    }
    for (size_t first = 0; first < n; first += PANEL) {
        gp_cmat Z;
        const gp_mat panel = panel_of(e, e->gram, first, &Z);
        gp_gemm(GP_AS_IS, GP_TRANSPOSED, 1, gp_cmat_part(Z, 0, 0, panel.rows, e->d), Z, 0, panel);
    }
    return ADVGP_OK;
}

static advgp_status factor(gp_exact *e, gp_rung *rung, advgp_error *err)
{
    const size_t n = e->n;
    const double noise = exp(2 * e->hyper[0]);
    double mean = 0;
    for (size_t first = 0; first < n && !gp_interrupted(); first += PANEL) {
        gp_cmat Z, unused;
        const gp_mat sum = panel_of(e, e->B, first, &Z), scratch = panel_of(e, e->Kb, first, &unused);
        covariance(e, first, Z, scratch, sum);
    }
    for (size_t i = 0; i < n; i++) {
        e->B.p[i * n + i] += noise * e->inverse_w[i];
        mean += e->B.p[i * n + i] / (double)n;
    }
    if (!isfinite(mean) || !(noise > 0) || !gp_cholesky_ladder(gp_ro(e->B), mean, rung, e->R))
        return gp_fail(err, ADVGP_ENUMERIC,
                       "exact: the covariance of %zu rows has no Cholesky factor (ln sigma = %g): is a hyper-parameter "
                       "extreme?",
                       n, e->hyper[0]);
    return ADVGP_OK;
}

static const char evidence[] = "the evidence of the exact process";

advgp_status gp_exact_evidence(gp_exact *exact, const double *hyper, double *nlml, double *grad, double *jitter,
                               advgp_error *err)
{
    if (!exact || !hyper) return gp_fail(err, ADVGP_EINVAL, "exact: no model or no hyper-parameters given");
    const size_t n = exact->n;
    exact->ready = false;
    set_hyper(exact, hyper);
    gp_rung rung = {.jitter = 0};
    advgp_status st = grad ? prepare_gradient(exact, err) : ADVGP_OK;
    if (st == ADVGP_OK) st = gp_interrupt_status(factor(exact, &rung, err), evidence, err);
    if (st != ADVGP_OK) return st;
    if (jitter) *jitter = rung.jitter;
    gp_mat alpha = gp_mat_of(exact->alpha, n, 1);
    memcpy(exact->alpha, exact->y, n * sizeof(double));
    gp_trsm_left(GP_UPPER, GP_AS_IS, gp_ro(exact->R), alpha);
    const double square = gp_dot(n, exact->alpha, exact->alpha); // y^T K^-1 y
    gp_trsm_left(GP_UPPER, GP_TRANSPOSED, gp_ro(exact->R), alpha);
    const double value = 0.5 * square + gp_log_diagonal(gp_ro(exact->R)) + (double)n * GP_HALF_LN_2PI;
    if (nlml) *nlml = value;
    if (!isfinite(value)) return gp_fail(err, ADVGP_ENUMERIC, "exact: the evidence is not finite");
    exact->ready = true;
    if (!grad) return ADVGP_OK;

    make_B(exact);
    grad[0] = 0;
    for (size_t i = 0; i < n; i++) grad[0] += exact->B.p[i * n + i] * exp(2 * hyper[0]) * exact->inverse_w[i];
    for (size_t b = 0; b < exact->n_components; b++) component_gradient(exact, b, grad);
    trend_gradient(exact, grad);
    if (!gp_all_finite(exact->n_hyper, grad)) st = gp_fail(err, ADVGP_ENUMERIC, "exact: the gradient is not finite");
    return gp_interrupt_status(st, evidence, err);
}

advgp_status gp_exact_restore(gp_exact *exact, const double *hyper, double jitter, const double *alpha,
                              advgp_error *err)
{
    if (!exact || !hyper || !alpha) return gp_fail(err, ADVGP_EINVAL, "exact: no model, hyper-parameters or weights");
    if (!gp_all_finite(exact->n_hyper, hyper) || !gp_all_finite(exact->n, alpha))
        return gp_fail(err, ADVGP_ENUMERIC, "exact: a hyper-parameter or a weight is not finite");
    exact->ready = false;
    set_hyper(exact, hyper);
    gp_rung rung = {.jitter = jitter};
    advgp_status st = factor(exact, &rung, err);
    if (st != ADVGP_OK) return st;
    memcpy(exact->alpha, alpha, exact->n * sizeof *alpha);
    exact->ready = true;
    return ADVGP_OK;
}

const double *gp_exact_weights(const gp_exact *exact)
{
    return exact->alpha;
}

// ---- prediction -------------------------------------------------------------------------------------------

void gp_exact_block(const gp_exact *e, gp_cmat X, gp_mat k, gp_mat scratch, double *mean, double *var)
{
    covariance(e, 0, X, scratch, k); // n x B
    gp_gemv(GP_TRANSPOSED, 1, gp_ro(k), e->alpha, 0, mean);
    if (!var) return;
    for (size_t i = 0; i < X.rows; i++) {
        var[i] = trend_variance(e, X.p + i * X.ld);
        for (size_t b = 0; b < e->n_components; b++) var[i] += exp(2 * component_hyper(e, b)[0]);
    }
    gp_trsm_left(GP_UPPER, GP_AS_IS, gp_ro(e->R), k); // columns R^-1 k
    for (size_t j = 0; j < e->n; j++)
        for (size_t i = 0; i < X.rows; i++) var[i] -= k.p[j * k.ld + i] * k.p[j * k.ld + i];
    for (size_t i = 0; i < X.rows; i++) var[i] = var[i] > 0 || isnan(var[i]) ? var[i] : 0; // rounding
}

// The posterior mean of a trend is that of its weights: s_c^2 1^T alpha and s_l^2 X^T alpha.
static void explain_trend(const gp_exact *e, const double *x, gp_explanation *out)
{
    if (e->trend == GP_TREND_NONE) return;
    const double *t = component_hyper(e, e->n_components);
    double sum = 0, line = 0;
    for (size_t i = 0; i < e->n; i++) sum += e->alpha[i];
    gp_explanation_term(out, GP_TERM_CONSTANT, 0, exp(2 * t[0]) * sum);
    if (e->trend != GP_TREND_LINEAR) return;
    gp_gemv(GP_TRANSPOSED, exp(2 * t[1]), gp_ro(e->X), e->alpha, 0, out->line);
    for (size_t k = 0; k < e->d; k++) line += out->line[k] *= x[k];
    gp_explanation_term(out, GP_TERM_LINE, 0, line);
}

void gp_exact_explain(const gp_exact *e, const double *x, gp_mat k, gp_explanation *out)
{
    explain_trend(e, x, out);
    for (size_t b = 0; b < e->n_components; b++) {
        const double a0sq = exp(2 * component_hyper(e, b)[0]);
        component_covariance(e, b, 0, gp_cmat_of(x, 1, e->d), k, NULL);
        gp_explanation_term(out, GP_TERM_COMPONENT, b, gp_dot(e->n, k.p, e->alpha));
        gp_explain_inducing((gp_explained_kernel){.of = b, .m = e->n, .d = e->d, .Z = e->X.p, .eta = e->eta + b * e->d},
                            x, k.p, a0sq, out);
    }
}

advgp_status gp_exact_predict(const gp_exact *exact, gp_cmat X, double *mean, double *var_f, double *var_y,
                              advgp_error *err)
{
    if (!exact || !exact->ready) return gp_fail(err, ADVGP_EINVAL, "exact: prediction before a successful evidence");
    if (X.rows && (!X.p || !mean || X.cols != exact->d))
        return gp_fail(err, ADVGP_EINVAL, "exact: inputs must be rows of %zu numbers", exact->d);
    for (size_t i = 0; i < X.rows; i++)
        if (!gp_all_finite(X.cols, X.p + i * X.ld))
            return gp_fail(err, ADVGP_EDATA, "exact: row %zu has an input that is not finite", i);
    const size_t n = exact->n, chunk = 64;
    double *work = gp_alloc(2 * chunk * n + chunk, sizeof(double)), *var = work + 2 * chunk * n;
    if (!work) return gp_no_memory(err);
    for (size_t first = 0; first < X.rows; first += chunk) {
        const size_t B = X.rows - first < chunk ? X.rows - first : chunk;
        gp_exact_block(exact, gp_cmat_part(X, first, 0, B, X.cols), gp_mat_of(work, n, B),
                       gp_mat_of(work + chunk * n, n, B), mean + first, var);
        for (size_t i = 0; i < B; i++) {
            if (var_f) var_f[first + i] = var[i];
            if (var_y) var_y[first + i] = var[i] + exp(2 * exact->hyper[0]);
        }
    }
    gp_free(work);
    return ADVGP_OK;
}

// K^-1 = R^-T R^-1, and of its diagonal: without row i its target is off by alpha_i / K^-1_ii with variance 1 /
// K^-1_ii.
advgp_status gp_exact_left_out(const gp_exact *e, size_t n, double *deviation, double *variance, advgp_error *err)
{
    if (!e || !e->ready || n != e->n) return gp_fail(err, ADVGP_EINVAL, "exact: these are not its training rows");
    const double noise = exp(2 * e->hyper[0]);
    const gp_mat inverse = gp_mat_of(gp_alloc(n, n * sizeof(double)), n, n);
    if (!inverse.p) return gp_no_memory(err);
    gp_mat_copy(gp_ro(e->R), inverse);
    gp_invert_upper(inverse);
    memset(variance, 0, n * sizeof *variance);
    for (size_t k = 0; k < n; k++)
        for (size_t i = k; i < n; i++) variance[i] += inverse.p[k * n + i] * inverse.p[k * n + i];
    for (size_t i = 0; i < n; i++) {
        deviation[i] = e->alpha[i] / variance[i];
        variance[i] = fmax(1 / variance[i] - noise * e->inverse_w[i], 0) + noise;
    }
    gp_free(inverse.p);
    return ADVGP_OK;
}
