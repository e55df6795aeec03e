// predict_verb.c: advgp predict: every row of a table gives a row of mean, sds, intervals and whatever else is asked
// for, in order and in constant memory. Blocks of rows go through a pipeline: one is read and one written while others
// are computed.
#include "answer/answer.h"
#include "answer/answer_columns.h"
#include "answer/tableout.h"
#include "api/written.h"
#include "base/alloc.h"
#include "base/machine.h"
#include "cli/cli.h"
#include "data/strings.h"
#include "files/files.h"
#include "linalg/blas.h"
#include "load/load.h"
#include "load/open_model.h"
#include "run/pipeline.h"
#include "store/runlog.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const double exact_below = 9007199254740992.0; // 2^53: larger whole numbers have lost digits in a double

enum { THREADS_MAX = 64, SLOTS_PER_THREAD = 2 };

typedef struct slot { // of the pipeline
    gp_answer_lane *lane;
    gp_answer_block block;
    size_t first_row; // of the table
    gp_tablerows rows;
    double *values; // of a row: one an answer
    bool *rounded;  // n_keep: it holds numbers beyond exact_below
    size_t lost;    // rows of the block without a whole answer
} slot;

typedef struct job {
    const gp_options *options;
    const gp_model *model;
    gp_answers *in;
    gp_tableout *out;
    char *const *keep;
    size_t n_keep, *columns; // of the source
    bool *rounded;           // n_keep: as in the slots
    gp_answer_columns answers;
    slot *slots;
    size_t n_slots, threads;
    size_t n_read, n_rows; // so far: read, written
} job;

static advgp_status find_kept(job *j, advgp_error *err)
{
    gp_source *source = gp_answers_source(j->in);
    j->columns = gp_alloc(j->n_keep, sizeof *j->columns);
    j->rounded = gp_alloc(j->n_keep, sizeof *j->rounded);
    if (!j->columns || !j->rounded) return gp_no_memory(err);
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
                         : gp_no_memory(err);
    gp_free(names);
    gp_free(types);
    gp_free(exact);
    return st;
}

// ---- the pipeline ---------------------------------------------------------------------------------------------------

// A predictor may be inside BLAS: so many threads as it can have there.
static advgp_status open_slots(job *j, advgp_error *err)
{
    const size_t cores = gp_cores();
    j->threads = gp_blas_reserve_some(cores < THREADS_MAX ? cores : THREADS_MAX);
    if (!j->threads) return gp_blas_reserve(1, err);
    const size_t n = SLOTS_PER_THREAD * j->threads + 1;
    j->slots = gp_alloc(n, sizeof *j->slots);
    if (!j->slots) return gp_no_memory(err);
    advgp_status st = ADVGP_OK;
    for (; st == ADVGP_OK && j->n_slots < n; j->n_slots++) {
        slot *s = &j->slots[j->n_slots];
        s->values = gp_alloc(j->answers.n, sizeof *s->values);
        s->rounded = gp_alloc(j->n_keep, sizeof *s->rounded);
        if (!s->values || !s->rounded) st = gp_no_memory(err);
        if (st == ADVGP_OK) st = gp_answers_lane(j->in, j->columns, j->n_keep, &s->lane, err);
        if (st == ADVGP_OK) st = gp_tableout_rows(j->out, &s->rows, err);
    }
    return st;
}

static void close_slots(job *j)
{
    for (size_t i = 0; i < j->n_slots; i++) {
        slot *s = &j->slots[i];
        gp_answer_lane_free(s->lane);
        gp_tablerows_fini(&s->rows);
        gp_free(s->values);
        gp_free(s->rounded);
    }
    gp_free(j->slots);
}

static advgp_status read_block(void *ctx, size_t k, bool *more, advgp_error *err)
{
    job *j = ctx;
    slot *s = &j->slots[k];
    const advgp_status st = gp_answers_read(j->in, &s->block, err);
    *more = s->block.chunk != NULL;
    if (st != ADVGP_OK || !*more) return st;
    s->first_row = j->n_read;
    j->n_read += s->block.rows.n;
    return gp_answer_lane_keep(s->lane, &s->block, err);
}

static void put_kept(const job *j, slot *s, size_t row)
{
    const gp_source *source = gp_answers_source(j->in);
    gp_tablerows *out = &s->rows;
    for (size_t i = 0; i < j->n_keep; i++) {
        const gp_values *v = &s->block.chunk->columns[j->columns[i]];
        switch (source->columns[j->columns[i]].type) {
        case GP_TEXT:
            gp_tablerows_text(out, v->text[row].p, v->text[row].n);
            break;
        case GP_BOOLEAN:
            gp_tablerows_boolean(out, v->number[row]);
            break;
        case GP_TIME:
            gp_tablerows_time(out, v->number[row]);
            break;
        case GP_NUMBER:
            if (source->columns[j->columns[i]].exact) {
                gp_tablerows_digits(out, v->text[row].p, v->text[row].n, v->number[row]);
            } else {
                gp_tablerows_number(out, v->number[row]);
                s->rounded[i] |= fabs(v->number[row]) >= exact_below;
            }
            break;
        }
    }
}

static advgp_status answer_block(void *ctx, size_t k, advgp_error *err)
{
    const job *j = ctx;
    slot *s = &j->slots[k];
    gp_answer_block *b = &s->block;
    const advgp_status st = gp_answer_lane_ask(s->lane, b, err);
    s->lost = 0;
    for (size_t i = 0; st == ADVGP_OK && i < b->rows.n; i++) {
        put_kept(j, s, i); // predicting, row i of the block is row i of the chunk: none is dropped
        s->lost += !gp_answer_row(&j->answers, s->first_row + i, b->mean[i], b->var_f ? b->var_f[i] : 0,
                                  b->var_y ? b->var_y[i] : 0, s->values);
        for (size_t c = 0; c < j->answers.n; c++) gp_tablerows_number(&s->rows, s->values[c]);
        gp_tablerows_end(&s->rows);
    }
    return st;
}

static advgp_status write_block(void *ctx, size_t k, advgp_error *err)
{
    job *j = ctx;
    const gp_host *host = gp_cli_host(j->options);
    const advgp_status st = gp_tableout_add(j->out, &j->slots[k].rows, err);
    if (st != ADVGP_OK) return st;
    j->n_rows += j->slots[k].block.rows.n;
    gp_answers_lose(j->in, j->slots[k].lost);
    for (size_t i = 0; i < j->n_keep; i++) j->rounded[i] |= j->slots[k].rounded[i];
    if (gp_cli_stopped()) return gp_fail(err, ADVGP_ESTOPPED, "stopped after %zu rows; nothing is kept", j->n_rows);
    const bool in_the_way = strcmp(gp_options_text(j->options, "output"), "-") == 0 && isatty(STDOUT_FILENO);
    if (!in_the_way) host->rows(host->ctx, j->n_rows); // rows that pass by tell enough
    return ADVGP_OK;
}

static advgp_status stream(job *j, advgp_error *err)
{
    advgp_status st = open_slots(j, err);
    const gp_pipeline line = {.threads = j->threads,
                              .slots = j->n_slots,
                              .ctx = j,
                              .fill = read_block,
                              .work = answer_block,
                              .drain = write_block};
    if (st == ADVGP_OK) st = gp_pipeline_run(&line, err);
    close_slots(j);
    return st;
}

// ---- the verb -------------------------------------------------------------------------------------------------------

static advgp_status tell(job *j, advgp_error *err)
{
    gp_cli_notes(j->options, gp_answers_all_notes(j->in));
    for (size_t i = 0; i < j->n_keep; i++)
        if (j->rounded[i])
            gp_cli_say(j->options,
                       "note: column '%s' holds numbers of more than 15 digits, which are rounded; keep them as text",
                       j->keep[i]);
    const gp_answer_column *beyond = gp_answer_columns_beyond(&j->answers);
    if (beyond)
        gp_cli_say(
            j->options,
            "note: the intervals are calibrated on %zu rows, too few for '%s', which is Gaussian or the outermost "
            "of them",
            j->answers.scores->rows, beyond->name);
    if (!gp_options_flag(j->options, "json")) return ADVGP_OK;
    json_t *result = json_pack("{s:o, s:I}", "output", gp_json_text(gp_options_text(j->options, "output")), "rows",
                               (json_int_t)j->n_rows);
    json_object_set_new(result, "unanswered", json_integer((json_int_t)gp_answers_lost(j->in)));
    json_object_set_new(result, "columns", gp_answers_columns_json(j->in));
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
    if (st == ADVGP_OK) st = gp_open_model(options, &model, err);
    if (st != ADVGP_OK) return st;
    job j = {.options = options, .model = model};
    j.n_keep = gp_options_list(options, "keep", &j.keep);
    st = gp_answer_columns_init(&j.answers, options, model, err);
    if (st == ADVGP_OK) st = predict(&j, err);
    gp_tableout_abandon(j.out);
    gp_answers_close(j.in);
    gp_free(j.columns);
    gp_free(j.rounded);
    gp_answer_columns_fini(&j.answers);
    gp_model_free(model);
    return st;
}
