// table_test.h: what the tests of this room share: a temporary folder with small files, and tables in memory.
#pragma once
#include "base/alloc.h"
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64]; // made by enter_folder, removed by leave_folder

static inline int enter_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/advgp-test-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static inline int leave_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : 1;
}

// A path in the folder; the text lives until the eighth call from now.
static inline const char *in_folder(const char *name)
{
    static char paths[8][256];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline const char *write_file(const char *name, const void *bytes, size_t n)
{
    const char *path = in_folder(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    return path;
}

static inline const char *write_text(const char *name, const char *text)
{
    return write_file(name, text, strlen(text));
}

#define ASSERT_OK(call)                                                                            \
    do {                                                                                           \
        advgp_error error_ = {0};                                                                  \
        advgp_error *err = &error_;                                                                \
        if ((call) != ADVGP_OK) fail_msg("%s: %s", advgp_status_name(error_.status), error_.text); \
    } while (0)

// The call must fail with the status, and its text must hold the words.
#define ASSERT_FAILS(call, wanted, words)                                                                              \
    do {                                                                                                               \
        advgp_error error_ = {0};                                                                                      \
        advgp_error *err = &error_;                                                                                    \
        advgp_status got_ = (call);                                                                                    \
        if (got_ != (wanted) || !strstr(error_.text, (words)))                                                         \
            fail_msg("wanted %s with \"%s\", got %s: %s", advgp_status_name(wanted), (words), advgp_status_name(got_), \
                     error_.text);                                                                                     \
    } while (0)
