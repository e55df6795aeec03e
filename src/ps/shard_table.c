// shard_table.c: dealing, leaving, joining.
#include "ps/shard_table.h"
#include "base/alloc.h"

#include <string.h>

advgp_status gp_shard_table_init(gp_shard_table *table, size_t n, const double *weight, advgp_error *err)
{
    *table = (gp_shard_table){
        .n = n, .owner = gp_alloc(n, sizeof *table->owner), .weight = gp_alloc(n, sizeof *table->weight)};
    if (!table->owner || !table->weight) {
        gp_shard_table_fini(table);
        return gp_no_memory(err);
    }
    for (size_t s = 0; s < n; s++) table->owner[s] = GP_NOBODY;
    memcpy(table->weight, weight, n * sizeof *weight);
    return ADVGP_OK;
}

void gp_shard_table_fini(gp_shard_table *table)
{
    gp_free(table->owner);
    gp_free(table->weight);
    *table = (gp_shard_table){0};
}

double gp_shard_table_weight(const gp_shard_table *table, uint32_t owner)
{
    double sum = 0;
    for (size_t s = 0; s < table->n; s++)
        if (table->owner[s] == owner) sum += table->weight[s];
    return sum;
}

size_t gp_shard_table_list(const gp_shard_table *table, uint32_t owner, uint32_t *shards)
{
    size_t n = 0;
    for (size_t s = 0; s < table->n; s++)
        if (table->owner[s] == owner) shards[n++] = (uint32_t)s;
    return n;
}

size_t gp_shard_table_count(const gp_shard_table *table, uint32_t owner)
{
    size_t n = 0;
    for (size_t s = 0; s < table->n; s++) n += table->owner[s] == owner;
    return n;
}

static void give(gp_shard_table *table, size_t shard, uint32_t to, gp_shard_moved moved, void *ctx)
{
    const uint32_t from = table->owner[shard];
    table->owner[shard] = to;
    if (moved) moved(ctx, (uint32_t)shard, from, to);
}

void gp_shard_table_deal(gp_shard_table *table, gp_crew crew, gp_shard_moved moved, void *ctx)
{
    size_t n_live = 0, turn = 0;
    for (size_t k = 0; k < crew.n_workers; k++) n_live += crew.live[k];
    for (size_t k = 0; k < crew.n_workers; k++) {
        if (!crew.live[k]) continue;
        const size_t first = turn * table->n / n_live, end = (turn + 1) * table->n / n_live;
        for (size_t s = first; s < end; s++) give(table, s, (uint32_t)k, moved, ctx);
        turn++;
    }
}

static bool is_there(gp_crew crew, uint32_t worker)
{
    return worker < crew.n_workers && crew.live[worker];
}

// The live worker with the least rows; the first of equals.
static uint32_t least_laden(const gp_shard_table *table, gp_crew crew)
{
    uint32_t best = GP_NOBODY;
    double best_weight = 0;
    for (uint32_t k = 0; k < crew.n_workers; k++) {
        if (!crew.live[k]) continue;
        const double weight = gp_shard_table_weight(table, k);
        if (best == GP_NOBODY || weight < best_weight) best = k, best_weight = weight;
    }
    return best;
}

void gp_shard_table_reassign(gp_shard_table *table, gp_crew crew, gp_shard_moved moved, void *ctx)
{
    for (size_t s = 0; s < table->n; s++) {
        if (table->owner[s] == GP_NOBODY || is_there(crew, table->owner[s])) continue;
        const uint32_t to = least_laden(table, crew);
        if (to != GP_NOBODY) give(table, s, to, moved, ctx);
    }
}

// The last shard of `from` that makes it and the newcomer more equal; n if there is none.
static size_t spare_shard(const gp_shard_table *table, uint32_t from, double from_weight, double newcomer_weight)
{
    for (size_t s = table->n; s-- > 0;)
        if (table->owner[s] == from && from_weight - table->weight[s] >= newcomer_weight + table->weight[s]) return s;
    return table->n;
}

void gp_shard_table_join(gp_shard_table *table, uint32_t newcomer, gp_crew crew, gp_shard_moved moved, void *ctx)
{
    for (;;) {
        const double own = gp_shard_table_weight(table, newcomer);
        size_t best = table->n;
        double best_weight = 0;
        for (uint32_t k = 0; k < crew.n_workers; k++) {
            if (!crew.live[k] || k == newcomer) continue;
            const double weight = gp_shard_table_weight(table, k);
            if (best < table->n && !(weight > best_weight)) continue;
            const size_t spare = spare_shard(table, k, weight, own);
            if (spare < table->n) best = spare, best_weight = weight;
        }
        if (best == table->n) return;
        give(table, best, newcomer, moved, ctx);
    }
}
