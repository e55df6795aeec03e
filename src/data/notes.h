// notes.h: what a user should know about what was done to the data (a column dropped, rows without a target), as a list
// of sentences with their counts. The list is filled by the rooms below and printed by whoever talks to the user.
#pragma once
#include "base/host.h"
#include "base/status.h"

#include <stddef.h>

typedef struct gp_note {
    char *text;       // one sentence, without a full stop
    size_t count;     // how many rows, values or columns it speaks of
    const char *many; // where several columns may have the same to say: "have missing values"; else NULL
    char *column;     // then: which one
} gp_note;

typedef struct gp_notes {
    gp_note *items;
    size_t n, capacity;
} gp_notes; // {0} is an empty list

// notes may be NULL: then nothing is kept. ENOMEM is the only failure.
__attribute__((format(printf, 4, 5))) advgp_status gp_notes_add(gp_notes *notes, advgp_error *err, size_t count,
                                                                const char *format, ...);
// Of one column; `many`, which must stay, says it of several.
__attribute__((format(printf, 6, 7))) advgp_status gp_notes_add_column(gp_notes *notes, advgp_error *err, size_t count,
                                                                       const char *column, const char *many,
                                                                       const char *format, ...);
void gp_notes_cut(gp_notes *notes, size_t n); // all but the first n go
void gp_notes_fini(gp_notes *notes);

// How they are told: each once, and where more than GP_NOTES_ALIKE columns have the same to say, in one sentence that
// names the first of them; of columns that are left out more than GP_NOTES_LEFT_OUT, and all are named.
enum { GP_NOTES_ALIKE = 3, GP_NOTES_LEFT_OUT = 10 };
void gp_notes_tell(const gp_notes *notes, void (*tell)(void *ctx, const char *text), void *ctx);
void gp_host_notes(const gp_host *host, const gp_notes *notes);
