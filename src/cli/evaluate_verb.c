// evaluate_verb.c: advgp evaluate: how good a model is on rows whose target is known, beside the mean and linear
// regression.
#include "answer/cell_place.h"
#include "answer/evaluate.h"
#include "base/width.h"
#include "cli/cli.h"
#include "linalg/blas.h"
#include "load/open_model.h"
#include "score/doubt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_number(gp_buffer *out, int width, double value)
{
    if (!width) gp_buffer_add(out, " ");
    if (isfinite(value))
        gp_buffer_add(out, "%*.5g", width, value);
    else
        gp_buffer_add(out, "%*s", width, "-");
}

// A figure of a metric, in a column of 12.
static void add_figure(gp_buffer *out, const gp_metric *m, double value)
{
    if (m->unit == GP_UNIT_SHARE)
        gp_buffer_add(out, " %9.2f %%", 100 * value);
    else
        add_number(out, 12, value);
}

static void add_tenths(gp_buffer *out, const char *what, const gp_tenth *tenths, size_t n)
{
    gp_buffer_add(out, "\nby tenth of the %-11s    inside  mean width   (%g %% interval)\n", what,
                  100 * gp_judged_level);
    for (size_t k = 0; k < n; k++) {
        add_number(out, 12, tenths[k].from);
        gp_buffer_add(out, " to");
        add_number(out, 12, tenths[k].to);
        gp_buffer_add(out, " %9.2f %%", 100 * tenths[k].coverage);
        add_number(out, 12, tenths[k].width);
        gp_buffer_add(out, "\n");
    }
}

enum { GROUPS_SHOWN = 50, VALUE_WIDTH = 24, VALUE_LEAST = 9 };

// The width of the value, and which metrics have room behind the rows.
typedef struct groups_layout {
    size_t value, n;
    const gp_metric *metrics[GP_N_METRICS];
} groups_layout;

static groups_layout groups_layout_of(void)
{
    enum { ROWS = 10, FIGURE = 12 };
    const size_t columns = gp_cli_columns();
    groups_layout l = {.value = VALUE_WIDTH};
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++)
        if (m->by_group) l.metrics[l.n++] = m;
    if (!columns) return l;
    while (l.n > 1 && VALUE_LEAST + ROWS + l.n * FIGURE > columns) l.n--;
    const size_t used = ROWS + l.n * FIGURE;
    if (used + VALUE_WIDTH > columns) l.value = used + VALUE_LEAST < columns ? columns - used : VALUE_LEAST;
    return l;
}

static void add_groups_head(gp_buffer *out)
{
    const groups_layout l = groups_layout_of();
    gp_buffer_cell(out, "", l.value, GP_LEFT);
    gp_buffer_add(out, " %9s", "rows");
    for (size_t i = 0; i < l.n; i++) gp_buffer_add(out, " %11s", l.metrics[i]->label);
    gp_buffer_add(out, "\n");
}

static void add_group(gp_buffer *out, const gp_sums *sums, const char *value)
{
    if (!sums->rows) return;
    const groups_layout l = groups_layout_of();
    gp_buffer_cell(out, value, l.value, GP_LEFT);
    gp_buffer_add(out, " %9zu", sums->rows);
    for (size_t i = 0; i < l.n; i++) add_figure(out, l.metrics[i], gp_sums_judged(sums, l.metrics[i]));
    gp_buffer_add(out, "\n");
}

static void add_groups(gp_buffer *out, const gp_groups *groups)
{
    gp_buffer_add(out, "\nby '");
    gp_buffer_printable(out, groups->column, strlen(groups->column), false);
    gp_buffer_add(out, "'\n");
    add_groups_head(out);
    const size_t shown = groups->n < GROUPS_SHOWN ? groups->n : GROUPS_SHOWN;
    for (size_t i = 0; i < shown; i++) add_group(out, &groups->list[i].sums, groups->list[i].value);
    add_group(out, &groups->missing.sums, "(missing)");
    add_group(out, &groups->others.sums, "(others)");
    if (shown < groups->n) gp_buffer_add(out, "and %zu further values: --json has all\n", groups->n - shown);
}

// How the error differs between the cells, and those in which the model is worst.
static void add_cells(gp_buffer *out, const gp_model *model, const gp_evaluation *e)
{
    enum { CELLS_SHOWN = 5 };
    if (!e->n_judged) return;
    gp_buffer_add(out, "\nby cell: RMSE from");
    add_number(out, 0, gp_evaluation_cell_rmse(e, e->judged[e->n_judged - 1]));
    gp_buffer_add(out, " to");
    add_number(out, 0, gp_evaluation_cell_rmse(e, e->judged[0]));
    gp_buffer_add(out, ", median");
    add_number(out, 0, gp_evaluation_cell_rmse(e, e->judged[e->n_judged / 2]));
    gp_buffer_add(out, "; the worst of %zu cells with %d rows and more\n", e->n_judged, GP_CELL_ROWS_MIN);
    add_groups_head(out);
    for (size_t i = 0; i < e->n_judged && i < CELLS_SHOWN; i++) {
        char name[32];
        snprintf(name, sizeof name, "cell %zu", e->judged[i] + 1);
        add_group(out, &e->cells[e->judged[i]], name);
        gp_cell_place_text(model, e->judged[i], gp_cli_columns(), out);
    }
}

// Those of one figure; RMSE has stood beside its baselines.
static void add_metrics(gp_buffer *out, const gp_assessment *a)
{
    const char *above = "";
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++) {
        if (m->n > 1 || m == &gp_metrics[GP_METRIC_rmse]) continue;
        gp_buffer_add(out, "\n%-10s", strcmp(m->label, above) ? m->label : "");
        add_figure(out, m, a->values[m->at]);
        gp_buffer_add(out, "%s%s%s", gp_doubt_said(a->errors[m->at]).p, m->of ? "   " : "", m->of ? m->of : "");
        above = m->label;
    }
}

static const char *name_of(const gp_metric *m)
{
    return m->of ? m->of : m->label;
}

static void add_levels_head(gp_buffer *out, const gp_assessment *a)
{
    gp_buffer_add(out, "\n\n%-10s", "interval");
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++)
        if (m->n > 1) gp_buffer_add(out, "%12s", name_of(m));
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++)
        if (m->n > 1 && isfinite(a->errors[m->at])) gp_buffer_add(out, "   std. error of %s", name_of(m));
    gp_buffer_add(out, "\n");
}

static void add_level(gp_buffer *out, const gp_assessment *a, size_t level)
{
    gp_buffer_add(out, "%6g %%   ", 100 * gp_levels[level]);
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++)
        if (m->n > 1) add_figure(out, m, a->values[m->at + level]);
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++)
        if (m->n > 1 && isfinite(a->errors[m->at + level])) {
            gp_buffer_add(out, "%15s", "");
            add_figure(out, m, a->errors[m->at + level]);
        }
    gp_buffer_add(out, "\n");
}

static void result_text(const gp_model *model, const gp_assessment *a, gp_buffer *out)
{
    gp_buffer_add(out, "%zu rows of '%s'\n\n", a->n_scored, model->schema->target);
    gp_buffer_add(out, "            this model        mean      linear\n");
    const double errors[] = {a->rmse, a->baseline_mean, a->baseline_linear};
    gp_buffer_add(out, "RMSE      ");
    for (size_t i = 0; i < 3; i++) add_number(out, 12, errors[i]);
    if (isfinite(a->se.rmse)) {
        gp_buffer_add(out, "\nstd. error");
        add_number(out, 12, a->se.rmse);
    }
    gp_buffer_add(out, "\n%-22s", "in training");
    add_number(out, 12, model->baseline_mean);
    add_number(out, 12, model->baseline_linear);
    add_metrics(out, a);
    add_levels_head(out, a);
    for (size_t l = 0; l < GP_LEVELS; l++) add_level(out, a, l);
    if (!a->n_tenths) return;
    add_tenths(out, "prediction", a->by_prediction, a->n_tenths);
    add_tenths(out, "sd", a->by_sd, a->n_tenths);
}

static advgp_status show(const gp_options *options, const gp_model *model, const gp_evaluation *e, advgp_error *err)
{
    if (gp_options_flag(options, "json")) return gp_cli_print_json_take(gp_evaluate_json(model, e), err);
    gp_buffer text = {0};
    result_text(model, &e->all, &text);
    if (e->groups.column) add_groups(&text, &e->groups);
    add_cells(&text, model, e);
    return gp_cli_print_take(&text, err);
}

advgp_status gp_cli_evaluate(const gp_options *options, advgp_error *err)
{
    gp_model *model = NULL;
    gp_evaluation e = {0};
    advgp_status st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK) st = gp_open_model(options, &model, err);
    if (st == ADVGP_OK) st = gp_evaluate(model, options, NULL, gp_cli_host(options), &e, err);
    if (st == ADVGP_OK) st = show(options, model, &e, err);
    gp_evaluation_fini(&e);
    gp_model_free(model);
    return st;
}
