// choose_encoding.c: a sample of encoded rows for the pilots, and what they say.
#include "api/choose_encoding.h"
#include "api/request.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "store/modelfile.h"
#include "train/encoding_pilot.h"

#include <string.h>

static const uint64_t sample_stream = 0x656e636f; // "enco": unrelated to who is held out

// Training rows by a hash of their number, about GP_ENCODING_PILOT_ROWS of them; of a wide table fewer.
typedef struct sample {
    size_t n, capacity, d;
    double share;
    uint64_t seed;
    double *X, *y, *w; // [capacity x d], ...
    const gp_host *host;
} sample;

static advgp_status sample_init(sample *s, const gp_schema *schema, uint64_t seed, advgp_error *err)
{
    enum { NUMBERS_MAX = 1 << 20 };
    const size_t fit = NUMBERS_MAX / schema->d;
    const size_t rows = fit > GP_ENCODING_PILOT_ROWS       ? GP_ENCODING_PILOT_ROWS
                        : fit < GP_ENCODING_PILOT_ROWS_MIN ? GP_ENCODING_PILOT_ROWS_MIN
                                                           : fit;
    s->d = schema->d, s->seed = seed ^ sample_stream;
    s->share = (double)rows / (double)schema->n_rows;
    s->capacity = schema->n_rows < rows ? schema->n_rows : rows + rows / 4; // a share is never that far off
    s->X = gp_alloc(s->capacity, (s->d + 2) * sizeof *s->X);
    if (!s->X) return gp_fail(err, ADVGP_ENOMEM, "no memory for a sample of %zu rows", s->capacity);
    s->y = s->X + s->capacity * s->d, s->w = s->y + s->capacity;
    return ADVGP_OK;
}

static advgp_status add_rows(void *ctx, const gp_rows *rows, advgp_error *err)
{
    (void)err;
    sample *s = ctx;
    for (size_t i = 0; i < rows->n && s->n < s->capacity; i++) {
        if (rows->part[i] != GP_TRAIN || gp_hash_uniform(s->seed, rows->source_row[i]) >= s->share) continue;
        memcpy(s->X + s->n * s->d, rows->X + i * s->d, s->d * sizeof *s->X);
        s->y[s->n] = rows->y[i], s->w[s->n++] = rows->w[i];
    }
    return ADVGP_OK;
}

static int tell(void *ctx, size_t rows)
{
    const gp_host *host = ((const sample *)ctx)->host;
    if (host && host->rows) host->rows(host->ctx, rows);
    return gp_host_stops(host);
}

static advgp_status read_sample(sample *s, gp_source *source, const gp_schema *schema, const gp_split *split,
                                advgp_error *err)
{
    gp_encoder *encoder = NULL;
    advgp_status st = sample_init(s, schema, split->seed, err);
    if (st == ADVGP_OK) st = gp_encoder_new(schema, source, GP_ENCODE_TRAIN, split, &encoder, err);
    if (st == ADVGP_OK) st = gp_encode_all(encoder, source, add_rows, s, tell, s, err);
    gp_encoder_free(encoder);
    return st == ADVGP_OK ? gp_source_rewind(source, err) : st;
}

// Pilots are processes: they say nothing of linear regression. What is packed is for every method.
static bool is_open(const gp_options *o, const gp_schema *schema)
{
    const char *verb = o->verb->name;
    const bool packs = !strcmp(verb, "pack") || gp_options_text(o, "cache");
    return schema->log_may_pay &&
           (packs || strcmp(verb, "train") != 0 || gp_method_takes(gp_request_method(o), "kernel"));
}

// A run that goes on from a model has that model's target. A file that is none is refused by whoever reads it for its
// parameters.
static bool start_is_of_logarithm(const char *path)
{
    gp_model *model = NULL;
    const bool logarithm = gp_model_load(path, &model, NULL) == ADVGP_OK && model->schema->log_target;
    gp_model_free(model);
    return logarithm;
}

advgp_status gp_encoding_note(const gp_encoding_verdict *v, const gp_schema *schema, gp_notes *notes, advgp_error *err)
{
    if (!v->pays) return ADVGP_OK;
    return gp_notes_add(notes, err, 1,
                        "the target '%s' is skewed and never negative: its logarithm is fitted, since the CRPS of a "
                        "pilot on %zu rows falls by %.1f %% with it ({log-target} no leaves it as it is)",
                        schema->target, v->rows, 100 * (1 - v->crps));
}

advgp_status gp_choose_encoding(const gp_options *o, gp_source *source, const gp_schema *schema, const gp_split *split,
                                const gp_host *host, gp_schema_options *options, gp_encoding_verdict *verdict,
                                advgp_error *err)
{
    *verdict = (gp_encoding_verdict){0};
    const char *start = strcmp(o->verb->name, "train") == 0 ? gp_request_start(o) : NULL;
    if (!gp_options_is(o, "log-target", "auto")) return ADVGP_OK;
    if (start) {
        options->log_target = start_is_of_logarithm(start);
        return ADVGP_OK;
    }
    if (!is_open(o, schema)) return ADVGP_OK;
    sample s = {.host = host};
    gp_host_phase(host, "pilot: the target as it is, and its logarithm");
    advgp_status st = read_sample(&s, source, schema, split, err);
    const gp_rows rows = {.n = s.n, .d = s.d, .X = s.X, .y = s.y, .w = s.w};
    const gp_encoding_question question = {.schema = schema,
                                           .rows = &rows,
                                           .bounds_open = options->bounds_are == GP_BOUNDS_AUTO,
                                           .kernel = &gp_kernel_ard_rbf,
                                           .seed = split->seed,
                                           .stop = host ? host->stop : NULL,
                                           .stop_ctx = host ? host->ctx : NULL};
    if (st == ADVGP_OK) st = gp_encoding_pilot_log(&question, verdict, err);
    if (st == ADVGP_OK && verdict->pays) {
        options->log_target = true;
        if (question.bounds_open) options->bounds_are = GP_BOUNDS_GIVEN, options->bounds = gp_log_bounds(schema);
    }
    gp_free(s.X);
    return st;
}
