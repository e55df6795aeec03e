// answer.c: rows in, answers out, a chunk at a time.
#include "answer/answer.h"

#include "base/alloc.h"
#include "data/encoding.h"
#include "files/files.h"
#include "load/load.h"
#include "score/distribution.h"
#include "score/score.h"
#include "shards/packed.h"
#include "store/runlog.h"

#include <math.h>
#include <string.h>

// Packed rows are encoded already: all that is left is to put their columns in the model's order and scale them its
// way.
typedef struct packed_rows {
    size_t *columns; // d
    size_t target;
    long weights;                  // or GP_NO_COLUMN
    size_t *n_outside, *n_clipped; // n_inputs, as an encoder counts them
    double *X, *y, *w;
    size_t capacity, n_read;
} packed_rows;

struct gp_answers {
    const gp_model *model;
    gp_source *source;
    bool borrowed;       // the source is a caller's table
    gp_encoder *encoder; // NULL: packed
    packed_rows packed;
    gp_predictor *predictor;
    gp_answer_lane *lane; // of gp_answers_next
    bool with_variance;
    bool tell_dropped; // a query makes the rows, and some of the files' may have no answer
    size_t n_rows;     // so far
    size_t n_lost;     // of these: unanswered
    size_t n_input;    // of the first table of the query; 0 without one
    gp_notes notes;
};

// ---- what the command line names ------------------------------------------------------------------------------------

advgp_status gp_model_data_init(const gp_options *options, const gp_host *host, gp_model_data *out, advgp_error *err)
{
    return gp_model_data_of(options, host, options->operands + 1, options->n_operands - 1, out, err);
}

advgp_status gp_model_data_of(const gp_options *options, const gp_host *host, const char *const *files, size_t n_files,
                              gp_model_data *out, advgp_error *err)
{
    char *const *items;
    const size_t n_tables = gp_options_list(options, "table", &items);
    size_t bytes = 0, used = 0;
    for (size_t i = 0; i < n_tables; i++) bytes += strlen(items[i]) + 1;
    *out = (gp_model_data){.paths = gp_alloc(n_files + n_tables, sizeof *out->paths),
                           .names = gp_alloc(n_files + n_tables, sizeof *out->names),
                           .block = gp_alloc(bytes, 1)};
    if (!out->paths || !out->names || !out->block) return gp_no_memory(err);
    for (size_t i = 0; i < n_files; i++) out->paths[i] = files[i];
    for (size_t i = 0; i < n_tables; i++) {
        const size_t length = strcspn(items[i], "=");
        char *name = out->block + used;
        memcpy(name, items[i], length); // the block is zeroed
        used += length + 1;
        out->names[n_files + i] = name;
        out->paths[n_files + i] = items[i] + length + 1;
    }
    out->files = gp_load_files(options, host, out->paths, n_files + n_tables, NULL);
    out->files.names = out->names;
    return ADVGP_OK;
}

void gp_model_data_fini(gp_model_data *data)
{
    gp_free(data->paths);
    gp_free(data->names);
    gp_free(data->block);
    *data = (gp_model_data){0};
}

// ---- packed folders -------------------------------------------------------------------------------------------------

static json_t *inputs_of(const gp_schema *schema)
{
    char *text = gp_schema_to_json(schema);
    json_t *o = text ? json_loads(text, 0, NULL) : NULL;
    json_t *inputs = json_incref(json_object_get(o, "inputs"));
    for (size_t i = 0; i < json_array_size(inputs); i++) { // where values end is no matter of encoding
        json_object_del(json_array_get(inputs, i), "range");
        json_object_del(json_array_get(inputs, i), "limits");
    }
    json_decref(o);
    gp_free(text);
    return inputs;
}

// Categories have numbers of their own in each fit: a folder that was packed for other data means something else.
static advgp_status check_encoding(const gp_answers *a, const char *dir, advgp_error *err)
{
    gp_shards *shards = NULL;
    gp_schema *schema = NULL;
    advgp_status st = gp_packed_open(dir, &shards, &schema, NULL, err);
    if (st != ADVGP_OK) return st;
    json_t *packed = inputs_of(schema), *ours = inputs_of(a->model->schema);
    if (!packed || !ours)
        st = gp_no_memory(err);
    else if (!json_equal(packed, ours) || schema->log_target != a->model->schema->log_target)
        st = gp_fail(err, ADVGP_EDATA,
                     "%s was packed with other columns or categories than the model was trained on; give the files it "
                     "was packed from",
                     dir);
    json_decref(packed);
    json_decref(ours);
    gp_schema_free(schema);
    gp_shards_free(shards);
    return st;
}

static advgp_status open_packed(gp_answers *a, const char *dir, advgp_error *err)
{
    const gp_schema *s = a->model->schema;
    packed_rows *p = &a->packed;
    advgp_status st = check_encoding(a, dir, err);
    if (st == ADVGP_OK) st = gp_source_packed_open(dir, &a->source, err);
    if (st != ADVGP_OK) return st;
    p->columns = gp_alloc(s->d, sizeof *p->columns);
    p->n_outside = gp_alloc(s->n_inputs, sizeof *p->n_outside);
    p->n_clipped = gp_alloc(s->n_inputs, sizeof *p->n_clipped);
    if (!p->columns || !p->n_outside || !p->n_clipped) return gp_no_memory(err);
    for (size_t j = 0; st == ADVGP_OK && j < gp_schema_plain(s); j++)
        st = gp_source_require(a->source, s->x_names[j], "an input of the model", &p->columns[j], err);
    if (st == ADVGP_OK) st = gp_source_require(a->source, s->target, "the target", &p->target, err);
    p->weights = s->weights ? gp_source_find(a->source, s->weights) : GP_NO_COLUMN;
    return st;
}

// The folder may have been packed with limits of its own. Its numbers are rounded: what is at an end is not beyond it.
static void clip_packed(gp_answers *a, size_t k, double *x)
{
    const gp_schema *s = a->model->schema;
    const gp_input *input = &s->inputs[k];
    if (input->encoding->kind != ADVGP_KIND_NUMBER || input->warp.n) return; // a rank is never beyond its column
    const double mean = s->x_mean[input->first], scale = s->x_scale[input->first], value = mean + scale * *x;
    const double rounding = 1e-6 * (fabs(value) + scale);
    const gp_limits range = input->range, clip = input->clip;
    a->packed.n_outside[k] += value < range.lo - rounding || value > range.hi + rounding;
    a->packed.n_clipped[k] += value < clip.lo - rounding || value > clip.hi + rounding;
    if (value < clip.lo || value > clip.hi) *x = (gp_limits_clip(clip, value) - mean) / scale;
}

static advgp_status packed_chunk(gp_answers *a, const gp_chunk *chunk, gp_rows *rows, advgp_error *err)
{
    const gp_schema *s = a->model->schema;
    packed_rows *p = &a->packed;
    if (chunk->n_rows > p->capacity) {
        gp_free(p->X);
        gp_free(p->y);
        gp_free(p->w);
        p->X = gp_alloc(chunk->n_rows, s->d * sizeof *p->X);
        p->y = gp_alloc(chunk->n_rows, sizeof *p->y);
        p->w = gp_alloc(chunk->n_rows, sizeof *p->w);
        if (!p->X || !p->y || !p->w) return gp_no_memory(err);
        p->capacity = chunk->n_rows;
    }
    for (size_t i = 0; i < chunk->n_rows; i++) {
        for (size_t j = 0; j < gp_schema_plain(s); j++)
            p->X[i * s->d + j] = (chunk->columns[p->columns[j]].number[i] - s->x_mean[j]) / s->x_scale[j];
        for (size_t k = 0; k < s->n_inputs; k++) clip_packed(a, k, p->X + i * s->d + s->inputs[k].first);
        gp_schema_follow_directions(s, p->X + i * s->d);
        p->y[i] = gp_schema_standardise(s, chunk->columns[p->target].number[i]);
        p->w[i] = p->weights == GP_NO_COLUMN ? 1 : chunk->columns[p->weights].number[i];
    }
    p->n_read += chunk->n_rows;
    *rows = (gp_rows){.n = chunk->n_rows, .d = s->d, .X = p->X, .y = p->y, .w = p->w};
    return ADVGP_OK;
}

// ---- opening --------------------------------------------------------------------------------------------------------

// What meant a missing value in training still does, beside what is asked for now. The list is the caller's to free.
static const char **missing_words(const gp_model *model, const gp_file_options *data, size_t *n)
{
    const json_t *trained = json_object_get(model->options, "na");
    const char **words = gp_alloc(data->n_na + json_array_size(trained), sizeof *words);
    *n = 0;
    for (size_t i = 0; words && i < data->n_na; i++) words[(*n)++] = data->na[i];
    for (size_t i = 0; words && i < json_array_size(trained); i++) {
        const char *word = json_string_value(json_array_get(trained, i));
        if (word) words[(*n)++] = word;
    }
    return words;
}

// Models of format 1 do not know how their dates are written; others of before had years of two digits read as years of
// the first century, and answer for what they have learned.
static gp_file_dates dates_of(const gp_schema *schema)
{
    static const double year_100 = -1900 * 365.2425;
    gp_file_dates dates = GP_DATES_TEXT;
    for (size_t i = 0; i < schema->n_inputs; i++) {
        const gp_input *in = &schema->inputs[i];
        if (in->encoding->kind != ADVGP_KIND_TIME || in->written != GP_WRITING_PLAIN) continue;
        if (!gp_limits_any(in->range)) return GP_DATES_GUESSED;
        if (in->range.lo < year_100) dates = GP_DATES_LOOSE;
    }
    return dates;
}

static advgp_status open_data(gp_answers *a, const gp_file_options *data, gp_encode_mode mode, advgp_error *err)
{
    if (data->n_paths == 1 && gp_packed_is(data->paths[0])) return open_packed(a, data->paths[0], err);
    for (size_t i = 0; !a->model->sql && data->names && i < data->n_paths; i++)
        if (data->names[i])
            return gp_fail(err, ADVGP_EINVAL, "{table} %s: the model has no query, and so no tables with names",
                           data->names[i]);
    const gp_schema *schema = a->model->schema;
    const char *const unknown[] = {schema->target, schema->weights};
    gp_file_options files = *data;
    files.sql = a->model->sql;
    files.stored = true;
    files.like = schema;
    files.dates = dates_of(schema);
    const char **needed = gp_alloc(schema->n_inputs, sizeof *needed), **na = missing_words(a->model, data, &files.n_na);
    for (size_t i = 0; needed && i < schema->n_inputs; i++) needed[i] = schema->inputs[i].name;
    files.needed = needed, files.n_needed = schema->n_inputs;
    files.na = na;
    if (mode == GP_ENCODE_PREDICT) {
        files.unknown = unknown, files.n_unknown = schema->weights ? 2 : 1;
        files.in_order = true;
        a->tell_dropped = a->model->sql != NULL;
    }
    advgp_status st = needed && na ? gp_source_files_open(&files, &a->notes, &a->source, err) : gp_no_memory(err);
    gp_free(needed);
    gp_free(na);
    if (st == ADVGP_EINVAL && a->model->sql) { // the query was good once: these files are not what it expects
        (void)gp_wrap(err, st, "the query stored in the model does not fit the data");
        if (err) err->status = ADVGP_EDATA;
        st = ADVGP_EDATA;
    }
    return st == ADVGP_OK ? gp_encoder_new(a->model->schema, a->source, mode, NULL, &a->encoder, err) : st;
}

static advgp_status open_table(gp_answers *a, gp_source *table, gp_encode_mode mode, advgp_error *err)
{
    if (a->model->sql)
        return gp_fail(err, ADVGP_EINVAL,
                       "the model makes its columns from files by a query, which a table in memory cannot be asked: "
                       "give files");
    a->source = table, a->borrowed = true;
    const advgp_status st = gp_source_rewind(table, err);
    return st == ADVGP_OK ? gp_encoder_new(a->model->schema, table, mode, NULL, &a->encoder, err) : st;
}

advgp_status gp_answers_open(const gp_model *model, gp_answer_input input, gp_encode_mode mode, bool mean_only,
                             gp_answers **out, advgp_error *err)
{
    *out = NULL;
    gp_answers *a = gp_alloc(1, sizeof *a);
    if (!a) return gp_no_memory(err);
    a->model = model;
    a->with_variance = !mean_only || model->schema->log_target; // a lognormal mean needs the variance
    advgp_status st = input.table ? open_table(a, input.table, mode, err) : open_data(a, input.files, mode, err);
    if (st == ADVGP_OK) st = gp_model_predictor(model, &a->predictor, err);
    if (st == ADVGP_OK) st = gp_answers_lane(a, NULL, 0, &a->lane, err);
    if (st == ADVGP_OK)
        *out = a;
    else
        gp_answers_close(a);
    return st;
}

void gp_answers_close(gp_answers *a)
{
    if (!a) return;
    gp_encoder_free(a->encoder);
    if (!a->borrowed) gp_source_free(a->source);
    gp_answer_lane_free(a->lane);
    gp_predictor_free(a->predictor);
    gp_free(a->packed.columns);
    gp_free(a->packed.n_outside);
    gp_free(a->packed.n_clipped);
    gp_free(a->packed.X);
    gp_free(a->packed.y);
    gp_free(a->packed.w);
    gp_notes_fini(&a->notes);
    gp_free(a);
}

const gp_predictor *gp_answers_predictor(const gp_answers *a)
{
    return a->predictor;
}

gp_source *gp_answers_source(gp_answers *a)
{
    return a->source;
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

advgp_status gp_answers_lane(const gp_answers *a, const size_t *kept, size_t n_kept, gp_answer_lane **out,
                             advgp_error *err)
{
    return gp_answer_lane_new(a->predictor, a->with_variance, a->source, kept, n_kept, out, err);
}

advgp_status gp_answers_read(gp_answers *a, gp_answer_block *block, advgp_error *err)
{
    *block = (gp_answer_block){0};
    advgp_status st = gp_source_next(a->source, &block->chunk, err);
    if (st != ADVGP_OK || !block->chunk) return st;
    st = a->encoder ? gp_encoder_chunk(a->encoder, block->chunk, &block->rows, err)
                    : packed_chunk(a, block->chunk, &block->rows, err);
    a->n_rows += block->rows.n;
    return st;
}

advgp_status gp_answers_next(gp_answers *a, gp_answer_block *block, advgp_error *err)
{
    const advgp_status st = gp_answers_read(a, block, err);
    return st == ADVGP_OK && block->chunk ? gp_answer_lane_ask(a->lane, block, err) : st;
}

// The furthest that a figure looks at is a share of 1e-9 (CRPS, distribution.c).
bool gp_answers_tell(gp_answers *a, const gp_answer_block *b, size_t i)
{
    const gp_schema *s = a->model->schema;
    const double mean = b->mean[i], var = b->var_y[i];
    const gp_distribution d = {.scores = &a->model->calibration, .schema = s, .mean = mean, .sd = sqrt(var)};
    const bool good = isfinite(mean) && isfinite(var) && isfinite(gp_predicted_mean(s, mean, var)) &&
                      isfinite(gp_predicted_sd(s, mean, var)) && isfinite(gp_distribution_quantile(&d, 1e-10)) &&
                      isfinite(gp_distribution_quantile(&d, 1 - 1e-10));
    a->n_lost += !good;
    return good;
}

void gp_answers_lose(gp_answers *a, size_t n)
{
    a->n_lost += n;
}

size_t gp_answers_lost(const gp_answers *a)
{
    return a->n_lost;
}

// Rows of the first table that WHERE or JOIN have dropped, or made several of.
static advgp_status note_dropped(gp_answers *a, advgp_error *err)
{
    size_t n = 0;
    const char *shown = NULL;
    advgp_error none;
    advgp_status st = gp_files_first_table(a->source, &n, &shown, &none);
    if (st == ADVGP_EINVAL) return ADVGP_OK; // a query without tables
    if (st != ADVGP_OK) {
        if (err) *err = none;
        return st;
    }
    a->n_input = n;
    if (n == a->n_rows) return ADVGP_OK;
    if (!a->n_rows)
        return gp_fail(
            err, ADVGP_EDATA,
            "the query stored in the model drops all %zu rows of %s (WHERE or JOIN): there is nothing to predict", n,
            shown);
    return gp_notes_add(&a->notes, err, n,
                        n > a->n_rows
                            ? "%s has %zu rows, and %zu predictions follow: the query stored in the model drops the "
                              "others (WHERE or JOIN)"
                            : "%s has %zu rows, and %zu predictions follow: a JOIN of the query stored in the model "
                              "makes several of one",
                        shown, n, a->n_rows);
}

advgp_status gp_answers_none(const gp_answers *a, advgp_error *err)
{
    if (a->n_lost)
        return gp_fail(err, ADVGP_EDATA,
                       "%s: %s so far from those of training that double precision cannot hold an answer",
                       a->source->label, a->n_lost == 1 ? "its row is" : "all of its rows are");
    return gp_fail(err, ADVGP_EDATA, "%s has no row with a value of '%s' to compare with", a->source->label,
                   a->model->schema->target);
}

static advgp_status note_lost(gp_answers *a, advgp_error *err)
{
    return gp_notes_add(&a->notes, err, a->n_lost,
                        "%zu row%s without an answer, or with a part of one: %s inputs are so far from those of "
                        "training that double precision cannot hold it",
                        a->n_lost, a->n_lost == 1 ? " is" : "s are", a->n_lost == 1 ? "its" : "their");
}

advgp_status gp_answers_notes(gp_answers *a, advgp_error *err)
{
    if (a->n_lost) {
        const advgp_status st = note_lost(a, err);
        if (st != ADVGP_OK) return st;
    }
    if (a->tell_dropped) {
        const advgp_status st = note_dropped(a, err);
        if (st != ADVGP_OK) return st;
    }
    if (a->encoder) return gp_encoder_notes(a->encoder, &a->notes, err);
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < a->model->schema->n_inputs; i++) {
        const gp_input *input = &a->model->schema->inputs[i];
        st = gp_note_outside(input, a->packed.n_outside[i], &a->notes, err);
        if (st == ADVGP_OK) st = gp_note_clipped(input, a->packed.n_clipped[i], &a->notes, err);
    }
    if (st != ADVGP_OK) return st;
    return gp_notes_add(&a->notes, err, a->packed.n_read,
                        "all %zu rows of the packed folder are used, those that training may have seen among them",
                        a->packed.n_read);
}

json_t *gp_answers_columns_json(const gp_answers *a)
{
    json_t *list = json_array();
    for (size_t i = 0; i < a->model->schema->n_inputs; i++) {
        const gp_column_counts c = a->encoder ? gp_encoder_column(a->encoder, i)
                                              : (gp_column_counts){.n_outside = a->packed.n_outside[i]};
        if (!c.n_outside && !c.n_unseen && !c.n_missing) continue;
        json_array_append_new(list,
                              json_pack("{s:o, s:I, s:I, s:I}", "name", gp_json_text(a->model->schema->inputs[i].name),
                                        "outside_range", (json_int_t)c.n_outside, "unseen", (json_int_t)c.n_unseen,
                                        "missing", (json_int_t)c.n_missing));
    }
    return list;
}

size_t gp_answers_input_rows(const gp_answers *a)
{
    return a->n_input;
}

const gp_notes *gp_answers_all_notes(const gp_answers *a)
{
    return &a->notes;
}
