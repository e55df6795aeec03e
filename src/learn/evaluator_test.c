// evaluator_test.c: the evaluator says what a score of the same rows says, whoever waits for it, and goes when it is
// told to.
#include "base/alloc.h"
#include "fixture.h"
#include "learn/evaluator.h"
#include "recipe/rows_test.h"

#include <stdatomic.h>
#include <time.h>

static atomic_int said;

static void on_done(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&said, 1);
}

static gp_evaluator *evaluator_of(const gp_learner *l, size_t max_rows)
{
    advgp_error err;
    gp_evaluator *evaluator;
    const gp_evaluator_options o = {.spec = &l->spec,
                                    .shards = t.shards,
                                    .schema = t.schema,
                                    .max_rows = max_rows,
                                    .size = l->layout.size,
                                    .done = on_done};
    must(gp_evaluator_new(&o, &evaluator, &err), &err);
    return evaluator;
}

static void it_gives_the_score_of_the_held_out_rows(void **state)
{
    (void)state;
    make_table(1500, 12, "0.3");
    gp_learner *l = make_learner(8);
    gp_reader reader;
    advgp_error err;
    must(gp_reader_new(t.shards, 4096, &reader, &err), &err);
    for (size_t max_rows = 0; max_rows <= 100; max_rows += 50) {
        gp_evaluator *evaluator = evaluator_of(l, max_rows);
        double *theta = doubles(l->layout.size);
        memcpy(theta, l->theta, l->layout.size * sizeof *theta);
        atomic_store(&said, 0);
        for (int i = 0; i < 5; i++) { // one after another
            gp_score wanted, got;
            theta[0] = -0.1 * i;
            must(gp_score_part(&l->spec, theta, &reader, GP_STOP, max_rows, t.schema, &wanted, &err), &err);
            gp_evaluator_ask(evaluator, theta);
            const double asked = theta[0];
            theta[0] = 99; // it has its own copy
            while (i % 2 && !gp_evaluator_is_done(evaluator)) nanosleep(&(struct timespec){0, 1000000}, NULL);
            must(gp_evaluator_take(evaluator, &got, &err), &err);
            assert_false(gp_evaluator_is_done(evaluator)); // it was taken
            assert_true(gp_evaluator_theta(evaluator)[0] == asked);
            CHECK_BITS(4, &wanted.n, &got.n, "score");
        }
        gp_evaluator_free(evaluator);
        assert_int_equal(atomic_load(&said), 5);
        free(theta);
    }
    gp_reader_fini(&reader);
    gp_learner_free(l);
    free_table();
}

static void it_goes_while_a_score_is_under_way(void **state)
{
    (void)state;
    make_table(1500, 13, "0.5");
    gp_learner *l = make_learner(8);
    for (int i = 0; i < 20; i++) {
        gp_evaluator *evaluator = evaluator_of(l, 0);
        if (i % 2) gp_evaluator_ask(evaluator, l->theta);
        gp_evaluator_free(evaluator);
    }
    gp_evaluator_free(NULL);
    gp_learner_free(l);
    free_table();
}

static void parameters_it_cannot_use_are_told(void **state)
{
    (void)state;
    make_table(600, 14, "0.3");
    gp_learner *l = make_learner(8);
    gp_evaluator *evaluator = evaluator_of(l, 0);
    gp_score score;
    advgp_error err = {0};
    double *theta = doubles(l->layout.size);
    memcpy(theta, l->theta, l->layout.size * sizeof *theta);
    for (size_t i = 1; i < l->layout.n_rest; i++) theta[i] = NAN;
    gp_evaluator_ask(evaluator, theta);
    assert_int_equal(gp_evaluator_take(evaluator, &score, &err), ADVGP_ENUMERIC);
    assert_true(err.text[0] != 0);
    gp_evaluator_ask(evaluator, l->theta); // and it is there for the next
    must(gp_evaluator_take(evaluator, &score, &err), &err);
    gp_evaluator_free(evaluator);
    gp_learner_free(l);
    free(theta);
    free_table();
}

static void without_memory_there_is_no_evaluator(void **state)
{
    (void)state;
    make_table(600, 15, "0.3");
    gp_learner *l = make_learner(8);
    const gp_evaluator_options o = {.spec = &l->spec, .shards = t.shards, .schema = t.schema, .size = l->layout.size};
    const long live = gp_alloc_count().live;
    for (long n = 0;; n++) {
        gp_evaluator *evaluator;
        advgp_error err = {0};
        gp_alloc_fail_after(n);
        const advgp_status st = gp_evaluator_new(&o, &evaluator, &err);
        gp_alloc_fail_after(-1);
        gp_evaluator_free(evaluator);
        assert_int_equal(gp_alloc_count().live, live);
        if (st == ADVGP_OK) break;
        assert_int_equal(st, ADVGP_ENOMEM);
    }
    gp_learner_free(l);
    free_table();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_gives_the_score_of_the_held_out_rows),
        cmocka_unit_test(it_goes_while_a_score_is_under_way),
        cmocka_unit_test(parameters_it_cannot_use_are_told),
        cmocka_unit_test(without_memory_there_is_no_evaluator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
