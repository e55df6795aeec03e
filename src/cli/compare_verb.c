// compare_verb.c: `advgp compare`: several methods side by side, as a table.
#include "api/comparison.h"
#include "base/clock.h"
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

typedef struct progress {
    const gp_options *o;
    double next_line; // wall clock
} progress;

static void on_eval(void *ctx, const char *run, const gp_train_eval *e)
{
    progress *p = ctx;
    const double now = gp_clock_wall();
    if (now < p->next_line) return;
    p->next_line = now + (isatty(STDERR_FILENO) ? 1 : 4);
    char held_out[48] = "";
    if (!isnan(e->rmse)) snprintf(held_out, sizeof held_out, ", held-out RMSE %.5g", e->rmse);
    gp_cli_say(p->o, "%s: version %zu, %.0f CPU seconds%s", run, e->version, e->cpu, held_out);
}

static void print_table(const gp_comparison *c)
{
    const json_t *row;
    const gp_train_result *first = gp_comparison_first(c);
    if (first)
        printf("figures on %s\n\n%-14s %6s %6s %10s %10s %14s %12s %9s %8s\n", gp_cli_scored(first).p, "method", "m",
               "delay", "CPU s", "wall s", "-ELBO", "RMSE", "MNLP", "90 % in");
    for (size_t i = 0; (row = json_array_get(gp_comparison_rows(c), i)); i++) {
        const json_t *delay = json_object_get(row, "max_delay"), *elbo = json_object_get(row, "neg_elbo");
        if (json_object_get(row, "failed")) {
            gp_cli_print("%-14s cannot do this: %s\n", json_string_value(json_object_get(row, "method")),
                         json_string_value(json_object_get(row, "failed")));
            continue;
        }
        char m[16] = "-", tau[16] = "-", bound[24] = "-";
        if (json_integer_value(json_object_get(row, "inducing")))
            snprintf(m, sizeof m, "%lld", (long long)json_integer_value(json_object_get(row, "inducing")));
        if (json_is_string(delay)) snprintf(tau, sizeof tau, "inf");
        if (json_is_integer(delay)) snprintf(tau, sizeof tau, "%lld", (long long)json_integer_value(delay));
        if (json_is_real(elbo)) snprintf(bound, sizeof bound, "%.1f", json_real_value(elbo));
        printf(
            "%-14s %6s %6s %10.1f %10.1f %14s %12.6g %9.4f %8.1f\n", json_string_value(json_object_get(row, "method")),
            m, tau, json_real_value(json_object_get(row, "cpu_seconds")),
            json_real_value(json_object_get(row, "wall_seconds")), bound, json_real_value(json_object_get(row, "rmse")),
            json_real_value(json_object_get(row, "mnlp")), 100 * json_real_value(json_object_get(row, "coverage_90")));
    }
}

// Also of a comparison that did not come to its end: st is how it ended.
static advgp_status show(const gp_options *o, const gp_comparison *c, advgp_status st, advgp_error *err)
{
    if (!json_array_size(gp_comparison_rows(c))) return st;
    if (!gp_options_flag(o, "json")) {
        print_table(c);
        return st;
    }
    const advgp_status shown = gp_cli_print_json_take(gp_comparison_json(c, st == ADVGP_ESTOPPED),
                                                      st == ADVGP_OK ? err : NULL);
    return st == ADVGP_OK ? shown : st;
}

advgp_status gp_cli_compare(const gp_options *o, advgp_error *err)
{
    progress p = {.o = o};
    gp_comparison *c = NULL;
    advgp_status st = gp_comparison_new(o, gp_cli_host(o), &(gp_compare_events){.ctx = &p, .eval = on_eval}, &c, err);
    if (st != ADVGP_OK) return st;
    st = show(o, c, gp_comparison_run(c, err), err);
    if (st == ADVGP_OK) st = gp_comparison_logged(c, err);
    gp_comparison_free(c);
    return st;
}
