// pooled_fit_test.c: cells in common: one is a fit of its own, spreads are units, threads change no bit, and together
// cells know more of their length-scales than each alone.
#include "cells/local_task.h"
#include "cells/pooled_fit.h"
#include "fixture.h"

enum { N = 60, D2 = 2, CELLS = 6 };

typedef struct several {
    double X[CELLS][N * D2], y[CELLS][N];
    gp_pooled_cell cells[CELLS];
} several;

// Draws of one process over the first input, with noise, each in its own unit; the second input means nothing.
static void make_cells(several *s, const double *units)
{
    gp_rng rng = gp_rng_seeded(21, 0);
    for (size_t c = 0; c < CELLS; c++) {
        const double at = 6 * gp_rng_uniform(&rng);
        for (size_t i = 0; i < N; i++) {
            for (size_t k = 0; k < D2; k++) s->X[c][i * D2 + k] = gp_rng_normal(&rng);
            const double x = s->X[c][i * D2];
            s->y[c][i] = units[c] * (sin(2 * x + at) + 0.5 * gp_rng_normal(&rng));
        }
        s->cells[c] = (gp_pooled_cell){{gp_cmat_of(s->X[c], N, D2), s->y[c], NULL}, log(units[c])};
    }
}

static void fit(const several *s, size_t n, size_t threads, size_t iterations, double *start)
{
    const gp_pooled_options o = {.kernel = &gp_kernel_ard_rbf, .iterations = iterations, .threads = threads};
    advgp_error err = {0};
    double nlml;
    memcpy(start, (double[]){-0.5, -0.5, 0, 0}, (2 + D2) * sizeof *start);
    CHECK_OK(gp_pooled_fit(&o, n, s->cells, start, &nlml, &err), err.text);
}

static const double ones[CELLS] = {1, 1, 1, 1, 1, 1}, powers[CELLS] = {1, 2, 4, 0.5, 8, 0.25};

static void units_and_threads_change_nothing(void **state)
{
    (void)state;
    several plain, scaled;
    double a[2 + D2], b[2 + D2], c[2 + D2];
    make_cells(&plain, ones);
    make_cells(&scaled, powers);
    fit(&plain, CELLS, 1, 15, a);
    fit(&scaled, CELLS, 1, 15, b);
    fit(&scaled, CELLS, 3, 15, c);
    CHECK_ARRAY(2 + D2, a, b, 1e-6, "units");
    CHECK_BITS(2 + D2, b, c, "threads");
}

static void one_cell_is_fitted_as_a_cell_of_its_own(void **state)
{
    (void)state;
    several s;
    advgp_error err = {0};
    double pooled[2 + D2], alone[2 + D2 + D2];
    const double start[2 + D2] = {-0.5, -0.5, 0, 0};
    make_cells(&s, ones);
    fit(&s, 1, 1, 3, pooled);
    const gp_local_task task = {.kernel = &gp_kernel_ard_rbf,
                                .m = 1,
                                .rows = s.cells[0].rows,
                                .way = GP_LOCAL_EVIDENCE,
                                .iterations = 3,
                                .start = start,
                                .look_at = N};
    CHECK_OK(gp_local_task_fit(&task, alone, &err), err.text);
    CHECK_ARRAY(2 + D2, alone, pooled, 1e-9, "alone");
}

// Noise 0.5; eta of sin(2 x) is about 4 and more than e^2 times that of an input without meaning.
static void cells_together_know_what_matters(void **state)
{
    (void)state;
    several s;
    double x[2 + D2];
    make_cells(&s, powers);
    fit(&s, CELLS, 2, 40, x);
    CHECK(fabs(x[0] - log(0.5)) < 0.1, "noise", "%g", exp(x[0]));
    CHECK(x[2] - x[3] > 2, "length-scales", "ln eta %g and %g", x[2], x[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_and_threads_change_nothing),
        cmocka_unit_test(one_cell_is_fitted_as_a_cell_of_its_own),
        cmocka_unit_test(cells_together_know_what_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
