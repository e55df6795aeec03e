// local_task_test.c: the fit of a cell gives the same bits here and in another process; what is no task is refused.
#include "base/alloc.h"
#include "cells/local_task.h"
#include "fixture.h"

enum { N = 120, D2 = 2, M = 9 };

typedef struct one_cell {
    double X[N * D2], y[N], w[N], start[2 + D2], scale[D2];
    gp_local_task task;
} one_cell;

static void make_cell(one_cell *p, gp_local_way way, bool weighted)
{
    gp_rng rng = gp_rng_seeded(8, 0);
    *p = (one_cell){.start = {-1, -0.5, 0.3, -0.2}, .scale = {1, 0.7}};
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < D2; k++) p->X[i * D2 + k] = gp_rng_normal(&rng);
        p->y[i] = sin(2 * p->X[i * D2]) + 0.3 * p->X[i * D2 + 1] + 0.1 * gp_rng_normal(&rng);
        p->w[i] = 0.5 + gp_rng_uniform(&rng);
    }
    p->task = (gp_local_task){.kernel = &gp_kernel_ard_rbf,
                              .m = M,
                              .rows = {gp_cmat_of(p->X, N, D2), p->y, weighted ? p->w : NULL},
                              .way = way,
                              .iterations = 7,
                              .start = p->start,
                              .scale = p->scale,
                              .look_at = 90,
                              .seed = UINT64_C(0xfedcba9876543210)};
}

static void a_task_that_travels_gives_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        one_cell p;
        advgp_error err = {0};
        gp_parcel parcel = {0};
        double here[2 + D2 + M * D2], *there = NULL;
        size_t n = 0;
        make_cell(&p, i % 2 ? GP_LOCAL_EVIDENCE : GP_LOCAL_BOUND, i / 2);
        assert_int_equal(gp_local_task_parameters(&p.task), sizeof here / sizeof *here);
        CHECK_OK(gp_local_task_fit(&p.task, here, &err), "here");
        CHECK(memcmp(here, p.start, sizeof p.start) != 0, "here", "nothing was learned");
        CHECK_OK(gp_local_task_pack(&p.task, &parcel, &err), "packed");
        CHECK_OK(gp_local_task_do(&parcel, &there, &n, &err), "there");
        assert_int_equal(n, sizeof here / sizeof *here);
        CHECK_BITS(n, here, there, i % 2 ? "by the evidence" : "by the bound");
        gp_free(there);
        gp_parcel_fini(&parcel);
    }
}

static void refused(const gp_parcel *parcel, const char *what)
{
    gp_local_task task;
    advgp_error err = {0};
    assert_int_equal(gp_local_task_unpack(parcel, &task, &err), ADVGP_EFILE);
    CHECK(strstr(err.text, "a task of the lead is damaged"), what, "%s", err.text);
}

static void what_is_no_task_is_refused(void **state)
{
    (void)state;
    one_cell p;
    advgp_error err = {0};
    gp_parcel whole = {0};
    make_cell(&p, GP_LOCAL_EVIDENCE, true);
    CHECK_OK(gp_local_task_pack(&p.task, &whole, &err), "packed");
    for (size_t n = 0; n < whole.n_text; n++) refused(&(gp_parcel){whole.text, n, whole.values, whole.n_values}, "cut");
    refused(&(gp_parcel){whole.text, whole.n_text, whole.values, whole.n_values - 1}, "a value less");
    static const struct {
        const char *from, *to;
    } words[] = {{"evidence", "evidencf"},
                 {"ard-rbf", "ard-rbg"},
                 {"\"rows\":120", "\"rows\":121"},
                 {"\"rows\":120", "\"rows\":-20"},
                 {"\"d\":2", "\"d\":0"},
                 {"\"inducing\":9", "\"inducing\":0"},
                 {"\"look_at\":90", "\"look_at\":-9"},
                 {"\"look_at\":90", "\"look_at\":00"},
                 {"fedcba98", "xedcba98"},
                 {"\"weighted\":true", "\"weighted\":null"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s", whole.text);
        char *at = strstr(text, words[i].from);
        CHECK(at, words[i].from, "is not in %s", text);
        memcpy(at, words[i].to, strlen(words[i].to));
        refused(&(gp_parcel){text, whole.n_text, whole.values, whole.n_values}, words[i].to);
    }
    const size_t places[] = {0, 2 + D2, 2 + 2 * D2, whole.n_values - 1};
    for (size_t i = 0; i < 4; i++) {
        const double kept = whole.values[places[i]];
        whole.values[places[i]] = NAN;
        refused(&whole, "not finite");
        whole.values[places[i]] = kept;
    }
    whole.values[2 + D2] = 0;
    refused(&whole, "a scale of 0");
    whole.values[2 + D2] = 1, whole.values[whole.n_values - 1] = -1;
    refused(&whole, "a weight below 0");
    gp_parcel_fini(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_that_travels_gives_the_same_bits),
        cmocka_unit_test(what_is_no_task_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
