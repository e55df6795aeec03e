// whole_training.c: a training from options to the model file, and its log.
#include "api/whole_training.h"
#include "api/make_report.h"
#include "api/participant.h"
#include "api/record.h"
#include "api/written.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/machine.h"
#include "learn/warmstart.h"
#include "linalg/blas.h"
#include "load/request.h"
#include "method/method.h"
#include "options/option_json.h"
#include "run/pslog.h"
#include "store/rescue.h"
#include "store/runlog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

typedef struct training {
    const gp_training_job *job;
    const gp_options *o;
    const gp_host *host;
    const gp_training_events *events;
    gp_runlog *log;
    advgp_status log_status; // of the first line that could not be written
    advgp_error log_error;
    gp_training_cost cost; // peak: of anonymous memory, at an evaluation or the end
    const gp_replay_feed *replay;
    uint64_t bits;  // of the model
    double *delays; // --delay-worker
    size_t n_delays;
    gp_participant *part; // NULL: all workers are threads of this process
    char resume[4096];    // checkpoint to go on from; empty: none
    bool saved;           // this run has written one
    gp_courses courses;   // for --report: how it went on
} training;

static const char *report_path(const training *r)
{
    return r->replay ? NULL : gp_options_text(r->o, "report");
}

// ---- log ------------------------------------------------------------------------------------------------------------

static advgp_status open_log(training *r, advgp_error *err)
{
    const char *path = gp_options_text(r->o, "log");
    if (!path) return ADVGP_OK;
    json_t *manifest = gp_record_manifest(r->o, "train");
    if (!manifest) return gp_no_memory(err);
    const advgp_status st = r->resume[0] ? gp_runlog_append(path, &r->log, err)
                                         : gp_runlog_create(path, manifest, &r->log, err);
    json_decref(manifest);
    return st;
}

// A log that was there is replaced when the training begins: whatever was wrong with data and options has been said by
// then.
static void start_log(training *r)
{
    if (!r->log && r->log_status == ADVGP_OK) r->log_status = open_log(r, &r->log_error);
}

static void tell_line(const training *r, const char *event, json_t *fields)
{
    json_t *line = json_pack("{s:s}", "event", event);
    if (line && fields) json_object_update(line, fields);
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text) r->events->log(r->events->ctx, text);
    free(text);
    json_decref(line);
}

static void log_event(training *r, const char *event, json_t *fields)
{
    start_log(r);
    if (r->events->log) tell_line(r, event, fields);
    if (!r->log) {
        json_decref(fields);
        return;
    }
    advgp_error err;
    const advgp_status st = gp_runlog_event_take(r->log, event, fields, &err);
    if (st != ADVGP_OK && r->log_status == ADVGP_OK) r->log_status = st, r->log_error = err;
}

// ---- events ---------------------------------------------------------------------------------------------------------

static void on_phase(void *ctx, const char *what)
{
    training *r = ctx;
    start_log(r);
    gp_host_phase(r->host, "%s", what);
}

static void on_progress(void *ctx, const gp_train_progress *now)
{
    const training *r = ctx;
    if (r->host && r->host->progress) r->host->progress(r->host->ctx, now);
}

static double anonymous_memory(void)
{
    char line[256];
    double kilobytes = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "RssAnon:", 8)) kilobytes = strtod(line + 8, NULL);
    if (f) fclose(f);
    return 1024 * kilobytes;
}

static void note_memory(training *r)
{
    r->cost.peak = fmax(r->cost.peak, anonymous_memory());
}

static void on_ps(void *ctx, const gp_ps_event *event)
{
    training *r = ctx;
    if (r->log || r->events->log) log_event(r, gp_pslog_name(event->kind), gp_pslog_fields(event));
}

static void on_begin(void *ctx, const gp_train_plan *p)
{
    training *r = ctx;
    json_t *fields = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:f, s:I}", "inducing", (json_int_t)p->m,
                               "components", (json_int_t)p->components, "workers", (json_int_t)p->schedule.workers,
                               "workers_max", (json_int_t)p->workers_max, "batch", (json_int_t)p->schedule.batch,
                               "steps", (json_int_t)p->schedule.steps, "eval_every", (json_int_t)p->eval_every,
                               "max_delay", gp_record_delay(p->schedule.max_delay), "quorum", p->schedule.quorum,
                               "version", (json_int_t)p->version);
    if (fields && p->checkpoint) { // a line before tells of it, and its id
        json_object_set_new(fields, "checkpoint", gp_record_id(p->checkpoint));
        json_object_set_new(fields, "judged", json_integer((json_int_t)p->evaluated));
        json_object_set_new(fields, "judging", json_boolean(p->evaluating));
    }
    log_event(r, "begin", fields);
    if (r->events->begin) r->events->begin(r->events->ctx, p);
}

static void on_checkpoint(void *ctx, const char *path, size_t version, uint64_t id, const char *failed)
{
    training *r = ctx;
    log_event(r, "checkpoint",
              json_pack("{s:o, s:I, s:o, s:o}", "file", gp_json_text(path), "version", (json_int_t)version, "id",
                        gp_record_id(id), "failed", failed ? gp_record_text(failed) : json_null()));
    r->saved |= !failed;
    if (failed && r->events->unsaved) r->events->unsaved(r->events->ctx, failed);
}

static void on_eval(void *ctx, const gp_train_eval *e)
{
    training *r = ctx;
    note_memory(r);
    json_t *fields = gp_record_eval(e);
    if (report_path(r))
        (void)gp_courses_eval(&r->courses, "this run", fields, NULL); // without memory the page has less
    log_event(r, "eval", fields);
    if (r->events->eval) r->events->eval(r->events->ctx, e);
}

static int on_stop(void *ctx)
{
    const training *r = ctx;
    return gp_host_stops(r->host);
}

// ---- the run --------------------------------------------------------------------------------------------------------

// Where the model is written; NULL: nowhere, it is handed over.
static const char *output_path(const training *r)
{
    return r->job->model && !gp_options_given(r->o, "output") ? NULL : gp_options_text(r->o, "output");
}

// Where the state is saved: interrupted or killed, a run can always go on. NULL: nowhere.
static const char *checkpoint_path(const training *r, char *beside, size_t n)
{
    const char *given = gp_options_text(r->o, "checkpoint"), *output = output_path(r);
    if (given || !output) return given;
    snprintf(beside, n, "%s.checkpoint", output);
    return beside;
}

static bool same_place(const char *a, const char *b)
{
    return a && b && gp_place_same(a, b);
}

static advgp_status check_outputs(const training *r, advgp_error *err)
{
    const gp_options *o = r->o;
    const char *path = output_path(r);
    if (r->replay) return gp_check_written(o, "output", path, GP_WRITTEN_MODEL, err);
    char beside[4096];
    const char *checkpoint = checkpoint_path(r, beside, sizeof beside), *log = gp_options_text(o, "log");
    const char *report = report_path(r);
    if (same_place(path, checkpoint) || same_place(log, path) || same_place(log, checkpoint))
        return gp_fail(err, ADVGP_EINVAL,
                       "model, checkpoint and log need three different files, and two of them are %s",
                       log && !same_place(path, checkpoint) ? log : path);
    if (same_place(report, path) || same_place(report, checkpoint) || same_place(report, log))
        return gp_fail(err, ADVGP_EINVAL,
                       "{report} %s: model, checkpoint or log are to be written there; name another file", report);
    advgp_status st = path ? gp_check_written(o, "output", path, GP_WRITTEN_MODEL, err) : ADVGP_OK;
    if (st == ADVGP_OK && report) st = gp_check_written(o, "report", report, GP_WRITTEN_REPORT, err);
    if (st == ADVGP_OK && checkpoint) st = gp_check_written(o, "checkpoint", checkpoint, GP_WRITTEN_CHECKPOINT, err);
    if (st == ADVGP_OK && log) st = gp_check_written(o, "log", log, GP_WRITTEN_LOG, err);
    return st;
}

// What two runs that are the same have in common: a hash of parameters, statistics and calibration.
static uint64_t bits_of(const gp_model *m)
{
    if (!m->spec.n_components) return 0; // nothing that steps have made
    uint64_t h = XXH3_64bits(m->theta, m->layout.size * sizeof(double));
    h = XXH3_64bits_withSeed(m->stats.A.p, m->layout.M * m->layout.M * sizeof(double), h);
    h = XXH3_64bits_withSeed(m->stats.b, m->layout.M * sizeof(double), h);
    if (m->noise) h = XXH3_64bits_withSeed(m->noise->theta, m->noise->layout.size * sizeof(double), h);
    const gp_calibration *c = &m->calibration;
    if (c->groups) h = XXH3_64bits_withSeed(c->groups, sizeof *c->groups, h);
    h = XXH3_64bits_withSeed(c->tails, sizeof c->tails, h);
    return XXH3_64bits_withSeed(c->q, sizeof c->q, h);
}

// How an interrupted run is gone on with.
static advgp_status tell_interrupted(const gp_model *model, const char *path, const char *checkpoint,
                                     const gp_train_result *result, advgp_error *err)
{
    if (!path) return gp_fail(err, ADVGP_ESTOPPED, "interrupted: this is the model so far");
    if (!gp_method_named(model->method)->resumes)
        return gp_fail(err, ADVGP_ESTOPPED, "interrupted: the model so far is in %s", path);
    if (result->unsaved[0])
        return gp_fail(err, ADVGP_ESTOPPED,
                       "interrupted: the model so far is in %s; the state to go on from is lost: %s", path,
                       result->unsaved);
    return gp_fail(err, ADVGP_ESTOPPED, "interrupted: the model so far is in %s; go on with {resume} %s", path,
                   checkpoint);
}

// The model is written before anything else is tried, and nothing that fails afterwards, least of all a reader of
// standard output that has gone, keeps the log from its last line.
static advgp_status conclude(training *r, const gp_model *model, const gp_train_result *result, const char *checkpoint,
                             bool checkpoint_ends, advgp_error *err)
{
    char kept[4096] = "";
    advgp_error unsaved = {0}, unshown = {0};
    const char *path = output_path(r);
    const advgp_status saved = path ? gp_model_save_or_rescue(model, path, checkpoint, kept, sizeof kept, &unsaved)
                                    : ADVGP_OK;
    note_memory(r);
    if (path && !kept[0]) {
        if (err) *err = unsaved;
        return saved;
    }
    advgp_status st = ADVGP_OK;
    const gp_training_made made = {
        .path = kept, .model = model, .result = result, .cost = r->cost, .of_lead = r->part != NULL};
    const advgp_status shown = r->events->made ? r->events->made(r->events->ctx, &made, &unshown) : ADVGP_OK;
    json_t *done = gp_record_result(kept, model, result, &r->cost);
    if (done) json_object_set_new(done, "bits", gp_record_id(r->bits));
    log_event(r, "done", done);
    const bool interrupted = result->interrupted && !r->replay; // a replay repeats a run that was
    if (saved != ADVGP_OK || shown != ADVGP_OK) {
        if (err) *err = saved != ADVGP_OK ? unsaved : unshown;
        st = saved != ADVGP_OK ? saved : shown;
    }
    if (interrupted && saved == ADVGP_OK) return tell_interrupted(model, path ? kept : NULL, checkpoint, result, err);
    if (!interrupted && checkpoint_ends) (void)unlink(checkpoint); // the model is there, if only in the other place
    return st;
}

static advgp_status train(training *r, gp_loaded *data, const gp_shards *test, gp_train_options options,
                          advgp_error *err)
{
    const gp_options *o = r->o;
    char checkpoint[4096];
    options.checkpoint = r->replay ? NULL : checkpoint_path(r, checkpoint, sizeof checkpoint);
    const gp_train_events events = {.ctx = r,
                                    .eval = on_eval,
                                    .phase = on_phase,
                                    .progress = on_progress,
                                    .stop = on_stop,
                                    .ps = on_ps,
                                    .begin = on_begin,
                                    .checkpoint = on_checkpoint};
    options.delays = r->delays, options.n_delays = r->n_delays;
    options.replay = r->replay;
    options.test = test;
    options.resume = r->resume[0] ? r->resume : NULL;
    if (r->part) options.cluster = gp_participant_cluster(r->part);
    if (r->part && gp_options_is(o, "max-delay", "auto")) options.schedule.max_delay = options.schedule.rule->max_delay;
    gp_model *model = NULL;
    gp_train_result result;
    gp_notes notes = {0};
    const gp_train_request request = {.shards = data->shards,
                                      .schema = data->schema,
                                      .sql = data->sql,
                                      .options = &options,
                                      .encodings = &data->encodings,
                                      .events = &events,
                                      .notes = &notes};
    advgp_status st = gp_request_method(o)->train(&request, &model, &result, err);
    if (st != ADVGP_OK) {
        gp_notes_fini(&notes);
        if (st != ADVGP_ECLUSTER || !r->saved) return st; // what lies there may be of another run
        const advgp_error why = *err;
        return gp_fail(err, st, "%.400s; go on with {resume} %s", why.text, options.checkpoint);
    }
    data->schema = NULL; // the model has it
    json_t *used = gp_options_json(o);
    if (used) json_object_update(model->options, used);
    json_decref(used);
    r->bits = bits_of(model);
    st = gp_keep_origin(model, o, &data->notes, &notes, err);
    if (st == ADVGP_OK) st = conclude(r, model, &result, options.checkpoint, options.checkpoint == checkpoint, err);
    if (report_path(r) && (st == ADVGP_OK || st == ADVGP_ESTOPPED)) {
        const gp_trained trained = {.model = model,
                                    .path = output_path(r),
                                    .shards = data->shards,
                                    .test = test,
                                    .result = &result,
                                    .courses = &r->courses,
                                    .seed = (uint64_t)gp_options_int(o, "seed")};
        const advgp_status told = gp_report_training(&trained, report_path(r), st == ADVGP_OK ? err : NULL);
        if (told == ADVGP_OK) gp_host_report(r->host, "the report is in %s", report_path(r));
        if (st == ADVGP_OK) st = told;
    }
    gp_host_notes(r->host, &notes);
    if (r->job->model)
        *r->job->model = model;
    else
        gp_model_free(model);
    gp_notes_fini(&notes);
    return st;
}

// Everything that is read, and the options that follow from it. *theta is where a model of --start says to begin.
static advgp_status prepare(const training *r, gp_loaded *data, gp_shards **test, gp_train_options *options,
                            double **theta, advgp_error *err)
{
    const gp_options *o = r->o;
    const gp_host *host = r->host;
    gp_model *start = NULL;
    advgp_status st = gp_request_start(o) ? gp_request_model(o, gp_request_start(o), &start, err) : ADVGP_OK;
    if (st != ADVGP_OK) (void)gp_wrap(err, st, "{start} is neither kmeans, greedy nor random, and as a model");
    *options = gp_request_train(o);
    if (st == ADVGP_OK && start) st = gp_request_adopt(o, start, options, err); // before the data, which may take long
    if (st == ADVGP_OK) st = gp_load_training(o, r->job->table, host, data, err);
    if (st == ADVGP_OK) st = gp_load_test(o, host, data, test, err);
    if (st == ADVGP_OK && gp_options_is(o, "batch", "full"))
        options->schedule.batch = gp_shards_rows(data->shards, GP_TRAIN);
    if (st == ADVGP_OK && start) {
        st = gp_warmstart(start, gp_request_start(o), data->schema, theta, err);
        options->theta = *theta;
        if (st != ADVGP_OK) (void)gp_wrap(err, st, "{start}");
    }
    gp_model_free(start);
    return st;
}

// The checkpoint of --resume; of auto the one that is there, if there is one.
static void find_resume(training *r)
{
    char beside[4096];
    const char *path = gp_options_text(r->o, "resume");
    if (gp_options_is(r->o, "resume", "auto")) {
        path = checkpoint_path(r, beside, sizeof beside);
        if (!path || access(path, F_OK) != 0) path = NULL;
    }
    snprintf(r->resume, sizeof r->resume, "%s", path ? path : "");
}

static advgp_status lead(training *r, uint64_t *bits, advgp_error *err)
{
    const gp_options *o = r->o;
    gp_loaded data = {0};
    gp_train_options options;
    double *theta = NULL;
    if (!r->job->table) gp_host_phase(r->host, "reading %s%s", o->operands[0], o->n_operands > 1 ? " and others" : "");
    gp_shards *test = NULL;
    const bool dry = gp_options_flag(o, "dry-run");
    advgp_status st = check_outputs(r, err);
    const size_t workers = r->part                               ? gp_participant_workers(r->part)
                           : gp_options_is(o, "workers", "auto") ? gp_cores()
                                                                 : (size_t)gp_options_int(o, "workers");
    if (st == ADVGP_OK) st = gp_request_delays(o, workers, &r->delays, &r->n_delays, err);
    const double began = gp_clock_wall(), cpu = gp_clock_cpu();
    if (st == ADVGP_OK) st = prepare(r, &data, &test, &options, &theta, err);
    r->cost.read_seconds = gp_clock_wall() - began, r->cost.read_cpu_seconds = gp_clock_cpu() - cpu;
    if (st == ADVGP_OK && r->part) st = gp_participant_data(r->part, data.shards, options.m, err);
    if (st == ADVGP_OK) gp_host_notes(r->host, &data.notes);
    if (st == ADVGP_OK && dry) {
        if (r->events->plan) st = r->events->plan(r->events->ctx, &options, &data, err);
    } else {
        if (st == ADVGP_OK && r->resume[0]) st = open_log(r, err); // goes on with the log that is there
        if (st == ADVGP_OK) st = train(r, &data, test, options, err);
        if (st == ADVGP_OK && r->log_status != ADVGP_OK) {
            st = r->log_status;
            if (err) *err = r->log_error;
        }
    }
    if (bits) *bits = r->bits;
    gp_runlog_close(r->log);
    gp_courses_fini(&r->courses);
    gp_free(theta);
    gp_free(r->delays);
    gp_shards_free(test);
    gp_loaded_fini(&data);
    return st;
}

advgp_status gp_training(const gp_training_job *job, uint64_t *bits, advgp_error *err)
{
    const gp_options *o = job->options;
    const gp_replay_feed *replay = job->replay;
    const gp_host *host = job->host;
    training r = {.job = job, .o = o, .host = host, .events = job->events, .replay = replay};
    if (job->model) *job->model = NULL;
    advgp_status st = gp_request_check(o, err);
    if (st == ADVGP_OK) st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK && !replay && !gp_options_flag(o, "dry-run")) st = gp_participant_open(o, host, &r.part, err);
    if (st != ADVGP_OK) return st;
    if (!replay) find_resume(&r);
    if (r.part && gp_participant_is_worker(r.part))
        st = gp_participant_work(r.part, err);
    else
        st = lead(&r, bits, err);
    gp_participant_close(r.part, st == ADVGP_OK || !err ? NULL : err->text);
    return st;
}
