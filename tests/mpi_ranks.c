// mpi_ranks.c: the contract of transport.h over MPI, where every endpoint is a process. Rank 0 drives the laws that
// src/transport/transport_test.c asks of the transports within one process; the others do what its messages say.
//   mpirun -n 4 mpi_ranks laws [PIECE]     the contract, with messages above PIECE bytes in pieces (default 65536)
//   mpirun -n 4 mpi_ranks die|unnoticed    a worker is killed; the server says so before it closes, or does not know
//   mpirun -n 4 mpi_ranks rude [PIECE]     a worker sends more than was agreed
//   mpirun -n 4 mpi_ranks left|late        a worker closes and is killed, before the end is told or while it is
//   mpirun -n 4 mpi_ranks headless         the server is killed
//   mpi_ranks open                         only opens, and prints why it cannot
// All but the first need mpirun --enable-recovery.
#define _GNU_SOURCE
#include "base/clock.h"
#include "fixture.h"
#include "transport/launch.h"
#include "transport/mpi.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_MAX = 1 << 22, FLOOD = 5000, FLOOD_SIZE = 4096, EXCHANGED = 2000 };
static const double silence = 2, stuck_after = 0.3;

static gp_endpoint *self;
static gp_ranks place;
static size_t piece = 65536;
static unsigned char *buffer; // of MESSAGE_MAX + 1 bytes

static void sleep_for(double seconds)
{
    const struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

// The first byte is what to do with it; then a number; the others follow from these and its sender.
static void compose(size_t n, char kind, uint64_t from, uint64_t number)
{
    gp_rng rng = gp_rng_seeded(from * 1000003 + number, n);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint64_t word = gp_rng_u64(&rng);
        memcpy(buffer + i, &word, 8);
    }
    for (; i < n; i++) buffer[i] = (unsigned char)i;
    if (n) buffer[0] = (unsigned char)kind;
    if (n >= 9) memcpy(buffer + 1, &number, 8);
}

static bool is_as_composed(const void *bytes, size_t n, char kind, uint64_t from, uint64_t number)
{
    compose(n, kind, from, number);
    return !memcmp(bytes, buffer, n);
}

static char kind_of(const void *bytes, size_t n)
{
    return (char)(n ? *(const char *)bytes : 0);
}

static uint64_t number_of(const void *bytes, size_t n)
{
    uint64_t number = UINT64_MAX;
    if (n >= 9) memcpy(&number, (const char *)bytes + 1, 8);
    return number;
}

// ---- what workers do ------------------------------------------------------------------------------------------------

static void must(bool condition, const char *what)
{
    if (condition) return;
    fprintf(stderr, "rank %zu: %s\n", place.rank, what);
    fflush(stderr);
    _exit(3); // mpirun ends the others
}

static void worker_send(const void *bytes, size_t n)
{
    must(gp_courier_send(self, 0, bytes, n, NULL) == ADVGP_OK, "cannot send");
}

static const void *worker_receive(double seconds, size_t *n)
{
    size_t peer;
    const void *bytes;
    must(gp_courier_receive(self, seconds, &peer, &bytes, n, NULL) == ADVGP_OK && peer == 0, "cannot receive");
    return bytes;
}

// Answers with a kind and a number.
static void report(char kind, double number)
{
    unsigned char bytes[9] = {(unsigned char)kind};
    memcpy(bytes + 1, &number, 8);
    worker_send(bytes, sizeof bytes);
}

// Up to `window` requests outstanding; at every seventh a sign of life beside it, as a worker of a run does.
static void talk(uint64_t count, uint64_t window)
{
    uint64_t asked = 0, wrong = 0;
    size_t n;
    for (uint64_t answered = 0; answered < count; answered++) {
        for (; asked < count && asked < answered + window; asked++) {
            const size_t length = 16 + gp_hash_u64(place.rank, asked) % 3000;
            if (window == 1 && asked % 7 == 0) worker_send("alive", 5);
            compose(length, 'r', place.rank, asked);
            worker_send(buffer, length);
        }
        const void *got = worker_receive(20, &n);
        must(got, "an answer was lost");
        wrong += n != 16 + gp_hash_u64(place.rank, answered) % 3000 ||
                 !is_as_composed(got, n, 'r', place.rank, answered);
    }
    report('t', (double)wrong);
}

static size_t count_what_comes(double seconds, const char *text)
{
    size_t n, count = 0;
    const double until = gp_clock_wall() + seconds;
    for (double left; (left = until - gp_clock_wall()) > 0;) {
        const void *got = worker_receive(left, &n);
        count += got && (!text || (n == strlen(text) && !memcmp(got, text, n)));
    }
    return count;
}

// False: it is over.
static bool obey(const void *bytes, size_t n)
{
    const double cpu = gp_clock_cpu(), wall = gp_clock_wall();
    const long blocks = gp_alloc_count().live;
    const uint64_t number = number_of(bytes, n);
    switch (kind_of(bytes, n)) {
    case 'e':
        worker_send(bytes, n);
        break;
    case 'p':
        report('p', (double)getpid());
        break;
    case 't':
        talk(number >> 8, number & 255);
        break;
    case 'i':
        must(!worker_receive(1, &n), "something came");
        report('i', (gp_clock_cpu() - cpu) / (gp_clock_wall() - wall));
        break;
    case 'f':
        for (uint64_t i = 0; i < FLOOD; i++) {
            compose(FLOOD_SIZE, 'F', place.rank, i);
            worker_send(buffer, FLOOD_SIZE);
        }
        must(gp_alloc_count().live - blocks < 100, "a flood takes memory");
        sleep_for(0.5);
        worker_send("done", 4);
        break;
    case 'd':
        sleep_for(0.5);
        report('d', (double)count_what_comes(1, NULL));
        break;
    case 'b':
        must(gp_courier_beat(self, 0.02, "alive", 5, NULL) == ADVGP_OK, "beat");
        sleep_for(1);
        must(gp_courier_beat(self, 0, NULL, 0, NULL) == ADVGP_OK, "beat");
        sleep_for(0.05);
        worker_send("done", 4);
        break;
    case 'c':
        report('c', (double)count_what_comes(1, "alive"));
        break;
    case 'x':
        worker_send(buffer, MESSAGE_MAX + 1);
        worker_send("done", 4);
        break;
    case 's':
        raise(SIGSTOP);
        break;
    case 'k':
        for (int i = 0; i < 50; i++) worker_send(buffer, 400000), sleep_for(0.002);
        raise(SIGKILL);
        break;
    case 'q':
        return false;
    }
    return true;
}

static int leave(int status)
{
    fflush(NULL);
    if (gp_mpi_must_exit_hard()) _exit(status);
    return status;
}

// mourning: the worker must not find an end of MPI; else it must. anyhow: that is the launcher's affair.
static int work(bool mourning, bool anyhow)
{
    size_t n;
    worker_send("hello", 5);
    for (const void *got = NULL; !got || obey(got, n);) {
        got = worker_receive(mourning ? 3 : 60, &n);
        if (!got) break;
    }
    gp_courier_close(self);
    if (anyhow || gp_mpi_must_exit_hard() == mourning) return leave(0);
    fprintf(stderr, "rank %zu: %s\n", place.rank, mourning ? "ended MPI with a peer lost" : "left without need");
    return leave(3);
}

// ---- what the server asks -------------------------------------------------------------------------------------------

static void server_send(size_t peer, const void *bytes, size_t n)
{
    advgp_error err = {0};
    CHECK_OK(gp_courier_send(self, peer, bytes, n, &err), "mpi");
}

static const void *server_receive(double seconds, size_t *peer, size_t *n)
{
    advgp_error err = {0};
    const void *bytes;
    CHECK_OK(gp_courier_receive(self, seconds, peer, &bytes, n, &err), "mpi");
    assert_int_equal((uintptr_t)bytes % 8, 0);
    return bytes;
}

static void order(size_t peer, char kind, uint64_t number)
{
    unsigned char bytes[9] = {(unsigned char)kind};
    memcpy(bytes + 1, &number, 8);
    server_send(peer, bytes, sizeof bytes);
}

// The report of that kind from each of n peers, beginning with the first; what else comes is thrown away.
static void await_all(size_t first, size_t count, char kind, double *numbers)
{
    const double until = gp_clock_wall() + 20;
    bool has[64] = {false};
    size_t missing = count;
    for (double left; missing && (left = until - gp_clock_wall()) > 0;) {
        size_t peer, n;
        const void *got = server_receive(left, &peer, &n);
        if (!got || n != 9 || kind_of(got, n) != kind || peer < first || peer >= first + count || has[peer]) continue;
        memcpy(&numbers[peer - first], (const char *)got + 1, 8);
        has[peer] = true;
        missing--;
    }
    CHECK(!missing, "mpi", "no '%c' from %zu of %zu workers", kind, missing, count);
}

static double await(size_t peer, char kind)
{
    double number = 0;
    await_all(peer, 1, kind, &number);
    return number;
}

static size_t throw_away(double seconds)
{
    size_t peer, n, count = 0;
    while (server_receive(seconds, &peer, &n)) count++;
    return count;
}

static void echo(size_t peer, size_t length, uint64_t number)
{
    size_t from, n;
    compose(length, 'e', peer, number);
    server_send(peer, buffer, length);
    memset(buffer, 0xee, length);
    const void *got = server_receive(20, &from, &n);
    CHECK(got && from == peer && n == length, "mpi", "%zu instead of %zu bytes from %zu, asked %zu", n, length, from,
          peer);
    CHECK(is_as_composed(got, n, 'e', peer, number), "mpi", "%zu bytes through %zu", length, peer);
}

static void everybody_says_hello(void **state)
{
    (void)state;
    bool heard[64] = {false};
    for (size_t k = 1; k < place.size; k++) {
        size_t peer, n;
        const void *got = server_receive(30, &peer, &n);
        CHECK(got && n == 5 && !memcmp(got, "hello", 5) && peer < place.size && !heard[peer], "mpi", "from %zu", peer);
        heard[peer] = true;
    }
    assert_true(place.host[0]);
}

static void bytes_arrive_as_they_were_sent_and_the_sender_may_reuse_its_own(void **state)
{
    (void)state;
    for (uint64_t round = 1; round < 60; round++)
        for (size_t k = 1; k < place.size; k++) echo(k, round < 40 ? (size_t)round : 3000 + (size_t)round, round);
    // at and around the size of a piece, and many pieces
    const size_t around[] = {piece - 1, piece, piece + 1, 2 * piece, 2 * piece + 1, 40 * piece + 7};
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        if (around[i] <= MESSAGE_MAX)
            for (size_t k = 1; k < place.size; k++) echo(k, around[i], i);
    if (piece > 1000) echo(1, MESSAGE_MAX, 1);
}

// Serves what talk() of all workers asks until the last has reported.
static void serve(uint64_t count, uint64_t window)
{
    uint64_t next[64] = {0};
    for (size_t k = 1; k < place.size; k++) order(k, 't', count << 8 | window);
    for (size_t talking = place.size - 1; talking;) {
        size_t peer, n;
        const void *got = server_receive(20, &peer, &n);
        CHECK(got, "mpi", "%d, %d and %d of %d", (int)next[1], (int)next[2], (int)next[3], (int)count);
        if (kind_of(got, n) == 'a') continue;
        if (kind_of(got, n) == 't') {
            assert_true(next[peer] == count && number_of(got, n) == 0);
            talking--;
            continue;
        }
        CHECK(number_of(got, n) == next[peer] && is_as_composed(got, n, 'r', peer, next[peer]), "mpi",
              "%d instead of %d from %zu", (int)number_of(got, n), (int)next[peer], peer);
        next[peer]++;
        server_send(peer, got, n);
    }
}

static void many_messages_are_exchanged_and_none_is_lost(void **state)
{
    (void)state;
    serve(piece > 1000 ? EXCHANGED : EXCHANGED / 20, 1);
}

static void messages_of_one_peer_arrive_in_order(void **state)
{
    (void)state;
    serve(piece > 1000 ? EXCHANGED : EXCHANGED / 20, 3);
}

static void an_empty_receive_comes_back_in_time_with_nothing(void **state)
{
    (void)state;
    size_t peer, n;
    const double waits[] = {0, 0.001, 0.02, 0.1};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const double start = gp_clock_wall();
        assert_null(server_receive(waits[i], &peer, &n));
        const double took = gp_clock_wall() - start;
        CHECK(took >= waits[i] * 0.999 && took < waits[i] + 5, "mpi", "%g instead of %g s", took, waits[i]);
    }
}

// Of the whole process, whose courier looks for messages all the time.
static void who_waits_leaves_the_cpu_to_others(void **state)
{
    (void)state;
    size_t peer, n;
    const double cpu = gp_clock_cpu(), wall = gp_clock_wall();
    assert_null(server_receive(0.8, &peer, &n));
    const double share = (gp_clock_cpu() - cpu) / (gp_clock_wall() - wall);
    printf("waiting: the server %.1f %%", 100 * share);
    double largest = share;
    double shares[64];
    for (size_t k = 1; k < place.size; k++)
        order(k, 'i', 0); // after the server's turn: their answers would end its wait
    await_all(1, place.size - 1, 'i', shares);
    for (size_t k = 1; k < place.size; k++) {
        printf(", worker %zu %.1f %%", k, 100 * shares[k - 1]);
        largest = fmax(largest, shares[k - 1]);
    }
    printf(" of a core\n");
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    CHECK(largest < 0.05, "mpi", "waiting costs %g of a core", largest);
#endif
}

static void nobody_is_blocked_by_a_receiver_that_does_not_read(void **state)
{
    (void)state;
    size_t peer, n, came = 0;
    const long blocks = gp_alloc_count().live;
    order(1, 'f', 0);
    order(2, 'd', 0);
    for (uint64_t i = 0; i < FLOOD; i++) {
        compose(FLOOD_SIZE, 'F', 0, i);
        server_send(2, buffer, FLOOD_SIZE);
    }
    sleep_for(0.4);
    CHECK(gp_alloc_count().live - blocks < 100, "mpi", "%ld blocks for what nobody reads",
          gp_alloc_count().live - blocks);
    uint64_t last = 0;
    double read = -1;
    const double start = gp_clock_wall();
    for (bool done = false; !done || read < 0;) {
        const void *got = server_receive(2, &peer, &n);
        CHECK(gp_clock_wall() - start < 60, "mpi", "it is not done");
        if (!got) { // it may have been done before this one came to read, and what was too much then is lost
            order(1, 'p', 0);
            continue;
        }
        done = done || (peer == 1 && (n == 4 || kind_of(got, n) == 'p'));
        if (peer == 2 && kind_of(got, n) == 'd') memcpy(&read, (const char *)got + 1, 8);
        if (peer == 1 && kind_of(got, n) == 'F') {
            CHECK(!came || number_of(got, n) > last, "mpi", "%d after %d", (int)number_of(got, n), (int)last);
            last = number_of(got, n);
            came++;
        }
    }
    CHECK(came > 0 && came <= FLOOD, "mpi", "%zu messages", came);
    CHECK(read > 0 && read < FLOOD, "mpi", "%g messages", read);
    throw_away(0.2);
    for (size_t k = 1; k < place.size; k++) echo(k, 64, 7); // and afterwards all is well
}

static void signs_of_life_come_while_their_sender_sleeps(void **state)
{
    (void)state;
    size_t peer, n, count = 0;
    advgp_error err = {0};
    const double began = gp_clock_wall(); // its second may be longer on a busy machine
    order(1, 'b', 0);
    for (const void *got = NULL; !got || n != 4;) {
        got = server_receive(20, &peer, &n);
        assert_non_null(got);
        count += n == 5;
    }
    const double took = gp_clock_wall() - began;
    CHECK(count >= 10 && (double)count <= took / 0.02 + 10, "mpi", "%zu signs of life in %g s, one every 20 ms", count,
          took);
    assert_null(server_receive(0.1, &peer, &n)); // and then no more
    for (size_t k = 1; k < place.size; k++) order(k, 'c', 0);
    CHECK_OK(gp_courier_beat(self, 0.02, "alive", 5, &err), "mpi");
    sleep_for(1);
    CHECK_OK(gp_courier_beat(self, 0, NULL, 0, &err), "mpi");
    double heard[64];
    await_all(1, place.size - 1, 'c', heard);
    for (size_t k = 1; k < place.size; k++)
        CHECK(heard[k - 1] >= 10 && heard[k - 1] <= 60, "mpi", "worker %zu heard %g signs of life", k, heard[k - 1]);
}

static void *wake_soon(void *arg)
{
    sleep_for(0.02);
    gp_courier_wake(arg);
    return NULL;
}

static void another_thread_can_wake_who_waits(void **state)
{
    (void)state;
    size_t peer, n;
    pthread_t id;
    gp_courier_wake(self);
    double start = gp_clock_wall();
    assert_null(server_receive(60, &peer, &n));
    assert_int_equal(pthread_create(&id, NULL, wake_soon, self), 0);
    assert_null(server_receive(60, &peer, &n));
    CHECK(gp_clock_wall() - start < 30, "mpi", "slept through it");
    assert_int_equal(pthread_join(id, NULL), 0);
    start = gp_clock_wall();
    assert_null(server_receive(0.01, &peer, &n));
    CHECK(gp_clock_wall() - start >= 0.0099, "mpi", "a wake counts once");
}

static void what_cannot_be_sent_is_refused_with_a_text(void **state)
{
    (void)state;
    advgp_error err = {0};
    CHECK_FAILS(ADVGP_EINVAL, gp_courier_send(self, 1, buffer, MESSAGE_MAX + 1, &err), "too long");
    CHECK_FAILS(ADVGP_EINVAL, gp_courier_send(self, 0, buffer, 64, &err), "to itself");
    CHECK_FAILS(ADVGP_EINVAL, gp_courier_send(self, place.size, buffer, 64, &err), "to nobody");
    gp_endpoint *second;
    CHECK_FAILS(ADVGP_EINVAL, gp_mpi_open(&(gp_mpi_options){.message_max = 64}, &second, NULL, &err), "a second one");
    assert_null(second);
    gp_courier_close(NULL);
}

static long resident_kb(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static char state_of(int pid)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d %*s %c", &state) != 1) state = '?';
    if (f) fclose(f);
    return state;
}

static void a_process_that_stands_still_costs_nothing_and_comes_back(void **state)
{
    (void)state;
    order(1, 'p', 0);
    const int pid = (int)await(1, 'p');
    order(1, 's', 0);
    const double start = gp_clock_wall();
    while (state_of(pid) != 'T' && gp_clock_wall() - start < 20) sleep_for(0.01);
    assert_int_equal(state_of(pid), 'T');
    const long blocks = gp_alloc_count().live, before = resident_kb();
    for (uint64_t i = 0; i < FLOOD; i++) { // 20 MB and more
        compose(FLOOD_SIZE, 'F', 1, i);
        server_send(1, buffer, FLOOD_SIZE);
        if (i % 100 == 0) echo(2, 64, i), sleep_for(0.01);
    }
    CHECK(gp_clock_wall() - start > stuck_after, "mpi", "too fast to be stuck");
    CHECK(gp_alloc_count().live - blocks < 100, "mpi", "%ld blocks for one that is stopped",
          gp_alloc_count().live - blocks);
    const long grown = resident_kb() - before;
    printf("5000 x 4 kB to a stopped process: %ld kB more\n", grown);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    CHECK(grown < 8000, "mpi", "%ld kB for one that is stopped", grown);
#endif
    assert_int_equal(kill(pid, SIGCONT), 0);
    // What was under way to it may come first; then it answers again.
    const double woken = gp_clock_wall();
    for (bool answered = false; !answered;) {
        size_t peer, n;
        order(1, 'p', 0);
        const void *got = server_receive(0.2, &peer, &n);
        answered = got && peer == 1 && kind_of(got, n) == 'p';
        CHECK(gp_clock_wall() - woken < 20, "mpi", "it does not come back");
    }
    throw_away(0.5);
    for (size_t k = 1; k < place.size; k++) echo(k, 64, 8);
}

static void *wake_later(void *pid)
{
    sleep_for(silence / 2);
    kill(*(int *)pid, SIGCONT);
    return NULL;
}

// A worker that has closed waits for the server's end, however long that takes, as long as it hears of it. The last one
// sleeps when the end is told: the others have ended by then, and must not be told anything more.
static void who_leaves_early_waits_for_the_end(void **state)
{
    (void)state;
    const size_t sleeper = place.size - 1;
    order(sleeper, 'p', 0);
    int pid = (int)await(sleeper, 'p');
    order(1, 'q', 0);
    order(sleeper, 'q', 0);
    for (double until = gp_clock_wall() + 1.5 * silence; gp_clock_wall() < until;)
        for (size_t k = 2; k < sleeper; k++) echo(k, 1000, k), sleep_for(0.02);
    server_send(1, "to nobody", 9);
    for (size_t k = 2; k < sleeper; k++) order(k, 'q', 0);
    pthread_t alarm;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(pthread_create(&alarm, NULL, wake_later, &pid), 0);
    gp_courier_close(self);
    pthread_join(alarm, NULL);
    assert_false(gp_mpi_must_exit_hard());
}

// ---- deaths ---------------------------------------------------------------------------------------------------------

static void a_peer_that_is_gone_hurts_nobody(void **state)
{
    const bool unnoticed = *(bool *)*state;
    const size_t gone = 2;
    size_t peer, n, came = 0;
    order(gone, 'k', 0);
    const long blocks = gp_alloc_count().live;
    for (double until = gp_clock_wall() + 1.5; gp_clock_wall() < until;) {
        for (size_t k = 1; k < place.size; k++)
            if (k != gone) compose(50000, 'e', k, came), server_send(k, buffer, 50000);
        server_send(gone, buffer, 50000);
        for (size_t answers = 0; answers < place.size - 2;) {
            const void *got = server_receive(20, &peer, &n);
            CHECK(got, "mpi", "the others go on");
            if (peer == gone) continue;
            CHECK(is_as_composed(got, n, 'e', peer, came), "mpi", "from %zu", peer);
            answers++;
        }
        came++;
    }
    CHECK(gp_alloc_count().live - blocks < 150, "mpi", "%ld blocks", gp_alloc_count().live - blocks);
    printf("%zu rounds with the others\n", came);
    for (size_t k = 1; k < place.size; k++)
        if (k != gone) order(k, 'q', 0);
    const double start = gp_clock_wall();
    if (!unnoticed) gp_mpi_lost(self);
    gp_courier_close(self);
    const double took = gp_clock_wall() - start;
    CHECK(took < (unnoticed ? silence + 3 : 3), "mpi", "closing took %g s", took);
    assert_true(gp_mpi_must_exit_hard());
}

// Worker 2 leaves early, as one that was asked to stop does, and does not live to see the end: it is killed before
// that, so that the others are told in time, or stands still when the end is told, which nobody can know before.
static void who_leaves_and_dies_keeps_nobody(void **state)
{
    const bool in_time = *(bool *)*state;
    const size_t gone = 2;
    order(gone, 'p', 0);
    const int pid = (int)await(gone, 'p');
    order(gone, 'q', 0);
    for (double until = gp_clock_wall() + silence / 2; gp_clock_wall() < until;)
        for (size_t k = 1; k < place.size; k++)
            if (k != gone) echo(k, 1000, k), sleep_for(0.02);
    assert_int_equal(kill(pid, in_time ? SIGKILL : SIGSTOP), 0);
    for (double until = gp_clock_wall() + silence / 2; in_time && gp_clock_wall() < until;) echo(1, 1000, 1);
    for (size_t k = 1; k < place.size; k++)
        if (k != gone) order(k, 'q', 0);
    const double start = gp_clock_wall();
    gp_courier_close(self);
    const double took = gp_clock_wall() - start;
    kill(pid, SIGKILL);
    CHECK(took < 2 * silence + 3, "mpi", "closing took %g s", took);
    assert_true(gp_mpi_must_exit_hard());
}

// The last rank was opened for one byte more than the others.
static void who_sends_more_than_agreed_is_not_heard_any_more(void **state)
{
    (void)state;
    const size_t rude = place.size - 1;
    const long before = resident_kb();
    order(rude, 'x', 0);
    size_t peer, n;
    assert_null(server_receive(0.5, &peer, &n));
    for (uint64_t i = 0; i < 100; i++) {
        server_send(rude, buffer, 64);
        for (size_t k = 1; k < rude; k++) echo(k, 1000, i);
    }
    CHECK(resident_kb() - before < 3000, "mpi", "%ld kB for what was not agreed to", resident_kb() - before);
    for (size_t k = 1; k < place.size; k++) order(k, 'q', 0);
    gp_courier_close(self);
    assert_true(gp_mpi_must_exit_hard());
}

// As far as it can be asked more than once: before MPI is begun.
static void opening_fails_cleanly_without_memory(const gp_mpi_options *o)
{
    for (long calls = 0; calls < 3; calls++) {
        const long live = gp_alloc_count().live;
        advgp_error err = {0};
        gp_alloc_fail_after(calls);
        const advgp_status st = gp_mpi_open(o, &self, NULL, &err);
        gp_alloc_fail_after(-1);
        must(st == ADVGP_ENOMEM && !self && err.text[0] && gp_alloc_count().live == live, "opened without memory");
    }
}

static int play_server(const char *mode)
{
    const struct CMUnitTest laws[] = {
        cmocka_unit_test(everybody_says_hello),
        cmocka_unit_test(bytes_arrive_as_they_were_sent_and_the_sender_may_reuse_its_own),
        cmocka_unit_test(many_messages_are_exchanged_and_none_is_lost),
        cmocka_unit_test(messages_of_one_peer_arrive_in_order),
        cmocka_unit_test(an_empty_receive_comes_back_in_time_with_nothing),
        cmocka_unit_test(who_waits_leaves_the_cpu_to_others),
        cmocka_unit_test(nobody_is_blocked_by_a_receiver_that_does_not_read),
        cmocka_unit_test(signs_of_life_come_while_their_sender_sleeps),
        cmocka_unit_test(another_thread_can_wake_who_waits),
        cmocka_unit_test(what_cannot_be_sent_is_refused_with_a_text),
        cmocka_unit_test(a_process_that_stands_still_costs_nothing_and_comes_back),
        cmocka_unit_test(who_leaves_early_waits_for_the_end),
    };
    bool unnoticed = !strcmp(mode, "unnoticed"), in_time = !strcmp(mode, "left");
    const struct CMUnitTest rude[] = {
        cmocka_unit_test(everybody_says_hello),
        cmocka_unit_test(who_sends_more_than_agreed_is_not_heard_any_more),
    };
    const struct CMUnitTest death[] = {
        cmocka_unit_test(everybody_says_hello),
        cmocka_unit_test_prestate(a_peer_that_is_gone_hurts_nobody, &unnoticed),
    };
    const struct CMUnitTest left[] = {
        cmocka_unit_test(everybody_says_hello),
        cmocka_unit_test_prestate(who_leaves_and_dies_keeps_nobody, &in_time),
    };
    if (!strcmp(mode, "headless")) {
        for (size_t k = 1; k < place.size; k++) {
            size_t peer, n;
            must(gp_courier_receive(self, 30, &peer, &(const void *){NULL}, &n, NULL) == ADVGP_OK, "hello");
        }
        raise(SIGKILL);
    }
    if (in_time || !strcmp(mode, "late")) return cmocka_run_group_tests(left, NULL, NULL);
    if (!strcmp(mode, "rude")) return cmocka_run_group_tests(rude, NULL, NULL);
    return strcmp(mode, "laws") ? cmocka_run_group_tests(death, NULL, NULL) : cmocka_run_group_tests(laws, NULL, NULL);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "open";
    const bool laws = !strcmp(mode, "laws");
    if (argc > 2) piece = strtoul(argv[2], NULL, 10);
    buffer = calloc(1, MESSAGE_MAX + 1);
    if (!buffer) return 1;
    advgp_error err = {0};
    const gp_launch launch = gp_launch_read();
    gp_mpi_options o = {.message_max = MESSAGE_MAX, .piece = piece, .stuck_after = stuck_after, .silence = silence};
    if (!strcmp(mode, "rude") && launch.rank + 1 == launch.size) o.message_max++;
    if (laws && gp_mpi_launched()) opening_fails_cleanly_without_memory(&o);
    if (gp_mpi_open(&o, &self, &place, &err) != ADVGP_OK) {
        printf("%s\n", err.text);
        return leave(1);
    }
    const int status = place.rank == 0 ? play_server(mode) : work(!laws, !strcmp(mode, "late"));
    return leave(status != 0);
}
