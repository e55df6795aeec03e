// status.h: how a function inside advgp fails: it writes one sentence where the cause is known, and returns the status.
#pragma once
#include "advgp.h"

// Records status and text in err (which may be NULL) and returns status, so that a failure is one line:
//     return gp_fail(err, ADVGP_EINVAL, "rank %zu is above m = %zu", rank, m);
// The macros hand the status back themselves: a reader of the code that never looks into status.c, like a static
// analyser, sees that it is not OK.
#define gp_fail(err, status, ...) (gp_fail_text((err), (status), __VA_ARGS__), (status))
// Puts context in front of the text already in err ("component 2: ..."); returns status unchanged.
#define gp_wrap(err, status, ...) (gp_wrap_text((err), (status), __VA_ARGS__), (status))

// The failure of gp_alloc, gp_grow and gp_arena_take, in one sentence that names what this thread was refused:
//     if (!rows) return gp_no_memory(err);
#define gp_no_memory(err) (gp_no_memory_text(err), ADVGP_ENOMEM)

__attribute__((format(printf, 3, 4))) void gp_fail_text(advgp_error *err, advgp_status status, const char *format, ...);
__attribute__((format(printf, 3, 4))) void gp_wrap_text(advgp_error *err, advgp_status status, const char *format, ...);
void gp_no_memory_text(advgp_error *err);
