// compare_verb.c: `advgp compare`: several methods side by side, as a table.
#include "api/comparison.h"
#include "base/clock.h"
#include "base/width.h"
#include "cli/cli.h"
#include "score/doubt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct progress {
    const gp_options *o;
    double next_line; // wall clock
} progress;

static void on_eval(void *ctx, const char *run, const gp_train_eval *e)
{
    progress *p = ctx;
    const double now = gp_clock_wall();
    gp_cli_live_figures(p->o, e);
    if (now < p->next_line || gp_cli_is_live()) return;
    p->next_line = now + 4;
    gp_cli_live_said();
    char held_out[48] = "";
    if (!isnan(e->rmse)) snprintf(held_out, sizeof held_out, ", held-out RMSE %.5g", e->rmse);
    gp_cli_say(p->o, "%s: version %zu, %.0f CPU seconds%s", run, e->version, e->cpu, held_out);
}

// The columns of the table, and how much each matters where there is no room for all.
typedef enum column {
    METHOD,
    INDUCING,
    DELAY,
    CPU,
    WALL,
    BOUND,
    RMSE,
    RMSE_DOUBT,
    MNLP,
    INSIDE,
    INSIDE_DOUBT,
    N_COLUMNS
} column;
enum { MOST_RANK = 9 };
static const struct {
    const char *head;
    size_t width;
    int rank; // the largest goes first
} table[N_COLUMNS] = {{"method", 14, 0}, {"m", 6, 1},       {"delay", 6, 5},    {"CPU s", 8, 3},
                      {"wall s", 8, 8},  {"-ELBO", 12, 7},  {"RMSE", 10, 0},    {"±", 6, 6},
                      {"MNLP", 9, 4},    {"90 % in", 8, 2}, {"±", 5, MOST_RANK}};

// Bits of the columns that are shown; standard errors are of few rows alone.
static unsigned shown_columns(bool doubted)
{
    const size_t columns = gp_cli_columns();
    unsigned shown = (1u << N_COLUMNS) - 1;
    if (!doubted) shown &= ~(1u << RMSE_DOUBT | 1u << INSIDE_DOUBT);
    for (int rank = MOST_RANK; columns && rank > 0; rank--) {
        size_t used = 0, out = N_COLUMNS;
        for (size_t i = 0; i < N_COLUMNS; i++) {
            if (shown >> i & 1) used += table[i].width + (i > 0);
            if (table[i].rank == rank) out = i;
        }
        if (used <= columns) break;
        if (out < N_COLUMNS) shown &= ~(1u << out);
    }
    return shown;
}

static void add_row(gp_buffer *out, unsigned shown, char cells[N_COLUMNS][40])
{
    for (size_t i = 0; i < N_COLUMNS; i++) {
        if (!(shown >> i & 1)) continue;
        if (i) gp_buffer_add(out, " ");
        gp_buffer_cell(out, cells[i], table[i].width, i ? GP_RIGHT : GP_LEFT);
    }
    gp_buffer_add(out, "\n");
}

static double real_of(const json_t *row, const char *key)
{
    return json_real_value(json_object_get(row, key));
}

static void add_run(gp_buffer *out, unsigned shown, const json_t *row)
{
    const json_t *delay = json_object_get(row, "max_delay"), *elbo = json_object_get(row, "neg_elbo"),
                 *doubted = json_object_get(row, "rmse_se");
    const long long m = json_integer_value(json_object_get(row, "inducing"));
    char cells[N_COLUMNS][40] = {[INDUCING] = "-", [DELAY] = "-", [BOUND] = "-"};
    snprintf(cells[METHOD], sizeof *cells, "%s", json_string_value(json_object_get(row, "method")));
    if (m) snprintf(cells[INDUCING], sizeof *cells, "%lld", m);
    if (json_is_string(delay)) snprintf(cells[DELAY], sizeof *cells, "inf");
    if (json_is_integer(delay)) snprintf(cells[DELAY], sizeof *cells, "%lld", (long long)json_integer_value(delay));
    if (json_is_real(elbo)) snprintf(cells[BOUND], sizeof *cells, "%.1f", json_real_value(elbo));
    snprintf(cells[CPU], sizeof *cells, "%.1f", real_of(row, "cpu_seconds"));
    snprintf(cells[WALL], sizeof *cells, "%.1f", real_of(row, "wall_seconds"));
    snprintf(cells[RMSE], sizeof *cells, "%.6g", real_of(row, "rmse"));
    const gp_doubt_text doubt = gp_doubt_said(json_is_real(doubted) ? json_real_value(doubted) : NAN);
    snprintf(cells[RMSE_DOUBT], sizeof *cells, "%s", *doubt.p ? doubt.p + strlen(" ± ") : "");
    snprintf(cells[MNLP], sizeof *cells, "%.4f", real_of(row, "mnlp"));
    snprintf(cells[INSIDE], sizeof *cells, "%.1f", 100 * real_of(row, "coverage_90"));
    snprintf(cells[INSIDE_DOUBT], sizeof *cells, "%.1f", 100 * real_of(row, "coverage_90_se"));
    add_row(out, shown, cells);
}

static advgp_status print_table(const gp_comparison *c, advgp_error *err)
{
    const json_t *row;
    gp_buffer out = {0};
    const gp_train_result *first = gp_comparison_first(c);
    const unsigned shown = shown_columns(first && isfinite(first->assessment.se.rmse));
    if (first) {
        char heads[N_COLUMNS][40];
        for (size_t i = 0; i < N_COLUMNS; i++) snprintf(heads[i], sizeof *heads, "%s", table[i].head);
        gp_buffer_add(&out, "figures on %s%s\n\n", gp_cli_scored(first).p,
                      isfinite(first->assessment.se.rmse) ? "; ± is a standard error" : "");
        add_row(&out, shown, heads);
    }
    for (size_t i = 0; (row = json_array_get(gp_comparison_rows(c), i)); i++)
        if (json_object_get(row, "failed"))
            gp_buffer_add(&out, "%-14s cannot do this: %s\n", json_string_value(json_object_get(row, "method")),
                          json_string_value(json_object_get(row, "failed")));
        else
            add_run(&out, shown, row);
    return gp_cli_print_take(&out, err);
}

// Also of a comparison that did not come to its end: st is how it ended.
static advgp_status show(const gp_options *o, const gp_comparison *c, advgp_status st, advgp_error *err)
{
    if (!json_array_size(gp_comparison_rows(c))) return st;
    advgp_error *const why = st == ADVGP_OK ? err : NULL;
    const advgp_status shown = gp_options_flag(o, "json")
                                   ? gp_cli_print_json_take(gp_comparison_json(c, st == ADVGP_ESTOPPED), why)
                                   : print_table(c, why);
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
