// inspect_verb.c: advgp inspect: what a model is.
#include "api/inspect.h"
#include "cli/cli.h"
#include "linalg/blas.h"
#include "load/open_model.h"

enum { COLUMNS_SHOWN = 20, CELLS_SHOWN = 5 };

static advgp_status show(const gp_model *model, const gp_options *options, advgp_error *err)
{
    const char *path = options->operands[0];
    if (gp_options_flag(options, "json")) {
        json_t *object;
        const advgp_status st = gp_inspect_json(model, path, &object, err);
        return st == ADVGP_OK ? gp_cli_print_json_take(object, err) : st;
    }
    gp_buffer text = {0};
    const bool all = gp_options_flag(options, "all") || model->schema->d <= COLUMNS_SHOWN;
    const gp_inspect_page page = {.columns = gp_cli_columns(),
                                  .shown = all ? SIZE_MAX : COLUMNS_SHOWN,
                                  .cells = gp_options_flag(options, "all") ? SIZE_MAX : CELLS_SHOWN};
    const advgp_status st = gp_inspect_text(model, path, page, &text, err);
    if (!all)
        gp_buffer_add(&text, "\n%zu of %zu columns are shown: --all shows the others\n", page.shown, model->schema->d);
    if (st == ADVGP_OK) return gp_cli_print_take(&text, err);
    gp_buffer_fini(&text);
    return st;
}

advgp_status gp_cli_inspect(const gp_options *options, advgp_error *err)
{
    gp_model *model = NULL;
    advgp_status st = gp_blas_reserve(1, err); // a model that is loaded proves itself by its golden rows
    if (st == ADVGP_OK) st = gp_open_model(options, &model, err);
    if (st == ADVGP_OK && model->unproven)
        gp_host_report(gp_cli_host(options),
                       "its golden rows were not computed, which would take more than a quarter of the memory or 10 s "
                       "of arithmetic: --trust computes them");
    if (st == ADVGP_OK) st = show(model, options, err);
    gp_model_free(model);
    return st;
}
