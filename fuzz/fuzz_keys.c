// fuzz_keys.c: any bytes as a key file, and as the list of keys that are let in.
#include "base/alloc.h"
#include "fuzz.h"
#include "store/keys.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const long live = gp_alloc_count().live;
    char *text = malloc(n + 1); // the readers' own file reader ends the text in this way and lets no zero through
    if (!text) return 0;
    memcpy(text, bytes, n);
    text[n] = 0;
    gp_zmq_identity keys;
    advgp_error err = {0};
    advgp_status st = gp_keys_parse(text, "fuzz.key", &keys, &err);
    FUZZ_CHECK(st == ADVGP_OK ? gp_key_is_good(keys.public_key) : st == ADVGP_EFILE && err.text[0]);
    FUZZ_CHECK(!keys.secret_key[0] || (st == ADVGP_OK && gp_key_is_good(keys.secret_key)));
    char(*allowed)[GP_ZMQ_KEY];
    size_t n_allowed;
    st = gp_keys_parse_allowed(text, "allow", &allowed, &n_allowed, &err);
    FUZZ_CHECK(st == ADVGP_OK || (st == ADVGP_EFILE && !allowed && !n_allowed));
    for (size_t i = 0; i < n_allowed; i++) FUZZ_CHECK(gp_key_is_good(allowed[i]));
    gp_free(allowed);
    free(text);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
