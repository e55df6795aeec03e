// transport: what messages between processes cost: pairs a second (a push of n doubles and an answer of as many), the
// server's CPU for a pair, and the CPU of a worker that waits. The server only copies; all processes are on this
// machine, so that pairs a second say little on few cores, and CPU times much. The first pair of every worker and size
// is verified, in both directions. Beside each figure stands what small programs that know nothing of advgp took
// (`reference`).
//   transport [--quick]                  over ZeroMQ, plain and with keys, 4 to 200 workers: 2 minutes, or 20 s
//   mpirun -n 5 transport mpi [--quick]  over MPI, with as many workers as it has ranks but one
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/clock.h"
#include "base/machine.h"
#include "transport/launch.h"
#include "transport/mpi.h"
#include "transport/zmq.h"

#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DOUBLES_MAX = 50000, WORKERS_MAX = 200, PEERS_MAX = 2 * WORKERS_MAX + 16, PROCESSES_MAX = 20 };
static const double resend_after = 5, idle_seconds = 2, heartbeat = 2;

enum kind { PUSH, REPORT, GO, CHECK, IDLE, STOP };

typedef struct message {
    uint64_t kind, number, n; // n doubles follow; an answer's `next` says how many the next push shall have
    uint64_t next;
    double x[];
} message;

enum { MESSAGE_MAX = sizeof(message) + DOUBLES_MAX * sizeof(double) };

static void insist(bool condition, const char *what, const char *text)
{
    if (condition) return;
    fprintf(stderr, "transport: %s%s%s\n", what, *text ? ": " : "", text);
    fflush(NULL);
    _exit(1); // MPI's launcher ends the others
}

static message *message_new(void)
{
    message *m = gp_alloc(1, MESSAGE_MAX);
    insist(m, "no memory", "");
    return m;
}

static double expected(size_t n, size_t i, bool answer)
{
    return (double)(n * 7 + i * 3 + answer) / 8;
}

static void fill(message *m, size_t n, bool answer)
{
    m->n = n;
    for (size_t i = 0; i < n; i++) m->x[i] = expected(n, i, answer);
}

static bool is_right(const message *m, size_t bytes, bool answer)
{
    bool right = bytes == sizeof *m + m->n * sizeof(double);
    for (size_t i = 0; right && i < m->n; i++) right = m->x[i] == expected(m->n, i, answer);
    return right;
}

// ---- a worker -------------------------------------------------------------------------------------------------------

static void send(gp_endpoint *e, size_t peer, const message *m)
{
    advgp_error err = {0};
    insist(e->transport->send(e, peer, m, sizeof *m + m->n * sizeof(double), &err) == ADVGP_OK, "send", err.text);
}

static const message *receive(gp_endpoint *e, double seconds, size_t *peer, size_t *n)
{
    advgp_error err = {0};
    const void *bytes;
    insist(e->transport->receive(e, seconds, peer, &bytes, n, &err) == ADVGP_OK, "receive", err.text);
    return bytes;
}

// Waits as a worker does whose push is not used yet: with signs of life.
static double cpu_share_of_waiting(gp_endpoint *e)
{
    size_t peer, n;
    advgp_error err = {0};
    insist(e->transport->beat(e, heartbeat, "alive", 5, &err) == ADVGP_OK, "beat", err.text);
    const double cpu = gp_clock_cpu(), wall = gp_clock_wall();
    for (double left; (left = wall + idle_seconds - gp_clock_wall()) > 0;) receive(e, left, &peer, &n);
    const double share = (gp_clock_cpu() - cpu) / (gp_clock_wall() - wall);
    insist(e->transport->beat(e, 0, NULL, 0, &err) == ADVGP_OK, "beat", err.text);
    return share;
}

static void *work(void *arg)
{
    gp_endpoint *e = arg;
    message *m = message_new();
    size_t peer, n;
    for (;;) {
        send(e, 0, m);
        const message *got;
        while ((got = receive(e, resend_after, &peer, &n)) && (n < sizeof *got || got->number != m->number)) {}
        if (!got) continue; // asked again
        insist(got->kind != CHECK || (got->n == m->n && is_right(got, n, true)), "an answer is wrong", "");
        m->number++;
        m->kind = PUSH;
        if (got->kind == STOP) break;
        if (got->kind == IDLE) {
            m->n = 1, m->kind = REPORT;
            m->x[0] = cpu_share_of_waiting(e);
        } else if (got->next != m->n) {
            fill(m, (size_t)got->next, false);
        }
    }
    gp_free(m);
    e->transport->close(e);
    return NULL;
}

// ---- the server -----------------------------------------------------------------------------------------------------

typedef struct server {
    gp_endpoint *e;
    size_t workers, n_known;
    bool known[PEERS_MAX];
    uint64_t number[PEERS_MAX]; // of the newest push, and one
    message *answer, *copy;
    uint64_t repeated;
} server;

static void serve_from(server *s, gp_endpoint *e, size_t workers)
{
    *s = (server){.e = e, .workers = workers, .answer = message_new(), .copy = message_new()};
}

// The next message that is a request; NULL: none came in time. A request that is repeated was answered.
static const message *next_request(server *s, double seconds, size_t *peer, size_t *n, bool *again)
{
    const message *m;
    do m = receive(s->e, seconds, peer, n);
    while (m && *n < sizeof *m); // signs of life
    if (!m) return NULL;
    insist(*peer < PEERS_MAX, "too many peers", "");
    *again = m->number + 1 == s->number[*peer];
    s->repeated += *again;
    s->number[*peer] = m->number + 1;
    if (!s->known[*peer]) s->known[*peer] = true, s->n_known++;
    return m;
}

static void answer(server *s, size_t peer, const message *m, enum kind kind, size_t next)
{
    s->answer->kind = kind, s->answer->next = next;
    s->answer->number = m->number;
    send(s->e, peer, s->answer);
}

typedef struct lap {
    double pairs_per_second, cpu_us;
    uint64_t pairs, repeated;
} lap;

// All workers push n doubles; then the time runs.
static lap measure(server *s, size_t n, double seconds)
{
    size_t peer, bytes;
    bool again, seen[PEERS_MAX] = {false};
    const message *m;
    for (size_t ready = 0; ready < s->workers;) {
        m = next_request(s, 30, &peer, &bytes, &again);
        insist(m, "workers are missing", "");
        const bool is_new = m->kind == PUSH && m->n == n;
        insist(!is_new || is_right(m, bytes, false), "a push is wrong", "");
        fill(s->answer, is_new ? n : 0, true);
        if (is_new && !seen[peer]) seen[peer] = true, ready++;
        answer(s, peer, m, is_new ? CHECK : GO, n);
    }
    lap l = {0};
    fill(s->answer, n, true);
    s->repeated = 0;
    const double wall = gp_clock_wall(), cpu = gp_clock_cpu();
    double now = wall;
    while (now < wall + seconds) {
        m = next_request(s, 30, &peer, &bytes, &again);
        insist(m, "nobody pushes", "");
        memcpy(s->copy, m, bytes);
        answer(s, peer, m, GO, n);
        l.pairs += !again;
        now = gp_clock_wall();
    }
    l.pairs_per_second = (double)l.pairs / (now - wall);
    l.cpu_us = 1e6 * (gp_clock_cpu() - cpu) / (double)l.pairs;
    l.repeated = s->repeated;
    return l;
}

// The largest share of a core that a waiting worker takes. Each waits once.
static double measure_idle(server *s)
{
    double largest = 0;
    bool told[PEERS_MAX] = {false};
    s->answer->n = 0;
    for (size_t reports = 0; reports < s->workers;) {
        size_t peer, n;
        bool again;
        const message *m = next_request(s, 30, &peer, &n, &again);
        insist(m, "workers are missing", "");
        if (m->kind == REPORT && !again) {
            reports++;
            if (m->x[0] > largest) largest = m->x[0];
        }
        // Who has reported gets no answer yet: nobody works while others wait.
        if (m->kind == PUSH && !told[peer]) {
            told[peer] = true;
            answer(s, peer, m, IDLE, 0);
        }
    }
    return largest;
}

static void stop(server *s)
{
    bool told[PEERS_MAX] = {false};
    s->answer->n = 0;
    for (size_t n_told = 0; n_told < s->workers;) {
        size_t peer, n;
        bool again;
        const message *m = next_request(s, 30, &peer, &n, &again); // at the latest when it asks again
        insist(m, "workers are missing", "");
        if (!told[peer]) told[peer] = true, n_told++;
        answer(s, peer, m, STOP, 0);
    }
    gp_free(s->answer), gp_free(s->copy);
}

// ---- results --------------------------------------------------------------------------------------------------------

typedef struct reference {
    const char *transport;
    size_t doubles, workers;
    double pairs_per_second[2], cpu_us[2]; // ranges
} reference;

// Our own measurements with C programs of a hundred lines (Debian 12, libzmq 4.3.4, Open MPI 4.1.4, 2 cores).
static const reference references[] = {
    {"zmq", 6000, 4, {5671, 5671}, {77, 77}},
    {"zmq", 6000, 16, {8428, 8428}, {61, 61}},
    {"zmq", 6000, 64, {4802, 4802}, {81, 81}},
    {"zmq", 50000, 4, {1883, 1883}, {288, 288}},
    {"zmq", 50000, 16, {2122, 2122}, {353, 353}},
    {"zmq", 50000, 64, {1116, 1116}, {410, 410}},
    {"zmq with keys", 6000, 4, {3187, 3187}, {180, 180}},
    {"zmq with keys", 6000, 16, {3762, 3762}, {200, 200}},
    {"zmq with keys", 6000, 64, {3379, 3379}, {193, 193}},
    {"zmq with keys", 50000, 4, {560, 560}, {1301, 1301}},
    {"zmq with keys", 50000, 16, {472, 472}, {1314, 1314}},
    {"zmq with keys", 50000, 64, {484, 484}, {1096, 1096}},
    {"mpi", 6000, 0, {1300, 29000}, {13, 170}}, // polling as we do it; shared memory
    {"mpi", 50000, 0, {2650, 4350}, {37, 113}},
    {"mpi over TCP", 6000, 0, {7000, 13400}, {26, 43}},
    {"mpi over TCP", 50000, 0, {440, 850}, {850, 1160}},
};

static const char *comma = "";

static void print_lap(const char *transport, size_t workers, size_t doubles, const lap *l)
{
    printf(
        "%s\n  {\"transport\": \"%s\", \"workers\": %zu, \"doubles\": %zu, \"pairs\": %zu, \"pairs_per_second\": %.0f, "
        "\"server_cpu_us_per_pair\": %.0f, \"asked_again\": %zu",
        comma, transport, workers, doubles, (size_t)l->pairs, l->pairs_per_second, l->cpu_us, (size_t)l->repeated);
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        const reference *r = &references[i];
        if (strcmp(r->transport, transport) != 0 || r->doubles != doubles || (r->workers && r->workers != workers))
            continue;
        printf(", \"reference\": {\"pairs_per_second\": [%.0f, %.0f], \"server_cpu_us_per_pair\": [%.0f, %.0f]}",
               r->pairs_per_second[0], r->pairs_per_second[1], r->cpu_us[0], r->cpu_us[1]);
    }
    printf("}");
    fflush(stdout);
    fprintf(stderr, "%s, %zu workers, %zu doubles: %.0f pairs/s, %.0f us of the server's CPU a pair\n", transport,
            workers, doubles, l->pairs_per_second, l->cpu_us);
    comma = ",";
}

static void print_idle(const char *transport, double share, double wanted)
{
    printf("%s\n  {\"transport\": \"%s\", \"waiting_worker_cpu_share\": %.5f, \"wanted_below\": %g}", comma, transport,
           share, wanted);
    fprintf(stderr, "%s: a waiting worker takes %.2f %% of a core\n", transport, 100 * share);
    comma = ",";
}

static void measure_sizes(server *s, const char *transport, double seconds)
{
    const size_t sizes[] = {6000, DOUBLES_MAX};
    for (size_t i = 0; i < 2; i++) {
        const lap l = measure(s, sizes[i], seconds);
        print_lap(transport, s->workers, sizes[i], &l);
    }
}

// ---- ZeroMQ ---------------------------------------------------------------------------------------------------------

static advgp_status find(void *ctx, bool *known, gp_zmq_target *out, advgp_error *err)
{
    (void)err;
    *known = true;
    *out = *(const gp_zmq_target *)ctx;
    return ADVGP_OK;
}

// A process with `count` workers, each a thread with an endpoint of its own. Where the lead is comes by standard input.
static int play_workers(size_t count)
{
    gp_zmq_target target;
    pthread_t id[WORKERS_MAX];
    insist(count <= WORKERS_MAX && fread(&target, sizeof target, 1, stdin) == 1, "a worker is not told where", "");
    for (size_t k = 0; k < count; k++) {
        advgp_error err = {0};
        gp_endpoint *e;
        const gp_zmq_connect_options o = {.find = find, .ctx = &target, .message_max = MESSAGE_MAX};
        insist(gp_zmq_connect(&o, &e, &err) == ADVGP_OK, "connect", err.text);
        insist(pthread_create(&id[k], NULL, work, e) == 0, "no thread", "");
    }
    for (size_t k = 0; k < count; k++) pthread_join(id[k], NULL);
    return 0;
}

static pid_t spawn_workers(size_t count, const gp_zmq_target *target)
{
    extern char **environ;
    int pipes[2];
    char number[24];
    snprintf(number, sizeof number, "%zu", count);
    char name[] = "transport", verb[] = "workers", *argv[] = {name, verb, number, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    insist(pipe(pipes) == 0, "no pipe", "");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[0], 0);
    posix_spawn_file_actions_addclose(&actions, pipes[1]);
    insist(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ) == 0, "no process", "");
    posix_spawn_file_actions_destroy(&actions);
    insist(write(pipes[1], target, sizeof *target) == (ssize_t)sizeof *target, "a worker does not listen", "");
    close(pipes[0]), close(pipes[1]);
    return pid;
}

static void bench_zmq(bool secure, size_t workers, double seconds, bool idle)
{
    const char *name = secure ? "zmq with keys" : "zmq";
    advgp_error err = {0};
    gp_zmq_identity lead, worker;
    memset(&lead, 0, sizeof lead), memset(&worker, 0, sizeof worker);
    char allowed[1][GP_ZMQ_KEY];
    if (secure) {
        insist(gp_zmq_keypair(&lead, &err) == ADVGP_OK, "keys", err.text);
        insist(gp_zmq_keypair(&worker, &err) == ADVGP_OK, "keys", err.text);
    }
    memcpy(allowed[0], worker.public_key, GP_ZMQ_KEY);
    const gp_zmq_listen_options listen = {.address = "tcp://127.0.0.1:*",
                                          .keys = secure ? &lead : NULL,
                                          .allowed = allowed,
                                          .n_allowed = secure,
                                          .message_max = MESSAGE_MAX,
                                          .peers_max = PEERS_MAX - 1};
    gp_endpoint *e;
    insist(gp_zmq_listen(&listen, &e, &err) == ADVGP_OK, "listen", err.text);
    gp_zmq_target target;
    memset(&target, 0, sizeof target);
    snprintf(target.address, sizeof target.address, "%s", gp_zmq_address(e));
    if (secure) target.keys = worker, memcpy(target.lead_key, lead.public_key, GP_ZMQ_KEY);
    pid_t pid[PROCESSES_MAX];
    const size_t processes = workers < PROCESSES_MAX ? workers : PROCESSES_MAX;
    for (size_t i = 0; i < processes; i++)
        pid[i] = spawn_workers(workers * (i + 1) / processes - workers * i / processes, &target);
    static server s;
    serve_from(&s, e, workers);
    measure_sizes(&s, name, seconds);
    if (idle) print_idle(name, measure_idle(&s), 0.01);
    stop(&s);
    for (size_t i = 0; i < processes; i++) {
        int status = 0;
        insist(waitpid(pid[i], &status, 0) == pid[i] && status == 0, "a worker failed", "");
    }
    gp_transport_zmq.close(e);
}

// ---- MPI ------------------------------------------------------------------------------------------------------------

static int bench_mpi(double seconds)
{
    advgp_error err = {0};
    gp_endpoint *e;
    gp_ranks place;
    insist(gp_mpi_open(&(gp_mpi_options){.message_max = MESSAGE_MAX}, &e, &place, &err) == ADVGP_OK, "mpi", err.text);
    if (place.rank) {
        work(e);
        return 0;
    }
    const char *btl = getenv("OMPI_MCA_btl");
    const char *name = btl && strstr(btl, "tcp") && !strstr(btl, "vader") ? "mpi over TCP" : "mpi";
    static server s;
    serve_from(&s, e, place.size - 1);
    measure_sizes(&s, name, seconds);
    print_idle(name, measure_idle(&s), 0.05);
    stop(&s);
    printf("\n]}\n");
    gp_transport_mpi.close(e);
    return 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: transport [--quick]\n       mpirun -n 5 transport mpi [--quick]\n");
    return 2;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "workers")) return play_workers(strtoul(argv[2], NULL, 10));
    const bool mpi = argc > 1 && !strcmp(argv[1], "mpi");
    const bool quick = argc > 1 && !strcmp(argv[argc - 1], "--quick");
    if (argc != 1 + mpi + quick) return usage();
    const double seconds = quick ? 0.5 : 5;
    const gp_launch launch = gp_launch_read();
    if (!mpi || launch.rank <= 0)
        printf("{\"bench\": \"transport\", \"seconds\": %g, \"cores\": %zu, \"results\": [", seconds, gp_cores());
    int status = 0;
    if (mpi) {
        status = bench_mpi(seconds);
    } else {
        const size_t workers[] = {4, 16, 64, 200};
        for (size_t i = 0; i < (quick ? 3 : 4); i++)
            for (int secure = 0; secure < 2; secure++) bench_zmq(secure, workers[i], seconds, i == 0);
        printf("\n]}\n");
    }
    fflush(NULL);
    if (gp_mpi_must_exit_hard()) _exit(status);
    return status;
}
