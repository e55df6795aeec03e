// notes.c: the list of notes.h.
#include "data/notes.h"

#include "base/alloc.h"
#include "data/strings.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool make_room(gp_notes *notes)
{
    return gp_grow(&notes->items, &notes->capacity, notes->n, notes->n + 1, sizeof *notes->items);
}

// What is decided about a column is often found again as its rows are read: the first note says that and more.
static bool was_said(const gp_notes *notes, const char *column, const char *text)
{
    for (size_t i = 0; column && i < notes->n; i++) {
        const gp_note *before = &notes->items[i];
        if (before->column && !strcmp(before->column, column) && !strncmp(before->text, text, strlen(text)))
            return true;
    }
    return false;
}

static advgp_status add(gp_notes *notes, gp_note note, const char *column, const char *format, va_list args,
                        advgp_error *err)
{
    if (!notes) return ADVGP_OK;
    char text[512];
    vsnprintf(text, sizeof text, format, args);
    if (was_said(notes, column, text)) return ADVGP_OK;
    note.text = make_room(notes) ? gp_copy_text(text) : NULL;
    note.column = note.text && column ? gp_copy_text(column) : NULL;
    if (!note.text || (column && !note.column)) {
        gp_free(note.text);
        return gp_no_memory(err);
    }
    notes->items[notes->n++] = note;
    return ADVGP_OK;
}

advgp_status gp_notes_add(gp_notes *notes, advgp_error *err, size_t count, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const advgp_status st = add(notes, (gp_note){.count = count}, NULL, format, args, err);
    va_end(args);
    return st;
}

advgp_status gp_notes_add_column(gp_notes *notes, advgp_error *err, size_t count, const char *column, const char *many,
                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const advgp_status st = add(notes, (gp_note){.count = count, .many = many}, column, format, args, err);
    va_end(args);
    return st;
}

// ---- telling --------------------------------------------------------------------------------------------------------

static bool is_alike(const gp_note *a, const gp_note *b)
{
    return a->many && b->many && strcmp(a->many, b->many) == 0;
}

static bool was_told(const gp_notes *notes, size_t i, bool grouped)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(notes->items[k].text, notes->items[i].text) == 0 ||
            (grouped && is_alike(&notes->items[k], &notes->items[i])))
            return true;
    return false;
}

static size_t n_alike(const gp_notes *notes, size_t i)
{
    size_t n = 0;
    for (size_t k = 0; k < notes->n; k++) n += is_alike(&notes->items[k], &notes->items[i]);
    return n;
}

// What is left out is named, all of it.
static bool is_left_out(const gp_note *note)
{
    return note->many && strncmp(note->many, "are left out", 12) == 0;
}

// "54 columns have missing values (a, b, c, ...)"
static void tell_group(const gp_notes *notes, size_t i, size_t n, void (*tell)(void *ctx, const char *text), void *ctx)
{
    const size_t most = is_left_out(&notes->items[i]) ? notes->n : GP_NOTES_ALIKE;
    gp_buffer text = {0};
    size_t named = 0;
    gp_buffer_add(&text, "%zu columns %s (", n, notes->items[i].many);
    for (size_t k = i; k < notes->n && named < most; k++)
        if (is_alike(&notes->items[k], &notes->items[i]))
            gp_buffer_add(&text, "%s%.60s", named++ ? ", " : "", notes->items[k].column);
    gp_buffer_add(&text, named < n ? ", ...)" : ")");
    tell(ctx, text.failed ? notes->items[i].text : text.p);
    gp_buffer_fini(&text);
}

void gp_notes_tell(const gp_notes *notes, void (*tell)(void *ctx, const char *text), void *ctx)
{
    for (size_t i = 0; i < notes->n; i++) {
        const size_t n = n_alike(notes, i);
        const bool grouped = n > (is_left_out(&notes->items[i]) ? GP_NOTES_LEFT_OUT : GP_NOTES_ALIKE);
        if (was_told(notes, i, grouped)) continue;
        if (grouped)
            tell_group(notes, i, n, tell, ctx);
        else
            tell(ctx, notes->items[i].text);
    }
}

void gp_notes_cut(gp_notes *notes, size_t n)
{
    for (size_t i = n; i < notes->n; i++) gp_free(notes->items[i].text), gp_free(notes->items[i].column);
    if (n < notes->n) notes->n = n;
}

void gp_notes_fini(gp_notes *notes)
{
    gp_notes_cut(notes, 0);
    gp_free(notes->items);
    *notes = (gp_notes){0};
}

static void tell_host(void *ctx, const char *text)
{
    gp_host_report(*(const gp_host *const *)ctx, "note: %s", text);
}

void gp_host_notes(const gp_host *host, const gp_notes *notes)
{
    gp_notes_tell(notes, tell_host, &host);
}
