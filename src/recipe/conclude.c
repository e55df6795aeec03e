// conclude.c: assessment, times, and the record of the training in the model.
#include "recipe/conclude.h"
#include "base/clock.h"
#include "base/whole.h"
#include "recipe/noise.h"
#include "recipe/plan.h"
#include "score/assess_json.h"
#include "score/calibrate.h"
#include "store/form.h"
#include "store/runlog.h"

#include <stdio.h>
#include <string.h>

gp_stopwatch gp_stopwatch_start(void)
{
    return (gp_stopwatch){.wall = gp_clock_wall(), .cpu = gp_clock_cpu()};
}

static void settle_word(gp_planned *c, const char *word)
{
    if (c->origin == GP_ORIGIN_NONE || (!strstr(c->why, "to come") && !strcmp(c->value, word))) return;
    snprintf(c->value, sizeof c->value, "%s", word);
    snprintf(c->why, sizeof c->why, "no trial was held: too few rows, no room, or the training ended early");
    c->origin = GP_ORIGIN_RULE;
}

// What the model has, where a trial that the plan promised was not held or its part could not be had.
static void settle_plan(const gp_model *model, gp_train_result *r)
{
    gp_plan *plan = &r->plan;
    char cells[24];
    snprintf(cells, sizeof cells, "%zu", r->cells);
    settle_word(&plan->cells, cells);
    plan->cells.n = r->cells;
    settle_word(&plan->noise, model->noise ? "varying" : "constant");
    settle_word(&plan->residuals, model->calibration.groups ? "by group" : "of all rows");
}

static advgp_status write_record(gp_model *model, const gp_train_result *r, advgp_error *err)
{
    const gp_assessment *a = &r->assessment;
    json_t *record = json_pack("{s:o, s:o, s:o, s:s, s:I, s:I, s:b, s:f, s:f}", "rmse", gp_json_real(a->rmse), "mnlp",
                               gp_json_real(a->mnlp), "neg_elbo", gp_json_real(r->neg_elbo), "stopped",
                               gp_stop_reason_words(r->stopped), "rows", (json_int_t)gp_index(r->n_train, SIZE_MAX),
                               "versions", (json_int_t)r->versions, "held_out", a->scored == GP_SCORED_HELD_OUT,
                               "wall_seconds", r->wall, "cpu_seconds", r->cpu);
    if (record) json_object_set_new(record, "assessment", gp_assessment_whole_json(a));
    if (record) json_object_set_new(record, "plan", gp_plan_json(&r->plan));
    const bool written = record && json_object_update(model->record, record) == 0;
    json_decref(record);
    return written ? ADVGP_OK : gp_no_memory(err);
}

// Whoever has a table without anything but a line in it should hear so.
static advgp_status tell_of_linear(const gp_model *model, const gp_assessment *a, gp_notes *notes, advgp_error *err)
{
    const bool has_kernel = model->form->n_kernels(model) > 0;
    if (!has_kernel || !(a->rmse >= a->baseline_linear)) return ADVGP_OK;
    return gp_notes_add(notes, err, 1,
                        "linear regression is as good on these rows (RMSE %.5g, this model %.5g): {method} linear has "
                        "it in one pass",
                        a->baseline_linear, a->rmse);
}

// Half of the held-out rows calibrates and the other half judges; when nothing is judged any more, the intervals that
// users get rest on all of them.
static advgp_status assess(gp_model *model, gp_reader *reader, gp_assessor *assessor, gp_score_groups **of_all,
                           gp_assessment *out, advgp_error *err)
{
    gp_held_out held_out;
    advgp_status st = gp_held_out_ask(model, reader, &held_out, err);
    if (st == ADVGP_OK) st = gp_calibrate(model, reader, &held_out, GP_HELD_OUT_HALF, err);
    if (st == ADVGP_OK) st = gp_assess(assessor, reader, out, err);
    if (st == ADVGP_OK && *of_all) {
        gp_calibration_group(&model->calibration, *of_all);
        *of_all = NULL;
    }
    if (st == ADVGP_OK && held_out.rows.n) st = gp_calibrate(model, reader, &held_out, GP_HELD_OUT_ALL, err);
    gp_held_out_fini(&held_out);
    return st;
}

advgp_status gp_train_conclude(gp_model *model, gp_reader *reader, const gp_train_options *options, gp_stopwatch began,
                               gp_train_result *r, gp_notes *notes, advgp_error *err)
{
    const gp_shards *test = options ? options->test : NULL;
    gp_assessor assessor = {0};
    gp_score_groups *of_all = NULL;
    r->n_train = (double)gp_shards_rows(reader->shards, GP_TRAIN);
    advgp_status st = gp_noise_fit(model, reader, options, r, notes, &of_all, err);
    if (st == ADVGP_OK) st = gp_assessor_init(&assessor, model, reader, err);
    if (st == ADVGP_OK) st = assess(model, reader, &assessor, &of_all, &r->assessment, err);
    gp_free(of_all);
    model->baseline_mean = r->assessment.baseline_mean, model->baseline_linear = r->assessment.baseline_linear;
    r->wall = gp_clock_wall() - began.wall, r->cpu = gp_clock_cpu() - began.cpu;
    settle_plan(model, r);
    if (st == ADVGP_OK) st = write_record(model, r, err); // of rows that every training has, with --test or without
    if (st == ADVGP_OK && test) {
        st = gp_assess_test(&assessor, test, reader->capacity, &r->assessment, err);
        if (st != ADVGP_OK) st = gp_wrap(err, st, "{test}");
    }
    gp_assessor_fini(&assessor);
    return st == ADVGP_OK ? tell_of_linear(model, &r->assessment, notes, err) : st;
}
