// rows_test.h: what the tests of this room share: a small generated table, through the data room as a user's would
// come.
#pragma once
#include "base/rng.h"
#include "cells/inducing.h"
#include "data/encode.h"
#include "fixture.h"
#include "learn/learner.h"
#include "recipe/train.h"
#include "shards/shards.h"

#include <math.h>
#include <stdlib.h>

enum { D = 3 };

typedef struct table {
    double *x, *y; // [n x D], [n]
    gp_shards *shards;
    gp_schema *schema;
} table;
static table t;

static inline void must(advgp_status st, const advgp_error *err)
{
    if (st != ADVGP_OK) fail_msg("%s: %s", advgp_status_name(st), err->text);
}

// The rows of t, n of them, as a source.
static inline gp_source *table_source(size_t n)
{
    static gp_array arrays[4]; // borrowed by the source
    static const char *const names[] = {"a", "b", "c"};
    for (size_t k = 0; k < D; k++) arrays[k] = (gp_array){.name = names[k], .number = t.x + k, .stride = D};
    arrays[D] = (gp_array){.name = "y", .number = t.y, .stride = 1};
    advgp_error err;
    gp_source *source;
    must(gp_source_memory_open(arrays, 4, n, 0, &source, &err), &err);
    return source;
}

// Schema and shards of the rows of t.
static inline void encode_table(size_t n, uint64_t seed, const char *validation)
{
    advgp_error err;
    gp_source *source = table_source(n);
    gp_split split;
    gp_encoder *encoder;
    gp_memory_builder *builder;
    const gp_schema_options options = {.target = "y"};
    must(gp_split_parse(validation, seed, &split, &err), &err);
    must(gp_schema_fit(source, &options, &split, NULL, NULL, NULL, &t.schema, &err), &err);
    must(gp_encoder_new(t.schema, source, GP_ENCODE_TRAIN, &split, &encoder, &err), &err);
    must(gp_memory_builder_new(t.schema->d, gp_shards_suggest(t.schema->n_rows), false, true, seed, &builder, &err),
         &err);
    must(gp_encode_all(encoder, source, gp_memory_builder_add, builder, NULL, NULL, &err), &err);
    must(gp_memory_shards_take(builder, &t.shards, &err), &err);
    gp_encoder_free(encoder);
    gp_source_free(source);
}

// y = sin(2 x0) + x1^2 / 2 + 0.3 x2 + noise; the table is t.
static inline void make_table(size_t n, uint64_t seed, const char *validation)
{
    gp_rng rng = gp_rng_seeded(seed, 0);
    t.x = doubles(n * D), t.y = doubles(n);
    for (size_t i = 0; i < n; i++) {
        double *x = t.x + i * D;
        for (size_t k = 0; k < D; k++) x[k] = gp_rng_normal(&rng);
        t.y[i] = 10 + sin(2 * x[0]) + 0.5 * x[1] * x[1] + 0.3 * x[2] + 0.1 * gp_rng_normal(&rng);
    }
    encode_table(n, seed, validation);
}

// A model of the table where a training would start it; the caller frees it.
static inline gp_learner *make_learner(size_t m)
{
    advgp_error err;
    double *inducing;
    size_t n;
    gp_learner *learner;
    must(gp_inducing_choose(t.shards, m, 0, GP_START_KMEANS, &gp_kernel_ard_rbf, 0.7, &inducing, &n, &err), &err);
    const gp_learner_options o = {.d = D,
                                  .m = m,
                                  .components = 1,
                                  .kernel = &gp_kernel_ard_rbf,
                                  .map = &gp_map_cholesky,
                                  .trend = GP_TREND_LINEAR,
                                  .length_scale = 0.7,
                                  .seed = 3,
                                  .inducing = gp_cmat_of(inducing, n, D)};
    must(gp_learner_new(&o, &learner, &err), &err);
    gp_free(inducing);
    return learner;
}

// A training on the table.
static inline gp_model *train_table(const gp_train_options *o, const gp_train_events *events, gp_train_result *result)
{
    advgp_error err;
    gp_model *model;
    const gp_train_request request = {.shards = t.shards, .schema = t.schema, .options = o, .events = events};
    must(gp_train(&request, &model, result, &err), &err);
    t.schema = NULL; // the model's now
    return model;
}

static inline void free_table(void)
{
    gp_shards_free(t.shards);
    gp_schema_free(t.schema);
    free(t.x);
    free(t.y);
    t = (table){0};
}
