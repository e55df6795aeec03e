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

// Of the value, and how many of the figures behind the rows have room beside it.
typedef struct groups_layout {
    size_t value, figures;
} groups_layout;

static groups_layout groups_layout_of(void)
{
    enum { ROWS = 10, FIGURE = 12, FIGURES = 5 };
    const size_t columns = gp_cli_columns();
    groups_layout l = {.value = VALUE_WIDTH, .figures = FIGURES};
    if (!columns) return l;
    while (l.figures > 1 && VALUE_LEAST + ROWS + l.figures * FIGURE > columns) l.figures--;
    const size_t used = ROWS + l.figures * FIGURE;
    if (used + VALUE_WIDTH > columns) l.value = used + VALUE_LEAST < columns ? columns - used : VALUE_LEAST;
    return l;
}

static void add_groups_head(gp_buffer *out)
{
    static const char *const names[] = {"inside", "RMSE", "CRPS", "mean width", "Winkler"};
    const groups_layout l = groups_layout_of();
    gp_buffer_cell(out, "", l.value, GP_LEFT);
    gp_buffer_add(out, " %9s", "rows");
    for (size_t i = 0; i < l.figures; i++) gp_buffer_add(out, " %11s", names[i]);
    gp_buffer_add(out, "\n");
}

static void add_group(gp_buffer *out, const gp_group *g, const char *value)
{
    if (!g->rows) return;
    const groups_layout l = groups_layout_of();
    gp_buffer_cell(out, value, l.value, GP_LEFT);
    gp_buffer_add(out, " %9zu %9.2f %%", g->rows, 100 * g->inside / g->n);
    const double figures[] = {gp_group_rmse(g), g->crps / g->n, g->width / g->n, g->winkler / g->n};
    for (size_t i = 0; i + 1 < l.figures; i++) add_number(out, 12, figures[i]);
    gp_buffer_add(out, "\n");
}

static void add_groups(gp_buffer *out, const gp_groups *groups)
{
    gp_buffer_add(out, "\nby '");
    gp_buffer_printable(out, groups->column, strlen(groups->column), false);
    gp_buffer_add(out, "'\n");
    add_groups_head(out);
    const size_t shown = groups->n < GROUPS_SHOWN ? groups->n : GROUPS_SHOWN;
    for (size_t i = 0; i < shown; i++) add_group(out, &groups->list[i], groups->list[i].value);
    add_group(out, &groups->missing, "(missing)");
    add_group(out, &groups->others, "(others)");
    if (shown < groups->n) gp_buffer_add(out, "and %zu further values: --json has all\n", groups->n - shown);
}

// How the error differs between the cells, and those in which the model is worst.
static void add_cells(gp_buffer *out, const gp_model *model, const gp_evaluation *e)
{
    enum { CELLS_SHOWN = 5 };
    if (!e->n_judged) return;
    gp_buffer_add(out, "\nby cell: RMSE from");
    add_number(out, 0, gp_group_rmse(&e->cells[e->judged[e->n_judged - 1]]));
    gp_buffer_add(out, " to");
    add_number(out, 0, gp_group_rmse(&e->cells[e->judged[0]]));
    gp_buffer_add(out, ", median");
    add_number(out, 0, gp_group_rmse(&e->cells[e->judged[e->n_judged / 2]]));
    gp_buffer_add(out, "; the worst of %zu cells with %d rows and more\n", e->n_judged, GP_CELL_ROWS_MIN);
    add_groups_head(out);
    for (size_t i = 0; i < e->n_judged && i < CELLS_SHOWN; i++) {
        char name[32];
        snprintf(name, sizeof name, "cell %zu", e->judged[i] + 1);
        add_group(out, &e->cells[e->judged[i]], name);
        gp_cell_place_text(model, e->judged[i], gp_cli_columns(), out);
    }
}

static void result_text(const gp_model *model, const gp_assessment *a, gp_buffer *out)
{
    gp_buffer_add(out, "%zu rows of '%s'\n\n", a->n_scored, model->schema->target);
    gp_buffer_add(out, "            this model        mean      linear\n");
    const double errors[] = {a->rmse, a->baseline_mean, a->baseline_linear};
    gp_buffer_add(out, "RMSE      ");
    for (size_t i = 0; i < 3; i++) add_number(out, 12, errors[i]);
    if (isfinite(a->rmse_se)) {
        gp_buffer_add(out, "\nstd. error");
        add_number(out, 12, a->rmse_se);
    }
    gp_buffer_add(out, "\nin training          ");
    gp_buffer_add(out, " ");
    add_number(out, 12, model->baseline_mean);
    add_number(out, 12, model->baseline_linear);
    const gp_doubt_text r2_doubt = gp_doubt_said(a->r2_se);
    const struct {
        const char *name;
        double value;
        const char *of;
    } others[] = {{"MAE", a->mae, ""},
                  {"R2", a->r2, r2_doubt.p},
                  {"MNLP", a->mnlp, "   Gaussian"},
                  {"", a->mnlp_calibrated, "   calibrated"},
                  {"CRPS", a->crps, ""},
                  {"Winkler", a->winkler, "   of the 90 % interval"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        gp_buffer_add(out, "\n%-10s", others[i].name);
        add_number(out, 12, others[i].value);
        gp_buffer_add(out, "%s", others[i].of);
    }
    gp_buffer_add(out, "\n\ninterval    calibrated    Gaussian  mean width%s\n",
                  isfinite(a->coverage_se[0]) ? "   std. error of calibrated" : "");
    for (size_t l = 0; l < GP_LEVELS; l++) {
        gp_buffer_add(out, "%6g %%    %9.2f %% %9.2f %%", 100 * gp_levels[l], 100 * a->coverage[l],
                      100 * a->coverage_gaussian[l]);
        add_number(out, 12, a->width[l]);
        if (isfinite(a->coverage_se[l])) gp_buffer_add(out, "%25.2f %%", 100 * a->coverage_se[l]);
        gp_buffer_add(out, "\n");
    }
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
