// train_verb.c: `advgp train`: data in, model file out, and an account of how good it is.
#include "api/load.h"
#include "api/participant.h"
#include "api/record.h"
#include "api/request.h"
#include "api/written.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/machine.h"
#include "cli/cli.h"
#include "cli/training.h"
#include "data/packed.h"
#include "linalg/blas.h"
#include "linalg/dense.h"
#include "method/method.h"
#include "options/option_json.h"
#include "run/pslog.h"
#include "score/calibrate.h"
#include "store/form.h"
#include "store/rescue.h"
#include "store/runlog.h"
#include "train/learner.h"
#include "train/map_choice.h"
#include "train/warmstart.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { CLUSTER_DELAY_NATURAL = 200, CLUSTER_DELAY_PROX = 32 }; // versions; --max-delay auto

typedef struct report {
    const gp_options *o;
    bool quiet;
    gp_runlog *log;
    advgp_status log_status; // of the first line that could not be written
    advgp_error log_error;
    double next_line; // wall clock of the next line of progress
    double peak;      // bytes of anonymous memory, the most seen at an evaluation or the end
    const gp_replay_feed *replay;
    uint64_t bits;  // of the model
    double *delays; // --delay-worker
    size_t n_delays;
    gp_participant *part; // NULL: all workers are threads of this process
    char resume[4096];    // checkpoint to go on from; empty: none
    bool saved;           // this run has written one
} report;

// ---- log ------------------------------------------------------------------------------------------------------------

static advgp_status open_log(report *r, advgp_error *err)
{
    const char *path = gp_options_text(r->o, "log");
    if (!path) return ADVGP_OK;
    json_t *manifest = gp_record_manifest(r->o, "train");
    if (!manifest) return gp_fail(err, ADVGP_ENOMEM, "no memory for the log");
    const advgp_status st = r->resume[0] ? gp_runlog_append(path, &r->log, err)
                                         : gp_runlog_create(path, manifest, &r->log, err);
    json_decref(manifest);
    return st;
}

// A log that was there is replaced when the training begins: whatever was wrong with data and options has been said by
// then.
static void start_log(report *r)
{
    if (!r->log && r->log_status == ADVGP_OK) r->log_status = open_log(r, &r->log_error);
}

static void log_event(report *r, const char *event, json_t *fields)
{
    start_log(r);
    if (!r->log) {
        json_decref(fields);
        return;
    }
    advgp_error err;
    const advgp_status st = gp_runlog_event_take(r->log, event, fields, &err);
    if (st != ADVGP_OK && r->log_status == ADVGP_OK) r->log_status = st, r->log_error = err;
}

// ---- progress -------------------------------------------------------------------------------------------------------

static void on_phase(void *ctx, const char *what)
{
    report *r = ctx;
    start_log(r);
    gp_cli_say(r->o, "%s", what);
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

static void note_memory(report *r)
{
    r->peak = fmax(r->peak, anonymous_memory());
}

static void on_ps(void *ctx, const gp_ps_event *event)
{
    report *r = ctx;
    if (r->log) log_event(r, gp_pslog_name(event->kind), gp_pslog_fields(event));
}

static void on_begin(void *ctx, const gp_train_plan *p)
{
    report *r = ctx;
    json_t *fields = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:f, s:I}", "inducing", (json_int_t)p->m,
                               "components", (json_int_t)p->components, "workers", (json_int_t)p->workers,
                               "workers_max", (json_int_t)p->workers_max, "batch", (json_int_t)p->batch, "steps",
                               (json_int_t)p->steps, "eval_every", (json_int_t)p->eval_every, "max_delay",
                               gp_record_delay(p->max_delay), "quorum", p->quorum, "version", (json_int_t)p->version);
    if (fields && p->checkpoint) { // a line before tells of it, and its id
        json_object_set_new(fields, "checkpoint", gp_record_id(p->checkpoint));
        json_object_set_new(fields, "judged", json_integer((json_int_t)p->evaluated));
        json_object_set_new(fields, "judging", json_boolean(p->evaluating));
    }
    log_event(r, "begin", fields);
    char delay[24] = "any";
    if (p->max_delay != GP_DELAY_ANY) snprintf(delay, sizeof delay, "%zu", p->max_delay);
    gp_cli_say(r->o, "training: %zu worker%s of %zu rows a push, %zu versions, delay %s", p->workers,
               p->workers == 1 ? "" : "s", p->batch, p->steps, delay);
}

static void on_checkpoint(void *ctx, const char *path, size_t version, uint64_t id, const char *failed)
{
    report *r = ctx;
    log_event(r, "checkpoint",
              json_pack("{s:o, s:I, s:o, s:o}", "file", gp_json_text(path), "version", (json_int_t)version, "id",
                        gp_record_id(id), "failed", failed ? gp_json_text(failed) : json_null()));
    r->saved |= !failed;
    if (!failed) return;
    char text[700]; // an error, so --quiet does not hide it
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
    report *r = ctx;
    note_memory(r);
    log_event(r, "eval", gp_record_eval(e));
    const double now = gp_clock_wall();
    if (r->quiet || (now < r->next_line && !(e->epochs > 0 && e->epoch >= e->epochs))) return;
    r->next_line = now + (isatty(STDERR_FILENO) ? 1 : 4);
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

static int on_stop(void *ctx)
{
    (void)ctx;
    return gp_cli_stopped();
}

// ---- results --------------------------------------------------------------------------------------------------------

gp_scored_text gp_cli_scored(const gp_train_result *r)
{
    static const char *const words[] = {[GP_SCORED_HELD_OUT] = "held-out rows",
                                        [GP_SCORED_TRAINING] = "training rows: none are held out",
                                        [GP_SCORED_TEST] = "rows of --test"};
    const bool few = r->assessment.scored == GP_SCORED_TRAINING && r->n_train < GP_HELD_OUT_MIN_ROWS;
    gp_scored_text text;
    snprintf(text.p, sizeof text.p, "%zu %s", r->assessment.n_scored,
             few ? "training rows: too few to hold some out" : words[r->assessment.scored]);
    return text;
}

static void print_result(const report *r, const char *path, const gp_model *model, const gp_train_result *t)
{
    char what[48];
    snprintf(what, sizeof what, "%zu component%s", model->spec.n_components, model->spec.n_components == 1 ? "" : "s");
    printf("%s: %s, %.0f training rows, %zu step%s, stopped because %s\n\n", path,
           model->spec.n_components ? what : model->method, t->n_train, t->versions, t->versions == 1 ? "" : "s",
           gp_stop_reason_words(t->stopped));
    printf("RMSE (%s)\n  mean               %10.5g\n  linear regression  %10.5g\n  this model         %10.5g\n\n",
           gp_cli_scored(t).p, t->assessment.baseline_mean, t->assessment.baseline_linear, t->assessment.rmse);
    printf("MNLP %.4f", t->assessment.mnlp); // of the same rows, as the intervals are
    if (isfinite(t->neg_elbo)) printf("   -ELBO %.1f", t->neg_elbo);
    printf("\n\nintervals           50 %%    80 %%    90 %%    95 %%    99 %%\n  calibrated   ");
    for (size_t i = 0; i < 5; i++) printf("  %6.1f", 100 * t->assessment.coverage[i]);
    printf("   %% of those rows inside\n  Gaussian     ");
    for (size_t i = 0; i < 5; i++) printf("  %6.1f", 100 * t->assessment.coverage_gaussian[i]);
    printf("\n\n%.1f s, %.1f CPU seconds%s", t->wall, t->cpu, r->part ? " of the lead" : "");
    if (t->workers)
        printf(": pilots %.1f, steps %.1f, finish %.1f, calibration and baselines %.1f", t->pilot_seconds,
               t->step_seconds, t->finish_seconds, t->last_seconds);
    if (t->workers > 1) printf("; %zu workers waited %.0f %% of the steps", t->workers, 100 * t->waiting_share);
    if (t->counts.lost)
        printf("; %llu worker%s lost, %llu joined in all", (unsigned long long)t->counts.lost,
               t->counts.lost == 1 ? "" : "s", (unsigned long long)t->counts.joined);
    if (t->counts.rolled_back) printf("; %llu steps rolled back", (unsigned long long)t->counts.rolled_back);
    printf("\n");
}

// ---- the run --------------------------------------------------------------------------------------------------------

static json_t *plan_json(const gp_options *o, const gp_train_options *t, const gp_loaded *data)
{
    const gp_schema *s = data->schema;
    const gp_method *method = gp_request_method(o);
    const size_t held_out = gp_shards_rows(data->shards, GP_STOP) + gp_shards_rows(data->shards, GP_CALIBRATE);
    json_t *inputs = json_array(), *settings = json_object();
    for (size_t j = 0; j < s->d; j++)
        json_array_append_new(inputs, json_pack("{s:o, s:o, s:o}", "name", gp_json_text(s->x_names[j]), "mean",
                                                gp_json_real(s->x_mean[j]), "scale", gp_json_real(s->x_scale[j])));
    const struct {
        const char *name;
        json_t *value;
    } said[] = {{"inducing", json_integer((json_int_t)t->m)},
                {"components", t->components ? json_integer((json_int_t)t->components) : json_string("auto")},
                {"kernel", json_string(t->kernel->name)},
                {"map", json_string(gp_options_text(o, "map"))},
                {"trend", json_string(gp_trend_name(t->trend))},
                {"start", gp_json_text(gp_options_text(o, "start"))}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (gp_method_takes(method, said[i].name)) json_object_set(settings, said[i].name, said[i].value);
        json_decref(said[i].value);
    }
    return json_pack("{s:b, s:I, s:I, s:{s:o, s:b, s:o, s:o}, s:I, s:o, s:s, s:o, s:o}", "dry_run", 1, "training_rows",
                     (json_int_t)gp_shards_rows(data->shards, GP_TRAIN), "held_out_rows", (json_int_t)held_out,
                     "target", "name", gp_json_text(s->target), "logarithm", s->log_target, "mean",
                     gp_json_real(s->y_mean), "scale", gp_json_real(s->y_scale), "columns", (json_int_t)s->n_inputs,
                     "inputs", inputs, "method", method->name, "settings", settings, "model",
                     gp_json_text(gp_options_text(o, "output")));
}

static void print_plan(const gp_options *o, const gp_train_options *t, const gp_loaded *data)
{
    const gp_schema *s = data->schema;
    gp_cli_print(
        "%zu training rows, %zu held out (half to stop, half to calibrate)\ntarget %s%s: mean %.5g, standard deviation "
        "%.5g\n%zu inputs from %zu columns:\n",
        gp_shards_rows(data->shards, GP_TRAIN),
        gp_shards_rows(data->shards, GP_STOP) + gp_shards_rows(data->shards, GP_CALIBRATE), s->target,
        s->log_target ? " (logarithm)" : "", s->y_mean, s->y_scale, s->d, s->n_inputs);
    for (size_t j = 0; j < s->d; j++)
        gp_cli_print("  %-30s mean %12.5g  scale %12.5g\n", s->x_names[j], s->x_mean[j], s->x_scale[j]);
    char m[24], components[24] = "auto";
    snprintf(m, sizeof m, "%zu", t->m);
    if (t->components) snprintf(components, sizeof components, "%zu", t->components);
    const gp_method *method = gp_request_method(o);
    printf("would train with the method %s", method->name);
    const char *const said[][2] = {{"inducing", m},
                                   {"components", components},
                                   {"kernel", t->kernel->name},
                                   {"map", gp_options_text(o, "map")},
                                   {"trend", gp_trend_name(t->trend)},
                                   {"start", gp_options_text(o, "start")}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (gp_method_takes(method, said[i][0])) printf(", %s: %s", said[i][0], said[i][1]);
    printf("; model to %s\n", gp_options_text(o, "output"));
}

static advgp_status show(const report *r, const char *path, const gp_model *model, const gp_train_result *result,
                         advgp_error *err)
{
    if (!gp_options_flag(r->o, "json")) {
        print_result(r, path, model, result);
        return ADVGP_OK;
    }
    return gp_cli_print_json_take(gp_record_result(path, result, r->peak), err);
}

// Where the state is saved: interrupted or killed, a run can always go on.
static const char *checkpoint_path(const gp_options *o, char *beside, size_t n)
{
    const char *given = gp_options_text(o, "checkpoint");
    snprintf(beside, n, "%s.checkpoint", gp_options_text(o, "output"));
    return given ? given : beside;
}

static advgp_status check_outputs(const gp_options *o, bool replay, advgp_error *err)
{
    if (replay) return gp_check_written(o, "output", gp_options_text(o, "output"), GP_WRITTEN_MODEL, err);
    char beside[4096];
    const char *path = gp_options_text(o, "output"), *checkpoint = checkpoint_path(o, beside, sizeof beside),
               *log = gp_options_text(o, "log");
    if (gp_place_same(path, checkpoint) || (log && (gp_place_same(log, path) || gp_place_same(log, checkpoint))))
        return gp_fail(err, ADVGP_EINVAL,
                       "model, checkpoint and log need three different files, and two of them are %s",
                       log && !gp_place_same(path, checkpoint) ? log : path);
    advgp_status st = gp_check_written(o, "output", path, GP_WRITTEN_MODEL, err);
    if (st == ADVGP_OK) st = gp_check_written(o, "checkpoint", checkpoint, GP_WRITTEN_CHECKPOINT, err);
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
    return XXH3_64bits_withSeed(m->calibration, GP_CALIBRATION_LEVELS * sizeof(double), h);
}

// How an interrupted run is gone on with.
static advgp_status tell_interrupted(const report *r, const char *path, const char *checkpoint,
                                     const gp_train_result *result, advgp_error *err)
{
    if (!gp_request_method(r->o)->resumes)
        return gp_fail(err, ADVGP_ESTOPPED, "interrupted: the model so far is in %s", path);
    if (result->unsaved[0])
        return gp_fail(err, ADVGP_ESTOPPED,
                       "interrupted: the model so far is in %s; the state to go on from is lost: %s", path,
                       result->unsaved);
    return gp_fail(err, ADVGP_ESTOPPED, "interrupted: the model so far is in %s; go on with --resume %s", path,
                   checkpoint);
}

// The model is written before anything else is tried, and nothing that fails afterwards, least of all a reader of
// standard output that has gone, keeps the log from its last line.
static advgp_status conclude(report *r, const gp_model *model, const gp_train_result *result, const char *checkpoint,
                             bool checkpoint_ends, advgp_error *err)
{
    char kept[4096];
    advgp_error unsaved = {0}, unshown = {0};
    const advgp_status saved = gp_model_save_or_rescue(model, gp_options_text(r->o, "output"), checkpoint, kept,
                                                       sizeof kept, &unsaved);
    note_memory(r);
    if (!kept[0]) {
        if (err) *err = unsaved;
        return saved;
    }
    advgp_status st = ADVGP_OK;
    const advgp_status shown = show(r, kept, model, result, &unshown);
    json_t *done = gp_record_result(kept, result, r->peak);
    if (done) json_object_set_new(done, "bits", gp_record_id(r->bits));
    log_event(r, "done", done);
    const bool interrupted = result->interrupted && !r->replay; // a replay repeats a run that was
    if (saved != ADVGP_OK || shown != ADVGP_OK) {
        if (err) *err = saved != ADVGP_OK ? unsaved : unshown;
        st = saved != ADVGP_OK ? saved : shown;
    }
    if (interrupted && saved == ADVGP_OK) return tell_interrupted(r, kept, checkpoint, result, err);
    if (saved == ADVGP_OK && checkpoint_ends) (void)unlink(checkpoint);
    return st;
}

static advgp_status train(report *r, gp_loaded *data, const gp_shards *test, gp_train_options options, advgp_error *err)
{
    const gp_options *o = r->o;
    char checkpoint[4096];
    options.checkpoint = r->replay ? NULL : checkpoint_path(o, checkpoint, sizeof checkpoint);
    const gp_train_events events = {.ctx = r,
                                    .eval = on_eval,
                                    .phase = on_phase,
                                    .stop = on_stop,
                                    .ps = on_ps,
                                    .begin = on_begin,
                                    .checkpoint = on_checkpoint};
    options.delays = r->delays, options.n_delays = r->n_delays;
    options.replay = r->replay;
    options.test = test;
    options.resume = r->resume[0] ? r->resume : NULL;
    if (r->part) options.cluster = gp_participant_cluster(r->part);
    if (r->part && gp_options_is(o, "max-delay", "auto"))
        options.max_delay = options.rule == &gp_rule_prox ? CLUSTER_DELAY_PROX : CLUSTER_DELAY_NATURAL;
    gp_model *model = NULL;
    gp_train_result result;
    gp_notes notes = {0};
    const gp_train_request request = {.shards = data->shards,
                                      .schema = data->schema,
                                      .sql = data->sql,
                                      .options = &options,
                                      .events = &events,
                                      .notes = &notes};
    advgp_status st = gp_request_method(o)->train(&request, &model, &result, err);
    if (st != ADVGP_OK) {
        gp_notes_fini(&notes);
        if (st != ADVGP_ECLUSTER || !r->saved) return st; // what lies there may be of another run
        const advgp_error why = *err;
        return gp_fail(err, st, "%.400s; go on with --resume %s", why.text, options.checkpoint);
    }
    data->schema = NULL; // the model has it
    json_t *used = gp_options_json(o);
    if (used) json_object_update(model->options, used);
    json_decref(used);
    r->bits = bits_of(model);
    st = conclude(r, model, &result, options.checkpoint, options.checkpoint == checkpoint, err);
    gp_cli_notes(o, &notes);
    gp_model_free(model);
    gp_notes_fini(&notes);
    return st;
}

// Everything that is read, and the options that follow from it. *theta is where a model of --start says to begin.
static advgp_status prepare(const gp_options *o, gp_loaded *data, gp_shards **test, gp_train_options *options,
                            double **theta, advgp_error *err)
{
    gp_model *start = NULL;
    advgp_status st = gp_request_start(o) ? gp_model_load(gp_request_start(o), &start, err) : ADVGP_OK;
    if (st != ADVGP_OK) (void)gp_wrap(err, st, "--start is neither kmeans, greedy nor random, and as a model");
    *options = gp_request_train(o);
    if (st == ADVGP_OK && start) st = gp_request_adopt(o, start, options, err); // before the data, which may take long
    if (st == ADVGP_OK) st = gp_load_training(o, gp_cli_host(o), data, err);
    if (st == ADVGP_OK) st = gp_load_test(o, gp_cli_host(o), data, test, err);
    if (st == ADVGP_OK && gp_options_is(o, "batch", "full")) options->batch = gp_shards_rows(data->shards, GP_TRAIN);
    if (st == ADVGP_OK && start) {
        st = gp_warmstart(start, gp_request_start(o), data->schema, theta, err);
        options->theta = *theta;
        if (st != ADVGP_OK) (void)gp_wrap(err, st, "--start");
    }
    gp_model_free(start);
    return st;
}

advgp_status gp_cli_train(const gp_options *o, advgp_error *err)
{
    return gp_cli_training(o, NULL, NULL, err);
}

// The checkpoint of --resume; of auto the one that is there, if there is one.
static void find_resume(report *r)
{
    char beside[4096];
    const char *path = gp_options_text(r->o, "resume");
    if (gp_options_is(r->o, "resume", "auto")) {
        path = checkpoint_path(r->o, beside, sizeof beside);
        if (access(path, F_OK) != 0) path = NULL;
    }
    snprintf(r->resume, sizeof r->resume, "%s", path ? path : "");
}

static advgp_status lead(report *r, uint64_t *bits, advgp_error *err)
{
    const gp_options *o = r->o;
    gp_loaded data = {0};
    gp_train_options options;
    double *theta = NULL;
    gp_cli_say(o, "reading %s%s", o->operands[0], o->n_operands > 1 ? " and others" : "");
    gp_shards *test = NULL;
    const bool dry = gp_options_flag(o, "dry-run");
    advgp_status st = check_outputs(o, r->replay != NULL, err);
    const size_t workers = r->part                               ? gp_participant_workers(r->part)
                           : gp_options_is(o, "workers", "auto") ? gp_cores()
                                                                 : (size_t)gp_options_int(o, "workers");
    if (st == ADVGP_OK) st = gp_request_delays(o, workers, &r->delays, &r->n_delays, err);
    if (st == ADVGP_OK) st = prepare(o, &data, &test, &options, &theta, err);
    if (st == ADVGP_OK && r->part) st = gp_participant_data(r->part, data.shards, options.m, err);
    if (st == ADVGP_OK) gp_cli_notes(o, &data.notes);
    if (st == ADVGP_OK && dry) {
        if (gp_options_flag(o, "json"))
            st = gp_cli_print_json_take(plan_json(o, &options, &data), err);
        else
            print_plan(o, &options, &data);
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
    gp_free(theta);
    gp_free(r->delays);
    gp_shards_free(test);
    gp_loaded_fini(&data);
    return st;
}

advgp_status gp_cli_training(const gp_options *o, const gp_replay_feed *replay, uint64_t *bits, advgp_error *err)
{
    report r = {.o = o, .quiet = gp_options_flag(o, "quiet"), .replay = replay};
    advgp_status st = gp_request_check(o, err);
    if (st == ADVGP_OK) st = gp_blas_reserve(1, err);
    if (st == ADVGP_OK && !replay && !gp_options_flag(o, "dry-run"))
        st = gp_participant_open(o, gp_cli_host(o), &r.part, err);
    if (st != ADVGP_OK) return st;
    if (!replay) find_resume(&r);
    if (r.part && gp_participant_is_worker(r.part))
        st = gp_participant_work(r.part, err);
    else
        st = lead(&r, bits, err);
    (void)fflush(stdout); // a launcher may end this process when its workers have ended
    gp_participant_close(r.part, st == ADVGP_OK || !err ? NULL : err->text);
    return st;
}
