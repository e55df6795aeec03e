// pack_verb.c: `advgp pack`: any source to a folder of packed shards.
#include "base/clock.h"
#include "cli/cli.h"
#include "load/load.h"

#include <math.h>
#include <stdio.h>

advgp_status gp_cli_pack(const gp_options *o, advgp_error *err)
{
    const double start = gp_clock_wall();
    gp_notes notes = {0};
    size_t n_rows = 0;
    gp_cli_say(o, "reading %s%s", o->operands[0], o->n_operands > 1 ? " and others" : "");
    advgp_status st = gp_load_pack(o, gp_cli_host(o), &notes, &n_rows, err);
    if (st == ADVGP_OK) {
        const double seconds = gp_clock_wall() - start;
        gp_cli_notes(o, &notes);
        if (gp_options_flag(o, "json"))
            st = gp_cli_print_json_take(json_pack("{s:s, s:I, s:f}", "output", gp_options_text(o, "output"), "rows",
                                                  (json_int_t)n_rows, "seconds", seconds),
                                        err);
        else
            printf("%s: %zu rows in %.1f s, %.2f million a second\n", gp_options_text(o, "output"), n_rows, seconds,
                   (double)n_rows / fmax(seconds, 1e-9) / 1e6);
    }
    gp_notes_fini(&notes);
    return st;
}
