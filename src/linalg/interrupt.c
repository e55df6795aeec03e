// interrupt.c: the scope of a thread, and what is long.
#include "linalg/interrupt.h"
#include "base/status.h"
#include "base/whole.h"

static _Thread_local gp_interrupt *current;

static const double long_flops = 1e10, panel_flops = 2.5e9;
enum { PANEL_LEAST = 32 }; // thinner ones would slow BLAS down

void gp_interrupt_open(gp_interrupt *scope, int (*asked)(void *ctx), void *ctx)
{
    *scope = (gp_interrupt){.asked = asked, .ctx = ctx, .outer = current};
    current = scope;
}

bool gp_interrupt_close(gp_interrupt *scope)
{
    current = scope->outer;
    return scope->heard;
}

bool gp_interrupted(void)
{
    gp_interrupt *s = current;
    if (s && s->asked && !s->heard) s->heard = s->asked(s->ctx) != 0;
    return gp_interrupt_heard();
}

bool gp_interrupt_heard(void)
{
    return current && current->heard;
}

advgp_status gp_interrupt_status(advgp_status st, const char *what, advgp_error *err)
{
    return gp_interrupt_heard() ? gp_fail(err, ADVGP_ESTOPPED, "interrupted during %s", what) : st;
}

size_t gp_panel(size_t units, double flops)
{
    if (flops <= long_flops) return units;
    const size_t n = gp_index((double)units * panel_flops / flops, units);
    return n < PANEL_LEAST ? PANEL_LEAST : n;
}
