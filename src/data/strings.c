// strings.c: growing text, copies and nearest names.
#include "data/strings.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool reserve(gp_string *s, size_t more)
{
    if (s->failed) return false;
    if (s->n + more + 1 <= s->capacity) return true;
    size_t capacity = 2 * (s->n + more + 1);
    char *p = gp_alloc(capacity, 1);
    if (!p) {
        s->failed = true;
        return false;
    }
    if (s->n) memcpy(p, s->p, s->n);
    gp_free(s->p);
    s->p = p;
    s->capacity = capacity;
    return true;
}

void gp_string_bytes(gp_string *s, const char *bytes, size_t n)
{
    if (!reserve(s, n)) return;
    if (n) memcpy(s->p + s->n, bytes, n);
    s->n += n;
    s->p[s->n] = 0;
}

void gp_string_add(gp_string *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) {
        s->failed = true;
    } else if (reserve(s, (size_t)n)) {
        vsnprintf(s->p + s->n, (size_t)n + 1, format, again);
        s->n += (size_t)n;
    }
    va_end(again);
}

void gp_string_quoted(gp_string *s, const char *text, char quote)
{
    gp_string_bytes(s, &quote, 1);
    for (const char *p = text; *p; p++) {
        if (*p == quote) gp_string_bytes(s, &quote, 1);
        gp_string_bytes(s, p, 1);
    }
    gp_string_bytes(s, &quote, 1);
}

void gp_string_fini(gp_string *s)
{
    gp_free(s->p);
    *s = (gp_string){0};
}

char *gp_copy_bytes(const char *bytes, size_t n)
{
    char *copy = gp_alloc(n + 1, 1);
    if (copy && n) memcpy(copy, bytes, n);
    return copy;
}

char *gp_copy_text(const char *text)
{
    return gp_copy_bytes(text, strlen(text));
}

enum { NAME_MAX_COMPARED = 63 }; // longer names are compared by their beginning

// Levenshtein's distance, one row of the table at a time.
static size_t edits(const char *a, const char *b)
{
    size_t n = strnlen(a, NAME_MAX_COMPARED), m = strnlen(b, NAME_MAX_COMPARED);
    size_t row[NAME_MAX_COMPARED + 1];
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replace = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            size_t remove = row[j] + 1, insert = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = replace < remove ? replace : remove;
            if (insert < row[j]) row[j] = insert;
        }
    }
    return row[m];
}

const char *gp_nearest_name(const char *wanted, const char *const *names, size_t n_names)
{
    const char *best = NULL;
    size_t fewest = strlen(wanted) / 3 + 2; // a third of the letters wrong is still a slip; more is another word
    for (size_t i = 0; i < n_names; i++) {
        size_t cost = edits(wanted, names[i]);
        if (cost >= fewest) continue;
        fewest = cost;
        best = names[i];
    }
    return best;
}

const char *gp_show_text(char *out, size_t capacity, const char *text, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n && used + 4 < capacity; i++) {
        unsigned char c = (unsigned char)text[i];
        out[used++] = (char)(c < 32 || c == 127 ? '?' : c);
    }
    while (used && n > used && ((unsigned char)out[used - 1] & 0x80))
        used--; // no half of a UTF-8 letter before the dots
    if (n > used)
        for (int i = 0; i < 3; i++) out[used++] = '.';
    out[used] = 0;
    return out;
}
