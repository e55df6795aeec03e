// synthetic_shards.c: trips through a town, computed when they are read.
#include "base/alloc.h"
#include "base/constants.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/whole.h"
#include "shards/synthetic.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

enum { INPUTS = 9, COLUMNS = INPUTS + 1, DRAWS = 16, FIT_ROWS = 200000 };
static const char *const names[COLUMNS] = {"month",    "day",       "weekday",   "hour",     "pickup_x",
                                           "pickup_y", "dropoff_x", "dropoff_y", "distance", "duration"};
static const char prefix[] = "synthetic:";
static const double rows_least = 1000, rows_most = 1e12, held_out_share = 0.05;

typedef struct synthetic_shards {
    gp_shards base;
    char *text;
    uint64_t seed, fingerprint;
    gp_schema *schema; // how a row is encoded
    size_t each;       // rows of a training shard; the last one has what is left
} synthetic_shards;

bool gp_synthetic_is(const char *text)
{
    return strncmp(text, prefix, sizeof prefix - 1) == 0;
}

// ---- a trip ---------------------------------------------------------------------------------------------------------

// Slow in the centre, and on working days at eight and at twenty; the noise has a standard deviation of a minute.
static void make_trip(uint64_t seed, size_t row, double *v)
{
    double u[COLUMNS + 1];
    for (size_t j = 0; j < COLUMNS + 1; j++) u[j] = gp_hash_uniform(seed, (uint64_t)row * DRAWS + j);
    v[0] = 1 + floor(12 * u[0]), v[1] = 1 + floor(28 * u[1]), v[2] = floor(7 * u[2]), v[3] = 24 * u[3];
    for (size_t j = 4; j < 8; j++) v[j] = 10 * (u[j] - 0.5) * (0.2 + 0.8 * fabs(2 * u[j] - 1)); // km; dense inside
    const double dx = v[6] - v[4], dy = v[7] - v[5];
    v[8] = 1.3 * sqrt(dx * dx + dy * dy);
    const double centre = 1 / (1 + 0.5 * (v[4] * v[4] + v[5] * v[5])), rush = v[2] < 5 ? 0.3 : 0.05;
    const double speed = (30 - 15 * centre) * (1 - rush * cos(GP_TWO_PI * (v[3] - 8) / 12)); // km/h
    const double noise = sqrt(-2 * log(1 - u[9])) * cos(GP_TWO_PI * u[10]);
    v[9] = fmax(30, 120 + 3600 * v[8] / speed + 60 * noise);
}

static advgp_status synthetic_read(const gp_shards *s, size_t shard, size_t first, size_t n, double *X, double *y,
                                   double *w, advgp_error *err)
{
    (void)err;
    const synthetic_shards *t = (const synthetic_shards *)s;
    const gp_schema *schema = t->schema;
    size_t row = first + t->each * (shard < s->n_train ? shard : s->n_train - 1);
    if (shard >= s->n_train) row += s->rows[s->n_train - 1]; // held-out rows are the last ones
    if (shard > s->n_train) row += s->rows[s->n_train];
    for (size_t i = 0; i < n; i++, row++, X += s->d) {
        double v[COLUMNS];
        make_trip(t->seed, row, v);
        for (size_t j = 0; j < INPUTS; j++)
            X[j] = (gp_limits_clip(schema->inputs[j].clip, v[j]) - schema->x_mean[j]) / schema->x_scale[j];
        y[i] = gp_schema_standardise(schema, v[INPUTS]);
        if (w) w[i] = 1;
    }
    return ADVGP_OK;
}

static void synthetic_free(gp_shards *s)
{
    synthetic_shards *t = (synthetic_shards *)s;
    gp_schema_free(t->schema);
    gp_free(t->text);
    gp_shards_fini(s);
    gp_free(t);
}

static const gp_shards_ops synthetic_ops = {.name = "synthetic", .read = synthetic_read, .free = synthetic_free};

// ---- opening --------------------------------------------------------------------------------------------------------

static advgp_status bad_text(const char *text, advgp_error *err)
{
    return gp_fail(err, ADVGP_EINVAL,
                   "'%.200s' is no synthetic table: write synthetic:trips?rows=N&seed=S, with N from %g to %g", text,
                   rows_least, rows_most);
}

// "trips?rows=1e9&seed=1": both in any order, or left out.
static advgp_status parse(const char *text, double *rows, double *seed, advgp_error *err)
{
    const char *at = text + sizeof prefix - 1;
    *rows = 1e6, *seed = 0;
    if (strncmp(at, "trips", 5) != 0 || (at[5] && at[5] != '?')) return bad_text(text, err);
    at += 5;
    while (*at++) {
        char word[32] = {0};
        const size_t n = strcspn(at, "&");
        if (n >= sizeof word || n < 6) return bad_text(text, err);
        memcpy(word, at, n);
        double *to = strncmp(word, "rows=", 5) == 0 ? rows : strncmp(word, "seed=", 5) == 0 ? seed : NULL;
        if (!to || !gp_text_real(word + 5, to) || *to != floor(*to) || *to < 0 || *to > rows_most)
            return bad_text(text, err);
        at += n;
    }
    return *rows >= rows_least ? ADVGP_OK : bad_text(text, err);
}

// All rows are drawn alike: the first ones tell how columns are scaled.
static advgp_status fit_schema(uint64_t seed, size_t n, gp_schema **out, advgp_error *err)
{
    double *cells = gp_alloc(n, COLUMNS * sizeof *cells);
    gp_array arrays[COLUMNS];
    gp_source *source = NULL;
    gp_split split;
    if (!cells) return gp_no_memory(err);
    for (size_t i = 0; i < n; i++) make_trip(seed, i, cells + i * COLUMNS);
    for (size_t j = 0; j < COLUMNS; j++)
        arrays[j] = (gp_array){.name = names[j], .number = cells + j, .stride = COLUMNS};
    const gp_schema_options o = {.target = names[INPUTS], .features = names, .n_features = INPUTS};
    advgp_status st = gp_split_parse("none", seed, &split, err);
    if (st == ADVGP_OK) st = gp_source_memory_open(arrays, COLUMNS, n, 0, &source, err);
    if (st == ADVGP_OK) st = gp_schema_fit(source, &o, &split, NULL, NULL, NULL, out, err);
    gp_source_free(source);
    gp_free(cells);
    if (st == ADVGP_OK && ((*out)->d != INPUTS || (*out)->n_inputs != INPUTS)) {
        gp_schema_free(*out);
        *out = NULL;
        st = gp_fail(err, ADVGP_EDATA, "the synthetic table has columns that are no numbers");
    }
    return st;
}

static void deal(synthetic_shards *t, size_t rows)
{
    gp_shards *s = &t->base;
    const double share = held_out_share * (double)rows;
    const size_t held = gp_index(share, GP_HELD_OUT_MAX), train = rows - held;
    t->each = train / s->n_train;
    for (size_t k = 0; k < s->n_train; k++) s->rows[k] = t->each;
    s->rows[s->n_train - 1] += train % s->n_train;
    s->rows[s->n_train] = held / 2, s->rows[s->n_train + 1] = held - held / 2;
    for (size_t k = 0; k < s->n_train + 2; k++) s->weight[k] = (double)s->rows[k];
}

// The schema twice: one that the shards keep, one for the caller.
static advgp_status give_schema(const synthetic_shards *t, gp_schema **out, advgp_error *err)
{
    char *json = gp_schema_to_json(t->schema);
    if (!json) return gp_no_memory(err);
    const advgp_status st = gp_schema_from_json(json, strlen(json), out, err);
    gp_free(json);
    return st;
}

advgp_status gp_synthetic_open(const char *text, gp_shards **shards, gp_schema **schema, advgp_error *err)
{
    double rows, seed;
    *shards = NULL;
    advgp_status st = parse(text, &rows, &seed, err);
    if (st != ADVGP_OK) return st;
    const size_t n = gp_index(rows, SIZE_MAX);
    synthetic_shards *t = gp_alloc(1, sizeof *t);
    if (!t) return gp_no_memory(err);
    st = gp_shards_init(&t->base, &synthetic_ops, INPUTS, gp_shards_suggest(n), false, gp_index(seed, SIZE_MAX), err);
    if (st != ADVGP_OK) {
        gp_free(t);
        return st;
    }
    t->seed = gp_index(seed, SIZE_MAX);
    t->fingerprint = XXH3_64bits(text, strlen(text));
    t->text = gp_text_copy(text, strlen(text));
    if (!t->text) st = gp_no_memory(err);
    if (st == ADVGP_OK) st = fit_schema(t->seed, n < FIT_ROWS ? n : FIT_ROWS, &t->schema, err);
    if (st == ADVGP_OK) {
        t->schema->n_rows = n;
        deal(t, n);
        if (schema) st = give_schema(t, schema, err);
    }
    if (st == ADVGP_OK)
        *shards = &t->base;
    else
        synthetic_free(&t->base);
    return st;
}

uint64_t gp_synthetic_fingerprint(const gp_shards *s)
{
    return ((const synthetic_shards *)s)->fingerprint;
}

const char *gp_synthetic_text(const gp_shards *s)
{
    return s->ops == &synthetic_ops ? ((const synthetic_shards *)s)->text : NULL;
}
