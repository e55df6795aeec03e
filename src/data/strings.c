// strings.c: names and texts.
#include "data/strings.h"

#include <ctype.h>
#include <string.h>

void gp_buffer_quoted(gp_buffer *out, const char *text, char quote)
{
    gp_buffer_bytes(out, &quote, 1);
    for (const char *p = text; *p; p++) {
        if (*p == quote) gp_buffer_bytes(out, &quote, 1);
        gp_buffer_bytes(out, p, 1);
    }
    gp_buffer_bytes(out, &quote, 1);
}

char *gp_copy_text(const char *text)
{
    return gp_text_copy(text, strlen(text));
}

size_t gp_utf8_whole(const unsigned char *p, size_t n)
{
    size_t tail = 0; // bytes that go on with a character
    while (tail < 3 && tail < n && (p[n - 1 - tail] & 0xc0) == 0x80) tail++;
    return tail < n && p[n - 1 - tail] >= 0xc0 ? n - 1 - tail : n;
}

enum { NAME_BYTES = 64 }; // longer names are compared by their beginning

static const char *lower_case(char out[NAME_BYTES], const char *name)
{
    size_t n = 0;
    for (; name[n] && n + 1 < NAME_BYTES; n++) out[n] = (char)tolower((unsigned char)name[n]);
    out[n] = 0;
    return out;
}

const char *gp_nearest_name(const char *wanted, const char *const *names, size_t n_names)
{
    const char *best = NULL;
    char a[NAME_BYTES], b[NAME_BYTES];
    size_t fewest = SIZE_MAX;
    (void)lower_case(a, wanted);
    for (size_t i = 0; i < n_names; i++) {
        size_t cost = gp_text_distance(a, lower_case(b, names[i]));
        if (cost >= fewest || !gp_text_is_near(a, b)) continue;
        fewest = cost;
        best = names[i];
    }
    return best;
}

const char *gp_show_text(char *out, size_t capacity, const char *text, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n && used + 4 < capacity; i++) out[used++] = text[i];
    while (used && n > used && ((unsigned char)out[used - 1] & 0x80))
        used--; // no half of a UTF-8 letter before the dots
    if (n > used)
        for (int i = 0; i < 3; i++) out[used++] = '.';
    out[used] = 0;
    return out;
}
