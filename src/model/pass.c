// pass.c: the hot loop of advgp, and the algebra around it. MATH.md 3; letters as there.
#include "model/pass.h"
#include "base/alloc.h"
#include "linalg/dense.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_BLOCK_ROWS = 256 }; // K and G of a block stay in a 1 MB cache up to m = 200 (bench/gradient)

struct gp_pass {
    gp_features *f;
    gp_theta_layout layout;
    size_t block_rows;
    gp_pass_kind kind;
    bool begun;

    // Of theta, made by begin:
    double ln_sigma, beta;
    double *mu;     // [M]
    gp_mat U, SE;   // M x M: the factor of Sigma; S - E = mu mu^T + Sigma - E
    gp_mat weights; // (n_cols+1) x n_kernel_cols: kernel columns of M~ = L~ (S - E) L~^T, then the row -a^T, a = L~ mu

    // Of one block, B = block_rows:
    gp_mat X1;     // B x (d+2): [1 x .]
    gp_mat Xsq;    // B x d
    gp_mat KY;     // B x (n_cols+1): [K~ y]; with weights, rows times sqrt(w)
    double *slope; // as KY
    gp_mat G;      // B x n_kernel_cols: then H
    gp_mat h1;     // B x n_components: row sums of H, component by component
    double *root;  // [B]: square roots of the weights

    // Sums over all rows so far:
    gp_mat C;   // (n_cols+1)^2, upper: [K~ y]^T W [K~ y]
    double n;   // sum of weights
    gp_mat HX;  // n_kernel_cols x (d+1): H^T [1 X]
    gp_mat hxx; // n_components x d

    // End:
    gp_mat CL;    // n_cols x M: C L~
    gp_mat N;     // M x M: A (S - E) - b mu^T; also scratch
    double *c;    // [n_cols]
    double *diag; // [M]
    gp_stats stats;
};

// ---- construction
// -----------------------------------------------------------------------------------------------------

static gp_mat carve_mat(gp_carve *carve, size_t rows, size_t cols)
{
    return gp_mat_of(gp_carve_doubles(carve, rows * cols), rows, cols);
}

static void plan(gp_pass *p, gp_carve *carve)
{
    const gp_features *f = p->f;
    const size_t B = p->block_rows, M = f->M, n_cols = f->n_cols, n_kernel = f->n_kernel_cols, d = f->d;
    p->mu = gp_carve_doubles(carve, M);
    p->U = carve_mat(carve, M, M);
    p->SE = carve_mat(carve, M, M);
    p->weights = carve_mat(carve, n_cols + 1, n_kernel);
    p->X1 = carve_mat(carve, B, d + 2);
    p->Xsq = carve_mat(carve, B, d);
    p->KY = carve_mat(carve, B, n_cols + 1);
    p->slope = gp_carve_doubles(carve, B * (n_cols + 1));
    p->G = carve_mat(carve, B, n_kernel);
    p->h1 = carve_mat(carve, B, f->n_components);
    p->root = gp_carve_doubles(carve, B);
    p->C = carve_mat(carve, n_cols + 1, n_cols + 1);
    p->HX = carve_mat(carve, n_kernel, d + 1);
    p->hxx = carve_mat(carve, f->n_components, d);
    p->CL = carve_mat(carve, n_cols, M);
    p->N = carve_mat(carve, M, M);
    p->c = gp_carve_doubles(carve, n_cols);
    p->diag = gp_carve_doubles(carve, M);
    p->stats.A = carve_mat(carve, M, M);
    p->stats.b = gp_carve_doubles(carve, M);
}

advgp_status gp_pass_new(gp_features *features, size_t block_rows, gp_pass **out, advgp_error *err)
{
    if (!out) return gp_fail(err, ADVGP_EINVAL, "pass: nowhere to put the result");
    *out = NULL;
    if (!features) return gp_fail(err, ADVGP_EINVAL, "pass: no features given");
    gp_pass shape = {.f = features,
                     .layout = gp_theta_layout_of(features),
                     .block_rows = block_rows ? block_rows : DEFAULT_BLOCK_ROWS};
    gp_carve carve = {0};
    (void)gp_carve_bytes(&carve, 1, sizeof shape);
    plan(&shape, &carve);
    char *block = carve.overflowed ? NULL : gp_alloc(1, carve.used);
    if (!block)
        return gp_fail(err, ADVGP_ENOMEM, "pass: no memory for %zu features in blocks of %zu rows", features->M,
                       shape.block_rows);
    carve = (gp_carve){.base = block};
    gp_pass *self = gp_carve_bytes(&carve, 1, sizeof shape);
    plan(&shape, &carve);
    *self = shape;
    *out = self;
    return ADVGP_OK;
}

void gp_pass_free(gp_pass *pass)
{
    gp_free(pass);
}

// ---- begin
// --------------------------------------------------------------------------------------------------------------

static void set_q(gp_pass *p, const double *theta)
{
    const size_t M = p->layout.M;
    memcpy(p->mu, theta + p->layout.n_rest, M * sizeof(double));
    gp_upper_unpack(M, theta + p->layout.U, p->U);
    gp_mat_copy(gp_ro(p->U), p->SE);
    gp_trmm_left(GP_UPPER, GP_TRANSPOSED, gp_ro(p->U), p->SE); // Sigma = U^T U
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < M; j++) p->SE.p[i * M + j] += p->mu[i] * p->mu[j];
        if (i < p->f->n_kernel_features) p->SE.p[i * M + i] -= 1;
    }
}

// The matrix that turns [K~ y] of a block into G = K~ M~ - y a^T in one product.
static void set_weights(gp_pass *p)
{
    const gp_features *f = p->f;
    const size_t n_cols = f->n_cols, n_kernel = f->n_kernel_cols, M = f->M;
    // L~ (S - E), then (S - E) L~^T = (L~ (S - E))^T because S - E is symmetric: only its kernel columns are wanted.
    gp_mat LS = gp_mat_of(p->CL.p, n_cols, M);
    gp_features_left(f, gp_ro(p->SE), LS);
    gp_mat right = gp_mat_of(p->C.p, M, n_kernel); // C is zeroed afterwards
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < n_kernel; j++) right.p[i * n_kernel + j] = LS.p[j * M + i];
    gp_features_left(f, gp_ro(right), gp_mat_part(p->weights, 0, 0, n_cols, n_kernel));
    gp_features_left(f, gp_cmat_of(p->mu, M, 1), gp_mat_of(p->c, n_cols, 1)); // a
    for (size_t j = 0; j < n_kernel; j++) p->weights.p[n_cols * n_kernel + j] = -p->c[j];
}

advgp_status gp_pass_begin(gp_pass *pass, const double *theta, gp_pass_kind kind, advgp_error *err)
{
    if (!pass || !theta) return gp_fail(err, ADVGP_EINVAL, "pass: no workspace or no parameters given");
    pass->begun = false;
    pass->kind = kind;
    pass->ln_sigma = theta[0];
    pass->beta = exp(-2 * theta[0]);
    if (!(isfinite(pass->beta) && pass->beta > 0))
        return gp_fail(err, ADVGP_ENUMERIC, "the noise is out of range: ln sigma = %g", theta[0]);
    if (!gp_all_finite(pass->layout.size - pass->layout.n_rest, theta + pass->layout.n_rest))
        return gp_fail(err, ADVGP_ENUMERIC, "q(w) is not finite");
    advgp_status st = gp_features_set(pass->f, theta, err);
    if (st != ADVGP_OK) return st;
    set_q(pass, theta);
    if (kind == GP_PASS_GRADIENT) set_weights(pass);
    gp_mat_zero(pass->C);
    gp_mat_zero(pass->HX);
    gp_mat_zero(pass->hxx);
    pass->n = 0;
    pass->begun = true;
    return ADVGP_OK;
}

// ---- rows
// ---------------------------------------------------------------------------------------------------------------

gp_rows gp_rows_part(gp_rows rows, size_t first, size_t n)
{
    return (gp_rows){.X = gp_cmat_part(rows.X, first, 0, n, rows.X.cols),
                     .y = rows.y ? rows.y + first : NULL,
                     .w = rows.w ? rows.w + first : NULL};
}

// Copies up to block_rows rows of positive weight, from *next on, and the roots of their weights. Returns how many;
// *good becomes false if one of them cannot be used.
static size_t take_rows(gp_pass *p, gp_rows rows, size_t *next, bool *good)
{
    const size_t d = p->f->d, y_col = p->f->n_cols;
    size_t B = 0;
    for (; *next < rows.X.rows && B < p->block_rows; ++*next) {
        const double w = rows.w ? rows.w[*next] : 1, y = rows.y[*next];
        if (w == 0) continue;
        const double *x = rows.X.p + *next * rows.X.ld;
        double *x1 = p->X1.p + B * p->X1.ld, *xsq = p->Xsq.p + B * p->Xsq.ld;
        double probe = 0 * y + 0 * w; // becomes NaN if a value is not finite
        x1[0] = 1;
        for (size_t k = 0; k < d; k++) {
            x1[1 + k] = x[k];
            xsq[k] = x[k] * x[k];
            probe += 0 * x[k];
        }
        if (!(probe == 0) || w < 0) *good = false;
        p->KY.p[B * p->KY.ld + y_col] = y;
        p->root[B++] = sqrt(w);
        p->n += w;
    }
    return B;
}

// With K~, y and K' all times sqrt(w), every later sum carries w exactly once.
static void scale_rows(gp_pass *p, size_t B)
{
    for (size_t i = 0; i < B; i++)
        for (size_t j = 0; j < p->KY.ld; j++) {
            p->KY.p[i * p->KY.ld + j] *= p->root[i];
            p->slope[i * p->KY.ld + j] *= p->root[i];
        }
}

static void add_block(gp_pass *p, size_t B, bool weighted)
{
    const gp_features *f = p->f;
    const bool gradient = p->kind == GP_PASS_GRADIENT;
    gp_mat X1 = gp_mat_part(p->X1, 0, 0, B, f->d + 2), KY = gp_mat_part(p->KY, 0, 0, B, f->n_cols + 1);
    gp_mat G = gp_mat_part(p->G, 0, 0, B, f->n_kernel_cols), h1 = gp_mat_part(p->h1, 0, 0, B, f->n_components);
    gp_cmat Xsq = gp_cmat_part(gp_ro(p->Xsq), 0, 0, B, f->d);

    gp_features_columns(f, X1, Xsq, KY, gradient ? p->slope : NULL);
    if (weighted) scale_rows(p, B);
    gp_syrk_upper(gp_ro(KY), 1, p->C);
    if (!gradient) return;
    gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_ro(KY), gp_ro(p->weights), 0, G); // G = K~ M~ - y a^T
    gp_features_times_slope(f, gp_ro(KY), p->slope, G, h1);             // H = G o K'
    gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_ro(G), gp_cmat_part(gp_ro(X1), 0, 0, B, f->d + 1), 1, p->HX);
    gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_ro(h1), Xsq, 1, p->hxx);
}

// Which row is to blame; only looked for when something is.
static advgp_status blame_row(gp_rows rows, advgp_error *err)
{
    for (size_t i = 0; i < rows.X.rows; i++) {
        if (rows.w && rows.w[i] == 0) continue;
        if (rows.w && !(rows.w[i] > 0 && isfinite(rows.w[i])))
            return gp_fail(err, ADVGP_EDATA, "row %zu of the block has weight %g: weights are finite and not negative",
                           i, rows.w[i]);
        if (!isfinite(rows.y[i])) return gp_fail(err, ADVGP_EDATA, "row %zu of the block has target %g", i, rows.y[i]);
        for (size_t k = 0; k < rows.X.cols; k++)
            if (!isfinite(rows.X.p[i * rows.X.ld + k]))
                return gp_fail(err, ADVGP_EDATA, "row %zu of the block has the value %g for input %zu", i,
                               rows.X.p[i * rows.X.ld + k], k + 1);
    }
    return gp_fail(err, ADVGP_EDATA,
                   "a row of the block cannot be used"); // not reached: take_rows saw one of the above
}

advgp_status gp_pass_add(gp_pass *pass, gp_rows rows, advgp_error *err)
{
    if (!pass || !pass->begun) return gp_fail(err, ADVGP_EINVAL, "pass: rows before begin");
    if (!rows.X.rows) return ADVGP_OK;
    if (!rows.X.p || !rows.y) return gp_fail(err, ADVGP_EINVAL, "pass: no inputs or no targets given");
    if (rows.X.cols != pass->f->d)
        return gp_fail(err, ADVGP_EINVAL, "pass: rows have %zu inputs, the model %zu", rows.X.cols, pass->f->d);
    for (size_t next = 0; next < rows.X.rows;) {
        bool good = true;
        const size_t B = take_rows(pass, rows, &next, &good);
        if (!good) {
            pass->begun = false; // some rows are in the sums already: they are worth nothing now
            return blame_row(rows, err);
        }
        if (B) add_block(pass, B, rows.w != NULL);
    }
    return ADVGP_OK;
}

// ---- end
// ----------------------------------------------------------------------------------------------------------------

// A, b, yy, n and the residual from C: the only place where L~ meets the sums.
static void make_stats(gp_pass *p)
{
    const gp_features *f = p->f;
    const size_t n_cols = f->n_cols, M = f->M;
    gp_mat_mirror_upper(p->C);
    gp_cmat C = gp_cmat_part(gp_ro(p->C), 0, 0, n_cols, n_cols);
    for (size_t i = 0; i < n_cols; i++) p->c[i] = p->C.p[n_cols * p->C.ld + i];
    gp_features_right(f, C, p->CL);
    gp_features_left_t(f, gp_ro(p->CL), p->stats.A);
    gp_mat_mirror_upper(p->stats.A);
    gp_features_left_t(f, gp_cmat_of(p->c, n_cols, 1), gp_mat_of(p->stats.b, M, 1));
    p->stats.yy = p->C.p[n_cols * p->C.ld + n_cols];
    p->stats.n = p->n;
    p->stats.residual = p->n * f->a0sq_sum;
    for (size_t j = 0; j < f->n_kernel_features; j++) p->stats.residual -= p->stats.A.p[j * M + j];
}

// sum of (y - phi mu)^2 + phi^T Sigma phi + residual: N holds A (S - E) - b mu^T, so yy - b mu + tr N + n a0^2.
static double squares(const gp_pass *p)
{
    double sum = p->stats.yy - gp_dot(p->layout.M, p->stats.b, p->mu) + p->stats.n * p->f->a0sq_sum;
    for (size_t j = 0; j < p->layout.M; j++) sum += p->diag[j];
    return sum;
}

static void make_N(gp_pass *p)
{
    const size_t M = p->layout.M;
    gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_ro(p->stats.A), gp_ro(p->SE), 0, p->N);
    for (size_t j = 0; j < M; j++) p->diag[j] = p->N.p[j * M + j] - p->stats.b[j] * p->mu[j];
}

static void make_gradient(gp_pass *p, double sum_squares, double *grad)
{
    const size_t M = p->layout.M;
    const double beta = p->beta;
    grad[0] = p->n - beta * sum_squares;
    const gp_feature_sums sums = {
        .n = p->n,
        .beta = beta,
        .CL = gp_ro(p->CL),
        .c = p->c,
        .SE = gp_ro(p->SE),
        .mu = p->mu,
        .diag = p->diag,
        .HX = gp_ro(p->HX),
        .hxx = gp_ro(p->hxx),
    };
    gp_features_pull(p->f, &sums, grad);
    double *g_mu = grad + p->layout.n_rest; // beta (A mu - b)
    memcpy(g_mu, p->stats.b, M * sizeof(double));
    gp_gemv(GP_AS_IS, beta, gp_ro(p->stats.A), p->mu, -beta, g_mu);
    gp_mat_copy(gp_ro(p->stats.A), p->N); // beta triu(U A)
    gp_trmm_left(GP_UPPER, GP_AS_IS, gp_ro(p->U), p->N);
    for (size_t i = 0; i < M * M; i++) p->N.p[i] *= beta;
    gp_upper_pack(gp_ro(p->N), grad + p->layout.U);
}

static advgp_status check_finite(const gp_pass *p, double sum_g, const double *grad, advgp_error *err)
{
    const size_t M = p->layout.M;
    if (!isfinite(sum_g) || !gp_all_finite(M * M, p->stats.A.p) || !gp_all_finite(M, p->stats.b))
        return gp_fail(err, ADVGP_ENUMERIC, "the bound is not finite (%g over %g rows): a smaller step is needed",
                       sum_g, p->n);
    if (!grad) return ADVGP_OK;
    for (size_t i = 0; i < p->layout.size; i++)
        if (!isfinite(grad[i]))
            return gp_fail(err, ADVGP_ENUMERIC, "the gradient is not finite in parameter %zu of %zu", i,
                           p->layout.size);
    return ADVGP_OK;
}

advgp_status gp_pass_end(gp_pass *pass, double *sum_g, double *grad, advgp_error *err)
{
    if (!pass || !pass->begun) return gp_fail(err, ADVGP_EINVAL, "pass: end before begin");
    if (grad && pass->kind != GP_PASS_GRADIENT)
        return gp_fail(err, ADVGP_EINVAL, "pass: a gradient was asked of a pass for statistics");
    pass->begun = false;
    make_stats(pass);
    make_N(pass);
    const double sum_squares = squares(pass);
    const double half_ln_2pi = 0.91893853320467274178;
    const double value = pass->n * (half_ln_2pi + pass->ln_sigma) + 0.5 * pass->beta * sum_squares;
    if (grad) make_gradient(pass, sum_squares, grad);
    if (sum_g) *sum_g = value;
    return check_finite(pass, value, grad, err);
}

advgp_status gp_pass_run(gp_pass *pass, const double *theta, gp_pass_kind kind, gp_rows rows, double *sum_g,
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

const gp_features *gp_pass_features(const gp_pass *pass)
{
    return pass ? pass->f : NULL;
}
