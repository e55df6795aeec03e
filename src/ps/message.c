// message.c: messages to bytes and back.
#include "ps/message.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "messages are copied as they are in memory: a big-endian machine needs byte swaps here"
#endif

static const uint32_t magic = 0x50474441; // "ADGP"

// Every field at a multiple of its size: no padding, so that all bytes are defined.
typedef struct header {
    uint32_t magic;
    uint16_t protocol;
    uint8_t kind, flags;
    uint64_t checksum; // xxh3 of all that follows, seeded with what stands before
    uint64_t run[2];
    uint32_t generation, worker, incarnation, reason;
    uint64_t sequence, version, token, fingerprint;
    double shard_weight, batch_weight, heartbeat;
    uint64_t rows, n_values, n_masked, n_shards, n_text;
} header;
_Static_assert(sizeof(header) == 144, "the header of a message has no padding");

const char *gp_refusal_text(gp_refusal reason)
{
    static const char *const texts[] = {"not refused",
#define X(name, text) text,
                                        GP_REFUSALS(X)
#undef X
    };
    return reason < GP_N_REFUSALS ? texts[reason] : "for an unknown reason";
}

static size_t size_of(size_t values, size_t masked, size_t shards, size_t text)
{
    return sizeof(header) + values * sizeof(double) + gp_mask_words(masked) * sizeof(uint64_t) +
           shards * sizeof(uint32_t) + text;
}

size_t gp_message_size(const gp_message *m)
{
    return size_of(m->n_values, m->n_masked, m->n_shards, m->n_text);
}

size_t gp_message_size_max(const gp_message_limits *limits)
{
    return size_of(limits->values, limits->masked, limits->shards, limits->text);
}

static uint64_t checksum_of(const void *bytes, size_t n)
{
    uint64_t seed;
    const size_t after = offsetof(header, run);
    memcpy(&seed, bytes, sizeof seed);
    return XXH3_64bits_withSeed((const char *)bytes + after, n - after, seed);
}

void gp_message_encode(const gp_message *m, void *bytes)
{
    header h = {.magic = magic,
                .protocol = (uint16_t)(m->protocol ? m->protocol : GP_PROTOCOL),
                .kind = (uint8_t)m->kind,
                .flags = (uint8_t)m->flags,
                .run = {m->run[0], m->run[1]},
                .generation = m->generation,
                .worker = m->worker,
                .incarnation = m->incarnation,
                .reason = (uint32_t)m->reason,
                .sequence = m->sequence,
                .version = m->version,
                .token = m->token,
                .fingerprint = m->fingerprint,
                .shard_weight = m->shard_weight,
                .batch_weight = m->batch_weight,
                .heartbeat = m->heartbeat,
                .rows = m->rows,
                .n_values = m->n_values,
                .n_masked = m->n_masked,
                .n_shards = m->n_shards,
                .n_text = m->n_text};
    char *at = bytes;
    memcpy(at, &h, sizeof h);
    at += sizeof h;
    if (m->n_values) memcpy(at, m->values, m->n_values * sizeof(double));
    at += m->n_values * sizeof(double);
    if (m->n_masked) memcpy(at, m->mask, gp_mask_words(m->n_masked) * sizeof(uint64_t));
    at += gp_mask_words(m->n_masked) * sizeof(uint64_t);
    if (m->n_shards) memcpy(at, m->shards, m->n_shards * sizeof(uint32_t));
    at += m->n_shards * sizeof(uint32_t);
    if (m->n_text) memcpy(at, m->text, m->n_text);
    h.checksum = checksum_of(bytes, gp_message_size(m));
    memcpy((char *)bytes + offsetof(header, checksum), &h.checksum, sizeof h.checksum);
}

advgp_status gp_message_decode(const void *bytes, size_t n, const gp_message_limits *limits, gp_message *m,
                               advgp_error *err)
{
    header h;
    assert((uintptr_t)bytes % sizeof(uint64_t) == 0);
    if (n < sizeof h) return gp_fail(err, ADVGP_EFILE, "a message of %zu bytes is shorter than a header", n);
    memcpy(&h, bytes, sizeof h);
    if (h.magic != magic) return gp_fail(err, ADVGP_EFILE, "a message that is not of advgp");
    if (h.protocol != GP_PROTOCOL)
        return gp_fail(err, ADVGP_EFILE, "a message of protocol %u, this program speaks %d: use the same version",
                       h.protocol, GP_PROTOCOL);
    if (h.kind < GP_HELLO || h.kind >= GP_MESSAGE_KINDS)
        return gp_fail(err, ADVGP_EFILE, "a message of the unknown kind %u", h.kind);
    if (h.n_values > limits->values || h.n_masked > limits->masked || h.n_shards > limits->shards ||
        h.n_text > limits->text)
        return gp_fail(err, ADVGP_EFILE, "a message with more values, shards or text than this run has");
    if (size_of(h.n_values, h.n_masked, h.n_shards, h.n_text) != n)
        return gp_fail(err, ADVGP_EFILE, "a message of %zu bytes whose header speaks of another length", n);
    if (h.reason >= GP_N_REFUSALS) return gp_fail(err, ADVGP_EFILE, "a refusal for an unknown reason");
    if (checksum_of(bytes, n) != h.checksum) return gp_fail(err, ADVGP_EFILE, "a message with a bad checksum");
    const char *at = (const char *)bytes + sizeof h;
    *m = (gp_message){.kind = (gp_message_kind)h.kind,
                      .flags = h.flags,
                      .run = {h.run[0], h.run[1]},
                      .generation = h.generation,
                      .worker = h.worker,
                      .incarnation = h.incarnation,
                      .reason = (gp_refusal)h.reason,
                      .sequence = h.sequence,
                      .version = h.version,
                      .token = h.token,
                      .fingerprint = h.fingerprint,
                      .shard_weight = h.shard_weight,
                      .batch_weight = h.batch_weight,
                      .heartbeat = h.heartbeat,
                      .rows = h.rows,
                      .n_values = h.n_values,
                      .values = (const double *)(const void *)at,
                      .n_masked = h.n_masked,
                      .mask = (const uint64_t *)(const void *)(at + h.n_values * sizeof(double)),
                      .n_shards = h.n_shards,
                      .n_text = h.n_text};
    m->shards = (const uint32_t *)(const void *)(m->mask + gp_mask_words(m->n_masked));
    m->text = (const char *)(m->shards + m->n_shards);
    return ADVGP_OK;
}

unsigned gp_message_foreign(const void *bytes, size_t n, gp_message *m)
{
    header h;
    const size_t same = offsetof(header, token) + sizeof h.token; // in every version, which may have less after it
    if (n < same) return 0;
    memcpy(&h, bytes, same);
    if (h.magic != magic || h.protocol == GP_PROTOCOL || !h.protocol) return 0;
    *m = (gp_message){.protocol = h.protocol, .run = {h.run[0], h.run[1]}, .worker = h.worker, .token = h.token};
    return h.protocol;
}
