// train_verb.c: `advgp train`: how a training goes on, line by line, and an account of what came of it.
#include "api/record.h"
#include "api/whole_training.h"
#include "base/clock.h"
#include "base/width.h"
#include "cli/cli.h"
#include "load/request.h"
#include "method/method.h"
#include "score/doubt.h"
#include "store/form.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct view {
    const gp_options *o;
    double next_line; // wall clock of the next line of progress
} view;

// ---- progress -------------------------------------------------------------------------------------------------------

static void on_begin(void *ctx, const gp_train_plan *p)
{
    const view *r = ctx;
    char delay[24] = "any";
    if (p->schedule.max_delay != GP_DELAY_ANY) snprintf(delay, sizeof delay, "%zu", p->schedule.max_delay);
    gp_cli_say(r->o, "training: %zu worker%s of %zu rows a push, %zu versions, delay %s", p->schedule.workers,
               p->schedule.workers == 1 ? "" : "s", p->schedule.batch, p->schedule.steps, delay);
    gp_cli_live_name(r->o, "steps");
}

static void on_checkpoint(void *ctx, const char *path, size_t version, uint64_t id, const char *failed)
{
    (void)ctx, (void)path, (void)version, (void)id;
    char text[700]; // an error, so --quiet does not hide it
    if (!failed) return;
    snprintf(text, sizeof text, "the state could not be saved, training goes on: %s", failed);
    gp_cli_complain(text);
}

// "[0: 51000 rows/s, age 0, waits 1 %]" of each, where they are up to eight; of more, the slowest, and how many there
// are.
static void describe_workers(const gp_train_eval *e, double seconds, char *text, size_t n)
{
    size_t at = 0, there = 0, slowest = 0;
    text[0] = 0;
    for (size_t k = 0; k < e->n_workers; k++) {
        const gp_worker_view *w = &e->workers[k];
        if (!w->joined) continue;
        if (w->live && (!there || w->rows_per_second < e->workers[slowest].rows_per_second)) slowest = k;
        there += w->live;
    }
    for (size_t k = 0; k < e->n_workers && at < n; k++) {
        const gp_worker_view *w = &e->workers[k];
        if (!w->joined || (there <= 1 && w->live) || (there > 8 && k != slowest)) continue;
        if (!w->live)
            at += (size_t)snprintf(text + at, n - at, "  [%zu lost]", k);
        else
            at += (size_t)snprintf(text + at, n - at, "  [%zu: %.0f rows/s, age %.0f, waits %.0f %%]", k,
                                   w->rows_per_second, w->age, 100 * w->waited / seconds);
    }
    if (there > 8 && at < n) snprintf(text + at, n - at, " is the slowest of %zu", there);
}

static void on_eval(void *ctx, const gp_train_eval *e)
{
    view *r = ctx;
    const double now = gp_clock_wall();
    gp_cli_live_figures(r->o, e);
    if (gp_cli_is_live() || gp_options_flag(r->o, "quiet") ||
        (now < r->next_line && !(e->epochs > 0 && e->epoch >= e->epochs)))
        return;
    r->next_line = now + 4;
    gp_cli_live_said();
    char held_out[64] = "", bound[48] = "", of[64] = "", speed[48] = "", left[48] = "", workers[512] = "";
    const bool moved = e->rows_per_second > 0; // not at once after a resumption
    if (!isnan(e->rmse)) snprintf(held_out, sizeof held_out, "  held-out RMSE %.5g  MNLP %.4f", e->rmse, e->mnlp);
    if (!isnan(e->neg_elbo_per_row)) snprintf(bound, sizeof bound, "  -ELBO/row %.4f", e->neg_elbo_per_row);
    if (e->epochs > 0) snprintf(of, sizeof of, " of %.1f", e->epochs);
    if (moved) snprintf(speed, sizeof speed, "  %.0f rows/s", e->rows_per_second);
    if (moved && e->epochs > 0) snprintf(left, sizeof left, "  %.0f s left", e->seconds_left);
    if (moved) describe_workers(e, fmax(e->run_seconds, 1e-9), workers, sizeof workers);
    gp_cli_say(r->o, "epoch %.1f%s%s%s%s%s%s", e->epoch, of, speed, bound, held_out, left, workers);
}

// ---- results --------------------------------------------------------------------------------------------------------

gp_scored_text gp_cli_scored(const gp_train_result *r)
{
    static const char *const words[] = {[GP_SCORED_HELD_OUT] = "held-out rows",
                                        [GP_SCORED_LEFT_OUT] = "training rows, each left out in turn",
                                        [GP_SCORED_REFITTED] = "training rows, each by a fit without it",
                                        [GP_SCORED_TEST] = "rows of --test"};
    gp_scored_text text;
    snprintf(text.p, sizeof text.p, "%zu %s", r->assessment.n_scored, words[r->assessment.scored]);
    return text;
}

// Of the 90 % interval, from the tenth of the rows with the smallest to that with the largest.
static void add_tenths(gp_buffer *out, const char *by, const gp_tenth *tenths, size_t n)
{
    if (!n) return;
    gp_buffer_add(out, "\n  90 %% by tenth of %-10s", by);
    for (size_t k = 0; k < n; k++) gp_buffer_add(out, "  %3.0f", 100 * tenths[k].coverage);
}

// "MNLP 0.1234, calibrated 0.1200   CRPS 1.5"
static void add_figures(gp_buffer *out, const gp_assessment *a)
{
    const char *before = NULL;
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++) {
        if (!m->ends_training) continue;
        const bool again = before && !strcmp(before, m->label);
        gp_buffer_add(out, "%s%s ", again ? ", " : before ? "   " : "", again ? m->of : m->title ? m->title : m->label);
        gp_buffer_add(out, m->decimals ? "%.*f" : "%.*g", m->decimals ? m->decimals : 5, a->values[m->at]);
        before = m->label;
    }
}

static void add_shares(gp_buffer *out, const char *of, const double *shares)
{
    gp_buffer_add(out, "\n  %-13s", of);
    for (size_t l = 0; l < GP_LEVELS; l++) gp_buffer_add(out, "  %6.1f", 100 * shares[l]);
}

// How many rows are inside, and of few rows how far that may be off.
static void add_intervals(gp_buffer *out, const gp_assessment *a)
{
    const char *unit = "   % of those rows inside";
    gp_buffer_add(out, "\n\n%-16s", "intervals");
    for (size_t l = 0; l < GP_LEVELS; l++) gp_buffer_add(out, "  %4g %%", 100 * gp_levels[l]);
    for (const gp_metric *m = gp_metrics; m < gp_metrics + GP_N_METRICS; m++) {
        if (m->n == 1 || m->unit != GP_UNIT_SHARE) continue;
        add_shares(out, m->of, &a->values[m->at]);
        gp_buffer_add(out, "%s", unit);
        if (isfinite(a->errors[m->at])) add_shares(out, "std. error", &a->errors[m->at]);
        unit = "";
    }
}

static void add_result(const gp_training_made *made, gp_buffer *out)
{
    const char *path = made->path;
    const gp_model *model = made->model;
    const gp_train_result *t = made->result;
    char what[64];
    if (model->spec.n_components)
        snprintf(what, sizeof what, "%zu component%s", model->spec.n_components,
                 model->spec.n_components == 1 ? "" : "s");
    else if (model->form->n_kernels(model)) // the evidence may have chosen it
        snprintf(what, sizeof what, "%s with the kernel %s", model->method, model->form->kernel(model, 0).kernel);
    else
        snprintf(what, sizeof what, "%s", model->method);
    char cells[32] = "";
    if (model->cells) snprintf(cells, sizeof cells, ", %zu cells", model->cells->shape.n);
    gp_buffer_add(out, "%s: %s%s, %.0f training rows, %zu step%s, stopped because %s\n\n", path, what, cells,
                  t->n_train, t->versions, t->versions == 1 ? "" : "s", gp_stop_reason_words(t->stopped));
    gp_buffer_add(
        out, "RMSE (%s)\n  mean               %10.5g\n  linear regression  %10.5g\n  this model         %10.5g%s\n\n",
        gp_cli_scored(t).p, t->assessment.baseline_mean, t->assessment.baseline_linear, t->assessment.rmse,
        gp_doubt_said(t->assessment.se.rmse).p);
    // Of the same rows, as the intervals are.
    add_figures(out, &t->assessment);
    if (isfinite(t->neg_elbo)) gp_buffer_add(out, "   -ELBO %.1f", t->neg_elbo);
    add_intervals(out, &t->assessment);
    add_tenths(out, "prediction", t->assessment.by_prediction, t->assessment.n_tenths);
    add_tenths(out, "its sd", t->assessment.by_sd, t->assessment.n_tenths);
    gp_buffer_add(out, "\n\nread in %.1f s, %.1f CPU seconds; trained in %.1f s, %.1f CPU seconds%s",
                  made->cost.read_seconds, made->cost.read_cpu_seconds, t->wall, t->cpu,
                  made->of_lead ? " of the lead" : "");
    if (t->workers)
        gp_buffer_add(out, ": pilots %.1f, steps %.1f, finish %.1f, cells %.1f, calibration and baselines %.1f",
                      t->pilot_seconds, t->step_seconds, t->finish_seconds, t->cells_seconds, t->last_seconds);
    if (t->workers > 1)
        gp_buffer_add(out, "; %zu workers waited %.0f %% of the steps", t->workers, 100 * t->waiting_share);
    if (t->counts.lost)
        gp_buffer_add(out, "; %llu worker%s lost, %llu joined in all", (unsigned long long)t->counts.lost,
                      t->counts.lost == 1 ? "" : "s", (unsigned long long)t->counts.joined);
    if (t->counts.rolled_back)
        gp_buffer_add(out, "; %llu steps rolled back", (unsigned long long)t->counts.rolled_back);
    gp_buffer_add(out, "\n");
}

static advgp_status on_made(void *ctx, const gp_training_made *made, advgp_error *err)
{
    const view *r = ctx;
    if (gp_options_flag(r->o, "json"))
        return gp_cli_print_json_take(gp_record_result(made->path, made->model, made->result, &made->cost), err);
    gp_buffer text = {0};
    add_result(made, &text);
    return gp_cli_print_take(&text, err); // and flushed: a launcher may end this process when its workers have ended
}

// Which rows judge the model and make its intervals.
static void add_split(const gp_shards *shards, gp_buffer *out)
{
    const size_t held_out = gp_shards_rows(shards, GP_STOP) + gp_shards_rows(shards, GP_CALIBRATE);
    gp_buffer_add(out, "%zu training rows, ", gp_shards_rows(shards, GP_TRAIN));
    if (held_out)
        gp_buffer_add(out, "%zu held out (half to stop, half to calibrate)\n", held_out);
    else
        gp_buffer_add(out, "none held out: each row is judged by a model without it\n");
}

static void add_columns(const gp_schema *s, gp_buffer *out)
{
    json_t *columns = gp_record_columns(s), *column;
    size_t i;
    json_array_foreach(columns, i, column)
    {
        const char *name = "", *read = "", *from = NULL, *to = NULL;
        json_int_t categories = 0;
        json_unpack(column, "{s?s, s?s, s?s, s?s, s?I}", "name", &name, "read", &read, "from", &from, "to", &to,
                    "categories", &categories);
        gp_buffer_add(out, "  ");
        gp_buffer_cell(out, name, 30, GP_LEFT);
        gp_buffer_add(out, " %-30s", read);
        if (from && to) gp_buffer_add(out, " %s to %s", from, to);
        if (categories) gp_buffer_add(out, " %lld values", (long long)categories);
        gp_buffer_add(out, "\n");
    }
    json_decref(columns);
}

static void add_plan(const gp_options *o, const gp_train_options *t, const gp_loaded *data, gp_buffer *out)
{
    const gp_schema *s = data->schema;
    add_split(data->shards, out);
    gp_buffer_add(out, "target %s%s: mean %.5g, standard deviation %.5g\n%zu inputs from %zu columns:\n", s->target,
                  s->log_target ? " (logarithm)" : "", s->y_mean, s->y_scale, s->d, s->n_inputs);
    add_columns(s, out);
    const gp_plan plan = gp_record_planned(t, data);
    gp_buffer_add(out, "would train with the method %s; model to %s\n", plan.method.value,
                  gp_options_text(o, "output"));
    gp_plan_text(&plan, out);
}

static advgp_status on_plan(void *ctx, const gp_train_options *options, const gp_loaded *data, advgp_error *err)
{
    const view *r = ctx;
    if (gp_options_flag(r->o, "json")) return gp_cli_print_json_take(gp_record_plan(r->o, options, data), err);
    gp_buffer text = {0};
    add_plan(r->o, options, data, &text);
    return gp_cli_print_take(&text, err);
}

// ---- the verb -------------------------------------------------------------------------------------------------------

advgp_status gp_cli_training(const gp_options *o, const gp_replay_feed *replay, uint64_t *bits, advgp_error *err)
{
    view v = {.o = o};
    const gp_host host = {.ctx = &v,
                          .next = gp_cli_host(o),
                          .begin = on_begin,
                          .eval = on_eval,
                          .checkpoint = on_checkpoint,
                          .plan = on_plan,
                          .made = on_made};
    return gp_training(&(gp_training_job){.options = o, .replay = replay, .host = &host}, bits, err);
}

advgp_status gp_cli_train(const gp_options *o, advgp_error *err)
{
    return gp_cli_training(o, NULL, NULL, err);
}
