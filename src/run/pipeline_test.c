// pipeline_test.c: every block is filled, worked on and drained once, in order, whatever the threads; a failure is
// found in its turn.
#include "run/pipeline.h"

#include "fixture.h"

#include <stdatomic.h>

enum { SLOTS = 5, BLOCKS = 300 };

typedef struct job {
    size_t blocks, filled, drained;
    size_t slot[SLOTS]; // the block that is in it
    long result[SLOTS];
    atomic_int filling, draining;
    size_t work_fails, fill_fails; // at this block
} job;

static advgp_status fill(void *ctx, size_t slot, bool *more, advgp_error *err)
{
    job *j = ctx;
    CHECK(atomic_fetch_add(&j->filling, 1) == 0, "filling", "two at once");
    *more = j->filled < j->blocks;
    const size_t block = j->filled;
    if (*more) j->slot[slot] = j->filled++;
    atomic_fetch_sub(&j->filling, 1);
    return block == j->fill_fails ? gp_fail(err, ADVGP_EIO, "filling %zu", block) : ADVGP_OK;
}

static advgp_status work(void *ctx, size_t slot, advgp_error *err)
{
    job *j = ctx;
    long sum = 0;
    for (size_t i = 0; i < 1000 * (j->slot[slot] % 7); i++) sum += (long)(i % 3); // some take longer
    j->result[slot] = (long)j->slot[slot] + (sum < 0);
    return j->slot[slot] >= j->work_fails ? gp_fail(err, ADVGP_EDATA, "working on %zu", j->slot[slot]) : ADVGP_OK;
}

static advgp_status drain(void *ctx, size_t slot, advgp_error *err)
{
    (void)err;
    job *j = ctx;
    CHECK(atomic_fetch_add(&j->draining, 1) == 0, "draining", "two at once");
    CHECK(j->result[slot] == (long)j->drained, "draining", "block %ld in place of %zu", j->result[slot], j->drained);
    j->drained++;
    atomic_fetch_sub(&j->draining, 1);
    return ADVGP_OK;
}

static advgp_status run(job *j, size_t threads, advgp_error *err)
{
    const gp_pipeline p = {.threads = threads, .slots = SLOTS, .ctx = j, .fill = fill, .work = work, .drain = drain};
    return gp_pipeline_run(&p, err);
}

static void every_block_comes_out_in_order(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 8; threads *= 2) {
        advgp_error err = {0};
        job j = {.blocks = BLOCKS, .work_fails = BLOCKS, .fill_fails = BLOCKS + 1}, none = {.fill_fails = 1};
        CHECK_OK(run(&j, threads, &err), "300 blocks");
        assert_int_equal(j.drained, BLOCKS);
        CHECK_OK(run(&none, threads, &err), "no block");
        assert_int_equal(none.drained, 0);
    }
}

static void a_failure_is_found_in_its_turn(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 8; threads *= 2) {
        advgp_error err = {0};
        job j = {.blocks = BLOCKS, .work_fails = 100, .fill_fails = 103};
        assert_int_equal(run(&j, threads, &err), ADVGP_EDATA);
        assert_string_equal(err.text, "working on 100");
        assert_int_equal(j.drained, 100);
        job k = {.blocks = BLOCKS, .work_fails = BLOCKS, .fill_fails = 100};
        assert_int_equal(run(&k, threads, &err), ADVGP_EIO);
        assert_string_equal(err.text, "filling 100");
        assert_int_equal(k.drained, 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_comes_out_in_order),
        cmocka_unit_test(a_failure_is_found_in_its_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
