// logged_run.c: a log is read twice: once for how the run began, was resumed and ended, once as the replay goes on.
#include "api/logged_run.h"
#include "api/record.h"
#include "base/alloc.h"
#include "base/temporary.h"
#include "base/text.h"
#include "linalg/blas.h"
#include "load/load.h"
#include "method/method.h"
#include "run/pslog.h"
#include "store/runlog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// From one begin of the steps on. Which one it goes on from, and where that one ends: at the line of the checkpoint.
typedef struct stretch {
    size_t first;        // its line, counted after the manifest
    size_t from, at;     // the stretch it was resumed from, and the line of the checkpoint there; NONE: from none
    json_t *begin;       // owned
    gp_replay_part part; // how the one before ends
} stretch;
enum { NONE = INT32_MAX, UNKNOWN = NONE - 1, STRETCHES_MAX = 10000 };

// What is read from the log before anything is computed.
struct gp_logged_run {
    const gp_host *host;
    json_t *manifest, *done; // owned
    const json_t *begin;     // of the last stretch
    stretch *stretches;
    size_t n_stretches, room;
    size_t *route;         // [n_route] stretches that are replayed, in order; the last one is the last in the log
    gp_replay_part *parts; // [n_route - 1]
    size_t n_route;
    size_t turn, line; // the stretch of the route that is read, and the line
    gp_runlog_reader *reader;
    char *checkpoint; // between two stretches; NULL: there is one only
    int ticket;       // of that file (temporary.h)
    gp_replay_feed feed;
};

static advgp_status next_line(void *ctx, gp_pslog_line *line, bool *ended, advgp_error *err)
{
    gp_logged_run *s = ctx;
    for (;;) {
        const stretch *here = &s->stretches[s->route[s->turn]];
        json_t *event = NULL;
        bool ours = false;
        if (gp_host_stops(s->host)) return gp_fail(err, ADVGP_ESTOPPED, "the replay was interrupted");
        advgp_status st = gp_runlog_next(s->reader, &event, err);
        if (st != ADVGP_OK) return st;
        const size_t at = s->line++;
        *ended = event == NULL;
        if (!*ended && s->turn + 1 < s->n_route && at == s->stretches[s->route[s->turn + 1]].at)
            *ended = true, s->turn++;
        if (!*ended && at > here->first) st = gp_pslog_read(event, line, &ours, err);
        json_decref(event);
        if (st != ADVGP_OK || ours || *ended) return st;
    }
}

static const char *event_of(const json_t *line)
{
    const char *name = json_string_value(json_object_get(line, "event"));
    return name ? name : "";
}

static const gp_method *method_of(const gp_logged_run *s)
{
    const char *name = json_string_value(json_object_get(json_object_get(s->manifest, "options"), "method"));
    return name ? gp_method_named(name) : NULL;
}

// ---- first reading: how the run began, went on and ended ------------------------------------------------------------

// Where a checkpoint was written: {id: [stretch, line]}.
static void note_checkpoint(const gp_logged_run *s, json_t *places, const json_t *event)
{
    const char *id = json_string_value(json_object_get(event, "id"));
    if (id && s->n_stretches && json_is_null(json_object_get(event, "failed")))
        json_object_set_new(places, id, json_pack("[I, I]", (json_int_t)s->n_stretches - 1, (json_int_t)s->line));
}

static advgp_status note_begin(gp_logged_run *s, const json_t *places, json_t *event, advgp_error *err)
{
    if (s->n_stretches >= STRETCHES_MAX)
        return gp_fail(err, ADVGP_EFILE, "the log tells of a run that began more than %d times", (int)STRETCHES_MAX);
    if (!gp_grow(&s->stretches, &s->room, s->n_stretches, s->n_stretches + 1, sizeof *s->stretches))
        return gp_no_memory(err);
    const char *id = json_string_value(json_object_get(event, "checkpoint"));
    const json_t *place = id ? json_object_get(places, id) : NULL;
    const json_int_t version = json_integer_value(json_object_get(event, "version"));
    stretch *next = &s->stretches[s->n_stretches++];
    *next = (stretch){.first = s->line, .from = id || version ? UNKNOWN : NONE, .begin = json_incref(event)};
    s->begin = next->begin;
    if (!place) return ADVGP_OK;
    next->from = (size_t)json_integer_value(json_array_get(place, 0));
    next->at = (size_t)json_integer_value(json_array_get(place, 1));
    next->part = (gp_replay_part){.version = (uint64_t)version,
                                  .checkpoint = strtoull(id, NULL, 16),
                                  .evaluated = (size_t)json_integer_value(json_object_get(event, "judged")),
                                  .evaluating = json_is_true(json_object_get(event, "judging"))};
    return ADVGP_OK;
}

static advgp_status read_once(gp_logged_run *s, const char *path, size_t *evaluated, advgp_error *err)
{
    json_t *places = json_object();
    advgp_status st = places ? gp_runlog_open(path, &s->reader, err) : gp_no_memory(err);
    if (st == ADVGP_OK) s->manifest = json_deep_copy(gp_runlog_manifest(s->reader));
    for (s->line = 0; st == ADVGP_OK; s->line++) {
        json_t *event = NULL;
        st = gp_runlog_next(s->reader, &event, err);
        if (st != ADVGP_OK || !event) break;
        const char *name = event_of(event);
        if (!strcmp(name, "eval")) *evaluated = (size_t)json_integer_value(json_object_get(event, "version"));
        if (!strcmp(name, "checkpoint")) note_checkpoint(s, places, event);
        if (!strcmp(name, "begin")) st = note_begin(s, places, event, err);
        if (!strcmp(name, "begin") || !strcmp(name, "done")) { // an end before another beginning is none
            json_decref(s->done);
            s->done = !strcmp(name, "done") ? json_incref(event) : NULL;
        }
        json_decref(event);
    }
    json_decref(places);
    gp_runlog_reader_close(s->reader);
    s->reader = NULL;
    return st;
}

// Back from the last stretch to the one that began at the beginning.
static advgp_status find_route(gp_logged_run *s, const char *path, advgp_error *err)
{
    size_t k = s->n_stretches - 1;
    for (s->n_route = 1; s->stretches[k].from < UNKNOWN; k = s->stretches[k].from) s->n_route++;
    if (s->stretches[k].from == UNKNOWN)
        return gp_fail(err, ADVGP_EFILE,
                       "%s is the log of a run that was resumed from a checkpoint of which it does not tell: steps "
                       "before it are missing, replay needs them all",
                       path);
    s->route = gp_alloc(s->n_route, sizeof *s->route);
    s->parts = gp_alloc(s->n_route, sizeof *s->parts);
    if (!s->route || !s->parts) return gp_no_memory(err);
    k = s->n_stretches - 1;
    for (size_t i = s->n_route; i-- > 0; k = s->stretches[k].from) {
        s->route[i] = k;
        if (i) s->parts[i - 1] = s->stretches[k].part;
    }
    return ADVGP_OK;
}

static advgp_status look_ahead(gp_logged_run *s, const char *path, advgp_error *err)
{
    size_t evaluated = 0;
    advgp_status st = read_once(s, path, &evaluated, err);
    if (st != ADVGP_OK) return st;
    const char *command = json_string_value(json_object_get(s->manifest, "command"));
    const gp_method *method = method_of(s);
    if (!s->begin && command && !strcmp(command, "train") && method && !gp_method_takes(method, "epochs"))
        return gp_fail(err, ADVGP_EFILE, "%s: the method %s takes no steps, so there is nothing to replay", path,
                       method->name);
    if (!command || strcmp(command, "train") != 0 || !s->begin)
        return gp_fail(err, ADVGP_EFILE, "%s is not the log of a training that began its steps", path);
    if (!s->done)
        return gp_fail(err, ADVGP_EFILE, "%s: the run did not come to its end, so there is nothing to compare with",
                       path);
    st = find_route(s, path, err);
    if (st != ADVGP_OK) return st;
    s->feed = (gp_replay_feed){.ctx = s,
                               .next = next_line,
                               .n_parts = s->n_route - 1,
                               .parts = s->parts,
                               .components = (size_t)json_integer_value(json_object_get(s->begin, "components")),
                               .inducing = (size_t)json_integer_value(json_object_get(s->begin, "inducing")),
                               .workers_max = (size_t)json_integer_value(json_object_get(s->begin, "workers_max")),
                               .stopped = gp_stop_reason_named(json_string_value(json_object_get(s->done, "stopped"))),
                               .evaluated = evaluated,
                               .cells = (size_t)json_integer_value(json_object_get(s->done, "cells"))};
    s->line = 0;
    return gp_runlog_open(path, &s->reader, err);
}

// A file beside the model, for as long as the replay takes.
advgp_status gp_logged_run_feed(gp_logged_run *s, const char *output, const gp_replay_feed **feed, advgp_error *err)
{
    gp_buffer name = {0};
    *feed = &s->feed;
    if (s->n_route < 2) return ADVGP_OK;
    gp_buffer_add(&name, "%s.replay-XXXXXX", output);
    const int fd = name.failed ? -1 : mkstemp(name.p);
    if (fd >= 0) s->ticket = gp_temporary_add(name.p);
    if (fd >= 0) s->checkpoint = gp_text_copy(name.p, strlen(name.p));
    advgp_status st = ADVGP_OK;
    if (fd < 0)
        st = gp_fail(err, ADVGP_EIO, "cannot write beside %s: %s", output, strerror(errno));
    else if (!s->checkpoint)
        st = gp_no_memory(err), (void)unlink(name.p);
    if (fd >= 0) close(fd);
    gp_buffer_fini(&name);
    s->feed.checkpoint = s->checkpoint;
    return st;
}

// ---- the options of the run -----------------------------------------------------------------------------------------

// A value of the manifest as one would type it.
static void write_value(const json_t *value, gp_buffer *text)
{
    if (json_is_string(value)) {
        gp_buffer_add(text, "%s", json_string_value(value));
    } else if (json_is_integer(value)) {
        gp_buffer_add(text, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        gp_buffer_add(text, "%.17g", json_real_value(value));
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            const char *item = json_string_value(json_array_get(value, i));
            if (i) gp_buffer_add(text, ",");
            for (; item && *item; item++) gp_buffer_add(text, *item == ',' ? "\\%c" : "%c", *item);
        }
    } else {
        gp_buffer_add(text, "%s", json_is_true(value) ? "true" : "false");
    }
}

// As it was given, or as it was by default.
static advgp_status set_logged(gp_options *train, const char *key, const json_t *value, bool was_given,
                               advgp_error *err)
{
    gp_buffer text = {0};
    write_value(value, &text);
    const char *typed = text.p ? text.p : "";
    const advgp_status st = text.failed ? gp_no_memory(err)
                            : was_given ? gp_options_set(train, key, typed, err)
                                        : gp_options_set_default(train, key, typed, err);
    gp_buffer_fini(&text);
    return st;
}

// What nobody gave is as it was then: the log has its value, or is older than the option.
static advgp_status set_defaults(gp_options *train, const json_t *logged, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < train->n_values; i++) {
        const gp_option *option = train->values[i].option;
        const json_t *value = json_object_get(logged, option->name);
        if (train->values[i].origin != GP_FROM_DEFAULT || option->facets & (GP_OF_PROCESS | GP_OF_COMMAND_LINE))
            continue;
        if (value)
            st = set_logged(train, option->name, value, false, err);
        else if (option->before)
            st = gp_options_set_default(train, option->name, option->before, err);
    }
    return st;
}

static advgp_status set_options(gp_options *train, const gp_logged_run *s, const gp_options *o, advgp_error *err)
{
    const json_t *given = json_object_get(s->manifest, "given");
    char workers[24];
    if (!json_is_array(given)) return gp_fail(err, ADVGP_EFILE, "the log does not say which options were given");
    const json_t *options = json_object_get(s->manifest, "options"), *servers = json_object_get(options, "servers");
    if (json_integer_value(servers) > 1)
        return gp_fail(
            err, ADVGP_EFILE,
            "the parameters were on %lld servers, and the log of their lead does not have the pushes: there is "
            "nothing to replay; at {max-delay} 0 one server gives the same bits",
            (long long)json_integer_value(servers));
    advgp_status st = ADVGP_OK;
    for (size_t i = 0; st == ADVGP_OK && i < json_array_size(given); i++) {
        const char *key = json_string_value(json_array_get(given, i));
        const json_t *value = key ? json_object_get(options, key) : NULL;
        if (!value) return gp_fail(err, ADVGP_EFILE, "the log has no value of an option that was given");
        if (!(gp_option_facets(key) & GP_OF_PROCESS)) st = set_logged(train, key, value, true, err);
    }
    if (st == ADVGP_OK) st = set_defaults(train, options, err);
    if (st != ADVGP_OK) return gp_wrap(err, st, "the options in the log");
    snprintf(workers, sizeof workers, "%lld", (long long)json_integer_value(json_object_get(s->begin, "workers")));
    const gp_method *method = gp_method_named(gp_options_text(train, "method"));
    if (gp_method_takes(method, "workers")) st = gp_options_set(train, "workers", workers, err);
    gp_buffer delay = {0};
    write_value(json_object_get(s->begin, "max_delay"), &delay);
    if (st == ADVGP_OK && gp_method_takes(method, "max-delay"))
        st = gp_options_set(train, "max-delay", delay.failed || !delay.p ? "" : delay.p, err);
    gp_buffer_fini(&delay);
    if (st == ADVGP_OK) st = gp_options_set(train, "output", gp_options_text(o, "output"), err);
    if (st == ADVGP_OK && gp_options_flag(o, "quiet")) st = gp_options_set(train, "quiet", "true", err);
    if (st == ADVGP_OK && gp_options_flag(o, "force")) st = gp_options_set(train, "force", "true", err);
    return st;
}

// Is this still the file that the manifest tells of?
static advgp_status check_input(const json_t *input, advgp_error *err)
{
    const char *name = json_string_value(json_object_get(input, "name"));
    if (!name) return gp_fail(err, ADVGP_EFILE, "the log has an input without a name");
    if (!strcmp(name, "-"))
        return gp_fail(err, ADVGP_EDATA, "the run read its rows from standard input: they cannot be read again");
    json_t *now = gp_json_file(name);
    const bool same = json_equal(input, now);
    json_decref(now);
    return same ? ADVGP_OK : gp_fail(err, ADVGP_EDATA, "%s is not the file it was when the log was written", name);
}

static advgp_status set_inputs(gp_options *train, const gp_logged_run *s, advgp_error *err)
{
    const json_t *inputs = json_object_get(s->manifest, "inputs"), *read = json_object_get(s->manifest, "read");
    const size_t n = json_array_size(inputs);
    train->operands = gp_alloc(n ? n : 1, sizeof *train->operands); // freed with the options
    if (!train->operands) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const json_t *input = json_array_get(inputs, i);
        const advgp_status st = check_input(input, err);
        if (st != ADVGP_OK) return st;
        train->operands[train->n_operands++] = json_string_value(json_object_get(input, "name"));
    }
    for (size_t i = 0; i < json_array_size(read); i++) {
        const advgp_status st = check_input(json_array_get(read, i), err);
        if (st != ADVGP_OK) return st;
    }
    return n ? ADVGP_OK : gp_fail(err, ADVGP_EFILE, "the log names no inputs");
}

// A log may come from anybody: where it says --cache, nothing is written unless the user names the folder.
static advgp_status set_cache(gp_options *train, const gp_options *o, advgp_error *err)
{
    const char *given = gp_options_text(o, "cache"), *logged = gp_options_text(train, "cache");
    bool found = false;
    if (given) return gp_options_set(train, "cache", given, err);
    const advgp_status st = logged ? gp_load_cached(train, &found, err) : ADVGP_OK;
    if (st != ADVGP_OK || !logged || found) return st;
    return gp_fail(
        err, ADVGP_EINVAL,
        "the run packed its rows in %s, and they are not there as they were: name a folder with {cache} DIR, "
        "where they are packed again",
        logged);
}

// ---- from outside ---------------------------------------------------------------------------------------------------

advgp_status gp_logged_run_open(const char *path, const gp_host *host, gp_logged_run **out, advgp_error *err)
{
    gp_logged_run *s = gp_alloc(1, sizeof *s);
    if (!s) return gp_no_memory(err);
    s->host = host;
    const advgp_status st = look_ahead(s, path, err);
    if (st == ADVGP_OK)
        *out = s;
    else
        gp_logged_run_close(s);
    return st;
}

void gp_logged_run_close(gp_logged_run *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->n_stretches; i++) json_decref(s->stretches[i].begin);
    if (s->checkpoint) (void)unlink(s->checkpoint);
    gp_temporary_drop(s->ticket);
    gp_free(s->checkpoint);
    gp_free(s->stretches);
    gp_free(s->route);
    gp_free(s->parts);
    json_decref(s->manifest);
    json_decref(s->done);
    gp_runlog_reader_close(s->reader);
    gp_free(s);
}

advgp_status gp_logged_run_options(const gp_logged_run *s, const gp_options *replay, gp_options **train,
                                   advgp_error *err)
{
    advgp_status st = gp_options_new("train", train, err);
    if (st == ADVGP_OK) st = set_options(*train, s, replay, err);
    if (st == ADVGP_OK) st = set_inputs(*train, s, err);
    if (st == ADVGP_OK) st = set_cache(*train, replay, err);
    if (st == ADVGP_OK && gp_options_flag(replay, "json")) st = gp_options_set(*train, "json", "true", err);
    return st;
}

bool gp_logged_run_was_elsewhere(const gp_logged_run *s)
{
    json_t *cpu = gp_record_cpu();
    const char *blas = json_string_value(json_object_get(s->manifest, "blas"));
    const char *version = json_string_value(json_object_get(s->manifest, "version"));
    const bool same = json_equal(cpu, json_object_get(s->manifest, "cpu")) && blas && !strcmp(blas, gp_blas_name()) &&
                      version && !strcmp(version, advgp_version());
    json_decref(cpu);
    return !same;
}

const char *gp_logged_run_bits(const gp_logged_run *s)
{
    return json_string_value(json_object_get(s->done, "bits"));
}
