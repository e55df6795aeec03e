// fixture.c: fixture.h.
#include "fixture.h"

#include <lapacke.h>

// The thread sanitizer does not see the atomics inside ZeroMQ, which is not built with it, and would take every message
// handed from one of its threads to another for a race.
const char *__tsan_default_suppressions(void); // NOLINT: the name is the sanitizer's
const char *__tsan_default_suppressions(void)  // NOLINT
{
    return "called_from_lib:libzmq.so\ncalled_from_lib:libsodium.so\n";
}

double hang_limit(void)
{
    const char *slow = getenv("ADVGP_SLOW");
    return 300 * fmax(1, slow ? strtod(slow, NULL) : 1);
}

// ---- comparisons

void check_close(double expected, double got, double tol, const char *label, const char *what, const char *file,
                 int line)
{
    if (fabs(got - expected) <= tol * (1 + fabs(expected))) return; // false for NaN
    print_error("%s:%d: %s: expected %.17g, got %.17g (difference %.3g, tolerance %.3g) [%s]\n", file, line, what,
                expected, got, got - expected, tol * (1 + fabs(expected)), label);
    _fail(file, line);
}

void check_array(size_t n, const double *expected, const double *got, double tol, const char *label, const char *what,
                 const char *file, int line)
{
    double largest = 1;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(expected[i]));
    for (size_t i = 0; i < n; i++) {
        if (fabs(got[i] - expected[i]) <= tol * largest) continue;
        print_error("%s:%d: %s[%zu of %zu]: expected %.17g, got %.17g (difference %.3g, tolerance %.3g) [%s]\n", file,
                    line, what, i, n, expected[i], got[i], got[i] - expected[i], tol * largest, label);
        _fail(file, line);
    }
}

void check_bits(size_t n, const double *expected, const double *got, const char *label, const char *what,
                const char *file, int line)
{
    for (size_t i = 0; i < n; i++) {
        if (!memcmp(&expected[i], &got[i], sizeof *got)) continue;
        print_error("%s:%d: %s[%zu of %zu]: expected the bits of %.17g, got %.17g (difference %.3g) [%s]\n", file, line,
                    what, i, n, expected[i], got[i], got[i] - expected[i], label);
        _fail(file, line);
    }
}

void check_status(advgp_status expected, advgp_status got, advgp_error *err, const char *label, const char *what,
                  const char *file, int line)
{
    const bool same = got == expected;
    const bool text_due = got != ADVGP_OK;
    if (same && (!text_due || (err->text[0] && err->status == got))) {
        *err = (advgp_error){0};
        return;
    }
    print_error("%s:%d: %s: expected %s, got %s with the text \"%s\" [%s]\n", file, line, what,
                advgp_status_name(expected), advgp_status_name(got), err->text, label);
    _fail(file, line);
}

void check_true(bool condition, const char *label, const char *what, const char *file, int line, const char *format,
                ...)
{
    if (condition) return;
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_error("%s:%d: expected %s; %s [%s]\n", file, line, what, text, label);
    _fail(file, line);
}

double *doubles(size_t n)
{
    double *p = calloc(n ? n : 1, sizeof *p);
    if (!p) exit(1);
    return p;
}

// ---- random problems

static ref_kernel plain_kernel(const gp_kernel *kernel)
{
    if (kernel == &gp_kernel_ard_rbf) return REF_ARD_RBF;
    if (kernel == &gp_kernel_matern32) return REF_MATERN32;
    if (kernel == &gp_kernel_matern52) return REF_MATERN52;
    print_error("reference.c does not know the kernel %s: teach it\n", kernel->name);
    exit(1);
}

static size_t table_size(const void *const *table)
{
    size_t n = 0;
    while (table[n]) n++;
    return n;
}

static const gp_kernel *any_kernel(gp_rng *rng)
{
    return gp_kernels[gp_rng_below(rng, table_size((const void *const *)gp_kernels))];
}

static const gp_map *any_map(gp_rng *rng)
{
    return gp_maps[gp_rng_below(rng, table_size((const void *const *)gp_maps))];
}

static void make_component(problem *p, size_t b, problem_options o)
{
    gp_component_spec *c = &p->components[b];
    ref_component *r = &p->model.c[b];
    const size_t m = o.z_is_x ? o.n : o.m ? o.m : 1 + gp_rng_below(&p->rng, 6);
    *c = (gp_component_spec){.kernel = o.kernel ? o.kernel : any_kernel(&p->rng),
                             .map = o.map ? o.map : any_map(&p->rng)};
    c->shape.m = m;
    *r = (ref_component){.kernel = plain_kernel(c->kernel), .m = m};
    if (c->map == &gp_map_cholesky) {
        r->map = REF_CHOLESKY;
    } else if (c->map == &gp_map_rvm) {
        r->map = REF_RVM;
    } else if (c->map == &gp_map_nystrom) {
        r->map = REF_EIGEN;
        r->n_groups = 1, r->group_m[0] = m;
        r->group_rank[0] = o.full_rank ? m : 1 + gp_rng_below(&p->rng, m);
        c->shape.rank = o.full_rank ? 0 : r->group_rank[0];
    } else if (c->map == &gp_map_ensemble) {
        r->map = REF_EIGEN;
        r->n_groups = m < 3 ? m : 1 + gp_rng_below(&p->rng, 3);
        for (size_t l = 0, left = m; l < r->n_groups; l++) {
            const size_t after = r->n_groups - 1 - l;
            r->group_m[l] = after ? 1 + gp_rng_below(&p->rng, left - after) : left;
            r->group_rank[l] = o.full_rank ? r->group_m[l] : 1 + gp_rng_below(&p->rng, r->group_m[l]);
            left -= r->group_m[l];
            p->group_m[b][l] = r->group_m[l], p->group_rank[b][l] = r->group_rank[l];
        }
        c->shape.n_groups = r->n_groups;
        c->shape.group_m = p->group_m[b];
        c->shape.group_rank = o.full_rank ? NULL : p->group_rank[b];
    } else {
        print_error("reference.c does not know the map %s: teach it\n", c->map->name);
        exit(1);
    }
}

// Inducing inputs at least so far apart that K_mm has a modest condition: the tests look for mistakes, and rounding
// that a nearly singular K_mm magnifies would hide them. robust_test.c does the opposite.
static void make_Z(problem *p, const double *eta, size_t m, double *Z)
{
    const size_t d = p->d;
    double spread = 1.2, apart = 0.5;
    for (size_t j = 0; j < m; j++)
        for (int attempt = 0;; attempt++) {
            for (size_t k = 0; k < d; k++) Z[j * d + k] = spread * gp_rng_normal(&p->rng);
            double nearest = INFINITY;
            for (size_t l = 0; l < j; l++) {
                double s = 0;
                for (size_t k = 0; k < d; k++) {
                    const double diff = Z[j * d + k] - Z[l * d + k];
                    s += eta[k] * diff * diff;
                }
                nearest = fmin(nearest, s);
            }
            if (nearest >= apart) break;
            if (attempt % 20 == 19) spread *= 1.1;
        }
}

static void make_theta(problem *p, problem_options o)
{
    gp_rng *rng = &p->rng;
    double *t = p->theta;
    *t++ = -0.5 + 0.3 * gp_rng_normal(rng); // ln sigma
    for (size_t b = 0; b < p->spec.n_components; b++) {
        const gp_component_spec *c = &p->components[b];
        const size_t m = c->shape.m;
        *t++ = 0.3 * gp_rng_normal(rng); // ln a0
        double *ln_eta = t, *eta = doubles(p->d);
        for (size_t k = 0; k < p->d; k++) {
            *t = 0.4 * gp_rng_normal(rng) - 0.7 * log((double)p->d) + (p->d == 1 ? 0.7 : 0);
            eta[k] = exp(*t++);
        }
        (void)ln_eta;
        if (o.z_is_x)
            memcpy(t, p->X, m * p->d * sizeof *t);
        else
            make_Z(p, eta, m, t);
        t += m * p->d;
        free(eta);
        if (c->map->has_rho)
            for (size_t j = 0; j < m; j++) *t++ = gp_rng_normal(rng);
    }
    for (int i = 0; i < (int)p->spec.trend; i++) *t++ = -0.3 + 0.3 * gp_rng_normal(rng);
    const size_t M = p->layout.M;
    for (size_t j = 0; j < M; j++) *t++ = 0.5 * gp_rng_normal(rng);
    for (size_t i = 0; i < M; i++)
        for (size_t j = i; j < M; j++) *t++ = i == j ? 0.3 + gp_rng_uniform(rng) : 0.2 * gp_rng_normal(rng);
}

static void make_rows(problem *p, problem_options o)
{
    gp_rng *rng = &p->rng;
    p->X = doubles(p->n * p->d), p->y = doubles(p->n), p->w = o.weighted ? doubles(p->n) : NULL;
    for (size_t i = 0; i < p->n; i++) {
        double sum = 0;
        for (size_t k = 0; k < p->d; k++) sum += p->X[i * p->d + k] = gp_rng_normal(rng);
        p->y[i] = sin(sum) + 0.3 * sum + 0.3 * gp_rng_normal(rng);
        if (!o.weighted) continue;
        const double draw = gp_rng_uniform(rng);
        p->w[i] = draw < 0.2 ? 0 : draw < 0.5 ? 1 + (double)gp_rng_below(rng, 4) : 3 * gp_rng_uniform(rng);
    }
    p->rows = (gp_batch){.X = gp_cmat_of(p->X, p->n, p->d), .y = p->y, .w = p->w};
    p->plain = (ref_rows){.n = p->n, .X = p->X, .y = p->y, .w = p->w};
}

void problem_init(problem *p, uint64_t seed, problem_options o)
{
    *p = (problem){.n = o.n, .d = o.d, .rng = gp_rng_seeded(seed, 0)};
    int used = snprintf(p->label, sizeof p->label, "seed %llu, n %zu, d %zu%s, trend %d", (unsigned long long)seed, o.n,
                        o.d, o.weighted ? ", weighted" : "", (int)o.trend);
    const double jitter = o.jitter < 0 ? 0 : o.jitter > 0 ? o.jitter : 1e-6;
    p->model = (ref_model){.d = o.d, .n_components = o.n_components, .trend = (int)o.trend, .jitter = jitter};
    make_rows(p, o);
    for (size_t b = 0; b < o.n_components; b++) {
        make_component(p, b, o);
        used += snprintf(p->label + used, sizeof p->label - (size_t)used, ", %s %s m %zu",
                         p->components[b].kernel->name, p->components[b].map->name, p->components[b].shape.m);
    }
    p->spec = (gp_feature_spec){
        .d = o.d, .n_components = o.n_components, .components = p->components, .trend = o.trend, .jitter = jitter};
    const size_t M = ref_n_features(&p->model), rest = ref_n_rest(&p->model);
    p->layout = (gp_theta_layout){.n_rest = rest, .M = M, .U = rest + M, .size = ref_size(&p->model)};
    p->theta = doubles(p->layout.size);
    make_theta(p, o);
}

void problem_fini(problem *p)
{
    free(p->X), free(p->y), free(p->w), free(p->theta);
}

void problem_relabel(problem *p, const char *note)
{
    const size_t used = strlen(p->label);
    snprintf(p->label + used, sizeof p->label - used, "; %s", note);
}

engine engine_new(const problem *p, size_t block_rows)
{
    engine e = {0};
    advgp_error err = {0};
    CHECK_OK(gp_features_new(&p->spec, &e.f, &err), p->label);
    const gp_theta_layout layout = gp_theta_layout_of(e.f);
    CHECK(!memcmp(&layout, &p->layout, sizeof layout), p->label, "size %zu, reference %zu", layout.size,
          p->layout.size);
    CHECK_OK(gp_pass_new(e.f, block_rows, &e.pass, &err), p->label);
    return e;
}

void engine_free(engine e)
{
    gp_pass_free(e.pass);
    gp_features_free(e.f);
}

double run_pass(engine e, const double *theta, gp_batch rows, double *grad, const char *label)
{
    double value = NAN;
    advgp_error err = {0};
    CHECK_OK(gp_pass_run(e.pass, theta, grad ? GP_PASS_GRADIENT : GP_PASS_STATS, rows, &value, grad, &err), label);
    return value;
}

double differentiate(scalar_function f, void *ctx, double *x, size_t i, double step)
{
    const double at = x[i];
    double value[4];
    for (int k = 0; k < 4; k++) {
        static const double shift[] = {-2, -1, 1, 2};
        x[i] = at + shift[k] * step;
        value[k] = f(ctx, x);
    }
    x[i] = at;
    return (8 * (value[2] - value[1]) - (value[3] - value[0])) / (12 * step);
}

double smallest_eigenvalue(size_t n, const double *A_in)
{
    double *A = doubles(n * n), smallest = INFINITY;
    memcpy(A, A_in, n * n * sizeof *A);
    for (int sweep = 0; sweep < 30; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                if (A[p * n + q] == 0) continue;
                const double tau = (A[q * n + q] - A[p * n + p]) / (2 * A[p * n + q]);
                const double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
                const double c = 1 / sqrt(1 + t * t), s = t * c;
                for (size_t k = 0; k < n; k++) {
                    const double kp = A[k * n + p], kq = A[k * n + q];
                    A[k * n + p] = c * kp - s * kq, A[k * n + q] = s * kp + c * kq;
                }
                for (size_t k = 0; k < n; k++) {
                    const double pk = A[p * n + k], qk = A[q * n + k];
                    A[p * n + k] = c * pk - s * qk, A[q * n + k] = s * pk + c * qk;
                }
            }
    for (size_t i = 0; i < n; i++) smallest = fmin(smallest, A[i * n + i]);
    free(A);
    return smallest;
}

// ---- oracles

void fixture_least_squares(size_t n, size_t p, const double *X, const double *y, double *coef)
{
    double *A = doubles(n * p), *b = doubles(n);
    memcpy(A, X, n * p * sizeof *A);
    memcpy(b, y, n * sizeof *b);
    if (LAPACKE_dgels(LAPACK_ROW_MAJOR, 'N', (lapack_int)n, (lapack_int)p, 1, A, (lapack_int)p, b, 1) != 0)
        fail_msg("dgels failed");
    memcpy(coef, b, p * sizeof *coef);
    free(A), free(b);
}

int asked(void *ctx)
{
    patience *p = ctx;
    return p->asked++ >= p->until;
}
