// explain_data.c: predictions of a caller's table taken apart.
#include "answer/explain.h"
#include "lib/handles.h"
#include "linalg/blas.h"

static advgp_status add_row(void *ctx, json_t *row_take, advgp_error *err)
{
    return json_array_append_new(ctx, row_take) == 0 ? ADVGP_OK : gp_no_memory(err);
}

static advgp_status check_size(const gp_options *o, const advgp_data *data, advgp_error *err)
{
    if (gp_options_given(o, "rows") || data->n_rows <= GP_EXPLAIN_MOST) return ADVGP_OK;
    return gp_fail(err, ADVGP_EINVAL, "a table of %zu rows, and %d are explained at once: say which by {rows}",
                   data->n_rows, GP_EXPLAIN_MOST);
}

advgp_status advgp_explain(const advgp_model *model, const advgp_data *data, const advgp_options *explain,
                           const advgp_watch *watch, char **json, advgp_error *err)
{
    library_options options;
    library_host host;
    gp_source *table = NULL;
    if (!library_has(json, "place for the result", err)) return ADVGP_EINVAL;
    *json = NULL;
    if (!library_has(model, "model", err) || !library_has(data, "table", err)) return ADVGP_EINVAL;
    json_t *rows = json_array();
    library_host_init(&host, watch);
    gp_blas_enter();
    advgp_status st = library_options_init(&options, explain, "explain", "", data, err);
    if (st == ADVGP_OK) st = check_size(&options.set, data, err);
    if (st == ADVGP_OK) st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK) st = library_table_open(data, &table, err);
    if (st == ADVGP_OK && (!table || data->n_rows))
        st = gp_explain_rows(model->model, &options.set, table, data->n_rows, &host.host, add_row, rows, err);
    if (st == ADVGP_OK)
        st = library_json_take(rows, json, err);
    else
        json_decref(rows);
    gp_blas_leave();
    gp_source_free(table);
    library_options_fini(&options);
    return library_said(st, err);
}
