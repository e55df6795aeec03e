// fuzz_message.c: any bytes as a conversation: messages, each behind its length (two bytes). Every one is decoded as it
// is and with its checksum made right; what is accepted encodes to the same bytes, and is told to a server and to a
// worker, who must live through it with finite parameters.
#include "base/alloc.h"
#include "fuzz.h"
#include "linalg/dense.h"
#include "ps/server.h"
#include "ps/worker.h"

#include <string.h>
#include <xxhash.h>

enum { SIZE = 3, PUSH = 1 + SIZE, SHARDS = 4, TEXT = 64, WORKERS = 3, ROOM = 4096, CHECKSUM_AT = 8, CHECKED_FROM = 16 };
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

static void converse(gp_server *server, gp_worker *worker, const uint8_t *bytes, size_t n)
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
                                  .workers = 2,
                                  .workers_max = WORKERS,
                                  .max_delay = 1,
                                  .filter = n % 2 ? 0.5 : 0,
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
    FUZZ_CHECK(gp_server_new(&so, &server, NULL) == ADVGP_OK);
    FUZZ_CHECK(gp_worker_new(&wo, &worker, NULL) == ADVGP_OK);
    converse(server, worker, bytes, n);
    gp_worker_free(worker);
    gp_server_free(server);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
