// features.c: the list of components and the trend: their place in theta, columns and features, and the products with
// L~.
#include "feature/features.h"
#include "base/alloc.h"
#include "linalg/dense.h"
#include "linalg/simd.h"
#include "linalg/tile.h"

#include <math.h>
#include <string.h>

// ---- construction -----------------------------------------------------------------------------------------

static advgp_status check_spec(const gp_feature_spec *spec, advgp_error *err)
{
    if (!spec) return gp_fail(err, ADVGP_EINVAL, "features: no specification given");
    if (!spec->d) return gp_fail(err, ADVGP_EINVAL, "features: a model needs at least one input");
    if (spec->n_components && !spec->components)
        return gp_fail(err, ADVGP_EINVAL, "features: %zu components announced, none given", spec->n_components);
    if (spec->trend != GP_TREND_NONE && spec->trend != GP_TREND_CONSTANT && spec->trend != GP_TREND_LINEAR)
        return gp_fail(err, ADVGP_EINVAL, "features: there is no trend of number %d", (int)spec->trend);
    if (!spec->n_components && spec->trend == GP_TREND_NONE)
        return gp_fail(err, ADVGP_EINVAL, "features: a model needs a component or a trend");
    if (!(spec->jitter >= 0 && spec->jitter <= 1e-2))
        return gp_fail(err, ADVGP_EINVAL, "features: relative jitter %g is not in 0 .. 0.01", spec->jitter);
    for (size_t b = 0; b < spec->n_components; b++) {
        const gp_component_spec *c = &spec->components[b];
        if (!c->kernel || !c->map)
            return gp_fail(err, ADVGP_EINVAL, "features: component %zu has no kernel or no map", b + 1);
        if (spec->rungs && !(spec->rungs[b] >= 0 && spec->rungs[b] <= 1e-2))
            return gp_fail(err, ADVGP_EINVAL, "features: relative jitter %g of component %zu is not in 0 .. 0.01",
                           spec->rungs[b], b + 1);
        if (!c->shape.m) return gp_fail(err, ADVGP_EINVAL, "features: component %zu has no inducing inputs", b + 1);
        size_t M;
        advgp_status st = c->map->features(&c->shape, &M, err);
        if (st != ADVGP_OK) return gp_wrap(err, st, "features: component %zu", b + 1);
    }
    return ADVGP_OK;
}

// Where everything of component c goes. The same code measures and cuts (alloc.h).
static void plan_component(gp_component *c, size_t d, gp_arena *arena)
{
    const size_t m = c->m;
    c->eta = gp_arena_doubles(arena, d);
    c->Z = gp_mat_of(gp_arena_doubles(arena, m * d), m, d);
    c->inputs = gp_mat_of(gp_arena_doubles(arena, d * m), d, m);
    const size_t width = gp_tile_width(m);
    c->distances = (gp_mat){.p = gp_arena_doubles(arena, (d + 2) * width), .rows = d + 2, .cols = m, .ld = width};
    c->T = gp_mat_of(gp_arena_doubles(arena, m * c->M), m, c->M);
    c->rho = gp_arena_doubles(arena, m);
    c->scratch = gp_arena_doubles(arena, c->map->scratch(&c->shape));
}

static size_t *copy_sizes(gp_arena *arena, const size_t *from, size_t n)
{
    size_t *to = gp_arena_bytes(arena, n, sizeof *to);
    if (to && from) memcpy(to, from, n * sizeof *to);
    return from ? to : NULL;
}

static void plan(gp_features *f, const gp_feature_spec *spec, gp_arena *arena)
{
    gp_component *list = gp_arena_bytes(arena, spec->n_components, sizeof *list);
    size_t m_max = 0;
    const double *maps = spec->maps;
    f->components = list;
    f->n_cols = f->M = 0;
    f->n_params = 1; // ln sigma
    for (size_t b = 0; b < spec->n_components; b++) {
        const gp_component_spec *s = &spec->components[b];
        gp_component c = {.kernel = s->kernel, .map = s->map, .shape = s->shape, .m = s->shape.m};
        c.jitter = spec->rungs && spec->rungs[b] > 0 ? spec->rungs[b] : spec->jitter;
        (void)s->map->features(&s->shape, &c.M, NULL); // checked before
        c.param = f->n_params, c.col = f->n_cols, c.feature = f->M;
        size_t *group_m = copy_sizes(arena, s->shape.group_m, s->shape.n_groups);
        size_t *group_rank = copy_sizes(arena, s->shape.group_rank, s->shape.n_groups);
        if (arena->base) c.shape.group_m = group_m, c.shape.group_rank = group_rank;
        if (maps && c.map->take) {
            double *given = gp_arena_doubles(arena, c.m * c.M);
            if (given) memcpy(given, maps, c.m * c.M * sizeof *given);
            c.given = given;
            maps += c.m * c.M;
        }
        plan_component(&c, spec->d, arena);
        if (list) list[b] = c;
        f->n_params += 1 + spec->d + c.m * spec->d + (c.map->has_rho ? c.m : 0);
        f->n_cols += c.m;
        f->M += c.M;
        if (c.m > m_max) m_max = c.m;
    }
    f->n_kernel_cols = f->n_cols;
    f->n_kernel_features = f->M;
    f->trend_param = f->n_params;
    if (spec->trend != GP_TREND_NONE) f->n_cols++, f->M++, f->n_params++;
    if (spec->trend == GP_TREND_LINEAR) f->n_cols += spec->d, f->M += spec->d, f->n_params++;
    f->unit = gp_arena_doubles(arena, f->n_params);
    f->scratch = gp_arena_doubles(arena, (f->n_cols + 1) * f->n_cols);
    f->row = gp_arena_doubles(arena, 2 * m_max);
    f->J = gp_mat_of(gp_arena_doubles(arena, m_max * spec->d), m_max, spec->d);
}

static void set_units(gp_features *f)
{
    for (size_t i = 0; i < f->n_params; i++) f->unit[i] = 1;
    for (size_t b = 0; b < f->n_components; b++)
        for (size_t k = 0; k < f->d; k++) f->unit[f->components[b].param + 1 + k] = 2;
}

advgp_status gp_features_new(const gp_feature_spec *spec, gp_features **out, advgp_error *err)
{
    if (!out) return gp_fail(err, ADVGP_EINVAL, "features: nowhere to put the result");
    *out = NULL;
    advgp_status st = check_spec(spec, err);
    if (st != ADVGP_OK) return st;
    gp_features f = {.d = spec->d, .n_components = spec->n_components, .trend = spec->trend, .jitter = spec->jitter};
    gp_arena arena = {0};
    (void)gp_arena_bytes(&arena, 1, sizeof f);
    plan(&f, spec, &arena);
    if (!gp_arena_take(&arena)) return gp_no_memory(err);
    gp_features *self = gp_arena_bytes(&arena, 1, sizeof f);
    plan(&f, spec, &arena);
    set_units(&f);
    *self = f;
    *out = self;
    return ADVGP_OK;
}

advgp_status gp_features_measure(const gp_feature_spec *spec, gp_features *sizes, advgp_error *err)
{
    const advgp_status st = check_spec(spec, err);
    if (st != ADVGP_OK) return st;
    gp_arena nowhere = {0};
    *sizes = (gp_features){.d = spec->d, .n_components = spec->n_components, .trend = spec->trend};
    plan(sizes, spec, &nowhere);
    return ADVGP_OK;
}

void gp_features_free(gp_features *f)
{
    gp_free(f);
}

// ---- from theta to K_mm and T -----------------------------------------------------------------------------

static bool in_range(double x)
{
    return isfinite(x) && x > 0;
}

static advgp_status set_scales(gp_component *c, size_t d, const double *theta, advgp_error *err)
{
    c->a0sq = exp(2 * theta[0]);
    if (!in_range(c->a0sq)) return gp_fail(err, ADVGP_ENUMERIC, "ln a0 = %g is out of range", theta[0]);
    for (size_t k = 0; k < d; k++) {
        c->eta[k] = exp(theta[1 + k]);
        if (!in_range(c->eta[k]))
            return gp_fail(err, ADVGP_ENUMERIC, "the length-scale of input %zu is out of range: ln eta = %g", k + 1,
                           theta[1 + k]);
    }
    const double *Z = theta + 1 + d;
    const size_t n = c->m * d;
    if (!gp_all_finite(n, Z)) return gp_fail(err, ADVGP_ENUMERIC, "an inducing input is not finite");
    memcpy(c->Z.p, Z, n * sizeof *Z);
    for (size_t j = 0; j < c->m; j++)
        for (size_t k = 0; k < d; k++) c->inputs.p[k * c->m + j] = Z[j * d + k];
    if (c->map->has_rho) {
        if (!gp_all_finite(c->m, Z + n)) return gp_fail(err, ADVGP_ENUMERIC, "a value of rho is not finite");
        memcpy(c->rho, Z + n, c->m * sizeof *Z);
    }
    return ADVGP_OK;
}

static void set_distances(gp_component *c, size_t d)
{
    gp_mat R = c->distances;
    for (size_t j = 0; j < c->m; j++) {
        const double *z = c->Z.p + j * d;
        double square = 0;
        for (size_t k = 0; k < d; k++) {
            square += c->eta[k] * z[k] * z[k];
            R.p[(1 + k) * R.ld + j] = -2 * c->eta[k] * z[k];
        }
        R.p[j] = square;
        R.p[(d + 1) * R.ld + j] = 1;
    }
}

// r^2 to the inducing inputs before z_i. By differences, not by the expanded square: m^2 d is little work, and equal
// inducing inputs get distance 0 exactly.
GP_VARIANTS(distances_before, (const gp_component *c, size_t d, size_t i, double *restrict s), (c, d, i, s))
{
    for (size_t j = 0; j < i; j++) s[j] = 0;
    for (size_t k = 0; k < d; k++) {
        const double z = c->Z.p[i * d + k], eta = c->eta[k], *restrict others = c->inputs.p + k * c->m;
        for (size_t j = 0; j < i; j++) s[j] += eta * (z - others[j]) * (z - others[j]);
    }
}

void gp_component_gram(const gp_component *c, size_t d, gp_mat K)
{
    for (size_t i = 0; i < c->m; i++) {
        distances_before(c, d, i, K.p + i * K.ld);
        K.p[i * K.ld + i] = 0;
        for (size_t j = 0; j < i; j++) K.p[j * K.ld + i] = K.p[i * K.ld + j];
    }
    c->kernel->eval(K, c->a0sq, NULL);
}

void gp_component_slopes(const gp_component *c, size_t d, size_t i, double *s, double *slope)
{
    distances_before(c, d, i, s);
    c->kernel->eval(gp_mat_of(s, 1, i), c->a0sq, slope);
}

static advgp_status set_component(gp_component *c, size_t d, const double *theta, double *scratch, advgp_error *err)
{
    const gp_mat K = gp_mat_of(scratch, c->m, c->m);
    advgp_status st = set_scales(c, d, theta + c->param, err);
    if (st != ADVGP_OK) return st;
    set_distances(c, d);
    gp_component_gram(c, d, K);
    c->rung = (gp_rung){.jitter = c->jitter};
    if (c->given) {
        memcpy(c->T.p, c->given, c->m * c->M * sizeof *c->given);
        return c->map->take(&c->shape, gp_ro(K), c->a0sq, &c->rung, gp_ro(c->T), c->scratch, err);
    }
    return c->map->make(&c->shape, gp_ro(K), c->a0sq, c->rho, &c->rung, c->T, c->scratch, err);
}

static advgp_status set_trend(gp_features *f, const double *theta, advgp_error *err)
{
    f->s_c = f->trend != GP_TREND_NONE ? exp(theta[f->trend_param]) : 0;
    f->s_l = f->trend == GP_TREND_LINEAR ? exp(theta[f->trend_param + 1]) : 0;
    if ((f->trend != GP_TREND_NONE && !in_range(f->s_c)) || (f->trend == GP_TREND_LINEAR && !in_range(f->s_l)))
        return gp_fail(err, ADVGP_ENUMERIC, "the scale of the trend is out of range: s_c = %g, s_l = %g", f->s_c,
                       f->s_l);
    return ADVGP_OK;
}

advgp_status gp_features_set(gp_features *f, const double *theta, advgp_error *err)
{
    if (!f || !theta) return gp_fail(err, ADVGP_EINVAL, "features: no features or no parameters given");
    f->a0sq_sum = 0;
    for (size_t b = 0; b < f->n_components; b++) {
        advgp_status st = set_component(&f->components[b], f->d, theta, f->scratch, err);
        if (st != ADVGP_OK) return gp_wrap(err, st, "component %zu", b + 1);
        f->a0sq_sum += f->components[b].a0sq;
    }
    return set_trend(f, theta, err);
}

// Whether K_mm has a Cholesky factor beyond doubt: rounding in it and in its factor is below 1e-6 a0^2 up to m =
// MOST, the last rung adds more than 1e-3 a0^2, and no number comes near the ends of its range. The scales have been
// set.
static bool surely_factors(const gp_component *c, size_t d)
{
    enum { MOST = 20000 };
    static const double jitter_min = 1e-14, far = 1e100; // from there the ladder reaches its last rung
    if (!c->map->lower || c->given || c->m > MOST || (c->jitter > 0 && c->jitter < jitter_min)) return false;
    double reach = 0;
    for (size_t k = 0; k < d; k++) {
        double most = 0;
        for (size_t j = 0; j < c->m; j++) most = fmax(most, fabs(c->Z.p[j * d + k]));
        reach += 4 * c->eta[k] * most * most;
    }
    return reach < far && c->a0sq < far && c->a0sq > 1 / far;
}

advgp_status gp_features_can_set(gp_features *f, const double *theta, advgp_error *err)
{
    for (size_t b = 0; b < f->n_components; b++) {
        gp_component *c = &f->components[b];
        const advgp_status st = set_scales(c, f->d, theta + c->param, err);
        if (st != ADVGP_OK) return gp_wrap(err, st, "component %zu", b + 1);
        if (!surely_factors(c, f->d)) return gp_features_set(f, theta, err);
    }
    return set_trend(f, theta, err);
}

// ---- columns of a block of rows ---------------------------------------------------------------------------

// The last column of X1 = [1 x .]: |x|^2 with weights eta.
GP_VARIANTS(set_norms, (gp_mat X1, size_t d, const double *eta), (X1, d, eta))
{
    for (size_t i = 0; i < X1.rows; i++) {
        double *x = X1.p + i * X1.ld + 1, part[4] = {0};
        size_t k = 0;
        for (; k + 4 <= d; k += 4)
            for (size_t l = 0; l < 4; l++) part[l] += eta[k + l] * x[k + l] * x[k + l];
        double sum = (part[0] + part[1]) + (part[2] + part[3]);
        for (; k < d; k++) sum += eta[k] * x[k] * x[k];
        x[d] = sum;
    }
}

size_t gp_features_row(const gp_features *f)
{
    size_t row = f->n_cols;
    for (size_t b = 0; b < f->n_components; b++) {
        const size_t end = f->components[b].col + f->components[b].distances.ld;
        if (end > row) row = end;
    }
    return row;
}

void gp_features_columns(const gp_features *f, gp_mat X1, gp_mat K, double *slope)
{
    const size_t d = f->d, n_rows = X1.rows;
    for (size_t b = 0; b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        double *slopes = slope && c->kernel->slope_ratio == 0 ? slope + c->col : NULL;
        set_norms(X1, d, c->eta);
        // Whole tiles where the row has room: what sticks out is overwritten by the next component, or means nothing.
        const size_t width = c->col + c->distances.ld <= K.ld ? c->distances.ld : c->m;
        const gp_cmat distances = {c->distances.p, d + 2, width, c->distances.ld};
        for (size_t i = 0; i < n_rows; i += GP_TILE_ROWS) { // so few that the kernel finds their distances in the cache
            const size_t n = n_rows - i < GP_TILE_ROWS ? n_rows - i : GP_TILE_ROWS;
            const gp_mat part = gp_mat_part(K, i, c->col, n, width);
            gp_tile_product(gp_cmat_part(gp_ro(X1), i, 0, n, d + 2), distances, part); // r^2, expanded
            c->kernel->eval(part, c->a0sq, slopes ? slopes + i * K.ld : NULL);
        }
    }
    const size_t n_trend = f->n_cols - f->n_kernel_cols; // 0, 1 or d+1: the first columns of X1
    for (size_t i = 0; i < n_rows; i++)
        memcpy(K.p + i * K.ld + f->n_kernel_cols, X1.p + i * X1.ld, n_trend * sizeof(double));
}

// h = g o k in place of g, and its sum. Without variants: where the CPU has AVX2, strips do this.
static void times_row(size_t n, double *restrict g, const double *restrict k, double *sum)
{
    double part[GP_LANES] = {0}, rest = 0;
    size_t j = 0;
    for (; j + GP_LANES <= n; j += GP_LANES)
        for (size_t l = 0; l < GP_LANES; l++) part[l] += g[j + l] *= k[j + l];
    for (; j < n; j++) rest += g[j] *= k[j];
    *sum = rest + (((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7])));
}

void gp_features_times_slope(const gp_features *f, gp_cmat K, const double *slope, gp_mat G, gp_mat row_sums)
{
    for (size_t i = 0; i < G.rows; i++)
        for (size_t b = 0; b < f->n_components; b++) {
            const gp_component *c = &f->components[b];
            const double *k = (c->kernel->slope_ratio != 0 ? K.p : slope) + i * K.ld + c->col;
            times_row(c->m, G.p + i * G.ld + c->col, k, &row_sums.p[i * row_sums.ld + b]);
        }
}

double gp_features_condition(const gp_features *f)
{
    double worst = 1;
    for (size_t b = 0; b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        for (size_t j = 0; j < c->M; j++) {
            double norm = 0;
            for (size_t i = 0; i < c->m; i++) norm += c->T.p[i * c->T.ld + j] * c->T.p[i * c->T.ld + j];
            worst = fmax(worst, c->a0sq * norm);
        }
    }
    return worst;
}

double gp_features_residual(const gp_features *f, const double *phi)
{
    double sum = 0;
    for (size_t b = 0; b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        sum += fmax(0, c->a0sq - gp_dot(c->M, phi + c->feature, phi + c->feature));
    }
    return sum;
}

// ---- products with L~ -------------------------------------------------------------------------------------

static double trend_scale(const gp_features *f, size_t t) // of trend feature t
{
    return t == 0 ? f->s_c : f->s_l;
}

static void scale_row(size_t n, double scale, const double *from, double *to)
{
    for (size_t j = 0; j < n; j++) to[j] = scale * from[j];
}

// op(T) A of a component with a triangular T, the result being symmetric over all components: `first` is where its rows
// are among them. What stands left of the diagonal is that of the components before.
static void left_symmetric(const gp_component *c, gp_op op, gp_cmat from, size_t first, gp_mat out)
{
    const size_t m = c->m, after = first + m, rest = out.cols - after;
    const gp_mat own = gp_mat_part(out, first, first, m, m), right = gp_mat_part(out, first, after, m, rest);
    gp_mat_copy(gp_cmat_part(from, 0, first, m, m), own);
    gp_trmm_left_symmetric(GP_LOWER, op, gp_ro(c->T), own);
    gp_mat_copy(gp_cmat_part(from, 0, after, m, rest), right);
    gp_trmm_left(GP_LOWER, op, gp_ro(c->T), right);
    for (size_t i = first; i < after; i++)
        for (size_t j = 0; j < first; j++) out.p[i * out.ld + j] = out.p[j * out.ld + i];
}

// L~ A or L~^T A, component by component. Trend rows are the same in columns and features but for their scale, so the
// two treat them alike.
static void left(const gp_features *f, gp_op op, bool symmetric, gp_cmat A, gp_mat out)
{
    const bool back = op == GP_TRANSPOSED; // from columns to features
    for (size_t b = 0; b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        const size_t from_row = back ? c->col : c->feature, to_row = back ? c->feature : c->col;
        gp_cmat from = gp_cmat_part(A, from_row, 0, back ? c->m : c->M, A.cols);
        gp_mat to = gp_mat_part(out, to_row, 0, back ? c->M : c->m, A.cols);
        if (c->map->lower && symmetric) {
            left_symmetric(c, op, from, to_row, out);
        } else if (c->map->lower) {
            gp_mat_copy(from, to);
            gp_trmm_left(GP_LOWER, op, gp_ro(c->T), to);
        } else {
            gp_gemm(op, GP_AS_IS, 1, gp_ro(c->T), from, 0, to);
        }
    }
    const size_t first_in = back ? f->n_kernel_cols : f->n_kernel_features;
    const size_t first_out = back ? f->n_kernel_features : f->n_kernel_cols;
    for (size_t t = 0; t < f->M - f->n_kernel_features; t++)
        scale_row(A.cols, trend_scale(f, t), A.p + (first_in + t) * A.ld, out.p + (first_out + t) * out.ld);
}

void gp_features_left(const gp_features *f, gp_cmat A, gp_mat out)
{
    left(f, GP_AS_IS, false, A, out);
}

void gp_features_left_t(const gp_features *f, gp_cmat A, gp_mat out)
{
    left(f, GP_TRANSPOSED, false, A, out);
}

void gp_features_left_symmetric(const gp_features *f, gp_cmat A, gp_mat out)
{
    left(f, GP_AS_IS, true, A, out);
}

void gp_features_left_t_symmetric(const gp_features *f, gp_cmat A, gp_mat out)
{
    left(f, GP_TRANSPOSED, true, A, out);
}

bool gp_features_lower(const gp_features *f)
{
    for (size_t b = 0; b < f->n_components; b++)
        if (!f->components[b].map->lower) return false;
    return true;
}

void gp_features_right(const gp_features *f, gp_cmat A, gp_mat out)
{
    for (size_t b = 0; b < f->n_components; b++) {
        const gp_component *c = &f->components[b];
        gp_cmat from = gp_cmat_part(A, 0, c->col, A.rows, c->m);
        gp_mat to = gp_mat_part(out, 0, c->feature, A.rows, c->M);
        if (c->map->lower) {
            gp_mat_copy(from, to);
            gp_trmm_right(GP_LOWER, GP_AS_IS, gp_ro(c->T), to);
        } else {
            gp_gemm(GP_AS_IS, GP_AS_IS, 1, from, gp_ro(c->T), 0, to);
        }
    }
    for (size_t i = 0; i < A.rows; i++)
        for (size_t t = 0; t < f->M - f->n_kernel_features; t++)
            out.p[i * out.ld + f->n_kernel_features + t] = trend_scale(f, t) * A.p[i * A.ld + f->n_kernel_cols + t];
}
