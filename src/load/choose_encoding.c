// choose_encoding.c: a sample of encoded rows for the pilots, and what they say.
#include "load/choose_encoding.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "base/sort.h"
#include "learn/steepness.h"
#include "linalg/blas.h"
#include "load/request.h"
#include "recipe/encoding_pilot.h"
#include "recipe/plan.h"
#include "store/modelfile.h"

#include <stdio.h>
#include <string.h>

static const uint64_t sample_stream = 0x656e636f; // "enco": unrelated to who is held out

// Training rows by a hash of their number, about GP_PILOT_ROWS of them; of a wide table fewer.
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
    const size_t rows = fit > GP_PILOT_ROWS ? GP_PILOT_ROWS : fit < GP_PILOT_ROWS_MIN ? GP_PILOT_ROWS_MIN : fit;
    s->d = schema->d, s->seed = seed ^ sample_stream;
    s->share = (double)rows / (double)schema->n_rows;
    s->capacity = schema->n_rows < rows ? schema->n_rows : rows + rows / 4; // a share is never that far off
    s->X = gp_alloc(s->capacity, (s->d + 2) * sizeof *s->X);
    if (!s->X) return gp_no_memory(err);
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
    GP_TELL(host, rows, rows);
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
static bool has_process(const gp_options *o)
{
    const char *verb = o->verb->name;
    const bool packs = !strcmp(verb, "pack") || gp_options_text(o, "cache");
    return packs || strcmp(verb, "train") != 0 || gp_method_takes(gp_request_method(o), "kernel");
}

static size_t long_tailed(const gp_schema *schema)
{
    size_t n = 0;
    for (size_t i = 0; i < schema->n_inputs; i++) n += schema->inputs[i].long_tailed;
    return n;
}

// A run that goes on from a model has that model's target and directions. A file that is none is refused by whoever
// reads it for its parameters.
static void as_start(const gp_options *o, const char *path, gp_schema_options *options, gp_encoding_choice *choice)
{
    if (gp_request_model(o, path, &choice->start, NULL) != ADVGP_OK) return;
    if (gp_options_is(o, "log-target", "auto")) options->log_target = choice->start->schema->log_target;
    if (gp_options_is(o, "directions", "none")) gp_model_free(choice->start), choice->start = NULL;
}

// ---- pilots ---------------------------------------------------------------------------------------------------------

static bool is_open(const gp_options *o, const char *option, gp_trial trial)
{
    return gp_options_is(o, option, "auto") && !gp_trial_is_off(trial);
}

// What options leave open.
typedef struct questions {
    bool logarithm, ranks;
    size_t directions; // 0: they are not
} questions;

// Sums of a single column are that column; of very many, a sample says nothing.
static bool may_have_directions(const gp_schema *schema)
{
    enum { MOST = 128 };
    const size_t n = gp_steepness_columns(schema, NULL);
    return n >= 2 && n <= MOST;
}

// NULL: there may be some.
static const char *why_no_directions(const gp_options *o, const gp_schema *schema)
{
    if (!has_process(o)) return "the method fits no process";
    return may_have_directions(schema) ? NULL : "they are of two to 128 columns of numbers, times and target means";
}

static advgp_status keep_directions(const gp_encoding_pilot *pilot, size_t d, gp_encoding_choice *choice,
                                    advgp_error *err)
{
    const double *weights;
    const size_t n = gp_encoding_pilot_directions(pilot, &weights);
    if (!n) return ADVGP_OK;
    choice->weights = gp_alloc(n * d, sizeof *weights);
    if (!choice->weights) return gp_no_memory(err);
    memcpy(choice->weights, weights, n * d * sizeof *weights);
    choice->n_directions = n, choice->d = d;
    return ADVGP_OK;
}

// First the inputs, then the target beside what was taken of them: where inputs tell more, so do pilots of the target.
static advgp_status ask_pilots(const gp_encoding_question *q, questions open, const gp_host *host,
                               gp_schema_options *options, gp_encoding_choice *choice, advgp_error *err)
{
    gp_encodings now = {.logarithm = options->log_target, .ranks = options->ranks}, other = now;
    gp_encoding_pilot *pilot = NULL;
    advgp_status st = gp_encoding_pilot_new(q, now, &pilot, err);
    if (st == ADVGP_OK && open.ranks) {
        gp_host_phase(host, "pilot: columns of long tails as they are, and their ranks");
        other.ranks = true;
        st = gp_encoding_pilot_try(pilot, other, &choice->ranks, err);
        now = other = gp_encoding_pilot_present(pilot);
    }
    if (st == ADVGP_OK && open.directions) {
        gp_host_phase(host, "pilot: columns as they are, and sums of them beside them");
        other.directions = open.directions;
        st = gp_encoding_pilot_try(pilot, other, &choice->directions, err);
        now = other = gp_encoding_pilot_present(pilot);
    }
    if (st == ADVGP_OK && open.logarithm) {
        gp_host_phase(host, "pilot: the target as it is, and its logarithm");
        other.logarithm = true;
        st = gp_encoding_pilot_try(pilot, other, &choice->logarithm, err);
        now = gp_encoding_pilot_present(pilot);
    }
    if (st == ADVGP_OK) st = keep_directions(pilot, q->rows->d, choice, err);
    gp_encoding_pilot_free(pilot);
    if (st != ADVGP_OK) return st;
    if (choice->logarithm.taken && q->bounds_open)
        options->bounds_are = GP_BOUNDS_GIVEN, options->bounds = gp_log_bounds(q->schema);
    options->log_target = now.logarithm, options->ranks = now.ranks;
    return ADVGP_OK;
}

void gp_encoding_choice_fini(gp_encoding_choice *choice)
{
    gp_free(choice->weights);
    gp_model_free(choice->start);
    *choice = (gp_encoding_choice){0};
}

static advgp_status add_notes(const gp_encoding_choice *c, const gp_schema *schema, gp_notes *notes, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    if (c->no_room)
        st = gp_notes_add(notes, err, 1,
                          "columns and target are taken as they are: the limit of this process (ulimit -d, ulimit -v) "
                          "leaves no room for pilots");
    if (c->logarithm.taken)
        st = gp_notes_add(notes, err, 1,
                          "the target '%s' is skewed and never negative: its logarithm is fitted, since the CRPS of a "
                          "pilot on %zu rows falls by %.1f %% with it ({log-target} no leaves it as it is)",
                          schema->target, c->logarithm.rows, 100 * c->logarithm.gain);
    if (st == ADVGP_OK && c->ranks.taken)
        st = gp_notes_add(notes, err, c->n_ranks,
                          "%zu columns of long tails are taken by their ranks, since the CRPS of a pilot on %zu rows "
                          "falls by %.1f %% with them ({warp} none leaves them as they are)",
                          c->n_ranks, c->ranks.rows, 100 * c->ranks.gain);
    if (st == ADVGP_OK && c->directions.taken && c->asked)
        st = gp_notes_add(notes, err, c->n_directions, "%zu sums of columns stand beside them, as {directions} asks",
                          c->n_directions);
    if (st == ADVGP_OK && c->directions.taken && !c->asked)
        st = gp_notes_add(
            notes, err, c->n_directions,
            "%zu sums of columns stand beside them, since the CRPS of a pilot on %zu rows falls by %.1f %% "
            "with them ({directions} none leaves them out)",
            c->n_directions, c->directions.rows, 100 * c->directions.gain);
    if (st == ADVGP_OK && c->why_none)
        st = gp_notes_add(notes, err, 1, "no sums of columns stand beside them, which {directions} asks for: %s",
                          c->why_none);
    return st;
}

// An option that names it, a trial that was held, or a rule: there was nothing to try.
static void plan_one(const gp_options *o, const char *option, const gp_verdict *verdict, bool is, gp_trial trial,
                     const char *why_open, gp_planned *out)
{
    const char *word = is ? "yes" : "no";
    char asked[40];
    const bool given = !gp_options_is(o, option, "auto");
    if (verdict->tried && !given) {
        gp_plan_choose(out, word, GP_ORIGIN_TRIAL, verdict, gp_trial_what(trial));
    } else {
        snprintf(asked, sizeof asked, "option %s", option);
        *out = (gp_planned){.n = is, .origin = given ? GP_ORIGIN_ASKED : GP_ORIGIN_RULE};
        snprintf(out->value, sizeof out->value, "%s", word);
        snprintf(out->why, sizeof out->why, "%s",
                 given      ? asked
                 : why_open ? why_open
                            : "nothing in the columns asks for it");
    }
}

static void make_plan(const gp_encoding_choice *c, const gp_options *o, const gp_schema *schema, gp_plan *plan)
{
    plan_one(o, "warp", &c->ranks, c->ranks.taken || (c->n_ranks && gp_options_is(o, "warp", "ranks")), GP_TRIAL_RANKS,
             c->why_open, &plan->ranks);
    plan_one(o, "directions", &c->directions, schema->n_directions > 0, GP_TRIAL_DIRECTIONS, c->why_open,
             &plan->directions);
    plan_one(o, "log-target", &c->logarithm, schema->log_target, GP_TRIAL_LOGARITHM, c->why_open, &plan->logarithm);
}

advgp_status gp_encoding_settle(const gp_encoding_choice *c, const gp_options *o, gp_schema *schema, gp_plan *plan,
                                gp_notes *notes, advgp_error *err)
{
    advgp_status st = ADVGP_OK;
    if (c->start) st = gp_schema_take_directions(schema, c->start->schema, err);
    if (c->n_directions && c->d == schema->d) st = gp_schema_add_directions(schema, c->n_directions, c->weights, err);
    make_plan(c, o, schema, plan);
    return st == ADVGP_OK ? add_notes(c, schema, notes, err) : st;
}

advgp_status gp_choose_encoding(const gp_options *o, gp_source *source, const gp_schema *schema, const gp_split *split,
                                const gp_host *host, gp_schema_options *options, gp_encoding_choice *choice,
                                advgp_error *err)
{
    enum { DIRECTIONS = 3, PILOT_THREADS = 3 };
    *choice = (gp_encoding_choice){.n_ranks = long_tailed(schema)};
    const char *start = strcmp(o->verb->name, "train") == 0 ? gp_request_start(o) : NULL;
    if (start) {
        choice->why_open = "as the model that it starts from";
        as_start(o, start, options, choice);
        return ADVGP_OK;
    }
    const bool asked = !gp_options_is(o, "directions", "auto") && !gp_options_is(o, "directions", "none");
    if (asked) choice->why_none = why_no_directions(o, schema);
    if (!has_process(o)) {
        choice->why_open = "the method fits no process";
        return ADVGP_OK;
    }
    const size_t wanted = asked                                           ? (size_t)gp_options_int(o, "directions")
                          : is_open(o, "directions", GP_TRIAL_DIRECTIONS) ? DIRECTIONS
                                                                          : 0;
    const questions open = {.logarithm = is_open(o, "log-target", GP_TRIAL_LOGARITHM) && schema->log_may_pay,
                            .ranks = is_open(o, "warp", GP_TRIAL_RANKS) && choice->n_ranks,
                            .directions = may_have_directions(schema) ? wanted : 0};
    if (!open.logarithm && !open.ranks && !open.directions) return ADVGP_OK;
    choice->no_room = !asked && !gp_blas_has_room(PILOT_THREADS);
    if (choice->no_room) choice->why_open = "the limit of this process leaves no room for a trial";
    if (choice->no_room) return ADVGP_OK;
    sample s = {.host = host};
    advgp_status st = read_sample(&s, source, schema, split, err);
    const gp_rows rows = {.n = s.n, .d = s.d, .X = s.X, .y = s.y, .w = s.w};
    const gp_encoding_question question = {.schema = schema,
                                           .rows = &rows,
                                           .bounds_open = options->bounds_are == GP_BOUNDS_AUTO,
                                           .directions_open = open.directions > 0,
                                           .directions_asked = asked,
                                           .kernel = &gp_kernel_ard_rbf,
                                           .seed = split->seed,
                                           .stop = gp_host_stopper(host)->stop,
                                           .stop_ctx = gp_host_stopper(host)->ctx};
    choice->asked = asked;
    if (rows.n < GP_PILOT_ROWS_MIN) choice->why_open = "too few rows for a trial";
    if (st == ADVGP_OK && rows.n >= GP_PILOT_ROWS_MIN) st = ask_pilots(&question, open, host, options, choice, err);
    if (asked && open.directions && !choice->n_directions)
        choice->why_none = rows.n < GP_PILOT_ROWS_MIN ? "a pilot needs 300 rows"
                                                      : "the target changes along single columns";
    gp_free(s.X);
    return st;
}
