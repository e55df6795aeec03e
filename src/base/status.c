// status.c: names and texts of the status codes, and the functions that write an advgp_error.
#include "base/status.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifndef ADVGP_VERSION
#define ADVGP_VERSION "0.0.0" // the build passes the project's version
#endif

static const struct {
    const char *name, *text;
} entries[] = {
#define X(name, text) {#name, text},
    ADVGP_STATUS_LIST(X)
#undef X
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

const char *advgp_status_name(advgp_status status)
{
    return (unsigned)status < N_ENTRIES ? entries[status].name : "?";
}

const char *advgp_status_text(advgp_status status)
{
    return (unsigned)status < N_ENTRIES ? entries[status].text : "unknown status";
}

const char *advgp_version(void)
{
    return ADVGP_VERSION;
}

void gp_fail_text(advgp_error *err, advgp_status status, const char *format, ...)
{
    if (!err) return;
    va_list args;
    va_start(args, format);
    err->status = status;
    vsnprintf(err->text, sizeof err->text, format, args); // a longer text is cut, never overrun
    va_end(args);
}

void gp_no_memory_text(advgp_error *err)
{
    double bytes = gp_alloc_refused();
    const char *unit = bytes >= 1e9 ? "GB" : bytes >= 1e6 ? "MB" : "kB";
    if (bytes > 0)
        gp_fail_text(err, ADVGP_ENOMEM, "out of memory: %.3g %s could not be allocated",
                     bytes / (bytes >= 1e9   ? 1e9
                              : bytes >= 1e6 ? 1e6
                                             : 1e3),
                     unit);
    else
        gp_fail_text(err, ADVGP_ENOMEM, "out of memory");
}

void gp_wrap_text(advgp_error *err, advgp_status status, const char *format, ...)
{
    (void)status;
    if (!err) return;
    char context[sizeof err->text];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(context, sizeof context, format, args);
    va_end(args);
    if (used < 0 || (size_t)used + 3 > sizeof err->text) return; // no room for context: the cause matters more
    memmove(err->text + used + 2, err->text, sizeof err->text - (size_t)used - 2);
    memcpy(err->text, context, (size_t)used);
    memcpy(err->text + used, ": ", 2);
    err->text[sizeof err->text - 1] = 0;
}
