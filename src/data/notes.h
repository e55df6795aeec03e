// notes.h: what a user should know about what was done to the data (a column dropped, rows without a target), as a list
// of sentences with their counts. The list is filled by the rooms below and printed by whoever talks to the user.
#pragma once
#include "base/status.h"

#include <stddef.h>

typedef struct gp_note {
    char *text;   // one sentence, without a full stop
    size_t count; // how many rows, values or columns it speaks of
} gp_note;

typedef struct gp_notes {
    gp_note *items;
    size_t n, capacity;
} gp_notes; // {0} is an empty list

// notes may be NULL: then nothing is kept. ENOMEM is the only failure.
__attribute__((format(printf, 4, 5))) advgp_status gp_notes_add(gp_notes *notes, advgp_error *err, size_t count,
                                                                const char *format, ...);
void gp_notes_fini(gp_notes *notes);
