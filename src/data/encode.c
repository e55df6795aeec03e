// encode.c: chunks of typed columns into rows of standardised doubles, one column of the table at a time.
#include "data/encode.h"

#include "base/alloc.h"
#include "data/encoding.h"
#include "data/strings.h"
#include "data/usable.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct bound_input {
    const gp_input *input;
    size_t column; // of the source
    gp_coerced buffer;
    bool finds_order, unsure; // dates of training that are texts here: the first rows tell their order, or do not
    size_t n_missing;
    gp_oddities odd;
} bound_input;

struct gp_encoder {
    const gp_schema *schema;
    gp_source *source;
    const gp_split *split;
    gp_encode_mode mode;
    gp_roles roles;
    size_t *gaps;
    bound_input *inputs;
    gp_usable usable;
    double *X, *y;
    unsigned char *part;
    size_t *source_row;
    size_t capacity, n_given;
    double *inverse_scale; // d
};

// ---- binding --------------------------------------------------------------------------------------------------------
// A model needs the columns it was trained on. What is text can be tried row by row.
static advgp_status check_type(const gp_source *source, const bound_input *b, advgp_error *err)
{
    gp_column_type now = source->columns[b->column].type;
    bool need_time = b->input->encoding->kind == ADVGP_KIND_TIME;
    if (need_time == (now == GP_TIME) || b->input->type == now || b->input->encoding->texts) return ADVGP_OK;
    if (now == GP_TEXT || b->input->written == GP_WRITING_FORMAT) return ADVGP_OK; // asked row by row
    return gp_fail(err, ADVGP_EDATA, "%s: column '%s' holds %ss, and was of type %s in training", source->label,
                   b->input->name, gp_column_type_name(now), gp_column_type_name(b->input->type));
}

static advgp_status bind_inputs(gp_encoder *e, advgp_error *err)
{
    const gp_schema *s = e->schema;
    gp_source *source = e->source;
    memset(source->wanted, 0, source->n_columns * sizeof *source->wanted);
    for (size_t i = 0; i < s->n_inputs; i++) {
        bound_input *b = &e->inputs[i];
        b->input = &s->inputs[i];
        b->buffer.booleans = b->input->type == GP_BOOLEAN;
        b->buffer.format = b->input->date_format;
        b->buffer.written = b->input->written;
        b->buffer.unit = b->input->unit;
        b->buffer.dirty = s->dirty;
        const bool plain_time = b->input->encoding->kind == ADVGP_KIND_TIME && b->buffer.written == GP_WRITING_PLAIN;
        if (plain_time) b->buffer.written = GP_WRITING_YMD; // until a table that has it as text says more
        advgp_status st = gp_source_require(source, b->input->name, "an input of the model", &b->column, err);
        if (st == ADVGP_OK) st = check_type(source, b, err);
        if (st != ADVGP_OK) return st;
        b->finds_order = plain_time && source->columns[b->column].type == GP_TEXT;
        source->wanted[b->column] = true;
        e->gaps[i] = b->column;
    }
    return ADVGP_OK;
}

static advgp_status bind_role(gp_encoder *e, const char *name, const char *role, bool needed, long *column,
                              advgp_error *err)
{
    *column = GP_NO_COLUMN;
    size_t index;
    if (!name || (!needed && gp_source_find(e->source, name) == GP_NO_COLUMN)) return ADVGP_OK;
    advgp_status st = gp_source_require(e->source, name, role, &index, err);
    if (st != ADVGP_OK) return st;
    e->source->wanted[index] = true;
    *column = (long)index;
    return ADVGP_OK;
}

static advgp_status bind_gaps(gp_encoder *e, advgp_error *err)
{
    const gp_schema *s = e->schema;
    e->roles.gaps = e->gaps;
    e->roles.n_gaps = s->missing == GP_MISSING_DROP && e->mode != GP_ENCODE_PREDICT ? s->n_inputs : 0;
    if (e->mode != GP_ENCODE_TRAIN || s->n_gaps == 0) return ADVGP_OK;
    e->roles.n_gaps = s->n_gaps; // the very columns of the first pass
    for (size_t i = 0; i < s->n_gaps; i++) {
        advgp_status st = gp_source_require(e->source, s->gaps[i], "an input", &e->gaps[i], err);
        if (st != ADVGP_OK) return st;
        e->source->wanted[e->gaps[i]] = true;
    }
    return ADVGP_OK;
}

static advgp_status bind(gp_encoder *e, advgp_error *err)
{
    const gp_schema *s = e->schema;
    bool predict = e->mode == GP_ENCODE_PREDICT;
    bool grouped = e->mode == GP_ENCODE_TRAIN && e->split && e->split->kind == GP_SPLIT_GROUP;
    e->roles = (gp_roles){.log_target = s->log_target, .log_offset = s->log_offset, .keep_all = predict};
    e->usable.target.written = s->target_written;
    advgp_status st = bind_inputs(e, err);
    // Weights are asked where rows are weighed: in training. A test file need not have them.
    if (st == ADVGP_OK) st = bind_role(e, s->target, "the target", !predict, &e->roles.target, err);
    if (st == ADVGP_OK)
        st = bind_role(e, predict ? NULL : s->weights, "the weights", e->mode == GP_ENCODE_TRAIN, &e->roles.weights,
                       err);
    if (st == ADVGP_OK)
        st = bind_role(e, grouped ? e->split->name : NULL, "validation group", true, &e->roles.group, err);
    return st == ADVGP_OK ? bind_gaps(e, err) : st;
}

advgp_status gp_encoder_new(const gp_schema *schema, gp_source *source, gp_encode_mode mode, const gp_split *split,
                            gp_encoder **out, advgp_error *err)
{
    *out = NULL;
    gp_encoder *e = gp_alloc(1, sizeof *e);
    if (!e) return gp_no_memory(err);
    *e = (gp_encoder){.schema = schema, .source = source, .mode = mode, .split = split};
    size_t n_gaps = schema->n_gaps > schema->n_inputs ? schema->n_gaps : schema->n_inputs;
    e->inputs = gp_alloc(schema->n_inputs, sizeof *e->inputs);
    e->gaps = gp_alloc(n_gaps, sizeof *e->gaps);
    e->inverse_scale = gp_alloc(schema->d, sizeof *e->inverse_scale);
    advgp_status st = ADVGP_OK;
    if (!e->inputs || !e->gaps || !e->inverse_scale) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = bind(e, err);
    for (size_t j = 0; st == ADVGP_OK && j < schema->d; j++) e->inverse_scale[j] = 1 / schema->x_scale[j];
    if (st == ADVGP_OK)
        *out = e;
    else
        gp_encoder_free(e);
    return st;
}

void gp_encoder_free(gp_encoder *e)
{
    if (!e) return;
    for (size_t i = 0; e->inputs && i < e->schema->n_inputs; i++) gp_coerced_fini(&e->inputs[i].buffer);
    gp_free(e->inputs);
    gp_free(e->gaps);
    gp_free(e->inverse_scale);
    gp_free(e->X);
    gp_free(e->y);
    gp_free(e->part);
    gp_free(e->source_row);
    gp_usable_fini(&e->usable);
    gp_free(e);
}

void gp_encoder_rewind(gp_encoder *e)
{
    gp_usable_rewind(&e->usable);
    e->n_given = 0;
    for (size_t i = 0; i < e->schema->n_inputs; i++) {
        bound_input *b = &e->inputs[i];
        b->n_missing = b->buffer.n_dirty = 0;
        b->odd = (gp_oddities){0};
    }
}

// ---- one column -----------------------------------------------------------------------------------------------------
static advgp_status count_missing(const gp_encoder *e, bound_input *b, const gp_chunk *chunk, gp_picked v,
                                  advgp_error *err)
{
    for (size_t k = 0; k < v.n; k++) {
        if (v.texts ? v.texts[v.rows[k]].p != NULL : isfinite(v.numbers[v.rows[k]])) continue;
        b->n_missing++;
        if (e->schema->missing == GP_MISSING_ERROR)
            return gp_fail(err, ADVGP_EDATA,
                           "%s, row %zu: column '%s' is missing; fill it, or allow {missing} impute or drop",
                           e->source->label, chunk->first_row + v.rows[k] + 1, b->input->name);
    }
    return ADVGP_OK;
}

// Training had dates, and this table has texts: people write them in several orders.
static advgp_status find_order(const gp_encoder *e, bound_input *b, const gp_chunk *chunk, advgp_error *err)
{
    const gp_text *texts;
    if (!b->finds_order) return ADVGP_OK;
    const advgp_status st = gp_coerce_texts(e->source, b->column, chunk, &b->buffer, &texts, err);
    if (st != ADVGP_OK) return st;
    const gp_writing order = gp_writing_order(texts, chunk->n_rows, &b->unsure);
    if (order != GP_WRITING_PLAIN) b->buffer.written = order, b->finds_order = false;
    return ADVGP_OK;
}

static advgp_status encode_column(gp_encoder *e, bound_input *b, const gp_chunk *chunk, advgp_error *err)
{
    const gp_input *input = b->input;
    gp_picked v = {.rows = e->usable.rows, .n = e->usable.n};
    advgp_status st = find_order(e, b, chunk, err);
    if (st == ADVGP_OK)
        st = input->encoding->texts ? gp_coerce_texts(e->source, b->column, chunk, &b->buffer, &v.texts, err)
                                    : gp_coerce_numbers(e->source, b->column, chunk, &b->buffer, &v.numbers, err);
    if (st == ADVGP_OK) st = count_missing(e, b, chunk, v, err);
    if (st != ADVGP_OK) return st;
    const gp_input_scale scale = {.mean = e->schema->x_mean + input->first, .inverse = e->inverse_scale + input->first};
    input->encoding->encode(input, scale, v, e->X + input->first, e->schema->d, &b->odd);
    return ADVGP_OK;
}

// ---- one chunk ------------------------------------------------------------------------------------------------------
static advgp_status make_room(gp_encoder *e, size_t n, advgp_error *err)
{
    if (n <= e->capacity) return ADVGP_OK;
    gp_free(e->X);
    gp_free(e->y);
    gp_free(e->part);
    gp_free(e->source_row);
    e->capacity = 0;
    e->X = gp_alloc(n, e->schema->d * sizeof *e->X);
    e->y = gp_alloc(n, sizeof *e->y);
    e->part = gp_alloc(n, 1);
    e->source_row = gp_alloc(n, sizeof *e->source_row);
    if (!e->X || !e->y || !e->part || !e->source_row) return gp_no_memory(err);
    e->capacity = n;
    return ADVGP_OK;
}

static void mark_rows(gp_encoder *e, const gp_chunk *chunk)
{
    const gp_usable *u = &e->usable;
    double scale = 1 / e->schema->y_scale;
    double weight = e->roles.weights >= 0 ? gp_schema_weight_factor(e->schema) : 1;
    for (size_t k = 0; k < u->n; k++) {
        u->w[k] *= weight;
        e->y[k] = (u->y[k] - e->schema->y_mean) * scale;
        e->source_row[k] = chunk->first_row + u->rows[k];
        bool split = e->mode == GP_ENCODE_TRAIN && e->split;
        e->part[k] = (unsigned char)(split ? gp_split_part(e->split, u->before + k, u->group_hash[k])
                                     : e->mode == GP_ENCODE_EVALUATE ? GP_STOP
                                                                     : GP_TRAIN);
    }
}

advgp_status gp_encoder_chunk(gp_encoder *e, const gp_chunk *chunk, gp_rows *rows, advgp_error *err)
{
    advgp_status st = make_room(e, chunk->n_rows, err);
    if (st == ADVGP_OK) st = gp_usable_chunk(&e->usable, e->source, &e->roles, e->split, chunk, err);
    for (size_t i = 0; st == ADVGP_OK && i < e->schema->n_inputs; i++) st = encode_column(e, &e->inputs[i], chunk, err);
    if (st != ADVGP_OK) return st;
    for (size_t k = 0; e->schema->n_directions && k < e->usable.n; k++)
        gp_schema_follow_directions(e->schema, e->X + k * e->schema->d);
    mark_rows(e, chunk);
    e->n_given += e->usable.n;
    *rows = (gp_rows){.n = e->usable.n,
                      .d = e->schema->d,
                      .X = e->X,
                      .y = e->y,
                      .w = e->usable.w,
                      .part = e->part,
                      .source_row = e->source_row};
    return ADVGP_OK;
}

gp_encode_counts gp_encoder_counts(const gp_encoder *e)
{
    gp_encode_counts c = {.n_read = e->usable.n_read,
                          .n_given = e->n_given,
                          .n_no_target = e->usable.n_no_target,
                          .n_no_weight = e->usable.n_no_weight,
                          .n_gaps = e->usable.n_gaps};
    for (size_t i = 0; i < e->schema->n_inputs; i++) {
        c.n_missing += e->inputs[i].n_missing;
        c.n_unseen += e->inputs[i].odd.n_unseen;
        c.n_outside += e->inputs[i].odd.n_outside;
        c.n_clipped += e->inputs[i].odd.n_clipped;
    }
    return c;
}

gp_column_counts gp_encoder_column(const gp_encoder *e, size_t input)
{
    const bound_input *b = &e->inputs[input];
    return (gp_column_counts){.n_missing = b->n_missing, .n_unseen = b->odd.n_unseen, .n_outside = b->odd.n_outside};
}

advgp_status gp_note_outside(const gp_input *input, size_t n, gp_notes *notes, advgp_error *err)
{
    if (n == 0) return ADVGP_OK;
    if (input->encoding->kind == ADVGP_KIND_TIME)
        return gp_notes_add_column(notes, err, n, input->name, "are outside the time of training in some rows",
                                   "column '%s' is outside the time of training in %zu rows", input->name, n);
    return gp_notes_add_column(notes, err, n, input->name, "are outside the range of training in some rows",
                               "column '%s' is outside the range of training, %.6g to %.6g, in %zu rows", input->name,
                               input->range.lo, input->range.hi, n);
}

static const char have_outliers[] = "have outliers, which are taken as the ends of the column";

advgp_status gp_note_clipped(const gp_input *input, size_t n, gp_notes *notes, advgp_error *err)
{
    const gp_limits clip = input->clip;
    if (n == 0) return ADVGP_OK;
    if (isinf(clip.lo))
        return gp_notes_add_column(notes, err, n, input->name, have_outliers,
                                   "column '%s' has outliers: %zu values above %.6g are taken as that", input->name, n,
                                   clip.hi);
    if (isinf(clip.hi))
        return gp_notes_add_column(notes, err, n, input->name, have_outliers,
                                   "column '%s' has outliers: %zu values below %.6g are taken as that", input->name, n,
                                   clip.lo);
    return gp_notes_add_column(notes, err, n, input->name, have_outliers,
                               "column '%s' has outliers: %zu values outside %.6g to %.6g are taken as its ends",
                               input->name, n, clip.lo, clip.hi);
}

// Training has said it already, with the row.
static advgp_status note_dirty(const gp_encoder *e, const bound_input *b, gp_notes *notes, advgp_error *err)
{
    const size_t n = b->buffer.n_dirty;
    if (!n || e->mode == GP_ENCODE_TRAIN) return ADVGP_OK;
    return gp_notes_add_column(notes, err, n, b->input->name, "hold texts among numbers or dates, taken as missing",
                               "column '%s' holds %zu values that are no %ss, as in '%s': taken as missing",
                               b->input->name, n, b->input->encoding->kind == ADVGP_KIND_TIME ? "date" : "number",
                               b->buffer.slip);
}

// Of dates in training and texts here.
static advgp_status note_order(const bound_input *b, gp_notes *notes, advgp_error *err)
{
    const gp_writing as = b->buffer.written;
    if (b->input->written != GP_WRITING_PLAIN || (as != GP_WRITING_DMY && as != GP_WRITING_MDY)) return ADVGP_OK;
    return gp_notes_add(
        notes, err, 1, "column '%s' held dates in training and holds texts here: they are read %s first%s",
        b->input->name, as == GP_WRITING_DMY ? "day" : "month",
        b->unsure ? ", which nothing in the first rows tells; 2020-12-31 can be read in one way alone" : "");
}

advgp_status gp_encoder_notes(const gp_encoder *e, gp_notes *notes, advgp_error *err)
{
    gp_encode_counts c = gp_encoder_counts(e);
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < e->schema->n_inputs; i++) {
        const bound_input *b = &e->inputs[i];
        st = note_order(b, notes, err);
        if (st == ADVGP_OK) st = note_dirty(e, b, notes, err);
        if (st == ADVGP_OK && b->n_missing)
            st = gp_notes_add_column(notes, err, b->n_missing, b->input->name, "have missing values",
                                     "column '%s' is missing in %zu rows", b->input->name, b->n_missing);
        if (st == ADVGP_OK && b->odd.n_unseen)
            st = gp_notes_add_column(
                notes, err, b->odd.n_unseen, b->input->name, "hold categories not seen in training",
                "column '%s' holds categories not seen in training in %zu rows", b->input->name, b->odd.n_unseen);
        if (st == ADVGP_OK) st = gp_note_outside(b->input, b->odd.n_outside, notes, err);
        if (st == ADVGP_OK) st = gp_note_clipped(b->input, b->odd.n_clipped, notes, err);
    }
    if (st == ADVGP_OK && c.n_no_target)
        st = gp_notes_add(notes, err, c.n_no_target, "%zu rows without a value of '%s' are left out", c.n_no_target,
                          e->schema->target);
    if (st == ADVGP_OK && c.n_no_weight)
        st = gp_notes_add(notes, err, c.n_no_weight, "%zu rows of weight 0 are left out", c.n_no_weight);
    if (st == ADVGP_OK && c.n_gaps)
        st = gp_notes_add(notes, err, c.n_gaps, "%zu rows with a missing input are left out", c.n_gaps);
    return st;
}

advgp_status gp_encode_all(gp_encoder *e, gp_source *source, gp_rows_sink sink, void *sink_ctx, gp_progress progress,
                           void *ctx, advgp_error *err)
{
    const gp_chunk *chunk;
    gp_rows rows;
    gp_encoder_rewind(e);
    advgp_status st = gp_source_rewind(source, err);
    while (st == ADVGP_OK) {
        st = gp_source_next(source, &chunk, err);
        if (st != ADVGP_OK || !chunk) break;
        st = gp_encoder_chunk(e, chunk, &rows, err);
        if (st == ADVGP_OK && rows.n) st = sink(sink_ctx, &rows, err);
        if (st == ADVGP_OK && progress && progress(ctx, e->usable.n_read) != 0)
            st = gp_fail(err, ADVGP_ESTOPPED, "stopped while reading %s, after %zu rows", source->label,
                         e->usable.n_read);
    }
    return st;
}
