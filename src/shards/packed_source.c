// packed_source.c: packed shards as a source again: encoded columns in their own units, then target and weights, so
// that whatever reads a table can read a packed one.
#include "base/alloc.h"
#include "shards/packed.h"

#include <math.h>

enum { CHUNK_ROWS = 1024 };

typedef struct packed_source {
    gp_source base;
    gp_shards *shards;
    gp_schema *schema;
    size_t shard, row, given; // where the next chunk starts
    gp_chunk chunk;
    gp_values *values;
    double *X, *y, *w, *columns; // CHUNK_ROWS rows; columns holds n_columns of them, one after the other
} packed_source;

static advgp_status packed_next(gp_source *source, const gp_chunk **chunk, advgp_error *err)
{
    packed_source *p = (packed_source *)source;
    const gp_shards *s = p->shards;
    *chunk = NULL;
    while (p->shard < s->n_train + 2 && p->row == s->rows[p->shard]) p->shard++, p->row = 0;
    if (p->shard == s->n_train + 2) return ADVGP_OK;
    size_t left = s->rows[p->shard] - p->row, n = left < CHUNK_ROWS ? left : CHUNK_ROWS;
    advgp_status st = gp_shards_read(s, p->shard, p->row, n, p->X, p->y, p->w, err);
    if (st != ADVGP_OK) return st;
    const double weight = gp_schema_weight_factor(p->schema); // as it was in the table
    for (size_t j = 0; j < source->n_columns; j++) {
        double *column = p->columns + j * CHUNK_ROWS;
        for (size_t i = 0; i < n; i++)
            column[i] = j < s->d    ? gp_schema_input(p->schema, j, p->X[i * s->d + j])
                        : j == s->d ? gp_schema_target(p->schema, p->y[i])
                                    : p->w[i] / weight;
        p->values[j] = (gp_values){.number = source->wanted[j] ? column : NULL};
    }
    p->chunk = (gp_chunk){.n_rows = n, .first_row = p->given, .columns = p->values};
    p->row += n;
    p->given += n;
    *chunk = &p->chunk;
    return ADVGP_OK;
}

static advgp_status packed_rewind(gp_source *source, advgp_error *err)
{
    (void)err;
    packed_source *p = (packed_source *)source;
    p->shard = p->row = p->given = 0;
    return ADVGP_OK;
}

static void packed_source_free(gp_source *source)
{
    packed_source *p = (packed_source *)source;
    gp_shards_free(p->shards);
    gp_schema_free(p->schema);
    gp_free(p->values);
    gp_free(p->X);
    gp_free(p->y);
    gp_free(p->w);
    gp_free(p->columns);
    gp_source_fini(source);
    gp_free(p);
}

const gp_source_ops gp_source_packed = {
    .name = "packed", .next = packed_next, .rewind = packed_rewind, .free = packed_source_free};

static advgp_status init_columns(packed_source *p, const char *dir, advgp_error *err)
{
    const gp_schema *schema = p->schema;
    size_t d = schema->d, n = d + 1 + p->shards->weighted;
    const char **names = gp_alloc(n, sizeof *names);
    gp_column_type *types = gp_alloc(n, sizeof *types); // zeroed: all GP_NUMBER
    advgp_status st = names && types ? ADVGP_OK : gp_no_memory(err);
    for (size_t j = 0; st == ADVGP_OK && j < n; j++)
        names[j] = j < d ? schema->x_names[j] : j == d ? schema->target : schema->weights ? schema->weights : "weight";
    if (st == ADVGP_OK) st = gp_source_init(&p->base, &gp_source_packed, dir, names, types, n, err);
    gp_free(names);
    gp_free(types);
    return st;
}

advgp_status gp_source_packed_open(const char *dir, gp_source **out, advgp_error *err)
{
    *out = NULL;
    packed_source *p = gp_alloc(1, sizeof *p);
    if (!p) return gp_no_memory(err);
    p->base.ops = &gp_source_packed;
    advgp_status st = gp_packed_open(dir, &p->shards, &p->schema, NULL, err);
    if (st == ADVGP_OK) st = gp_packed_check(p->shards, err); // a source is read to its end
    if (st == ADVGP_OK) st = init_columns(p, dir, err);
    if (st == ADVGP_OK) {
        p->values = gp_alloc(p->base.n_columns, sizeof *p->values);
        p->X = gp_alloc(CHUNK_ROWS, p->schema->d * sizeof *p->X);
        p->y = gp_alloc(CHUNK_ROWS, sizeof *p->y);
        p->w = gp_alloc(CHUNK_ROWS, sizeof *p->w);
        p->columns = gp_alloc(p->base.n_columns * CHUNK_ROWS, sizeof *p->columns);
        if (!p->values || !p->X || !p->y || !p->w || !p->columns) st = gp_no_memory(err);
    }
    if (st == ADVGP_OK)
        *out = &p->base;
    else
        packed_source_free(&p->base);
    return st;
}
