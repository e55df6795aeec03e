// courier_test.c: what a courier promises, with a wire made of two lists: signs of life while the owner sleeps, bounded
// queues, failures that reach the owner, memory that runs out. The conformance of whole transports is in
// transport_test.c.
#include "base/clock.h"
#include "fixture.h"
#include "transport/courier.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { WORDS = 4096, WORD = 16 };

// Plays the network: what is to come is put in by the test, what was sent is kept.
typedef struct fake_wire {
    gp_wire base;
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct {
        size_t peer, n;
        _Alignas(8) char text[WORD];
    } coming[WORDS], sent[WORDS];
    size_t n_coming, n_read, n_sent;
    double sent_at[WORDS];
    bool poked;
    bool open_fails, send_fails, receive_fails;
    sigset_t mask; // of the thread
} fake_wire;

static advgp_status fake_open(gp_wire *wire, advgp_error *err)
{
    fake_wire *w = (fake_wire *)wire;
    pthread_sigmask(SIG_SETMASK, NULL, &w->mask);
    return w->open_fails ? gp_fail(err, ADVGP_ECLUSTER, "no such network") : ADVGP_OK;
}

static advgp_status fake_send(gp_wire *wire, size_t peer, const void *bytes, size_t n, advgp_error *err)
{
    fake_wire *w = (fake_wire *)wire;
    advgp_status st = ADVGP_OK;
    pthread_mutex_lock(&w->lock);
    if (w->send_fails) {
        st = gp_fail(err, ADVGP_EIO, "the cable is cut");
    } else if (w->n_sent < WORDS) {
        w->sent[w->n_sent].peer = peer, w->sent[w->n_sent].n = n;
        if (n) memcpy(w->sent[w->n_sent].text, bytes, n < WORD ? n : WORD);
        w->sent_at[w->n_sent++] = gp_clock_wall();
    }
    pthread_mutex_unlock(&w->lock);
    return st;
}

static void nap(double seconds)
{
    const struct timespec t = {.tv_nsec = (long)(seconds * 1e9)};
    nanosleep(&t, NULL);
}

static struct timespec moment_in(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    const double at = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec + fmin(seconds, 1e6);
    return (struct timespec){.tv_sec = (time_t)at, .tv_nsec = (long)((at - floor(at)) * 1e9)};
}

static advgp_status fake_receive(gp_wire *wire, double seconds, size_t *peer, const void **bytes, size_t *n,
                                 advgp_error *err)
{
    fake_wire *w = (fake_wire *)wire;
    const struct timespec until = moment_in(seconds);
    advgp_status st = ADVGP_OK;
    bool late = false;
    pthread_mutex_lock(&w->lock);
    while (w->n_read == w->n_coming && !w->poked && !w->receive_fails && !late)
        late = pthread_cond_timedwait(&w->news, &w->lock, &until) == ETIMEDOUT;
    *peer = 0, *bytes = NULL, *n = 0;
    if (w->receive_fails)
        st = gp_fail(err, ADVGP_ECLUSTER, "the lead is gone");
    else if (w->n_read < w->n_coming)
        *peer = w->coming[w->n_read].peer, *bytes = w->coming[w->n_read].text, *n = w->coming[w->n_read].n, w->n_read++;
    else
        w->poked = false;
    pthread_mutex_unlock(&w->lock);
    return st;
}

static void fake_poke(gp_wire *wire)
{
    fake_wire *w = (fake_wire *)wire;
    pthread_mutex_lock(&w->lock);
    w->poked = true;
    pthread_cond_signal(&w->news);
    pthread_mutex_unlock(&w->lock);
}

// Of the wires of one test: how many were closed, and what the last of them had sent.
static int closed;
static size_t sent_when_closed;

static void fake_close(gp_wire *wire)
{
    fake_wire *w = (fake_wire *)wire;
    closed++;
    sent_when_closed = w->n_sent;
    pthread_cond_destroy(&w->news);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static const gp_transport fake_transport = {.name = "fake",
                                            .send = gp_courier_send,
                                            .receive = gp_courier_receive,
                                            .wake = gp_courier_wake,
                                            .beat = gp_courier_beat,
                                            .close = gp_courier_close};
static const gp_wire_ops fake_ops = {.transport = &fake_transport,
                                     .open = fake_open,
                                     .send = fake_send,
                                     .receive = fake_receive,
                                     .poke = fake_poke,
                                     .close = fake_close};

static fake_wire *wire_new(void)
{
    fake_wire *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->base.ops = &fake_ops;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->news, NULL);
    return w;
}

static advgp_status open_on(fake_wire *w, bool server, gp_endpoint **e, advgp_error *err)
{
    const gp_courier_options o = {.wire = &w->base, .server = server, .message_max = WORD};
    return gp_courier_open(&o, e, err);
}

static gp_endpoint *endpoint(fake_wire *w, bool server)
{
    advgp_error err = {0};
    gp_endpoint *e;
    closed = 0;
    CHECK_OK(open_on(w, server, &e, &err), "open");
    assert_ptr_equal(e->transport, &fake_transport);
    assert_ptr_equal(gp_courier_wire(e), &w->base);
    return e;
}

static void arrives(fake_wire *w, size_t peer, const char *text)
{
    pthread_mutex_lock(&w->lock);
    assert_true(w->n_coming < WORDS);
    w->coming[w->n_coming].peer = peer, w->coming[w->n_coming].n = strlen(text);
    memcpy(w->coming[w->n_coming++].text, text, strlen(text));
    pthread_cond_signal(&w->news);
    pthread_mutex_unlock(&w->lock);
}

static size_t count(fake_wire *w, const size_t *which)
{
    pthread_mutex_lock(&w->lock);
    const size_t n = *which;
    pthread_mutex_unlock(&w->lock);
    return n;
}

static void await_count(fake_wire *w, const size_t *which, size_t n)
{
    const double start = gp_clock_wall();
    while (count(w, which) < n) {
        CHECK(gp_clock_wall() - start < hang_limit(), "waiting", "%zu of %zu", count(w, which), n);
        nap(0.0002);
    }
}

static bool receives(gp_endpoint *e, size_t from, const char *text)
{
    advgp_error err = {0};
    size_t peer, n;
    const void *bytes;
    CHECK_OK(gp_courier_receive(e, 10, &peer, &bytes, &n, &err), text);
    return bytes && peer == from && n == strlen(text) && !memcmp(bytes, text, n);
}

static bool receives_nothing(gp_endpoint *e, double seconds)
{
    advgp_error err = {0};
    size_t peer, n;
    const void *bytes;
    CHECK_OK(gp_courier_receive(e, seconds, &peer, &bytes, &n, &err), "nothing");
    return !bytes;
}

// ---- what is carried ------------------------------------------------------------------------------------------------

static void messages_are_carried_both_ways(void **state)
{
    (void)state;
    advgp_error err = {0};
    fake_wire *w = wire_new();
    gp_endpoint *e = endpoint(w, true);
    CHECK_FAILS(ADVGP_EINVAL, gp_courier_send(e, 1, "hello", 5, &err), "nobody was heard of");
    arrives(w, 7, "one");
    arrives(w, 2, "two");
    assert_true(receives(e, 7, "one"));
    assert_true(receives(e, 2, "two"));
    assert_true(receives_nothing(e, 0));
    CHECK_OK(gp_courier_send(e, 7, "answer", 6, &err), "7");
    CHECK_OK(gp_courier_send(e, 2, NULL, 0, &err), "2");
    CHECK_FAILS(ADVGP_EINVAL, gp_courier_send(e, 8, "x", 1, &err), "a peer that is not there");
    CHECK_FAILS(ADVGP_EINVAL, gp_courier_send(e, 0, "x", 1, &err), "the server itself");
    CHECK_FAILS(ADVGP_EINVAL, gp_courier_send(e, 7, "12345678901234567", 17, &err), "too long");
    await_count(w, &w->n_sent, 2);
    CHECK(w->sent[0].peer == 7 && w->sent[0].n == 6 && !memcmp(w->sent[0].text, "answer", 6), "first", "%zu",
          w->sent[0].peer);
    CHECK(w->sent[1].peer == 2 && w->sent[1].n == 0, "second", "%zu", w->sent[1].peer);
    CHECK(sigismember(&w->mask, SIGINT) == 1 && sigismember(&w->mask, SIGTERM) == 1, "signals", "are for others");
    gp_courier_close(e);
    gp_courier_close(NULL);
    assert_int_equal(closed, 1);
}

static void what_was_sent_before_closing_is_sent(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        advgp_error err = {0};
        fake_wire *w = wire_new();
        gp_endpoint *e = endpoint(w, false);
        for (int i = 0; i < 5; i++) CHECK_OK(gp_courier_send(e, 0, "bye", 3, &err), "bye");
        gp_courier_close(e);
        assert_int_equal(sent_when_closed, 5);
        assert_int_equal(closed, 1);
    }
}

static void what_the_owner_does_not_read_is_kept_up_to_a_bound(void **state)
{
    (void)state;
    fake_wire *w = wire_new();
    gp_endpoint *e = endpoint(w, true);
    const long live = gp_alloc_count().live;
    for (int i = 0; i < 1000; i++) {
        char text[WORD];
        snprintf(text, sizeof text, "%d", i);
        arrives(w, 1, text);
        if (i % 10 == 0) arrives(w, 2, "x"); // of another peer: it has its own bound
    }
    await_count(w, &w->n_read, 1100);
    assert_true(gp_alloc_count().live - live < 20);
    size_t of[3] = {0};
    for (;;) {
        advgp_error err = {0};
        size_t peer, n;
        const void *bytes;
        CHECK_OK(gp_courier_receive(e, 0.05, &peer, &bytes, &n, &err), "read");
        if (!bytes) break;
        if (peer == 1) {
            char text[WORD];
            snprintf(text, sizeof text, "%zu", of[1]);
            CHECK(n == strlen(text) && !memcmp(text, bytes, n), text, "the oldest are kept, in order");
        }
        of[peer]++;
    }
    CHECK(of[1] == 8 && of[2] == 1, "kept", "%zu and %zu", of[1], of[2]);
    arrives(w, 1, "later");
    assert_true(receives(e, 1, "later"));
    gp_courier_close(e);
}

static void the_same_again_is_kept_once(void **state)
{
    (void)state;
    fake_wire *w = wire_new();
    gp_endpoint *e = endpoint(w, true);
    for (int i = 0; i < 100; i++) {
        arrives(w, 1, "alive");
        arrives(w, 2, "well");
    }
    arrives(w, 1, "push");
    for (int i = 0; i < 100; i++) arrives(w, 1, "alive");
    await_count(w, &w->n_read, 301);
    assert_true(receives(e, 1, "alive"));
    assert_true(receives(e, 2, "well"));
    assert_true(receives(e, 1, "push"));
    assert_true(receives(e, 1, "alive"));
    assert_true(receives_nothing(e, 0.02));
    arrives(w, 1, "alive"); // was read: so it is new
    assert_true(receives(e, 1, "alive"));
    gp_courier_close(e);
}

static void buffers_are_used_again(void **state)
{
    (void)state;
    advgp_error err = {0};
    fake_wire *w = wire_new();
    gp_endpoint *e = endpoint(w, false);
    long live = 0;
    for (int i = 0; i < 1000; i++) {
        arrives(w, 0, i % 2 ? "odd" : "even");
        assert_true(receives(e, 0, i % 2 ? "odd" : "even"));
        CHECK_OK(gp_courier_send(e, 0, "answer", 6, &err), "answer");
        await_count(w, &w->n_sent, (size_t)i + 1);
        if (i == 10) live = gp_alloc_count().calls;
    }
    CHECK(gp_alloc_count().calls - live < 20, "calls", "%ld allocations", gp_alloc_count().calls - live);
    gp_courier_close(e);
}

// ---- signs of life --------------------------------------------------------------------------------------------------

static size_t count_sent(fake_wire *w, size_t peer, const char *text)
{
    size_t found = 0;
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < w->n_sent; i++)
        found += w->sent[i].peer == peer && w->sent[i].n == strlen(text) &&
                 !memcmp(w->sent[i].text, text, strlen(text));
    pthread_mutex_unlock(&w->lock);
    return found;
}

static void beats_come_while_the_owner_sleeps(void **state)
{
    (void)state;
    advgp_error err = {0};
    fake_wire *w = wire_new();
    gp_endpoint *e = endpoint(w, false);
    CHECK_OK(gp_courier_beat(e, 0.02, "alive", 5, &err), "beat");
    nap(0.5); // the owner computes
    const size_t n = count_sent(w, 0, "alive");
    CHECK(n >= 5 && n <= 26, "beats", "%zu in half a second, one every 20 ms", n);
    CHECK_OK(gp_courier_beat(e, 0.02, "still", 5, &err), "another");
    const size_t old = count_sent(w, 0, "alive");
    nap(0.2);
    CHECK(count_sent(w, 0, "alive") <= old + 1 && count_sent(w, 0, "still") >= 3, "beats", "%zu, %zu",
          count_sent(w, 0, "alive"), count_sent(w, 0, "still"));
    CHECK_OK(gp_courier_beat(e, 0.02, NULL, 0, &err), "no more");
    const size_t before = count_sent(w, 0, "still");
    nap(0.2);
    CHECK(count_sent(w, 0, "still") <= before + 1, "beats", "go on after they were stopped");
    gp_courier_close(e);
}

static void a_beat_goes_to_peers_that_were_heard_and_at_once(void **state)
{
    (void)state;
    advgp_error err = {0};
    fake_wire *w = wire_new();
    gp_endpoint *e = endpoint(w, true);
    arrives(w, 3, "hello");
    assert_true(receives(e, 3, "hello"));
    CHECK_OK(gp_courier_beat(e, 3600, "up", 2, &err), "beat");
    await_count(w, &w->n_sent, 1);
    nap(0.02);
    CHECK(count(w, &w->n_sent) == 1 && count_sent(w, 3, "up") == 1, "beat", "once, to who was heard");
    CHECK_OK(gp_courier_beat(e, 0, "once", 4, &err), "without a period");
    await_count(w, &w->n_sent, 2);
    arrives(w, 3, "again");
    assert_true(receives(e, 3, "again"));
    nap(0.02);
    CHECK(count_sent(w, 3, "once") == 1, "once", "%zu", count_sent(w, 3, "once"));
    gp_courier_close(e);
}

static void a_beat_may_change_at_any_moment(void **state)
{
    (void)state;
    fake_wire *w = wire_new();
    gp_endpoint *e = endpoint(w, false);
    for (int i = 0; i < 3000; i++) {
        advgp_error err = {0};
        CHECK_OK(gp_courier_beat(e, 1e-5, i % 3 ? "beat" : "other", i % 5 ? 4 : 0, &err), "change");
    }
    advgp_error err = {0};
    CHECK_OK(gp_courier_beat(e, 1e-5, NULL, 0, &err), "stop");
    nap(0.02);
    const size_t n = count(w, &w->n_sent);
    nap(0.02);
    CHECK(n == WORDS || count(w, &w->n_sent) == n, "stopped", "and beats on");
    gp_courier_close(e);
}

// ---- waiting and waking ---------------------------------------------------------------------------------------------

static void waiting_costs_no_cpu(void **state)
{
    (void)state;
    fake_wire *w = wire_new();
    gp_endpoint *e = endpoint(w, false);
    const double cpu = gp_clock_cpu();
    assert_true(receives_nothing(e, 0.5));
    CHECK(gp_clock_cpu() - cpu < 0.02, "waiting", "%g s of CPU in half a second", gp_clock_cpu() - cpu);
    gp_courier_wake(e);
    const double start = gp_clock_wall();
    assert_true(receives_nothing(e, 2 * hang_limit()));
    assert_true(gp_clock_wall() - start < hang_limit());
    assert_true(receives_nothing(e, -1));
    gp_courier_close(e);
}

// ---- failures -------------------------------------------------------------------------------------------------------

static void an_opening_that_fails_says_why_and_leaves_nothing(void **state)
{
    (void)state;
    const long live = gp_alloc_count().live;
    fake_wire *w = wire_new();
    gp_endpoint *e;
    advgp_error err = {0};
    closed = 0;
    w->open_fails = true;
    assert_int_equal(open_on(w, true, &e, &err), ADVGP_ECLUSTER);
    assert_string_equal(err.text, "no such network");
    assert_null(e);
    assert_int_equal(closed, 1);
    assert_int_equal(gp_alloc_count().live, live);
}

// Everything the owner does afterwards is answered by the first failure; the wire is there until it closes.
static void check_failed(gp_endpoint *e, fake_wire *w, advgp_status status, const char *text)
{
    for (int i = 0; i < 3; i++) {
        advgp_error err = {0};
        size_t peer, n;
        const void *bytes;
        assert_int_equal(gp_courier_receive(e, 10, &peer, &bytes, &n, &err), status);
        assert_string_equal(err.text, text);
        assert_null(bytes);
        assert_int_equal(gp_courier_send(e, 0, "x", 1, &err), status);
        assert_string_equal(err.text, text);
        gp_courier_beat(e, 0.001, "x", 1, &err);
        gp_courier_wake(e);
        assert_ptr_equal(gp_courier_wire(e), &w->base);
        assert_int_equal(closed, 0);
    }
    gp_courier_close(e);
    assert_int_equal(closed, 1);
}

static void a_wire_that_fails_to_send_ends_the_endpoint(void **state)
{
    (void)state;
    advgp_error err = {0};
    fake_wire *w = wire_new();
    gp_endpoint *e = endpoint(w, false);
    w->send_fails = true; // nobody looks at it before the first send
    CHECK_OK(gp_courier_send(e, 0, "x", 1, &err), "the owner does not wait for it");
    check_failed(e, w, ADVGP_EIO, "the cable is cut");

    w = wire_new(); // the same by a sign of life
    e = endpoint(w, false);
    w->send_fails = true;
    CHECK_OK(gp_courier_beat(e, 1, "x", 1, &err), "beat");
    check_failed(e, w, ADVGP_EIO, "the cable is cut");
}

static void a_wire_that_fails_to_receive_ends_the_endpoint_after_what_had_come(void **state)
{
    (void)state;
    fake_wire *w = wire_new();
    gp_endpoint *e = endpoint(w, false);
    arrives(w, 0, "last words");
    await_count(w, &w->n_read, 1);
    assert_true(receives(e, 0, "last words"));
    arrives(w, 0, "and these");
    await_count(w, &w->n_read, 2);
    nap(0.02);
    pthread_mutex_lock(&w->lock);
    w->receive_fails = true;
    pthread_cond_signal(&w->news);
    pthread_mutex_unlock(&w->lock);
    assert_true(receives(e, 0, "and these"));
    check_failed(e, w, ADVGP_ECLUSTER, "the lead is gone");
}

// What cannot be kept is lost, and nothing else: no call but a new beat fails for want of memory.
static void memory_that_runs_out_loses_messages_only(void **state)
{
    (void)state;
    const long live = gp_alloc_count().live;
    for (long calls = 0; calls < 12; calls++) {
        advgp_error err = {0};
        fake_wire *w = wire_new();
        gp_endpoint *e;
        closed = 0;
        gp_alloc_fail_after(calls);
        const advgp_status st = open_on(w, true, &e, &err);
        if (st != ADVGP_OK) {
            gp_alloc_fail_after(-1);
            CHECK(st == ADVGP_ENOMEM && err.text[0] && !e && closed == 1, "open", "status %d", st);
            assert_int_equal(gp_alloc_count().live, live);
            continue;
        }
        assert_true(calls >= 2);
        arrives(w, 40, "hello"); // more peers than there is room for at first
        arrives(w, 90, "hello");
        arrives(w, 1, "hello");
        await_count(w, &w->n_read, 3);
        const advgp_status beaten = gp_courier_beat(e, 10, "alive", 5, &err);
        CHECK(beaten == ADVGP_OK || beaten == ADVGP_ENOMEM, "beat", "status %d", beaten);
        for (int i = 0; i < 3; i++) {
            size_t peer, n;
            const void *bytes;
            CHECK_OK(gp_courier_receive(e, 0.01, &peer, &bytes, &n, &err), "receive");
            if (bytes) CHECK_OK(gp_courier_send(e, peer, "answer", 6, &err), "send");
        }
        gp_alloc_fail_after(-1);
        arrives(w, 1, "later"); // and afterwards all is well
        for (;;) {
            size_t peer, n;
            const void *bytes;
            CHECK_OK(gp_courier_receive(e, 10, &peer, &bytes, &n, &err), "later");
            CHECK(bytes, "later", "is lost");
            if (n == 5 && !memcmp(bytes, "later", 5)) break;
        }
        gp_courier_close(e);
        assert_int_equal(closed, 1);
        assert_int_equal(gp_alloc_count().live, live);
    }
}

// Closing must not poke a wire that the thread has freed already.
static void closing_at_any_moment_is_fine(void **state)
{
    (void)state;
    for (int i = 0; i < 400; i++) {
        advgp_error err = {0};
        fake_wire *w = wire_new();
        gp_endpoint *e = endpoint(w, i % 2);
        if (i % 3 == 0) arrives(w, (size_t)(i % 2), "x");
        if (i % 5 == 0) CHECK_OK(gp_courier_beat(e, 1e-4, "beat", 4, &err), "beat");
        if (i % 7 == 0) nap(0.0001);
        if (i % 11 == 0) gp_courier_wake(e);
        gp_courier_close(e);
        assert_int_equal(closed, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_carried_both_ways),
        cmocka_unit_test(what_was_sent_before_closing_is_sent),
        cmocka_unit_test(what_the_owner_does_not_read_is_kept_up_to_a_bound),
        cmocka_unit_test(the_same_again_is_kept_once),
        cmocka_unit_test(buffers_are_used_again),
        cmocka_unit_test(beats_come_while_the_owner_sleeps),
        cmocka_unit_test(a_beat_goes_to_peers_that_were_heard_and_at_once),
        cmocka_unit_test(a_beat_may_change_at_any_moment),
        cmocka_unit_test(waiting_costs_no_cpu),
        cmocka_unit_test(an_opening_that_fails_says_why_and_leaves_nothing),
        cmocka_unit_test(a_wire_that_fails_to_send_ends_the_endpoint),
        cmocka_unit_test(a_wire_that_fails_to_receive_ends_the_endpoint_after_what_had_come),
        cmocka_unit_test(memory_that_runs_out_loses_messages_only),
        cmocka_unit_test(closing_at_any_moment_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
