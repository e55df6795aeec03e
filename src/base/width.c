// width.c: wcwidth, asked in a locale of ours: it knows only what the one of the thread knows, and in that of C nothing
// beyond ASCII.
#define _XOPEN_SOURCE 700 // wcwidth
#include "base/width.h"

#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wchar.h>

static locale_t unicode;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_locale(void)
{
    unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); // stays for the life of the program
}

static locale_t enter(void)
{
    pthread_once(&once, make_locale);
    return unicode ? uselocale(unicode) : (locale_t)0;
}

static void leave(locale_t before)
{
    if (before) uselocale(before);
}

// Of the character at p, and its bytes. What is no character, or none that is known, is taken to have one column.
static size_t width_of(const char *p, size_t n, size_t *length)
{
    uint32_t code = 0;
    *length = gp_text_decode(p, n, &code);
    if (!*length) return *length = 1, 1;
    if (code >= 0x20 && code < 0x7f) return 1;
    const int width = unicode ? wcwidth((wchar_t)code) : 1;
    return width < 0 ? 1 : (size_t)width;
}

size_t gp_text_width(const char *p, size_t n)
{
    size_t columns = 0, length;
    const locale_t before = enter();
    for (size_t i = 0; i < n; i += length) columns += width_of(p + i, n - i, &length);
    leave(before);
    return columns;
}

size_t gp_text_fitting(const char *p, size_t n, size_t columns)
{
    size_t i = 0, used = 0, length;
    const locale_t before = enter();
    for (; i < n; i += length) {
        used += width_of(p + i, n - i, &length);
        if (used > columns) break;
    }
    leave(before);
    return i;
}

static void add_blanks(gp_buffer *out, size_t n)
{
    for (; n; n--) gp_buffer_bytes(out, " ", 1);
}

void gp_buffer_cell(gp_buffer *out, const char *text, size_t columns, gp_align align)
{
    static const char ellipsis[] = "\u2026";
    gp_buffer shown = {0};
    gp_buffer_printable(&shown, text, strlen(text), false);
    if (shown.failed) out->failed = true;
    const char *p = shown.p ? shown.p : "";
    const size_t width = gp_text_width(p, shown.n);
    const bool cut = width > columns;
    const size_t n = cut ? gp_text_fitting(p, shown.n, columns ? columns - 1 : 0) : shown.n;
    const size_t used = cut ? gp_text_width(p, n) + (columns > 0) : width;
    if (align == GP_RIGHT) add_blanks(out, columns - used);
    gp_buffer_bytes(out, p, n);
    if (cut && columns) gp_buffer_bytes(out, ellipsis, sizeof ellipsis - 1);
    if (align == GP_LEFT) add_blanks(out, columns - used);
    gp_buffer_fini(&shown);
}

// Columns that the last line of the text has.
static size_t last_line(const gp_buffer *text)
{
    size_t first = text->n;
    while (first && text->p[first - 1] != '\n') first--;
    return text->n ? gp_text_width(text->p + first, text->n - first) : 0;
}

void gp_buffer_wrapped(gp_buffer *out, const char *text, size_t indent, size_t columns)
{
    size_t at = last_line(out);
    bool fresh = true; // nothing of the text is in this line yet
    while (*text) {
        if (*text == ' ') {
            text++;
            continue;
        }
        if (*text == '\n') {
            gp_buffer_bytes(out, "\n", 1);
            add_blanks(out, indent);
            at = indent, fresh = true, text++;
            continue;
        }
        const size_t n = strcspn(text, " \n"), width = gp_text_width(text, n);
        if (!fresh && columns && at + 1 + width > columns) {
            gp_buffer_bytes(out, "\n", 1);
            add_blanks(out, indent);
            at = indent, fresh = true;
        }
        if (!fresh) gp_buffer_bytes(out, " ", 1), at++;
        gp_buffer_bytes(out, text, n);
        at += width, text += n, fresh = false;
    }
}

// Bytes of the line that its first row takes: up to the last blank that fits, or else what fits.
static size_t first_row(const char *line, size_t n, size_t columns, size_t indent)
{
    const size_t fits = gp_text_fitting(line, n, columns);
    if (fits == n) return n;
    size_t at = fits + 1; // a blank just behind is a good end, too
    while (at > indent && line[at - 1] != ' ') at--;
    return at > indent ? at - 1 : fits ? fits : n;
}

static void fold_line(gp_buffer *out, const char *line, size_t n, size_t columns)
{
    size_t indent = 0, used = 0;
    while (indent < n && line[indent] == ' ') indent++;
    const size_t further = indent + 2 < columns / 2 ? indent + 2 : columns / 2;
    for (bool first = true; n; first = false) {
        const size_t row = first_row(line, n, columns - used, first ? indent : 0);
        if (!first) gp_buffer_bytes(out, "\n", 1), add_blanks(out, further);
        gp_buffer_bytes(out, line, row);
        line += row, n -= row, used = further;
        while (n && *line == ' ') line++, n--;
    }
}

void gp_buffer_folded(gp_buffer *out, const char *page, size_t n, size_t columns)
{
    while (n) {
        const char *end = memchr(page, '\n', n);
        const size_t length = end ? (size_t)(end - page) : n;
        if (!columns || gp_text_width(page, length) <= columns)
            gp_buffer_bytes(out, page, length);
        else
            fold_line(out, page, length, columns);
        if (end) gp_buffer_bytes(out, "\n", 1);
        page += length + (end != NULL), n -= length + (end != NULL);
    }
}
