// shard_table_test.c: whatever happens, every shard has one owner who is there, and nobody has much more than another.
#include "fixture.h"
#include "ps/shard_table.h"

enum { MAX_SHARDS = 40, MAX_WORKERS = 9 };

typedef struct moves {
    const gp_shard_table *table;
    uint32_t owner[MAX_SHARDS]; // as the moves tell it
    size_t n;
} moves;

static void on_moved(void *ctx, uint32_t shard, uint32_t from, uint32_t to)
{
    moves *m = ctx;
    assert_int_equal(m->owner[shard], from);
    assert_int_not_equal(from, to);
    m->owner[shard] = to;
    m->n++;
}

static void check_partition(const gp_shard_table *t, gp_crew crew, const moves *m, const char *label)
{
    double sum = 0, all = 0;
    size_t listed = 0;
    uint32_t list[MAX_SHARDS];
    for (size_t i = 0; i < t->n; i++) {
        CHECK(t->owner[i] < crew.n_workers && crew.live[t->owner[i]], label, "shard %zu has owner %u", i, t->owner[i]);
        CHECK(t->owner[i] == m->owner[i], label, "a move of shard %zu was not told", i);
        all += t->weight[i];
    }
    for (uint32_t k = 0; k < crew.n_workers; k++) {
        const size_t n = gp_shard_table_list(t, k, list);
        for (size_t i = 0; i < n; i++) assert_true(t->owner[list[i]] == k && (!i || list[i] > list[i - 1]));
        assert_int_equal(gp_shard_table_count(t, k), n);
        sum += gp_shard_table_weight(t, k);
        listed += n;
    }
    assert_int_equal(listed, t->n);
    CHECK_CLOSE(all, sum, 1e-12, label);
}

// Most and least differ by no more than twice the heaviest shard.
static void check_balance(const gp_shard_table *t, gp_crew crew, double shards, const char *label)
{
    double least = INFINITY, most = 0, heaviest = 0;
    for (size_t i = 0; i < t->n; i++) heaviest = fmax(heaviest, t->weight[i]);
    for (uint32_t k = 0; k < crew.n_workers; k++) {
        if (!crew.live[k]) continue;
        least = fmin(least, gp_shard_table_weight(t, k)), most = fmax(most, gp_shard_table_weight(t, k));
    }
    CHECK(most - least <= shards * heaviest, label, "from %g to %g with shards of up to %g", least, most, heaviest);
}

static void coming_and_going_keeps_a_balanced_partition(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        advgp_error err = {0};
        char label[64];
        gp_rng rng = gp_rng_seeded(seed, 1);
        const size_t n = MAX_WORKERS + gp_rng_below(&rng, MAX_SHARDS - MAX_WORKERS + 1);
        const bool equal = seed % 2;
        double weight[MAX_SHARDS];
        bool live[MAX_WORKERS] = {false};
        const gp_crew crew = {live, MAX_WORKERS};
        gp_shard_table t, twin;
        snprintf(label, sizeof label, "seed %d, %zu shards", (int)seed, n);
        for (size_t i = 0; i < n; i++) weight[i] = equal ? 10 : 5 + 10 * gp_rng_uniform(&rng);
        CHECK_OK(gp_shard_table_init(&t, n, weight, &err), label);
        CHECK_OK(gp_shard_table_init(&twin, n, weight, &err), label);
        moves m = {.table = &t}, other = {.table = &twin};
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(t.owner[i], GP_NOBODY);
            m.owner[i] = other.owner[i] = GP_NOBODY;
        }
        for (size_t k = 0; k < MAX_WORKERS; k++) live[k] = gp_rng_below(&rng, 2);
        live[0] = true;
        gp_shard_table_deal(&t, crew, on_moved, &m), gp_shard_table_deal(&twin, crew, on_moved, &other);
        assert_int_equal(m.n, n);
        check_partition(&t, crew, &m, label);
        if (equal) check_balance(&t, crew, 1, label);
        for (int step = 0; step < 40; step++) {
            const uint32_t k = (uint32_t)gp_rng_below(&rng, MAX_WORKERS);
            size_t others = 0;
            for (size_t j = 0; j < MAX_WORKERS; j++) others += j != k && live[j];
            if (live[k] && others) {
                live[k] = false;
                gp_shard_table_reassign(&t, crew, on_moved, &m), gp_shard_table_reassign(&twin, crew, on_moved, &other);
            } else if (!live[k]) {
                live[k] = true;
                gp_shard_table_join(&t, k, crew, on_moved, &m), gp_shard_table_join(&twin, k, crew, on_moved, &other);
                assert_true(gp_shard_table_count(&t, k) > 0);
            }
            check_partition(&t, crew, &m, label);
            if (equal) check_balance(&t, crew, 2, label);
            assert_memory_equal(t.owner, twin.owner, n * sizeof *t.owner);
        }
        gp_shard_table_fini(&t), gp_shard_table_fini(&twin);
    }
}

static void where_nobody_is_nothing_moves_and_what_was_given_up_stays(void **state)
{
    (void)state;
    advgp_error err = {0};
    const double weight[4] = {1, 1, 1, 1};
    bool live[3] = {true, true, false};
    const gp_crew crew = {live, 3};
    gp_shard_table t;
    CHECK_OK(gp_shard_table_init(&t, 4, weight, &err), "four shards");
    gp_shard_table_deal(&t, crew, NULL, NULL);
    live[0] = live[1] = false;
    gp_shard_table_reassign(&t, crew, NULL, NULL);
    assert_true(t.owner[0] == 0 && t.owner[3] == 1);
    t.owner[3] = GP_NOBODY;
    live[2] = true;
    gp_shard_table_reassign(&t, crew, NULL, NULL);
    assert_true(t.owner[0] == 2 && t.owner[1] == 2 && t.owner[2] == 2 && t.owner[3] == GP_NOBODY);
    gp_shard_table_fini(&t);
}

static void making_one_fails_cleanly(void **state)
{
    (void)state;
    const double weight[4] = {1, 1, 1, 1};
    const long live = gp_alloc_count().live;
    for (long calls = 0; calls < 2; calls++) {
        advgp_error err = {0};
        gp_shard_table t;
        gp_alloc_fail_after(calls);
        const advgp_status st = gp_shard_table_init(&t, 4, weight, &err);
        gp_alloc_fail_after(-1);
        CHECK_FAILS(ADVGP_ENOMEM, st, "a table");
        gp_shard_table_fini(&t);
        assert_int_equal(gp_alloc_count().live, live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coming_and_going_keeps_a_balanced_partition),
        cmocka_unit_test(where_nobody_is_nothing_moves_and_what_was_given_up_stays),
        cmocka_unit_test(making_one_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
