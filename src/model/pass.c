// pass.c: the hot loop of advgp, and the algebra around it. docs/math.md 3; letters as there.
#include "model/pass.h"
#include "base/alloc.h"
#include "base/constants.h"
#include "linalg/dense.h"
#include "linalg/interrupt.h"
#include "linalg/strips.h"

#include <float.h>
#include <math.h>
#include <string.h>

// The large products are taken in strips (strips.h) where the CPU has registers for them, else by BLAS, which is also
// what the strips are tested against. Widths are rounded up with columns of zeros, to this for BLAS: it is slow on the
// ragged edge.
enum { WIDTH = 4 };
enum { DEFAULT_BLOCK_ROWS = 256 }; // K of a block stays in a 512 KB cache up to m = 200 (bench/gradient)
enum { GRAM_MOST = 640 };          // above it BLAS is as fast: the sums no longer stay in the cache

struct gp_pass {
    gp_features *f;
    gp_theta_layout layout;
    size_t block_rows;
    size_t lanes; // of strips, or 0: BLAS
    gp_pass_kind kind;
    double max_loss;
    bool by_features; // this pass forms Phi
    bool begun;
    bool keeps;  // the last pass was of the kind KEEP
    size_t kept; // rows of it in the block

    // Of theta, made by begin:
    double ln_sigma, beta;
    double *mu;     // [M]
    gp_mat U, SE;   // M x M: the factor of Sigma; S - E = mu mu^T + Sigma - E
    gp_mat weights; // (n_cols+1) x n_kernel_cols, padded: M~ = L~ (S - E) L~^T, then the row -a^T, a = L~ mu
                    // (by features: (M+1) rows, (S - E) L~^T instead of M~)
    double *strips; // the same in strips, component after component

    // Of one block, B = block_rows:
    gp_mat X1;           // B x (d+2): [1 x .]
    gp_mat Xsq;          // B x d
    gp_mat KY;           // B x (n_cols+1), padded: [K~ y]; with weights, rows times sqrt(w)
    double *slope;       // as KY
    double *packed;      // KY or PhiY in strips
    gp_mat G;            // B x n_kernel_cols, padded: then H; strips have it in registers
    gp_mat PhiY;         // B x (M+1): [Phi y], where Phi is formed
    gp_mat h1;           // B x n_components: row sums of H, component by component
    double *lanes_of_h1; // [B * GP_STRIP_LANES]: of one component, not yet added up
    double *y, *root;    // [B]: targets, square roots of the weights

    // Sums over all rows so far:
    gp_mat C;   // (n_cols+1)^2, padded, upper: [K~ y]^T W [K~ y]
    double n;   // sum of weights
    gp_mat HX;  // n_kernel_cols x (d+1): H^T [1 X]
    gp_mat XH;  // its transpose, components padded, where strips are used; HX follows at the end
    gp_mat hxx; // n_components x d

    // End:
    gp_mat CL;    // n_cols x M: C L~ = K~^T W Phi
    gp_mat N;     // M x M: scratch
    double *c;    // [n_cols]
    double *diag; // [M]
    gp_stats stats;
};

// ---- construction -----------------------------------------------------------------------------------------

static gp_mat arena_mat(gp_arena *arena, size_t rows, size_t cols)
{
    return gp_mat_of(gp_arena_doubles(arena, rows * cols), rows, cols);
}

static size_t padded(const gp_pass *p, size_t width)
{
    return gp_strip_width(p->lanes ? p->lanes : WIDTH, width);
}

// Columns of all components, each rounded up by itself.
static size_t strip_columns(const gp_pass *p)
{
    size_t sum = 0;
    for (size_t b = 0; p->lanes && b < p->f->n_components; b++) sum += padded(p, p->f->components[b].m);
    return sum;
}

static void plan(gp_pass *p, gp_arena *arena)
{
    const gp_features *f = p->f;
    const size_t B = p->block_rows, M = f->M, n_cols = f->n_cols, n_kernel = f->n_kernel_cols, d = f->d;
    const size_t width = padded(p, n_cols + 1), in_strips = strip_columns(p);
    p->mu = gp_arena_doubles(arena, M);
    p->U = arena_mat(arena, M, M);
    p->SE = arena_mat(arena, M, M);
    p->weights = arena_mat(arena, width, padded(p, n_kernel));
    p->strips = gp_arena_doubles(arena, (n_cols + 1) * in_strips);
    p->X1 = arena_mat(arena, B, d + 2);
    p->Xsq = arena_mat(arena, B, d);
    const size_t row = width > gp_features_row(f) ? width : gp_features_row(f);
    p->KY = (gp_mat){gp_arena_doubles(arena, B * row + GP_STRIP_LANES), B, width, row}; // strips may stick out
    p->slope = gp_arena_doubles(arena, B * row + GP_STRIP_LANES);
    p->y = gp_arena_doubles(arena, B);
    p->packed = gp_arena_doubles(arena, p->lanes && width <= GRAM_MOST ? B * width : 0);
    p->G = arena_mat(arena, p->lanes ? 0 : B, padded(p, n_kernel));
    p->PhiY = arena_mat(arena, B, M + 1);
    p->h1 = arena_mat(arena, B, f->n_components);
    p->lanes_of_h1 = gp_arena_doubles(arena, p->lanes ? B * GP_STRIP_LANES : 0);
    p->root = gp_arena_doubles(arena, B);
    p->C = arena_mat(arena, width, width);
    p->HX = arena_mat(arena, n_kernel, d + 1);
    p->XH = arena_mat(arena, d + 1, in_strips);
    p->hxx = arena_mat(arena, f->n_components, d);
    p->CL = arena_mat(arena, n_cols, M);
    p->N = arena_mat(arena, M, M);
    p->c = gp_arena_doubles(arena, n_cols);
    p->diag = gp_arena_doubles(arena, M);
    p->stats.A = arena_mat(arena, M, M);
    p->stats.b = gp_arena_doubles(arena, M);
}

advgp_status gp_pass_new(gp_features *features, size_t block_rows, gp_pass **out, advgp_error *err)
{
    if (!out) return gp_fail(err, ADVGP_EINVAL, "pass: nowhere to put the result");
    *out = NULL;
    if (!features) return gp_fail(err, ADVGP_EINVAL, "pass: no features given");
    gp_pass shape = {.f = features,
                     .layout = gp_theta_layout_of(features),
                     .block_rows = block_rows ? block_rows : DEFAULT_BLOCK_ROWS,
                     .lanes = gp_strip_lanes(),
                     .max_loss = GP_PASS_MAX_LOSS};
    gp_arena arena = {0};
    (void)gp_arena_bytes(&arena, 1, sizeof shape);
    plan(&shape, &arena);
    if (!gp_arena_take(&arena))
        return gp_fail(err, ADVGP_ENOMEM, "pass: no memory for %zu features in blocks of %zu rows", features->M,
                       shape.block_rows);
    gp_pass *self = gp_arena_bytes(&arena, 1, sizeof shape);
    plan(&shape, &arena);
    *self = shape;
    *out = self;
    return ADVGP_OK;
}

void gp_pass_free(gp_pass *pass)
{
    gp_free(pass);
}

static bool wants_gradient(gp_pass_kind kind)
{
    return kind == GP_PASS_GRADIENT || kind == GP_PASS_REST;
}

// ---- begin ------------------------------------------------------------------------------------------------

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

// The matrix that turns [K~ y], or [Phi y], of a block into G = K~ M~ - y a^T in one product.
static void set_weights(gp_pass *p)
{
    const gp_features *f = p->f;
    const size_t n_cols = f->n_cols, n_kernel = f->n_kernel_cols, M = f->M;
    // L~ (S - E), then (S - E) L~^T = (L~ (S - E))^T because S - E is symmetric: only its kernel columns are wanted.
    gp_mat LS = gp_mat_of(p->CL.p, n_cols, M);
    gp_features_left(f, gp_ro(p->SE), LS);
    gp_mat right = p->by_features ? gp_mat_part(p->weights, 0, 0, M, n_kernel)
                                  : gp_mat_of(p->C.p, M, n_kernel); // C is zeroed afterwards
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < n_kernel; j++) right.p[i * right.ld + j] = LS.p[j * M + i];
    if (!p->by_features) gp_features_left(f, gp_ro(right), gp_mat_part(p->weights, 0, 0, n_cols, n_kernel));
    gp_features_left(f, gp_cmat_of(p->mu, M, 1), gp_mat_of(p->c, n_cols, 1)); // a
    double *last = p->weights.p + (p->by_features ? M : n_cols) * p->weights.ld;
    for (size_t j = 0; j < n_kernel; j++) last[j] = -p->c[j];
    const size_t inner = (p->by_features ? M : n_cols) + 1;
    double *to = p->strips;
    for (size_t b = 0; p->lanes && b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        gp_strip_pack(p->lanes, gp_cmat_part(gp_ro(p->weights), 0, c->col, inner, c->m), to);
        to += inner * padded(p, c->m);
    }
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
    advgp_status st = gp_interrupt_status(gp_features_set(pass->f, theta, err), "a pass", err);
    if (st != ADVGP_OK) return st;
    pass->by_features = !wants_gradient(kind) || gp_features_condition(pass->f) * DBL_EPSILON > pass->max_loss;
    set_q(pass, theta);
    if (wants_gradient(kind)) set_weights(pass);
    pass->keeps = kind == GP_PASS_KEEP;
    pass->kept = 0;
    gp_mat_zero(pass->C);
    gp_mat_zero(pass->CL);
    memset(pass->c, 0, pass->f->n_cols * sizeof(double));
    gp_mat_zero(pass->HX);
    gp_mat_zero(pass->XH);
    gp_mat_zero(pass->hxx);
    pass->n = 0;
    pass->begun = true;
    return ADVGP_OK;
}

// ---- rows -------------------------------------------------------------------------------------------------

gp_batch gp_batch_part(gp_batch rows, size_t first, size_t n)
{
    return (gp_batch){.X = gp_cmat_part(rows.X, first, 0, n, rows.X.cols),
                      .y = rows.y ? rows.y + first : NULL,
                      .w = rows.w ? rows.w + first : NULL};
}

// Copies up to block_rows rows of positive weight, from *next on, and the roots of their weights. Returns how many;
// *good becomes false if one of them cannot be used.
static size_t take_rows(gp_pass *p, gp_batch rows, size_t *next, bool *good)
{
    const size_t d = p->f->d;
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
        p->y[B] = y;
        p->root[B++] = sqrt(w);
        p->n += w;
    }
    return B;
}

// With K~, y and K' all times sqrt(w), every later sum carries w exactly once.
static void scale_rows(gp_pass *p, size_t B)
{
    for (size_t i = 0; i < B; i++)
        for (size_t j = 0; j < p->KY.cols; j++) {
            p->KY.p[i * p->KY.ld + j] *= p->root[i];
            p->slope[i * p->KY.ld + j] *= p->root[i];
        }
}

// The block's share of K~^T W Phi and K~^T W y.
static void add_columns(gp_pass *p, gp_cmat K, gp_cmat PhiY)
{
    const size_t M = p->f->M;
    gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, K, gp_cmat_part(PhiY, 0, 0, PhiY.rows, M), 1, p->CL);
    for (size_t i = 0; i < K.rows; i++)
        for (size_t j = 0; j < K.cols; j++) p->c[j] += K.p[i * K.ld + j] * PhiY.p[i * PhiY.ld + M];
}

// C = C + A^T A for the [K~ y] or [Phi y] of a block.
static void add_gram(gp_pass *p, gp_cmat A)
{
    if (!p->lanes || padded(p, A.cols) > GRAM_MOST) {
        gp_syrk_upper(A, 1, gp_mat_part(p->C, 0, 0, A.cols, A.cols));
        return;
    }
    gp_strip_pack(p->lanes, A, p->packed);
    gp_strip_gram(p->lanes, A.rows, A.cols, p->packed, p->C);
}

// [Phi y] of a block and its share of the statistics. C squares the condition of K_mm and A = L~^T C L~ loses that many
// digits; Phi and A = Phi^T W Phi keep them, for M^2 flops a row more. The gradient's K~^T W Phi follows from A where
// L~ can be undone (make_columns), and takes another 2 M^2 a row where it cannot.
static gp_mat add_features(gp_pass *p, gp_cmat KY)
{
    const gp_features *f = p->f;
    const size_t B = KY.rows, M = f->M;
    gp_cmat K = gp_cmat_part(KY, 0, 0, B, f->n_cols);
    gp_mat PhiY = gp_mat_part(p->PhiY, 0, 0, B, M + 1), Phi = gp_mat_part(PhiY, 0, 0, B, M);
    gp_features_right(f, K, Phi);
    for (size_t i = 0; i < B; i++) PhiY.p[i * PhiY.ld + M] = KY.p[i * KY.ld + f->n_cols];
    add_gram(p, gp_ro(PhiY));
    if (wants_gradient(p->kind) && !gp_features_invertible(f)) add_columns(p, K, gp_ro(PhiY));
    return PhiY;
}

// H = G o K', component by component, and its sums: in strips. left is [K~ y] or [Phi y].
static void add_slopes_in_strips(gp_pass *p, gp_cmat left, gp_cmat X1, gp_mat h1)
{
    const gp_features *f = p->f;
    const size_t B = left.rows;
    const double *W = p->strips;
    size_t col = 0; // in XH
    for (size_t b = 0; b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        const double *K = (c->kernel->slope_ratio != 0 ? p->KY.p : p->slope) + c->col;
        memset(p->lanes_of_h1, 0, B * GP_STRIP_LANES * sizeof(double));
        const gp_strip_slopes s = {.A = left,
                                   .W = W,
                                   .S = {K, B, c->m, p->KY.ld},
                                   .X = X1,
                                   .XH = gp_mat_part(p->XH, 0, col, p->XH.rows, c->m),
                                   .row_sums = p->lanes_of_h1};
        gp_strip_add_slopes(p->lanes, &s);
        for (size_t i = 0; i < B; i++) {
            const double *part = p->lanes_of_h1 + i * GP_STRIP_LANES;
            h1.p[i * h1.ld + b] = ((part[0] + part[4]) + (part[1] + part[5])) +
                                  ((part[2] + part[6]) + (part[3] + part[7]));
        }
        W += left.cols * padded(p, c->m);
        col += padded(p, c->m);
    }
}

// H^T [1 X] and the like of the block in the workspace; left is its [K~ y] or [Phi y], padded where BLAS has it.
static void add_slopes(gp_pass *p, size_t B, gp_cmat left)
{
    const gp_features *f = p->f;
    gp_mat h1 = gp_mat_part(p->h1, 0, 0, B, f->n_components);
    gp_cmat X1 = gp_cmat_part(gp_ro(p->X1), 0, 0, B, f->d + 1), Xsq = gp_cmat_part(gp_ro(p->Xsq), 0, 0, B, f->d);
    if (p->lanes) {
        add_slopes_in_strips(p, left, X1, h1);
    } else {
        gp_mat G = gp_mat_part(p->G, 0, 0, B, p->G.cols);
        gp_gemm(GP_AS_IS, GP_AS_IS, 1, left, gp_cmat_part(gp_ro(p->weights), 0, 0, left.cols, G.cols), 0, G);
        gp_features_times_slope(f, gp_cmat_part(gp_ro(p->KY), 0, 0, B, p->KY.cols), p->slope, G, h1); // H = G o K'
        gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_cmat_part(gp_ro(G), 0, 0, B, f->n_kernel_cols), X1, 1, p->HX);
    }
    gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_ro(h1), Xsq, 1, p->hxx);
}

static void add_block(gp_pass *p, size_t B, bool weighted)
{
    const gp_features *f = p->f;
    const bool gradient = wants_gradient(p->kind);
    gp_mat X1 = gp_mat_part(p->X1, 0, 0, B, f->d + 2), KY = gp_mat_part(p->KY, 0, 0, B, p->KY.cols);
    gp_features_columns(f, X1, KY, gradient || p->kind == GP_PASS_KEEP ? p->slope : NULL);
    for (size_t i = 0; i < B; i++) KY.p[i * KY.ld + f->n_cols] = p->y[i];
    if (weighted) scale_rows(p, B);
    gp_cmat left = gp_cmat_part(gp_ro(KY), 0, 0, B, p->lanes ? f->n_cols + 1 : KY.cols);
    if (p->by_features)
        left = gp_ro(add_features(p, gp_ro(KY)));
    else
        add_gram(p, left);
    if (gradient) add_slopes(p, B, left);
}

// Which row is to blame; only looked for when something is.
static advgp_status blame_row(gp_batch rows, advgp_error *err)
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

advgp_status gp_pass_add(gp_pass *pass, gp_batch rows, advgp_error *err)
{
    if (!pass || !pass->begun) return gp_fail(err, ADVGP_EINVAL, "pass: rows before begin");
    if (!rows.X.rows) return ADVGP_OK;
    if (!rows.X.p || !rows.y) return gp_fail(err, ADVGP_EINVAL, "pass: no inputs or no targets given");
    if (rows.X.cols != pass->f->d)
        return gp_fail(err, ADVGP_EINVAL, "pass: rows have %zu inputs, the model %zu", rows.X.cols, pass->f->d);
    for (size_t next = 0; next < rows.X.rows && !gp_interrupted();) {
        bool good = true;
        const size_t B = take_rows(pass, rows, &next, &good);
        if (!good) {
            pass->begun = false; // some rows are in the sums already: they are worth nothing now
            return blame_row(rows, err);
        }
        if (B && pass->kept) {
            pass->begun = pass->keeps = false;
            return gp_fail(err, ADVGP_EINVAL, "pass: rows to be kept do not fit into a block of %zu", pass->block_rows);
        }
        if (B) add_block(pass, B, rows.w != NULL);
        if (pass->keeps && B) pass->kept = B;
    }
    return gp_interrupt_status(ADVGP_OK, "a pass", err);
}

// ---- end --------------------------------------------------------------------------------------------------

// A, b and yy from the sums over columns: the only place where L~ meets them.
static void stats_from_columns(gp_pass *p)
{
    const gp_features *f = p->f;
    const size_t n_cols = f->n_cols, M = f->M;
    gp_mat_mirror_upper(p->C);
    for (size_t i = 0; i < n_cols; i++) p->c[i] = p->C.p[n_cols * p->C.ld + i];
    gp_features_right(f, gp_cmat_part(gp_ro(p->C), 0, 0, n_cols, n_cols), p->CL);
    gp_features_left_t(f, gp_ro(p->CL), p->stats.A);
    gp_features_left_t(f, gp_cmat_of(p->c, n_cols, 1), gp_mat_of(p->stats.b, M, 1));
    p->stats.yy = p->C.p[n_cols * p->C.ld + n_cols];
}

static void stats_from_features(gp_pass *p)
{
    const size_t M = p->f->M;
    gp_cmat C = gp_ro(p->C);
    gp_mat_copy(gp_cmat_part(C, 0, 0, M, M), p->stats.A);
    for (size_t j = 0; j < M; j++) p->stats.b[j] = C.p[j * C.ld + M];
    p->stats.yy = C.p[M * C.ld + M];
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

// K~^T W Phi and K~^T W y, where the pass summed over features and L~ can be undone.
static void make_columns(gp_pass *p)
{
    const gp_features *f = p->f;
    if (!p->by_features || !gp_features_invertible(f)) return;
    gp_features_back(f, gp_ro(p->stats.A), p->CL);
    gp_features_back(f, gp_cmat_of(p->stats.b, f->M, 1), gp_mat_of(p->c, f->n_cols, 1));
}

// H^T [1 X] from what strips have summed.
static void make_HX(gp_pass *p)
{
    for (size_t b = 0, col = 0; p->lanes && b < p->f->n_components; b++) {
        const gp_component *c = &p->f->components[b];
        for (size_t j = 0; j < c->m; j++)
            for (size_t k = 0; k < p->HX.cols; k++)
                p->HX.p[(c->col + j) * p->HX.ld + k] = p->XH.p[k * p->XH.ld + col + j];
        col += padded(p, c->m);
    }
}

static void make_gradient(gp_pass *p, double sum_squares, double *grad)
{
    const size_t M = p->layout.M;
    make_columns(p);
    make_HX(p);
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
    if (p->kind == GP_PASS_REST) return;
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
    if (grad && !wants_gradient(pass->kind))
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
    const gp_features *f = p->f;
    const size_t B = p->kept;
    p->kind = GP_PASS_REST;
    set_q(p, theta);
    set_weights(p);
    gp_mat_zero(p->HX);
    gp_mat_zero(p->XH);
    gp_mat_zero(p->hxx);
    gp_mat_zero(p->CL);
    memset(p->c, 0, f->n_cols * sizeof(double));
    gp_cmat PhiY = gp_cmat_part(gp_ro(p->PhiY), 0, 0, B, f->M + 1);
    if (B && !gp_features_invertible(f)) add_columns(p, gp_cmat_part(gp_ro(p->KY), 0, 0, B, f->n_cols), PhiY);
    if (B) add_slopes(p, B, PhiY);
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

void gp_pass_set_max_loss(gp_pass *pass, double loss)
{
    if (pass) pass->max_loss = loss;
}

const gp_stats *gp_pass_stats(const gp_pass *pass)
{
    return pass ? &pass->stats : NULL;
}

const gp_features *gp_pass_features(const gp_pass *pass)
{
    return pass ? pass->f : NULL;
}
