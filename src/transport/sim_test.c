// sim_test.c: the virtual network beyond what every transport is asked: times, losses, cuts, and one seed, one course.
#include "fixture.h"
#include "transport/sim.h"

enum { W = 3 };

typedef struct rig {
    gp_endpoint *at[W + 1];
    gp_net *net;
} rig;

static rig rig_of(uint64_t seed, gp_link link)
{
    advgp_error err = {0};
    rig r;
    CHECK_OK(gp_sim_open(W, 1000, seed, r.at, &err), "a network");
    r.net = gp_sim_net(r.at[0]);
    for (size_t k = 1; k <= W; k++) gp_net_set_link(r.net, k, link);
    return r;
}

static void rig_close(rig *r)
{
    for (size_t i = 0; i <= W; i++) gp_transport_sim.close(r->at[i]);
}

static void send(rig *r, size_t from, size_t to, uint64_t number, size_t n)
{
    advgp_error err = {0};
    unsigned char bytes[1000] = {0};
    memcpy(bytes, &number, sizeof number);
    CHECK_OK(gp_transport_sim.send(r->at[from], to, bytes, n, &err), "send");
}

// The number of the next message; UINT64_MAX: none.
static uint64_t receive(rig *r, size_t at, double seconds)
{
    advgp_error err = {0};
    const void *bytes;
    size_t peer, n;
    uint64_t number = UINT64_MAX;
    CHECK_OK(gp_transport_sim.receive(r->at[at], seconds, &peer, &bytes, &n, &err), "receive");
    if (bytes) memcpy(&number, bytes, sizeof number);
    return number;
}

static void messages_take_latency_and_bandwidth(void **state)
{
    (void)state;
    rig r = rig_of(1, (gp_link){.latency = 0.5, .bandwidth = 100});
    send(&r, 1, 0, 7, 200);
    send(&r, 1, 0, 8, 100); // waits for its line
    send(&r, 2, 0, 9, 100); // has its own
    CHECK_CLOSE(1.5, gp_net_next(r.net), 1e-12, "1 s of bytes, half a second on the way");
    assert_true(receive(&r, 0, 10) == 9);
    CHECK_CLOSE(1.5, gp_net_now(r.net), 1e-12, "now");
    assert_true(receive(&r, 0, 10) == 7);
    CHECK_CLOSE(2.5, gp_net_now(r.net), 1e-12, "now");
    assert_true(receive(&r, 0, 10) == 8);
    CHECK_CLOSE(3.5, gp_net_now(r.net), 1e-12, "now");
    assert_true(receive(&r, 0, 10) == UINT64_MAX);
    CHECK_CLOSE(13.5, gp_net_now(r.net), 1e-12, "an empty receive takes its time");
    assert_true(isinf(gp_net_next(r.net)));
    const gp_net_counts c = gp_net_count(r.net);
    assert_true(c.sent == 3 && c.bytes_up == 400 && c.bytes_down == 0);
    rig_close(&r);
}

static void the_line_of_the_server_is_shared(void **state)
{
    (void)state;
    rig r = rig_of(1, (gp_link){.latency = 0.5});
    gp_net_set_link(r.net, 0, (gp_link){.bandwidth = 100});
    for (size_t k = 1; k <= W; k++) send(&r, 0, k, k, 100);
    for (size_t k = 1; k <= W; k++) assert_true(receive(&r, k, 10) == k);
    CHECK_CLOSE(3.5, gp_net_now(r.net), 1e-12, "one after the other");
    for (size_t k = 1; k <= W; k++) send(&r, k, 0, k, 100);
    for (size_t k = 1; k <= W; k++) assert_true(receive(&r, 0, 10) == k);
    CHECK_CLOSE(3.5 + 0.5 + 2, gp_net_now(r.net), 1e-12, "and so they arrive");
    rig_close(&r);
}

static void jitter_keeps_the_order_and_reordering_does_not(void **state)
{
    (void)state;
    for (int reorder = 0; reorder < 2; reorder++) {
        rig r = rig_of(2, (gp_link){.latency = 0.1, .jitter = 1, .reorder = reorder ? 0.3 : 0});
        bool out_of_order = false;
        uint64_t last = 0, came = 0;
        for (uint64_t i = 1; i <= 40; i++) {
            send(&r, 1, 0, i, 8);
            gp_net_advance(r.net, gp_net_now(r.net) + 0.05);
        }
        for (uint64_t got; (got = receive(&r, 0, 100)) != UINT64_MAX; last = got, came++) out_of_order |= got < last;
        assert_int_equal(came, 40);
        assert_int_equal(out_of_order, reorder);
        rig_close(&r);
    }
}

static void a_share_is_lost_and_a_share_comes_twice(void **state)
{
    (void)state;
    rig r = rig_of(3, (gp_link){.latency = 0.01, .loss = 0.2, .duplication = 0.1});
    size_t came = 0;
    for (uint64_t i = 0; i < 5000; i++) {
        send(&r, 1 + i % W, 0, i, 8);
        while (receive(&r, 0, 1) != UINT64_MAX) came++;
    }
    const gp_net_counts c = gp_net_count(r.net);
    CHECK(c.lost > 900 && c.lost < 1100, "loss", "%d of 5000", (int)c.lost);
    CHECK(c.duplicated > 330 && c.duplicated < 470, "duplication", "%d of 4000", (int)c.duplicated);
    assert_int_equal(came, 5000 - c.lost + c.duplicated);
    rig_close(&r);
}

static void a_cut_loses_what_is_under_way_and_spares_the_others(void **state)
{
    (void)state;
    rig r = rig_of(4, (gp_link){.latency = 1});
    send(&r, 1, 0, 1, 8), send(&r, 0, 1, 2, 8), send(&r, 2, 0, 3, 8);
    gp_net_cut(r.net, 1, true);
    send(&r, 1, 0, 4, 8), send(&r, 0, 1, 5, 8);
    assert_true(receive(&r, 0, 10) == 3);
    assert_true(receive(&r, 0, 10) == UINT64_MAX && receive(&r, 1, 10) == UINT64_MAX);
    gp_net_cut(r.net, 1, false);
    send(&r, 1, 0, 6, 8);
    assert_true(receive(&r, 0, 10) == 6);
    rig_close(&r);
}

static void what_the_dead_sent_travels_on(void **state)
{
    (void)state;
    rig r = rig_of(5, (gp_link){.latency = 1});
    send(&r, 1, 0, 1, 8), send(&r, 0, 1, 2, 8);
    gp_net_advance(r.net, 1);
    assert_true(gp_net_has(r.net, 1) && gp_net_has(r.net, 0));
    gp_net_clear(r.net, 1);
    assert_true(!gp_net_has(r.net, 1) && receive(&r, 0, 0) == 1);
    rig_close(&r);
}

static void one_seed_one_course(void **state)
{
    (void)state;
    double end[3];
    uint64_t sum[3] = {0};
    for (int i = 0; i < 3; i++) {
        rig r = rig_of(
            i < 2 ? 11 : 12,
            (gp_link){
                .latency = 0.1, .jitter = 0.1, .bandwidth = 1e4, .loss = 0.1, .duplication = 0.1, .reorder = 0.1});
        for (uint64_t k = 0; k < 200; k++) {
            send(&r, 1 + k % W, 0, k, 8 + k);
            const uint64_t got = receive(&r, 0, 0.05);
            sum[i] = gp_hash_u64(sum[i], got);
        }
        while (!isinf(gp_net_next(r.net))) gp_net_step(r.net);
        end[i] = gp_net_now(r.net);
        rig_close(&r);
    }
    assert_true(sum[0] == sum[1] && sum[0] != sum[2]);
    CHECK_BITS(1, &end[0], &end[1], "the end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_take_latency_and_bandwidth),
        cmocka_unit_test(the_line_of_the_server_is_shared),
        cmocka_unit_test(jitter_keeps_the_order_and_reordering_does_not),
        cmocka_unit_test(a_share_is_lost_and_a_share_comes_twice),
        cmocka_unit_test(a_cut_loses_what_is_under_way_and_spares_the_others),
        cmocka_unit_test(what_the_dead_sent_travels_on),
        cmocka_unit_test(one_seed_one_course),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
