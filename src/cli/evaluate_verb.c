// evaluate_verb.c: advgp evaluate: how good a model is on rows whose target is known, beside the mean and linear
// regression.
#include "api/evaluate.h"
#include "cli/cli.h"
#include "linalg/blas.h"

#include <math.h>

static void add_number(gp_buffer *out, int width, double value)
{
    if (isfinite(value))
        gp_buffer_add(out, "%*.5g", width, value);
    else
        gp_buffer_add(out, "%*s", width, "-");
}

static void result_text(const gp_model *model, const gp_assessment *a, gp_buffer *out)
{
    gp_buffer_add(out, "%zu rows of '%s'\n\n", a->n_scored, model->schema->target);
    gp_buffer_add(out, "            this model        mean      linear\n");
    const double errors[] = {a->rmse, a->baseline_mean, a->baseline_linear};
    gp_buffer_add(out, "RMSE      ");
    for (size_t i = 0; i < 3; i++) add_number(out, 12, errors[i]);
    gp_buffer_add(out, "\nin training          ");
    gp_buffer_add(out, " ");
    add_number(out, 12, model->baseline_mean);
    add_number(out, 12, model->baseline_linear);
    const double others[] = {a->mae, a->mnlp, a->r2};
    static const char *const names[] = {"MAE", "MNLP", "R2"};
    for (size_t i = 0; i < 3; i++) {
        gp_buffer_add(out, "\n%-10s", names[i]);
        add_number(out, 12, others[i]);
    }
    gp_buffer_add(out, "\n\ninterval    calibrated    Gaussian  mean width\n");
    for (size_t l = 0; l < GP_LEVELS; l++) {
        gp_buffer_add(out, "%6g %%    %9.2f %% %9.2f %%", 100 * gp_levels[l], 100 * a->coverage[l],
                      100 * a->coverage_gaussian[l]);
        add_number(out, 12, a->width[l]);
        gp_buffer_add(out, "\n");
    }
}

static advgp_status show(const gp_options *options, const gp_model *model, const gp_assessment *a, advgp_error *err)
{
    if (gp_options_flag(options, "json")) return gp_cli_print_json_take(gp_evaluate_json(model, a), err);
    gp_buffer text = {0};
    result_text(model, a, &text);
    return gp_cli_print_take(&text, err);
}

advgp_status gp_cli_evaluate(const gp_options *options, advgp_error *err)
{
    gp_model *model = NULL;
    gp_assessment a = {0};
    advgp_status st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK) st = gp_model_load(options->operands[0], &model, err);
    if (st == ADVGP_OK) st = gp_evaluate(model, options, gp_cli_host(options), &a, err);
    if (st == ADVGP_OK) st = show(options, model, &a, err);
    gp_model_free(model);
    return st;
}
