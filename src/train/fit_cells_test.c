// fit_cells_test.c: cells of a whole training on a small generated table: better where the function is rough, the same
// bits again; sums that do not depend on threads; and a model that someone stops for is one without them.
#include "base/alloc.h"
#include "fixture.h"
#include "model/arrow.h"
#include "train/cell_sums.h"
#include "train/local_fit.h"
#include "train/rows_test.h"
#include "train/train.h"

enum { ROWS = 3000 }; // of a function that twelve inducing inputs cannot follow

static gp_train_options options(size_t cells)
{
    return (gp_train_options){.m = 12,
                              .components = 1,
                              .cells = cells,
                              .kernel = &gp_kernel_ard_rbf,
                              .map = &gp_map_cholesky,
                              .trend = GP_TREND_LINEAR,
                              .batch = 500,
                              .steps = 60,
                              .seed = 3};
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

static void sums_do_not_depend_on_threads(void **state)
{
    (void)state;
    advgp_error err = {0};
    make_table(700, 4, "0.1");
    gp_learner *l = make_learner(7);
    CHECK_OK(gp_features_set(l->f, l->theta, &err), "features");
    gp_cells *cells = some_cells(l->f->M);
    gp_arrow *arrows[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        const gp_cell_sums_options o = {.shards = t.shards, .global = l->f, .threads = 1 + 2 * i};
        CHECK_OK(gp_cell_sums(&o, cells, &arrows[i], &err), "sums");
    }
    double rows = 0;
    for (size_t c = 0; c < 3; c++) {
        const gp_arrow_sums *a = gp_arrow_cell(arrows[0], c);
        rows += cells->rows[c];
        for (size_t i = 1; i < 3; i++) {
            const gp_arrow_sums *b = gp_arrow_cell(arrows[i], c);
            CHECK_BITS(a->A.rows * a->A.cols, a->A.p, b->A.p, "A");
            CHECK_BITS(a->G.rows * a->G.cols, a->G.p, b->G.p, "G");
            CHECK_BITS(a->A.rows, a->b, b->b, "b");
            CHECK(a->residual == b->residual, "residual", "%g, %g", a->residual, b->residual);
        }
    }
    CHECK(rows == (double)gp_shards_rows(t.shards, GP_TRAIN), "rows", "%g", rows);
    for (size_t i = 0; i < 3; i++) gp_arrow_free(arrows[i]);
    gp_cells_free(cells);
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
        cmocka_unit_test(sums_do_not_depend_on_threads),
        cmocka_unit_test(a_local_fit_finds_the_noise),
        cmocka_unit_test(a_stop_while_cells_are_fitted_leaves_the_model_without_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
