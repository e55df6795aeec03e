// transport_test.c: the contract of transport.h, asked of every transport in the table. A new transport adds one line
// to `hubs`: how to open a server and n workers in this process.
#include "base/clock.h"
#include "fixture.h"
#include "transport/sim.h"
#include "transport/zmq.h"

#include <pthread.h>
#include <time.h>

enum { MAX_WORKERS = 8 };

typedef struct hub_kind {
    const gp_transport *transport;
    const char *name;
    advgp_status (*open)(size_t n_workers, size_t message_max, gp_endpoint **endpoints, advgp_error *err);
    bool real;    // time and threads are real; else time is the transport's own and there is one thread
    bool distant; // a message takes a while: tests wait for it, or until nothing more comes
} hub_kind;

static advgp_status open_sim(size_t n_workers, size_t message_max, gp_endpoint **endpoints, advgp_error *err)
{
    return gp_sim_open(n_workers, message_max, 1, endpoints, err);
}

// ---- hubs whose parties meet over a network -------------------------------------------------------------------------

// Peers get their numbers as they are heard. Where memory is refused the greeting may be lost, and this says so.
static advgp_status greet(gp_endpoint *lead, gp_endpoint *worker, size_t k, advgp_error *err)
{
    const char hello = (char)k;
    const gp_transport *t = lead->transport;
    const long refused = gp_alloc_count().refused;
    advgp_status st = t->send(worker, 0, &hello, 1, err);
    for (int i = 0; st == ADVGP_OK && i < 2000; i++) {
        size_t peer, n;
        const void *bytes;
        st = t->receive(lead, 0.01, &peer, &bytes, &n, err);
        if (st == ADVGP_OK && bytes)
            return peer == k && n == 1 && *(const char *)bytes == hello
                       ? ADVGP_OK
                       : gp_fail(err, ADVGP_ECLUSTER, "%zu bytes from %zu instead of %zu", n, peer, k);
        if (st == ADVGP_OK && gp_alloc_count().refused > refused)
            st = gp_fail(err, ADVGP_ENOMEM, "no memory for a greeting");
    }
    return st != ADVGP_OK ? st : gp_fail(err, ADVGP_ECLUSTER, "worker %zu was not heard", k);
}

static gp_zmq_target the_lead; // of the hub that is open

static advgp_status find_lead(void *ctx, bool *known, gp_zmq_target *out, advgp_error *err)
{
    (void)err;
    *known = true;
    *out = *(const gp_zmq_target *)ctx;
    return ADVGP_OK;
}

static advgp_status open_zmq(size_t n_workers, size_t message_max, gp_endpoint **at, bool secure, advgp_error *err)
{
    static gp_zmq_identity lead, worker;
    static char allowed[1][GP_ZMQ_KEY];
    advgp_status st = ADVGP_OK;
    for (size_t k = 0; k <= n_workers; k++) at[k] = NULL;
    if (secure && !lead.public_key[0]) {
        st = gp_zmq_keypair(&lead, err);
        if (st == ADVGP_OK) st = gp_zmq_keypair(&worker, err);
        memcpy(allowed[0], worker.public_key, GP_ZMQ_KEY);
    }
    const gp_zmq_listen_options listen = {.address = "tcp://127.0.0.1:*",
                                          .keys = secure ? &lead : NULL,
                                          .allowed = allowed,
                                          .n_allowed = secure,
                                          .message_max = message_max,
                                          .peers_max = MAX_WORKERS};
    if (st == ADVGP_OK) st = gp_zmq_listen(&listen, &at[0], err);
    the_lead = (gp_zmq_target){0};
    if (st == ADVGP_OK) snprintf(the_lead.address, sizeof the_lead.address, "%s", gp_zmq_address(at[0]));
    if (secure) the_lead.keys = worker, memcpy(the_lead.lead_key, lead.public_key, GP_ZMQ_KEY);
    for (size_t k = 1; st == ADVGP_OK && k <= n_workers; k++) {
        const gp_zmq_connect_options connect = {.find = find_lead, .ctx = &the_lead, .message_max = message_max};
        st = gp_zmq_connect(&connect, &at[k], err);
        if (st == ADVGP_OK) st = greet(at[0], at[k], k, err);
    }
    if (st != ADVGP_OK)
        for (size_t k = 0; k <= n_workers; k++) gp_transport_zmq.close(at[k]), at[k] = NULL;
    return st;
}

static advgp_status open_zmq_plain(size_t n_workers, size_t message_max, gp_endpoint **endpoints, advgp_error *err)
{
    return open_zmq(n_workers, message_max, endpoints, false, err);
}

static advgp_status open_zmq_curve(size_t n_workers, size_t message_max, gp_endpoint **endpoints, advgp_error *err)
{
    return open_zmq(n_workers, message_max, endpoints, true, err);
}

static const hub_kind hubs[] = {{&gp_transport_inproc, "inproc", gp_inproc_open, true, false},
                                {&gp_transport_sim, "sim", open_sim, false, false},
                                {&gp_transport_zmq, "zmq, plain", open_zmq_plain, true, true},
                                {&gp_transport_zmq, "zmq with keys", open_zmq_curve, true, true}};
enum { N_HUBS = sizeof hubs / sizeof *hubs };

typedef struct hub {
    const gp_transport *t;
    const char *name;
    bool distant;
    size_t n;
    gp_endpoint *at[MAX_WORKERS + 1];
} hub;

static hub hub_open(const hub_kind *kind, size_t n, size_t message_max)
{
    advgp_error err = {0};
    hub h = {.t = kind->transport, .name = kind->name, .distant = kind->distant, .n = n};
    CHECK_OK(kind->open(n, message_max, h.at, &err), h.name);
    for (size_t i = 0; i <= n; i++) assert_ptr_equal(h.at[i]->transport, h.t);
    return h;
}

static void hub_close(hub *h)
{
    for (size_t i = 0; i <= h->n; i++) h->t->close(h->at[i]);
    h->t->close(NULL);
}

// A message that says who sent it and which it is, and whose other bytes follow from these.
static void compose(unsigned char *bytes, size_t n, uint64_t from, uint64_t number)
{
    for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)gp_hash_u64(from * 1000003 + number, i);
    if (n >= 8) memcpy(bytes, &number, 8);
}

static uint64_t number_of(const void *bytes, size_t n)
{
    uint64_t number = 0;
    if (n >= 8) memcpy(&number, bytes, 8);
    return number;
}

static bool is_as_composed(const void *bytes, size_t n, uint64_t from, uint64_t number)
{
    unsigned char expected[4096];
    assert_true(n <= sizeof expected);
    compose(expected, n, from, number);
    return !memcmp(bytes, expected, n);
}

static void send(const hub *h, size_t from, size_t to, const void *bytes, size_t n)
{
    advgp_error err = {0};
    CHECK_OK(h->t->send(h->at[from], to, bytes, n, &err), h->name);
}

// NULL: nothing came.
static const void *receive(const hub *h, size_t at, double seconds, size_t *peer, size_t *n)
{
    advgp_error err = {0};
    const void *bytes;
    CHECK_OK(h->t->receive(h->at[at], seconds, peer, &bytes, n, &err), h->name);
    assert_int_equal((uintptr_t)bytes % 8, 0);
    return bytes;
}

// Until nothing more comes.
static size_t drain(const hub *h, size_t at)
{
    size_t peer, n, came = 0;
    while (receive(h, at, h->distant ? 0.5 : 1e-3, &peer, &n)) came++;
    return came;
}

static void bytes_arrive_as_they_were_sent_and_the_sender_may_reuse_its_own(const hub_kind *kind)
{
    hub h = hub_open(kind, 3, 4096);
    unsigned char bytes[4096];
    for (uint64_t round = 0; round < 60; round++) {
        const size_t length = round < 40 ? round : round < 50 ? 4096 : 4096 - round;
        for (size_t k = 1; k <= h.n; k++) {
            size_t peer, n;
            compose(bytes, length, k, round);
            send(&h, k, 0, bytes, length);
            memset(bytes, 0xee, sizeof bytes);
            const void *got = receive(&h, 0, 1, &peer, &n);
            CHECK(got && n == length && peer == k, h.name, "round %d: %zu bytes from %zu", (int)round, n, peer);
            CHECK(is_as_composed(got, n, k, round), h.name, "round %d", (int)round);
            send(&h, 0, k, got, n); // an answer made of what was received
            got = receive(&h, k, 1, &peer, &n);
            CHECK(got && n == length && peer == 0, h.name, "round %d: %zu bytes from %zu", (int)round, n, peer);
            CHECK(is_as_composed(got, n, k, round), h.name, "round %d", (int)round);
        }
    }
    hub_close(&h);
}

static void messages_of_one_peer_arrive_in_order(const hub_kind *kind)
{
    if (!kind->transport->ordered) return;
    hub h = hub_open(kind, 2, 64);
    unsigned char bytes[64];
    size_t peer, n;
    uint64_t next[3] = {0}, sent = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 1 + round % 3; i++, sent++)
            for (size_t k = 1; k <= 2; k++) {
                compose(bytes, 64, k, sent);
                send(&h, k, 0, bytes, 64);
            }
        while (!h.distant || next[1] < sent || next[2] < sent) {
            const void *got = receive(&h, 0, h.distant ? 10 : 1e-4, &peer, &n);
            if (!got) break;
            CHECK(number_of(got, n) == next[peer], h.name, "%d after %d from %zu", (int)number_of(got, n),
                  (int)next[peer], peer);
            next[peer]++;
        }
    }
    CHECK(next[1] == sent && next[2] == sent, h.name, "%d and %d of %d", (int)next[1], (int)next[2], (int)sent);
    hub_close(&h);
}

static double thread_cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void an_empty_receive_comes_back_in_time_with_nothing(const hub_kind *kind)
{
    hub h = hub_open(kind, 1, 64);
    const double waits[] = {0, 0.001, 0.02, 0.1};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        size_t peer, n;
        const double start = gp_clock_wall(), cpu = thread_cpu();
        assert_null(receive(&h, i % 2, waits[i], &peer, &n));
        assert_int_equal(n, 0);
        if (!kind->real) continue;
        const double took = gp_clock_wall() - start;
        CHECK(took >= waits[i] * 0.999 && took < waits[i] + hang_limit(), h.name, "%g instead of %g s", took, waits[i]);
        CHECK(thread_cpu() - cpu < 0.02 + waits[i] / 4, h.name, "waiting cost %g s", thread_cpu() - cpu);
    }
    hub_close(&h);
}

static void nobody_is_blocked_by_a_receiver_that_does_not_read(const hub_kind *kind)
{
    hub h = hub_open(kind, 2, 4096);
    unsigned char bytes[4096];
    size_t peer, n;
    send(&h, 1, 0, bytes, 0);
    const long blocks = gp_alloc_count().live;
    for (uint64_t i = 0; i < 5000; i++) {
        compose(bytes, 8, 1, i);
        send(&h, 1, 0, bytes, sizeof bytes);
        send(&h, 0, 2, bytes, sizeof bytes);
    }
    CHECK(gp_alloc_count().live - blocks < 200, h.name, "%ld blocks for what nobody reads",
          gp_alloc_count().live - blocks);
    assert_non_null(receive(&h, 0, h.distant ? 10 : 0.1, &peer, &n));
    const size_t came = drain(&h, 0);
    CHECK(came > 0 && came <= 5001, h.name, "%zu messages", came);
    compose(bytes, 64, 1, 7); // and afterwards all is well
    send(&h, 1, 0, bytes, 64);
    const void *got = receive(&h, 0, 1, &peer, &n);
    CHECK(got && n == 64 && is_as_composed(got, n, 1, 7), h.name, "after the flood");
    hub_close(&h);
}

static void a_peer_that_is_gone_hurts_nobody(const hub_kind *kind)
{
    for (size_t gone = 0; gone <= 2; gone++) {
        hub h = hub_open(kind, 2, 64);
        unsigned char bytes[64] = {0};
        size_t peer, n;
        send(&h, gone, gone ? 0 : 1, bytes, 64);
        h.t->close(h.at[gone]);
        h.at[gone] = NULL;
        const size_t other = gone == 1 ? 2 : 1;
        for (int i = 0; i < 20; i++) {
            if (gone == 0) {
                send(&h, 1, 0, bytes, 64);
                send(&h, 2, 0, bytes, 64);
                receive(&h, 1, 0, &peer, &n); // at most what was sent before
                continue;
            }
            send(&h, 0, gone, bytes, 64);
            send(&h, 0, other, bytes, 64);
            CHECK(receive(&h, other, 1, &peer, &n), h.name, "the others go on");
            send(&h, other, 0, bytes, 32);
            do CHECK(receive(&h, 0, 1, &peer, &n), h.name, "the others go on");
            while (peer != other);
        }
        if (h.distant) drain(&h, gone ? 0 : 1);
        assert_null(receive(&h, gone ? 0 : 1, 0.001, &peer, &n));
        hub_close(&h);
    }
}

static void what_cannot_be_sent_is_refused_with_a_text(const hub_kind *kind)
{
    hub h = hub_open(kind, 2, 64);
    advgp_error err = {0};
    const unsigned char bytes[65] = {0};
    CHECK_FAILS(ADVGP_EINVAL, h.t->send(h.at[0], 1, bytes, 65, &err), h.name);
    CHECK_FAILS(ADVGP_EINVAL, h.t->send(h.at[0], 3, bytes, 64, &err), h.name);
    CHECK_FAILS(ADVGP_EINVAL, h.t->send(h.at[0], 0, bytes, 64, &err), h.name);
    CHECK_FAILS(ADVGP_EINVAL, h.t->send(h.at[1], 1, bytes, 64, &err), h.name);
    CHECK_FAILS(ADVGP_EINVAL, h.t->send(h.at[1], 2, bytes, 64, &err), h.name);
    hub_close(&h);
}

// ---- threads --------------------------------------------------------------------------------------------------------

static void *wake_soon(void *arg)
{
    gp_endpoint *e = arg;
    const double until = gp_clock_wall() + 0.02;
    while (gp_clock_wall() < until) sched_yield();
    e->transport->wake(e);
    return NULL;
}

static void another_thread_can_wake_who_waits(const hub_kind *kind)
{
    hub h = hub_open(kind, 1, 64);
    size_t peer, n;
    for (size_t at = 0; at < 2; at++) {
        h.t->wake(h.at[at]); // before: the next receive does not wait
        double start = gp_clock_wall();
        assert_null(receive(&h, at, 2 * hang_limit(), &peer, &n));
        CHECK(gp_clock_wall() - start < hang_limit(), h.name, "slept through it");
        if (!kind->real) continue;
        pthread_t id;
        assert_int_equal(pthread_create(&id, NULL, wake_soon, h.at[at]), 0);
        start = gp_clock_wall();
        assert_null(receive(&h, at, 2 * hang_limit(), &peer, &n));
        CHECK(gp_clock_wall() - start < hang_limit(), h.name, "slept through it");
        assert_int_equal(pthread_join(id, NULL), 0);
        start = gp_clock_wall();
        assert_null(receive(&h, at, 0.01, &peer, &n)); // once
        CHECK(gp_clock_wall() - start >= 0.0099, h.name, "a wake counts once");
    }
    hub_close(&h);
}

typedef struct talker {
    gp_endpoint *e;
    uint64_t k, n, wrong;
} talker;

// One request outstanding, as a worker does it; now and then a sign of life beside it.
static void *talk(void *arg)
{
    talker *t = arg;
    unsigned char bytes[256];
    for (uint64_t i = 0; i < t->n; i++) {
        const size_t length = 16 + gp_hash_u64(t->k, i) % 241;
        compose(bytes, length, t->k, i);
        if (i % 7 == 0) t->wrong += t->e->transport->send(t->e, 0, "alive", 5, NULL) != ADVGP_OK;
        t->wrong += t->e->transport->send(t->e, 0, bytes, length, NULL) != ADVGP_OK;
        const void *got = NULL;
        size_t peer, n;
        const advgp_status st = t->e->transport->receive(t->e, 60, &peer, &got, &n, NULL);
        t->wrong += st != ADVGP_OK || !got || peer != 0 || n != length || memcmp(got, bytes, n) != 0;
        if (!got) break;
    }
    t->e->transport->close(t->e);
    return NULL;
}

static void threads_exchange_many_messages_and_none_is_lost(const hub_kind *kind)
{
    enum { W = 4 };
    if (!kind->real) return;
    hub h = hub_open(kind, W, 256);
    const int exchanged = h.distant ? 2000 : 10000;
    talker talkers[W];
    pthread_t id[W];
    uint64_t next[W + 1] = {0};
    for (size_t k = 0; k < W; k++) {
        talkers[k] = (talker){.e = h.at[k + 1], .k = k + 1, .n = (uint64_t)exchanged};
        h.at[k + 1] = NULL;
        assert_int_equal(pthread_create(&id[k], NULL, talk, &talkers[k]), 0);
    }
    for (int answered = 0; answered < W * exchanged;) {
        size_t peer, n;
        const void *got = receive(&h, 0, 60, &peer, &n);
        CHECK(got, h.name, "%d of %d", answered, W * exchanged);
        if (n == 5) continue;
        CHECK(number_of(got, n) == next[peer], h.name, "from %zu", peer);
        CHECK(is_as_composed(got, n, peer, next[peer]), h.name, "from %zu", peer);
        next[peer]++, answered++;
        send(&h, 0, peer, got, n);
    }
    for (size_t k = 0; k < W; k++) {
        assert_int_equal(pthread_join(id[k], NULL), 0);
        CHECK(talkers[k].wrong == 0, h.name, "worker %zu: %d answers were wrong", k + 1, (int)talkers[k].wrong);
    }
    hub_close(&h);
}

// ---- every transport ------------------------------------------------------------------------------------------------

static void every_transport_is_asked(void **state)
{
    (void)state;
    size_t listed = 0;
    for (const gp_transport *const *t = gp_transports; *t; t++, listed++) {
        bool has_hub = !(*t)->available && (*t)->how;
        has_hub |= *t == &gp_transport_mpi; // every endpoint is a process: tests/mpi_ranks.c asks it
        for (size_t i = 0; i < N_HUBS; i++) has_hub |= hubs[i].transport == *t;
        CHECK(has_hub, (*t)->name, "has no hub in this test");
        CHECK(gp_transport_named((*t)->name) == *t, (*t)->name, "by name");
        CHECK((*t)->summary && (*t)->summary[0], (*t)->name, "has no summary");
    }
    assert_true(listed > 0);
    assert_null(gp_transport_named("pigeon"));
}

static void every_transport_keeps_the_contract(void **state)
{
    (void)state;
    for (const hub_kind *kind = hubs; kind < hubs + N_HUBS; kind++) {
        if (!kind->transport->available) continue;
        bytes_arrive_as_they_were_sent_and_the_sender_may_reuse_its_own(kind);
        messages_of_one_peer_arrive_in_order(kind);
        an_empty_receive_comes_back_in_time_with_nothing(kind);
        nobody_is_blocked_by_a_receiver_that_does_not_read(kind);
        a_peer_that_is_gone_hurts_nobody(kind);
        what_cannot_be_sent_is_refused_with_a_text(kind);
        another_thread_can_wake_who_waits(kind);
        threads_exchange_many_messages_and_none_is_lost(kind);
    }
}

static void opening_fails_cleanly_at_every_allocation(void **state)
{
    (void)state;
    for (const hub_kind *kind = hubs; kind < hubs + N_HUBS; kind++) {
        if (!kind->transport->available) continue;
        const long live = gp_alloc_count().live;
        advgp_status st = ADVGP_ENOMEM;
        for (long calls = 0; st != ADVGP_OK; calls++) {
            advgp_error err = {0};
            gp_endpoint *at[3];
            gp_alloc_fail_after(calls);
            st = kind->open(2, 1000, at, &err);
            gp_alloc_fail_after(-1);
            for (size_t i = 0; i < 3; i++)
                if (st == ADVGP_OK) kind->transport->close(at[i]);
            CHECK(st == ADVGP_OK || (st == ADVGP_ENOMEM && err.text[0] && !at[0]), kind->name, "status %d", st);
            assert_int_equal(gp_alloc_count().live, live);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_transport_is_asked),
        cmocka_unit_test(every_transport_keeps_the_contract),
        cmocka_unit_test(opening_fails_cleanly_at_every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
