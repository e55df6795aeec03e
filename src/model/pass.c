// pass.c: the hot loop of advgp, and the algebra around it. docs/math.md 3; letters as there.
#include "base/alloc.h"
#include "base/constants.h"
#include "linalg/dense.h"
#include "linalg/interrupt.h"
#include "linalg/simd.h"
#include "model/pass_state.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { DEFAULT_BLOCK_ROWS = 256 }; // K of a block stays in a 512 KB cache up to m = 200 (bench/gradient)
enum { GRAM_MOST = 640 };          // above it BLAS is as fast: the sums no longer stay in the cache

static const double single_loss = 1e-3; // of the gradient, at most: a batch's own noise is 1 (docs/math.md 3)

// ---- construction -----------------------------------------------------------------------------------------

static gp_mat arena_mat(gp_arena *arena, size_t rows, size_t cols)
{
    return gp_mat_of(gp_arena_doubles(arena, rows * cols), rows, cols);
}

// Columns of all components, each rounded up by itself.
static size_t strip_columns(const gp_pass *p)
{
    size_t sum = 0;
    for (size_t b = 0; p->lanes && b < p->f->n_components; b++) sum += gp_pass_padded(p, p->f->components[b].m);
    return sum;
}

static size_t strip_columns32(const gp_pass *p)
{
    size_t sum = 0;
    for (size_t b = 0; p->lanes && b < p->f->n_components; b++)
        sum += gp_strip_width(gp_pass_lanes32(p), p->f->components[b].m);
    return sum;
}

static gp_mat32 arena_mat32(gp_arena *arena, size_t rows, size_t cols)
{
    return (gp_mat32){gp_arena_bytes(arena, rows * cols, sizeof(float)), rows, cols, cols};
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool needs_slopes(const gp_features *f)
{
    bool needs = false;
    for (size_t b = 0; b < f->n_components; b++) needs = needs || f->components[b].kernel->slope_ratio == 0;
    return needs;
}

static void plan(gp_pass *p, gp_arena *arena)
{
    const gp_features *f = p->f;
    const size_t B = p->block_rows, M = f->M, n_cols = f->n_cols, n_kernel = f->n_kernel_cols, d = f->d;
    const size_t width = gp_pass_padded(p, n_cols + 1), in_strips = strip_columns(p);
    p->mu = gp_arena_doubles(arena, M);
    p->SE = arena_mat(arena, M, M);
    p->in_W = larger(p->lanes ? (n_cols + 1) * in_strips : width * gp_pass_padded(p, n_kernel),
                     larger(M * M, gp_features_pull_scratch(f)));
    p->W = gp_arena_doubles(arena, p->in_W);
    p->X1 = arena_mat(arena, B, d + 2);
    const size_t row = larger(width, gp_features_row(f));
    p->KY = (gp_mat){gp_arena_doubles(arena, B * row + GP_STRIP_LANES), B, width, row}; // strips may stick out
    p->slope = needs_slopes(f) ? gp_arena_doubles(arena, B * row + GP_STRIP_LANES) : NULL;
    p->y = gp_arena_doubles(arena, B);
    p->packed = gp_arena_doubles(arena, p->lanes && width <= GRAM_MOST ? B * width : 0);
    p->G = arena_mat(arena, p->lanes ? 0 : B, gp_pass_padded(p, n_kernel));
    p->PhiY = arena_mat(arena, B, M + 1);
    p->h1 = arena_mat(arena, B, f->n_components);
    p->lanes_of_h1 = gp_arena_doubles(arena, p->lanes ? B * GP_STRIP_LANES : 0);
    const size_t rows32 = p->lanes ? B : 0;
    p->KY32 = arena_mat32(arena, rows32, n_cols + 1 + GP_STRIP_LANES32); // strips may stick out
    p->slope32 = needs_slopes(f) ? arena_mat32(arena, rows32, p->KY32.ld).p : NULL;
    p->X32 = arena_mat32(arena, rows32, d + 1);
    p->XH32 = arena_mat32(arena, d + 1, strip_columns32(p));
    p->root = gp_arena_doubles(arena, B);
    p->C = arena_mat(arena, width, width);
    p->HX = arena_mat(arena, n_kernel, d + 1);
    p->XH = arena_mat(arena, d + 1, in_strips);
    p->hxx = arena_mat(arena, f->n_components, d);
    p->CL = gp_mat_of(f->scratch, n_cols, M);
    p->c = gp_arena_doubles(arena, n_cols);
    p->diag = gp_arena_doubles(arena, M);
    p->stats.A = gp_mat_of(p->C.p, M, M);
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
    if (!gp_arena_take(&arena)) return gp_no_memory(err);
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

// ---- begin ------------------------------------------------------------------------------------------------

void gp_pass_set_q(gp_pass *p, const double *theta)
{
    const size_t M = p->layout.M;
    const gp_mat U = gp_mat_of(p->f->scratch, M, M);
    memcpy(p->mu, theta + p->layout.n_rest, M * sizeof(double));
    gp_upper_unpack(M, theta + p->layout.U, U);
    gp_mat_copy(gp_ro(U), p->SE);
    gp_trmm_left_symmetric(GP_UPPER, GP_TRANSPOSED, gp_ro(U), p->SE); // Sigma = U^T U
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < M; j++) p->SE.p[i * M + j] += p->mu[i] * p->mu[j];
        if (i < p->f->n_kernel_features) p->SE.p[i * M + i] -= 1;
    }
}

// From row to row as they come, to the layout that the rows' products read.
static void lay_out_weights(gp_pass *p, gp_cmat flat)
{
    const gp_features *f = p->f;
    double *to = p->W;
    float *to32 = (float *)p->W;
    for (size_t b = 0; p->single && b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        gp_strip_pack32(gp_pass_lanes32(p), gp_cmat_part(flat, 0, c->col, flat.rows, c->m), to32);
        to32 += flat.rows * gp_strip_width(gp_pass_lanes32(p), c->m);
    }
    if (p->single) return;
    for (size_t b = 0; p->lanes && b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        gp_strip_pack(p->lanes, gp_cmat_part(flat, 0, c->col, flat.rows, c->m), to);
        to += flat.rows * gp_pass_padded(p, c->m);
    }
    if (p->lanes) return;
    memset(p->W, 0, p->in_W * sizeof(double));
    gp_mat_copy(flat, (gp_mat){p->W, flat.rows, flat.cols, gp_pass_padded(p, flat.cols)});
}

// The matrix that turns [K~ y], or [Phi y], of a block into G = K~ M~ - y a^T in one product. W and the features'
// scratch take turns.
static void set_weights(gp_pass *p)
{
    const gp_features *f = p->f;
    const size_t n_cols = f->n_cols, n_kernel = f->n_kernel_cols, M = f->M, inner = p->by_features ? M : n_cols;
    // L~ (S - E), then (S - E) L~^T = (L~ (S - E))^T because S - E is symmetric: only its kernel columns are wanted.
    gp_mat LS = gp_mat_of(f->scratch, n_cols, M), right = gp_mat_of(p->W, M, n_kernel);
    gp_features_left(f, gp_ro(p->SE), LS);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < n_kernel; j++) right.p[i * n_kernel + j] = LS.p[j * M + i];
    gp_mat flat = gp_mat_of(f->scratch, inner + 1, n_kernel), before_last = gp_mat_part(flat, 0, 0, inner, n_kernel);
    if (p->by_features)
        gp_mat_copy(gp_ro(right), before_last);
    else
        gp_features_left_symmetric(f, gp_ro(right), before_last);
    gp_features_left(f, gp_cmat_of(p->mu, M, 1), gp_mat_of(p->c, n_cols, 1)); // a
    for (size_t j = 0; j < n_kernel; j++) flat.p[inner * n_kernel + j] = -p->c[j];
    lay_out_weights(p, gp_ro(flat));
}

advgp_status gp_pass_begin(gp_pass *pass, const double *theta, gp_pass_kind kind, advgp_error *err)
{
    if (!pass || !theta) return gp_fail(err, ADVGP_EINVAL, "pass: no workspace or no parameters given");
    pass->begun = false;
    pass->kind = kind;
    pass->theta = theta;
    pass->ln_sigma = theta[0];
    pass->beta = exp(-2 * theta[0]);
    if (!(isfinite(pass->beta) && pass->beta > 0))
        return gp_fail(err, ADVGP_ENUMERIC, "the noise is out of range: ln sigma = %g", theta[0]);
    if (!gp_all_finite(pass->layout.size - pass->layout.n_rest, theta + pass->layout.n_rest))
        return gp_fail(err, ADVGP_ENUMERIC, "q(w) is not finite");
    advgp_status st = gp_interrupt_status(gp_features_set(pass->f, theta, err), "a pass", err);
    if (st != ADVGP_OK) return st;
    pass->by_features = !gp_pass_wants_gradient(kind) || gp_features_condition(pass->f) * DBL_EPSILON > pass->max_loss;
    pass->single = pass->mixed && pass->lanes && kind == GP_PASS_REST && !pass->by_features &&
                   gp_features_condition(pass->f) * FLT_EPSILON <= single_loss;
    gp_pass_set_q(pass, theta);
    if (gp_pass_wants_gradient(kind)) set_weights(pass);
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

// Copies up to block_rows rows of positive weight, from *next on, and the roots of their weights. Returns how many, and
// whether all of them can be used.
static size_t take_rows(gp_pass *p, gp_batch rows, size_t *next, bool *good)
{
    const size_t d = p->f->d;
    size_t B = 0;
    for (; *next < rows.X.rows && B < p->block_rows; ++*next) {
        if (rows.w && rows.w[*next] == 0) continue;
        double *x1 = p->X1.p + B * p->X1.ld;
        x1[0] = 1;
        memcpy(x1 + 1, rows.X.p + *next * rows.X.ld, d * sizeof *x1);
        x1[1 + d] = 0;
        p->y[B] = rows.y[*next];
        if (rows.w) p->root[B] = sqrt(rows.w[*next]), p->n += rows.w[*next]; // NaN of a negative weight
        B++;
    }
    if (!rows.w) p->n += (double)B;
    *good = gp_all_finite(B * p->X1.ld, p->X1.p) && gp_all_finite(B, p->y) && (!rows.w || gp_all_finite(B, p->root));
    return B;
}

// With K~, y and K' all times sqrt(w), every later sum carries w exactly once.
static void scale_rows(gp_pass *p, size_t B)
{
    for (size_t i = 0; i < B; i++)
        for (size_t j = 0; j < p->KY.cols; j++) {
            p->KY.p[i * p->KY.ld + j] *= p->root[i];
            if (p->slope) p->slope[i * p->KY.ld + j] *= p->root[i];
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

// C = C + A^T A for the [K~ y] or [Phi y] of a block; zeros beside it make the copy into strips quicker.
static void add_gram(gp_pass *p, gp_cmat A)
{
    if (!p->lanes || gp_pass_padded(p, A.cols) > GRAM_MOST) {
        gp_syrk_upper(A, 1, gp_mat_part(p->C, 0, 0, A.cols, A.cols));
        return;
    }
    gp_strip_pack(p->lanes, A, p->packed);
    gp_strip_gram(p->lanes, A.rows, A.cols, p->packed, p->C);
}

// [Phi y] of a block and its share of the statistics. C squares the condition of K_mm and A = L~^T C L~ loses that many
// digits; Phi and A = Phi^T W Phi keep them, for M^2 flops a row more. Where a map is not triangular, the gradient's
// K~^T W Phi takes another 2 M^2 a row.
static gp_mat add_features(gp_pass *p, gp_cmat KY)
{
    const gp_features *f = p->f;
    const size_t B = KY.rows, M = f->M;
    gp_cmat K = gp_cmat_part(KY, 0, 0, B, f->n_cols);
    gp_mat PhiY = gp_mat_part(p->PhiY, 0, 0, B, M + 1), Phi = gp_mat_part(PhiY, 0, 0, B, M);
    gp_features_right(f, K, Phi);
    for (size_t i = 0; i < B; i++) PhiY.p[i * PhiY.ld + M] = KY.p[i * KY.ld + f->n_cols];
    add_gram(p, gp_ro(PhiY));
    if (gp_pass_wants_gradient(p->kind) && !gp_features_lower(f)) add_columns(p, K, gp_ro(PhiY));
    return PhiY;
}

// H = G o K', component by component, and its sums: in strips. left is [K~ y] or [Phi y].
static void add_slopes_in_strips(gp_pass *p, gp_cmat left, gp_cmat X1, gp_mat h1)
{
    const gp_features *f = p->f;
    const size_t B = left.rows;
    const double *W = p->W;
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
        W += left.cols * gp_pass_padded(p, c->m);
        col += gp_pass_padded(p, c->m);
    }
}

// The same in single precision: of [K~ y] in the workspace, and the sums of the block join those of the others in
// double.
static void add_slopes_in_single(gp_pass *p, size_t B, gp_cmat X1, gp_mat h1)
{
    const gp_features *f = p->f;
    const size_t lanes = gp_pass_lanes32(p), inner = f->n_cols + 1;
    const float *W = (const float *)p->W;
    float *lanes_of_h1 = (float *)p->lanes_of_h1;
    size_t col = 0, col32 = 0; // in XH, in XH32
    gp_narrow(gp_cmat_part(gp_ro(p->KY), 0, 0, B, inner), p->KY32);
    if (p->slope) gp_narrow((gp_cmat){p->slope, B, inner, p->KY.ld}, (gp_mat32){p->slope32, B, inner, p->KY32.ld});
    gp_narrow(X1, p->X32);
    memset(p->XH32.p, 0, p->XH32.rows * p->XH32.ld * sizeof(float));
    for (size_t b = 0; b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        const float *K = (c->kernel->slope_ratio != 0 ? p->KY32.p : p->slope32) + c->col;
        memset(lanes_of_h1, 0, B * GP_STRIP_LANES32 * sizeof(float));
        const gp_strip_slopes32 s = {.A = {p->KY32.p, B, inner, p->KY32.ld},
                                     .W = W,
                                     .S = {K, B, c->m, p->KY32.ld},
                                     .X = {p->X32.p, B, X1.cols, p->X32.ld},
                                     .XH = {p->XH32.p + col32, p->XH32.rows, c->m, p->XH32.ld},
                                     .row_sums = lanes_of_h1};
        gp_strip_add_slopes32(lanes, &s);
        for (size_t i = 0; i < B; i++) {
            double sum = 0;
            for (size_t l = 0; l < lanes; l++) sum += lanes_of_h1[i * GP_STRIP_LANES32 + l];
            h1.p[i * h1.ld + b] = sum;
        }
        for (size_t k = 0; k < X1.cols; k++)
            for (size_t j = 0; j < c->m; j++) p->XH.p[k * p->XH.ld + col + j] += p->XH32.p[k * p->XH32.ld + col32 + j];
        W += inner * gp_strip_width(lanes, c->m);
        col += gp_pass_padded(p, c->m);
        col32 += gp_strip_width(lanes, c->m);
    }
}

// hxx_k += sum over rows of h x_k^2.
GP_VARIANTS(add_squares, (gp_cmat X1, size_t d, const double *h, size_t ld_h, double *restrict hxx),
            (X1, d, h, ld_h, hxx))
{
    for (size_t i = 0; i < X1.rows; i++) {
        const double *restrict x = X1.p + i * X1.ld + 1;
        for (size_t k = 0; k < d; k++) hxx[k] += h[i * ld_h] * x[k] * x[k];
    }
}

// H^T [1 X] and the like of the block in the workspace; left is its [K~ y] or [Phi y], padded where BLAS has it.
static void add_slopes(gp_pass *p, size_t B, gp_cmat left)
{
    const gp_features *f = p->f;
    gp_mat h1 = gp_mat_part(p->h1, 0, 0, B, f->n_components);
    gp_cmat X1 = gp_cmat_part(gp_ro(p->X1), 0, 0, B, f->d + 1);
    if (p->single) {
        add_slopes_in_single(p, B, X1, h1);
    } else if (p->lanes) {
        add_slopes_in_strips(p, left, X1, h1);
    } else {
        gp_mat G = gp_mat_part(p->G, 0, 0, B, p->G.cols);
        gp_gemm(GP_AS_IS, GP_AS_IS, 1, left, gp_cmat_of(p->W, left.cols, G.cols), 0, G);
        gp_features_times_slope(f, gp_cmat_part(gp_ro(p->KY), 0, 0, B, p->KY.cols), p->slope, G, h1); // H = G o K'
        gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_cmat_part(gp_ro(G), 0, 0, B, f->n_kernel_cols), X1, 1, p->HX);
    }
    for (size_t b = 0; b < f->n_components; b++) add_squares(X1, f->d, h1.p + b, h1.ld, p->hxx.p + b * p->hxx.ld);
}

static void add_block(gp_pass *p, size_t B, bool weighted)
{
    const gp_features *f = p->f;
    const bool gradient = gp_pass_wants_gradient(p->kind);
    gp_mat X1 = gp_mat_part(p->X1, 0, 0, B, f->d + 2), KY = gp_mat_part(p->KY, 0, 0, B, p->KY.cols);
    gp_features_columns(f, X1, KY, gradient || p->kind == GP_PASS_KEEP ? p->slope : NULL);
    for (size_t i = 0; i < B; i++) {
        double *row = KY.p + i * KY.ld;
        row[f->n_cols] = p->y[i];
        for (size_t j = f->n_cols + 1; j < KY.cols; j++) row[j] = 0; // where a tile of distances stuck out
    }
    if (weighted) scale_rows(p, B);
    gp_cmat left = gp_cmat_part(gp_ro(KY), 0, 0, B, p->lanes ? f->n_cols + 1 : KY.cols);
    if (p->by_features)
        left = gp_ro(add_features(p, gp_ro(KY)));
    else
        add_gram(p, gp_ro(KY));
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
        bool good;
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

void gp_pass_add_kept(gp_pass *p)
{
    const gp_features *f = p->f;
    const size_t B = p->kept;
    set_weights(p);
    gp_mat_zero(p->HX);
    gp_mat_zero(p->XH);
    gp_mat_zero(p->hxx);
    gp_mat_zero(p->CL);
    memset(p->c, 0, f->n_cols * sizeof(double));
    gp_cmat PhiY = gp_cmat_part(gp_ro(p->PhiY), 0, 0, B, f->M + 1);
    if (B && !gp_features_lower(f)) add_columns(p, gp_cmat_part(gp_ro(p->KY), 0, 0, B, f->n_cols), PhiY);
    if (B) add_slopes(p, B, PhiY);
}

void gp_pass_set_max_loss(gp_pass *pass, double loss)
{
    if (pass) pass->max_loss = loss;
}

void gp_pass_set_mixed(gp_pass *pass, bool mixed)
{
    if (pass) pass->mixed = mixed;
}

const gp_features *gp_pass_features(const gp_pass *pass)
{
    return pass ? pass->f : NULL;
}
