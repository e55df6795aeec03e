// interrupt.h: long work that can be ended on the way.
//
// Who can do without a result opens a scope on its thread. Work that is long comes in panels (by its size alone, so
// that the bits do not depend on who listens), and between two of them dense.h, factor.h and the loops above them ask.
// After a yes the long work of the scope is left undone, all that follows too, and what was computed is worth nothing:
// functions that return a status say ESTOPPED, the others just return.
#pragma once
#include "advgp.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gp_interrupt {
    int (*asked)(void *ctx);
    void *ctx;
    bool heard;
    struct gp_interrupt *outer;
} gp_interrupt;

// For this thread, until it is closed; inside another one only the inner one is asked. asked may be NULL: nothing ends
// what is done inside.
void gp_interrupt_open(gp_interrupt *scope, int (*asked)(void *ctx), void *ctx);
// Whether it was asked and said yes.
bool gp_interrupt_close(gp_interrupt *scope);

bool gp_interrupted(void);     // asks; after the first yes without asking again
bool gp_interrupt_heard(void); // was there a yes in this scope?
// st, or where there was a yes ESTOPPED: "interrupted during <what>".
advgp_status gp_interrupt_status(advgp_status st, const char *what, advgp_error *err);

// Of `units` rows or columns with so many flops in all: how many go into one panel. All of them where the whole is
// short: up to a second, as every product of 1,500 x 1,500 matrices is.
size_t gp_panel(size_t units, double flops);
