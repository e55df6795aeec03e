// text.c: growing text, numbers from text, UTF-8, text made safe to print, edit distance.
#include "base/text.h"

#include "base/alloc.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(gp_buffer *text, size_t more)
{
    if (text->failed) return false;
    if (more < text->room - text->n) return true; // one byte stays for the zero
    size_t room = 2 * (text->n + more + 32);
    char *p = more < SIZE_MAX / 4 ? gp_alloc(room, 1) : NULL;
    if (!p) {
        text->failed = true;
        return false;
    }
    if (text->n) memcpy(p, text->p, text->n);
    gp_free(text->p);
    text->p = p;
    text->room = room;
    return true;
}

void gp_buffer_bytes(gp_buffer *text, const char *p, size_t n)
{
    if (!make_room(text, n)) return;
    if (n) memcpy(text->p + text->n, p, n);
    text->n += n;
    text->p[text->n] = 0;
}

void gp_buffer_add(gp_buffer *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length >= 0 && make_room(text, (size_t)length)) {
        vsnprintf(text->p + text->n, (size_t)length + 1, format, again);
        text->n += (size_t)length;
    }
    va_end(again);
}

void gp_buffer_fini(gp_buffer *text)
{
    gp_free(text->p);
    *text = (gp_buffer){0};
}

char *gp_text_copy(const char *p, size_t n)
{
    char *copy = n < SIZE_MAX ? gp_alloc(n + 1, 1) : NULL;
    if (copy && n) memcpy(copy, p, n);
    return copy;
}

// strtod alone would also take blanks, "nan", "infinity" and hexadecimals.
static bool looks_like_a_number(const char *text)
{
    return *text && strspn(text, "+-.0123456789eE") == strlen(text);
}

bool gp_text_real(const char *text, double *out)
{
    if (!looks_like_a_number(text)) return false;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); // a host program may have set a decimal comma
    if (!plain) return false;
    locale_t before = uselocale(plain);
    char *end;
    double value = strtod(text, &end);
    uselocale(before);
    freelocale(plain);
    if (*end || !isfinite(value)) return false;
    *out = value;
    return true;
}

bool gp_text_integer(const char *text, int64_t *out)
{
    if (!looks_like_a_number(text)) return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (*end || errno) return false;
    *out = value;
    return true;
}

// Length of the sequence that starts with this byte, 0 for a byte that starts none; *least is its smallest code point.
static size_t sequence_length(unsigned char byte, uint32_t *least)
{
    if (byte < 0x80) return *least = 0, 1;
    if (byte >= 0xc2 && byte < 0xe0) return *least = 0x80, 2;
    if (byte >= 0xe0 && byte < 0xf0) return *least = 0x800, 3;
    if (byte >= 0xf0 && byte < 0xf5) return *least = 0x10000, 4;
    return 0;
}

size_t gp_text_decode(const char *p, size_t n, uint32_t *code)
{
    uint32_t least = 0;
    const size_t length = n ? sequence_length((unsigned char)p[0], &least) : 0;
    if (!length || length > n) return 0;
    *code = length == 1 ? (unsigned char)p[0] : (unsigned char)p[0] & (0x7fu >> length);
    for (size_t k = 1; k < length; k++) {
        if (((unsigned char)p[k] & 0xc0) != 0x80) return 0;
        *code = *code << 6 | ((unsigned char)p[k] & 0x3f);
    }
    return *code < least || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : length;
}

bool gp_text_is_utf8(const char *p, size_t n)
{
    uint32_t code;
    for (size_t i = 0, length; i < n; i += length)
        if (!(length = gp_text_decode(p + i, n - i, &code))) return false;
    return true;
}

enum { ESCAPE_BYTES = 8 }; // \u202e and a zero

// What obeys instead of being seen: the controls of ASCII, those of U+0080 to U+009F, which terminals obey as well, and
// marks of direction, which let a text be read as another.
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

// How the character at p is shown, *shown bytes at *as; returns how many bytes of p that stands for.
static size_t show(const char *p, size_t n, bool lines, char escape[ESCAPE_BYTES], const char **as, size_t *shown)
{
    uint32_t code = 0;
    const size_t length = gp_text_decode(p, n, &code);
    *as = escape;
    if (!length)
        *shown = (size_t)snprintf(escape, ESCAPE_BYTES, "\\x%02x", (unsigned)(unsigned char)*p);
    else if (!is_control(code) || (lines && code == '\n'))
        *as = p, *shown = length;
    else if (code == '\n' || code == '\t' || code == '\r')
        *shown = (size_t)snprintf(escape, ESCAPE_BYTES, "\\%c", code == '\n' ? 'n' : code == '\t' ? 't' : 'r');
    else
        *shown = (size_t)snprintf(escape, ESCAPE_BYTES, code < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)code & 0xffff);
    return length ? length : 1;
}

size_t gp_text_printable(char *out, size_t room, const char *p, size_t n)
{
    char escape[ESCAPE_BYTES];
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        const char *as;
        size_t shown;
        i += show(p + i, n - i, false, escape, &as, &shown);
        if (used + shown + 1 > room) break;
        memcpy(out + used, as, shown);
        used += shown;
    }
    if (room) out[used] = 0;
    return used;
}

void gp_buffer_printable(gp_buffer *text, const char *p, size_t n, bool lines)
{
    char escape[ESCAPE_BYTES];
    for (size_t i = 0; i < n && !text->failed;) {
        const char *as;
        size_t shown;
        i += show(p + i, n - i, lines, escape, &as, &shown);
        gp_buffer_bytes(text, as, shown);
    }
}

enum { LONGEST = 47 }; // no name of ours is longer; what is typed may be anything

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Optimal string alignment: the dynamic programme of Levenshtein with one more way, the swap of two neighbours.
size_t gp_text_distance(const char *typed, const char *word)
{
    size_t n = strnlen(typed, LONGEST), m = strnlen(word, LONGEST);
    if (n >= 2 && n < m && memcmp(typed, word, n) == 0) return 1;
    size_t d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n; i++) d[i][0] = i;
    for (size_t j = 0; j <= m; j++) d[0][j] = j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            size_t change = d[i - 1][j - 1] + (typed[i - 1] != word[j - 1]);
            d[i][j] = smaller(change, smaller(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && typed[i - 1] == word[j - 2] && typed[i - 2] == word[j - 1])
                d[i][j] = smaller(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

bool gp_text_is_near(const char *typed, const char *word)
{
    const size_t n = strnlen(typed, LONGEST);
    if (n >= 2 && strncmp(typed, word, n) == 0) return true;
    return gp_text_distance(typed, word) <= n / 3;
}
