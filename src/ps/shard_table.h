// shard_table.h: which worker has which shard. Every shard belongs to one worker, or to none where rows were given up.
// What moves is a function of the table and of who is there, never of time.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_NOBODY UINT32_MAX

typedef struct gp_shard_table {
    size_t n;
    uint32_t *owner; // [n]
    double *weight;  // [n]: sum of the weights of its rows
} gp_shard_table;

advgp_status gp_shard_table_init(gp_shard_table *table, size_t n, const double *weight,
                                 advgp_error *err); // all GP_NOBODY's
void gp_shard_table_fini(gp_shard_table *table);

double gp_shard_table_weight(const gp_shard_table *table, uint32_t owner);
size_t gp_shard_table_list(const gp_shard_table *table, uint32_t owner, uint32_t *shards); // [n] at most, in order
size_t gp_shard_table_count(const gp_shard_table *table, uint32_t owner);

// Called for every shard that changes hands.
typedef void (*gp_shard_moved)(void *ctx, uint32_t shard, uint32_t from, uint32_t to);

// Who is there: live[worker] for n_workers.
typedef struct gp_crew {
    const bool *live;
    size_t n_workers;
} gp_crew;

// First deal: neighbouring shards to each, as equal in number as can be.
void gp_shard_table_deal(gp_shard_table *table, gp_crew crew, gp_shard_moved moved, void *ctx);
// Shards of whoever is not there go, one by one, to whoever has least; nothing moves where nobody is there.
void gp_shard_table_reassign(gp_shard_table *table, gp_crew crew, gp_shard_moved moved, void *ctx);
// A newcomer takes from whoever has most and a shard to spare: one that makes the two more equal. So where anybody has
// two, the newcomer has one.
void gp_shard_table_join(gp_shard_table *table, uint32_t newcomer, gp_crew crew, gp_shard_moved moved, void *ctx);
