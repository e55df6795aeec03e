// stop_reason.c: the words of every reason, both ways.
#include "optim/stop_reason.h"

#include <string.h>

static const char *const words_of[] = {NULL,
#define X(name, words) words,
                                       GP_STOP_REASONS(X)
#undef X
};
enum { N_REASONS = sizeof words_of / sizeof *words_of };

const char *gp_stop_reason_words(gp_stop_reason reason)
{
    return (size_t)reason < N_REASONS ? words_of[reason] : NULL;
}

gp_stop_reason gp_stop_reason_named(const char *words)
{
    for (size_t i = 1; words && i < N_REASONS; i++)
        if (!strcmp(words_of[i], words)) return (gp_stop_reason)i;
    return GP_NOT_STOPPED;
}
