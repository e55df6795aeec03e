// status.h: how a function inside advgp fails: it writes one sentence where the cause is known, and returns the status.
#pragma once
#include "advgp.h"

// Records status and text in err (which may be NULL) and returns status, so that a failure is one line:
//     return gp_fail(err, ADVGP_EINVAL, "rank %zu is above m = %zu", rank, m);
__attribute__((format(printf, 3, 4))) advgp_status gp_fail(advgp_error *err, advgp_status status, const char *format,
                                                           ...);

// Puts context in front of the text already in err ("component 2: ..."); returns status unchanged.
__attribute__((format(printf, 3, 4))) advgp_status gp_wrap(advgp_error *err, advgp_status status, const char *format,
                                                           ...);
