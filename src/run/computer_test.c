// computer_test.c: the batch of a push is a function of sequence and shards alone, fetched ahead or not; what is
// computed on it is what a pass over the same rows gives; and nothing is allocated on the way.
#include "base/alloc.h"
#include "fixture.h"
#include "ps/statistics.h"
#include "recipe/rows_test.h"
#include "run/computer.h"

enum { BATCH = 70, M_INDUCING = 12 };
static gp_learner *learner;
static const uint32_t mine[] = {1, 4, 5, 9, 20};
enum { N_MINE = sizeof mine / sizeof *mine };

static int make(void **state)
{
    (void)state;
    make_table(1500, 11, "0.1");
    learner = make_learner(M_INDUCING);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    gp_learner_free(learner);
    free_table();
    return 0;
}

static gp_row_computer *computer_of(const gp_rule_ops *rule, size_t batch)
{
    advgp_error err;
    gp_row_computer *c;
    const gp_row_computer_options o = {.shards = t.shards,
                                       .spec = &learner->spec,
                                       .schedule.rule = rule,
                                       .range = gp_range_all(learner->layout),
                                       .schedule.batch = batch};
    must(gp_row_computer_new(&o, &c, &err), &err);
    return c;
}

static size_t push_room(const gp_rule_ops *rule)
{
    return gp_row_computer_push_size(learner->layout, rule, gp_range_all(learner->layout));
}

static gp_work work_of(uint64_t sequence, unsigned flags)
{
    return (gp_work){
        .worker = 2, .sequence = sequence, .theta = learner->theta, .flags = flags, .n_shards = N_MINE, .shards = mine};
}

static gp_work_done compute(gp_row_computer *c, gp_work work, double *push)
{
    advgp_error err;
    gp_work_done done;
    const gp_computer as = gp_row_computer_of(c);
    must(as.compute(as.ctx, &work, push, &done, &err), &err);
    return done;
}

static void fetch(gp_row_computer *c, gp_work work)
{
    const gp_computer as = gp_row_computer_of(c);
    work.theta = NULL;
    as.fetch(as.ctx, &work);
}

// A push by hand: rows first .. of the ring, in the pieces given.
static void by_hand(const gp_rule_ops *rule, size_t first, size_t n, size_t piece, bool statistics, double loss,
                    double *push)
{
    advgp_error err;
    gp_reader reader;
    gp_features *f;
    gp_pass *pass;
    double sum_g, *grad = doubles(learner->layout.size);
    must(gp_features_new(&learner->spec, &f, &err), &err);
    must(gp_pass_new(f, 0, &pass, &err), &err);
    must(gp_reader_new(t.shards, piece, &reader, &err), &err);
    gp_pass_set_max_loss(pass, loss);
    must(gp_pass_begin(pass, learner->theta, statistics ? GP_PASS_STATS : GP_PASS_GRADIENT, &err), &err);
    for (size_t done = 0; done < n;) {
        gp_batch rows;
        must(gp_reader_ring(&reader, (gp_ring){mine, N_MINE}, first + done, n - done, &rows, &err), &err);
        must(gp_pass_add(pass, rows, &err), &err);
        done += rows.X.rows;
    }
    must(gp_pass_end(pass, &sum_g, statistics ? NULL : grad, &err), &err);
    if (statistics)
        gp_statistics_pack(gp_pass_stats(pass), sum_g, push);
    else
        rule->fill(learner->layout, gp_range_all(learner->layout), gp_pass_stats(pass), sum_g, grad, push);
    gp_reader_fini(&reader);
    gp_pass_free(pass);
    gp_features_free(f);
    free(grad);
}

static void a_push_is_a_pass_over_the_stretch_of_its_sequence(void **state)
{
    (void)state;
    const size_t total = gp_ring_rows(t.shards, (gp_ring){mine, N_MINE});
    assert_true(total > BATCH && total % BATCH != 0);
    for (const gp_rule_ops *const *rule = gp_rules; *rule; rule++) {
        gp_row_computer *c = computer_of(*rule, BATCH);
        double *push = doubles(push_room(*rule)), *wanted = doubles(push_room(*rule));
        for (uint64_t i = 0; i < 40; i++) {
            const uint64_t sequence = i * 17 % 40; // in any order
            const gp_work_done done = compute(c, work_of(sequence, 0), push);
            by_hand(*rule, (size_t)sequence * BATCH % total, BATCH, BATCH, false, 1e-8, wanted);
            assert_int_equal(done.n_values, (*rule)->push_size(learner->layout, gp_range_all(learner->layout)));
            assert_int_equal(done.rows, BATCH);
            CHECK_BITS(1, (&(double){BATCH}), &done.batch_weight, (*rule)->name);
            CHECK_BITS(1, (&(double){(double)total}), &done.shard_weight, (*rule)->name);
            CHECK_BITS(done.n_values, wanted, push, (*rule)->name);
        }
        gp_row_computer_free(c);
        free(push);
        free(wanted);
    }
}

static void rows_fetched_ahead_change_no_bit(void **state)
{
    (void)state;
    const gp_rule_ops *rule = &gp_rule_natural;
    gp_row_computer *plain = computer_of(rule, BATCH), *ahead = computer_of(rule, BATCH);
    double *push = doubles(push_room(rule)), *wanted = doubles(push_room(rule));
    const unsigned all = GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS;
    const uint32_t other[] = {2, 3};
    for (uint64_t sequence = 0; sequence < 12; sequence++) {
        gp_work work = work_of(sequence, sequence % 4 == 3 ? all : 0), guess = work_of(sequence, 0);
        if (sequence % 5 == 1) guess.sequence += 3;                       // it was to be another batch
        if (sequence % 5 == 2) guess.shards = other, guess.n_shards = 2;  // of other shards
        if (sequence % 5 == 3) work.max_rows = sequence % 2 ? 50 : BATCH; // fewer rows than were fetched, or as many
        fetch(ahead, guess);
        fetch(ahead, guess);
        const gp_work_done a = compute(ahead, work, push), b = compute(plain, work, wanted);
        assert_int_equal(a.rows, b.rows);
        CHECK_BITS(b.n_values, wanted, push, "fetched ahead");
    }
    gp_row_computer_free(plain);
    gp_row_computer_free(ahead);
    free(push);
    free(wanted);
}

static void all_rows_are_the_sum_over_the_ring(void **state)
{
    (void)state;
    const gp_rule_ops *rule = &gp_rule_prox;
    const size_t total = gp_ring_rows(t.shards, (gp_ring){mine, N_MINE});
    gp_row_computer *c = computer_of(rule, BATCH);
    double *push = doubles(push_room(rule)), *wanted = doubles(push_room(rule));
    gp_work_done done = compute(c, work_of(3, GP_FLAG_ALL_ROWS), push);
    by_hand(rule, 0, total, BATCH, false, GP_PASS_MAX_LOSS, wanted);
    assert_int_equal(done.rows, total);
    assert_true(done.batch_weight == done.shard_weight);
    CHECK_BITS(done.n_values, wanted, push, "gradient of all rows");

    done = compute(c, work_of(5, GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS), push);
    by_hand(rule, 0, total, BATCH, true, GP_PASS_MAX_LOSS, wanted);
    assert_int_equal(done.n_values, gp_statistics_size(learner->layout.M));
    CHECK_BITS(done.n_values, wanted, push, "statistics of all rows");

    // Statistics are sums: batches that go round the ring once add up to all of it.
    double *sum = doubles(done.n_values);
    gp_row_computer *step = computer_of(rule, 1);
    for (uint64_t i = 0; i < total; i++) {
        gp_work work = work_of(i, GP_FLAG_STATISTICS);
        assert_int_equal(compute(step, work, push).rows, 1);
        for (size_t j = 0; j < done.n_values; j++) sum[j] += push[j];
    }
    CHECK_ARRAY(done.n_values, wanted, sum, 1e-9, "a row at a time");
    gp_row_computer_free(c);
    gp_row_computer_free(step);
    free(push);
    free(wanted);
    free(sum);
}

static void a_batch_of_more_rows_than_there_are_is_all_of_them(void **state)
{
    (void)state;
    const gp_rule_ops *rule = &gp_rule_prox;
    const size_t total = gp_ring_rows(t.shards, (gp_ring){mine, N_MINE});
    gp_row_computer *c = computer_of(rule, 10000);
    double *push = doubles(push_room(rule));
    const gp_work_done done = compute(c, work_of(7, 0), push);
    assert_int_equal(done.rows, total);
    assert_true(done.batch_weight == done.shard_weight);
    gp_row_computer_free(c);
    free(push);
}

static void computing_and_fetching_allocate_nothing(void **state)
{
    (void)state;
    for (const gp_rule_ops *const *rule = gp_rules; *rule; rule++) {
        gp_row_computer *c = computer_of(*rule, BATCH);
        double *push = doubles(push_room(*rule));
        const long refused = gp_alloc_count().refused;
        gp_alloc_freeze(true);
        for (uint64_t i = 0; i < 5; i++) {
            (void)compute(c, work_of(i, i == 4 ? GP_FLAG_ALL_ROWS | GP_FLAG_STATISTICS : 0), push);
            fetch(c, work_of(i + 1, 0));
        }
        gp_alloc_freeze(false);
        assert_int_equal(gp_alloc_count().refused, refused);
        gp_row_computer_free(c);
        free(push);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_push_is_a_pass_over_the_stretch_of_its_sequence),
        cmocka_unit_test(rows_fetched_ahead_change_no_bit),
        cmocka_unit_test(all_rows_are_the_sum_over_the_ring),
        cmocka_unit_test(a_batch_of_more_rows_than_there_are_is_all_of_them),
        cmocka_unit_test(computing_and_fetching_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
