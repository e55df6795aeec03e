// load.c: the data side of train and pack.
#include "load/load.h"
#include "base/alloc.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/whole.h"
#include "data/encode.h"
#include "data/schema.h"
#include "files/files.h"
#include "load/choose_encoding.h"
#include "load/request.h"
#include "method/method.h"
#include "recipe/table.h"
#include "shards/packed.h"
#include "shards/synthetic.h"
#include "store/modelfile.h"
#include "store/place.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLOAT64_NUMBERS_MAX = 50000000 }; // up to 400 MB rows are kept as double, beyond that as float

// ---- options --------------------------------------------------------------------------------------------------------

static const char *const *texts(const gp_options *o, const char *key, size_t *n)
{
    char *const *items = NULL;
    *n = gp_options_list(o, key, &items);
    return (const char *const *)(const void *)items;
}

static advgp_status schema_options(const gp_options *o, gp_schema_options *out, advgp_error *err)
{
    *out = (gp_schema_options){.target = gp_options_text(o, "target"),
                               .weights = gp_options_text(o, "weights"),
                               .weights_are = gp_options_is(o, "weights-are", "counts") ? GP_WEIGHTS_COUNTS
                                                                                        : GP_WEIGHTS_IMPORTANCE,
                               .log_target = gp_options_flag(o, "log-target"), // auto: not at first
                               .refuse_dirty = gp_options_is(o, "dirty", "error"),
                               .keep_outliers = gp_options_is(o, "outliers", "keep"),
                               .ranks = gp_options_is(o, "warp", "ranks")}; // auto: not at first
    if (!out->weights && gp_options_given(o, "weights-are"))
        return gp_fail(err, ADVGP_EINVAL,
                       "{weights-are} says what the weights mean, and there are none: name their "
                       "column with {weights} COL");
    if (!out->target) return gp_fail(err, ADVGP_EINVAL, "which column is to be predicted? Name it with {target} COL");
    out->features = texts(o, "features", &out->n_features);
    if (!out->n_features) out->features = NULL;
    out->exclude = texts(o, "exclude", &out->n_exclude);
    out->encode = texts(o, "encode", &out->n_encode);
    out->date_formats = texts(o, "date-format", &out->n_date_formats);
    const advgp_status st = gp_bounds_parse(gp_options_text(o, "bounds"), &out->bounds_are, &out->bounds, err);
    return st == ADVGP_OK ? gp_missing_parse(gp_options_text(o, "missing"), &out->missing, err) : st;
}

// ---- progress -------------------------------------------------------------------------------------------------------

// A pass over a source tells the host the rows done, and stops when it is asked to.
static int tell(void *ctx, size_t rows)
{
    const gp_host *host = *(const gp_host *const *)ctx;
    if (host && host->rows) host->rows(host->ctx, rows);
    return gp_host_stops(host);
}

// One character, or a name for one that a shell makes hard to write.
static char delimiter_of(const char *text)
{
    if (!text) return 0;
    if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0) return '\t';
    return strcmp(text, "space") == 0 ? ' ' : *text;
}

gp_file_options gp_load_files(const gp_options *o, const gp_host *host, const char *const *paths, size_t n_paths,
                              const char *sql)
{
    size_t n_na;
    const char *const *na = texts(o, "na", &n_na);
    return (gp_file_options){.paths = paths,
                             .n_paths = n_paths,
                             .sql = sql,
                             .header = gp_options_is(o, "header", "yes")  ? GP_HEADER_YES
                                       : gp_options_is(o, "header", "no") ? GP_HEADER_NO
                                                                          : GP_HEADER_AUTO,
                             .delimiter = delimiter_of(gp_options_text(o, "delimiter")),
                             .na = na,
                             .n_na = n_na,
                             .memory_bytes = gp_index(0.25 * gp_memory_bytes(), 1 << 30),
                             .limit_bytes = 1e9 * gp_options_real(o, "spool-limit"),
                             .stop = host ? host->stop : NULL,
                             .stop_ctx = host ? host->ctx : NULL};
}

// ---- a source through its first pass --------------------------------------------------------------------------------

typedef struct opened {
    gp_source *source;
    bool borrowed; // the source is a caller's table
    gp_schema *schema;
    gp_split split;
    gp_plan encodings; // what trials say of them
} opened;

static void opened_fini(opened *x)
{
    if (!x->borrowed) gp_source_free(x->source);
    gp_schema_free(x->schema);
}

// As options and the columns suggest; then, where pilots find a better encoding, once more with that.
static advgp_status fit_schema(const gp_options *o, gp_schema_options *options, const gp_host *host, gp_notes *notes,
                               opened *x, advgp_error *err)
{
    const gp_split split = x->split; // before rows are counted
    const size_t n_notes = notes->n;
    gp_schema_options chosen = *options;
    gp_encoding_choice choice = {0};
    const char *path = strcmp(o->verb->name, "train") == 0 ? gp_request_start(o) : NULL;
    gp_model *start = NULL;
    if (path) (void)gp_model_load(path, &start, NULL); // who starts from it says what is wrong with it
    options->known = chosen.known = start ? start->schema : NULL;
    advgp_status st = gp_schema_fit(x->source, options, &x->split, notes, tell, &host, &x->schema, err);
    if (st == ADVGP_OK) st = gp_choose_encoding(o, x->source, x->schema, &x->split, host, &chosen, &choice, err);
    if (st == ADVGP_OK && (chosen.log_target != options->log_target || chosen.ranks != options->ranks)) {
        gp_schema_free(x->schema);
        gp_notes_cut(notes, n_notes);
        x->split = split;
        st = gp_schema_fit(x->source, &chosen, &x->split, notes, tell, &host, &x->schema, err);
    }
    if (st == ADVGP_OK) st = gp_encoding_settle(&choice, o, x->schema, &x->encodings, notes, err);
    gp_encoding_choice_fini(&choice);
    gp_model_free(start);
    options->known = NULL;
    return st;
}

// The first rows say what a column holds. Where a later one has a word among numbers, all is read again with that
// column as text, and its words are few, or it is a text.
static advgp_status fit_files(const gp_options *o, gp_file_options *files, gp_schema_options *options,
                              const gp_host *host, gp_notes *notes, opened *out, advgp_error *err)
{
    const size_t n_notes = notes->n;
    const gp_split split = out->split;
    char **names = NULL;
    size_t n = 0, room = 0;
    advgp_status st;
    for (bool again = true; again;) {
        files->texts = (const char *const *)names, files->n_texts = n;
        st = gp_source_files_open(files, notes, &out->source, err);
        if (st == ADVGP_OK) st = fit_schema(o, options, host, notes, out, err);
        const long wordy = st == ADVGP_EDATA && out->source && !options->refuse_dirty ? out->source->wordy
                                                                                      : GP_NO_COLUMN;
        again = wordy != GP_NO_COLUMN && gp_grow(&names, &room, n, n + 1, sizeof *names);
        if (!again) continue;
        const char *name = out->source->columns[wordy].name;
        again = (names[n] = gp_text_copy(name, strlen(name))) != NULL;
        n += again;
        gp_notes_cut(notes, n_notes);
        opened_fini(out);
        *out = (opened){.split = split};
    }
    for (size_t i = 0; i < n; i++) gp_free(names[i]);
    gp_free(names);
    return st;
}

static advgp_status open_and_fit(const gp_options *o, gp_source *table, const gp_host *host, gp_notes *notes,
                                 opened *out, advgp_error *err)
{
    *out = (opened){.source = table, .borrowed = table != NULL};
    gp_schema_options options;
    gp_file_options files = gp_load_files(o, host, o->operands, o->n_operands, gp_options_text(o, "sql"));
    advgp_status st = schema_options(o, &options, err);
    files.encode = options.encode, files.n_encode = options.n_encode;
    files.date_formats = options.date_formats, files.n_date_formats = options.n_date_formats;
    if (st == ADVGP_OK)
        st = gp_split_parse(gp_options_text(o, "validation"), (uint64_t)gp_options_int(o, "seed"), &out->split, err);
    // The exact process says of every row what the others say of it: it needs none held out. What a cache keeps is for
    // every method.
    if (gp_request_may_be_exact(o) && !gp_options_given(o, "validation") && !gp_options_text(o, "cache"))
        out->split.whole_rows = gp_request_method(o) == &gp_method_auto ? (size_t)GP_EXACT_ROWS_MAX
                                                                        : (size_t)GP_MODEL_EXACT_ROWS_MAX;
    if (st == ADVGP_OK)
        st = table ? fit_schema(o, &options, host, notes, out, err)
                   : fit_files(o, &files, &options, host, notes, out, err);
    if (st != ADVGP_OK) opened_fini(out);
    return st;
}

// ---- into memory ----------------------------------------------------------------------------------------------------

typedef struct halves {
    gp_memory_builder *builder;
    uint64_t seed;
    unsigned char *part;
    size_t capacity;
} halves;

// Rows of a validation file: one half stops training, the other calibrates.
static advgp_status add_halves(void *ctx, const gp_rows *rows, advgp_error *err)
{
    halves *h = ctx;
    if (rows->n > h->capacity) {
        gp_free(h->part);
        h->part = gp_alloc(rows->n, 1);
        h->capacity = h->part ? rows->n : 0;
        if (!h->part) return gp_no_memory(err);
    }
    for (size_t i = 0; i < rows->n; i++) h->part[i] = (unsigned char)gp_split_half(h->seed, rows->source_row[i]);
    gp_rows marked = *rows;
    marked.part = h->part;
    return gp_memory_builder_add(h->builder, &marked, err);
}

static advgp_status encode_into(gp_source *source, const gp_schema *schema, gp_encode_mode mode, const gp_split *split,
                                gp_rows_sink sink, void *sink_ctx, const gp_host *host, gp_notes *notes,
                                advgp_error *err)
{
    gp_encoder *encoder = NULL;
    advgp_status st = gp_encoder_new(schema, source, mode, split, &encoder, err);
    if (st == ADVGP_OK) st = gp_encode_all(encoder, source, sink, sink_ctx, tell, &host, err);
    if (st == ADVGP_OK) st = gp_encoder_notes(encoder, notes, err);
    gp_encoder_free(encoder);
    return st;
}

static advgp_status add_validation_file(const gp_options *o, const opened *x, gp_memory_builder *builder,
                                        const gp_host *host, gp_notes *notes, advgp_error *err)
{
    gp_source *source = NULL;
    halves h = {.builder = builder, .seed = x->split.seed};
    gp_file_options files = gp_load_files(o, host, &x->split.name, 1, NULL);
    files.like = x->schema;
    advgp_status st = gp_source_files_open(&files, notes, &source, err);
    if (st == ADVGP_OK) st = encode_into(source, x->schema, GP_ENCODE_EVALUATE, NULL, add_halves, &h, host, notes, err);
    gp_free(h.part);
    gp_source_free(source);
    return st;
}

static advgp_status into_memory(const gp_options *o, opened *x, const gp_host *host, gp_loaded *out, advgp_error *err)
{
    gp_memory_builder *builder = NULL;
    const gp_schema *schema = x->schema;
    const double numbers = (double)schema->n_rows * (double)(schema->d + 2);
    const bool float64 = numbers < FLOAT64_NUMBERS_MAX && numbers * sizeof(double) < 0.25 * gp_memory_bytes();
    advgp_status st = gp_memory_builder_new(schema->d, gp_shards_suggest(schema->n_rows), schema->weights != NULL,
                                            float64, x->split.seed, &builder, err);
    if (st == ADVGP_OK)
        st = encode_into(x->source, schema, GP_ENCODE_TRAIN, &x->split, gp_memory_builder_add, builder, host,
                         &out->notes, err);
    if (st == ADVGP_OK && x->split.kind == GP_SPLIT_FILE)
        st = add_validation_file(o, x, builder, host, &out->notes, err);
    if (st == ADVGP_OK)
        st = gp_memory_shards_take(builder, &out->shards, err);
    else
        gp_memory_builder_free(builder);
    return st;
}

// ---- by way of a packed folder --------------------------------------------------------------------------------------

// All shards are looked at now: a run needs them all, and a cache that is not whole is packed again.
static advgp_status open_packed(const char *dir, gp_loaded *out, advgp_error *err)
{
    advgp_status st = gp_packed_open(dir, &out->shards, &out->schema, &out->sql, err);
    if (st != ADVGP_OK) return st;
    st = gp_packed_check(out->shards, err);
    if (st == ADVGP_OK) return st;
    gp_shards_free(out->shards);
    gp_schema_free(out->schema);
    gp_free(out->sql);
    out->shards = NULL, out->schema = NULL, out->sql = NULL;
    return st;
}

// What an earlier run left in the cache, if it is whole; *found says so.
static advgp_status from_cache(const char *dir, gp_loaded *out, bool *found, advgp_error *err)
{
    advgp_error why;
    *found = false;
    if (!gp_packed_is(dir)) return ADVGP_OK;
    const advgp_status st = open_packed(dir, out, &why);
    *found = st == ADVGP_OK;
    if (st == ADVGP_OK) return gp_notes_add(&out->notes, err, 1, "rows taken from %s, packed earlier", dir);
    if (st == ADVGP_EFILE) return gp_notes_add(&out->notes, err, 1, "packed again: %s", why.text);
    if (err) *err = why;
    return st;
}

// Could the rows be packed there? Nothing changes.
static advgp_status try_cache(const char *cache, const char *dir, advgp_error *err)
{
    const bool made = mkdir(cache, 0777) == 0;
    const advgp_status st = gp_pack_try(dir, err);
    if (made) (void)rmdir(cache);
    return st == ADVGP_OK ? st : gp_wrap(err, st, "{cache}");
}

static advgp_status by_cache(const gp_options *o, const char *dir, opened *x, const gp_host *host, gp_loaded *out,
                             advgp_error *err)
{
    const char *cache = gp_options_text(o, "cache");
    gp_source *held_out = NULL;
    gp_file_options files = gp_load_files(o, host, &x->split.name, 1, NULL);
    files.like = x->schema;
    advgp_status st = ADVGP_OK;
    if (x->split.kind == GP_SPLIT_FILE) st = gp_source_files_open(&files, &out->notes, &held_out, err);
    const bool made = st == ADVGP_OK && mkdir(cache, 0777) == 0;
    const gp_pack_options pack = {.dir = dir,
                                  .seed = x->split.seed,
                                  .validation = gp_options_text(o, "validation"),
                                  .sql = gp_options_text(o, "sql"),
                                  .held_out = held_out};
    if (st == ADVGP_OK) st = gp_pack(x->source, x->schema, &x->split, &pack, &out->notes, tell, &host, err);
    if (st != ADVGP_OK && made) (void)rmdir(cache);
    if (st == ADVGP_OK) st = open_packed(dir, out, err);
    gp_source_free(held_out);
    return st;
}

// ---- training data --------------------------------------------------------------------------------------------------

static advgp_status refuse_contradiction(const gp_options *o, const gp_schema *schema, advgp_error *err)
{
    static const char *const fixed[] = {"features", "exclude",    "weights", "weights-are", "missing",
                                        "encode",   "log-target", "bounds",  "outliers",    "dirty",
                                        "warp",     "directions", "sql",     "validation",  "date-format",
                                        "header",   "delimiter",  "na"};
    const char *target = gp_options_given(o, "target") ? gp_options_text(o, "target") : NULL;
    if (target && !gp_same_name(target, schema->target))
        return gp_fail(err, ADVGP_EINVAL, "{target} %s: %s was packed with the target %s; pack again to change it",
                       target, o->operands[0], schema->target);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (gp_options_given(o, fixed[i]))
            return gp_fail(err, ADVGP_EINVAL, "{%s} was settled when %s was packed; pack again to change it", fixed[i],
                           o->operands[0]);
    return ADVGP_OK;
}

// A table in memory has no files to read, to query or to find again.
static advgp_status refuse_for_table(const gp_options *o, advgp_error *err)
{
    static const char *const of_files[] = {"sql", "cache", "header", "delimiter", "na"};
    for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++)
        if (gp_options_given(o, of_files[i]))
            return gp_fail(err, ADVGP_EINVAL, "{%s} is for files, and this table is in memory: leave it out",
                           of_files[i]);
    return ADVGP_OK;
}

advgp_status gp_load_training(const gp_options *o, gp_source *table, const gp_host *host, gp_loaded *out,
                              advgp_error *err)
{
    *out = (gp_loaded){0};
    char dir[4096];
    opened x;
    advgp_status st = table ? refuse_for_table(o, err) : ADVGP_OK;
    if (st != ADVGP_OK) return st;
    const bool synthetic = o->n_operands == 1 && gp_synthetic_is(o->operands[0]);
    if (synthetic || (o->n_operands == 1 && gp_packed_is(o->operands[0]))) {
        st = synthetic ? gp_synthetic_open(o->operands[0], &out->shards, &out->schema, err)
                       : open_packed(o->operands[0], out, err);
        if (st == ADVGP_OK) st = refuse_contradiction(o, out->schema, err);
        return st;
    }
    const char *cache = gp_options_text(o, "cache");
    if (cache) {
        bool steady, found = false;
        snprintf(dir, sizeof dir, "%s/advgp-%016llx", cache, (unsigned long long)gp_fingerprint(o, &steady));
        st = steady ? from_cache(dir, out, &found, err) : ADVGP_OK;
        if (st == ADVGP_OK && !found) st = try_cache(cache, dir, err); // before the first pass, which may be long
        if (st != ADVGP_OK || found) return st;
    }
    st = open_and_fit(o, table, host, &out->notes, &x, err);
    if (st != ADVGP_OK) return st;
    out->encodings = x.encodings;
    const double bytes = (double)x.schema->n_rows * (double)(x.schema->d + 2) * sizeof(float);
    if (!cache && bytes > 0.5 * gp_memory_bytes()) {
        st = gp_fail(
            err, ADVGP_EINVAL,
            "%zu rows of %zu encoded columns take %.2f GB, more than half of the %.2f GB of memory there is: name a "
            "folder with {cache} DIR, where they are packed once, or use advgp pack",
            x.schema->n_rows, x.schema->d, bytes / 1e9, gp_memory_bytes() / 1e9);
    } else if (cache) {
        st = by_cache(o, dir, &x, host, out, err);
    } else {
        st = into_memory(o, &x, host, out, err);
        const char *sql = gp_options_text(o, "sql");
        if (st == ADVGP_OK && sql && !(out->sql = gp_text_copy(sql, strlen(sql)))) st = gp_no_memory(err);
        if (st == ADVGP_OK) out->schema = x.schema, x.schema = NULL;
    }
    opened_fini(&x);
    return st;
}

advgp_status gp_load_cached(const gp_options *o, bool *found, advgp_error *err)
{
    char dir[4096];
    bool steady;
    gp_loaded rows = {0};
    snprintf(dir, sizeof dir, "%s/advgp-%016llx", gp_options_text(o, "cache"),
             (unsigned long long)gp_fingerprint(o, &steady));
    *found = false;
    const advgp_status st = steady ? from_cache(dir, &rows, found, err) : ADVGP_OK;
    gp_loaded_fini(&rows);
    return st;
}

advgp_status gp_load_known(const gp_options *o, const char *const *paths, size_t n_paths, const char *sql,
                           const gp_schema *schema, const gp_host *host, gp_notes *notes, gp_shards **out,
                           advgp_error *err)
{
    gp_source *source = NULL;
    gp_memory_builder *builder = NULL;
    gp_file_options files = gp_load_files(o, host, paths, n_paths, sql);
    files.stored = true;
    files.like = schema;
    *out = NULL;
    advgp_status st = gp_source_files_open(&files, notes, &source, err);
    if (st == ADVGP_OK) st = gp_memory_builder_new(schema->d, 1, schema->weights != NULL, true, 0, &builder, err);
    if (st == ADVGP_OK)
        st = encode_into(source, schema, GP_ENCODE_EVALUATE, NULL, gp_memory_builder_add, builder, host, notes, err);
    if (st == ADVGP_OK)
        st = gp_memory_shards_take(builder, out, err);
    else
        gp_memory_builder_free(builder);
    gp_source_free(source);
    return st;
}

// Before the training: a slip in its name must not cost the run.
advgp_status gp_load_test(const gp_options *o, const gp_host *host, gp_loaded *data, gp_shards **rows, advgp_error *err)
{
    const char *path = gp_options_text(o, "test");
    *rows = NULL;
    if (!path) return ADVGP_OK;
    // A query over several files: the test file stands for the first, the others are those of training.
    const bool joined = data->sql && !gp_packed_is(o->operands[0]);
    const size_t n = joined ? o->n_operands : 1;
    const char **paths = gp_alloc(n, sizeof *paths);
    if (!paths) return gp_no_memory(err);
    paths[0] = path;
    for (size_t i = 1; i < n; i++) paths[i] = o->operands[i];
    advgp_status st = gp_load_known(o, paths, n, data->sql, data->schema, host, &data->notes, rows, err);
    gp_free(paths);
    if (st == ADVGP_OK && gp_shards_rows(*rows, GP_STOP) == 0)
        st = gp_fail(err, ADVGP_EDATA, "%s has no row with a value of '%s'", path, data->schema->target);
    return st == ADVGP_OK ? st : gp_wrap(err, st, "{test}");
}

void gp_loaded_fini(gp_loaded *loaded)
{
    gp_shards_free(loaded->shards);
    gp_schema_free(loaded->schema);
    gp_free(loaded->sql);
    gp_notes_fini(&loaded->notes);
    *loaded = (gp_loaded){0};
}

// ---- pack -----------------------------------------------------------------------------------------------------------

advgp_status gp_load_pack(const gp_options *o, const gp_host *host, gp_notes *notes, size_t *n_rows, advgp_error *err)
{
    opened x;
    gp_split asked;
    const char *validation = gp_options_text(o, "validation"), *dir = gp_options_text(o, "output");
    if (o->n_operands == 1 && gp_packed_is(o->operands[0]))
        return gp_fail(err, ADVGP_EINVAL, "%s is packed already", o->operands[0]);
    advgp_status st = gp_split_parse(validation, 0, &asked, err);
    if (st == ADVGP_OK && asked.kind == GP_SPLIT_FILE)
        st = gp_fail(err, ADVGP_EINVAL,
                     "{validation} %s: packed data hold out rows of their own; give a fraction, last:F or group:COL",
                     asked.name);
    const gp_reads reads = {.paths = o->operands, .n = o->n_operands};
    if (st == ADVGP_OK) st = gp_place_check_folder(dir, "{output}", reads, err);
    if (st == ADVGP_OK) st = gp_pack_try(dir, err); // before the first pass, which may be long
    if (st == ADVGP_OK) st = open_and_fit(o, NULL, host, notes, &x, err);
    if (st != ADVGP_OK) return st;
    const gp_pack_options pack = {.dir = dir,
                                  .n_shards = gp_options_given(o, "shards") ? (size_t)gp_options_int(o, "shards") : 0,
                                  .float64 = gp_options_is(o, "values", "float64"),
                                  .seed = x.split.seed,
                                  .validation = validation,
                                  .sql = gp_options_text(o, "sql")};
    st = gp_pack(x.source, x.schema, &x.split, &pack, notes, tell, &host, err);
    *n_rows = x.schema->n_rows;
    opened_fini(&x);
    return st;
}
