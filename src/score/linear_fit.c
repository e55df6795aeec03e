// linear_fit.c: sums of [1 x y], one eigenproblem of the normal equations, and what follows from it.
#include "score/linear_fit.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "linalg/factor.h"
#include "linalg/interrupt.h"
#include "score/score.h"
#include "store/form.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { CHUNK = 256 };
// Eigenvalues below this share of the largest say nothing: rounding of sums over many rows, or of float32 shards.
static const double undetermined = 1e-12;
// Of the mean eigenvalue, where the rows determine as many directions as there are rows: just enough that rounding
// stays small beside what it leaves of each row.
static const double saturated_ridge = 1e-5;

static const char what_is_done[] = "linear regression";

typedef struct sums {
    size_t p;
    gp_mat block, C; // CHUNK x (p+1): [1 x y] times sqrt(w); (p+1)^2, upper
} sums;

static advgp_status add_rows(void *ctx, gp_batch rows, advgp_error *err)
{
    sums *s = ctx;
    const size_t p = s->p;
    for (size_t first = 0; first < rows.X.rows && !gp_interrupted(); first += CHUNK) {
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
    return gp_interrupt_status(ADVGP_OK, what_is_done, err);
}

// From the sum of squares that is left after the fit, but for rounding of the sums it is taken from.
static void set_variance(gp_linear *fit, double left, double freedom)
{
    fit->variance = fmax(fmax(left, DBL_EPSILON * fit->yy) / fmax(freedom, 1), DBL_MIN);
}

// A line through every row leaves nothing to judge it by: leverages are 1 and residuals 0. A ridge r, as a prior of
// variance/r for every direction, changes the line by a hundred-thousandth and gives both back: a row that is left out
// misses by the residual over 1 - h, the variance is that of the most likely prior, and in directions that no row
// determines the line is as uncertain as in the others.
static double ridge_of(const gp_linear *fit, size_t rows, const double *lambda)
{
    double sum = 0;
    if (fit->rank < rows) return 0;
    for (size_t k = fit->p - fit->rank; k < fit->p; k++) sum += lambda[k];
    return saturated_ridge * sum / (double)fit->rank;
}

// coef = A^+ b by A = Q diag(lambda) Q^T of so many rows, and the variance of what is left. Q (p x p, A on entry),
// lambda (p), t (p) and work are scratch; rows of Q and lambda^-1/2 (0 where nothing is known) stay in them.
static bool solve(gp_linear *fit, size_t rows, const double *b, gp_mat Q, double *lambda, double *t, double *work)
{
    const size_t p = fit->p;
    if (!gp_all_finite(p, b) || !isfinite(fit->yy)) return false;
    if (!gp_eigen(Q, lambda, work)) return false;
    const double least = undetermined * lambda[p - 1];
    gp_gemv(GP_AS_IS, 1, gp_ro(Q), b, 0, t);                       // rows of Q are eigenvectors
    for (size_t k = 0; k < p; k++) fit->rank += lambda[k] > least; // the last ones: eigenvalues ascend
    const double ridge = ridge_of(fit, rows, lambda);
    for (size_t k = 0; k < p; k++) {
        const bool known = lambda[k] > least;
        const double curvature = (known ? lambda[k] : 0) + ridge;
        t[k] = known ? t[k] / curvature : 0;
        lambda[k] = curvature > 0 ? 1 / sqrt(curvature) : 0;
    }
    gp_gemv(GP_TRANSPOSED, 1, gp_ro(Q), t, 0, fit->coef);
    set_variance(fit, fit->yy - gp_dot(p, b, fit->coef), ridge > 0 ? fit->n : fit->n - (double)fit->rank);
    return true;
}

// U from variance A^+. cov (p x p) is scratch, as the rest.
static bool covariance(gp_linear *fit, gp_mat Q, const double *lambda, gp_mat cov, double *work)
{
    const size_t p = fit->p;
    for (size_t k = 0; k < p; k++)
        for (size_t j = 0; j < p; j++) Q.p[k * p + j] *= lambda[k] * sqrt(fit->variance);
    gp_syrk_upper(gp_ro(Q), 0, cov);
    gp_mat_mirror_upper(cov);
    return gp_semidefinite_factor(gp_ro(cov), fit->U, work);
}

static advgp_status not_finite(advgp_error *err)
{
    return gp_fail(err, ADVGP_ENUMERIC, "linear regression: the inputs are not finite");
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
    gp_interrupt scope;
    gp_interrupt_open(&scope, stop, stop_ctx);
    if (!kept || !scratch) {
        st = gp_no_memory(err);
        goto done;
    }
    out->A = gp_mat_of(kept, p, p), out->U = gp_mat_of(kept + p * p, p, p);
    out->b = kept + 2 * p * p, out->coef = out->b + p;
    sums s = {.p = p};
    s.block = gp_mat_of(scratch, CHUNK, p + 1), s.C = gp_mat_of(scratch + CHUNK * (p + 1), p + 1, p + 1);
    st = gp_reader_visit(reader, GP_TRAIN, 0, add_rows, &s, err);
    if (st != ADVGP_OK) goto done;
    gp_mat_mirror_upper(s.C);
    gp_mat_copy(gp_cmat_part(gp_ro(s.C), 0, 0, p, p), out->A);
    for (size_t i = 0; i < p; i++) out->b[i] = s.C.p[i * s.C.ld + p];
    out->yy = s.C.p[p * s.C.ld + p], out->n = s.C.p[0];
    double *rest = s.C.p + (p + 1) * (p + 1), *lambda = rest + 2 * p * p, *work = lambda + 2 * p;
    const gp_mat Q = gp_mat_of(rest, p, p);
    gp_mat_copy(gp_ro(out->A), Q);
    if (!solve(out, gp_shards_rows(reader->shards, GP_TRAIN), out->b, Q, lambda, lambda + p, work) ||
        !covariance(out, Q, lambda, gp_mat_of(rest + p * p, p, p), work))
        st = not_finite(err);
    st = gp_interrupt_status(st, what_is_done, err);
done:
    (void)gp_interrupt_close(&scope);
    gp_free(scratch);
    out->block = kept;
    if (st != ADVGP_OK) gp_linear_fini(out);
    return st;
}

// ---- the line alone -------------------------------------------------------------------------------------------------

// All rows as they are, where they are fewer than the columns.
typedef struct few_rows {
    size_t n;    // so far
    gp_mat B;    // n x p: [1 x] times sqrt(w)
    double *y;   // [n], the same
    double *sum; // of w
} few_rows;

static advgp_status keep_rows(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    few_rows *f = ctx;
    for (size_t i = 0; i < rows.X.rows; i++, f->n++) {
        const double w = rows.w ? rows.w[i] : 1, root = sqrt(w), *x = rows.X.p + i * rows.X.ld;
        double *to = f->B.p + f->n * f->B.ld;
        to[0] = root;
        for (size_t k = 0; k + 1 < f->B.cols; k++) to[1 + k] = root * x[k];
        f->y[f->n] = root * rows.y[i];
        *f->sum += w;
    }
    return ADVGP_OK;
}

// What the others say of row i, with G = B B^T: y_i - (G^+ y)_i / (G^+)_ii. Rows of Q are eigenvectors, scale holds the
// inverse eigenvalues, Gy is G^+ y.
static void leave_out_few(gp_linear *fit, const few_rows *f, gp_cmat Q, const double *scale, const double *Gy)
{
    size_t row = 0;
    for (size_t i = 0; i < f->n; i++) {
        const double root = f->B.p[i * f->B.ld];
        double diagonal = 0;
        for (size_t k = 0; k < f->n; k++) diagonal += scale[k] * Q.p[k * Q.ld + i] * Q.p[k * Q.ld + i];
        if (root > 0) fit->left_out[row++] = diagonal > 0 ? (f->y[i] - Gy[i] / diagonal) / root : 0;
    }
}

// With B of rank n or less, B^T (B B^T)^+ y is the same solution of minimum norm: n^3 instead of p^3.
static advgp_status line_by_rows(gp_reader *reader, gp_linear *fit, advgp_error *err)
{
    const size_t n = gp_shards_rows(reader->shards, GP_TRAIN), p = fit->p;
    double *scratch = gp_alloc(n * p + n * n + 4 * n + gp_eigen_work(n), sizeof(double));
    if (!scratch) return gp_no_memory(err);
    const gp_mat B = gp_mat_of(scratch, n, p), Q = gp_mat_of(scratch + n * p, n, n);
    double *y = Q.p + n * n, *lambda = y + n, *t = lambda + n, *scale = t + n;
    few_rows f = {.B = B, .y = y, .sum = &fit->n};
    advgp_status st = gp_reader_visit(reader, GP_TRAIN, 0, keep_rows, &f, err);
    if (st != ADVGP_OK) goto done;
    fit->yy = gp_dot(n, y, y);
    gp_gemm(GP_AS_IS, GP_TRANSPOSED, 1, gp_ro(B), gp_ro(B), 0, Q);
    if (!isfinite(fit->yy) || !gp_eigen(Q, lambda, scale + n)) {
        st = not_finite(err);
        goto done;
    }
    gp_gemv(GP_AS_IS, 1, gp_ro(Q), y, 0, t);
    for (size_t k = 0; k < n; k++) {
        const bool known = lambda[k] > undetermined * lambda[n - 1];
        fit->rank += known;
        t[k] = known ? t[k] / lambda[k] : 0;
    }
    for (size_t k = 0; k < n; k++) scale[k] = lambda[k] > undetermined * lambda[n - 1] ? 1 / lambda[k] : 0;
    gp_gemv(GP_TRANSPOSED, 1, gp_ro(Q), t, 0, lambda);
    gp_gemv(GP_TRANSPOSED, 1, gp_ro(B), lambda, 0, fit->coef);
    if (fit->left_out) leave_out_few(fit, &f, gp_ro(Q), scale, lambda);
    gp_gemv(GP_AS_IS, -1, gp_ro(B), fit->coef, 1, y);
    set_variance(fit, gp_dot(n, y, y), fit->n - (double)fit->rank);
done:
    gp_free(scratch);
    return st;
}

// Without its row the line is off by (y - line) / (1 - h), h = w x^T A^+ x. Of a row that alone determines a direction
// the others say nothing: then the mean.
typedef struct leaving {
    gp_linear *fit;
    gp_cmat Q;
    const double *root; // lambda^-1/2
    double *x, *t;      // [p]
    size_t row;
} leaving;

static advgp_status leave_out_rows(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    leaving *l = ctx;
    const size_t p = l->fit->p;
    for (size_t i = 0; i < rows.X.rows; i++) {
        const double w = rows.w ? rows.w[i] : 1, *x = rows.X.p + i * rows.X.ld, says = gp_linear_predict(l->fit, x);
        double h = 0;
        if (w == 0) continue;
        l->x[0] = 1;
        memcpy(l->x + 1, x, (p - 1) * sizeof *x);
        gp_gemv(GP_AS_IS, 1, l->Q, l->x, 0, l->t);
        for (size_t k = 0; k < p; k++) h += w * l->root[k] * l->t[k] * l->root[k] * l->t[k];
        l->fit->left_out[l->row++] = h < 1 - 1e-9 ? rows.y[i] - (rows.y[i] - says) / (1 - h) : 0;
    }
    return ADVGP_OK;
}

static advgp_status line_by_columns(gp_reader *reader, size_t max_rows, gp_linear *fit, advgp_error *err)
{
    const size_t p = fit->p;
    double *scratch = gp_alloc((CHUNK + p + 1) * (p + 1) + p * p + 3 * p + gp_eigen_work(p), sizeof(double));
    if (!scratch) return gp_no_memory(err);
    sums s = {.p = p};
    s.block = gp_mat_of(scratch, CHUNK, p + 1), s.C = gp_mat_of(scratch + CHUNK * (p + 1), p + 1, p + 1);
    const gp_mat Q = gp_mat_of(s.C.p + (p + 1) * (p + 1), p, p);
    double *b = Q.p + p * p, *lambda = b + p, *t = lambda + p;
    advgp_status st = gp_reader_visit(reader, GP_TRAIN, max_rows, add_rows, &s, err);
    if (st == ADVGP_OK) {
        gp_mat_mirror_upper(s.C);
        gp_mat_copy(gp_cmat_part(gp_ro(s.C), 0, 0, p, p), Q);
        for (size_t i = 0; i < p; i++) b[i] = s.C.p[i * s.C.ld + p];
        fit->yy = s.C.p[p * s.C.ld + p], fit->n = s.C.p[0];
        if (!solve(fit, gp_shards_rows(reader->shards, GP_TRAIN), b, Q, lambda, t, t + p)) st = not_finite(err);
        leaving l = {.fit = fit, .Q = gp_ro(Q), .root = lambda, .x = b, .t = t};
        if (st == ADVGP_OK && fit->left_out) st = gp_reader_visit(reader, GP_TRAIN, 0, leave_out_rows, &l, err);
    }
    gp_free(scratch);
    return st;
}

advgp_status gp_linear_line(gp_reader *reader, bool left_out, gp_linear *out, advgp_error *err)
{
    const size_t p = reader->shards->d + 1, rows = gp_shards_rows(reader->shards, GP_TRAIN);
    *out = (gp_linear){.p = p, .block = gp_alloc(p + (left_out ? rows : 0), sizeof(double))};
    out->coef = out->block;
    if (!out->block) return gp_no_memory(err);
    if (left_out) out->left_out = out->block + p;
    const bool few = rows < p;
    const advgp_status st = few ? line_by_rows(reader, out, err) : line_by_columns(reader, 0, out, err);
    if (st != ADVGP_OK) gp_linear_fini(out);
    return st;
}

advgp_status gp_linear_line_some(gp_reader *reader, size_t max_rows, gp_linear *out, advgp_error *err)
{
    const size_t p = reader->shards->d + 1, rows = gp_shards_rows(reader->shards, GP_TRAIN);
    if (rows <= max_rows || max_rows < p) return gp_linear_line(reader, false, out, err);
    *out = (gp_linear){.p = p, .block = gp_alloc(p, sizeof(double))};
    out->coef = out->block;
    if (!out->block) return gp_no_memory(err);
    const advgp_status st = line_by_columns(reader, max_rows, out, err);
    if (st != ADVGP_OK) gp_linear_fini(out);
    return st;
}

double gp_linear_line_bytes(size_t rows, size_t d)
{
    const double n = (double)rows, p = (double)d + 1;
    return sizeof(double) * (n < p ? n * p + n * n : 2 * p * p);
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

// ---- back from logarithms -------------------------------------------------------------------------------------------

enum { BACK_ROWS_MAX = 100000 };

typedef struct backing {
    gp_linear *fit;
    double scale;           // of the logarithm
    double n, v, y, vv, vy; // sums of exp(scale line) and exp(scale y) about the first row
    double first_v, first_y;
} backing;

static advgp_status find_range(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    gp_limits *range = ctx;
    for (size_t i = 0; i < rows.X.rows; i++)
        range->lo = fmin(range->lo, rows.y[i]), range->hi = fmax(range->hi, rows.y[i]);
    return ADVGP_OK;
}

static advgp_status add_back(void *ctx, gp_batch rows, advgp_error *err)
{
    (void)err;
    backing *b = ctx;
    for (size_t i = 0; i < rows.X.rows; i++) {
        const double w = rows.w ? rows.w[i] : 1, line = gp_linear_predict(b->fit, rows.X.p + i * rows.X.ld);
        const double v = exp(b->scale * gp_limits_clip(b->fit->back.range, line)), y = exp(b->scale * rows.y[i]);
        if (b->n == 0) b->first_v = v, b->first_y = y;
        const double dv = v - b->first_v, dy = y - b->first_y;
        b->n += w, b->v += w * dv, b->y += w * dy, b->vv += w * dv * dv, b->vy += w * dv * dy;
    }
    return ADVGP_OK;
}

advgp_status gp_linear_fit_back(gp_linear *fit, const gp_schema *schema, gp_reader *reader, advgp_error *err)
{
    fit->back = (gp_line_back){.range = {.lo = INFINITY, .hi = -INFINITY}};
    if (!schema->log_target) return ADVGP_OK;
    backing b = {.fit = fit, .scale = schema->y_scale};
    advgp_status st = gp_reader_visit(reader, GP_TRAIN, BACK_ROWS_MAX, find_range, &fit->back.range, err);
    if (st == ADVGP_OK) st = gp_reader_visit(reader, GP_TRAIN, BACK_ROWS_MAX, add_back, &b, err);
    if (st != ADVGP_OK || !(b.n > 0)) return st;
    const double vv = b.vv - b.v * b.v / b.n, vy = b.vy - b.v * b.y / b.n;
    fit->back.slope = vv > DBL_EPSILON * b.vv ? vy / vv : 0;
    fit->back.shift = b.first_y + b.y / b.n - fit->back.slope * (b.first_v + b.v / b.n);
    fit->back.known = isfinite(fit->back.shift) && isfinite(fit->back.slope);
    return st;
}

double gp_linear_answer(const gp_linear *fit, const gp_schema *schema, double line)
{
    const gp_line_back *b = &fit->back;
    if (!b->known) return gp_predicted_mean(schema, line, fit->variance);
    const double s = schema->y_scale, v = exp(s * gp_limits_clip(b->range, line));
    const gp_limits answers = {.lo = exp(s * b->range.lo), .hi = exp(s * b->range.hi)};
    const double answer = gp_limits_clip(answers, b->shift + b->slope * v);
    return gp_schema_cut(schema, exp(schema->y_mean) * answer - schema->log_offset);
}

json_t *gp_line_back_json(const gp_line_back *b)
{
    return json_pack("[f, f, f, f]", b->range.lo, b->range.hi, b->shift, b->slope);
}

// As a model's record has it, which may be anybody's; models of before have none.
static gp_line_back read_back(const gp_model *m)
{
    const json_t *list = json_object_get(m->record, "linear_back");
    double v[4] = {0};
    bool known = m->schema && m->schema->log_target && json_array_size(list) == 4;
    for (size_t i = 0; known && i < 4; i++) {
        v[i] = json_number_value(json_array_get(list, i));
        known = json_is_number(json_array_get(list, i)) && isfinite(v[i]);
    }
    return (gp_line_back){.known = known && v[0] <= v[1], .range = {v[0], v[1]}, .shift = v[2], .slope = v[3]};
}

// ---- from a model ---------------------------------------------------------------------------------------------------

// Among the features of a linear trend are 1 and x, so the statistics hold the normal equations of least squares. A and
// R are scratch (p x p); false where the equations have no solution.
static bool solve_statistics(const gp_model *m, double *A, double *R, gp_linear *out)
{
    const size_t p = out->p, first = m->layout.M - p;
    const double *b = m->stats.b + first, *ln_scales = m->theta + m->layout.n_rest - 2; // ln s_c, ln s_l
    double scale = 0;
    gp_rung rung = {.jitter = 1e-12}; // one-hot columns add up to one: the least bit of ridge
    gp_mat_copy(gp_cmat_part(gp_ro(m->stats.A), first, first, p, p), gp_mat_of(A, p, p));
    for (size_t i = 0; i < p; i++) scale += A[i * p + i] / (double)p;
    memcpy(out->coef, b, p * sizeof *b);
    if (!gp_cholesky_ladder(gp_cmat_of(A, p, p), scale, &rung, gp_mat_of(R, p, p))) return false;
    gp_trsm_left(GP_UPPER, GP_AS_IS, gp_cmat_of(R, p, p), gp_mat_of(out->coef, p, 1));
    gp_trsm_left(GP_UPPER, GP_TRANSPOSED, gp_cmat_of(R, p, p), gp_mat_of(out->coef, p, 1));
    out->variance = fmax(0, (m->stats.yy - gp_dot(p, b, out->coef)) / m->stats.n);
    for (size_t i = 0; i < p; i++) out->coef[i] *= exp(ln_scales[i > 0]);
    return true;
}

// An exact process keeps its rows, and of the targets alpha = K^-1 y: so y = K alpha, the mean at the rows and the
// share of the noise. (Where the covariance needed jitter its share is left out: a millionth of the noise's.)
static advgp_status targets_of_exact(const gp_model *m, double *y, advgp_error *err)
{
    const double noise = exp(2 * m->theta[0]);
    gp_predictor *predictor = NULL;
    gp_predict_work *work = NULL;
    advgp_status st = m->form->predictor(m, &predictor, err);
    if (st == ADVGP_OK) st = gp_predict_work_new(predictor, 0, &work, err);
    if (st == ADVGP_OK) st = gp_predict(predictor, work, m->exact.X, y, NULL, NULL, err);
    for (size_t i = 0; st == ADVGP_OK && i < m->exact.X.rows; i++)
        y[i] += noise * m->alpha[i] / (m->w_train ? m->w_train[i] : 1);
    gp_predict_work_free(work);
    gp_predictor_free(predictor);
    return st;
}

static advgp_status line_of_exact(const gp_model *m, gp_linear *out, advgp_error *err)
{
    const size_t n = m->exact.X.rows, d = m->spec.d;
    double *y = gp_alloc(2 * n, sizeof *y), *w = y + n;
    unsigned char *part = gp_alloc(n, 1); // zero: GP_TRAIN
    gp_memory_builder *builder = NULL;
    gp_shards *shards = NULL;
    gp_reader reader = {0};
    advgp_status st = y && part ? ADVGP_OK : gp_no_memory(err);
    if (st == ADVGP_OK) st = targets_of_exact(m, y, err);
    for (size_t i = 0; st == ADVGP_OK && i < n; i++) w[i] = m->w_train ? m->w_train[i] : 1;
    const gp_rows rows = {.n = n, .d = d, .X = m->x_train, .y = y, .w = w, .part = part};
    if (st == ADVGP_OK) st = gp_memory_builder_new(d, 1, m->w_train != NULL, true, 0, &builder, err);
    if (st == ADVGP_OK) st = gp_memory_builder_add(builder, &rows, err);
    if (st == ADVGP_OK)
        st = gp_memory_shards_take(builder, &shards, err);
    else
        gp_memory_builder_free(builder);
    if (st == ADVGP_OK) st = gp_reader_new(shards, CHUNK, &reader, err);
    if (st == ADVGP_OK) st = gp_linear_line(&reader, false, out, err);
    gp_reader_fini(&reader);
    gp_shards_free(shards);
    gp_free(y);
    gp_free(part);
    return st;
}

advgp_status gp_linear_of_model(const gp_model *m, gp_linear *out, bool *found, advgp_error *err)
{
    const size_t p = m->spec.d + 1;
    if (m->x_train) {
        *out = (gp_linear){0};
        const advgp_status st = line_of_exact(m, out, err);
        out->back = read_back(m);
        *found = st == ADVGP_OK;
        return st == ADVGP_ENUMERIC ? ADVGP_OK : st;
    }
    *out = (gp_linear){.p = p, .yy = m->stats.yy, .n = m->stats.n};
    *found = false;
    if (m->spec.trend != GP_TREND_LINEAR || m->layout.M < p || !(m->stats.n > 0)) return ADVGP_OK;
    double *scratch = gp_alloc(2 * p, p * sizeof *scratch);
    out->coef = out->block = gp_alloc(p, sizeof(double));
    const bool memory = scratch && out->block;
    out->back = read_back(m);
    if (memory) *found = solve_statistics(m, scratch, scratch + p * p, out);
    gp_free(scratch);
    return memory ? ADVGP_OK : gp_no_memory(err);
}
