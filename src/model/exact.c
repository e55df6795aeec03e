// exact.c: dense algebra over all rows, written for clarity: it is the oracle, not the product.
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
    gp_mat R;              // n x n: K = R R^T
    gp_mat B;              // n x n: K, then K^-1 - alpha alpha^T
    gp_mat Kb;             // n x n: one component, or its slope
    bool ready;
};

size_t gp_exact_n_hyper(const gp_exact_spec *spec)
{
    if (!spec) return 0;
    return 1 + spec->n_components * (1 + spec->d) + (spec->trend != GP_TREND_NONE) + (spec->trend == GP_TREND_LINEAR);
}

// ---- construction -----------------------------------------------------------------------------------------

static gp_exact *plan(const gp_exact_spec *spec, size_t n, gp_carve *carve)
{
    gp_exact *self = gp_carve_bytes(carve, 1, sizeof *self);
    const size_t d = spec->d, n_hyper = gp_exact_n_hyper(spec);
    const gp_exact cut = {
        .d = d,
        .n_components = spec->n_components,
        .n = n,
        .n_hyper = n_hyper,
        .trend = spec->trend,
        .kernels = gp_carve_bytes(carve, spec->n_components, sizeof(gp_kernel *)),
        .X = gp_mat_of(gp_carve_doubles(carve, n * d), n, d),
        .y = gp_carve_doubles(carve, n),
        .inverse_w = gp_carve_doubles(carve, n),
        .hyper = gp_carve_doubles(carve, n_hyper),
        .alpha = gp_carve_doubles(carve, n),
        .eta = gp_carve_doubles(carve, spec->n_components * d),
        .R = gp_mat_of(gp_carve_doubles(carve, n * n), n, n),
        .B = gp_mat_of(gp_carve_doubles(carve, n * n), n, n),
        .Kb = gp_mat_of(gp_carve_doubles(carve, n * n), n, n),
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
    gp_carve carve = {0};
    (void)plan(spec, n, &carve);
    const double gigabytes = (double)carve.used / 1e9;
    if (!gp_carve_take(&carve))
        return gp_fail(err, ADVGP_ENOMEM, "exact: no memory for %zu rows (%.1f GB)", n, gigabytes);
    gp_exact *e = plan(spec, n, &carve);
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
    gp_free(exact);
}

// ---- covariance -------------------------------------------------------------------------------------------

static void set_hyper(gp_exact *e, const double *hyper)
{
    memcpy(e->hyper, hyper, e->n_hyper * sizeof *hyper);
    for (size_t b = 0; b < e->n_components; b++)
        for (size_t k = 0; k < e->d; k++) e->eta[b * e->d + k] = exp(hyper[1 + b * (1 + e->d) + 1 + k]);
}

static const double *component_hyper(const gp_exact *e, size_t b)
{
    return e->hyper + 1 + b * (1 + e->d); // ln a0, ln eta
}

static double trend_covariance(const gp_exact *e, const double *x, const double *z)
{
    const double *t = component_hyper(e, e->n_components);
    double sum = e->trend != GP_TREND_NONE ? exp(2 * t[0]) : 0;
    if (e->trend == GP_TREND_LINEAR) sum += exp(2 * t[1]) * gp_dot(e->d, x, z);
    return sum;
}

// K = k_b(X, Z) by differences, with slopes where asked.
static void component_covariance(const gp_exact *e, size_t b, gp_cmat X, gp_cmat Z, gp_mat K, double *slope)
{
    const double *eta = e->eta + b * e->d;
    for (size_t i = 0; i < X.rows && !gp_interrupted(); i++)
        for (size_t j = 0; j < Z.rows; j++) {
            double s = 0;
            for (size_t k = 0; k < e->d; k++) {
                const double diff = X.p[i * X.ld + k] - Z.p[j * Z.ld + k];
                s += eta[k] * diff * diff;
            }
            K.p[i * K.ld + j] = s;
        }
    e->kernels[b]->eval(K, exp(2 * component_hyper(e, b)[0]), slope);
}

static void add_covariance(const gp_exact *e, gp_cmat X, gp_cmat Z, gp_mat scratch, gp_mat sum)
{
    gp_mat_zero(sum);
    for (size_t b = 0; b < e->n_components; b++) {
        component_covariance(e, b, X, Z, scratch, NULL);
        for (size_t i = 0; i < X.rows; i++)
            for (size_t j = 0; j < Z.rows; j++) sum.p[i * sum.ld + j] += scratch.p[i * scratch.ld + j];
    }
    for (size_t i = 0; e->trend != GP_TREND_NONE && i < X.rows && !gp_interrupted(); i++)
        for (size_t j = 0; j < Z.rows; j++)
            sum.p[i * sum.ld + j] += trend_covariance(e, X.p + i * X.ld, Z.p + j * Z.ld);
}

// ---- evidence ---------------------------------------------------------------------------------------------

// B = K^-1 - alpha alpha^T, so that the derivative of the evidence by any parameter is tr(B dK) / 2.
static void make_B(gp_exact *e)
{
    const size_t n = e->n;
    gp_mat_copy(gp_ro(e->R), e->Kb);
    gp_invert_upper(e->Kb);
    gp_syrk_upper(gp_ro(e->Kb), 0, e->B); // K^-1 = R^-T R^-1
    gp_mat_mirror_upper(e->B);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) e->B.p[i * n + j] -= e->alpha[i] * e->alpha[j];
}

// Every pair counts twice: B, K and its slopes are symmetric, and the diagonal has no slope.
static void component_gradient(gp_exact *e, size_t b, double *slope, double *grad)
{
    const size_t n = e->n, d = e->d;
    double *g = grad + (component_hyper(e, b) - e->hyper);
    component_covariance(e, b, gp_ro(e->X), gp_ro(e->X), e->Kb, slope);
    memset(g, 0, (1 + d) * sizeof(double));
    for (size_t i = 0; i < n && !gp_interrupted(); i++) {
        g[0] += e->B.p[i * n + i] * e->Kb.p[i * n + i];
        for (size_t j = 0; j < i; j++) {
            const double weight = e->B.p[i * n + j];
            g[0] += 2 * weight * e->Kb.p[i * n + j];
            for (size_t k = 0; k < d; k++) {
                const double diff = e->X.p[i * d + k] - e->X.p[j * d + k];
                g[1 + k] += weight * slope[i * n + j] * diff * diff;
            }
        }
    }
    for (size_t k = 0; k < d; k++) g[1 + k] *= e->eta[b * d + k];
}

static void trend_gradient(const gp_exact *e, double *grad)
{
    if (e->trend == GP_TREND_NONE) return;
    const size_t n = e->n;
    const double *h = component_hyper(e, e->n_components);
    double *g = grad + (h - e->hyper), constant = 0, linear = 0;
    for (size_t i = 0; i < n && !gp_interrupted(); i++)
        for (size_t j = 0; j < n; j++) {
            constant += e->B.p[i * n + j];
            linear += e->B.p[i * n + j] * gp_dot(e->d, e->X.p + i * e->d, e->X.p + j * e->d);
        }
    g[0] = exp(2 * h[0]) * constant;
    if (e->trend == GP_TREND_LINEAR) g[1] = exp(2 * h[1]) * linear;
}

static advgp_status factor(gp_exact *e, gp_rung *rung, advgp_error *err)
{
    const size_t n = e->n;
    const double noise = exp(2 * e->hyper[0]);
    add_covariance(e, gp_ro(e->X), gp_ro(e->X), e->Kb, e->B);
    double mean = 0;
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
    advgp_status st = gp_interrupt_status(factor(exact, &rung, err), evidence, err);
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
    // Slopes need a fourth n x n array, and only here.
    double *slope = gp_alloc(n * n, sizeof(double));
    if (!slope) return gp_fail(err, ADVGP_ENOMEM, "exact: no memory for the gradient over %zu rows", n);
    for (size_t b = 0; b < exact->n_components; b++) component_gradient(exact, b, slope, grad);
    gp_free(slope);
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
    add_covariance(e, gp_ro(e->X), X, scratch, k); // n x B
    gp_gemv(GP_TRANSPOSED, 1, gp_ro(k), e->alpha, 0, mean);
    if (!var) return;
    for (size_t i = 0; i < X.rows; i++) {
        var[i] = trend_covariance(e, X.p + i * X.ld, X.p + i * X.ld);
        for (size_t b = 0; b < e->n_components; b++) var[i] += exp(2 * component_hyper(e, b)[0]);
    }
    gp_trsm_left(GP_UPPER, GP_AS_IS, gp_ro(e->R), k); // columns R^-1 k
    for (size_t j = 0; j < e->n; j++)
        for (size_t i = 0; i < X.rows; i++) var[i] -= k.p[j * k.ld + i] * k.p[j * k.ld + i];
    for (size_t i = 0; i < X.rows; i++) var[i] = var[i] > 0 || isnan(var[i]) ? var[i] : 0; // rounding
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
    if (!work) return gp_fail(err, ADVGP_ENOMEM, "exact: no memory to predict from %zu rows", n);
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
