// predict_verb.c: advgp predict: every row of a table gives a row of mean, sds, intervals and whatever else is asked
// for, in order and in constant memory.
#include "api/answer.h"
#include "api/answer_columns.h"
#include "api/load.h"
#include "api/tableout.h"
#include "api/written.h"
#include "base/alloc.h"
#include "cli/cli.h"
#include "data/strings.h"
#include "files/files.h"
#include "linalg/blas.h"
#include "linalg/dense.h"
#include "store/runlog.h"

#include <math.h>
#include <string.h>

static const double exact_below = 9007199254740992.0; // 2^53: larger whole numbers have lost digits in a double

typedef struct job {
    const gp_options *options;
    const gp_model *model;
    gp_answers *in;
    gp_tableout *out;
    char *const *keep;
    size_t n_keep, *columns; // of the source
    bool *rounded;           // n_keep: it holds numbers beyond exact_below
    gp_answer_columns answers;
    double *values; // of a row: one an answer
    size_t n_rows;
} job;

static advgp_status find_kept(job *j, advgp_error *err)
{
    gp_source *source = gp_answers_source(j->in);
    j->columns = gp_alloc(j->n_keep, sizeof *j->columns);
    j->rounded = gp_alloc(j->n_keep, sizeof *j->rounded);
    if (!j->columns || !j->rounded) return gp_fail(err, ADVGP_ENOMEM, "no memory for %zu columns", j->n_keep);
    for (size_t i = 0; i < j->n_keep; i++) {
        if (gp_answer_columns_find(&j->answers, j->keep[i]))
            return gp_fail(err, ADVGP_EINVAL, "--keep %s: the output has a column of that name already", j->keep[i]);
        for (size_t k = 0; k < i; k++)
            if (strcmp(j->keep[i], j->keep[k]) == 0)
                return gp_fail(err, ADVGP_EINVAL, "--keep names the column '%.80s' twice", j->keep[i]);
        advgp_status st = gp_source_require(source, j->keep[i], "a column of --keep", &j->columns[i], err);
        if (st != ADVGP_OK) return st;
        source->wanted[j->columns[i]] = true;
    }
    return ADVGP_OK;
}

static advgp_status open_output(job *j, advgp_error *err)
{
    const size_t n = j->n_keep + j->answers.n;
    const char **names = gp_alloc(n, sizeof *names);
    gp_column_type *types = gp_alloc(n, sizeof *types); // zeroed: GP_NUMBER
    bool *exact = gp_alloc(n, sizeof *exact);
    const bool ok = names && types && exact;
    for (size_t i = 0; ok && i < n; i++) {
        names[i] = i < j->n_keep ? j->keep[i] : j->answers.list[i - j->n_keep].name;
        if (i >= j->n_keep) continue;
        const gp_column *column = &gp_answers_source(j->in)->columns[j->columns[i]];
        types[i] = column->type, exact[i] = column->exact;
    }
    advgp_status st = ok ? gp_tableout_open(gp_options_text(j->options, "output"), names, types, exact, n, &j->out, err)
                         : gp_fail(err, ADVGP_ENOMEM, "no memory for %zu columns", n);
    gp_free(names);
    gp_free(types);
    gp_free(exact);
    return st;
}

static void write_kept(job *j, const gp_chunk *chunk, size_t row)
{
    const gp_source *source = gp_answers_source(j->in);
    for (size_t i = 0; i < j->n_keep; i++) {
        const gp_values *v = &chunk->columns[j->columns[i]];
        switch (source->columns[j->columns[i]].type) {
        case GP_TEXT:
            gp_tableout_text(j->out, v->text[row].p, v->text[row].n);
            break;
        case GP_BOOLEAN:
            gp_tableout_boolean(j->out, v->number[row]);
            break;
        case GP_TIME:
            gp_tableout_time(j->out, v->number[row]);
            break;
        case GP_NUMBER:
            if (source->columns[j->columns[i]].exact) {
                gp_tableout_digits(j->out, v->text[row].p, v->text[row].n, v->number[row]);
            } else {
                gp_tableout_number(j->out, v->number[row]);
                j->rounded[i] |= fabs(v->number[row]) >= exact_below;
            }
            break;
        }
    }
}

static advgp_status write_block(job *j, const gp_answer_block *b, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < b->rows.n; i++) {
        write_kept(j, b->chunk, i); // predicting, row i of the block is row i of the chunk: none is dropped
        gp_answer_row(&j->answers, j->n_rows + i, b->mean[i], b->var_f ? b->var_f[i] : 0, b->var_y ? b->var_y[i] : 0,
                      j->values);
        for (size_t k = 0; k < j->answers.n; k++) gp_tableout_number(j->out, j->values[k]);
        st = gp_tableout_end_row(j->out, err);
    }
    j->n_rows += b->rows.n;
    return st;
}

static advgp_status stream(job *j, advgp_error *err)
{
    const gp_host *host = gp_cli_host(j->options);
    gp_answer_block block;
    advgp_status st;
    while ((st = gp_answers_next(j->in, &block, err)) == ADVGP_OK && block.chunk) {
        st = write_block(j, &block, err);
        if (st != ADVGP_OK) return st;
        if (gp_cli_stopped()) return gp_fail(err, ADVGP_ESTOPPED, "stopped after %zu rows; nothing is kept", j->n_rows);
        host->rows(host->ctx, j->n_rows);
    }
    return st;
}

static advgp_status tell(job *j, advgp_error *err)
{
    gp_cli_notes(j->options, gp_answers_all_notes(j->in));
    for (size_t i = 0; i < j->n_keep; i++)
        if (j->rounded[i])
            gp_cli_report(
                j->options,
                "note: column '%s' holds numbers of more than 15 digits, which are rounded; keep them as text",
                j->keep[i]);
    const gp_answer_column *beyond = gp_answer_columns_beyond(&j->answers);
    if (beyond)
        gp_cli_report(
            j->options,
            "note: the intervals are calibrated on %zu rows, too few for '%s', which is Gaussian or the outermost "
            "of them",
            j->answers.scores.rows, beyond->name);
    if (!gp_options_flag(j->options, "json")) return ADVGP_OK;
    json_t *result = json_pack("{s:o, s:I}", "output", gp_json_text(gp_options_text(j->options, "output")), "rows",
                               (json_int_t)j->n_rows);
    const size_t input_rows = gp_answers_input_rows(j->in);
    if (input_rows) json_object_set_new(result, "input_rows", json_integer((json_int_t)input_rows));
    return gp_cli_print_json_take(result, err);
}

static advgp_status predict(job *j, advgp_error *err)
{
    gp_model_data data;
    advgp_status st = gp_model_data_init(j->options, gp_cli_host(j->options), &data, err);
    data.files.exact = (const char *const *)j->keep, data.files.n_exact = j->n_keep;
    if (st == ADVGP_OK)
        st = gp_answers_open(j->model, (gp_answer_input){.files = &data.files}, GP_ENCODE_PREDICT, j->answers.mean_only,
                             &j->in, err);
    gp_model_data_fini(&data);
    if (st == ADVGP_OK) st = find_kept(j, err);
    if (st == ADVGP_OK) st = open_output(j, err);
    if (st == ADVGP_OK) st = stream(j, err);
    if (st == ADVGP_OK) st = gp_answers_notes(j->in, err); // no row at all may be an error
    if (st != ADVGP_OK) return st;
    gp_tableout *out = j->out;
    j->out = NULL;
    st = gp_tableout_commit(out, err);
    return st == ADVGP_OK ? tell(j, err) : st;
}

advgp_status gp_cli_predict(const gp_options *options, advgp_error *err)
{
    if (gp_options_flag(options, "json") && strcmp(gp_options_text(options, "output"), "-") == 0)
        return gp_fail(err, ADVGP_EINVAL, "--json needs -o FILE: standard output holds the table");
    gp_model *model = NULL;
    advgp_status st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK) st = gp_tableout_check(gp_options_text(options, "output"), err);
    if (st == ADVGP_OK)
        st = gp_check_written(options, "output", gp_options_text(options, "output"), GP_WRITTEN_TABLE, err);
    if (st == ADVGP_OK) st = gp_model_load(options->operands[0], &model, err);
    if (st != ADVGP_OK) return st;
    job j = {.options = options, .model = model};
    j.n_keep = gp_options_list(options, "keep", &j.keep);
    st = gp_answer_columns_init(&j.answers, options, model, err);
    j.values = gp_alloc(j.answers.n, sizeof *j.values);
    if (st == ADVGP_OK && !j.values) st = gp_fail(err, ADVGP_ENOMEM, "no memory for %zu columns", j.answers.n);
    if (st == ADVGP_OK) st = predict(&j, err);
    gp_tableout_abandon(j.out);
    gp_answers_close(j.in);
    gp_free(j.columns);
    gp_free(j.rounded);
    gp_free(j.values);
    gp_answer_columns_fini(&j.answers);
    gp_model_free(model);
    return st;
}
