// arrow_test.c: the joint posterior of a global part and cells against the dense posterior of the same features written
// out with zeros, and against a model with one more component; which cell a row is in; predictions.
#include "fixture.h"
#include "model/arrow.h"

typedef struct world {
    problem p;
    gp_cells *cells;
    gp_cell_finder *finder;
    size_t *which, *order, *first;
    double *distances;
    gp_predictor *global;
    double *g, *g_residual; // n x M_g, n
    size_t M;               // features in all
    double *phi, *residual; // n x M: global features, then those of every cell with zeros elsewhere; n
} world;

static void make_cells(world *w, size_t n, gp_trend trend)
{
    problem *p = &w->p;
    advgp_error err = {0};
    size_t m[8];
    for (size_t c = 0; c < n; c++) m[c] = 1 + gp_rng_below(&p->rng, 4);
    const gp_cells_shape shape = {
        .n = n, .d = p->d, .M_g = p->layout.M, .kernel = &gp_kernel_matern52, .trend = trend, .m = m};
    CHECK_OK(gp_cells_new(&shape, &w->cells, &err), p->label);
    for (size_t k = 0; k < p->d; k++) w->cells->scale[k] = exp(gp_rng_normal(&p->rng));
    for (size_t i = 0; i < n * p->d; i++) w->cells->centres[i] = gp_rng_normal(&p->rng);
    for (size_t i = 0; i < w->cells->n_theta; i++) w->cells->theta[i] = 0.5 * gp_rng_normal(&p->rng);
}

// Features of every row, each in its cell's columns.
static void write_out(world *w)
{
    problem *p = &w->p;
    advgp_error err = {0};
    gp_predict_work *work = NULL;
    const size_t M_g = p->layout.M, d = p->d;
    w->M = M_g + w->cells->n_mu;
    w->g = doubles(p->n * M_g), w->g_residual = doubles(p->n), w->phi = doubles(p->n * w->M);
    w->residual = doubles(p->n);
    CHECK_OK(gp_predictor_new(&p->spec, p->theta, &w->global, &err), p->label);
    CHECK_OK(gp_predict_work_new(w->global, 0, &work, &err), p->label);
    CHECK_OK(gp_predict_features(w->global, work, p->rows.X, gp_mat_of(w->g, p->n, M_g), w->g_residual, &err),
             p->label);
    gp_predict_work_free(work);
    for (size_t i = 0; i < p->n; i++) {
        gp_features *f = NULL;
        const size_t c = w->which[i];
        CHECK_OK(gp_cells_features(w->cells, c, &f, &err), p->label);
        double *x1 = doubles(d + 2), *K = doubles(f->n_cols);
        double *phi = w->phi + i * w->M, *l = phi + M_g + w->cells->mu_at[c];
        x1[0] = 1;
        memcpy(x1 + 1, p->X + i * d, d * sizeof *x1);
        gp_features_columns(f, gp_mat_of(x1, 1, d + 2), gp_mat_of(K, 1, f->n_cols), NULL);
        gp_features_right(f, gp_cmat_of(K, 1, f->n_cols), gp_mat_of(l, 1, f->M));
        memcpy(phi, w->g + i * M_g, M_g * sizeof *phi);
        w->residual[i] = w->g_residual[i] + gp_features_residual(f, l);
        free(x1), free(K);
        gp_features_free(f);
    }
}

static void world_init(world *w, uint64_t seed, size_t n_cells, gp_trend of_cells)
{
    advgp_error err = {0};
    *w = (world){0};
    problem_init(&w->p, seed,
                 (problem_options){.n = 40 + seed % 30,
                                   .d = 1 + seed % 3,
                                   .n_components = 1 + seed % 2,
                                   .map = gp_maps[seed % 4],
                                   .trend = (gp_trend)(seed % 3),
                                   .weighted = seed % 2});
    make_cells(w, n_cells, of_cells);
    w->which = calloc(w->p.n, sizeof(size_t)), w->order = calloc(w->p.n, sizeof(size_t));
    w->first = calloc(n_cells + 1, sizeof(size_t)), w->distances = doubles(n_cells);
    CHECK_OK(gp_cell_finder_new(n_cells, w->p.d, w->cells->scale, w->cells->centres, &w->finder, &err), w->p.label);
    gp_cell_sort(w->finder, GP_NEAREST, w->p.rows.X, w->which, w->order, w->first, w->distances);
    write_out(w);
}

static void world_fini(world *w)
{
    gp_cells_free(w->cells);
    gp_cell_finder_free(w->finder);
    gp_predictor_free(w->global);
    free(w->which), free(w->order), free(w->first), free(w->distances);
    free(w->g), free(w->g_residual), free(w->phi), free(w->residual);
    problem_fini(&w->p);
}

static double weight(const world *w, size_t i)
{
    return w->p.w ? w->p.w[i] : 1;
}

// Sums of all rows over the first `cols` columns of phi (n x ld).
static gp_stats sums_of(const world *w, const double *phi, size_t ld, size_t cols, const double *residual)
{
    gp_stats s = {.A = gp_mat_of(doubles(cols * cols), cols, cols), .b = doubles(cols)};
    for (size_t i = 0; i < w->p.n; i++) {
        const double *row = phi + i * ld, v = weight(w, i), y = w->p.y[i];
        for (size_t j = 0; j < cols; j++) {
            for (size_t k = 0; k < cols; k++) s.A.p[j * cols + k] += v * row[j] * row[k];
            s.b[j] += v * row[j] * y;
        }
        s.yy += v * y * y, s.n += v, s.residual += v * residual[i];
    }
    return s;
}

static void stats_free(gp_stats s)
{
    free(s.A.p), free(s.b);
}

// Row i to the sums of cell c; l: the features of the cell there.
static void add_row(const world *w, size_t i, size_t c, const double *l, gp_arrow *arrow)
{
    const size_t M = gp_cells_M(w->cells, c), M_g = w->p.layout.M;
    gp_arrow_sums *s = gp_arrow_cell(arrow, c);
    const double *g = w->g + i * M_g, v = weight(w, i);
    for (size_t j = 0; j < M; j++) {
        for (size_t k = j; k < M; k++) s->A.p[j * M + k] += v * l[j] * l[k];
        for (size_t k = 0; k < M_g; k++) s->G.p[j * M_g + k] += v * l[j] * g[k];
        s->b[j] += v * l[j] * w->p.y[i];
    }
}

static gp_arrow *arrow_of(const world *w)
{
    gp_arrow *arrow = NULL;
    advgp_error err = {0};
    CHECK_OK(gp_arrow_new(w->cells, &arrow, &err), w->p.label);
    for (size_t i = 0; i < w->p.n; i++) {
        const size_t c = w->which[i];
        add_row(w, i, c, w->phi + i * w->M + w->p.layout.M + w->cells->mu_at[c], arrow);
        gp_arrow_cell(arrow, c)->residual += weight(w, i) * (w->residual[i] - w->g_residual[i]);
    }
    return arrow;
}

static void posterior(gp_arrow *arrow, const gp_stats *global, world *w, double *neg_elbo)
{
    advgp_error err = {0};
    double *theta = w->p.theta, *mu = theta + w->p.layout.n_rest;
    CHECK_OK(gp_arrow_global(arrow, global, theta[0], mu, theta + w->p.layout.U, neg_elbo, &err), w->p.label);
    CHECK_OK(gp_arrow_cells(arrow, theta[0], mu, w->cells, &err), w->p.label);
}

// ---- laws -----------------------------------------------------------------------------------------------------------

static void predict(const world *w, size_t block, double *out)
{
    gp_predictor *predictor = NULL;
    gp_predict_work *work = NULL;
    advgp_error err = {0};
    const size_t n = w->p.n;
    CHECK_OK(gp_cells_predictor_new(&w->p.spec, w->p.theta, w->cells, &predictor, &err), w->p.label);
    CHECK_OK(gp_predict_work_new(predictor, block, &work, &err), w->p.label);
    CHECK_OK(gp_predict(predictor, work, w->p.rows.X, out, out + n, out + 2 * n, &err), w->p.label);
    CHECK(gp_predictor_features(predictor) != NULL, w->p.label, "it has a global part");
    gp_predict_work_free(work);
    gp_predictor_free(predictor);
}

static void cells_equal_the_dense_posterior_of_features_with_zeros(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        world w;
        advgp_error err = {0};
        world_init(&w, seed, 1 + seed % 6, (gp_trend)(seed / 3 % 3));
        const size_t M = w.M, M_g = w.p.layout.M, n = w.p.n;
        const double ln_sigma = w.p.theta[0];
        gp_stats dense = sums_of(&w, w.phi, M, M, w.residual), global = sums_of(&w, w.g, M_g, M_g, w.g_residual);
        gp_arrow *arrow = arrow_of(&w);
        gp_qw *qw = NULL;
        double *mu = doubles(M), *packed = doubles(M * (M + 1) / 2), *U = doubles(M * M), value, bound, again;
        CHECK_OK(gp_qw_new(M, &qw, &err), w.p.label);
        CHECK_OK(gp_qw_optimal(qw, &dense, ln_sigma, mu, packed, &value, &err), w.p.label);
        CHECK_OK(gp_arrow_bound(arrow, &global, ln_sigma, &bound, &err), w.p.label);
        CHECK_CLOSE(value, bound, 1e-9, w.p.label);
        posterior(arrow, &global, &w, &again);
        CHECK(again == bound, w.p.label, "%g and %g", again, bound);
        CHECK_ARRAY(M_g, mu, w.p.theta + w.p.layout.n_rest, 1e-8, w.p.label);
        CHECK_ARRAY(M - M_g, mu + M_g, w.cells->mu, 1e-8, w.p.label);
        double *got = doubles(3 * n), *want = doubles(3 * n), *v = doubles(M);
        gp_upper_unpack(M, packed, gp_mat_of(U, M, M));
        for (size_t i = 0; i < n; i++) {
            want[i] = gp_dot(M, w.phi + i * M, mu);
            gp_gemv(GP_AS_IS, 1, gp_cmat_of(U, M, M), w.phi + i * M, 0, v);
            want[n + i] = gp_dot(M, v, v) + w.residual[i];
            want[2 * n + i] = want[n + i] + exp(2 * ln_sigma);
        }
        static const size_t blocks[] = {0, 1, 7};
        predict(&w, blocks[seed % 3], got);
        CHECK_ARRAY(3 * n, want, got, 1e-8, w.p.label);
        free(got), free(want), free(v), free(mu), free(packed), free(U);
        gp_qw_free(qw);
        gp_arrow_free(arrow);
        stats_free(dense), stats_free(global);
        world_fini(&w);
    }
}

// Rows that a cell is given between the two halves: (1 + beta A) mu_c = beta (b - G mu_g) with them, and nothing else
// has changed.
static void a_cell_learns_from_rows_beyond_its_border(void **state)
{
    (void)state;
    for (uint64_t seed = 501; seed <= 520; seed++) {
        world w;
        advgp_error err = {0};
        world_init(&w, seed, 3, GP_TREND_CONSTANT);
        const size_t M_g = w.p.layout.M, c = seed % 3, other = (c + 1) % 3, M = gp_cells_M(w.cells, c);
        double *mu = w.p.theta + w.p.layout.n_rest, beta = exp(-2 * w.p.theta[0]);
        gp_stats global = sums_of(&w, w.g, M_g, M_g, w.g_residual);
        gp_arrow *arrow = arrow_of(&w);
        posterior(arrow, &global, &w, NULL);
        double *before = doubles(w.cells->n_mu), *mu_g = doubles(M_g), *l = doubles(M), *left = doubles(M);
        memcpy(before, w.cells->mu, w.cells->n_mu * sizeof *before);
        memcpy(mu_g, mu, M_g * sizeof *mu_g);
        for (size_t i = 0; i < w.p.n; i++)
            if (w.which[i] == other) {
                for (size_t j = 0; j < M; j++) l[j] = sin((double)(i + j));
                add_row(&w, i, c, l, arrow);
            }
        CHECK_OK(gp_arrow_cells(arrow, w.p.theta[0], mu, w.cells, &err), w.p.label);
        const gp_arrow_sums *s = gp_arrow_cell(arrow, c);
        const double *mu_c = w.cells->mu + w.cells->mu_at[c];
        for (size_t j = 0; j < M; j++) {
            left[j] = mu_c[j] - beta * s->b[j] + beta * gp_dot(M_g, s->G.p + j * M_g, mu_g);
            for (size_t k = 0; k < M; k++) left[j] += beta * s->A.p[(j < k ? j * M + k : k * M + j)] * mu_c[k];
            CHECK(fabs(left[j]) < 1e-8 * (1 + beta), w.p.label, "feature %zu: %g is left", j, left[j]);
        }
        const size_t at = w.cells->mu_at[other];
        CHECK_BITS(gp_cells_M(w.cells, other), before + at, w.cells->mu + at, w.p.label);
        free(before), free(mu_g), free(l), free(left);
        gp_arrow_free(arrow);
        stats_free(global);
        world_fini(&w);
    }
}

// The same law with the pass over rows as the judge: one cell is one more component of the model.
static void one_cell_is_one_more_component(void **state)
{
    (void)state;
    for (uint64_t seed = 101; seed <= 120; seed++) {
        world w;
        advgp_error err = {0};
        world_init(&w, seed, 1, GP_TREND_NONE);
        const problem *p = &w.p;
        gp_component_spec components[4];
        const size_t J = p->spec.n_components, rest = p->layout.n_rest, first = 1; // of the parameters of components
        const size_t m = w.cells->m[0], own = 1 + p->d + m * p->d;
        memcpy(components, p->components, J * sizeof *components);
        components[J] = (gp_component_spec){&gp_kernel_matern52, &gp_map_cholesky, {.m = m}};
        gp_feature_spec spec = p->spec;
        spec.components = components, spec.n_components = J + 1;
        spec.jitter = p->spec.jitter;
        gp_features *f = NULL;
        gp_pass *pass = NULL;
        gp_qw *qw = NULL;
        CHECK_OK(gp_features_new(&spec, &f, &err), p->label);
        CHECK_OK(gp_pass_new(f, 0, &pass, &err), p->label);
        CHECK_OK(gp_qw_new(f->M, &qw, &err), p->label);
        const gp_theta_layout layout = gp_theta_layout_of(f);
        double *theta = doubles(layout.size), value, bound;
        const size_t n_trend = f->n_params - f->trend_param, before = rest - n_trend;
        memcpy(theta, p->theta, before * sizeof *theta);
        memcpy(theta + before, w.cells->theta + first, own * sizeof *theta);
        memcpy(theta + before + own, p->theta + before, n_trend * sizeof *theta);
        gp_theta_start_q(layout, theta);
        CHECK_OK(gp_pass_run(pass, theta, GP_PASS_STATS, p->rows, NULL, NULL, &err), p->label);
        CHECK_OK(gp_qw_optimal(qw, gp_pass_stats(pass), theta[0], NULL, NULL, &value, &err), p->label);
        gp_stats global = sums_of(&w, w.g, p->layout.M, p->layout.M, w.g_residual);
        gp_arrow *arrow = arrow_of(&w);
        CHECK_OK(gp_arrow_bound(arrow, &global, theta[0], &bound, &err), p->label);
        CHECK_CLOSE(value, bound, 1e-7, p->label);
        gp_arrow_free(arrow);
        stats_free(global);
        free(theta);
        gp_qw_free(qw);
        gp_pass_free(pass);
        gp_features_free(f);
        world_fini(&w);
    }
}

static void the_best_noise_is_better_than_its_neighbours(void **state)
{
    (void)state;
    for (uint64_t seed = 201; seed <= 220; seed++) {
        world w;
        advgp_error err = {0};
        world_init(&w, seed, 4, GP_TREND_NONE);
        gp_stats global = sums_of(&w, w.g, w.p.layout.M, w.p.layout.M, w.g_residual);
        gp_arrow *arrow = arrow_of(&w);
        double ln_sigma = seed % 2 ? -2 : 1.5, best, other;
        CHECK_OK(gp_arrow_best_noise(arrow, &global, &ln_sigma, &err), w.p.label);
        CHECK_OK(gp_arrow_bound(arrow, &global, ln_sigma, &best, &err), w.p.label);
        for (int side = -1; side <= 1; side += 2) {
            CHECK_OK(gp_arrow_bound(arrow, &global, ln_sigma + 0.02 * side, &other, &err), w.p.label);
            CHECK(best < other, w.p.label, "ln sigma %g: %.12g, beside it %.12g", ln_sigma, best, other);
        }
        gp_arrow_free(arrow);
        stats_free(global);
        world_fini(&w);
    }
}

// ---- cells ----------------------------------------------------------------------------------------------------------

static void a_row_is_in_the_cell_of_the_nearest_centre(void **state)
{
    (void)state;
    for (uint64_t seed = 301; seed <= 320; seed++) {
        world w;
        world_init(&w, seed, 1 + seed % 7, GP_TREND_NONE);
        const gp_cells *c = w.cells;
        size_t seen = 0;
        for (size_t i = 0; i < w.p.n; i++) {
            size_t nearest = 0;
            double least = INFINITY;
            for (size_t k = 0; k < c->shape.n; k++) {
                double sum = 0;
                for (size_t j = 0; j < w.p.d; j++)
                    sum += pow(c->scale[j] * (w.p.X[i * w.p.d + j] - c->centres[k * w.p.d + j]), 2);
                if (sum < least) least = sum, nearest = k;
            }
            CHECK(w.which[i] == nearest, w.p.label, "row %zu is in cell %zu, nearest is %zu", i, w.which[i], nearest);
        }
        for (size_t k = 0; k < c->shape.n; k++)
            for (size_t i = w.first[k]; i < w.first[k + 1]; i++, seen++) {
                CHECK(w.which[w.order[i]] == k, w.p.label, "place %zu", i);
                CHECK(i == w.first[k] || w.order[i] > w.order[i - 1], w.p.label, "rows of a cell keep their order");
            }
        CHECK(seen == w.p.n, w.p.label, "%zu of %zu rows", seen, w.p.n);
        if (c->shape.n > 1) {
            size_t *second = calloc(w.p.n, sizeof *second);
            gp_cell_sort(w.finder, GP_SECOND_NEAREST, w.p.rows.X, second, w.order, w.first, w.distances);
            for (size_t i = 0; i < w.p.n; i++) {
                size_t nearer = 0;
                (void)gp_cell_of(w.finder, w.p.X + i * w.p.d, w.distances);
                for (size_t k = 0; k < c->shape.n; k++) nearer += w.distances[k] < w.distances[second[i]];
                CHECK(second[i] != w.which[i] && nearer == 1, w.p.label, "row %zu: %zu are nearer", i, nearer);
            }
            free(second);
        }
        world_fini(&w);
    }
}

static void predictions_do_not_depend_on_blocks_and_no_variance_is_negative(void **state)
{
    (void)state;
    for (uint64_t seed = 401; seed <= 410; seed++) {
        world w;
        world_init(&w, seed, 5, GP_TREND_LINEAR);
        gp_stats global = sums_of(&w, w.g, w.p.layout.M, w.p.layout.M, w.g_residual);
        gp_arrow *arrow = arrow_of(&w);
        w.p.theta[0] = -6; // hardly any noise: variances are small differences
        posterior(arrow, &global, &w, NULL);
        double *whole = doubles(3 * w.p.n), *again = doubles(3 * w.p.n);
        predict(&w, 0, whole);
        for (size_t i = 0; i < w.p.n; i++) CHECK(whole[w.p.n + i] >= 0, w.p.label, "row %zu", i);
        static const size_t blocks[] = {1, 3, 64};
        for (size_t b = 0; b < 3; b++) {
            predict(&w, blocks[b], again);
            CHECK_ARRAY(3 * w.p.n, whole, again, 1e-11, w.p.label);
        }
        free(whole), free(again);
        gp_arrow_free(arrow);
        stats_free(global);
        world_fini(&w);
    }
}

static void memory_that_is_missing_is_said(void **state)
{
    (void)state;
    world w;
    advgp_error err = {0};
    world_init(&w, 7, 3, GP_TREND_NONE);
    const long live = gp_alloc_count().live;
    for (long calls = 0;; calls++) {
        gp_predictor *predictor = NULL;
        gp_arrow *arrow = NULL;
        gp_alloc_fail_after(calls);
        advgp_status st = gp_cells_predictor_new(&w.p.spec, w.p.theta, w.cells, &predictor, &err);
        if (st == ADVGP_OK) st = gp_arrow_new(w.cells, &arrow, &err);
        gp_alloc_fail_after(-1);
        gp_predictor_free(predictor);
        gp_arrow_free(arrow);
        CHECK(gp_alloc_count().live == live, "allocation", "after %ld calls something is left", calls);
        if (st == ADVGP_OK) break;
        CHECK(st == ADVGP_ENOMEM && err.text[0], "allocation", "after %ld calls: %d", calls, (int)st);
    }
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_equal_the_dense_posterior_of_features_with_zeros),
        cmocka_unit_test(a_cell_learns_from_rows_beyond_its_border),
        cmocka_unit_test(one_cell_is_one_more_component),
        cmocka_unit_test(the_best_noise_is_better_than_its_neighbours),
        cmocka_unit_test(a_row_is_in_the_cell_of_the_nearest_centre),
        cmocka_unit_test(predictions_do_not_depend_on_blocks_and_no_variance_is_negative),
        cmocka_unit_test(memory_that_is_missing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
