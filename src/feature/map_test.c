// map_test.c: what map.h promises, asked of every map with every kernel: K_nn - Phi Phi^T has no negative direction,
// phi is proportional to a0, the residual is not negative, derivatives match differences, bad shapes are refused. Also
// features.h: specifications that cannot be, and the products with L~ against loops.
#include "fixture.h"

static void features_of(const problem *p, gp_features **f)
{
    advgp_error err = {0};
    CHECK_OK(gp_features_new(&p->spec, f, &err), p->label);
    CHECK_OK(gp_features_set(*f, p->theta, &err), p->label);
}

// phi (n x M) of rows X, by the fast code.
static double *phi_of(const gp_features *f, size_t n, const double *X)
{
    const size_t d = f->d;
    double *X1 = doubles(n * (d + 2)), *K = doubles(n * f->n_cols), *phi = doubles(n * f->M);
    for (size_t i = 0; i < n; i++) {
        X1[i * (d + 2)] = 1;
        for (size_t k = 0; k < d; k++) X1[i * (d + 2) + 1 + k] = X[i * d + k];
    }
    gp_features_columns(f, gp_mat_of(X1, n, d + 2), gp_mat_of(K, n, f->n_cols), NULL);
    gp_features_right(f, gp_cmat_of(K, n, f->n_cols), gp_mat_of(phi, n, f->M));
    free(X1), free(K);
    return phi;
}

typedef void (*question)(const gp_kernel *kernel, const gp_map *map, uint64_t seed);

static void ask_all(question ask, int times)
{
    uint64_t seed = 0;
    for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++)
        for (const gp_map *const *map = gp_maps; *map; map++)
            for (int i = 0; i < times; i++) ask(*kernel, *map, ++seed);
}

// Rows anywhere, at inducing inputs, and twice: the residual covariance of f given w must have no negative direction.
static void ask_positive(const gp_kernel *kernel, const gp_map *map, uint64_t seed)
{
    problem p;
    gp_features *f;
    problem_init(&p, seed,
                 (problem_options){
                     .n = 20, .d = 1 + seed % 3, .n_components = 1, .m = 1 + seed % 9, .kernel = kernel, .map = map});
    features_of(&p, &f);
    const gp_component *c = &f->components[0];
    const size_t n = p.n + c->m + 2, M = f->M, d = p.d;
    double *X = doubles(n * d), *K = doubles(n * n);
    memcpy(X, p.X, p.n * d * sizeof *X);
    memcpy(X + p.n * d, c->Z.p, c->m * d * sizeof *X);
    memcpy(X + (p.n + c->m) * d, p.X, 2 * d * sizeof *X);
    double *phi = phi_of(f, n, X);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double s = 0;
            for (size_t k = 0; k < d; k++)
                s += c->eta[k] * (X[i * d + k] - X[j * d + k]) * (X[i * d + k] - X[j * d + k]);
            K[i * n + j] = s;
        }
    kernel->eval(gp_mat_of(K, n, n), c->a0sq, NULL);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) K[i * n + j] -= gp_dot(M, phi + i * M, phi + j * M);
    const double smallest = smallest_eigenvalue(n, K);
    CHECK(smallest >= -1e-11 * c->a0sq, p.label, "smallest eigenvalue of K - Phi Phi^T: %g", smallest);
    for (size_t i = 0; i < n; i++)
        CHECK(gp_features_residual(f, phi + i * M) >= 0, p.label, "residual %g", gp_features_residual(f, phi + i * M));
    free(X), free(K), free(phi);
    gp_features_free(f);
    problem_fini(&p);
}

static void the_residual_covariance_has_no_negative_direction(void **state)
{
    (void)state;
    ask_all(ask_positive, 15);
}

static void ask_proportional(const gp_kernel *kernel, const gp_map *map, uint64_t seed)
{
    problem p;
    gp_features *f;
    problem_init(&p, seed, (problem_options){.n = 9, .d = 2, .n_components = 1, .m = 5, .kernel = kernel, .map = map});
    p.theta[1] = 0;
    features_of(&p, &f);
    double *one = phi_of(f, p.n, p.X);
    for (int exponent = -40; exponent <= 40; exponent += 20) { // a0 a power of two: every product is exact but for sqrt
        advgp_error err = {0};
        p.theta[1] = exponent * log(2);
        CHECK_OK(gp_features_set(f, p.theta, &err), p.label);
        double *scaled = phi_of(f, p.n, p.X);
        for (size_t i = 0; i < p.n * f->M; i++) scaled[i] = ldexp(scaled[i], -exponent);
        CHECK_ARRAY(p.n * f->M, one, scaled, 1e-12, p.label);
        free(scaled);
    }
    free(one);
    gp_features_free(f);
    problem_fini(&p);
}

static void features_are_proportional_to_the_amplitude(void **state)
{
    (void)state;
    ask_all(ask_proportional, 3);
}

// pull() against differences of tr(D^T T) in every entry of K_mm (moved symmetrically, as Z moves them) and of rho.
typedef struct pulled {
    const gp_component *c;
    const double *D;
} pulled;

// x holds K_mm, of which only the lower triangle counts, and then rho.
static double trace_at(void *ctx, const double *x)
{
    const pulled *q = ctx;
    const size_t m = q->c->m, M = q->c->M;
    advgp_error err = {0};
    double *T = doubles(m * M), *scratch = doubles(q->c->map->scratch(&q->c->shape)), *K = doubles(m * m), sum = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j <= i; j++) K[i * m + j] = K[j * m + i] = x[i * m + j];
    gp_rung rung = {.jitter = 1e-6};
    CHECK_OK(q->c->map->make(&q->c->shape, gp_cmat_of(K, m, m), q->c->a0sq, x + m * m, &rung, gp_mat_of(T, m, M),
                             scratch, &err),
             q->c->map->name);
    for (size_t i = 0; i < m * M; i++) sum += q->D[i] * T[i];
    free(T), free(scratch), free(K);
    return sum;
}

static void ask_pull(const gp_kernel *kernel, const gp_map *map, uint64_t seed)
{
    problem p;
    gp_features *f;
    problem_init(&p, 100 + seed,
                 (problem_options){.n = 1, .d = 3, .n_components = 1, .m = 1 + seed % 7, .kernel = kernel, .map = map});
    features_of(&p, &f);
    gp_component *c = &f->components[0];
    const size_t m = c->m, M = c->M;
    double *D = doubles(m * M), *spent = doubles(m * M), *x = doubles(m * m + m), *G = doubles(m * m),
           *g_rho = doubles(m);
    for (size_t i = 0; i < m; i++) // a triangular T is moved within its triangle only
        for (size_t j = 0; j < M; j++) D[i * M + j] = map->lower && j > i ? 0 : gp_rng_normal(&p.rng);
    if (map->lower)
        gp_gemm(GP_TRANSPOSED, GP_AS_IS, 1, gp_ro(c->T), gp_cmat_of(D, m, M), 0, gp_mat_of(spent, m, M));
    else
        memcpy(spent, D, m * M * sizeof *D);
    gp_component_gram(c, 3, gp_mat_of(x, m, m));
    memcpy(x + m * m, c->rho, m * sizeof *x);
    map->pull(&c->shape, gp_ro(c->T), gp_mat_of(spent, m, M), c->rho, gp_mat_of(G, m, m), map->has_rho ? g_rho : NULL,
              c->scratch);
    pulled q = {.c = c, .D = D};
    double largest = 1e-3;
    for (size_t i = 0; i < m * m; i++) largest = fmax(largest, fabs(G[i]));
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < i; j++) {
            const double expected = differentiate(trace_at, &q, x, i * m + j, 1e-5);
            const double got = G[i * m + j] + G[j * m + i];
            CHECK(fabs(expected - got) <= 1e-6 * largest, p.label, "K_%zu,%zu: difference %g, pulled %g", i, j,
                  expected, got);
        }
    for (size_t i = 0; map->has_rho && i < m; i++)
        CHECK_CLOSE(differentiate(trace_at, &q, x, m * m + i, 1e-4), g_rho[i], 1e-8, p.label);
    free(D), free(spent), free(x), free(G), free(g_rho);
    gp_features_free(f);
    problem_fini(&p);
}

static void pull_is_the_derivative_of_make(void **state)
{
    (void)state;
    ask_all(ask_pull, 14);
}

// ---- particular to one map

static void the_cholesky_factor_is_the_lower_factor_of_the_inverse(void **state)
{
    (void)state;
    problem p;
    gp_features *f;
    problem_init(&p, 5, (problem_options){.n = 1, .d = 2, .n_components = 1, .m = 9, .map = &gp_map_cholesky});
    features_of(&p, &f);
    const gp_component *c = &f->components[0];
    for (size_t i = 0; i < 9; i++) {
        assert_true(c->T.p[i * 9 + i] > 0);
        for (size_t j = i + 1; j < 9; j++) assert_true(c->T.p[i * 9 + j] == 0);
    }
    // K L L^T = I
    double product[81], identity[81];
    gp_gemm(GP_AS_IS, GP_TRANSPOSED, 1, gp_ro(c->T), gp_ro(c->T), 0, gp_mat_of(product, 9, 9));
    double K[81], eye[81] = {0};
    gp_component_gram(c, 2, gp_mat_of(K, 9, 9));
    for (size_t i = 0; i < 9; i++) K[i * 10] += 1e-6 * c->a0sq, eye[i * 10] = 1;
    gp_gemm(GP_AS_IS, GP_AS_IS, 1, gp_cmat_of(K, 9, 9), gp_cmat_of(product, 9, 9), 0, gp_mat_of(identity, 9, 9));
    CHECK_ARRAY(81, eye, identity, 1e-10, p.label);
    gp_features_free(f);
    problem_fini(&p);
}

static void nystrom_of_full_rank_spans_what_cholesky_spans(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        problem a, b;
        gp_features *fa, *fb;
        const problem_options o = {
            .n = 15, .d = 2, .n_components = 1, .m = 6, .kernel = &gp_kernel_matern32, .full_rank = true};
        problem_options oa = o, ob = o;
        oa.map = &gp_map_cholesky, ob.map = &gp_map_nystrom;
        problem_init(&a, seed, oa), problem_init(&b, seed, ob);
        memcpy(b.theta, a.theta, a.layout.size * sizeof *a.theta);
        features_of(&a, &fa), features_of(&b, &fb);
        double *pa = phi_of(fa, a.n, a.X), *pb = phi_of(fb, a.n, a.X);
        for (size_t i = 0; i < a.n; i++)
            for (size_t j = 0; j < a.n; j++)
                CHECK_CLOSE(gp_dot(6, pa + i * 6, pa + j * 6), gp_dot(6, pb + i * 6, pb + j * 6), 1e-11, a.label);
        free(pa), free(pb);
        gp_features_free(fa), gp_features_free(fb);
        problem_fini(&a), problem_fini(&b);
    }
}

static void an_ensemble_of_one_group_is_nystrom(void **state)
{
    (void)state;
    problem a, b;
    gp_features *fa, *fb;
    problem_init(&a, 3, (problem_options){.n = 8, .d = 2, .n_components = 1, .m = 5, .map = &gp_map_nystrom});
    problem_init(&b, 3, (problem_options){.n = 8, .d = 2, .n_components = 1, .m = 5, .map = &gp_map_nystrom});
    const size_t m = 5, rank = a.components[0].shape.rank;
    b.components[0].map = &gp_map_ensemble;
    b.components[0].shape = (gp_map_shape){.m = 5, .n_groups = 1, .group_m = &m, .group_rank = &rank};
    features_of(&a, &fa), features_of(&b, &fb);
    assert_int_equal(fa->M, fb->M);
    CHECK_BITS(m * rank, fa->components[0].T.p, fb->components[0].T.p, a.label);
    gp_features_free(fa), gp_features_free(fb);
    problem_fini(&a), problem_fini(&b);
}

// No jitter up to a hundredth makes [1 2; 2 1] positive: the ladder ends, and the message says where.
static void a_matrix_beyond_the_ladder_is_refused_with_a_message(void **state)
{
    (void)state;
    static const double K[4] = {1, 2, 2, 1};
    static const size_t two = 2;
    static const gp_map *const maps[] = {&gp_map_cholesky, &gp_map_nystrom, &gp_map_ensemble};
    for (size_t i = 0; i < 3; i++) {
        const gp_map_shape shape = {.m = 2, .n_groups = 1, .group_m = &two};
        double T[4], *scratch = doubles(maps[i]->scratch(&shape));
        gp_rung rung = {.jitter = 1e-6};
        advgp_error err = {0};
        const advgp_status st = maps[i]->make(&shape, gp_cmat_of(K, 2, 2), 1, NULL, &rung, gp_mat_of(T, 2, 2), scratch,
                                              &err);
        CHECK(st == ADVGP_ENUMERIC && strstr(err.text, "jitter 0.01"), maps[i]->name, "%s \"%s\"",
              advgp_status_name(st), err.text);
        free(scratch);
    }
}

static void the_rvm_map_uses_no_jitter_and_says_so(void **state)
{
    (void)state;
    problem p;
    gp_features *f;
    problem_init(&p, 4, (problem_options){.n = 1, .d = 2, .n_components = 1, .m = 5, .map = &gp_map_rvm});
    features_of(&p, &f);
    assert_true(f->components[0].rung.jitter == 0 && f->components[0].rung.climbs == 0);
    gp_features_free(f);
    problem_fini(&p);
}

// Inducing inputs at the corners of a square: two eigenvalues are equal, and the rotation between their vectors is
// arbitrary. Values and derivatives must stay finite, and what does not depend on the rotation must be right.
static void equal_eigenvalues_stay_finite(void **state)
{
    (void)state;
    static const double corners[] = {1, 1, 1, -1, -1, 1, -1, -1};
    static const gp_map *const maps[] = {&gp_map_nystrom, &gp_map_ensemble};
    for (const gp_kernel *const *kernel = gp_kernels; *kernel; kernel++)
        for (size_t which = 0; which < 2; which++)
            for (size_t rank = 1; rank <= 4; rank++) {
                problem p;
                problem_init(&p, 40 + rank,
                             (problem_options){.n = 25,
                                               .d = 2,
                                               .n_components = 1,
                                               .m = 4,
                                               .kernel = *kernel,
                                               .map = &gp_map_nystrom,
                                               .full_rank = true});
                free(p.theta);
                const size_t m = 4;
                p.components[0].map = maps[which];
                p.components[0].shape = (gp_map_shape){
                    .m = 4, .rank = rank, .n_groups = 1, .group_m = &m, .group_rank = &rank};
                p.model.c[0].group_rank[0] = rank;
                const size_t M = rank, rest = 1 + 1 + 2 + 8;
                p.layout = (gp_theta_layout){.n_rest = rest, .M = M, .U = rest + M, .size = rest + M + M * (M + 1) / 2};
                p.theta = doubles(p.layout.size);
                memcpy(p.theta + 4, corners, sizeof corners); // ln sigma = ln a0 = ln eta = 0
                gp_theta_start_q(p.layout, p.theta);
                for (size_t i = 0; i < M; i++) p.theta[rest + i] = 0.5;
                engine e = engine_new(&p, 0);
                double *grad = doubles(p.layout.size);
                const double value = run_pass(e, p.theta, p.rows, grad, p.label);
                assert_true(isfinite(value) && gp_all_finite(p.layout.size, grad));
                double largest = 0;
                for (size_t i = 0; i < rest; i++) largest = fmax(largest, fabs(grad[i]));
                CHECK(largest < 1e4, p.label, "gradient up to %g: a gap of rounding was divided by", largest);
                free(grad);
                engine_free(e);
                problem_fini(&p);
            }
}

// Any rotation among eigenvectors of equal eigenvalues is as good as any other: a file may hold it. What breaks the
// bound, or belongs to other inducing inputs, is refused.
static void a_given_map_is_taken_whatever_its_rotation_and_checked(void **state)
{
    (void)state;
    static const double corners[] = {1, 1, 1, -1, -1, 1, -1, -1};
    for (const gp_map *const *map = gp_maps; *map; map++) {
        if (!(*map)->take) continue;
        problem p;
        gp_features *made = NULL, *taken = NULL;
        advgp_error err = {0};
        problem_init(&p, 77,
                     (problem_options){.n = 5,
                                       .d = 2,
                                       .n_components = 1,
                                       .m = 4,
                                       .kernel = &gp_kernel_ard_rbf,
                                       .map = &gp_map_nystrom,
                                       .full_rank = true});
        const size_t m = 4;
        p.components[0].map = *map;
        p.components[0].shape = (gp_map_shape){.m = 4, .n_groups = 1, .group_m = &m};
        memcpy(p.theta + 4, corners, sizeof corners);
        p.theta[2] = p.theta[3] = 0; // equal length-scales: eigenvalues 1 and 2 coincide
        features_of(&p, &made);
        double T[16];
        memcpy(T, made->components[0].T.p, sizeof T);
        for (size_t i = 0; i < 4; i++) {
            const double a = T[4 * i + 1], b = T[4 * i + 2];
            T[4 * i + 1] = 0.6 * a - 0.8 * b, T[4 * i + 2] = 0.8 * a + 0.6 * b;
        }
        p.spec.maps = T;
        features_of(&p, &taken);
        CHECK_BITS(16, T, taken->components[0].T.p, p.label);
        gp_features_free(taken);
        for (size_t i = 0; i < 16; i++) {
            const double held = T[i];
            T[i] += 1e-3;
            CHECK_OK(gp_features_new(&p.spec, &taken, &err), p.label);
            CHECK_FAILS(ADVGP_EINVAL, gp_features_set(taken, p.theta, &err), "an entry was changed");
            T[i] = held;
            gp_features_free(taken);
        }
        p.theta[4] += 0.01; // another inducing input
        CHECK_OK(gp_features_new(&p.spec, &taken, &err), p.label);
        CHECK_FAILS(ADVGP_EINVAL, gp_features_set(taken, p.theta, &err), "of other inducing inputs");
        gp_features_free(taken);
        gp_features_free(made);
        problem_fini(&p);
    }
}

// ---- shapes and specifications

static void bad_shapes_are_refused_with_a_message(void **state)
{
    (void)state;
    advgp_error err = {0};
    gp_features *f = NULL;
    size_t two[] = {2, 3}, with_zero[] = {0, 5}, wide[] = {2, 4}, ranks[] = {3, 1}, wrapping[] = {SIZE_MAX, 6};
    const struct {
        const char *what;
        const gp_map *map;
        gp_map_shape shape;
    } bad[] = {
        {"no inducing inputs", &gp_map_cholesky, {.m = 0}},
        {"rank above m", &gp_map_nystrom, {.m = 3, .rank = 4}},
        {"no groups", &gp_map_ensemble, {.m = 5}},
        {"no sizes", &gp_map_ensemble, {.m = 5, .n_groups = 2}},
        {"an empty group", &gp_map_ensemble, {.m = 5, .n_groups = 2, .group_m = with_zero}},
        {"too few", &gp_map_ensemble, {.m = 6, .n_groups = 2, .group_m = two}},
        {"too many", &gp_map_ensemble, {.m = 5, .n_groups = 2, .group_m = wide}},
        {"sizes that wrap", &gp_map_ensemble, {.m = 5, .n_groups = 2, .group_m = wrapping}},
        {"rank above its group", &gp_map_ensemble, {.m = 5, .n_groups = 2, .group_m = two, .group_rank = ranks}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const gp_component_spec c = {.kernel = &gp_kernel_ard_rbf, .map = bad[i].map, .shape = bad[i].shape};
        const gp_feature_spec spec = {.d = 2, .n_components = 1, .components = &c, .jitter = 1e-6};
        CHECK_FAILS(ADVGP_EINVAL, gp_features_new(&spec, &f, &err), bad[i].what);
        assert_null(f);
    }
}

static void bad_specifications_are_refused_with_a_message(void **state)
{
    (void)state;
    advgp_error err = {0};
    gp_features *f = NULL;
    gp_component_spec c = {.kernel = &gp_kernel_ard_rbf, .map = &gp_map_cholesky, .shape = {.m = 3}};
    const gp_feature_spec good = {.d = 2, .n_components = 1, .components = &c, .jitter = 1e-6};
    gp_feature_spec spec = good;
    CHECK_FAILS(ADVGP_EINVAL, gp_features_new(NULL, &f, &err), "no spec");
    CHECK_FAILS(ADVGP_EINVAL, gp_features_new(&spec, NULL, &err), "no out");
    spec.d = 0;
    CHECK_FAILS(ADVGP_EINVAL, gp_features_new(&spec, &f, &err), "no inputs");
    spec = good, spec.components = NULL;
    CHECK_FAILS(ADVGP_EINVAL, gp_features_new(&spec, &f, &err), "no components");
    spec = good, spec.n_components = 0;
    CHECK_FAILS(ADVGP_EINVAL, gp_features_new(&spec, &f, &err), "nothing at all");
    spec = good, spec.trend = (gp_trend)7;
    CHECK_FAILS(ADVGP_EINVAL, gp_features_new(&spec, &f, &err), "no such trend");
    static const double bad_jitter[] = {-1e-9, 0.02, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++) {
        spec = good, spec.jitter = bad_jitter[i];
        CHECK_FAILS(ADVGP_EINVAL, gp_features_new(&spec, &f, &err), "jitter");
    }
    c.kernel = NULL;
    CHECK_FAILS(ADVGP_EINVAL, gp_features_new(&good, &f, &err), "no kernel");
    c.kernel = &gp_kernel_ard_rbf, c.map = NULL;
    CHECK_FAILS(ADVGP_EINVAL, gp_features_new(&good, &f, &err), "no map");
    c.map = &gp_map_cholesky;
    static const size_t huge[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 60, (size_t)1 << 40};
    for (size_t i = 0; i < 4; i++) {
        c.shape.m = huge[i];
        CHECK_FAILS(ADVGP_ENOMEM, gp_features_new(&good, &f, &err), "huge m");
        c.shape.m = 3;
        spec = good, spec.d = huge[i];
        CHECK_FAILS(ADVGP_ENOMEM, gp_features_new(&spec, &f, &err), "huge d");
    }
    CHECK_OK(gp_features_new(&good, &f, &err), "good");
    double theta[1 + 1 + 2 + 6] = {0};
    CHECK_FAILS(ADVGP_EINVAL, gp_features_set(NULL, theta, &err), "no features");
    CHECK_FAILS(ADVGP_EINVAL, gp_features_set(f, NULL, &err), "no theta");
    gp_features_free(f);
    gp_features_free(NULL);
}

static void the_spec_is_copied(void **state)
{
    (void)state;
    problem p;
    advgp_error err = {0};
    problem_init(&p, 8, (problem_options){.n = 4, .d = 2, .n_components = 2, .m = 5, .map = &gp_map_ensemble});
    engine e = engine_new(&p, 0);
    const double before = run_pass(e, p.theta, p.rows, NULL, p.label);
    memset(p.group_m, 0xff, sizeof p.group_m);
    memset(p.group_rank, 0xff, sizeof p.group_rank);
    memset(p.components, 0xff, sizeof p.components);
    double after = 0;
    CHECK_OK(gp_pass_run(e.pass, p.theta, GP_PASS_STATS, p.rows, &after, NULL, &err), p.label);
    CHECK_BITS(1, &before, &after, p.label);
    engine_free(e);
    problem_fini(&p);
}

static int answers[2]; // no, yes

// gp_features_can_set answers what gp_features_set answers, for parameters of any size: where it does not try, it
// knows.
static void ask_whether_it_can(const gp_kernel *kernel, const gp_map *map, uint64_t seed)
{
    static const double sizes[] = {0, 1e-3, 1, 30, 230, 700, 1e160, NAN};
    enum { SIZES = sizeof sizes / sizeof *sizes, TIMES = 40 };
    problem p;
    gp_features *f;
    gp_rng rng = gp_rng_seeded(seed, 0);
    problem_init(
        &p, seed,
        (problem_options){
            .n = 2, .d = 1 + seed % 3, .n_components = 1 + seed % 2, .m = 1 + seed % 40, .kernel = kernel, .map = map});
    const bool none = seed % 5 == 0;
    p.spec.jitter = none ? 0 : pow(10, -2 - (double)(seed % 18));
    advgp_error err = {0};
    CHECK_OK(gp_features_new(&p.spec, &f, &err), p.label);
    double *theta = doubles(f->n_params);
    for (int i = 0; i < TIMES; i++) {
        for (size_t j = 0; j < f->n_params; j++) {
            const size_t up_to = gp_rng_below(&rng, 8) ? 4 : SIZES; // most in range, or none would ever be accepted
            theta[j] = sizes[gp_rng_below(&rng, up_to)] * gp_rng_normal(&rng);
        }
        const advgp_status can = gp_features_can_set(f, theta, NULL), does = gp_features_set(f, theta, NULL);
        CHECK(can == does, p.label, "seed %d, try %d: %d, and then %d", (int)seed, i, can, does);
        answers[does == ADVGP_OK]++;
    }
    free(theta);
    gp_features_free(f);
    problem_fini(&p);
}

static void what_can_be_set_is_known_before(void **state)
{
    (void)state;
    answers[0] = answers[1] = 0;
    ask_all(ask_whether_it_can, 40);
    assert_true(answers[0] > 1000 && answers[1] > 1000);
}

static void maps_are_found_by_name(void **state)
{
    (void)state;
    for (const gp_map *const *map = gp_maps; *map; map++) {
        assert_ptr_equal(gp_map_named((*map)->name), *map);
        assert_true((*map)->summary && (*map)->summary[0]);
    }
    assert_null(gp_map_named("no such map"));
    assert_null(gp_map_named(""));
    assert_null(gp_map_named(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_residual_covariance_has_no_negative_direction),
        cmocka_unit_test(features_are_proportional_to_the_amplitude),
        cmocka_unit_test(pull_is_the_derivative_of_make),
        cmocka_unit_test(the_cholesky_factor_is_the_lower_factor_of_the_inverse),
        cmocka_unit_test(nystrom_of_full_rank_spans_what_cholesky_spans),
        cmocka_unit_test(an_ensemble_of_one_group_is_nystrom),
        cmocka_unit_test(a_matrix_beyond_the_ladder_is_refused_with_a_message),
        cmocka_unit_test(the_rvm_map_uses_no_jitter_and_says_so),
        cmocka_unit_test(equal_eigenvalues_stay_finite),
        cmocka_unit_test(a_given_map_is_taken_whatever_its_rotation_and_checked),
        cmocka_unit_test(bad_shapes_are_refused_with_a_message),
        cmocka_unit_test(bad_specifications_are_refused_with_a_message),
        cmocka_unit_test(the_spec_is_copied),
        cmocka_unit_test(what_can_be_set_is_known_before),
        cmocka_unit_test(maps_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
