// plan_test.c: the plan of twelve shapes of tables, pinned: a rule that changes shows itself here.
#include "fixture.h"
#include "recipe/plan.h"

#include <math.h>

static gp_facts table(size_t rows, size_t columns, size_t held_out)
{
    return (gp_facts){.method = "auto",
                      .rows = rows,
                      .columns = columns,
                      .validation_rows = held_out / 2,
                      .calibration_rows = held_out - held_out / 2,
                      .shards = 64,
                      .noise = NAN,
                      .memory = 16e9};
}

static gp_train_options nothing_asked(void)
{
    return (gp_train_options){.method = "auto",
                              .m = 200,
                              .m_open = true,
                              .kernel = &gp_kernel_ard_rbf,
                              .kernel_open = true,
                              .cells_kernel_open = true,
                              .map = &gp_map_cholesky,
                              .trend = GP_TREND_LINEAR,
                              .cells = GP_CELLS_AUTO,
                              .noise = GP_NOISE_AUTO,
                              .schedule.workers = 2,
                              .schedule.quorum = -1};
}

typedef struct expected {
    const char *name;
    gp_facts facts;
    const char *method, *components;
    size_t inducing, workers, batch, steps, cells;
} expected;

static void check(const expected *e, const gp_train_options *o)
{
    const gp_plan p = gp_plan_make(&e->facts, o), again = gp_plan_make(&e->facts, o);
    assert_string_equal(p.method.value, e->method);
    if (strcmp(p.components.value, e->components) != 0) fail_msg("%s: components %s", e->name, p.components.value);
    if (p.inducing.n != e->inducing) fail_msg("%s: %zu inducing points", e->name, p.inducing.n);
    if (p.workers.n != e->workers) fail_msg("%s: %zu workers", e->name, p.workers.n);
    if (p.batch.n != e->batch) fail_msg("%s: a step of %zu rows", e->name, p.batch.n);
    if (p.steps.n != e->steps) fail_msg("%s: %zu steps", e->name, p.steps.n);
    if (p.cells.n != e->cells) fail_msg("%s: %zu cells", e->name, p.cells.n);
    assert_memory_equal(&p, &again, sizeof p); // pure
}

static void twelve_tables_have_these_plans(void **state)
{
    (void)state;
    const gp_train_options o = nothing_asked();
    gp_facts noisy = table(630000, 10, 70000), noisy_small = table(90000, 10, 10000),
             cluster = table(10000000, 10, 100000);
    noisy.noise = 0.9, noisy_small.noise = 0.7, cluster.cluster_workers = 16;
    const expected tables[] = {
        {"of 100 rows", table(100, 3, 0), "exact", "", 0, 0, 0, 0, 0},
        {"of 3,000 rows", table(3000, 80, 0), "exact", "", 0, 0, 0, 0, 0},
        {"of 3,001 rows", table(3001, 8, 330), "advgp", "1 or 4", 200, 1, 512, 1000, 0},
        {"of 5,000 rows", table(5000, 8, 550), "advgp", "1 or 4", 200, 1, 512, 400, 16},
        {"of 9,000 rows, none held out", table(9000, 8, 0), "advgp", "1 or 4", 200, 1, 512, 1000, 0},
        {"of 15,000 rows", table(15000, 200, 1500), "advgp", "1 or 4", 200, 1, 512, 400, 50},
        {"of 36,000 rows", table(36000, 8, 4000), "advgp", "1 or 4", 200, 1, 1024, 400, 120},
        {"of 100,000 rows", table(100000, 20, 11000), "advgp", "1 or 4", 400, 2, 4096, 400, 256},
        {"of 90,000 rows of noise", noisy_small, "advgp", "1 or 4", 200, 2, 4096, 400, 45},
        {"of 630,000 rows", table(630000, 10, 70000), "advgp", "1 or 4", 400, 2, 8192, 400, 256},
        {"of 630,000 rows of noise", noisy, "advgp", "1 or 4", 200, 2, 8192, 400, 315},
        {"of ten million rows on 16 workers", cluster, "advgp", "1 or 4", 400, 16, 65536, 400, 256},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) check(&tables[i], &o);
}

static void what_is_asked_for_is_done(void **state)
{
    (void)state;
    const gp_facts f = table(36000, 8, 4000);
    gp_train_options o = nothing_asked();
    o.m = 50, o.m_open = false, o.components = 2, o.cells = 0, o.schedule.batch = 100, o.epochs = 2,
    o.schedule.workers = 3;
    o.workers_asked = true, o.noise = GP_NOISE_CONSTANT, o.kernel_open = o.cells_kernel_open = false;
    const gp_plan p = gp_plan_make(&f, &o);
    assert_int_equal(p.inducing.n, 50);
    assert_int_equal(p.components.n, 2);
    assert_int_equal(p.cells.n, 0);
    assert_int_equal(p.batch.n, 100);
    assert_int_equal(p.workers.n, 3);
    assert_int_equal(p.steps.n, 706); // two epochs of 36,000 rows in steps of three times 34
    const gp_planned asked[] = {p.inducing, p.components, p.cells, p.batch, p.workers, p.steps, p.noise, p.kernel};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) assert_int_equal(asked[i].origin, GP_ORIGIN_ASKED);
    assert_int_equal(p.method.origin, GP_ORIGIN_RULE);
}

static void a_plan_is_told_with_its_reasons(void **state)
{
    (void)state;
    const gp_facts f = table(36000, 8, 4000);
    const gp_train_options o = nothing_asked();
    gp_plan p = gp_plan_make(&f, &o);
    const gp_verdict verdict = {.tried = true, .taken = false, .rows = 2000, .gain = -0.013, .errors = -2.5};
    gp_plan_take(&p.components, 4, GP_ORIGIN_TRIAL, &verdict, gp_trial_what(GP_TRIAL_COMPONENTS));
    gp_buffer text = {0};
    gp_plan_text(&p, &text);
    assert_non_null(
        strstr(text.p, "rows of a step           1024                     rule   about a fortieth of 36000 rows"));
    assert_non_null(
        strstr(text.p, "one component instead of a sum of four: CRPS 1.3 % higher (2.5 standard errors, 2000 rows)"));
    gp_buffer_fini(&text);
    json_t *list = gp_plan_json(&p);
    assert_true(json_array_size(list) > 8);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *choice = json_array_get(list, i);
        assert_true(json_string_length(json_object_get(choice, "value")) > 0);
        assert_true(json_string_length(json_object_get(choice, "why")) > 0);
    }
    json_decref(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twelve_tables_have_these_plans),
        cmocka_unit_test(what_is_asked_for_is_done),
        cmocka_unit_test(a_plan_is_told_with_its_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
