// explain_verb.c: `advgp explain`: single predictions taken apart.
#include "answer/explain.h"
#include "cli/cli.h"
#include "linalg/blas.h"
#include "load/open_model.h"
#include "store/runlog.h"

enum { INPUTS_SHOWN = 8 };

typedef struct page {
    const gp_options *o;
    json_t *rows; // of --json
    bool begun;
} page;

static advgp_status show(void *ctx, json_t *row_take, advgp_error *err)
{
    page *p = ctx;
    if (p->rows) return json_array_append_new(p->rows, row_take) == 0 ? ADVGP_OK : gp_no_memory(err);
    gp_buffer text = {0};
    if (p->begun) gp_buffer_add(&text, "\n");
    const size_t inputs = json_object_size(json_object_get(row_take, "inputs"));
    const bool all = gp_options_flag(p->o, "all") || inputs <= INPUTS_SHOWN;
    gp_explanation_text(row_take, all ? inputs : INPUTS_SHOWN, gp_cli_columns(), &text);
    if (!all) gp_buffer_add(&text, "    and %zu less relevant columns: --all\n", inputs - INPUTS_SHOWN);
    json_decref(row_take);
    p->begun = true;
    return gp_cli_print_take(&text, err);
}

advgp_status gp_cli_explain(const gp_options *o, advgp_error *err)
{
    gp_model *model = NULL;
    page p = {.o = o, .rows = gp_options_flag(o, "json") ? json_array() : NULL};
    advgp_status st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK) st = gp_open_model(o, &model, err);
    if (st == ADVGP_OK) st = gp_explain_rows(model, o, NULL, 0, gp_cli_host(o), show, &p, err);
    if (st == ADVGP_OK && p.rows)
        st = gp_cli_print_json_take(json_pack("{s:o, s:s, s:O}", "model", gp_json_text(o->operands[0]), "target",
                                              model->schema->target, "rows", p.rows),
                                    err);
    json_decref(p.rows);
    gp_model_free(model);
    return st;
}
