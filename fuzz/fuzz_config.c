// fuzz_config.c: the first byte picks a verb, the rest is a config file for it.
#include "base/alloc.h"
#include "fuzz.h"
#include "options.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0) return 0;
    long live = gp_alloc_count().live;
    gp_options *options = fuzz_options_new(bytes[0]);
    advgp_error err = {0};
    advgp_status st = gp_options_config_text(options, "fuzz.conf", (const char *)bytes + 1, n - 1, &err);
    fuzz_options_check(options, st, &err);
    gp_options_free(options);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
