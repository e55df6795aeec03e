// predict_data.c: predictions of whole tables, and how good a model is on one whose target is known.
#include "answer/answer.h"
#include "answer/answer_columns.h"
#include "answer/evaluate.h"
#include "base/alloc.h"
#include "lib/handles.h"
#include "linalg/blas.h"

#include <string.h>

struct advgp_answer {
    gp_answer_columns columns;
    double **values; // columns.n
    size_t *room;    // columns.n
    double *row;     // columns.n
    size_t n_rows;
};

static advgp_status add_block(advgp_answer *a, gp_answers *in, const gp_answer_block *b, advgp_error *err)
{
    const size_t n = a->n_rows, more = b->rows.n;
    for (size_t k = 0; k < a->columns.n; k++)
        if (!gp_grow(&a->values[k], &a->room[k], n, n + more, sizeof **a->values)) return gp_no_memory(err);
    for (size_t i = 0; i < more; i++) {
        const double var_f = b->var_f ? b->var_f[i] : 0, var_y = b->var_y ? b->var_y[i] : 0;
        if (!gp_answer_row(&a->columns, n + i, b->mean[i], var_f, var_y, a->row)) gp_answers_lose(in, 1);
        for (size_t k = 0; k < a->columns.n; k++) a->values[k][n + i] = a->row[k];
    }
    a->n_rows += more;
    return ADVGP_OK;
}

static advgp_status fill(advgp_answer *a, gp_answers *in, const gp_host *host, advgp_error *err)
{
    gp_answer_block block;
    advgp_status st;
    while ((st = gp_answers_next(in, &block, err)) == ADVGP_OK && block.chunk) {
        st = add_block(a, in, &block, err);
        if (st != ADVGP_OK) return st;
        if (gp_host_stops(host)) return gp_fail(err, ADVGP_ESTOPPED, "stopped after %zu rows", a->n_rows);
    }
    return st == ADVGP_OK ? gp_answers_notes(in, err) : st;
}

static advgp_status new_answer(const gp_model *model, const gp_options *o, advgp_answer **out, advgp_error *err)
{
    advgp_answer *a = *out = gp_alloc(1, sizeof *a);
    if (!a) return gp_no_memory(err);
    if (gp_options_given(o, "output"))
        return gp_fail(err, ADVGP_EINVAL, "{output} is for the program: here the predictions stay in memory");
    const advgp_status st = gp_answer_columns_init(&a->columns, o, model, err);
    if (st != ADVGP_OK) return st;
    a->values = gp_alloc(a->columns.n, sizeof *a->values);
    a->room = gp_alloc(a->columns.n, sizeof *a->room);
    a->row = gp_alloc(a->columns.n, sizeof *a->row);
    if (a->values && a->room && a->row) return ADVGP_OK;
    return gp_no_memory(err);
}

advgp_status advgp_predict_data(const advgp_model *model, const advgp_data *data, const advgp_options *predict,
                                const advgp_watch *watch, advgp_answer **out, advgp_error *err)
{
    library_options options;
    library_host host;
    gp_source *table = NULL;
    gp_answers *in = NULL;
    gp_model_data files = {0};
    advgp_answer *a = NULL;
    if (!library_has(out, "place for the result", err)) return ADVGP_EINVAL;
    *out = NULL;
    if (!library_has(model, "model", err) || !library_has(data, "table", err)) return ADVGP_EINVAL;
    library_host_init(&host, watch);
    gp_blas_enter();
    advgp_status st = library_options_init(&options, predict, "predict", "", data, err);
    if (st == ADVGP_OK) st = new_answer(model->model, &options.set, &a, err);
    if (st == ADVGP_OK) st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK) st = library_table_open(data, &table, err);
    if (st == ADVGP_OK && !table) st = gp_model_data_init(&options.set, &host.host, &files, err);
    const gp_answer_input input = {.files = &files.files, .table = table};
    if (st == ADVGP_OK) st = gp_answers_open(model->model, input, GP_ENCODE_PREDICT, a->columns.mean_only, &in, err);
    if (st == ADVGP_OK) st = fill(a, in, &host.host, err);
    if (st == ADVGP_OK) gp_host_notes(&host.host, gp_answers_all_notes(in));
    gp_blas_leave();
    gp_answers_close(in);
    gp_model_data_fini(&files);
    gp_source_free(table);
    library_options_fini(&options);
    if (st == ADVGP_OK)
        *out = a;
    else
        advgp_answer_free(a);
    return library_said(st, err);
}

size_t advgp_answer_rows(const advgp_answer *answer)
{
    return answer ? answer->n_rows : 0;
}

size_t advgp_answer_columns(const advgp_answer *answer)
{
    return answer ? answer->columns.n : 0;
}

const char *advgp_answer_name(const advgp_answer *answer, size_t column)
{
    return answer && column < answer->columns.n ? answer->columns.list[column].name : NULL;
}

const double *advgp_answer_values(const advgp_answer *answer, size_t column)
{
    return answer && column < answer->columns.n ? answer->values[column] : NULL;
}

void advgp_answer_free(advgp_answer *a)
{
    if (!a) return;
    for (size_t k = 0; a->values && k < a->columns.n; k++) gp_free(a->values[k]);
    gp_free(a->values);
    gp_free(a->room);
    gp_free(a->row);
    gp_answer_columns_fini(&a->columns);
    gp_free(a);
}

// ---- judging --------------------------------------------------------------------------------------------------------

advgp_status advgp_evaluate(const advgp_model *model, const advgp_data *data, const advgp_options *evaluate,
                            const advgp_watch *watch, char **json, advgp_error *err)
{
    library_options options;
    library_host host;
    gp_source *table = NULL;
    gp_evaluation evaluation = {0};
    if (!library_has(json, "place for the result", err)) return ADVGP_EINVAL;
    *json = NULL;
    if (!library_has(model, "model", err) || !library_has(data, "table", err)) return ADVGP_EINVAL;
    library_host_init(&host, watch);
    gp_blas_enter();
    advgp_status st = library_options_init(&options, evaluate, "evaluate", "", data, err);
    if (st == ADVGP_OK) st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK) st = library_table_open(data, &table, err);
    if (st == ADVGP_OK) st = gp_evaluate(model->model, &options.set, table, &host.host, &evaluation, err);
    if (st == ADVGP_OK) st = library_json_take(gp_evaluate_json(model->model, &evaluation), json, err);
    gp_evaluation_fini(&evaluation);
    gp_blas_leave();
    gp_source_free(table);
    library_options_fini(&options);
    return library_said(st, err);
}
