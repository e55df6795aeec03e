// zmq_test.c: what breaks between machines: wrong keys, strangers at the port, leads that move, messages too long. Raw
// TCP plays the strangers. The contract of every transport is asked in transport_test.c.
#define _GNU_SOURCE // RTLD_NEXT
#include "base/alloc.h"
#include "base/clock.h"
#include "fixture.h"
#include "transport/zmq.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 4096 };

static gp_zmq_identity lead_keys, other_lead_keys, worker_keys, stranger_keys;
static char allowed[1][GP_ZMQ_KEY];

static int make_keys(void **state)
{
    (void)state;
    if (!gp_transport_zmq.available) return 0;
    memset(allowed, 0, sizeof allowed);
    gp_zmq_identity *all[] = {&lead_keys, &other_lead_keys, &worker_keys, &stranger_keys};
    for (size_t i = 0; i < 4; i++)
        if (gp_zmq_keypair(all[i], NULL) != ADVGP_OK) return -1;
    memcpy(allowed[0], worker_keys.public_key, GP_ZMQ_KEY);
    return 0;
}

static void nap(double seconds)
{
    const struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)};
    nanosleep(&t, NULL);
}

// ---- parties --------------------------------------------------------------------------------------------------------

static void (*report_to)(void *ctx, const char *text);

static gp_endpoint *lead_at(const char *address, const gp_zmq_identity *keys, size_t peers_max)
{
    advgp_error err = {0};
    gp_endpoint *lead;
    const gp_zmq_listen_options o = {.address = address,
                                     .keys = keys,
                                     .allowed = allowed,
                                     .n_allowed = 1,
                                     .message_max = LARGEST,
                                     .peers_max = peers_max,
                                     .report = report_to};
    CHECK_OK(gp_zmq_listen(&o, &lead, &err), address);
    return lead;
}

static gp_endpoint *lead_new(const gp_zmq_identity *keys)
{
    return lead_at("127.0.0.1", keys, 16);
}

// What a rendezvous would say; may be changed while workers look at it.
typedef struct place {
    pthread_mutex_t lock;
    bool known, fails;
    gp_zmq_target target;
    int asked, done;
} place;

static advgp_status find(void *ctx, bool *known, gp_zmq_target *out, advgp_error *err)
{
    place *p = ctx;
    pthread_mutex_lock(&p->lock);
    *known = p->known;
    *out = p->target;
    p->asked++;
    const bool fails = p->fails;
    pthread_mutex_unlock(&p->lock);
    return fails ? gp_fail(err, ADVGP_EFILE, "the rendezvous is damaged") : ADVGP_OK;
}

static void done(void *ctx)
{
    ((place *)ctx)->done++;
}

static void place_set(place *p, const char *address, const char *lead_key, const gp_zmq_identity *keys)
{
    pthread_mutex_lock(&p->lock);
    p->known = address != NULL;
    p->target = (gp_zmq_target){0};
    if (address) snprintf(p->target.address, sizeof p->target.address, "%s", address);
    if (lead_key) memcpy(p->target.lead_key, lead_key, GP_ZMQ_KEY);
    if (keys) p->target.keys = *keys;
    pthread_mutex_unlock(&p->lock);
}

static place *place_new(const char *address, const char *lead_key, const gp_zmq_identity *keys)
{
    place *p = calloc(1, sizeof *p);
    assert_non_null(p);
    pthread_mutex_init(&p->lock, NULL);
    place_set(p, address, lead_key, keys);
    return p;
}

static int times_asked(place *p)
{
    pthread_mutex_lock(&p->lock);
    const int asked = p->asked;
    pthread_mutex_unlock(&p->lock);
    return asked;
}

static void place_free(place *p)
{
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static gp_endpoint *worker_for(place *p, size_t message_max)
{
    advgp_error err = {0};
    gp_endpoint *worker;
    const gp_zmq_connect_options o = {.find = find, .ctx = p, .message_max = message_max};
    CHECK_OK(gp_zmq_connect(&o, &worker, &err), "connect");
    return worker;
}

static void send_text(gp_endpoint *e, size_t peer, const char *text)
{
    advgp_error err = {0};
    CHECK_OK(e->transport->send(e, peer, text, strlen(text), &err), text);
}

// The peer it came from; -1: it did not come. What else comes is passed over.
static long hear(gp_endpoint *e, const char *text, double seconds)
{
    const double until = gp_clock_wall() + seconds;
    for (double left = seconds; left >= 0; left = until - gp_clock_wall()) {
        advgp_error err = {0};
        size_t peer, n;
        const void *bytes;
        CHECK_OK(e->transport->receive(e, left, &peer, &bytes, &n, &err), text);
        if (bytes && n == strlen(text) && !memcmp(bytes, text, n)) return (long)peer;
    }
    return -1;
}

// One question and its answer; repeated as a worker would, since anything may be lost.
static bool exchange(gp_endpoint *worker, gp_endpoint *lead, const char *text, double seconds)
{
    const double until = gp_clock_wall() + seconds;
    while (gp_clock_wall() < until) {
        send_text(worker, 0, text);
        const long peer = hear(lead, text, 0.5);
        if (peer < 1) continue;
        send_text(lead, (size_t)peer, text);
        if (hear(worker, text, 0.5) == 0) return true;
    }
    return false;
}

static void hang_up(gp_endpoint *e)
{
    gp_transport_zmq.close(e);
}

// ---- strangers ------------------------------------------------------------------------------------------------------

static int tcp_to(const char *endpoint)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void put(int fd, const void *bytes, size_t n)
{
    const ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL); // the other side may have hung up already
    (void)sent;
}

static bool is_hung_up(int fd, double seconds)
{
    const double until = gp_clock_wall() + seconds;
    char bytes[4096];
    while (gp_clock_wall() < until) {
        const ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return true;
        nap(0.01);
    }
    return false;
}

// ZMTP 3.0 without keys, by hand: what a hostile worker could say after a correct greeting.
static const unsigned char null_greeting[64] = {0xff, [9] = 0x7f, 3, 0, 'N', 'U', 'L', 'L'};

static int zmtp_to(const char *endpoint)
{
    static const unsigned char ready[] = "\4\x1c\5READY\13Socket-Type\0\0\0\6DEALER";
    const int fd = tcp_to(endpoint);
    put(fd, null_greeting, sizeof null_greeting);
    put(fd, ready, sizeof ready - 1);
    nap(0.05);
    return fd;
}

// ---- keys -----------------------------------------------------------------------------------------------------------

static void keys_are_text_and_belong_together(void **state)
{
    (void)state;
    advgp_error err = {0};
    char public_key[GP_ZMQ_KEY];
    assert_int_equal(strlen(lead_keys.public_key), 40);
    assert_int_equal(strlen(lead_keys.secret_key), 40);
    CHECK_OK(gp_zmq_public_of(lead_keys.secret_key, public_key, &err), "its own");
    assert_string_equal(public_key, lead_keys.public_key);
    assert_string_not_equal(lead_keys.secret_key, worker_keys.secret_key);
    CHECK_FAILS(ADVGP_EINVAL, gp_zmq_public_of("short", public_key, &err), "short");
    CHECK_FAILS(ADVGP_EINVAL, gp_zmq_public_of(NULL, public_key, &err), "NULL");
    CHECK_FAILS(ADVGP_EINVAL, gp_zmq_public_of("~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~", public_key, &err), "~");
}

static void a_worker_with_a_key_of_the_list_is_served(void **state)
{
    (void)state;
    gp_endpoint *lead = lead_new(&lead_keys);
    place *p = place_new(gp_zmq_address(lead), lead_keys.public_key, &worker_keys);
    gp_endpoint *worker = worker_for(p, LARGEST);
    assert_true(exchange(worker, lead, "hello", hang_limit()));
    const gp_zmq_counts counts = gp_zmq_count(lead);
    CHECK(!counts.refused && !counts.mismatched && !counts.malformed && !counts.dropped, "counts", "%d, %d, %d, %d",
          (int)counts.refused, (int)counts.mismatched, (int)counts.malformed, (int)counts.dropped);
    hang_up(worker), hang_up(lead), place_free(p);
}

// All at once, since some refusals take their time.
static void a_worker_that_is_not_wanted_is_told_so_in_time(void **state)
{
    (void)state;
    gp_endpoint *secure = lead_new(&lead_keys), *plain = lead_new(NULL);
    const int silent_fd = socket(AF_INET, SOCK_STREAM, 0); // takes connections and says nothing
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(silent_fd, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(silent_fd, 16), 0);
    assert_int_equal(getsockname(silent_fd, (struct sockaddr *)&at, &size), 0);
    char silent[64];
    snprintf(silent, sizeof silent, "tcp://127.0.0.1:%d", ntohs(at.sin_port));

    const struct {
        const char *label, *address, *lead_key;
        const gp_zmq_identity *keys;
        const char *said; // NULL: it goes on trying
    } cases[] = {
        {"a key that is not on the list", gp_zmq_address(secure), lead_keys.public_key, &stranger_keys,
         "refuses this worker's key"},
        {"another lead's key", gp_zmq_address(secure), other_lead_keys.public_key, &worker_keys, "{keys} DIR"},
        {"no key", gp_zmq_address(secure), NULL, NULL, "it asks for a key, and the worker has none"},
        {"a key where none is used", gp_zmq_address(plain), lead_keys.public_key, &worker_keys,
         "it uses no keys, and the worker does"},
        {"a port that says nothing", silent, lead_keys.public_key, &worker_keys, NULL},
        {"a port where nobody is", "127.0.0.1:1", lead_keys.public_key, &worker_keys, NULL},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    place *places[CASES];
    gp_endpoint *workers[CASES];
    for (size_t i = 0; i < CASES; i++) {
        places[i] = place_new(cases[i].address, cases[i].lead_key, cases[i].keys);
        workers[i] = worker_for(places[i], LARGEST);
        send_text(workers[i], 0, "let me in");
    }
    const double start = gp_clock_wall();
    for (size_t i = 0; i < CASES; i++) {
        advgp_error err = {0};
        size_t peer, n;
        const void *bytes;
        const double left = fmax(0, (cases[i].said ? hang_limit() : 13) - (gp_clock_wall() - start));
        const advgp_status st = workers[i]->transport->receive(workers[i], left, &peer, &bytes, &n, &err);
        assert_null(bytes);
        if (!cases[i].said) {
            CHECK(st == ADVGP_OK, cases[i].label, "gives up: %s", err.text);
            continue;
        }
        CHECK(st == ADVGP_ECLUSTER, cases[i].label, "status %d after %.1f s", st, gp_clock_wall() - start);
        CHECK(strstr(err.text, cases[i].said), cases[i].label, "'%s' is not in: %s", cases[i].said, err.text);
        CHECK(strstr(err.text, cases[i].address), cases[i].label, "does not say where: %s", err.text);
    }
    const gp_zmq_counts counts = gp_zmq_count(secure), other = gp_zmq_count(plain);
    CHECK(counts.refused >= 5 && counts.mismatched >= 5, "lead with keys", "%d refused, %d mismatched, %d malformed",
          (int)counts.refused, (int)counts.mismatched, (int)counts.malformed);
    CHECK(other.mismatched + other.malformed >= 5, "lead without", "%d mismatched, %d malformed", (int)other.mismatched,
          (int)other.malformed); // as either side hangs up first
    assert_int_equal(hear(secure, "let me in", 0), -1);
    assert_int_equal(hear(plain, "let me in", 0), -1);
    place *p = place_new(gp_zmq_address(secure), lead_keys.public_key, &worker_keys);
    gp_endpoint *good = worker_for(p, LARGEST);
    assert_true(exchange(good, secure, "all is well", hang_limit()));
    for (size_t i = 0; i < CASES; i++) hang_up(workers[i]), place_free(places[i]);
    hang_up(good), hang_up(secure), hang_up(plain), place_free(p);
    close(silent_fd);
}

static void several_leads_in_one_process_do_not_mix_their_lists(void **state)
{
    (void)state;
    gp_endpoint *one = lead_new(&lead_keys), *two = lead_new(&other_lead_keys);
    place *p = place_new(gp_zmq_address(one), lead_keys.public_key, &worker_keys);
    place *q = place_new(gp_zmq_address(two), other_lead_keys.public_key, &worker_keys);
    gp_endpoint *first = worker_for(p, LARGEST), *second = worker_for(q, LARGEST);
    assert_true(exchange(first, one, "first", hang_limit()));
    assert_true(exchange(second, two, "second", hang_limit()));
    hang_up(one);
    assert_true(exchange(second, two, "again", hang_limit()));
    hang_up(first), hang_up(second), hang_up(two), place_free(p), place_free(q);
}

static void the_same_key_may_serve_two_connections(void **state)
{
    (void)state;
    gp_endpoint *lead = lead_new(&lead_keys);
    place *p = place_new(gp_zmq_address(lead), lead_keys.public_key, &worker_keys);
    gp_endpoint *one = worker_for(p, LARGEST), *two = worker_for(p, LARGEST);
    send_text(one, 0, "one");
    const long first = hear(lead, "one", hang_limit());
    send_text(two, 0, "two");
    const long second = hear(lead, "two", hang_limit());
    CHECK(first == 1 && second == 2, "peers", "%ld and %ld", first, second);
    send_text(lead, 1, "to one");
    send_text(lead, 2, "to two");
    assert_int_equal(hear(one, "to one", hang_limit()), 0);
    assert_int_equal(hear(two, "to two", hang_limit()), 0);
    hang_up(one);
    assert_true(exchange(two, lead, "still here", hang_limit()));
    hang_up(two), hang_up(lead), place_free(p);
}

// ---- strangers ------------------------------------------------------------------------------------------------------

typedef struct crowd {
    const char *address;
    atomic_bool stop;
    atomic_int visits;
} crowd;

// Everything that knocks at an open port.
static void *knock(void *arg)
{
    crowd *c = arg;
    gp_rng rng = gp_rng_seeded(7, 0);
    int held[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    for (int i = 0; !atomic_load(&c->stop); i++) {
        const int fd = tcp_to(c->address), slot = i % 8;
        unsigned char bytes[600];
        for (size_t k = 0; k < sizeof bytes; k++) bytes[k] = (unsigned char)gp_rng_u64(&rng);
        static const char http[] = "GET /metrics HTTP/1.1\r\nHost: lead\r\nAccept: */*\r\n\r\n";
        static const unsigned char tls[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3};
        switch (i % 7) {
        case 0: // noise
            put(fd, bytes, sizeof bytes);
            break;
        case 1:
            put(fd, http, sizeof http - 1);
            break;
        case 2:
            put(fd, tls, sizeof tls);
            break;
        case 3: // half a greeting
            put(fd, null_greeting, 30);
            break;
        case 4: // a greeting, then noise
            put(fd, null_greeting, sizeof null_greeting);
            put(fd, bytes, sizeof bytes);
            break;
        case 5: // a frame of 2^62 bytes
            put(fd, null_greeting, sizeof null_greeting);
            put(fd, "\2\x40\0\0\0\0\0\0\0", 9);
            break;
        default: // nothing at all
            break;
        }
        if (held[slot] >= 0) close(held[slot]); // the last eight stay open
        held[slot] = fd;
        atomic_fetch_add(&c->visits, 1);
        nap(0.005);
    }
    for (int i = 0; i < 8; i++)
        if (held[i] >= 0) close(held[i]);
    return NULL;
}

static void strangers_at_the_port_harm_nobody(void **state)
{
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        gp_endpoint *lead = lead_new(secure ? &lead_keys : NULL);
        place *p = place_new(gp_zmq_address(lead), secure ? lead_keys.public_key : NULL, secure ? &worker_keys : NULL);
        gp_endpoint *worker = worker_for(p, LARGEST);
        crowd c = {.address = gp_zmq_address(lead)};
        pthread_t id;
        assert_true(exchange(worker, lead, "before", hang_limit()));
        assert_int_equal(pthread_create(&id, NULL, knock, &c), 0);
        int good = 0;
        const double start = gp_clock_wall();
        for (int i = 0; i < 300 || atomic_load(&c.visits) < 100; i++, good++) {
            char text[32];
            snprintf(text, sizeof text, "question %d", i);
            send_text(worker, 0, text); // once: nothing may be lost to strangers
            CHECK(hear(lead, text, hang_limit()) == 1, text, "was not heard; %d visitors", atomic_load(&c.visits));
            send_text(lead, 1, text);
            CHECK(hear(worker, text, hang_limit()) == 0, text, "was not answered; %d visitors", atomic_load(&c.visits));
            CHECK(gp_clock_wall() - start < hang_limit(), text, "is slow; %d visitors", atomic_load(&c.visits));
        }
        atomic_store(&c.stop, true);
        assert_int_equal(pthread_join(id, NULL), 0);
        assert_true(exchange(worker, lead, "after", hang_limit()));
        const gp_zmq_counts counts = gp_zmq_count(lead);
        CHECK(counts.malformed + counts.mismatched > 20, "counted", "%d malformed, %d mismatched of %d",
              (int)counts.malformed, (int)counts.mismatched, atomic_load(&c.visits));
        hang_up(worker), hang_up(lead), place_free(p);
    }
}

static void a_connection_that_says_nothing_is_ended(void **state)
{
    (void)state;
    gp_endpoint *lead = lead_new(&lead_keys);
    const int fd = tcp_to(gp_zmq_address(lead));
    assert_true(is_hung_up(fd, hang_limit()));
    close(fd);
    hang_up(lead);
}

static void messages_of_strange_form_are_dropped_and_counted(void **state)
{
    (void)state;
    static const unsigned char two_parts[] = "\1\2ab\0\2cd", one_part[] = "\0\3one", nothing[] = "\0";
    gp_endpoint *lead = lead_new(NULL);
    const int fd = zmtp_to(gp_zmq_address(lead));
    put(fd, two_parts, sizeof two_parts - 1);
    put(fd, one_part, sizeof one_part - 1);
    assert_int_equal(hear(lead, "one", hang_limit()), 1);
    CHECK(gp_zmq_count(lead).dropped == 1, "dropped", "%d", (int)gp_zmq_count(lead).dropped);
    put(fd, nothing, 2); // an empty message is one
    assert_int_equal(hear(lead, "", hang_limit()), 1);
    for (int i = 0; i < 1000; i++) put(fd, two_parts, sizeof two_parts - 1);
    put(fd, one_part, sizeof one_part - 1);
    assert_int_equal(hear(lead, "one", hang_limit()), 1);
    CHECK(gp_zmq_count(lead).dropped == 1001, "dropped", "%d", (int)gp_zmq_count(lead).dropped);
    close(fd);
    hang_up(lead);
}

static void a_message_too_large_ends_its_own_connection_only(void **state)
{
    (void)state;
    gp_endpoint *lead = lead_new(NULL);
    place *p = place_new(gp_zmq_address(lead), NULL, NULL);
    gp_endpoint *good = worker_for(p, LARGEST), *large = worker_for(p, 1 << 20);
    advgp_error err = {0};
    assert_true(exchange(good, lead, "good", hang_limit()));
    assert_true(exchange(large, lead, "large", hang_limit()));
    char *bytes = calloc(1, 1 << 20);
    assert_non_null(bytes);
    CHECK_OK(large->transport->send(large, 0, bytes, 1 << 20, &err), "it does not know");
    CHECK_FAILS(ADVGP_EINVAL, good->transport->send(good, 0, bytes, LARGEST + 1, &err), "it knows");
    for (int i = 0; i < 20; i++) assert_true(exchange(good, lead, i % 2 ? "odd" : "even", hang_limit()));
    assert_true(exchange(large, lead, "back again", hang_limit()));
    free(bytes);

    const int fd = zmtp_to(gp_zmq_address(lead));
    put(fd, "\2\0\0\0\0\x7f\xff\xff\xff", 9); // says that 2 GB follow
    assert_true(is_hung_up(fd, hang_limit()));
    close(fd);
    assert_true(exchange(good, lead, "unharmed", hang_limit()));
    hang_up(good), hang_up(large), hang_up(lead), place_free(p);
}

// ---- peers ----------------------------------------------------------------------------------------------------------

static char told[300];

static void note_told(void *ctx, const char *text)
{
    (void)ctx;
    snprintf(told, sizeof told, "%s", text);
}

static void more_peers_than_there_is_room_for_are_not_heard_until_one_is_gone(void **state)
{
    (void)state;
    report_to = note_told;
    gp_endpoint *lead = lead_at("127.0.0.1:0", NULL, 2);
    place *p = place_new(gp_zmq_address(lead), NULL, NULL);
    gp_endpoint *w[3];
    for (size_t k = 0; k < 3; k++) w[k] = worker_for(p, LARGEST);
    assert_true(exchange(w[0], lead, "first", hang_limit()));
    assert_true(exchange(w[1], lead, "second", hang_limit()));
    send_text(w[2], 0, "third");
    for (int i = 0; i < 100 && !gp_zmq_count(lead).dropped; i++) assert_int_equal(hear(lead, "third", 0.1), -1);
    CHECK(gp_zmq_count(lead).dropped == 1, "dropped", "%d", (int)gp_zmq_count(lead).dropped);
    assert_true(exchange(w[1], lead, "the others go on", hang_limit()));
    CHECK(strstr(told, "2 connections are all"), "told", "%s", told);
    hang_up(w[0]); // nobody speaks to it: that it is gone is told by the connection
    assert_true(exchange(w[2], lead, "now I am", hang_limit()));
    assert_true(exchange(w[1], lead, "and so am I", hang_limit()));
    hang_up(w[1]), hang_up(w[2]), hang_up(lead), place_free(p);
    report_to = NULL;
}

// What had come of it is given back; see zmq_lines.h.
static void a_message_of_parts_without_end_is_ended(void **state)
{
    (void)state;
    gp_endpoint *lead = lead_new(NULL);
    place *p = place_new(gp_zmq_address(lead), NULL, NULL);
    gp_endpoint *worker = worker_for(p, LARGEST);
    assert_true(exchange(worker, lead, "before", hang_limit()));
    const int fd = zmtp_to(gp_zmq_address(lead));
    static unsigned char parts[3 << 16];
    for (size_t i = 0; i < sizeof parts; i += 3) memcpy(parts + i, "\1\1a", 3);
    size_t sent = 0; // from where the last one stopped, so that parts stay whole
    while (sent < 1u << 28 && !gp_zmq_count(lead).cut) {
        const size_t at = sent % sizeof parts;
        const ssize_t n = send(fd, parts + at, sizeof parts - at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) sent += (size_t)n;
        if (n < 0 && errno != EAGAIN) break;
        if (n < 0) nap(0.001);
    }
    for (int i = 0; i < 1000 && !gp_zmq_count(lead).cut; i++) nap(0.01);
    assert_true(is_hung_up(fd, hang_limit()));
    CHECK(sent < 1u << 28 && gp_zmq_count(lead).cut == 1, "without end", "%zu bytes, %d ended", sent,
          (int)gp_zmq_count(lead).cut);
    close(fd);
    assert_true(exchange(worker, lead, "after", hang_limit()));
    hang_up(worker), hang_up(lead), place_free(p);
}

static void too_many_connections_cost_those_that_say_nothing(void **state)
{
    (void)state;
    enum { MANY = 60 };
    gp_endpoint *lead = lead_at("127.0.0.1:0", &lead_keys, 8); // 16 connections
    place *p = place_new(gp_zmq_address(lead), lead_keys.public_key, &worker_keys);
    gp_endpoint *worker = worker_for(p, LARGEST);
    assert_true(exchange(worker, lead, "before", hang_limit()));
    int fd[MANY];
    for (int i = 0; i < MANY; i++) fd[i] = tcp_to(gp_zmq_address(lead)), nap(0.002);
    for (int i = 0; i < 300 && gp_zmq_count(lead).cut < MANY - 16; i++) nap(0.01);
    CHECK(gp_zmq_count(lead).cut >= MANY - 16, "too many", "%d ended", (int)gp_zmq_count(lead).cut);
    send_text(worker, 0, "it stays"); // by its connection
    assert_int_equal(hear(lead, "it stays", hang_limit()), 1);
    for (int i = 0; i < MANY; i++) close(fd[i]);
    hang_up(worker), hang_up(lead), place_free(p);
}

// ZeroMQ would end the process.
static void where_descriptors_are_short_it_says_so(void **state)
{
    (void)state;
    place *p = place_new("127.0.0.1:5", NULL, NULL);
    static const rlim_t few_ones[] = {3, 5, 6, 7, 8, 10, 14, 20, 28, 36, 42, 64};
    for (size_t i = 0; i < sizeof few_ones / sizeof *few_ones; i++) {
        const rlim_t n = few_ones[i];
        const pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            const struct rlimit few = {n, n};
            advgp_error err = {0};
            gp_endpoint *lead = NULL, *worker = NULL;
            const gp_zmq_listen_options o = {.address = "127.0.0.1", .message_max = LARGEST, .peers_max = 4};
            const gp_zmq_connect_options c = {.find = find, .ctx = p, .message_max = LARGEST};
            if (setrlimit(RLIMIT_NOFILE, &few) != 0) _exit(1);
            const advgp_status st = gp_zmq_listen(&o, &lead, &err);
            if (st != ADVGP_OK && !strstr(err.text, "ulimit -n") && !strstr(err.text, "interfaces")) _exit(2);
            if (lead) hang_up(lead);
            const advgp_status other = gp_zmq_connect(&c, &worker, &err);
            if (other != ADVGP_OK && !strstr(err.text, "ulimit -n")) _exit(3);
            if (worker) hang_up(worker);
            _exit(n > 60 && (st != ADVGP_OK || other != ADVGP_OK) ? 4 : 0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "descriptors", "%d of them: status %x", (int)n, status);
    }
    place_free(p);
}

static void many_workers_come_and_go(void **state)
{
    (void)state;
    gp_endpoint *lead = lead_at("127.0.0.1:0", NULL, 64);
    place *p = place_new(gp_zmq_address(lead), NULL, NULL);
    bool seen[65] = {false};
    gp_endpoint *w[40];
    for (size_t k = 0; k < 40; k++) {
        char text[16];
        snprintf(text, sizeof text, "%zu", k);
        w[k] = worker_for(p, 64);
        send_text(w[k], 0, text);
        const long peer = hear(lead, text, hang_limit());
        CHECK(peer >= 1 && peer <= 64 && !seen[peer], text, "is peer %ld", peer);
        seen[peer] = true;
    }
    for (size_t k = 0; k < 40; k += 2) hang_up(w[k]);
    for (size_t k = 1; k < 40; k += 2) assert_true(exchange(w[k], lead, "here", hang_limit()));
    for (size_t k = 1; k < 40; k += 2) hang_up(w[k]);
    hang_up(lead), place_free(p);
}

static void the_limit_of_descriptors_is_raised(void **state)
{
    (void)state;
    struct rlimit before, now;
    getrlimit(RLIMIT_NOFILE, &before);
    struct rlimit low = {.rlim_cur = 128, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    gp_endpoint *lead = lead_at("127.0.0.1", NULL, 300);
    getrlimit(RLIMIT_NOFILE, &now);
    CHECK(now.rlim_cur >= 600 || now.rlim_cur == now.rlim_max, "limit", "%ld", (long)now.rlim_cur);
    hang_up(lead);
    setrlimit(RLIMIT_NOFILE, &before);
}

// ---- leads that move ------------------------------------------------------------------------------------------------

static void a_lead_that_starts_later_is_found(void **state)
{
    (void)state;
    place *p = place_new(NULL, NULL, NULL);
    gp_endpoint *worker = worker_for(p, LARGEST);
    send_text(worker, 0, "too early"); // lost
    nap(0.3);
    gp_endpoint *lead = lead_new(&lead_keys);
    place_set(p, gp_zmq_address(lead), lead_keys.public_key, &worker_keys);
    assert_true(exchange(worker, lead, "there you are", hang_limit()));
    hang_up(worker), hang_up(lead), place_free(p);
}

static void a_lead_that_moves_to_another_port_is_found(void **state)
{
    (void)state;
    gp_endpoint *lead = lead_new(&lead_keys);
    place *p = place_new(gp_zmq_address(lead), lead_keys.public_key, &worker_keys);
    gp_endpoint *worker = worker_for(p, LARGEST);
    assert_true(exchange(worker, lead, "first", hang_limit()));
    gp_endpoint *next = lead_new(&other_lead_keys); // with another key
    hang_up(lead);
    place_set(p, NULL, NULL, NULL); // the lead has removed its rendezvous; the next one will write it
    nap(1);
    place_set(p, gp_zmq_address(next), other_lead_keys.public_key, &worker_keys);
    assert_true(exchange(worker, next, "second", hang_limit()));
    const int asked = times_asked(p);
    CHECK(asked >= 2 && asked < 12, "asked", "%d times", asked);
    hang_up(worker), hang_up(next), place_free(p);
}

static void a_lead_that_starts_again_at_its_port_is_found(void **state)
{
    (void)state;
    char address[64];
    gp_endpoint *lead = lead_new(&lead_keys);
    snprintf(address, sizeof address, "%s", gp_zmq_address(lead));
    place *p = place_new(address, lead_keys.public_key, &worker_keys);
    gp_endpoint *worker = worker_for(p, LARGEST);
    for (int round = 0; round < 3; round++) {
        assert_true(exchange(worker, lead, "hello", hang_limit()));
        hang_up(lead);
        send_text(worker, 0, "is anybody there?");
        nap(0.2);
        lead = lead_at(address, &lead_keys, 16);
    }
    assert_true(exchange(worker, lead, "hello again", hang_limit()));
    hang_up(worker), hang_up(lead), place_free(p);
}

static void where_the_lead_is_may_be_a_failure(void **state)
{
    (void)state;
    advgp_error err = {0};
    gp_endpoint *worker, *lead = lead_new(NULL);
    place *p = place_new(gp_zmq_address(lead), NULL, NULL);
    p->fails = true;
    const gp_zmq_connect_options o = {.find = find, .ctx = p, .message_max = LARGEST};
    assert_int_equal(gp_zmq_connect(&o, &worker, &err), ADVGP_EFILE);
    assert_string_equal(err.text, "the rendezvous is damaged");
    assert_null(worker);
    p->fails = false;
    worker = worker_for(p, LARGEST); // later, when the lead has gone silent
    assert_true(exchange(worker, lead, "hello", hang_limit()));
    hang_up(lead);
    pthread_mutex_lock(&p->lock);
    p->fails = true;
    pthread_mutex_unlock(&p->lock);
    size_t peer, n;
    const void *bytes;
    assert_int_equal(worker->transport->receive(worker, 20, &peer, &bytes, &n, &err), ADVGP_EFILE);
    hang_up(worker), place_free(p);
}

// This one stands before that of the C library.
static atomic_int look_ups, held_look_ups;
static atomic_bool name_server_answers;

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    const bool asks = host && !(hints && hints->ai_flags & AI_NUMERICHOST);
    if (asks && !strcmp(host, "localhost")) look_ups++;
    if (asks && !strcmp(host, "slow.invalid")) {
        held_look_ups++;
        while (!atomic_load(&name_server_answers)) nap(0.01);
        return EAI_AGAIN;
    }
    return real(host, service, hints, found);
}

// A name server that does not answer holds nobody but the look-up.
static void signs_of_life_are_given_while_a_name_is_looked_up(void **state)
{
    (void)state;
    advgp_error err = {0};
    gp_endpoint *lead = lead_new(NULL);
    place *p = place_new(gp_zmq_address(lead), NULL, NULL);
    gp_endpoint *worker = worker_for(p, LARGEST);
    assert_true(exchange(worker, lead, "hello", hang_limit()));
    CHECK_OK(worker->transport->beat(worker, 0.05, "alive", 5, &err), "beat");
    place_set(p, "slow.invalid:5555", NULL, NULL); // it is silent, and may be elsewhere
    for (int i = 0; i < 3000 && !held_look_ups; i++) (void)hear(lead, "nothing", 0.01);
    assert_true(held_look_ups > 0);
    for (int i = 0; i < 20; i++) assert_int_equal(hear(lead, "alive", hang_limit()), 1);
    hang_up(worker); // nor does closing wait for it
    assert_false(name_server_answers);
    atomic_store(&name_server_answers, true);
    hang_up(lead), place_free(p);
}

static void a_name_is_looked_up_again_when_the_connection_is_lost(void **state)
{
    (void)state;
    char address[64];
    gp_endpoint *lead = lead_new(NULL);
    snprintf(address, sizeof address, "localhost%s", strrchr(gp_zmq_address(lead), ':'));
    place *p = place_new(address, NULL, NULL);
    look_ups = 0;
    gp_endpoint *worker = worker_for(p, LARGEST);
    assert_true(exchange(worker, lead, "hello", hang_limit()));
    for (int i = 0; i < 200 && times_asked(p) < 3; i++) nap(0.1); // it is silent, and may be elsewhere
    nap(0.1);
    CHECK(times_asked(p) >= 3 && look_ups == 1, "look-ups", "%d, asked %d times", look_ups, times_asked(p));
    hang_up(lead);
    for (int i = 0; i < 200 && look_ups < 2; i++) nap(0.1);
    CHECK(look_ups >= 2, "look-ups", "%d", look_ups);
    hang_up(worker), place_free(p);
}

static void whom_it_asks_may_go_when_it_is_closed(void **state)
{
    (void)state;
    gp_endpoint *worker;
    place *p = place_new(NULL, NULL, NULL);
    const gp_zmq_connect_options o = {.find = find, .done = done, .ctx = p, .message_max = LARGEST};
    assert_int_equal(gp_zmq_connect(&o, &worker, NULL), ADVGP_OK);
    assert_int_equal(p->done, 0);
    hang_up(worker);
    assert_int_equal(p->done, 1);
    p->fails = true;
    assert_int_equal(gp_zmq_connect(&o, &worker, NULL), ADVGP_EFILE);
    assert_int_equal(p->done, 2);
    p->fails = false;
    advgp_status st = ADVGP_ENOMEM;
    for (int calls = 0; st == ADVGP_ENOMEM; calls++) {
        gp_alloc_fail_after(calls);
        st = gp_zmq_connect(&o, &worker, NULL);
        gp_alloc_fail_after(-1);
        assert_int_equal(p->done, 2 + calls + (st == ADVGP_ENOMEM));
    }
    assert_int_equal(st, ADVGP_OK);
    hang_up(worker), place_free(p);
}

// ---- opening --------------------------------------------------------------------------------------------------------

static void what_cannot_be_opened_says_why(void **state)
{
    (void)state;
    gp_endpoint *e, *lead = lead_new(NULL);
    char bad[1][GP_ZMQ_KEY] = {"this is no key"};
    const struct {
        gp_zmq_listen_options o;
        advgp_status st;
        const char *said;
    } cases[] = {
        {{.address = "*:0"}, ADVGP_EINVAL, "advgp keygen DIR"},
        {{.address = "0.0.0.0"}, ADVGP_EINVAL, "{keys} DIR"},
        {{.address = "eth-none9"}, ADVGP_EINVAL, "eth-none9"},
        {{.address = gp_zmq_address(lead)}, ADVGP_EIO, "cannot listen at tcp://127.0.0.1"},
        {{.address = "127.0.0.1", .keys = &lead_keys, .allowed = bad, .n_allowed = 1}, ADVGP_EINVAL, "this is no key"},
        {{.address = "127.0.0.1", .keys = &(gp_zmq_identity){"a", "b"}}, ADVGP_EIO, "key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        advgp_error err = {0};
        gp_zmq_listen_options o = cases[i].o;
        o.message_max = LARGEST, o.peers_max = 4;
        const advgp_status st = gp_zmq_listen(&o, &e, &err);
        CHECK(st == cases[i].st && !e, cases[i].said, "status %d: %s", st, err.text);
        CHECK(strstr(err.text, cases[i].said), cases[i].said, "is not in: %s", err.text);
    }
    advgp_error err = {0};
    const gp_zmq_listen_options none = {.address = "127.0.0.1"};
    CHECK_FAILS(ADVGP_EINVAL, gp_zmq_listen(&none, &e, &err), "no workers");

    static const struct {
        const char *address, *said;
    } targets[] = {{"198.51.100.1:5555", "{keys} DIR"}, {"127.0.0.1", "no address"}, {"", "no address"}};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        place *p = place_new(targets[i].address, NULL, NULL);
        const gp_zmq_connect_options o = {.find = find, .ctx = p, .message_max = LARGEST};
        CHECK(gp_zmq_connect(&o, &e, &err) == ADVGP_EINVAL && !e, targets[i].address, "%s", err.text);
        CHECK(strstr(err.text, targets[i].said), targets[i].address, "'%s' is not in: %s", targets[i].said, err.text);
        place_free(p);
    }
    place *p = place_new("no.such.host.invalid:5555", NULL, NULL); // it may come to be known
    hang_up(worker_for(p, LARGEST));
    place_free(p);
    hang_up(lead);
}

static void every_interface_may_be_listened_at_with_keys(void **state)
{
    (void)state;
    gp_endpoint *lead = lead_at("*", &lead_keys, 4);
    char address[64];
    assert_int_equal(strncmp(gp_zmq_address(lead), "tcp://0.0.0.0:", 14), 0);
    snprintf(address, sizeof address, "127.0.0.1%s", strrchr(gp_zmq_address(lead), ':'));
    place *p = place_new(address, lead_keys.public_key, &worker_keys);
    gp_endpoint *worker = worker_for(p, LARGEST);
    assert_true(exchange(worker, lead, "hello", hang_limit()));
    hang_up(worker), hang_up(lead), place_free(p);
}

// ---- closing and waiting --------------------------------------------------------------------------------------------

static void the_last_words_arrive(void **state)
{
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        gp_endpoint *lead = lead_new(secure ? &lead_keys : NULL), *w[4];
        place *p = place_new(gp_zmq_address(lead), secure ? lead_keys.public_key : NULL, secure ? &worker_keys : NULL);
        for (size_t k = 0; k < 4; k++) {
            w[k] = worker_for(p, LARGEST);
            assert_true(exchange(w[k], lead, k % 2 ? "odd" : "even", hang_limit()));
        }
        send_text(w[0], 0, "I leave");
        hang_up(w[0]);
        assert_int_equal(hear(lead, "I leave", hang_limit()), 1);
        for (size_t k = 1; k <= 4; k++) send_text(lead, k, "bye");
        const double start = gp_clock_wall();
        hang_up(lead);
        CHECK(gp_clock_wall() - start < hang_limit(), "closing", "took %.1f s", gp_clock_wall() - start);
        for (size_t k = 1; k < 4; k++) {
            CHECK(hear(w[k], "bye", hang_limit()) == 0, "bye", "of worker %zu", k);
            const double now = gp_clock_wall();
            send_text(w[k], 0, "nobody hears this");
            hang_up(w[k]);
            CHECK(gp_clock_wall() - now < hang_limit(), "closing", "took %.1f s", gp_clock_wall() - now);
        }
        place_free(p);
    }
}

static void signs_of_life_go_both_ways_while_the_owners_sleep(void **state)
{
    (void)state;
    gp_endpoint *lead = lead_new(&lead_keys);
    place *p = place_new(gp_zmq_address(lead), lead_keys.public_key, &worker_keys);
    gp_endpoint *worker = worker_for(p, LARGEST);
    advgp_error err = {0};
    assert_true(exchange(worker, lead, "hello", hang_limit()));
    CHECK_OK(worker->transport->beat(worker, 0.05, "worker lives", 12, &err), "beat");
    CHECK_OK(lead->transport->beat(lead, 0.05, "lead lives", 10, &err), "beat");
    nap(0.5);
    assert_int_equal(hear(lead, "worker lives", 0), 1);
    assert_int_equal(hear(worker, "lead lives", 0), 0);
    // While it hears the lead, a worker does not ask where that is.
    const int asked = times_asked(p);
    nap(4);
    assert_int_equal(times_asked(p), asked);
    hang_up(worker), hang_up(lead), place_free(p);
}

static void waiting_costs_no_cpu(void **state)
{
    (void)state;
    gp_endpoint *lead = lead_new(&lead_keys), *w[4];
    place *p = place_new(gp_zmq_address(lead), lead_keys.public_key, &worker_keys);
    place *nowhere = place_new(NULL, NULL, NULL);
    gp_endpoint *alone = worker_for(nowhere, LARGEST);
    for (size_t k = 0; k < 4; k++) {
        w[k] = worker_for(p, LARGEST);
        assert_true(exchange(w[k], lead, "hello", hang_limit()));
    }
    const double cpu = gp_clock_cpu(), start = gp_clock_wall();
    nap(3);
    const double share = (gp_clock_cpu() - cpu) / (gp_clock_wall() - start);
    print_message("a lead, four workers and one without a lead wait at %.2f %% of a core\n", 100 * share);
    CHECK(share < 0.02, "waiting", "%.2f %% of a core", 100 * share);
    for (size_t k = 0; k < 4; k++) hang_up(w[k]);
    hang_up(alone), hang_up(lead), place_free(p), place_free(nowhere);
}

static void a_build_without_it_says_how_to_get_it(void **state)
{
    (void)state;
    advgp_error err = {0};
    gp_endpoint *e;
    gp_zmq_identity keys;
    const gp_zmq_listen_options l = {.address = "127.0.0.1", .peers_max = 1};
    const gp_zmq_connect_options c = {.find = find};
    assert_int_equal(gp_zmq_listen(&l, &e, &err), ADVGP_EINVAL);
    assert_non_null(strstr(err.text, "libzmq3-dev"));
    assert_null(e);
    CHECK_FAILS(ADVGP_EINVAL, gp_zmq_connect(&c, &e, &err), "connect");
    CHECK_FAILS(ADVGP_EINVAL, gp_zmq_keypair(&keys, &err), "keypair");
    CHECK_FAILS(ADVGP_EINVAL, gp_zmq_public_of("", keys.public_key, &err), "public");
    assert_non_null(gp_transport_zmq.how);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_text_and_belong_together),
        cmocka_unit_test(a_worker_with_a_key_of_the_list_is_served),
        cmocka_unit_test(a_worker_that_is_not_wanted_is_told_so_in_time),
        cmocka_unit_test(several_leads_in_one_process_do_not_mix_their_lists),
        cmocka_unit_test(the_same_key_may_serve_two_connections),
        cmocka_unit_test(strangers_at_the_port_harm_nobody),
        cmocka_unit_test(a_connection_that_says_nothing_is_ended),
        cmocka_unit_test(messages_of_strange_form_are_dropped_and_counted),
        cmocka_unit_test(a_message_too_large_ends_its_own_connection_only),
        cmocka_unit_test(more_peers_than_there_is_room_for_are_not_heard_until_one_is_gone),
        cmocka_unit_test(a_message_of_parts_without_end_is_ended),
        cmocka_unit_test(too_many_connections_cost_those_that_say_nothing),
        cmocka_unit_test(where_descriptors_are_short_it_says_so),
        cmocka_unit_test(signs_of_life_are_given_while_a_name_is_looked_up),
        cmocka_unit_test(many_workers_come_and_go),
        cmocka_unit_test(the_limit_of_descriptors_is_raised),
        cmocka_unit_test(a_lead_that_starts_later_is_found),
        cmocka_unit_test(a_lead_that_moves_to_another_port_is_found),
        cmocka_unit_test(a_lead_that_starts_again_at_its_port_is_found),
        cmocka_unit_test(where_the_lead_is_may_be_a_failure),
        cmocka_unit_test(a_name_is_looked_up_again_when_the_connection_is_lost),
        cmocka_unit_test(whom_it_asks_may_go_when_it_is_closed),
        cmocka_unit_test(what_cannot_be_opened_says_why),
        cmocka_unit_test(every_interface_may_be_listened_at_with_keys),
        cmocka_unit_test(the_last_words_arrive),
        cmocka_unit_test(signs_of_life_go_both_ways_while_the_owners_sleep),
        cmocka_unit_test(waiting_costs_no_cpu),
    };
    const struct CMUnitTest absent[] = {cmocka_unit_test(a_build_without_it_says_how_to_get_it)};
    return gp_transport_zmq.available ? cmocka_run_group_tests(tests, make_keys, NULL)
                                      : cmocka_run_group_tests(absent, NULL, NULL);
}
