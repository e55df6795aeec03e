// host.c: sentences to whoever asked for the work.
#include "base/host.h"

#include <stdarg.h>
#include <stdio.h>

void gp_host_report(const gp_host *host, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    GP_TELL(host, report, text);
}

void gp_host_phase(const gp_host *host, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (; host; host = host->next)
        if (host->phase)
            host->phase(host->ctx, text);
        else if (host->report)
            host->report(host->ctx, text);
}

const gp_host *gp_host_stopper(const gp_host *host)
{
    static const gp_host nobody;
    while (host && !host->stop) host = host->next;
    return host ? host : &nobody;
}

bool gp_host_stops(const gp_host *host)
{
    host = gp_host_stopper(host);
    return host->stop && host->stop(host->ctx);
}
