// fuzz_message.c: any bytes as a conversation: messages, each behind its length (two bytes). Every one is decoded as it
// is and with its checksum made right; what is accepted encodes to the same bytes, and is told to a server and to a
// worker, who must live through it with finite parameters, and to a lead that has tasks, each of which is taken once.
#include "base/alloc.h"
#include "cluster/lead.h"
#include "fuzz.h"
#include "linalg/dense.h"
#include "ps/server.h"
#include "ps/worker.h"

#include <string.h>
#include <xxhash.h>

enum {
    SIZE = 3,
    PUSH = 1 + SIZE,
    SHARDS = 4,
    TEXT = 64,
    WORKERS = 3,
    TASKS = 3,
    ROOM = 4096,
    CHECKSUM_AT = 8,
    CHECKED_FROM = 16
};
static const gp_message_limits limits = {PUSH, SIZE, SHARDS, TEXT};

static size_t push_size(gp_theta_layout layout, gp_range range)
{
    (void)layout;
    return 1 + range.count;
}

static advgp_status step(gp_rule *rule, const double *sum, const gp_step_terms *terms, double *theta, advgp_error *err)
{
    (void)rule;
    (void)err;
    for (size_t i = 0; i < SIZE; i++) theta[i] -= terms->shrink * sum[1 + i] / terms->n;
    return ADVGP_OK;
}

static void forget(gp_rule *rule)
{
    (void)rule;
}

static const gp_rule_ops rule_ops = {.name = "plain", .push_size = push_size, .step = step, .forget = forget};

static advgp_status compute(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < PUSH; i++) push[i] = i ? work->theta[i - 1] : 1;
    FUZZ_CHECK(work->n_shards > 0);
    for (size_t i = 0; i < work->n_shards; i++) FUZZ_CHECK(work->shards[i] < SHARDS);
    *done = (gp_work_done){10.0 * (double)work->n_shards, 10, 10, PUSH};
    return ADVGP_OK;
}

static void drain(gp_server *server)
{
    size_t peer;
    gp_message m;
    for (int i = 0; gp_server_next(server, 0, &peer, &m); i++) {
        FUZZ_CHECK(i < 1000);
        FUZZ_CHECK(gp_message_size(&m) <= gp_message_size_max(&limits));
        for (size_t k = 0; k < m.n_shards; k++) FUZZ_CHECK(m.shards[k] < SHARDS);
    }
    FUZZ_CHECK(gp_all_finite(SIZE, gp_server_theta(server)));
}

static advgp_status pack(void *ctx, size_t task, gp_parcel *out)
{
    (void)ctx;
    out->values = gp_alloc(1, sizeof(double));
    if (!out->values) return ADVGP_ENOMEM;
    out->values[0] = (double)task, out->n_values = 1;
    return ADVGP_OK;
}

static bool take(void *ctx, size_t task, const double *values, size_t n)
{
    size_t *taken = ctx;
    if (n != 1 || !gp_all_finite(n, values)) return false;
    FUZZ_CHECK(task < TASKS && !taken[task]++);
    return true;
}

static gp_lead *new_lead(size_t *taken)
{
    const gp_lead_options o = {.workers_max = WORKERS, .heartbeat = 1, .lost_after = 8, .stuck_after = 60, .wait = 60};
    const gp_lead_tasks tasks = {.n = TASKS, .what = "a task", .pack = pack, .take = take, .ctx = taken};
    gp_lead *lead;
    FUZZ_CHECK(gp_lead_new(&o, &lead, NULL) == ADVGP_OK);
    FUZZ_CHECK(gp_lead_tasks_begin(lead, 0, &tasks, NULL) == ADVGP_OK);
    return lead;
}

// A second passes with every message.
static void tell_lead(gp_lead *lead, size_t turn, const void *bytes, size_t n)
{
    size_t peer, task;
    gp_message m;
    advgp_error err = {0};
    const double now = (double)turn;
    FUZZ_CHECK(gp_lead_on_bytes(lead, now, turn % WORKERS, bytes, n, &err) == ADVGP_OK);
    const advgp_status st = gp_lead_on_tick(lead, now, &err);
    FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_ECLUSTER && err.text[0]));
    for (int i = 0; gp_lead_next(lead, now, &peer, &m); i++) FUZZ_CHECK(i < 1000 && peer < WORKERS);
    if (turn % 5 == 4 && gp_lead_tasks_own(lead, now, &task))
        FUZZ_CHECK(task < TASKS && gp_lead_tasks_did(lead, now, task, &now, 1));
}

// Decodes; if that succeeds, encodes again.
static bool accept(const void *bytes, size_t n, gp_message *m)
{
    static _Alignas(8) uint8_t copy[ROOM];
    advgp_error err = {0};
    const advgp_status st = gp_message_decode(bytes, n, &limits, m, &err);
    FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && err.text[0]));
    if (st != ADVGP_OK) return false;
    FUZZ_CHECK(gp_message_size(m) == n && n <= gp_message_size_max(&limits));
    gp_message_encode(m, copy);
    FUZZ_CHECK(!memcmp(copy, bytes, n));
    return true;
}

static void hear(gp_server *server, gp_worker *worker, size_t peer, const gp_message *m)
{
    advgp_error err = {0};
    const advgp_status st = gp_server_on_message(server, 0, peer, m, &err);
    FUZZ_CHECK(st == ADVGP_OK || ((st == ADVGP_ENUMERIC || st == ADVGP_ECLUSTER) && err.text[0]));
    drain(server);
    (void)gp_worker_on_message(worker, 0, m, &err);
    const gp_computer computer = {.compute = compute};
    if (gp_worker_state_of(worker) == GP_WORKER_READY)
        FUZZ_CHECK(gp_worker_compute(worker, &computer, &err) == ADVGP_OK);
    gp_message said;
    while (gp_worker_next(worker, 0, &said)) FUZZ_CHECK(gp_message_size(&said) <= gp_message_size_max(&limits));
}

static void converse(gp_server *server, gp_worker *worker, gp_lead *lead, const uint8_t *bytes, size_t n)
{
    for (size_t at = 0, turn = 0; at + 2 <= n; turn++) {
        size_t length = (size_t)bytes[at] | (size_t)bytes[at + 1] << 8;
        at += 2;
        if (length > n - at) length = n - at;
        uint8_t *one = gp_alloc(1, length); // of its own size, so that a look beyond is seen
        FUZZ_CHECK(one);
        if (length) memcpy(one, bytes + at, length);
        at += length;
        gp_message m;
        (void)accept(one, length, &m);
        if (length >= CHECKED_FROM) {
            uint64_t seed;
            memcpy(&seed, one, sizeof seed);
            const uint64_t sum = XXH3_64bits_withSeed(one + CHECKED_FROM, length - CHECKED_FROM, seed);
            memcpy(one + CHECKSUM_AT, &sum, sizeof sum);
            if (accept(one, length, &m)) hear(server, worker, turn % WORKERS, &m);
            tell_lead(lead, turn, one, length);
        }
        gp_free(one);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const double theta[SIZE] = {1, 2, 3}, weights[SHARDS] = {10, 10, 10, 10};
    const long live = gp_alloc_count().live;
    gp_rule rule = {.ops = &rule_ops, .options = {.range = {0, SIZE}}};
    const gp_server_options so = {.rule = &rule,
                                  .theta = theta,
                                  .n_shards = SHARDS,
                                  .shard_weight = weights,
                                  .schedule.workers = 2,
                                  .workers_max = WORKERS,
                                  .schedule.max_delay = 1,
                                  .schedule.filter = n % 2 ? 0.5 : 0,
                                  .jump = 100,
                                  .run = {7, 8},
                                  .fingerprint = 9};
    const gp_worker_options wo = {.size = SIZE,
                                  .push_size = PUSH,
                                  .n_shards = SHARDS,
                                  .wish = GP_ANY_WORKER,
                                  .run = {7, 8},
                                  .fingerprint = 9,
                                  .token = 1};
    gp_server *server;
    gp_worker *worker;
    size_t taken[TASKS] = {0};
    gp_lead *lead = new_lead(taken);
    FUZZ_CHECK(gp_server_new(&so, &server, NULL) == ADVGP_OK);
    FUZZ_CHECK(gp_worker_new(&wo, &worker, NULL) == ADVGP_OK);
    converse(server, worker, lead, bytes, n);
    gp_lead_free(lead);
    gp_worker_free(worker);
    gp_server_free(server);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
