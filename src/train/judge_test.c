// judge_test.c: the judge says what a score of the same rows says, whoever waits for it, and goes when it is told to.
#include "base/alloc.h"
#include "fixture.h"
#include "train/judge.h"
#include "train/rows_test.h"

#include <stdatomic.h>
#include <time.h>

static atomic_int said;

static void on_done(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&said, 1);
}

static gp_judge *judge_of(const gp_learner *l, size_t max_rows)
{
    advgp_error err;
    gp_judge *judge;
    const gp_judge_options o = {.spec = &l->spec,
                                .shards = t.shards,
                                .schema = t.schema,
                                .max_rows = max_rows,
                                .size = l->layout.size,
                                .done = on_done};
    must(gp_judge_new(&o, &judge, &err), &err);
    return judge;
}

static void its_verdict_is_the_score_of_the_held_out_rows(void **state)
{
    (void)state;
    make_table(1500, 12, "0.3");
    gp_learner *l = make_learner(8);
    gp_reader reader;
    advgp_error err;
    must(gp_reader_new(t.shards, 4096, &reader, &err), &err);
    for (size_t max_rows = 0; max_rows <= 100; max_rows += 50) {
        gp_judge *judge = judge_of(l, max_rows);
        double *theta = doubles(l->layout.size);
        memcpy(theta, l->theta, l->layout.size * sizeof *theta);
        atomic_store(&said, 0);
        for (int i = 0; i < 5; i++) { // one after another
            gp_score wanted, got;
            theta[0] = -0.1 * i;
            must(gp_score_part(&l->spec, theta, &reader, GP_STOP, max_rows, t.schema, &wanted, &err), &err);
            gp_judge_ask(judge, theta);
            const double asked = theta[0];
            theta[0] = 99; // it has its own copy
            while (i % 2 && !gp_judge_is_done(judge)) nanosleep(&(struct timespec){0, 1000000}, NULL);
            must(gp_judge_take(judge, &got, &err), &err);
            assert_false(gp_judge_is_done(judge)); // it was taken
            assert_true(gp_judge_theta(judge)[0] == asked);
            CHECK_BITS(4, &wanted.n, &got.n, "score");
        }
        gp_judge_free(judge);
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
        gp_judge *judge = judge_of(l, 0);
        if (i % 2) gp_judge_ask(judge, l->theta);
        gp_judge_free(judge);
    }
    gp_judge_free(NULL);
    gp_learner_free(l);
    free_table();
}

static void parameters_it_cannot_use_are_its_verdict(void **state)
{
    (void)state;
    make_table(600, 14, "0.3");
    gp_learner *l = make_learner(8);
    gp_judge *judge = judge_of(l, 0);
    gp_score score;
    advgp_error err = {0};
    double *theta = doubles(l->layout.size);
    memcpy(theta, l->theta, l->layout.size * sizeof *theta);
    for (size_t i = 1; i < l->layout.n_rest; i++) theta[i] = NAN;
    gp_judge_ask(judge, theta);
    assert_int_equal(gp_judge_take(judge, &score, &err), ADVGP_ENUMERIC);
    assert_true(err.text[0] != 0);
    gp_judge_ask(judge, l->theta); // and it is there for the next
    must(gp_judge_take(judge, &score, &err), &err);
    gp_judge_free(judge);
    gp_learner_free(l);
    free(theta);
    free_table();
}

static void without_memory_there_is_no_judge(void **state)
{
    (void)state;
    make_table(600, 15, "0.3");
    gp_learner *l = make_learner(8);
    const gp_judge_options o = {.spec = &l->spec, .shards = t.shards, .schema = t.schema, .size = l->layout.size};
    const long live = gp_alloc_count().live;
    for (long n = 0;; n++) {
        gp_judge *judge;
        advgp_error err = {0};
        gp_alloc_fail_after(n);
        const advgp_status st = gp_judge_new(&o, &judge, &err);
        gp_alloc_fail_after(-1);
        gp_judge_free(judge);
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
        cmocka_unit_test(its_verdict_is_the_score_of_the_held_out_rows),
        cmocka_unit_test(it_goes_while_a_score_is_under_way),
        cmocka_unit_test(parameters_it_cannot_use_are_its_verdict),
        cmocka_unit_test(without_memory_there_is_no_judge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
