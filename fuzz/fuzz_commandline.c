// fuzz_commandline.c: the first byte picks a verb, the lines behind it are its arguments.
#include "base/alloc.h"
#include "fuzz.h"
#include "options.h"

#include <string.h>

enum { MOST_ARGS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0) return 0;
    long live = gp_alloc_count().live;
    char *text = gp_text_copy((const char *)bytes + 1, n - 1);
    const char *argv[MOST_ARGS];
    int argc = 0;
    for (char *p = text; p && argc < MOST_ARGS;) {
        argv[argc++] = p;
        p = strchr(p, '\n');
        if (p) *p++ = 0;
    }
    gp_options *options = fuzz_options_new(bytes[0]);
    advgp_error err = {0};
    // Not every file that an argument may name is harmless to read.
    bool reads_a_file = false;
    for (int i = 0; i < argc; i++) reads_a_file |= strstr(argv[i], "config") != NULL;
    if (!reads_a_file) fuzz_options_check(options, gp_options_parse(options, argc, argv, &err), &err);
    gp_options_free(options);
    gp_free(text);
    FUZZ_CHECK(gp_alloc_count().live == live);
    return 0;
}
