// host.c: sentences to whoever asked for the work.
#include "api/host.h"

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

void gp_host_notes(const gp_host *host, const gp_notes *notes)
{
    for (size_t i = 0; i < notes->n; i++) gp_host_report(host, "note: %s", notes->items[i].text);
}

bool gp_host_stops(const gp_host *host)
{
    return host && host->stop && host->stop(host->ctx);
}
