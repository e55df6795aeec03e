// message_corpus.c: writes the kept seeds of fuzz_message.c anew.    message_corpus FOLDER
#include "base/rng.h"
#include "ps/message.h"

#include <stdio.h>
#include <stdlib.h>

static const double values[] = {1, 2, 3, 4};
static const uint32_t shards[] = {0, 1, 2, 3};
static const uint64_t mask[] = {5};

static gp_message message_of(gp_message_kind kind, uint32_t worker)
{
    return (gp_message){.kind = kind, .run = {7, 8}, .worker = worker, .incarnation = 1};
}

static gp_message hello_of(uint32_t worker)
{
    gp_message m = message_of(GP_HELLO, worker);
    m.incarnation = 0, m.token = 100 + worker, m.fingerprint = 9;
    return m;
}

static gp_message push_of(uint32_t worker, uint64_t sequence, uint64_t version)
{
    gp_message m = message_of(GP_PUSH, worker);
    m.sequence = sequence, m.version = version;
    m.n_values = 4, m.values = values, m.n_shards = 2, m.shards = shards + 2 * worker;
    m.shard_weight = 20, m.batch_weight = 10, m.rows = 10;
    return m;
}

static gp_message parameters_of(uint64_t sequence, bool full)
{
    gp_message m = message_of(GP_PARAMETERS, 0);
    m.flags = full ? GP_FLAG_FULL : 0;
    m.sequence = sequence, m.version = sequence;
    m.n_values = full ? 3 : 2, m.values = values, m.n_shards = 2, m.shards = shards;
    if (!full) m.n_masked = 3, m.mask = mask;
    return m;
}

static void write_all(const char *folder, const char *name, size_t n, const gp_message *messages)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f) exit(1);
    for (size_t i = 0; i < n; i++) {
        _Alignas(8) unsigned char bytes[1024];
        const size_t length = gp_message_size(&messages[i]);
        gp_message_encode(&messages[i], bytes);
        fputc((int)(length & 255), f), fputc((int)(length >> 8), f);
        fwrite(bytes, 1, length, f);
    }
    if (fclose(f) != 0) exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    // The first id of a lead whose random number is 0.
    const uint64_t act[] = {gp_hash_u64(0, 0), gp_hash_u64(0, 1) | 1};
    gp_message welcome = message_of(GP_WELCOME, 0), refuse = message_of(GP_REFUSE, 0), failed = push_of(1, 1, 1);
    welcome.token = 1;
    refuse.reason = GP_REFUSED_UNKNOWN;
    failed.flags = GP_FLAG_FAILED, failed.n_values = 0;
    const gp_message server[] = {
        hello_of(0),      hello_of(1),      message_of(GP_PULL, 0),      message_of(GP_PULL, 1),
        push_of(0, 0, 0), push_of(1, 0, 0), message_of(GP_HEARTBEAT, 0), push_of(0, 1, 1),
        failed,           hello_of(2),      message_of(GP_BYE, 0)};
    const gp_message worker[] = {welcome, parameters_of(0, true), parameters_of(1, false), refuse,
                                 message_of(GP_BYE, GP_ANY_WORKER)};
    gp_message asks[6]; // three workers ask, then bring what came of their tasks
    for (uint32_t k = 0; k < 6; k++) {
        asks[k] = message_of(GP_ASK, GP_ANY_WORKER);
        asks[k].token = 100 + k, asks[k].n_text = 4, asks[k].text = "host";
        if (k < 3) continue;
        asks[k].run[0] = act[0], asks[k].run[1] = act[1];
        asks[k].sequence = k - 3, asks[k].n_values = k == 4 ? 2 : 1, asks[k].values = values;
        if (k == 5) asks[k].flags = GP_FLAG_FAILED, asks[k].n_values = 0;
    }
    write_all(argv[1], "tasks", 6, asks);
    write_all(argv[1], "server", sizeof server / sizeof *server, server);
    write_all(argv[1], "worker", sizeof worker / sizeof *worker, worker);
    for (gp_message_kind kind = GP_HELLO; kind < GP_MESSAGE_KINDS; kind++) {
        gp_message one = kind == GP_PUSH         ? push_of(1, 2, 3)
                         : kind == GP_PARAMETERS ? parameters_of(3, false)
                                                 : message_of(kind, 1);
        if (kind == GP_ASK || kind == GP_JOB || kind == GP_TASK) one.n_text = 7, one.text = "{\"a\":1}";
        if (kind == GP_TASK) one.n_values = 3, one.values = values, one.heartbeat = 2;
        char name[16];
        snprintf(name, sizeof name, "kind%d", (int)kind);
        write_all(argv[1], name, 1, &one);
    }
    return 0;
}
