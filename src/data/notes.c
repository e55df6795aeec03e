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

advgp_status gp_notes_add(gp_notes *notes, advgp_error *err, size_t count, const char *format, ...)
{
    if (!notes) return ADVGP_OK;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = make_room(notes) ? gp_copy_text(text) : NULL;
    if (!copy) return gp_fail(err, ADVGP_ENOMEM, "no memory for a note");
    notes->items[notes->n++] = (gp_note){.text = copy, .count = count};
    return ADVGP_OK;
}

void gp_notes_fini(gp_notes *notes)
{
    for (size_t i = 0; i < notes->n; i++) gp_free(notes->items[i].text);
    gp_free(notes->items);
    *notes = (gp_notes){0};
}
