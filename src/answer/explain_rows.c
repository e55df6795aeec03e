// explain_rows.c: the rows that somebody asks about, found in a table.
#include "answer/answer.h"
#include "answer/explain.h"
#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

typedef struct range {
    size_t first, last; // of the table, from 1
} range;

static int by_first(const void *a, const void *b)
{
    const range *p = a, *q = b;
    return (p->first > q->first) - (p->first < q->first);
}

// "7" or "3-5", as the option table has checked.
static range range_of(const char *item)
{
    char *end;
    range r = {.first = strtoull(item, &end, 10)};
    r.last = *end == '-' ? strtoull(end + 1, NULL, 10) : r.first;
    return r;
}

// Sorted, so that one pass over the table finds them.
static advgp_status wanted(const gp_options *o, range **out, size_t *n, advgp_error *err)
{
    char *const *items;
    *n = gp_options_list(o, "rows", &items);
    *out = gp_alloc(*n, sizeof **out);
    if (!*out) return gp_no_memory(err);
    for (size_t i = 0; i < *n; i++) (*out)[i] = range_of(items[i]);
    qsort(*out, *n, sizeof **out, by_first);
    return ADVGP_OK;
}

typedef struct search {
    gp_explainer *explainer;
    const range *ranges;
    size_t n, at; // ranges; the one that the next row may be in
    size_t row;   // read so far
    gp_explained_row each;
    void *ctx;
} search;

static advgp_status explain_row(search *s, const gp_answer_block *b, size_t i, const char *label, advgp_error *err)
{
    json_t *row = NULL, *numbered = NULL;
    const advgp_status st = gp_explainer_row(s->explainer, b->rows.X + i * b->rows.d, b->rows.y ? b->rows.y[i] : NAN,
                                             &row, err);
    if (st != ADVGP_OK) return gp_wrap(err, st, "%s, row %zu", label, s->row);
    numbered = json_pack("{s:I}", "row", (json_int_t)s->row);
    const bool good = numbered && json_object_update(numbered, row) == 0;
    json_decref(row);
    if (good) return s->each(s->ctx, numbered, err);
    json_decref(numbered);
    return gp_no_memory(err);
}

static advgp_status explain_block(search *s, const gp_answer_block *b, const char *label, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < b->rows.n; i++) {
        s->row++;
        while (s->at < s->n && s->ranges[s->at].last < s->row) s->at++;
        if (s->at < s->n && s->ranges[s->at].first <= s->row) st = explain_row(s, b, i, label, err);
    }
    return st;
}

// Ranges may overlap: the last row wanted is not always in the last of them.
static size_t last_row(const search *s)
{
    size_t last = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->ranges[i].last > last) last = s->ranges[i].last;
    return last;
}

static advgp_status explain_all(search *s, gp_answers *in, const gp_host *host, advgp_error *err)
{
    const char *label = gp_answers_source(in)->label;
    const size_t last = last_row(s);
    gp_answer_block b;
    advgp_status st = ADVGP_OK;
    while (s->row < last && (st = gp_answers_read(in, &b, err)) == ADVGP_OK && b.chunk) {
        st = explain_block(s, &b, label, err);
        if (st != ADVGP_OK) return st;
        if (gp_host_stops(host)) return gp_fail(err, ADVGP_ESTOPPED, "stopped after %zu rows", s->row);
        GP_TELL(host, rows, s->row);
    }
    if (st == ADVGP_OK && s->row < last)
        st = gp_fail(err, ADVGP_EDATA, "{rows}: %s has %zu rows, and no row %zu", label, s->row, last);
    return st;
}

advgp_status gp_explain_rows(const gp_model *model, const gp_options *o, gp_source *table, size_t all_rows,
                             const gp_host *host, gp_explained_row each, void *ctx, advgp_error *err)
{
    gp_model_data data = {0};
    gp_answers *in = NULL;
    range *ranges = NULL;
    search s = {.each = each, .ctx = ctx};
    advgp_status st = wanted(o, &ranges, &s.n, err);
    s.ranges = ranges;
    if (st == ADVGP_OK && all_rows && !gp_options_given(o, "rows")) ranges[0] = (range){1, all_rows};
    if (st == ADVGP_OK && !table) st = gp_model_data_init(o, host, &data, err);
    const gp_answer_input input = {.files = &data.files, .table = table};
    if (st == ADVGP_OK) st = gp_answers_open(model, input, GP_ENCODE_PREDICT, false, &in, err);
    gp_model_data_fini(&data);
    if (st == ADVGP_OK)
        st = gp_explainer_new(model, gp_answers_predictor(in), (size_t)gp_options_int(o, "near"), &s.explainer, err);
    if (st == ADVGP_OK) st = explain_all(&s, in, host, err);
    gp_explainer_free(s.explainer);
    gp_answers_close(in);
    gp_free(ranges);
    return st;
}
