// threads_test.c: threads with workspaces of their own give the same bits as one after the other. Under the thread
// sanitizer this also says that nothing is shared by accident.
#include "fixture.h"
#include "linalg/blas.h"
#include "model/predict.h"
#include "model/qw.h"

#include <pthread.h>

enum { THREADS = 2, ROUNDS = 15 };

typedef struct task {
    problem p;
    engine e;
    gp_qw *qw;
    double value, collapsed, *grad, *mu, *U;
    const gp_predictor *predictor;
    gp_predict_work *work;
    double *mean, *var_f, *var_y;
    advgp_status status;
} task;

static void *step(void *arg)
{
    task *t = arg;
    for (int i = 0; i < ROUNDS && t->status == ADVGP_OK; i++) {
        t->status = gp_pass_run(t->e.pass, t->p.theta, GP_PASS_GRADIENT, t->p.rows, &t->value, t->grad, NULL);
        if (t->status == ADVGP_OK)
            t->status = gp_qw_optimal(t->qw, gp_pass_stats(t->e.pass), t->p.theta[0], t->mu, t->U, &t->collapsed, NULL);
    }
    return NULL;
}

static void *predict(void *arg)
{
    task *t = arg;
    for (int i = 0; i < ROUNDS && t->status == ADVGP_OK; i++)
        t->status = gp_predict(t->predictor, t->work, t->p.rows.X, t->mean, t->var_f, t->var_y, NULL);
    return NULL;
}

static void run_together(void *(*work)(void *), task *tasks)
{
    pthread_t id[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&id[i], NULL, work, &tasks[i]), 0);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(id[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) assert_int_equal(tasks[i].status, ADVGP_OK);
}

static void task_init(task *t, uint64_t seed)
{
    advgp_error err = {0};
    *t = (task){0};
    problem_init(&t->p, seed,
                 (problem_options){.n = 300,
                                   .d = 3,
                                   .n_components = 2,
                                   .m = 20,
                                   .map = gp_maps[seed % 4],
                                   .trend = (gp_trend)(seed % 3),
                                   .weighted = true});
    t->e = engine_new(&t->p, 64);
    CHECK_OK(gp_qw_new(t->p.layout.M, &t->qw, &err), t->p.label);
    t->grad = doubles(t->p.layout.size), t->mu = doubles(t->p.layout.M), t->U = doubles(t->p.layout.size);
    t->mean = doubles(t->p.n), t->var_f = doubles(t->p.n), t->var_y = doubles(t->p.n);
}

static void task_fini(task *t)
{
    free(t->grad), free(t->mu), free(t->U), free(t->mean), free(t->var_f), free(t->var_y);
    gp_predict_work_free(t->work);
    gp_qw_free(t->qw);
    engine_free(t->e);
    problem_fini(&t->p);
}

static void steps_in_two_threads_give_the_bits_of_one_after_the_other(void **state)
{
    (void)state;
    assert_int_equal(gp_blas_reserve(THREADS, NULL), ADVGP_OK);
    for (uint64_t seed = 0; seed < 4; seed++) {
        task together[THREADS], alone[THREADS];
        for (int i = 0; i < THREADS; i++) {
            task_init(&together[i], seed + (uint64_t)i), task_init(&alone[i], seed + (uint64_t)i);
            step(&alone[i]);
            assert_int_equal(alone[i].status, ADVGP_OK);
        }
        run_together(step, together);
        for (int i = 0; i < THREADS; i++) {
            const gp_theta_layout layout = alone[i].p.layout;
            CHECK_BITS(1, &alone[i].value, &together[i].value, alone[i].p.label);
            CHECK_BITS(1, &alone[i].collapsed, &together[i].collapsed, alone[i].p.label);
            CHECK_BITS(layout.size, alone[i].grad, together[i].grad, alone[i].p.label);
            CHECK_BITS(layout.M, alone[i].mu, together[i].mu, alone[i].p.label);
            CHECK_BITS(layout.size - layout.U, alone[i].U, together[i].U, alone[i].p.label);
            task_fini(&together[i]), task_fini(&alone[i]);
        }
    }
}

static void two_threads_may_share_a_predictor(void **state)
{
    (void)state;
    assert_int_equal(gp_blas_reserve(THREADS, NULL), ADVGP_OK);
    for (uint64_t seed = 0; seed < 4; seed++) {
        advgp_error err = {0};
        task together[THREADS], alone;
        gp_predictor *predictor = NULL;
        task_init(&alone, seed);
        CHECK_OK(gp_predictor_new(&alone.p.spec, alone.p.theta, &predictor, &err), alone.p.label);
        alone.predictor = predictor;
        CHECK_OK(gp_predict_work_new(predictor, 32, &alone.work, &err), alone.p.label);
        predict(&alone);
        assert_int_equal(alone.status, ADVGP_OK);
        for (int i = 0; i < THREADS; i++) {
            task_init(&together[i], seed);
            together[i].predictor = predictor;
            CHECK_OK(gp_predict_work_new(predictor, 32, &together[i].work, &err), alone.p.label);
        }
        run_together(predict, together);
        for (int i = 0; i < THREADS; i++) {
            CHECK_BITS(alone.p.n, alone.mean, together[i].mean, alone.p.label);
            CHECK_BITS(alone.p.n, alone.var_f, together[i].var_f, alone.p.label);
            CHECK_BITS(alone.p.n, alone.var_y, together[i].var_y, alone.p.label);
            task_fini(&together[i]);
        }
        task_fini(&alone);
        gp_predictor_free(predictor);
    }
}

static void *allocate(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2000; i++) gp_free(gp_alloc(3, 8));
    return NULL;
}

static void the_counters_of_the_heap_hold_among_threads(void **state)
{
    (void)state;
    const gp_alloc_counts before = gp_alloc_count();
    task none[THREADS] = {{.status = ADVGP_OK}};
    run_together(allocate, none);
    const gp_alloc_counts after = gp_alloc_count();
    assert_int_equal(after.calls - before.calls, 2000 * THREADS);
    assert_int_equal(after.live, before.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_in_two_threads_give_the_bits_of_one_after_the_other),
        cmocka_unit_test(two_threads_may_share_a_predictor),
        cmocka_unit_test(the_counters_of_the_heap_hold_among_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
