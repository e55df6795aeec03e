// option_named.c: options in the sentences of rooms that do not know who reads them.
#include "options/option.h"

#include <string.h>

static bool is_key(const char *text, size_t n)
{
    for (size_t i = 0; i < gp_option_table_size; i++)
        if (strlen(gp_option_table[i].name) == n && memcmp(gp_option_table[i].name, text, n) == 0) return true;
    return false;
}

// A word of its own, by what stands before and behind it: a file may be called {output}.csv.
static bool is_word(char before, const char *behind)
{
    if (*behind == '.') behind++;
    return strchr(" (:;'`", before) && strchr(" ):,;'`?", *behind); // strchr finds the end of a text, too
}

void gp_options_named(char *text, bool dashes)
{
    char *to = text; // never beyond at: --key is as long as {key}
    for (const char *at = text; *at;) {
        const char *close = *at == '{' ? strchr(at, '}') : NULL;
        const size_t n = close ? (size_t)(close - at - 1) : 0;
        if (!n || !is_key(at + 1, n) || !is_word(to > text ? to[-1] : ' ', close + 1)) {
            *to++ = *at++;
            continue;
        }
        const size_t lead = dashes ? 2 : 0;
        memmove(to + lead, at + 1, n);
        memcpy(to, "--", lead);
        to += lead + n;
        at = close + 1;
    }
    *to = 0;
}
