// crew_test.c: every task is done once, whatever the threads; a failure and a stop end the others.
#include "run/crew.h"

#include "fixture.h"
#include "linalg/interrupt.h"

#include <stdatomic.h>

typedef struct job {
    atomic_int done[200];
    size_t fails; // the first task that fails
    atomic_int begun;
} job;

static advgp_status count(void *ctx, size_t task, advgp_error *err)
{
    job *j = ctx;
    atomic_fetch_add(&j->done[task], 1);
    return task >= j->fails ? gp_fail(err, ADVGP_EDATA, "task %zu", task) : ADVGP_OK;
}

static void every_task_is_done_once(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 8; threads *= 2) {
        job j = {.fails = 1000};
        advgp_error err = {0};
        CHECK_OK(gp_crew_do(threads, 200, count, &j, NULL, NULL, &err), "200 tasks");
        for (size_t i = 0; i < 200; i++) CHECK(atomic_load(&j.done[i]) == 1, "200 tasks", "task %zu", i);
        CHECK_OK(gp_crew_do(threads, 0, count, &j, NULL, NULL, &err), "no task");
    }
}

static void a_failure_is_returned_and_ends_the_others(void **state)
{
    (void)state;
    job j = {.fails = 20};
    advgp_error err = {0};
    assert_int_equal(gp_crew_do(1, 200, count, &j, NULL, NULL, &err), ADVGP_EDATA);
    assert_string_equal(err.text, "task 20");
    CHECK(atomic_load(&j.done[21]) == 0, "one thread", "a task after the failure was done");
}

static advgp_status for_ever(void *ctx, size_t task, advgp_error *err)
{
    (void)task;
    atomic_fetch_add(&((job *)ctx)->begun, 1);
    while (!gp_interrupted()) {}
    return gp_interrupt_status(ADVGP_OK, "a task", err);
}

static int when_begun(void *ctx)
{
    return atomic_load(&((job *)ctx)->begun) > 0;
}

static void a_stop_ends_tasks_in_the_middle(void **state)
{
    (void)state;
    job j = {0};
    advgp_error err = {0};
    CHECK_FAILS(ADVGP_ESTOPPED, gp_crew_do(2, 200, for_ever, &j, when_begun, &j, &err), "stopped");
    CHECK(atomic_load(&j.begun) <= 2, "stopped", "%d were begun", atomic_load(&j.begun));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_is_done_once),
        cmocka_unit_test(a_failure_is_returned_and_ends_the_others),
        cmocka_unit_test(a_stop_ends_tasks_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
