// answer_lane.c: rows and texts of a chunk copied, answers computed.
#include "answer/answer_lane.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

struct gp_answer_lane {
    const gp_predictor *predictor;
    const gp_source *source;
    gp_predict_work *work;
    bool with_variance;
    size_t *kept, n_kept; // columns of the source
    gp_chunk chunk;       // what was kept of one
    gp_values *values;    // one a column of the source
    size_t capacity;      // rows, of all that follows
    double *X;            // d a row
    double *mean, *var_f, *var_y;
    double *numbers; // n_kept a row, column by column
    gp_text *texts;  // the same
    gp_buffer bytes; // of the texts
};

advgp_status gp_answer_lane_new(const gp_predictor *predictor, bool with_variance, const gp_source *source,
                                const size_t *kept, size_t n_kept, gp_answer_lane **out, advgp_error *err)
{
    *out = NULL;
    gp_answer_lane *l = gp_alloc(1, sizeof *l);
    if (!l) return gp_no_memory(err);
    *l = (gp_answer_lane){.predictor = predictor, .with_variance = with_variance, .source = source, .n_kept = n_kept};
    l->kept = gp_alloc(n_kept, sizeof *l->kept);
    l->values = gp_alloc(source->n_columns, sizeof *l->values);
    advgp_status st = l->kept && l->values ? gp_predict_work_new(predictor, 0, &l->work, err) : gp_no_memory(err);
    if (st != ADVGP_OK) {
        gp_answer_lane_free(l);
        return st;
    }
    if (n_kept) memcpy(l->kept, kept, n_kept * sizeof *kept);
    *out = l;
    return ADVGP_OK;
}

static void free_rows(gp_answer_lane *l)
{
    gp_free(l->X);
    gp_free(l->mean);
    gp_free(l->var_f);
    gp_free(l->var_y);
    gp_free(l->numbers);
    gp_free(l->texts);
    l->X = l->mean = l->var_f = l->var_y = l->numbers = NULL;
    l->texts = NULL;
    l->capacity = 0;
}

void gp_answer_lane_free(gp_answer_lane *l)
{
    if (!l) return;
    free_rows(l);
    gp_buffer_fini(&l->bytes);
    gp_predict_work_free(l->work);
    gp_free(l->kept);
    gp_free(l->values);
    gp_free(l);
}

static advgp_status make_room(gp_answer_lane *l, size_t n, advgp_error *err)
{
    if (n <= l->capacity) return ADVGP_OK;
    free_rows(l);
    l->X = gp_alloc(n, l->predictor->d * sizeof *l->X);
    l->mean = gp_alloc(n, sizeof *l->mean);
    l->var_f = gp_alloc(n, sizeof *l->var_f);
    l->var_y = gp_alloc(n, sizeof *l->var_y);
    l->numbers = gp_alloc(n, l->n_kept * sizeof *l->numbers);
    l->texts = gp_alloc(n, l->n_kept * sizeof *l->texts);
    const bool ok = l->X && l->mean && l->var_f && l->var_y && l->numbers && l->texts;
    l->capacity = ok ? n : 0;
    return ok ? ADVGP_OK : gp_no_memory(err);
}

// Lengths first: the bytes may move while they grow.
static void copy_texts(gp_answer_lane *l, const gp_text *from, size_t n, gp_text *to)
{
    memcpy(to, from, n * sizeof *to);
    for (size_t i = 0; i < n; i++)
        if (from[i].p) gp_buffer_bytes(&l->bytes, from[i].p, from[i].n);
}

static void place_texts(size_t n, gp_text *texts, const char **at)
{
    for (size_t i = 0; i < n; i++)
        if (texts[i].p) texts[i].p = *at, *at += texts[i].n;
}

static advgp_status keep_columns(gp_answer_lane *l, const gp_chunk *chunk, advgp_error *err)
{
    const size_t n = chunk->n_rows;
    l->bytes.n = 0;
    for (size_t k = 0; k < l->n_kept; k++) {
        const gp_values *from = &chunk->columns[l->kept[k]];
        gp_values *to = &l->values[l->kept[k]];
        *to = (gp_values){0};
        if (from->number) to->number = memcpy(l->numbers + k * n, from->number, n * sizeof(double));
        if (from->text) to->text = l->texts + k * n;
        if (from->text) copy_texts(l, from->text, n, l->texts + k * n);
    }
    if (l->bytes.failed) return gp_no_memory(err);
    const char *at = l->bytes.p ? l->bytes.p : "";
    for (size_t k = 0; k < l->n_kept; k++)
        if (l->values[l->kept[k]].text) place_texts(n, l->texts + k * n, &at);
    l->chunk = (gp_chunk){.n_rows = n, .first_row = chunk->first_row, .columns = l->values};
    return ADVGP_OK;
}

advgp_status gp_answer_lane_keep(gp_answer_lane *l, gp_answer_block *block, advgp_error *err)
{
    advgp_status st = make_room(l, block->chunk->n_rows, err);
    if (st == ADVGP_OK) st = keep_columns(l, block->chunk, err);
    if (st != ADVGP_OK) return st;
    const gp_rows rows = {.n = block->rows.n, .d = block->rows.d, .X = l->X};
    if (rows.n) memcpy(l->X, block->rows.X, rows.n * rows.d * sizeof *l->X);
    block->chunk = &l->chunk;
    block->rows = rows;
    return ADVGP_OK;
}

advgp_status gp_answer_lane_ask(gp_answer_lane *l, gp_answer_block *block, advgp_error *err)
{
    const gp_rows *rows = &block->rows;
    const advgp_status st = make_room(l, rows->n, err);
    size_t lost;
    if (st != ADVGP_OK || !rows->n) return st;
    block->mean = l->mean;
    block->var_f = l->with_variance ? l->var_f : NULL;
    block->var_y = l->with_variance ? l->var_y : NULL;
    if (rows->X != l->X) memcpy(l->X, rows->X, rows->n * rows->d * sizeof *l->X);
    return gp_predict_each(l->predictor, l->work, gp_mat_of(l->X, rows->n, rows->d), l->mean,
                           l->with_variance ? l->var_f : NULL, l->with_variance ? l->var_y : NULL, &lost, err);
}
