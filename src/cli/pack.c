// pack.c: `advgp pack`: any source to a folder of packed shards.
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/load.h"

#include <math.h>
#include <stdio.h>

static void tell(const char *what, double rows)
{
    fprintf(stderr, "%s: %.0f rows\n", what, rows);
}

advgp_status gp_cli_pack(const gp_options *o, advgp_error *err)
{
    const bool quiet = gp_options_flag(o, "quiet");
    const double start = gp_clock_wall();
    gp_notes notes = {0};
    size_t n_rows = 0;
    gp_interrupt_catch();
    if (!quiet) fprintf(stderr, "reading %s%s\n", o->operands[0], o->n_operands > 1 ? " and others" : "");
    const advgp_status st = gp_load_pack(o, quiet ? NULL : tell, &notes, &n_rows, err);
    if (st == ADVGP_OK) {
        const double seconds = gp_clock_wall() - start;
        for (size_t i = 0; !quiet && i < notes.n; i++) fprintf(stderr, "note: %s\n", notes.items[i].text);
        if (gp_options_flag(o, "json"))
            printf("{\"output\": \"%s\", \"rows\": %zu, \"seconds\": %.3f}\n", gp_options_text(o, "output"), n_rows,
                   seconds);
        else
            printf("%s: %zu rows in %.1f s, %.2f million a second\n", gp_options_text(o, "output"), n_rows, seconds,
                   (double)n_rows / fmax(seconds, 1e-9) / 1e6);
    }
    gp_notes_fini(&notes);
    return st;
}
