// message_test.c: messages to bytes and back; whatever is not a message is refused.
#include "fixture.h"
#include "ps/message.h"

enum { VALUES = 70, SHARDS = 5, TEXT = 31, ROOM = 2048 };
static const gp_message_limits limits = {VALUES, VALUES, SHARDS, TEXT};

typedef struct sample {
    double values[VALUES];
    uint64_t mask[2];
    uint32_t shards[SHARDS];
    char text[TEXT];
    gp_message m;
} sample;

// A message with every field set; how much it carries varies.
static void sample_init(sample *s, gp_message_kind kind, uint64_t seed)
{
    gp_rng rng = gp_rng_seeded(seed, kind);
    for (size_t i = 0; i < VALUES; i++) s->values[i] = gp_rng_normal(&rng);
    s->mask[0] = gp_rng_u64(&rng), s->mask[1] = gp_rng_u64(&rng) & 63;
    for (size_t i = 0; i < SHARDS; i++) s->shards[i] = (uint32_t)gp_rng_u64(&rng);
    for (size_t i = 0; i < TEXT; i++) s->text[i] = (char)gp_rng_u64(&rng);
    s->m = (gp_message){.kind = kind,
                        .flags = (unsigned)gp_rng_below(&rng, 4),
                        .run = {gp_rng_u64(&rng), gp_rng_u64(&rng)},
                        .generation = (uint32_t)gp_rng_u64(&rng),
                        .worker = (uint32_t)gp_rng_u64(&rng),
                        .incarnation = (uint32_t)gp_rng_u64(&rng),
                        .reason = (gp_refusal)gp_rng_below(&rng, GP_N_REFUSALS),
                        .sequence = gp_rng_u64(&rng),
                        .version = gp_rng_u64(&rng),
                        .token = gp_rng_u64(&rng),
                        .fingerprint = gp_rng_u64(&rng),
                        .shard_weight = gp_rng_normal(&rng),
                        .batch_weight = seed % 3 ? gp_rng_normal(&rng) : NAN,
                        .heartbeat = gp_rng_normal(&rng),
                        .rows = gp_rng_u64(&rng),
                        .n_values = gp_rng_below(&rng, VALUES + 1),
                        .values = s->values,
                        .n_masked = seed % 2 ? gp_rng_below(&rng, VALUES + 1) : 0,
                        .mask = s->mask,
                        .n_shards = gp_rng_below(&rng, SHARDS + 1),
                        .shards = s->shards,
                        .n_text = gp_rng_below(&rng, TEXT + 1),
                        .text = s->text};
}

static void check_same(const gp_message *a, const gp_message *b, const char *label)
{
    CHECK(a->kind == b->kind && a->flags == b->flags && a->run[0] == b->run[0] && a->run[1] == b->run[1] &&
              a->generation == b->generation && a->worker == b->worker && a->incarnation == b->incarnation &&
              a->reason == b->reason && a->sequence == b->sequence && a->version == b->version &&
              a->token == b->token && a->fingerprint == b->fingerprint && a->rows == b->rows &&
              a->n_values == b->n_values && a->n_masked == b->n_masked && a->n_shards == b->n_shards &&
              a->n_text == b->n_text,
          label, "a field changed on the way");
    CHECK_BITS(1, &a->shard_weight, &b->shard_weight, label);
    CHECK_BITS(1, &a->batch_weight, &b->batch_weight, label);
    CHECK_BITS(1, &a->heartbeat, &b->heartbeat, label);
    CHECK_BITS(a->n_values, a->values, b->values, label);
    assert_memory_equal(a->mask, b->mask, gp_mask_words(a->n_masked) * 8);
    assert_memory_equal(a->shards, b->shards, a->n_shards * 4);
    assert_memory_equal(a->text, b->text, a->n_text);
}

static void every_kind_survives_the_way_there_and_back(void **state)
{
    (void)state;
    _Alignas(8) unsigned char bytes[ROOM], copy[ROOM];
    for (gp_message_kind kind = GP_HELLO; kind < GP_MESSAGE_KINDS; kind++)
        for (uint64_t seed = 0; seed < 50; seed++) {
            advgp_error err = {0};
            char label[64];
            sample s;
            gp_message got;
            sample_init(&s, kind, seed);
            const size_t n = gp_message_size(&s.m);
            snprintf(label, sizeof label, "kind %d, seed %d", (int)kind, (int)seed);
            assert_true(n <= gp_message_size_max(&limits) && n < ROOM);
            memset(bytes, 0xa5, ROOM);
            gp_message_encode(&s.m, bytes);
            CHECK(bytes[n] == 0xa5, label, "wrote beyond its size");
            CHECK_OK(gp_message_decode(bytes, n, &limits, &got, &err), label);
            check_same(&s.m, &got, label);
            gp_message_encode(&got, copy);
            assert_memory_equal(bytes, copy, n);
        }
}

static void every_other_length_is_refused(void **state)
{
    (void)state;
    _Alignas(8) unsigned char bytes[ROOM] = {0};
    for (uint64_t seed = 0; seed < 6; seed++) {
        sample s;
        sample_init(&s, GP_PARAMETERS, seed);
        const size_t n = gp_message_size(&s.m);
        gp_message_encode(&s.m, bytes);
        for (size_t length = 0; length < n + 64; length++) {
            advgp_error err = {0};
            gp_message got;
            if (length == n) continue;
            // In a block of just that size, so that a sanitizer sees a look beyond it.
            void *block = gp_alloc(1, length);
            if (length) memcpy(block, bytes, length < n ? length : n);
            CHECK_FAILS(ADVGP_EFILE, gp_message_decode(block, length, &limits, &got, &err), "another length");
            gp_free(block);
        }
    }
}

static void every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    _Alignas(8) unsigned char bytes[ROOM];
    for (uint64_t seed = 0; seed < 6; seed++) {
        sample s;
        sample_init(&s, GP_PUSH, seed);
        const size_t n = gp_message_size(&s.m);
        gp_message_encode(&s.m, bytes);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            advgp_error err = {0};
            gp_message got;
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            CHECK_FAILS(ADVGP_EFILE, gp_message_decode(bytes, n, &limits, &got, &err), "a flipped bit");
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
}

static void more_than_the_limits_is_refused(void **state)
{
    (void)state;
    _Alignas(8) unsigned char bytes[ROOM];
    sample s;
    sample_init(&s, GP_PARAMETERS, 1);
    s.m.n_values = 10, s.m.n_masked = 20, s.m.n_shards = 3, s.m.n_text = 7;
    gp_message_encode(&s.m, bytes);
    const size_t n = gp_message_size(&s.m);
    const gp_message_limits exact = {10, 20, 3, 7},
                            tight[] = {{9, 20, 3, 7}, {10, 19, 3, 7}, {10, 20, 2, 7}, {10, 20, 3, 6}, {0, 0, 0, 0}};
    advgp_error err = {0};
    gp_message got;
    CHECK_OK(gp_message_decode(bytes, n, &exact, &got, &err), "at the limits");
    for (size_t i = 0; i < sizeof tight / sizeof *tight; i++)
        CHECK_FAILS(ADVGP_EFILE, gp_message_decode(bytes, n, &tight[i], &got, &err), "beyond a limit");
}

static void every_refusal_has_a_text(void **state)
{
    (void)state;
    for (int i = 0; i < GP_N_REFUSALS; i++) assert_true(strlen(gp_refusal_text((gp_refusal)i)) > 5);
    assert_non_null(gp_refusal_text(GP_N_REFUSALS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_survives_the_way_there_and_back),
        cmocka_unit_test(every_other_length_is_refused),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(more_than_the_limits_is_refused),
        cmocka_unit_test(every_refusal_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
