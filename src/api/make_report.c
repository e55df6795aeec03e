// make_report.c: what a page needs, collected.
#include "api/make_report.h"
#include "answer/answer.h"
#include "answer/explain.h"
#include "api/record.h"
#include "load/open_model.h"
#include "report/report.h"
#include "score/assess_json.h"
#include "score/left_out.h"
#include "shards/reader.h"
#include "store/atomicfile.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { READ_ROWS = 4096, EXPLAINED = 5 };

// ---- both -----------------------------------------------------------------------------------------------------------

static const char *scored_rows(gp_scored scored)
{
    static const char *const words[] = {[GP_SCORED_HELD_OUT] = "held-out rows",
                                        [GP_SCORED_LEFT_OUT] = "training rows, each left out in turn,",
                                        [GP_SCORED_REFITTED] = "training rows, each by a fit without it,",
                                        [GP_SCORED_TEST] = "test rows"};
    return words[scored];
}

// What the model has kept about itself.
static void recall(const gp_model *model, gp_report *report)
{
    const json_t *origin = json_object_get(model->record, "origin");
    report->inputs = json_object_get(origin, "inputs");
    report->given = json_object_get(origin, "given");
    report->manifest = origin;
    report->training_notes = json_object_get(origin, "notes");
}

// Why the worst rows were predicted as they were; *out is for json_decref, also after a failure.
static advgp_status explain_worst(const gp_model *model, const gp_findings *f, json_t **out, advgp_error *err)
{
    gp_explainer *explainer = NULL;
    *out = json_array();
    advgp_status st = gp_explainer_new(model, NULL, 1, &explainer, err);
    for (size_t i = 0; st == ADVGP_OK && i < f->n_worst && i < EXPLAINED; i++) {
        json_t *row = NULL;
        st = gp_explainer_row(explainer, f->worst_x + i * model->schema->d,
                              gp_schema_standardise(model->schema, f->worst[i].y), &row, err);
        if (st == ADVGP_OK) json_array_append_new(*out, row);
    }
    gp_explainer_free(explainer);
    return st;
}

advgp_status gp_save_report(const gp_buffer *page, const char *path, advgp_error *err)
{
    gp_atomicfile *file = NULL;
    advgp_status st = gp_atomicfile_open(path, &file, err);
    if (st != ADVGP_OK) return st;
    st = gp_atomicfile_write(file, page->p, page->n, err);
    if (st == ADVGP_OK) return gp_atomicfile_commit(file, err);
    gp_atomicfile_abandon(file);
    return st;
}

// ---- of a model file ------------------------------------------------------------------------------------------------

static advgp_status add_rows(gp_findings *f, gp_answers *in, const gp_host *host, advgp_error *err)
{
    gp_answer_block b;
    advgp_status st;
    while ((st = gp_answers_next(in, &b, err)) == ADVGP_OK && b.chunk) {
        for (size_t i = 0; i < b.rows.n; i++)
            if (gp_answers_tell(in, &b, i))
                gp_findings_add(f, b.rows.source_row ? b.rows.source_row[i] : b.chunk->first_row + i, b.rows.w[i],
                                b.rows.X + i * b.rows.d, b.rows.y[i], b.mean[i], b.var_y[i]);
        if (gp_host_stops(host)) return gp_fail(err, ADVGP_ESTOPPED, "stopped after %zu rows", f->tally.sums.rows);
        if (host && host->rows) host->rows(host->ctx, f->tally.sums.rows);
    }
    return st == ADVGP_OK && !f->tally.sums.rows ? gp_answers_none(in, err) : st;
}

// The rows of --data through the model. The answers stay open: their notes are shown.
static advgp_status find(const gp_options *o, const gp_host *host, const gp_model *model, const size_t drawn[2],
                         gp_linear *line, gp_answers **in, gp_findings *f, advgp_error *err)
{
    char *const *files;
    gp_model_data data = {0};
    bool has_line = false;
    const size_t n = gp_options_list(o, "data", &files);
    advgp_status st = gp_model_data_of(o, host, (const char *const *)files, n, &data, err);
    const gp_answer_input input = {.files = &data.files};
    if (st == ADVGP_OK) st = gp_answers_open(model, input, GP_ENCODE_EVALUATE, false, in, err);
    gp_model_data_fini(&data);
    if (st == ADVGP_OK) st = gp_linear_of_model(model, line, &has_line, err);
    if (st == ADVGP_OK)
        st = gp_findings_init(f, model, has_line ? line : NULL, false, drawn, (uint64_t)gp_options_int(o, "seed"), err);
    if (st == ADVGP_OK) st = add_rows(f, *in, host, err);
    if (st == ADVGP_OK) st = gp_answers_notes(*in, err);
    if (st == ADVGP_OK) gp_host_notes(host, gp_answers_all_notes(*in));
    if (st == ADVGP_OK) gp_findings_end(f, GP_SCORED_TEST);
    return st;
}

// Figures that model or log have kept, where no rows are given.
static bool recall_figures(const gp_model *model, const gp_courses *courses, gp_assessment *out)
{
    const json_t *rmse = json_object_get(model->record, "rmse");
    if (gp_assessment_read(json_object_get(model->record, "assessment"), out)) return true;
    for (size_t i = 0; i < courses->n; i++) // a log of this training has the same figures
        if (json_is_number(rmse) &&
            json_number_value(json_object_get(courses->list[i].done, "rmse")) == json_number_value(rmse) &&
            gp_assessment_read(courses->list[i].done, out))
            return true;
    (void)gp_assessment_read(model->record, out);
    out->baseline_mean = model->baseline_mean, out->baseline_linear = model->baseline_linear;
    out->scored = json_is_true(json_object_get(model->record, "held_out")) ? GP_SCORED_HELD_OUT : GP_SCORED_LEFT_OUT;
    return isfinite(out->rmse);
}

static void recall_log(const gp_courses *courses, gp_report *report)
{
    for (size_t i = 0; i < courses->n; i++) {
        const json_t *manifest = courses->list[i].manifest;
        const char *command = json_string_value(json_object_get(manifest, "command"));
        if (!command || strcmp(command, "train") != 0) continue;
        if (!report->manifest) report->manifest = manifest;
        if (!report->inputs) report->inputs = json_object_get(manifest, "inputs");
        if (!report->given) report->given = json_object_get(manifest, "given");
    }
}

// "rows of flights.csv", "rows of 3 files".
static void name_rows(const gp_options *o, char *text, size_t room)
{
    char *const *files;
    const size_t n = gp_options_list(o, "data", &files);
    const char *slash = n ? strrchr(files[0], '/') : NULL;
    if (n == 1)
        snprintf(text, room, "rows of %s", slash && slash[1] ? slash + 1 : files[0]);
    else
        snprintf(text, room, "rows of %zu files", n);
}

advgp_status gp_make_report(const gp_options *o, const gp_host *host, gp_buffer *page, gp_report_made *made,
                            advgp_error *err)
{
    gp_model *model = NULL;
    gp_input_relevance relevance = {0};
    gp_courses courses = {0};
    gp_linear line = {0};
    gp_answers *in = NULL;
    gp_findings findings = {0};
    json_t *why = NULL;
    gp_assessment kept;
    char rows[512], *const *files;
    size_t drawn[2];
    const bool has_rows = gp_options_list(o, "data", &files) > 0;
    gp_report report = {.path = o->operands[0],
                        .relevance = &relevance,
                        .courses = &courses,
                        .seed = (uint64_t)gp_options_int(o, "seed")};
    advgp_status st = gp_open_model(o, &model, err);
    for (size_t i = 1; st == ADVGP_OK && i < o->n_operands; i++) st = gp_courses_read(&courses, o->operands[i], err);
    if (st == ADVGP_OK) st = gp_input_relevance_init(&relevance, model, err);
    if (st == ADVGP_OK) gp_input_relevance_two(&relevance, model->schema, drawn);
    if (st == ADVGP_OK && has_rows) st = find(o, host, model, drawn, &line, &in, &findings, err);
    if (st == ADVGP_OK && has_rows) st = explain_worst(model, &findings, &why, err);
    if (st == ADVGP_OK) {
        report.model = model;
        recall(model, &report);
        recall_log(&courses, &report);
        if (has_rows) {
            name_rows(o, rows, sizeof rows);
            report.findings = &findings, report.assessment = &findings.all, report.rows = rows;
            report.n_rows = findings.all.n_scored;
            report.notes = gp_answers_all_notes(in);
            report.explanations = why;
        } else if (recall_figures(model, &courses, &kept)) {
            report.assessment = &kept, report.rows = scored_rows(kept.scored);
        }
        st = gp_report_page(&report, page, err);
    }
    *made = (gp_report_made){.rows = report.n_rows, .bytes = page->n, .runs = courses.n};
    json_decref(why);
    gp_findings_fini(&findings);
    gp_answers_close(in);
    gp_linear_fini(&line);
    gp_courses_fini(&courses);
    gp_input_relevance_fini(&relevance);
    gp_model_free(model);
    return st;
}

// ---- of a training --------------------------------------------------------------------------------------------------

static void add_row(void *ctx, double w, const double *x, double y, double mean, double var_y)
{
    gp_findings_add(ctx, GP_NO_ROW, w, x, y, mean, var_y);
}

// As assess.c scores them: rows of --test, held-out rows, or training rows each left out.
static advgp_status find_trained(const gp_trained *t, const size_t drawn[2], gp_linear *line, gp_findings *f,
                                 advgp_error *err)
{
    const gp_scored scored = t->result->assessment.scored;
    const bool left_out = gp_scored_of_training(scored);
    bool has_line = false;
    gp_reader reader = {0};
    gp_predictor *predictor = NULL;
    advgp_status st = gp_reader_new(scored == GP_SCORED_TEST ? t->test : t->shards, READ_ROWS, &reader, err);
    if (st == ADVGP_OK) st = gp_model_predictor(t->model, &predictor, err);
    if (st == ADVGP_OK && !left_out) st = gp_linear_of_model(t->model, line, &has_line, err);
    if (st == ADVGP_OK && left_out) {
        st = gp_linear_line(&reader, true, line, err);
        has_line = true;
    }
    if (st == ADVGP_OK) st = gp_findings_init(f, t->model, has_line ? line : NULL, left_out, drawn, t->seed, err);
    if (st == ADVGP_OK)
        st = left_out ? gp_unseen_rows(t->model, predictor, &reader, 0, add_row, f, err)
                      : gp_predict_rows(predictor, &reader, GP_STOP, 0, add_row, f, err);
    if (st == ADVGP_OK) gp_findings_end(f, scored);
    gp_predictor_free(predictor);
    gp_reader_fini(&reader);
    return st;
}

advgp_status gp_report_training(const gp_trained *t, const char *path, advgp_error *err)
{
    gp_input_relevance relevance = {0};
    gp_linear line = {0};
    gp_findings findings = {0};
    gp_buffer page = {0};
    json_t *why = NULL;
    size_t drawn[2];
    const gp_assessment *a = &t->result->assessment;
    gp_report report = {.model = t->model,
                        .path = t->path,
                        .relevance = &relevance,
                        .findings = &findings,
                        .assessment = a,
                        .rows = scored_rows(a->scored),
                        .courses = t->courses,
                        .seed = t->seed,
                        .n_rows = a->n_scored};
    recall(t->model, &report);
    advgp_status st = gp_input_relevance_init(&relevance, t->model, err);
    if (st == ADVGP_OK) {
        gp_input_relevance_two(&relevance, t->model->schema, drawn);
        st = find_trained(t, drawn, &line, &findings, err);
    }
    if (st == ADVGP_OK) st = explain_worst(t->model, &findings, &why, err);
    report.explanations = why;
    if (st == ADVGP_OK) st = gp_report_page(&report, &page, err);
    if (st == ADVGP_OK) st = gp_save_report(&page, path, err);
    gp_buffer_fini(&page);
    json_decref(why);
    gp_findings_fini(&findings);
    gp_linear_fini(&line);
    gp_input_relevance_fini(&relevance);
    return st == ADVGP_OK ? st : gp_wrap(err, st, "{report}");
}

static void add_notes(json_t *list, const gp_notes *notes)
{
    for (size_t i = 0; notes && i < notes->n; i++) json_array_append_new(list, gp_record_text(notes->items[i].text));
}

// A run that was interrupted and went on gives the model of one that was not, to the bit.
static void forget_the_run(json_t *given)
{
    for (size_t i = json_array_size(given); i-- > 0;)
        if (!gp_report_repeats(json_string_value(json_array_get(given, i)))) json_array_remove(given, i);
}

advgp_status gp_keep_origin(gp_model *model, const gp_options *train, const gp_notes *of_data,
                            const gp_notes *of_training, advgp_error *err)
{
    json_t *origin = gp_record_manifest(train, "train"), *notes = json_array();
    add_notes(notes, of_data);
    add_notes(notes, of_training);
    json_object_del(origin, "options"); // the model has them
    forget_the_run(json_object_get(origin, "given"));
    if (origin && json_object_set_new(origin, "notes", notes) == 0 &&
        json_object_set_new(model->record, "origin", origin) == 0)
        return ADVGP_OK;
    return gp_no_memory(err);
}
