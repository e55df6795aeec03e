// train_verb.c: `advgp train`: data in, model file out, and an account of how good it is.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/machine.h"
#include "cli/cli.h"
#include "cli/entry.h"
#include "cli/load.h"
#include "cli/training.h"
#include "data/packed.h"
#include "linalg/dense.h"
#include "store/atomicfile.h"
#include "store/runlog.h"
#include "train/account.h"
#include "train/calibrate.h"
#include "train/learner.h"
#include "train/map_choice.h"
#include "train/method.h"
#include "train/pslog.h"
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
    gp_entry *entry;   // NULL: all workers are threads of this process
    char resume[4096]; // checkpoint to go on from; empty: none
    bool saved;        // this run has written one
} report;

// ---- log ------------------------------------------------------------------------------------------------------------

static const char *start_path(const gp_options *o);

static void add_read(json_t *files, const char *path)
{
    char manifest[4096];
    json_array_append_new(files, gp_cli_file_json(path));
    if (!gp_packed_is(path)) return;
    snprintf(manifest, sizeof manifest, "%s/manifest.json", path); // has the hash of every shard's head
    json_array_append_new(files, gp_cli_file_json(manifest));
}

// Files that are read beside the operands, and what tells a packed operand from another.
static json_t *read_files(const gp_options *o)
{
    json_t *files = json_array();
    gp_split split;
    for (size_t i = 0; i < o->n_operands; i++)
        if (gp_packed_is(o->operands[i])) add_read(files, o->operands[i]);
    const char *validation = gp_options_text(o, "validation"), *test = gp_options_text(o, "test");
    if (validation && gp_split_parse(validation, 0, &split, NULL) == ADVGP_OK && split.kind == GP_SPLIT_FILE)
        add_read(files, validation);
    if (test) add_read(files, test);
    if (start_path(o)) add_read(files, start_path(o));
    return files;
}

// Names of the options that someone gave: the others may have another default one day, or no meaning for the method.
static json_t *given_options(const gp_options *o)
{
    json_t *names = json_array();
    for (size_t i = 0; i < o->n_values; i++)
        if (o->values[i].origin != GP_FROM_DEFAULT && !o->values[i].option->command_line_only)
            json_array_append_new(names, json_string(o->values[i].option->name));
    return names;
}

json_t *gp_cli_manifest(const gp_options *o, const char *command)
{
    json_t *files = json_array();
    for (size_t i = 0; i < o->n_operands; i++) json_array_append_new(files, gp_cli_file_json(o->operands[i]));
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "command", command, "version", advgp_version(),
                     "blas", gp_blas_name(), "cpu", gp_cli_cpu_json(), "precision", "double", "inputs", files, "read",
                     read_files(o), "options", gp_json_options(o), "given", given_options(o));
}

static advgp_status open_log(report *r, advgp_error *err)
{
    const char *path = gp_options_text(r->o, "log");
    if (!path) return ADVGP_OK;
    json_t *manifest = gp_cli_manifest(r->o, "train");
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

json_t *gp_cli_delay_json(size_t max_delay)
{
    return max_delay == GP_DELAY_ANY ? json_string("inf") : json_integer((json_int_t)max_delay);
}

static json_t *id_json(uint64_t id)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, id);
    return json_string(text);
}

static void on_begin(void *ctx, const gp_train_plan *p)
{
    report *r = ctx;
    json_t *fields = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:f, s:I}", "inducing", (json_int_t)p->m,
                               "components", (json_int_t)p->components, "workers", (json_int_t)p->workers,
                               "workers_max", (json_int_t)p->workers_max, "batch", (json_int_t)p->batch, "steps",
                               (json_int_t)p->steps, "eval_every", (json_int_t)p->eval_every, "max_delay",
                               gp_cli_delay_json(p->max_delay), "quorum", p->quorum, "version", (json_int_t)p->version);
    if (fields && p->checkpoint) { // a line before tells of it, and its id
        json_object_set_new(fields, "checkpoint", id_json(p->checkpoint));
        json_object_set_new(fields, "judged", json_integer((json_int_t)p->judged));
        json_object_set_new(fields, "judging", json_boolean(p->judging));
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
                        id_json(id), "failed", failed ? gp_json_text(failed) : json_null()));
    r->saved |= !failed;
    if (failed) gp_cli_say(r->o, "the state could not be saved, training goes on: %s", failed);
}

static json_t *workers_json(const gp_train_eval *e)
{
    json_t *list = json_array();
    for (size_t k = 0; list && k < e->n_workers; k++)
        json_array_append_new(list, json_pack("{s:b, s:f, s:f, s:f}", "live", e->workers[k].live, "rows_per_second",
                                              e->workers[k].rows_per_second, "age", e->workers[k].age, "waited",
                                              e->workers[k].waited));
    return list;
}

json_t *gp_cli_eval_json(const gp_train_eval *e)
{
    return json_pack("{s:f, s:f, s:f, s:I, s:n, s:o, s:o, s:o}", "time", e->wall, "cpu", e->cpu, "rows", e->rows,
                     "version", (json_int_t)e->version, "neg_elbo", "rmse", gp_json_real(e->rmse), "mnlp",
                     gp_json_real(e->mnlp), "workers", workers_json(e));
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
    log_event(r, "eval", gp_cli_eval_json(e));
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

static json_t *coverage_json(const double *coverage)
{
    json_t *object = json_object();
    for (size_t i = 0; i < 5; i++) {
        char key[16];
        snprintf(key, sizeof key, "%g", gp_train_levels[i]);
        json_object_set_new(object, key, gp_json_real(coverage[i]));
    }
    return object;
}

static json_t *result_json(const report *r, const char *path, const gp_model *model, const gp_train_result *t)
{
    const gp_server_counts *c = &t->counts;
    return json_pack(
        "{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:s, s:f, s:f, s:I, s:b, s:I, s:I, s:I, s:I, s:I}", "model",
        path, "rows", (json_int_t)t->n_train, "rmse", gp_json_real(t->rmse), "mnlp", gp_json_real(t->mnlp), "coverage",
        coverage_json(t->coverage), "coverage_gaussian", coverage_json(t->coverage_gaussian), "neg_elbo",
        gp_json_real(t->neg_elbo), "baseline", "mean", gp_json_real(model->baseline_mean), "linear",
        gp_json_real(model->baseline_linear), "stopped", t->stopped, "wall_seconds", t->wall, "cpu_seconds", t->cpu,
        "peak_rss_bytes", (json_int_t)r->peak, "held_out", t->held_out, "workers_joined", (json_int_t)c->joined,
        "workers_lost", (json_int_t)c->lost, "duplicates", (json_int_t)c->duplicates, "dropped", (json_int_t)c->dropped,
        "refused", (json_int_t)c->refused);
}

const char *gp_cli_scored_rows(bool held_out)
{
    return held_out ? "held-out rows" : "training rows: too few to hold some out";
}

static void print_result(const report *r, const char *path, const gp_model *model, const gp_train_result *t)
{
    char what[48];
    snprintf(what, sizeof what, "%zu component%s", model->spec.n_components, model->spec.n_components == 1 ? "" : "s");
    printf("%s: %s, %.0f training rows, %zu step%s, stopped because %s\n\n", path,
           model->spec.n_components ? what : model->method, t->n_train, t->versions, t->versions == 1 ? "" : "s",
           t->stopped);
    printf("RMSE (%s)\n  mean               %10.5g\n  linear regression  %10.5g\n  this model         %10.5g\n\n",
           gp_cli_scored_rows(t->held_out), model->baseline_mean, model->baseline_linear, t->rmse);
    printf("MNLP %.4f", t->mnlp);
    if (isfinite(t->neg_elbo)) printf("   -ELBO %.1f", t->neg_elbo);
    printf("\n\nintervals           50 %%    80 %%    90 %%    95 %%    99 %%\n  calibrated   ");
    for (size_t i = 0; i < 5; i++) printf("  %6.1f", 100 * t->coverage[i]);
    printf("   %% of those rows inside\n  Gaussian     ");
    for (size_t i = 0; i < 5; i++) printf("  %6.1f", 100 * t->coverage_gaussian[i]);
    printf("\n\n%.1f s, %.1f CPU seconds%s", t->wall, t->cpu, r->entry ? " of the lead" : "");
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

static const gp_method *method_of(const gp_options *o)
{
    return gp_method_named(gp_options_text(o, "method"));
}

// An option that the method does not know, given all the same, would be a wish that nobody hears.
advgp_status gp_cli_check_method(const gp_options *o, advgp_error *err)
{
    const gp_method *method = method_of(o);
    for (size_t i = 0; i < o->n_values; i++) {
        const gp_option_value *v = &o->values[i];
        const gp_option_group group = v->option->group;
        const bool cluster = group == GP_GROUP_CLUSTER;
        const bool its = group == GP_GROUP_MODEL || group == GP_GROUP_METHOD || group == GP_GROUP_RUN || cluster;
        const bool general = !strcmp(v->option->name, "method") || !strcmp(v->option->name, "dry-run");
        if (its && !general && v->origin != GP_FROM_DEFAULT &&
            !gp_method_takes(method, cluster ? "workers" : v->option->name))
            return gp_fail(err, ADVGP_EINVAL, "--%s has no meaning for --method %s: leave it out, or use --method %s",
                           v->option->name, method->name, gp_methods[0]->name);
    }
    if (gp_options_given(o, "step") && gp_options_is(o, "optimizer", "prox"))
        return gp_fail(err, ADVGP_EINVAL,
                       "--step is of the natural optimizer, --optimizer prox finds its own: leave one out");
    if (!gp_method_takes(method, "map")) return ADVGP_OK;
    const gp_map_choice choice = {.map = gp_map_named(gp_options_text(o, "map")),
                                  .rank = (size_t)gp_options_int(o, "rank"),      // full reads as 0
                                  .groups = (size_t)gp_options_int(o, "groups")}; // auto too
    return gp_map_choice_check(choice, (size_t)gp_options_int(o, "inducing"), (size_t)gp_options_int(o, "components"),
                               err);
}

static const char *const trends[] = {
    [GP_TREND_NONE] = "none", [GP_TREND_CONSTANT] = "constant", [GP_TREND_LINEAR] = "linear"};

gp_train_options gp_cli_train_options(const gp_options *o)
{
    const bool patient = gp_options_is(o, "patience", "inf");
    // compare has no processes to lose
    const char *on_loss = strcmp(o->verb->name, "train") == 0 ? gp_options_text(o, "on-loss") : NULL;
    gp_train_options t = {
        .m = (size_t)gp_options_int(o, "inducing"),
        .components = (size_t)gp_options_int(o, "components"), // auto reads as 0
        .kernel = gp_kernel_named(gp_options_text(o, "kernel")),
        .map = gp_map_named(gp_options_text(o, "map")),
        .rank = (size_t)gp_options_int(o, "rank"),
        .groups = (size_t)gp_options_int(o, "groups"),
        .trend = gp_options_is(o, "trend", "linear")     ? GP_TREND_LINEAR
                 : gp_options_is(o, "trend", "constant") ? GP_TREND_CONSTANT
                                                         : GP_TREND_NONE,
        .start = gp_options_is(o, "start", "random")   ? GP_START_RANDOM
                 : gp_options_is(o, "start", "greedy") ? GP_START_GREEDY
                                                       : GP_START_KMEANS,
        .start_rows = (size_t)gp_options_int(o, "start-rows"),
        .batch = (size_t)gp_options_int(o, "batch"),
        .epochs = (double)gp_options_int(o, "epochs"),
        .step = gp_options_real(o, "step"),
        .seconds = gp_options_real(o, "time"),
        .patience = patient ? SIZE_MAX : (size_t)gp_options_int(o, "patience"),
        .seed = (uint64_t)gp_options_int(o, "seed"),
        .rule = gp_rule_named(gp_options_text(o, "optimizer")),
        .workers = gp_options_is(o, "workers", "auto") ? gp_cores() : (size_t)gp_options_int(o, "workers"),
        .workers_asked = gp_options_given(o, "workers") && !gp_options_is(o, "workers", "auto"),
        .max_delay = gp_options_is(o, "max-delay", "inf") ? GP_DELAY_ANY : (size_t)gp_options_int(o, "max-delay"),
        .quorum = gp_options_is(o, "quorum", "auto") ? -1 : gp_options_real(o, "quorum"),
        .filter = gp_options_real(o, "filter"),
        .on_loss = !on_loss || !strcmp(on_loss, "reassign") ? GP_LOSS_REASSIGN
                   : !strcmp(on_loss, "drop")               ? GP_LOSS_DROP
                                                            : GP_LOSS_STOP,
        .checkpoint = gp_options_text(o, "checkpoint"),
        .checkpoint_seconds = gp_options_real(o, "checkpoint-every"),
    };
    return t;
}

// ---- starting from a model ------------------------------------------------------------------------------------------

// The file of --start, or NULL where it names a way.
static const char *start_path(const gp_options *o)
{
    static const char *const ways[] = {"kmeans", "greedy", "random"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (gp_options_is(o, "start", ways[i])) return NULL;
    return gp_options_text(o, "start");
}

static advgp_status contradicts(const gp_options *o, const char *key, const char *has, advgp_error *err)
{
    return gp_fail(err, ADVGP_EINVAL,
                   "--%s %s: the model of --start %.200s has %s; leave the option out, or start another way", key,
                   gp_options_text(o, key), start_path(o), has);
}

// What the user did not say is as in the model; what he said must be.
static advgp_status adopt(const gp_options *o, const gp_model *model, gp_train_options *t, advgp_error *err)
{
    const size_t J = model->spec.n_components;
    const gp_component_spec *c = model->components;
    size_t m = 0;
    for (size_t b = 0; b < J; b++) m += c[b].shape.m;
    bool usual = strcmp(model->method, "advgp") == 0 && J >= 1 && J <= GP_COMPONENTS_MAX;
    for (size_t b = 0; usual && b < J; b++)
        usual = c[b].kernel == c->kernel && c[b].map == &gp_map_cholesky && c[b].shape.m == m / J + (b < m % J);
    if (!usual) // the features of other maps are eigenvectors, which change with any number
        return gp_fail(
            err, ADVGP_EINVAL,
            "--start %.200s: only a model of the method advgp with the map cholesky can be gone on from; start "
            "another way",
            start_path(o));
    char has[64];
    snprintf(has, sizeof has, "%zu inducing inputs", m);
    if (gp_options_given(o, "inducing") && t->m != m) return contradicts(o, "inducing", has, err);
    snprintf(has, sizeof has, "%zu component%s", J, J == 1 ? "" : "s");
    if (gp_options_given(o, "components") && t->components && t->components != J)
        return contradicts(o, "components", has, err);
    if (gp_options_given(o, "kernel") && t->kernel != c->kernel) return contradicts(o, "kernel", c->kernel->name, err);
    if (gp_options_given(o, "map") && t->map != c->map) return contradicts(o, "map", c->map->name, err);
    if (gp_options_given(o, "trend") && t->trend != model->spec.trend)
        return contradicts(o, "trend", trends[model->spec.trend], err);
    t->m = m, t->components = J, t->kernel = c->kernel, t->map = c->map, t->trend = model->spec.trend;
    return ADVGP_OK;
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
    const gp_method *method = method_of(o);
    printf("would train with the method %s", method->name);
    const char *const said[][2] = {{"inducing", m},
                                   {"components", components},
                                   {"kernel", t->kernel->name},
                                   {"map", gp_options_text(o, "map")},
                                   {"trend", trends[t->trend]},
                                   {"start", gp_options_text(o, "start")}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (gp_method_takes(method, said[i][0])) printf(", %s: %s", said[i][0], said[i][1]);
    printf("; model to %s\n", gp_options_text(o, "output"));
}

// Before the training: a slip in its name must not cost the run.
advgp_status gp_cli_load_test(const gp_options *o, gp_loaded *data, gp_shards **rows, advgp_error *err)
{
    const char *path = gp_options_text(o, "test");
    *rows = NULL;
    if (!path) return ADVGP_OK;
    // A query over several files: the test file stands for the first, the others are those of training.
    const bool joined = data->sql && !gp_packed_is(o->operands[0]);
    const size_t n = joined ? o->n_operands : 1;
    const char **paths = gp_alloc(n, sizeof *paths);
    if (!paths) return gp_fail(err, ADVGP_ENOMEM, "no memory for the names of %zu files", n);
    paths[0] = path;
    for (size_t i = 1; i < n; i++) paths[i] = o->operands[i];
    advgp_status st = gp_load_known(paths, n, data->sql, data->schema, &data->notes, rows, err);
    gp_free(paths);
    if (st == ADVGP_OK && gp_shards_rows(*rows, GP_STOP) == 0)
        st = gp_fail(err, ADVGP_EDATA, "%s has no row with a value of '%s'", path, data->schema->target);
    return st == ADVGP_OK ? st : gp_wrap(err, st, "--test");
}

// Final figures on these rows take the place of those on held-out rows.
advgp_status gp_cli_score_test(const gp_shards *rows, const gp_model *model, gp_train_result *result, advgp_error *err)
{
    gp_reader reader = {0};
    gp_score score;
    gp_predictor *predictor = NULL;
    advgp_status st = gp_reader_new(rows, 4096, &reader, err);
    if (st == ADVGP_OK) st = gp_model_predictor(model, &predictor, err);
    if (st == ADVGP_OK) st = gp_score_rows(predictor, &reader, GP_STOP, 0, model->schema, &score, err);
    gp_predictor_free(predictor);
    if (st == ADVGP_OK)
        st = gp_coverage(model, &reader, GP_STOP, 5, gp_train_levels, result->coverage, result->coverage_gaussian, err);
    if (st == ADVGP_OK)
        result->rmse = gp_score_rmse(&score), result->mnlp = gp_score_mnlp(&score), result->held_out = true;
    gp_reader_fini(&reader);
    return st == ADVGP_OK ? st : gp_wrap(err, st, "--test");
}

static advgp_status show(const report *r, const char *path, const gp_model *model, const gp_train_result *result,
                         advgp_error *err)
{
    if (!gp_options_flag(r->o, "json")) {
        print_result(r, path, model, result);
        return ADVGP_OK;
    }
    return gp_cli_print_json_take(result_json(r, path, model, result), err);
}

// Where the state is saved: interrupted or killed, a run can always go on.
static const char *checkpoint_path(const gp_options *o, char *beside, size_t n)
{
    const char *given = gp_options_text(o, "checkpoint");
    snprintf(beside, n, "%s.checkpoint", gp_options_text(o, "output"));
    return given ? given : beside;
}

bool gp_cli_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// Nothing that is written may be something that is read, and it must have a place: both are known before the work.
advgp_status gp_cli_check_written(const gp_options *o, const char *option, const char *path, advgp_error *err)
{
    static const char *const read[] = {"test", "validation", "config", "start"};
    const bool model = strcmp(option, "output") == 0; // it may take the place of the one it started from
    const char *clash = NULL;
    for (size_t i = 0; i < o->n_operands; i++)
        if (gp_cli_same_file(path, o->operands[i])) clash = o->operands[i];
    for (size_t i = 0; i < sizeof read / sizeof *read - model; i++) {
        const char *other = gp_options_text(o, read[i]);
        if (other && gp_cli_same_file(path, other)) clash = other;
    }
    if (clash)
        return gp_fail(err, ADVGP_EINVAL, "--%s %s would overwrite what is read; name another file", option, path);
    return gp_atomicfile_try(path, err);
}

static advgp_status check_outputs(const gp_options *o, bool replay, advgp_error *err)
{
    if (replay) return gp_cli_check_written(o, "output", gp_options_text(o, "output"), err);
    char beside[4096];
    const char *path = gp_options_text(o, "output"), *checkpoint = checkpoint_path(o, beside, sizeof beside),
               *log = gp_options_text(o, "log");
    advgp_status st = gp_cli_check_written(o, "output", path, err);
    if (st == ADVGP_OK) st = gp_cli_check_written(o, "checkpoint", checkpoint, err);
    if (st == ADVGP_OK && log) st = gp_cli_check_written(o, "log", log, err);
    if (st == ADVGP_OK && (!strcmp(path, checkpoint) || (log && (!strcmp(log, path) || !strcmp(log, checkpoint)))))
        st = gp_fail(err, ADVGP_EINVAL, "model, checkpoint and log need three different files, and two of them are %s",
                     log && strcmp(path, checkpoint) != 0 ? log : path);
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

static advgp_status train(report *r, gp_loaded *data, const gp_shards *test, gp_train_options options, advgp_error *err)
{
    const gp_options *o = r->o;
    const char *path = gp_options_text(o, "output");
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
    options.resume = r->resume[0] ? r->resume : NULL;
    if (r->entry) options.cluster = gp_entry_cluster(r->entry);
    if (r->entry && gp_options_is(o, "max-delay", "auto"))
        options.max_delay = options.rule == &gp_rule_prox ? CLUSTER_DELAY_PROX : CLUSTER_DELAY_NATURAL;
    gp_model *model = NULL;
    gp_train_result result;
    gp_notes notes = {0};
    advgp_status st = method_of(o)->train(data->shards, data->schema, data->sql, &options, &events, &notes, &model,
                                          &result, err);
    if (st != ADVGP_OK) {
        gp_notes_fini(&notes);
        if (st != ADVGP_ECLUSTER || !r->saved) return st; // what lies there may be of another run
        const advgp_error why = *err;
        return gp_fail(err, st, "%.400s; go on with --resume %s", why.text, options.checkpoint);
    }
    data->schema = NULL; // the model has it
    json_t *used = gp_json_options(o);
    if (used) json_object_update(model->options, used);
    json_decref(used);
    r->bits = bits_of(model);
    if (test) st = gp_cli_score_test(test, model, &result, err);
    if (st == ADVGP_OK) st = gp_model_save(model, path, err);
    gp_cli_notes(o, &notes);
    note_memory(r);
    if (st == ADVGP_OK) st = show(r, path, model, &result, err);
    if (st == ADVGP_OK) {
        json_t *done = result_json(r, path, model, &result);
        if (done) json_object_set_new(done, "bits", id_json(r->bits));
        log_event(r, "done", done);
        const bool interrupted = result.interrupted && !r->replay; // a replay repeats a run that was
        if (interrupted && !method_of(o)->resumes)
            st = gp_fail(err, ADVGP_ESTOPPED, "interrupted: the model so far is in %s", path);
        else if (interrupted && result.unsaved[0])
            st = gp_fail(err, ADVGP_ESTOPPED,
                         "interrupted: the model so far is in %s; the state to go on from is lost: %s", path,
                         result.unsaved);
        else if (interrupted)
            st = gp_fail(err, ADVGP_ESTOPPED, "interrupted: the model so far is in %s; go on with --resume %s", path,
                         options.checkpoint);
        else if (options.checkpoint == checkpoint)
            (void)unlink(checkpoint);
    }
    gp_model_free(model);
    gp_notes_fini(&notes);
    return st;
}

// Everything that is read, and the options that follow from it. *theta is where a model of --start says to begin.
static advgp_status prepare(const gp_options *o, gp_loaded *data, gp_shards **test, gp_train_options *options,
                            double **theta, advgp_error *err)
{
    gp_model *start = NULL;
    advgp_status st = start_path(o) ? gp_model_load(start_path(o), &start, err) : ADVGP_OK;
    if (st != ADVGP_OK) (void)gp_wrap(err, st, "--start is neither kmeans, greedy nor random, and as a model");
    *options = gp_cli_train_options(o);
    if (st == ADVGP_OK && start) st = adopt(o, start, options, err); // before the data, which may take long
    if (st == ADVGP_OK) st = gp_load_training(o, data, err);
    if (st == ADVGP_OK) st = gp_cli_load_test(o, data, test, err);
    if (st == ADVGP_OK && gp_options_is(o, "batch", "full")) options->batch = gp_shards_rows(data->shards, GP_TRAIN);
    if (st == ADVGP_OK && start) {
        st = gp_warmstart(start, start_path(o), data->schema, theta, err);
        options->theta = *theta;
        if (st != ADVGP_OK) (void)gp_wrap(err, st, "--start");
    }
    gp_model_free(start);
    return st;
}

// --delay-worker K:SECONDS,... as one number a worker.
static advgp_status read_delays(report *r, advgp_error *err)
{
    char *const *items;
    const size_t n = gp_options_list(r->o, "delay-worker", &items);
    for (size_t i = 0; i < n; i++) {
        const size_t worker = (size_t)strtoul(items[i], NULL, 10);
        if (worker >= r->n_delays) r->n_delays = worker + 1;
    }
    const size_t workers = r->entry                                 ? gp_entry_workers(r->entry)
                           : gp_options_is(r->o, "workers", "auto") ? gp_cores()
                                                                    : (size_t)gp_options_int(r->o, "workers");
    if (r->n_delays > workers)
        return gp_fail(err, ADVGP_EINVAL, "--delay-worker names worker %zu, there are %zu, counted from 0",
                       r->n_delays - 1, workers);
    r->delays = gp_alloc(r->n_delays, sizeof *r->delays);
    if (!r->delays) return gp_fail(err, ADVGP_ENOMEM, "no memory for the delays");
    for (size_t i = 0; i < n; i++)
        (void)gp_text_real(strchr(items[i], ':') + 1, &r->delays[strtoul(items[i], NULL, 10)]);
    return ADVGP_OK;
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
    advgp_status st = dry ? ADVGP_OK : check_outputs(o, r->replay != NULL, err);
    if (st == ADVGP_OK) st = read_delays(r, err);
    if (st == ADVGP_OK) st = prepare(o, &data, &test, &options, &theta, err);
    if (st == ADVGP_OK && r->entry) st = gp_entry_data(r->entry, data.shards, options.m, err);
    if (st == ADVGP_OK) gp_cli_notes(o, &data.notes);
    if (st == ADVGP_OK && dry) {
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
    gp_blas_threads(1);
    advgp_status st = gp_cli_check_method(o, err);
    if (st == ADVGP_OK && !replay && !gp_options_flag(o, "dry-run")) st = gp_entry_open(o, &r.entry, err);
    if (st != ADVGP_OK) return st;
    if (!replay) find_resume(&r);
    if (r.entry && gp_entry_is_worker(r.entry))
        st = gp_entry_work(r.entry, err);
    else
        st = lead(&r, bits, err);
    (void)fflush(stdout); // a launcher may end this process when its workers have ended
    gp_entry_close(r.entry, st == ADVGP_OK || !err ? NULL : err->text);
    return st;
}
