// sums_task_test.c: sums of cells that another process makes have the bits of those made here; what is no such task, or
// is of other rows, is refused.
#include "base/alloc.h"
#include "cells/sums_task.h"
#include "fixture.h"
#include "recipe/rows_test.h"

enum { ROWS = 1500, CELLS = 5, FINGERPRINT = 77 };

typedef struct scene {
    gp_learner *l;
    gp_features *global;
    gp_cells *cells;
    gp_cell_finder *finder;
    gp_arrow *arrow;
    gp_sums_task task;
} scene;

// Cells of different sizes around some rows; a posterior of any kind, for rows beyond their borders.
static void open_scene(scene *s, gp_nearness nearness)
{
    static const size_t m[CELLS] = {4, 7, 3, 6, 5};
    advgp_error err = {0};
    gp_rng rng = gp_rng_seeded(11, 0);
    *s = (scene){.l = make_learner(9)};
    must(gp_features_new(&s->l->spec, &s->global, &err), &err);
    must(gp_features_set(s->global, s->l->theta, &err), &err);
    const gp_cells_shape shape = {
        .n = CELLS, .d = t.shards->d, .M_g = s->global->M, .kernel = &gp_kernel_ard_rbf, .m = m};
    must(gp_cells_new(&shape, &s->cells, &err), &err);
    gp_cells *c = s->cells;
    for (size_t k = 0; k < shape.d; k++) c->scale[k] = 1 + 0.1 * (double)k;
    for (size_t i = 0; i < CELLS * shape.d; i++) c->centres[i] = gp_rng_normal(&rng);
    for (size_t i = 0; i < c->n_theta; i++) c->theta[i] = 0.5 * gp_rng_normal(&rng);
    for (size_t i = 0; i < c->n_mu; i++) c->mu[i] = 0.1 * gp_rng_normal(&rng);
    for (size_t i = 0; i < c->n_U; i++) c->U[i] = 0.2 * gp_rng_normal(&rng);
    must(gp_cell_finder_new(CELLS, shape.d, c->scale, c->centres, &s->finder, &err), &err);
    must(gp_cells_keep(c, &err), &err);
    must(gp_arrow_new(c, &s->arrow, &err), &err);
    s->task = (gp_sums_task){.spec = &s->l->spec,
                             .theta = s->l->theta,
                             .sums = {.shards = t.shards,
                                      .global = s->global,
                                      .finder = s->finder,
                                      .cells = c,
                                      .arrow = s->arrow,
                                      .nearness = nearness,
                                      .ln_sigma = -1,
                                      .mu = s->l->theta + s->l->layout.n_rest,
                                      .threads = 2},
                             .fingerprint = FINGERPRINT};
}

static void close_scene(scene *s)
{
    gp_arrow_free(s->arrow);
    gp_cell_finder_free(s->finder);
    gp_cells_free(s->cells);
    gp_features_free(s->global);
    gp_learner_free(s->l);
}

// Sums that are there before a pass, from which it goes on.
static void start_sums(const scene *s)
{
    for (size_t c = 0; c < CELLS; c++) gp_arrow_cell(s->arrow, c)->residual = 0.25 * (double)c;
    for (size_t c = 0; c < CELLS; c++) s->cells->rows[c] = 0;
}

static void sums_from_elsewhere_have_the_same_bits(void **state)
{
    (void)state;
    make_table(ROWS, 5, "0.2");
    for (int beyond = 0; beyond < 2; beyond++) {
        scene s[2];
        advgp_error err = {0};
        for (int i = 0; i < 2; i++) {
            open_scene(&s[i], beyond ? GP_SECOND_NEAREST : GP_NEAREST);
            if (beyond) start_sums(&s[i]);
            if (i == 0) CHECK_OK(gp_cells_sums_run(&s[0].task.sums, &err), "here");
            if (i == 0) continue;
            const gp_sums_rows rows = {.shards = t.shards, .fingerprint = FINGERPRINT, .threads = 1};
            for (size_t first = 0; first < CELLS; first += 2) {
                gp_sums_task piece = s[1].task;
                gp_parcel parcel = {0};
                double *values = NULL;
                size_t n = 0;
                piece.first = first, piece.n = first + 2 < CELLS ? 2 : CELLS - first;
                CHECK_OK(gp_sums_task_pack(&piece, &parcel, &err), "packed");
                CHECK_OK(gp_sums_task_do(&rows, &parcel, &values, &n, &err), "there");
                assert_false(gp_sums_task_take(&piece, values, n - 1));
                assert_true(gp_sums_task_take(&piece, values, n));
                gp_free(values);
                gp_parcel_fini(&parcel);
            }
        }
        double rows = 0, size = 0;
        for (size_t c = 0; c < CELLS; c++) {
            const gp_arrow_sums *a = gp_arrow_cell(s[0].arrow, c), *b = gp_arrow_cell(s[1].arrow, c);
            const char *label = beyond ? "beyond the borders" : "of the cells";
            CHECK_BITS(a->A.rows, a->b, b->b, label);
            for (size_t i = 0; i < a->A.rows; i++) {
                CHECK_BITS(a->A.cols, a->A.p + i * a->A.ld, b->A.p + i * b->A.ld, label);
                CHECK_BITS(a->G.cols, a->G.p + i * a->G.ld, b->G.p + i * b->G.ld, label);
                size += fabs(a->b[i]);
            }
            CHECK_BITS(1, &a->residual, &b->residual, label);
            CHECK_BITS(1, &s[0].cells->rows[c], &s[1].cells->rows[c], label);
            rows += s[1].cells->rows[c];
        }
        CHECK(size > 0 && (beyond || rows == (double)gp_shards_rows(t.shards, GP_TRAIN)), "sums", "of %g rows", rows);
        for (int i = 0; i < 2; i++) close_scene(&s[i]);
    }
    free_table();
}

static void refused(const gp_sums_rows *rows, gp_parcel parcel, advgp_status expected, const char *what)
{
    advgp_error err = {0};
    double *values = NULL;
    size_t n;
    const advgp_status st = gp_sums_task_do(rows, &parcel, &values, &n, &err);
    CHECK(st == expected && err.text[0], what, "%s: %s", advgp_status_name(st), err.text);
    gp_free(values);
}

static void what_is_no_task_of_these_rows_is_refused(void **state)
{
    (void)state;
    scene s;
    advgp_error err = {0};
    gp_parcel whole = {0};
    make_table(ROWS, 5, "0.2");
    open_scene(&s, GP_SECOND_NEAREST);
    s.task.first = 1, s.task.n = 2;
    CHECK_OK(gp_sums_task_pack(&s.task, &whole, &err), "packed");
    const gp_sums_rows rows = {.shards = t.shards, .fingerprint = FINGERPRINT, .threads = 1}, none = {.threads = 1},
                       others = {.shards = t.shards, .fingerprint = 78, .threads = 1};
    refused(&none, whole, ADVGP_ECLUSTER, "no rows");
    refused(&others, whole, ADVGP_ECLUSTER, "other rows");
    for (size_t n = 0; n < whole.n_text; n += 5)
        refused(&rows, (gp_parcel){whole.text, n, whole.values, whole.n_values}, ADVGP_EFILE, "cut");
    refused(&rows, (gp_parcel){whole.text, whole.n_text, whole.values, whole.n_values - 1}, ADVGP_EFILE, "one less");
    refused(&rows, (gp_parcel){whole.text, whole.n_text, whole.values, 3}, ADVGP_EFILE, "three");
    static const struct {
        const char *from, *to;
    } words[] = {{"\"cell_kernel\":\"ard-rbf", "\"cell_kernel\":\"ard-rbg"},
                 {"\"cells\":5", "\"cells\":1"},
                 {"\"first\":1", "\"first\":4"},
                 {"\"inducing\":[7", "\"inducing\":[0"},
                 {"\"inducing\":[7", "\"inducing\":[8"},
                 {"\"beyond\":true", "\"beyond\":null"},
                 {"\"finite\":false", "\"finite\":\"yes\""}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s", whole.text);
        char *at = strstr(text, words[i].from);
        CHECK(at, words[i].from, "is not in %s", text);
        memcpy(at, words[i].to, strlen(words[i].to));
        refused(&rows, (gp_parcel){text, whole.n_text, whole.values, whole.n_values}, ADVGP_EFILE, words[i].to);
    }
    whole.values[whole.n_values / 2] = INFINITY;
    refused(&rows, whole, ADVGP_EFILE, "not finite");
    gp_parcel_fini(&whole);
    close_scene(&s);
    free_table();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_from_elsewhere_have_the_same_bits),
        cmocka_unit_test(what_is_no_task_of_these_rows_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
