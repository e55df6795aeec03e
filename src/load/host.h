// host.h: whoever asked for the work: it is told what people should know, and asked whether to stop. The program
// prints; a caller of the library has functions of its own.
#pragma once
#include "data/notes.h"
#include "recipe/train.h"

#include <stdbool.h>

typedef struct gp_host {
    void *ctx;
    void (*report)(void *ctx, const char *text); // one sentence, without a full stop; may be NULL
    void (*rows)(void *ctx, size_t rows);        // read so far; may be NULL
    void (*phase)(void *ctx, const char *what);  // what is done from now on; may be NULL: then it is reported
    void (*progress)(void *ctx, const gp_train_progress *now); // of that, often; may be NULL
    int (*stop)(void *ctx);                                    // non-zero: end soon, with ESTOPPED; may be NULL
} gp_host;

// A host that is NULL hears nothing and never stops.
__attribute__((format(printf, 2, 3))) void gp_host_report(const gp_host *host, const char *format, ...);
__attribute__((format(printf, 2, 3))) void gp_host_phase(const gp_host *host, const char *format, ...);
void gp_host_notes(const gp_host *host, const gp_notes *notes);
bool gp_host_stops(const gp_host *host);
