// comparison.c: the runs of a comparison, one after the other.
#include "api/comparison.h"
#include "api/record.h"
#include "api/written.h"
#include "base/alloc.h"
#include "base/whole.h"
#include "cells/inducing.h"
#include "linalg/blas.h"
#include "load/load.h"
#include "load/request.h"
#include "method/method.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// The paper's candidates for the delay.
static const size_t delays[] = {0, 8, 16, 24, 32, 40};
enum { N_DELAYS = sizeof delays / sizeof *delays };
// A budget of time becomes a number of versions by what some cost: a run that is cut off has not let its steps become
// small, and one that ends early has wasted time. A first trial is short, and most of its time is the start of threads
// and the first touch of memory; the second is as long as a share of the budget allows, and counts.
enum { TRIAL_VERSIONS = 20, RUN_EVALUATIONS = 40 };
static const double trial_share = 0.05, planned_share = 0.96; // prices vary a little: the end must not be cut off

struct gp_comparison {
    const gp_options *o;
    const gp_host *host;
    gp_compare_events events;
    gp_options *train; // the options of one run, as `train` has them
    gp_loaded data;
    gp_shards *test;
    gp_runlog *log;
    advgp_status log_status; // of the first line that could not be written
    advgp_error log_error;
    json_t *rows;        // of the table
    size_t n_done;       // of them, those with figures
    advgp_error failure; // of the last method that could not
    gp_notes told;       // notes of the runs that the user has seen
    const char *label;
    const gp_method *method;
    size_t m;         // of this run; 0: the method has no inducing inputs
    double *inducing; // the start of all methods at this m
    size_t n_inducing;
    bool silent;            // a trial
    gp_train_result result; // of the first that has figures: all are of the same rows
};

// "svigp, m = 50", or "linear".
typedef struct run_name {
    char text[80];
} run_name;

static run_name name_of(const gp_comparison *c)
{
    run_name name;
    const int n = snprintf(name.text, sizeof name.text, "%.40s", c->label);
    if (c->m) snprintf(name.text + n, sizeof name.text - (size_t)n, ", m = %zu", c->m);
    return name;
}

// ---- events ---------------------------------------------------------------------------------------------------------

static void log_take(gp_comparison *c, const char *event, json_t *fields)
{
    if (fields) json_object_set_new(fields, "method", json_string(c->label));
    if (fields) json_object_set_new(fields, "inducing", json_integer((json_int_t)c->m));
    if (!c->log || c->silent) {
        json_decref(fields);
        return;
    }
    advgp_error err;
    const advgp_status st = gp_runlog_event_take(c->log, event, fields, &err);
    if (st != ADVGP_OK && c->log_status == ADVGP_OK) c->log_status = st, c->log_error = err;
}

static void on_eval(void *ctx, const gp_train_eval *e)
{
    gp_comparison *c = ctx;
    log_take(c, "eval", gp_record_eval(e));
    if (!c->silent && c->events.eval) c->events.eval(c->events.ctx, name_of(c).text, e);
}

// ---- one run --------------------------------------------------------------------------------------------------------

// The schema belongs to the model that is made with it, so every run has its own.
static advgp_status copy_schema(const gp_schema *schema, gp_schema **out, advgp_error *err)
{
    char *json = gp_schema_to_json(schema);
    if (!json) return gp_no_memory(err);
    const advgp_status st = gp_schema_from_json(json, strlen(json), out, err);
    gp_free(json);
    return st;
}

// Every run of a method would say the same again.
static advgp_status tell_once(gp_comparison *c, const gp_notes *notes, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < notes->n; i++) {
        const gp_note *note = &notes->items[i];
        bool told = false;
        for (size_t k = 0; k < c->told.n; k++) told |= !strcmp(c->told.items[k].text, note->text);
        if (told) continue;
        gp_host_report(c->host, "note: %s", note->text);
        st = gp_notes_add(&c->told, err, note->count, "%s", note->text);
    }
    return st;
}

// ESTOPPED where someone asked to stop before it was finished: what there is by then is no figure of the method.
static advgp_status fit(gp_comparison *c, const gp_train_options *options, bool on_test, gp_train_result *result,
                        advgp_error *err)
{
    const gp_host *asked = gp_host_stopper(c->host); // it hears of progress, too, but not what each run does
    const gp_host quiet = {.ctx = asked->ctx, .progress = asked->progress, .stop = asked->stop};
    const gp_host host = {.ctx = c, .next = &quiet, .eval = on_eval};
    gp_schema *schema = NULL;
    gp_model *model = NULL;
    gp_notes notes = {0};
    gp_train_options with_test = *options;
    if (on_test) with_test.test = c->test;
    advgp_status st = copy_schema(c->data.schema, &schema, err);
    if (st == ADVGP_OK) {
        const gp_train_request request = {.shards = c->data.shards,
                                          .schema = schema,
                                          .sql = c->data.sql,
                                          .options = &with_test,
                                          .host = &host,
                                          .notes = &notes};
        st = c->method->train(&request, &model, result, err);
        if (st != ADVGP_OK) gp_schema_free(schema);
    }
    if (st == ADVGP_OK && result->interrupted) st = gp_fail(err, ADVGP_ESTOPPED, "interrupted");
    if (st == ADVGP_OK && !c->silent) st = tell_once(c, &notes, err); // what is true of a trial the run will say
    gp_notes_fini(&notes);
    gp_model_free(model);
    return st;
}

// What the steps of a trial cost, on one clock.
typedef struct trial_cost {
    double versions, steps, rest; // seconds: of the steps; of all else
} trial_cost;

typedef struct costs {
    trial_cost cpu, wall;
} costs;

static advgp_status try_versions(gp_comparison *c, const gp_train_options *options, size_t versions, size_t evaluations,
                                 costs *out, advgp_error *err)
{
    gp_train_options few = *options;
    gp_train_result r;
    few.schedule.steps = versions;
    few.seconds = few.cpu_seconds = 0;
    few.patience = SIZE_MAX;
    few.evaluations = evaluations;
    c->silent = true;
    const advgp_status st = fit(c, &few, false, &r, err);
    c->silent = false;
    if (st == ADVGP_OK)
        *out = (costs){.cpu = {(double)versions, r.step_cpu, r.cpu - r.step_cpu},
                       .wall = {(double)versions, r.step_seconds, r.wall - r.step_seconds}};
    return st;
}

// Versions of a trial that takes a share of the budget, by one that was short.
static double longer(double budget, trial_cost brief)
{
    return budget > 0 ? trial_share * budget * brief.versions / fmax(brief.steps, 1e-6) : INFINITY;
}

// Versions that fit into a budget: what two trials differ in is the price of a version, and what the shorter has beyond
// its versions that of the start. `each` is an evaluation.
static double versions_in(double budget, trial_cost brief, trial_cost other, double each)
{
    if (!(budget > 0)) return INFINITY;
    const double more = other.versions - brief.versions;
    const double version = fmax(more > 0 ? (other.steps - brief.steps) / more : 0, 1e-3 * brief.steps / brief.versions);
    const double start = fmax(0, brief.steps - brief.versions * version);
    return (planned_share * budget - other.rest - start - RUN_EVALUATIONS * each) / version;
}

static double evaluation(trial_cost one, trial_cost each_version)
{
    return fmax(0, each_version.steps - one.steps) / (TRIAL_VERSIONS - 1);
}

// How many versions fit into the budget. Patience has no say: the steps are planned to be small at the end of it.
static advgp_status fit_schedule(gp_comparison *c, gp_train_options *options, advgp_error *err)
{
    costs brief, evaluated, other;
    const double cpu = options->cpu_seconds, wall = options->seconds;
    advgp_status st = try_versions(c, options, TRIAL_VERSIONS, 1, &brief, err);
    if (st == ADVGP_OK) st = try_versions(c, options, TRIAL_VERSIONS, TRIAL_VERSIONS, &evaluated, err);
    if (st != ADVGP_OK) return st;
    const double n = fmin(longer(cpu, brief.cpu), longer(wall, brief.wall));
    st = try_versions(c, options, gp_index(fmax(2 * TRIAL_VERSIONS, n), 1000000), 1, &other, err);
    if (st != ADVGP_OK) return st;
    const double steps = fmin(versions_in(cpu, brief.cpu, other.cpu, evaluation(brief.cpu, evaluated.cpu)),
                              versions_in(wall, brief.wall, other.wall, evaluation(brief.wall, evaluated.wall)));
    options->schedule.steps = gp_index(fmax(TRIAL_VERSIONS, steps), 1000000000);
    options->patience = SIZE_MAX;
    return ADVGP_OK;
}

static advgp_status settle_options(gp_comparison *c, gp_train_options *options, advgp_error *err)
{
    *options = gp_request_train(c->train);
    if (gp_options_is(c->train, "batch", "full")) options->schedule.batch = gp_shards_rows(c->data.shards, GP_TRAIN);
    options->cpu_seconds = gp_options_real(c->o, "cpu-time");
    options->checkpoint = options->resume = NULL;
    if (c->inducing) options->m = c->n_inducing, options->inducing = c->inducing;
    const bool budget = options->cpu_seconds > 0 || options->seconds > 0;
    return budget && c->method->schedule && !(options->epochs > 0) ? fit_schedule(c, options, err) : ADVGP_OK;
}

// The delay with the least held-out error; the test rows are not looked at.
static advgp_status tune_delay(gp_comparison *c, gp_train_options *options, advgp_error *err)
{
    double best = INFINITY;
    size_t chosen = options->schedule.max_delay;
    for (size_t i = 0; i < N_DELAYS; i++) {
        gp_train_options trial = *options;
        gp_train_result r;
        trial.schedule.max_delay = delays[i];
        trial.schedule.steps = 0; // an asynchronous version sees fewer rows, so there are more of them
        if (options->schedule.steps) trial.epochs = 0;
        c->silent = true;
        advgp_status st = ADVGP_OK;
        if (options->cpu_seconds > 0 || options->seconds > 0) st = fit_schedule(c, &trial, err);
        c->silent = true;
        if (st == ADVGP_OK) st = fit(c, &trial, false, &r, err);
        c->silent = false;
        if (st != ADVGP_OK) return st;
        gp_host_report(c->host, "%s: delay %zu gives a held-out RMSE of %.5g", name_of(c).text, delays[i],
                       r.assessment.rmse);
        if (r.assessment.rmse < best)
            best = r.assessment.rmse, chosen = delays[i], options->schedule.steps = trial.schedule.steps;
    }
    options->schedule.max_delay = chosen;
    return ADVGP_OK;
}

static bool has_delay(const gp_comparison *c)
{
    return gp_method_takes(c->method, "max-delay");
}

static json_t *row_of(const gp_comparison *c, const gp_train_options *o, const gp_train_result *r)
{
    return json_pack("{s:s, s:I, s:o, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:I, s:b, s:s, s:I}", "method",
                     c->label, "inducing", (json_int_t)c->m, "max_delay",
                     has_delay(c) ? gp_record_delay(o->schedule.max_delay) : json_null(), "cpu_seconds", r->cpu,
                     "wall_seconds", r->wall, "neg_elbo", gp_json_real(r->neg_elbo), "rmse",
                     gp_json_real(r->assessment.rmse), "rmse_se", gp_json_real(r->assessment.se.rmse), "mnlp",
                     gp_json_real(r->assessment.mnlp), "coverage_90", gp_json_real(r->assessment.coverage[GP_JUDGED]),
                     "coverage_90_se", gp_json_real(r->assessment.se.coverage[GP_JUDGED]), "stopped",
                     gp_stop_reason_words(r->stopped), "versions", (json_int_t)r->versions, "held_out",
                     !gp_scored_of_training(r->assessment.scored), "scored_on", gp_record_scored(r), "scored_rows",
                     (json_int_t)r->assessment.n_scored);
}

static bool has_inducing(const gp_comparison *c)
{
    return gp_method_takes(c->method, "inducing");
}

static advgp_status add_row(gp_comparison *c, const char *event, json_t *row, advgp_error *err)
{
    if (!row || json_array_append(c->rows, row) != 0) {
        json_decref(row);
        return gp_no_memory(err);
    }
    log_take(c, event, row);
    return ADVGP_OK;
}

// A method that cannot do these rows is a line of the table; the others go on.
static advgp_status note_failure(gp_comparison *c, const advgp_error *why, advgp_error *err)
{
    c->failure = *why;
    gp_host_report(c->host, "%s cannot do this: %s", c->label, why->text);
    return add_row(c, "failed",
                   json_pack("{s:s, s:I, s:o}", "method", c->label, "inducing", (json_int_t)c->m, "failed",
                             gp_record_text(why->text)),
                   err);
}

static advgp_status run_one(gp_comparison *c, advgp_error *err)
{
    gp_train_options options = {0};
    gp_train_result r = {0};
    advgp_error why = {0};
    const bool tune = gp_options_flag(c->o, "tune-delay") && has_delay(c);
    gp_host_phase(c->host, "%s%s", name_of(c).text, has_inducing(c) ? "" : " (no inducing points)");
    advgp_status st = gp_host_stops(c->host) ? ADVGP_ESTOPPED : settle_options(c, &options, &why);
    if (st == ADVGP_OK && tune) st = tune_delay(c, &options, &why);
    if (st == ADVGP_OK) {
        log_take(c, "run",
                 json_pack("{s:I, s:I}", "steps", (json_int_t)options.schedule.steps, "workers",
                           (json_int_t)options.schedule.workers));
        st = fit(c, &options, true, &r, &why);
    }
    if (st == ADVGP_EDATA || st == ADVGP_ENUMERIC) return note_failure(c, &why, err);
    if (st == ADVGP_ESTOPPED) {
        log_take(c, "interrupted", json_object());
        return gp_fail(err, st, "interrupted during %s: %s", name_of(c).text,
                       c->n_done ? "the table has what was finished before" : "no method was finished");
    }
    if (st != ADVGP_OK) return gp_fail(err, st, "%s: %.400s", name_of(c).text, why.text);
    if (!c->n_done++) c->result = r;
    return add_row(c, "done", row_of(c, &options, &r), err);
}

// ---- the grid -------------------------------------------------------------------------------------------------------

// "advgp-prox" is advgp with --optimizer prox.
static const char *optimizer_of(const char *label)
{
    return !strcmp(label, "advgp-prox") ? "prox" : !strcmp(label, "advgp-natural") ? "natural" : NULL;
}

static const gp_method *method_of(const char *label)
{
    return optimizer_of(label) ? &gp_method_advgp : gp_method_named(label);
}

static advgp_status check_methods(const gp_options *o, advgp_error *err)
{
    char *const *labels, words[128];
    const size_t n = gp_options_list(o, "methods", &labels);
    for (size_t k = 0, at = 0; k < n; k++) {
        if (method_of(labels[k])) continue;
        for (size_t i = 0; gp_methods[i] && at < sizeof words; i++)
            at += (size_t)snprintf(words + at, sizeof words - at, "%s%s", i ? ", " : "", gp_methods[i]->name);
        return gp_fail(err, ADVGP_EINVAL, "{methods}: there is no '%s'; there are %s, advgp-natural, advgp-prox",
                       labels[k], words);
    }
    return ADVGP_OK;
}

static advgp_status set_method(gp_comparison *c, const char *label, advgp_error *err)
{
    const char *optimizer = optimizer_of(label);
    c->label = label;
    c->method = method_of(label);
    advgp_status st = gp_options_set(c->train, "method", c->method->name, err);
    if (st == ADVGP_OK) // another method's optimizer is its own
        st = gp_options_set(c->train, "optimizer", optimizer ? optimizer : gp_options_text(c->o, "optimizer"), err);
    return st;
}

// Chosen once for every m: no method begins with an advantage, and none pays for it.
static advgp_status choose_start(gp_comparison *c, const char *m, advgp_error *err)
{
    advgp_status st = gp_options_set(c->train, "inducing", m, err);
    const gp_train_options o = gp_request_train(c->train);
    gp_free(c->inducing);
    c->inducing = NULL;
    if (st == ADVGP_OK)
        st = gp_inducing_choose(c->data.shards, o.m, o.start_rows, o.start, o.kernel,
                                gp_train_start_length(c->data.shards->d), &c->inducing, &c->n_inducing, err);
    if (st == ADVGP_OK && c->n_inducing < o.m)
        gp_host_report(c->host, "note: inducing inputs reduced from %zu to %zu: there are no more distinct rows", o.m,
                       c->n_inducing);
    return st;
}

static advgp_status run_all(gp_comparison *c, advgp_error *err)
{
    char *const *methods, *const *sizes;
    const size_t n_methods = gp_options_list(c->o, "methods", &methods),
                 n_sizes = gp_options_list(c->o, "inducing", &sizes);
    advgp_status st = ADVGP_OK;
    bool sparse = false;
    for (size_t i = 0; i < n_methods; i++) sparse |= gp_method_takes(method_of(methods[i]), "inducing");
    for (size_t k = 0; st == ADVGP_OK && k < n_sizes; k++) {
        if (sparse) st = choose_start(c, sizes[k], err);
        for (size_t i = 0; st == ADVGP_OK && i < n_methods; i++) {
            st = set_method(c, methods[i], err);
            if (st != ADVGP_OK || (!has_inducing(c) && k > 0)) continue; // the same for every m
            c->m = has_inducing(c) ? c->n_inducing : 0;
            st = run_one(c, err);
        }
    }
    if (st == ADVGP_OK && !c->n_done)
        st = gp_fail(err, c->failure.status, "no method could do this; the last, %s: %.400s", c->label,
                     c->failure.text);
    return st;
}

// ---- options, rows, log ---------------------------------------------------------------------------------------------

// A default that is the one of `train` too was given by nobody.
static bool is_default_of(const gp_options *train, const gp_option_value *v)
{
    for (size_t i = 0; v->origin == GP_FROM_DEFAULT && i < train->n_values; i++)
        if (train->values[i].option == v->option) return true;
    return false;
}

// What `train` knows too, as it was given.
static advgp_status share_options(gp_comparison *c, advgp_error *err)
{
    advgp_status st = gp_options_new("train", &c->train, err);
    for (size_t i = 0; st == ADVGP_OK && i < c->o->n_values; i++) {
        const gp_option_value *v = &c->o->values[i];
        const char *name = v->option->name;
        const bool own = !strcmp(name, "methods") || !strcmp(name, "inducing") || !strcmp(name, "cpu-time") ||
                         !strcmp(name, "tune-delay") || !strcmp(name, "log") || !strcmp(name, "json") ||
                         v->option->facets & GP_OF_COMMAND_LINE;
        if (!v->present || own || is_default_of(c->train, v)) continue;
        st = gp_options_set(c->train, name, v->text, err);
    }
    if (st != ADVGP_OK) return st;
    c->train->operands = gp_alloc(c->o->n_operands, sizeof *c->train->operands); // freed with the options
    if (!c->train->operands) return gp_no_memory(err);
    c->train->n_operands = c->o->n_operands;
    memcpy(c->train->operands, c->o->operands, c->o->n_operands * sizeof *c->train->operands);
    return ADVGP_OK;
}

static advgp_status load(gp_comparison *c, advgp_error *err)
{
    advgp_status st = gp_load_training(c->train, NULL, c->host, &c->data, err);
    if (st == ADVGP_OK) st = gp_load_test(c->o, c->host, &c->data, &c->test, err);
    if (st == ADVGP_OK) gp_host_notes(c->host, &c->data.notes);
    if (st == ADVGP_OK && gp_options_flag(c->o, "tune-delay") && !gp_shards_rows(c->data.shards, GP_STOP))
        st = gp_fail(err, ADVGP_EDATA,
                     "{tune-delay} chooses by held-out rows, and there are none: give {validation} a fraction or a "
                     "file, or choose by {max-delay}");
    return st;
}

static advgp_status open_log(gp_comparison *c, advgp_error *err)
{
    const char *path = gp_options_text(c->o, "log");
    if (!path) return ADVGP_OK;
    json_t *manifest = gp_record_manifest(c->o, "compare");
    if (!manifest) return gp_no_memory(err);
    const advgp_status st = gp_runlog_create(path, manifest, &c->log, err);
    json_decref(manifest);
    return st;
}

// ---- from outside ---------------------------------------------------------------------------------------------------

advgp_status gp_comparison_new(const gp_options *compare, const gp_host *host, const gp_compare_events *events,
                               gp_comparison **out, advgp_error *err)
{
    const char *log = gp_options_text(compare, "log");
    gp_comparison *c = gp_alloc(1, sizeof *c);
    if (!c) return gp_no_memory(err);
    *c = (gp_comparison){.o = compare, .host = host, .events = *events, .rows = json_array()};
    advgp_status st = c->rows ? share_options(c, err) : gp_no_memory(err);
    if (st == ADVGP_OK) st = check_methods(compare, err);
    if (st == ADVGP_OK) st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK && log) st = gp_check_written(compare, "log", log, GP_WRITTEN_LOG, err);
    if (st == ADVGP_OK)
        *out = c;
    else
        gp_comparison_free(c);
    return st;
}

void gp_comparison_free(gp_comparison *c)
{
    if (!c) return;
    gp_notes_fini(&c->told);
    json_decref(c->rows);
    gp_free(c->inducing);
    gp_runlog_close(c->log);
    gp_shards_free(c->test);
    gp_loaded_fini(&c->data);
    gp_options_free(c->train);
    gp_free(c);
}

advgp_status gp_comparison_run(gp_comparison *c, advgp_error *err)
{
    gp_host_phase(c->host, "reading %s%s", c->o->operands[0], c->o->n_operands > 1 ? " and others" : "");
    advgp_status st = load(c, err);
    if (st == ADVGP_OK) st = open_log(c, err);
    return st == ADVGP_OK ? run_all(c, err) : st;
}

advgp_status gp_comparison_logged(const gp_comparison *c, advgp_error *err)
{
    if (c->log_status != ADVGP_OK && err) *err = c->log_error;
    return c->log_status;
}

const json_t *gp_comparison_rows(const gp_comparison *c)
{
    return c->rows;
}

const gp_train_result *gp_comparison_first(const gp_comparison *c)
{
    return c->n_done ? &c->result : NULL;
}

json_t *gp_comparison_json(const gp_comparison *c, bool interrupted)
{
    return json_pack("{s:O, s:I, s:b}", "rows", c->rows, "training_rows",
                     (json_int_t)gp_shards_rows(c->data.shards, GP_TRAIN), "interrupted", interrupted);
}
