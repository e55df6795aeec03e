// fit_cells_test.c: cells of a whole training on a small generated table: better where the function is rough, the same
// bits again; their kernel, which rows choose if nobody did; sums that do not depend on threads; and a model that
// someone stops for is one without them.
#include "base/alloc.h"
#include "cells/cells_join.h"
#include "cells/local_fit.h"
#include "fixture.h"
#include "model/arrow.h"
#include "recipe/rows_test.h"
#include "recipe/train.h"

enum { ROWS = 3000 }; // of a function that twelve inducing inputs cannot follow

static gp_train_options options(size_t cells)
{
    return (gp_train_options){.m = 12,
                              .components = 1,
                              .cells = cells,
                              .kernel = &gp_kernel_ard_rbf,
                              .map = &gp_map_cholesky,
                              .trend = GP_TREND_LINEAR,
                              .schedule.batch = 500,
                              .schedule.steps = 60,
                              .schedule.seed = 3};
}

static void cells_predict_better_and_repeat_bit_for_bit(void **state)
{
    (void)state;
    gp_model *models[3];
    gp_train_result r[3];
    for (int i = 0; i < 3; i++) {
        const gp_train_options o = options(i ? 6 : 0);
        make_table(ROWS, 5, "0.2");
        models[i] = train_table(&o, NULL, &r[i]);
        free_table();
    }
    CHECK(!models[0]->cells && models[1]->cells, "cells", "as was asked");
    CHECK(r[1].cells == models[1]->cells->shape.n && r[1].cells >= 2, "cells", "%zu", r[1].cells);
    CHECK(r[1].assessment.rmse < 0.9 * r[0].assessment.rmse, "cells", "%g with, %g without", r[1].assessment.rmse,
          r[0].assessment.rmse);
    CHECK(r[1].neg_elbo < r[0].neg_elbo, "cells", "%g with, %g without", r[1].neg_elbo, r[0].neg_elbo);
    CHECK_BITS(models[1]->layout.size, models[1]->theta, models[2]->theta, "again");
    CHECK_BITS(models[1]->cells->n_W, models[1]->cells->W, models[2]->cells->W, "again");
    for (int i = 0; i < 3; i++) gp_model_free(models[i]);
}

// ---- their kernel ---------------------------------------------------------------------------------------------------

// Steps and edges instead of waves.
static void make_rough_table(size_t n, uint64_t seed)
{
    gp_rng rng = gp_rng_seeded(seed, 0);
    t.x = doubles(n * D), t.y = doubles(n);
    for (size_t i = 0; i < n; i++) {
        double *x = t.x + i * D;
        for (size_t k = 0; k < D; k++) x[k] = gp_rng_normal(&rng);
        t.y[i] = fabs(sin(3 * x[0])) + 0.5 * floor(2 * x[1]) + 0.3 * x[2] + 0.05 * gp_rng_normal(&rng);
    }
    encode_table(n, seed, "0.2");
}

static const gp_kernel *kernel_of_cells(bool is_rough, bool open, const gp_kernel *asked)
{
    gp_train_options o = options(6);
    gp_train_result r;
    o.kernel = asked, o.cells_kernel_open = open;
    if (is_rough)
        make_rough_table(ROWS, 5);
    else
        make_table(ROWS, 5, "0.2");
    gp_model *model = train_table(&o, NULL, &r);
    CHECK(model->cells, "cells", "%s table, %s asked", is_rough ? "rough" : "smooth", asked->name);
    const gp_kernel *kernel = model->cells->shape.kernel;
    CHECK(model->spec.components[0].kernel == asked, "the global part", "%s, not %s",
          model->spec.components[0].kernel->name, asked->name);
    gp_model_free(model);
    free_table();
    return kernel;
}

static void what_is_rough_takes_a_rough_kernel_unless_one_was_asked_for(void **state)
{
    (void)state;
    const gp_kernel *kernel = kernel_of_cells(true, true, &gp_kernel_ard_rbf);
    CHECK(kernel == &gp_kernel_matern32, "rough", "%s", kernel->name);
    kernel = kernel_of_cells(false, true, &gp_kernel_ard_rbf);
    CHECK(kernel == &gp_kernel_ard_rbf, "smooth", "%s", kernel->name);
    kernel = kernel_of_cells(true, false, &gp_kernel_ard_rbf);
    CHECK(kernel == &gp_kernel_ard_rbf, "rough, one was asked for", "%s", kernel->name);
    kernel = kernel_of_cells(true, false, &gp_kernel_matern52);
    CHECK(kernel == &gp_kernel_matern52, "rough, another was asked for", "%s", kernel->name);
}

// ---- sums -----------------------------------------------------------------------------------------------------------

static gp_cells *some_cells(size_t M_g)
{
    static const size_t m[] = {5, 3, 4};
    const gp_cells_shape shape = {.n = 3, .d = D, .M_g = M_g, .kernel = &gp_kernel_ard_rbf, .m = m};
    gp_cells *cells = NULL;
    advgp_error err = {0};
    gp_rng rng = gp_rng_seeded(5, 0);
    CHECK_OK(gp_cells_new(&shape, &cells, &err), "cells");
    for (size_t k = 0; k < D; k++) cells->scale[k] = 1;
    for (size_t i = 0; i < 3 * D; i++) cells->centres[i] = gp_rng_normal(&rng);
    for (size_t i = 0; i < cells->n_theta; i++) cells->theta[i] = gp_rng_normal(&rng);
    return cells;
}

static advgp_status add_rows(void *pass, gp_batch rows, advgp_error *err)
{
    return gp_pass_add(pass, rows, err);
}

static void the_posterior_does_not_depend_on_threads(void **state)
{
    (void)state;
    advgp_error err = {0};
    make_table(700, 4, "0.1");
    gp_learner *l = make_learner(7);
    gp_pass *pass = NULL;
    gp_reader reader = {0};
    CHECK_OK(gp_pass_new(l->f, 0, &pass, &err), "sums");
    CHECK_OK(gp_reader_new(t.shards, 100, &reader, &err), "sums");
    CHECK_OK(gp_pass_begin(pass, l->theta, GP_PASS_STATS, &err), "sums");
    CHECK_OK(gp_reader_visit(&reader, GP_TRAIN, 0, add_rows, pass, &err), "sums");
    CHECK_OK(gp_pass_end(pass, NULL, NULL, &err), "sums");
    gp_cells *cells[3];
    double *theta[3], neg_elbo[3], rows = 0;
    for (size_t i = 0; i < 3; i++) {
        const gp_cells_join_options o = {
            .shards = t.shards, .global = l->f, .stats = gp_pass_stats(pass), .threads = 1 + 2 * i};
        cells[i] = some_cells(l->f->M);
        theta[i] = doubles(l->layout.size);
        memcpy(theta[i], l->theta, l->layout.size * sizeof(double));
        CHECK_OK(gp_cells_join(&o, cells[i], l->layout, theta[i], &neg_elbo[i], &err), "posterior");
        CHECK_BITS(l->layout.size, theta[0], theta[i], "global part");
        CHECK_BITS(cells[0]->n_mu, cells[0]->mu, cells[i]->mu, "mu");
        CHECK_BITS(cells[0]->n_U, cells[0]->U, cells[i]->U, "U");
        CHECK_BITS(cells[0]->n_W, cells[0]->W, cells[i]->W, "W");
        CHECK(neg_elbo[i] == neg_elbo[0], "bound", "%g, %g", neg_elbo[i], neg_elbo[0]);
    }
    for (size_t c = 0; c < 3; c++) rows += cells[0]->rows[c];
    CHECK(rows == (double)gp_shards_rows(t.shards, GP_TRAIN), "rows", "%g", rows);
    for (size_t i = 0; i < 3; i++) gp_cells_free(cells[i]), free(theta[i]);
    gp_reader_fini(&reader);
    gp_pass_free(pass);
    gp_learner_free(l);
    free_table();
}

// ---- one cell -------------------------------------------------------------------------------------------------------

// Both ways find the noise; by the evidence inducing inputs are rows, each once.
static void a_local_fit_finds_the_noise(void **state)
{
    (void)state;
    enum { N = 200, M = 10 };
    const size_t m = M;
    const gp_cells_shape shape = {.n = 1, .d = 1, .M_g = 1, .kernel = &gp_kernel_ard_rbf, .m = &m};
    const gp_local_evidence o = {.rows = 150, .iterations = 60, .seed = 1};
    advgp_error err = {0};
    gp_rng rng = gp_rng_seeded(2, 0);
    double X[N], y[N];
    for (size_t i = 0; i < N; i++) X[i] = gp_rng_normal(&rng), y[i] = sin(3 * X[i]) + 0.1 * gp_rng_normal(&rng);
    const gp_batch rows = {gp_cmat_of(X, N, 1), y, NULL};
    for (int exact = 0; exact < 2; exact++) {
        const char *label = exact ? "by the evidence" : "by the bound";
        gp_cells *cells = NULL;
        CHECK_OK(gp_cells_new(&shape, &cells, &err), label);
        double *theta = cells->theta;
        theta[0] = theta[1] = log(0.5), theta[2] = 0;
        memcpy(theta + 3, X, M * sizeof *X);
        const advgp_status st = exact ? gp_local_fit_evidence(cells, 0, rows, &o, &err)
                                      : gp_local_fit(cells, 0, rows, 60, &err);
        CHECK_OK(st, label);
        CHECK(fabs(exp(theta[0]) - 0.1) < 0.03, label, "noise %g, 0.1 was in the rows", exp(theta[0]));
        size_t found = 0;
        for (size_t i = 0; exact && i < N; i++)
            for (size_t j = 0; j < M; j++) found += theta[3 + j] == X[i];
        CHECK(!exact || found == M, label, "%zu of %d inducing inputs are rows", found, M);
        gp_cells_free(cells);
    }
}

// ---- stops ----------------------------------------------------------------------------------------------------------

typedef struct watch {
    bool cells; // they have begun
} watch;

static void on_phase(void *ctx, const char *what)
{
    if (!strncmp(what, "cells", 5)) ((watch *)ctx)->cells = true;
}

static int when_cells_begin(void *ctx)
{
    return ((const watch *)ctx)->cells;
}

static void a_stop_while_cells_are_fitted_leaves_the_model_without_them(void **state)
{
    (void)state;
    watch w = {0};
    gp_train_result r[2];
    const gp_train_events events = {.ctx = &w, .phase = on_phase, .stop = when_cells_begin};
    gp_model *models[2];
    for (int i = 0; i < 2; i++) {
        const gp_train_options o = options(i ? 6 : 0);
        make_table(ROWS, 5, "0.2");
        models[i] = train_table(&o, i ? &events : NULL, &r[i]);
        free_table();
    }
    CHECK(w.cells && r[1].interrupted && !models[1]->cells, "stopped", "cells %d, interrupted %d", w.cells,
          r[1].interrupted);
    CHECK_BITS(models[0]->layout.size, models[0]->theta, models[1]->theta, "as without cells");
    gp_model_free(models[0]);
    gp_model_free(models[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_predict_better_and_repeat_bit_for_bit),
        cmocka_unit_test(what_is_rough_takes_a_rough_kernel_unless_one_was_asked_for),
        cmocka_unit_test(the_posterior_does_not_depend_on_threads),
        cmocka_unit_test(a_local_fit_finds_the_noise),
        cmocka_unit_test(a_stop_while_cells_are_fitted_leaves_the_model_without_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
