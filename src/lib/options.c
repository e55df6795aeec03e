// options.c: options by key, and what the functions of the library share.
#include "base/alloc.h"
#include "lib/handles.h"
#include "linalg/blas_core.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

advgp_status library_said(advgp_status st, advgp_error *err)
{
    if (st != ADVGP_OK && err) gp_options_named(err->text, false);
    return st;
}

bool library_has(const void *handle, const char *what, advgp_error *err)
{
    if (!handle) (void)gp_fail(err, ADVGP_EINVAL, "no %s is given: NULL", what);
    return handle;
}

// ---- options --------------------------------------------------------------------------------------------------------

advgp_status advgp_options_new(const char *verb, advgp_options **out, advgp_error *err)
{
    if (!library_has(out, "place for the result", err)) return ADVGP_EINVAL;
    *out = NULL;
    if (!library_has(verb, "verb", err)) return ADVGP_EINVAL;
    if (strcmp(verb, "train") != 0 && strcmp(verb, "predict") != 0 && strcmp(verb, "evaluate") != 0 &&
        strcmp(verb, "explain") != 0)
        return gp_fail(err, ADVGP_EINVAL, "options are of train, predict, evaluate or explain, not of '%.80s'", verb);
    advgp_options *o = gp_alloc(1, sizeof *o);
    if (!o) return gp_no_memory(err);
    const advgp_status st = gp_options_new(verb, &o->set, err);
    if (st == ADVGP_OK)
        *out = o;
    else
        gp_free(o);
    return library_said(st, err);
}

void advgp_options_free(advgp_options *options)
{
    if (!options) return;
    gp_options_free(options->set);
    gp_free(options);
}

// What only a program can do with its terminal.
static bool is_of_program(const char *key)
{
    static const char *const keys[] = {"dry-run", "quiet", "json", "keep", "table"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t k = 0;
        while (key[k] && (key[k] == keys[i][k] || (key[k] == '_' && keys[i][k] == '-'))) k++;
        if (!key[k] && !keys[i][k]) return true;
    }
    return false;
}

advgp_status advgp_options_set(advgp_options *options, const char *key, const char *value, advgp_error *err)
{
    if (!library_has(options, "object of options", err)) return ADVGP_EINVAL;
    if (!library_has(key, "key of an option", err)) return ADVGP_EINVAL;
    if (is_of_program(key))
        return gp_fail(err, ADVGP_EINVAL, "%s is an option of the program and means nothing to a caller of the library",
                       key);
    return library_said(gp_options_set(options->set, key, value, err), err);
}

advgp_status library_options_init(library_options *options, const advgp_options *given, const char *verb,
                                  const char *before, const advgp_data *data, advgp_error *err)
{
    *options = (library_options){0};
    if (given && strcmp(given->set->verb->name, verb) != 0)
        return gp_fail(err, ADVGP_EINVAL, "options of %s are given where those of %s are needed",
                       given->set->verb->name, verb);
    if (!given) {
        const advgp_status st = gp_options_new(verb, &options->defaults, err);
        if (st != ADVGP_OK) return st;
    }
    options->set = given ? *given->set : *options->defaults;
    size_t n = 0;
    options->operands = gp_alloc(data->n_paths + 1, sizeof *options->operands);
    if (!options->operands) return gp_no_memory(err);
    if (before) options->operands[n++] = before;
    for (size_t i = 0; i < data->n_paths; i++) options->operands[n++] = data->paths[i];
    options->set.operands = options->operands, options->set.n_operands = n;
    return ADVGP_OK;
}

void library_options_fini(library_options *options)
{
    gp_options_free(options->defaults);
    gp_free(options->operands);
}

// ---- who watches ----------------------------------------------------------------------------------------------------

static void report(void *ctx, const char *text)
{
    const library_host *h = ctx;
    char said[2048];
    snprintf(said, sizeof said, "%s", text);
    gp_options_named(said, false);
    h->watch->note(h->watch->ctx, said);
}

// What is done at the moment is no note: whoever watches has progress for that.
static void begin_phase(void *ctx, const char *what)
{
    (void)ctx, (void)what;
}

static int stop(void *ctx)
{
    const library_host *h = ctx;
    if (h->watch->stop && __atomic_load_n(h->watch->stop, __ATOMIC_RELAXED)) return 1;
    return h->watch->stopping ? h->watch->stopping(h->watch->ctx) : 0;
}

// Once in a process, to the first who listens: here OpenBLAS was loaded before anybody could choose.
static void tell_of_core(const gp_host *host)
{
    static atomic_bool told;
    const gp_blas_core core = gp_blas_core_now();
    if (!host->report || !core.better || core.by_user || atomic_exchange(&told, true)) return;
    gp_host_report(host,
                   "note: OpenBLAS takes this CPU for a %s and computes slower than it could; set " GP_CORE_VARIABLE
                   "=%s before the program starts",
                   core.name, core.better);
}

void library_host_init(library_host *host, const advgp_watch *watch)
{
    static const advgp_watch nobody;
    host->watch = watch ? watch : &nobody;
    host->host = (gp_host){
        .ctx = host, .report = host->watch->note ? report : NULL, .phase = begin_phase, .stop = stop};
    tell_of_core(&host->host);
}

// ---- texts ----------------------------------------------------------------------------------------------------------

advgp_status library_json_take(json_t *object, char **out, advgp_error *err)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    *out = text ? gp_text_copy(text, strlen(text)) : NULL;
    free(text);
    json_decref(object);
    return *out ? ADVGP_OK : gp_no_memory(err);
}

void advgp_text_free(char *text)
{
    gp_free(text);
}
