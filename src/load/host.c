// host.c: sentences to whoever asked for the work.
#include "load/host.h"

#include <stdarg.h>
#include <stdio.h>

void gp_host_report(const gp_host *host, const char *format, ...)
{
    char text[1024];
    if (!host || !host->report) return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    host->report(host->ctx, text);
}

void gp_host_phase(const gp_host *host, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (host && host->phase)
        host->phase(host->ctx, text);
    else
        gp_host_report(host, "%s", text);
}

static void tell_note(void *ctx, const char *text)
{
    gp_host_report(ctx, "note: %s", text);
}

void gp_host_notes(const gp_host *host, const gp_notes *notes)
{
    gp_host borrowed = host ? *host : (gp_host){0};
    gp_notes_tell(notes, tell_note, &borrowed);
}

bool gp_host_stops(const gp_host *host)
{
    return host && host->stop && host->stop(host->ctx);
}
