// by_value.h: the figures of rows by the value of a column: where a model is good, and where it is not.
#pragma once
#include "data/source.h"
#include "score/assess.h"

enum { GP_GROUPS_MAX = 1000 };

typedef struct gp_group {
    char *value; // as a text; NULL: missing, or the others beyond GP_GROUPS_MAX
    gp_sums sums;
} gp_group;

typedef struct gp_groups {
    char *column; // NULL: none, and nothing is counted
    gp_group *list;
    size_t n;
    gp_group missing, others;
    size_t at;           // of the source
    gp_column_type type; // how its values are read
    uint32_t *slots;     // by hash: 1 + place in the list
} gp_groups;

// Finds the column, EDATA if there is none, and asks the source for it. On failure, too, fini is due.
advgp_status gp_groups_init(gp_groups *groups, gp_source *source, const char *column, advgp_error *err);
void gp_groups_fini(gp_groups *groups);

// Row `at` of the chunk.
advgp_status gp_groups_add(gp_groups *groups, const gp_chunk *chunk, size_t at, const gp_judged *row, advgp_error *err);
void gp_groups_end(gp_groups *groups); // the largest first
