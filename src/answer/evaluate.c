// evaluate.c: a table's rows through a model into an assessment.
#include "answer/evaluate.h"
#include "answer/answer.h"
#include "answer/cell_place.h"
#include "base/alloc.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>

// Rows as they are counted.
typedef struct counting {
    gp_tally tally;
    gp_evaluation *out;
    gp_cell_finder *finder; // NULL: the model has no cells
    double *distances;      // [cells]
} counting;

static advgp_status begin_cells(counting *c, const gp_cells *cells, advgp_error *err)
{
    if (!cells) return ADVGP_OK;
    c->out->n_cells = cells->shape.n;
    c->out->cells = gp_alloc(cells->shape.n, sizeof *c->out->cells);
    c->out->judged = gp_alloc(cells->shape.n, sizeof *c->out->judged);
    c->distances = gp_alloc(cells->shape.n, sizeof *c->distances);
    if (!c->out->cells || !c->out->judged || !c->distances) return gp_no_memory(err);
    return gp_cell_finder_new(cells->shape.n, cells->shape.d, cells->scale, cells->centres, &c->finder, err);
}

static advgp_status add_block(counting *c, gp_answers *in, const gp_answer_block *b, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < b->rows.n; i++) {
        if (!gp_answers_tell(in, b, i)) continue;
        const double *x = b->rows.X + i * b->rows.d;
        const gp_judged *row = gp_tally_add(&c->tally, b->rows.w[i], x, b->rows.y[i], b->mean[i], b->var_y[i]);
        const size_t at = b->rows.source_row ? b->rows.source_row[i] - b->chunk->first_row : i;
        st = gp_groups_add(&c->out->groups, b->chunk, at, row, err);
        if (c->finder) gp_sums_add(&c->out->cells[gp_cell_of(c->finder, x, c->distances)], row);
    }
    return st;
}

double gp_evaluation_cell_rmse(const gp_evaluation *e, size_t cell)
{
    return gp_sums_figure(&e->cells[cell], &gp_metrics[GP_METRIC_rmse], 0);
}

static void judge_cells(gp_evaluation *e)
{
    for (size_t i = 0; i < e->n_cells; i++) {
        if (e->cells[i].rows < GP_CELL_ROWS_MIN || !(e->cells[i].n > 0)) continue;
        size_t at = e->n_judged++; // insertion, so that equals stay in their order
        for (; at && gp_evaluation_cell_rmse(e, e->judged[at - 1]) < gp_evaluation_cell_rmse(e, i); at--)
            e->judged[at] = e->judged[at - 1];
        e->judged[at] = i;
    }
}

static advgp_status add_all(counting *c, gp_answers *in, const gp_host *host, advgp_error *err)
{
    const gp_tally *tally = &c->tally;
    gp_answer_block b;
    advgp_status st;
    while ((st = gp_answers_next(in, &b, err)) == ADVGP_OK && b.chunk) {
        st = add_block(c, in, &b, err);
        if (st != ADVGP_OK) return st;
        if (gp_host_stops(host)) return gp_fail(err, ADVGP_ESTOPPED, "stopped after %zu rows", tally->sums.rows);
        if (host && host->rows) host->rows(host->ctx, tally->sums.rows);
    }
    return st == ADVGP_OK && !tally->sums.rows ? gp_answers_none(in, err) : st;
}

advgp_status gp_evaluate(const gp_model *model, const gp_options *o, gp_source *table, const gp_host *host,
                         gp_evaluation *out, advgp_error *err)
{
    gp_answers *in = NULL;
    gp_linear line = {0};
    counting c = {.out = out};
    gp_model_data data = {0};
    bool has_line = false;
    *out = (gp_evaluation){0};
    advgp_status st = table ? ADVGP_OK : gp_model_data_init(o, host, &data, err);
    const gp_answer_input input = {.files = &data.files, .table = table};
    if (st == ADVGP_OK) st = gp_answers_open(model, input, GP_ENCODE_EVALUATE, false, &in, err);
    gp_model_data_fini(&data);
    if (st == ADVGP_OK) st = gp_groups_init(&out->groups, gp_answers_source(in), gp_options_text(o, "by"), err);
    if (st == ADVGP_OK) st = begin_cells(&c, model->cells, err);
    if (st == ADVGP_OK) st = gp_linear_of_model(model, &line, &has_line, err);
    if (st == ADVGP_OK) st = gp_tally_init(&c.tally, model, has_line ? &line : NULL, err);
    if (st == ADVGP_OK) st = add_all(&c, in, host, err);
    if (st == ADVGP_OK) st = gp_answers_notes(in, err);
    if (st == ADVGP_OK) gp_host_notes(host, gp_answers_all_notes(in));
    if (st == ADVGP_OK) out->columns = gp_answers_columns_json(in);
    if (st == ADVGP_OK) out->n_lost = gp_answers_lost(in);
    if (st == ADVGP_OK && !model->calibration.rows)
        gp_host_report(host, "note: the model is not calibrated; its intervals are Gaussian");
    if (st == ADVGP_OK) gp_tally_end(&c.tally, &out->all);
    out->all.scored = GP_SCORED_TEST;
    judge_cells(out);
    gp_groups_end(&out->groups);
    gp_tally_fini(&c.tally);
    gp_cell_finder_free(c.finder);
    gp_free(c.distances);
    gp_linear_fini(&line);
    gp_answers_close(in);
    return st;
}

void gp_evaluation_fini(gp_evaluation *evaluation)
{
    gp_groups_fini(&evaluation->groups);
    gp_free(evaluation->cells);
    gp_free(evaluation->judged);
    json_decref(evaluation->columns);
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static json_t *sums_json(const gp_sums *sums, const char *key, json_t *value)
{
    json_t *o = json_pack("{s:o, s:I}", key, value, "rows", (json_int_t)sums->rows);
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++)
        if (m->by_group) json_object_set_new(o, m->name, gp_json_real(gp_sums_judged(sums, m)));
    return o;
}

static json_t *value_json(const gp_group *g, const char *value)
{
    return sums_json(&g->sums, "value", gp_json_text(value));
}

static json_t *groups_json(const gp_groups *groups)
{
    json_t *list = json_array();
    for (size_t i = 0; i < groups->n; i++)
        json_array_append_new(list, value_json(&groups->list[i], groups->list[i].value));
    return json_pack("{s:o, s:o, s:o, s:o}", "column", gp_json_text(groups->column), "values", list, "missing",
                     groups->missing.sums.rows ? value_json(&groups->missing, "") : json_null(), "others",
                     groups->others.sums.rows ? value_json(&groups->others, "") : json_null());
}

// Cells by their number, as the list of `inspect` has them; those without a row are left out.
static json_t *cells_json(const gp_model *model, const gp_evaluation *e)
{
    json_t *list = json_array();
    for (size_t i = 0; i < e->n_cells; i++) {
        if (!e->cells[i].rows) continue;
        json_t *o = sums_json(&e->cells[i], "cell", json_integer((json_int_t)i + 1));
        json_object_set_new(o, "training_rows", gp_json_real(model->cells->rows[i]));
        json_object_set_new(o, "around", gp_cell_place_json(model, i));
        json_array_append_new(list, o);
    }
    return list;
}

json_t *gp_evaluate_json(const gp_model *model, const gp_evaluation *e)
{
    const gp_assessment *a = &e->all;
    json_t *o = json_pack("{s:I, s:{s:o, s:o}}", "rows", (json_int_t)a->n_scored, "baseline_in_training", "mean",
                          gp_json_real(model->baseline_mean), "linear", gp_json_real(model->baseline_linear));
    gp_assessment_add(a, o);
    json_object_set_new(o, "unanswered", json_integer((json_int_t)e->n_lost));
    json_object_set(o, "columns", e->columns);
    if (e->groups.column) json_object_set_new(o, "by", groups_json(&e->groups));
    if (e->n_cells) json_object_set_new(o, "cells", cells_json(model, e));
    return o;
}
